"""The route for counts of any size: the optimal remap of the truncated geometric mechanism as one array, no matrix.

`geometric` proves what is optimal. Here the answers are 0..n-1, one step apart, and the loss is a function f
of the error. The posterior weight of answer j at the geometric value s is p_j alpha^|s-j|; its sums, and its
moments around s, follow from linear recursions, from both ends. So the cost of the output y at s takes O(1)
for absolute, squared and threshold losses, and since the best output does not fall as s grows, all n of them
take O(n log n).
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inbounds.design.problem import Floats, Ints

Bools = NDArray[np.bool_]

#: a term gathers at most four roundings per step of its recursion; twice, because the best output was chosen
#: by rounded costs
DOUBT = 8 * 2.0**-53
#: alpha^(TAIL / epsilon) = 4e-44: answers farther away are left out where a cost is summed term by term
TAIL = 100.0
#: a posterior that weighs less is lost to underflow, or to the answers left out: it tells no best output
FAINT, FAINT_IN_TAIL = 1e-250, 1e-36
#: losses that differ by less are the same: a unit that is no power of two rounds
SAME = 2.0**-50
#: pairs (value, output) times answers that are held in memory at once
BATCH = 4_000_000


@dataclass(frozen=True, eq=False)
class Remap:
    """A remap: outputs[s] is the output of the geometric value s; its average loss; a lower bound on any private
    loss.
    """

    outputs: Ints
    loss: float
    bound: float


@dataclass(frozen=True, eq=False)
class NoisePosterior:
    """Moments of the posterior at every geometric value s: left[k][s] = sum_{j <= s} p_j alpha^(s-j) (s-j)^k and
    right[k][s] = sum_{j >= s} p_j alpha^(j-s) (j-s)^k, k = 0..3.

    before and beyond are the sums for k = 0 without s itself.
    """

    epsilon: float
    left: tuple[Floats, ...]
    right: tuple[Floats, ...]
    before: Floats
    beyond: Floats

    def power(self, steps: Ints) -> Floats:
        """Return alpha^steps, zero for a negative number of steps."""
        value: Floats = np.where(steps >= 0, np.exp(-self.epsilon * np.maximum(steps, 0)), 0.0)
        return value

    @property
    def age(self) -> Floats:
        """Sum of weight * (1 + steps): rounding errors grow with the number of steps of a term's recursion."""
        return self.left[0] + self.left[1] + self.beyond + self.right[1]

    @property
    def likely(self) -> Bools:
        """Values whose posterior is not lost to underflow."""
        return self.left[0] + self.beyond > FAINT


class RemapCost(Protocol):
    """The cost of the output y at geometric value s, sum_j p_j alpha^|s-j| f(|y-j|), and how far rounding may
    move it."""

    def value(self, s: Ints, y: Ints) -> Floats:
        """Return the cost of the output y at s."""
        ...

    def doubt(self, s: Ints, y: Ints) -> Floats:
        """Return a bound on the rounding error of the cost."""
        ...

    def likely(self) -> Bools:
        """Return which values s have enough probability to compare outputs."""
        ...


def remap(epsilon: float, loss: Floats, prior: Floats | None = None) -> Remap:
    """Find the best output of every geometric value for answers 0..n-1, each one step from the next.

    loss[e]: loss of an error of e = 0..n-1, finite and not falling. prior: weights summing to one; None:
    uniform. Guarantee: optimal among all epsilon-private mechanisms under the average aim (theorem in
    `geometric`); `bound` is the loss less a margin for the roundings of the recursions. Cost: O(n log n) time
    and O(n) memory for absolute, squared and threshold losses (zero-one, off by more than d). Any other loss
    costs 120 / epsilon times as much, but with a uniform prior only for values that near the ends.
    """
    if not np.all(np.diff(loss) >= 0):
        raise ValueError("loss must not fall as the error grows; a smaller query takes any loss table")
    n = len(loss)
    p = np.full(n, 1.0 / n) if prior is None else prior
    f = loss - loss[0]
    special = _find_fast_cost(p, epsilon, f)
    edge = math.ceil(TAIL / epsilon)
    if special is None and np.all(p == p[0]) and n > 2 * edge + 2:
        return _remap_ends(epsilon, loss, edge)
    cost: RemapCost = special or _SumCost(p, epsilon, f)
    y = _best_reports(cost, n)
    if np.array_equal(p, p[::-1]):
        y[(n + 1) // 2 :] = n - 1 - y[: n // 2][::-1]
    return _summary(cost, y, _weights(n, epsilon), float(loss[0]))


def count_terms(epsilon: float, loss: Floats) -> int:
    """Return how many terms are summed for the cost of one output under a prior: one if sums of a prior suffice."""
    n = len(loss)
    fast = _find_fast_cost(np.full(n, 1.0 / n), epsilon, loss - loss[0])
    return 1 if fast is not None else min(2 * math.ceil(TAIL / epsilon), 2 * n) + 1


def least_variance(epsilon: float, prior: Floats) -> float:
    """Compute the squared loss, in steps, of the posterior mean of every geometric value; rounded down.

    Σ_s w_s (x_2 - x_1² / x_0), x_k the moments of the posterior around s: no output, on or off the grid, loses less.
    """
    at, w = _posterior(prior, epsilon), _weights(len(prior), epsilon)
    zeroth, first, second = at.left[0] + at.beyond, at.right[1] - at.left[1], at.right[2] + at.left[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(at.likely, second - first * first / zeroth, 0.0)
    # moments err by DOUBT times themselves and the next one; with m = x_1 / x_0 the value moves by
    # dx_2 + 2 |m| dx_1 + m² dx_0, all below (1 + |m|)² (dx_0 + dx_1 + dx_2)
    sizes = sum((m[1] + 2 * m[2] + m[3] for m in (at.left, at.right)), at.age)
    mean = np.abs(first) / np.maximum(zeroth, FAINT)
    doubt = np.where(at.likely, 4 * DOUBT * (1 + epsilon) * sizes * (1 + mean) ** 2, 0.0)
    return max(0.0, math.fsum(w * np.maximum(value - doubt, 0.0)) * (1 - SAME))


def _summary(cost: RemapCost, y: Ints, w: Floats, base: float) -> Remap:
    """Compute the loss of the outputs y and the bound; `base` is the loss of no error."""
    s, sure = np.arange(len(y)), np.where(cost.likely(), w, 0.0)  # unlikely values cost at least zero
    value = cost.value(s, y)
    total = math.fsum(w * value)
    low = math.fsum(sure * value) - math.fsum(sure * cost.doubt(s, y)) - 4 * SAME * (total + abs(base))
    return Remap(y, total + base, max(low, 0.0) + base)


def _weights(n: int, epsilon: float) -> Floats:
    """Return w of the truncated geometric mechanism P[s, j] = w_s alpha^|s-j|."""
    w = np.full(n, math.tanh(epsilon / 2))
    w[[0, -1]] = 1.0 if n == 1 else 1 / (1 + math.exp(-epsilon))
    return w


def _best_reports(cost: RemapCost, n: int) -> Ints:
    """Find argmin_y of the cost for every s, non-decreasing in s.

    Halve the gaps between solved s, and search between their outputs. An unlikely value gets the output of the nearest
    likely one, so that a tie there does not restrict the others.
    """
    likely = np.flatnonzero(cost.likely())
    count = len(likely)
    half = 1 << count.bit_length()
    reports = np.full(2 * half + 1, n - 1)  # by place in `likely` + 1, with ends that hold the outermost outputs
    reports[0] = 0
    while half := half // 2:
        at = np.arange(half, count + 1, 2 * half)
        reports[at] = _search(cost, likely[at - 1], reports[at - half], reports[at + half])
    middles = (likely[1:] + likely[:-1]) / 2
    nearest: Ints = reports[1 + np.searchsorted(middles, np.arange(n))]
    return nearest


def _search(cost: RemapCost, s: Ints, low: Ints, high: Ints) -> Ints:
    """Find the best output in low..high for each s; the first one if tied."""
    count = high - low + 1
    first = np.cumsum(count) - count
    y = np.arange(count.sum()) - np.repeat(first - low, count)
    value = cost.value(np.repeat(s, count), y)
    best = np.repeat(np.minimum.reduceat(value, first), count)
    hits = np.flatnonzero(value == best)
    reports: Ints = y[hits[np.searchsorted(hits, first)]]
    return reports


def _posterior(p: Floats, epsilon: float) -> NoisePosterior:
    """Compute the moments of the posterior for the prior p."""
    alpha = math.exp(-epsilon)
    left = _moments(p, alpha)
    right = tuple(x[::-1] for x in _moments(p[::-1], alpha))
    before = np.append(0.0, alpha * left[0][:-1])
    beyond = np.append(alpha * right[0][1:], 0.0)
    return NoisePosterior(epsilon, left, right, before, beyond)


def _moments(p: Floats, alpha: float) -> tuple[Floats, ...]:
    """Compute x_k(s) = sum_{j <= s} p_j alpha^(s-j) (s-j)^k, k = 0..3.

    x_0(s) = p_s + alpha x_0(s-1); for k > 0 by expanding (t+1)^k.
    """
    from scipy.signal import lfilter  # slow to import, and only large counts need it

    moments: list[Floats] = []
    for k in range(4):
        older = sum((math.comb(k, i) * x for i, x in enumerate(moments)), np.zeros_like(p))
        source = p if k == 0 else np.append(0.0, alpha * older[:-1])
        moments.append(lfilter([1.0], [1.0, -alpha], source))
    return tuple(moments)


def _find_fast_cost(p: Floats, epsilon: float, f: Floats) -> RemapCost | None:
    """Return the O(1) cost of a loss that has one, else None."""
    e = np.arange(len(f))
    last = int(np.flatnonzero(f == 0)[-1])
    if np.all(f[last + 1 :] == f[-1]):
        return _ThresholdCost(_posterior(p, epsilon), last, float(f[-1]))
    for power, kind in ((1, _AbsoluteCost), (2, _SquaredCost)):
        if np.allclose(f, f[1] * e**power, rtol=SAME, atol=0.0):
            return kind(_posterior(p, epsilon), float(f[1]))
    return None


@dataclass(frozen=True, eq=False)
class _AbsoluteCost:
    """The loss f(e) = unit * e.

    For y <= s, d = s - y: sums over j <= y, y < j <= s and j > s, each by moments around y or s.
    """

    at: NoisePosterior
    unit: float

    def likely(self) -> Bools:
        return self.at.likely

    def value(self, s: Ints, y: Ints) -> Floats:
        at, d = self.at, np.abs(s - y)
        fall = np.exp(-at.epsilon * d)
        low = y <= s
        near = 2 * fall * np.where(low, at.left[1][y], at.right[1][y])
        shift = d * np.where(low, at.left[0][s] + at.beyond[s], at.right[0][s] + at.before[s])
        tilt = at.right[1][s] - at.left[1][s]
        return np.asarray(self.unit * (near + shift + np.where(low, tilt, -tilt)))

    def doubt(self, s: Ints, y: Ints) -> Floats:
        at, d = self.at, np.abs(s - y)
        fall = np.exp(-at.epsilon * d)
        near = 2 * fall * sum(m[1][y] * (1 + d) + m[2][y] for m in (at.left, at.right))
        tilt = sum(m[1][s] + m[2][s] for m in (at.left, at.right))
        return np.asarray(self.unit * DOUBT * (1 + at.epsilon) * (near + d * at.age[s] + tilt))


@dataclass(frozen=True, eq=False)
class _SquaredCost:
    """The loss f(e) = unit * e^2: second moment around s, moved to y."""

    at: NoisePosterior
    unit: float

    def likely(self) -> Bools:
        return self.at.likely

    def value(self, s: Ints, y: Ints) -> Floats:
        at, d = self.at, (y - s).astype(float)
        first, second = at.right[1][s] - at.left[1][s], at.right[2][s] + at.left[2][s]
        return np.asarray(self.unit * (second - 2 * d * first + d * d * (at.left[0][s] + at.beyond[s])))

    def doubt(self, s: Ints, y: Ints) -> Floats:
        at, d = self.at, np.abs(y - s).astype(float)
        first, second = (sum(m[k][s] + m[k + 1][s] for m in (at.left, at.right)) for k in (1, 2))
        return np.asarray(self.unit * DOUBT * (1 + at.epsilon) * (second + 2 * d * first + d * d * at.age[s]))


@dataclass(frozen=True, eq=False)
class _ThresholdCost:
    """The loss f(e) = unit if e > d else 0: the posterior mass below y - d and above y + d."""

    at: NoisePosterior
    d: int
    unit: float

    def likely(self) -> Bools:
        return self.at.likely

    def value(self, s: Ints, y: Ints) -> Floats:
        return self.unit * (self._below(s, y - self.d - 1) + self._above(s, y + self.d + 1))

    def doubt(self, s: Ints, y: Ints) -> Floats:
        at, last = self.at, len(self.at.before) - 1
        a, b = y - self.d - 1, y + self.d + 1
        low, high = np.clip(a, 0, last), np.clip(b, 0, last)
        under = at.power(s - a) * (at.left[0][low] * (1 + np.abs(s - a)) + at.left[1][low])
        over = at.power(b - s) * (at.right[0][high] * (1 + np.abs(b - s)) + at.right[1][high])
        # a window that does not hold s is found by subtraction from the whole
        sizes = np.where(a < 0, 0.0, np.where(a <= s, under, at.age[s]))
        sizes += np.where(b > last, 0.0, np.where(b >= s, over, at.age[s]))
        return self.unit * DOUBT * (1 + at.epsilon) * sizes

    def _below(self, s: Ints, a: Ints) -> Floats:
        """Return the posterior mass at s of the answers up to a."""
        at, last = self.at, len(self.at.before) - 1
        under = at.power(s - a) * at.left[0][np.clip(a, 0, last)]
        over = at.left[0][s] + at.beyond[s] - at.power(a + 1 - s) * at.right[0][np.clip(a + 1, 0, last)]
        return np.where(a < 0, 0.0, np.where(a <= s, under, over))

    def _above(self, s: Ints, b: Ints) -> Floats:
        """Return the posterior mass at s of the answers from b on."""
        at, last = self.at, len(self.at.before) - 1
        over = at.power(b - s) * at.right[0][np.clip(b, 0, last)]
        under = at.right[0][s] + at.before[s] - at.power(s - b + 1) * at.left[0][np.clip(b - 1, 0, last)]
        return np.where(b > last, 0.0, np.where(b >= s, over, under))


@dataclass(frozen=True, eq=False)
class _SumCost:
    """Any loss f: a sum over the answers near s."""

    p: Floats
    epsilon: float
    f: Floats

    def likely(self) -> Bools:
        at = _posterior(self.p, self.epsilon)
        return at.left[0] + at.beyond > FAINT_IN_TAIL

    def value(self, s: Ints, y: Ints) -> Floats:
        width = min(math.ceil(TAIL / self.epsilon), len(self.p) - 1)
        offset = np.arange(-width, width + 1)
        kernel = np.exp(-self.epsilon * np.abs(offset))
        padded = np.concatenate([np.zeros(width), self.p, np.zeros(width)])
        far = np.append(self.f, np.full(width + 1, self.f[-1]))
        value, batch = np.empty(len(s)), max(1, BATCH // len(offset))
        for start in range(0, len(s), batch):
            here = slice(start, start + batch)
            j = s[here, None] + offset
            value[here] = (padded[j + width] * kernel * far[np.abs(y[here, None] - j)]).sum(axis=1)
        return value

    def doubt(self, s: Ints, y: Ints) -> Floats:
        return DOUBT * (8 + TAIL) * self.value(s, y)


def _remap_ends(epsilon: float, loss: Floats, edge: int) -> Remap:
    """Find the remap for a uniform prior: far from both ends every value is its own best output, and the ends are those
    of a short range."""
    n, short = len(loss), 2 * edge + 2
    cost = _SumCost(np.full(short, 1.0 / n), epsilon, (loss - loss[0])[:short])
    ends = _best_reports(cost, short)[: edge + 1]
    w, s = _weights(n, epsilon), np.arange(edge + 1)
    y = np.arange(n)
    y[: edge + 1], y[n - edge - 1 :] = ends, n - 1 - ends[::-1]
    value = cost.value(s, ends)
    total = 2 * math.fsum(w[: edge + 1] * value) + (n - 2 * edge - 2) * float(w[1] * value[-1])
    return Remap(y, total + float(loss[0]), total * (1 - 2 * DOUBT * (8 + TAIL)) + float(loss[0]))

"""Certified release of an order statistic by its smooth sensitivity: the discretization of `cauchy`.

If data are dense around the median, one person moves it far less than the range allows, and noise can be smaller. The
law of the output then depends on the data beyond the answer, and a matrix outputs × answers cannot hold it. This
module makes the dependence finite: a database x with answer f has the state (f, t), where the integer t says how many
times the sensitivity has shrunk,

    t(x) = the largest t <= T with A_k(x) · u[t-k] <= N for all k < t,      A_k as in `sensitivity`, N = high - low,

for fixed whole-number growth factors u[1] < u[2] < … over 2**64, near e^(beta·d). Between neighbours x, x':

  the level changes by at most one:    A_k(x') <= A_{k+1}(x), so A_k(x') · u[(t-1)-k] <= A_{k+1}(x) · u[t-(k+1)] <= N;
  the answer moves by at most          |f - f'| <= A_0 <= N / u[t] for both levels, hence floor(N / u[max(t, t')]).

Both hold for any numbers u, in exact arithmetic: no exponential has to be trusted. So it is enough that the law of the
states is private between all states related in this way. Those are finitely many, and the checker's inequality is
verified for each in integers. Cauchy noise snapped to the range only proposes the law; its proof is not needed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, Ints, Number, to_epsilon, to_int
from inbounds.losses import LossLike, to_loss
from inbounds.mechanism.laws.base import freeze_weights
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.mechanism.rounding import Windows, enforce_ratios
from inbounds.query import extreme
from inbounds.sideinfo.cauchy import snap_cauchy, split
from inbounds.sideinfo.sensitivity import Sensitivity
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.certify import Window, check_states
from inbounds.trusted.samplers import Draws, MatrixSampler, draw_outputs, seeded_entropy, system_entropy

GROWTH_BITS = 64
FINEST = 0.002
"""Levels end where the scale of the noise is this share of a step: further levels would change nothing."""


@dataclass(frozen=True, eq=False)
class SmoothRelease:
    """A certified release of an order statistic of integers in low..high; made by `smooth_release`.

    *Formal guarantee.* For databases that differ in one value, each output is at most e^epsilon times likelier under
    one than under the other, in exact arithmetic. This is checked when the object is made. weights[output, t, answer]
    are over 2**62; growth[d] is u[d] over 2**64, u[0] = 1.
    """

    epsilon: Fraction
    low: int
    high: int
    growth: tuple[int, ...]
    weights: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", freeze_weights(self.weights))
        span, levels = self.high - self.low, len(self.growth)
        if self.weights.shape != (span + 1, levels, span + 1):
            raise InvalidDistribution("weights must be outputs × levels × answers")
        whole_numbers = all(type(u) is int for u in self.growth)
        if not whole_numbers or self.growth[0] != 1 << GROWTH_BITS or any(b < a for a, b in pairwise(self.growth)):
            raise ValueError("growth must be whole numbers that rise from 2**64")
        check_states(self.weights, windows(span, self.growth), self.epsilon)
        self._sampler  # noqa: B018 - built now, from the checked weights

    def __reduce__(self) -> tuple[type["SmoothRelease"], tuple[Any, ...]]:
        return SmoothRelease, (
            self.epsilon,
            self.low,
            self.high,
            self.growth,
            self.weights,
        )  # validated again

    def __repr__(self) -> str:
        levels = len(self.growth)
        return (
            f"<SmoothRelease of an order statistic in {self.low}..{self.high}, epsilon={self.epsilon}, {levels} levels>"
        )

    def level(self, at: Sensitivity) -> int:
        """Return t(x): how often the sensitivity has shrunk at a database. It depends on the data: do not publish
        it.
        """
        if at.statistic != "order" or (at.low, at.high) != (self.low, self.high):
            raise ValueError(f"the statistic must be an order statistic of values in {self.low}..{self.high}")
        span = (self.high - self.low) << GROWTH_BITS
        top = len(self.growth) - 1
        for k in range(top):
            spread = int(at.within(k))
            while top > k and spread * self.growth[top - k] > span:
                top -= 1
            if top <= k:
                break
        return top

    def law(self, at: Sensitivity) -> Floats:
        """Return Pr[output | database] as floats, for study."""
        return np.asarray(self.weights[:, self.level(at), int(at.answer) - self.low] / TOTAL)

    def loss(self, at: Sensitivity, loss: LossLike = "absolute") -> float:
        """Return the expected loss of the output at a database."""
        table = to_loss(loss).table(extreme(self.low, self.high))
        return float(self.law(at) @ table[:, int(at.answer) - self.low])

    def sample(self, at: Sensitivity) -> int:
        """Draw a private output for the statistic of a database, with operating-system entropy."""
        return self._report(at, system_entropy)

    def simulate(self, at: Sensitivity, rng: np.random.Generator) -> int:
        """Draw as `sample` does, from a seeded generator: for studies and tests, never for a release."""
        return self._report(at, seeded_entropy(rng))

    def _report(self, at: Sensitivity, draws: Draws) -> int:
        state = self.level(at) * (self.high - self.low + 1) + int(at.answer) - self.low
        return self.low + int(draw_outputs(self._sampler, np.array([state]), draws)[0])

    @cached_property
    def _sampler(self) -> MatrixSampler:
        return MatrixSampler.from_weights(self.weights.reshape(len(self.weights), -1))


def smooth_release(low: int, high: int, epsilon: Number, beta: Number) -> SmoothRelease:
    """Make a certified release of any order statistic (min, max, median, …) of integers in low..high.

    beta: the share of epsilon that pays for changes of scale; `cauchy.best_split` finds a good one from public example
    data. Levels reach down to noise far below one step. Cost: (high - low)² · levels numbers, some seconds for a
    range of a hundred.

    >>> from inbounds.sideinfo.sensitivity import median
    >>> release = smooth_release(0, 20, 1, "0.3")
    >>> dense, spread = median([9] * 20 + [10] * 61 + [11] * 20, 0, 20), median([0, 0, 10, 20, 20], 0, 20)
    >>> round(release.loss(dense), 2), round(release.loss(spread), 2)
    (0.01, 8.52)
    """
    bound, parts = to_epsilon(epsilon), split(epsilon, beta)
    span = to_int(high, "high", to_int(low, "low", -(1 << 40)) + 1) - int(low)
    levels = 1 + max(1, math.ceil(math.log(span / (parts.a * FINEST)) / parts.beta))
    if (span + 1) ** 2 * levels > MATRIX_LIMIT:
        raise TooLarge(f"{levels} levels of a {span + 1} × {span + 1} matrix are too many; use coarser values")
    rate = Fraction(parts.beta)
    growth = tuple(exp_lower_bound(min(rate * d, Fraction(64))) >> (EXP_BITS - GROWTH_BITS) for d in range(levels))
    values = np.arange(span + 1, dtype=np.float64)
    scales = [span / (u / 2**GROWTH_BITS) / parts.a for u in growth]
    proposal = np.array([[snap_cauchy(values, f, scale) for f in values.tolist()] for scale in scales])
    weights = enforce_ratios(np.moveaxis(proposal, 2, 0), _ratios(span, growth, bound), reserve_limit=TOTAL // 2)
    return SmoothRelease(bound, int(low), int(high), growth, weights)


def _ratios(span: int, growth: Sequence[int], epsilon: Fraction) -> Windows:
    """Return the windows in the form for `enforce_ratios`: a slice of answers, a slice of levels, and their ratio."""
    p = exp_lower_bound(epsilon)
    return [((slice(start, stop), slice(first, last + 1)), p) for start, stop, first, last in windows(span, growth)]


def windows(span: int, growth: Sequence[int]) -> list[Window]:
    """Return all neighbouring states, as blocks of answers and levels that are neighbours of each other.

    Answers are at most floor(N / u[t]) apart, within level t and between the levels t - 1 and t.
    """
    blocks = []
    for t, u in enumerate(growth):
        reach = min(span, (span << GROWTH_BITS) // u)
        starts = range(span - reach + 1)
        blocks += [(start, start + reach + 1, t, t) for start in starts if reach]
        blocks += [(start, start + reach + 1, t - 1, t) for start in starts if t]
    return blocks

"""Noise for many answers under one (epsilon, delta): its shape and scale are found for all of them together.

Weights fall like exp(-(|v| / s)^b) with 1 <= b <= 2: b = 1 is geometric noise, b = 2 the discrete Gaussian. For few
answers b = 1 is best, for very many nearly b = 2; between them neither is (docs/theory/repeated-noise.md). Floats
propose shape and scale; the whole numbers of the noise are a law like any other, certified, and what all answers
promise is computed from them, each rounding upwards.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.accounting.compose import compose
from inbounds.accounting.pairs import ENTRIES
from inbounds.accounting.renyi_order import most_cost, renyi_cost
from inbounds.errors import check_kind
from inbounds.exact import EXPONENT_CAP, Floats, Ints, Number, to_epsilon, to_fraction, to_int
from inbounds.losses import ErrorLoss, LossLike, to_loss
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws.noise import Noise, find_noise_reach
from inbounds.query import RangeQuery, Reach
from inbounds.trusted.bounds import TOTAL

POINTS = 1 << 13
"""Length of the transform that proposes a scale."""

ORDERS = (*range(2, 33), *range(34, 65, 2), *range(68, 129, 4))
"""Rényi orders that are tried."""

HALVINGS = 24
"""Steps of a search for a scale: to a millionth, where `CLOSE` is what is asked for."""

LEAST_WEIGHT = 1 << 10
"""Where weights fall below it, they stay as they are: rounding would decide ratios of smaller ones."""

CLOSE = 1e-4
"""Relative distance of a scale from one that is not proved private enough."""


@dataclass(frozen=True)
class RepeatedNoise:
    """Noise of which so many answers together are (epsilon, delta)-private.

    mechanism: of each answer; its own epsilon is that of one answer alone, without a delta. shape, scale: b and s.
    error: the expected loss with all answers equally likely. order: the Rényi order of the account, if it has one.
    """

    mechanism: Mechanism
    uses: int
    epsilon: Fraction
    delta: Fraction
    shape: float
    scale: float
    error: float
    order: int | None = None


def noise_for_uses(
    query: RangeQuery,
    uses: int,
    epsilon: Number,
    delta: Number,
    *,
    adaptive: bool = False,
    loss: LossLike = "absolute",
) -> RepeatedNoise:
    """Find noise for so many answers about the same people, which together are (epsilon, delta)-private.

    query: numbers on a grid, such as `count(200)`; up to about 1,400 answers. uses: how many answers, declared before
    the first. adaptive: account them at one Rényi order, so that other noise, chosen as one goes, may share the budget;
    otherwise exactly, which holds for questions chosen as one goes too. loss: of an error, as in `optimal`.

    Each result is mapped to its best output, as in other designs. Raises ValueError for a range that is too long.

    >>> import inbounds as ib
    >>> found = noise_for_uses(ib.count(50), 20, 4, "1e-6")
    >>> found.epsilon <= 4, 1.3 < found.shape < 1.7, found.mechanism.law.kind
    (True, True, 'noise')
    """
    check_kind(query, RangeQuery, "query", "made by count")
    times, e, d = to_int(uses, "uses", 1), to_epsilon(epsilon), to_fraction(delta, "delta")
    if not isinstance(query.neighbours, Reach):
        raise ValueError("query must have neighbours at most so many steps apart")
    if 2 * len(query.answers) ** 2 * query.neighbours.steps > ENTRIES:
        raise ValueError(
            f"query has {len(query.answers)} answers, too many for what they promise together: use coarser ones"
        )
    if not 0 < d < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {delta}")
    search = _NoiseSearch(query, times, e, d, _table_of(query, loss), adaptive)
    from scipy.optimize import minimize_scalar  # only here: composition needs no scipy

    found = minimize_scalar(search.error_of, bounds=(1.0, 2.0), method="bounded", options={"xatol": 0.01})
    shape = min((1.0, 2.0, float(found.x)), key=search.error_of)
    return search.certify(shape)


def _table_of(query: RangeQuery, loss: LossLike) -> Floats:
    """Return the loss of an error of 0, 1, … steps."""
    made = to_loss(loss)
    if not isinstance(made, ErrorLoss) or not query.one_output_per_answer:
        raise ValueError("needs a loss of the error alone, and one output for each answer")
    return np.asarray(made.of(np.arange(len(query.answers)) * float(query.answers.unit)), float)


@dataclass(frozen=True)
class _NoiseSearch:
    """The search for a shape: `scale_of` finds the scale of a shape, `error_of` its loss; both in floats."""

    query: RangeQuery
    uses: int
    epsilon: Fraction
    delta: Fraction
    losses: Floats
    adaptive: bool

    @property
    def size(self) -> int:
        return len(self.query.answers) - 1

    def error_of(self, shape: float) -> float:
        noise = _noise(shape, self.scale_of(shape), self.size)
        return _best_outputs(noise, self.losses)[1]

    def scale_of(self, shape: float) -> float:
        """Return about the least scale at which all answers keep (epsilon, delta)."""
        reach, _ = find_noise_reach(self.query)
        low, high = 1e-2, 1.0
        while not self._fits(_noise(shape, high * reach, None), reach):
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self._fits(_noise(shape, middle * reach, None), reach) else (middle, high)
        return high * reach

    def _fits(self, noise: Floats, reach: int) -> bool:
        if self.adaptive:
            return self._rough_epsilon(noise, reach)[0] <= float(self.epsilon)
        return _rough_delta(noise, reach, self.uses, float(self.epsilon)) <= float(self.delta)

    def _rough_epsilon(self, noise: Floats, reach: int) -> tuple[float, int]:
        """Return the epsilon at the best order, and that order."""
        logs = np.log(noise)
        p, q = logs[:-reach], logs[reach:]
        costs = [float(np.logaddexp.reduce(a * p - (a - 1) * q)) for a in ORDERS]
        constants = [(a - 1) * math.log(a - 1) - a * math.log(a) - math.log(self.delta) for a in ORDERS]
        rows = zip(ORDERS, costs, constants, strict=True)
        return min(((self.uses * cost + constant) / (a - 1), a) for a, cost, constant in rows)

    def certify(self, shape: float) -> RepeatedNoise:
        """Return the noise of a shape, at the least scale that is proved to keep (epsilon, delta), to `CLOSE`.

        The proof is about results in the range, so it may allow less noise than was proposed, where ranges are short.
        """
        scale, step = self.scale_of(shape), CLOSE
        reach, _ = find_noise_reach(self.query)
        order = self._rough_epsilon(_noise(shape, scale, None), reach)[1] if self.adaptive else None
        found, failed = self._try_scale(shape, scale, order), scale
        if found is None:
            while found is None:
                failed, scale, step = scale, scale * (1 + step), 2 * step
                found = self._try_scale(shape, scale, order)
        else:
            while (less := self._try_scale(shape, failed := found.scale / (1 + step), order)) is not None:
                found, step = less, 2 * step
        while found.scale > failed * (1 + CLOSE):
            middle = math.sqrt(failed * found.scale)
            less = self._try_scale(shape, middle, order)
            found, failed = (found, middle) if less is None else (less, failed)
        return found

    def _try_scale(self, shape: float, scale: float, order: int | None) -> RepeatedNoise | None:
        """Return the certified noise of a shape and scale; None if it is not proved to keep (epsilon, delta)."""
        noise = _noise(shape, scale, self.size)
        outputs, error = _best_outputs(noise, self.losses)
        mechanism = self._mechanism(noise, outputs, shape, scale)
        if order is None:
            if compose(mechanism, times=self.uses).delta(self.epsilon) > self.delta:
                return None
        elif self.uses * renyi_cost(mechanism, order) > most_cost(self.epsilon, order, self.delta):
            return None
        return RepeatedNoise(mechanism, self.uses, self.epsilon, self.delta, shape, scale, error, order)

    def _mechanism(self, noise: Floats, outputs: Ints, shape: float, scale: float) -> Mechanism:
        """Return the certified mechanism of the noise in whole numbers, at the pure epsilon of one answer."""
        law = _whole_noise(noise, self.size, find_noise_reach(self.query)[0])
        alone = Fraction(math.ceil(law.tight_epsilon(self.query) * 10**6) + 1, 10**6)
        if alone > EXPONENT_CAP:
            raise ValueError(
                f"epsilon and delta are too large for {self.uses} answers: give smaller ones, or ask less often"
            )
        parameters = {"uses": str(self.uses), "epsilon": str(self.epsilon), "delta": str(self.delta)}
        parameters |= {"shape": f"{shape:.4g}", "scale": f"{scale:.6g}"}
        remapped = Noise(law.core, law.floor, law.end, law.size, outputs)
        return Mechanism(self.query, alone, remapped, Origin("repeated_noise", parameters))


def _noise(shape: float, scale: float, size: int | None) -> Floats:
    """Return probabilities of the noise -M..M, up to where they vanish; with a size, of clamped noise -size..size."""
    most = math.ceil(scale * (62 * math.log(2)) ** (1 / shape)) + 1
    weights = np.exp(-((np.abs(np.arange(-most, most + 1)) / scale) ** shape))
    noise: Floats = weights / weights.sum()
    if size is None:
        return noise
    if most <= size:
        return np.pad(noise, size - most)
    cut: Floats = noise[most - size : most + size + 1].copy()
    cut[[0, -1]] += noise[: most - size].sum()
    return cut


def _rough_delta(noise: Floats, reach: int, uses: int, epsilon: float) -> float:
    """Return about the delta of so many answers, for choosing only."""
    upper, lower = noise[reach:], noise[:-reach]
    losses = np.log(upper) - np.log(lower)
    spread = math.sqrt(uses * float(upper @ losses**2))
    width = 2 * (epsilon + 20 * spread + float(np.abs(losses).max())) / POINTS
    place = losses / width
    base = np.floor(place).astype(np.int64)
    masses = np.zeros(POINTS)
    np.add.at(masses, base % POINTS, upper * (1 - place + base))
    np.add.at(masses, (base + 1) % POINTS, upper * (place - base))
    together = np.fft.irfft(np.fft.rfft(masses) ** uses, POINTS)
    sums = np.fft.fftfreq(POINTS, 1 / POINTS) * width
    over = sums > epsilon
    return float(-(together[over] * np.expm1(epsilon - sums[over])).sum())


def _best_outputs(noise: Floats, losses: Floats) -> tuple[Ints, float]:
    """Return the best output of every clamped step, and the loss, with all answers equally likely."""
    size = len(losses) - 1
    upto = np.concatenate([[0.0], np.cumsum(noise)])
    answers = np.arange(size + 1)
    clamped = noise[answers[:, None] - answers + size]
    clamped[0], clamped[-1] = upto[size - answers + 1], upto[-1] - upto[2 * size - answers]
    costs = clamped @ losses[np.abs(answers[:, None] - answers)] / (size + 1)
    outputs = costs.argmin(axis=1)
    return outputs, float(costs[answers, outputs].sum())


def _whole_noise(noise: Floats, size: int, reach: int) -> Noise:
    """Return the noise in whole numbers: a core, then its last weight, and ends that keep the core's ratio."""
    side = np.floor(noise[size + 1 : 2 * size] * TOTAL).astype(np.int64)
    side = np.maximum(side[: max(reach, int((side >= LEAST_WEIGHT).sum()))], LEAST_WEIGHT)
    floor, run = int(side[-1]) if len(side) else LEAST_WEIGHT, size - 1 - len(side)
    end = max(int(noise[-1] * TOTAL), LEAST_WEIGHT)
    if run:
        written = [int(noise[size] * TOTAL), *side.tolist()]
        ratio = max(high / low for high, low in zip(written, written[reach:], strict=False))
        end = max(end, math.ceil(sum([*written, *[floor] * min(run, reach)][-reach:]) / (ratio - 1)))
    middle = TOTAL - 2 * (int(side.sum()) + run * floor + end)
    return Noise(np.array([*side[::-1], middle, *side], dtype=np.int64), floor, end, size)

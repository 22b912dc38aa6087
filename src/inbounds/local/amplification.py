"""What shuffled reports promise: an upper bound on (epsilon, delta) for the multiset of all reports of one mechanism.

Write each probability R[y|x] as w[y] + rest, with w[y] = min over x of R[y|x] (the blanket). A person whose report is
from the blanket hides the one whose value changes from x to x'. Giving the observer all other reports, and who sent
them, can only help, and then

    delta(epsilon) = sum over y with w[y] = 0 of max(0, R[y|x] - X·R[y|x'])  +  E[max(0, Z_1 + … + Z_n)] / n,

X = e^epsilon, with independent Z_i that are (R[y|x] - X·R[y|x'])/w[y] with probability w[y] and 0 otherwise
(Balle, Bell, Gascón, Nissim 2019; Su, Cheng, Wang, arXiv 2504.07414; docs/theory/shuffling.md). The expectation is
computed by a tilted convolution with proved errors, so the result is never below that value.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from inbounds.accounting.transform import convolve_powers, euclidean_norm
from inbounds.directed_rounding import ROUNDOFF, TINY, exp_above, exp_below, exponentials, log_above
from inbounds.exact import Floats, Number, format_decimal, to_fraction, to_int
from inbounds.local.guarantee import local_guarantee
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism
from inbounds.mechanism.blanket import BlanketPair

MOST_REPORTS = 10**9
LONGEST = 1 << 18
"""Points of the longest transform."""

WIDTH = 24.0
"""Width of the window, in standard deviations of the tilted sum."""

FINE = 64.0
"""Grid steps in a standard deviation of one summand, where the transform is long enough; splitting a value between two
grid points then adds less than FINE^-2/4 to its variance."""

RESOLUTION = Fraction(1, 10**4)
"""The epsilon of a delta is found to this share of itself."""

TILTS = 120
"""Tilts at which a pair is judged before its convolution is computed."""

LEAST_LOG = Fraction(-2000)
"""Below any delta that anybody asks for."""

STEEPEST = 600.0
"""The largest exponent of a tilt, within the range of floats."""


@dataclass(frozen=True)
class ShuffledGuarantee:
    """The promise of shuffled reports: (epsilon, delta) when one person's value is replaced by another.

    It holds if at least `reports` people report once each, honestly and independently, all by this mechanism, and the
    observer sees only the multiset of reports. local_epsilon: what holds without any of this.
    """

    mechanism: Mechanism
    reports: int
    delta: Fraction
    epsilon: Fraction

    @property
    def local_epsilon(self) -> float:
        """The promise against someone who sees each person's report: the mechanism's own."""
        return local_guarantee(self.mechanism).ldp

    def __str__(self) -> str:
        return (
            f"epsilon {float(self.epsilon):.4g} with delta {format_decimal(self.delta)} for replacing one person's "
            f"value, if {self.reports} or more people report once each by this mechanism and only the shuffled reports "
            f"are seen; without a shuffler epsilon {self.local_epsilon:.4g}"
        )


def amplify(mechanism: Mechanism, reports: int, delta: Number) -> ShuffledGuarantee:
    """Return what `reports` shuffled reports promise together at this delta: an upper bound on epsilon.

    mechanism: for one person's value. reports: a public lower bound on the
    number of honest, independent, single reports through this mechanism, 1 to 10^9. delta: between 0 and 1.

    Formal guarantee: for any two values of one person and any values of the others, the two laws of the multiset of
    reports are (epsilon, delta)-indistinguishable. It speaks about an observer behind a trusted shuffler; a collector
    that receives reports one by one learns what the mechanism's own epsilon allows.

    Raises `TooLarge` for a matrix with more than 2^28 pairs of values times outputs.

    >>> import inbounds as ib
    >>> m = ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1)
    >>> float(round(amplify(m, reports=10_000, delta="1e-6").epsilon, 3))
    0.038
    """
    target = to_fraction(delta, "delta")
    if not 0 < target < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {delta!r}")
    law = shuffled_law(mechanism, reports)
    return ShuffledGuarantee(mechanism, law.reports, target, law.epsilon(target))


@dataclass(frozen=True)
class ShuffledLaw:
    """The pairs of values of one person, as the observer of shuffled reports tells them apart, and how many report."""

    pairs: tuple["Pair", ...]
    reports: int
    local_epsilon: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return a delta at this epsilon for every pair."""
        return Fraction(0) if epsilon >= self.local_epsilon else self._worst(epsilon)[0]

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return the least epsilon found at this delta, at most the mechanism's own.

        The search looks at the pairs that were the worst so far; what it finds is then checked for all.
        """
        looked_at: list[Pair] = []
        found = Fraction(0)
        while found < self.local_epsilon:
            value, pair = self._worst(found)
            if value <= delta:
                return found
            looked_at.append(pair)
            found = self._search(looked_at, delta, found)
        return self.local_epsilon

    def _worst(self, epsilon: Fraction) -> tuple[Fraction, "Pair"]:
        """Return a delta for all pairs, and the pair that needs it, looking at the largest rough bounds first."""
        x = exp_below(epsilon)
        rough = sorted(((pair.rough_delta(x, self.reports), k) for k, pair in enumerate(self.pairs)), reverse=True)
        largest, worst = Fraction(0), self.pairs[rough[0][1]]
        for (bound, _), k in rough:
            if bound <= largest:
                break
            value = self.pairs[k].delta(x, self.reports)
            if value > largest:
                largest, worst = value, self.pairs[k]
        return largest, worst

    def _search(self, pairs: "list[Pair]", delta: Fraction, low: Fraction) -> Fraction:
        """Return an epsilon at which all of these pairs have at most this delta, above `low`, where one has more.

        Chernoff's inequality gives the first; then the secant of ln delta, with a halving every fourth step.
        """
        high, value_low = self._rough_epsilon(pairs, delta, low), self._delta_of(pairs, low)
        value_high = self._delta_of(pairs, high)
        for step in count(1):
            if high - low <= RESOLUTION * high:
                return high
            guess = (low + high) / 2
            if step % 4 and 0 < value_high < value_low:
                share = math.log(value_low / delta) / math.log(value_low / value_high)
                guess = low + (high - low) * Fraction(min(max(share, 0.0), 1.0)) + RESOLUTION * high / 3
            guess = Fraction(float(min(guess, (low + 3 * high) / 4)))
            value = self._delta_of(pairs, guess)
            if value <= delta:
                high, value_high = guess, value
            else:
                low, value_low = guess, value
        raise AssertionError

    def _rough_epsilon(self, pairs: "list[Pair]", delta: Fraction, low: Fraction) -> Fraction:
        """Return an epsilon above `low` at which the rough bound of all of these pairs is at most delta."""
        high = self.local_epsilon
        for _ in range(20):
            middle = Fraction(float((low + high) / 2))
            fits = all(pair.rough_delta(exp_below(middle), self.reports)[0] <= delta for pair in pairs)
            low, high = (low, middle) if fits else (middle, high)
        return high

    def _delta_of(self, pairs: "list[Pair]", epsilon: Fraction) -> Fraction:
        if epsilon >= self.local_epsilon:
            return Fraction(0)
        x = exp_below(epsilon)
        return max(pair.delta(x, self.reports) for pair in pairs)


def shuffled_law(mechanism: Mechanism, reports: int) -> ShuffledLaw:
    """Return the law of so many shuffled reports of a mechanism. Raises `TooLarge` for too many pairs of values."""
    check_local_mechanism(mechanism)
    number = to_int(reports, "reports", 1)
    if number > MOST_REPORTS:
        raise ValueError(f"reports must be at most {MOST_REPORTS}, got {number}")
    pairs = mechanism.answer_law.blanket_pairs(mechanism.query.as_range_query)
    return ShuffledLaw(tuple(map(Pair, pairs)), number, Fraction(local_guarantee(mechanism).ldp))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two values of one person behind the reports of others."""

    law: BlanketPair

    def atoms(self, x: Fraction) -> tuple[Floats, Floats]:
        """Return values at or above those of Z, and their probabilities rounded up; value 0 comes last."""
        low = float(x) * self.law.lower
        values = self.law.upper - low + 4 * ROUNDOFF * (self.law.upper + low)
        return np.append(values, 0.0), np.append(self.law.blanket, self.law.rest)

    def seen_delta(self, x: Fraction) -> Fraction:
        """Return the delta of outputs that only the person whose value changes can have."""
        return sum((max(Fraction(0), p - x * q) for p, q in self.law.exposed), Fraction(0))

    def rough_delta(self, x: Fraction, reports: int) -> tuple[Fraction, float]:
        """Return an upper bound by Chernoff's inequality, and the tilt that gives it.

        max(0, s) <= exp(t·s)/(e·t) for every t > 0, so delta <= exp(n·ln E exp(t·Z))/(e·t·n).
        """
        values, masses = self.atoms(x)
        spread = math.sqrt(reports * float(masses @ values**2)) + TINY
        steepest = STEEPEST / max(float(values.max()), TINY)
        tilts = np.geomspace(min(0.01 / spread, steepest), min(1e3 / spread, steepest), TILTS)
        exponents = np.maximum(np.outer(tilts, values), -STEEPEST)
        terms = np.expm1(exponents)
        excess = terms @ masses + (len(masses) + 16) * ROUNDOFF * (
            (np.abs(terms) + 1) * (1 + np.abs(exponents)) @ masses
        )
        logs = reports * np.log1p(excess) - np.log(tilts)
        best = int(np.argmin(logs))
        log = Fraction(float(logs[best])) + Fraction(abs(float(logs[best])) + 100) / 10**13 - 1
        bound = _exp_above(log) / reports if log < 2 * math.log(reports + 1) + 2 else Fraction(1)
        return min(Fraction(1), self.seen_delta(x) + bound), float(tilts[best])

    def delta(self, x: Fraction, reports: int) -> Fraction:
        """Return an upper bound of delta(ln x): by the tilted convolution of all reports, or the rough one if lower."""
        values, masses = self.atoms(x)
        rough, found = self.rough_delta(x, reports)
        tilt = Fraction(found)
        step, size = _choose_grid(values, masses, float(tilt), reports)
        law, last = _split(values, masses, step)
        first = last + 1 - len(law)
        scale = Fraction(math.log(float((law * exponentials(tilt * step, first, len(law))).sum())))
        tilted = law * exponentials(tilt * step, first, len(law), scale) * (1 + 8 * ROUNDOFF)
        tilted = np.where(law > 0, np.maximum(tilted, TINY), 0.0)
        convolved, error = convolve_powers([(tilted, last, reports)], size)
        if not math.isfinite(error):
            return rough
        seen = min(size, reports * max(last, 0) + 1)
        sums = np.arange(seen) * float(step) * exponentials(-tilt * step, 0, seen) * (1 + 8 * ROUNDOFF)
        weighed = float(convolved[:seen] @ sums) * (1 + 2 * size * ROUNDOFF)
        weighed += error * euclidean_norm(sums) * (1 + size * ROUNDOFF) + TINY
        total = reports * log_above(Fraction(float(tilted.sum()) * (1 + 2 * len(law) * ROUNDOFF)))
        bound = _exp_above(reports * scale + log_above(Fraction(weighed)))
        if reports * max(last, 0) >= size:  # sums beyond the window: s·exp(-t·s) falls from 1/t on
            start = max(size * step, 1 / tilt)
            bound += start * _exp_above(reports * scale + total - tilt * start)
        return min(rough, self.seen_delta(x) + bound / reports)


def _exp_above(log: Fraction) -> Fraction:
    """Return a rational at or above exp(log); no smaller one than exp(LEAST_LOG), which would have too many digits."""
    return exp_above(max(log, LEAST_LOG))


def _choose_grid(values: Floats, masses: Floats, tilt: float, reports: int) -> tuple[Fraction, int]:
    """Return the step of the grid and the size of the transform; any are valid, and finer ones are tighter.

    The value with the most mass, but for 0, is put on the grid.
    """
    tilted = masses * np.exp(np.maximum(tilt * (values - values.max()), -STEEPEST))
    tilted /= tilted.sum()
    mean = float(tilted @ values)
    deviation = max(math.sqrt(float(tilted @ (values - mean) ** 2)), TINY)
    span = float(values.max() - values.min())
    window = min(reports * span, WIDTH * deviation * math.sqrt(reports) + abs(reports * mean) + 4 * span)
    step = max(deviation / FINE, 1.01 * window / LONGEST, 4 * span / LONGEST)
    main = abs(float(values[np.argmax(np.where(values == 0, 0, masses))]))
    if main > step:
        step = main / math.floor(main / step)
    return Fraction(step), min(LONGEST, 1 << (max(2, int(1.02 * window / step) + 2) - 1).bit_length())


def _split(values: Floats, masses: Floats, step: Fraction) -> tuple[Floats, int]:
    """Return the law on grid points with each value split between its two neighbours, and the last grid point.

    The mean of the two is not below the value, so every expectation of a convex and rising function of sums only grows.
    """
    places = values / float(step)
    low = np.floor(places).astype(np.int64)
    share = np.clip(places - low + 4 * ROUNDOFF * (np.abs(places) + 1), 0.0, 1.0)
    first, last = int(low.min()), int(low.max()) + 1
    law = np.zeros(last + 1 - first)
    np.add.at(law, low - first, masses * (1 - share))
    np.add.at(law, low + 1 - first, masses * share)
    return law * (1 + (len(values) + 8) * ROUNDOFF), last

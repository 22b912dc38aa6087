"""Several answers about the same people: what they promise together, as a sum and as tight as these matrices allow.

Basic composition adds the epsilons and is exact arithmetic. Tight composition convolves the privacy-loss
distributions of the mechanisms' own columns (package dp-accounting, extra `accounting`). Every rounding is towards
more privacy loss, and what floating-point convolution may be wrong by is added to delta, so a value of this module
can be promised.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from inbounds.attack.pairs import DOMINATED, Grid, Long, columns, curve, envelope, mass, neighbours, response_mass
from inbounds.extras import library
from inbounds.mechanism import Mechanism
from inbounds.numbers import Floats, Number, exact, whole
from inbounds.query import Metric, Query

LENGTH = 1 << 19
"""Points of the largest convolution aimed at; more answers get a coarser grid."""

FINEST, COARSEST = 1000, 16
"""Grid points for the largest epsilon among the mechanisms."""

UNIT_ROUNDOFF = 2.0**-53
PLENTY = 1_000_000
"""More answers than this are not counted."""


@dataclass(frozen=True)
class Composition:
    """Answers of several mechanisms, `times[i]` from `mechanisms[i]`, about people who may be in all the data.

    same_question: every answer is about the same true value, so one person moves all of them alike. Otherwise
    each answer may meet its own worst pair of neighbours, and questions may be chosen after earlier answers.
    """

    mechanisms: tuple[Mechanism, ...]
    times: tuple[int, ...]
    same_question: bool = False

    def __post_init__(self) -> None:
        if not self.mechanisms or len(self.mechanisms) != len(self.times):
            raise ValueError("a composition must have at least one mechanism, and one number of times for each")
        object.__setattr__(self, "times", tuple(whole(t, "times", 1) for t in self.times))
        common_neighbourhood([m.query for m in self.mechanisms], same_question=self.same_question)

    @property
    def answers(self) -> int:
        """How many answers are given in all."""
        return sum(self.times)

    @property
    def basic(self) -> Fraction:
        """The sum of the epsilons: pure privacy, delta 0 (Dwork et al. 2006)."""
        return sum((t * m.epsilon for t, m in zip(self.times, self.mechanisms, strict=True)), Fraction(0))

    def delta(self, epsilon: Number) -> float:
        """A delta for which all answers together are (epsilon, delta)-private; 0 from the basic epsilon on."""
        e = exact(epsilon, "epsilon")
        if not e >= 0:
            raise ValueError(f"epsilon must not be negative, got {epsilon}")
        if e >= self.basic:
            return 0.0
        return max(self._delta(pmf, float(e)) for pmf in self._losses)

    def epsilon(self, delta: Number) -> float:
        """The least epsilon found for which the answers are (epsilon, delta)-private; never above `basic`.

        Bisection on the decreasing `delta`, pair by pair, each from the best of those before; the upper end is
        returned. For delta at most `slack` nothing better than the sum is proved.
        """
        target, found, most = as_delta(delta), 0.0, float(self.basic)
        if target <= self.slack:
            return most
        for pmf in self._losses:
            if self._delta(pmf, found) <= target:
                continue
            low, high = found, most
            while high - low > 1e-10 * high:
                middle = (low + high) / 2
                low, high = (low, middle) if self._delta(pmf, middle) <= target else (middle, high)
            found = high
        return found

    def _delta(self, pmf: Any, epsilon: float) -> float:
        return min(1.0, max(float(pmf.get_delta_for_epsilon(epsilon)), 0.0) + self.slack)

    def curve(self, points: int = 50) -> tuple[Floats, Floats]:
        """(epsilons, deltas): what can be promised, from epsilon 0 to the basic epsilon."""
        epsilons = np.linspace(0.0, float(self.basic), whole(points, "points", 2))
        return epsilons, np.array([self.delta(min(Fraction(e), self.basic)) for e in epsilons.tolist()])

    @cached_property
    def slack(self) -> float:
        """What floating point may be wrong by, added to every delta.

        A transform of length N has a relative error below 5·u·log2 N in the Euclidean norm, k factors add k such
        errors, and a sum over N entries is at most sqrt(N) norms. Besides, what dropping dominated pairs and the
        second differences of an envelope may cost.
        """
        length = sum(2 * t * _grid(m, self._step).points + 1 for t, m in zip(self.times, self.mechanisms, strict=True))
        transform = 5 * UNIT_ROUNDOFF * math.log2(length + 2) * (self.answers + 2) * math.sqrt(length)
        widest = max(_grid(m, self._step).points for m in self.mechanisms)
        second_differences = 8 * widest * float(np.finfo(np.longdouble).eps) / self._step
        return transform + self.answers * (DOMINATED + second_differences)

    @cached_property
    def _step(self) -> float:
        """The common distance of grid points."""
        largest = max(m.epsilon for m in self.mechanisms)
        points = sum(2 * t * m.epsilon / largest for t, m in zip(self.times, self.mechanisms, strict=True))
        return float(largest) / min(FINEST, max(COARSEST, int(LENGTH / points)))

    @cached_property
    def _losses(self) -> list[Any]:
        """Composed privacy-loss distributions, one for each choice of neighbours that no other dominates."""
        pmf = library("dp_accounting.pld.pld_pmf", "accounting")
        grids = [_grid(m, self._step) for m in self.mechanisms]
        if self.same_question:
            choices = _linked(self.mechanisms, grids)
        else:
            choices = [[_unlinked(m, grid) for m, grid in zip(self.mechanisms, grids, strict=True)]]
        return [self._convolved(choice, grids, pmf) for choice in choices]

    def _convolved(self, masses: Sequence[Floats], grids: Sequence[Grid], pmf: Any) -> Any:
        parts = []
        for at, grid, t in zip(masses, grids, self.times, strict=True):
            atoms = {int(i) - grid.points: float(at[i]) for i in np.flatnonzero(at)}
            one = pmf.create_pmf(atoms, self._step, 0.0, pessimistic_estimate=True)
            parts.append(one.self_compose(t) if t > 1 else one)
        total = parts[0]
        for part in parts[1:]:
            total = total.to_dense_pmf().compose(part.to_dense_pmf())
        return total


def compose(
    mechanisms: Mechanism | Sequence[Mechanism], times: int | Sequence[int] = 1, *, same_question: bool = False
) -> Composition:
    """Answers of one or more mechanisms about the same people, each given `times` times.

    `.basic` is the sum of the epsilons; `.epsilon(delta)`, `.delta(epsilon)` and `.curve()` are tight for these
    very matrices (extra `accounting`). The default holds for any questions, even chosen one after the other;
    same_question=True is tighter and holds when all answers are about one true value.

    >>> from inbounds import catalog, count
    >>> ten = compose(catalog.truncated_geometric(count(20), "0.1"), times=10)
    >>> ten.basic, round(ten.epsilon(1e-6), 3)
    (Fraction(1, 1), 0.999)
    """
    group = (mechanisms,) if isinstance(mechanisms, Mechanism) else tuple(mechanisms)
    counts = tuple(times) if isinstance(times, Sequence) else (times,) * len(group)
    return Composition(group, counts, same_question)


def answers_allowed(
    mechanism: Mechanism, epsilon: Number, delta: Number | None = None, *, same_question: bool = False
) -> int:
    """How many answers of `mechanism` keep within (epsilon, delta); without delta by basic composition alone.

    Doubling, then bisection; at most a million. 0 means that not even one answer fits.

    >>> from inbounds import catalog, count
    >>> m = catalog.truncated_geometric(count(20), "0.1")
    >>> answers_allowed(m, 1), answers_allowed(m, 1, 1e-3)
    (10, 16)
    """
    budget = exact(epsilon, "epsilon")
    if not budget > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    low = min(int(budget / mechanism.epsilon), PLENTY)
    if delta is None or low == PLENTY:
        return low
    as_delta(delta)

    def fits(k: int) -> bool:
        return Composition((mechanism,), (k,), same_question).epsilon(delta) <= float(budget)

    high = max(1, 2 * low)
    while high < PLENTY and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def as_delta(value: Number) -> float:
    """delta as a float strictly between 0 and 1."""
    delta = exact(value, "delta")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {value}; for delta 0 use the basic epsilon")
    return math.nextafter(float(delta), 0.0)


def common_neighbourhood(queries: Sequence[Query], *, same_question: bool = False) -> None:
    """Refuse queries whose promises cannot be added: there is no pair of neighbours they all speak about."""
    first = queries[0]
    for other in queries[1:]:
        same = (first.answers, first.neighbours, first.labels) == (other.answers, other.neighbours, other.labels)
        if same:
            continue
        if same_question:
            raise ValueError(
                f"mechanisms for the same question must have a common neighbourhood, got {first!r} and {other!r}; "
                "for different questions about the same people leave out same_question"
            )
        if isinstance(first.neighbours, Metric) or isinstance(other.neighbours, Metric):
            raise ValueError(
                "mechanisms must have a common neighbourhood: metric privacy is paid by distance and adds up only "
                f"over the same answers and unit, got {first!r} and {other!r}"
            )


# --- pairs of columns that matter -------------------------------------------------------------------------


def _grid(mechanism: Mechanism, step: float) -> Grid:
    return Grid.over(mechanism.epsilon, step)


def _unlinked(mechanism: Mechanism, grid: Grid) -> Floats:
    """One dominating pair for a mechanism whatever its pair of neighbours."""
    weights = columns(mechanism)
    if weights is None:
        return response_mass(mechanism.epsilon, grid)
    masses = [mass(weights[:, j], weights[:, k], grid) for j, k in neighbours(mechanism.query)]
    kept = _undominated([curve(at, grid) for at in masses])
    return masses[kept[0]] if len(kept) == 1 else envelope([curve(masses[i], grid) for i in kept], grid)


def _linked(mechanisms: Sequence[Mechanism], grids: Sequence[Grid]) -> list[list[Floats]]:
    """For each pair of neighbours that no other dominates, the masses of all mechanisms under it."""
    weights = [columns(m) for m in mechanisms]
    if any(w is None for w in weights):
        return [[_unlinked(m, grid) for m, grid in zip(mechanisms, grids, strict=True)]]
    choices = [
        [mass(w[:, j], w[:, k], grid) for w, grid in zip(weights, grids, strict=True) if w is not None]
        for j, k in neighbours(mechanisms[0].query)
    ]
    curves = [np.concatenate([curve(at, g) for at, g in zip(choice, grids, strict=True)]) for choice in choices]
    return [choices[i] for i in _undominated(curves)]


def _undominated(curves: Sequence[Long]) -> list[int]:
    """Positions of curves that no kept curve lies above, up to DOMINATED."""
    kept: list[int] = []
    for i in sorted(range(len(curves)), key=lambda i: -float(curves[i].sum())):
        if not any((curves[i] <= curves[other] + DOMINATED).all() for other in kept):
            kept.append(i)
    return kept

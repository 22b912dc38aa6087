"""Composition of several answers about the same people: the sum of the epsilons, and a tight (epsilon, delta).

Basic composition adds the epsilons in exact arithmetic. Tight composition uses the mechanisms' columns: a few answers
of small mechanisms are enumerated exactly (`enumeration`), more are convolved (`tilted_convolution`). Every rounding is
towards more privacy loss, so every value of this module can be promised.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inbounds.accounting.pairs import curves_for_any_question, curves_for_same_question, merged_losses
from inbounds.accounting.tilted_convolution import LONGEST, TiltedPlan
from inbounds.exact import Floats, Number, round_up_to_printed, to_fraction, to_int
from inbounds.mechanism import Mechanism, check_mechanism
from inbounds.query import RangeQuery

if TYPE_CHECKING:
    from inbounds.accounting.enumeration import Enumeration
    from inbounds.accounting.merged_losses import Losses

ROUGH = 1 << 14
"""Length of the short transforms that decide which neighbours need a long one."""

PLENTY = 1_000_000
"""The largest result of `max_answers`."""


@dataclass(frozen=True)
class Composition:
    """Answers of several mechanisms, `times[i]` from `mechanisms[i]`, about people who may be in all the data.

    same_question: every answer is about the same true value, so one person moves all of them in the same way. Otherwise
    each answer may have its own worst pair of neighbours, and questions may be chosen after earlier answers.
    """

    mechanisms: tuple[Mechanism, ...]
    times: tuple[int, ...]
    same_question: bool = False

    def __post_init__(self) -> None:
        for mechanism in self.mechanisms:
            check_mechanism(mechanism, "each of the mechanisms", may_have_delta=True)
        if not self.mechanisms or len(self.mechanisms) != len(self.times):
            raise ValueError("a composition must have at least one mechanism, and one number of times for each")
        object.__setattr__(self, "times", tuple(to_int(t, "times", 1) for t in self.times))
        check_common_neighbours([m.query for m in self.mechanisms], same_question=self.same_question)

    @property
    def answers(self) -> int:
        """The number of answers in total."""
        return sum(self.times)

    @property
    def basic(self) -> Fraction:
        """The sum of the epsilons, at the delta `basic_delta`, 0 for pure answers (Dwork et al. 2006)."""
        return sum((t * m.epsilon for t, m in zip(self.times, self.mechanisms, strict=True)), Fraction(0))

    @property
    def basic_delta(self) -> Fraction:
        """The sum of the deltas."""
        return sum((t * m.delta for t, m in zip(self.times, self.mechanisms, strict=True)), Fraction(0))

    def delta(self, epsilon: Number) -> float:
        """Return a delta for which all answers together are (epsilon, delta)-private.

        From the basic epsilon on it is 0 for pure answers, and at most `basic_delta` for others.
        """
        e = to_fraction(epsilon, "epsilon")
        if not e >= 0:
            raise ValueError(f"epsilon must not be negative, got {epsilon}")
        if e >= self.basic and not self.basic_delta:
            return 0.0
        if self._enumeration is not None:
            return round_up_to_printed(self._enumeration.delta(e))
        tight = max(plan.delta(e) for plan in self._plans)
        return round_up_to_printed(min(tight, self.basic_delta) if e >= self.basic else tight)

    def epsilon(self, delta: Number) -> float:
        """Return the least epsilon found for which the answers are (epsilon, delta)-private; never above `basic`.

        Raises ValueError if no epsilon has this delta.
        """
        target = to_delta(delta)
        if target not in self._result:
            self._result[target] = round_up_to_printed(self.least(target))
        return self._result[target]

    def least(self, delta: Fraction, longest: int = LONGEST) -> Fraction:
        """Return `epsilon` as an exact number, from transforms up to the length `longest`.

        It is the largest over the groups of neighbours; a group that a short transform shows to be smaller is skipped.
        """
        if self._enumeration is not None:
            return min(self._enumeration.epsilon_above(delta), self.basic)
        largest = Fraction(0)
        for plan in sorted(self._plans, key=lambda plan: -plan.likely(delta)):
            if not largest or plan.delta(largest, min(ROUGH, longest)) > delta:
                largest = max(largest, plan.epsilon(delta, longest))
        return min(largest, self.basic) if delta >= self.basic_delta else largest

    def curve(self, points: int = 50) -> tuple[Floats, Floats]:
        """Return (epsilons, deltas) that can be promised, from epsilon 0 to the basic epsilon."""
        epsilons = np.linspace(0.0, float(self.basic), to_int(points, "points", 2))
        return epsilons, np.array([self.delta(min(Fraction(e), self.basic)) for e in epsilons.tolist()])

    @property
    def slack(self) -> float:
        """What is added to a delta for rounding: 0, because every rounding is in the safe direction."""
        return 0.0

    @cached_property
    def _result(self) -> dict[Fraction, float]:
        return {}

    @cached_property
    def _plans(self) -> list[TiltedPlan]:
        """One plan for each group of neighbours if all answers are about the same question; otherwise one plan."""
        if self.same_question:
            return [TiltedPlan(parts) for parts in curves_for_same_question(self.mechanisms, self.times)]
        parts = zip(self.mechanisms, self.times, self.merged, strict=True)
        return [TiltedPlan([curves_for_any_question(*part) for part in parts])]

    @cached_property
    def merged(self) -> "tuple[Losses | None, ...]":
        """The losses of one pair for each mechanism that dominates all its pairs of neighbours, where there is one."""
        return tuple(map(merged_losses, self.mechanisms))

    @cached_property
    def _enumeration(self) -> "Enumeration | None":
        """The losses one by one, if that is affordable and valid for this kind of composition."""
        from inbounds.accounting.enumeration import enumerate_if_small

        return enumerate_if_small(self)


def compose(
    mechanisms: Mechanism | Sequence[Mechanism], times: int | Sequence[int] = 1, *, same_question: bool = False
) -> Composition:
    """Compose answers of one or more mechanisms about the same people, each given `times` times.

    `.basic` is the sum of the epsilons; `.epsilon(delta)`, `.delta(epsilon)` and `.curve()` are tight for these
    matrices, down to any delta. The default holds for any questions, even chosen one after the other;
    same_question=True is tighter and holds if all answers are about one true value.

    >>> from inbounds import catalog, count
    >>> ten = compose(catalog.truncated_geometric(count(20), "0.1"), times=10)
    >>> ten.basic, round(ten.epsilon(1e-6), 3)
    (Fraction(1, 1), 0.999)
    """
    group = (mechanisms,) if isinstance(mechanisms, Mechanism) else tuple(mechanisms)
    counts = tuple(times) if isinstance(times, Sequence) else (times,) * len(group)
    return Composition(group, counts, same_question)


def max_answers(
    mechanism: Mechanism, epsilon: Number, delta: Number | None = None, *, same_question: bool = False
) -> int:
    """Return how many answers of `mechanism` stay within (epsilon, delta); without delta by basic composition.

    Searches by doubling, then bisection, up to a million. 0 means that not even one answer fits.

    >>> from inbounds import catalog, count
    >>> m = catalog.truncated_geometric(count(20), "0.1")
    >>> max_answers(m, 1), max_answers(m, 1, 1e-3)
    (10, 16)
    """
    check_mechanism(mechanism)
    budget = to_fraction(epsilon, "epsilon")
    if not budget > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    low = min(int(budget / mechanism.epsilon), PLENTY)
    if delta is None or low == PLENTY:
        return low
    target = to_delta(delta)

    def fits(k: int, longest: int) -> bool:
        return Composition((mechanism,), (k,), same_question).least(target, longest) <= budget

    low = _last(lambda k: fits(k, ROUGH), low, max(1, 2 * low))
    return _last(lambda k: fits(k, LONGEST), low, low + 1)


def _last(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number that fits, at least `low`: double the steps from `high` on, then bisect."""
    step = max(high - low, 1)
    while high <= PLENTY and fits(high):
        step *= 2
        low, high = high, high + step
    high = min(high, PLENTY + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def to_delta(value: Number) -> Fraction:
    """Return delta as an exact number; raise `ValueError` unless it is strictly between 0 and 1."""
    delta = to_fraction(value, "delta")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {value}; for delta 0 use the basic epsilon")
    return delta


def check_common_neighbours(queries: Sequence[RangeQuery], *, same_question: bool = False) -> None:
    """Raise unless the guarantees of these queries can be added: there must be pairs of neighbours common to all of
    them.
    """
    first = queries[0]
    for query in queries:
        _refuse_long_edges(query)
    for other in queries[1:]:
        has_same_answers = (first.answers, first.neighbours, first.labels) == (
            other.answers,
            other.neighbours,
            other.labels,
        )
        if has_same_answers:
            continue
        if same_question:
            raise ValueError(
                f"mechanisms for the same question must have a common neighbourhood, got {first!r} and {other!r}; "
                "for different questions about the same people leave out same_question"
            )
        if first.pays_by_distance or other.pays_by_distance:
            raise ValueError(
                "mechanisms must have a common neighbourhood: metric privacy is paid by distance and adds up only "
                f"over the same answers and unit, got {first!r} and {other!r}"
            )


def _refuse_long_edges(query: RangeQuery) -> None:
    """Raise if an edge costs more than epsilon (longer than 1) or is one-way, so that its other direction costs
    anything.
    """
    if not query.neighbours.is_undirected or any(edge.length > 1 for edge in query.edges):
        raise ValueError(
            "mechanisms on a graph must have edges at most 1 long, both ways, to be added up: epsilon pays for every "
            "1 of length; divide the lengths, and multiply epsilon by as much"
        )

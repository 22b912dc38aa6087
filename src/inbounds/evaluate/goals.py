"""Accuracy goals and the choice of epsilon: the smallest epsilon that meets a goal, and the best goal at an epsilon.

A goal is a loss, a bound, and whether the average or every true answer must meet it. It is tested on the integers of a
certified mechanism: floats decide only if they are clear, otherwise Fractions decide.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from inbounds.catalog.registry import Family, families
from inbounds.errors import InfeasibleDesign, check_kind, suggest_name
from inbounds.exact import EPSILON_RANGE, Number, to_epsilon, to_fraction
from inbounds.losses import Loss, LossLike, Prior, Restriction, threshold_loss, to_loss
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery, check_query

CLEAR = 1e-9
"""A float measure this far from the bound, relative to it, decides; the float's own error is below 10^-11."""

DIGITS = 5
"""Significant digits of a calibrated epsilon: neighbours on the search grid differ by 10^-5 to 10^-4."""

PATIENCE = 20.0
"""Seconds for one optimal design in a search. A design stopped early is still tested against the goal."""

BELOW = (0.999, 0.99, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.01)
"""Shares of the found epsilon at which a family is tested again, in case its error does not fall as epsilon grows."""


@dataclass(frozen=True)
class AccuracyGoal:
    """An expected `loss` of at most `at_most`: on average under `prior`, or for every true answer ("worst")."""

    loss: Loss
    at_most: Fraction
    aim: Literal["average", "worst"] = "average"
    prior: tuple[float, ...] | None = None
    distance: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.at_most >= 0:
            raise ValueError(f"a promise must bound the loss by a number that is not negative, got {self.at_most}")
        if self.aim not in ("average", "worst"):
            raise ValueError(f"aim must be 'average' or 'worst', got {self.aim!r}")
        if self.aim == "worst" and self.prior is not None:
            raise ValueError("prior must be left out of a goal for every true answer: it would not be used")

    def value(self, mechanism: Mechanism) -> float:
        """Return the mechanism's value of the quantity that `at_most` bounds."""
        return mechanism.loss(self.loss, self.prior) if self.aim == "average" else mechanism.worst_loss(self.loss)

    def is_met_by(self, mechanism: Mechanism) -> bool:
        """Return whether the mechanism meets the goal: exactly, or with a margin if only floats exist."""
        value, bound = self.value(mechanism), float(self.at_most)
        if abs(value - bound) > CLEAR * max(bound, 1e-300):
            return value < bound
        return mechanism.law.measured_exactly and self.exact_value(mechanism) <= self.at_most

    def exact_value(self, mechanism: Mechanism) -> Fraction:
        """Return `value` as a Fraction; for a noise table, which has only floats, a float raised beyond its error."""
        if not mechanism.law.measured_exactly:
            return Fraction(self.value(mechanism) * (1 + CLEAR))
        if self.aim == "worst":
            return mechanism.exact_measures.worst_loss(self.loss)
        return mechanism.exact_measures.loss(self.loss, self.prior)

    def __str__(self) -> str:
        if self.distance is not None and self.aim == "worst":
            chance = float(1 - self.at_most)
            accuracy = f"within ±{_text(self.distance)}" if self.distance else "exactly right"
            return f"{accuracy} with probability {chance:.6g} for every true answer"
        measure = "mean" if self.aim == "average" else "worst-case"
        return f"{measure} {self.loss.name} error at most {float(self.at_most):.6g}"


def average(loss: LossLike, at_most: Number, prior: Prior = None) -> AccuracyGoal:
    """Return the goal that the loss, averaged over the answers, is at most a bound: average("absolute", 1)."""
    weights = None if prior is None else tuple(np.asarray(prior, dtype=np.float64).tolist())
    return AccuracyGoal(to_loss(loss), to_fraction(at_most, "at_most"), "average", weights)


def worst(loss: LossLike, at_most: Number) -> AccuracyGoal:
    """Return the goal that the loss is at most a bound for every true answer: worst("absolute", 2)."""
    return AccuracyGoal(to_loss(loss), to_fraction(at_most, "at_most"), "worst")


def within(distance: Number, probability: Number) -> AccuracyGoal:
    """Return the goal that the output misses by at most `distance` with at least `probability`, for every true
    answer.
    """
    chance = to_fraction(probability, "probability")
    if not 0 < chance <= 1:
        raise ValueError(f"probability must be above 0 and at most 1, got {probability}")
    return AccuracyGoal(threshold_loss(distance), 1 - chance, "worst", None, to_fraction(distance, "distance"))


@dataclass(frozen=True)
class GoalResult:
    """A goal, an epsilon, and the certified mechanism that meets the goal at that epsilon."""

    promise: AccuracyGoal
    epsilon: Fraction
    mechanism: Mechanism

    @property
    def value(self) -> float:
        """The mechanism's value of the quantity that `at_most` bounds."""
        return self.promise.value(self.mechanism)

    def __str__(self) -> str:
        return f"epsilon {_text(self.epsilon)}: {self.promise}, by {self.mechanism.origin.name}"

    def __repr__(self) -> str:
        return f"<GoalResult: {self}>"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the epsilon is exact, as text."""
        return {
            "epsilon": str(self.epsilon),
            "promise": str(self.promise),
            "at_most": float(self.promise.at_most),
            "value": self.value,
            "mechanism": str(self.mechanism.origin),
        }


# --- the smallest epsilon ---------------------------------------------------------------------------------


def calibrate_epsilon(
    query: RangeQuery,
    promise: AccuracyGoal,
    family: str | Family = "optimal",
    *,
    subject_to: Sequence[Restriction] = (),
) -> GoalResult:
    """Return the smallest epsilon at which a family of mechanisms meets a goal, with the mechanism that meets it.

    family: "optimal" (the best that any mechanism can do), the name of a function of the catalog, or any function
    (query, epsilon) → Mechanism. *Guarantee:* the returned mechanism is certified for the returned epsilon and meets
    the goal. The epsilon is the smallest to five digits if the error falls as epsilon grows (always for "optimal").
    Other families are tested again at smaller values, and the smallest that works is returned. About twenty mechanisms
    are made. subject_to: limits that the "optimal" one meets too, as in `ib.optimal`. Raises `InfeasibleDesign` if
    epsilon 64 is not enough.

    >>> from inbounds.query import count
    >>> kept = calibrate_epsilon(count(10), within(1, "0.9"), "truncated_geometric")
    >>> print(kept)
    epsilon 1.3863: within ±1 with probability 0.9 for every true answer, by truncated_geometric
    """
    check_query(query)
    check_kind(promise, AccuracyGoal, "promise", "a promise such as ib.goals.within(2, 0.9)")
    search = _Search(query, promise, _family(family, promise, subject_to))
    low, high = _bracket(search)
    result = search.smallest(low, high)
    if family != "optimal":
        for share in BELOW:
            index = _grid_index(result.epsilon * Fraction(str(share)))
            if index > _FIRST and search.keeps(index):
                result = search.smallest(_FIRST - 1, index)
    return result


class _Search:
    """Bisection over the grid of five-digit epsilons; mechanisms that meet the goal are remembered."""

    def __init__(self, query: RangeQuery, promise: AccuracyGoal, make: Family) -> None:
        self.query, self.promise, self.make = query, promise, make
        self.kept: dict[int, Mechanism] = {}

    def keeps(self, index: int) -> bool:
        if index in self.kept:
            return True
        try:
            mechanism = self.make(self.query, _grid(index))
        except InfeasibleDesign:  # the limits cannot be met
            return False
        if self.promise.is_met_by(mechanism):
            self.kept[index] = mechanism
            return True
        return False

    def smallest(self, fails: int, keeps: int) -> GoalResult:
        """Bisect between an index that fails (or none) and one that meets the goal."""
        while keeps - fails > 1:
            middle = (fails + keeps) // 2
            fails, keeps = (fails, middle) if self.keeps(middle) else (middle, keeps)
        return GoalResult(self.promise, _grid(keeps), self.kept[keeps])


def _bracket(search: _Search) -> tuple[int, int]:
    """Return indices of an epsilon that fails and of one that meets the goal, by factors of four from 1."""
    index = _grid_index(Fraction(1))
    if search.keeps(index):
        while index > _FIRST:
            below = max(_FIRST, _grid_index(_grid(index) / 4))
            if not search.keeps(below):
                return below, index
            index = below
        return _FIRST - 1, _FIRST
    while index < _LAST:
        above = min(_LAST, _grid_index(_grid(index) * 4))
        if search.keeps(above):
            return index, above
        index = above
    raise InfeasibleDesign(
        f"no epsilon up to {EPSILON_RANGE[1]} keeps the promise '{search.promise}'; promise less, or use finer cells"
    )


_LEAST = int(10 ** (DIGITS - 1))
_SPAN = 9 * _LEAST


def _grid(index: int) -> Fraction:
    """Return the five-digit decimal with this index: index 0 is 1, one decade is 90,000 indices."""
    decade, offset = divmod(index, _SPAN)
    return Fraction(_LEAST + offset) * _ten_to(decade - DIGITS + 1)


def _grid_index(epsilon: Fraction) -> int:
    """Return the index of the least five-digit decimal at or above epsilon."""
    decade = math.floor(math.log10(epsilon))
    while _ten_to(decade) > epsilon:
        decade -= 1
    while _ten_to(decade + 1) <= epsilon:
        decade += 1
    steps = math.ceil(epsilon * _ten_to(DIGITS - 1 - decade)) - _LEAST
    return decade * _SPAN + steps


def _ten_to(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


_FIRST, _LAST = (_grid_index(end) for end in EPSILON_RANGE)


# --- the best promise -------------------------------------------------------------------------------------


def best_goal_at(
    query: RangeQuery, epsilon: Number, promise: AccuracyGoal, family: str | Family = "optimal"
) -> GoalResult:
    """Return the tightest goal of the same kind that the family meets at an epsilon; the given bound is replaced.

    The bound is the exact loss of the certified mechanism, rounded up to six digits.

    >>> from inbounds.query import count
    >>> print(best_goal_at(count(10), 1, within(1, "0.5"), "truncated_geometric").promise)
    within ±1 with probability 0.802123 for every true answer
    """
    check_query(query)
    check_kind(promise, AccuracyGoal, "promise", "a promise such as ib.goals.within(2, 0.9)")
    bound = to_epsilon(epsilon)
    mechanism = _family(family, promise)(query, bound)
    least_bound = _rounded_up(promise.exact_value(mechanism))
    return GoalResult(replace(promise, at_most=least_bound), bound, mechanism)


def narrowest_interval_at(
    query: RangeQuery, epsilon: Number, probability: Number, family: str | Family = "optimal"
) -> GoalResult:
    """Return the smallest d for which "within ±d with `probability`, for every true answer" is met at epsilon.

    Bisects over the distances that occur between outputs and answers.
    """
    check_query(query)
    values, answers = query.outputs.values, query.answers
    top = max(values[-1] - answers[0], answers[-1] - values[0])
    unit = Fraction(
        1, math.lcm(values.unit.denominator, answers.unit.denominator, (values[0] - answers[0]).denominator)
    )
    bound, fails, keeps = to_epsilon(epsilon), -1, int(top / unit)
    result: GoalResult | None = None
    while result is None or keeps - fails > 1:
        middle = keeps if result is None else (fails + keeps) // 2
        promise = within(middle * unit, probability)
        mechanism = _family(family, promise)(query, bound)
        if promise.is_met_by(mechanism):
            keeps, result = middle, GoalResult(promise, bound, mechanism)
        else:
            fails = middle
    return result


def best_of_each_kind(
    query: RangeQuery, epsilon: Number, family: str | Family = "optimal", probability: Number = "0.9"
) -> list[GoalResult]:
    """Return the best goal of each kind at an epsilon: mean and worst-case error, truth, some distances, the narrowest.

    With "optimal", each goal has its own mechanism.
    """
    check_query(query)
    if not query.is_ordered:
        return [
            best_goal_at(query, epsilon, average("zero-one", 1), family),
            best_goal_at(query, epsilon, worst("zero-one", 1), family),
        ]
    reach = query.sensitivity
    kinds = [average("absolute", 1), worst("absolute", 1), *(within(k * reach, 1) for k in (0, 1, 2, 3))]
    return [
        *(best_goal_at(query, epsilon, kind, family) for kind in kinds),
        narrowest_interval_at(query, epsilon, probability, family),
    ]


def _rounded_up(value: Fraction) -> Fraction:
    """Return the least six-digit decimal at or above a value."""
    if value == 0:
        return value
    scale = _ten_to(5 - math.floor(math.log10(value)))
    return math.ceil(value * scale) / scale


def _family(family: str | Family, promise: AccuracyGoal, limits: Sequence[Restriction] = ()) -> Family:
    if limits and family != "optimal":
        raise ValueError("subject_to must be left out for a family other than 'optimal', which alone can keep limits")
    if callable(family):
        return family
    if family == "optimal":
        from inbounds.design.designer import optimal

        return lambda query, epsilon: optimal(
            query, epsilon, promise.loss, promise.prior, (), promise.aim, subject_to=limits, max_seconds=PATIENCE
        )
    by_name = families()
    if family not in by_name:
        hint = suggest_name(family, ("optimal", *by_name))
        raise ValueError(f"family must be 'optimal', one of {', '.join(by_name)}, or a function, got {family!r}{hint}")
    return by_name[family]


def _text(value: Fraction) -> str:
    """Write a number as a decimal with up to ten digits."""
    return f"{float(value):.10g}"

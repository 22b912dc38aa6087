"""Choosing epsilon: promises about the error, the smallest epsilon that keeps one, the best one at an epsilon.

A promise is a loss, a bound, and whether the average or every true answer must meet it. It is judged on the
integers of a certified mechanism: floats decide only when they are clear, Fractions decide otherwise.
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
"""A float measure this far from the bound, relative to it, has decided; its own error is below 10^-11."""

DIGITS = 5
"""Significant digits of an epsilon that is searched for: neighbours on the grid differ by 10^-5 to 10^-4."""

PATIENCE = 20.0
"""Seconds for one optimal design of a search; one that is stopped early still keeps what it is found to keep."""

BELOW = (0.999, 0.99, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.01)
"""Shares of the epsilon found at which a family is asked again: does its error really fall as epsilon grows?"""


@dataclass(frozen=True)
class AccuracyGoal:
    """Expected `loss` of at most `at_most`: on average under `prior`, or for every true answer ("worst")."""

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

    def value(self, mechanism: Mechanism) -> float:
        """Return what the mechanism gives where the promise says `at_most`."""
        return mechanism.loss(self.loss, self.prior) if self.aim == "average" else mechanism.worst_loss(self.loss)

    def is_met_by(self, mechanism: Mechanism) -> bool:
        """Return whether the mechanism keeps the promise: exactly, or with a margin where only floats exist."""
        value, bound = self.value(mechanism), float(self.at_most)
        if abs(value - bound) > CLEAR * max(bound, 1e-300):
            return value < bound
        return mechanism.law.measured_exactly and self.exact_value(mechanism) <= self.at_most

    def exact_value(self, mechanism: Mechanism) -> Fraction:
        """`value` as a Fraction; for a noise table, which has none, a float raised beyond its error."""
        if not mechanism.law.measured_exactly:
            return Fraction(self.value(mechanism) * (1 + CLEAR))
        if self.aim == "worst":
            return mechanism.exact_measures.worst_loss(self.loss)
        return mechanism.exact_measures.loss(self.loss, self.prior)

    def __str__(self) -> str:
        if self.distance is not None and self.aim == "worst":
            chance = float(1 - self.at_most)
            near = f"within ±{_text(self.distance)}" if self.distance else "exactly right"
            return f"{near} with probability {chance:.6g} for every true answer"
        where = "mean" if self.aim == "average" else "worst-case"
        return f"{where} {self.loss.name} error at most {float(self.at_most):.6g}"


def average(loss: LossLike, at_most: Number, prior: Prior = None) -> AccuracyGoal:
    """Return the loss, averaged over the answers, is at most a bound: average("absolute", 1)."""
    weights = None if prior is None else tuple(np.asarray(prior, dtype=np.float64).tolist())
    return AccuracyGoal(to_loss(loss), to_fraction(at_most, "at_most"), "average", weights)


def worst(loss: LossLike, at_most: Number) -> AccuracyGoal:
    """Return the loss is at most a bound whatever the true answer: worst("absolute", 2)."""
    return AccuracyGoal(to_loss(loss), to_fraction(at_most, "at_most"), "worst")


def within(distance: Number, probability: Number) -> AccuracyGoal:
    """Return the report misses by at most `distance` with at least `probability`, whatever the true answer."""
    chance = to_fraction(probability, "probability")
    if not 0 < chance <= 1:
        raise ValueError(f"probability must be above 0 and at most 1, got {probability}")
    return AccuracyGoal(threshold_loss(distance), 1 - chance, "worst", None, to_fraction(distance, "distance"))


@dataclass(frozen=True)
class GoalResult:
    """A promise, an epsilon, and the certified mechanism that keeps the one at the other."""

    promise: AccuracyGoal
    epsilon: Fraction
    mechanism: Mechanism

    @property
    def value(self) -> float:
        """What the mechanism really gives where the promise says `at_most`."""
        return self.promise.value(self.mechanism)

    def __str__(self) -> str:
        return f"epsilon {_text(self.epsilon)}: {self.promise}, by {self.mechanism.origin.name}"

    def __repr__(self) -> str:
        return f"<Kept: {self}>"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; the epsilon exactly, as text."""
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
    """Return the smallest epsilon at which a family of mechanisms keeps a promise, with the mechanism that keeps it.

    family: "optimal" (the best that any mechanism can do), the name of a function of the catalog, or any function
    (query, epsilon) to Mechanism. Guarantee: the mechanism returned is certified for the epsilon returned and keeps
    the promise. That no smaller epsilon would do holds to five digits where the error falls as epsilon grows
    (always for "optimal"); other families are asked again at smaller values, and the smallest that works is
    taken. About twenty mechanisms are made. subject_to: limits that the "optimal" one keeps too, as in `ib.optimal`.
    `InfeasibleDesign` when not even epsilon 64 is enough.

    >>> from inbounds.query import count
    >>> kept = calibrate_epsilon(count(10), within(1, "0.9"), "truncated_geometric")
    >>> print(kept)
    epsilon 1.3863: within ±1 with probability 0.9 for every true answer, by truncated_geometric
    """
    check_query(query)
    check_kind(promise, AccuracyGoal, "promise", "a promise such as ib.goals.within(2, 0.9)")
    search = _Search(query, promise, _family(family, promise, subject_to))
    low, high = _bracket(search)
    found = search.smallest(low, high)
    if family != "optimal":
        for share in BELOW:
            at = _grid_index(found.epsilon * Fraction(str(share)))
            if at > _FIRST and search.keeps(at):
                found = search.smallest(_FIRST - 1, at)
    return found


class _Search:
    """Bisection over the grid of five-digit epsilons, remembering the mechanisms it made."""

    def __init__(self, query: RangeQuery, promise: AccuracyGoal, make: Family) -> None:
        self.query, self.promise, self.make = query, promise, make
        self.kept: dict[int, Mechanism] = {}

    def keeps(self, index: int) -> bool:
        if index in self.kept:
            return True
        try:
            mechanism = self.make(self.query, _grid(index))
        except InfeasibleDesign:  # of its limits
            return False
        if self.promise.is_met_by(mechanism):
            self.kept[index] = mechanism
            return True
        return False

    def smallest(self, fails: int, keeps: int) -> GoalResult:
        """Between an index that fails (or none) and one that keeps the promise."""
        while keeps - fails > 1:
            middle = (fails + keeps) // 2
            fails, keeps = (fails, middle) if self.keeps(middle) else (middle, keeps)
        return GoalResult(self.promise, _grid(keeps), self.kept[keeps])


def _bracket(search: _Search) -> tuple[int, int]:
    """Indices of an epsilon that fails and of one that keeps the promise, by steps of four from one."""
    at = _grid_index(Fraction(1))
    if search.keeps(at):
        while at > _FIRST:
            below = max(_FIRST, _grid_index(_grid(at) / 4))
            if not search.keeps(below):
                return below, at
            at = below
        return _FIRST - 1, _FIRST
    while at < _LAST:
        above = min(_LAST, _grid_index(_grid(at) * 4))
        if search.keeps(above):
            return at, above
        at = above
    raise InfeasibleDesign(
        f"no epsilon up to {EPSILON_RANGE[1]} keeps the promise '{search.promise}'; "
        "promise less, or report in finer cells"
    )


_LEAST = int(10 ** (DIGITS - 1))
_SPAN = 9 * _LEAST


def _grid(index: int) -> Fraction:
    """Return the five-digit decimals in order: index 0 is 1, one decade is 90,000 indices."""
    decade, rest = divmod(index, _SPAN)
    return Fraction(_LEAST + rest) * _ten_to(decade - DIGITS + 1)


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
    """Return the tightest promise of the same kind that the family keeps at an epsilon; the given bound is replaced.

    The bound is the exact loss of the certified mechanism, rounded up to six digits.

    >>> from inbounds.query import count
    >>> print(best_goal_at(count(10), 1, within(1, "0.5"), "truncated_geometric").promise)
    within ±1 with probability 0.802123 for every true answer
    """
    check_query(query)
    check_kind(promise, AccuracyGoal, "promise", "a promise such as ib.goals.within(2, 0.9)")
    bound = to_epsilon(epsilon)
    mechanism = _family(family, promise)(query, bound)
    tight = _rounded_up(promise.exact_value(mechanism))
    return GoalResult(replace(promise, at_most=tight), bound, mechanism)


def narrowest_interval_at(
    query: RangeQuery, epsilon: Number, probability: Number, family: str | Family = "optimal"
) -> GoalResult:
    """Return the smallest distance d for which "within ±d with `probability`, for every true answer" is kept at epsilon.

    By bisection over the distances that occur between reports and answers.
    """
    check_query(query)
    values, answers = query.outputs.values, query.answers
    top = max(values[-1] - answers[0], answers[-1] - values[0])
    unit = Fraction(
        1, math.lcm(values.unit.denominator, answers.unit.denominator, (values[0] - answers[0]).denominator)
    )
    bound, fails, keeps = to_epsilon(epsilon), -1, int(top / unit)
    kept: GoalResult | None = None
    while kept is None or keeps - fails > 1:
        middle = keeps if kept is None else (fails + keeps) // 2
        promise = within(middle * unit, probability)
        mechanism = _family(family, promise)(query, bound)
        if promise.is_met_by(mechanism):
            keeps, kept = middle, GoalResult(promise, bound, mechanism)
        else:
            fails = middle
    return kept


def best_of_each_kind(
    query: RangeQuery, epsilon: Number, family: str | Family = "optimal", probability: Number = "0.9"
) -> list[GoalResult]:
    """Return what can be promised at an epsilon: mean and worst-case error, the truth, a few distances, the narrowest.

    Each is the best of its kind; with "optimal" each has a mechanism of its own.
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
    known = families()
    if family not in known:
        hint = suggest_name(family, ("optimal", *known))
        raise ValueError(f"family must be 'optimal', one of {', '.join(known)}, or a function, got {family!r}{hint}")
    return known[family]


def _text(value: Fraction) -> str:
    """Return a decimal where there is a short one."""
    return f"{float(value):.10g}"

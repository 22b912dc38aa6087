"""The epsilon for a wanted accuracy: from the plan alone, before any data is read."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from inbounds.errors import InfeasibleDesign
from inbounds.exact import Number, format_decimal, to_fraction
from inbounds.plan.plan import Plan
from inbounds.releases.budget import plan_budget, query_for_person
from inbounds.releases.workload import expected_error_of
from inbounds.schema.errors import PlanError
from inbounds.statistics.designs import DesignRequest, load_or_design

EPSILONS = tuple(
    Fraction(digits) * Fraction(10) ** power
    for power in range(-4, 1)
    for digits in range(10, 100)
    if Fraction(digits) * Fraction(10) ** power <= 64
)
"""Two digits each, from 0.001 to 64: nobody declares an epsilon more finely."""


def calibrate_plan_epsilon(plan: Plan, statistic: str, size: int, error: Number, cache: Path) -> Fraction:
    """The smallest epsilon, of two digits, at which a statistic errs by at most `error` in groups of a size.

    The error is the expected one of `tables.preview`: the mean over the prior, from the noise alone. All statistics of
    the plan share the epsilon as the plan says. `InfeasibleDesign` when not even 64 is enough. About nine designs are
    made.
    """
    wanted = to_fraction(error, "error")
    if not wanted > 0:
        raise ValueError(f"error must be positive, got {error}")
    names = [own.name for own in plan.statistics]
    if statistic not in names:
        raise ValueError(f"statistic must be one of {', '.join(names)}, got {statistic!r}")
    low, high = -1, len(EPSILONS) - 1
    if expected_error(replace(plan, epsilon=EPSILONS[high]), statistic, size, cache) > wanted:
        raise InfeasibleDesign(
            f"{statistic} errs by more than {format_decimal(wanted)} in groups of {size} even at epsilon 64"
        )
    while high - low > 1:
        middle = (low + high) // 2
        good = _error_if_allowed(plan, EPSILONS[middle], statistic, size, cache) <= wanted
        low, high = (low, middle) if good else (middle, high)
    return EPSILONS[high]


def expected_error(plan: Plan, statistic: str, size: int, cache: Path) -> float:
    """The expected error of one statistic in groups of one size, as the dry run states it."""
    line = next(line for line in plan_budget(plan) if line.statistic.name == statistic)
    own, subject = line.statistic, plan.context(line.statistic)
    request = DesignRequest(
        query_for_person(own.kind, subject, size, line.records), line.statistic_epsilon, plan.design_options(own)
    )
    return expected_error_of(
        load_or_design(request, cache).mechanism, request, own.own.error, own.own.derived(subject)
    ).error


def _error_if_allowed(plan: Plan, epsilon: Fraction, statistic: str, size: int, cache: Path) -> float:
    """The error at an epsilon; infinite where the plan's own parts already need more."""
    try:
        return expected_error(replace(plan, epsilon=epsilon), statistic, size, cache)
    except PlanError:
        return float("inf")

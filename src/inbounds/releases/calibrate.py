"""Find the epsilon for a wanted accuracy, from the plan alone, before any data is read."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from inbounds.errors import InfeasibleDesign
from inbounds.exact import Number, format_decimal, to_fraction
from inbounds.plan.plan import Plan
from inbounds.releases.accuracy import StatisticModel
from inbounds.releases.budget import plan_budget, query_for_person
from inbounds.releases.expected import expect_levels
from inbounds.schema.errors import PlanError
from inbounds.statistics.designs import DesignRequest, load_or_design
from inbounds.statistics.sizes import size_prior

EPSILONS = tuple(
    Fraction(digits) * Fraction(10) ** power
    for power in range(-4, 1)
    for digits in range(10, 100)
    if Fraction(digits) * Fraction(10) ** power <= 64
)
"""The candidates, two digits each, from 0.001 to 64."""


def calibrate_plan_epsilon(plan: Plan, statistic: str, size: int, error: Number, cache: Path) -> Fraction:
    """Find the smallest epsilon, of two digits, at which a statistic errs by at most `error` in groups of a size.

    The error is the expected one of `preview_release`: the mean over the prior, of the published number. All statistics
    of the plan share the epsilon as the plan says. Raises InfeasibleDesign if even 64 is not enough. Makes about nine
    designs, or simulates as often.
    """
    target = to_fraction(error, "error")
    if not target > 0:
        raise ValueError(f"error must be positive, got {error}")
    names = [candidate.name for candidate in plan.statistics]
    if statistic not in names:
        raise ValueError(f"statistic must be one of {', '.join(names)}, got {statistic!r}")
    low, high = -1, len(EPSILONS) - 1
    if expected_error(replace(plan, epsilon=EPSILONS[high]), statistic, size, cache) > target:
        raise InfeasibleDesign(
            f"{statistic} errs by more than {format_decimal(target)} in groups of {size} even at "
            "epsilon 64; use larger groups"
        )
    while high - low > 1:
        middle = (low + high) // 2
        good = _error_if_allowed(plan, EPSILONS[middle], statistic, size, cache) <= target
        low, high = (low, middle) if good else (middle, high)
    return EPSILONS[high]


def expected_error(plan: Plan, statistic: str, size: int, cache: Path) -> float:
    """Compute the expected error of one statistic in groups of one size, as the dry run states it."""
    k, line = next((k, line) for k, line in enumerate(plan_budget(plan)) if line.statistic.name == statistic)
    chosen = line.statistic
    if plan.adds_up(line.statistic):
        (in_groups,), _ = expect_levels(plan, k, line, (size,), cache)
        return in_groups.error
    request = DesignRequest(
        query_for_person(chosen, plan.context, size, line.records), line.statistic_epsilon, plan.design_options(chosen)
    )
    beliefs = None if plan.groups.public else size_prior(plan.groups.typical, size)
    mechanism = load_or_design(request, cache).mechanism
    return StatisticModel(chosen, plan.context, request, mechanism, size, beliefs).expected_error().error


def _error_if_allowed(plan: Plan, epsilon: Fraction, statistic: str, size: int, cache: Path) -> float:
    """Return the error at an epsilon; infinite if the parts that the plan fixes already need more."""
    try:
        return expected_error(replace(plan, epsilon=epsilon), statistic, size, cache)
    except PlanError:
        return float("inf")

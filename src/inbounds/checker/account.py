"""Check the account of a record: the epsilon that each statistic spends, and the epsilon of each of its draws.

The guarantee is about one change of the data: a record is changed, or added or removed, or a person is added or removed
with all records. Each number that the change can move costs the epsilon at which it was drawn. So many can move:

    a record changed, public sizes      one number; of cells two: the one it leaves and the one it enters
    a record changed, sizes at most     two: in the group it leaves and in the one it enters
    a record added or removed           one
    a person, r records in c groups     c numbers, each drawn for r records at once, or for one if a person counts
                                        once; where records of one person may move several numbers, r·c, each drawn
                                        for one record

Groups that the data holds are published by their numbers of persons, each at an equal part of delta for the groups of
one person; how many groups there are is no bound for what a person can move.

Statistics that add up are drawn in layers, and so are quantiles, variances and modes of a plan with levels: a record is
in one number of each layer, and the epsilons of the layers sum to that of one number.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.checker.fields import Fields, insist, read_exact, read_object, read_text
from inbounds.checker.plan import CHANGE, QUANTILES, StatedPlan, StatedStatistic
from inbounds.checker.together import MOST_TOGETHER, delta_together

CELLS, ROWS, COLUMNS = "cells", "rows", "columns"
"""The names of the layers of a crosstab."""


@dataclass(frozen=True)
class StatedCost:
    """The epsilon that a statistic spends.

    layers: the epsilon of its own numbers and of each of their sums or levels above; a statistic without them has one
    layer, named "". records: how many records of one person each number is drawn for. delta: of each number of persons
    by which groups from the data are published.
    """

    statistic: StatedStatistic
    spent: Fraction
    layers: dict[str, Fraction]
    records: int
    delta: Fraction = Fraction(0)


def check_account(lines: list[Any], stated: Any, plan: StatedPlan) -> list[StatedCost]:
    """Return the costs of all statistics; refuse an account that the plan does not allow."""
    totals = Fields(stated, "the epsilon")
    total, spent, delta = totals.exact("total"), totals.exact("spent"), totals.optional_exact("delta")
    totals.end()
    parts = planned_parts(plan)
    insist(total == plan.epsilon, "the record spends another epsilon than its plan")
    insist((delta or 0) == plan.delta and delta != 0, "the record has another delta than its plan")
    insist(len(lines) == len(parts), "the account must have a line for each statistic")
    if plan.delta:
        parts = _enlarged_parts(lines, parts)
    triples = zip(lines, plan.statistics, parts, strict=True)
    costs = [_cost(line, statistic, part, plan) for line, statistic, part in triples]
    if plan.is_found:  # all of delta is for what is published, and epsilons add up
        insist(spent == total == sum(parts, Fraction(0)), "groups from the data spend all of the epsilon, and no more")
        leaked = sum((cost.delta for cost in costs), Fraction(0)) * plan.groups_of_person
        insist(leaked == plan.delta, "the numbers of persons do not have the delta of the plan")
    elif plan.delta:
        insist(spent == total, "a release with a delta spends all of its epsilon")
        if sum(parts, Fraction(0)) > total:
            places = [independent_places(cost.statistic, plan) for cost in costs]
            insist(sum(places) <= MOST_TOGETHER, "so many numbers together have no delta: their epsilons must add up")
            answers = [cost.spent / n for cost, n in zip(costs, places, strict=True) for _ in range(n)]
            private = delta_together(answers, total) <= plan.delta
            insist(private, "the statistics are together not private at this delta")
    else:
        insist(sum(parts, Fraction(0)) == spent, "the account does not add up to the epsilon stated")
    return costs


def _enlarged_parts(lines: list[Any], parts: list[Fraction]) -> list[Fraction]:
    """Return what each statistic spends in a plan with a delta: its part of epsilon, times a factor common to all."""
    stated = read_object(lines[0]).get("spent") if isinstance(lines[0], dict) else None
    try:
        factor = read_exact(stated) / parts[0]
    except (ValueError, TypeError, ZeroDivisionError):
        factor = Fraction(0)
    insist(factor > 0, "the account must say what each statistic spends")
    return [factor * part for part in parts]


def independent_places(statistic: StatedStatistic, plan: StatedPlan) -> int:
    """Return in how many groups or cells apart one protected change may move a statistic, with no number in two.

    A changed record is one removed and one added. Both may be in one group, and move the same number the same way.
    """
    if plan.person is not None:
        return 1 if plan.has_layers(statistic) else plan.groups_of_person
    if plan.neighbours != CHANGE or _moves_twice(statistic, plan):
        return 1
    return _numbers_of_a_change(statistic, plan)


def _moves_twice(statistic: StatedStatistic, plan: StatedPlan) -> bool:
    """Return whether a record removed and one added may move one number the same way, by twice what each does."""
    if statistic.kind == "sum":
        return plan.column(statistic).low < 0 < plan.column(statistic).high
    return statistic.kind in QUANTILES


def planned_parts(plan: StatedPlan) -> list[Fraction]:
    """Return what each statistic spends: its epsilon, its share of the total, or an equal part of the rest."""
    parts = [s.epsilon if s.budget_share is None else s.budget_share * plan.epsilon for s in plan.statistics]
    left = plan.epsilon - sum((part for part in parts if part is not None), Fraction(0))
    unset = parts.count(None)
    positive = all(part > 0 for part in parts if part is not None)
    insist(positive and (left > 0 if unset else left >= 0), "the statistics spend more than the plan's epsilon")
    return [left / unset if part is None else part for part in parts]


def numbers_moved(statistic: StatedStatistic, plan: StatedPlan) -> int:
    """Return how many numbers of a statistic one protected change may move; with layers, of each layer."""
    if plan.person is not None:
        return plan.groups_of_person * (plan.person.records if _has_cost_per_record(statistic, plan) else 1)
    return _numbers_of_a_change(statistic, plan) if plan.neighbours == CHANGE else 1


def _numbers_of_a_change(statistic: StatedStatistic, plan: StatedPlan) -> int:
    """Return how many numbers a changed record moves: it may leave one cell or group for another."""
    return 2 if statistic.rule.in_cells or not plan.public else 1


def _has_cost_per_record(statistic: StatedStatistic, plan: StatedPlan) -> bool:
    """Return whether records of one person may move different numbers, so that each record has its own cost."""
    return statistic.rule.moves_several or plan.has_layers(statistic)


def _cost(line: Any, statistic: StatedStatistic, part: Fraction, plan: StatedPlan) -> StatedCost:
    fields, wrong = Fields(line, "the account"), f"the account of {statistic.name} is not what its plan allows"
    name, spent, drawn_at = fields.text("statistic"), fields.exact("spent"), fields.exact("draw_epsilon")
    fields.take("reason", read_text, "text")
    insist(name == statistic.name and spent == part, wrong)
    insist(drawn_at * numbers_moved(statistic, plan) == spent, wrong)
    layers = {"": drawn_at}
    if plan.has_layers(statistic):
        layers = _layers(fields.take("layers", read_object, "an object"), statistic, plan, drawn_at)
    delta = fields.exact("draw_delta") if plan.publishes(statistic) else Fraction(0)
    fields.end()
    insist(delta > 0 or not plan.publishes(statistic), wrong)
    one = plan.person is None or _has_cost_per_record(statistic, plan) or statistic.rule.once
    records = 1 if one or plan.person is None else plan.person.records
    return StatedCost(statistic, spent, layers, records, delta)


def _layers(
    values: dict[str, Any], statistic: StatedStatistic, plan: StatedPlan, drawn_at: Fraction
) -> dict[str, Fraction]:
    wrong = f"the layers of {statistic.name} do not sum to what the account allows"
    try:
        layers = {name: read_exact(text) for name, text in values.items()}
    except (ValueError, TypeError, ZeroDivisionError):
        layers = {}
    names = layer_names(statistic, plan)
    insist(set(layers) == set(names), wrong)
    layers = {name: layers[name] for name in names}
    insist(min(layers.values()) > 0 and sum(layers.values(), Fraction(0)) == drawn_at, wrong)
    if plan.hierarchy is not None and plan.hierarchy.shares and not statistic.rule.over_cells:
        shares = [share * drawn_at for share in plan.hierarchy.shares[::-1]]
        insist(list(layers.values()) == shares, wrong)
    return layers


def layer_names(statistic: StatedStatistic, plan: StatedPlan) -> list[str]:
    """Return the names of the layers: the lowest level and those above, or the cells and their margins."""
    if statistic.rule.over_cells:
        return [CELLS, *((ROWS, COLUMNS)[statistic.columns.index(margin)] for margin in statistic.margins)]
    assert plan.hierarchy is not None
    return list(plan.hierarchy.levels[::-1])

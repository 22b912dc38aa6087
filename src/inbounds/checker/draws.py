"""Check the stored draws of a record: for every number, which output of its mechanism was drawn.

A draw is a whole number between 0 and the last output of the mechanism that drew it. The draws of statistics that add
up are in `reports`, with what is needed to adjust them; all of that follows from plan, account and groups.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.checker.account import COLUMNS, ROWS, StatedCost
from inbounds.checker.fields import Fields, Json, insist, read_line
from inbounds.checker.lines import drawn_parts, is_same_json
from inbounds.checker.plan import QUANTILES, StatedPlan, StatedStatistic
from inbounds.checker.queries import required_query
from inbounds.checker.tree import GroupTree

KNOWN, MOST = "known", "most"
"""How the cells of a group sum: to its public size, or to at most its size."""

DEFAULT_LEVEL = Fraction(9, 10)
"""The probability of intervals in the field reports if the plan has no credible_level."""

ADJUSTMENTS = ("posterior", "least squares")
"""How a statistic was made to add up."""

ALL = "all"
"""The label of a margin in the names of columns."""

Outputs = dict[str, tuple[int, ...]]
"""Drawn outputs by column, one for every row."""


@dataclass(frozen=True)
class StatedLayer:
    """The draws of one layer of a statistic that adds up: one row for each column, one number for each node."""

    name: str
    reports: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class StatedReports:
    """The draws of one statistic that adds up."""

    layers: tuple[StatedLayer, ...]
    sums: str


def cell_names(statistic: StatedStatistic, plan: StatedPlan) -> list[str]:
    """Return the columns of a statistic's answers."""
    if statistic.kind == "histogram":
        return [f"{statistic.name}: {label}" for label in plan.labels(statistic)[0]]
    if statistic.kind == "crosstab":
        rows, columns = plan.labels(statistic)
        return [f"{statistic.name}: {row}, {column}" for row in rows for column in columns]
    if len(statistic.at) > 1:
        return [f"{statistic.name}_{_name_share(share)}" for share in statistic.at]
    return [statistic.name]


def _name_share(share: Fraction) -> str:
    """Return the end of the name of a quantile's column: min, median, max, or its percentage, if that is whole."""
    named = [kind for kind, at in QUANTILES.items() if at == share]
    return named[0] if named else f"q{100 * share if (100 * share).denominator == 1 else share}"


def margin_names(statistic: StatedStatistic, plan: StatedPlan, layer: str) -> list[str]:
    """Return the columns of one margin of a crosstab."""
    rows, columns = plan.labels(statistic)
    if layer == ROWS:
        return [f"{statistic.name}: {label}, {ALL}" for label in rows]
    return [f"{statistic.name}: {ALL}, {label}" for label in columns]


def layer_columns(statistic: StatedStatistic, plan: StatedPlan, layer: str) -> list[str]:
    """Return the columns of a layer: those of the statistic itself, or of a margin."""
    is_margin = layer in (ROWS, COLUMNS) and statistic.rule.over_cells
    return margin_names(statistic, plan, layer) if is_margin else cell_names(statistic, plan)


def drawn_sizes(statistic: StatedStatistic, plan: StatedPlan, tree: GroupTree | None) -> list[int]:
    """Return the size of every group that is drawn of, in the order of the table: above the groups those of levels."""
    if tree is None or not plan.is_drawn_of_levels(statistic):
        return list(plan.sizes)
    return [size for people in tree.people[::-1] for size in people]


def check_draws(
    values: Any, costs: list[StatedCost], plan: StatedPlan, tree: GroupTree | None, levels: int = 1
) -> Outputs:
    """Return the draws of statistics that do not add up. levels: how many times every group was answered."""
    fields, draws = Fields(values, "the draws"), Outputs()
    for cost in costs:
        if plan.adds_up(cost.statistic):
            continue
        sizes = drawn_sizes(cost.statistic, plan, tree)
        last = {n: required_query(cost.statistic, plan, n, cost.records).grid.last for n in set(sizes)}
        for column in drawn_parts(cost, plan) or cell_names(cost.statistic, plan):
            outputs = fields.take(column, read_line if plan.sizes else _read_no_line, "whole numbers")
            most = [last[size] for size in sizes] * levels
            fits = len(outputs) == len(most) and all(map(int.__le__, outputs, most))
            insist(fits, f"the draws of {column} are not outputs of its mechanisms for its groups")
            published = not plan.publishes(cost.statistic) or all(outputs)
            insist(published, f"a group is in the table although its {column} did not publish it")
            draws[column] = outputs
    fields.end()
    return draws


def _read_no_line(value: Any) -> tuple[int, ...]:
    if value != "":
        raise ValueError
    return ()


def check_reports(
    values: Any, costs: list[StatedCost], plan: StatedPlan, tree: GroupTree | None
) -> dict[str, StatedReports]:
    """Return the draws of statistics that add up, by name; refuse anything that the plan does not imply."""
    adding = [cost for cost in costs if plan.adds_up(cost.statistic)]
    fields = Fields(values, "the field reports")
    parents = [] if tree is None else [list(level) for level in tree.parents]
    shared = {
        "sizes": list(plan.sizes),
        "parents": parents,
        "credible_level": str(DEFAULT_LEVEL if plan.credible_level is None else plan.credible_level),
        "published": plan.credible_level is not None,
    }
    for name, implied in shared.items():
        stated = fields.anything(name)
        insist(is_same_json(stated, implied), "the field reports is not about the plan's groups and levels")
    records = fields.objects("statistics")
    fields.end()
    insist(len(records) == len(adding), "the field reports is not about the plan's statistics")
    return {
        cost.statistic.name: _check_additive(record, cost, plan, tree)
        for record, cost in zip(records, adding, strict=True)
    }


def sums_of_cells(statistic: StatedStatistic, plan: StatedPlan) -> str:
    """Return how the cells of a group sum: to its public size, to at most its size, or without a rule ("")."""
    if statistic.rule.over_cells:
        every = all(plan.columns[name].other is not None for name in statistic.columns)
        return KNOWN if plan.public and every else MOST
    return "" if not statistic.sum_to_size else KNOWN if plan.public else MOST


def _check_additive(values: Any, cost: StatedCost, plan: StatedPlan, tree: GroupTree | None) -> StatedReports:
    statistic, wrong = cost.statistic, f"the draws of {cost.statistic.name} are not those of its plan and account"
    fields, unit_query = Fields(values, "the field reports"), required_query(statistic, plan, 1)
    implied: Json = {
        "statistic": statistic.name,
        "shape": [len(labels) for labels in plan.labels(statistic)] if statistic.rule.over_cells else [],
        "sums": sums_of_cells(statistic, plan),
        "start": str(unit_query.grid.start),
        "step": str(unit_query.grid.unit),
        "positions": unit_query.grid.last,
        "averages": statistic.rule.averages,
    }
    for name, value in implied.items():
        insist(is_same_json(fields.anything(name), value), wrong)
    insist(fields.text("by") in ADJUSTMENTS, wrong)
    layers = fields.objects("layers")
    fields.end()
    insist(len(layers) == len(cost.layers), wrong)
    weights = (Fraction(1),) * len(layers)
    if not statistic.rule.over_cells:
        assert plan.hierarchy is not None
        weights = plan.hierarchy.weights[::-1]
    checked = []
    for level, (layer, (name, epsilon), weight) in enumerate(zip(layers, cost.layers.items(), weights, strict=True)):
        rate = str(epsilon / unit_query.steps)
        people = plan.sizes if tree is None or statistic.rule.over_cells else tree.people[level]
        # each group has the mechanism of its size; a layer above has one mechanism, made for its largest node
        sizes = people if level == 0 else (max(people),) * len(people)
        checked.append(_check_layer(layer, statistic, plan, (name, rate, str(weight)), sizes))
    return StatedReports(tuple(checked), implied["sums"])


def _check_layer(
    values: Any, statistic: StatedStatistic, plan: StatedPlan, implied: tuple[str, str, str], sizes: tuple[int, ...]
) -> StatedLayer:
    fields, wrong = Fields(values, "a layer"), f"the draws of {statistic.name} are not those of its plan and account"
    insist((fields.text("name"), fields.text("rate"), fields.text("weight")) == implied, wrong)
    names = layer_columns(statistic, plan, implied[0])
    insist(list(fields.texts("columns")) == names, wrong)
    rows = fields.objects("reports")
    fields.end()
    last = {n: required_query(statistic, plan, n).grid.last for n in set(sizes)}
    most = [last[n] for n in sizes]
    insist(len(rows) == len(names), wrong)
    for row in rows:
        whole = type(row) is list and len(row) == len(most) and all(type(output) is int for output in row)
        fits = whole and all(0 <= output <= end for output, end in zip(row, most, strict=True))
        insist(fits, f"the draws of {statistic.name} are not outputs of its mechanisms for its groups")
    return StatedLayer(implied[0], {name: tuple(row) for name, row in zip(names, rows, strict=True)})

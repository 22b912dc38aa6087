"""Compute the table that adds up from the draws in a record, with the same digits everywhere.

A record keeps what was drawn: for every statistic that adds up, rows of draws of each of its layers. Everything here
is post-processing of those.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.adjust.label_trees import LabelTree, adjust_label_tree
from inbounds.adjust.likelihoods import GeometricReports
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_adjust import TreeLevelResult
from inbounds.adjust.two_way import TwoWay, adjust_two_way
from inbounds.exact import Ints
from inbounds.mechanism.json_values import parse_fraction
from inbounds.schema.report_types import CELLS, COLUMNS, KNOWN, ROWS, AdditiveRecord, ReportsRecord, pad_above


@dataclass(frozen=True, eq=False)
class AdjustedStatistic:
    """A statistic that was made to add up: values and intervals of its layers, rows × nodes. by: how."""

    name: str
    layers: tuple[TreeLevelResult, ...] = field(repr=False)
    by: str


Columns = dict[str, NDArray[Any]]
"""Columns of a table by name, in order."""


def adjust_columns(form: ReportsRecord) -> list[tuple[Columns, str]]:
    """Compute for each statistic the columns of its table (values, mean error, intervals), and how it was adjusted.

    Rows are the levels from the top down, the groups last; columns about groups alone are missing above them.
    """
    above = sum(max(parents) + 1 for parents in form["parents"])
    pairs = zip(form["statistics"], adjust_reports(form), strict=True)
    return [(_columns(form, statistic, adjusted, above), adjusted.by) for statistic, adjusted in pairs]


def _columns(form: ReportsRecord, statistic: AdditiveRecord, adjusted: AdjustedStatistic, above: int) -> Columns:
    over_cells, cells = bool(statistic["shape"]), len(statistic["layers"][0]["columns"])
    layers = adjusted.layers if over_cells else adjusted.layers[::-1]
    values, low, high, errors = (
        np.concatenate([getattr(layer, part) for layer in layers], axis=0 if over_cells else 1)
        for part in ("values", "low", "high", "errors")
    )
    names = [name for layer in statistic["layers"][: None if over_cells else 1] for name in layer["columns"]]
    columns = dict(zip(names, values, strict=True))
    columns[f"{statistic['statistic']}_error"] = np.array(
        [float(f"{error:.4g}") for error in errors[:cells].mean(axis=0)]
    )
    if form["published"]:
        for name, first, last in zip(names, low, high, strict=True):
            columns |= {f"{name}_low": first, f"{name}_high": last}
    return {name: pad_above(above, column) for name, column in columns.items()} if over_cells else columns


def adjust_reports(form: ReportsRecord) -> list[AdjustedStatistic]:
    """Make all statistics of a record's draws add up."""
    return [
        _crosstab(form, statistic) if statistic["shape"] else _levels(form, statistic)
        for statistic in form["statistics"]
    ]


def _rates(statistic: AdditiveRecord) -> list[float]:
    return [float(parse_fraction(layer["rate"])) for layer in statistic["layers"]]


def _weights(statistic: AdditiveRecord) -> list[float]:
    return [float(parse_fraction(layer["weight"])) for layer in statistic["layers"]]


def _levels(form: ReportsRecord, statistic: AdditiveRecord) -> AdjustedStatistic:
    """Adjust labels (one, for a count or a sum) over the levels of the hierarchy."""
    first = np.array(form["parents"][0])
    order = np.argsort(first, kind="stable")
    sizes = np.array(form["sizes"])[order]
    tree = Tree.from_leaves(sizes * statistic["positions"], first[order], *map(np.array, form["parents"][1:]))
    people = tree.sums(sizes)
    reports = []
    for level, (layer, rate) in enumerate(zip(statistic["layers"], _rates(statistic), strict=True)):
        rows = np.minimum(np.array(layer["reports"], dtype=np.int64), _declared_order(tree.sizes[level], order, level))
        reports.append(GeometricReports((rows[:, order] if level == 0 else rows).ravel(), rate))
    labels = len(statistic["layers"][0]["reports"])
    label_tree = LabelTree(tree, labels, tuple(reports), statistic["sums"])
    adjusted = adjust_label_tree(label_tree, _weights(statistic), float(parse_fraction(form["credible_level"])))
    back = np.argsort(order)
    layers = []
    for level, (nodes, result) in enumerate(zip(people, adjusted.levels, strict=True)):
        parts = [
            _to_values(statistic, nodes, part.reshape(labels, -1)) for part in (result.values, result.low, result.high)
        ]
        errors = result.errors.reshape(labels, -1) * float(parse_fraction(statistic["step"]))
        parts.append(errors / nodes if statistic["averages"] else errors)
        layers.append(TreeLevelResult(*((part[:, back] if level == 0 else part) for part in parts)))
    return AdjustedStatistic(statistic["statistic"], tuple(layers), adjusted.method)


def _declared_order(sizes: Ints, order: Ints, level: int) -> Ints:
    """Return ranges in the order in which draws are kept: groups as they were declared."""
    return sizes[np.argsort(order)] if level == 0 else sizes


def _crosstab(form: ReportsRecord, statistic: AdditiveRecord) -> AdjustedStatistic:
    """Adjust the cells and margins of a crosstab."""
    rows, columns = statistic["shape"]
    sizes = np.array(form["sizes"])
    reports = {
        layer["name"]: GeometricReports(np.minimum(np.array(layer["reports"]), sizes).T.ravel(), rate)
        for layer, rate in zip(statistic["layers"], _rates(statistic), strict=True)
    }
    weight = dict(zip(reports, _weights(statistic), strict=True))
    weights = [weight.get(name, 0.0) for name in (CELLS, ROWS, COLUMNS)]
    two_way = TwoWay(
        rows, columns, sizes, statistic["sums"] == KNOWN, reports[CELLS], reports.get(ROWS), reports.get(COLUMNS)
    )
    adjusted = adjust_two_way(two_way, weights, float(parse_fraction(form["credible_level"])))
    by_name = {CELLS: adjusted.cells, ROWS: adjusted.row_sums, COLUMNS: adjusted.column_sums}
    layers = []
    for name in reports:
        level = by_name[name]
        assert level is not None
        parts: list[Any] = [level.values, level.low, level.high, level.errors]
        layers.append(TreeLevelResult(*(part.reshape(len(sizes), -1).T for part in parts)))
    return AdjustedStatistic(statistic["statistic"], tuple(layers), adjusted.method)


def _to_values(statistic: AdditiveRecord, people: Ints, positions: Ints) -> Any:
    """Convert positions to the values they stand for: averages to fractions, whole values to whole numbers."""
    start, step = parse_fraction(statistic["start"]), parse_fraction(statistic["step"])
    common = math.lcm(start.denominator, step.denominator)
    whole = people * int(start * common) + positions * int(step * common)
    if statistic["averages"]:
        return whole / (common * people)
    return whole if common == 1 else whole / common

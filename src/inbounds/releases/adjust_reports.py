"""The table that adds up, from the reports in a record alone: whoever has the record gets the same digits.

A record keeps what was drawn: for every statistic that adds up, and each of its layers, rows of reports. Everything
here is post-processing of those.
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
from inbounds.mechanism.codec import parse_fraction
from inbounds.schema.report_types import CELLS, COLUMNS, KNOWN, ROWS, AddingForm, ReportsForm, below


@dataclass(frozen=True, eq=False)
class AdjustedStatistic:
    """A statistic that was made to add up: values and intervals of its layers, rows × nodes, its own numbers first."""

    name: str
    layers: tuple[TreeLevelResult, ...] = field(repr=False)
    by: str


Columns = dict[str, NDArray[Any]]
"""Columns of a table by name, in order."""


def adjust_columns(form: ReportsForm) -> list[tuple[Columns, str]]:
    """For each statistic the columns of its table, values, the mean error of a row's cells, intervals; and how.

    Rows are the levels from the top down, the groups last; what is about groups alone is missing above them.
    """
    above = sum(max(parents) + 1 for parents in form["parents"])
    pairs = zip(form["statistics"], adjust_reports(form), strict=True)
    return [(_columns(form, own, found, above), found.by) for own, found in pairs]


def _columns(form: ReportsForm, own: AddingForm, found: AdjustedStatistic, above: int) -> Columns:
    over_cells, cells = bool(own["shape"]), len(own["layers"][0]["columns"])
    layers = found.layers if over_cells else found.layers[::-1]
    values, low, high, errors = (
        np.concatenate([getattr(layer, part) for layer in layers], axis=0 if over_cells else 1)
        for part in ("values", "low", "high", "errors")
    )
    names = [name for layer in own["layers"][: None if over_cells else 1] for name in layer["columns"]]
    columns = dict(zip(names, values, strict=True))
    columns[f"{own['statistic']}_error"] = np.array([float(f"{error:.4g}") for error in errors[:cells].mean(axis=0)])
    if form["published"]:
        for name, first, last in zip(names, low, high, strict=True):
            columns |= {f"{name}_low": first, f"{name}_high": last}
    return {name: below(above, column) for name, column in columns.items()} if over_cells else columns


def adjust_reports(form: ReportsForm) -> list[AdjustedStatistic]:
    """All statistics of a record's reports, made to add up."""
    return [_crosstab(form, own) if own["shape"] else _levels(form, own) for own in form["statistics"]]


def _rates(own: AddingForm) -> list[float]:
    return [float(parse_fraction(layer["rate"])) for layer in own["layers"]]


def _weights(own: AddingForm) -> list[float]:
    return [float(parse_fraction(layer["weight"])) for layer in own["layers"]]


def _levels(form: ReportsForm, own: AddingForm) -> AdjustedStatistic:
    """Labels (one, for a count or a sum) over the levels of the hierarchy."""
    first = np.array(form["parents"][0])
    order = np.argsort(first, kind="stable")
    sizes = np.array(form["sizes"])[order]
    tree = Tree.from_leaves(sizes * own["positions"], first[order], *map(np.array, form["parents"][1:]))
    people = tree.sums(sizes)
    reports = []
    for level, (layer, rate) in enumerate(zip(own["layers"], _rates(own), strict=True)):
        rows = np.minimum(np.array(layer["reports"], dtype=np.int64), _declared_order(tree.sizes[level], order, level))
        reports.append(GeometricReports((rows[:, order] if level == 0 else rows).ravel(), rate))
    labels = len(own["layers"][0]["reports"])
    asked = LabelTree(tree, labels, tuple(reports), own["sums"])
    found = adjust_label_tree(asked, _weights(own), float(parse_fraction(form["credible_level"])))
    back = np.argsort(order)
    layers = []
    for level, (nodes, each) in enumerate(zip(people, found.levels, strict=True)):
        parts = [_to_values(own, nodes, part.reshape(labels, -1)) for part in (each.values, each.low, each.high)]
        parts.append(each.errors.reshape(labels, -1) * float(parse_fraction(own["step"])))
        layers.append(TreeLevelResult(*((part[:, back] if level == 0 else part) for part in parts)))
    return AdjustedStatistic(own["statistic"], tuple(layers), found.method)


def _declared_order(sizes: Ints, order: Ints, level: int) -> Ints:
    """Ranges in the order in which reports are kept: groups as they were declared."""
    return sizes[np.argsort(order)] if level == 0 else sizes


def _crosstab(form: ReportsForm, own: AddingForm) -> AdjustedStatistic:
    rows, columns = own["shape"]
    sizes = np.array(form["sizes"])
    held = {
        layer["name"]: GeometricReports(np.minimum(np.array(layer["reports"]), sizes).T.ravel(), rate)
        for layer, rate in zip(own["layers"], _rates(own), strict=True)
    }
    weight = dict(zip(held, _weights(own), strict=True))
    weights = [weight.get(name, 0.0) for name in (CELLS, ROWS, COLUMNS)]
    asked = TwoWay(rows, columns, sizes, own["sums"] == KNOWN, held[CELLS], held.get(ROWS), held.get(COLUMNS))
    found = adjust_two_way(asked, weights, float(parse_fraction(form["credible_level"])))
    by_name = {CELLS: found.cells, ROWS: found.row_sums, COLUMNS: found.column_sums}
    layers = []
    for name in held:
        level = by_name[name]
        assert level is not None
        parts: list[Any] = [level.values, level.low, level.high, level.errors]
        layers.append(TreeLevelResult(*(part.reshape(len(sizes), -1).T for part in parts)))
    return AdjustedStatistic(own["statistic"], tuple(layers), found.method)


def _to_values(own: AddingForm, people: Ints, positions: Ints) -> Any:
    """Positions as the values they stand for; whole ones as whole numbers."""
    start, step = parse_fraction(own["start"]), parse_fraction(own["step"])
    common = math.lcm(start.denominator, step.denominator)
    whole = people * int(start * common) + positions * int(step * common)
    return whole if common == 1 else whole / common

"""Totals over all groups, estimated from published draws without bias; and which cells must not be added.

Draws in a range are biased: noise that leaves the range is published as its end. So cells near zero are too large on
average, and the error of their sum grows with the number of groups, not with its root. Truncated geometric draws can be
read without bias (`mechanism.unbiased`); draws of other mechanisms may only be read one by one. A statistic that adds
up has draws about every level, whose totals are averaged by the variances that follow from the plan.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.adjust.likelihoods import geometric_variance, read_geometric
from inbounds.exact import Floats
from inbounds.mechanism.codec import QUANTILE, query_from_json
from inbounds.mechanism.json_values import parse_fraction
from inbounds.mechanism.unbiased import UnbiasedSum
from inbounds.plan.load import parse_columns
from inbounds.schema.report_types import AdditiveRecord, ReportsRecord
from inbounds.statistics import Statistic, StatisticContext
from inbounds.statistics.entries import statistic_from_json

GEOMETRIC = "truncated_geometric"


@dataclass(frozen=True)
class Total:
    """The total of one column over all groups, without bias; None if its cells must not be added."""

    column: str
    sum: UnbiasedSum | None

    def __str__(self) -> str:
        text = "must not be added: no unbiased estimate exists" if self.sum is None else str(self.sum)
        return f"{self.column}: {text}"


def estimate_totals(record: Mapping[str, Any], table: Any) -> list[Total]:
    """Estimate the totals of counts, cells and sums of a release, from its record and its PyArrow table.

    Groups from the data have none: those that were not published would be missing from them.
    """
    if "keys" in record["plan"]:
        return []
    adding = {
        adding_statistic["statistic"]: adding_statistic
        for adding_statistic in record.get("reports", {}).get("statistics", ())
    }
    totals: list[Total] = []
    for statistic in map(statistic_from_json, record["plan"]["statistics"]):
        if statistic.averages:
            continue
        if statistic.name in adding:
            totals += _layer_totals(record["reports"], adding[statistic.name])
        elif statistic.over_groups:
            totals += _cell_totals(record, statistic, table)
    return totals


def _layer_totals(form: ReportsRecord, statistic: AdditiveRecord) -> Iterator[Total]:
    """Yield the total of every column of a statistic that adds up: its layers' totals, averaged by public variances."""
    sizes = np.array(form["sizes"])
    ranges = [sizes * statistic["positions"]]
    if not statistic["shape"]:
        for parents in form["parents"]:
            ranges.append(np.bincount(parents, ranges[-1]).astype(np.int64))
    offset, step = parse_fraction(statistic["start"]) * int(sizes.sum()), parse_fraction(statistic["step"])
    for k, column in enumerate(statistic["layers"][0]["columns"]):
        parts = []
        for layer, largest in zip(statistic["layers"], ranges, strict=False):
            rate = float(parse_fraction(layer["rate"]))
            readings, variances = read_geometric(layer["reports"][k], largest, rate)
            parts.append((readings.sum(), variances.sum(), 1 / (len(largest) * geometric_variance(rate))))
        estimate, variance, weight = (np.array(part) for part in zip(*parts, strict=True))
        weight = weight / weight.sum()
        total = float(offset) + float(step) * float(weight @ estimate)
        yield Total(column, UnbiasedSum(total, float(step) * math.sqrt(weight**2 @ variance), len(sizes)))


def _cell_totals(record: Mapping[str, Any], statistic: Statistic, table: Any) -> Iterator[Total]:
    """Yield the totals of a statistic whose draws are the table's own cells."""
    lines = [line for line in record["mechanisms"] if line["statistic"] == statistic.name]
    plan = record["plan"]
    columns = statistic.cells(StatisticContext(parse_columns(plan["columns"]), plan["sizes"] == "public"))
    readable = all(line["origin"] == GEOMETRIC and line["query"].get("kind") != QUANTILE for line in lines)
    if not readable or statistic.sums_to_size:
        yield from (Total(column, None) for column in columns)
        return
    sizes = _sizes(record, table)
    for column in columns:
        published = np.array(table[column].to_pylist(), dtype=np.float64)
        estimate = variance = 0.0
        for line in lines:
            members = (
                [includes_size(line["size"], size) for size in sizes] if sizes is not None else [True] * len(published)
            )
            line_estimate, line_variance = _read_line(line, published[members])
            estimate, variance = estimate + line_estimate, variance + line_variance
        yield Total(column, UnbiasedSum(estimate, math.sqrt(variance), len(published)))


def _read_line(line: Mapping[str, Any], published: Floats) -> tuple[float, float]:
    query = query_from_json(line["query"]).as_range_query
    start, step = float(query.answers.start), float(query.answers.unit)
    positions = np.rint((published - start) / step)
    readings, variances = read_geometric(
        positions, len(query.answers) - 1, float(parse_fraction(line["epsilon"])) / float(query.steps)
    )
    return float((start + step * readings).sum()), float(step**2 * variances.sum())


def _sizes(record: Mapping[str, Any], table: Any) -> list[int] | None:
    """Return the declared size of every row; None if all are the same."""
    name = "group_size" if record["plan"]["sizes"] == "public" else "group_maximum"
    has_column = name in table.column_names and name not in record["plan"]["by"]
    return table[name].to_pylist() if has_column else None


def includes_size(sizes: int | str, size: int) -> bool:
    """Return whether a record's line about sizes, one or first..last, includes this size."""
    first, _, last = str(sizes).partition("..")
    return int(first) <= size <= int(last or first)

"""Totals over all groups, read from published reports without bias; and which cells must not be added.

Reports in a range are biased: noise that leaves it is reported as its end, so cells near zero are too large on average,
and the error of their sum grows with the groups, not with their root. Truncated geometric reports are read without bias
(`mechanism.unbiased`); reports of other mechanisms may only be read one by one. A statistic that adds up has reports
about every level, whose totals are averaged by the variances that the plan alone implies.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.adjust.likelihoods import geometric_variance
from inbounds.exact import Floats
from inbounds.mechanism.codec import parse_fraction, query_from_json
from inbounds.mechanism.unbiased import UnbiasedSum
from inbounds.query import Reach
from inbounds.schema.report_types import AddingForm, ReportsForm

GEOMETRIC = "truncated_geometric"


@dataclass(frozen=True)
class Total:
    """The total of one column over all groups, without bias; None where its cells must not be added."""

    column: str
    sum: UnbiasedSum | None

    def __str__(self) -> str:
        said = "must not be added: its reports cannot be read without bias" if self.sum is None else str(self.sum)
        return f"{self.column}: {said}"


def estimate_totals(record: Mapping[str, Any], table: Any) -> list[Total]:
    """The totals of counts, cells and sums of a release, from its record and its table (PyArrow, as in `Release`)."""
    adding = {own["statistic"]: own for own in record.get("reports", {}).get("statistics", ())}
    found: list[Total] = []
    for statistic in record["plan"]["statistics"]:
        if statistic["name"] in adding:
            found += _layer_totals(record["reports"], adding[statistic["name"]])
        elif statistic["kind"] in ("count", "histogram", "sum"):
            found += _cell_totals(record, statistic, table)
    return found


def read_geometric(reports: Any, largest: Any, rate: float) -> tuple[Floats, Floats]:
    """Readings of truncated geometric reports on 0..largest, and what each adds to the variance of a sum."""
    falls = math.exp(-rate)
    beyond, variance = falls / (1 - falls), geometric_variance(rate)
    y = np.minimum(np.asarray(reports), largest)
    at_end = (y == 0) | (y == largest)
    readings = y + beyond * ((y == largest).astype(np.float64) - (y == 0))
    return np.asarray(readings), np.where(at_end, variance / 2, variance)


def _layer_totals(form: ReportsForm, own: AddingForm) -> Iterator[Total]:
    """Of every column of the statistic's own numbers: the layers' totals, averaged by public variances."""
    sizes = np.array(form["sizes"])
    ranges = [sizes * own["positions"]]
    if not own["shape"]:
        for parents in form["parents"]:
            ranges.append(np.bincount(parents, ranges[-1]).astype(np.int64))
    offset, step = parse_fraction(own["start"]) * int(sizes.sum()), parse_fraction(own["step"])
    for k, column in enumerate(own["layers"][0]["columns"]):
        parts = []
        for layer, largest in zip(own["layers"], ranges, strict=False):
            rate = float(parse_fraction(layer["rate"]))
            readings, variances = read_geometric(layer["reports"][k], largest, rate)
            parts.append((readings.sum(), variances.sum(), 1 / (len(largest) * geometric_variance(rate))))
        estimate, variance, weight = (np.array(part) for part in zip(*parts, strict=True))
        weight = weight / weight.sum()
        total = float(offset) + float(step) * float(weight @ estimate)
        yield Total(column, UnbiasedSum(total, float(step) * math.sqrt(weight**2 @ variance), len(sizes)))


def _cell_totals(record: Mapping[str, Any], statistic: Mapping[str, Any], table: Any) -> Iterator[Total]:
    """Of a statistic whose reports are the table's own cells."""
    lines = [line for line in record["mechanisms"] if line["statistic"] == statistic["name"]]
    columns = _cells(record, statistic)
    readable = all(line["origin"] == GEOMETRIC and "query" in line for line in lines)
    if not readable or statistic.get("sum_to_size"):
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
            one, other = _read_line(line, published[members])
            estimate, variance = estimate + one, variance + other
        yield Total(column, UnbiasedSum(estimate, math.sqrt(variance), len(published)))


def _read_line(line: Mapping[str, Any], published: Floats) -> tuple[float, float]:
    query = query_from_json(line["query"])
    reach = query.neighbours.steps if isinstance(query.neighbours, Reach) else 1
    start, step = float(query.answers.start), float(query.answers.unit)
    positions = np.rint((published - start) / step)
    readings, variances = read_geometric(
        positions, len(query.answers) - 1, float(parse_fraction(line["epsilon"])) / reach
    )
    return float((start + step * readings).sum()), float(step**2 * variances.sum())


def _cells(record: Mapping[str, Any], statistic: Mapping[str, Any]) -> Sequence[str]:
    if statistic["kind"] != "histogram":
        return [statistic["name"]]
    return [f"{statistic['name']}: {label}" for label in record["plan"]["columns"][statistic["of"]]["labels"]]


def _sizes(record: Mapping[str, Any], table: Any) -> list[int] | None:
    """The declared size of every row; None where all are the same."""
    name = "group_size" if record["plan"]["sizes"] == "public" else "group_maximum"
    found = name in table.column_names and name not in record["plan"]["by"]
    return table[name].to_pylist() if found else None


def includes_size(sizes: int | str, size: int) -> bool:
    """Whether a record's line about sizes, one or first..last, is about this one."""
    first, _, last = str(sizes).partition("..")
    return int(first) <= size <= int(last or first)

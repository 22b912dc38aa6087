"""A released table as dots with intervals: what was published about every group, and how far off it may be."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from inbounds.exact import format_decimal
from inbounds.mechanism.codec import query_from_json
from inbounds.report.plots import MOST_ROWS, Interval, plot_intervals
from inbounds.schema.record_types import ReleaseRecord, StatisticForm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PLOTS = 12
"""Columns that are drawn; the table holds all of them."""

MOST_PANELS = 4
"""Columns that are drawn beside each other in a figure."""

OF_ONE_COLUMN = frozenset({"mean", "min", "max", "median", "quantile"})
"""Kinds whose numbers lie between the bounds of their column."""

TWO_ERRORS = 2
"""Standard errors to each side of a total: about 95 % of the noise."""


def dot_plots(record: ReleaseRecord, table: Any) -> list[dict[str, str]]:
    """One plot for every published column of numbers, with what its lines mean; the first groups of many."""
    found = []
    for column, rows, meaning in islice(_plot_columns(record, table), MOST_PLOTS):
        found.append({"picture": plot_intervals(rows, column, ""), "meaning": meaning})
    return found


def figure(record: ReleaseRecord, table: Any) -> "Figure":
    """As `dot_plots`, one figure for all (extra `figures`)."""
    from inbounds.report.figures import dots

    return dots(list(islice(_plot_columns(record, table), MOST_PANELS)))


def _plot_columns(record: ReleaseRecord, table: Any) -> Iterator[tuple[str, list[Interval], str]]:
    """Every published column of numbers, its first groups as intervals, and what those mean."""
    keys = _keys(record, table)
    for statistic, column in _columns(record, table):
        values = table[column].slice(0, MOST_ROWS).to_pylist()
        ends = _ends(record, statistic, column, table)
        if ends is not None and all(isinstance(value, int | float) for value in values):
            lows, highs, meaning = ends
            rows = zip(keys, map(float, lows), map(float, values), map(float, highs), strict=True)
            yield column, [Interval(*row) for row in rows], meaning


def total_plot(sums: Sequence[tuple[str, float, float]]) -> str:
    """Totals, each with two standard errors to both sides."""
    rows = [Interval(name, sum_ - TWO_ERRORS * error, sum_, sum_ + TWO_ERRORS * error) for name, sum_, error in sums]
    return plot_intervals(rows[:MOST_ROWS], "total ± 2 standard errors")


def _columns(record: ReleaseRecord, table: Any) -> Iterator[tuple[StatisticForm, str]]:
    """The published numbers of every statistic: its own column, or one for each of its cells."""
    for statistic in record["plan"]["statistics"]:
        name = statistic["name"]
        own = [column for column in table.column_names if column == name or column.startswith(f"{name}: ")]
        beside = {f"{column}_{end}" for column in own for end in ("low", "high", "error")}
        yield from ((statistic, column) for column in own if column not in beside)


def _ends(
    record: ReleaseRecord, statistic: StatisticForm, column: str, table: Any
) -> tuple[list[float], list[float], str] | None:
    """Where the lines of a column begin and end: its interval, or its expected error to both sides."""
    low, high, error = f"{column}_low", f"{column}_high", f"{statistic['name']}_error"
    if low in table.column_names and high in table.column_names:
        level = record["plan"]["credible_level"]
        chance = "" if level is None else f" with probability {format_decimal(Fraction(level))}"
        ends = [table[name].slice(0, MOST_ROWS).to_pylist() for name in (low, high)]
        return (
            (*ends, f"The line holds the true number{chance}, {_before(record, statistic)}.")
            if None not in ends[0]
            else None
        )
    values, errors = (table[name].slice(0, MOST_ROWS).to_pylist() for name in (column, error))
    if any(not isinstance(value, int | float) for value in (*values, *errors)):
        return None
    pairs, (least, most) = list(zip(values, errors, strict=True)), _range(record, statistic)
    lows, highs = [max(value - off, least) for value, off in pairs], [min(value + off, most) for value, off in pairs]
    return lows, highs, "The line is the expected error to each side, within the range of possible answers."


def _before(record: ReleaseRecord, statistic: StatisticForm) -> str:
    """For whom an interval holds: of a quantile the prior is of the records, which draws its line to the middle."""
    own = [line for line in record["mechanisms"] if line["statistic"] == statistic["name"]]
    what = "values of a record" if any("quantile" in line for line in own) else "answers"
    return f"to a reader who held all {what} equally likely before (or the plan's prior)"


def _range(record: ReleaseRecord, statistic: StatisticForm) -> tuple[float, float]:
    """What a number of the statistic can be: a column's bounds, or the answers of its questions."""
    column: Any = record["plan"]["columns"].get(statistic["of"], {})
    if statistic["kind"] in OF_ONE_COLUMN:
        return float(Fraction(column["low"])), float(Fraction(column["high"]))
    own = [line for line in record["mechanisms"] if line["statistic"] == statistic["name"] and "query" in line]
    scales = [query_from_json(line["query"]).answers for line in own]
    ends = [(float(scale[0]), float(scale[-1])) for scale in scales] or [(-math.inf, math.inf)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _keys(record: ReleaseRecord, table: Any) -> list[str]:
    by = [name for name in record["plan"]["by"] if name in table.column_names]
    if not by:
        return ["all"] * min(table.num_rows, MOST_ROWS)
    columns = [table[name].slice(0, MOST_ROWS).to_pylist() for name in by]
    return [" · ".join("all" if part is None else str(part) for part in row) for row in zip(*columns, strict=True)]

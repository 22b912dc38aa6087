"""Plots of a released table: a dot for every published number, with its interval or expected error."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from inbounds.exact import format_decimal
from inbounds.mechanism.codec import JOINT, QUANTILE, query_from_json
from inbounds.plan.load import parse_columns
from inbounds.report.plots import MOST_ROWS, Interval, plot_intervals
from inbounds.schema.record_types import ReleaseRecord, StatisticRecord
from inbounds.statistics import StatisticContext
from inbounds.statistics.entries import statistic_from_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PLOTS = 12
"""Most columns that are drawn; the table holds all of them."""

MOST_PANELS = 4
"""Most columns that are drawn beside each other in a figure."""

TWO_ERRORS = 2
"""Standard errors to each side of a total: about 95 % of the noise."""


def dot_plots(record: ReleaseRecord, table: Any) -> list[dict[str, str]]:
    """Draw one plot for every published column of numbers, with the meaning of its lines; the first groups only."""
    plots = []
    for column, rows, meaning in islice(_plot_columns(record, table), MOST_PLOTS):
        plots.append({"picture": plot_intervals(rows, column, ""), "meaning": meaning})
    return plots


def figure(record: ReleaseRecord, table: Any) -> "Figure":
    """Draw the plots in one Matplotlib figure (extra `figures`)."""
    from inbounds.report.figures import dots

    return dots(list(islice(_plot_columns(record, table), MOST_PANELS)))


def _plot_columns(record: ReleaseRecord, table: Any) -> Iterator[tuple[str, list[Interval], str]]:
    """Yield every published column of numbers, its first groups as intervals, and the meaning of those.

    Without any group there is nothing to draw: of those from the data, none may have been published.
    """
    if not table.num_rows:
        return
    keys = _keys(record, table)
    for statistic, column in _columns(record, table):
        values = table[column].slice(0, MOST_ROWS).to_pylist()
        ends = _ends(record, statistic, column, table)
        if ends is not None and all(isinstance(value, int | float) for value in values):
            lows, highs, meaning = ends
            rows = zip(keys, map(float, lows), map(float, values), map(float, highs), strict=True)
            yield column, [Interval(*row) for row in rows], meaning


def total_plot(sums: Sequence[tuple[str, float, float]]) -> str:
    """Draw totals, each with two standard errors to both sides."""
    rows = [Interval(name, sum_ - TWO_ERRORS * error, sum_, sum_ + TWO_ERRORS * error) for name, sum_, error in sums]
    return plot_intervals(rows[:MOST_ROWS], "total ± 2 standard errors")


def _columns(record: ReleaseRecord, table: Any) -> Iterator[tuple[StatisticRecord, str]]:
    """Yield the published columns of every statistic: one, or one for each of its cells."""
    for statistic in record["plan"]["statistics"]:
        published = statistic_from_json(statistic)
        context = _context(record)
        cells = (*published.cells(context), *published.margin_cells(context))
        yield from ((statistic, column) for column in cells if column in table.column_names)


def _context(record: ReleaseRecord) -> StatisticContext:
    return StatisticContext(parse_columns(record["plan"]["columns"]), record["plan"]["sizes"] == "public")


def _ends(
    record: ReleaseRecord, statistic: StatisticRecord, column: str, table: Any
) -> tuple[list[float], list[float], str] | None:
    """Return the ends of a column's lines: its interval, or its expected error to both sides."""
    names = statistic_from_json(statistic).error_cells(_context(record))
    low, high, error = f"{column}_low", f"{column}_high", f"{column if column in names else statistic['name']}_error"
    if low in table.column_names and high in table.column_names:
        level = record["plan"]["credible_level"]
        chance = "" if level is None else f" with probability {format_decimal(Fraction(level))}"
        ends = [table[name].slice(0, MOST_ROWS).to_pylist() for name in (low, high)]
        return (
            (*ends, f"The line holds the true number{chance}, {_describe_prior(record, statistic)}.")
            if None not in ends[0]
            else None
        )
    values, errors = (table[name].slice(0, MOST_ROWS).to_pylist() for name in (column, error))
    if any(not isinstance(value, int | float) for value in (*values, *errors)):
        return None
    pairs, (least, most) = list(zip(values, errors, strict=True)), _range(record, statistic)
    lows, highs = [max(value - off, least) for value, off in pairs], [min(value + off, most) for value, off in pairs]
    return lows, highs, "The line is the expected error to each side, within the range of possible answers."


def _describe_prior(record: ReleaseRecord, statistic: StatisticRecord) -> str:
    """For whom an interval holds: of a quantile the prior is of the records, which draws its line to the middle."""
    lines = [line for line in record["mechanisms"] if line["statistic"] == statistic["name"]]
    kinds = {line["query"].get("kind") for line in lines}
    if JOINT in kinds:
        return "if records lie as the record supposes"
    what = "values of a record" if QUANTILE in kinds else "answers"
    return f"if all {what} are equally likely beforehand (or under the plan's prior)"


def _range(record: ReleaseRecord, statistic: StatisticRecord) -> tuple[float, float]:
    """Return the possible values of a statistic: those of a number that is computed, or the answers of its queries."""
    lines = [line for line in record["mechanisms"] if line["statistic"] == statistic["name"]]
    derived = statistic_from_json(statistic).derive(_context(record))
    queries = [query_from_json(line["query"]).as_range_query for line in lines] if derived is None else [derived.query]
    scales = [query.answers for query in queries]
    ends = [(float(scale[0]), float(scale[-1])) for scale in scales] or [(-math.inf, math.inf)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _keys(record: ReleaseRecord, table: Any) -> list[str]:
    by = [name for name in record["plan"]["by"] if name in table.column_names]
    if not by:
        return ["all"] * min(table.num_rows, MOST_ROWS)
    columns = [table[name].slice(0, MOST_ROWS).to_pylist() for name in by]
    return [" · ".join("all" if part is None else str(part) for part in row) for row in zip(*columns, strict=True)]

"""The release as one HTML page for the public: what was counted, how exact it is, and what is promised.

Each statistic has a section, with a table of numbers and charts for each level on a scale of its own. A chart is a row
of the table, so its text alternative are the name and the number beside it. Numbers are rounded by at most
a quarter of their error. What an auditor needs is on another page (`report`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from inbounds.exact import format_decimal
from inbounds.plan.hierarchy import ALL
from inbounds.plan.load import parse_columns
from inbounds.plan.plan import CHANGE, LEVEL
from inbounds.releases.charge_session import format_population_state
from inbounds.releases.row_order import row_paths, sort_rows
from inbounds.report.plots import round_ticks
from inbounds.report.public_page import render_public_page
from inbounds.schema.record_types import AboutRecord, MechanismRecord, ReleaseRecord
from inbounds.schema.report_types import CELLS, COLUMNS, ROWS
from inbounds.schema.text import format_number
from inbounds.statistics import Crosstab, Statistic, StatisticContext
from inbounds.statistics.base import NO_BETTER
from inbounds.statistics.entries import statistic_from_json

FOLDED_FROM = 25
"""Tables with more rows are folded, but for the first one; a printed page shows them all."""

SEARCHED_FROM = 12
"""With more groups there is a field to search for them."""

MOST_TICKS = 4
"""About the most numbers on the scale of a chart, which may be a third of a phone wide."""


def public_page(record: ReleaseRecord, table: Any, about: AboutRecord | None = None) -> str:
    """Render a self-contained page for the public. about: title, author, contact and notes instead of the record's."""
    words = record.get("about", {}) if about is None else about
    rows = table.take(sort_rows(record, table))
    levels = _levels(record, rows)
    sections = [_section(record, rows, statistic, levels) for statistic in _statistics(record)]
    for number, part in enumerate(part for section in sections for part in section["parts"]):
        part["folded"] = number > 0 and len(part["rows"]) > FOLDED_FROM
    return render_public_page(
        {
            "title": words.get("title") or make_title(record),
            "facts": [
                fact for fact in (words.get("author"), record["plan"].get("edition"), record["time"][:10]) if fact
            ],
            "contact": words.get("contact", ""),
            "notes": [line for line in words.get("notes", "").splitlines() if line.strip()],
            "lead": [_what(sections, levels), _how_exact(sections)],
            "sections": sections,
            "searched": max((len(level.rows) for level in levels), default=0) > SEARCHED_FROM,
            "promise": _promise(record),
            "statement": record["statement"],
            "values": record["values"],
            "composition": record["composition"],
            "standing": format_population_state(record) if "ledger" in record else "",
            "file": record["table"]["file"] if "table" in record else "",
            "sha256": record["table"]["sha256"] if "table" in record else "",
            "made": f"inbounds {record['versions'].get('inbounds', '')}".strip(),
        }
    )


# --- levels and rows ----------------------------------------------------------------------------------------


TOGETHER = "All together"
"""The heading of numbers about all groups."""


@dataclass(frozen=True)
class Level:
    """A level of the groups. name: as in the plan; empty without groups. rows: their places. names: of each row."""

    name: str
    rows: tuple[int, ...]
    names: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def title(self) -> str:
        """Return the heading of the level's table."""
        return TOGETHER if self.name in ("", ALL) else f"By {self.name}"


def _levels(record: ReleaseRecord, table: Any) -> list[Level]:
    """Return the levels from the top down; a row's name is its last key, with those above it."""
    plan = record["plan"]
    if "hierarchy" not in plan:
        keys = [table[name].to_pylist() for name in plan["by"] if name in table.column_names]
        texts = [" · ".join(map(str, key)) for key in zip(*keys, strict=True)] if keys else ["All records"]
        return [Level(_join(plan["by"]), tuple(range(table.num_rows)), tuple((text, "") for text in texts))]
    places: dict[str, list[int]] = {name: [] for name in plan["hierarchy"]["levels"]}
    for row, level in enumerate(table[LEVEL].to_pylist()):
        places[level].append(row)
    paths = row_paths(record, table)
    names = [(path[-1], " · ".join(path[:-1])) if path else (TOGETHER, "") for path in paths]
    return [Level(name, tuple(rows), tuple(names[row] for row in rows)) for name, rows in places.items()]


def make_title(record: ReleaseRecord) -> str:
    """Return a title from the names of the numbers and of the groups, for a release without one."""
    plan = record["plan"]
    names = _join([statistic["name"] for statistic in plan["statistics"]])
    where = plan["hierarchy"]["levels"][-1] if "hierarchy" in plan else _join(plan["by"])
    text = f"{names} by {where}" if where else names
    return text[:1].upper() + text[1:]


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


# --- sections -----------------------------------------------------------------------------------------------


def _statistics(record: ReleaseRecord) -> list[Statistic]:
    return [statistic_from_json(statistic) for statistic in record["plan"]["statistics"]]


def _section(record: ReleaseRecord, table: Any, statistic: Statistic, levels: Sequence[Level]) -> dict[str, Any]:
    """Return the section of a statistic: what it is, and a part for each level that has numbers."""
    plan = record["plan"]
    context = StatisticContext(parse_columns(plan["columns"]), plan["sizes"] == "public", "unit" in plan)
    cells = statistic.cells(context)
    parts: list[dict[str, Any]] = []
    for level in levels:
        present = [k for k, row in enumerate(level.rows) if table[cells[0]][row].as_py() is not None]
        if not present:
            continue
        shown = Level(level.name, tuple(level.rows[k] for k in present), tuple(level.names[k] for k in present))
        if isinstance(statistic, Crosstab):
            made = _crossed(statistic, context, table, shown)
        elif len(statistic.error_cells(context)) > 1:  # quantiles: each has an error of its own
            titles = [f"{shown.title}, {cell.removeprefix(f'{statistic.name}_')}" for cell in cells]
            own = [_part(record, table, statistic, [cell], shown) for cell in cells]
            made = [{**part, "title": title} for part, title in zip(own, titles, strict=True)]
        else:
            made = [_part(record, table, statistic, cells, shown)]
        of_groups = not isinstance(statistic, Crosstab) and (len(cells) == 1 or len(shown.rows) > 1)
        careful = _is_no_better(record, statistic, level)
        parts += [{**part, "careful": careful, "of_groups": of_groups} for part in made]
    return {"name": statistic.name, "what": _describe(statistic), "parts": parts, "errors": _errors(parts)}


def _errors(parts: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return the typical error of the lowest level, and its name."""
    return (parts[-1]["error"], parts[-1]["title"]) if parts else ("", "")


WORDS = {
    "count": "Number of records with {}",
    "count_distinct": "Number of persons who have a record with {}",
    "percentage": "Percentage of records with {}",
    "histogram": "Number of records by {}",
    "crosstab": "Number of records by {}",
    "sum": "Sum of {}",
    "mean": "Mean of {}",
    "variance": "Variance of {}",
    "standard_deviation": "Standard deviation of {}",
    "min": "Least {}",
    "max": "Largest {}",
    "median": "Median of {}: half of the records have at most this",
    "mode": "Most frequent {}",
    "quantile": "Quantiles of {}: the least and largest value, the median, or what so many percent have at most",
}


UNITS = {"percentage": " %"}
"""What is written after each number of a kind."""


def _describe(statistic: Statistic) -> str:
    """Describe a statistic in a phrase."""
    if statistic.kind in ("count", "count_distinct") and statistic.subject_text == "true":
        return "Number of records" if statistic.kind == "count" else "Number of persons"
    if statistic.rank is not None and statistic.kind == "quantile":
        share = format_decimal(100 * statistic.rank)
        return f"{share} % of the records have at most this {statistic.subject_text}"
    return WORDS.get(statistic.kind, f"{statistic.kind} of {{}}").format(statistic.subject_text)


def _part(
    record: ReleaseRecord, table: Any, statistic: Statistic, cells: Sequence[str], level: Level
) -> dict[str, Any]:
    """Return the table of a level: a row for each group, or for each label where there is one group."""
    error = _typical_error(table, statistic, level, cells[0])
    head = {"title": level.title, "error": _short(error), "kind": "numbers"}
    if not statistic.has_order:
        values = [[str(table[cells[0]][row].as_py())] for row in level.rows]
        return {**head, "error": "", "kind": "texts", "rows": _named(level.names, values), "by": level.name}
    if len(cells) == 1:
        numbers = [_number(table, cells[0], statistic, row) for row in level.rows]
        return {**head, **_plot(record, level.names, numbers, error, UNITS.get(statistic.kind, "")), "by": level.name}
    labels = [cell.removeprefix(f"{statistic.name}: ") for cell in cells]
    if len(level.rows) == 1:
        numbers = [_number(table, cell, statistic, level.rows[0]) for cell in cells]
        return {
            **head,
            **_plot(record, [(label, "") for label in labels], numbers, error),
            "by": statistic.subject_text,
        }
    lines = [[table[cell][row].as_py() for cell in cells] for row in level.rows]
    return {**head, **_matrix(level.names, labels, lines, error), "by": level.name}


def _crossed(statistic: Crosstab, context: StatisticContext, table: Any, level: Level) -> list[dict[str, Any]]:
    """Return a table of rows and columns for each group."""
    pair, cells = statistic.label_pair(context), statistic.cells(context)
    width = len(pair.columns.labels)
    error = _typical_error(table, statistic, level, cells[0])
    parts = []
    for row, (name, above) in zip(level.rows, level.names, strict=True):
        values = [table[cell][row].as_py() for cell in cells]
        lines = [values[k : k + width] for k in range(0, len(values), width)]
        title = level.title if level.name in ("", ALL) else f"{name}{f' ({above})' if above else ''}"
        matrix = _matrix([(label, "") for label in pair.rows.labels], list(pair.columns.labels), lines, error)
        parts.append({"title": title, "error": _short(error), **matrix, "by": CROSS.join(statistic.columns)})
    return parts


CROSS = " × "

Number = tuple[float, float | None, float | None, float]
"""A published number, the ends of its interval if there are any, and its expected error."""


def _number(table: Any, column: str, statistic: Statistic, row: int) -> Number:
    low, high = (
        table[name][row].as_py() if (name := f"{column}_{end}") in table.column_names else None
        for end in ("low", "high")
    )
    return table[column][row].as_py(), low, high, _errors_of(table, statistic, column)[row].as_py() or 0.0


def _plot(
    record: ReleaseRecord, names: Sequence[tuple[str, str]], numbers: Sequence[Number], error: float, unit: str = ""
) -> dict[str, Any]:
    """Return rows with a dot and a line each, on one scale: an interval, or the expected error to both sides.

    unit: written after each number.
    """
    ends = [
        (low, high) if low is not None and high is not None else (value - off, value + off)
        for value, low, high, off in numbers
    ]
    has_interval = all(low is not None for _, low, _, _ in numbers)
    floor = 0.0 if all(value >= 0 for value, *_ in numbers) else -math.inf
    ends = [(max(low, floor), high) for low, high in ends]
    least = WHOLE if all(isinstance(value, int) for value, *_ in numbers) else 0.0
    first, last = min(low for low, _ in ends), max(high for _, high in ends)
    if first == last:  # a scale needs some length
        first, last = max(first - max(least, error), floor), last + max(least, error)
    ticks = round_ticks(first, last, MOST_TICKS)

    def place(value: float) -> str:
        return f"{100 * (value - ticks[0]) / (ticks[-1] - ticks[0]):.2f}%"

    rows = []
    for (name, above), (value, _, _, off), (low, high) in zip(names, numbers, ends, strict=True):
        worth = max(error or off, least)
        span = (
            f"{format_worth(low, worth)} to {format_worth(high, worth)}"
            if has_interval
            else (f"± {_short(off)}" if off else "")
        )
        shown = {"value": format_worth(value, worth) + unit, "span": span and span + unit, "sort": f"{value:.6g}"}
        rows.append({"name": name, "above": above, "at": place(value), "from": place(low), "to": place(high), **shown})
    level = record["plan"]["credible_level"]
    chance = "" if level is None else f"{format_decimal(100 * Fraction(level))} % interval"
    return {
        "kind": "numbers" if len(rows) > 1 else "one",
        "rows": rows,
        "ticks": [(place(tick), f"{tick:,g}") for tick in ticks],
        "line": chance if has_interval else "typical error to each side",
    }


def _matrix(
    names: Sequence[tuple[str, str]], labels: Sequence[str], values: Sequence[Sequence[float]], error: float
) -> dict[str, Any]:
    """Return rows of cells, each with a bar of its share of the row."""
    worth = max(error, WHOLE) if all(isinstance(value, int) for line in values for value in line) else error
    rows = []
    for (name, above), line in zip(names, values, strict=True):
        total = sum(max(value, 0) for value in line) or 1
        cells = [
            {
                "value": format_worth(value, worth),
                "share": f"{100 * max(value, 0) / total:.2f}%",
                "sort": f"{value:.6g}",
            }
            for value in line
        ]
        rows.append({"name": name, "above": above, "cells": cells})
    return {"kind": "matrix", "labels": list(labels), "rows": rows}


def _named(names: Sequence[tuple[str, str]], values: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    return [{"name": name, "above": above, "cells": line} for (name, above), line in zip(names, values, strict=True)]


def _errors_of(table: Any, statistic: Statistic, cell: str) -> Any:
    """Return the column with the errors of a cell: its own, or that of its statistic."""
    return table[f"{cell}_error" if f"{cell}_error" in table.column_names else f"{statistic.name}_error"]


def _typical_error(table: Any, statistic: Statistic, level: Level, cell: str) -> float:
    """Return the mean of the errors that the table states for a cell in the groups of a level."""
    column = _errors_of(table, statistic, cell)
    errors = [error for row in level.rows if (error := column[row].as_py()) is not None and math.isfinite(error)]
    return sum(errors) / len(errors) if errors else 0.0


def _is_no_better(record: ReleaseRecord, statistic: Statistic, level: Level) -> bool:
    """Return whether a number of this level is expected to tell no more than a fixed guess or its whole's average."""
    plan = record["plan"]
    lowest = plan["hierarchy"]["levels"][-1] if "hierarchy" in plan else level.name
    lines = [line for line in record["mechanisms"] if line["statistic"] == statistic.name]
    crossed = all("layer" in line and line["layer"] in (CELLS, ROWS, COLUMNS) for line in lines)
    same = [line for line in lines if (lowest if crossed else line.get("layer", lowest)) == level.name]
    return bool(same) and all(map(_tells_nothing, same))


def _tells_nothing(line: MechanismRecord) -> bool:
    yardsticks = [line[name] for name in ("constant_error", "parent_error") if line.get(name) is not None]
    return bool(yardsticks) and not line["expected_error"] < NO_BETTER * min(yardsticks)


# --- numbers as people read them ----------------------------------------------------------------------------


WHOLE = 2.0
"""The least error for which whole numbers are rounded: they have no decimals."""


def format_worth(value: float, error: float) -> str:
    """Format a number with commas between thousands, to the largest power of ten that is at most half its error.

    >>> format_worth(1213.4, 2.6), format_worth(1213.4, 26), format_worth(0.158, 0.02), format_worth(-0.2, 2)
    ('1,213', '1,210', '0.16', '0')
    """
    if not (math.isfinite(value) and 0 < error < math.inf):
        return f"{value:,.6g}"
    power = math.floor(math.log10(error / 2))
    rounded = round(value, -power) + 0.0
    return f"{rounded or 0:,.{max(0, -power)}f}"


def _short(error: float) -> str:
    """Format an error to two digits."""
    return format_worth(error, 2 * 10 ** (math.floor(math.log10(error)) - 1)) if 0 < error < math.inf else ""


# --- sentences ----------------------------------------------------------------------------------------------

NAMED = 3
"""Most statistics whose errors are named in the second sentence."""


def _what(sections: Sequence[dict[str, Any]], levels: Sequence[Level]) -> str:
    """Write what was counted, in one sentence."""
    names = _join([section["name"] for section in sections])
    where = [
        "of all together" if level.name in ("", ALL) else f"by {level.name} ({len(level.rows)})" for level in levels
    ]
    return f"This page shows {names}: {_join(where)}."


def _how_exact(sections: Sequence[dict[str, Any]]) -> str:
    """Write how exact the numbers are, in one sentence."""
    errors = [(section["name"], *section["errors"]) for section in sections if section["errors"][0]]
    start = "To protect people each number has a random error"
    if not errors:
        return f"{start}."
    if len(errors) > NAMED:
        return f"{start}; its typical size stands above each table, and numbers are rounded to what they are worth."
    typical = _join([f"{error} for {name}" for name, error, _ in errors])
    where = "" if errors[0][2] == TOGETHER else f" {errors[0][2].lower()[:2]}{errors[0][2][2:]}"
    return f"{start}: typically about {typical}{where}."


def _promise(record: ReleaseRecord) -> list[str]:
    """Write the promise in two sentences: what one table can tell, and all tables about these people so far."""
    plan, spent = record["plan"], Fraction(record["epsilon"]["spent"])
    if "unit" in plan:
        change = "whatever the records of one person say, and whether they are in the data at all"
    elif plan["sizes"] == "public":
        change = "whatever one person's record says, or were it left out"
    elif plan["neighbours"] == CHANGE:
        change = "whatever one person's record says"
    else:
        change = "whatever one person's record says, and whether it is in the data at all"
    delta = Fraction(record["epsilon"].get("delta", "0"))
    but = f", but for a probability of {format_number(delta)}" if delta else ""
    terms = f"epsilon {format_number(spent)}" + (f" and delta {format_number(delta)}" if delta else "")
    first = (
        f"The random error hides each person: {change}, no result becomes more than {_factor(spent)} times as "
        f"likely{but} (differential privacy with {terms})."
    )
    missing = ["Only groups with enough people are shown; a group that is missing may have a few."]
    return [first, *(missing if "keys" in record["plan"] else []), _so_far(record)]


def _so_far(record: ReleaseRecord) -> str:
    entry = record.get("ledger")
    if not entry:
        return "No ledger counts this table together with others about the same people."
    if "period" in entry:
        return (
            f"All tables about these people together spent {entry['unit']} {entry['period_spent']} of "
            f"{entry['period_budget']} in {entry['period']}, and {entry['spent']} so far, which is what protects "
            "someone who is in the data of every period."
        )
    most = f" of at most {entry['budget']}" if entry["budget"] else ""
    return f"All tables about these people together have spent {entry['unit']} {entry['spent']}{most} so far."


def _factor(epsilon: Fraction) -> str:
    """Format exp(epsilon), rounded upwards to two digits."""
    factor = math.exp(float(epsilon))
    power = math.floor(math.log10(factor)) - 1
    return f"{math.ceil(factor / 10**power * (1 - 1e-12)) * 10**power:.{max(0, -power)}f}"

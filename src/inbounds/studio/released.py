"""A released table as the page shows it: reports, intervals and sums, all of them private already."""

from collections.abc import Sequence
from typing import Any

from inbounds.report.layout import thinned
from inbounds.studio import pictures
from inbounds.tables.booking import standing
from inbounds.tables.forms import RecordForm
from inbounds.tables.plan import LEVEL, Plan
from inbounds.tables.texts import number
from inbounds.tables.totals import totals

SHOWN_ROWS = 200
"""Rows of the table on the page; the file holds all of them."""

DRAWN = 40
"""Groups in one picture; of more, an even selection."""


def view(plan: Plan, table: Any, record: RecordForm, file: str) -> dict[str, Any]:
    """The table, a picture for each answer, the totals, and what was promised."""
    names = table.column_names
    columns = [table[name].slice(0, SHOWN_ROWS).to_pylist() for name in names]
    return {
        "file": file,
        "when": record["time"].replace("T", " ").replace("+00:00", " UTC"),
        "statement": record["statement"],
        "spent": number(plan.spent),
        "standing": standing(record),
        "head": names,
        "rows": [[_text(value) for value in row] for row in zip(*columns, strict=True)],
        "count": table.num_rows,
        "pictures": [picture for own in plan.statistics for picture in _pictures(plan, own, table)],
        "totals": _totals(record, table) if table.num_rows > 1 else [],
        "mechanisms": len(record["mechanisms"]),
    }


def _pictures(plan: Plan, statistic: Any, table: Any) -> list[tuple[str, str]]:
    """For each column of answers, the groups with a dot at the report and a line for its interval."""
    groups, found = _groups(plan, table), []
    chosen = thinned(len(groups), DRAWN)
    for name in (*plan.cells(statistic), *plan.margin_cells(statistic)):
        values = table[name].to_pylist()
        if not all(isinstance(value, int | float) for value in values):
            continue
        ends = [
            table[f"{name}_{end}"].to_pylist() if f"{name}_{end}" in table.column_names else values
            for end in ("low", "high")
        ]
        rows = [(groups[k], values[k], ends[0][k], ends[1][k]) for k in chosen]
        found.append((name, pictures.intervals(rows, name)))
    return found


def _groups(plan: Plan, table: Any) -> list[str]:
    columns = [name for name in (LEVEL if plan.hierarchy else "", *plan.groups.by) if name in table.column_names]
    if not columns:
        return ["all"] * table.num_rows
    return [
        " · ".join(str(part) for part in row if part)
        for row in zip(*(table[c].to_pylist() for c in columns), strict=True)
    ]


def _totals(record: RecordForm, table: Any) -> list[Sequence[str]]:
    """Sums over all groups, read without bias; a column whose cells must not be added has none."""
    return [
        [own.column, _text(own.sum.estimate), _text(own.sum.standard_error)] if own.sum is not None
        else [own.column, "must not be added up", ""]
        for own in totals(record, table)
    ]  # fmt: skip


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

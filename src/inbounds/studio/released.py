"""A released table as the page shows it: reports, intervals and sums, all of them private already."""

from collections.abc import Sequence
from typing import Any

from inbounds.tables.booking import standing
from inbounds.tables.forms import RecordForm
from inbounds.tables.pictures import dot_plots
from inbounds.tables.plan import Plan
from inbounds.tables.texts import number
from inbounds.tables.totals import totals

SHOWN_ROWS = 200
"""Rows of the table on the page; the file holds all of them."""


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
        "pictures": dot_plots(record, table),
        "totals": _totals(record, table) if table.num_rows > 1 else [],
        "mechanisms": len(record["mechanisms"]),
    }


def _totals(record: RecordForm, table: Any) -> list[Sequence[str]]:
    """Sums over all groups, read without bias; a column whose cells must not be added has none."""
    return [
        [own.column, _text(own.sum.estimate), _text(own.sum.standard_error)] if own.sum is not None
        else [own.column, "must not be added up", ""]
        for own in totals(record, table)
    ]  # fmt: skip


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

"""A released table as the page shows it: released values, intervals and sums, all of them private already."""

from typing import Any

from inbounds.plan.plan import Plan
from inbounds.releases.charge_session import format_population_state
from inbounds.releases.pictures import dot_plots
from inbounds.releases.totals import estimate_totals
from inbounds.schema.record_types import ReleaseRecord

SHOWN_ROWS = 200
"""Rows of the table on the page; the file holds all of them."""


def view(plan: Plan, table: Any, record: ReleaseRecord, file: str) -> dict[str, Any]:
    """Return the table, a picture for each answer, the totals, and the guarantee."""
    names = table.column_names
    columns = [table[name].slice(0, SHOWN_ROWS).to_pylist() for name in names]
    return {
        "file": file,
        "when": record["time"].replace("T", " ").replace("+00:00", " UTC"),
        "statement": record["statement"],
        "spent": plan.format_cost(),
        "found": plan.groups.from_data,
        "standing": format_population_state(record),
        "head": names,
        "rows": [[_text(value) for value in row] for row in zip(*columns, strict=True)],
        "count": table.num_rows,
        "pictures": dot_plots(record, table),
        **_totals(record, table),
        "mechanisms": len(record["mechanisms"]),
        "adds_up": "reports" in record,
    }


def _totals(record: ReleaseRecord, table: Any) -> dict[str, list[Any]]:
    """Return unbiased sums over all groups, and the columns whose cells must not be added; none of a single row."""
    totals = estimate_totals(record, table) if table.num_rows > 1 else []
    sums = [(total.column, total.sum) for total in totals if total.sum is not None]
    return {
        "totals": [[column, _text(total.estimate), _text(total.standard_error)] for column, total in sums],
        "not_added": [total.column for total in totals if total.sum is None],
    }


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

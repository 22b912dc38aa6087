"""The release as one HTML page for an auditor: guarantee, budget, mechanisms, the table, and what to check."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.releases.charge_session import format_population_state
from inbounds.releases.export import ERROR, list_columns
from inbounds.releases.pictures import dot_plots, total_plot
from inbounds.releases.totals import estimate_totals
from inbounds.releases.write import escape_formula
from inbounds.report import svg
from inbounds.report.notebook import render_notebook
from inbounds.report.templates import pick_evenly, property_codes, render_template
from inbounds.schema.record_types import BudgetRecord, MechanismRecord, ReleaseRecord
from inbounds.schema.text import format_groups, format_number, split_statement

SHOWN_ROWS = 200
"""Most rows of the released table on the page; the file holds all of them."""

SHOWN_SIZES = 20
"""Most sizes whose expected errors are listed, the same for every statistic; of more, an even selection."""

FEWEST_POINTS = 3
"""Fewest sizes of a curve."""


def page(record: ReleaseRecord, released: Any = None) -> str:
    """Render a self-contained page: no script, no other file, only what is in the record and the released table."""
    plan, epsilon, mechanisms = record["plan"], record["epsilon"], record["mechanisms"]
    promise, details = split_statement(record["statement"])
    shown = {
        "title": f"Private release of {plan['source']['name']}",
        "groups": format_groups(plan["groups"], plan["by"]),
        "spent": epsilon["spent"],
        "total": epsilon["total"],
        "at_delta": f" at delta {epsilon['delta']}" if "delta" in epsilon else "",
        "when": record["time"].replace("T", " ").replace("+00:00", " UTC"),
        "promise": promise,
        "details": details,
        "values": record.get("values", ()),
        "account": [_format_spending(line) for line in record["account"]],
        "composition": record["composition"][-1],
        "standing": format_population_state(record) if "ledger" in record else None,
        "errors": _errors(mechanisms),
        "size": "group size" if plan["sizes"] == "public" else "at most",
        "no_better": record.get("useless", ()),
        "released": None if released is None else _first_rows(record, released),
        "plots": [] if released is None else dot_plots(record, released),
        "totals": _totals(record, released),
        "adds_up": "reports" in record,
        "file": record["table"]["file"] if "table" in record else None,
        "digests": property_codes(_digests(record)),
        "made": len(mechanisms),
        "mechanism_digests": property_codes(_mechanism_digest(m) for m in mechanisms[:SHOWN_ROWS]),
        "versions": ", ".join(f"{name} {value}" for name, value in record["versions"].items()),
    }
    return render_template("release.html", shown)


def notebook_view(record: ReleaseRecord, released: Any, facts: str) -> str:
    """Render what a notebook shows of a release: its guarantee, the table, and errors that all rows share."""
    shown = _first_rows(record, released)
    constant = [f"{name} {value} in every row" for name, value in shown["constant"]]
    delta = f", delta {record['epsilon']['delta']}" if "delta" in record["epsilon"] else ""
    title = f"A private table at epsilon {record['epsilon']['spent']}{delta}: {shown['count']} rows"
    return render_notebook(
        title, head=shown["head"], rows=shown["rows"], notes=[*constant, split_statement(record["statement"])[0], facts]
    )


def _totals(record: ReleaseRecord, released: Any) -> dict[str, Any]:
    """Return totals that can be read without bias, and columns whose cells must not be added; empty for one group."""
    totals = estimate_totals(record, released) if released is not None and record["plan"]["groups"] > 1 else []
    sums = [(total.column, total.sum.estimate, total.sum.standard_error) for total in totals if total.sum is not None]
    return {
        "picture": total_plot(sums) if sums else None,
        "rows": [_texts(*line) for line in sums],
        "refused": [escape_formula(total.column) for total in totals if total.sum is None],
    }


def _format_spending(line: BudgetRecord) -> list[str]:
    """Return what a statistic spends, the epsilon of its numbers or layers, and the reason."""
    parts = [f"{format_number(Fraction(part))} for {name}" for name, part in line.get("layers", {}).items()]
    shared = ", shared, as a record is in one number of each" if parts else ""
    return _texts(line["statistic"], line["spent"], ", ".join(parts) or line["draw_epsilon"], line["reason"] + shared)


def _texts(*values: Any) -> list[str]:
    return ["" if v is None else f"{v:.6g}" if isinstance(v, float) else str(escape_formula(v)) for v in values]


def _errors(mechanisms: Sequence[MechanismRecord]) -> dict[str, Any]:
    """Return expected errors by group size: a curve for each statistic, and the numbers."""
    sizes = sorted({m["size"] for m in mechanisms if isinstance(m["size"], int)})
    picked = {sizes[k] for k in pick_evenly(len(sizes), SHOWN_SIZES)}
    listed = [m for m in mechanisms if not isinstance(m["size"], int) or m["size"] in picked]
    return {
        "pictures": [_chart(name, points) for name, points in _series(mechanisms).items()],
        "rows": [
            _texts(
                _format_statistic(m),
                m["size"],
                m["groups"],
                m["expected_error"],
                m.get("standard_error", ""),
                m.get("parent_error", ""),
                m.get("constant_error", ""),
                *_how(m),
            )
            for m in listed
        ],
        "shown": len(picked),
        "sizes": len(sizes),
    }


def _how(line: MechanismRecord) -> tuple[str, str]:
    return line["answers"], line["origin"]


def _format_statistic(line: MechanismRecord) -> str:
    """Return the name of a statistic, with the level or margin if it adds up."""
    return f"{line['statistic']} ({line['layer']})" if "layer" in line else line["statistic"]


def _series(mechanisms: Sequence[MechanismRecord]) -> dict[str, list[tuple[float, float]]]:
    """Return statistics whose mechanism depends on the size, with enough sizes to draw."""
    series: dict[str, list[tuple[float, float]]] = {}
    for m in mechanisms:
        if isinstance(m["size"], int):
            series.setdefault(_format_statistic(m), []).append((m["size"], m["expected_error"]))
    return {name: sorted(points) for name, points in series.items() if len(points) >= FEWEST_POINTS}


def _chart(name: str, points: Sequence[tuple[float, float]]) -> str:
    sizes, errors = np.array(points).T
    return svg.curve(sizes, errors, "group size", "expected error", name)


def _first_rows(record: ReleaseRecord, table: Any) -> dict[str, Any]:
    """Return the table's first rows, without error columns that are the same in every row."""
    errors = [column.name for column in list_columns(record, table) if column.holds == ERROR]
    same = [name for name in errors if _constant(table, name)]
    names = [name for name in table.column_names if name not in same]
    columns = [table[name].slice(0, SHOWN_ROWS).to_pylist() for name in names]
    return {
        "constant": [(name, f"{table[name][0].as_py():.6g}") for name in same],
        "head": [escape_formula(name) for name in names],
        "rows": [_texts(*row) for row in zip(*columns, strict=True)],
        "count": table.num_rows,
        "label": "" if _repeats(names[0], columns[0]) else None,
    }


def _constant(table: Any, name: str) -> bool:
    return table.num_rows > 1 and len(table[name].unique()) == 1


def _repeats(name: str, keys: Sequence[Any]) -> bool:
    """Return whether keys begin with their column's name, which a narrow screen then leaves out."""
    return all(str(key).lower().startswith(name.lower()) for key in keys)


def _mechanism_digest(line: MechanismRecord) -> tuple[str, str]:
    return escape_formula(f"{_format_statistic(line)}, size {line['size']}"), line["sha256"]


def _digests(record: ReleaseRecord) -> list[tuple[str, str]]:
    digests = [("plan", record["plan_sha256"])]
    if "table" in record:
        digests.append((escape_formula(f"table {record['table']['file']}"), record["table"]["sha256"]))
    return digests

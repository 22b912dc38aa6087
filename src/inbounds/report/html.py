"""A self-contained HTML page for a mechanism or a comparison: plain text and inline SVG, no network requests."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inbounds.errors import TooLarge
from inbounds.evaluate.compare import Comparison, Row, default_losses, format_measure
from inbounds.exact import format_decimal
from inbounds.files import write_text
from inbounds.losses import Prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import Interpretation, answer_values, format_percent, interpret_all
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.mechanism.passport import recompute_objective
from inbounds.report import notebook, plots, svg, wording
from inbounds.report.maps import map_picture
from inbounds.report.templates import Cell, pick_evenly, render_template

MOST_ROWS = 21
"""The most published values in a table; of more, an even selection is shown."""

MOST_HEATMAPS = 6
MOST_CURVES = 8

RARE = 1e-9
"""Values published with a smaller probability are left out of the readings."""

Lines = list[list[str]]
"""The rows of a table."""


def mechanism_page(subject: Mechanism | Comparison, prior: Prior = None, level: float = 0.9) -> str:
    """Return the report as HTML text. prior, level: for the interpretation of published values."""
    if isinstance(subject, Comparison):
        return render_template("comparison.html", _comparison(subject))
    return render_template("mechanism.html", _mechanism(subject, prior, level))


def save_page(
    subject: Mechanism | Comparison, path: str | os.PathLike[str], prior: Prior = None, level: float = 0.9
) -> None:
    """Write the report to one self-contained file."""
    write_text(Path(path), mechanism_page(subject, prior, level))


def mechanism_card(mechanism: Mechanism) -> str:
    """Return HTML for notebooks: the guarantee in words above the heatmap."""
    outputs, answers = mechanism.query.shape
    values = {
        "origin": str(mechanism.origin),
        "subject": wording.describe_query(mechanism.query),
        "promise": wording.format_guarantee(mechanism),
        "picture": _heatmap(mechanism) if _small(mechanism) else None,
        "size": f"{outputs} × {answers}",
    }
    return render_template("card.html", values)


def recommendation_card(reason: str, mechanism: Mechanism) -> str:
    """Return HTML for notebooks: the reason above the mechanism."""
    return notebook.render_notebook(reason) + mechanism_card(mechanism)


def comparison_table(comparison: Comparison) -> str:
    """Return a comparison as HTML tables, losses first; the best of each column is bold and starred."""
    return render_template("starred.html", _build_star_tables(comparison))


# --- a mechanism ------------------------------------------------------------------------------------------


def _mechanism(m: Mechanism, prior: Prior, level: float) -> dict[str, Any]:
    return {
        "title": _title(m),
        "origin": str(m.origin),
        "epsilon": format_decimal(m.epsilon),
        "promise": wording.format_guarantee(m),
        "relation": wording.describe_neighbours(m.query),
        "accuracy": wording.describe_accuracy(m),
        "measures": _measures(m),
        "pictures": _pictures(m, prior, level) if _small(m) else None,
        "properties": _properties(m),
        "proof": wording.describe_proof(m),
        "passport": _passport(m),
    }


def _pictures(m: Mechanism, prior: Prior, level: float) -> dict[str, Any]:
    before = "every true answer is equally likely beforehand" if prior is None else "the given prior holds beforehand"
    rows = interpret_all(m, level, prior, default_losses(m.query)[0])
    frequent = [r for r in rows if r.chance >= RARE]
    selection = [frequent[k] for k in pick_evenly(len(frequent), MOST_ROWS)]
    likeliest = max(range(len(rows)), key=lambda k: (rows[k].chance > 0, -abs(k - len(rows) // 2)))
    example, names = rows[likeliest], _names(m)
    inside = [k for k, answer in enumerate(answer_values(m.query).tolist()) if answer in set(example.answers)]
    after = m.posterior(example.output, prior)
    caption = f"probability of each place after {value_text(example.output)}"
    posterior_map = map_picture(m.query, after, caption, inside)
    return {
        "beforehand": before,
        "readings": [reading_cells(row) for row in selection],
        "bands": bands(selection) if m.query.is_ordered else None,
        "level": format_percent(level),
        "notes": notes(len(selection), len(frequent), len(rows)),
        "heatmap": _heatmap(m),
        "errors": _errors(m, names),
        "reports": _reports_on_map(m, likeliest),
        "published": value_text(example.output),
        "reading": str(example),
        "marked": "marked bars" if posterior_map is None else "framed cells",
        "posterior": posterior_map or svg.bars(after, names, "true answer", "probability afterwards", inside),
    }


def _errors(m: Mechanism, names: list[str]) -> str | None:
    """Draw the expected error for every true answer: bars on a line, cells on a map."""
    if m.query.is_ordered:
        return svg.bars(m.loss_per_answer(), names, "true answer", "expected absolute error")
    first = default_losses(m.query)[0]
    return map_picture(m.query, m.loss_per_answer(first), f"expected {first} of the report from each true place")


def _reports_on_map(m: Mechanism, answer: int) -> str | None:
    """Draw how likely each place is reported for one true place."""
    likely = m.matrix[:, answer] if m.query.one_output_per_answer else np.zeros(0)
    return map_picture(m.query, likely, f"reports when {_names(m)[answer]} is true", [answer]) if len(likely) else None


def _measures(m: Mechanism) -> Lines:
    rows = []
    if m.query.is_ordered:
        for name, loss in (("absolute error", "absolute"), ("squared error", "squared")):
            rows.append([name, f"{m.loss(loss):.4g}", f"{m.worst_loss(loss):.4g}", _after_remap(m, loss)])
        rows.append(["root of the squared error", "", f"{m.rmse().max():.4g}", ""])
        rows.append(["bias, in size", f"{np.abs(m.bias()).mean():.4g}", f"{np.abs(m.bias()).max():.4g}", ""])
    if default_losses(m.query)[0] == "distance":
        distances = [f"{m.loss('distance'):.4g}", f"{m.worst_loss('distance'):.4g}", _after_remap(m, "distance")]
        rows.append(["distance from the truth", *distances])
    missed = [f"{value:.4g}" for value in (m.loss("zero-one"), m.worst_loss("zero-one"))]
    rows.append(["not the truth", *missed, _after_remap(m, "zero-one")])
    if m.query.is_ordered:
        ends = m.end_probability()
        rows.append(["an end of the range", f"{ends.mean():.4g}", f"{ends.max():.4g}", ""])
    return rows


def _after_remap(m: Mechanism, loss: str) -> str:
    return f"{m.bayes_loss(loss):.4g}" if _small(m) else "not computed at this size"


def reading_cells(r: Interpretation) -> list[str]:
    """Return a table row for one published value: its probability, the range of the truth, the best guess."""
    first = [value_text(r.output), _often(r.chance)]
    if not r.answers:
        return [*first, *["–"] * 4]
    span = str(r).split("true answer ")[-1].rsplit(" with ", 1)[0]
    return [
        *first,
        span,
        format_percent(r.probability),
        value_text(r.best_guess),
        f"at least {format_percent(r.at_least)}",
    ]


def bands(rows: Sequence[Interpretation]) -> str | None:
    """Draw for every published value the range of the truth and the best guess."""
    possible = [row for row in reversed(rows) if row.answers]
    spans = [plots.Interval(value_text(r.output), *map(float, _least_best_most(r))) for r in possible]
    return plots.plot_intervals(spans, "true answer", look="band", left=64) if spans else None


def _least_best_most(reading: Interpretation) -> tuple[Any, Any, Any]:
    return min(reading.answers), reading.best_guess, max(reading.answers)


def notes(shown: int, frequent: int, published: int) -> list[str]:
    """Return notes on which published values are left out of the table."""
    notes = [f"{shown} of the {frequent} values that occur are shown."] if shown < frequent else []
    if frequent < published:
        notes.append(f"{published - frequent} of {published} values are published less than once in a billion times.")
    return notes


def _often(chance: float) -> str:
    return f"{100 * chance:.1f} %" if chance >= 0.0005 else "under 0.1 %"


def _properties(m: Mechanism) -> Lines | None:
    try:
        properties = m.properties()
    except TooLarge:
        return None
    return [
        [name.replace("_", " "), wording.MEANING[name], str(holding) if holding else "no"]
        for name, holding in properties.items()
    ]


def _passport(m: Mechanism) -> Lines:
    rows = [["construction", str(m.origin)], ["written up in", m.origin.reference or "–"]]
    rows.append(["tight epsilon", f"{m.tight_epsilon():.9g} (promised: {format_decimal(m.epsilon)})"])
    if m.optimality is not None:
        optimality = m.optimality
        remaining = f"; {optimality.remaining}" if optimality.remaining else ""
        doubt = " (claimed, not checked)" if recompute_objective(m) is None else ""
        statement = (
            f"{optimality.objective} {optimality.value:.9g}{doubt}; claimed, not checked: nothing private is below"
        )
        rows.append(["optimality", f"{statement} {optimality.bound:.9g}{remaining}"])
    return [*rows, ["claimed, not checked", "; ".join(wording.list_unchecked_claims(m))], ["sha256", m.sha256]]


# --- a comparison -----------------------------------------------------------------------------------------


def _comparison(c: Comparison) -> dict[str, Any]:
    query, first = c.rows[0].mechanism.query, c.losses[0]
    by_epsilon = {row.mechanism.epsilon: row.mechanism for row in reversed(c.rows)}
    return {
        "title": "Mechanisms compared",
        "subject": wording.describe_query(query),
        "relation": wording.describe_neighbours(query),
        "promises": [wording.format_guarantee(mechanism) for _, mechanism in sorted(by_epsilon.items())],
        "first_loss": first,
        "best": ", ".join(c.best(first)),
        **_build_star_tables(c),
        "legend": wording.LEGEND,
        "pictures": _build_comparison(c) if all(_small(row.mechanism) for row in c.rows) else None,
        "digests": [[row.name, row.mechanism.sha256] for row in c.rows],
        "left_out": [list(pair) for pair in c.left_out.items()],
    }


def _build_star_tables(c: Comparison) -> dict[str, Any]:
    """Return head and rows of two tables: the losses; everything else, with the codes of the properties."""
    loss_columns = 3 * len(c.losses)
    losses, other_columns = c.columns[:loss_columns], c.columns[loss_columns:]
    return {
        "losses": (["mechanism", *losses], [[row.name, *_mark_best(c, row, losses)] for row in c.rows]),
        "rest": (
            ["mechanism", *other_columns, "properties"],
            [[row.name, *_mark_best(c, row, other_columns), row.codes] for row in c.rows],
        ),
    }


def _mark_best(c: Comparison, row: Row, columns: Sequence[str]) -> list[str | Cell]:
    texts = {column: format_measure(row.values[column]) for column in columns}
    return [Cell(text, "best") if c.marks(row, column) else text for column, text in texts.items()]


def _build_comparison(c: Comparison) -> dict[str, Any]:
    ranked = c.sort_by().rows
    few = ranked[:MOST_HEATMAPS]
    top = max(float(row.mechanism.matrix.max()) for row in few)
    return {
        "errors": _error_curves(ranked[:MOST_CURVES]) if ranked[0].mechanism.query.is_ordered else None,
        "which": f"The {MOST_CURVES} with the least average loss" if len(ranked) > MOST_CURVES else "All of them",
        "heatmaps": [_heatmap(row.mechanism, top, row.name) for row in few],
    }


def _error_curves(rows: Sequence[Row]) -> str:
    curves = {row.name: row.mechanism.loss_per_answer() for row in rows}
    return svg.lines(curves, _names(rows[0].mechanism), "true answer", "expected absolute error")


# --- shared -----------------------------------------------------------------------------------------------


def _title(m: Mechanism) -> str:
    return (
        f"A private {wording.describe_query(m.query)}"
        if m.query.is_ordered
        else f"Privately {wording.describe_query(m.query)}"
    )


def _heatmap(m: Mechanism, top: float | None = None, title: str = "") -> str:
    reports = [value_text(value) for value in m.query.output_values.tolist()]
    return svg.heatmap(m.matrix, _names(m), reports, top or float(m.matrix.max()), title)


def _small(m: Mechanism) -> bool:
    return m.query.shape[0] * m.query.shape[1] <= MATRIX_LIMIT


def _names(m: Mechanism) -> list[str]:
    return [value_text(answer) for answer in answer_values(m.query).tolist()]


def value_text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

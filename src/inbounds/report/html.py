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
from inbounds.mechanism import AnyMechanism, Channel
from inbounds.mechanism.bayes import Interpretation, answer_values, format_percent
from inbounds.mechanism.laws import JointLaw
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


def mechanism_page(subject: AnyMechanism | Comparison, prior: Prior = None, level: float = 0.9) -> str:
    """Return the report as HTML text. prior, level: for the interpretation of published values."""
    if isinstance(subject, Comparison):
        return render_template("comparison.html", _comparison(subject))
    return render_template("mechanism.html", _mechanism(subject, prior, level))


def save_page(
    subject: AnyMechanism | Comparison, path: str | os.PathLike[str], prior: Prior = None, level: float = 0.9
) -> None:
    """Write the report to one self-contained file."""
    write_text(Path(path), mechanism_page(subject, prior, level))


def mechanism_card(mechanism: AnyMechanism) -> str:
    """Return HTML for notebooks: the guarantee in words above the heatmap, or the heatmaps of several quantiles."""
    channels = _list_channels(mechanism, None)
    outputs, answers = channels[0].shape
    values = {
        "origin": str(mechanism.origin),
        "subject": mechanism.query.describe(),
        "promise": wording.format_guarantee(mechanism),
        "picture": None if channels[0].is_too_large else "".join(map(_heatmap, channels)),
        "size": f"{outputs} × {answers}",
    }
    return render_template("card.html", values)


def _list_channels(mechanism: AnyMechanism, prior: Prior) -> list[Channel]:
    """Return the channel of the mechanism, or those of several quantiles that it draws together."""
    if isinstance(mechanism.law, JointLaw):
        return [mechanism.channel(prior, at=at) for at in mechanism.query.at]
    return [mechanism.channel(prior)]


def recommendation_card(reason: str, mechanism: AnyMechanism) -> str:
    """Return HTML for notebooks: the reason above the mechanism."""
    return notebook.render_notebook(reason) + mechanism_card(mechanism)


def comparison_table(comparison: Comparison) -> str:
    """Return a comparison as HTML tables, losses first; the best of each column is bold and starred."""
    return render_template("starred.html", _build_star_tables(comparison))


# --- a mechanism ------------------------------------------------------------------------------------------


def _mechanism(m: AnyMechanism, prior: Prior, level: float) -> dict[str, Any]:
    channels = _list_channels(m, prior)
    channel, belief = channels[0], wording.describe_belief(channels[0], prior is not None)
    if isinstance(m.law, JointLaw):
        about: dict[str, Any] = {
            "title": f"Private {m.query.describe()}",
            "accuracy": wording.describe_joint_accuracy(m, channels, belief),
            "measures": [
                [f"absolute error of the {single.name}", *_measures(each)[0][1:]]
                for single, each in zip(m.query.singles, channels, strict=True)
            ],
            "pictures": None,
        }
    else:
        about = {
            "title": f"{'A private' if channel.query.is_ordered else 'Privately'} {m.query.describe()}",
            "accuracy": wording.describe_accuracy(m, channel, belief),
            "measures": _measures(channel),
            "pictures": None if channel.is_too_large else _pictures(channel, belief, level),
        }
    return {
        **about,
        "origin": str(m.origin),
        "epsilon": format_decimal(m.epsilon),
        "promise": wording.format_guarantee(m),
        "relation": m.query.describe_neighbours(),
        **({"properties": _properties(m)} if m.law.has_claims else {}),
        "proof": wording.describe_proof(m),
        "passport": _passport(m),
    }


def _pictures(c: Channel, belief: str, level: float) -> dict[str, Any]:
    rows = c.interpretations(level, loss=default_losses(c.query)[0])
    frequent = [r for r in rows if r.chance >= RARE]
    selection = [frequent[k] for k in pick_evenly(len(frequent), MOST_ROWS)]
    likeliest = max(range(len(rows)), key=lambda k: (rows[k].chance > 0, -abs(k - len(rows) // 2)))
    example, names = rows[likeliest], _names(c)
    inside = [k for k, answer in enumerate(answer_values(c.query).tolist()) if answer in set(example.answers)]
    after = c.posterior(example.output)
    caption = f"probability of each place after {value_text(example.output)}"
    posterior_map = map_picture(c.query, after, caption, inside)
    return {
        "beforehand": belief,
        "readings": [reading_cells(row) for row in selection],
        "bands": bands(selection) if c.query.is_ordered and c.has_face_value else None,
        "level": format_percent(level),
        "notes": notes(len(selection), len(frequent), len(rows)),
        "heatmap": _heatmap(c),
        "errors": _errors(c, names),
        "reports": _reports_on_map(c, likeliest),
        "published": value_text(example.output),
        "reading": str(example),
        "marked": "marked bars" if posterior_map is None else "framed cells",
        "posterior": posterior_map or svg.bars(after, names, "true answer", "probability afterwards", inside),
    }


def _errors(c: Channel, names: list[str]) -> str | None:
    """Draw the expected error for every true answer: bars on a line, cells on a map."""
    if not c.has_face_value:
        return None
    if c.query.is_ordered:
        return svg.bars(c.loss_per_answer(), names, "true answer", "expected absolute error")
    first = default_losses(c.query)[0]
    return map_picture(c.query, c.loss_per_answer(first), f"expected {first} of the output from each true place")


def _reports_on_map(c: Channel, answer: int) -> str | None:
    """Draw how likely each place is as the output for one true place."""
    if not c.has_face_value or not c.query.one_output_per_answer:
        return None
    return map_picture(c.query, c.matrix[:, answer], f"outputs when {_names(c)[answer]} is true", [answer])


def _measures(c: Channel) -> Lines:
    if not c.has_face_value:
        return [["not the truth", "–", "–", _after_remap(c, "zero-one")]]
    rows = []
    if c.query.is_ordered:
        for name, loss in (("absolute error", "absolute"), ("squared error", "squared")):
            rows.append([name, f"{c.loss(loss):.4g}", f"{c.worst_loss(loss):.4g}", _after_remap(c, loss)])
        rows.append(["root of the squared error", "", f"{c.select_possible(c.rmse()).max():.4g}", ""])
        bias = c.select_possible(np.abs(c.bias()))
        rows.append(["bias, in size", f"{bias.mean():.4g}", f"{bias.max():.4g}", ""])
    if default_losses(c.query)[0] == "distance":
        distances = [f"{c.loss('distance'):.4g}", f"{c.worst_loss('distance'):.4g}", _after_remap(c, "distance")]
        rows.append(["distance from the truth", *distances])
    missed = [f"{value:.4g}" for value in (c.loss("zero-one"), c.worst_loss("zero-one"))]
    rows.append(["not the truth", *missed, _after_remap(c, "zero-one")])
    if c.query.is_ordered:
        ends = c.select_possible(c.end_probability())
        rows.append(["an end of the range", f"{ends.mean():.4g}", f"{ends.max():.4g}", ""])
    return rows


def _after_remap(c: Channel, loss: str) -> str:
    return "not computed at this size" if c.is_too_large else f"{c.bayes_loss(loss):.4g}"


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


def _properties(m: AnyMechanism) -> Lines | None:
    try:
        properties = m.properties()
    except TooLarge:
        return None
    return [
        [name.replace("_", " "), wording.MEANING[name], str(holding) if holding else "no"]
        for name, holding in properties.items()
    ]


def _passport(m: AnyMechanism) -> Lines:
    rows = [
        ["construction", str(m.origin)],
        ["written up in", m.origin.reference or "–"],
        ["law", f"{m.law.kind}: {wording.describe_checkers(m)}"],
    ]
    try:
        rows.append(["tight epsilon", f"{m.tight_epsilon():.9g} (promised: {format_decimal(m.epsilon)})"])
    except TooLarge:
        rows.append(["epsilon", format_decimal(m.epsilon)])
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
        "subject": query.describe(),
        "relation": query.describe_neighbours(),
        "promises": [wording.format_guarantee(mechanism) for _, mechanism in sorted(by_epsilon.items())],
        "first_loss": first,
        "best": ", ".join(c.best(first)),
        **_build_star_tables(c),
        "legend": f"{wording.LEGEND}. {describe_constant(c)}",
        "pictures": None if any(row.channel.is_too_large for row in c.rows) else _build_comparison(c),
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
    top = max(float(row.channel.matrix.max()) for row in few)
    return {
        "errors": _error_curves(ranked[:MOST_CURVES]) if ranked[0].channel.query.is_ordered else None,
        "which": f"The {MOST_CURVES} with the least average loss" if len(ranked) > MOST_CURVES else "All of them",
        "heatmaps": [_heatmap(row.channel, top, row.name) for row in few],
    }


def _error_curves(rows: Sequence[Row]) -> str:
    curves = {row.name: row.channel.loss_per_answer() for row in rows}
    return svg.lines(curves, _names(rows[0].channel), "true answer", "expected absolute error")


# --- shared -----------------------------------------------------------------------------------------------


def describe_constant(comparison: Comparison) -> str:
    """Return the losses of the best constant guess in a sentence."""
    losses = ", ".join(f"{format_measure(loss)} ({name})" for name, loss in comparison.constant.items())
    return f"The best constant, which needs no data, loses {losses}."


def _heatmap(c: Channel, top: float | None = None, title: str = "") -> str:
    reports = [value_text(value) for value in c.output_values.tolist()]
    return svg.heatmap(c.matrix, _names(c), reports, top or float(c.matrix.max()), title)


def _names(c: Channel) -> list[str]:
    return [value_text(answer) for answer in answer_values(c.query).tolist()]


def value_text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

"""A self-contained HTML page for the mechanism of a quantile, or for a comparison of several."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from inbounds.evaluate.compare import format_measure
from inbounds.evaluate.quantiles import QuantileComparison
from inbounds.exact import Floats, format_decimal
from inbounds.files import write_text
from inbounds.losses import Prior, to_loss
from inbounds.mechanism import bayes
from inbounds.mechanism.bayes import answer_values, format_percent
from inbounds.mechanism.quantiles import Channel, QuantileMechanism
from inbounds.mechanism.quantiles.channel import UNLIKELY
from inbounds.query import QuantileQuery
from inbounds.report import svg
from inbounds.report.html import MOST_HEATMAPS, MOST_ROWS, RARE, bands, notes, reading_cells, value_text
from inbounds.report.quantile_text import describe_quantile_query, format_quantile_guarantee
from inbounds.report.templates import Cell, pick_evenly, render_template

UNKNOWN = "every value is as likely to be the answer, and given it every histogram of the records as likely"
INDEPENDENT = "records are drawn independently, by the given prior"


def quantile_mechanism_page(
    subject: QuantileMechanism | QuantileComparison, prior: Prior = None, level: float = 0.9
) -> str:
    """Return the report as HTML text.

    prior: the distribution of the values of independent records. level: the probability of the ranges of the truth.
    """
    if isinstance(subject, QuantileComparison):
        return render_template("comparison.html", _comparison(subject))
    return render_template("mechanism.html", _mechanism(subject, prior, level))


def save_quantile_page(
    subject: QuantileMechanism | QuantileComparison,
    path: str | os.PathLike[str],
    prior: Prior = None,
    level: float = 0.9,
) -> None:
    """Write the report to one self-contained file."""
    write_text(Path(path), quantile_mechanism_page(subject, prior, level))


def _mechanism(m: QuantileMechanism, prior: Prior, level: float) -> dict[str, Any]:
    expected = m.channel(prior)
    before = UNKNOWN if prior is None else INDEPENDENT
    return {
        "title": f"A private {describe_quantile_query(m.query)}",
        "origin": str(m.origin),
        "epsilon": format_decimal(m.epsilon),
        "promise": f"{_sentence(format_quantile_guarantee(m))}.",
        "relation": _relation(m.query),
        "accuracy": _accuracy(expected, before),
        "measures": _measures(expected),
        "pictures": _pictures(expected, before, level),
        "proof": m.law.proof_steps(m.query),
        "passport": [
            *(["construction", str(m.origin)], ["written up in", m.origin.reference or "–"]),
            *(["law", m.law.name], ["sha256", m.sha256]),
        ],
    }


def _accuracy(expected: Channel, before: str) -> str:
    truth = float(np.diag(expected.matrix) @ expected.prior)
    return (
        f"When {before}: the expected absolute error is {expected.loss():.4g}, where the best constant "
        f"has {expected.constant_loss():.4g}; the truth is reported with probability {format_percent(truth)}. "
        f"Records that "
        "lie together around the answer make the error smaller, a gap there makes it larger."
    )


def _measures(expected: Channel) -> list[list[str]]:
    names = {"absolute": "absolute error", "squared": "squared error", "zero-one": "not the truth"}
    rows = []
    for loss, name in names.items():
        per_answer, bayes_loss = _per_answer(expected, loss), bayes.bayes_loss(expected, loss, expected.prior)
        worst = per_answer[expected.prior > UNLIKELY].max()
        rows.append([name, f"{expected.loss(loss):.4g}", f"{worst:.4g}", f"{bayes_loss:.4g}"])
    return rows


def _per_answer(expected: Channel, loss: str = "absolute") -> Floats:
    return np.asarray((expected.matrix * to_loss(loss).table(expected.query)).sum(axis=0))


def _pictures(expected: Channel, before: str, level: float) -> dict[str, Any]:
    rows, names = expected.readings(level), _names(expected)
    frequent = [row for row in rows if row.chance >= RARE]
    selection = [frequent[k] for k in pick_evenly(len(frequent), MOST_ROWS)]
    example = max(frequent, key=lambda row: row.chance)
    inside = [k for k, value in enumerate(answer_values(expected.query).tolist()) if value in set(example.answers)]
    after = expected.posterior(example.output)
    return {
        "beforehand": before,
        "readings": [reading_cells(row) for row in selection],
        "bands": bands(selection),
        "level": format_percent(level),
        "notes": notes(len(selection), len(frequent), len(rows)),
        "heatmap": svg.heatmap(expected.matrix, names, names, float(expected.matrix.max()), ""),
        "errors": svg.bars(_per_answer(expected), names, "true answer", "expected absolute error"),
        "reports": None,
        "published": value_text(example.output),
        "reading": str(example),
        "marked": "marked bars",
        "posterior": svg.bars(after, names, "true answer", "probability afterwards", inside),
    }


# --- a comparison -----------------------------------------------------------------------------------------


def _comparison(c: QuantileComparison) -> dict[str, Any]:
    by_epsilon = {row.mechanism.epsilon: row.mechanism for row in reversed(c.rows)}
    loss_columns = 3 * len(c.losses)
    promises = [f"{_sentence(format_quantile_guarantee(mechanism))}." for _, mechanism in sorted(by_epsilon.items())]
    return {
        "title": "Mechanisms compared",
        "subject": describe_quantile_query(c.query),
        "relation": _relation(c.query),
        "promises": promises,
        "first_loss": c.losses[0],
        "best": ", ".join(c.best()),
        "losses": _build_star_tables(c, c.columns[:loss_columns]),
        "rest": _build_star_tables(c, c.columns[loss_columns:]),
        "legend": legend(c),
        "pictures": _build_comparison(c),
        "digests": [[row.name, row.mechanism.sha256] for row in c.rows],
        "left_out": [],
    }


def legend(c: QuantileComparison) -> str:
    """Return the assumptions behind the numbers, and the loss of the best constant."""
    losses = ", ".join(f"{format_measure(loss)} ({name})" for name, loss in c.constant.items())
    return f"Expected when {UNKNOWN}; or when {INDEPENDENT}. The best constant loses {losses}."


def _build_star_tables(c: QuantileComparison, columns: tuple[str, ...]) -> tuple[list[str], list[list[str | Cell]]]:
    rows: list[list[str | Cell]] = []
    for row in c.rows:
        texts = {column: format_measure(row.values[column]) for column in columns}
        marked = [Cell(text, "best") if c.marks(row, column) else text for column, text in texts.items()]
        rows.append([row.name, *marked])
    return ["mechanism", *columns], rows


def _build_comparison(c: QuantileComparison) -> dict[str, Any]:
    ranked = c.sort_by().rows[:MOST_HEATMAPS]
    names, top = _names(ranked[0].expected), max(float(row.expected.matrix.max()) for row in ranked)
    curves = {row.name: _per_answer(row.expected) for row in ranked}
    return {
        "errors": svg.lines(curves, names, "true answer", "expected absolute error"),
        "which": f"The {MOST_HEATMAPS} with the least loss" if len(c.rows) > MOST_HEATMAPS else "All of them",
        "heatmaps": [svg.heatmap(row.expected.matrix, names, names, top, row.name) for row in ranked],
    }


# --- shared -----------------------------------------------------------------------------------------------


def _relation(query: QuantileQuery) -> str:
    return f"neighbours are groups with {query.neighbours}"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _names(expected: Channel) -> list[str]:
    return [value_text(value) for value in answer_values(expected.query).tolist()]

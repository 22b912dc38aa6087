"""What Explore shows of a mechanism: words, measures and pictures, from the calls that every report uses."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import numpy as np

from inbounds.exact import format_decimal
from inbounds.losses import best_constant_loss
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import Interpretation, answer_values, format_percent, interpret_all
from inbounds.report import svg, wording
from inbounds.studio import pictures
from inbounds.studio.explore.designs import Attack, PropertyPrice, design_loss
from inbounds.studio.explore.state import ExploreState

LEVEL = 0.9
"""The probability of the range of the truth."""


def result(question: ExploreState, mechanism: Mechanism, read: str, others: dict[str, str]) -> dict[str, Any]:
    """Return a mechanism as the page shows it. read: the published value that is interpreted. others: further fields of
    the URL.
    """
    reports = [_value(value) for value in mechanism.query.output_values.tolist()]
    chosen = reports.index(read) if read in reports else len(reports) // 2
    links = [f"/explore?{question.url}&{urlencode({**others, 'read': name})}" for name in reports]
    return {
        "question": question,
        "subject": mechanism.query.describe(),
        "promise": wording.format_guarantee(mechanism),
        "accuracy": wording.describe_accuracy(mechanism, mechanism.channel(), ""),
        "cards": cards(question, mechanism),
        "optimality": _optimality(question, mechanism),
        "heatmap": pictures.heatmap(mechanism.matrix, _names(mechanism), reports, links, chosen),
        "reports": reports,
        "reading": reading(question, mechanism, reports[chosen]),
        "errors": _errors(question, mechanism),
        "properties": [
            (name.replace("_", " "), wording.MEANING[name], bool(held))
            for name, held in _describe_properties(mechanism)
        ],
        "origin": str(mechanism.origin),
        "sha256": mechanism.sha256,
    }


def cards(question: ExploreState, mechanism: Mechanism) -> list[tuple[str, str, str]]:
    """Return the numbers at the top: a name, the number, and what it means."""
    loss, prior = question.loss_object(), question.weights(mechanism.query)
    truth = mechanism.truth_probability()
    aimed, constant = design_loss(question, mechanism), best_constant_loss(mechanism.query, loss, prior)
    unit = "error" if question.loss == "absolute" else f"{loss.name} loss"
    unit = f"{unit} times the answer's weight" if question.aim == "worst" and prior is not None else unit
    return [
        (f"{question.aim} {unit}", f"{aimed:.3g}", f"error of the best constant: {constant:.3g}"),
        ("worst true answer", f"{mechanism.worst_loss(loss):.3g}", "expected loss where it is largest"),
        (
            "right",
            format_percent(float(truth.mean())),
            f"{format_percent(float(truth.min()))} to {format_percent(float(truth.max()))}, by true answer",
        ),
        ("after the best guess", f"{mechanism.bayes_loss(loss, prior):.3g}", "loss of a reader with this prior"),
        ("epsilon", format_decimal(mechanism.epsilon), f"tight: {mechanism.tight_epsilon():.6g}"),
    ]


def reading(question: ExploreState, mechanism: Mechanism, published: str) -> dict[str, Any]:
    """Return what one published value means: the range of the truth, and a bar for every answer."""
    names, prior = _names(mechanism), question.weights(mechanism.query)
    rows = interpret_all(mechanism, LEVEL, prior, "absolute" if mechanism.query.is_ordered else "zero-one")
    row = next((row for row in rows if _value(row.output) == published), rows[len(rows) // 2])
    return {"published": _value(row.output), "sentence": str(row), "picture": _posterior(mechanism, row, names, prior)}


def _posterior(mechanism: Mechanism, row: Interpretation, names: list[str], prior: Any) -> str:
    if not row.answers:
        return ""
    inside = set(row.answers)
    marked = [k for k, answer in enumerate(answer_values(mechanism.query).tolist()) if answer in inside]
    return svg.bars(mechanism.posterior(row.output, prior), names, "true answer", "probability afterwards", marked)


def _errors(question: ExploreState, mechanism: Mechanism) -> str:
    loss = question.loss_object()
    losses = mechanism.loss_per_answer(loss)
    return svg.bars(losses, _names(mechanism), "true answer", f"expected {loss.name} loss")


def _describe_properties(mechanism: Mechanism) -> list[tuple[str, bool]]:
    return [(name, bool(held)) for name, held in mechanism.properties().items()]


def _optimality(question: ExploreState, mechanism: Mechanism) -> str:
    """Describe what is proved about all other mechanisms with the same properties."""
    best = mechanism.optimality
    if best is None:
        return "This is a named mechanism: nothing is claimed about what others could do."
    left = f" {best.remaining}." if best.remaining else ""
    among = f" that is {' and '.join(name.replace('_', ' ') for name in question.require)}" if question.require else ""
    proved = f"Proved: no private mechanism{among} has a smaller {best.objective} than {best.bound:.6g}"
    return f"{proved}; this one has {best.value:.6g}.{left}"


def curve(points: list[tuple[str, float]], loss: str) -> dict[str, Any]:
    """Return the loss against epsilon."""
    if len(points) < 2:
        return {"picture": "", "rows": points}
    values, losses = np.array([float(epsilon) for epsilon, _ in points]), np.array([loss for _, loss in points])
    return {"picture": svg.curve(values, losses, "epsilon", f"expected {loss} loss"), "rows": points}


def price_rows(question: ExploreState, prices: list[PropertyPrice], others: dict[str, str]) -> list[dict[str, Any]]:
    """Return what each property costs, with a link to the design that has it."""
    rows = []
    for price in prices:
        wished = replace(question, mechanism="optimal", require=(*question.require, price.name))
        cost = "" if price.factor is None else f"{price.factor - 1:+.2%}" if not price.held else "holds already"
        rows.append(
            {
                "name": price.name.replace("_", " "),
                "meaning": wording.MEANING[price.name],
                "loss": "" if price.loss is None else f"{price.loss:.4g}",
                "cost": cost or price.reason,
                "link": "" if price.held or price.loss is None else f"/explore?{wished.url}&{urlencode(others)}",
            }
        )
    return rows


def attack_view(attack: Attack, loss: str) -> dict[str, Any]:
    """Return what k answers reveal, as a curve and a table."""
    results = attack.rows
    losses, names = np.array([row[2] for row in results]), [str(row[0]) for row in results]
    curves = {"best guess": losses, "however many": np.full(len(losses), attack.floor)}
    rows = [
        [str(k), epsilon, f"{value:.3g}", f"{error:.1g}" if error else "exact"] for k, epsilon, value, error in results
    ]
    picture = svg.lines(curves, names, "answers pooled", f"expected {loss} loss")
    return {"picture": picture, "rows": rows, "floor": f"{attack.floor:.3g}"}


def _names(mechanism: Mechanism) -> list[str]:
    return [_value(answer) for answer in answer_values(mechanism.query).tolist()]


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Results as one self-contained HTML page each: what attackers learn, what answers add up to, a distribution."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inbounds.accounting.compose import Composition
from inbounds.attack.collusion import Estimator
from inbounds.attack.repeated import CollusionResult
from inbounds.exact import Floats, Number, to_fraction
from inbounds.query import RangeQuery
from inbounds.report import plots, svg
from inbounds.report.maps import map_picture
from inbounds.report.templates import pick_evenly, render_template

ESTIMATORS: dict[Estimator, str] = {
    "likelihood": "likeliest answer",
    "median": "median of the reports",
    "mean": "posterior mean",
    "guess": "best guess",
}
MOST_LISTED = 30
"""Rows of a table on a page; of more, an even selection."""


def attack_page(
    rows: Sequence[CollusionResult],
    title: str,
    *,
    floor: float | None = None,
    approximated: Mapping[int, float] | None = None,
) -> str:
    """Expected loss of who pools several answers to one question, against their number; logarithmic both ways."""
    known = {by: name for by, name in ESTIMATORS.items() if by in rows[0].loss}
    k = np.array([row.answers for row in rows], dtype=np.float64)
    series = {name: (k, np.array([row.loss[by] for row in rows])) for by, name in known.items()}
    if approximated:
        series["closed approximation"] = np.array([*approximated], dtype=float), np.array([*approximated.values()])
    least = (floor, "never below") if floor else None
    picture = plots.plot_curves(series, "answers pooled", "expected loss", logarithmic=len(rows) > 1, floor=least)
    listed = [rows[i] for i in pick_evenly(len(rows), MOST_LISTED)]
    table = [[str(row.answers), *(f"{row.loss[by]:.4g}" for by in known)] for row in listed]
    said = "What somebody is off by who has several answers to the same question and makes the best of them."
    return _page(title, [said], [picture], ["answers", *known.values()], table)


def composition_page(rounds: Sequence[Composition], deltas: Sequence[Number], title: str) -> str:
    """Epsilon as answers add up: their sum, and what holds but for a small delta."""
    k = np.array([part.answers for part in rounds], dtype=np.float64)
    series = {"sum of the epsilons": (k, np.array([float(part.basic) for part in rounds]))}
    for delta in deltas:
        name = f"delta {float(to_fraction(delta, 'delta')):g}"
        series[name] = k, np.array([float(part.epsilon(delta)) for part in rounds])
    listed = pick_evenly(len(rounds), MOST_LISTED)
    table = [[f"{k[i]:g}", *(f"{points[1][i]:.6g}" for points in series.values())] for i in listed]
    said = "What all answers about the same people promise together."
    return _page(title, [said], [plots.plot_curves(series, "answers", "epsilon")], ["answers", *series], table)


def distribution_page(
    names: Sequence[str], shares: Floats, title: str, sentences: Sequence[str], query: RangeQuery | None = None
) -> str:
    """Return the distribution behind private reports, as bars; on a map where the query's answers are its cells."""
    listed = pick_evenly(len(names), MOST_LISTED)
    table = [[names[i], f"{100 * shares[i]:.2f} %"] for i in listed]
    places = None if query is None else map_picture(query, shares, "share of people")
    picture = places or svg.bars(np.asarray(shares), names, "true answer", "share of people")
    return _page(title, sentences, [picture], ["answer", "share"], table)


def _page(
    title: str, sentences: Sequence[str], pictures: Sequence[str], head: Sequence[str], rows: list[list[str]]
) -> str:
    values: dict[str, Any] = {
        "title": title, "sentences": sentences, "pictures": pictures, "head": head, "rows": rows,
    }  # fmt: skip
    return render_template("results.html", values)

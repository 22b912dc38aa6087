"""Self-contained HTML pages of results: attackers' loss, composed epsilons, a distribution."""

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
    "median": "median of the outputs",
    "mean": "posterior mean",
    "guess": "best guess",
}
MOST_LISTED = 30
"""The most rows of a table on a page; of more, an even selection is shown."""


def attack_page(
    rows: Sequence[CollusionResult],
    title: str,
    *,
    floor: float | None = None,
    approximated: Mapping[int, float] | None = None,
) -> str:
    """Return the page of the expected loss of people who pool several answers, against their number, on logarithmic
    axes.
    """
    estimators = {estimator: name for estimator, name in ESTIMATORS.items() if estimator in rows[0].loss}
    k = np.array([row.answers for row in rows], dtype=np.float64)
    series = {name: (k, np.array([row.loss[estimator] for row in rows])) for estimator, name in estimators.items()}
    if approximated:
        series["closed approximation"] = np.array([*approximated], dtype=float), np.array([*approximated.values()])
    floor_line = (floor, "never below") if floor else None
    picture = plots.plot_curves(series, "answers pooled", "expected loss", logarithmic=len(rows) > 1, floor=floor_line)
    selection = [rows[i] for i in pick_evenly(len(rows), MOST_LISTED)]
    table = [[str(row.answers), *(f"{row.loss[estimator]:.4g}" for estimator in estimators)] for row in selection]
    sentence = "The error of a reader who combines several answers to the same question as well as possible."
    return _page(title, [sentence], [picture], ["answers", *estimators.values()], table)


def composition_page(rounds: Sequence[Composition], deltas: Sequence[Number], title: str) -> str:
    """Return the page of epsilon against the number of answers: the sum, and epsilon at small deltas."""
    k = np.array([part.answers for part in rounds], dtype=np.float64)
    series = {"sum of the epsilons": (k, np.array([float(part.basic) for part in rounds]))}
    for delta in deltas:
        name = f"delta {float(to_fraction(delta, 'delta')):g}"
        series[name] = k, np.array([float(part.epsilon(delta)) for part in rounds])
    selection = pick_evenly(len(rounds), MOST_LISTED)
    table = [[f"{k[i]:g}", *(f"{points[1][i]:.6g}" for points in series.values())] for i in selection]
    sentence = "What all answers about the same people promise together."
    return _page(title, [sentence], [plots.plot_curves(series, "answers", "epsilon")], ["answers", *series], table)


def distribution_page(
    names: Sequence[str], shares: Floats, title: str, sentences: Sequence[str], query: RangeQuery | None = None
) -> str:
    """Return the page of the distribution behind private reports, as bars; as a map if the answers are its cells."""
    selection = pick_evenly(len(names), MOST_LISTED)
    table = [[names[i], f"{100 * shares[i]:.2f} %"] for i in selection]
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

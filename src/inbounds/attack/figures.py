"""Figures of repeated questions (extra `figures`): loss and epsilon against the number of answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from inbounds.accounting.compose import Composition
from inbounds.attack.collude import Estimator
from inbounds.attack.repeated import Learned
from inbounds.extras import library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS: dict[Estimator, str] = {
    "likelihood": "likeliest answer",
    "median": "median of the reports",
    "mean": "posterior mean",
    "guess": "best guess",
}
LOOKS = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#CC79A7", ":"), ("#000000", (0, (5, 1))))
"""Colours that every eye can tell apart, each with dashes of its own."""


def loss_against_answers(
    rows: Sequence[Learned],
    *,
    floor: float | None = None,
    approximated: Mapping[int, float] | None = None,
    title: str = "",
) -> "Figure":
    """Expected loss as answers are pooled, both axes logarithmic: a straight line of slope -1/2 is 1/sqrt(k).

    Bands are two standard errors of simulated values. floor: what unlimited answers leave. approximated: 004
    (16)-(18) by number of answers.
    """
    figure = _figure(6.4, 4.4)
    axis = figure.subplots()
    k = np.array([row.answers for row in rows])
    for (by, name), (colour, dashes) in zip(WORDS.items(), LOOKS, strict=False):
        if by not in rows[0].loss:
            continue
        loss, error = (np.array([getattr(row, part)[by] for row in rows]) for part in ("loss", "error"))
        axis.plot(k, loss, color=colour, linestyle=dashes, label=name, marker="o" if len(k) == 1 else None)
        axis.fill_between(k, np.maximum(loss - 2 * error, 1e-12), loss + 2 * error, color=colour, alpha=0.15, lw=0)
    if approximated:
        axis.plot(list(approximated), list(approximated.values()), color="0.45", lw=1, label="closed approximation")
    if floor:
        axis.axhline(floor, color="0.2", lw=1, linestyle=(0, (1, 2)))
        axis.annotate("never below", (k[0], floor), textcoords="offset points", xytext=(2, 4), fontsize=8)
    _scaled(axis, rows)
    axis.set(xlabel="answers pooled", ylabel="expected loss", title=title)
    axis.legend(frameon=False, fontsize=9)
    return _plain(figure)


def epsilon_against_answers(rounds: Sequence[Composition], delta: float, title: str = "") -> "Figure":
    """Left: basic and tight epsilon as answers add up. Right: the delta-epsilon curve of all of them."""
    figure = _figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    k = [c.answers for c in rounds]
    for name, values, (colour, dashes) in (
        ("sum of the epsilons", [float(c.basic) for c in rounds], LOOKS[1]),
        (f"tight, delta {delta:g}", [c.epsilon(repr(delta)) for c in rounds], LOOKS[0]),
    ):
        left.plot(k, values, color=colour, linestyle=dashes, marker="o", ms=3, label=name)
    left.set(xlabel="answers", ylabel="epsilon", title=title)
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=9)
    epsilons, deltas = rounds[-1].curve(80)
    seen = deltas > 3 * rounds[-1].slack  # below, rounding is all there is to see
    right.semilogy(epsilons[seen], deltas[seen], color=LOOKS[0][0])
    right.axhline(delta, color="0.45", lw=1, linestyle=(0, (1, 2)))
    right.set(xlabel="epsilon", ylabel="delta", title=f"{rounds[-1].answers} answers")
    return _plain(figure)


def _scaled(axis: "Axes", rows: Sequence[Learned]) -> None:
    """Logarithmic axes, cut where simulation no longer sees anything."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    seen = [row.loss[by] for row in rows for by in row.loss if row.loss[by] > 2 * row.error[by]]
    if seen:
        axis.set_ylim(min(seen) / 2, max(seen) * 1.5)


def _figure(width: float, height: float) -> "Figure":
    figure: Figure = library("matplotlib.figure", "figures").Figure(figsize=(width, height), layout="constrained")
    return figure


def _plain(figure: "Figure") -> "Figure":
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(True, color="0.92", lw=0.8)
        axis.set_axisbelow(True)
    return figure

"""Figures of repeated questions (extra `figures`): loss against the number of answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from inbounds.accounting.figures import LOOKS, blank_figure, plain
from inbounds.attack.collude import Estimator
from inbounds.attack.repeated import Learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS: dict[Estimator, str] = {
    "likelihood": "likeliest answer",
    "median": "median of the reports",
    "mean": "posterior mean",
    "guess": "best guess",
}


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
    figure = blank_figure(6.4, 4.4)
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
    return plain(figure)


def _scaled(axis: "Axes", rows: Sequence[Learned]) -> None:
    """Logarithmic axes, cut where simulation no longer sees anything."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    seen = [row.loss[by] for row in rows for by in row.loss if row.loss[by] > 2 * row.error[by]]
    if seen:
        axis.set_ylim(min(seen) / 2, max(seen) * 1.5)

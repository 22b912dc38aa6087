"""Figures of many answers (extra `figures`): epsilon, delta and what questioners learn against their number."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from inbounds.accounting.compose import Composition
from inbounds.attack.repeated import CollusionResult
from inbounds.exact import Number, to_fraction
from inbounds.report.figures import COLOURS, DASHES, blank_figure, style_axes
from inbounds.report.result_pages import ESTIMATORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = tuple(zip(COLOURS, (*DASHES, (0, (5, 1))), strict=False))
"""Colours that every eye can tell apart, each with dashes of its own."""

LEAST = "1e-20"
"""Deltas below it are not drawn."""


def epsilon_against_answers(rounds: Sequence[Composition], deltas: Sequence[Number], title: str = "") -> "Figure":
    """Left: epsilon as answers add up, the sum and at several deltas. Right: delta against epsilon for all of them."""
    figure = blank_figure(9.6, 4.0)
    left, right = figure.subplots(1, 2)
    k = [c.answers for c in rounds]
    left.plot(k, [float(c.basic) for c in rounds], color="0.45", lw=1, label="sum of the epsilons")
    for delta, (colour, dashes) in zip(deltas, cycle(LOOKS), strict=False):
        values = [c.epsilon(delta) for c in rounds]
        name = f"delta {float(to_fraction(delta, 'delta')):g}"
        left.plot(k, values, color=colour, linestyle=dashes, marker="o", ms=3, label=name)
    left.set(xlabel="answers", ylabel="epsilon", title=title)
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=9)
    epsilons = np.linspace(0.0, rounds[-1].epsilon(LEAST), 40).tolist()
    found = np.array([rounds[-1].delta(e) for e in epsilons])
    right.semilogy(epsilons, np.where(found > 0, found, np.nan), color=LOOKS[0][0])
    for delta, (colour, dashes) in zip(deltas, cycle(LOOKS), strict=False):
        right.axhline(float(to_fraction(delta, "delta")), color=colour, lw=1, linestyle=dashes)
    right.set(xlabel="epsilon", ylabel="delta", title=f"{rounds[-1].answers} answers")
    return _with_grid(figure)


def loss_against_answers(
    rows: Sequence[CollusionResult],
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
    for (by, name), (colour, dashes) in zip(ESTIMATORS.items(), LOOKS, strict=False):
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
    _scale_axis(axis, rows)
    axis.set(xlabel="answers pooled", ylabel="expected loss", title=title)
    axis.legend(frameon=False, fontsize=9)
    return _with_grid(figure)


def _scale_axis(axis: "Axes", rows: Sequence[CollusionResult]) -> None:
    """Logarithmic axes, cut where simulation no longer sees anything."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    seen = [row.loss[by] for row in rows for by in row.loss if row.loss[by] > 2 * row.error[by]]
    if seen:
        axis.set_ylim(min(seen) / 2, max(seen) * 1.5)


def _with_grid(figure: "Figure") -> "Figure":
    """Return a plain figure with a faint grid behind the curves."""
    for axis in figure.axes:
        axis.grid(True, color="0.92", lw=0.8)
        axis.set_axisbelow(True)
    return style_axes(figure)

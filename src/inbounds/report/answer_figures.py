"""Figures of many answers (extra `figures`): epsilon, delta and attackers' loss against the number of answers."""

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
"""Colours for any colour vision, each with different dashes."""

LEAST = "1e-20"
"""The least delta that is drawn."""


def epsilon_against_answers(rounds: Sequence[Composition], deltas: Sequence[Number], title: str = "") -> "Figure":
    """Plot epsilon against the number of answers, and delta against epsilon.

    Left: the sum of the epsilons, and epsilon at several deltas. Right: delta against epsilon for all answers.
    """
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
    delta_values = np.array([rounds[-1].delta(e) for e in epsilons])
    right.semilogy(epsilons, np.where(delta_values > 0, delta_values, np.nan), color=LOOKS[0][0])
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
    """Plot the expected loss as answers are pooled, on logarithmic axes: a line of slope -1/2 is 1/sqrt(k).

    Bands are two standard errors of simulated values. floor: the loss that remains after unlimited answers.
    approximated: 004 (16)-(18) by number of answers.
    """
    figure = blank_figure(6.4, 4.4)
    axis = figure.subplots()
    k = np.array([row.answers for row in rows])
    for (estimator, name), (colour, dashes) in zip(ESTIMATORS.items(), LOOKS, strict=False):
        if estimator not in rows[0].loss:
            continue
        loss, error = (np.array([getattr(row, part)[estimator] for row in rows]) for part in ("loss", "error"))
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
    """Make both axes logarithmic, and cut the loss axis below what simulation can measure."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    measured = [
        row.loss[estimator] for row in rows for estimator in row.loss if row.loss[estimator] > 2 * row.error[estimator]
    ]
    if measured:
        axis.set_ylim(min(measured) / 2, max(measured) * 1.5)


def _with_grid(figure: "Figure") -> "Figure":
    """Return the figure with a faint grid behind the curves."""
    for axis in figure.axes:
        axis.grid(True, color="0.92", lw=0.8)
        axis.set_axisbelow(True)
    return style_axes(figure)

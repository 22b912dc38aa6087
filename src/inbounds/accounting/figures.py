"""Figures of composition (extra `figures`): epsilon against the number of answers, delta against epsilon."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from inbounds.accounting.compose import Composition
from inbounds.extras import library
from inbounds.numbers import Number, exact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", "-."), ("#CC79A7", ":"), ("#000000", (0, (5, 1))))
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
        name = f"delta {float(exact(delta, 'delta')):g}"
        left.plot(k, values, color=colour, linestyle=dashes, marker="o", ms=3, label=name)
    left.set(xlabel="answers", ylabel="epsilon", title=title)
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=9)
    epsilons = np.linspace(0.0, rounds[-1].epsilon(LEAST), 40).tolist()
    found = np.array([rounds[-1].delta(e) for e in epsilons])
    right.semilogy(epsilons, np.where(found > 0, found, np.nan), color=LOOKS[0][0])
    for delta, (colour, dashes) in zip(deltas, cycle(LOOKS), strict=False):
        right.axhline(float(exact(delta, "delta")), color=colour, lw=1, linestyle=dashes)
    right.set(xlabel="epsilon", ylabel="delta", title=f"{rounds[-1].answers} answers")
    return plain(figure)


def blank_figure(width: float, height: float) -> "Figure":
    """An empty figure of so many inches."""
    figure: Figure = library("matplotlib.figure", "figures").Figure(figsize=(width, height), layout="constrained")
    return figure


def plain(figure: "Figure") -> "Figure":
    """The figure without frames, with a faint grid behind the curves."""
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(True, color="0.92", lw=0.8)
        axis.set_axisbelow(True)
    return figure

"""002's schematics: Figure 1, the classes of constraints; Table 1, its variables with their values at an example."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.catalog.scales import cut_masses, find_scale
from inbounds.exact import Number
from inbounds_studies.paper_002 import INF, SHOWN, Spans, kept
from inbounds_studies.study import Result, Study
from inbounds_studies.style import BLACK, RED, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES: dict[str, tuple[str, Spans]] = {
    "a": ("a single infinite constraint", ((0.0, INF),)),
    "b": ("finite constraints only: open at both ends", ((-INF, -1.0), (0.0, 1.0), (2.5, INF))),
    "c": ("any constraints", ((-2.0, -1.0), (0.0, 1.0), (2.5, INF))),
}


def fig1() -> Result:
    """One example of each class, with what it takes: the least scale for metric and for plain privacy at epsilon 1."""
    rows = [
        (key, words, low, high, *(find_scale(spans, 1, 1, notion) for notion in ("metric", "plain")))
        for key, (words, spans) in CLASSES.items()
        for low, high in spans
    ]
    table = Table.of(("class", "words", "lower", "upper", "metric", "plain"), rows)
    return Result(table, lambda: _classes(table))


def _classes(table: Table) -> "Figure":
    figure, (axis,) = panels(1, width=7.0, height=2.6)
    left, right = -4.0, 5.0
    for y, key in zip((2, 1, 0), CLASSES, strict=True):
        rows = table.where(**{"class": key})
        axis.plot([left, right], [y, y], color=BLACK, linewidth=1.5, zorder=1)
        edges = [left, *np.clip([e for row in rows for e in (row["lower"], row["upper"])], left, right), right]
        for low, high in zip(edges[::2], edges[1::2], strict=True):
            if high > low:
                axis.plot([low, high], [y, y], color=RED, linewidth=9, solid_capstyle="butt", zorder=2)
        words, metric, plain = (rows.column(name)[0] for name in ("words", "metric", "plain"))
        text = f"{key}) {words}: least scale {metric:.3f} (metric), {plain:.3f} (plain)"
        axis.text(left, y + 0.22, text, fontsize=8.5)
    axis.set_ylim(-0.4, 2.7)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.grid(visible=False)
    axis.set_xlabel("answer, in sensitivities (as the scales, ε = 1); blocks are constraints, those at an end go on")
    return figure


def table1(
    at: float = 0.0, other: float = -0.5, report: float = 0.5, scale: float = 1.0, epsilon: Number = 1
) -> Result:
    """The paper's variables for Figure 2's constraints, two true answers and one report, with their values.

    ΔF is one, so i = |f(D1) - f(D2)|. L and R are the masses cut off on either side (4), (5); n = 1/(1 - L - R) (6).
    """
    e = decimal(epsilon)
    rows: list[tuple[Any, ...]] = [
        ("ε", "what is promised", e), ("ΔF", "sensitivity", 1.0), ("σ", "one scale for all answers", scale),
        ("x", "a report", report), ("i", "answers apart, in sensitivities", abs(at - other)),
        ("I_L", "1: a constraint to minus infinity", 1.0), ("I_R", "1: a constraint to infinity", 1.0),
    ]  # fmt: skip
    spans, holes = np.array(SHOWN), [(left[1], right[0]) for left, right in pairwise(SHOWN)]
    for j, f in ((1, at), (2, other)):
        cut_left, cut_right = (float(mass[0]) for mass in cut_masses(spans, np.array([f]), scale))
        rows += [
            (f"f(D{j})", "a true answer", f), (f"Δx{j}", "from it to the report", abs(report - f)),
            (f"σ{j}", "scale of this answer", scale),
            (f"|CL{j}|", "finite constraints on its left", sum(high <= f for _, high in holes)),
            (f"|CR{j}|", "finite constraints on its right", sum(low >= f for low, _ in holes)),
        ]  # fmt: skip
        for k, (low, high) in enumerate(holes, 1):
            rows += [(f"ΔL{j}{k}", f"to the left end of constraint {k}", abs(f - low)),
                     (f"ΔR{j}{k}", f"to the right end of constraint {k}", abs(f - high))]  # fmt: skip
        rows += [
            (f"ΔR{j}", "to the right end of the left constraint", f - SHOWN[0][0]),
            (f"ΔL{j}", "to the left end of the right constraint", SHOWN[-1][1] - f),
            (f"L{j}", "mass cut off on the left", cut_left), (f"R{j}", "mass cut off on the right", cut_right),
            (f"n{j}", "normalization 1/(1 − L − R)", 1 / float(kept(SHOWN, np.array([f]), scale)[0])),
        ]  # fmt: skip
    table = Table.of(("variable", "meaning", "value"), rows)
    return Result(table, lambda: _variables(table))


def _variables(table: Table) -> "Figure":
    figure, (axis,) = panels(1, width=6.4, height=0.21 * len(table) + 0.4)
    for y, row in enumerate(table):
        axis.text(0.0, -y, str(row["variable"]), fontsize=9, fontweight="bold")
        axis.text(0.14, -y, str(row["meaning"]), fontsize=9)
        axis.text(1.0, -y, f"{row['value']:.4g}", fontsize=9, ha="right")
    axis.set_ylim(-len(table), 1)
    axis.set_xlim(0, 1)
    axis.set_axis_off()
    return figure


STUDIES = (
    Study("002-fig1", "Classes of constraints, and what each needs", fig1),
    Study("002-table1", "The variables, with their values at an example", table1),
)

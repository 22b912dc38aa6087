"""000's order between mechanisms (Definitions 5 to 8), and what is left to gain for large databases (section 4.4)."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inbounds import catalog
from inbounds.design.designer import optimal
from inbounds.design.refinement import check_refinement, compare_closeness
from inbounds.exact import Number
from inbounds.mechanism import Mechanism
from inbounds.query import count, mean
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.paper_000 import LAPLACE, NORMALIZED, STAIRCASE, VARIANT_1, VARIANT_2
from inbounds_studies.study import Result, Study
from inbounds_studies.style import BLUE, GREEN, curves, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- the order --------------------------------------------------------------------------------------------

GEOMETRIC, SQUARED, UNIFORM = "geometric", "optimal, squared", "uniform"


def compared(n: int, epsilon: Number) -> dict[str, Mechanism]:
    """Mechanisms for a count of 0..n, the optima for two losses among them."""
    query = count(n)
    return {
        VARIANT_1: catalog.variant_1(query, epsilon),
        SQUARED: optimal(query, epsilon, "squared"),
        VARIANT_2: catalog.variant_2(query, epsilon),
        GEOMETRIC: catalog.truncated_geometric(query, epsilon),
        STAIRCASE: catalog.snapped_staircase(query, epsilon),
        LAPLACE: catalog.snapped_laplace(query, epsilon),
        NORMALIZED: catalog.normalized_laplace(query, epsilon),
        UNIFORM: catalog.uniform(query, epsilon),
    }


def order(n: int = 5, epsilon: Number = "0.5") -> Result:
    """For every two mechanisms: are the reports of one closer to the truth whatever it is (Definition 7), and is one
    better for every loss and prior (sufficiency, section 3.1)?"""
    made = compared(n, epsilon)
    rows = [_pair(one, other, made) for one in made for other in made if one != other]
    columns = ("first", "second", "closer", "answer", "distance", "refines", "missing")
    table = Table.of(columns, rows)
    return Result(table, lambda: _orders(table))


def _pair(one: str, other: str, made: dict[str, Mechanism]) -> tuple[Any, ...]:
    """Where `first` is not closer: the answer and distance that refute it; how far the best remap misses."""
    near, finer = compare_closeness(made[one], made[other]), check_refinement(made[one], made[other])
    refuted = (None, None) if near or near.answer is None else (float(near.answer), float(near.distance or 0))
    return one, other, bool(near), *refuted, bool(finer), finer.distance


def _orders(table: Table) -> "Figure":
    names = table.distinct("first")
    figure, axes = panels(2, across=2, width=3.8, height=3.7)
    for axis, column, colour, title in zip(
        axes, ("closer", "refines"), (BLUE, GREEN),
        ("reports closer to the truth\n(Definition 7)", "better for every loss and prior\n(sufficiency)"), strict=True,
    ):  # fmt: skip
        for row in table:
            x, y = names.index(row["second"]), names.index(row["first"])
            if row[column]:
                axis.plot(x, y, "s", color=colour, markersize=11)
        axis.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
        axis.set_yticks(range(len(names)), names if axis is axes[0] else [], fontsize=8)
        axis.set_xlim(-0.5, len(names) - 0.5)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_title(title)
        axis.set_xlabel("than this")
    axes[0].set_ylabel("this is better")
    return figure


# --- large databases --------------------------------------------------------------------------------------

BOUND = "bound: no mechanism is below"
DESIGNED = 40
"""People up to which the optimum itself is designed here."""


def large(
    epsilon: Number = "0.5",
    sizes: Sequence[int] = (5, 10, 20, 40, 80, 150, 300),
    low: int = 0,
    high: int = 4,
    crew: Crew = ALONE,
) -> Result:
    """Means of many people: what noise loses against a bound that needs no program, in units of k/n."""
    parts = crew.map(_large, [(n, low, high, epsilon) for n in sizes])
    table = Table.of(("size", "mechanism", "value", "ratio"), [row for part in parts for row in part])
    return Result(table, lambda: _larger(table, decimal(epsilon)))


def _large(job: tuple[int, int, int, Number]) -> list[tuple[Any, ...]]:
    n, low, high, epsilon = job
    query, unit = mean(n, low, high), (high - low) / n
    least = mean_bound(n, high - low, epsilon)
    losses = {
        STAIRCASE: catalog.snapped_staircase(query, epsilon).loss("absolute") / unit,
        LAPLACE: catalog.snapped_laplace(query, epsilon).loss("absolute") / unit,
    }
    if n <= DESIGNED:
        losses[VARIANT_1] = optimal(query, epsilon).loss("absolute") / unit
    losses[BOUND] = least
    return [(n, name, value, value / least) for name, value in losses.items()]


def mean_bound(n: int, k: int, epsilon: Number) -> float:
    """A lower bound on the mean absolute error of every private mean of n values 0..k, in units of k/n.

    Answers r, r + k, r + 2k, … (in steps of 1/n) are a count: neighbours are one unit apart. No mechanism loses less
    on them than the optimum for a count, whose reports may lie anywhere: the best guess from the geometric mechanism.
    Averaged over r = 0..k-1. As n grows it tends to 2a/(1-a²) with a = exp(-epsilon), while the staircase tends to
    sqrt(a)/(1-a): a factor cosh(epsilon/2), so that nothing can beat the staircase by more.
    """
    first, others = (optimal(count(m), epsilon).loss("absolute") for m in (n, n - 1))
    return ((n + 1) * first + (k - 1) * n * others) / (k * n + 1)


def _larger(table: Table, epsilon: float) -> "Figure":
    figure = curves(
        table, "size", "ratio", x_label="database size", y_label="loss / bound", legend_across=2,
    )  # fmt: skip
    (axis,) = figure.axes
    axis.axhline(math.cosh(epsilon / 2), color="#8A8A8A", linewidth=1, zorder=0)
    words = f"cosh(ε/2) = {math.cosh(epsilon / 2):.4f}: the staircase in the limit"
    axis.annotate(words, (0.98, math.cosh(epsilon / 2)), xycoords=("axes fraction", "data"), xytext=(0, -11),
                  textcoords="offset points", ha="right", fontsize=8, color="#555555")  # fmt: skip
    axis.set_xscale("log")
    axis.set_xticks(table.distinct("size"), [str(n) for n in table.distinct("size")])
    axis.minorticks_off()
    return figure


STUDIES = (
    Study("000-order", "The order between mechanisms", order, {"n": 3}),
    Study("000-large", "Large databases: what is left to gain", large, {"sizes": (5, 20, 80)}),
)

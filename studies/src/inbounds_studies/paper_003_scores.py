"""003, Figures 8 and 9: exact scores of weak honesty and of the named mechanisms."""

from collections.abc import Sequence
from typing import Any

from inbounds.design.designer import optimal
from inbounds.exact import Number, epsilon_from_alpha
from inbounds.query import count
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.paper_003 import EM, GM, l0, named
from inbounds_studies.study import Result, Study
from inbounds_studies.style import curves
from inbounds_studies.table import Table, decimal

# --- Figures 8 and 9: exact -------------------------------------------------------------------------------

COMBINATIONS = (
    (), ("row_honest",), ("row_monotone",), ("column_honest",), ("column_monotone",),
    ("row_honest", "column_honest"), ("row_honest", "column_monotone"),
    ("row_monotone", "column_honest"), ("row_monotone", "column_monotone"),
)  # fmt: skip
"""What may be asked beside weak honesty: the nine sets that differ."""

SHORT = {"row_honest": "RH", "row_monotone": "RM", "column_honest": "CH", "column_monotone": "CM"}


def fig8(
    a: Number = "0.76",
    sizes: Sequence[int] = tuple(range(2, 13)),
    n: int = 5,
    alphas: Sequence[Number] = ("0.5", "0.55", "0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95"),
    crew: Crew = ALONE,
) -> Result:
    """L0 of weak honesty with each set of row and column properties, against n and against alpha."""
    points = [("against n", m, a) for m in sizes] + [("against α", n, b) for b in alphas]
    jobs = [(panel, m, b, asked) for panel, m, b in points for asked in COMBINATIONS]
    rows = crew.map(_combined, jobs)
    rows += [row for point in points for row in _bounds(*point)]
    table = Table.of(("panel", "n", "alpha", "x", "mechanism", "value"), rows)
    titles = {"against n": f"α = {a}", "against α": f"n = {n}"}
    labels = {"against n": "group size n", "against α": "α"}
    return Result(
        table,
        lambda: curves(
            _grouped(table), "x", panel="panel", x_label=labels, y_label="L0 score", titles=titles, legend_across=2
        ),
    )


def _combined(job: tuple[str, int, Number, tuple[str, ...]]) -> tuple[Any, ...]:
    panel, n, a, asked = job
    mechanism = optimal(count(n), epsilon_from_alpha(a), "zero-one", properties=("weakly_honest", *asked))
    name = "+".join(["WH", *(SHORT[p] for p in asked)])
    return panel, n, decimal(a), _x(panel, n, a), name, l0(mechanism)


def _bounds(panel: str, n: int, a: Number) -> list[tuple[Any, ...]]:
    """GM below, which is the optimum without properties, and EM above."""
    shown = {name: m for name, m in named(n, epsilon_from_alpha(a)).items() if name in (GM, EM)}
    return [(panel, n, decimal(a), _x(panel, n, a), name, l0(m)) for name, m in shown.items()]


def _x(panel: str, n: int, a: Number) -> float:
    return float(n) if panel == "against n" else decimal(a)


def _grouped(table: Table) -> Table:
    """Only two behaviours occur, so nine lines would hide each other: one line for each set of equals."""
    rows = {"WH": "WH alone, with RH or RM", "WH+CM": "WH with CH or CM, with or without RH, RM"}
    kept = [row for row in table if row["mechanism"] in rows or "(" in str(row["mechanism"])]
    return Table.of(
        table.columns,
        [tuple((row | {"mechanism": rows.get(str(row["mechanism"]), row["mechanism"])}).values()) for row in kept],
    )


def fig9(
    alphas: Sequence[Number] = ("2/3", "10/11", "0.99"),
    sizes: Sequence[int] = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 19, 20, 22, 24),
    crew: Crew = ALONE,
) -> Result:
    """L0 of the named mechanisms against n, with the weakly honest one in both readings."""
    rows = crew.map(_scores, [(a, n) for a in alphas for n in sizes])
    table = Table.of(("alpha", "n", "mechanism", "value"), [row for part in rows for row in part])
    titles = {decimal(a): f"α = {a}" for a in alphas}
    return Result(
        table,
        lambda: curves(table, "n", panel="alpha", x_label="group size n", y_label="L0 score", titles=titles),
    )


def _scores(job: tuple[Number, int]) -> list[tuple[Any, ...]]:
    a, n = job
    return [(decimal(a), n, name, l0(m)) for name, m in named(n, epsilon_from_alpha(a)).items()]


STUDIES = (
    Study(
        "003-fig8",
        "L0 of weak honesty with row and column properties",
        fig8,
        {"sizes": (2, 4, 6, 8), "alphas": ("0.5", "0.7", "0.9")},
    ),
    Study("003-fig9", "L0 of the named mechanisms against the group size", fig9, {"sizes": (2, 4, 8, 12, 20)}),
)

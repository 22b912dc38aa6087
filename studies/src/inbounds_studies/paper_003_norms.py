"""003 section VI: what properties cost under absolute and squared error, for all 128 sets of them."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.design.designer import optimal
from inbounds.exact import Number, epsilon_from_alpha
from inbounds.properties import NAMES
from inbounds.query import count
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.study import Result, Study
from inbounds_studies.style import panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHORT = {
    "row_honest": "RH", "row_monotone": "RM", "column_honest": "CH", "column_monotone": "CM", "weakly_honest": "WH",
    "fair": "F", "symmetric": "S",
}  # fmt: skip
IMPLIED = (
    ({"RM"}, "RH"), ({"CM"}, "CH"), ({"CH"}, "WH"), ({"F", "RH"}, "CH"), ({"F", "CH"}, "RH"),
)  # fmt: skip
"""Section IV-A: what follows from what. Symmetry is left out: Theorem 1 gives it for nothing."""

SAME = 1e-7
"""Costs this close, relative to each other, count as one: a hundred times the gap that the designer proves."""


def closure(names: Iterable[str]) -> frozenset[str]:
    """The properties in short that follow from a set, without symmetry."""
    found = {SHORT[name] for name in names} - {"S"}
    while more := [name for given, name in IMPLIED if given <= found and name not in found]:
        found |= set(more)
    return frozenset(found)


def sets_by_closure() -> dict[frozenset[str], list[tuple[str, ...]]]:
    """The 128 sets of the seven properties, by what follows from them: the same program up to symmetry."""
    groups: dict[frozenset[str], list[tuple[str, ...]]] = {}
    for size in range(len(NAMES) + 1):
        for names in combinations(NAMES, size):
            groups.setdefault(closure(names), []).append(names)
    return groups


def norms(
    losses: Sequence[str] = ("zero-one", "absolute", "squared"),
    sizes: Sequence[int] = (4, 8),
    alphas: Sequence[Number] = ("0.4", "2/3", "10/11"),
    crew: Crew = ALONE,
) -> Result:
    """The least cost of every set of properties, one program for each closure; behaviours are sets of one cost."""
    groups = sets_by_closure()
    cases = [(loss, n, a) for loss in losses for n in sizes for a in alphas]
    jobs = [(loss, n, a, tuple(_spell(names))) for loss, n, a in cases for names in groups]
    costs = np.array(crew.map(_cost, jobs)).reshape(len(cases), len(groups))
    rows = []
    for (loss, n, a), found in zip(cases, costs, strict=True):
        level = _levels(found)
        for (names, sets), cost, behaviour in zip(groups.items(), found, level, strict=True):
            rows.append((loss, n, decimal(a), _text(names), len(sets), cost, cost / found.min(), behaviour))
    columns = ("loss", "n", "alpha", "properties", "sets", "cost", "factor", "behaviour")
    table = Table.of(columns, rows)
    return Result(table, lambda: _factors(table))


def _spell(names: Iterable[str]) -> list[str]:
    return [long for long, short in SHORT.items() if short in names]


def _text(names: Iterable[str]) -> str:
    """The strongest of each kind, such as "F + RM"."""
    given = set(names)
    shown = given - ({"RH"} if "RM" in given else set()) - ({"CH"} if "CM" in given else set())
    shown -= {"WH"} if {"CH", "CM"} & given else set()
    shown -= {"CH"} if {"F", "RH", "CH"} <= given and shown & {"RM", "RH"} else set()
    return " + ".join(name for name in ("F", "WH", "RH", "RM", "CH", "CM") if name in shown) or "none"


def _cost(job: tuple[str, int, Number, tuple[str, ...]]) -> float:
    loss, n, a, names = job
    return optimal(count(n), epsilon_from_alpha(a), loss, None, names).loss(loss)


def _levels(costs: Any) -> list[int]:
    """1 for the least cost, 2 for the next that differs, and so on."""
    ordered = np.sort(costs)
    jumps = np.concatenate([[0], np.cumsum(np.diff(ordered) > SAME * ordered[1:])])
    return [int(jumps[np.searchsorted(ordered, cost)]) + 1 for cost in costs]


def _factors(table: Table) -> "Figure":
    """Cost over that of no property at all: properties down, loss and size and alpha across."""
    names = table.distinct("properties")
    cases = list(dict.fromkeys(zip(*(table.column(c) for c in ("loss", "n", "alpha")), strict=True)))
    sizes = table.distinct("n")
    figure, axes = panels(len(sizes), across=1, width=7.4, height=0.21 * len(names) + 0.9)
    for axis, size in zip(axes, sizes, strict=True):
        shown = [case for case in cases if case[1] == size]
        factor = np.array([table.where(loss=loss, n=n, alpha=a).column("factor") for loss, n, a in shown]).T
        axis.imshow(np.minimum(factor, 1.5), cmap="Greys", vmin=1, vmax=2.2, aspect="auto")
        for (i, j), value in np.ndenumerate(factor):
            axis.text(j, i, f"{value:.3f}".rstrip("0").rstrip("."), ha="center", va="center", fontsize=8.5)
        axis.set_yticks(range(len(names)), names)
        axis.set_xticks(range(len(shown)), [f"{loss}\nα = {a:.2f}" for loss, _, a in shown], fontsize=8)
        axis.set_title(f"least cost over that without properties, n = {size}")
        axis.grid(visible=False)
    return figure


STUDIES = (
    Study("003-norms", "What properties cost under absolute and squared error", norms,
          {"sizes": (3,), "alphas": ("2/3",)}),
)  # fmt: skip

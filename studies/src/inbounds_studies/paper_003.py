"""003: Cormode, Kulkarni, Srivastava, "Constrained private mechanisms for count data". Figures 1 to 7: matrices."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from inbounds import catalog
from inbounds.design.routes.flowchart import choose_closed_form
from inbounds.exact import Floats, Number, epsilon_from_alpha
from inbounds.losses import LossLike, Prior, threshold_loss, to_loss
from inbounds.mechanism import Mechanism
from inbounds.properties import NAMES
from inbounds.query import RangeQuery, count
from inbounds_studies import paper_003_drawn as drawn
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.matrix import COLUMNS, entries, matrix_rows
from inbounds_studies.study import Result, Study
from inbounds_studies.style import matrices
from inbounds_studies.table import Table, decimal

GM, WH, WM, EM, UM = (
    "geometric (GM)",
    "weakly honest",
    "weakly honest (WM)",
    "explicit fair (EM)",
    "uniform (UM)",
)
"""The paper's names. WM has weak honesty, row and column monotonicity; "weakly honest" is WM without the last."""

SHOWN: tuple[tuple[LossLike, int], ...] = (
    ("absolute", 5),
    ("absolute", 7),
    ("squared", 4),
    (threshold_loss(1), 5),
)
"""Loss and group size of the panels of Figures 1 and 2; the text names the last three."""


def named(n: int, epsilon: Number) -> dict[str, Mechanism]:
    """The paper's mechanisms for a group of n."""
    query = count(n)
    return {
        GM: catalog.truncated_geometric(query, epsilon),
        WH: catalog.weakly_honest(query, epsilon, column_monotone=False),
        WM: catalog.weakly_honest(query, epsilon),
        EM: catalog.explicit_fair(query, epsilon),
        UM: catalog.uniform(query, epsilon),
    }


def l0(mechanism: Mechanism) -> float:
    """The paper's L0: chance of a wrong report, scaled so that guessing costs 1: (n+1)/n · (1 - mean diagonal)."""
    outputs, _ = mechanism.query.shape
    return mechanism.loss("zero-one") * outputs / (outputs - 1)


# --- Figures 1 and 2 --------------------------------------------------------------------------------------


def fig1(
    alphas: Sequence[Number] = ("0.62", "0.9"),
    panels: Sequence[tuple[LossLike, int]] = SHOWN,
    prior: Callable[[RangeQuery], Prior] | Prior = None,
) -> Result:
    """Unconstrained optima: gaps and spikes. The paper's alpha is 0.62; what its text describes needs more."""
    return _designed(alphas, panels, (), prior)


def fig2(
    alphas: Sequence[Number] = ("0.62",),
    panels: Sequence[tuple[LossLike, int]] = SHOWN,
    prior: Callable[[RangeQuery], Prior] | Prior = None,
) -> Result:
    """The same objectives with all seven properties: no gaps, no spikes."""
    return _designed(alphas, panels, NAMES, prior)


def _designed(
    alphas: Sequence[Number],
    panels: Sequence[tuple[LossLike, int]],
    properties: Sequence[str],
    prior: Callable[[RangeQuery], Prior] | Prior,
) -> Result:
    from inbounds.design.designer import optimal

    found = {
        f"{to_loss(loss).name}, n = {n}, α = {a}": optimal(
            count(n), epsilon_from_alpha(a), loss, prior(count(n)) if callable(prior) else prior, properties
        )
        for a in alphas
        for loss, n in panels
    }
    table = entries(found)
    return Result(table, lambda: matrices(table, across=len(panels)))


# --- Figures 3 and 4 --------------------------------------------------------------------------------------


def fig3(n: int = 7, a: Number = "0.62") -> Result:
    """The structure of GM: x·a^|i-j| in the first and last row, y·a^|i-j| between; x = 1/(1+a), y = (1-a)/(1+a)."""
    i, j = np.indices((n + 1, n + 1))
    ends = (i == 0) | (i == n)
    rows = _structure(
        GM, np.where(ends, "x", "y"), np.abs(i - j), catalog.truncated_geometric(count(n), epsilon_from_alpha(a))
    )
    return Result(rows, lambda: drawn.structure(rows, f"GM, n = {n}:  x = 1/(1+α),  y = (1−α)/(1+α)"))


def fig4(n: int = 7, a: Number = "0.62") -> Result:
    """The structure of EM: every column holds the same powers of a, nearest cells first."""
    i, j = np.indices((n + 1, n + 1))
    d, m = np.abs(i - j), np.minimum(j, n - j)
    powers = np.where(d <= m, d, -(-(d + m) // 2))
    rows = _structure(EM, np.full(d.shape, "y"), powers, catalog.explicit_fair(count(n), epsilon_from_alpha(a)))
    return Result(rows, lambda: drawn.structure(rows, f"EM, n = {n}:  y = 1 / (sum of a column's powers of α)"))


def _structure(name: str, factor: Any, power: Any, mechanism: Mechanism) -> Table:
    columns = ("mechanism", "output", "answer", "factor", "power", "probability")
    cells = np.ndenumerate(mechanism.matrix)
    return Table.of(columns, [(name, i, j, str(factor[i, j]), power[i, j], p) for (i, j), p in cells])


# --- Figures 5 and 6 --------------------------------------------------------------------------------------


def fig5(n: int = 4, a: Number = "10/11", crew: Crew = ALONE) -> Result:
    """The flowchart, for all 128 sets of properties: its choice and the cost, against the linear program's cost."""
    subsets = [subset for size in range(8) for subset in combinations(NAMES, size)]
    jobs = [(n, a, subset) for subset in subsets]
    columns = ("properties", "choice", "cost_of_choice", "cost_of_program")
    table = Table.of(columns, crew.map(_choice, jobs))
    return Result(table, drawn.flowchart)


def _choice(job: tuple[int, Number, tuple[str, ...]]) -> tuple[str, str, float, float]:
    from inbounds.design.designer import optimal

    n, a, properties = job
    query, epsilon = count(n), epsilon_from_alpha(a)
    choice = choose_closed_form(n, decimal(a), properties)
    made = {"GM": catalog.truncated_geometric, "EM": catalog.explicit_fair}.get(choice.mechanism)
    chosen = made(query, epsilon) if made else optimal(query, epsilon, "zero-one", properties=choice.constraints)
    best = optimal(query, epsilon, "zero-one", properties=properties)
    missing = [name for name in properties if not chosen.properties()[name]]
    cost = float("inf") if missing else l0(chosen)
    return " ".join(properties), choice.mechanism, cost, l0(best)


def fig6(
    sizes: Sequence[int] = (1, 2, 3, 4, 5, 8, 12), alphas: Sequence[Number] = ("0.3", "2/3", "10/11", "0.99")
) -> Result:
    """Which mechanism has which property: always, never, or depending on n and alpha.

    One person included: there GM is randomized response, and fair.
    """
    held: dict[tuple[str, str], set[bool]] = {}
    for n in sizes:
        for a in alphas:
            for name, mechanism in named(n, epsilon_from_alpha(a)).items():
                for prop, holding in mechanism.properties().items():
                    held.setdefault((prop, name), set()).add(bool(holding))
    words = {frozenset({True}): "always", frozenset({False}): "never"}
    rows = [(prop, name, words.get(frozenset(seen), "depends")) for (prop, name), seen in held.items()]
    table = Table.of(("property", "mechanism", "holds"), sorted(rows, key=lambda r: NAMES.index(r[0])))
    return Result(table, lambda: drawn.property_table(table))


# --- Figure 7 ---------------------------------------------------------------------------------------------


PRINTED, ALONE_WH = "WM as printed", "weak honesty and symmetry alone"
PRINTED_FIRST = (0.218, 0.213, 0.194)
"""Figure 7's WM, report 0 under truths 2..4: printed; under 0 and 1 the picture cannot be read."""
PRINTED_SECOND = (0.195, 0.2, 0.182, 0.165, 0.182)
"""Figure 7's WM, report 1 under truths 0..4."""


def printed_wm(a: float = 10 / 11) -> Floats:
    """The printed WM, completed: report 0 by tight ratios, 3 and 4 by symmetry, 2 by the columns' sums."""
    first = np.array((PRINTED_FIRST[0] / a**2, PRINTED_FIRST[0] / a, *PRINTED_FIRST))
    second = np.array(PRINTED_SECOND)
    middle = 1 - first - first[::-1] - second - second[::-1]
    return np.array([first, second, middle, second[::-1], first[::-1]])


def fig7(n: int = 4, a: Number = "10/11") -> Result:
    """GM, WM and EM for a small group; the paper says alpha = 0.9, but its numbers are those of 10/11.

    The measure is L0, for which GM is itself the optimum. The printed WM is neither row nor column monotone.
    """
    from inbounds.design.designer import optimal

    query = count(n)
    shown = {name: m for name, m in named(n, epsilon_from_alpha(a)).items() if name != UM}
    shown[ALONE_WH] = optimal(query, epsilon_from_alpha(a), "zero-one", properties=("weakly_honest", "symmetric"))
    rows = list(entries(shown).rows)
    truth = {name: float(m.truth_probability().mean()) for name, m in shown.items()}
    if query.shape == (len(PRINTED_SECOND),) * 2:
        rows += matrix_rows(PRINTED, printed_wm(), list(range(n + 1)), list(range(n + 1)))
        truth[PRINTED] = float(np.diag(printed_wm()).mean())
    table = Table.of(COLUMNS, rows)
    titles = {name: f"{name}\nmean truth {p:.4f}" for name, p in truth.items()}
    titles[GM] = titles[GM].replace(GM, f"{GM}, optimal")
    return Result(table, lambda: matrices(table, across=2, titles=titles))


STUDIES = (
    Study("003-fig1", "Unconstrained optimal mechanisms: gaps and spikes", fig1),
    Study("003-fig2", "The same with all seven properties", fig2),
    Study("003-fig3", "Structure of the geometric mechanism", fig3),
    Study("003-fig4", "Structure of the explicit fair mechanism", fig4),
    Study("003-fig5", "Flowchart: 128 property sets, four mechanisms", fig5, {"n": 3}),
    Study("003-fig6", "Properties of the named mechanisms", fig6, {"sizes": (1, 2, 5)}),
    Study("003-fig7", "GM, WM and EM for four people", fig7),
)

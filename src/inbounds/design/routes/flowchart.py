"""The flowchart of 003: under zero-one loss on counts, 128 sets of properties lead to four mechanisms.

- any set with fairness: the explicit fair mechanism (EM) is optimal and has all seven properties (Theorem 4);
- nothing beyond symmetry and row properties: the truncated geometric mechanism (GM) (Theorem 3);
- weak honesty, no column property: GM where it is weakly honest, n >= 2 alpha / (1 - alpha) (Lemma 2), else the
  small program WM;
- a column property: GM where it is column monotone, alpha <= 1/2 (Lemma 3, whose inequality is printed the wrong
  way round), else WM with that property. Column honesty costs as much as column monotonicity.

WM with a column property does not meet GM at n = 2 alpha / (1 - alpha), as Figure 9 suggests: GM itself is not
column monotone for alpha > 1/2, however large n.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from inbounds.design.closed.fair import fair_matrix
from inbounds.design.problem import Problem, Proposal
from inbounds.design.routes import geometric
from inbounds.properties import canonical_property

name = "flowchart"
COLUMN = frozenset({"column_honest", "column_monotone"})


@dataclass(frozen=True)
class FlowchartChoice:
    """The optimal mechanism: "GM", "EM", or "WM" with the constraints of its small program."""

    mechanism: str
    constraints: frozenset[str] = frozenset()


def choose_closed_form(n: int, alpha: float, properties: Iterable[str] = ()) -> FlowchartChoice:
    """Choose the optimal mechanism on answers 0..n under zero-one loss and a uniform prior (003, Figure 5).

    WM's constraints include what costs nothing extra (symmetry, row monotonicity), so its matrix has every
    requested property.

    >>> [choose_closed_form(4, 0.9, names).mechanism for names in (["fair", "row_honest"], ["symmetric"])]
    ['EM', 'GM']
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}; it is exp(-epsilon)")
    requested = frozenset(canonical_property(name) for name in properties)
    if any(name.startswith("column_ratio") for name in requested):
        raise ValueError("column_ratio must not be asked of the flowchart, which knows 003's seven properties")
    if "fair" in requested:
        return FlowchartChoice("EM")
    if requested & COLUMN and n > 1:
        free = frozenset({"column_monotone", "row_monotone", "symmetric"})
        return FlowchartChoice("GM") if alpha <= 0.5 else FlowchartChoice("WM", free)
    if "weakly_honest" in requested and n > 1 and n < 2 * alpha / (1 - alpha):
        return FlowchartChoice("WM", frozenset({"weakly_honest", "row_monotone", "symmetric"}))
    return FlowchartChoice("GM")


def accepts(problem: Problem) -> bool:
    """Return whether this route applies: zero-one loss, a count, and a choice without a program.

    The average must be uniform, unless fairness is asked for: all fair mechanisms are ranked alike by every prior and
    by the worst answer, because each loses 1 - y (Lemma 1).
    """
    m, n = problem.shape
    uniform = not problem.worst and bool(np.allclose(problem.prior, 1 / n, rtol=1e-14))
    return (
        m == n
        and problem.edges is None
        and bool(problem.properties)
        and not problem.limits
        and problem.cliques == tuple((j, j + 2, 1.0) for j in range(n - 1))
        and np.array_equal(problem.home, np.arange(n))
        and np.array_equal(problem.loss, 1.0 - np.eye(n))
        and (uniform or "fair" in problem.properties)
        and not any(name.startswith("column_ratio") for name in problem.properties)
        and _choose(problem).mechanism != "WM"
    )


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Return GM or EM for a problem that `accepts`, at once.

    GM's bound is that of the problem without properties. EM's is Lemma 4: a fair truth y is at most EM's own, so
    the loss 1 - y is at least EM's.
    """
    if _choose(problem).mechanism == "GM":
        proposal = geometric.solve(replace(problem, properties=frozenset()))
        return replace(proposal, route=f"{name}, geometric")
    P = fair_matrix(len(problem.prior), problem.epsilon)
    return Proposal(P, float(1.0 - P[0, 0] * (1.0 + 1e-15 * len(P))), f"{name}, explicit fair")


def _choose(problem: Problem) -> FlowchartChoice:
    """Apply the flowchart to a problem."""
    return choose_closed_form(len(problem.prior) - 1, float(np.exp(-problem.epsilon)), problem.properties)

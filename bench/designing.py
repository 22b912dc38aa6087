"""One design by one side: `designing.py WHO CASE LIMIT`. What the result promises stands beside its time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import OURS, Row, repeated, serve
from papers_lp import program

import inbounds as ib

EPSILON, LOSS = 0.5, "absolute"
VARIANT_2 = ("row_monotone", "column_monotone", "symmetric", "fair")
HONEST = ("weakly_honest", "row_monotone", "column_monotone")
# A case is how to make the query, and the properties asked for: a query remembers what it worked out about itself,
# so every run makes its own.
CASES: dict[str, tuple[Callable[[], ib.RangeQuery], tuple[str, ...]]] = {
    **{f"count 0..{n}": (partial(ib.count, n), ()) for n in (20, 50, 100, 200, 500, 100_000)},
    **{f"mean, reach 4, {n * 4 + 1} answers": (partial(ib.mean, n, 0, 4), ()) for n in (25, 50)},
    **{f"extreme, {n} values": (partial(ib.extreme, 1, n), ()) for n in (100, 300)},
    **{f"Variant 2, count 0..{n}": (partial(ib.count, n), VARIANT_2) for n in (50, 100, 200, 500)},
    **{f"weakly honest and monotone, count 0..{n}": (partial(ib.count, n), HONEST) for n in (50, 100, 200)},
}
Properties = tuple[str, ...]
Floats = Any  # an array


class NoSolution(Exception):
    """A solver gave up; the message is its own."""


def inbounds(query: ib.RangeQuery, properties: Properties) -> ib.Mechanism:
    return ib.optimal(query, EPSILON, LOSS, properties=properties, max_seconds=300)


def highs(query: ib.RangeQuery, properties: Properties, method: str) -> Floats:
    from scipy.optimize import linprog

    cost, matrix, right, sums = program(query, EPSILON, LOSS, properties)
    solved = linprog(cost, A_ub=matrix, b_ub=right, A_eq=sums, b_eq=np.ones(query.shape[1]), method=method)
    if solved.x is None:
        raise NoSolution(solved.message)
    return solved.x


def cvxpy(query: ib.RangeQuery, properties: Properties) -> Floats:
    import cvxpy as cp

    cost, matrix, right, sums = program(query, EPSILON, LOSS, properties)
    p = cp.Variable(len(cost), nonneg=True)
    problem = cp.Problem(cp.Minimize(cost @ p), [matrix @ p <= right, sums @ p == 1])
    problem.solve()  # type: ignore[no-untyped-call]
    if p.value is None:
        raise NoSolution(f"status {problem.status}")
    return p.value


def qif(query: ib.RangeQuery, properties: Properties) -> Floats:
    import qif as library  # type: ignore[import-untyped]

    if properties or query.neighbours != ib.Reach(1):
        raise NotImplementedError("compared on counts without properties")
    channel = library.mechanism.d_privacy.min_loss_given_d(
        library.probab.uniform(len(query.answers)),
        len(query.outputs),
        lambda i, j: EPSILON * abs(int(i) - int(j)),
        lambda i, j: float(abs(int(i) - int(j))),
        d_priv_ch=library.metric.euclidean_chain(library.uint),  # neighbours only, its fastest setting
    )
    if np.size(channel) == 0:
        raise NoSolution("an empty channel")
    return np.asarray(channel).T


WHO: dict[str, Callable[..., Any]] = {
    OURS: inbounds,
    "HiGHS simplex": partial(highs, method="highs-ds"),
    "HiGHS interior point": partial(highs, method="highs-ipm"),
    "cvxpy": cvxpy,
    "qif": qif,
}


def one(who: str, case: str, limit: str) -> list[Row]:
    """Peers are given `limit` seconds; judging the result is not part of its time."""
    make, properties = CASES[case]
    solve = WHO[who]
    solve(ib.count(20), ())  # loads the solver

    def attempt() -> object:
        try:
            return solve(make(), properties)
        except NoSolution as error:
            return error

    times, found = repeated(attempt, who, limit=0.0 if who == OURS else float(limit))
    if isinstance(found, NoSolution):
        return [Row(case, who, times, outcome="no solution", note=_in_a_cell(str(found)))]
    judge = certified if who == OURS else audited
    return [Row(case, who, times, **judge(found, make()))]


def certified(found: ib.Mechanism, query: ib.RangeQuery) -> dict[str, Any]:
    best = found.optimality
    assert best is not None
    note = f"loss {best.value:.9g}, gap {best.gap:.0e}"
    return {"privacy": f"ε {float(found.epsilon)}, certified", "proved": True, "note": note}


def audited(found: Floats, query: ib.RangeQuery) -> dict[str, Any]:
    """The loss and the true epsilon of floating-point probabilities, negative ones taken for zero."""
    matrix = np.maximum(np.asarray(found).reshape(query.shape), 0.0)
    epsilon = ib.audit(matrix, query).epsilon
    if epsilon == np.inf:
        privacy = "ε infinite"
    elif 0 < epsilon - EPSILON < 1e-3:
        privacy = f"ε {EPSILON} + {epsilon - EPSILON:.0e}"
    else:
        privacy = f"ε {epsilon:.4g}"
    loss = float(program(query, EPSILON, LOSS)[0] @ matrix.ravel())
    return {"privacy": privacy, "proved": bool(epsilon <= EPSILON), "note": f"loss {loss:.9g}"}


def _in_a_cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


if __name__ == "__main__":
    serve({who: partial(one, who) for who in WHO})

"""One design by one solver: `designing.py WHO CASE`. The privacy of each result stands beside its time."""

import sys

import numpy as np
from harness import emit, timed
from papers_lp import program

import inbounds as ib

VARIANT_2 = ("row_monotone", "column_monotone", "symmetric", "fair")
HONEST = ("weakly_honest", "row_monotone", "column_monotone")
CASES = {
    **{f"count 0..{n}": (ib.count(n), "absolute", ()) for n in (20, 50, 100, 200, 500, 100_000)},
    **{f"mean, reach 4, {n * 4 + 1} answers": (ib.mean(n, 0, 4), "absolute", ()) for n in (25, 50)},
    **{f"extreme, {n} values": (ib.extreme(1, n), "absolute", ()) for n in (100, 300)},
    **{f"Variant 2, count 0..{n}": (ib.count(n), "absolute", VARIANT_2) for n in (50, 100, 200, 500)},
    **{f"weakly honest and monotone, count 0..{n}": (ib.count(n), "absolute", HONEST) for n in (50, 100, 200)},
}
EPSILON = 0.5


def inbounds(query: ib.Query, loss: str, properties: tuple[str, ...]) -> str:
    found = ib.optimal(query, EPSILON, loss, properties=properties, max_seconds=300)
    best = found.optimality
    assert best is not None
    return f"loss {best.value:.9g}, gap {best.gap:.1e}, epsilon {float(found.epsilon)}, certified"


def highs(query: ib.Query, loss: str, properties: tuple[str, ...], method: str) -> str:
    from scipy.optimize import linprog

    cost, matrix, right, sums = program(query, EPSILON, loss, properties)
    solved = linprog(cost, A_ub=matrix, b_ub=right, A_eq=sums, b_eq=np.ones(query.shape[1]), method=method)
    return judged(query, solved.x, cost)


def cvxpy(query: ib.Query, loss: str, properties: tuple[str, ...]) -> str:
    import cvxpy as cp

    cost, matrix, right, sums = program(query, EPSILON, loss, properties)
    p = cp.Variable(len(cost), nonneg=True)
    cp.Problem(cp.Minimize(cost @ p), [matrix @ p <= right, sums @ p == 1]).solve()
    return judged(query, p.value, cost)


def qif(query: ib.Query, loss: str, properties: tuple[str, ...]) -> str:
    import qif as library

    if properties or query.neighbours != ib.Reach(1):
        raise NotImplementedError("compared on counts without properties")
    channel = library.mechanism.d_privacy.min_loss_given_d(
        library.probab.uniform(len(query.answers)),
        len(query.outputs),
        lambda i, j: EPSILON * abs(int(i) - int(j)),
        lambda i, j: float(abs(int(i) - int(j))),
        d_priv_ch=library.metric.euclidean_chain(library.uint),  # neighbours only, its fastest setting
    )
    return judged(query, np.asarray(channel).T.ravel(), program(query, EPSILON, loss)[0])


def judged(query: ib.Query, flat: np.ndarray, cost: np.ndarray) -> str:
    matrix = np.maximum(np.asarray(flat).reshape(query.shape), 0.0)
    return f"loss {float(cost @ matrix.ravel()):.9g}, true epsilon {ib.audit(matrix, query).epsilon:.4g}"


WHO = {
    "inbounds": inbounds,
    "HiGHS simplex": lambda *case: highs(*case, method="highs-ds"),
    "HiGHS interior point": lambda *case: highs(*case, method="highs-ipm"),
    "cvxpy": cvxpy,
    "qif": qif,
}

if __name__ == "__main__":
    who, case = sys.argv[1:3]
    WHO[who](*CASES["count 0..20"])  # loads the solver
    notes: list[str] = []
    row = timed(case, who, lambda: notes.append(WHO[who](*CASES[case])), repeats=3 if who == "inbounds" else 1)
    row.note = notes[-1]
    emit([row])

"""Even speed: every kind of query over epsilon and size, and the strongest formulation of each peer.

`sweep.py ours KIND …` measures designs without properties, of some kinds or of all, `sweep.py peers` the peers; both
add to docs/benchmarks/sweep.json what is not there yet, with the day. `sweep.py page` writes the page and its figure;
`sweep.py whole` forgets what was there, measures everything and writes the page.
Peers and we beside them are measured in processes of their own, one after the other on each design.
Times are processor time of one run in a warm process: a sweep of this length shares its machine with others.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import OURS, machine, one_thread

one_thread()

import inbounds as ib  # noqa: E402

TARGET = Path(__file__).parents[1] / "docs" / "benchmarks"
RESULTS = TARGET / "sweep.json"
EPSILONS = tuple(f"{e:.2g}" for e in np.geomspace(0.05, 4, 12))
SIZES = (20, 50, 100, 200, 300, 500)
PEER_SIZES = (50, 100, 200)
PATIENCE = 20.0
"""Seconds of processor time that a peer gets for one design."""

Case = tuple[ib.RangeQuery, dict[str, Any]]


def labels(n: int) -> list[str]:
    return [f"label {i}" for i in range(n)]


def skewed(query: ib.RangeQuery) -> Case:
    answers = len(query.answers)
    return query, {"prior": np.exp(-10 * np.arange(answers) / answers)}


KINDS: dict[str, Callable[[int], Case]] = {
    "count": lambda n: (ib.count(n - 1), {}),
    "count, zero–one": lambda n: (ib.count(n - 1), {"loss": "zero-one"}),
    "count, worst answer": lambda n: (ib.count(n - 1), {"aim": "worst"}),
    "ordinal": lambda n: (ib.ordinal(1, n), {}),
    "mean, reach 4": lambda n: (ib.mean((n - 1) // 4, 0, 4), {}),
    "mean, reach 4, squared": lambda n: (ib.mean((n - 1) // 4, 0, 4), {"loss": "squared"}),
    "mean, reach 4, worst answer": lambda n: (ib.mean((n - 1) // 4, 0, 4), {"aim": "worst"}),
    "mean, reach 4, skewed prior": lambda n: skewed(ib.mean((n - 1) // 4, 0, 4)),
    "mean, reach 10": lambda n: (ib.mean((n - 1) // 10 or 1, 0, 10), {}),
    "interval with a hole": lambda n: (ib.interval(0, n, 3, n, holes=[(n // 3, n // 3 + 2)]), {}),
    "extreme": lambda n: (ib.extreme(1, n), {}),
    "extreme, worst answer": lambda n: (ib.extreme(1, n), {"aim": "worst"}),
    "category": lambda n: (ib.category(labels(n)), {"loss": "zero-one"}),
}


def design(kind: str, size: int, epsilon: str) -> dict[str, Any]:
    query, wishes = KINDS[kind](size)
    start = time.process_time()
    made = ib.optimal(query, epsilon, **wishes, max_seconds=1000)
    spent = time.process_time() - start
    best = made.optimality
    assert best is not None
    return {"seconds": spent, "value": best.value, "gap": best.gap / abs(best.value) if best.value else 0.0}


def ours(kinds: list[str]) -> None:
    ib.optimal(ib.count(5), 1), ib.optimal(ib.extreme(1, 30), 1)  # loads the solvers
    for size in SIZES:
        for kind in kinds or KINDS:
            for epsilon in EPSILONS:
                key = f"{kind}|{size}|{epsilon}"
                if key not in known()["ours"]:
                    add("ours", key, design(kind, size, epsilon))


# --- the peers: the same designs as linear programs, in the form that suits them best ---------------------------------


def program(query: ib.RangeQuery, epsilon: float) -> tuple[Any, Any, Any]:
    """(cost, privacy, sums): privacy @ z >= 0, sums @ z = 1, z >= 0.

    Where all answers are neighbours, one variable per output is its least probability, so that 2n rows say what n²
    pairs would (row minima); elsewhere there is one row for each output and ordered pair of neighbours.
    """
    from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron

    m, n = query.shape
    d = np.abs(query.outputs.values.floats()[:, None] - query.answers.floats()) if query.is_ordered else 1 - np.eye(n)
    cost, sums = (d / n).ravel(), kron(np.ones((1, m)), eye_array(n))
    cliques = list(query.cliques())
    if len(cliques) == 1 and n > 2:
        e = np.exp(epsilon)
        minimum = kron(eye_array(m), np.ones((n, 1)))
        rows = [hstack([eye_array(m * n), -minimum]), hstack([-eye_array(m * n), e * minimum])]
        from scipy.sparse import vstack

        return np.append(cost, np.zeros(m)), csr_array(vstack(rows)), csr_array(hstack([sums, csr_array((n, m))]))
    pairs = {(j, k): float(np.exp(epsilon * float(c.distance))) for c in cliques for j in range(c.start, c.stop)
             for k in range(c.start, c.stop) if j != k}  # fmt: skip
    j, k, r = (np.array(x) for x in zip(*((a, b, f) for (a, b), f in pairs.items()), strict=True))
    at = np.arange(len(j))
    one = coo_array((np.append(r, -np.ones(len(j))), (np.append(at, at), np.append(k, j))), shape=(len(j), n))
    return cost, csr_array(kron(eye_array(m), one)), csr_array(sums)


def highs(method: str, query: ib.RangeQuery, epsilon: float) -> float:
    from scipy.optimize import linprog

    cost, privacy, sums = program(query, epsilon)
    found = linprog(
        cost, A_ub=-privacy, b_ub=np.zeros(privacy.shape[0]), A_eq=sums, b_eq=np.ones(sums.shape[0]), method=method
    )
    return float(found.fun) if found.status == 0 else float("nan")


def clarabel(query: ib.RangeQuery, epsilon: float) -> float:
    import clarabel as library  # type: ignore[import-not-found]
    from scipy.sparse import csc_array, eye_array, vstack

    cost, privacy, sums = program(query, epsilon)
    A = csc_array(vstack([sums, -privacy, -eye_array(len(cost))]))
    b = np.concatenate([np.ones(sums.shape[0]), np.zeros(privacy.shape[0] + len(cost))])
    cones = [library.ZeroConeT(sums.shape[0]), library.NonnegativeConeT(len(b) - sums.shape[0])]
    settings = library.DefaultSettings()
    settings.verbose = False
    found = library.DefaultSolver(csc_array((len(cost), len(cost))), cost, A, b, cones, settings).solve()
    return float(found.obj_val) if str(found.status) == "Solved" else float("nan")


def inbounds(query: ib.RangeQuery, epsilon: float) -> float:
    made = ib.optimal(query, epsilon, loss="absolute" if query.is_ordered else "zero-one")
    assert made.optimality is not None
    return made.optimality.value


PEERS: dict[str, Callable[[ib.RangeQuery, float], float]] = {
    OURS: inbounds,
    "Clarabel": clarabel,
    "HiGHS interior point": partial(highs, "highs-ipm"),
    "HiGHS simplex": partial(highs, "highs-ds"),
}
COMPARED = ("count", "mean, reach 4", "extreme", "category")


def one_peer(who: str, kind: str, size: str) -> None:
    """A process of its own: a solver that takes too long is ended by the alarm."""
    query, _ = KINDS[kind](int(size))
    PEERS[who](ib.count(4), 1.0)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    start = time.process_time()
    value = PEERS[who](query, 1.0)
    print(json.dumps({"seconds": time.process_time() - start, "value": value}))


def peers() -> None:
    for size in PEER_SIZES:
        for kind in COMPARED:
            for who in PEERS:
                key, smaller = f"{who}|{kind}|{size}", [s for s in PEER_SIZES if s < size]
                before = [known()["peers"].get(f"{who}|{kind}|{s}", {}) for s in smaller]
                if key in known()["peers"]:
                    continue
                if any("stopped" in found for found in before):
                    add("peers", key, {"stopped": PATIENCE})
                    continue
                command = [sys.executable, __file__, "one", who, kind, str(size)]
                done = subprocess.run(command, capture_output=True, text=True)
                ended = done.returncode == -signal.SIGPROF
                found = {"stopped": PATIENCE} if ended else json.loads(done.stdout.splitlines()[-1])
                add("peers", key, found)


# --- what is known ---------------------------------------------------------------------------------


def known() -> dict[str, Any]:
    if not RESULTS.exists():
        return {"machine": machine(), "ours": {}, "peers": {}}
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return found


def add(side: str, key: str, row: dict[str, Any]) -> None:
    results = known()
    results[side][key] = {**row, "day": datetime.now(UTC).date().isoformat()}
    RESULTS.write_text(json.dumps(results, indent=0) + "\n", "utf-8")


def page() -> None:
    import sweep_page

    sweep_page.write(known())


def whole() -> None:
    RESULTS.unlink(missing_ok=True)
    ours([])
    peers()
    page()


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    parts = {"ours": lambda: ours(words), "peers": peers, "one": lambda: one_peer(*words), "page": page, "whole": whole}
    parts[what]()

"""Even speed: designs drawn at random, those slow beside their neighbours, and the strongest form of each peer.

`sweep.py ours` measures designs that are drawn anew for every version: the seed is the digest of the version's name. It
goes on after what docs/benchmarks/sweep.json has, until SECONDS of processor time are spent. `sweep.py peers` measures
the peers on fixed designs, `sweep.py page` writes the page and its figure; `sweep.py whole` begins anew and does all.
Peers and we beside them are measured in processes of their own, one after the other on each design.
Times are processor time of one run in a warm process: a sweep of this length shares its machine with others.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import OURS, machine, one_thread, within

one_thread()

import papers_lp  # noqa: E402

import inbounds as ib  # noqa: E402

TARGET = Path(__file__).parents[1] / "docs" / "benchmarks"
RESULTS = TARGET / "sweep.json"
SEED = int.from_bytes(hashlib.sha256(ib.__version__.encode()).digest()[:6])
SECONDS = 120.0
"""Processor time of the whole sweep, after which nothing more is drawn."""
SIZES, CONSTRAINED_SIZES = (20, 500), (20, 130)
"""Fewest and most answers, without and with properties or limits. Between them all sizes are as likely by logarithm."""
EPSILONS = (0.05, 6.0)
REACHES = (2, 10)
NEAR = 1.1
"""The neighbours of a design have this many times fewer answers and larger epsilon, and the other way round."""
PEER_SIZES = (50, 100, 200)
PATIENCE = 10.0
"""Seconds of processor time that we and a peer get for one design."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


def labels(n: int) -> list[str]:
    return [f"label {i}" for i in range(n)]


QUERIES: dict[str, Callable[[int, int], ib.RangeQuery]] = {
    "count": lambda n, reach: ib.count(n - 1),
    "count in wide cells": lambda n, reach: ib.count(n - 1, outputs=n // 3),
    "ordinal": lambda n, reach: ib.ordinal(1, n),
    "mean": lambda n, reach: ib.mean(max((n - 1) // reach, 2), 0, reach),
    "total": lambda n, reach: ib.total(max((n - 1) // reach, 2), 0, reach),
    "interval with a hole": lambda n, reach: ib.interval(0, n, reach, n, holes=[(n // 3, n // 3 + 2)]),
    "extreme": lambda n, reach: ib.extreme(1, n),
    "category": lambda n, reach: ib.category(labels(n)),
}
LOSSES = ("absolute", "squared", "zero-one", "off by more than 2")
PRIORS: dict[str, Callable[[int, int], Floats | None]] = {
    "equal": lambda n, seed: None,
    "skewed": lambda n, seed: np.exp(-10 * np.arange(n) / n),
    "random": lambda n, seed: np.random.default_rng(seed).random(n) + 0.01,
    "sparse": lambda n, seed: np.append(1.0, np.random.default_rng(seed).random(n - 1) < 0.2),
}
PROPERTIES = (
    *("fair", "weakly_honest", "row_honest", "row_monotone", "column_honest", "column_monotone", "symmetric"),
)


@dataclass(frozen=True)
class Wish:
    """One design of the sweep. limit: None, or the d of a limit on errors above d, and whether for every answer."""

    kind: str
    size: int
    reach: int
    epsilon: float
    loss: str
    aim: str
    prior: str
    properties: tuple[str, ...]
    limit: tuple[int, str] | None
    seed: int

    def query(self) -> ib.RangeQuery:
        return QUERIES[self.kind](self.size, self.reach)

    def near(self, more: float) -> "Wish":
        """The neighbour with `more` times as many answers and an epsilon as much smaller."""
        return replace(self, size=round(self.size * more), epsilon=float(f"{self.epsilon / more:.3g}"))

    def words(self) -> str:
        reach = f", reach {self.reach}" if self.kind in ("mean", "total", "interval with a hole") else ""
        limit = f", limit on errors above {self.limit[0]} ({self.limit[1]})" if self.limit else ""
        names = ", ".join(self.properties).replace("_", " ") or "no properties"
        return (
            f"{self.kind}{reach}, {self.size} answers, epsilon {self.epsilon:g}, {self.loss} loss, {self.aim}, "
            f"{self.prior} prior, {names}{limit}"
        )


def draw(index: int) -> Wish:
    """Draw the design of a number. Half are free; the others have properties, a limit or both."""
    rng = np.random.default_rng([SEED, index])
    kind = str(rng.choice(list(QUERIES)))
    ordered = kind != "category"
    constrained = ordered and rng.random() < 0.5
    names = rng.choice(PROPERTIES, rng.integers(1, 4), replace=False) if constrained else ()
    limit = (int(rng.integers(1, 4)), str(rng.choice(["worst", "average"]))) if rng.random() < 0.3 else None
    aim = "worst" if rng.random() < 0.25 else "average"
    size = np.exp(rng.uniform(*np.log(CONSTRAINED_SIZES if constrained else SIZES)))
    return Wish(
        kind=kind,
        size=round(size),
        reach=int(rng.integers(REACHES[0], REACHES[1] + 1)),
        epsilon=float(f"{np.exp(rng.uniform(*np.log(EPSILONS))):.3g}"),
        loss=str(rng.choice(LOSSES)) if ordered else "zero-one",
        aim=aim,
        prior=str(rng.choice(list(PRIORS))) if aim == "average" else "equal",
        properties=tuple(sorted(map(str, names))) if not limit or rng.random() < 0.5 else (),
        limit=limit if constrained else None,
        seed=index,
    )


def design(wish: Wish) -> dict[str, Any]:
    """Seconds, value and relative gap of a design, or the name of the error."""
    query = wish.query()
    prior = PRIORS[wish.prior](len(query.answers), wish.seed)
    goal: dict[str, Any] = {"prior": prior, "properties": wish.properties, "aim": wish.aim, "max_seconds": 1000}
    try:
        if wish.limit:
            goal["subject_to"] = limit_between(query, wish, goal)
        start = time.process_time()
        made = ib.optimal(query, wish.epsilon, to_loss(wish.loss), **goal)
        spent = time.process_time() - start
    except (ValueError, ib.ConvergenceError) as error:
        return {"error": type(error).__name__}
    best = made.optimality
    assert best is not None
    return {"seconds": spent, "value": best.value, "gap": best.gap / abs(best.value) if best.value else 0.0}


def to_loss(name: str) -> Any:
    return ib.threshold_loss(2) if name == "off by more than 2" else name


def limit_between(query: ib.RangeQuery, wish: Wish, goal: dict[str, Any]) -> Any:
    """A limit halfway between the least that any design has and what the design without it has."""
    assert wish.limit
    (above, aim), prior = wish.limit, goal["prior"]
    tail = ib.threshold_loss(above)
    free = ib.optimal(query, wish.epsilon, to_loss(wish.loss), **goal)
    strict = ib.optimal(query, wish.epsilon, tail, **{**goal, "aim": aim, "prior": prior if aim == "average" else None})
    both = [m.worst_loss(tail) if aim == "worst" else m.loss(tail, prior=prior) for m in (free, strict)]
    return ib.limit_loss(tail, float(np.mean(both)), aim)


def ours() -> None:
    """Draw and measure designs, each with its neighbours, until the time is spent."""
    ib.optimal(ib.count(5), 1), ib.optimal(ib.extreme(1, 30), 1, properties=["row_honest"])  # loads the solvers
    while spent() < SECONDS:
        start, wish = processor_time(), draw(len(known()["ours"]))
        row = {"wish": asdict(wish), **timed(wish)}
        if "seconds" in row:
            row["beside"] = [timed(wish.near(more)).get("seconds") for more in (1 / NEAR, NEAR)]
        results = known()
        results["ours"].append({**row, "spent": processor_time() - start, "day": today()})
        keep(results)


def timed(wish: Wish) -> dict[str, Any]:
    """A design in a fork of this warm process, with PATIENCE seconds for it and for finding its limit, if any."""
    answer = within(PATIENCE, lambda: design(wish))
    return answer.get("found", answer)


def processor_time() -> float:
    """Seconds of this process and of those that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def spent() -> float:
    """Seconds of processor time that the sweep took so far, with what was not timed."""
    return sum(row["spent"] for row in known()["ours"])


# --- the peers: the same designs as linear programs, in the form that suits them best ---------------------------------

COMPARED: dict[str, Callable[[int], ib.RangeQuery]] = {
    "count": lambda n: ib.count(n - 1),
    "mean, reach 4": lambda n: ib.mean((n - 1) // 4, 0, 4),
    "extreme": lambda n: ib.extreme(1, n),
    "category": lambda n: ib.category(labels(n)),
}


def loss_of(query: ib.RangeQuery) -> str:
    return "absolute" if query.is_ordered else "zero-one"


def highs(method: str, query: ib.RangeQuery, epsilon: float) -> float:
    from scipy.optimize import linprog

    cost, rows, right, sums = papers_lp.strong_program(query, epsilon, loss_of(query))
    found = linprog(cost, A_ub=rows, b_ub=right, A_eq=sums, b_eq=np.ones(sums.shape[0]), method=method)
    return float(found.fun) if found.status == 0 else float("nan")


def clarabel(query: ib.RangeQuery, epsilon: float) -> float:
    return papers_lp.clarabel(query, epsilon, loss_of(query))


def inbounds(query: ib.RangeQuery, epsilon: float) -> float:
    made = ib.optimal(query, epsilon, loss=loss_of(query))
    assert made.optimality is not None
    return made.optimality.value


PEERS: dict[str, Callable[[ib.RangeQuery, float], float]] = {
    OURS: inbounds,
    "Clarabel": clarabel,
    "HiGHS interior point": partial(highs, "highs-ipm"),
    "HiGHS simplex": partial(highs, "highs-ds"),
}


def one_peer(who: str, kind: str, size: str) -> None:
    """A process of its own: a solver that takes too long is ended by the alarm."""
    query = COMPARED[kind](int(size))
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
                    add(key, {"stopped": PATIENCE})
                    continue
                command = [sys.executable, __file__, "one", who, kind, str(size)]
                done = subprocess.run(command, capture_output=True, text=True)
                ended = done.returncode == -signal.SIGPROF
                found = {"stopped": PATIENCE} if ended else json.loads(done.stdout.splitlines()[-1])
                add(key, found)


# --- what is known ---------------------------------------------------------------------------------


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def known() -> dict[str, Any]:
    """What was measured for this version; peers are kept from version to version."""
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"peers": {}}
    if found.get("seed") != SEED:
        found = {"machine": machine(), "version": ib.__version__, "seed": SEED, "ours": [], "peers": found["peers"]}
    return found


def keep(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=0) + "\n", "utf-8")


def add(key: str, row: dict[str, Any]) -> None:
    results = known()
    results["peers"][key] = {**row, "day": today()}
    keep(results)


def page() -> None:
    import sweep_page

    sweep_page.write(known())


def whole() -> None:
    RESULTS.unlink(missing_ok=True)
    ours()
    peers()
    page()


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    parts = {"ours": ours, "peers": peers, "one": lambda: one_peer(*words), "page": page, "whole": whole}
    parts[what]()

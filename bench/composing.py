"""Composing, attacking and chaining: processor seconds for everyday requests, beside dp-accounting by itself."""

import math
import time
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from harness import OURS, Row, repeated, serve, timed

import inbounds as ib

ANSWERS, DELTA = 100, "1e-6"
COMPOSE = f"{ANSWERS} answers, 0..100"
MECHANISM = ib.catalog.exponential(ib.count(100), 1)
COUNTS = ib.catalog.truncated_geometric(ib.count(60), "0.1")
MANY = (
    *(("1,000 counts of 60 at 0.1", 1000, "1e-10"), ("1,000 counts of 60 at 0.1, tiny delta", 1000, "1e-15")),
    *(("100,000 counts of 60 at 0.1", 10**5, "1e-10"), ("100,000 counts of 60 at 0.1, tiny delta", 10**5, "1e-15")),
)

FEW = {
    "count of 60, geometric at 0.3": ib.catalog.truncated_geometric(ib.count(60), "0.3"),
    "count of 80, optimal at 0.2": ib.optimal(ib.count(80), "0.2"),
    "count of 100, exponential at 1": ib.catalog.exponential(ib.count(100), 1),
    "randomized response of 4 labels at 0.5": ib.catalog.randomized_response(ib.category(["a", "b", "c", "d"]), "0.5"),
}
"""Mechanisms of which so many answers are composed."""

TIMES = (1, 2, 5, 10, 100)
MIXED = "of each of these together"


def inbounds() -> list[Row]:
    from inbounds import accounting

    accounting.compose(ib.catalog.truncated_geometric(ib.count(20), 0.5), 2).epsilon(DELTA)  # loads what it needs
    rows = [
        composed(task, OURS, lambda k=k, d=delta: accounting.compose(COUNTS, k).epsilon(d), delta)
        for task, k, delta in MANY
    ]
    rows += [
        composed(f"{k} of a {task}", OURS, lambda k=k, m=m: accounting.compose(m, k).epsilon(DELTA), DELTA)
        for task, m in FEW.items()
        for k in TIMES
    ]
    rows += [
        composed(
            f"{k} {MIXED}", OURS, lambda k=k: accounting.compose([*FEW.values()], [k] * len(FEW)).epsilon(DELTA), DELTA
        )
        for k in TIMES
    ]
    any_question = lambda: accounting.compose(MECHANISM, ANSWERS).epsilon(DELTA)  # noqa: E731
    same_question = lambda: accounting.compose(MECHANISM, ANSWERS, same_question=True).epsilon(DELTA)  # noqa: E731
    return [
        *rows,
        composed(COMPOSE, OURS, any_question, DELTA, "whatever is asked, even one after the other"),
        composed(f"{COMPOSE}, the same question", OURS, same_question, DELTA, "every group of like pairs"),
    ]


def accountant() -> list[Row]:
    """dp-accounting by itself: for counts one pair, as all are alike; else one distribution for every pair."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # type: ignore[import-untyped]

    def one(m: ib.Mechanism, j: int) -> Any:
        upper, lower = ({o: math.log(p) for o, p in enumerate(m.matrix[:, x].tolist()) if p} for x in (j, j + 1))
        return pld.from_two_probability_mass_functions(lower, upper, symmetric=False)

    def middle(m: ib.Mechanism) -> int:
        return len(m.query.answers) // 2 - 1

    def mixed(k: int) -> float:
        parts = [one(m, middle(m)).self_compose(k) for m in FEW.values()]
        return float(reduce(lambda all_parts, part: all_parts.compose(part), parts).get_epsilon_for_delta(float(DELTA)))

    def run() -> float:
        pairs = (one(MECHANISM, j).self_compose(ANSWERS) for j in range(100))
        return max(0.0, *(pair.get_epsilon_for_delta(float(DELTA)) for pair in pairs))

    counted = [
        composed(
            task,
            "dp-accounting",
            lambda k=k, d=delta: float(one(COUNTS, 30).self_compose(k).get_epsilon_for_delta(float(d))),
            delta,
            "losses rounded up to 1e-4",
        )
        for task, k, delta in MANY
    ]
    for task, m in FEW.items():
        pairs = range(len(m.query.answers) - 1)
        for k in TIMES:
            for looks, chosen in (("one pair", [middle(m)]), ("every pair", pairs)):
                if k > 10 and len(chosen) > 10:
                    continue  # minutes
                most = lambda k=k, m=m, chosen=chosen: float(  # noqa: E731
                    max(one(m, j).self_compose(k).get_epsilon_for_delta(float(DELTA)) for j in chosen)
                )
                counted.append(composed(f"{k} of a {task}", f"dp-accounting, {looks}", most, DELTA))
    counted += [
        composed(f"{k} {MIXED}", "dp-accounting, one pair", lambda k=k: mixed(k), DELTA)  # type: ignore[misc]
        for k in TIMES
    ]
    note = "pair by pair, losses rounded up to 1e-4"
    return [*counted, composed(f"{COMPOSE}, the same question", "dp-accounting", run, DELTA, note)]


def composed(task: str, who: str, run: Callable[[], float], delta: str, note: str = "") -> Row:
    times, epsilon = repeated(run, who, clock=time.process_time)
    return Row(task, who, times, f"ε {epsilon:.4f} at δ {delta}", note=note)


def others() -> list[Row]:
    from inbounds import accounting, attack
    from inbounds.sideinfo import sensitivity, smooth

    geometric = ib.catalog.truncated_geometric(ib.count(20), 0.5)
    data = np.random.default_rng(0).integers(0, 10_000, 10_000)
    levels = [2, 1, 0.5, 0.1]
    promised = ", ".join(map(str, levels))
    chain = lambda: accounting.make_chain(ib.count(100), levels)  # noqa: E731
    release = lambda: smooth.smooth_release(0, 100, 1, "0.3")  # noqa: E731
    return [
        timed(
            "1..100 answers, 0..20", OURS, lambda: attack.simulate_collusion(geometric, range(1, 101)), note="1000 runs"
        ),
        timed("chain of 4 levels, 0..100", OURS, chain, privacy=f"ε {promised}, certified", proved=True),
        timed("median of 10,000", OURS, lambda: sensitivity.median(data, 0, 10_000).smooth("0.01")),
        timed("smooth release, 0..100", OURS, release, privacy="ε 1, certified", proved=True),
    ]


serve({"inbounds": inbounds, "dp-accounting": accountant, "inbounds, other": others})

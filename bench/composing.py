"""Composing, attacking and chaining: seconds for requests of everyday size, beside dp-accounting by itself."""

from collections.abc import Callable

import numpy as np
from harness import OURS, Row, repeated, serve, timed

import inbounds as ib

ANSWERS, DELTA = 100, "1e-6"
COMPOSE = f"{ANSWERS} answers, 0..100"
MECHANISM = ib.catalog.exponential(ib.count(100), 1)


def inbounds() -> list[Row]:
    from inbounds import attack

    attack.compose(ib.catalog.truncated_geometric(ib.count(20), 0.5), 2).epsilon(DELTA)  # loads the library
    any_question = lambda: attack.compose(MECHANISM, ANSWERS).epsilon(DELTA)  # noqa: E731
    same_question = lambda: attack.compose(MECHANISM, ANSWERS, same_question=True).epsilon(DELTA)  # noqa: E731
    return [
        composed(COMPOSE, OURS, any_question, "whatever is asked, even one after the other"),
        composed(f"{COMPOSE}, the same question", OURS, same_question, "every pair that no other dominates"),
    ]


def accountant() -> list[Row]:
    """The same question by dp-accounting's own construction: one distribution for every neighbouring pair."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # type: ignore[import-untyped]

    logs = np.log(MECHANISM.matrix)

    def run() -> float:
        worst = 0.0
        for j in range(100):
            upper, lower = (dict(enumerate(logs[:, x].tolist())) for x in (j, j + 1))
            one = pld.from_two_probability_mass_functions(lower, upper, symmetric=False)
            worst = max(worst, one.self_compose(ANSWERS).get_epsilon_for_delta(float(DELTA)))
        return worst

    note = "pair by pair, losses rounded up to 1e-4"
    return [composed(f"{COMPOSE}, the same question", "dp-accounting", run, note)]


def composed(task: str, who: str, run: Callable[[], float], note: str) -> Row:
    times, epsilon = repeated(run, who)
    return Row(task, who, times, f"ε {epsilon:.4f} at δ {DELTA}", note=note)


def others() -> list[Row]:
    from inbounds import attack
    from inbounds.sideinfo import sensitivity, smooth

    geometric = ib.catalog.truncated_geometric(ib.count(20), 0.5)
    data = np.random.default_rng(0).integers(0, 10_000, 10_000)
    levels = [2, 1, 0.5, 0.1]
    promised = ", ".join(map(str, levels))
    chain = lambda: attack.multilevel(ib.count(100), levels)  # noqa: E731
    release = lambda: smooth.smooth_release(0, 100, 1, "0.3")  # noqa: E731
    return [
        timed("1..100 answers, 0..20", OURS, lambda: attack.learned(geometric, range(1, 101)), note="1000 runs"),
        timed("chain of 4 levels, 0..100", OURS, chain, privacy=f"ε {promised}, certified", proved=True),
        timed("median of 10,000", OURS, lambda: sensitivity.median(data, 0, 10_000).smooth("0.01")),
        timed("smooth release, 0..100", OURS, release, privacy="ε 1, certified", proved=True),
    ]


serve({"inbounds": inbounds, "dp-accounting": accountant, "inbounds, other": others})

"""Composing, attacking and chaining: seconds for requests of everyday size, beside dp-accounting by itself."""

import numpy as np
from harness import emit, timed


def ours() -> list:
    import inbounds as ib
    from inbounds import attack, sensitivity, smooth

    m = ib.catalog.exponential(ib.count(100), 1)
    geometric = ib.catalog.truncated_geometric(ib.count(20), 0.5)
    rng = np.random.default_rng(0)
    data = rng.integers(0, 10_000, 10_000)
    attack.compose(geometric, 2).epsilon("1e-6")
    return [
        timed(COMPOSE, "inbounds", lambda: attack.compose(m, 100).epsilon("1e-6"), note="any questions"),
        timed(
            "the same question",
            "inbounds",
            lambda: attack.compose(m, 100, same_question=True).epsilon("1e-6"),
            note="every undominated pair",
        ),
        timed("1..100 answers, 0..20", "inbounds", lambda: attack.learned(geometric, range(1, 101)), note="1000 runs"),
        timed("chain of 4 levels, 0..100", "inbounds", lambda: attack.multilevel(ib.count(100), [2, 1, 0.5, 0.1])),
        timed("median of 10,000", "inbounds", lambda: sensitivity.median(data, 0, 10_000).smooth("0.01")),
        timed("certified smooth release, 0..100", "inbounds", lambda: smooth.smooth_release(0, 100, 1, "0.3")),
    ]


COMPOSE = "100 answers, 0..100, delta 1e-6"


def accountant() -> list:
    """The same by dp-accounting's own construction: one distribution for every neighbouring pair."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    import inbounds as ib

    logs = np.log(ib.catalog.exponential(ib.count(100), 1).matrix)

    def run() -> float:
        worst = 0.0
        for j in range(100):
            upper, lower = (dict(enumerate(logs[:, x].tolist())) for x in (j, j + 1))
            one = pld.from_two_probability_mass_functions(lower, upper, symmetric=False)
            worst = max(worst, one.self_compose(100).get_epsilon_for_delta(1e-6))
        return worst

    return [timed(COMPOSE, "dp-accounting, pair by pair", run, repeats=1, note="losses rounded up to 1e-4")]


emit(ours() + accountant())

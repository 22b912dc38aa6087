"""Time to certify a float matrix, and to build and certify a geometric mechanism over a million answers."""

import resource
from functools import partial

from harness import OURS, Row, serve, timed

import inbounds as ib

EPSILON = 0.5


def inbounds() -> list[Row]:
    return [*map(matrix, (20, 100, 500)), million()]


def matrix(n: int) -> Row:
    query = ib.count(n)
    floats = ib.catalog.truncated_geometric(query, EPSILON).matrix
    promised = f"ε {float(ib.certify(floats, query, EPSILON).epsilon)}, certified"
    run = partial(ib.certify, floats, query, EPSILON)
    return timed(f"certify n = {n}", OURS, run, privacy=promised, proved=True)


def million() -> Row:
    before = _peak()
    made = ib.catalog.truncated_geometric(ib.count(10**6), EPSILON)
    made.sample([0, 10**6])
    return timed(
        "geometric 0..1,000,000",
        OURS,
        lambda: ib.catalog.truncated_geometric(ib.count(10**6), EPSILON),
        privacy=f"ε {float(made.epsilon)}, certified",
        proved=True,
        note=f"built and certified; peak memory with one sample {_peak():.0f} MB (before {before:.0f})",
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


serve({"inbounds": inbounds})

"""Values per second for a 0..100 mechanism with mixed true answers: ours, or one peer named on the command line."""

import sys

import numpy as np
from harness import emit, timed

TASK = "0..100, epsilon 1/2, mixed answers"
ANSWERS = np.random.default_rng(1).integers(0, 101, 10_000_000)


def inbounds() -> list:
    import inbounds as ib

    small = ib.catalog.truncated_geometric(ib.count(100), 0.5)
    large = ib.catalog.truncated_geometric(ib.count(10**6), 0.5)
    small.sample(ANSWERS[:10])
    large.sample(ANSWERS[:10])
    return [
        timed(TASK, "inbounds", lambda: small.sample(ANSWERS), note="62-bit OS entropy, exact", amount=1e7),
        timed("0..1,000,000", "inbounds", lambda: large.sample(ANSWERS), note="noise table", amount=1e7),
    ]


def numpy() -> list:
    import inbounds as ib

    cumulative = ib.catalog.truncated_geometric(ib.count(100), 0.5).matrix.cumsum(axis=0)
    offsets = (cumulative + np.arange(101)).T.ravel()
    rng = np.random.default_rng(0)

    def draw() -> None:
        np.searchsorted(offsets, ANSWERS + rng.random(len(ANSWERS))) % 101

    return [timed(TASK, "NumPy generator", draw, note="seeded floats, inverse CDF: not for release", amount=1e7)]


def opendp() -> list:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    bounded, free = dp.m.make_geometric(*space, scale=2.0, bounds=(0, 100)), dp.m.make_geometric(*space, scale=2.0)
    values = ANSWERS[:100_000].astype(int).tolist()
    return [
        timed(TASK, "OpenDP", lambda: free(values), note="geometric, exact, not kept in range", amount=1e5),
        timed(TASK, "OpenDP, bounds=", lambda: bounded(values[:20_000]), note="constant-time, exact", amount=2e4),
    ]


def diffprivlib() -> list:
    from diffprivlib.mechanisms import GeometricTruncated

    mechanism = GeometricTruncated(epsilon=0.5, sensitivity=1, lower=0, upper=100)
    values = ANSWERS[:50_000].tolist()
    run = lambda: [mechanism.randomise(value) for value in values]  # noqa: E731
    return [timed(TASK, "diffprivlib", run, note="truncated geometric, floats", amount=5e4)]


emit(globals()[sys.argv[1]]())

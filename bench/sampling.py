"""Values per second for a 0..100 mechanism with mixed true answers: ours, or one peer named on the command line."""

from typing import Any

import numpy as np
from harness import EXACT, OURS, Row, serve, timed

import inbounds as ib

TASK = "0..100, epsilon 1/2, mixed answers"
ONE, CALLS = "one int in a call, 0..100", 20_000
ANSWERS = np.random.default_rng(1).integers(0, 101, 10_000_000)


def inbounds() -> list[Row]:
    small = ib.catalog.truncated_geometric(ib.count(100), 0.5)
    large = ib.catalog.truncated_geometric(ib.count(10**6), 0.5)
    facts: dict[str, Any] = {
        "amount": 1e7,
        "per": "value",
        "proved": True,
        "privacy": f"ε {float(small.epsilon)}, certified; {EXACT}",
    }
    small.sample(ANSWERS[:10])
    large.sample(ANSWERS[:10])
    return [
        timed(TASK, OURS, lambda: small.sample(ANSWERS), note="table of 101 × 101 probabilities", **facts),
        timed("0..1,000,000", OURS, lambda: large.sample(ANSWERS), note="table of the noise", **facts),
        *one_by_one(small),
    ]


def one_by_one(mechanism: ib.Mechanism) -> list[Row]:
    """One value in each call, and lists beside arrays."""
    facts: dict[str, Any] = {
        "per": "value",
        "proved": True,
        "privacy": f"ε {float(mechanism.epsilon)}, certified; {EXACT}",
    }
    values = ANSWERS[:CALLS].tolist()
    many = ANSWERS[:1_000_000].tolist()
    note = "entropy is read anew in each call"
    return [
        timed(ONE, OURS, lambda: [mechanism.sample(value) for value in values], amount=CALLS, note=note, **facts),
        timed("a list of 10^6 ints", OURS, lambda: mechanism.sample(many), amount=1e6, **facts),
    ]


def door() -> list[Row]:
    """Positions alone: grids and cells, whole numbers and floats."""
    few, many = ib.interval(0, 100, 5, 20), ib.interval(0, 100, 1, 10_000)
    floats = ANSWERS / 1.0
    facts: dict[str, Any] = {"amount": 1e7, "per": "value", "proved": True, "privacy": "exact comparison"}
    asked = {
        "positions of int64, 101 counts": (ib.count(100), ANSWERS),
        "positions of float64, 101 counts": (ib.count(100), floats),
        "positions of int64, 20 cells": (few, ANSWERS),
        "positions of float64, 20 cells": (few, floats),
        "positions of float64, 10,000 cells": (many, floats),
    }
    for query, values in asked.values():
        query.encode(values[:10])
    return [
        timed(task, OURS, lambda query=query, values=values: query.encode(values), note="the door", **facts)
        for task, (query, values) in asked.items()
    ]


def numpy() -> list[Row]:
    cumulative = ib.catalog.truncated_geometric(ib.count(100), 0.5).matrix.cumsum(axis=0)
    offsets = (cumulative + np.arange(101)).T.ravel()
    rng = np.random.default_rng(0)

    def draw() -> None:
        np.searchsorted(offsets, ANSWERS + rng.random(len(ANSWERS))) % 101

    columns, values = list(cumulative.T.copy()), ANSWERS[:CALLS].tolist()

    def inverse() -> None:
        for value in values:
            int(columns[value].searchsorted(rng.random()))

    def clipped() -> None:
        for value in values:
            min(max(value + int(rng.geometric(-np.expm1(-0.5)) - rng.geometric(-np.expm1(-0.5))), 0), 100)

    facts: dict[str, Any] = {"per": "value", "proved": False, "privacy": "floats, seeded generator"}
    note = "inverse of the distribution; not for release"
    return [
        timed(TASK, "NumPy generator", draw, amount=1e7, note=note, **facts),
        timed(ONE, "NumPy generator", inverse, amount=CALLS, note=note, **facts),
        timed(
            ONE, "NumPy generator, clipped", clipped, amount=CALLS, note="two geometric draws; not for release", **facts
        ),
    ]


def opendp() -> list[Row]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    bounded, free = dp.m.make_geometric(*space, scale=2.0, bounds=(0, 100)), dp.m.make_geometric(*space, scale=2.0)
    values = ANSWERS[:100_000].astype(int).tolist()
    few = values[:10_000]

    def facts(made: Any, amount: float) -> dict[str, Any]:
        promised = f"ε {made.map(1):g} by its map; exact, OpenSSL's generator"
        return {"amount": amount, "per": "value", "proved": True, "privacy": promised}

    return [
        timed(TASK, "OpenDP", lambda: free(values), note="not kept in range", **facts(free, 1e5)),
        timed(TASK, "OpenDP, bounds=", lambda: bounded(few), note="constant time", **facts(bounded, 1e4)),
    ]


def diffprivlib() -> list[Row]:
    from diffprivlib.mechanisms import GeometricTruncated  # type: ignore[import-untyped]

    mechanism = GeometricTruncated(epsilon=0.5, sensitivity=1, lower=0, upper=100)
    values = ANSWERS[:50_000].tolist()
    run = lambda: [mechanism.randomise(value) for value in values]  # noqa: E731
    facts: dict[str, Any] = {"per": "value", "proved": False, "privacy": "floats, OS entropy"}
    note = "one value a call, as its interface has it"
    few = lambda: [mechanism.randomise(value) for value in values[:CALLS]]  # noqa: E731
    return [
        timed(TASK, "diffprivlib", run, amount=5e4, note=note, **facts),
        timed(ONE, "diffprivlib", few, amount=CALLS, **facts),
    ]


serve(
    {
        "inbounds": inbounds,
        "inbounds, door": door,
        "NumPy generator": numpy,
        "OpenDP": opendp,
        "diffprivlib": diffprivlib,
    }
)

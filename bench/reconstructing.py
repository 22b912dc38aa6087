"""Reconstruction: plain steps against a dense loop and qif, accelerated steps against plain ones, collecting.

Each run of this script measures one of: inbounds, numpy, qif, steps, client. Geometric channel, ratio 2 within
radius 10, binomial data, 100,000 reports. A dense matrix is stepped fewer times where 5000 steps would take long;
the ratio is per step.
"""

import math
import resource
import sys
import time

import numpy as np
from harness import Row, emit, timed

DOMAINS = (101, 1001, 10_001, 100_001)
STEPS = 5000
DENSE_STEPS = {101: 5000, 1001: 5000, 10_001: 20}
REPORTS = 100_000


def problem(size: int) -> tuple:
    """The mechanism and counts of its reports about binomial data."""
    import inbounds as ib
    from inbounds.estimate.shapes import channel_of
    from inbounds.local import epsilon

    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, size - 1), epsilon(2, radius=10))
    logs = [math.lgamma(size) - math.lgamma(k + 1) - math.lgamma(size - k) for k in range(size)]
    truth = np.exp(np.array(logs) - max(logs))
    likely = channel_of(mechanism).forward(truth)
    return mechanism, np.random.default_rng(1).multinomial(REPORTS, likely / likely.sum())


def matrix(size: int) -> np.ndarray:
    """The same channel as a dense array, by the formula: the product does not write out 10^8 entries."""
    a, i = 2**-0.1, np.arange(size, dtype=np.float64)
    dense = np.abs(i[:, None] - i)
    np.multiply(dense, math.log(a), out=dense)
    np.exp(dense, out=dense)
    dense *= (1 - a) / (1 + a)
    dense[[0, -1]] /= 1 - a
    return dense


def task(size: int) -> str:
    return f"5000 plain steps, {size} answers"


def inbounds() -> list[Row]:
    from inbounds.estimate import reconstruct

    rows = []
    for size in DOMAINS:
        mechanism, counts = problem(size)
        run = lambda m=mechanism, c=counts: reconstruct(c, m, acceleration="none", iterations=STEPS)  # noqa: E731
        rows.append(timed(task(size), "inbounds", run, repeats=2, note="two recursions", amount=STEPS))
    return rows


def numpy() -> list[Row]:
    rows = []
    for size, steps in DENSE_STEPS.items():
        _, counts = problem(size)
        dense, q = matrix(size), counts / counts.sum()

        def loop(dense=dense, q=q, steps=steps) -> None:
            p = np.full(len(q), 1 / len(q))
            for _ in range(steps):
                p = p * (dense.T @ (q / (dense @ p)))

        rows.append(timed(task(size), "dense NumPy", loop, repeats=2, note=f"{steps} steps timed", amount=steps))
    return rows


def qif() -> list[Row]:
    import qif as library

    rows, update = [], library.channel.iterative_bayesian_update
    for size, steps in DENSE_STEPS.items():
        _, counts = problem(size)
        channel, q = np.ascontiguousarray(matrix(size).T), counts / counts.sum()
        run = lambda c=channel, q=q, k=steps: update(c, q, max_diff=0, max_iter=k)  # noqa: E731
        rows.append(timed(task(size), "qif", run, repeats=2, note=f"{steps} steps timed", amount=steps))
    return rows


def steps() -> list[Row]:
    """The same residual, 1e-5, by plain, extrapolated and Newton steps; and the default certificate."""
    from inbounds.estimate import reconstruct

    rows = []
    for size in DOMAINS[:3]:
        mechanism, counts = problem(size)
        for who, acceleration in (("inbounds", "newton"), ("squarem", "squarem"), ("plain", "none")):
            start = time.perf_counter()
            found = reconstruct(counts, mechanism, acceleration=acceleration, tolerance=1e-5)
            spent = time.perf_counter() - start
            rows.append(Row(f"residual 1e-5, {size} answers", who, spent, 1.0, f"{found.iterations} steps"))
    for size in DOMAINS:
        mechanism, counts = problem(size)
        found = reconstruct(counts, mechanism)
        run = lambda m=mechanism, c=counts: reconstruct(c, m)  # noqa: E731
        note = f"{found.iterations} steps, residual {found.residual:.1e}"
        rows.append(timed(f"residual 1e-9, {size} answers", "inbounds", run, repeats=2, note=note))
    return rows


def client() -> list[Row]:
    """Randomizing 10^7 values against the bare sampler, and 10^8 reports collected in batches."""
    from inbounds.collect import Collector
    from inbounds.local import randomizer
    from inbounds.sample import entropy, report

    mechanism, _ = problem(101)
    values = np.random.default_rng(1).integers(0, 101, 10_000_000)
    private, sampler = randomizer(mechanism), mechanism.law.sampler
    private(values[:10])
    rows = [
        timed("randomize 10^7 values", "inbounds", lambda: private(values), amount=1e7),
        timed("randomize 10^7 values", "bare sampler", lambda: report(sampler, values, entropy), amount=1e7),
    ]
    batch = values[:1_000_000].copy()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def collect() -> None:
        collector = Collector(mechanism)
        for _ in range(100):
            collector.add(private(batch))
        assert collector.total == 10**8

    row = timed("randomize and collect 10^8", "inbounds", collect, repeats=1, amount=1e8)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    row.note = f"100 batches of 10^6; peak memory grew by {max(0.0, grown):.0f} MB"
    return [*rows, row]


emit(globals()[sys.argv[1]]())

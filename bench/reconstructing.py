"""Reconstruction: plain steps against a dense loop and qif, accelerated steps against plain ones, collecting.

Geometric channel, ratio 2 within radius 10, binomial data, 100,000 reports. A dense matrix is stepped fewer times
where 5000 steps would take long; times are of one step.
"""

import math
import resource
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import EXACT, OURS, Row, repeated, serve, timed

DOMAINS = (101, 1001, 10_001, 100_001)
STEPS = 5000
DENSE_STEPS = {101: 5000, 1001: 5000, 10_001: 20}
WHOLE = (101, 1001)
REPORTS = 100_000
Floats = np.ndarray[Any, Any]


def problem(size: int) -> tuple[Any, Any]:
    """The mechanism and counts of its reports about binomial data."""
    import inbounds as ib
    from inbounds.local import epsilon_for_ratio
    from inbounds.local.reconstruct.structure import channel_for_law

    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, size - 1), epsilon_for_ratio(2, radius=10))
    logs = [math.lgamma(size) - math.lgamma(k + 1) - math.lgamma(size - k) for k in range(size)]
    truth = np.exp(np.array(logs) - max(logs))
    likely = channel_for_law(mechanism).forward(truth)
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
    return f"plain step, {size} answers"


def whole(size: int) -> str:
    return f"residual 1e-5, {size} answers"


def inbounds() -> list[Row]:
    from inbounds.local.reconstruct import reconstruct

    rows = []
    for size in DOMAINS:
        mechanism, counts = problem(size)
        run = lambda m=mechanism, c=counts: reconstruct(c, m, acceleration="none", iterations=STEPS, given="counts")  # noqa: E731
        note = f"{STEPS} steps timed, two recursions each"
        rows.append(timed(task(size), OURS, run, note=note, amount=STEPS, per="step"))
    return rows


def numpy() -> list[Row]:
    def stepped(size: int) -> Callable[[Floats, int], Floats]:
        dense = matrix(size)

        def update(q: Floats, steps: int) -> Floats:
            p = np.full(size, 1 / size)
            for _ in range(steps):
                p = p * (dense.T @ (q / (dense @ p)))
            return p

        return update

    return by_plain_steps("dense NumPy", stepped)


def qif() -> list[Row]:
    import qif as library  # type: ignore[import-untyped]

    def stepped(size: int) -> Callable[[Floats, int], Floats]:
        channel = np.ascontiguousarray(matrix(size).T)
        return lambda q, steps: library.channel.iterative_bayesian_update(channel, q, max_diff=0, max_iter=steps)

    return by_plain_steps("qif", stepped)


def by_plain_steps(who: str, stepped: Callable[[int], Callable[[Floats, int], Floats]]) -> list[Row]:
    """A peer's single steps, and as many as our plain steps need for the residual: both walk the same way."""
    from inbounds.local.reconstruct import reconstruct

    rows = []
    for size, steps in DENSE_STEPS.items():
        mechanism, counts = problem(size)
        update, q = stepped(size), counts / counts.sum()
        run = lambda u=update, q=q, k=steps: u(q, k)  # noqa: E731
        rows.append(timed(task(size), who, run, note=f"{steps} steps timed", amount=steps, per="step"))
        if size in WHOLE:
            needed = reconstruct(counts, mechanism, acceleration="none", tolerance=1e-5, given="counts").iterations
            run = lambda u=update, q=q, k=needed: u(q, k)  # noqa: E731
            rows.append(timed(whole(size), who, run, note=f"{needed} steps"))
    return rows


def steps() -> list[Row]:
    """The same residual, 1e-5, by plain, extrapolated and Newton steps; and the default certificate."""
    from inbounds.local.reconstruct import reconstruct

    rows = []
    for size in DOMAINS[:3]:
        mechanism, counts = problem(size)
        for who, chosen in ((OURS, "newton"), (f"{OURS}, squarem", "squarem"), (f"{OURS}, plain steps", "none")):
            given: Any = {"acceleration": chosen, "tolerance": 1e-5, "given": "counts"}
            run = partial(reconstruct, counts, mechanism, **given)
            times, found = repeated(run, who)
            rows.append(Row(whole(size), who, times, note=f"{found.iterations} steps"))
    for size in DOMAINS:
        mechanism, counts = problem(size)
        times, found = repeated(partial(reconstruct, counts, mechanism, given="counts"), OURS)
        note = f"{found.iterations} steps, residual {found.residual:.1e}"
        rows.append(Row(f"residual 1e-9, {size} answers", OURS, times, note=note))
    return rows


def client() -> list[Row]:
    """Randomizing 10^7 values against the bare sampler, and 10^8 reports collected in batches."""
    from inbounds.local import make_randomizer
    from inbounds.local.collector import Collector
    from inbounds.trusted.samplers import draw_outputs, system_entropy

    mechanism, _ = problem(101)
    values = np.random.default_rng(1).integers(0, 101, 10_000_000)
    private, sampler = make_randomizer(mechanism), mechanism.law.sampler(mechanism.query)
    private(values[:10])
    batch = values[:1_000_000].copy()
    facts: dict[str, Any] = {"per": "value", "proved": True, "privacy": f"certified; {EXACT}"}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def collect() -> None:
        collector = Collector(mechanism)
        for _ in range(100):
            collector.add(private(batch))
        assert collector.total == 10**8

    bare = lambda: draw_outputs(sampler, values, system_entropy)  # noqa: E731
    collected, _ = repeated(collect, OURS)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    note = f"100 batches of 10^6; peak memory grew by {max(0.0, grown):.0f} MB"
    return [
        timed("randomize 10^7 values", OURS, lambda: private(values), amount=1e7, **facts),
        timed("randomize 10^7 values", f"{OURS}, bare sampler", bare, amount=1e7, **facts),
        Row("randomize and collect 10^8", OURS, collected, note=note, amount=1e8, **facts),
    ]


serve({"inbounds": inbounds, "dense NumPy": numpy, "qif": qif, "inbounds, steps": steps, "inbounds, client": client})

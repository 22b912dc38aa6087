"""People with labels, what peers estimate of them, and errors: for bench/local.py."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.structure import channel_for_law

Floats = np.ndarray[Any, Any]

ATOMS = 6


def atoms(labels: int, rng: np.random.Generator) -> Floats:
    p, few = np.zeros(labels), min(ATOMS, labels)
    p[rng.choice(labels, few, replace=False)] = rng.dirichlet(np.ones(few))
    return p


def bell(labels: int, centre: float, width: float) -> Floats:
    return np.exp(-(((np.arange(labels) / labels - centre) / width) ** 2) / 2)


Shape = Callable[[int, np.random.Generator], Floats]
DATA: dict[str, Shape] = {
    "Zipf": lambda labels, rng: 1 / np.arange(1.0, labels + 1),
    "uniform": lambda labels, rng: np.ones(labels),
    "bimodal": lambda labels, rng: bell(labels, 0.3, 0.07) + 0.7 * bell(labels, 0.7, 0.1),
    "atoms": atoms,
}
LOOKED_AT: dict[str, Shape] = {
    "ramp": lambda labels, rng: np.arange(1.0, labels + 1),
    "sawtooth": lambda labels, rng: 1.0 + np.arange(labels) % max(2, labels // 7),
    "waves": lambda labels, rng: 1 + 0.8 * np.sin(6 * np.pi * np.arange(labels) / labels),
    "log-normal": lambda labels, rng: np.exp(rng.normal(size=labels)),
}
"""Held out once; the estimate was mended after they had been seen."""
HELD_OUT: dict[str, Shape] = {
    "cosine": lambda labels, rng: 1 + 0.9 * np.cos(2 * np.pi * np.arange(labels) / labels),
    "gap": lambda labels, rng: 1.0 * (np.abs(np.arange(labels) / labels - 0.55) > 0.2),
    "cube root": lambda labels, rng: np.cbrt(1 / np.arange(1.0, labels + 1)),
    "Weibull": lambda labels, rng: rng.weibull(0.5, size=labels),
}
RANDOM = ("atoms", "log-normal", "Weibull")
"""Kinds of which every collection is another one."""


def shares(data: str, labels: int, rng: np.random.Generator) -> Floats:
    """The true distribution of a kind."""
    p = (DATA | LOOKED_AT | HELD_OUT)[data](labels, rng)
    return p / p.sum()


# --- peers ------------------------------------------------------------------------------------------------


def cut(raw: Floats) -> Floats:
    """As multi-freq-ldpy: no estimate below zero, then all scaled to one."""
    above = np.maximum(raw, 0)
    return above / above.sum() if above.sum() > 0 else np.full(len(raw), 1 / len(raw))


def unary(people: Floats, e: float, rng: np.random.Generator) -> Floats:
    """Unbiased shares by optimized unary encoding: a one stays with 1/2, a zero turns with 1 / (e^epsilon + 1)."""
    n, turned = people.sum(), 1 / (e + 1)
    seen = rng.binomial(people, 0.5) + rng.binomial(n - people, turned)
    return (seen / n - turned) / (0.5 - turned)


def response(people: Floats, e: float, rng: np.random.Generator, seen: Floats | None) -> Floats:
    """Unbiased shares by randomized response; from the same reports where ours are of that law too."""
    labels, n = len(people), people.sum()
    lift = (e - 1) / (e - 1 + labels)
    if seen is None:
        kept = rng.binomial(people, lift)
        seen = kept + rng.multinomial(n - kept.sum(), np.full(labels, 1 / labels))
    return (seen / n - (1 - lift) / labels) / lift


def peers(people: Floats, e: float, rng: np.random.Generator, seen: Floats | None) -> dict[str, Floats]:
    found = {}
    for name, raw in (("OUE", unary(people, e, rng)), ("GRR", response(people, e, rng, seen))):
        found[f"{name}, cut and scaled"], found[f"{name}, projected"] = cut(raw), onto_simplex(raw)
    return found


# --- reports and errors -------------------------------------------------------------------------------------


def errors(estimate: Floats, truth: Floats) -> list[float]:
    """L1, and the Kantorovich distance as a share of the range."""
    off = estimate - truth
    return [float(np.abs(off).sum()), float(np.abs(np.cumsum(off)).sum()) / (len(truth) - 1)]


def counted(mechanism: Any, truth: Floats, reports: int, rng: np.random.Generator) -> Floats:
    """Counts of the reports of people who are drawn from the truth, by the law itself: they are multinomial."""
    return rng.multinomial(reports, _likely(mechanism, truth.tobytes()))


@lru_cache(2)
def _likely(mechanism: Any, truth: bytes) -> Floats:
    """The probability of every report."""
    likely = np.maximum(channel_for_law(mechanism).forward(np.frombuffer(truth)), 0)
    return likely / likely.sum()


@cache
def mechanism_of(labels: int, epsilon: str) -> Any:
    import inbounds as ib

    return ib.local.best_label_mechanism(ib.category(labels), epsilon)

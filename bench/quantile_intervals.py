"""How often 90 % intervals of published medians hold the truth, on records of many shapes; for bench/quantiles.py.

Nothing is drawn but the groups: for each of them the probabilities of all reports are known, and so is the chance that
the interval of the report holds the median.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import inbounds as ib
from inbounds.data import adult
from inbounds.exact import Floats, Ints
from inbounds.mechanism import Channel, QuantileMechanism

LEVEL, GROUPS = 0.9, 400
QUESTIONS = ((20, "1"), (20, "4"), (100, "1"), (1000, "1"), (1000, "0.1"))
"""Records of a group, and epsilon."""


def _bell(values: int, centre: float, width: float) -> Floats:
    return np.exp(-0.5 * ((np.arange(values) / (values - 1) - centre) / width) ** 2)


SHAPES: dict[str, Callable[[int], Floats]] = {
    "flat": lambda m: np.ones(m),
    "falling": lambda m: np.exp(-8 * np.arange(m) / m),
    "bell": lambda m: _bell(m, 0.5, 0.1),
    "bell at a quarter": lambda m: _bell(m, 0.25, 0.05),
    "two bells": lambda m: _bell(m, 0.2, 0.05) + _bell(m, 0.8, 0.05),
    "mostly the least value": lambda m: np.r_[1.0, np.full(m - 1, 0.2 / m)],
    "heaped": lambda m: np.where(np.arange(m) % 5 == 0, 5.0, 1.0) * _bell(m, 0.4, 0.2),
    "both ends": lambda m: 1 / (0.02 + np.minimum(np.arange(m), m - 1 - np.arange(m)) / m),
    "long tail": lambda m: 1 / (1 + np.arange(m)) ** 1.5,
}
"""Shares of the values, from their number."""


@dataclass(frozen=True)
class Held:
    """Over groups of a shape: how often the interval holds the median, of unknown shares and of even independent
    records, and how many values it has in the mean."""

    shape: str
    size: int
    epsilon: str
    unknown: float
    even: float
    width: float


def all_held() -> list[Held]:
    rng, found = np.random.default_rng(21), []
    for size, epsilon in QUESTIONS:
        ages, plain = ib.median(17, 90, size=size), ib.median(0, 100, size=size)
        made = {query: _mechanism(query, epsilon) for query in (ages, plain)}
        people = rng.choice(adult().age, (GROUPS, size)).astype(np.int64) - 17
        groups = {"ages of people (Adult)": (ages, np.array([np.bincount(one, minlength=74) for one in people]))}
        for name, shape in SHAPES.items():
            weights = shape(101)
            groups[name] = plain, rng.multinomial(size, weights / weights.sum(), size=GROUPS)
        for name, (query, records) in groups.items():
            mechanism, *readings = made[query]
            (unknown, width), (even, _) = (_coverage(mechanism, inside, records) for inside in readings)
            found.append(Held(name, size, epsilon, unknown, even, width))
    return found


def _mechanism(query: ib.QuantileQuery, epsilon: str) -> tuple[QuantileMechanism, Floats, Floats]:
    made = ib.design_quantile(query, epsilon).mechanism
    return made, mark_intervals(made.channel()), mark_intervals(made.channel(np.ones(query.width + 1)))


def mark_intervals(expected: Channel) -> Floats:
    """outputs × values: whether the interval of the report holds the value."""
    rows = expected.interpretations(LEVEL)
    place = {row.output: k for k, row in enumerate(rows)}
    found = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        found[k, [place[value] for value in row.answers]] = 1.0
    return found


def _coverage(mechanism: QuantileMechanism, inside: Floats, records: Ints) -> tuple[float, float]:
    reports = mechanism.probabilities(records)
    holds = (reports * inside[:, mechanism.query.true_positions(records)].T).sum(axis=1)
    return float(holds.mean()), float((reports @ inside.sum(axis=1)).mean())

"""How often 90 % intervals of published medians hold the truth, on records of many shapes; for bench/quantiles.py.

Nothing is drawn but the groups: for each of them the probabilities of all reports are known, and so is the chance that
the interval of the report holds the median.
"""

from dataclasses import dataclass

import numpy as np
from quantile_cases import FRESH, HELD_OUT, SHAPES

import inbounds as ib
from inbounds.data import adult
from inbounds.exact import Floats, Ints
from inbounds.mechanism import Channel, QuantileMechanism

LEVEL, GROUPS = 0.9, 400
QUESTIONS = ((20, "1"), (20, "4"), (100, "1"), (1000, "1"), (1000, "0.1"))
"""Records of a group, and epsilon."""


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
        for name, shape in {**SHAPES, **HELD_OUT, **FRESH}.items():
            weights = shape(101)
            groups[name] = plain, rng.multinomial(size, weights / weights.sum(), size=GROUPS)
        for name, (query, records) in groups.items():
            mechanism, *readings = made[query]
            (unknown, width), (even, _) = (_coverage(mechanism, inside, records) for inside in readings)
            found.append(Held(name, size, epsilon, unknown, even, width))
    return found


def _mechanism(query: ib.QuantileQuery, epsilon: str) -> tuple[QuantileMechanism, Floats, Floats]:
    made = ib.design_quantile(query, epsilon).mechanism
    return made, _inside(made.channel()), _inside(made.channel(np.ones(query.width + 1)))


def _inside(expected: Channel) -> Floats:
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

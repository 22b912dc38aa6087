"""The cases that bench/quantiles.py measures on: random record distributions, sizes, ranges, epsilons and positions.

They were drawn once, after the design of quantiles was settled, and nothing was changed after looking at them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import inbounds as ib
from inbounds.exact import Floats, Ints
from inbounds.query import QuantileQuery

SEED, CASES, GROUPS = 20261118, 600, 200
"""The seed of everything, the number of cases, and of groups drawn for each."""

SIZES, VALUES, EPSILONS = (5, 5000), (4, 600), (0.1, 5.0)
"""Ranges of sizes, of numbers of values and of epsilons; all are drawn evenly on a logarithmic scale."""

POSITIONS = ("0", "1/2", "1")
"""Half of the cases have one of these positions, the others a multiple of 1/20 between them."""


@dataclass(frozen=True)
class Case:
    """A question, the kind of distribution that its records have, and the groups drawn from it."""

    size: int
    values: int
    epsilon: str
    at: str
    shape: str
    groups: Ints

    @property
    def query(self) -> QuantileQuery:
        return ib.quantile(self.at, 0, self.values - 1, size=self.size)

    @property
    def facts(self) -> dict[str, str | int]:
        return {name: getattr(self, name) for name in ("at", "size", "values", "epsilon", "shape")}

    def errors(self, probabilities: Floats) -> Floats:
        """Compute the expected absolute error of every group, in steps."""
        distances = np.abs(np.arange(self.values) - self.query.true_positions(self.groups)[:, None])
        return np.asarray((probabilities * distances).sum(axis=1))


def draw_cases(count: int = CASES) -> Iterator[Case]:
    """Draw the first `count` cases."""
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        size, values = (round(_log_uniform(rng, *ends)) for ends in (SIZES, VALUES))
        epsilon = f"{_log_uniform(rng, *EPSILONS):.2g}"
        at = str(rng.choice(POSITIONS)) if rng.random() < 0.5 else str(Fraction(int(rng.integers(1, 20)), 20))
        shape, weights = draw_distribution(values, rng)
        yield Case(size, values, epsilon, at, shape, rng.multinomial(size, weights, size=GROUPS))


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# --- random distributions ---------------------------------------------------------------------------------


def draw_distribution(values: int, rng: np.random.Generator) -> tuple[str, Floats]:
    """Draw a mixture of one to three parts, with or without heaps at round values and irregular shares."""
    places = (np.arange(values) + 0.5) / values
    names, weights = [], np.zeros(values)
    for share in rng.dirichlet(np.ones(rng.integers(1, 4))):
        name, part = _draw_part(places, rng)
        names.append(name)
        weights += share * part / part.sum()
    if rng.random() < 0.25:
        every = int(rng.choice((2, 5, 10)))
        weights[:: min(every, values - 1)] *= rng.uniform(2, 20)
        names.append(f"heaps at every {every}th")
    if rng.random() < 0.25:
        weights *= rng.gamma(rng.uniform(0.2, 2), size=values) + 1e-300
        names.append("irregular")
    return " + ".join(names), weights / weights.sum()


def _draw_part(places: Floats, rng: np.random.Generator) -> tuple[str, Floats]:
    """Draw one part: its name and its weight at each place in 0..1."""
    centre, width = rng.random(), float(np.exp(rng.uniform(np.log(0.01), np.log(0.5))))
    kind = str(rng.choice(("normal", "lognormal", "exponential", "flat", "heavy tails", "one value")))
    distance = places - centre
    match kind:
        case "normal":
            part = np.exp(-0.5 * (distance / width) ** 2)
        case "lognormal":
            logs = np.log(places / (0.05 + 0.5 * centre))
            part = np.exp(-0.5 * (logs / (0.2 + width)) ** 2) / places
        case "exponential":
            part = np.exp(-(places if centre < 0.7 else 1 - places) / width)
        case "flat":
            part = (np.abs(distance) <= width).astype(float)
        case "heavy tails":
            part = 1 / (1 + (distance / width) ** 2)
        case _:
            part = np.zeros(len(places))
            part[int(centre * len(places))] = 1.0
    return kind, part + 1e-12

"""The groups that bench/quantiles.py measures on: sizes, ranges, epsilons and shapes, and some held out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

import inbounds as ib
from inbounds.exact import Floats, Ints
from inbounds.mechanism.expected_channel import draw_groups_from_prior
from inbounds.query import QuantileQuery

SIZES, VALUES, EPSILONS = (10, 30, 100, 300, 1000, 3000), (5, 21, 101, 500), ("0.2", "1", "4")
QUANTILES = {"minimum": "0", "median": "0.5", "90 %": "0.9", "maximum": "1"}
GROUPS, AGAIN = 100, (2000, 20_000)
"""Groups drawn from every shape, one for each equal part of the places that its quantile may have; at further looks.

Whether a quantile lies at the edge of what equal records make certain decides its error, and few groups do.
"""


def _bell(values: int, centre: float, width: float) -> Floats:
    return np.exp(-0.5 * ((np.arange(values) / (values - 1) - centre) / width) ** 2)


Shapes = dict[str, Callable[[int], Floats]]

SHAPES: Shapes = {
    "flat": lambda m: np.ones(m),
    "falling": lambda m: np.exp(-8 * np.arange(m) / m),
    "rising": lambda m: np.exp(-8 * np.arange(m)[::-1] / m),
    "bell": lambda m: _bell(m, 0.5, 0.1),
    "bell at a quarter": lambda m: _bell(m, 0.25, 0.05),
    "two bells": lambda m: _bell(m, 0.2, 0.05) + _bell(m, 0.8, 0.05),
    "mostly the least value": lambda m: np.r_[1.0, np.full(m - 1, 0.2 / m)],
}

"""Shapes of the sweep."""

HELD_OUT: Shapes = {
    "heaped": lambda m: np.where(np.arange(m) % 5 == 0, 5.0, 1.0) * _bell(m, 0.4, 0.2),
    "both ends": lambda m: 1 / (0.02 + np.minimum(np.arange(m), m - 1 - np.arange(m)) / m),
    "long tail": lambda m: 1 / (1 + np.arange(m)) ** 1.5,
    "any": lambda m: np.random.default_rng(m).dirichlet(np.full(m, 0.3)),
}
"""Shapes with sizes, ranges and epsilons of their own; spreads, paces and counts were looked at on them too."""

HELD_SIZES, HELD_VALUES, HELD_EPSILONS = (20, 200, 2000), (11, 51, 201), ("0.5", "2")


def _ages(values: int) -> Floats:
    """The ages of the Adult table in so many equal classes from 17 to 90."""
    from inbounds.data import adult

    place = (np.asarray(adult().age, dtype=np.int64) - 17) * values // 74
    return np.bincount(place, minlength=values) + 1e-9


FRESH: Shapes = {
    "ages": _ages,
    "triangle": lambda m: 1.0 + np.minimum(np.arange(m), m - 1 - np.arange(m)),
    "lognormal": lambda m: np.exp(-0.5 * ((np.log((np.arange(m) + 0.5) / m) + 1.5) / 0.5) ** 2) / (np.arange(m) + 0.5),
    "any other": lambda m: np.random.default_rng(m + 1).dirichlet(np.ones(m)),
}
"""More such shapes, looked at last, when counts and paces were settled."""

FRESH_SIZES, FRESH_VALUES, FRESH_EPSILONS = (50, 150, 700), (5, 7, 9, 31, 150), ("0.25", "0.8", "3")


@dataclass(frozen=True)
class Case:
    """One row of the sweep, and the records drawn for it."""

    size: int
    values: int
    epsilon: str
    quantile: str
    shape: str
    groups: Ints

    @property
    def query(self) -> QuantileQuery:
        return ib.quantile(QUANTILES[self.quantile], 0, self.values - 1, size=self.size)

    def again(self, groups: int, seed: int) -> "Case":
        """The same with more groups, others."""
        weights = {**SHAPES, **HELD_OUT, **FRESH}[self.shape](self.values)
        at, rng = Fraction(QUANTILES[self.quantile]), np.random.default_rng([14, groups, seed])
        return replace(self, groups=draw_groups_from_prior(weights / weights.sum(), at, self.size, groups, rng))

    @property
    def distances(self) -> Ints:
        return np.abs(np.arange(self.values) - self.query.true_positions(self.groups)[:, None])

    def errors(self, probabilities: Floats) -> Floats:
        """The expected absolute error of every group, in steps."""
        return np.asarray((probabilities * self.distances).sum(axis=1))


def sweep(quick: bool) -> Iterator[Case]:
    rng = np.random.default_rng(11)
    sizes, values, epsilons = (SIZES[::3], VALUES[:3:2], EPSILONS[::2]) if quick else (SIZES, VALUES, EPSILONS)
    return cases_of(sizes, values, epsilons, SHAPES, rng)


def held_out() -> Iterator[Case]:
    return cases_of(HELD_SIZES, HELD_VALUES, HELD_EPSILONS, HELD_OUT, np.random.default_rng(12))


def fresh() -> Iterator[Case]:
    return cases_of(FRESH_SIZES, FRESH_VALUES, FRESH_EPSILONS, FRESH, np.random.default_rng(15))


def cases_of(
    sizes: tuple[int, ...], values: tuple[int, ...], epsilons: tuple[str, ...], shapes: Shapes, rng: np.random.Generator
) -> Iterator[Case]:
    for size, many, epsilon, quantile, (name, shape) in product(sizes, values, epsilons, QUANTILES, shapes.items()):
        weights, at = shape(many), Fraction(QUANTILES[quantile])
        groups = draw_groups_from_prior(weights / weights.sum(), at, size, GROUPS, rng)
        yield Case(size, many, epsilon, quantile, name, groups)

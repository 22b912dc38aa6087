"""The tables that bench/adding.py measures on: real ones, simulated ones, and ones of other shapes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.data import adult
from inbounds.tables.adding.learned import SPREADS
from inbounds.tables.adding.tree import Tree

SIZE = 20
VALUES = 5
"""People in a group, and the largest value of one where values are summed."""

Generator = np.random.Generator


@dataclass(frozen=True)
class Source:
    """Trees with the true values of their leaves. reach: how far one person moves a leaf. draws: of the whole table."""

    name: str
    make: Callable[[Generator], tuple[Tree, Any]]
    reach: int = 1
    draws: int = 12


def adult_groups(rng: Generator) -> tuple[Tree, np.ndarray]:
    """Groups of 20 people within age bands of ten years, within sexes: who earns more than 50,000 dollars."""
    data = adult()
    key = data.male * 10 + np.clip(data.age // 10, 1, 8)
    order = np.lexsort((rng.permutation(len(data)), key))
    leaves, bands = [], []
    for band in np.unique(key):
        members = order[key[order] == band]
        full = len(members) // SIZE
        leaves.append(data.high_income[members[: full * SIZE]].reshape(full, SIZE).sum(axis=1))
        bands += [band] * full
    names, parent = np.unique(bands, return_inverse=True)
    tree = Tree.over(np.full(len(parent), SIZE), parent, names // 10, np.zeros(2, np.int64))
    return tree, np.concatenate(leaves)


def balanced(rates: Callable[[Generator], np.ndarray], reach: int = 1) -> Callable[[Generator], tuple[Tree, Any]]:
    """1,000 groups of 20 in 100 parents of ten, ten above them, and all: what a tree of one branching factor can do."""

    def make(rng: Generator) -> tuple[Tree, np.ndarray]:
        parents = [np.repeat(np.arange(n), 10) for n in (100, 10, 1)]
        values = rng.binomial(reach, np.repeat(rates(rng)[:, None], SIZE, axis=1)).sum(axis=1)
        return Tree.over(np.full(1000, SIZE * reach), *parents), values

    return make


def scattered(rng: Generator, mean: np.ndarray, spread: float) -> np.ndarray:
    """Rates of groups around their parents' with the correlation `spread`."""
    total = 1 / max(spread, 1e-9) - 1
    return rng.beta(mean * total, (1 - mean) * total)


def parents(rng: Generator) -> np.ndarray:
    return np.repeat(rng.beta(2, 5, 100), 10)


SOURCES = [
    Source("Adult: groups in age bands in sexes", adult_groups),
    Source("Simulated, groups of one parent are alike", balanced(parents)),
    Source(
        "Simulated, the prior holds: groups scatter within parents, by a spread drawn anew for each table",
        balanced(lambda rng: scattered(rng, parents(rng), rng.choice(SPREADS[:8]))),
    ),
    Source(
        "Simulated: groups of one parent are of two kinds",
        balanced(lambda rng: np.where(rng.random(1000) < 0.3, 0.9, 0.1)),
    ),
    Source(
        "Simulated: one group in thirty has everybody",
        balanced(lambda rng: np.where(rng.random(1000) < 1 / 30, 1.0, 0.002)),
    ),
    Source("Sums of values 0 to 5", balanced(lambda rng: scattered(rng, parents(rng), 0.05), VALUES), VALUES, 6),
]

OTHER_SHAPES = [
    Source("three kinds of groups", balanced(lambda rng: rng.choice([0.05, 0.5, 0.8], 1000, p=[0.5, 0.3, 0.2]))),
    Source(
        "normal log odds, between parents and within",
        balanced(
            lambda rng: 1 / (1 + np.exp(-np.repeat(rng.normal(-1, 0.8, 100), 10) - rng.normal(0, 0.7, 1000))),
        ),
    ),
    Source("any rate, group by group", balanced(lambda rng: rng.random(1000))),
    Source(
        "two kinds, in other shares and places for each parent",
        balanced(
            lambda rng: np.clip(
                np.where(rng.random(1000) < np.repeat(rng.random(100), 10), 0.15, 0.6)
                + np.repeat(rng.normal(0, 0.1, 100), 10),
                0.01,
                0.99,
            )
        ),
    ),
    Source("scatter that is the same in every table, 0.15", balanced(lambda rng: scattered(rng, parents(rng), 0.15))),
]

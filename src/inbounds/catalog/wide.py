"""Geometric noise for ranges too wide for a matrix: kept as a small table, however many answers there are."""

from fractions import Fraction

import numpy as np

from inbounds.catalog.geometric import GHOSH
from inbounds.loss import as_prior
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.law import geometric_noise, noise_steps
from inbounds.numbers import Floats, Ints
from inbounds.query import Query


def wide_geometric(query: Query, epsilon: Fraction) -> Mechanism:
    """Geometric noise as a table, every noisy value reported as it is."""
    return Mechanism(query, epsilon, geometric_noise(query, epsilon), Origin("truncated_geometric", {}, GHOSH))


def median_geometric(query: Query, epsilon: Fraction, prior: Floats | None) -> Mechanism:
    """Geometric noise as a table, every noisy value reported as the median of what it may have been.

    With b = exp(-epsilon / reach), the noisy value s has likelihood b^|s - j| under answer j, at the ends too, so
    the report that loses least on average is the median of prior[j]·b^|s - j|. Cost: O(answers²).
    """
    origin = Origin("truncated_geometric", {"reported as": "posterior median"}, GHOSH)
    return Mechanism(query, epsilon, geometric_noise(query, epsilon, _medians(query, epsilon, prior)), origin)


def _medians(query: Query, epsilon: Fraction, prior: Floats | None) -> Ints:
    reach, distance = noise_steps(query)
    steps = np.arange(len(query.answers))
    rate, weights = float(epsilon * distance) / reach, as_prior(prior, query)
    found = np.empty(len(steps), dtype=np.int64)
    for s in steps:
        upto = np.cumsum(weights * np.exp(-rate * np.abs(steps - s)))
        found[s] = np.searchsorted(upto, upto[-1] / 2)
    return found

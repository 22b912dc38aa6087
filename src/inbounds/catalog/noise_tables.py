"""Geometric noise for ranges too wide for a matrix, stored as a small table whatever the number of answers."""

from fractions import Fraction

import numpy as np

from inbounds.catalog.geometric import GHOSH
from inbounds.exact import Floats, Ints
from inbounds.losses import to_prior
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws.noise import find_noise_reach, make_geometric_noise
from inbounds.query import RangeQuery


def geometric_table(query: RangeQuery, epsilon: Fraction) -> Mechanism:
    """Return geometric noise as a table; every noisy value is reported as it is."""
    return Mechanism(query, epsilon, make_geometric_noise(query, epsilon), Origin("truncated_geometric", {}, GHOSH))


def median_geometric_table(query: RangeQuery, epsilon: Fraction, prior: Floats | None) -> Mechanism:
    """Return geometric noise as a table; every noisy value is reported as its posterior median.

    With b = exp(-epsilon / reach), the noisy value s has likelihood b^|s - j| under answer j, at the ends too, so
    the report with the least expected absolute error is the median of prior[j]·b^|s - j|. Cost: O(answers²).
    """
    origin = Origin("truncated_geometric", {"reported as": "posterior median"}, GHOSH)
    return Mechanism(query, epsilon, make_geometric_noise(query, epsilon, _medians(query, epsilon, prior)), origin)


def _medians(query: RangeQuery, epsilon: Fraction, prior: Floats | None) -> Ints:
    reach, distance = find_noise_reach(query)
    steps = np.arange(len(query.answers))
    rate, weights = float(epsilon * distance) / reach, to_prior(prior, query)
    medians = np.empty(len(steps), dtype=np.int64)
    for s in steps:
        cumulative = np.cumsum(weights * np.exp(-rate * np.abs(steps - s)))
        medians[s] = np.searchsorted(cumulative, cumulative[-1] / 2)
    return medians

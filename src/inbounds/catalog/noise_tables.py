"""Geometric noise for ranges too wide for a matrix, stored as a small table whatever the number of answers."""

from fractions import Fraction

from inbounds.catalog.geometric import GHOSH
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.query import RangeQuery


def geometric_table(query: RangeQuery, epsilon: Fraction) -> Mechanism:
    """Return geometric noise as a table; without a remap."""
    return Mechanism(query, epsilon, make_geometric_noise(query, epsilon), Origin("truncated_geometric", {}, GHOSH))

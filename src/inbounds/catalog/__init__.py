"""The named mechanisms, one short function each: (query, epsilon, …) → certified Mechanism."""

from inbounds.catalog import unbounded as unbounded
from inbounds.catalog.answer_scales import scaled_laplace
from inbounds.catalog.fair import explicit_fair
from inbounds.catalog.fine_outputs import FineLaplace, fine_laplace
from inbounds.catalog.geometric import folded_geometric, prerounded_geometric, truncated_geometric
from inbounds.catalog.graphs import metric_geometric, planar_laplace
from inbounds.catalog.laplace import normalized_laplace, refuted_half_line, snapped_laplace
from inbounds.catalog.optimized import variant_1, variant_2, weakly_honest
from inbounds.catalog.response import exponential, randomized_response, uniform
from inbounds.catalog.snapped import snapped_noise
from inbounds.catalog.staircase import snapped_staircase
from inbounds.catalog.unknown_groups import threshold

__all__ = [
    "FineLaplace",
    "explicit_fair",
    "exponential",
    "fine_laplace",
    "folded_geometric",
    "metric_geometric",
    "normalized_laplace",
    "planar_laplace",
    "prerounded_geometric",
    "randomized_response",
    "refuted_half_line",
    "scaled_laplace",
    "snapped_laplace",
    "snapped_noise",
    "snapped_staircase",
    "threshold",
    "truncated_geometric",
    "uniform",
    "variant_1",
    "variant_2",
    "weakly_honest",
]

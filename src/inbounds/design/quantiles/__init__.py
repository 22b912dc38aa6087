"""Designs for quantiles: path scores, the best law over the central records, and the search that chooses a law."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from inbounds.design.quantiles.central import design_central
from inbounds.design.quantiles.choose import QuantileDesign, design_quantile
from inbounds.design.quantiles.family import RecordFamily
from inbounds.design.quantiles.joint import (
    JointDesign,
    JointSearch,
    design_counts,
    design_joint,
    design_quantiles,
)
from inbounds.design.quantiles.permute_flip import design_permute_flip
from inbounds.design.quantiles.search import QuantileSearch, ScoreGrid, design_sided
from inbounds.exact import Number
from inbounds.mechanism import QuantileMechanism
from inbounds.query import QuantileQuery

CONSTRUCTIONS: Mapping[str, Callable[[QuantileQuery, Number], QuantileMechanism]] = MappingProxyType(
    {"permute_and_flip": design_permute_flip, "sided_scores": design_sided}
)
"""The constructions that comparisons of a quantile list, by name."""

__all__ = [
    "CONSTRUCTIONS",
    "JointDesign",
    "JointSearch",
    "QuantileDesign",
    "QuantileSearch",
    "RecordFamily",
    "ScoreGrid",
    "design_central",
    "design_counts",
    "design_joint",
    "design_permute_flip",
    "design_quantile",
    "design_quantiles",
    "design_sided",
]

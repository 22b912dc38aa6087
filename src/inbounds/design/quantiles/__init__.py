"""Designs for quantiles: path scores, the best law over the central records, and the choice between them."""

from types import MappingProxyType

from inbounds.design.quantiles.central import design_central
from inbounds.design.quantiles.choose import QuantileDesign, design_quantile
from inbounds.design.quantiles.permute_flip import design_permute_flip
from inbounds.design.quantiles.search import design_sided

CONSTRUCTIONS = MappingProxyType({"permute_and_flip": design_permute_flip, "sided_scores": design_sided})
"""The constructions that comparisons of a quantile list, by name."""

__all__ = [
    "CONSTRUCTIONS",
    "QuantileDesign",
    "design_central",
    "design_permute_flip",
    "design_quantile",
    "design_sided",
]

"""The designs of a quantile: permute-and-flip, the best law over the central records, and the choice between them."""

from inbounds.design.quantiles.table import permute_and_flip

__all__ = ["permute_and_flip"]

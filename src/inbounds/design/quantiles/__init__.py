"""The designs of a quantile: permute-and-flip, the best law over the central records, and the choice between them."""

from inbounds.design.quantiles.central import central_records
from inbounds.design.quantiles.choice import QuantileChoice, choose
from inbounds.design.quantiles.counted import counted_scores
from inbounds.design.quantiles.sided import sided_scores
from inbounds.design.quantiles.table import permute_and_flip

__all__ = ["QuantileChoice", "central_records", "choose", "counted_scores", "permute_and_flip", "sided_scores"]

"""Repair of a solver's matrix, so that it keeps all comparisons and sums up to rounding."""

import numpy as np

from inbounds.design.comparisons import CellInequalities
from inbounds.design.problem import Floats

MAX_SWEEPS = 10_000
ROUNDING = 2.0**-50


def raise_to_ratios(x: Floats, compared: CellInequalities) -> Floats:
    """Return the least numbers not below x that satisfy every comparison, up to rounding. Few sweeps if x nearly
    does.
    """
    x = x.copy()
    for _ in range(MAX_SWEEPS):
        least = x[compared.lesser] / compared.factor
        short = least > x[compared.greater] * (1.0 + ROUNDING)
        if not short.any():
            break
        np.maximum.at(x, compared.greater[short], least[short])
    return x


def normalize_columns(P: Floats) -> Floats:
    """Scale columns to sum to one. The factors differ only by the size of the solver's error."""
    unit: Floats = P / P.sum(axis=0)
    return unit

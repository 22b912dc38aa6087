"""From a solver's matrix to one that keeps its promises as exactly as floats allow."""

import numpy as np

from inbounds.design.comparisons import CellInequalities
from inbounds.design.problem import Floats

MAX_SWEEPS = 10_000
ROUNDING = 2.0**-50


def raise_to_ratios(x: Floats, compared: CellInequalities) -> Floats:
    """The least numbers not below x that satisfy every comparison, up to rounding. Few sweeps if x nearly does."""
    x = x.copy()
    for _ in range(MAX_SWEEPS):
        needed = x[compared.lesser] / compared.factor
        short = needed > x[compared.greater] * (1.0 + ROUNDING)
        if not short.any():
            break
        np.maximum.at(x, compared.greater[short], needed[short])
    return x


def normalize_columns(P: Floats) -> Floats:
    """Columns that sum to one. The factors differ between columns by the size of the solver's error only."""
    unit: Floats = P / P.sum(axis=0)
    return unit

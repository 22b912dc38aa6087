"""Repair of a solver's matrix, so that it keeps all comparisons and sums up to rounding."""

import numpy as np
from numpy.typing import NDArray

from inbounds.design.comparisons import CellInequalities
from inbounds.design.problem import Floats

Bools = NDArray[np.bool_]

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


def normalize_columns(P: Floats, fixed: Bools | None = None) -> Floats:
    """Scale all cells but `fixed` ones so that columns sum to one. Factors differ by the size of the solver's error.

    A column without other cells is scaled as a whole.
    """
    unit: Floats = P / P.sum(axis=0)
    if fixed is None:
        return unit
    rest = np.where(fixed, 0.0, P)
    room, size = 1.0 - (P - rest).sum(axis=0), rest.sum(axis=0)
    scaled = np.where(fixed, P, rest * (room / np.where(size > 0, size, 1.0)))
    return np.where((size > 0) & (room >= 0), scaled, unit)

"""The explicit fair mechanism of 003."""

import numpy as np

from inbounds.exact import Floats


def fair_matrix(size: int, rate: float) -> Floats:
    """Compute EM (003 (16)) for answers 0..size-1 and a privacy loss of `rate` per step."""
    i, j = np.arange(size)[:, None], np.arange(size)[None, :]
    d, m = np.abs(i - j), np.minimum(j, size - 1 - j)
    powers = np.exp(-rate * np.where(d <= m, d, (d + m + 1) // 2))
    return np.asarray(powers / powers[:, (size - 1) // 2].sum())

"""Embedded real data for the demonstration, the studies and the tests.

adult: age, sex and income of the 32,561 training records of the UCI "Adult" data set,
B. Becker and R. Kohavi, 1996, https://doi.org/10.24432/C5XW20, licensed CC BY 4.0; three of its columns,
packed, otherwise unchanged.
"""

from dataclasses import dataclass
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Adult:
    """One entry per person: age in years, whether male, whether income is above 50,000 dollars a year."""

    age: NDArray[np.int64]
    male: NDArray[np.bool_]
    high_income: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.age)


def adult() -> Adult:
    """Load the embedded extract of the Adult data.

    >>> len(adult())
    32561
    """
    with as_file(files("inbounds.data") / "adult.npz") as path, np.load(path) as packed:
        age = packed["age"].astype(np.int64)
        male, high = (np.unpackbits(packed[name], count=len(age)).astype(bool) for name in ("male", "high_income"))
    return Adult(age, male, high)

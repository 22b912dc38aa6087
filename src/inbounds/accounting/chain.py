"""Multi-level releases as files: the first mechanism's passport, the epsilons, the remaps, and a digest.

Reading believes nothing: the passport is certified again, the remaps are checked to be distributions, and the law of
every level goes through the checker's inequality, as when the release was made.
"""

import os
from typing import Any

import numpy as np

from inbounds.accounting.multilevel import MULTILEVEL, MultiLevel
from inbounds.files import content_of, refusing
from inbounds.mechanism import reading
from inbounds.mechanism.spelling import whole_numbers
from inbounds.numbers import Ints, as_epsilon


def load(path: str | os.PathLike[str]) -> MultiLevel:
    """Read and re-certify a multi-level release; any doubt is a `PassportError` that says what is wrong."""
    return read(content_of(path, "multi-level release"))


def read(found: Any) -> MultiLevel:
    """A multi-level release from its JSON values, certified anew."""
    MULTILEVEL.opened(found)
    with refusing("the release is malformed", "the chain is not private"):
        epsilons = tuple(as_epsilon(text) for text in found["epsilons"])
        remaps = tuple(_remap(rows) for rows in found["remaps"])
        return MultiLevel(reading.read(found["first"]), epsilons, remaps)


def _remap(rows: Any) -> Ints:
    return np.array([whole_numbers(row) for row in rows], dtype=np.int64)

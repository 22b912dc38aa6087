"""Multi-level releases as files: the first mechanism's passport, the epsilons, the remaps, and a digest.

Reading believes nothing: the passport is certified again, the remaps are checked to be distributions, and the law of
every level goes through the checker's inequality, as when the release was made.
"""

import os
from typing import Any

import numpy as np

from inbounds.accounting.multilevel import MULTILEVEL, MechanismChain
from inbounds.exact import Ints, to_epsilon
from inbounds.files import as_passport_error, read_json_file
from inbounds.mechanism import load
from inbounds.mechanism.codec import parse_integers


def load_chain(path: str | os.PathLike[str]) -> MechanismChain:
    """Read and re-certify a multi-level release; any doubt is a `PassportError` that says what is wrong."""
    return chain_from_json(read_json_file(path, "multi-level release"))


def chain_from_json(found: Any) -> MechanismChain:
    """Return a multi-level release from its JSON values, certified anew."""
    MULTILEVEL.unwrap(found)
    with as_passport_error("the release is malformed", "the chain is not private"):
        epsilons = tuple(to_epsilon(text) for text in found["epsilons"])
        remaps = tuple(_remap(rows) for rows in found["remaps"])
        return MechanismChain(load.mechanism_from_json(found["first"]), epsilons, remaps)


def _remap(rows: Any) -> Ints:
    return np.array([parse_integers(row) for row in rows], dtype=np.int64)

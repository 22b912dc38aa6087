"""Files of multi-level releases: the first mechanism's passport, the epsilons, the remaps, and a digest.

Reading checks everything again: the passport is certified, the remaps must be distributions, and the law of every
level must pass the checker's inequality, as when the release was made.
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
    """Read and re-certify a multi-level release; raise `PassportError`, with the reason, if anything is wrong."""
    return chain_from_json(read_json_file(path, "multi-level release"))


def chain_from_json(content: Any) -> MechanismChain:
    """Build a multi-level release from its JSON values and certify it again."""
    MULTILEVEL.unwrap(content)
    with as_passport_error("the release is malformed", "the chain is not private"):
        epsilons = tuple(to_epsilon(text) for text in content["epsilons"])
        remaps = tuple(_remap(rows) for rows in content["remaps"])
        return MechanismChain(load.mechanism_from_json(content["first"]), epsilons, remaps)


def _remap(rows: Any) -> Ints:
    return np.array([parse_integers(row) for row in rows], dtype=np.int64)

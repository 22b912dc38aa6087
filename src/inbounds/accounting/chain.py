"""Read files of multi-level releases: the first mechanism's passport, the epsilons and the remaps.

Reading checks everything again: the passport is certified, the remaps must be distributions, and the law of every
level must satisfy the privacy inequality, as when the release was made.
"""

from typing import Any

import numpy as np

from inbounds.accounting.multilevel import MechanismChain
from inbounds.exact import Ints, to_epsilon
from inbounds.files import CHAIN, Document, FileFormat, FileLike, as_passport_error, refuse_unknown_fields
from inbounds.mechanism import load
from inbounds.mechanism.json_values import parse_integers


def load_chain(file: FileLike) -> MechanismChain:
    """Read and certify a multi-level release; raise `PassportError` if it is changed, malformed or not private."""
    return CHAIN_RECORD.read(file)


def chain_from_document(document: Document) -> MechanismChain:
    """Build a multi-level release from its document, and certify it."""
    content = document.content
    refuse_unknown_fields(content, dict.fromkeys(("first", "epsilons", "remaps")), "the release")
    with as_passport_error("the release is malformed", "the chain is not private"):
        epsilons = tuple(to_epsilon(text) for text in content["epsilons"])
        remaps = tuple(_parse_remap(rows) for rows in content["remaps"])
        return MechanismChain(load.load(load.PASSPORT.parse(content["first"])), epsilons, remaps)


CHAIN_RECORD = FileFormat(CHAIN, "multi-level release", chain_from_document)


def _parse_remap(rows: Any) -> Ints:
    return np.array([parse_integers(row) for row in rows], dtype=np.int64)

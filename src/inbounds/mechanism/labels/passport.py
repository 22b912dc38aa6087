"""The passport of a label mechanism: a JSON file with the query, epsilon, the law, and a digest of them.

Integers are decimal text. Readers refuse unknown fields, so a new field needs a new version.
Reading (`reading`) believes nothing.
"""

import os
from typing import TYPE_CHECKING

from inbounds.files import Json, write_json_file
from inbounds.mechanism.codec import query_to_json
from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.passport import LABEL_PASSPORT
from inbounds.trusted.block_designs import Affine, Planes, Subsets

if TYPE_CHECKING:
    from inbounds.mechanism.labels.mechanism import LabelMechanism


def save_label_passport(mechanism: "LabelMechanism", path: str | os.PathLike[str]) -> None:
    """Write the passport; the file appears whole or not at all."""
    write_json_file(to_label_passport(mechanism), path)


def to_label_passport(mechanism: "LabelMechanism") -> Json:
    """The mechanism as plain JSON values, with the digest of everything else in it."""
    origin = mechanism.origin
    content: Json = {
        "query": query_to_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": blocks_to_json(mechanism.law),
        "origin": {"name": origin.name, "parameters": dict(origin.parameters), "reference": origin.reference},
    }
    return LABEL_PASSPORT.wrap(content)


def label_passport_summary(mechanism: "LabelMechanism") -> Json:
    """The passport without its labels: what people and machines read of it."""
    found = to_label_passport(mechanism)
    return {**found, "query": {**found["query"], "labels": None}}


def blocks_to_json(law: BlockResponse) -> Json:
    match law.design:
        case Subsets(_, size):
            return {"subsets": {"size": str(size), "inside": str(law.inside)}}
        case Affine(_, modulus, size):
            return {"affine": {"modulus": str(modulus), "size": str(size), "inside": str(law.inside)}}
        case Planes(_, order, dimension):
            return {"planes": {"order": str(order), "dimension": str(dimension), "inside": str(law.inside)}}

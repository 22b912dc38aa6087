"""The passport of a label mechanism: a JSON file with the query, epsilon, the law, and a digest of them.

Integers are decimal text. Readers refuse unknown fields.
"""

from typing import TYPE_CHECKING

from inbounds.files import MECHANISM, Document, Json
from inbounds.mechanism.codec import query_to_json
from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.passport import without_law
from inbounds.trusted.block_designs import Affine, Planes, Subsets

if TYPE_CHECKING:
    from inbounds.mechanism.labels.mechanism import LabelMechanism


def to_label_passport(mechanism: "LabelMechanism") -> Document:
    """Return the passport of a label mechanism."""
    origin = mechanism.origin
    content: Json = {
        "query": query_to_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": blocks_to_json(mechanism.law),
        "origin": {"name": origin.name, "parameters": dict(origin.parameters), "reference": origin.reference},
    }
    return Document.wrap(MECHANISM, content)


def label_passport_summary(mechanism: "LabelMechanism") -> Json:
    """Return the passport's content without the labels, for display."""
    passport = to_label_passport(mechanism)
    content = {**without_law(passport), "law": passport.content["law"]}
    return {**content, "query": {**content["query"], "labels": None}}


def blocks_to_json(law: BlockResponse) -> Json:
    """Return a law over sets of labels as plain JSON values."""
    match law.design:
        case Subsets(_, size):
            return {"subsets": {"size": str(size), "inside": str(law.inside)}}
        case Affine(_, modulus, size):
            return {"affine": {"modulus": str(modulus), "size": str(size), "inside": str(law.inside)}}
        case Planes(_, order, dimension):
            return {"planes": {"order": str(order), "dimension": str(dimension), "inside": str(law.inside)}}

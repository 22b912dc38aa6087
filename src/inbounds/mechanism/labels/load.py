"""Reading the passport of a label mechanism without belief: the law is certified anew."""

import os
from typing import Any

from inbounds.files import Json, as_passport_error, read_json_file
from inbounds.mechanism.codec import (
    ORIGIN_FIELDS,
    parse_fraction,
    parse_integers,
    parse_line,
    query_from_json,
    query_to_json,
    refuse_unknown_fields,
)
from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.labels.mechanism import LabelMechanism
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.passport import LABEL_PASSPORT
from inbounds.query.query import KINDS
from inbounds.trusted.block_designs import Affine, Planes, Subsets

PASSPORT_FIELDS = {**dict.fromkeys(("format", "version", "query", "epsilon", "law", "sha256")), "origin": ORIGIN_FIELDS}
"""Every field of a label mechanism's passport; its law is read field by field."""


def load_label_mechanism(path: str | os.PathLike[str]) -> LabelMechanism:
    """Read and re-certify a label mechanism's passport; any doubt is a `PassportError` that says what is wrong."""
    return label_mechanism_from_json(read_json_file(path, "label passport"))


def label_mechanism_from_json(content: Any) -> LabelMechanism:
    """A label mechanism from its passport's JSON values, certified anew."""
    LABEL_PASSPORT.unwrap(content)
    refuse_unknown_fields(content, PASSPORT_FIELDS)
    with as_passport_error("the passport is malformed", "the weights are not private"):
        query, origin = query_from_json(content["query"]), content["origin"]
        parameters = {parse_line(key): parse_line(value) for key, value in origin["parameters"].items()}
        if content["query"] != query_to_json(query) or query.kind not in KINDS:
            raise ValueError("the query must be written as passports write one, of a known kind")
        return LabelMechanism(
            query,
            parse_fraction(content["epsilon"]),
            blocks_from_json(content["law"], len(query.answers)),
            Origin(parse_line(origin["name"]), parameters, parse_line(origin["reference"])),
        )


def blocks_from_json(part: Json, labels: int) -> BlockResponse:
    """The law of such values for so many labels."""
    ((name, fields),) = part.items()
    numbers = {key: _one(value) for key, value in fields.items()}
    inside = numbers.pop("inside")
    kinds: dict[str, Any] = {"subsets": Subsets, "affine": Affine, "planes": Planes}
    return BlockResponse(kinds[name](labels, **numbers), inside)


def _one(text: str) -> int:
    (number,) = parse_integers(text)
    return number

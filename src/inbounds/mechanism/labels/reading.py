"""Reading the passport of a label mechanism without belief: the law is certified anew."""

import os
from typing import Any

from inbounds.files import Json, content_of, refusing
from inbounds.mechanism.labels.law import Blocks
from inbounds.mechanism.labels.mechanism import LabelMechanism
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.passport import LABEL_PASSPORT
from inbounds.mechanism.spelling import (
    ORIGIN_FIELDS,
    query_json,
    read_fraction,
    read_line,
    read_query,
    refuse_unknown_fields,
    whole_numbers,
)
from inbounds.query.query import KINDS
from inbounds.trusted.designs import Affine, Planes, Subsets

PASSPORT_FIELDS = {**dict.fromkeys(("format", "version", "query", "epsilon", "law", "sha256")), "origin": ORIGIN_FIELDS}
"""Every field of a label mechanism's passport; its law is read field by field."""


def load_labels(path: str | os.PathLike[str]) -> LabelMechanism:
    """Read and re-certify a label mechanism's passport; any doubt is a `PassportError` that says what is wrong."""
    return read_label_mechanism(content_of(path, "label passport"))


def read_label_mechanism(content: Any) -> LabelMechanism:
    """A label mechanism from its passport's JSON values, certified anew."""
    LABEL_PASSPORT.opened(content)
    refuse_unknown_fields(content, PASSPORT_FIELDS)
    with refusing("the passport is malformed", "the weights are not private"):
        query, origin = read_query(content["query"]), content["origin"]
        parameters = {read_line(key): read_line(value) for key, value in origin["parameters"].items()}
        if content["query"] != query_json(query) or query.kind not in KINDS:
            raise ValueError("the query must be written as passports write one, of a known kind")
        return LabelMechanism(
            query,
            read_fraction(content["epsilon"]),
            read_blocks(content["law"], len(query.answers)),
            Origin(read_line(origin["name"]), parameters, read_line(origin["reference"])),
        )


def read_blocks(part: Json, labels: int) -> Blocks:
    """The law of such values for so many labels."""
    ((name, fields),) = part.items()
    numbers = {key: _one(value) for key, value in fields.items()}
    inside = numbers.pop("inside")
    kinds: dict[str, Any] = {"subsets": Subsets, "affine": Affine, "planes": Planes}
    return Blocks(kinds[name](labels, **numbers), inside)


def _one(text: str) -> int:
    (number,) = whole_numbers(text)
    return number

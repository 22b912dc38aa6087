"""Reader of a label mechanism's passport: the law is certified again. `mechanism.load` calls it."""

from typing import Any

from inbounds.files import Json
from inbounds.mechanism.codec import (
    LABEL_LAWS,
    ORIGIN_FIELDS,
    QUERY_FIELDS,
    parse_fraction,
    parse_integers,
    parse_line,
    query_from_json,
    query_to_json,
)
from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.labels.mechanism import LabelMechanism
from inbounds.mechanism.origin import Origin
from inbounds.query.query import KINDS
from inbounds.trusted.block_designs import Affine, Planes, Subsets

LABEL_FIELDS = {"query": QUERY_FIELDS, "epsilon": None, "law": LABEL_LAWS, "origin": ORIGIN_FIELDS}
"""Every field of a label mechanism's passport."""


def label_mechanism_from_content(content: Json) -> LabelMechanism:
    """Read a label mechanism from its passport's content. Raises an exception if it is malformed or not private."""
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
    """Read a law over sets of `labels` labels from JSON values."""
    ((name, fields),) = part.items()
    numbers = {key: _parse_integer(value) for key, value in fields.items()}
    inside = numbers.pop("inside")
    kinds: dict[str, Any] = {"subsets": Subsets, "affine": Affine, "planes": Planes}
    return BlockResponse(kinds[name](labels, **numbers), inside)


def _parse_integer(text: str) -> int:
    (number,) = parse_integers(text)
    return number

"""The passport of a quantile's mechanism: a JSON file with the query, epsilon, the law, and a digest of them.

Integers are decimal text. Readers refuse unknown fields.
"""

from typing import TYPE_CHECKING

from inbounds.files import MECHANISM, Document, Json
from inbounds.mechanism.codec import QUANTILE, format_integers, law_to_json, scale_to_json
from inbounds.mechanism.passport import without_law
from inbounds.mechanism.quantiles.laws import (
    CentralRecords,
    PermuteAndFlip,
    QuantileLaw,
    SidedPermuteAndFlip,
)
from inbounds.query import QuantileQuery
from inbounds.trusted.sided_scores import Side

if TYPE_CHECKING:
    from inbounds.mechanism.quantiles.mechanism import QuantileMechanism


def to_quantile_passport(mechanism: "QuantileMechanism") -> Document:
    """Return the passport of a quantile's mechanism."""
    origin = mechanism.origin
    content: Json = {
        "query": quantile_query_to_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": quantile_law_to_json(mechanism.law),
        "origin": {"name": origin.name, "parameters": dict(origin.parameters), "reference": origin.reference},
    }
    return Document.wrap(MECHANISM, content)


def quantile_passport_summary(mechanism: "QuantileMechanism") -> Json:
    """Return the passport's content without its weights, for display."""
    return without_law(to_quantile_passport(mechanism))


def quantile_query_to_json(query: QuantileQuery) -> Json:
    """Return a quantile query as plain JSON values, as in passports and release records."""
    return {
        "kind": QUANTILE,
        "values": scale_to_json(query.values),
        "at": str(query.at),
        "size": str(query.size),
        "public": query.public_size,
        "missing": str(query.missing),
        "records": str(query.records),
    }


def quantile_law_to_json(law: QuantileLaw) -> Json:
    """Return a quantile's law as plain JSON values, under one key that names its class."""
    match law:
        case PermuteAndFlip(table, stride, deeper):
            return {
                "scores": {"table": format_integers(table), "stride": str(stride), "deeper": format_integers(deeper)}
            }
        case SidedPermuteAndFlip(table, below, above, deeper):
            sides = {"below": _format_side(below), "above": _format_side(above), "deeper": str(deeper)}
            return {"sides": {"table": format_integers(table), **sides}}
        case CentralRecords(first, length, matrix):
            return {"central": {"first": str(first), "length": str(length), **law_to_json(matrix)}}


def _format_side(side: Side) -> str:
    """Format a side; its last number, the level of the spread, is left out if it is 0."""
    return format_integers(side if side[3] else side[:3])

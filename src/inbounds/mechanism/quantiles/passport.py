"""The passport of a quantile's mechanism: a JSON file with the quantile, epsilon, the law, and a digest of them.

Integers are decimal text. Readers refuse unknown fields, so a new field needs a new version.
Reading (`reading`) believes nothing.
"""

import os
from typing import TYPE_CHECKING

from inbounds.files import Json, write
from inbounds.mechanism.passport import QUANTILE_PASSPORT
from inbounds.mechanism.quantiles.laws import Central, CountedTable, Oblivious, QuantileLaw, ScoreTable, SidedTable
from inbounds.mechanism.spelling import law_json, numbers_text, scale_json
from inbounds.query import Quantile
from inbounds.trusted.sides import Side

if TYPE_CHECKING:
    from inbounds.mechanism.quantiles.mechanism import QuantileMechanism


def save(mechanism: "QuantileMechanism", path: str | os.PathLike[str]) -> None:
    """Write the passport; the file appears whole or not at all."""
    write(passport(mechanism), path)


def passport(mechanism: "QuantileMechanism") -> Json:
    """The mechanism as plain JSON values, with the digest of everything else in it."""
    origin = mechanism.origin
    content: Json = {
        "quantile": quantile_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": quantile_law_json(mechanism.law),
        "origin": {"name": origin.name, "parameters": dict(origin.parameters), "reference": origin.reference},
    }
    return QUANTILE_PASSPORT.sealed(content)


def quantile_summary(mechanism: "QuantileMechanism") -> Json:
    """The passport without its weights: what people and machines read of it."""
    return {key: value for key, value in passport(mechanism).items() if key != "law"}


def quantile_json(query: Quantile) -> Json:
    """A quantile as plain JSON values, as passports and release records hold it."""
    return {
        "values": scale_json(query.values),
        "at": str(query.at),
        "size": str(query.size),
        "public": query.public,
        "missing": str(query.missing),
        "records": str(query.records),
    }


def quantile_law_json(law: QuantileLaw) -> Json:
    match law:
        case ScoreTable(table, stride, deeper):
            return {"scores": {"table": numbers_text(table), "stride": str(stride), "deeper": numbers_text(deeper)}}
        case SidedTable(table, below, above, deeper):
            sides = {"below": _side_text(below), "above": _side_text(above), "deeper": str(deeper)}
            return {"sides": {"table": numbers_text(table), **sides}}
        case CountedTable(table, low, most, every):
            rarely = {} if every == 1 else {"every": str(every)}
            return {"counted": {"table": numbers_text(table), "low": str(low), "most": str(most), **rarely}}
        case Oblivious(matrix):
            return law_json(matrix)
        case Central(first, length, matrix):
            return {"central": {"first": str(first), "length": str(length), **law_json(matrix)}}


def _side_text(side: Side) -> str:
    """The level of a spread is written where it is not 0."""
    return numbers_text(side if side[3] else side[:3])

"""Reading the passport of a quantile's mechanism without belief: the law is certified anew."""

import os
from typing import Any

from inbounds.errors import InboundsError, PassportError
from inbounds.files import Json, content_of
from inbounds.mechanism.law import Matrix
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.passport import QUANTILE_PASSPORT
from inbounds.mechanism.quantiles.laws import Central, CountedTable, Oblivious, QuantileLaw, ScoreTable, SidedTable
from inbounds.mechanism.quantiles.mechanism import QuantileMechanism
from inbounds.mechanism.spelling import (
    ORIGIN_FIELDS,
    read_fraction,
    read_law,
    read_line,
    read_scale,
    refuse_unknown_fields,
    whole_numbers,
)
from inbounds.query import Quantile
from inbounds.trusted.sides import Side

PASSPORT_FIELDS = {
    **dict.fromkeys(("format", "version", "epsilon", "sha256")),
    "quantile": {
        "values": dict.fromkeys(("start", "unit", "size")),
        **dict.fromkeys(("at", "size", "public", "missing", "records")),
    },
    "law": {
        "scores": dict.fromkeys(("table", "stride", "deeper")),
        "sides": dict.fromkeys(("table", "below", "above", "deeper")),
        "counted": dict.fromkeys(("table", "low", "most", "every")),
        "matrix": None,
        "central": dict.fromkeys(("first", "length", "matrix")),
    },
    "origin": ORIGIN_FIELDS,
}
"""Every field of a quantile's passport."""


def load_quantile(path: str | os.PathLike[str]) -> QuantileMechanism:
    """Read and re-certify a quantile's passport; any doubt is a `PassportError` that says what is wrong."""
    return read_quantile_mechanism(content_of(path, "quantile passport"))


def read_quantile_mechanism(content: Any) -> QuantileMechanism:
    """A quantile's mechanism from its passport's JSON values, certified anew."""
    QUANTILE_PASSPORT.opened(content)
    refuse_unknown_fields(content, PASSPORT_FIELDS)
    try:
        origin = content["origin"]
        parameters = {read_line(key): read_line(value) for key, value in origin["parameters"].items()}
        return QuantileMechanism(
            read_quantile(content["quantile"]),
            read_fraction(content["epsilon"]),
            read_quantile_law(content["law"]),
            Origin(read_line(origin["name"]), parameters, read_line(origin["reference"])),
        )
    except InboundsError as reason:
        raise PassportError(f"the weights are not private: {reason}") from reason
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise PassportError(f"the passport is malformed: {reason}") from reason


def read_quantile(part: Json) -> Quantile:
    """The quantile of such values."""
    if type(part["public"]) is not bool:
        raise TypeError("public must be true or false")
    values = read_scale(part["values"])
    (size,), (missing,), (records,) = (whole_numbers(part[key]) for key in ("size", "missing", "records"))
    return Quantile(values, read_fraction(part["at"]), size, part["public"], missing, records)


def read_quantile_law(part: Json) -> QuantileLaw:
    if len(part) != 1:
        raise ValueError("the law of a quantile must be scores, sides, counted, a matrix, or central records")
    if "scores" in part:
        scores = part["scores"]
        (stride,), deeper = whole_numbers(scores["stride"]), scores["deeper"]
        if type(deeper) is not str:
            raise TypeError("deeper must be text")
        return ScoreTable(tuple(whole_numbers(scores["table"])), stride, tuple(whole_numbers(deeper) if deeper else ()))
    if "sides" in part:
        sides = part["sides"]
        below, above = (_side(sides[key]) for key in ("below", "above"))
        (more,) = whole_numbers(sides["deeper"])
        return SidedTable(tuple(whole_numbers(sides["table"])), below, above, more)
    if "counted" in part:
        counted = part["counted"]
        (low,), (most,) = (whole_numbers(counted[key]) for key in ("low", "most"))
        (every,) = whole_numbers(counted["every"]) if "every" in counted else (1,)
        return CountedTable(tuple(whole_numbers(counted["table"])), low, most, every)
    if "central" not in part:
        return Oblivious(_matrix(part))
    central = part["central"]
    (first,), (length,) = (whole_numbers(central[key]) for key in ("first", "length"))
    return Central(first, length, _matrix({"matrix": central["matrix"]}))


def _side(part: Any) -> Side:
    numbers = whole_numbers(part)
    if len(numbers) not in (3, 4):
        raise ValueError("a side of a sided score table must be three or four whole numbers")
    first, stride, spread, near = (*numbers, 0)[:4]
    return first, stride, spread, near


def _matrix(part: Json) -> Matrix:
    found = read_law(part)
    if not isinstance(found, Matrix):
        raise ValueError("the law of a quantile must be scores, sides, counted, a matrix, or central records")
    return found

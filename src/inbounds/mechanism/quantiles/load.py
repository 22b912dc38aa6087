"""Reader of a quantile's passport: the law is certified again. `mechanism.load` calls it."""

from typing import Any

from inbounds.files import Json
from inbounds.mechanism.codec import (
    ORIGIN_FIELDS,
    QUANTILE,
    law_from_json,
    parse_fraction,
    parse_integers,
    parse_line,
    scale_from_json,
)
from inbounds.mechanism.law import Matrix
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles.laws import (
    CentralRecords,
    PermuteAndFlip,
    QuantileLaw,
    SidedPermuteAndFlip,
)
from inbounds.mechanism.quantiles.mechanism import QuantileMechanism
from inbounds.query import QuantileQuery
from inbounds.trusted.sided_scores import Side

QUANTILE_FIELDS = {
    "query": {
        "values": dict.fromkeys(("start", "unit", "size")),
        **dict.fromkeys(("kind", "at", "size", "public", "missing", "records")),
    },
    "epsilon": None,
    "law": {
        "scores": dict.fromkeys(("table", "stride", "deeper")),
        "sides": dict.fromkeys(("table", "below", "above", "deeper")),
        "central": dict.fromkeys(("first", "length", "matrix")),
    },
    "origin": ORIGIN_FIELDS,
}
"""Every field of a quantile's passport."""


def quantile_mechanism_from_content(content: Json) -> QuantileMechanism:
    """Read a quantile's mechanism from a passport's content. Raises an exception if it is malformed or not private."""
    origin = content["origin"]
    parameters = {parse_line(key): parse_line(value) for key, value in origin["parameters"].items()}
    return QuantileMechanism(
        quantile_query_from_json(content["query"]),
        parse_fraction(content["epsilon"]),
        quantile_law_from_json(content["law"]),
        Origin(parse_line(origin["name"]), parameters, parse_line(origin["reference"])),
    )


def quantile_query_from_json(part: Json) -> QuantileQuery:
    """Read a quantile query from JSON values."""
    if part["kind"] != QUANTILE:
        raise ValueError("the query must be of the kind quantile")
    if type(part["public"]) is not bool:
        raise TypeError("public must be true or false")
    values = scale_from_json(part["values"])
    (size,), (missing,), (records,) = (parse_integers(part[key]) for key in ("size", "missing", "records"))
    return QuantileQuery(values, parse_fraction(part["at"]), size, part["public"], missing, records)


def quantile_law_from_json(part: Json) -> QuantileLaw:
    """Read a quantile's law from JSON values. It is not checked for privacy here."""
    if len(part) != 1:
        raise ValueError("the law of a quantile must be scores, sides, or central records")
    if "scores" in part:
        scores = part["scores"]
        (stride,), deeper = parse_integers(scores["stride"]), scores["deeper"]
        if type(deeper) is not str:
            raise TypeError("deeper must be text")
        return PermuteAndFlip(
            tuple(parse_integers(scores["table"])), stride, tuple(parse_integers(deeper) if deeper else ())
        )
    if "sides" in part:
        sides = part["sides"]
        below, above = (_parse_side(sides[key]) for key in ("below", "above"))
        (levels_deeper,) = parse_integers(sides["deeper"])
        return SidedPermuteAndFlip(tuple(parse_integers(sides["table"])), below, above, levels_deeper)
    central = part["central"]
    (first,), (length,) = (parse_integers(central[key]) for key in ("first", "length"))
    return CentralRecords(first, length, _read_matrix({"matrix": central["matrix"]}))


def _parse_side(part: Any) -> Side:
    numbers = parse_integers(part)
    if len(numbers) not in (3, 4):
        raise ValueError("a side of a sided score table must be three or four whole numbers")
    first, stride, spread, near = (*numbers, 0)[:4]
    return first, stride, spread, near


def _read_matrix(part: Json) -> Matrix:
    law = law_from_json(part)
    if not isinstance(law, Matrix):
        raise ValueError("the law of a quantile must be scores, sides, or central records")
    return law

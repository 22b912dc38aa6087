"""Queries, laws, origins and optimality as plain JSON values, and strict readers of these values.

Readers raise `ValueError` or `TypeError` for malformed values and `KeyError` for missing fields; `load` turns these
into `PassportError`.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.exact import Floats
from inbounds.files import Json
from inbounds.mechanism.json_values import (
    format_integers,
    parse_fraction,
    parse_integer,
    parse_integers,
    parse_line,
    read_object,
)
from inbounds.mechanism.laws import LAWS, Law
from inbounds.mechanism.origin import Optimality, Origin
from inbounds.query import (
    AllPairs,
    Graph,
    JointQuantileQuery,
    Metric,
    Neighbours,
    OutputCells,
    QuantileQuery,
    Query,
    RangeQuery,
    Reach,
    Scale,
)
from inbounds.query.joint_quantile import MOST_QUANTILES
from inbounds.query.places import PlaceTuples, format_place
from inbounds.trusted.bounds import Edge
from inbounds.trusted.limits import MOST_ANSWERS, MOST_CELLS, MOST_DIGITS, MOST_LISTED, MOST_ROUNDED

QUANTILE = "quantile"
"""The kind of a query about a group's records."""

JOINT = "quantiles"
"""The kind of a query about several quantiles of a group's records."""

ORIGIN_FIELDS = dict.fromkeys(("name", "parameters", "reference"))

SCALE_FIELDS = dict.fromkeys(("start", "unit", "size", "ticks"))

QUERY_FIELDS = {
    **dict.fromkeys(("kind", "neighbours", "rounds", "labels", "allowance", "places")),
    "answers": SCALE_FIELDS,
    "outputs": dict.fromkeys(("lowers", "uppers", "values"), SCALE_FIELDS),
}
"""Every field of a query with one answer; neighbours are read field by field."""


QUANTILE_FIELDS = {
    "values": dict.fromkeys(("start", "unit", "size")),
    **dict.fromkeys(("kind", "at", "size", "public", "missing", "records")),
}
"""Every field of a query about one or several quantiles."""


def query_to_json(query: Query) -> Json:
    """Return a query as plain JSON values, as in passports and release records."""
    return _range_to_json(query) if isinstance(query, RangeQuery) else _quantile_to_json(query)


def query_fields(part: Any) -> dict[str, Any]:
    """Return the names of the fields that a query in JSON may have."""
    return QUANTILE_FIELDS if _is_quantile(part) else QUERY_FIELDS


def _is_quantile(part: Any) -> bool:
    return isinstance(part, dict) and part.get("kind") in (QUANTILE, JOINT)


def query_from_json(part: Json, most: int = MOST_CELLS) -> Query:
    """Read a query from JSON values. most: the most cells and answers if there is not one cell per answer."""
    return _quantile_from_json(part) if _is_quantile(part) else _range_from_json(part, most)


def _quantile_to_json(query: QuantileQuery | JointQuantileQuery) -> Json:
    shares = query.at if isinstance(query, JointQuantileQuery) else (query.at,)
    return {
        "kind": JOINT if isinstance(query, JointQuantileQuery) else QUANTILE,
        "values": scale_to_json(query.values),
        "at": " ".join(map(str, shares)),
        "size": str(query.size),
        "public": query.public_size,
        "missing": str(query.missing),
        "records": str(query.records),
    }


def _quantile_from_json(part: Json) -> QuantileQuery | JointQuantileQuery:
    if type(part["public"]) is not bool:
        raise TypeError("public must be true or false")
    size, missing, records = (parse_integer(part[key]) for key in ("size", "missing", "records"))
    values = scale_from_json(part["values"])
    if part["kind"] == QUANTILE:
        return QuantileQuery(values, parse_fraction(part["at"]), size, part["public"], missing, records)
    return JointQuantileQuery(values, _read_shares(part["at"]), size, part["public"], missing, records)


def _read_shares(text: Any) -> tuple[Fraction, ...]:
    if not isinstance(text, str) or text.count(" ") >= MOST_QUANTILES:
        raise ValueError(f"at must be a text with at most {MOST_QUANTILES} quantiles")
    return tuple(map(parse_fraction, text.split(" ")))


def _range_to_json(query: RangeQuery) -> Json:
    outputs = query.outputs
    return {
        "kind": query.kind,
        "answers": scale_to_json(query.answers),
        "outputs": None
        if query.one_output_per_answer
        else {
            "lowers": scale_to_json(outputs.lowers),
            "uppers": scale_to_json(outputs.uppers),
            "values": scale_to_json(outputs.values),
        },
        "neighbours": {query.neighbours.key: query.neighbours.to_json()},
        "rounds": query.rounds,
        "labels": list(query.labels) if query.labels is not None and query.places is None else None,
        **({"allowance": str(query.allowance)} if query.allowance else {}),
        **({"places": [" ".join(map(str, place)) for place in query.places]} if query.places is not None else {}),
    }


def _range_from_json(part: Json, most: int) -> RangeQuery:
    answers = scale_from_json(read_object(part, "query")["answers"])
    if answers.ticks[-1] >= (MOST_ANSWERS if answers.is_regular else MOST_LISTED):
        raise ValueError("the answers must lie closer together: the gaps between them have too many steps")
    if part["rounds"] and len(answers) > MOST_ROUNDED:
        raise ValueError(f"a query that rounds must have at most {MOST_ROUNDED} cells in a file")
    outputs = (
        OutputCells.one_per_answer(answers)
        if part["outputs"] is None
        else _read_cells(part["outputs"], len(answers), most)
    )
    places = None if part.get("places") is None else _read_places(part["places"], len(answers))
    labels = None if part["labels"] is None else _read_labels(part["labels"], len(answers))
    if places is not None:
        if labels is not None:
            raise ValueError("answers must have labels or places, not both")
        labels = tuple(map(format_place, places))
    if not isinstance(part["rounds"], bool):
        raise TypeError("rounds must be true or false")
    neighbours = _read_neighbours(part["neighbours"])
    allowance = parse_fraction(part.get("allowance", "0"))
    return RangeQuery(parse_line(part["kind"]), answers, outputs, neighbours, part["rounds"], labels, allowance, places)


def _read_places(part: Any, answers: int) -> PlaceTuples:
    if not isinstance(part, list) or len(part) != answers or not all(isinstance(place, str) for place in part):
        raise TypeError("places must be texts, one for each answer")
    return tuple(tuple(map(parse_fraction, place.split(" "))) for place in part)


def _read_cells(part: Json, answers: int, most: int) -> OutputCells:
    edges = [scale_from_json(part[key]) for key in ("lowers", "uppers", "values")]
    if max(answers, *map(len, edges)) > most:
        raise ValueError(f"a file must have at most {most} answers, and cells, where there is not one cell per answer")
    return OutputCells.validated(*edges)


def _read_labels(part: Any, answers: int) -> tuple[str, ...]:
    if not isinstance(part, list) or not all(isinstance(label, str) for label in part):
        raise TypeError("labels must be texts")
    if len(part) != answers or len(set(part)) != len(part):
        raise ValueError("labels must be distinct and one for each answer")
    return tuple(part)


def scale_to_json(scale: Scale) -> Json:
    """Return a scale as plain JSON values."""
    ticks = {"size": len(scale)} if scale.is_regular else {"ticks": format_integers(scale.ticks)}
    return {"start": str(scale.start), "unit": str(scale.unit), **ticks}


def scale_from_json(part: Json) -> Scale:
    """Read a scale from JSON values."""
    read_object(part, "answers")
    ticks = range(_parse_size(part["size"])) if "size" in part else tuple(parse_integers(part["ticks"]))
    return Scale(parse_fraction(part["start"]), parse_fraction(part["unit"]), ticks)


def _read_reach(steps: Any) -> Reach:
    if type(steps) is not int or not steps <= MOST_ANSWERS:
        raise ValueError("a reach must be a whole number of at most 2**53 steps")
    return Reach(steps)


def _read_all_pairs(part: Any) -> AllPairs:
    if part is not True:
        raise ValueError("neighbours of everyone must be true")
    return AllPairs()


def _read_graph(part: Any) -> Graph:
    """Read a graph: lengths, and for each length a line of edges: tail head tail head …"""
    if not isinstance(part, dict):
        raise TypeError("a graph must have lengths and edges")
    lengths, lines = part["lengths"], part["edges"]
    if not (isinstance(lengths, list) and isinstance(lines, list) and len(lengths) == len(lines) and len(part) == 2):
        raise ValueError("a graph must have lengths and, for each of them, a line of edges")
    graph_edges: list[Edge] = []
    for text, line in zip(lengths, lines, strict=True):
        length, ends = parse_fraction(text), parse_integers(line)
        if len(ends) % 2:
            raise ValueError("an edge must have two ends")
        graph_edges += [Edge(tail, head, length) for tail, head in zip(ends[::2], ends[1::2], strict=True)]
    return Graph(tuple(graph_edges))


_RELATIONS: dict[str, Callable[[Any], Neighbours]] = {
    Reach.key: _read_reach,
    AllPairs.key: _read_all_pairs,
    Metric.key: lambda unit: Metric(parse_fraction(unit)),
    Graph.key: _read_graph,
}
"""How each neighbour relation is read."""


def _read_neighbours(part: Json) -> Neighbours:
    if len(part) != 1:
        raise ValueError("neighbours must be said in one way")
    (key,) = part
    if key not in _RELATIONS:
        raise ValueError(f"neighbours must be one of {', '.join(_RELATIONS)}")
    return _RELATIONS[key](part[key])


def law_to_json(law: Law[Any]) -> Json:
    """Return a law as plain JSON values under its key."""
    return {law.kind: law.to_json()}


def law_from_json(part: Json, query: Query) -> Law[Any]:
    """Read a law from JSON values. It is not checked for privacy here."""
    kind, values = _law_entry(part)
    law = LAWS[kind]
    if type(query) is not law.query_type:
        raise ValueError(f"a law of the kind {kind!r} does not serve a query of this kind")
    return law.from_json(values, query)


def count_law_cells(part: Json) -> int:
    """Return how many outputs or answers a law in JSON lists one by one."""
    kind, values = _law_entry(part)
    return LAWS[kind].count_cells(values)


def _law_entry(part: Any) -> tuple[str, Any]:
    """Return the kind of a law in JSON and its values."""
    if not isinstance(part, dict) or len(part) != 1 or not set(part) <= set(LAWS):
        raise ValueError(f"the law must be one of {', '.join(LAWS)}")
    return next(iter(part.items()))


def origin_to_json(origin: Origin) -> Json:
    """Return the origin as plain JSON values."""
    return {"name": origin.name, "parameters": dict(origin.parameters), "reference": origin.reference}


def origin_from_json(part: Json) -> Origin:
    """Read the origin from JSON values."""
    stated = read_object(read_object(part, "origin")["parameters"], "parameters")
    parameters = {parse_line(key): parse_line(value) for key, value in stated.items()}
    return Origin(parse_line(part["name"]), parameters, parse_line(part["reference"]))


def optimality_to_json(optimality: Optimality | None) -> Json | None:
    """Return the optimality as JSON values, with the loss table and the prior, so that readers can recompute it."""
    if optimality is None:
        return None
    table, prior = optimality.loss_table, optimality.prior
    return {
        "objective": optimality.objective,
        "value": repr(optimality.value),
        "bound": repr(optimality.bound),
        **({} if table is None else {"loss": [_format_floats(row) for row in table]}),
        **({} if prior is None else {"prior": _format_floats(prior)}),
    }


def optimality_from_json(part: Json | None, shape: tuple[int, int]) -> Optimality | None:
    """Read the optimality from JSON values. shape: outputs × answers of the mechanism."""
    if part is None:
        return None
    value, bound = (_parse_float(part[name]) for name in ("value", "bound"))
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise ValueError("an objective and its bound must be finite")
    table = _read_table(part["loss"], shape) if "loss" in part else None
    prior = _read_prior(part["prior"], shape[1]) if "prior" in part else None
    return Optimality(parse_line(part["objective"]), value, bound, table, prior)


def _read_table(part: Any, shape: tuple[int, int]) -> Floats:
    if not isinstance(part, list) or len(part) != shape[0]:
        raise ValueError("a loss table must have a row for each output")
    return np.array([_read_floats(row, shape[1]) for row in part])


def _read_prior(part: Any, answers: int) -> Floats:
    prior = np.array(_read_floats(part, answers))
    if prior.min() < 0 or abs(prior.sum() - 1) > 1e-9:
        raise ValueError("a prior must have weights that are not negative and sum to 1")
    return prior


def _format_floats(numbers: Floats) -> str:
    return " ".join(map(repr, numbers.tolist()))


def _read_floats(text: Any, length: int) -> list[float]:
    numbers = [_parse_float(word) for word in text.split(" ")] if isinstance(text, str) else []
    if len(numbers) != length or not all(map(math.isfinite, numbers)):
        raise ValueError("a loss table and a prior must have one finite number for each answer")
    return numbers


def _parse_float(text: Any) -> float:
    if not isinstance(text, str) or len(text) > MOST_DIGITS:
        raise ValueError("an objective and its bound must be numbers in text")
    return float(text)


def _parse_size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_ANSWERS:
        raise ValueError("a scale's size must be a positive whole number of at most 2**53")
    return value

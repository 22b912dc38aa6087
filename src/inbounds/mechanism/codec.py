"""Queries, laws and optimality as plain JSON values, and strict readers of these values.

Readers raise `ValueError` or `TypeError` for malformed values and `KeyError` for missing fields; `load` turns these
into `PassportError`.
"""

import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.files import Json
from inbounds.mechanism.law import Law, Matrix, Noise
from inbounds.mechanism.origin import Optimality
from inbounds.mechanism.plane import PlaneNoise
from inbounds.mechanism.response import Response
from inbounds.query import AllPairs, Graph, Metric, Neighbours, OutputCells, RangeQuery, Reach, Scale
from inbounds.query.places import PlaceTuples, format_place
from inbounds.trusted.bounds import Edge
from inbounds.trusted.limits import MOST_ANSWERS, MOST_CELLS, MOST_DIGITS, MOST_LISTED, MOST_ROUNDED

_MOST_WHOLE = 10**19
_EXACT = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")

QUANTILE = "quantile"
"""The kind of a query about a group's records."""

LABEL_LAWS = {
    "subsets": dict.fromkeys(("size", "inside")),
    "affine": dict.fromkeys(("modulus", "size", "inside")),
    "planes": dict.fromkeys(("order", "dimension", "inside")),
}
"""The laws over sets of labels by their keys, and their fields."""

ORIGIN_FIELDS = dict.fromkeys(("name", "parameters", "reference"))

SCALE_FIELDS = dict.fromkeys(("start", "unit", "size", "ticks"))

QUERY_FIELDS = {
    **dict.fromkeys(("kind", "neighbours", "rounds", "labels", "allowance", "places")),
    "answers": SCALE_FIELDS,
    "outputs": dict.fromkeys(("lowers", "uppers", "values"), SCALE_FIELDS),
}
"""Every field of a query with one answer; neighbours are read field by field."""


def query_to_json(query: RangeQuery) -> Json:
    """Return a query as plain JSON values, as in passports and release records."""
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


def query_from_json(part: Json, most: int = MOST_CELLS) -> RangeQuery:
    """Read a query from JSON values. most: the most cells and answers if there is not one cell per answer."""
    answers = scale_from_json(part["answers"])
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


def law_to_json(law: Law) -> Json:
    """Return a law as plain JSON values, under one key that names its class."""
    if isinstance(law, Matrix):
        return {"matrix": [format_integers(row) for row in law.weights.tolist()]}
    if isinstance(law, Response):
        return {"response": {"size": str(law.size), "other": str(law.other_weight)}}
    remap = None if law.remap is None else format_integers(law.remap.tolist())
    if isinstance(law, PlaneNoise):
        rows = [format_integers(row) for row in law.table.tolist()]
        return {"plane": {"table": rows, "anywhere": str(law.anywhere), "remap": remap}}
    sizes = {"floor": str(law.floor), "end": str(law.end), "size": str(law.size)}
    return {"noise": {"core": format_integers(law.core.tolist()), **sizes, "remap": remap}}


def law_from_json(part: Json) -> Law:
    """Read a law from JSON values. It is not checked for privacy here."""
    if len(part) != 1:
        raise ValueError("the law must be a matrix, a noise table, a response or noise on a map")
    if "matrix" in part:
        return Matrix(_read_rows(part["matrix"]))
    if "plane" in part:
        plane = part["plane"]
        (anywhere,) = parse_integers(plane["anywhere"])
        cells = None if plane["remap"] is None else _to_int64(parse_integers(plane["remap"]))
        return PlaneNoise(_read_rows(plane["table"]), anywhere, cells)
    if "response" in part:
        (size,), (other,) = (parse_integers(part["response"][key]) for key in ("size", "other"))
        return Response(size, other)
    noise = part["noise"]
    (floor,), (end,), (size,) = (parse_integers(noise[key]) for key in ("floor", "end", "size"))
    remap = None if noise["remap"] is None else _to_int64(parse_integers(noise["remap"]))
    return Noise(_to_int64(parse_integers(noise["core"])), floor, end, size, remap)


def _read_rows(part: Any) -> Ints:
    """Read the rows of a matrix from a list of lines; refuse a text or an object in place of the list."""
    if not isinstance(part, list):
        raise TypeError("a matrix must be a list of rows")
    rows = [parse_integers(row) for row in part]
    if len({len(row) for row in rows}) != 1:
        raise ValueError("the rows of a matrix must have the same length")
    return _to_int64(rows)


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


def format_integers(numbers: Iterable[int]) -> str:
    """Return integers as one line of decimals separated by spaces."""
    return " ".join(map(str, numbers))


def _parse_float(text: Any) -> float:
    if not isinstance(text, str) or len(text) > MOST_DIGITS:
        raise ValueError("an objective and its bound must be numbers in text")
    return float(text)


def parse_integers(text: str) -> list[int]:
    """Parse a line of `format_integers`; raise `ValueError` unless it is written exactly so, with none negative."""
    try:
        numbers = [*map(int, text.split(" "))]
    except ValueError:
        numbers = []
    if format_integers(numbers) != text or not numbers or not 0 <= min(numbers) <= max(numbers) < _MOST_WHOLE:
        raise ValueError("weights must be whole numbers in decimal, separated by single spaces")
    return numbers


def _to_int64(numbers: list[int] | list[list[int]]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def parse_line(text: Any) -> str:
    """Return a text for people; refuse control characters, which could change what a terminal shows."""
    if not isinstance(text, str) or not text.isprintable():
        raise ValueError("a text must be one printable line")
    return text


def _parse_size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_ANSWERS:
        raise ValueError("a scale's size must be a positive whole number of at most 2**53")
    return value


def parse_fraction(text: Any) -> Fraction:
    """Parse an exact number such as '3' or '1/2', of at most MOST_DIGITS digits."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError(f"an exact number must be text such as '3' or '1/2', of at most {MOST_DIGITS} digits")
    return Fraction(text)

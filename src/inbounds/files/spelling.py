"""How queries, laws and what is known of them are spelled as plain JSON values, and read back without belief."""

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.mechanism import Optimality
from inbounds.mechanism.law import Law, Matrix, Noise
from inbounds.numbers import Ints
from inbounds.query import Cells, Everyone, Metric, Neighbours, Query, Reach, Scale

Json = dict[str, Any]
_WHOLE = re.compile(r"0|[1-9]\d{0,18}")
_EXACT = re.compile(r"-?\d{1,400}(/\d{1,400})?")


def query_json(query: Query) -> Json:
    """A query as plain JSON values, as passports and release records hold it."""
    outputs = query.outputs
    return {
        "kind": query.kind,
        "answers": _scale_json(query.answers),
        "outputs": None
        if query.one_output_per_answer
        else {
            "lowers": _scale_json(outputs.lowers),
            "uppers": _scale_json(outputs.uppers),
            "values": _scale_json(outputs.values),
        },
        "neighbours": _neighbours_json(query.neighbours),
        "rounds": query.rounds,
        "labels": list(query.labels) if query.labels is not None else None,
        **({"allowance": str(query.allowance)} if query.allowance else {}),
    }


def read_query(part: Json) -> Query:
    """The query of such values."""
    answers = _read_scale(part["answers"])
    cells = part["outputs"]
    outputs = (
        Cells(*(_read_scale(cells[key]) for key in ("lowers", "uppers", "values"))) if cells else Cells.around(answers)
    )
    if cells:
        Cells.of(list(zip(outputs.lowers, outputs.uppers, outputs.values, strict=True)))  # refuses odd cells
    labels = tuple(map(str, part["labels"])) if part["labels"] is not None else None
    if labels is not None and (len(labels) != len(answers) or len(set(labels)) != len(labels)):
        raise ValueError("labels must be distinct and one for each answer")
    if not isinstance(part["rounds"], bool):
        raise TypeError("rounds must be true or false")
    neighbours = _read_neighbours(part["neighbours"])
    allowance = read_fraction(part.get("allowance", "0"))
    return Query(read_line(part["kind"]), answers, outputs, neighbours, part["rounds"], labels, allowance)


def _scale_json(scale: Scale) -> Json:
    ticks = {"size": len(scale)} if scale.regular else {"ticks": _text(scale.ticks)}
    return {"start": str(scale.start), "unit": str(scale.unit), **ticks}


def _read_scale(part: Json) -> Scale:
    ticks = range(_size(part["size"])) if "size" in part else tuple(_whole_numbers(part["ticks"]))
    return Scale(read_fraction(part["start"]), read_fraction(part["unit"]), ticks)


def _neighbours_json(neighbours: Neighbours) -> Json:
    match neighbours:
        case Reach(steps):
            return {"reach": steps}
        case Metric(unit):
            return {"metric": str(unit)}
        case Everyone():
            return {"everyone": True}


def _read_neighbours(part: Json) -> Neighbours:
    if len(part) != 1:
        raise ValueError("neighbours must be said in one way")
    match part:
        case {"reach": int(steps)}:
            return Reach(steps)
        case {"metric": str(unit)}:
            return Metric(read_fraction(unit))
        case {"everyone": True}:
            return Everyone()
    raise ValueError("neighbours must be a reach, a metric or everyone")


def law_json(law: Law) -> Json:
    if isinstance(law, Matrix):
        return {"matrix": [_text(row) for row in law.weights.tolist()]}
    remap = None if law.remap is None else _text(law.remap.tolist())
    sizes = {"floor": str(law.floor), "end": str(law.end), "size": str(law.size)}
    return {"noise": {"core": _text(law.core.tolist()), **sizes, "remap": remap}}


def read_law(part: Json) -> Law:
    if len(part) != 1:
        raise ValueError("the law must be a matrix or a noise table")
    if "matrix" in part:
        return Matrix(_array([_whole_numbers(row) for row in part["matrix"]]))
    noise = part["noise"]
    (floor,), (end,), (size,) = (_whole_numbers(noise[key]) for key in ("floor", "end", "size"))
    remap = None if noise["remap"] is None else _array(_whole_numbers(noise["remap"]))
    return Noise(_array(_whole_numbers(noise["core"])), floor, end, size, remap)


def optimality_json(optimality: Optimality | None) -> Json | None:
    if optimality is None:
        return None
    return {
        "objective": optimality.objective,
        "value": repr(optimality.value),
        "bound": repr(optimality.bound),
    }


def read_optimality(part: Json | None) -> Optimality | None:
    if part is None:
        return None
    value, bound = float(part["value"]), float(part["bound"])
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise ValueError("an objective and its bound must be finite")
    return Optimality(read_line(part["objective"]), value, bound)


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _whole_numbers(text: str) -> list[int]:
    words = text.split(" ")
    if not all(_WHOLE.fullmatch(word) for word in words):
        raise ValueError("weights must be whole numbers in decimal, separated by single spaces")
    return [int(word) for word in words]


def _array(numbers: list[int] | list[list[int]]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def read_line(text: Any) -> str:
    """A text for people, without control characters that could make a terminal show something else."""
    if not isinstance(text, str) or not text.isprintable():
        raise ValueError("a text must be one printable line")
    return text


def _size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1 << 40:
        raise ValueError("a scale's size must be a positive whole number")
    return value


def read_fraction(text: Any) -> Fraction:
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError("an exact number must be text such as '3' or '1/2'")
    return Fraction(text)

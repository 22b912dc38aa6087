"""The mechanism passport: a JSON file that carries a mechanism, its claims and a digest of both.

Reading believes nothing: the digest is recomputed, the weights go through the checker, and every claim that
follows from the weights is computed again and compared. Integers are written as decimal text, because JSON
readers elsewhere round numbers beyond 2**53. Format 1; fields may be added, never redefined.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from inbounds.errors import InboundsError, PassportError, TooLarge, UnknownVersion
from inbounds.exact import Ints
from inbounds.law import Law, Matrix, Noise
from inbounds.loss import NAMED
from inbounds.mechanism import Mechanism, Optimality, Origin
from inbounds.query import Cells, Everyone, Metric, Neighbours, Query, Reach, Scale

FORMAT = "inbounds mechanism"
VERSION = 1
_WHOLE = re.compile(r"0|[1-9]\d{0,18}")
_EXACT = re.compile(r"-?\d{1,400}(/\d{1,400})?")

Json = dict[str, Any]


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write the passport; the file appears whole or not at all."""
    write(passport(mechanism), path)


def load(path: str | os.PathLike[str]) -> Mechanism:
    """Read and re-certify a passport; any doubt is a `PassportError` that says what is wrong."""
    return read(content_of(path, "mechanism passport"))


def write(content: Json, path: str | os.PathLike[str]) -> None:
    """JSON text under `path`, whole or not at all."""
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with unfinished.open("x", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def content_of(path: str | os.PathLike[str], what: str) -> Any:
    """The JSON values of a file, none of them named twice; `what` names the kind of file in the error."""
    try:
        return json.loads(Path(path).read_text("utf-8"), object_pairs_hook=_no_repeats)
    except (ValueError, RecursionError) as reason:
        raise PassportError(f"{path} is not a {what}: it is not JSON text") from reason


def passport(mechanism: Mechanism) -> Json:
    """The mechanism as plain JSON values, with the digest of everything else in it."""
    content: Json = {
        "format": FORMAT,
        "version": VERSION,
        "query": _query_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": _law_json(mechanism.law),
        "origin": {
            "name": mechanism.origin.name,
            "parameters": dict(mechanism.origin.parameters),
            "reference": mechanism.origin.reference,
        },
        "claims": claims(mechanism),
        "optimality": _optimality_json(mechanism.optimality),
    }
    return {**content, "sha256": digest(content)}


def digest(content: Json) -> str:
    """sha256 of the canonical JSON text of all fields but the digest itself."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def claims(mechanism: Mechanism) -> Json:
    """What follows from the weights: losses under the uniform prior, properties in units, the tight epsilon."""
    named = NAMED if mechanism.query.ordered else {"zero-one": NAMED["zero-one"]}
    found: Json = {"losses": {}, "properties": {}}
    try:
        found["losses"] = {name: f"{mechanism.loss(name):.12g}" for name in named}
        found["properties"] = {name: str(held.units) for name, held in mechanism.properties().items()}
    except TooLarge:
        pass
    found["effective_epsilon"] = f"{mechanism.effective_epsilon():.12g}"
    return found


def read(content: Any) -> Mechanism:
    """A mechanism from a passport's JSON values, certified anew."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise PassportError(f"a passport must be a JSON object with the format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise UnknownVersion(f"passport version must be {VERSION}, got {str(content.get('version'))[:20]!r}")
    if content.get("sha256") != digest(content):
        raise PassportError("the digest does not match: the file was changed after it was written")
    try:
        mechanism = _mechanism(content)
        follows = _same_claims(content.get("claims"), claims(mechanism))
    except InboundsError as reason:
        raise PassportError(f"the weights are not private: {reason}") from reason
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise PassportError(f"the passport is malformed: {reason}") from reason
    if not follows:
        raise PassportError("the claims do not follow from the weights")
    if not _same_objective(mechanism):
        raise PassportError("the value of the objective does not follow from the weights")
    return mechanism


def _same_objective(mechanism: Mechanism) -> bool:
    """The stated value, where the objective names a loss and no prior; a bound above the value is a lie anyway."""
    best = mechanism.optimality
    if best is None:
        return True
    found = re.fullmatch(r"(average|worst) (absolute|squared|zero-one) loss", best.objective)
    if not best.bound <= best.value or found is None:
        return best.bound <= best.value
    measure = mechanism.loss if found[1] == "average" else mechanism.worst_loss
    return abs(measure(found[2]) - best.value) <= 1e-9 * max(1.0, abs(best.value))


def _same_claims(written: Any, computed: Json) -> bool:
    """Properties to the unit; floats to 1e-9, because sums may round differently on another machine."""

    def close(a: str, b: str) -> bool:
        return abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(b)))

    try:
        return (
            set(written) >= set(computed)
            and written["properties"] == computed["properties"]
            and set(written["losses"]) == set(computed["losses"])
            and all(close(written["losses"][name], value) for name, value in computed["losses"].items())
            and close(written["effective_epsilon"], computed["effective_epsilon"])
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _mechanism(content: Json) -> Mechanism:
    origin = content["origin"]
    parameters = {_line(key): _line(value) for key, value in origin["parameters"].items()}
    return Mechanism(
        _read_query(content["query"]),
        _fraction(content["epsilon"]),
        _read_law(content["law"]),
        Origin(_line(origin["name"]), parameters, _line(origin["reference"])),
        _read_optimality(content["optimality"]),
    )


# --- parts ------------------------------------------------------------------------------------------------


def _query_json(query: Query) -> Json:
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
    }


def _read_query(part: Json) -> Query:
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
    return Query(_line(part["kind"]), answers, outputs, neighbours, part["rounds"], labels)


def _scale_json(scale: Scale) -> Json:
    ticks = {"size": len(scale)} if scale.regular else {"ticks": _text(scale.ticks)}
    return {"start": str(scale.start), "unit": str(scale.unit), **ticks}


def _read_scale(part: Json) -> Scale:
    ticks = range(_size(part["size"])) if "size" in part else tuple(_whole_numbers(part["ticks"]))
    return Scale(_fraction(part["start"]), _fraction(part["unit"]), ticks)


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
            return Metric(_fraction(unit))
        case {"everyone": True}:
            return Everyone()
    raise ValueError("neighbours must be a reach, a metric or everyone")


def _law_json(law: Law) -> Json:
    if isinstance(law, Matrix):
        return {"matrix": [_text(row) for row in law.weights.tolist()]}
    remap = None if law.remap is None else _text(law.remap.tolist())
    sizes = {"floor": str(law.floor), "end": str(law.end), "size": str(law.size)}
    return {"noise": {"core": _text(law.core.tolist()), **sizes, "remap": remap}}


def _read_law(part: Json) -> Law:
    if len(part) != 1:
        raise ValueError("the law must be a matrix or a noise table")
    if "matrix" in part:
        return Matrix(_array([_whole_numbers(row) for row in part["matrix"]]))
    noise = part["noise"]
    (floor,), (end,), (size,) = (_whole_numbers(noise[key]) for key in ("floor", "end", "size"))
    remap = None if noise["remap"] is None else _array(_whole_numbers(noise["remap"]))
    return Noise(_array(_whole_numbers(noise["core"])), floor, end, size, remap)


def _optimality_json(optimality: Optimality | None) -> Json | None:
    if optimality is None:
        return None
    return {
        "objective": optimality.objective,
        "value": repr(optimality.value),
        "bound": repr(optimality.bound),
    }


def _read_optimality(part: Json | None) -> Optimality | None:
    if part is None:
        return None
    value, bound = float(part["value"]), float(part["bound"])
    if not (math.isfinite(value) and math.isfinite(bound)):
        raise ValueError("an objective and its bound must be finite")
    return Optimality(_line(part["objective"]), value, bound)


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _whole_numbers(text: str) -> list[int]:
    words = text.split(" ")
    if not all(_WHOLE.fullmatch(word) for word in words):
        raise ValueError("weights must be whole numbers in decimal, separated by single spaces")
    return [int(word) for word in words]


def _array(numbers: list[int] | list[list[int]]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _line(text: Any) -> str:
    """A text for people, without control characters that could make a terminal show something else."""
    if not isinstance(text, str) or not text.isprintable():
        raise ValueError("a text must be one printable line")
    return text


def _size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 1 << 40:
        raise ValueError("a scale's size must be a positive whole number")
    return value


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError("an exact number must be text such as '3' or '1/2'")
    return Fraction(text)


def _no_repeats(pairs: list[tuple[str, Any]]) -> Json:
    if len({key for key, _ in pairs}) < len(pairs):
        raise PassportError("a passport must not repeat a field")
    return dict(pairs)

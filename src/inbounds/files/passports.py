"""The mechanism passport: a JSON file that carries a mechanism, its claims and a digest of both.

Reading believes nothing: the digest is recomputed, the weights go through the checker, and every claim that
follows from the weights is computed again and compared. Integers are written as decimal text, because JSON
readers elsewhere round numbers beyond 2**53. Fields may be added, never redefined. Version 1 is what 0.1 wrote;
version 2 says that the query has an allowance for the arithmetic behind real answers, which a reader must know.
"""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from inbounds.errors import InboundsError, PassportError, TooLarge, UnknownVersion
from inbounds.files.spelling import (
    Json,
    law_json,
    optimality_json,
    query_json,
    read_fraction,
    read_law,
    read_line,
    read_optimality,
    read_query,
)
from inbounds.loss import NAMED
from inbounds.mechanism import Mechanism, Origin

FORMAT = "inbounds mechanism"
VERSIONS = (1, 2)


def save(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write the passport; the file appears whole or not at all."""
    write(passport(mechanism), path)


def load(path: str | os.PathLike[str]) -> Mechanism:
    """Read and re-certify a passport; any doubt is a `PassportError` that says what is wrong."""
    return read(content_of(path, "mechanism passport"))


def write(content: Json, path: str | os.PathLike[str]) -> None:
    """JSON text under `path`, whole or not at all; what is there is replaced only if it is of the same format."""
    target = Path(path)
    _refuse_others(target, content["format"])
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with unfinished.open("x", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _refuse_others(target: Path, kind: str) -> None:
    """A mistyped name must not cost anybody a survey, or the record of a release."""
    if not target.exists():
        return
    if format_of(target) != kind:
        raise ValueError(f"{target} exists and is no file of the format {kind!r}; give another name")


def format_of(path: str | os.PathLike[str]) -> str | None:
    """What a file says it is; None if it is no JSON object with a format."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))["format"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


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
        "version": version_of(mechanism),
        "query": query_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": law_json(mechanism.law),
        "origin": {
            "name": mechanism.origin.name,
            "parameters": dict(mechanism.origin.parameters),
            "reference": mechanism.origin.reference,
        },
        "claims": claims(mechanism),
        "optimality": optimality_json(mechanism.optimality),
    }
    return {**content, "sha256": digest(content)}


def summary(mechanism: Mechanism) -> Json:
    """The passport without its weights: what people and machines read of it."""
    return {key: value for key, value in passport(mechanism).items() if key != "law"}


def version_of(mechanism: Mechanism) -> int:
    """The oldest version that can say all of it, so that old readers read what they can and refuse the rest."""
    return 2 if mechanism.query.allowance else 1


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
    if type(content.get("version")) is not int or content["version"] not in VERSIONS:
        raise UnknownVersion(f"passport version must be 1 or 2, got {str(content.get('version'))[:20]!r}")
    if content.get("sha256") != digest(content):
        raise PassportError("the digest does not match: the file was changed after it was written")
    try:
        mechanism = _mechanism(content)
        follows = _same_claims(content.get("claims"), claims(mechanism))
    except InboundsError as reason:
        raise PassportError(f"the weights are not private: {reason}") from reason
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
        raise PassportError(f"the passport is malformed: {reason}") from reason
    if content["version"] != version_of(mechanism):
        raise PassportError("the version does not fit the query: only version 2 has an allowance, and always one")
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
    parameters = {read_line(key): read_line(value) for key, value in origin["parameters"].items()}
    return Mechanism(
        read_query(content["query"]),
        read_fraction(content["epsilon"]),
        read_law(content["law"]),
        Origin(read_line(origin["name"]), parameters, read_line(origin["reference"])),
        read_optimality(content["optimality"]),
    )


def _no_repeats(pairs: list[tuple[str, Any]]) -> Json:
    if len({key for key, _ in pairs}) < len(pairs):
        raise PassportError("a passport must not repeat a field")
    return dict(pairs)


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """The same file by any of its names, links included; or the same name of a file that is not there yet."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)

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
from inbounds.files.intake import from_json, text_of
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
from inbounds.loss import NAMED, ErrorLoss, off_by_more_than, power
from inbounds.mechanism import Mechanism, Origin, clamped
from inbounds.mechanism.law import Matrix, Noise
from inbounds.trusted.extent import DEEPEST, MOST_CELLS, MOST_DIGITS, MOST_RECOMPUTED

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
        return from_json(text_of(path), _no_repeats)
    except ValueError as reason:
        raise PassportError(f"{path} is not a {what}: it is not JSON text nested at most {DEEPEST} deep") from reason


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
        found["losses"] = {name: f"{average_loss(mechanism, name):.12g}" for name in named}
        found["properties"] = {name: str(held.units) for name, held in mechanism.properties().items()}
    except TooLarge:
        pass
    found["effective_epsilon"] = f"{_stated_epsilon(mechanism):.12g}"
    return found


def _stated_epsilon(mechanism: Mechanism) -> float:
    """Format 1 states the tight epsilon of a matrix, and of a noise table what it was made for; `verify` says both."""
    return float(mechanism.epsilon) if isinstance(mechanism.law, Noise) else mechanism.effective_epsilon()


def average_loss(mechanism: Mechanism, name: str) -> float:
    """The named loss under the uniform prior; of a long noise table in closed form."""
    law, unit = mechanism.law, mechanism.query.answers.unit
    if isinstance(law, Noise) and law.remap is None and law.size > MOST_RECOMPUTED:
        return float(clamped.average(law, name) * unit ** {"absolute": 1, "squared": 2, "zero-one": 0}[name])
    return mechanism.loss(name)


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
    """The stated value, where the objective can be recomputed; a bound above the value is a lie anyway."""
    best = mechanism.optimality
    if best is None:
        return True
    found = objective_value(mechanism)
    true = best.bound <= best.value
    return true and (found is None or abs(found - best.value) <= 1e-9 * max(1.0, abs(best.value)))


def objective_value(mechanism: Mechanism) -> float | None:
    """What the objective of a designed mechanism really is; None where its words do not say how to compute it.

    They do for the losses with a name, on average under the uniform prior or for the worst answer. Whatever else an
    objective says, such as a prior or a loss table of the designer, is claimed and not checked.
    """
    best = mechanism.optimality
    words = None if best is None else _OBJECTIVE.fullmatch(best.objective)
    if words is None:
        return None
    law, loss = mechanism.law, _loss(words)
    long = isinstance(law, Noise) and law.remap is None and law.size > MOST_RECOMPUTED
    if long and (words["aim"] == "worst" or words["name"] is None):
        return None
    if words["aim"] == "worst":
        return mechanism.worst_loss(loss)
    return average_loss(mechanism, loss.name) if words["name"] else mechanism.loss(loss)


_OBJECTIVE = re.compile(
    r"(?P<aim>average|worst) (?:(?P<name>absolute|squared|zero-one)"
    r"|off by more than (?P<distance>[0-9]{1,40}(?:/[0-9]{1,40})?)|power (?P<power>[0-9]{1,3}(?:/[0-9]{1,3})?)) loss"
)


def _loss(words: re.Match[str]) -> ErrorLoss:
    if words["name"]:
        return NAMED[words["name"]]
    return off_by_more_than(words["distance"]) if words["distance"] else power(words["power"])


def _same_claims(written: Any, computed: Json) -> bool:
    """Properties to the unit; floats to 1e-9, because sums may round differently on another machine."""

    def close(a: str, b: str) -> bool:
        return len(a) <= MOST_DIGITS and abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(b)))

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
    origin, law = content["origin"], read_law(content["law"])
    parameters = {read_line(key): read_line(value) for key, value in origin["parameters"].items()}
    remap = law.remap if isinstance(law, Noise) else None
    written = max(law.weights.shape) if isinstance(law, Matrix) else 0 if remap is None else len(remap)
    return Mechanism(
        read_query(content["query"], max(MOST_CELLS, written)),
        read_fraction(content["epsilon"]),
        law,
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


def settle(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

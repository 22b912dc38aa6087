"""Reading a passport without belief: the weights are certified anew, and every claim computed again."""

import os
from contextlib import AbstractContextManager
from typing import Any

from inbounds.errors import PassportError
from inbounds.files import Json, as_passport_error, read_json_file
from inbounds.mechanism.codec import (
    ORIGIN_FIELDS,
    law_from_json,
    optimality_from_json,
    parse_fraction,
    parse_line,
    query_from_json,
    query_to_json,
    refuse_unknown_fields,
)
from inbounds.mechanism.law import Matrix, Noise
from inbounds.mechanism.mechanism import Mechanism
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.passport import (
    LABEL_PASSPORT,
    PASSPORT,
    QUANTILE_PASSPORT,
    compute_claims,
    read_objective,
    recompute_objective,
    version_of,
)
from inbounds.query.query import KINDS
from inbounds.trusted.limits import MOST_CELLS, MOST_DIGITS

PASSPORT_FIELDS = {
    **dict.fromkeys(("format", "version", "query", "epsilon", "sha256")),
    "law": {
        "matrix": None,
        "noise": dict.fromkeys(("core", "floor", "end", "size", "remap")),
        "response": dict.fromkeys(("size", "other")),
        "plane": dict.fromkeys(("table", "anywhere", "remap")),
    },
    "origin": ORIGIN_FIELDS,
    "claims": dict.fromkeys(("losses", "properties", "effective_epsilon")),
    "optimality": dict.fromkeys(("objective", "value", "bound", "loss", "prior")),
}
"""Every field of a passport; those of its query are compared with what a passport would say of it."""


def load(path: str | os.PathLike[str]) -> Mechanism:
    """Read and re-certify a passport; any doubt is a `PassportError` that says what is wrong."""
    return mechanism_from_json(read_json_file(path, "mechanism passport"))


def mechanism_from_json(content: Any) -> Mechanism:
    """A mechanism from a passport's JSON values, certified anew."""
    if isinstance(content, dict) and content.get("format") == QUANTILE_PASSPORT.format:
        raise PassportError("this is the passport of a quantile's mechanism; read it with ib.load_quantile")
    if isinstance(content, dict) and content.get("format") == LABEL_PASSPORT.format:
        raise PassportError(
            "this is the passport of a mechanism for labels; read it with ib.local.load_local_mechanism"
        )
    mechanism = certify_json(content)
    with _refusing():
        follows = _same_claims(content.get("claims"), compute_claims(mechanism))
    _refuse_other_version(content, mechanism)
    refuse_unknown_fields(content, PASSPORT_FIELDS)
    if content["query"] != query_to_json(mechanism.query) or mechanism.query.kind not in KINDS:
        raise PassportError("the query must be written as passports write one, of a known kind and without more fields")
    if not follows:
        raise PassportError("the claims do not follow from the weights")
    with _refusing():
        says_its_loss, same_objective = _says_its_loss(mechanism), _same_objective(mechanism)
    if not says_its_loss:
        raise PassportError("the objective must have a loss with a name, or the passport its table, and not both")
    if not same_objective:
        raise PassportError("the value of the objective does not follow from the weights")
    return mechanism


def certify_json(content: Any) -> Mechanism:
    """As `mechanism_from_json`, without computing every claim again: for passports of one's own, whose claims nobody
    reads.

    The digest is compared and the weights are certified all the same.
    """
    PASSPORT.unwrap(content)
    with _refusing():
        return _mechanism(content)


def certify_law_only(content: Any) -> Mechanism:
    """The mechanism of a passport's query, epsilon and law, certified anew; what it says beside them is left aside.

    This much is judged by `inbounds-check` too, the checker that is extracted from the machine-checked proof.
    """
    PASSPORT.unwrap(content)
    with _refusing():
        mechanism = _from_numbers(content, Origin("unnamed"))
    _refuse_other_version(content, mechanism)
    return mechanism


def _refuse_other_version(content: Json, mechanism: Mechanism) -> None:
    if content["version"] != version_of(mechanism):
        raise PassportError(
            "the version must be 5 where the law is noise on a map, else 4 where the answers lie on a graph, "
            "else 3 where the law is two weights, else 2 where the query has an allowance, else 1"
        )


def _refusing() -> AbstractContextManager[None]:
    return as_passport_error("the passport is malformed", "the weights are not private")


def _says_its_loss(mechanism: Mechanism) -> bool:
    """Whether loss table and prior are there where the words of the objective mean one.

    A law without a matrix may be too large for a table or a prior; its value is then claimed.
    """
    best = mechanism.optimality
    if best is None:
        return True
    words = read_objective(best.objective)
    if words is None:
        return best.loss_table is None and best.prior is None
    named = words.is_named
    has_loss = named if best.loss_table is None else not named
    return (has_loss or not isinstance(mechanism.law, Matrix)) and (best.prior is None or words.has_prior)


def _same_objective(mechanism: Mechanism) -> bool:
    """The stated value, where the objective can be recomputed; a bound above the value is a lie anyway."""
    best = mechanism.optimality
    if best is None:
        return True
    found = recompute_objective(mechanism)
    true = best.bound <= best.value
    return true and (found is None or abs(found - best.value) <= 1e-9 * max(1.0, abs(best.value)))


def _same_claims(written: Any, computed: Json) -> bool:
    """Properties to the unit; floats to 1e-9, because sums may round differently on another machine."""

    def close(a: str, b: str) -> bool:
        return len(a) <= MOST_DIGITS and abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(b)))

    try:
        return (
            set(written) == set(computed)
            and written["properties"] == computed["properties"]
            and set(written["losses"]) == set(computed["losses"])
            and all(close(written["losses"][name], value) for name, value in computed["losses"].items())
            and close(written["effective_epsilon"], computed["effective_epsilon"])
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _mechanism(content: Json) -> Mechanism:
    origin = content["origin"]
    parameters = {parse_line(key): parse_line(value) for key, value in origin["parameters"].items()}
    named = Origin(parse_line(origin["name"]), parameters, parse_line(origin["reference"]))
    return _from_numbers(content, named, content["optimality"])


def _from_numbers(content: Json, origin: Origin, optimality: Json | None = None) -> Mechanism:
    law = law_from_json(content["law"])
    remap = law.remap if isinstance(law, Noise) else None
    written = max(law.weights.shape) if isinstance(law, Matrix) else 0 if remap is None else len(remap)
    query = query_from_json(content["query"], max(MOST_CELLS, written))
    return Mechanism(
        query, parse_fraction(content["epsilon"]), law, origin, optimality_from_json(optimality, query.shape)
    )

"""Reader of passports: the law is certified again, and every claim that can be computed is compared."""

from contextlib import AbstractContextManager
from typing import Any

from inbounds.errors import PassportError
from inbounds.files import (
    MECHANISM,
    Document,
    FileFormat,
    FileLike,
    Json,
    as_passport_error,
    refuse_unknown_fields,
)
from inbounds.mechanism.codec import (
    JOINT,
    ORIGIN_FIELDS,
    QUANTILE,
    count_law_cells,
    law_from_json,
    optimality_from_json,
    origin_from_json,
    query_fields,
    query_from_json,
    query_to_json,
)
from inbounds.mechanism.json_values import parse_fraction
from inbounds.mechanism.laws import LAWS, Matrix
from inbounds.mechanism.mechanism import AnyMechanism, Mechanism
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.passport import compute_claims, read_objective, recompute_objective
from inbounds.query.query import KINDS
from inbounds.trusted.limits import MOST_CELLS, MOST_DIGITS

CLAIM_FIELDS = {
    "claims": dict.fromkeys(("losses", "properties", "effective_epsilon")),
    "optimality": dict.fromkeys(("objective", "value", "bound", "loss", "prior")),
}
"""The fields of claims, in the passport of a law that has any."""


def mechanism_from_document(passport: Document) -> AnyMechanism:
    """Return the mechanism of a passport, certified again, with every claim that can be computed compared.

    Raises `PassportError` if anything is wrong.
    """
    mechanism, content = certify_document(passport), passport.content
    if content["query"] != query_to_json(mechanism.query) or content["query"]["kind"] not in {*KINDS, QUANTILE, JOINT}:
        raise PassportError("the query must be written as passports write one, of a known kind and without more fields")
    if mechanism.law.has_claims:
        _compare_claims(mechanism, content)
    return mechanism


PASSPORT = FileFormat(MECHANISM, "mechanism passport", mechanism_from_document)


def load(file: FileLike) -> AnyMechanism:
    """Read and re-certify a passport. Raises `PassportError` if anything is wrong."""
    return PASSPORT.read(file)


def certify_document(passport: Document) -> AnyMechanism:
    """Return the certified mechanism of a passport without comparing its claims: for cached designs."""
    _refuse_unknown(passport.content)
    with _as_refusal():
        content = passport.content
        return _mechanism_from_numbers(content, origin_from_json(content["origin"]), content.get("optimality"))


def certify_law_only(file: FileLike) -> AnyMechanism:
    """Return the certified mechanism of a passport's query, epsilon and law; ignore all other fields.

    `inbounds-check`, the checker extracted from the machine-checked proof, judges the same fields.
    """
    passport = PASSPORT.load(file)
    _refuse_unknown(passport.content)
    with _as_refusal():
        return _mechanism_from_numbers(passport.content, Origin("unnamed"))


def _refuse_unknown(content: Json) -> None:
    """Raise `PassportError` for a field that no rule knows, or that this kind of law has not."""
    part = content.get("law")
    law = LAWS.get(next(iter(part), "")) if isinstance(part, dict) else None
    known = {
        "query": query_fields(content.get("query")),
        "epsilon": None,
        "law": {kind: each.fields for kind, each in LAWS.items()},
        "origin": ORIGIN_FIELDS,
        **(CLAIM_FIELDS if law is None or law.has_claims else {}),
    }
    refuse_unknown_fields(content, known, "the passport")


def _as_refusal() -> AbstractContextManager[None]:
    return as_passport_error("the passport is malformed", "the weights are not private")


def _mechanism_from_numbers(content: Json, origin: Origin, optimality: Json | None = None) -> AnyMechanism:
    cells = max(MOST_CELLS, count_law_cells(content["law"]))
    query = query_from_json(content["query"], cells)
    law, epsilon = law_from_json(content["law"], query), parse_fraction(content["epsilon"])
    return Mechanism(query, epsilon, law, origin, optimality_from_json(optimality, query.as_range_query.shape))


def _compare_claims(mechanism: Mechanism, content: Json) -> None:
    """Raise `PassportError` unless claims and optimality agree with the weights."""
    with _as_refusal():
        content["optimality"]
        claims_agree = _are_same_claims(content.get("claims"), compute_claims(mechanism))
    if not claims_agree:
        raise PassportError("the stated losses or properties differ from those computed from the weights")
    with _as_refusal():
        loss_is_stated, objective_agrees = _states_its_loss(mechanism), _is_same_objective(mechanism)
    if not loss_is_stated:
        raise PassportError("the objective must have a loss with a name, or the passport its table, and not both")
    if not objective_agrees:
        raise PassportError("the value of the objective does not follow from the weights")


def _states_its_loss(mechanism: Mechanism) -> bool:
    """Return whether the passport has a loss table and a prior exactly if the words of the objective need them.

    Other laws than a matrix may be too large for them; then the value stays an unchecked claim.
    """
    best = mechanism.optimality
    if best is None:
        return True
    words = read_objective(best.objective)
    if words is None:
        return best.loss_table is None and best.prior is None
    is_named = words.is_named
    has_loss = is_named if best.loss_table is None else not is_named
    return (has_loss or not isinstance(mechanism.law, Matrix)) and (best.prior is None or words.has_prior)


def _is_same_objective(mechanism: Mechanism) -> bool:
    """Return whether the stated value agrees with the recomputed one, if there is one, and is not below the bound."""
    best = mechanism.optimality
    if best is None:
        return True
    recomputed = recompute_objective(mechanism)
    is_consistent = best.bound <= best.value
    return is_consistent and (recomputed is None or abs(recomputed - best.value) <= 1e-9 * max(1.0, abs(best.value)))


def _are_same_claims(stated: Any, computed: Json) -> bool:
    """Return whether properties agree exactly, and floats to 1e-9: sums may round differently on another machine."""

    def close(a: str, b: str) -> bool:
        return len(a) <= MOST_DIGITS and abs(float(a) - float(b)) <= 1e-9 * max(1.0, abs(float(b)))

    try:
        return (
            set(stated) == set(computed)
            and stated["properties"] == computed["properties"]
            and set(stated["losses"]) == set(computed["losses"])
            and all(close(stated["losses"][name], value) for name, value in computed["losses"].items())
            and close(stated["effective_epsilon"], computed["effective_epsilon"])
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False

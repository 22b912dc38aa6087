"""Readers of passports: the weights are certified again, and every claim that can be computed is compared."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Union

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
    LABEL_LAWS,
    ORIGIN_FIELDS,
    QUANTILE,
    QUERY_FIELDS,
    law_from_json,
    optimality_from_json,
    parse_fraction,
    parse_line,
    query_from_json,
    query_to_json,
)
from inbounds.mechanism.law import Matrix, Noise
from inbounds.mechanism.mechanism import Mechanism
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.passport import compute_claims, read_objective, recompute_objective
from inbounds.query.query import KINDS
from inbounds.trusted.limits import MOST_CELLS, MOST_DIGITS

if TYPE_CHECKING:
    from inbounds.mechanism.labels import LabelMechanism
    from inbounds.mechanism.quantiles import QuantileMechanism

AnyMechanism = Union[Mechanism, "QuantileMechanism", "LabelMechanism"]

RANGE_FIELDS = {
    "query": QUERY_FIELDS,
    "epsilon": None,
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
"""Every field of the passport of a `Mechanism`."""


def is_quantile_passport(passport: Document) -> bool:
    """Return whether a passport is of a quantile's mechanism, by the kind of its query."""
    query = passport.content.get("query")
    return isinstance(query, Mapping) and query.get("kind") == QUANTILE


def is_label_passport(passport: Document) -> bool:
    """Return whether a passport is of a label mechanism, by the key of its law."""
    law = passport.content.get("law")
    return isinstance(law, Mapping) and any(name in law for name in LABEL_LAWS)


def mechanism_from_document(passport: Document) -> AnyMechanism:
    """Return the mechanism of a passport of any kind, certified again. Raises `PassportError` if anything is wrong."""
    if is_quantile_passport(passport):
        return quantile_mechanism_from_document(passport)
    if is_label_passport(passport):
        return label_mechanism_from_document(passport)
    return range_mechanism_from_document(passport)


PASSPORT = FileFormat(MECHANISM, "mechanism passport", mechanism_from_document)


def load(file: FileLike) -> Mechanism:
    """Read and re-certify a passport. Raises `PassportError` if anything is wrong."""
    return range_mechanism_from_document(PASSPORT.load(file))


def load_quantile(file: FileLike) -> "QuantileMechanism":
    """Read and re-certify a quantile's passport. Raises `PassportError` if anything is wrong."""
    return quantile_mechanism_from_document(PASSPORT.load(file))


def load_label_mechanism(file: FileLike) -> "LabelMechanism":
    """Read and re-certify a label mechanism's passport. Raises `PassportError` if anything is wrong."""
    return label_mechanism_from_document(PASSPORT.load(file))


def quantile_mechanism_from_document(passport: Document) -> "QuantileMechanism":
    """Return the mechanism of a quantile's passport, certified again."""
    from inbounds.mechanism.quantiles.load import QUANTILE_FIELDS, quantile_mechanism_from_content

    if not is_quantile_passport(passport):
        raise PassportError("this is not the passport of a quantile's mechanism; read it with ib.load")
    refuse_unknown_fields(passport.content, QUANTILE_FIELDS, "the passport")
    with _as_refusal():
        return quantile_mechanism_from_content(passport.content)


def label_mechanism_from_document(passport: Document) -> "LabelMechanism":
    """Return the mechanism of a label mechanism's passport, certified again."""
    from inbounds.mechanism.labels.load import LABEL_FIELDS, label_mechanism_from_content

    if not is_label_passport(passport):
        raise PassportError("this is not the passport of a mechanism for labels; read it with ib.load")
    refuse_unknown_fields(passport.content, LABEL_FIELDS, "the passport")
    with _as_refusal():
        return label_mechanism_from_content(passport.content)


def range_mechanism_from_document(passport: Document) -> Mechanism:
    """Return the `Mechanism` of a passport, certified again, with every claim that can be computed compared."""
    mechanism, content = certify_document(passport), passport.content
    with _as_refusal():
        claims_agree = _are_same_claims(content.get("claims"), compute_claims(mechanism))
    if content["query"] != query_to_json(mechanism.query) or mechanism.query.kind not in KINDS:
        raise PassportError("the query must be written as passports write one, of a known kind and without more fields")
    if not claims_agree:
        raise PassportError("the claims do not follow from the weights")
    with _as_refusal():
        loss_is_stated, objective_agrees = _states_its_loss(mechanism), _is_same_objective(mechanism)
    if not loss_is_stated:
        raise PassportError("the objective must have a loss with a name, or the passport its table, and not both")
    if not objective_agrees:
        raise PassportError("the value of the objective does not follow from the weights")
    return mechanism


def certify_document(passport: Document) -> Mechanism:
    """Return the certified `Mechanism` of a passport without comparing its claims: for cached designs."""
    _refuse_other_kinds(passport)
    with _as_refusal():
        return _mechanism_from_content(passport.content)


def certify_law_only(file: FileLike) -> Mechanism:
    """Return the certified mechanism of a passport's query, epsilon and law; ignore all other fields.

    `inbounds-check`, the checker extracted from the machine-checked proof, judges the same fields.
    """
    passport = PASSPORT.load(file)
    _refuse_other_kinds(passport)
    with _as_refusal():
        return _mechanism_from_numbers(passport.content, Origin("unnamed"))


def _refuse_other_kinds(passport: Document) -> None:
    if is_quantile_passport(passport):
        raise PassportError("this is the passport of a quantile's mechanism; read it with ib.load_quantile")
    if is_label_passport(passport):
        raise PassportError(
            "this is the passport of a mechanism for labels; read it with ib.local.load_local_mechanism"
        )
    refuse_unknown_fields(passport.content, RANGE_FIELDS, "the passport")


def _as_refusal() -> AbstractContextManager[None]:
    return as_passport_error("the passport is malformed", "the weights are not private")


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


def _mechanism_from_content(content: Json) -> Mechanism:
    origin = content["origin"]
    parameters = {parse_line(key): parse_line(value) for key, value in origin["parameters"].items()}
    mechanism_origin = Origin(parse_line(origin["name"]), parameters, parse_line(origin["reference"]))
    return _mechanism_from_numbers(content, mechanism_origin, content["optimality"])


def _mechanism_from_numbers(content: Json, origin: Origin, optimality: Json | None = None) -> Mechanism:
    law = law_from_json(content["law"])
    remap = law.remap if isinstance(law, Noise) else None
    listed_cells = max(law.weights.shape) if isinstance(law, Matrix) else 0 if remap is None else len(remap)
    query = query_from_json(content["query"], max(MOST_CELLS, listed_cells))
    return Mechanism(
        query, parse_fraction(content["epsilon"]), law, origin, optimality_from_json(optimality, query.shape)
    )

"""The mechanism passport: a JSON file that carries a mechanism, its claims and a digest of both.

All mechanisms have one format, inbounds/mechanism: the kind of the query and the key of the law tell them apart.
Reading (`load`) checks everything anew. Integers are written as decimal text, because JSON readers elsewhere round
numbers beyond 2**53. Readers refuse unknown fields.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

from inbounds.errors import TooLarge
from inbounds.files import MECHANISM, Document, Json
from inbounds.losses import NAMED, ON_GRAPHS, ErrorLoss, TableLoss, power_loss, threshold_loss
from inbounds.mechanism import clamped
from inbounds.mechanism.codec import law_to_json, optimality_to_json, query_to_json
from inbounds.mechanism.law import Law, Matrix, Noise
from inbounds.mechanism.plane import PlaneNoise
from inbounds.mechanism.response import Response
from inbounds.trusted.limits import MOST_RECOMPUTED

if TYPE_CHECKING:
    from inbounds.mechanism.mechanism import Mechanism


def to_passport(mechanism: "Mechanism") -> Document:
    """The passport of a mechanism."""
    content: Json = {
        "query": query_to_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": law_to_json(mechanism.law),
        "origin": {
            "name": mechanism.origin.name,
            "parameters": dict(mechanism.origin.parameters),
            "reference": mechanism.origin.reference,
        },
        "claims": compute_claims(mechanism),
        "optimality": optimality_to_json(mechanism.optimality),
    }
    return Document.wrap(MECHANISM, content)


def passport_summary(mechanism: "Mechanism") -> Json:
    """The passport without its weights, loss table and prior: what people and machines read of it."""
    passport = to_passport(mechanism)
    content, best = without_law(passport), passport.content["optimality"]
    return content if best is None else {**content, "optimality": {name: best[name] for name in OPTIMALITY_IN_SHORT}}


def without_law(passport: Document) -> Json:
    """The content of a passport without its weights, and its digest."""
    return {**{key: value for key, value in passport.content.items() if key != "law"}, "sha256": passport.sha256}


OPTIMALITY_IN_SHORT = ("objective", "value", "bound")


def compute_claims(mechanism: "Mechanism") -> Json:
    """What follows from the weights: losses under the uniform prior, properties in units, the tight epsilon."""
    named = NAMED if mechanism.query.is_ordered else {"zero-one": NAMED["zero-one"]}
    found: Json = {"losses": {}, "properties": {}}
    try:
        found["losses"] = {name: f"{average_loss(mechanism, name):.12g}" for name in named}
        found["properties"] = {name: str(held.units) for name, held in mechanism.properties().items()}
    except TooLarge:
        pass
    found["effective_epsilon"] = f"{_stated_epsilon(mechanism):.12g}"
    return found


def _stated_epsilon(mechanism: "Mechanism") -> float:
    """The tight epsilon of a matrix; of a noise table what it was made for. `verify` says both."""
    return float(mechanism.epsilon) if isinstance(mechanism.law, Noise) else mechanism.tight_epsilon()


def average_loss(mechanism: "Mechanism", name: str) -> float:
    """The named loss under the uniform prior; of a long law in closed form."""
    law, unit = mechanism.law, mechanism.query.answers.unit
    if _long(law):
        average = law.average(name) if isinstance(law, Response) else clamped.clamped_average(law, name)
        return float(average * unit ** {"absolute": 1, "squared": 2, "zero-one": 0}[name])
    return mechanism.loss(name)


def _long(law: Law) -> TypeGuard[Noise | Response]:
    """Whether a law has more answers than are gone through one by one for a claim."""
    if isinstance(law, Matrix | PlaneNoise) or (isinstance(law, Noise) and law.remap is not None):
        return False
    return law.size > MOST_RECOMPUTED


def recompute_objective(mechanism: "Mechanism") -> float | None:
    """What the objective of a designed mechanism really is; None where the passport does not say how to compute it.

    It does for the losses with a name and for a loss table in the passport, on average under the uniform prior or the
    one in the passport, or for the worst answer. The value of any other objective is claimed and not checked.
    """
    best = mechanism.optimality
    words = None if best is None else read_objective(best.objective)
    if best is None or words is None or words.has_prior != (best.prior is not None):
        return None
    loss = words.loss if best.loss_table is None else TableLoss(best.loss_table)
    if loss is None:
        return None
    if _long(mechanism.law):
        plain = words.aim == "average" and not words.has_prior and loss.name in NAMED
        return average_loss(mechanism, loss.name) if plain else None
    return mechanism.worst_loss(loss) if words.aim == "worst" else mechanism.loss(loss, best.prior)


_OBJECTIVE = re.compile(
    r"(?P<aim>average|worst) (?P<loss>.{1,200}?) loss(?P<prior> under the given prior)?"
    r"(?: (?:subject to|after the least) .*)?"
)
_NAMED = re.compile(
    r"(?P<name>absolute|squared|zero-one)"
    r"|off by more than (?P<distance>[0-9]{1,40}(?:/[0-9]{1,40})?)|power (?P<power>[0-9]{1,3}(?:/[0-9]{1,3})?)"
)


@dataclass(frozen=True)
class ObjectiveWords:
    """What the words of an objective say: the aim, whether there is a prior, and the loss; None where it has a table.

    is_named: the name says how the loss is computed.
    """

    aim: str
    loss: ErrorLoss | None
    is_named: bool
    has_prior: bool


def read_objective(words: str) -> ObjectiveWords | None:
    """The meaning of an objective's words; None where they are not ours.

    >>> read_objective("average squared loss under the given prior").has_prior
    True
    """
    found = _OBJECTIVE.fullmatch(words)
    if found is None or (found["prior"] and found["aim"] == "worst"):
        return None
    named = _NAMED.fullmatch(found["loss"])
    known = named is not None or found["loss"] in ON_GRAPHS
    return ObjectiveWords(found["aim"], None if named is None else _loss(named), known, bool(found["prior"]))


def _loss(words: re.Match[str]) -> ErrorLoss:
    if words["name"]:
        return NAMED[words["name"]]
    return threshold_loss(words["distance"]) if words["distance"] else power_loss(words["power"])

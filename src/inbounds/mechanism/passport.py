"""The mechanism passport: a JSON file with a mechanism, its claims and a digest.

All mechanisms have one format, inbounds/mechanism: the kind of the query and the key of the law tell them apart.
This module writes passports; `load` reads and checks them. Integers are decimal text, because other JSON readers round
numbers beyond 2**53. Readers refuse unknown fields.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inbounds.errors import TooLarge
from inbounds.files import MECHANISM, Document, Json
from inbounds.losses import NAMED, ON_GRAPHS, ErrorLoss, TableLoss, power_loss, threshold_loss
from inbounds.mechanism.codec import law_to_json, optimality_to_json, origin_to_json, query_to_json

if TYPE_CHECKING:
    from inbounds.mechanism.mechanism import AnyMechanism, Mechanism


def to_passport(mechanism: "AnyMechanism") -> Document:
    """Return the passport of a mechanism, with its claims computed if its law has any."""
    content: Json = {
        "query": query_to_json(mechanism.query),
        "epsilon": str(mechanism.epsilon),
        "law": law_to_json(mechanism.law),
        "origin": origin_to_json(mechanism.origin),
    }
    if mechanism.law.has_claims:
        content |= {"claims": compute_claims(mechanism), "optimality": optimality_to_json(mechanism.optimality)}
    return Document.wrap(MECHANISM, content)


OPTIMALITY_IN_SHORT = ("objective", "value", "bound")


def passport_summary(mechanism: "AnyMechanism") -> Json:
    """Return the passport's content without weights, loss table and prior, for display."""
    passport = to_passport(mechanism)
    content: Json = {**passport.content, "law": mechanism.law.kind, "sha256": passport.sha256}
    best = content.get("optimality")
    if best is not None:
        content["optimality"] = {name: best[name] for name in OPTIMALITY_IN_SHORT}
    return content


def compute_claims(mechanism: "Mechanism") -> Json:
    """Compute the claims from the weights: losses under the uniform prior, properties in units, the tight epsilon."""
    losses = NAMED if mechanism.query.is_ordered else {"zero-one": NAMED["zero-one"]}
    claims: Json = {"losses": {}, "properties": {}}
    try:
        claims["losses"] = {name: f"{average_loss(mechanism, name):.12g}" for name in losses}
        claims["properties"] = {name: str(check.units) for name, check in mechanism.properties().items()}
    except TooLarge:
        pass
    claims["effective_epsilon"] = f"{_stated_epsilon(mechanism):.12g}"
    return claims


def _stated_epsilon(mechanism: "Mechanism") -> float:
    """Return the tight epsilon; for a noise table the epsilon that it was made for."""
    return mechanism.tight_epsilon() if mechanism.law.states_tight_epsilon else float(mechanism.epsilon)


def average_loss(mechanism: "Mechanism", name: str) -> float:
    """Return the named loss under the uniform prior; for a long law in closed form."""
    average = mechanism.law.closed_average(name)
    if average is None:
        return mechanism.loss(name)
    return float(average * mechanism.query.answers.unit ** {"absolute": 1, "squared": 2, "zero-one": 0}[name])


def recompute_objective(mechanism: "Mechanism") -> float | None:
    """Compute the value of a designed mechanism's objective; None if the passport does not say how to.

    It can be computed for a named loss and for a loss table in the passport, on average under the uniform prior or the
    prior in the passport, or for the worst answer. The value of any other objective is an unchecked claim.
    """
    best = mechanism.optimality
    words = None if best is None else read_objective(best.objective)
    if best is None or words is None or words.has_prior != (best.prior is not None):
        return None
    loss = words.loss if best.loss_table is None else TableLoss(best.loss_table)
    if loss is None:
        return None
    if mechanism.law.closed_average("zero-one") is not None:
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
    """The parsed words of an objective.

    aim: average or worst. loss: the loss, or None if the words do not determine it. is_named: the name says how the
    loss is computed. has_prior: the average is under a prior in the passport.
    """

    aim: str
    loss: ErrorLoss | None
    is_named: bool
    has_prior: bool


def read_objective(words: str) -> ObjectiveWords | None:
    """Parse the words of an objective; return None if they do not have the form that designers write.

    >>> read_objective("average squared loss under the given prior").has_prior
    True
    """
    match = _OBJECTIVE.fullmatch(words)
    if match is None or (match["prior"] and match["aim"] == "worst"):
        return None
    loss_match = _NAMED.fullmatch(match["loss"])
    is_named = loss_match is not None or match["loss"] in ON_GRAPHS
    return ObjectiveWords(
        match["aim"], None if loss_match is None else _loss_from_words(loss_match), is_named, bool(match["prior"])
    )


def _loss_from_words(words: re.Match[str]) -> ErrorLoss:
    if words["name"]:
        return NAMED[words["name"]]
    return threshold_loss(words["distance"]) if words["distance"] else power_loss(words["power"])

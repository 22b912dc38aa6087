"""The guarantee of a mechanism, its proof and its accuracy, in plain sentences."""

import math
from typing import TYPE_CHECKING

from inbounds.exact import format_decimal
from inbounds.mechanism import Mechanism
from inbounds.mechanism.claims import list_unchecked_claims
from inbounds.query import RangeQuery

if TYPE_CHECKING:
    from inbounds.mechanism.labels import LabelMechanism

__all__ = [
    "LEGEND",
    "MEANING",
    "describe_accuracy",
    "describe_neighbours",
    "describe_proof",
    "describe_query",
    "format_guarantee",
    "list_unchecked_claims",
]


def format_label_guarantee(mechanism: "LabelMechanism") -> str:
    """Return the guarantee of a report that names a set of labels."""
    factor = math.exp(float(mechanism.epsilon))
    return (
        f"Whatever a person's label is, any report is at most {factor:.4g} times likelier than it would be with "
        f"another of the {len(mechanism.query.answers)} labels (epsilon {format_decimal(mechanism.epsilon)})."
    )


def format_guarantee(mechanism: Mechanism) -> str:
    """Return the guarantee in words, without formulas."""
    return mechanism.query.neighbours.promise(mechanism.query, mechanism.epsilon)


def describe_query(query: RangeQuery) -> str:
    """Describe the query in words."""
    if not query.is_ordered:
        return f"one of {len(query.answers)} {'labels' if query.places is None else 'places'}"
    first, last = query.answers[0], query.answers[-1]
    return f"{query.kind} with {len(query.answers)} possible answers from {first} to {last}"


def describe_neighbours(query: RangeQuery) -> str:
    """Describe which true answers are neighbours."""
    return query.neighbours.describe(query)


def describe_proof(mechanism: Mechanism) -> list[str]:
    """Return what the checker established, step by step."""
    return mechanism.law.proof_steps(mechanism.query)


MEANING = {
    "row_honest": "each report is likeliest when it is the truth",
    "row_monotone": "each report gets less likely the further the truth is from it",
    "column_honest": "the truth is the likeliest report",
    "column_monotone": "reports get less likely the further they are from the truth",
    "fair": "the truth is reported equally often, whatever it is",
    "weakly_honest": "the truth is reported at least as often as by blind guessing",
    "symmetric": "low and high answers are treated alike",
}
"""The structural properties in words."""

LEGEND = "RH row honest, RM row monotone, CH column honest, CM column monotone, F fair, WH weakly honest, S symmetric"


def describe_accuracy(mechanism: Mechanism) -> str:
    """Describe the error of reports in sentences."""
    from inbounds.evaluate.goals import narrowest_interval_at

    truth = mechanism.truth_probability()
    truth_text = f"with probability {_between(float(truth.min()), float(truth.max()))}"
    if not mechanism.query.is_ordered:
        return f"It reports the truth {truth_text}."
    distance = narrowest_interval_at(
        mechanism.query, mechanism.epsilon, "0.9", lambda query, epsilon: mechanism
    ).promise.distance
    assert distance is not None
    return (
        f"Averaged over all true answers it misses by {mechanism.loss():.3g}; for the true answer that it serves "
        f"worst, by {mechanism.worst_loss():.3g}. Whatever the truth, the report is within ±{float(distance):g} of it "
        f"with probability 90 % or more. It hits the truth itself {truth_text}."
    )


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if high - low < 1e-6 else f"{low:.3g} to {high:.3g}"

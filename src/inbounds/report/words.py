"""What a mechanism promises and how that was established, in plain sentences."""

import math

from inbounds.exact import EXP_BITS
from inbounds.law import Matrix
from inbounds.mechanism import Mechanism
from inbounds.query import Everyone, Metric, Query


def promise(mechanism: Mechanism) -> str:
    """The guarantee, for a reader without formulas."""
    factor = math.exp(float(mechanism.epsilon))
    if isinstance(mechanism.query.neighbours, Metric):
        unit = mechanism.query.neighbours.unit
        return (
            f"Two true answers {unit} apart give any report with probabilities that differ by a factor of at most "
            f"{factor:.4g} (epsilon {mechanism.epsilon}), and by that factor again for every further {unit}."
        )
    return (
        f"Whatever one person's record is, any report is at most {factor:.4g} times likelier than it would be "
        f"with another record in its place (epsilon {mechanism.epsilon})."
    )


def subject(query: Query) -> str:
    """What is reported about."""
    if query.labels is not None:
        return f"one of {len(query.labels)} labels"
    first, last = query.answers[0], query.answers[-1]
    return f"{query.kind} with {len(query.answers)} possible answers from {first} to {last}"


def relation(query: Query) -> str:
    """Which true answers count as neighbours."""
    if isinstance(query.neighbours, Everyone):
        return "any two true answers are neighbours"
    if isinstance(query.neighbours, Metric):
        return f"every two true answers are compared, epsilon for each {query.neighbours.unit} between them"
    return f"true answers {query.neighbours} are neighbours"


def proof(mechanism: Mechanism) -> list[str]:
    """What the checker established, step by step."""
    outputs, answers = mechanism.query.shape
    cliques = sum(1 for _ in mechanism.query.cliques())
    bound = f"p/2^{EXP_BITS} ≤ e^epsilon, found by a sum rounded down at every step"
    if isinstance(mechanism.law, Matrix):
        return [
            f"{outputs * answers} probabilities are whole multiples of 2^-62, none negative",
            f"each of the {answers} columns sums to exactly 1",
            f"in each of {cliques} groups of neighbours and for each of {outputs} outputs, "
            "the largest probability is at most p/2^128 times the smallest",
            bound,
        ]
    return [
        f"{len(mechanism.law.core)} noise probabilities are whole multiples of 2^-62, all positive, and with the "
        "constant tails they sum to exactly 1",
        "any two noise values within the reach, and any two tail sums, differ at most by the factor p/2^128",
        bound,
        "clamping and renaming outputs look only at the noisy value, so they reveal nothing more",
    ]

"""What a passport says that no program can check, or that this one does not."""

from typing import TYPE_CHECKING

from inbounds.mechanism.passport import objective_value
from inbounds.numbers import decimal
from inbounds.query import Everyone, Metric, Query

if TYPE_CHECKING:
    from inbounds.mechanism import Mechanism


def claimed(mechanism: "Mechanism") -> list[str]:
    """The claims, sentence by sentence."""
    query, best = mechanism.query, mechanism.optimality
    found = [
        f"that the question is a {query.kind}, and that {_who_moves(query)}",
        "where the mechanism comes from",
    ]
    if best is None:
        return found
    if objective_value(mechanism) is None:
        found.append(f"that its {best.objective} is {best.value:.9g}")
    left = f" ({best.remaining})" if best.remaining else ""
    return [
        *found,
        f"that no private mechanism with what was asked for has a lower {best.objective} than {best.bound:.9g}{left}",
    ]


def _who_moves(query: Query) -> str:
    if isinstance(query.neighbours, Everyone):
        return "the answers listed are all there are"
    if isinstance(query.neighbours, Metric):
        return "the distance between two answers says how well they must be protected from each other"
    return f"one person moves its answer by at most {decimal(query.sensitivity)}"

"""What a passport says that no program can check, or that this one does not."""

from typing import TYPE_CHECKING

from inbounds.exact import format_decimal
from inbounds.mechanism.passport import recompute_objective
from inbounds.query import AllPairs, Metric, RangeQuery

if TYPE_CHECKING:
    from inbounds.mechanism import Mechanism


def list_unchecked_claims(mechanism: "Mechanism") -> list[str]:
    """The claims, sentence by sentence."""
    query, best = mechanism.query, mechanism.optimality
    found = [
        f"that the question is a {query.kind}, and that {_who_moves(query)}",
        "where the mechanism comes from",
    ]
    if best is None:
        return found
    if recompute_objective(mechanism) is None:
        found.append(f"that its {best.objective} is {best.value:.9g}")
    left = f" ({best.remaining})" if best.remaining else ""
    return [
        *found,
        f"that no private mechanism with what was asked for has a lower {best.objective} than {best.bound:.9g}{left}",
    ]


def _who_moves(query: RangeQuery) -> str:
    if isinstance(query.neighbours, AllPairs):
        return "the answers listed are all there are"
    if isinstance(query.neighbours, Metric):
        return "the distance between two answers says how well they must be protected from each other"
    return f"one person moves its answer by at most {format_decimal(query.sensitivity)}"

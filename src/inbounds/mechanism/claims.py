"""The claims of a passport that this program does not check, or that no program can check."""

from typing import TYPE_CHECKING

from inbounds.mechanism.passport import recompute_objective

if TYPE_CHECKING:
    from inbounds.mechanism import AnyMechanism


def list_unchecked_claims(mechanism: "AnyMechanism") -> list[str]:
    """Return the unchecked claims as parts of sentences that begin with 'that' or 'where'."""
    query, best = mechanism.query, mechanism.optimality
    claims = [
        f"that {query.claim()}",
        "where the mechanism comes from",
    ]
    if best is None:
        return claims
    if recompute_objective(mechanism) is None:
        claims.append(f"that its {best.objective} is {best.value:.9g}")
    gap = f" ({best.remaining})" if best.remaining else ""
    return [
        *claims,
        f"that no private mechanism with what was asked for has a lower {best.objective} than {best.bound:.9g}{gap}",
    ]

"""The guarantee of a quantile's mechanism and its proof, in plain sentences."""

import math

from inbounds.exact import format_decimal
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.query import QuantileQuery


def format_quantile_guarantee(mechanism: QuantileMechanism) -> str:
    """Return the guarantee in words, without formulas."""
    query, factor = mechanism.query, math.exp(float(mechanism.epsilon))
    records = "one person's record is" if query.records == 1 else f"one person's up to {query.records} records are"
    if_replaced = "with others in their place" if query.records > 1 else "with another in its place"
    if_removed = "without them" if query.records > 1 else "without it"
    return (
        f"whatever {records}, any report is at most {factor:.4g} times likelier than it would be "
        f"{if_replaced if query.public_size else if_removed}, and at most so many times less likely "
        f"(epsilon {format_decimal(mechanism.epsilon)})"
    )


def describe_quantile_query(query: QuantileQuery) -> str:
    """Describe the query in words."""
    size = f"{'' if query.public_size else 'at most '}{query.size} records"
    return (
        f"{query.name} of {size}, with {len(query.values)} possible values from {query.values[0]} to {query.values[-1]}"
    )


def describe_quantile_proof(mechanism: QuantileMechanism) -> list[str]:
    """Return what a quantile mechanism's file proves, sentence by sentence."""
    return [
        f"{describe_quantile_query(mechanism.query)}, by a law of the kind {mechanism.law.name}",
        format_quantile_guarantee(mechanism),
        *mechanism.law.proof_steps(mechanism.query),
    ]

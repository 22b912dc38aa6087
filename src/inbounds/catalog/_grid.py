"""What the constructions share: which queries they serve, steps of their grid, catchments of their outputs."""

import math
from fractions import Fraction

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.query import RangeQuery


def numeric(query: RangeQuery, name: str) -> RangeQuery:
    """Refuse labels, which have no distance."""
    if not query.is_ordered:
        raise ValueError(f"{name} needs numeric answers; for labels use randomized_response or exponential")
    return query


def dense(query: RangeQuery) -> RangeQuery:
    """Refuse, before anything is built, a query whose matrix could not be written out."""
    refuse_beyond_limit(query)
    return query


def square(query: RangeQuery, name: str) -> RangeQuery:
    """Refuse anything but one output per answer on a grid without gaps."""
    dense(numeric(query, name))
    if not (query.answers.is_regular and query.one_output_per_answer):
        raise ValueError(f"{name} needs one output per answer and answers without gaps")
    return query


def decay(query: RangeQuery, epsilon: Fraction) -> float:
    """Privacy loss per grid step: epsilon for every sensitivity."""
    return float(epsilon / query.steps)


def boundaries(query: RangeQuery) -> list[Fraction]:
    """Return where the nearest output changes: shared cell edges, the middle of a hole."""
    lowers, uppers = query.outputs.lowers, query.outputs.uppers
    return [(uppers[i] + lowers[i + 1]) / 2 for i in range(len(query.outputs) - 1)]


def boundary_ticks(query: RangeQuery) -> Ints:
    """For each boundary the first grid step at or above it, counted from the first answer."""
    start, unit = query.answers.start, query.answers.unit
    return np.array([math.ceil((edge - start) / unit) for edge in boundaries(query)], dtype=np.int64)


def catchments(query: RangeQuery, edges: Floats) -> Floats:
    return edges[:, None] - query.answers.floats()[None, :]

"""Shared helpers of the catalog: which queries a construction serves, grid steps, and boundaries between outputs."""

import math
from fractions import Fraction

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.query import RangeQuery


def numeric(query: RangeQuery, name: str) -> RangeQuery:
    """Return the query; refuse labels, which have no distance."""
    if not query.is_ordered:
        raise ValueError(f"{name} needs numeric answers; for labels use randomized_response or exponential")
    return query


def dense(query: RangeQuery) -> RangeQuery:
    """Return the query; refuse one whose matrix is too large to write out."""
    refuse_beyond_limit(query)
    return query


def square(query: RangeQuery, name: str) -> RangeQuery:
    """Return the query; refuse anything but one output per answer on a grid without gaps."""
    dense(numeric(query, name))
    if not (query.answers.is_regular and query.one_output_per_answer):
        raise ValueError(f"{name} needs one output per answer and answers without gaps")
    return query


def decay(query: RangeQuery, epsilon: Fraction) -> float:
    """Return the privacy loss per grid step: epsilon divided by the sensitivity in steps."""
    return float(epsilon / query.steps)


def boundaries(query: RangeQuery) -> list[Fraction]:
    """Return where the nearest output changes: at shared cell edges, and in the middle of a hole."""
    lowers, uppers = query.outputs.lowers, query.outputs.uppers
    return [(uppers[i] + lowers[i + 1]) / 2 for i in range(len(query.outputs) - 1)]


def boundary_ticks(query: RangeQuery) -> Ints:
    """Return for each boundary the first grid step at or above it, counted from the first answer."""
    start, unit = query.answers.start, query.answers.unit
    return np.array([math.ceil((edge - start) / unit) for edge in boundaries(query)], dtype=np.int64)


def catchments(query: RangeQuery, edges: Floats) -> Floats:
    """Return edges[i] - answers[j]: the noise at which answer j crosses edge i."""
    return edges[:, None] - query.answers.floats()[None, :]

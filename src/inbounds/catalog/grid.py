"""What the constructions share: steps of a query's grid, catchments of its outputs, masses of symmetric noise."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from inbounds.mechanism.law import refuse_beyond_limit
from inbounds.numbers import Floats, Ints
from inbounds.query import Query

LogTail = Callable[[Floats], Floats]
"""x >= 0 to log Pr[noise > x], for noise symmetric around 0."""


def numeric(query: Query, name: str) -> Query:
    """Refuse labels, which have no distance."""
    if not query.ordered:
        raise ValueError(f"{name} needs numeric answers; for labels use randomized_response or exponential")
    return query


def dense(query: Query) -> Query:
    """Refuse, before anything is built, a query whose matrix could not be written out."""
    refuse_beyond_limit(query)
    return query


def square(query: Query, name: str) -> Query:
    """Refuse anything but one output per answer on a grid without gaps."""
    dense(numeric(query, name))
    if not (query.answers.regular and query.one_output_per_answer):
        raise ValueError(f"{name} needs one output per answer and answers without gaps")
    return query


def decay(query: Query, epsilon: Fraction) -> float:
    """Privacy loss per grid step: epsilon for every sensitivity."""
    return float(epsilon / query.steps)


def boundaries(query: Query) -> list[Fraction]:
    """Where the nearest output changes: shared cell edges, the middle of a hole."""
    lowers, uppers = query.outputs.lowers, query.outputs.uppers
    return [(uppers[i] + lowers[i + 1]) / 2 for i in range(len(query.outputs) - 1)]


def boundary_ticks(query: Query) -> Ints:
    """For each boundary the first grid step at or above it, counted from the first answer."""
    start, unit = query.answers.start, query.answers.unit
    return np.array([math.ceil((edge - start) / unit) for edge in boundaries(query)], dtype=np.int64)


def snapped(log_tail: LogTail, edges: Floats) -> Floats:
    """P[i, j]: mass of symmetric noise between edges[i-1, j] and edges[i, j], the outer edges infinite.

    edges[i, j] is boundary i seen from answer j. Masses come from the tail on their own side of zero, so
    that small ones keep their relative accuracy.
    """
    infinite = np.full((1, edges.shape[1]), np.inf)
    return between(log_tail, np.vstack([-infinite, edges]), np.vstack([edges, infinite]))


def between(log_tail: LogTail, low: Floats, high: Floats) -> Floats:
    """Mass of symmetric noise in low..high, elementwise (low < high)."""
    near, far = np.where(low >= 0, low, -high), np.where(low >= 0, high, -low)
    with np.errstate(invalid="ignore", over="ignore"):
        inner, outer = log_tail(np.maximum(near, 0)), log_tail(far)
        one_sided = np.exp(inner) * -np.expm1(outer - inner)
        across = 1 - np.exp(log_tail(np.maximum(-low, 0))) - np.exp(log_tail(np.maximum(high, 0)))
    return np.where((low < 0) & (high > 0), across, one_sided)


def seen_from_answers(query: Query, edges: Floats) -> Floats:
    return edges[:, None] - query.answers.floats()[None, :]

"""The staircase mechanism, snapped to the range."""

import math
from fractions import Fraction

import numpy as np

from inbounds.catalog._grid import boundaries, catchments, dense, numeric
from inbounds.design.closed.noise import snap_to_cells, staircase_tail
from inbounds.exact import Number, to_epsilon, to_fraction
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.query import RangeQuery, check_query


def snapped_staircase(query: RangeQuery, epsilon: Number, gamma: Number | None = None) -> Mechanism:
    """Add staircase-shaped noise and report the nearest output (000 (16), (20)-(21); 004 (8)-(9)).

    With a = exp(-epsilon), the density at distance x is y·a^k for x/sensitivity in [k, k + gamma) and
    y·a^(k+1) up to k + 1. gamma in 0..1 is the width of the upper step; by default the one with the least
    expected error, sqrt(a) / (1 + sqrt(a)). On a graph of numbers an edge pays for whole steps only, so the length of
    a step is such that every edge has room for those between its ends; edges shorter than 1 make the loss of a step
    smaller.
    """
    check_query(query)
    dense(numeric(query, "snapped_staircase"))
    bound = to_epsilon(epsilon)
    loss, step = _loss_per_step(query, bound)
    width = 1 / (1 + math.exp(float(loss) / 2)) if gamma is None else float(to_fraction(gamma, "gamma"))
    if not 0 <= width <= 1:
        raise ValueError(f"gamma must be between 0 and 1, got {gamma}")
    edges = catchments(query, np.array([float(edge) for edge in boundaries(query)]))
    matrix = snap_to_cells(staircase_tail(float(loss), width), edges / float(step))
    reference = "Geng, Viswanath, The optimal mechanism in differential privacy, 2014"
    return certify_formula(matrix, query, bound, Origin("snapped_staircase", {"gamma": repr(width)}, reference))


def _loss_per_step(query: RangeQuery, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return the privacy loss of one step of the staircase and its length: two answers x apart lose ceil(x / length)
    times as much.
    """
    if query.neighbours.is_line:
        if query.neighbours.has_distances and (1 / query.steps).denominator != 1:
            raise ValueError("snapped_staircase keeps metric privacy only between answers whole units apart")
        return epsilon, query.sensitivity
    share = min(Fraction(1), query.least_distance)
    answers = query.answers
    lengths = (abs(answers[tail] - answers[head]) / (length // share) for tail, head, length in query.edges)
    return epsilon * share, max(lengths)

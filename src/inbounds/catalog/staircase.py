"""The staircase mechanism, snapped to the range."""

import math
from fractions import Fraction

import numpy as np

from inbounds.catalog._grid import boundaries, catchments, dense, numeric
from inbounds.design.closed.noise import snap_to_cells, staircase_tail
from inbounds.exact import Number, to_epsilon, to_fraction
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.mechanism.laws.noise import find_noise_reach, make_staircase_noise
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import RangeQuery, check_query


def snapped_staircase(query: RangeQuery, epsilon: Number, gamma: Number | None = None) -> Mechanism:
    """Add staircase-shaped noise and return the nearest output (000 (16), (20)-(21); 004 (8)-(9)).

    With a = exp(-epsilon), the density at distance x is y·a^k for x/sensitivity in [k, k + gamma) and
    y·a^(k+1) up to k + 1. gamma in 0..1 is the width of the upper step; by default the one with the least
    expected error, sqrt(a) / (1 + sqrt(a)). On a graph of numbers an edge pays for whole steps only, so the length of
    a step is such that every edge has room for those between its ends; edges shorter than 1 make the loss of a step
    smaller. Queries too large for a matrix, on a line without gaps, get the staircase on the grid of answers as a noise
    table: its upper step has the whole number of grid steps nearest to gamma.
    """
    check_query(query)
    numeric(query, "snapped_staircase")
    bound = to_epsilon(epsilon)
    loss, step = _loss_per_step(query, bound)
    width = 1 / (1 + math.exp(float(loss) / 2)) if gamma is None else float(to_fraction(gamma, "gamma"))
    if not 0 <= width <= 1:
        raise ValueError(f"gamma must be between 0 and 1, got {gamma}")
    reference = "Geng, Viswanath, The optimal mechanism in differential privacy, 2014"
    origin = Origin("snapped_staircase", {"gamma": repr(width)}, reference)
    if query.one_output_per_answer and len(query.answers) ** 2 > MATRIX_LIMIT:
        reach, _ = find_noise_reach(query)
        split = min(max(round(width * reach + 0.5), 1), reach)  # the plateau spans 2·split - 1 grid steps
        return Mechanism(query, bound, make_staircase_noise(query, bound, split), origin)
    edges = catchments(dense(query), np.array([float(edge) for edge in boundaries(query)]))
    matrix = snap_to_cells(staircase_tail(float(loss), width), edges / float(step))
    return certify_formula(matrix, query, bound, origin)


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

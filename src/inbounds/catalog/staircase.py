"""The staircase mechanism, snapped to the range."""

import math

import numpy as np

from inbounds.catalog.grid import boundaries, dense, numeric, seen_from_answers
from inbounds.design.closed.noise import snapped, staircase_tail
from inbounds.mechanism import Mechanism, Origin, certified
from inbounds.numbers import Number, as_epsilon, exact
from inbounds.query import Metric, Query, check_query


def snapped_staircase(query: Query, epsilon: Number, gamma: Number | None = None) -> Mechanism:
    """Staircase-shaped noise, reported as the nearest output (000 (16), (20)-(21); 004 (8)-(9)).

    With a = exp(-epsilon), the density at distance x is y·a^k for x/sensitivity in [k, k + gamma) and
    y·a^(k+1) up to k + 1. gamma in 0..1 is the width of the upper step; by default the one with the least
    expected error, sqrt(a) / (1 + sqrt(a)).
    """
    check_query(query)
    dense(numeric(query, "snapped_staircase"))
    if isinstance(query.neighbours, Metric) and (query.answers.unit / query.neighbours.unit).denominator != 1:
        raise ValueError("snapped_staircase keeps metric privacy only between answers whole units apart")
    bound = as_epsilon(epsilon)
    width = 1 / (1 + math.exp(float(bound) / 2)) if gamma is None else float(exact(gamma, "gamma"))
    if not 0 <= width <= 1:
        raise ValueError(f"gamma must be between 0 and 1, got {gamma}")
    edges = seen_from_answers(query, np.array([float(edge) for edge in boundaries(query)]))
    matrix = snapped(staircase_tail(float(bound), width), edges / float(query.sensitivity))
    reference = "Geng, Viswanath, The optimal mechanism in differential privacy, 2014"
    return certified(matrix, query, bound, Origin("snapped_staircase", {"gamma": repr(width)}, reference))

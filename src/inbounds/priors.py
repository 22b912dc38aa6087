"""Priors: named distributions over a query's answers, for every `prior` argument.

A prior affects accuracy only; privacy holds whatever the true answer is. Use public knowledge, never the data being
released.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from inbounds.exact import Floats, Number, to_fraction
from inbounds.query import RangeQuery, check_query


def uniform(query: RangeQuery) -> Floats:
    """Return the prior under which every answer is equally likely."""
    check_query(query)
    return np.full(len(query.answers), 1 / len(query.answers))


def normal(query: RangeQuery, mean: Number, deviation: Number) -> Floats:
    """Return a normal density cut to the range: weight exp(-(a - mean)² / (2·deviation²)) at answer a."""
    check_query(query)
    sigma = float(to_fraction(deviation, "deviation"))
    if not sigma > 0:
        raise ValueError(f"deviation must be positive, got {deviation}")
    return _normalize_logs(-0.5 * ((_numbers(query) - float(to_fraction(mean, "mean"))) / sigma) ** 2)


def beta(query: RangeQuery, a: Number, b: Number) -> Floats:
    """Return a beta density over the range: x^(a-1)·(1-x)^(b-1) at the middle of each answer's share of 0..1.

    The maximum of n uniform values is beta(n, 1), the minimum beta(1, n), the median of 2k+1 values beta(k+1, k+1).
    """
    check_query(query)
    first, second = float(to_fraction(a, "a")), float(to_fraction(b, "b"))
    if not (first > 0 and second > 0):
        raise ValueError(f"a and b must be positive, got {a} and {b}")
    answers, unit = _numbers(query), float(query.answers.unit)
    x = (answers - answers[0] + unit / 2) / (answers[-1] - answers[0] + unit)
    return _normalize_logs((first - 1) * np.log(x) + (second - 1) * np.log1p(-x))


def binomial(query: RangeQuery, p: Number) -> Floats:
    """Return the prior of a count of independent people who each count with probability p."""
    check_query(query)
    chance = float(to_fraction(p, "p"))
    if not 0 < chance < 1:
        raise ValueError(f"p must be between 0 and 1, got {p}")
    n = len(query.answers) - 1
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    k = np.arange(n + 1)
    return _normalize_logs(-factorials - factorials[::-1] + k * math.log(chance) + (n - k) * math.log1p(-chance))


def empirical(query: RangeQuery, values: Sequence[Any], pseudocount: Number = 0) -> Floats:
    """Return how often each answer occurred in earlier public values, plus `pseudocount` for every answer."""
    check_query(query)
    extra = float(to_fraction(pseudocount, "pseudocount"))
    if not extra >= 0:
        raise ValueError(f"pseudocount must not be negative, got {pseudocount}")
    counts = np.bincount(query.encode(values).ravel(), minlength=len(query.answers)) + extra
    if not counts.sum() > 0:
        raise ValueError("values must not be empty unless there is a pseudocount")
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _numbers(query: RangeQuery) -> Floats:
    if not query.is_ordered:
        raise ValueError("this prior needs numeric answers; give weights for labels instead")
    return query.answers.floats()


def _normalize_logs(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)

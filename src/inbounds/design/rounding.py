"""Rounding of a proposal to integer weights that are private and keep the requested properties.

Rounding raises cells that a solver left too small, so the columns must be reduced elsewhere. Reducing one output is
cheap but can break a property. Reducing all outputs alike keeps every property but costs most. Between the two: mix in
a little of a mechanism that keeps every ratio with room to spare, so that hardly any cell has to be raised.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from inbounds.design.problem import Floats, Problem
from inbounds.design.routes.baseline import find_baseline
from inbounds.exact import Ints
from inbounds.mechanism import PROPERTY_UNITS, round_to_weights
from inbounds.properties import MatrixLayout, measure_properties
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import TOTAL

SHARES = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9)
"""Shares of the mechanism with room to spare that are tried, smallest first."""


def round_proposal(matrix: Floats, problem: Problem, query: RangeQuery, epsilon: Fraction) -> Ints:
    """Round a matrix to private integer weights by the first method that keeps the problem's properties."""
    if not problem.properties:
        return round_to_weights(matrix, query, epsilon)
    layout = MatrixLayout(len(query.outputs), query.home_cell, query.below, query.above)
    for mixed in _mixtures(matrix, problem):
        weights = round_to_weights(mixed, query, epsilon)
        if max(measure_properties(weights, layout, TOTAL, problem.properties).values()) <= PROPERTY_UNITS:
            return weights
    return round_to_weights(matrix, query, epsilon, even=True)


def _mixtures(matrix: Floats, problem: Problem) -> Iterator[Floats]:
    """Yield the matrix, then mixtures with a growing share of the baseline for half of epsilon."""
    yield matrix
    roomy = find_baseline(replace(problem, epsilon=problem.epsilon / 2, limits=()))
    for share in SHARES:
        yield (1 - share) * matrix + share * roomy

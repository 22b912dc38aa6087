"""From a proposal to whole weights that still have what was asked for.

Rounding raises what a solver left too small, and what that adds must be given back somewhere. Given to one output it is
cheap, but can break a property; given to all outputs alike it keeps every property, but costs most. Between the two
stands a little of a mechanism that keeps every ratio with room to spare: then hardly anything has to be raised.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from inbounds.design.problem import Floats, Problem
from inbounds.design.routes.baseline import baseline_matrix
from inbounds.exact import Ints
from inbounds.mechanism import PROPERTY_UNITS, round_to_weights
from inbounds.properties import MatrixLayout, measure_properties
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import TOTAL

SHARES = (1e-13, 1e-12, 1e-11, 1e-10)
"""How much of the roomy mechanism is mixed in, least first."""


def round_proposal(matrix: Floats, problem: Problem, query: RangeQuery, epsilon: Fraction) -> Ints:
    """Private integer weights next to a matrix: the first way of rounding that keeps the problem's properties."""
    if not problem.properties:
        return round_to_weights(matrix, query, epsilon)
    layout = MatrixLayout(len(query.outputs), query.home_cell, query.below, query.above)
    for mixed in _mixtures(matrix, problem):
        weights = round_to_weights(mixed, query, epsilon)
        if max(measure_properties(weights, layout, TOTAL, problem.properties).values()) <= PROPERTY_UNITS:
            return weights
    return round_to_weights(matrix, query, epsilon, even=True)


def _mixtures(matrix: Floats, problem: Problem) -> Iterator[Floats]:
    """The matrix itself, then with ever more of what is at hand for half of epsilon."""
    yield matrix
    roomy = baseline_matrix(replace(problem, epsilon=problem.epsilon / 2, limits=()))
    for share in SHARES:
        yield (1 - share) * matrix + share * roomy

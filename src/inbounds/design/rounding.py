"""From a proposal to whole weights that still have what was asked for.

Rounding raises what a solver left too small, and what that adds must be given back somewhere. Given to one output it is
cheap, but can break a property; given to all outputs alike it keeps every property, but costs most. Between the two
stands a little of a mechanism that keeps every ratio with room to spare: then hardly anything has to be raised.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from inbounds.design.problem import Floats, Problem
from inbounds.design.routes.fallback import at_hand
from inbounds.mechanism import PROPERTY_UNITS, near
from inbounds.numbers import Ints
from inbounds.properties import Layout, holding
from inbounds.query import Query
from inbounds.trusted.bounds import TOTAL

SHARES = (1e-13, 1e-12, 1e-11, 1e-10)
"""How much of the roomy mechanism is mixed in, least first."""


def rounded(matrix: Floats, problem: Problem, query: Query, epsilon: Fraction) -> Ints:
    """Private integer weights next to a matrix: the first way of rounding that keeps the problem's properties."""
    if not problem.properties:
        return near(matrix, query, epsilon)
    layout = Layout(len(query.outputs), query.home, query.below, query.above)
    for mixed in _mixed(matrix, problem):
        weights = near(mixed, query, epsilon)
        if max(holding(weights, layout, TOTAL, problem.properties).values()) <= PROPERTY_UNITS:
            return weights
    return near(matrix, query, epsilon, even=True)


def _mixed(matrix: Floats, problem: Problem) -> Iterator[Floats]:
    """The matrix itself, then with ever more of what is at hand for half of epsilon."""
    yield matrix
    roomy = at_hand(replace(problem, epsilon=problem.epsilon / 2, limits=()))
    for share in SHARES:
        yield (1 - share) * matrix + share * roomy

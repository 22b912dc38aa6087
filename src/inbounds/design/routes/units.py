"""Losses of about one for solvers, which have absolute tolerances."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inbounds.design.problem import Problem, Proposal
from inbounds.design.routes.baseline import find_baseline

SMALL = 0.1  # a loss below this share of the unit is solved again in a smaller unit
PROVED = 1e-9  # relative gap at which it is not
NOTHING = 1e-15  # of the largest loss: less is rounding, and no unit to solve in


def solve_in_units(problem: Problem, deadline: float, solve: Callable[[Problem, float], Proposal]) -> Proposal:
    """Solve with the least loss of every answer subtracted, and the rest divided by the loss of the baseline.

    If the loss of the solution is much smaller, solve again in units of that.
    """
    floor = np.full(problem.shape[1], problem.loss.min()) if problem.worst else problem.loss.min(axis=0)
    rest = replace(problem, loss=problem.loss - floor)
    first = rest.value(find_baseline(rest))
    proposal = _solve_scaled(rest, first, deadline, solve)
    value = first if proposal.matrix is None else rest.value(proposal.matrix)
    if 0 < value < SMALL * first and not proposal.is_closed(rest, PROVED):
        proposal = proposal.improve(rest, _solve_scaled(rest, value, deadline, solve))
    terms = floor[:1] if problem.worst else problem.prior * floor
    off = 2.0**-50 * (abs(proposal.bound) + len(terms) * float(np.abs(terms).sum()))
    return replace(proposal, bound=proposal.bound + float(terms.sum()) - off)


def _solve_scaled(
    problem: Problem, size: float, deadline: float, solve: Callable[[Problem, float], Proposal]
) -> Proposal:
    """Solve in units of about `size`: a power of two, so that nothing is rounded."""
    size = max(size, NOTHING * float(problem.loss.max()))
    unit = math.ldexp(1.0, math.frexp(size)[1]) if size > 0 else 1.0
    proposal = solve(replace(problem, loss=problem.loss / unit), deadline)
    return replace(proposal, bound=proposal.bound * unit)

"""A mechanism that is always at hand: private, with every property, whatever the request."""

import numpy as np

from inbounds.catalog.fair import fair_matrix
from inbounds.design.comparisons import names
from inbounds.design.problem import Floats, Problem


def loss(problem: Problem, P: Floats) -> float:
    """What the problem minimizes."""
    each = (problem.loss * P).sum(axis=0)
    return float(each.max() if problem.worst else each @ problem.prior)


def at_hand(problem: Problem) -> Floats:
    """The better of uniform reporting (003, Definition 5) and, with one output per answer, explicit fair.

    Explicit fair with alpha per step is private for every neighbourhood when a clique of k steps and distance d
    allows alpha^-k; neighbouring outputs then differ by at most 1/alpha too.
    """
    m, n = problem.shape
    found = [np.full((m, n), 1.0 / m)]
    if m == n and np.array_equal(problem.home, np.arange(n)):
        per_step = min((d / (b - a - 1) for a, b, d in problem.cliques if b - a > 1), default=1.0)
        ratios = [_ratio_of(name) for name in names(problem) if name.startswith("column_ratio")]
        rate = min([problem.epsilon * per_step, *(float(np.log(r)) for r in ratios)])
        found.append(fair_matrix(n, rate))
    return min(found, key=lambda P: loss(problem, P))


def _ratio_of(name: str) -> float:
    top, _, bottom = name.removeprefix("column_ratio(").removesuffix(")").partition("/")
    return int(top) / int(bottom or 1)

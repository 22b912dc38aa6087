"""Designs for grids and maps that are too large for a matrix."""

import math
from fractions import Fraction

import numpy as np

from inbounds.design.goal import DesignGoal
from inbounds.design.graphs import maps
from inbounds.design.routes import grid_noise
from inbounds.design.solver.threads import one_thread
from inbounds.errors import TooLarge
from inbounds.losses import ErrorLoss, Loss, Prior, to_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws.noise import find_noise_reach, make_geometric_noise
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.query import RangeQuery, Reach

POWERS = {"absolute": 1, "squared": 2}
"""Losses that are a power of the error and have a bound for long chains."""

MOST_REMAPPED = 1 << 24
"""Largest number of answers for which the best reports are computed: some gigabytes and a minute or two."""


def design_large(
    query: RangeQuery, epsilon: Fraction, aims: list[Loss], goal: DesignGoal, max_seconds: float
) -> Mechanism:
    """Design for grids and maps that are too large for a matrix."""
    loss, labels = goal.loss, query.neighbours.is_complete and query.one_output_per_answer
    if labels and goal.is_unconstrained and loss.name == "zero-one" and len(aims) == 1:
        return _design_randomized_response(query, epsilon, goal)
    has_extras = goal.properties or goal.limits or len(aims) > 1 or goal.aim != "average"
    if not (query.neighbours.is_line or query.is_ordered or goal.properties or goal.limits or len(aims) > 1):
        return design_large_map(query, epsilon, goal, max_seconds)
    has_noise_design = is_regular_grid(query) and (loss.name in POWERS or find_noise_reach(query)[0] == 1)
    if has_extras or not has_noise_design or not isinstance(loss, ErrorLoss):
        raise TooLarge(
            "a design of this size is only known for counts, totals, means, ordinal answers and maps, with one output "
            "per answer, an average loss of the error (absolute or squared for totals and means), and neither "
            "properties nor limits; use coarser answers or outputs"
        )
    return design_noise(query, epsilon, loss, goal.prior)


def design_large_map(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism:
    """Design remapped metric noise for a large map."""
    prior, worst = to_prior(goal.prior, query), goal.aim == "worst"
    with np.errstate(all="ignore"), one_thread():
        law, low = maps.remapped_noise(query, epsilon, goal.loss, prior, worst, max_seconds)
    route = "metric noise" if law.remap is None else "metric noise, remapped"
    return Mechanism(query, epsilon, law, goal.origin(route), goal.optimality(law, query, low))


def _design_randomized_response(query: RangeQuery, epsilon: Fraction, goal: DesignGoal) -> Mechanism:
    """Design randomized response: no mechanism reports the truth more often if any two answers are neighbours.

    Row j sums to at least P[j, j] · (1 + (m - 1) / e^epsilon), and the m rows together to m, so the mean of P[j, j] is
    at most e^epsilon / (e^epsilon + m - 1); the worst answer has no more.
    """
    size, law = len(query.answers), make_tight_response(len(query.answers), epsilon)
    bound = (size - 1) / (size - 1 + math.exp(float(epsilon)))
    return Mechanism(query, epsilon, law, goal.origin("randomized response"), goal.optimality(law, query, bound))


def is_regular_grid(query: RangeQuery) -> bool:
    """Return whether answers are evenly spaced, neighbours within a reach, and each has its own output."""
    even = query.is_ordered and query.answers.is_regular and query.one_output_per_answer
    return even and query.neighbours.is_line and not query.neighbours.is_complete


def is_count(query: RangeQuery) -> bool:
    """Return whether answers one step apart are neighbours, and each has its own output."""
    return query.neighbours == Reach(1) and is_regular_grid(query)


def design_noise(query: RangeQuery, epsilon: Fraction, loss: ErrorLoss, prior: Prior = None) -> Mechanism:
    """Design noise and a remap on a grid for an average loss of the error: O(answers) numbers, no matrix.

    Geometric noise with the best report of each value is optimal for counts and metric privacy (Ghosh, Roughgarden and
    Sundararajan 2009); for totals and means the gap says what may remain.
    """
    if len(query.answers) > MOST_REMAPPED:
        raise TooLarge(
            f"a range must have at most {MOST_REMAPPED} answers to be designed for, got {len(query.answers)}; "
            "use coarser answers, or truncated_geometric, which is as good but for the ends of the range"
        )
    reach, distance = find_noise_reach(query)
    losses = np.asarray(loss.of(np.arange(len(query.answers)) * float(query.answers.unit)), float)
    rate = float(epsilon * distance)
    guesses = grid_noise.guesses(reach, rate, losses, POWERS.get(loss.name), to_prior(prior, query))
    law = make_geometric_noise(query, epsilon, guesses.remap)
    goal = DesignGoal(loss, prior, frozenset(), "average", ())
    return Mechanism(query, epsilon, law, goal.origin("geometric remap"), goal.optimality(law, query, guesses.bound))

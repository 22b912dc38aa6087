"""Designs for grids and maps that are too large for a matrix."""

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from inbounds.design.goal import DesignGoal, build_problem
from inbounds.design.graphs import maps
from inbounds.design.rounding import round_proposal
from inbounds.design.routes import flowchart, outward_fill
from inbounds.design.routes.staircase_ends import mend_staircase
from inbounds.design.routes.wide_noise import KEPT, is_weakly_honest, propose_noise, propose_sharply
from inbounds.design.solver.threads import one_thread
from inbounds.errors import TooLarge
from inbounds.exact import Floats
from inbounds.losses import ErrorLoss, Loss, to_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import Matrix
from inbounds.mechanism.laws.noise import find_noise_reach
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.query import RangeQuery, Reach

CLOSE = 0.01
"""Share of the loss, left to gain at most, for which a bound is not sharpened and a search is not tried."""

SHARPENING = 10.0
"""Seconds that a sharper bound takes at most with all of its work; with less time it gets less work."""

LEAST_SHARPENING = 0.1
"""Share of the time that is left for a bound at least, after a design."""

MOST_REMAPPED = 1 << 24
"""Largest number of answers for which the best outputs are computed: some gigabytes and a minute or two."""


def design_large(
    query: RangeQuery, epsilon: Fraction, aims: list[Loss], goal: DesignGoal, max_seconds: float
) -> Mechanism:
    """Design for grids and maps that are too large for a matrix."""
    loss, labels = goal.loss, query.neighbours.is_complete and query.one_output_per_answer
    if labels and goal.is_unconstrained and loss.name == "zero-one" and len(aims) == 1:
        return _design_randomized_response(query, epsilon, goal)
    if not (query.neighbours.is_line or query.is_ordered or goal.properties or goal.limits or len(aims) > 1):
        return design_large_map(query, epsilon, goal, max_seconds)
    if len(aims) > 1 or not has_noise_design(query, goal):
        raise TooLarge(
            "a design of this size is only known for counts, totals, means, ordinal answers and maps, with one output "
            "per answer, a loss of the error (not of the worst answer under a prior), neither limits nor further "
            f"losses, and no other properties than {', '.join(sorted(KEPT))}; use coarser answers or outputs"
        )
    if len(query.answers) > MOST_REMAPPED:
        raise TooLarge(
            f"a range must have at most {MOST_REMAPPED} answers to be designed for, got {len(query.answers)}; "
            "use coarser answers, or truncated_geometric, which is as good but for the ends of the range"
        )
    return design_noise_sharply(query, epsilon, goal, max_seconds)


def design_large_map(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism:
    """Design remapped metric noise for a large map."""
    prior, worst = to_prior(goal.prior, query), goal.aim == "worst"
    with np.errstate(all="ignore"), one_thread():
        law, low = maps.remapped_noise(query, epsilon, goal.loss, prior, worst, max_seconds)
    route = "metric noise" if law.remap is None else "metric noise, remapped"
    return Mechanism(query, epsilon, law, goal.origin(route), goal.optimality(law, query, low))


def _design_randomized_response(query: RangeQuery, epsilon: Fraction, goal: DesignGoal) -> Mechanism:
    """Design randomized response: no mechanism is right more often if any two answers are neighbours.

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


def has_noise_design(query: RangeQuery, goal: DesignGoal) -> bool:
    """Return whether `design_noise` can meet a goal."""
    is_plain = isinstance(goal.loss, ErrorLoss) and not goal.limits and goal.properties <= KEPT
    return is_plain and is_regular_grid(query) and not (goal.aim == "worst" and goal.prior is not None)


def design_noise(
    query: RangeQuery, epsilon: Fraction, goal: DesignGoal, most_remapped: int = MOST_REMAPPED
) -> Mechanism:
    """Design noise on a grid, with a remap where the properties allow one: O(answers) numbers, no matrix.

    For an average loss on counts, and under metric privacy, geometric noise with the best output of each value is
    optimal (Ghosh, Roughgarden and Sundararajan 2009). For totals and means it is staircase noise far from the ends of
    the range (Geng and Viswanath 2014), and the gap says what may remain. Totals and means with more than
    `most_remapped` answers get no remap.
    """
    assert isinstance(goal.loss, ErrorLoss)
    losses = _tabulate_loss(query, goal.loss)
    with np.errstate(all="ignore"), one_thread():
        proposals = [*propose_noise(query, epsilon, goal, losses, most_remapped)]
    laws = [(proposal.law, proposal.route) for proposal in proposals if proposal.law is not None]
    if "weakly_honest" in goal.properties and not all(is_weakly_honest(law) for law, _ in laws):
        raise TooLarge("noise of this epsilon is not weakly honest on this range; use coarser answers")
    bound = max(proposal.bound for proposal in proposals)
    reached = [goal.optimality(law, query, bound) for law, _ in laws]
    best = min(range(len(laws)), key=lambda k: reached[k].value)
    return Mechanism(query, epsilon, laws[best][0], goal.origin(laws[best][1]), reached[best])


def design_noise_sharply(
    query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float = SHARPENING
) -> Mechanism:
    """Design as `design_noise`; if the gap is not small, spend some seconds on a sharper bound, and a better table."""
    made = design_noise(query, epsilon, goal)
    best = made.optimality
    assert best is not None
    is_optimal = goal.aim == "average" and find_noise_reach(query)[0] == 1
    if best.gap <= CLOSE * abs(best.value) or is_optimal:
        return made
    assert isinstance(goal.loss, ErrorLoss)
    with np.errstate(all="ignore"), one_thread():
        effort = min(1.0, max_seconds / SHARPENING)
        sharp = propose_sharply(query, epsilon, goal, _tabulate_loss(query, goal.loss), effort)
    bound = max(best.bound, sharp.bound)
    if sharp.law is not None:
        reached = goal.optimality(sharp.law, query, bound)
        if reached.value < best.value:
            return Mechanism(query, epsilon, sharp.law, goal.origin(sharp.route), reached)
    proved = replace(best, bound=max(best.bound, min(bound, best.value)))
    return Mechanism(query, epsilon, made.law, made.origin, proved)


def has_mended_design(query: RangeQuery, goal: DesignGoal) -> bool:
    """Return whether `design_mended` can meet a goal."""
    return bool(goal.properties) and has_noise_design(query, replace(goal, properties=frozenset()))


def design_mended(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism | None:
    """Design staircase noise whose ends are mended for the properties, as a matrix; None if that cannot have them.

    What every mechanism loses without the properties bounds what it loses with them.
    """
    assert isinstance(goal.loss, ErrorLoss)
    start = time.monotonic()
    problem = build_problem(query, epsilon, goal.loss, goal.prior, goal.properties, goal.aim)
    if flowchart.accepts(problem) or outward_fill.accepts(problem):
        return None  # closed forms, which are optimal
    reach, distance = find_noise_reach(query)
    losses = _tabulate_loss(query, goal.loss)
    with np.errstate(all="ignore"), one_thread():
        matrix = mend_staircase(problem, reach, float(epsilon * distance), losses, start + max_seconds / 2)
        if matrix is None:
            return None
        law = Matrix(round_proposal(matrix, problem, query, epsilon))
    remaining = max(max_seconds - (time.monotonic() - start), LEAST_SHARPENING * max_seconds)
    free = design_noise_sharply(query, epsilon, replace(goal, properties=frozenset()), remaining).optimality
    assert free is not None
    route = "staircase noise, mended ends"
    return Mechanism(query, epsilon, law, goal.origin(route), goal.optimality(law, query, free.bound))


def _tabulate_loss(query: RangeQuery, loss: ErrorLoss) -> Floats:
    """Return the loss of an error of 0, 1, … steps; raise `ValueError` if it falls."""
    losses = np.asarray(loss.of(np.arange(len(query.answers)) * float(query.answers.unit)), float)
    if not np.all(np.diff(losses) >= 0):
        raise ValueError("loss must not fall as the error grows; a smaller query takes any loss table")
    return losses

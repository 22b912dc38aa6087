"""`optimal`: the best mechanism for a query, loss, prior, properties and aim, by the cheapest proved route.

It turns a query into a `Problem`, runs a route, rounds the proposal to weights, and certifies the result.
"""

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from inbounds.design.graphs import graph_route as on_graphs
from inbounds.design.graphs import maps
from inbounds.design.loss_limits import (
    enforce_limits,
    limit_from_value,
    limit_tables,
    measure_breach,
    solve_with_limits,
    validate_limits,
)
from inbounds.design.problem import EdgeArrays, Problem, Proposal
from inbounds.design.rounding import round_proposal
from inbounds.design.routes import (
    baseline,
    column_generation,
    flowchart,
    geometric,
    grid_noise,
    linear_program,
    outward_fill,
)
from inbounds.design.solver.threads import one_thread
from inbounds.errors import TooLarge, suggest_name
from inbounds.exact import Floats, Number, to_epsilon
from inbounds.losses import (
    ON_GRAPHS,
    ErrorLoss,
    FunctionLoss,
    GraphLoss,
    Loss,
    LossLike,
    Prior,
    Restriction,
    TableLoss,
    to_loss,
    to_prior,
)
from inbounds.mechanism import Mechanism, Optimality, Origin
from inbounds.mechanism.laws import AnswerLaw, Matrix
from inbounds.mechanism.laws.noise import find_noise_reach, make_geometric_noise
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.mechanism.origin import NO_GAP
from inbounds.properties import ColumnRatio, parse_properties
from inbounds.query import RangeQuery, Reach, check_query
from inbounds.trusted.limits import MOST_RECOMPUTED

Aim = Literal["average", "worst"]

ROUNDING = 1e-14
"""Relative error of float sums: tolerated when losses are compared, subtracted from lower bounds."""

FARTHEST = Fraction(600)
"""Log of the largest finite ratio between two answers; larger ones count as this one. exp(-600) is below 1e-260."""

POWERS = {"absolute": 1, "squared": 2}
"""Losses that are a power of the error and have a bound for long chains."""

MOMENT = 0.5
"""Least seconds for each aim, even when no time is left."""

FINISHING = 2e-6
"""Seconds per cell for rounding and checking at most; the search leaves them free."""

FREE_SHARE = 0.25
"""Share of the time that the problem without its properties may take."""

NEGLIGIBLE = 2.0**-42
"""A property that a proposal misses by no more counts as satisfied: a quarter of the tolerance for mechanisms."""

MOST_REMAPPED = 1 << 24
"""Largest number of answers for which the best reports are computed: some gigabytes and a minute or two."""

LARGEST = 1e150
"""Largest allowed loss: such losses can be multiplied and summed without overflow."""


def optimal(
    query: RangeQuery,
    epsilon: Number,
    loss: LossLike = "absolute",
    prior: Prior = None,
    properties: Iterable[str | ColumnRatio] = (),
    aim: Aim = "average",
    *,
    subject_to: Restriction | Iterable[Restriction] = (),
    then: Iterable[LossLike] = (),
    max_seconds: float = 60.0,
) -> Mechanism:
    """Design the mechanism of a query with one answer; see `inbounds.design.optimal.optimal`."""
    check_query(query)
    bound, aims = to_epsilon(epsilon), [to_loss(aimed) for aimed in (loss, *then)]
    property_names = frozenset(parse_properties(properties, ordered=query.is_ordered))
    limits = validate_limits(subject_to)
    if aim not in ("average", "worst"):
        raise ValueError(f"aim must be 'average' or 'worst', got {aim!r}{suggest_name(aim, ('average', 'worst'))}")
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive, got {max_seconds}")
    if query.shape[0] * query.shape[1] > MATRIX_LIMIT:
        return _design_large(query, bound, aims, DesignGoal(aims[0], prior, property_names, aim, limits), max_seconds)
    start = time.monotonic()
    for k, judged in enumerate(aims):
        goal = DesignGoal(judged, prior, property_names, aim, limits, tuple(aims[:k]))
        seconds = max(max_seconds - (time.monotonic() - start), MOMENT) / (len(aims) - k)
        mechanism = _solve_goal(query, bound, goal, seconds)
        assert mechanism.optimality is not None
        limits = (*limits, limit_from_value(judged, mechanism.optimality.value, aim))
    return mechanism


@dataclass(frozen=True, eq=False)
class DesignGoal:
    """The goal of a design: loss, prior, properties, aim and limits.

    The last `len(before)` limits keep the values of the losses `before`, which were minimized first.
    """

    loss: Loss
    prior: Prior
    properties: frozenset[str]
    aim: Aim
    limits: tuple[Restriction, ...]
    before: tuple[Loss, ...] = ()

    @property
    def objective(self) -> str:
        """The goal in words. The words of an unconstrained goal tell how to compute its value."""
        under = "" if self.prior is None or self.aim == "worst" else " under the given prior"
        limits = self.limits[: len(self.limits) - len(self.before)]
        within = f" subject to {'; '.join(map(str, limits))}" if limits else ""
        after = f" after the least {', '.join(loss.name for loss in self.before)} loss" if self.before else ""
        return f"{self.aim} {self.loss.name} loss{under}{within}{after}"

    @property
    def is_unconstrained(self) -> bool:
        """Whether the goal has only a loss: averaged over equally likely answers, or of the worst answer."""
        return not (self.properties or self.limits or (self.prior is not None and self.aim == "average"))

    def origin(self, route: str) -> Origin:
        """Record how the mechanism was designed."""
        parameters = {"loss": self.loss.name, "aim": self.aim}
        if self.properties:
            parameters["properties"] = " ".join(sorted(self.properties))
        limits = self.limits[: len(self.limits) - len(self.before)]
        if limits:
            parameters["subject to"] = "; ".join(map(str, limits))
        if self.before:
            parameters["after"] = ", ".join(loss.name for loss in self.before)
        return Origin("optimal", {**parameters, "route": route})

    def optimality(self, law: AnswerLaw, query: RangeQuery, bound: float) -> Optimality:
        """Record the value that a law reaches and the proved bound."""
        losses = law.losses(query, self.loss)
        value = float(losses.max() if self.aim == "worst" else losses @ to_prior(self.prior, query))
        has_prior = self.prior is not None and self.aim == "average" and len(query.answers) <= MOST_RECOMPUTED
        custom_loss = isinstance(self.loss, FunctionLoss | TableLoss) and self.loss.name not in ON_GRAPHS
        small = query.shape[0] * query.shape[1] <= MATRIX_LIMIT
        return Optimality(
            self.objective,
            value,
            min(bound - ROUNDING * abs(bound), value),
            np.array(self.loss.table(query)) if custom_loss and small else None,
            to_prior(self.prior, query) if has_prior else None,
        )


def _solve_goal(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism:
    """Design the best mechanism for one goal."""
    if isinstance(goal.loss, GraphLoss):  # shortest paths are found once
        goal = replace(goal, loss=TableLoss(goal.loss.table(query), goal.loss.name))
    problem = build_problem(query, epsilon, goal.loss, goal.prior, goal.properties, goal.aim)
    problem = replace(
        problem, limits=tuple(t for limit in goal.limits for t in limit_tables(limit, query, _average_mirror))
    )
    seconds = max(max_seconds - FINISHING * problem.loss.size, max_seconds / 2)
    law_of = partial(_round_to_law, problem=problem, query=query, epsilon=epsilon)
    with np.errstate(all="ignore"), one_thread():  # large ratios overflow where they lose anyway
        if goal.limits:
            proposal = solve_with_limits(problem, goal.limits, seconds, run_routes)
            breach = partial(measure_breach, query=query, prior=goal.prior)
            law = enforce_limits(proposal.matrix, problem, goal.limits, law_of, breach, run_routes, seconds)
        else:
            proposal = run_routes(problem, seconds)
            law = law_of(proposal.matrix)
    low = proposal.bound - _symmetrizing_error(problem, goal.loss.table(query), to_prior(goal.prior, query))
    return Mechanism(query, epsilon, law, goal.origin(proposal.route), goal.optimality(law, query, low))


def _round_to_law(matrix: Floats, problem: Problem, query: RangeQuery, epsilon: Fraction) -> AnswerLaw:
    """Round a proposal to a certified matrix of weights."""
    return Matrix(round_proposal(matrix, problem, query, epsilon))


def build_problem(
    query: RangeQuery, epsilon: Fraction, loss: Loss, prior: Prior, properties: frozenset[str], aim: Aim
) -> Problem:
    """State the constraints of a query and the loss as plain arrays."""
    is_line = query.neighbours.is_line
    cliques = query.cliques() if is_line else ()
    edges = None if is_line else _build_edges(query, epsilon)
    if edges is not None and "symmetric" in properties:
        edges = edges.with_mirror(len(query.answers))
    return Problem(
        epsilon=float(epsilon),
        cliques=tuple((c.start, c.stop, float(min(c.distance, FARTHEST / epsilon))) for c in cliques),
        edges=edges,
        loss=_average_mirror(_check_magnitude(loss.table(query))),
        prior=_average_mirror(to_prior(prior, query)),
        home=query.home_cell,
        below=query.below,
        above=query.above,
        worst=aim == "worst",
        properties=properties,
    )


def _build_edges(query: RangeQuery, epsilon: Fraction) -> EdgeArrays:
    """Return the edges of a graph query as arrays."""
    tails, heads, lengths = zip(*query.edges, strict=True)
    return EdgeArrays(np.array(tails), np.array(heads), np.array([float(min(d, FARTHEST / epsilon)) for d in lengths]))


def _check_magnitude(table: Floats) -> Floats:
    """Raise `ValueError` if a loss is too large for float sums; return the table otherwise."""
    if not np.abs(table).max() <= LARGEST:
        raise ValueError(f"every loss must be at most {LARGEST:g} in size; use a larger unit")
    return np.ascontiguousarray(table)


def _average_mirror(table: Floats) -> Floats:
    """Average a table with its mirror image if they differ only by rounding; return it unchanged otherwise.

    Positions such as thirds of a step are rounded floats, but a symmetric request must stay symmetric to the last bit.
    """
    mirror = np.flip(table)
    return (table + mirror) / 2 if np.allclose(table, mirror, rtol=0, atol=ROUNDING * table.max()) else table


def _symmetrizing_error(problem: Problem, loss: Floats, prior: Floats) -> float:
    """Bound by how much `_average_mirror` of loss and prior can have raised the least loss."""
    loss_change = float(np.abs(problem.loss - loss).max())
    prior_change = float(np.abs(problem.loss).max(axis=0) @ np.abs(problem.prior - prior))
    return loss_change if problem.worst else loss_change + prior_change


def run_routes(problem: Problem, max_seconds: float) -> Proposal:
    """Solve a problem by the cheapest route that is proved for it."""
    if not problem.properties:
        return _solve_without_properties(problem, max_seconds)
    if problem.edges is not None:
        return linear_program.solve(problem, max_seconds)
    if flowchart.accepts(problem):
        return flowchart.solve(problem)
    if outward_fill.accepts(problem):
        proposal = outward_fill.solve(problem)
        if outward_fill.is_optimal(problem, proposal):
            return proposal
    start, relaxed = time.monotonic(), replace(problem, properties=frozenset())
    low = -math.inf
    if column_generation.accepts(relaxed):
        unconstrained = _solve_without_properties(relaxed, max_seconds * FREE_SHARE)
        low = unconstrained.bound
        closed = problem.value(unconstrained.matrix) - low <= NO_GAP * abs(low)
        if closed and baseline.has_properties(problem, unconstrained.matrix, NEGLIGIBLE):
            return unconstrained  # the unconstrained optimum has the properties, so it is optimal with them
    proposal = linear_program.solve(problem, max_seconds - (time.monotonic() - start))
    return baseline.improve_with_baseline(problem, replace(proposal, bound=max(proposal.bound, low)))


def _solve_without_properties(problem: Problem, max_seconds: float) -> Proposal:
    """Solve a problem without properties; by the linear program if windows have different distances."""
    if problem.edges is not None:
        return on_graphs.solve(problem, max_seconds)
    if geometric.accepts(problem):
        return geometric.solve(problem)
    route = column_generation if column_generation.accepts(problem) else linear_program
    return baseline.improve_with_baseline(problem, route.solve(problem, max_seconds))


def _design_large(
    query: RangeQuery, epsilon: Fraction, aims: list[Loss], goal: DesignGoal, max_seconds: float
) -> Mechanism:
    """Design for grids and maps that are too large for a matrix."""
    loss, labels = goal.loss, query.neighbours.is_complete and query.one_output_per_answer
    if labels and goal.is_unconstrained and loss.name == "zero-one" and len(aims) == 1:
        return _design_randomized_response(query, epsilon, goal)
    has_extras = goal.properties or goal.limits or len(aims) > 1 or goal.aim != "average"
    if not (query.neighbours.is_line or query.is_ordered or has_extras):
        return _design_large_map(query, epsilon, goal, max_seconds)
    has_noise_design = is_regular_grid(query) and (loss.name in POWERS or find_noise_reach(query)[0] == 1)
    if has_extras or not has_noise_design or not isinstance(loss, ErrorLoss):
        raise TooLarge(
            "a design of this size is only known for counts, totals, means, ordinal answers and maps, with one output "
            "per answer, an average loss of the error (absolute or squared for totals and means), and neither "
            "properties nor limits; use coarser answers or outputs"
        )
    return design_noise(query, epsilon, loss, goal.prior)


def _design_large_map(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism:
    """Design remapped metric noise for a large map."""
    prior = to_prior(goal.prior, query)
    with np.errstate(all="ignore"), one_thread():
        law, low = maps.remapped_noise(query, epsilon, goal.loss, prior, max_seconds)
    return Mechanism(query, epsilon, law, goal.origin("metric noise, remapped"), goal.optimality(law, query, low))


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

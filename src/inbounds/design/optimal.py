"""optimal(): the best mechanism for a query, loss, prior, properties and aim, by the cheapest proved route."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

import numpy as np

from inbounds.design.problem import Problem, Proposal
from inbounds.design.routes import fallback, fill, flowchart, geometric, program, rays
from inbounds.errors import TooLarge
from inbounds.loss import ErrorLoss, Loss, LossLike, Prior, as_loss, as_prior
from inbounds.mechanism import Mechanism, Optimality, Origin, near
from inbounds.mechanism.law import MATRIX_LIMIT, Law, Matrix, geometric_noise
from inbounds.numbers import Floats, Number, as_epsilon
from inbounds.properties import ColumnRatio, canonical
from inbounds.query import Query, Reach

Aim = Literal["average", "worst"]

ROUNDING = 1e-14
"""Relative error of float sums that a comparison of losses must forgive, and a lower bound must give up."""

FARTHEST = Fraction(600)
"""Log of the largest ratio between two answers that is told from an infinite one; exp(-600) is below 1e-260."""

LARGEST = 1e150
"""Losses up to this size can be multiplied and summed."""


def optimal(
    query: Query,
    epsilon: Number,
    loss: LossLike = "absolute",
    prior: Prior = None,
    properties: Iterable[str | ColumnRatio] = (),
    aim: Aim = "average",
    *,
    max_seconds: float = 60.0,
) -> Mechanism:
    """The private mechanism with the least expected loss, certified, with a proved bound on what is left to gain.

    loss: "absolute", "squared", "zero-one", `ib.off_by_more_than(d)`, `ib.power(p)`, a table outputs × answers or a
    function (reported, true). prior: weights of the answers, uniform by default. properties: names such as
    "fair" or "column_monotone". aim: "average" under the prior, or "worst" answer.

    Routes, cheapest first: for counts the geometric mechanism with the best remap, 003's flowchart for zero-one
    loss, and the outward fill for fair sets (no solver); cone rays for any neighbourhood without properties;
    linear programs, row by row or whole, for any set of properties. `mechanism.origin` names the route,
    `mechanism.optimality` the value, the bound and the gap. A solve that reaches `max_seconds` returns the best
    mechanism found, with its gap.

    >>> from inbounds.query import count
    >>> round(optimal(count(4), 0.5).optimality.value, 6)
    0.94078
    """
    bound, judged = as_epsilon(epsilon), as_loss(loss)
    asked = frozenset(canonical(name, ordered=query.ordered) for name in properties)
    if aim not in ("average", "worst"):
        raise ValueError(f"aim must be 'average' or 'worst', got {aim!r}")
    if not max_seconds > 0:
        raise ValueError(f"max_seconds must be positive, got {max_seconds}")
    if query.shape[0] * query.shape[1] > MATRIX_LIMIT:
        return _large_count(query, bound, judged, prior, asked, aim)
    problem = problem_of(query, bound, judged, prior, asked, aim)
    with np.errstate(all="ignore"):  # large ratios overflow where they lose anyway; the checker has the last word
        proposal = propose(problem, max_seconds)
    low = proposal.bound - _evening(problem, judged.table(query), as_prior(prior, query))
    law = Matrix(near(proposal.matrix, query, bound, even=bool(asked)))
    origin = _origin(proposal.route, judged, asked, aim)
    return Mechanism(query, bound, law, origin, _optimality(law, query, judged, prior, aim, low))


def problem_of(
    query: Query, epsilon: Fraction, loss: Loss, prior: Prior, properties: frozenset[str], aim: Aim
) -> Problem:
    """The query's constraints and the loss as plain arrays."""
    return Problem(
        epsilon=float(epsilon),
        cliques=tuple((c.start, c.stop, float(min(c.distance, FARTHEST / epsilon))) for c in query.cliques()),
        loss=_evened(_moderate(loss.table(query))),
        prior=_evened(as_prior(prior, query)),
        home=query.home,
        below=query.below,
        above=query.above,
        worst=aim == "worst",
        properties=properties,
    )


def _moderate(table: Floats) -> Floats:
    if not np.abs(table).max() <= LARGEST:
        raise ValueError(f"every loss must be at most {LARGEST:g} in size; use a larger unit")
    return np.ascontiguousarray(table)


def _evened(table: Floats) -> Floats:
    """The table itself, or its average with its mirror image where only rounding tells the two apart.

    Means a third of a step apart are floats; a symmetric request must stay symmetric to the last bit.
    """
    mirror = np.flip(table)
    return (table + mirror) / 2 if np.allclose(table, mirror, rtol=0, atol=ROUNDING * table.max()) else table


def _evening(problem: Problem, loss: Floats, prior: Floats) -> float:
    """The most by which evening loss and prior can have raised the least loss."""
    moved = float(np.abs(problem.loss - loss).max())
    spread = float(np.abs(problem.loss).max(axis=0) @ np.abs(problem.prior - prior))
    return moved if problem.worst else moved + spread


def propose(problem: Problem, max_seconds: float) -> Proposal:
    """The cheapest route that is proved for the problem."""
    if not problem.properties and geometric.applies(problem):
        return geometric.solve(problem)
    if rays.applies(problem):
        return fallback.improved(problem, rays.solve(problem, max_seconds))
    if flowchart.applies(problem):
        return flowchart.solve(problem)
    if fill.fits(problem):
        found = fill.solve(problem)
        if fill.proved(problem, found):
            return found
    return fallback.improved(problem, program.solve(problem, max_seconds))


def _large_count(
    query: Query, epsilon: Fraction, loss: Loss, prior: Prior, properties: frozenset[str], aim: Aim
) -> Mechanism:
    """Counts beyond the size of a matrix."""
    if properties or aim != "average" or not is_count(query) or not isinstance(loss, ErrorLoss):
        raise TooLarge(
            "a design of this size is only known for counts, with one output per answer, an average loss of the "
            "error and no properties; use coarser answers or outputs"
        )
    return optimal_noise(query, epsilon, loss, prior)


def is_count(query: Query) -> bool:
    """Answers one step apart are neighbours, and each has its own output."""
    return query.neighbours == Reach(1) and query.answers.regular and query.one_output_per_answer


def optimal_noise(query: Query, epsilon: Fraction, loss: ErrorLoss, prior: Prior = None) -> Mechanism:
    """The optimum of a count for an average loss of the error, as noise and remap: O(answers) numbers, no matrix.

    Geometric noise with the best report of each value is optimal (Ghosh, Roughgarden and Sundararajan 2009).
    """
    unit = float(query.answers.unit)
    remap, _, bound = geometric.remap(
        len(query.answers), float(epsilon), lambda steps: loss.of(steps * unit), as_prior(prior, query)
    )
    law = geometric_noise(query, epsilon, np.asarray(remap, dtype=np.int64))
    origin = _origin("geometric remap", loss, frozenset(), "average")
    return Mechanism(query, epsilon, law, origin, _optimality(law, query, loss, prior, "average", bound))


def _origin(route: str, loss: Loss, properties: frozenset[str], aim: Aim) -> Origin:
    asked = {"properties": " ".join(sorted(properties))} if properties else {}
    return Origin("optimal", {"loss": loss.name, "aim": aim, **asked, "route": route})


def _optimality(law: Law, query: Query, loss: Loss, prior: Prior, aim: Aim, bound: float) -> Optimality:
    """What the law's loss is, and what no private law can be below."""
    losses = law.losses(query, loss)
    value = float(losses.max() if aim == "worst" else losses @ as_prior(prior, query))
    objective = f"{aim} {loss.name} loss" + ("" if prior is None or aim == "worst" else " under the given prior")
    return Optimality(objective, value, min(bound - ROUNDING * abs(bound), value))

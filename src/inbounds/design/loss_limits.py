"""Limits on other losses: the parameters `subject_to` and `then` of a design."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np

from inbounds.design.problem import Floats, LinearLimit, Problem, Proposal
from inbounds.design.routes import limited, linear_program
from inbounds.errors import ConvergenceError, InfeasibleDesign
from inbounds.losses import FixedPointConstraint, Loss, LossLimit, Prior, Restriction, to_prior
from inbounds.mechanism.laws import AnswerLaw
from inbounds.query import RangeQuery

Propose = Callable[[Problem, float], Proposal]
LawOf = Callable[[Floats], AnswerLaw]
Breach = Callable[[AnswerLaw, Restriction], float]

TIED = 1e-9
"""Share of the first aim's value that a second aim may lose: the accuracy of the solver."""

SPARED = 0.15
"""Share of the remaining seconds for explaining why a limit cannot be kept, and the same share for mixing."""

MIXED = 1e-9
"""Relative increase, for rounding, of the share that is mixed in to keep a limit."""

REMIXED = 3
"""Largest number of times that more is mixed in for rounding."""

FIXED = 1e-9
"""Largest probability by which the distribution of reports may differ from a fixed point."""

CHECKED = 1e-13
"""Relative error of the sums that check a limit on integer weights; counted against the mechanism."""


def validate_limits(subject_to: Restriction | Iterable[Restriction]) -> tuple[Restriction, ...]:
    """Return the limits as a tuple; raise `TypeError` if one is no limit."""
    limits = (subject_to,) if isinstance(subject_to, Restriction) else tuple(subject_to)
    for limit in limits:
        if not isinstance(limit, Restriction):
            raise TypeError(f"subject_to must list limits such as ib.limit_loss('absolute', 2), got {limit!r}")
    return limits


def limit_tables(limit: Restriction, query: RangeQuery, symmetrize: Callable[[Floats], Floats]) -> list[LinearLimit]:
    """Turn a limit into arrays, shifted so that no loss is negative. Columns sum to one, so both sides shift alike."""
    if isinstance(limit, FixedPointConstraint):
        return _fix_points(limit, query)
    table = symmetrize(limit.loss.table(query))
    floor = min(0.0, float(table.min()))
    return [LinearLimit(table - floor, float(limit.bound) - floor, limit.aim == "worst")]


def _fix_points(limit: FixedPointConstraint, query: RangeQuery) -> list[LinearLimit]:
    """Require that no output is likelier than its answer. Both sum to one, so all are equally likely."""
    outputs, answers = query.shape
    if not query.one_output_per_answer or len(limit.weights) != answers:
        raise ValueError(f"fixed_point must have a weight for each of {answers} answers, and one output for each")
    rows = np.eye(outputs)[:, :, None] * np.ones(answers)
    return [
        LinearLimit(row, p + FIXED / 4 / outputs, False, limit.weights, 0.0)
        for row, p in zip(rows, limit.weights.tolist(), strict=True)
    ]


def solve_with_limits(problem: Problem, limits: Sequence[Restriction], seconds: float, propose: Propose) -> Proposal:
    """Find the best mechanism that keeps the problem's limits.

    Raises `InfeasibleDesign` if none does, with the least value that a limit must allow.
    """
    start = time.monotonic()
    free = propose(replace(problem, limits=()), seconds / 4)
    if all((limit.values(free.matrix, problem.prior) <= limit.inside).all() for limit in problem.limits):
        return free  # the unconstrained optimum keeps them
    seconds -= time.monotonic() - start
    reserve = SPARED * seconds
    explain = partial(_raise_if_infeasible, problem, limits, seconds=reserve, propose=propose)
    low = free.bound
    try:
        if problem.edges is not None or not limited.accepts(problem):
            return linear_program.solve(problem, seconds - reserve)
        solution = limited.solve(problem, seconds - 2 * reserve, explain)
        if solution.matrix is not None:
            return Proposal(solution.matrix, max(solution.bound, low), "cone rays with limits")
        low = max(low, solution.bound)
        explain(solution.least_excess)
    except ConvergenceError:
        explain()
    return Proposal(_mix_to_limits(problem, free.matrix, reserve, propose), low, "a mix that keeps the limits")


def _mix_to_limits(problem: Problem, free: Floats, seconds: float, propose: Propose) -> Floats:
    """Mix the unconstrained optimum with the least share of `strict`, which keeps the limits best, that keeps them."""
    alone = [replace(problem, loss=limit.table, worst=limit.per_answer, limits=()) for limit in problem.limits]
    strict: Floats = np.mean([propose(single_limit, seconds / len(alone)).matrix for single_limit in alone], axis=0)
    share = 0.0
    for limit in problem.limits:
        now, least = (limit.values(P, problem.prior) for P in (free, strict))
        if (least > limit.inside).any():
            raise ConvergenceError("no mechanism within the limits was found in time; allow more, or more seconds")
        over = now > limit.inside
        share = max(share, ((now - limit.inside)[over] / (now - least)[over]).max(initial=0.0))
    share = min(1.0, share * (1 + MIXED))
    return (1 - share) * free + share * strict


def _raise_if_infeasible(
    problem: Problem, limits: Sequence[Restriction], least_excess: float = 0.0, *, seconds: float, propose: Propose
) -> None:
    """Raise `InfeasibleDesign` if one limit alone, or all together, cannot be kept."""
    for restriction, limit in zip(limits, problem.limits, strict=False):
        if isinstance(restriction, FixedPointConstraint):
            break  # always possible alone
        alone = replace(problem, loss=limit.table, worst=limit.per_answer, limits=())
        least = propose(alone, seconds / len(limits)).bound
        if least > limit.bound * (1 + TIED):
            floor = float(restriction.bound) - limit.bound
            raise InfeasibleDesign(
                f"no private mechanism keeps {restriction}: the least possible is {least + floor:.6g}; "
                "allow that much, ask for less, or take a larger epsilon"
            )
    if least_excess > 0:
        names = " and ".join(str(limit) for limit in limits)
        raise InfeasibleDesign(
            f"no private mechanism keeps {names} together: one of them is exceeded by at least {least_excess:.3g} "
            "of its largest loss; allow more, or take a larger epsilon"
        )


def enforce_limits(
    matrix: Floats,
    problem: Problem,
    limits: Sequence[Restriction],
    law_of: LawOf,
    breach: Breach,
    propose: Propose,
    seconds: float,
) -> AnswerLaw:
    """Round a proposal to weights that keep the limits, or raise `ConvergenceError`.

    Rounding changes a loss by very little, but that can still break a limit. Then the limits are tightened by twice
    the breach, and a little more of the mechanism that keeps them best is mixed in.
    """
    law = law_of(matrix)
    for _ in range(0 if any(isinstance(limit, FixedPointConstraint) for limit in limits) else REMIXED):
        missing = [breach(law, limit) for limit in limits]
        if not any(missing):
            return law
        tighter = (
            replace(x, bound=x.bound - 2 * breach_size) for x, breach_size in zip(problem.limits, missing, strict=True)
        )
        problem = replace(problem, limits=tuple(tighter))
        matrix = _mix_to_limits(problem, matrix, SPARED * seconds, propose)
        law = law_of(matrix)
    for limit in limits:
        if breach_size := breach(law, limit):
            way = "allow more seconds" if isinstance(limit, FixedPointConstraint) else "allow a little more"
            raise ConvergenceError(f"rounding to whole weights breaks the limit {limit} by {breach_size:.2g}; {way}")
    return law


def measure_breach(law: AnswerLaw, limit: Restriction, query: RangeQuery, prior: Prior) -> float:
    """Return by how much a law breaks a limit."""
    if isinstance(limit, FixedPointConstraint):
        off = float(np.abs(law.probabilities(query) @ limit.weights - limit.weights).max())
        return 0.0 if off <= FIXED else off
    losses = law.losses(query, limit.loss)
    value = float(losses.max() if limit.aim == "worst" else losses @ to_prior(prior, query))
    is_kept = value <= float(limit.bound) * (1 - CHECKED) + CHECKED * (limit.bound == 0)
    return 0.0 if is_kept else max(value - float(limit.bound), CHECKED * abs(value))


def limit_from_value(loss: Loss, value: float, aim: Literal["average", "worst"]) -> LossLimit:
    """Turn the value of a reached aim into a limit for the next aim."""
    return LossLimit(loss, Fraction(max(value + TIED * abs(value), 0.0)), aim)

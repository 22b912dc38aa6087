"""Limits on other losses, and aims that come second: what `subject_to` and `then` ask of a design."""

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
from inbounds.mechanism.law import Law
from inbounds.query import RangeQuery

Propose = Callable[[Problem, float], Proposal]
LawOf = Callable[[Floats], Law]
Breach = Callable[[Law, Restriction], float]

TIED = 1e-9
"""Share of the first aim's value that a second aim may give up: the solver's own accuracy."""

SPARED = 0.15
"""Of the seconds left after the free optimum, what finding out why a limit cannot be kept may take, and what mixing."""

MIXED = 1e-9
"""Of what is mixed in to keep a limit, what is added for rounding."""

REMIXED = 3
"""How often more is mixed in for rounding."""

FIXED = 1e-9
"""Probability by which the reports of a fixed point may be distributed otherwise."""

CHECKED = 1e-13
"""Relative error of the sums by which a limit is checked on the whole weights, counted against it."""


def validate_limits(subject_to: Restriction | Iterable[Restriction]) -> tuple[Restriction, ...]:
    """The limits, or an error that says how they are written."""
    limits = (subject_to,) if isinstance(subject_to, Restriction) else tuple(subject_to)
    for limit in limits:
        if not isinstance(limit, Restriction):
            raise TypeError(f"subject_to must list limits such as ib.limit_loss('absolute', 2), got {limit!r}")
    return limits


def limit_tables(limit: Restriction, query: RangeQuery, evened: Callable[[Floats], Floats]) -> list[LinearLimit]:
    """A limit as plain numbers, its least loss not below zero: columns sum to one, so both sides move alike."""
    if isinstance(limit, FixedPointConstraint):
        return _fix_points(limit, query)
    table = evened(limit.loss.table(query))
    floor = min(0.0, float(table.min()))
    return [LinearLimit(table - floor, float(limit.bound) - floor, limit.aim == "worst")]


def _fix_points(limit: FixedPointConstraint, query: RangeQuery) -> list[LinearLimit]:
    """No output is likelier than its answer: both sum to one, so all are as likely."""
    outputs, answers = query.shape
    if not query.one_output_per_answer or len(limit.weights) != answers:
        raise ValueError(f"fixed_point must have a weight for each of {answers} answers, and one output for each")
    rows = np.eye(outputs)[:, :, None] * np.ones(answers)
    return [
        LinearLimit(row, p + FIXED / 4 / outputs, False, limit.weights, 0.0)
        for row, p in zip(rows, limit.weights.tolist(), strict=True)
    ]


def solve_with_limits(problem: Problem, limits: Sequence[Restriction], seconds: float, propose: Propose) -> Proposal:
    """The best mechanism that keeps the problem's limits; `InfeasibleDesign` where none does, with what must be
    allowed.
    """
    start = time.monotonic()
    free = propose(replace(problem, limits=()), seconds / 4)
    if all((limit.values(free.matrix, problem.prior) <= limit.inside).all() for limit in problem.limits):
        return free  # the best of all keeps them
    seconds -= time.monotonic() - start
    spared = SPARED * seconds
    explain = partial(_explain, problem, limits, seconds=spared, propose=propose)
    low = free.bound
    try:
        if problem.edges is not None or not limited.accepts(problem):
            return linear_program.solve(problem, seconds - spared)
        found = limited.solve(problem, seconds - 2 * spared, explain)
        if found.matrix is not None:
            return Proposal(found.matrix, max(found.bound, low), "cone rays with limits")
        low = max(low, found.bound)
        explain(found.needed)
    except ConvergenceError:
        explain()
    return Proposal(_mix_to_limits(problem, free.matrix, spared, propose), low, "a mix that keeps the limits")


def _mix_to_limits(problem: Problem, free: Floats, seconds: float, propose: Propose) -> Floats:
    """The free optimum with as little as will do of what keeps the limits best."""
    alone = [replace(problem, loss=limit.table, worst=limit.each, limits=()) for limit in problem.limits]
    strict: Floats = np.mean([propose(each, seconds / len(alone)).matrix for each in alone], axis=0)
    share = 0.0
    for limit in problem.limits:
        has, least = (limit.values(P, problem.prior) for P in (free, strict))
        if (least > limit.inside).any():
            raise ConvergenceError("no mechanism within the limits was found in time; allow more, or more seconds")
        over = has > limit.inside
        share = max(share, ((has - limit.inside)[over] / (has - least)[over]).max(initial=0.0))
    share = min(1.0, share * (1 + MIXED))
    return (1 - share) * free + share * strict


def _explain(
    problem: Problem, limits: Sequence[Restriction], needed: float = 0.0, *, seconds: float, propose: Propose
) -> None:
    """Raise `InfeasibleDesign` if a limit alone, or all together, ask for too much."""
    for asked, limit in zip(limits, problem.limits, strict=False):
        if isinstance(asked, FixedPointConstraint):
            break  # always possible alone
        alone = replace(problem, loss=limit.table, worst=limit.each, limits=())
        least = propose(alone, seconds / len(limits)).bound
        if least > limit.bound * (1 + TIED):
            floor = float(asked.bound) - limit.bound
            raise InfeasibleDesign(
                f"no private mechanism keeps {asked}: the least possible is {least + floor:.6g}; allow that much, "
                "ask for less, or take a larger epsilon"
            )
    if needed > 0:
        names = " and ".join(str(limit) for limit in limits)
        raise InfeasibleDesign(
            f"no private mechanism keeps {names} together: one of them is exceeded by at least {needed:.3g} of its "
            "largest loss; allow more, or take a larger epsilon"
        )


def enforce_limits(
    matrix: Floats,
    problem: Problem,
    limits: Sequence[Restriction],
    law_of: LawOf,
    breach: Breach,
    propose: Propose,
    seconds: float,
) -> Law:
    """A proposal in whole weights that keep the limits, or `ConvergenceError`.

    Rounding moves a loss by very little, which can still be more than a proposal spares; then a little more of what
    keeps the limits best is mixed in, by what was missing and as much again.
    """
    law = law_of(matrix)
    for _ in range(0 if any(isinstance(limit, FixedPointConstraint) for limit in limits) else REMIXED):
        missing = [breach(law, limit) for limit in limits]
        if not any(missing):
            return law
        tighter = (replace(x, bound=x.bound - 2 * by) for x, by in zip(problem.limits, missing, strict=True))
        problem = replace(problem, limits=tuple(tighter))
        matrix = _mix_to_limits(problem, matrix, SPARED * seconds, propose)
        law = law_of(matrix)
    for limit in limits:
        if by := breach(law, limit):
            way = "allow more seconds" if isinstance(limit, FixedPointConstraint) else "allow a little more"
            raise ConvergenceError(f"rounding to whole weights breaks the limit {limit} by {by:.2g}; {way}")
    return law


def measure_breach(law: Law, limit: Restriction, query: RangeQuery, prior: Prior) -> float:
    """By how much whole weights break a limit."""
    if isinstance(limit, FixedPointConstraint):
        off = float(np.abs(law.probabilities(query) @ limit.weights - limit.weights).max())
        return 0.0 if off <= FIXED else off
    losses = law.losses(query, limit.loss)
    value = float(losses.max() if limit.aim == "worst" else losses @ to_prior(prior, query))
    kept = value <= float(limit.bound) * (1 - CHECKED) + CHECKED * (limit.bound == 0)
    return 0.0 if kept else max(value - float(limit.bound), CHECKED * abs(value))


def limit_from_value(loss: Loss, value: float, aim: Literal["average", "worst"]) -> LossLimit:
    """An aim that was reached, as a limit for the next one."""
    return LossLimit(loss, Fraction(max(value + TIED * abs(value), 0.0)), aim)

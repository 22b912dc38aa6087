"""Limits on other losses: the parameters `subject_to` and `then` of a design."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inbounds.design.problem import SPARE, TIED, Floats, LinearLimit, Problem, Proposal
from inbounds.design.run import run_routes
from inbounds.design.solver.pricing import split_components
from inbounds.errors import ConvergenceError, InfeasibleDesign
from inbounds.losses import FixedPointConstraint, Loss, LossLimit, Prior, Restriction, to_prior
from inbounds.mechanism.laws import AnswerLaw
from inbounds.query import RangeQuery

LawOf = Callable[[Floats], AnswerLaw]
Breach = Callable[[AnswerLaw, Restriction], float]
Bools = NDArray[np.bool_]

SPARED = 0.15
"""Share of the seconds for explaining why a limit cannot be kept, and the same share for mixing."""

MIXED = 1e-9
"""Relative increase, for rounding, of the share that is mixed in to keep a limit."""

REMIXED = 3
"""Largest number of times that more is mixed in for rounding."""

FIXED = 1e-9
"""Largest probability by which the distribution of outputs may differ from a fixed point."""

CHECKED = 1e-13
"""Relative error of the sums that check a limit on integer weights; counted against the mechanism."""

TOLERATED = 4 * CHECKED
"""Share of a limit by which it may be exceeded if nothing better is found: then it is the least possible loss."""

FORBIDDEN = 1e-6
"""Largest probability of an output that cannot be made and that a solver left."""


def validate_limits(subject_to: Restriction | Iterable[Restriction]) -> tuple[Restriction, ...]:
    """Return the limits as a tuple; raise `TypeError` if one is no limit."""
    limits = (subject_to,) if isinstance(subject_to, Restriction) else tuple(subject_to)
    for limit in limits:
        if not isinstance(limit, Restriction):
            raise TypeError(f"subject_to must list limits such as ib.limit_loss('absolute', 2), got {limit!r}")
    return limits


def can_be_broken(limit: Restriction, query: RangeQuery, prior: Prior) -> bool:
    """Return whether some matrix breaks a limit, even one whose outputs are those that the limit counts most."""
    if isinstance(limit, FixedPointConstraint):
        return True
    most = limit.loss.table(query).max(axis=0)
    largest = float(most.max() if limit.aim == "worst" else most @ to_prior(prior, query))
    return largest > float(limit.bound) + CHECKED * abs(largest)


def limit_tables(
    limit: Restriction, query: RangeQuery, symmetrize: Callable[[Floats], Floats], prior: Prior = None
) -> list[LinearLimit]:
    """Turn a limit into arrays, shifted so that no loss is negative. Columns sum to one, so both sides shift alike.

    A limit that only outputs of least loss keep, up to `SPARE`, has no room for rounding: see `forbid_reports`.
    """
    if isinstance(limit, FixedPointConstraint):
        return _fix_points(limit, query)
    table = symmetrize(limit.loss.table(query))
    table, bound = table - min(0.0, float(table.min())), float(limit.bound) - min(0.0, float(table.min()))
    best, per_answer = table.min(axis=0), limit.aim == "worst"
    least = float(best.max() if per_answer else best @ to_prior(prior, query))
    if abs(bound - least) <= SPARE * float(table.max()):
        return [LinearLimit(table, least, per_answer, spare=0.0)]
    return [LinearLimit(table, bound, per_answer)]


def find_forbidden(problem: Problem) -> Bools:
    """Return the outputs that are impossible because a limit is as small as the least loss of an answer.

    An output that is impossible for one answer is impossible for all that neighbours connect with it.
    """
    forbidden = np.zeros(problem.shape, dtype=bool)
    for limit in problem.limits:
        if limit.spare == 0.0 and limit.under is None:
            best = limit.table.min(axis=0)
            tight = best == limit.bound if limit.per_answer else problem.prior > 0
            forbidden |= (limit.table > best) & tight
    parts = [slice(None)] if problem.edges is not None else list(split_components(problem))
    for part in parts:
        forbidden[:, part] |= forbidden[:, part].any(axis=1, keepdims=True)
    return forbidden


def forbid_reports(problem: Problem, P: Floats) -> Floats:
    """Set impossible outputs to zero: a solver leaves them rounding errors."""
    forbidden = find_forbidden(problem)
    Q = np.where(forbidden, 0.0, P)
    return Q / Q.sum(axis=0) if forbidden.any() and (Q.sum(axis=0) >= 1 - FORBIDDEN).all() else P


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


def solve_free(problem: Problem, seconds: float) -> tuple[Floats, Proposal]:
    """Find the best mechanism for a problem without limits: its matrix, and the proposal it is from."""
    proposal = run_routes(problem, time.monotonic() + seconds)
    assert proposal.matrix is not None
    return proposal.matrix, proposal


def solve_with_limits(problem: Problem, limits: Sequence[Restriction], seconds: float) -> tuple[Floats, Proposal]:
    """Find the best mechanism that keeps the problem's limits: its matrix, and the proposal it is from.

    Raises `InfeasibleDesign` if none does, with the least value that a limit must allow.
    """
    reserve = SPARED * seconds
    if find_forbidden(problem).all(axis=0).any():
        raise InfeasibleDesign(
            f"no private mechanism keeps {' and '.join(map(str, limits))}: every output loses more with some answer, "
            "and none can be impossible for one answer alone; allow more"
        )
    proposal = run_routes(problem, time.monotonic() + seconds - 2 * reserve)
    if proposal.matrix is not None:
        return proposal.matrix, proposal
    _raise_if_infeasible(problem, limits, proposal.least_excess, reserve)
    free, _ = solve_free(replace(problem, limits=()), reserve / 2)
    return _mix_to_limits(problem, free, reserve / 2), replace(proposal, route="a mix that keeps the limits")


def _mix_to_limits(problem: Problem, free: Floats, seconds: float) -> Floats:
    """Mix the unconstrained optimum with the least share of `strict`, which keeps the limits best, that keeps them."""
    alone = [replace(problem, loss=limit.table, worst=limit.per_answer, limits=()) for limit in problem.limits]
    strict: Floats = np.mean([solve_free(single_limit, seconds / len(alone))[0] for single_limit in alone], axis=0)
    share = 0.0
    for limit in problem.limits:
        now, least = (limit.values(P, problem.prior) for P in (free, strict))
        if (least > limit.bound + TIED * float(limit.table.max())).any():
            raise ConvergenceError("no mechanism within the limits was found in time; allow more, or more seconds")
        over = now > limit.inside
        room = np.maximum(now - least, now - limit.inside)[over]  # nothing else keeps a limit at the least loss
        share = max(share, ((now - limit.inside)[over] / room).max(initial=0.0))
    share = min(1.0, share * (1 + MIXED))
    return (1 - share) * free + share * strict


def _raise_if_infeasible(problem: Problem, limits: Sequence[Restriction], least_excess: float, seconds: float) -> None:
    """Raise `InfeasibleDesign` if one limit alone, or all together, cannot be kept."""
    for restriction, limit in zip(limits, problem.limits, strict=False):
        if isinstance(restriction, FixedPointConstraint):
            break  # always possible alone
        alone = replace(problem, loss=limit.table, worst=limit.per_answer, limits=())
        least = run_routes(alone, time.monotonic() + seconds / len(limits)).bound
        if limit.is_out_of_reach(least):
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
    seconds: float,
) -> AnswerLaw:
    """Round a proposal to weights that keep the limits, or raise `ConvergenceError`.

    Rounding changes a loss by very little, but that can still break a limit. Then the limits are tightened by twice
    the breach, and a little more of the mechanism that keeps them best is mixed in.
    """
    law = law_of(forbid_reports(problem, matrix))
    for _ in range(0 if any(isinstance(limit, FixedPointConstraint) for limit in limits) else REMIXED):
        missing = [breach(law, limit) for limit in limits]
        if not any(missing):
            return law
        tighter = (
            replace(x, bound=x.bound - 2 * breach_size) for x, breach_size in zip(problem.limits, missing, strict=True)
        )
        problem = replace(problem, limits=tuple(tighter))
        matrix = _mix_to_limits(problem, matrix, SPARED * seconds)
        law = law_of(forbid_reports(problem, matrix))
    for limit in limits:
        if (breach_size := breach(law, limit)) > TOLERATED * float(getattr(limit, "bound", 0)):
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
    """Turn the value of a reached aim into a limit for the next aim, which may lose the solver's inaccuracy."""
    return LossLimit(loss, Fraction(max(value + TIED * abs(value), 0.0)), aim)

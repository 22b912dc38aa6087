"""`optimal`: the best mechanism for a query, loss, prior, properties and aim, by the cheapest proved route.

It turns a query into a `Problem`, runs the routes, rounds the proposal to weights, and certifies the result.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from inbounds.design.goal import Aim, DesignGoal, average_mirror, build_problem, symmetrizing_error
from inbounds.design.graphs import maps
from inbounds.design.large import (
    CLOSE,
    design_large,
    design_large_map,
    design_mended,
    design_noise_sharply,
    has_mended_design,
    has_noise_design,
    is_count,
)
from inbounds.design.loss_limits import (
    can_be_broken,
    enforce_limits,
    limit_from_value,
    limit_tables,
    measure_breach,
    solve_free,
    solve_with_limits,
    validate_limits,
)
from inbounds.design.problem import Problem
from inbounds.design.rounding import round_proposal
from inbounds.design.solver.threads import one_thread
from inbounds.errors import TooLarge, suggest_name
from inbounds.exact import Floats, Number, to_epsilon
from inbounds.losses import GraphLoss, LossLike, Prior, Restriction, TableLoss, to_loss, to_prior, weigh_loss
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import AnswerLaw, Matrix
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.properties import ColumnRatio, parse_properties
from inbounds.query import RangeQuery, check_query

MOMENT = 0.5
"""Least seconds for each aim, even when no time is left."""

MANY = 1000
"""Answers from which a noise table is designed first: a search takes some ten seconds there, and soon a minute."""

FINISHING = 2e-6
"""Seconds per cell for rounding and checking at most; the search leaves them free."""

FINISHING_EDGE = 1.2e-7
"""The same for each cell and edge of its answer, on graphs."""

SEARCHING = 0.1
"""Share of the time that the search gets, and a table after it, whatever remains."""

MOST_CHECKED = 1 << 31
"""Outputs times edges of the largest matrix on a graph: some minutes for rounding and checking."""


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
    is_large = query.shape[0] * query.shape[1] > MATRIX_LIMIT
    if aim == "worst" and prior is not None:  # 003 Definition 3: the largest of the answers' losses times their weights
        if is_large:
            raise TooLarge("the worst answer under a prior needs a matrix, too large here; leave out prior or the aim")
        aims = [weigh_loss(aimed, prior, query) for aimed in aims]
    if is_large:
        return design_large(query, bound, aims, DesignGoal(aims[0], prior, property_names, aim, limits), max_seconds)
    is_plain = not (property_names or limits or len(aims) > 1)
    is_long = len(query.answers) >= maps.LARGE or _finishing_seconds(query) > max_seconds / 2
    if is_plain and not query.neighbours.is_line and is_long and maps.accepts(query, aims[0]):
        return design_large_map(query, bound, DesignGoal(aims[0], prior, property_names, aim, limits), max_seconds)
    start = time.monotonic()
    for k, judged in enumerate(aims):
        goal = DesignGoal(judged, prior, property_names, aim, limits, tuple(aims[:k]))
        seconds = max(max_seconds - (time.monotonic() - start), MOMENT) / (len(aims) - k)
        mechanism = _solve_goal(query, bound, goal, seconds)
        assert mechanism.optimality is not None
        limits = (*limits, limit_from_value(judged, mechanism.optimality.value, aim))
    return mechanism


def _finishing_seconds(query: RangeQuery) -> float:
    """Return the seconds for rounding and checking a matrix."""
    outputs, answers = query.shape
    edges = 0 if query.neighbours.is_line else len(query.edges)
    return FINISHING * outputs * answers + FINISHING_EDGE * outputs * edges


def _solve_goal(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism:
    """Design the best mechanism for one goal: with many answers a noise table, unless a search might gain much."""
    start = time.monotonic()
    make_table = _table_maker(query, goal)
    table = make_table(query, epsilon, goal, max_seconds) if make_table and len(query.answers) >= MANY else None
    if table is not None and _is_close(table):
        return table
    found = _search(query, epsilon, goal, max(max_seconds - (time.monotonic() - start), MOMENT))
    if _is_close(found) or make_table is None:
        return found
    remaining = max(max_seconds - (time.monotonic() - start), SEARCHING * max_seconds)
    table = table or make_table(query, epsilon, goal, remaining)
    return found if table is None else _better(found, table)


TableMaker = Callable[[RangeQuery, Fraction, DesignGoal, float], Mechanism | None]


def _table_maker(query: RangeQuery, goal: DesignGoal) -> TableMaker | None:
    """Return the design by noise that can meet a goal without a search, if there is one."""
    if has_noise_design(query, goal) and not goal.before and not _is_closed_form(query, goal):
        return _try_table
    return design_mended if has_mended_design(query, goal) else None


def _try_table(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism | None:
    """Design a noise table; return None if none has the properties."""
    try:
        return design_noise_sharply(query, epsilon, goal, max_seconds)
    except TooLarge:
        return None


def _is_closed_form(query: RangeQuery, goal: DesignGoal) -> bool:
    """Return whether the best matrix of any size is found without a search."""
    return is_count(query) and goal.aim == "average" and not goal.properties


def _is_close(mechanism: Mechanism) -> bool:
    """Return whether a search could gain little."""
    best = mechanism.optimality
    return best is not None and best.gap <= CLOSE * abs(best.value)


def _better(one: Mechanism, other: Mechanism) -> Mechanism:
    """Return the better of two mechanisms for the same goal, the first if they are equal, with the better bound."""
    assert one.optimality is not None
    assert other.optimality is not None
    best = one if one.optimality.value <= other.optimality.value else other
    bound = max(one.optimality.bound, other.optimality.bound)
    assert best.optimality is not None
    proved = replace(best.optimality, bound=min(bound, best.optimality.value))
    return Mechanism(best.query, best.epsilon, best.law, best.origin, proved)


def _search(query: RangeQuery, epsilon: Fraction, goal: DesignGoal, max_seconds: float) -> Mechanism:
    """Design a matrix by the cheapest route."""
    start = time.monotonic()
    if not query.neighbours.is_line and query.shape[0] * len(query.edges) > MOST_CHECKED:
        raise TooLarge(
            f"a matrix with {query.shape[0]} outputs on a graph with {len(query.edges)} edges is too large to be "
            "checked; leave out stretch, or use coarser answers"
        )
    if isinstance(goal.loss, GraphLoss):  # shortest paths are found once
        goal = replace(goal, loss=TableLoss(goal.loss.table(query), goal.loss.name))
    problem = build_problem(query, epsilon, goal.loss, goal.prior, goal.properties, goal.aim)
    limits = tuple(limit for limit in goal.limits if can_be_broken(limit, query, goal.prior))
    tables = (table for limit in limits for table in limit_tables(limit, query, average_mirror, goal.prior))
    problem = replace(problem, limits=tuple(tables))
    remaining = max_seconds - (time.monotonic() - start) - _finishing_seconds(query)
    seconds = max(remaining, SEARCHING * max_seconds)
    law_of = partial(_round_to_law, problem=problem, query=query, epsilon=epsilon)
    with np.errstate(all="ignore"), one_thread():  # large ratios overflow where they lose anyway
        if limits:
            matrix, proposal = solve_with_limits(problem, limits, seconds)
            breach = partial(measure_breach, query=query, prior=goal.prior)
            law = enforce_limits(matrix, problem, limits, law_of, breach, seconds)
        else:
            matrix, proposal = solve_free(problem, seconds)
            law = law_of(matrix)
    low = proposal.bound - symmetrizing_error(problem, goal.loss.table(query), to_prior(goal.prior, query))
    return Mechanism(query, epsilon, law, goal.origin(proposal.route), goal.optimality(law, query, low))


def _round_to_law(matrix: Floats, problem: Problem, query: RangeQuery, epsilon: Fraction) -> AnswerLaw:
    """Round a proposal to a certified matrix of weights."""
    return Matrix(round_proposal(matrix, problem, query, epsilon))

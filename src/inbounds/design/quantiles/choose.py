"""Choice of the law of a quantile by a declared objective, before any record is read."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from inbounds.design.designer import optimal
from inbounds.design.quantiles.central import design_central, max_window
from inbounds.design.quantiles.search import (
    DEFAULT_SEARCH,
    PlainScores,
    QuantileSearch,
    ScoreErrors,
    ScoreTable,
    SidedScores,
    can_be_sided,
)
from inbounds.errors import InfeasibleDesign
from inbounds.exact import Floats, Ints, Number, to_epsilon
from inbounds.losses import Prior, to_prior
from inbounds.mechanism import Mechanism, QuantileMechanism
from inbounds.mechanism.expected_channel import draw_groups_from_prior, quantile_distribution
from inbounds.mechanism.laws import CentralRecords
from inbounds.query import QuantileQuery, RangeQuery, check_quantile

PLAIN, SIDED, ANSWER = "path scores", "sided path scores", "the oblivious optimum"
"""Names of the kinds of laws; those over several central records are named with their number."""


@dataclass(frozen=True)
class QuantileDesign:
    """The mechanism chosen for a quantile, the errors of the kinds of laws that were considered, and the reason.

    errors: of the best law of each kind, by its name. Without a prior relative to plain permute-and-flip, the geometric
    mean over the family of groups, of the laws that keep the guard. With a prior the expected absolute error, in steps.
    """

    mechanism: QuantileMechanism
    errors: dict[str, float]
    reason: str

    def __str__(self) -> str:
        return self.reason


def design_quantile(
    query: QuantileQuery, epsilon: Number, prior: Prior = None, *, search: QuantileSearch = DEFAULT_SEARCH
) -> QuantileDesign:
    """Choose the law of a quantile with the least objective before any record is read.

    Without a prior the shares of the values are unknown. Then plain and sided path scores and the oblivious optimum are
    compared by their errors on a family of groups, and none is chosen that errs noticeably more than plain path
    scores on any of them: see `QuantileSearch`. A law over a few central records cannot keep that guard, because it
    does not see how many records agree.

    prior: of the values of independent records, one weight each. With a prior the expected error alone decides. For few
    values the best law over the central records is considered too.

    Nothing depends on data, and equal arguments give equal mechanisms. Cost: about 0.1 s of processor time for 100
    values and 100 records, and 1 s for 2,048 values. Sizes that are nearly the same share one search.

    >>> from inbounds import median
    >>> str(design_quantile(median(0, 20, size=300), 4)).partition(":")[0]
    'path scores'
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if prior is not None:
        return _design_for_prior(query, bound, to_prior(prior, query.as_range_query), search)
    choice = _choose(search.representative(query), bound, search)
    if choice.table is None:
        mechanism = answer_law(query, _best_for_answers(query.as_range_query, bound))
    else:
        mechanism = _certify(choice.table, query, bound)
    errors = dict(choice.errors)
    error = f"{errors[choice.name]:.3f} times the error of plain permute-and-flip on the family of groups"
    return QuantileDesign(mechanism, errors, _describe(choice.name, error, errors))


def answer_law(query: QuantileQuery, best: Mechanism) -> QuantileMechanism:
    """Make a mechanism for one answer a mechanism of a quantile, which sees the true quantile and nothing else."""
    law = CentralRecords.from_answers(query, best.weights)
    return Mechanism(query, best.epsilon, law, best.origin)


def _certify(table: ScoreTable, query: QuantileQuery, epsilon: Fraction) -> QuantileMechanism:
    """Certify the table that was chosen; plain path scores if its whole numbers cannot be told apart at this size."""
    try:
        return table.design(query, epsilon)
    except InfeasibleDesign:
        return PlainScores().design(query, epsilon)


def _describe(name: str, error: str, errors: dict[str, float]) -> str:
    """Name the law that was chosen, its error, and the errors of the others."""
    return f"{name}: {error}" + "".join(f", {other} {errors[other]:.3g}" for other in errors if other != name)


# --- without a prior --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Choice:
    """What a search chose: a score table, or None for the oblivious optimum; its kind, and the error of each kind."""

    table: ScoreTable | None
    name: str
    errors: tuple[tuple[str, float], ...]


@lru_cache(maxsize=4096)
def _choose(query: QuantileQuery, epsilon: Fraction, search: QuantileSearch) -> _Choice:
    """Find the table of the grid with the least objective that keeps the guard, or the oblivious optimum."""
    errors = ScoreErrors(query, epsilon, search.family, search.grid)
    plain = errors.of(PlainScores())
    limits = search.limits(plain)
    best: dict[str, tuple[float, ScoreTable | None]] = {PLAIN: (1.0, PlainScores())}
    for name, table in grid_tables(query, search):
        found = errors.within(table, limits)
        if found is not None:
            _keep_better(best, name, search.relative_error(found, plain), table)
    answers = query.true_positions(errors.groups)
    if len(query.values) <= search.max_columns and answers_may_suffice(answers, limits, epsilon):
        losses = _best_for_answers(query.as_range_query, epsilon).loss_per_answer("absolute")[answers]
        if (losses <= limits).all():
            _keep_better(best, ANSWER, search.relative_error(losses, plain), None)
    name = min(best, key=lambda kind: best[kind][0])
    return _Choice(best[name][1], name, tuple((kind, error) for kind, (error, _) in best.items()))


def _keep_better(
    best: dict[str, tuple[float, ScoreTable | None]], name: str, error: float, table: ScoreTable | None
) -> None:
    if name not in best or error < best[name][0]:
        best[name] = error, table


def grid_tables(query: QuantileQuery, search: QuantileSearch) -> list[tuple[str, ScoreTable]]:
    """List the tables of the grid that are private for a query, with the names of their kinds."""
    tables: list[tuple[str, ScoreTable]] = [(PLAIN, PlainScores(steepness)) for steepness in search.grid.steepness]
    if can_be_sided(query):
        tables += [(SIDED, SidedScores(*sides)) for sides in search.grid.sides(len(query.values))]
    return tables


def answers_may_suffice(answers: Ints, limits: Floats, epsilon: Fraction) -> bool:
    """Return whether a law that sees the answer alone can keep limits on its errors.

    Pr[i | t] >= exp(-epsilon) Pr[i | t'] for any two answers, and |i - t| + |i - t'| >= |t - t'|. So the errors at t
    and t' add up to at least exp(-epsilon) |t - t'|.
    """
    order = np.argsort(answers, kind="stable")
    distances = np.abs(answers[order][:, None] - answers[order])
    return bool((limits[order][:, None] + limits[order] >= math.exp(-float(epsilon)) * distances).all())


@lru_cache(maxsize=16)
def _best_for_answers(query: RangeQuery, epsilon: Fraction) -> Mechanism:
    """Design the optimum over the true answer alone, every answer equally likely. It does not depend on the size."""
    return optimal(query, epsilon)


# --- with a prior -----------------------------------------------------------------------------------------


def _design_for_prior(query: QuantileQuery, epsilon: Fraction, prior: Floats, search: QuantileSearch) -> QuantileDesign:
    """Choose the law of least expected error for independent records with these probabilities of the values."""
    table = _choose_for_prior(search.representative(query), epsilon, tuple(prior.tolist()), search)
    scores = _certify(table, query, epsilon)
    made = {SIDED if isinstance(table, SidedScores) else PLAIN: scores}
    expected = scores.channel(prior)
    # Pr[i | t] >= exp(-epsilon) Pr[i | t'] for any two answers: an oblivious output loses that share of a constant
    least = math.exp(-float(epsilon)) * expected.constant_loss()
    if expected.loss() > least and len(query.values) <= search.max_columns:
        answers = quantile_distribution(prior, query.at, query.size)
        made[ANSWER] = answer_law(query, optimal(query.as_range_query, epsilon, prior=answers))
    length = max_window(query, search.max_columns)
    if can_be_sided(query) and length > 1:
        made[f"the {length} central records"] = design_central(query, epsilon, length=length, prior=prior)
    errors = {name: mechanism.loss(prior=prior) for name, mechanism in made.items()}
    name = min(errors, key=lambda kind: errors[kind])
    return QuantileDesign(made[name], errors, _describe(name, f"expected error {errors[name]:.3g}", errors))


@lru_cache(maxsize=1024)
def _choose_for_prior(
    query: QuantileQuery, epsilon: Fraction, prior: tuple[float, ...], search: QuantileSearch
) -> ScoreTable:
    """Find the table of the grid with the least mean error on groups drawn from a prior of the values."""

    def draw(of: QuantileQuery) -> Ints:
        rng = np.random.default_rng(of.size)
        return draw_groups_from_prior(np.array(prior), of.at, of.size, search.prior_groups, rng)

    errors = ScoreErrors(query, epsilon, draw, search.grid)
    return min((table for _, table in grid_tables(query, search)), key=lambda table: float(errors.of(table).mean()))

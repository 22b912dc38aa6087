"""Choice between path scores, central records and the oblivious optimum for a quantile, before any record is read."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from inbounds.design.designer import optimal
from inbounds.design.quantiles.central import design_central, max_window
from inbounds.design.quantiles.search import design_scores
from inbounds.exact import Floats, Ints, Number, to_epsilon
from inbounds.losses import Prior, to_prior
from inbounds.mechanism import Mechanism, QuantileMechanism
from inbounds.mechanism.expected_channel import quantile_distribution
from inbounds.mechanism.laws import CentralRecords, SidedPermuteAndFlip
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.path_lengths import quantile_rank

MOST_VALUES = 129
"""Largest number of values for which the oblivious optimum is considered; with more, it is rarely better."""

REGRET = 1.02
"""Largest error of the oblivious optimum on any records, relative to path scores, unless there is a prior."""


MOST_CENTRAL = 350
"""Largest number of multisets of central records that is considered: a linear program of half a second."""

FEW = 1 << 10
"""Largest size of an example group that is generated record by record; larger groups are multiples of it."""


@dataclass(frozen=True)
class QuantileDesign:
    """The mechanism chosen for a quantile, the expected errors of the candidates, and the reason.

    errors: expected absolute error of path scores and of the oblivious optimum, or a lower bound on the latter if that
    was enough to rule it out. central: error of the best law over the central records, if it was designed.
    """

    mechanism: QuantileMechanism
    errors: tuple[float, float]
    reason: str
    central: float | None = None

    def __str__(self) -> str:
        return self.reason


def design_quantile(query: QuantileQuery, epsilon: Number, prior: Prior = None) -> QuantileDesign:
    """Choose path scores, the oblivious optimum or the central records by the least expected error.

    prior: of the values of independent records, one weight each. With a prior and few values, the
    best law over the central records is considered too. Without a prior the shares of the values are unknown. Then the
    oblivious optimum is chosen only if it also loses at most 1.02 times as much as path scores on every clustered
    group, where path scores lose least. A law over a few central records cannot do that, because it does not see how
    many records agree.

    >>> from inbounds import median
    >>> str(design_quantile(median(0, 20, size=300), 4)).partition(":")[0]
    'path scores'
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    choice = _choose(query, bound, prior)
    length = max_window(query, MOST_CENTRAL)
    if prior is None or not (query.public_size and query.records == 1 and length > 1):
        return choice
    central = design_central(query, bound, length=length, prior=prior)
    loss, other = central.loss(prior=prior), choice.mechanism.loss(prior=prior)
    if loss >= other:
        return replace(choice, central=loss)
    reason = f"the {length} central records: expected error {loss:.3g}, {choice.reason.partition(':')[0]} {other:.3g}"
    return QuantileDesign(central, choice.errors, reason, loss)


def _choose(query: QuantileQuery, bound: Fraction, prior: Prior) -> QuantileDesign:
    """Choose path scores or the oblivious optimum."""
    scores = design_scores(query, bound)
    name = "sided path scores" if isinstance(scores.law, SidedPermuteAndFlip) else "path scores"
    expected = scores.channel(prior)
    score_error = expected.loss()
    # Pr[i | t] >= exp(-epsilon) Pr[i | t'] for any two answers: an oblivious report loses that share of a constant
    least = math.exp(-float(bound)) * expected.constant_loss()
    if score_error <= least or len(query.values) > MOST_VALUES:
        return QuantileDesign(
            scores,
            (score_error, least),
            f"{name}: expected error {score_error:.3g}, {_describe_oblivious(least, at_least=True)}",
        )
    groups = None if prior is not None else _clustered_groups(query)
    group_errors = None if groups is None else _errors(scores, groups)
    # the errors of an oblivious report at both ends of the range add up to at least exp(-epsilon) · width
    if (
        group_errors is not None
        and max(group_errors[0], group_errors[query.width]) * REGRET < math.exp(-float(bound)) * query.width / 2
    ):
        return QuantileDesign(scores, (score_error, least), _describe_regret(name, score_error, least, at_least=True))
    oblivious = _oblivious(query, scores, prior)
    loss = oblivious.loss(prior=prior)
    if loss >= score_error:
        return QuantileDesign(
            scores, (score_error, loss), f"{name}: expected error {score_error:.3g}, {_describe_oblivious(loss)}"
        )
    if groups is not None and group_errors is not None and (_errors(oblivious, groups) > REGRET * group_errors).any():
        return QuantileDesign(scores, (score_error, loss), _describe_regret(name, score_error, loss))
    return QuantileDesign(
        oblivious, (score_error, loss), f"the oblivious optimum: expected error {loss:.3g}, {name} {score_error:.3g}"
    )


def _oblivious(query: QuantileQuery, scores: QuantileMechanism, prior: Prior) -> QuantileMechanism:
    """Design the optimum over the true answer alone, with the prior of answers that the prior of records implies."""
    answers = None
    if prior is not None:
        answers = quantile_distribution(to_prior(prior, query.as_range_query), query.at, query.size)
    best = optimal(query.as_range_query, scores.epsilon, prior=answers)
    return Mechanism(query, scores.epsilon, CentralRecords.from_answers(query, best.weights), best.origin)


def _clustered_groups(query: QuantileQuery) -> Ints:
    """List groups whose records are clustered.

    Records lie evenly within 0, 1, 2, 4, … steps of every value (first those that are all equal), or at the value up to
    the quantile and evenly from there to an end of the range.
    """
    values, count = np.arange(query.width + 1), min(query.size, FEW)
    spreads = [0, *(1 << b for b in range(query.width.bit_length()))]
    runs = [_evenly(np.maximum(values - d, 0), np.minimum(values + d, query.width), count) for d in spreads]
    k = quantile_rank(query.at, count)
    at, none = np.eye(len(values), dtype=np.int64), np.zeros_like(values)
    runs.append(k * at + _evenly(values, none + query.width, count - k))
    runs.append((count - k + 1) * at + _evenly(none, values, k - 1))
    return np.concatenate(runs) * max(1, query.size // FEW)


def _evenly(low: Ints, high: Ints, count: int) -> Ints:
    """Build histograms of `count` records spread evenly over low..high, one row for each pair."""
    shares = (np.arange(count) + 0.5) / max(1, count)
    places = low[:, None] + np.floor(shares * (high - low + 1)[:, None]).astype(np.int64)
    return np.array([np.bincount(row, minlength=len(low)) for row in places])


def _errors(mechanism: QuantileMechanism, groups: Ints) -> Floats:
    """Compute the expected error for every group, in steps."""
    query = mechanism.query
    distances = np.abs(np.arange(query.width + 1) - query.true_positions(groups)[:, None])
    return np.asarray((mechanism.probabilities(groups) * distances).sum(axis=1))


def _describe_oblivious(loss: float, *, at_least: bool = False) -> str:
    """Describe the error of the oblivious optimum."""
    return f"the oblivious optimum {'at least ' if at_least else ''}{loss:.3g}"


def _describe_regret(name: str, error: float, loss: float, *, at_least: bool = False) -> str:
    """Explain a choice of path scores because of clustered groups."""
    return (
        f"{name}: expected error {error:.3g} where shares are unknown, {_describe_oblivious(loss, at_least=at_least)}, "
        "which loses more where records lie together; give a prior of the values if they do not"
    )

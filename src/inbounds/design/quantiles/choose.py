"""choose: path scores, the central records or the oblivious optimum, settled and said before any record is read."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from inbounds.design.designer import optimal
from inbounds.design.quantiles.central import design_central, max_window
from inbounds.design.quantiles.search import design_scores
from inbounds.exact import Floats, Ints, Number, to_epsilon
from inbounds.losses import Prior, to_prior
from inbounds.mechanism.law import Matrix
from inbounds.mechanism.quantiles import CountedTable, ObliviousRecords, QuantileMechanism, SidedPermuteAndFlip
from inbounds.mechanism.quantiles.channel import quantile_distribution
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.path_lengths import quantile_rank

MOST_VALUES = 129
"""Values up to which the oblivious optimum is considered: where there are more, one record hardly tells where it is."""

REGRET = 1.02
"""How many times the error of path scores the oblivious optimum may have on any records, unless a prior was given."""


MOST_CENTRAL = 350
"""Multisets of central records up to which they are considered: a linear program of half a second for each size."""

FEW = 1 << 10
"""Records that are laid out one by one when groups are imagined; larger groups are multiples of such."""


@dataclass(frozen=True)
class QuantileDesign:
    """The mechanism that was chosen for a quantile, what the others were expected to lose, and why.

    errors: expected absolute error of path scores and of the oblivious optimum; of that at least so much, where it
    needed no design to be ruled out. central: of the best law over the central records, where it was designed.
    """

    mechanism: QuantileMechanism
    errors: tuple[float, float]
    reason: str
    central: float | None = None

    def __str__(self) -> str:
        return self.reason


def design_quantile(query: QuantileQuery, epsilon: Number, prior: Prior = None) -> QuantileDesign:
    """Path scores, the oblivious optimum or the central records: what has the least expected error.

    prior: of the values of independent records, one weight each. With a prior that is all; where there are few values
    the best law over the central records is then considered too. Without one the shares of the values are unknown, and
    the oblivious optimum is chosen only if it also loses at most 1.02 times as much on records that lie together,
    wherever and however closely: there path scores lose least. A law over a few central records cannot do that, for it
    does not see how many agree.

    >>> from inbounds import median
    >>> str(design_quantile(median(0, 20, size=300), 4)).partition(":")[0]
    'path scores'
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    found = _choose(query, bound, prior)
    length = max_window(query, MOST_CENTRAL)
    if prior is None or not (query.public_size and query.records == 1 and length > 1):
        return found
    central = design_central(query, bound, length=length, prior=prior)
    loss, other = central.expected_error(prior=prior), found.mechanism.expected_error(prior=prior)
    if loss >= other:
        return replace(found, central=loss)
    reason = f"the {length} central records: expected error {loss:.3g}, {found.reason.partition(':')[0]} {other:.3g}"
    return QuantileDesign(central, found.errors, reason, loss)


def _choose(query: QuantileQuery, bound: Fraction, prior: Prior) -> QuantileDesign:
    """Path scores or the oblivious optimum."""
    scores = design_scores(query, bound)
    name = {SidedPermuteAndFlip: "sided path scores", CountedTable: "counted path scores"}.get(
        type(scores.law), "path scores"
    )
    expected = scores.channel(prior)
    own = expected.loss()
    # Pr[i | t] >= exp(-epsilon) Pr[i | t'] for any two answers: no oblivious report is better than a constant so often
    least = math.exp(-float(bound)) * expected.constant_loss()
    if own <= least or len(query.values) > MOST_VALUES:
        return QuantileDesign(scores, (own, least), f"{name}: expected error {own:.3g}, {_other(least, at_least=True)}")
    together = None if prior is not None else _together(query)
    alike = None if together is None else _errors(scores, together)
    # of an oblivious report, the errors at both ends of the range add up to exp(-epsilon) · width or more
    if alike is not None and max(alike[0], alike[query.width]) * REGRET < math.exp(-float(bound)) * query.width / 2:
        return QuantileDesign(scores, (own, least), _not_everywhere(name, own, least, at_least=True))
    other = _oblivious(query, scores, prior)
    loss = other.expected_error(prior=prior)
    if loss >= own:
        return QuantileDesign(scores, (own, loss), f"{name}: expected error {own:.3g}, {_other(loss)}")
    if together is not None and alike is not None and (_errors(other, together) > REGRET * alike).any():
        return QuantileDesign(scores, (own, loss), _not_everywhere(name, own, loss))
    return QuantileDesign(other, (own, loss), f"the oblivious optimum: expected error {loss:.3g}, {name} {own:.3g}")


def _oblivious(query: QuantileQuery, scores: QuantileMechanism, prior: Prior) -> QuantileMechanism:
    """The optimum over the true answer alone, for the answers that a given prior of records makes likely."""
    answers = None
    if prior is not None:
        answers = quantile_distribution(to_prior(prior, query.as_range_query), query.at, query.size)
    best = optimal(query.as_range_query, scores.epsilon, prior=answers)
    return QuantileMechanism(query, scores.epsilon, ObliviousRecords(Matrix(best.weights)), best.origin)


def _together(query: QuantileQuery) -> Ints:
    """Groups whose records lie together: evenly within 0, 1, 2, 4, … steps of every value (first those that are all
    equal), or at the value down to the quantile, and evenly up to an end of the range beyond it.
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
    """Histograms of `count` records spread evenly over low..high, one row for each pair."""
    shares = (np.arange(count) + 0.5) / max(1, count)
    places = low[:, None] + np.floor(shares * (high - low + 1)[:, None]).astype(np.int64)
    return np.array([np.bincount(row, minlength=len(low)) for row in places])


def _errors(mechanism: QuantileMechanism, groups: Ints) -> Floats:
    """The expected error for every group, in steps."""
    query = mechanism.query
    distances = np.abs(np.arange(query.width + 1) - query.true_positions(groups)[:, None])
    return np.asarray((mechanism.probabilities(groups) * distances).sum(axis=1))


def _other(loss: float, *, at_least: bool = False) -> str:
    return f"the oblivious optimum {'at least ' if at_least else ''}{loss:.3g}"


def _not_everywhere(name: str, own: float, loss: float, *, at_least: bool = False) -> str:
    return (
        f"{name}: expected error {own:.3g} where shares are unknown, {_other(loss, at_least=at_least)}, "
        "which loses more where records lie together; give a prior of the values if they do not"
    )

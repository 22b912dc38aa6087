"""Errors of outputs at face value: losses, bias, variance, probabilities of the truth and of the ends.

Every function takes a mechanism or a channel first and is a method of both; the law computes the sums, in floats.
`exact_measures` has the same measures as Fractions. Noise tables use the linear-time forms of `clamped`, so these
measures also work for counts of a million.
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from inbounds.exact import Floats
from inbounds.losses import LossLike, Prior, to_loss
from inbounds.query import RangeQuery

if TYPE_CHECKING:
    from inbounds.mechanism.channel import Channel


class HasChannel(Protocol):
    """A mechanism, or a channel itself."""

    def channel(self, prior: Prior = None) -> "Channel":
        """Return Pr[output | true answer] with a prior."""


def loss(source: HasChannel, loss: LossLike = "absolute", prior: Prior = None) -> float:
    """Return the expected loss, averaged over the answers with weights `prior` (uniform by default; 000 (23), (24))."""
    channel = source.channel(prior)
    return float(loss_per_answer(channel, loss) @ channel.prior)


def worst_loss(source: HasChannel, loss: LossLike = "absolute") -> float:
    """Return the expected loss under the answer for which it is largest."""
    channel = source.channel()
    return float(channel.select_possible(loss_per_answer(channel, loss)).max())


def loss_per_answer(source: HasChannel, loss: LossLike = "absolute") -> Floats:
    """Return sum_i P[i, j] · loss[i, j] for every answer j: the expected loss when j is true."""
    channel = source.channel()
    return channel.law.losses(channel.query, to_loss(loss))


def truth_probability(source: HasChannel) -> Floats:
    """Return for every true answer the probability of the cell, or a set of labels, that holds it."""
    channel = source.channel()
    return channel.law.truth_probability(channel.query)


def end_probability(source: HasChannel) -> Floats:
    """Return for every true answer the probability of the first or the last output, true or not.

    Clamping adds up at the ends: a large value with a small probability of the truth means that outputs say more
    about the range than about the data.
    """
    channel = source.channel()
    return channel.law.ends(_require_numbers(channel.query, "an end of the range"))


def bias(source: HasChannel) -> Floats:
    """Return the expected output minus the true answer, for every true answer."""
    channel = source.channel()
    return channel.law.bias(_require_numbers(channel.query, "bias"))


def variance(source: HasChannel) -> Floats:
    """Return the variance of the output for every true answer, summed around each column's mean to avoid cancellation.

    For a noise table it is E[error²] - bias², correct to 10^-15 of the squared range.
    """
    channel = source.channel()
    return channel.law.variance(_require_numbers(channel.query, "variance"))


def rmse(source: HasChannel) -> Floats:
    """Return the root of the expected squared error for every true answer: sqrt(variance + bias²)."""
    channel = source.channel()
    _require_numbers(channel.query, "an error")
    return np.asarray(np.sqrt(np.maximum(loss_per_answer(channel, "squared"), 0.0)))


def _require_numbers(query: RangeQuery, what: str) -> RangeQuery:
    if not query.is_ordered:
        raise ValueError(f"{what} needs numeric answers; labels have none")
    return query

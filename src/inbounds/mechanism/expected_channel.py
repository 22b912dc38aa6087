"""The expected channel of a quantile mechanism: Pr[output | true quantile] under a model of the records.

The output depends on all records, so the matrix needs a model of them. No data are read.

- *Unknown shares*, the default: all values are equally likely to be the quantile, and given the quantile all histograms
  of the records are equally likely (`record_models`).
- *A prior of the values*: records are drawn independently from it. The k-th smallest of n uniform numbers has the
  distribution Beta(k, n - k + 1); given it, k - 1 records are independent below it and n - k above. With many records
  such a prior nearly determines the quantile, so expected errors are small.

Groups are drawn for every true answer, with a fixed seed, and the known probabilities of their outputs are averaged.
For judging and choosing mechanisms, never for a release.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from inbounds.exact import Floats, Ints, Number, format_decimal, to_fraction, to_int
from inbounds.losses import Prior, to_prior
from inbounds.mechanism.channel import Channel, ExpectedMatrix
from inbounds.mechanism.laws.joint import JointLaw
from inbounds.mechanism.laws.scores import ROWS
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.record_models import enumerate_groups
from inbounds.query import JointQuantileQuery, QuantileQuery
from inbounds.trusted.path_lengths import quantile_rank

GROUPS = 1600
"""The number of groups drawn from a prior, for all true answers together."""

COUNTS = 200_000
"""The number of counts in the histograms drawn for unknown shares, for all true answers together."""

UNKNOWN_EACH = (8, 600)
"""The fewest and the most groups drawn for unknown shares, for one true answer."""

LEAST_EACH = 2
"""The same for each of several sizes that are averaged."""

SMALL = 128
"""Columns with fewer values have small matrices, of which many are kept."""

PER_ANSWER = (2, 400)
"""The fewest and the most groups drawn from a prior, for one true answer."""

JOINT_STEPS = 1 << 26
"""The most steps of sums over states and values in the groups drawn for all quantiles of one draw together."""

FEWEST_TRUTHS = 8
"""The fewest true answers for which groups are drawn, whatever they cost."""

MOST_TRUTHS = 256
"""The most true answers for which groups are drawn: in wider ranges the law of the nearest one is moved."""

UNLIKELY = 1e-9
"""No groups are drawn for a true answer of at most this probability."""


@dataclass(frozen=True)
class QuantileOfJoint:
    """One quantile of several that are drawn together, with the probabilities of its values."""

    whole: JointQuantileQuery
    law: JointLaw
    place: int

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        """Return Pr[value] for every group: groups × values."""
        return np.asarray(self.law.probabilities(self.whole, histograms)[:, self.place])


class HasProbabilities(Hashable, Protocol):
    """The law of a quantile, or one quantile of several."""

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        """Return Pr[output] for every group, to float precision: groups × outputs."""


def expected_channel(
    query: QuantileQuery, law: HasProbabilities, prior: Prior, size: int | None, parts: int = 1, every: int = 1
) -> Channel:
    """Return the channel from the true quantile to the output, as `Mechanism.channel` describes it.

    parts: how many channels of different sizes are averaged; each is computed from so much fewer groups. every: without
    a prior groups are drawn for every so manyth true answer; the law of another one is that of the nearest, moved.
    """
    values = None if prior is None else tuple(to_prior(prior, query.as_range_query).tolist())
    cached = _small_channel if query.width < SMALL else _large_channel
    return cached(query, law, values, query.size if size is None else to_int(size, "size", 1), parts, every)


def joint_channel(
    query: JointQuantileQuery, law: JointLaw, at: Number | None, prior: Prior, size: int | None, parts: int = 1
) -> Channel:
    """Return the channel of one of several quantiles that are drawn together, as `expected_channel` does.

    Raises `ValueError` unless `at` is one of them.
    """
    share, names = None if at is None else to_fraction(at, "at"), [*map(format_decimal, query.at)]
    if share not in query.at:
        raise ValueError(
            f"at must be one of {', '.join(names)}: several quantiles have a channel each, that of channel(at=…)"
        )
    place, values = query.at.index(share), query.width + 1
    steps = len(query.at) ** 2 * (query.size + values)  # of a group for each value, over m quantiles with m channels
    shared = max(parts * len(query.at), -(-COUNTS * steps // JOINT_STEPS))  # at most as many groups as for one quantile
    every = min(-(-LEAST_EACH * steps * values**2 // JOINT_STEPS), max(1, values // FEWEST_TRUTHS))
    return expected_channel(query.singles[place], QuantileOfJoint(query, law, place), prior, size, shared, every)


def _make_channel(
    query: QuantileQuery, law: HasProbabilities, values: tuple[float, ...] | None, size: int, parts: int, every: int
) -> Channel:
    if values is None:
        return channel_of_unknown_records(query, law, size, parts, every)
    return channel_of_prior(query, law, np.array(values), size, parts)


_small_channel, _large_channel = lru_cache(maxsize=1024)(_make_channel), lru_cache(maxsize=32)(_make_channel)


def channel_of_unknown_records(
    query: QuantileQuery, law: HasProbabilities, size: int, parts: int = 1, every: int = 1
) -> Channel:
    """Return the channel for `size` records of unknown shares, all values equally likely to be their quantile.

    every: groups are drawn for every so manyth value; see `expected_channel`.
    Raises `TooLarge` beyond MATRIX_LIMIT entries.
    """
    refuse_beyond_limit(query.as_range_query)
    values, every = query.width + 1, max(every, -(-query.width // MOST_TRUTHS))
    fewest = LEAST_EACH if parts > 1 else UNKNOWN_EACH[0]
    per_answer = int(np.clip(COUNTS // parts // values**2, fewest, UNKNOWN_EACH[1]))
    truths = np.arange((values - 1) % every // 2, values, every)
    weighted = enumerate_groups(values, quantile_rank(query.at, size), size, per_answer, truths)
    laws, together = np.empty((len(truths), values)), max(1, ROWS // (values * per_answer))
    for start in range(0, len(truths), together):
        starts = np.searchsorted(weighted.truths, truths[start : start + together])
        rows = slice(starts[0], np.searchsorted(weighted.truths, truths[start : start + together][-1], "right"))
        reports = law.probabilities(query, weighted.groups[rows]) * weighted.weights[rows, None]
        laws[start : start + together] = np.add.reduceat(reports, starts - starts[0], axis=0)
    law_of_reports = ExpectedMatrix(_move_to_all(laws / laws.sum(axis=1, keepdims=True), truths))
    return Channel(query.as_range_query, np.full(values, 1 / values), law_of_reports)


def _move_to_all(laws: Floats, truths: Ints) -> Floats:
    """Return the law of every true answer, outputs × answers: that of the nearest of `truths`, moved."""
    values = laws.shape[1]
    places, matrix = np.arange(values), np.empty((values, values))
    nearest = np.abs(places[:, None] - truths).argmin(axis=1)
    steps = places - truths[nearest]
    for step in np.unique(steps):
        of_step = np.flatnonzero(steps == step)
        low, high = max(0, -step), values - max(0, step)  # what stays in the range
        part = np.zeros((len(of_step), values))
        part[:, low + step : high + step] = laws[nearest[of_step], low:high]
        part[:, 0] += laws[nearest[of_step], :low].sum(axis=1)
        part[:, -1] += laws[nearest[of_step], high:].sum(axis=1)
        matrix[:, of_step] = part.T
    return matrix


def channel_of_prior(query: QuantileQuery, law: HasProbabilities, values: Floats, size: int, parts: int = 1) -> Channel:
    """Return the channel for `size` independent records. values: the probability of each value.

    Raises `TooLarge` beyond MATRIX_LIMIT entries.
    """
    refuse_beyond_limit(query.as_range_query)
    chances = quantile_distribution(values, query.at, size)
    matrix = np.zeros((len(values), len(values)))
    rng = np.random.default_rng(size)
    per_answer = int(np.clip(GROUPS // parts // len(values), *PER_ANSWER))
    for t in np.flatnonzero(chances > UNLIKELY):
        groups = _draw_groups_with(int(t), values, query.at, size, per_answer, rng)
        matrix[:, t] = law.probabilities(query, groups).mean(axis=0)
    matrix[:, chances <= UNLIKELY] = (matrix @ chances / chances[chances > UNLIKELY].sum())[:, None]
    return Channel(query.as_range_query, chances, ExpectedMatrix(matrix), chances > UNLIKELY)


def quantile_distribution(values: Floats, at: Fraction, size: int) -> Floats:
    """Return Pr[the quantile of `size` independent records is t] for every value t."""
    from scipy.special import betainc

    k = quantile_rank(at, size)
    upto = betainc(k, size - k + 1, np.minimum(np.cumsum(values), 1.0))
    upto[-1] = 1.0
    return np.asarray(np.maximum(np.diff(upto, prepend=0.0), 0.0))


def draw_groups_from_prior(values: Floats, at: Fraction, size: int, count: int, rng: np.random.Generator) -> Ints:
    """Draw `count` histograms of independent records, stratified by the place of their quantile."""
    from scipy.special import betaincinv

    k = quantile_rank(at, size)
    levels = betaincinv(k, size - k + 1, (np.arange(count) + 0.5) / count)
    truths = np.minimum(np.searchsorted(np.cumsum(values), levels), len(values) - 1)
    return np.concatenate(
        [_draw_groups_at(int(t), levels[truths == t], values, k, size, rng) for t in np.unique(truths)]
    )


def _draw_groups_with(t: int, values: Floats, at: Fraction, size: int, count: int, rng: np.random.Generator) -> Ints:
    """Draw histograms of independent records whose quantile is t."""
    from scipy.special import betainc, betaincinv

    k = quantile_rank(at, size)
    ends = np.concatenate([[0.0], np.minimum(np.cumsum(values), 1.0)])
    low, high = betainc(k, size - k + 1, ends[t : t + 2])
    levels = betaincinv(k, size - k + 1, low + (high - low) * (np.arange(count) + 0.5) / count)
    return _draw_groups_at(t, levels, values, k, size, rng)


def _draw_groups_at(t: int, levels: Floats, values: Floats, k: int, size: int, rng: np.random.Generator) -> Ints:
    """Draw histograms whose k-th record is the value t, at the points `levels` (0..1) of the values' distribution."""
    count, ends = len(levels), np.concatenate([[0.0], np.minimum(np.cumsum(values), 1.0)])
    levels = np.clip(levels, ends[t] + 1e-300, min(ends[t + 1], 1 - 1e-16))[:, None]
    below, above = np.tile(values, (count, 1)), np.tile(values, (count, 1))
    below[:, t:], above[:, : t + 1] = 0.0, 0.0
    below[:, t], above[:, t] = (levels - ends[t])[:, 0].clip(0.0), (ends[t + 1] - levels)[:, 0].clip(0.0)
    groups = _draw_counts(k - 1, below, rng) + _draw_counts(size - k, above, rng)
    groups[:, t] += 1
    return groups


def _draw_counts(count: int, weights: Floats, rng: np.random.Generator) -> Ints:
    totals = weights.sum(axis=1, keepdims=True)
    if count == 0 or not (totals > 0).all():
        counts = np.zeros(weights.shape, dtype=np.int64)
        counts[:, int(weights.argmax(axis=1)[0])] = count
        return counts
    return np.asarray(rng.multinomial(count, weights / totals), dtype=np.int64)

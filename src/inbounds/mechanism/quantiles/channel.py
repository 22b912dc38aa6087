"""What a quantile's mechanism is expected to do, before any record is read.

The report depends on all records, so there is no matrix Pr[report | answer] before something is said about them.

- *Unknown shares*, the default: every value is as likely to be the quantile, and given it every histogram of the
  records as likely as every other (`unknown`).
- *A prior of the values*: records are drawn independently from it. The k-th smallest of n uniform numbers has the law
  Beta(k, n - k + 1), and given it, k - 1 records are independent below it and n - k above. Of many records such a prior
  leaves little in doubt but the report itself, and errors are as small as that.

Groups are drawn for every true answer, with a fixed seed, and the probabilities of the reports, which are known for
each of them, are averaged. For judging and choosing, never for a release.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.losses import LossLike, to_loss
from inbounds.mechanism import bayes
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.quantiles.laws import ROWS, QuantileLaw
from inbounds.mechanism.quantiles.record_models import enumerate_groups
from inbounds.query import QuantileQuery, RangeQuery
from inbounds.trusted.path_lengths import quantile_rank

GROUPS = 1600
"""Groups that are drawn, for all true answers together."""

COUNTS = 200_000
"""Numbers in the histograms that are drawn of unknown shares, for all true answers together."""

UNKNOWN_EACH = (8, 600)
"""The fewest and the most such groups for one true answer."""

PER_ANSWER = (2, 400)
"""The fewest and the most groups that are drawn for one true answer."""

UNLIKELY = 1e-9
"""A true answer of no more probability is not drawn for."""


@dataclass(frozen=True)
class Channel:
    """Pr[report | true quantile] and Pr[true quantile], and what follows for a reader.

    query: the values as a query. matrix: outputs × answers. prior: of the true quantile. Simulated with a fixed seed:
    expected errors are within about two hundredths; exact where all histograms of unknown shares are few.
    """

    query: RangeQuery
    matrix: Floats = field(repr=False)
    prior: Floats = field(repr=False)

    def loss(self, loss: LossLike = "absolute") -> float:
        """The expected loss of the report taken at face value."""
        return float(np.einsum("ij,ij,j->", self.matrix, to_loss(loss).table(self.query), self.prior))

    def constant_loss(self, loss: LossLike = "absolute") -> float:
        """The expected loss of the best constant, which needs no data at all."""
        return float((to_loss(loss).guesses(self.query) @ self.prior).min())

    def posterior(self, output: Any) -> Floats:
        """Pr[true quantile | report]."""
        return bayes.posterior(self, output, self.prior)

    def best_guess(self, output: Any, loss: LossLike = "absolute") -> Any:
        """The value that loses least after seeing the report."""
        return bayes.best_guess(self, output, loss, self.prior)

    def credible_set(self, output: Any, level: float = 0.9) -> bayes.CredibleSet:
        """The shortest run of values that holds the true quantile with probability `level` after the report."""
        return bayes.credible_set(self, output, level, self.prior)

    def readings(self, level: float = 0.9) -> tuple[bayes.Interpretation, ...]:
        """For every report its credible set and best guess."""
        return bayes.interpret_all(self, level, self.prior)


def channel_of_unknown_records(query: QuantileQuery, law: QuantileLaw, size: int) -> Channel:
    """Of `size` records of unknown shares, every value equally likely their quantile. `TooLarge` as for
    `channel_of_prior`.
    """
    refuse_beyond_limit(query.as_range_query)
    values = query.width + 1
    each = int(np.clip(COUNTS // values**2, *UNKNOWN_EACH))
    found = enumerate_groups(values, quantile_rank(query.at, size), size, each)
    matrix, together = np.zeros((values, values)), min(values, max(1, ROWS // (values * each)))
    for start in range(0, values, together):
        rows = slice(*np.searchsorted(found.truths, (start, start + together)))
        columns = np.zeros((rows.stop - rows.start, together))
        columns[np.arange(len(columns)), found.truths[rows] - start] = found.weights[rows]
        part = law.probabilities(query, found.groups[rows]).T @ columns
        matrix[:, start : start + together] = part[:, : values - start]
    return Channel(query.as_range_query, matrix / matrix.sum(axis=0), np.full(values, 1 / values))


def channel_of_prior(query: QuantileQuery, law: QuantileLaw, values: Floats, size: int) -> Channel:
    """values: the probability of each value, of `size` independent records. `TooLarge` beyond the largest matrix."""
    refuse_beyond_limit(query.as_range_query)
    chances = quantile_distribution(values, query.at, size)
    matrix = np.zeros((len(values), len(values)))
    rng = np.random.default_rng(size)
    each = int(np.clip(GROUPS // len(values), *PER_ANSWER))
    for t in np.flatnonzero(chances > UNLIKELY):
        groups = _groups_with(int(t), values, query.at, size, each, rng)
        matrix[:, t] = law.probabilities(query, groups).mean(axis=0)
    matrix[:, chances <= UNLIKELY] = (matrix @ chances / chances[chances > UNLIKELY].sum())[:, None]
    return Channel(query.as_range_query, matrix, chances)


def quantile_distribution(values: Floats, at: Fraction, size: int) -> Floats:
    """Pr[the quantile of `size` independent records is t] for every value t."""
    from scipy.special import betainc

    k = quantile_rank(at, size)
    upto = betainc(k, size - k + 1, np.minimum(np.cumsum(values), 1.0))
    upto[-1] = 1.0
    return np.asarray(np.maximum(np.diff(upto, prepend=0.0), 0.0))


def sample_groups_of(values: Floats, at: Fraction, size: int, count: int, rng: np.random.Generator) -> Ints:
    """Histograms of independent records, one for each of `count` equally likely parts of where the quantile may be."""
    from scipy.special import betaincinv

    k = quantile_rank(at, size)
    own = betaincinv(k, size - k + 1, (np.arange(count) + 0.5) / count)
    truths = np.minimum(np.searchsorted(np.cumsum(values), own), len(values) - 1)
    return np.concatenate([_groups_at(int(t), own[truths == t], values, k, size, rng) for t in np.unique(truths)])


def _groups_with(t: int, values: Floats, at: Fraction, size: int, count: int, rng: np.random.Generator) -> Ints:
    """Histograms of independent records whose quantile is t."""
    from scipy.special import betainc, betaincinv

    k = quantile_rank(at, size)
    ends = np.concatenate([[0.0], np.minimum(np.cumsum(values), 1.0)])
    low, high = betainc(k, size - k + 1, ends[t : t + 2])
    own = betaincinv(k, size - k + 1, low + (high - low) * (np.arange(count) + 0.5) / count)
    return _groups_at(t, own, values, k, size, rng)


def _groups_at(t: int, own: Floats, values: Floats, k: int, size: int, rng: np.random.Generator) -> Ints:
    """Histograms whose k-th record is the value t, at the places `own` of the distribution of the values."""
    count, ends = len(own), np.concatenate([[0.0], np.minimum(np.cumsum(values), 1.0)])
    own = np.clip(own, ends[t] + 1e-300, min(ends[t + 1], 1 - 1e-16))[:, None]
    below, above = np.tile(values, (count, 1)), np.tile(values, (count, 1))
    below[:, t:], above[:, : t + 1] = 0.0, 0.0
    below[:, t], above[:, t] = (own - ends[t])[:, 0].clip(0.0), (ends[t + 1] - own)[:, 0].clip(0.0)
    groups = _draw_counts(k - 1, below, rng) + _draw_counts(size - k, above, rng)
    groups[:, t] += 1
    return groups


def _draw_counts(count: int, weights: Floats, rng: np.random.Generator) -> Ints:
    totals = weights.sum(axis=1, keepdims=True)
    if count == 0 or not (totals > 0).all():
        found = np.zeros(weights.shape, dtype=np.int64)
        found[:, int(weights.argmax(axis=1)[0])] = count
        return found
    return np.asarray(rng.multinomial(count, weights / totals), dtype=np.int64)

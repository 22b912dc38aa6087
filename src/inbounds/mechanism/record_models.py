"""A model of records with unknown shares: groups with a given quantile, when only the number of records is known.

All histograms of n records over m values are equally likely, as under a Dirichlet(1, …, 1) prior of the shares of the
values. A histogram is n stars and m - 1 bars in a row; value t has the stars between two bars. The
quantile is t if t bars stand before the k-th star. Then the k - 1 stars and t bars before it stand in any order, and so
do, independently, the n - k stars and the r = m - 1 - t bars behind it:

    Pr[quantile = t]                             = C(k-1+t, t) · C(n-k+r, r) / C(n+m-1, m-1)
    Pr[x or more records before it are equal]    = C(k-1-x+t, t) / C(k-1+t, t)

and behind it likewise. The error of an output is decided by the few groups in which hardly any other record has the
value of the k-th. So groups are drawn separately for every range of this number, and weighted by the range's
probability.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints
from inbounds.trusted.multisets import all_multisets, count_multisets

ALL_OF = 4000
"""Up to this number of histograms all are enumerated, and expectations are exact; beyond it groups are drawn."""

CASCADED = 1 << 20
"""Shares in memory at a time."""

NEVER = 1e-15
"""Ranges of at most this probability are left out."""


@dataclass(frozen=True)
class WeightedGroups:
    """Histograms ordered by their quantiles (`truths`), with probabilities that sum to one for each quantile."""

    groups: Ints
    truths: Ints
    weights: Floats


def enumerate_groups(values: int, k: int, size: int, per_value: int, truths: Ints) -> WeightedGroups:
    """Return histograms of `size` records for each of the values `truths`, which rise, as the k-th smallest record.

    values: the number of values. All histograms if they are few, else about `per_value` drawn for each of `truths`.
    """
    if count_multisets(size, values - 1) <= ALL_OF:
        return _all_groups(values, k, size, truths)
    return _draw_groups(values, k, size, per_value, truths, np.random.default_rng(size))


def _all_groups(values: int, k: int, size: int, truths: Ints) -> WeightedGroups:
    groups = all_multisets(size, values - 1)
    found = (np.cumsum(groups, axis=1) < k).sum(axis=1)
    order = np.argsort(found, kind="stable")
    order = order[np.isin(found[order], truths)]
    return WeightedGroups(groups[order], found[order], 1 / np.bincount(found)[found[order]])


def _draw_groups(
    values: int, k: int, size: int, per_value: int, truths: Ints, rng: np.random.Generator
) -> WeightedGroups:
    """Draw groups for values, stratified by how many other records have the value of the k-th.

    The number is that of the side, before or behind the k-th record, with fewer. Ranges grow by a factor, so that the
    smallest numbers have separate strata.
    """
    edges = _edges(max(k, size - k + 1), per_value)
    before, behind = _Side(k - 1, truths), _Side(size - k, values - 1 - truths)
    alive = before.at_least(edges[:, None]) * behind.at_least(edges[:, None])  # edges × truths
    alive[-1] = 0.0
    ranges, times = len(edges) - 1, max(1, per_value // (len(edges) - 1))
    place, part, turn = (axis.ravel() for axis in np.indices((len(truths), ranges, times)))
    most, least = alive[part, place], alive[part + 1, place]
    is_likely = most - least > NEVER
    place, part, most, least = place[is_likely], part[is_likely], most[is_likely], least[is_likely]
    before, behind = before.select(place), behind.select(place)
    target = least + (turn[is_likely] + rng.random(len(place))) / times * (most - least)
    fewer = _last_true(lambda x: before.at_least(x) * behind.at_least(x) >= target, edges[part], edges[part + 1] - 1)
    groups = np.zeros((len(place), values), dtype=np.int64)
    first, second = _draw_equal(before, behind, fewer, rng)
    groups[np.arange(len(place)), truths[place]] = 1 + first + second
    for position, truth in enumerate(truths):
        rows = slice(*np.searchsorted(place, (position, position + 1)))
        groups[rows, :truth] = _draw_histograms(k - 1 - first[rows], truth, rng)
        groups[rows, truth + 1 :] = _draw_histograms(size - k - second[rows], values - 1 - truth, rng)
    return WeightedGroups(groups, truths[place], (most - least) / times)


@dataclass(frozen=True)
class _Side:
    """Stars and bars in random order, before the k-th star or behind it; a number of bars for each group."""

    stars: int
    bars: Ints

    @property
    def is_certain(self) -> NDArray[np.bool_]:
        """Whether nothing is random: all stars have the value of the k-th, or there are none."""
        return np.asarray((self.bars == 0) | (self.stars == 0))

    def at_least(self, x: Ints) -> Floats:
        """Return Pr[x or more stars stand between the k-th and the nearest bar]; 1 if nothing is random."""
        from scipy.special import betaln

        probability = np.exp(self._log_total - betaln(np.maximum(self.stars + 1.0 - x, 0.5), np.maximum(self.bars, 1)))
        return np.where(self.is_certain, 1.0, np.where(x > self.stars, 0.0, probability))

    @cached_property
    def _log_total(self) -> Floats:
        from scipy.special import betaln

        return np.asarray(betaln(self.stars + 1.0, np.maximum(self.bars, 1)))

    def select(self, place: Ints) -> "_Side":
        """Return the side with the bars at these places, one for each group."""
        return _Side(self.stars, self.bars[place])


def _edges(most: int, limit: int) -> Ints:
    """Return 0, 1, 2, 4, 7, 11, … to `most`, a factor of 1.5 apart; further apart if there were over `limit` ranges."""
    edges = [0]
    while edges[-1] < most:
        edges.append(min(most, edges[-1] + 1 + edges[-1] // 2))
    if len(edges) <= limit + 1:
        return np.array(edges)
    return np.unique(np.concatenate([[0.0], np.geomspace(1, most, limit)]).round().astype(np.int64))


def _draw_equal(before: _Side, behind: _Side, fewer: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Draw how many records before the k-th and behind it have its value; `fewer` is the smaller of the two."""
    here = (before.at_least(fewer) - before.at_least(fewer + 1)) * behind.at_least(fewer)
    there = before.at_least(fewer + 1) * (behind.at_least(fewer) - behind.at_least(fewer + 1))
    is_before = rng.random(len(fewer)) * (here + there) < here
    share = rng.random(len(fewer))
    first = np.where(is_before, fewer, _upper_quantile(before, fewer + 1, share))
    second = np.where(is_before, _upper_quantile(behind, fewer, share), fewer)
    return np.where(before.is_certain, before.stars, first), np.where(behind.is_certain, behind.stars, second)


def _upper_quantile(side: _Side, low: Ints, share: Floats) -> Ints:
    """Return the number of stars, given that it is at least `low`, at the upper quantile `share` (0..1)."""
    target = side.at_least(low) * share
    return _last_true(lambda x: side.at_least(x) >= target, low, np.full_like(low, side.stars))


def _last_true(holds: Callable[[Ints], NDArray[np.bool_]], low: Ints, high: Ints) -> Ints:
    """Return the last integer in low..high for which `holds` is true, by bisection; low if there is none."""
    high = np.maximum(high, low)
    while (low < high).any():
        middle = (low + high + 1) // 2
        is_true = holds(middle)
        low, high = np.where(is_true, middle, low), np.where(is_true, high, middle - 1)
    return low


def draw_cascades(values: int, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Return histograms of so many records each, groups × values, whose records lie together at any scale.

    Of the records in a range, any share is as likely to be in its lower half; so in each half, and so on. The range of
    values is a part, at a random place, of one that is twice as wide, so that no value is a border more often than
    others. Where all histograms are equally likely, the halves of a wide range have nearly equal shares; here heaps,
    gaps and records close together are common.
    """
    halvings = (values - 1).bit_length() + 1
    groups = np.empty((len(sizes), values), dtype=np.int64)
    rows = max(1, CASCADED >> halvings)
    for start in range(0, len(sizes), rows):
        part = sizes[start : start + rows]
        shares = np.ones((len(part), 1))
        for _ in range(halvings):
            lower = rng.random(shares.shape)
            shares = np.stack([shares * lower, shares * (1 - lower)], axis=2).reshape(len(part), -1)
        first = rng.integers(0, shares.shape[1] - values + 1, len(part))
        inside = np.take_along_axis(shares, first[:, None] + np.arange(values), axis=1)
        groups[start : start + rows] = rng.multinomial(part, inside / inside.sum(axis=1, keepdims=True))
    return groups


def draw_declared(values: int, sizes: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return histograms of so many records each, and the scale of each group: the declared family of several quantiles.

    Half of the groups, of scale 0, are `draw_cascades`. The records of the others are in a window, where they lie
    together in the same way. A window has all, half, a quarter, … or one of the values, scales 1, 2, 3, …, each as
    likely; half of them are at an end of the range. Of groups beside each other one is of scale 0.
    """
    groups, scales = np.zeros((len(sizes), values), dtype=np.int64), np.zeros(len(sizes), dtype=np.int64)
    scales[1::2] = 1 + np.arange(len(scales[1::2])) % values.bit_length()
    place = rng.integers(0, 4, len(sizes))
    for scale in range(1 + values.bit_length()):
        rows, width = np.flatnonzero(scales == scale), values >> max(0, scale - 1)
        anywhere = rng.integers(0, values - width + 1, len(rows))
        first = np.choose(np.minimum(place[rows], 2), [np.zeros_like(anywhere), values - width, anywhere])
        groups[rows[:, None], first[:, None] + np.arange(width)] = draw_cascades(width, sizes[rows], rng)
    return groups, scales


def _draw_histograms(stars: Ints, values: int, rng: np.random.Generator) -> Ints:
    """Draw uniformly from the histograms of `stars` records over `values` values, one for each entry."""
    if not values:
        return np.zeros((len(stars), 0), dtype=np.int64)
    shares = rng.standard_exponential((len(stars), values))
    return np.asarray(rng.multinomial(stars, shares / shares.sum(axis=1, keepdims=True)), dtype=np.int64)

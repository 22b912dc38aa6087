"""Groups of a known quantile and unknown shares: nothing is known of the records but how many they are.

Every histogram of n records over m values is as likely as every other, which is what a Dirichlet(1, …, 1) prior of the
shares of the values says. A histogram is n stars and m - 1 bars in a row; value t has the stars between two bars. The
quantile is t if t bars stand before the k-th star. Then the k - 1 stars and t bars before it stand in any order, and so
do, independently, the n - k stars and the r = m - 1 - t bars behind it:

    Pr[quantile = t]                             = C(k-1+t, t) · C(n-k+r, r) / C(n+m-1, m-1)
    Pr[x or more records before it are equal]    = C(k-1-x+t, t) / C(k-1+t, t)

and behind it likewise. What a report is worth is decided by the few groups in which hardly any record beside the k-th
has its value, however many records there are. So groups are drawn apart for every range of that number, and weighed by
how likely the range is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints
from inbounds.trusted.multisets import all_multisets, count_multisets

ALL_OF = 4000
"""Histograms up to which none is drawn: all are taken, and what is expected is exact."""

NEVER = 1e-15
"""Ranges of no more probability are left out."""


@dataclass(frozen=True)
class WeightedGroups:
    """Histograms in the order of their quantiles, the quantile of each, and its probability among those of the same."""

    groups: Ints
    truths: Ints
    weights: Floats


def enumerate_groups(values: int, k: int, size: int, each: int) -> WeightedGroups:
    """Histograms for every one of so many values as the k-th smallest of `size` records: all, or about `each` drawn."""
    if count_multisets(size, values - 1) <= ALL_OF:
        return _all(values, k, size)
    return _draw_groups(values, k, size, each, np.random.default_rng(size))


def _all(values: int, k: int, size: int) -> WeightedGroups:
    groups = all_multisets(size, values - 1)
    truths = (np.cumsum(groups, axis=1) < k).sum(axis=1)
    order = np.argsort(truths, kind="stable")
    return WeightedGroups(groups[order], truths[order], 1 / np.bincount(truths)[truths[order]])


def _draw_groups(values: int, k: int, size: int, each: int, rng: np.random.Generator) -> WeightedGroups:
    """So many for every value and every range of how many records beside the k-th have its value, on the side where
    fewer have: the ranges are apart by a factor, so that the least numbers have groups of their own.
    """
    t, edges = np.arange(values), _edges(max(k, size - k + 1), each)
    before, behind = _Side(k - 1, t), _Side(size - k, values - 1 - t)
    alive = before.at_least(edges[:, None]) * behind.at_least(edges[:, None])  # edges × values
    alive[-1] = 0.0
    ranges, times = len(edges) - 1, max(1, each // (len(edges) - 1))
    place, part, turn = (axis.ravel() for axis in np.indices((values, ranges, times)))
    most, least = alive[part, place], alive[part + 1, place]
    kept = most - least > NEVER
    place, part, most, least = place[kept], part[kept], most[kept], least[kept]
    before, behind = before.at(place), behind.at(place)
    target = least + (turn[kept] + rng.random(len(place))) / times * (most - least)
    fewer = _last(lambda x: before.at_least(x) * behind.at_least(x) >= target, edges[part], edges[part + 1] - 1)
    groups = np.zeros((len(place), values), dtype=np.int64)
    first, second = _equal(before, behind, fewer, rng)
    groups[np.arange(len(place)), place] = 1 + first + second
    for truth in range(values):
        rows = slice(*np.searchsorted(place, (truth, truth + 1)))
        groups[rows, :truth] = _in_any_order(k - 1 - first[rows], truth, rng)
        groups[rows, truth + 1 :] = _in_any_order(size - k - second[rows], values - 1 - truth, rng)
    return WeightedGroups(groups, place, (most - least) / times)


@dataclass(frozen=True)
class _Side:
    """Stars and bars in any order, before the k-th star or behind it; a number of bars for each group."""

    stars: int
    bars: Ints

    @property
    def is_certain(self) -> NDArray[np.bool_]:
        """Whether nothing is left to chance: all stars have the value of the k-th, or there are none."""
        return np.asarray((self.bars == 0) | (self.stars == 0))

    def at_least(self, x: Ints) -> Floats:
        """Pr[x or more stars stand between the k-th and the nearest bar]; 1 where that is settled."""
        from scipy.special import betaln

        found = np.exp(self._all - betaln(np.maximum(self.stars + 1.0 - x, 0.5), np.maximum(self.bars, 1)))
        return np.where(self.is_certain, 1.0, np.where(x > self.stars, 0.0, found))

    @cached_property
    def _all(self) -> Floats:
        from scipy.special import betaln

        return np.asarray(betaln(self.stars + 1.0, np.maximum(self.bars, 1)))

    def at(self, place: Ints) -> "_Side":
        return _Side(self.stars, self.bars[place])


def _edges(most: int, each: int) -> Ints:
    """0, 1, 2, 4, 7, 11, … to `most`, a factor of 1.5 apart, or more where that makes more than `each` ranges."""
    found = [0]
    while found[-1] < most:
        found.append(min(most, found[-1] + 1 + found[-1] // 2))
    if len(found) <= each + 1:
        return np.array(found)
    return np.unique(np.concatenate([[0.0], np.geomspace(1, most, each)]).round().astype(np.int64))


def _equal(before: _Side, behind: _Side, fewer: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """How many records before the k-th and behind it have its value, if so many have on the side with fewer."""
    here = (before.at_least(fewer) - before.at_least(fewer + 1)) * behind.at_least(fewer)
    there = before.at_least(fewer + 1) * (behind.at_least(fewer) - behind.at_least(fewer + 1))
    is_before = rng.random(len(fewer)) * (here + there) < here
    share = rng.random(len(fewer))
    first = np.where(is_before, fewer, _beyond(before, fewer + 1, share))
    second = np.where(is_before, _beyond(behind, fewer, share), fewer)
    return np.where(before.is_certain, before.stars, first), np.where(behind.is_certain, behind.stars, second)


def _beyond(side: _Side, low: Ints, share: Floats) -> Ints:
    """A number of stars of at least `low`, the share of them that are more likely given."""
    target = side.at_least(low) * share
    return _last(lambda x: side.at_least(x) >= target, low, np.full_like(low, side.stars))


def _last(holds: Callable[[Ints], NDArray[np.bool_]], low: Ints, high: Ints) -> Ints:
    """The last whole number in low..high for which it holds, by halving; low where it holds for none."""
    high = np.maximum(high, low)
    while (low < high).any():
        middle = (low + high + 1) // 2
        yes = holds(middle)
        low, high = np.where(yes, middle, low), np.where(yes, high, middle - 1)
    return low


def _in_any_order(stars: Ints, values: int, rng: np.random.Generator) -> Ints:
    """Histograms of so many records over so many values, every one as likely as every other."""
    if not values:
        return np.zeros((len(stars), 0), dtype=np.int64)
    shares = rng.standard_exponential((len(stars), values))
    return np.asarray(rng.multinomial(stars, shares / shares.sum(axis=1, keepdims=True)), dtype=np.int64)

"""Small groups written out: multisets, neighbours, quantiles and breadth-first searches, by definition."""

from collections import deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from inbounds.mechanism.laws import PermuteAndFlip
from inbounds.query import QuantileQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.permute_flip import score_levels

Histogram = tuple[int, ...]
Neighbours = Callable[[Histogram], Iterator[Histogram]]

QUANTILES = [
    *(Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(2, 7), Fraction(1, 3), Fraction(2, 5), Fraction(1, 2)),
    *(Fraction(3, 5), Fraction(2, 3), Fraction(5, 7), Fraction(3, 4), Fraction(9, 10), Fraction(1)),
]


def histograms(size: int, width: int) -> list[Histogram]:
    """Every group of a size."""
    groups = combinations_with_replacement(range(width + 1), size)
    return [tuple(group.count(t) for t in range(width + 1)) for group in groups]


def moved(group: Histogram, away: int | None, to: int | None) -> Histogram:
    counts = list(group)
    if away is not None:
        counts[away] -= 1
    if to is not None:
        counts[to] += 1
    return tuple(counts)


def changed(group: Histogram) -> Iterator[Histogram]:
    """Groups in which one record is another."""
    for away, count in enumerate(group):
        if count:
            yield from (moved(group, away, to) for to in range(len(group)) if to != away)


def added_or_removed(most: int) -> Neighbours:
    """Groups with one record more or less, of at most so many."""

    def neighbours(group: Histogram) -> Iterator[Histogram]:
        for t, count in enumerate(group):
            if count:
                yield moved(group, t, None)
            if sum(group) < most:
                yield moved(group, None, t)

    return neighbours


def quantile_of(group: Histogram, at: Fraction, default: int) -> int:
    """The least value that a share `at` of the records, and at least one, do not exceed."""
    records = [t for t, count in enumerate(group) for _ in range(count)]
    if not records:
        return default
    return min(t for t in records if sum(r <= t for r in records) >= max(Fraction(1), at * len(records)))


def exact_law(chances: list[Fraction]) -> list[Fraction]:
    """Pr[i] = p_i ∫ ∏_{j != i} (1 - u p_j) du in Fractions, by multiplying the polynomial out."""
    found = []
    for i, own in enumerate(chances):
        powers = [Fraction(1)]
        for j, other in enumerate(chances):
            if j != i:
                powers = [a - other * b for a, b in zip([*powers, Fraction(0)], [Fraction(0), *powers], strict=True)]
        found.append(own * sum(power / (degree + 1) for degree, power in enumerate(powers)))
    return found


def law_of(query: QuantileQuery, law: PermuteAndFlip, group: Histogram) -> list[Fraction]:
    """What a score table reports for a group, exactly."""
    own = score_levels(query.path_lengths(np.array([group])), law.stride, law.deeper, len(law.table))[0]
    return exact_law([Fraction(law.table[min(level, len(law.table) - 1)], TOTAL) for level in own.tolist()])


def distances(
    groups: list[Histogram], neighbours: Neighbours, truth: dict[Histogram, int], width: int
) -> dict[Histogram, list[int]]:
    """For every group and value, the steps between neighbours to a group with that quantile: breadth-first."""
    found = {group: [0] * (width + 1) for group in groups}
    for t in range(width + 1):
        seen = {group: 0 for group in groups if truth[group] == t}
        queue = deque(seen)
        while queue:
            here = queue.popleft()
            for there in neighbours(here):
                if there not in seen:
                    seen[there] = seen[here] + 1
                    queue.append(there)
        for group in groups:
            found[group][t] = seen[group]
    return found

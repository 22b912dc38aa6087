"""The guarantee of a mechanism on one person's value: epsilon-LDP, epsilon·d privacy, and the ratio at any radius.

epsilon-LDP bounds the ratio of the probabilities of a report under any two values by e^epsilon. d-privacy bounds it by
e^(epsilon·d) for values d apart, so it protects close values most. They convert into each other through the ratio that
holds within a radius (001 §4: ratio 2 within radius 10).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.exact import Number, epsilon_from_alpha, round_up_to_float, to_fraction
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism


def epsilon_for_ratio(ratio: Number, radius: Number = 1) -> Fraction:
    """Return the epsilon of d-privacy that keeps every ratio within `radius` at most `ratio`: ln(ratio) / radius.

    Rounded down. With radius 1 (the default) it is the epsilon of epsilon-LDP for that ratio.

    >>> float(epsilon_for_ratio(2, radius=10))
    0.06931471805599453
    """
    bound, distance = to_fraction(ratio, "ratio"), to_fraction(radius, "radius")
    if not bound > 1:
        raise ValueError(f"ratio must be more than 1, got {ratio!r}; 1 would make every report equally likely")
    if not distance > 0:
        raise ValueError(f"radius must be positive, got {radius!r}")
    return epsilon_from_alpha(1 / bound) / distance


@dataclass(frozen=True)
class LocalGuarantee:
    """The privacy of one mechanism for one person's value, in both notions.

    ldp: the least epsilon of epsilon-LDP, the logarithm of the worst ratio over the domain. per_unit: the least
    epsilon of d-privacy with d the distance of the values; None for labels, which have none, and infinite where real
    values are rounded: however close two of them are, an edge may lie between them.
    """

    mechanism: Mechanism

    @property
    def notion(self) -> str:
        """The notion that was promised: "epsilon·d" for metric queries, "epsilon-LDP" if all values are neighbours."""
        return self.mechanism.query.neighbours.notion

    @property
    def ldp(self) -> float:
        """The least epsilon of epsilon-LDP, rounded up."""
        return math.nextafter(math.log(self.worst_ratio()), math.inf) if self.worst_ratio() > 1 else 0.0

    @property
    def per_unit(self) -> float | None:
        """The worst log-ratio of neighbouring values per unit of distance; ratios along the line multiply."""
        query = self.mechanism.query
        if not query.is_ordered:
            return None
        if query.rounds:
            return math.inf
        ratios = self.mechanism.law.neighbour_ratios(query)
        gaps = np.diff(np.asarray(query.answers.ticks, dtype=np.float64)) * float(query.answers.unit)
        return float((np.log(ratios) / gaps).max())

    def ratio(self, radius: Number) -> float:
        """Return the worst ratio of the probabilities of any report under two values at most `radius` apart; on a
        graph, with a path of at most that length between them.

        Found on the mechanism's own weights; never more than what is promised. O(outputs · answers · log radius).
        """
        distance = to_fraction(radius, "radius")
        if not distance > 0:
            raise ValueError(f"radius must be positive, got {radius!r}")
        query = self.mechanism.query
        if not query.neighbours.is_line:
            return self._apart(round_up_to_float(distance))
        if not query.is_ordered:
            raise ValueError("labels have no distance; every pair keeps worst_ratio()")
        return self._within(query.steps_within(distance))

    def _within(self, steps: int) -> float:
        return self.mechanism.law.ratio_within(self.mechanism.query, steps)

    def _apart(self, distance: float) -> float:
        """Return the worst ratio between two answers of a graph with a path of at most `distance` between them."""
        return self.mechanism.law.ratio_apart(self.mechanism.query, distance)

    def worst_ratio(self) -> float:
        """Return the worst ratio over the whole domain."""
        return self._within(int(self.mechanism.query.answers.ticks[-1]))

    def radius(self, ratio: Number) -> Fraction:
        """Return the largest distance within which every ratio is at most `ratio`; 0 if the closest values break it."""
        bound, query = to_fraction(ratio, "ratio"), self.mechanism.query
        if not bound >= 1:
            raise ValueError(f"ratio must be at least 1, got {ratio!r}")
        if not query.neighbours.is_line:
            raise ValueError("radius is for values on a line; on a graph ask for the ratio within a radius")
        low, high = 0, int(query.answers.ticks[-1])
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._within(middle) <= bound else (low, middle - 1)
        return query.distance_within(low)

    def __str__(self) -> str:
        query, bound = self.mechanism.query, self.mechanism.epsilon
        first = f"any two values: probabilities of any report within a ratio of {format_ratio(self.ldp)}"
        promise = query.neighbours.local_promise(query, bound)
        return f"{first} ({promise})" if query.neighbours.is_complete else f"{first} ({self.ldp:.6g}-LDP); {promise}"


def product_upper_bound(ratios: Iterable[float]) -> float:
    """Return the product of ratios, rounded up at every step."""
    product = 1.0
    for ratio in ratios:
        product = ratio if product == 1 else math.nextafter(product * ratio, math.inf)
    return product


SPOKEN_RATIO = 1e6
"""Ratios from here on are written as powers of e."""


def format_ratio(log: float) -> str:
    """Format a ratio in words, from its logarithm.

    >>> format_ratio(0.6931471806), format_ratio(100)
    ('2', 'e^100')
    """
    return f"{math.exp(log):.4g}" if log < math.log(SPOKEN_RATIO) else f"e^{log:.4g}"


def local_guarantee(mechanism: Mechanism) -> LocalGuarantee:
    """Return the privacy statement of a mechanism used on single values.

    >>> import inbounds as ib
    >>> found = local_guarantee(ib.catalog.truncated_geometric(ib.ordinal(0, 100), epsilon_for_ratio(2, radius=10)))
    >>> round(found.ratio(10), 6), found.radius(2), round(found.worst_ratio())
    (2.0, Fraction(10, 1), 1024)
    """
    check_local_mechanism(mechanism)
    return LocalGuarantee(mechanism)

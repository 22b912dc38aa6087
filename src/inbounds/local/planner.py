"""Plan a collection: the expected error of the reconstruction, and how many reports it takes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from inbounds.exact import Floats, Number, to_epsilon, to_fraction, to_int
from inbounds.local.expected_error import (
    ExpectedAccuracy,
    PrivacyLevel,
    build_candidates,
    candidate_guarantees,
    diameter,
    expectation,
    per_unit,
)
from inbounds.local.guarantee import epsilon_for_ratio
from inbounds.local.label_mechanisms import compare_labels
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery, category, ordinal

PROMISES_DIFFER = (
    "Both keep the same ratio within the radius; beyond it the promises differ: randomized response keeps the ratio "
    "for any two values, the geometric's grows with their distance, up to the worst ratio."
)

SAME_PROMISE = "All keep the same ratio between any two answers."

ROUNDED = (
    "Values are first rounded into cells, and epsilon per unit counts the distance of the cells: two values, however "
    "close, may lie in neighbouring ones."
)

MOST_REPORTS = 10**12
"""The largest number of reports that is searched."""


@dataclass(frozen=True, eq=False)
class CollectionPlan:
    """The options of a collection within one privacy level, with their expected errors, least first.

    The distribution that is assumed is `truth`; the error is the mean over `runs` simulated collections of the
    distance between it and what `ib.reconstruct` makes of them: for numbers and on graphs the Kantorovich distance, in
    their unit; for labels the sum of the differences of all shares.
    """

    query: RangeQuery
    reports: int
    options: tuple[ExpectedAccuracy, ...]
    truth: Floats
    runs: int
    seed: int

    @property
    def better(self) -> ExpectedAccuracy:
        return self.options[0]

    @property
    def note(self) -> str:
        """How the guarantees of the options compare."""
        same = len({option.over_range for option in self.options}) == 1
        labelled = not self.query.is_ordered and self.query.neighbours.is_line
        why = f" {compare_labels(self.query, self.better.epsilon).why}." if labelled else ""
        return SAME_PROMISE + why if same else PROMISES_DIFFER

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "reports": self.reports,
            "better": self.better.mechanism,
            "options": [option.to_json() for option in self.options],
            "note": self.note,
        }

    def error(self, mechanism: str) -> float:
        """Return the expected error of one of the mechanisms."""
        return self._option(mechanism).error

    def reports_needed(self, error: Number, mechanism: str | None = None) -> int:
        """Return how many reports bring the expected error down to `error`; for the better mechanism unless one is
        named.

        Simulated at each number tried, with the same draws and the estimate that will be used, between which the
        error falls like a power; to two digits.
        """
        target = float(to_fraction(error, "error"))
        if not target > 0:
            raise ValueError(f"error must be positive, got {error!r}")
        option = self._option(mechanism or self.better.mechanism)

        def expected(reports: int) -> float:
            return self.expected_accuracy(option, reports).error

        return _search(expected, target, self.reports, option.error)

    def expected_accuracy(self, option: ExpectedAccuracy, reports: int) -> ExpectedAccuracy:
        """Return an option with its error at so many reports."""
        return expectation(self.query, option, self.truth, reports, self.runs, self.seed)

    def mechanism(self, kind: str | None = None) -> Mechanism:
        """Return the certified mechanism that was planned: the better one unless one is named."""
        return build_candidates(self.query, self._option(kind or self.better.mechanism))

    def _option(self, mechanism: str) -> ExpectedAccuracy:
        for option in self.options:
            if option.mechanism == mechanism:
                return option
        known = " or ".join(repr(option.mechanism) for option in self.options)
        raise ValueError(f"mechanism must be {known}, got {mechanism!r}")

    def __str__(self) -> str:
        lines = [f"{self.reports} reports about {self.query!r}", *(f"  {option}" for option in self.options)]
        return "\n".join([*lines, self.note, *([ROUNDED] if self.query.rounds else [])])


def plan_collection(
    query: RangeQuery | tuple[int, int] | range | Sequence[str],
    epsilon: Number | None = None,
    *,
    reports: int,
    radius: Number | None = None,
    ratio: Number | None = None,
    truth: ArrayLike | None = None,
    runs: int = 20,
    seed: int = 0,
) -> CollectionPlan:
    """Return the expected errors of the laws that fit, each within the same ratio between any two answers, or within a
    radius.

    query: `ib.ordinal(low, high)`, (low, high), `ib.category(labels)` or a list of labels, or a map or graph.
    ratio: the largest ratio of the probabilities of a report under any two answers; epsilon: its logarithm instead.
    With a `radius`, for numbers and graphs, the ratio is for answers at most so far apart, epsilon is per unit of
    distance, and the ends of the range may differ by far more (001 §4: ratio 2 within radius 10), the rounding of
    real values counted: the geometric spends ln(ratio) / radius per unit, randomized response keeps ln(ratio)
    everywhere. truth: the distribution expected; by default a bell over the middle of the range (binomial), and
    1/rank for labels.
    O(runs · domain); no data are touched.

    >>> found = plan_collection((0, 100), ratio=2, radius=10, reports=10_000, runs=5)
    >>> found.better.mechanism, found.error("randomized_response") > 3 * found.error("geometric")
    ('geometric', True)
    >>> round(plan_collection((0, 100), ratio=20, reports=10_000, runs=5).better.worst_ratio, 6)
    20.0
    """
    domain = parse_domain(query)
    level = privacy_level(domain, epsilon, radius, ratio)
    draft = CollectionPlan(
        domain,
        to_int(reports, "reports", 1),
        (),
        _truth(truth, domain),
        to_int(runs, "runs", 2),
        to_int(seed, "seed", 0),
    )
    accuracies = [draft.expected_accuracy(option, draft.reports) for option in candidate_guarantees(domain, level)]
    return replace(draft, options=tuple(sorted(accuracies, key=lambda option: option.error)))


def parse_domain(query: Any) -> RangeQuery:
    """Return the query of a domain: a query, two ends or a list of labels."""
    if isinstance(query, RangeQuery):
        if query.is_ordered and not (query.answers.is_regular and query.one_output_per_answer):
            raise ValueError("query must have numeric answers without gaps and one output for each, as ib.ordinal has")
        if not (query.neighbours.is_undirected and query.neighbours.is_connected(query.answers)):
            raise ValueError("query must be a graph in one part, without one-way edges, to plan a collection on it")
        return query
    if isinstance(query, Sequence) and not isinstance(query, str) and len(query) >= 2:
        return category(query) if isinstance(query[0], str) else ordinal(query[0], query[-1])
    words = "ib.ordinal(low, high), ib.category(labels) or a pair (low, high)"
    raise TypeError(f"query must be {words}, got {type(query).__name__}")


def privacy_level(
    query: RangeQuery, epsilon: Number | None, radius: Number | None, ratio: Number | None
) -> PrivacyLevel:
    """Return the privacy level: per unit of distance, and between any two answers for laws that use no distance."""
    if (epsilon is None) == (ratio is None):
        raise ValueError("a plan needs either epsilon or a ratio (with its radius), and not both")
    if not query.neighbours.is_line:
        return _level_on_graph(query, epsilon, radius, ratio)
    if radius is None:
        between = epsilon_for_ratio(ratio) if ratio is not None else to_epsilon(epsilon)  # type: ignore[arg-type]
        return PrivacyLevel(between / query.answers.span if query.is_ordered else None, between)
    if not query.is_ordered:
        raise ValueError("radius must be left out for labels, which have no distance; the ratio is for any two")
    distance = to_fraction(radius, "radius")
    if not 0 < distance <= query.answers.span + (query.answers.unit if query.rounds else 0):
        raise ValueError(f"radius must be positive and within the domain, got {radius!r}")
    paid = per_unit(query).steps_within(distance) * query.answers.unit if query.rounds else distance
    if ratio is not None:
        return PrivacyLevel(epsilon_for_ratio(ratio, paid), epsilon_for_ratio(ratio))
    unit = query.sensitivity if query.neighbours.has_distances else Fraction(1)
    rate = to_epsilon(epsilon) / unit  # type: ignore[arg-type]
    return PrivacyLevel(rate, to_epsilon(rate * paid))


def _level_on_graph(
    query: RangeQuery, epsilon: Number | None, radius: Number | None, ratio: Number | None
) -> PrivacyLevel:
    """Return the privacy level on a graph: over its longest shortest path, or within a radius."""
    widest = diameter(query)
    if radius is None:
        between = epsilon_for_ratio(ratio) if ratio is not None else to_epsilon(epsilon)  # type: ignore[arg-type]
        return PrivacyLevel(between / widest, between)
    distance = to_fraction(radius, "radius")
    if not 0 < distance <= widest:
        raise ValueError(f"radius must be positive and within the graph, got {radius!r}")
    if ratio is not None:
        return PrivacyLevel(epsilon_for_ratio(ratio, distance), epsilon_for_ratio(ratio))
    return PrivacyLevel(to_epsilon(epsilon), to_epsilon(to_epsilon(epsilon) * distance))  # type: ignore[arg-type]


def _truth(truth: ArrayLike | None, query: RangeQuery) -> Floats:
    size = len(query.answers)
    if truth is None:
        return _bell(size) if query.is_ordered else _by_rank(size)
    weights = np.asarray(truth, dtype=np.float64)
    if weights.shape != (size,):
        raise ValueError(f"truth must be one weight for each of the {size} answers, got the shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError("truth must be finite, not negative and not all zero")
    return np.asarray(weights / weights.sum())


def _bell(size: int) -> Floats:
    logs = np.array([math.lgamma(size) - math.lgamma(j + 1) - math.lgamma(size - j) for j in range(size)])
    shape = np.exp(logs - logs.max())
    return np.asarray(shape / shape.sum())


def _by_rank(size: int) -> Floats:
    shape = 1 / np.arange(1.0, size + 1)
    return np.asarray(shape / shape.sum())


def _search(expected: Callable[[int], float], target: float, reports: int, error: float) -> int:
    """Search the number of reports at which a falling function reaches `target`: bracket by fours, then halve."""
    low = high = reports
    while error > target:
        low, high = high, high * 4
        if high > MOST_REPORTS:
            raise ValueError(f"error must be reachable; {target:.4g} takes more than {MOST_REPORTS:.0e} reports")
        error = expected(high)
    while low == high or expected(low) <= target:
        if low == 1:
            return 1
        low, high = max(1, low // 4), low
    while high - low > max(1, low // 50):
        middle = math.isqrt(low * high)
        middle = middle if low < middle < high else (low + high) // 2
        low, high = (low, middle) if expected(middle) <= target else (middle, high)
    return high

"""What to expect before anything is collected: the error of the reconstruction, and how many reports it takes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from inbounds.catalog import randomized_response, truncated_geometric
from inbounds.local.distance import kantorovich
from inbounds.local.reconstruct.channel import Channel, Geometric, Response, Slack
from inbounds.local.reconstruct.problem import ReconstructionProblem
from inbounds.local.reconstruct.reconstruction import maximum
from inbounds.local.statement import epsilon as calibrated
from inbounds.mechanism import Mechanism
from inbounds.numbers import Floats, Number, as_epsilon, exact, whole
from inbounds.query import Everyone, Metric, Query, ordinal, with_neighbours

Kind = Literal["geometric", "randomized_response"]

LARGEST_LOG = 700
"""Logarithms from here on are left as they are: e^710 is beyond floats."""

RESIDUAL = 1e-7
"""Residual of the reconstructions that a plan simulates: far below the error that they measure."""

PROMISES_DIFFER = (
    "Both keep the same ratio within the radius; beyond it the promises differ: randomized response keeps the ratio "
    "for any two values, the geometric's grows with their distance, up to the worst ratio."
)

ROUNDED = (
    "Values are first rounded into cells, and epsilon per unit counts the distance of the cells: two values, however "
    "close, may lie in neighbouring ones."
)

MOST_REPORTS = 10**12
"""Where the search for a number of reports ends."""


@dataclass(frozen=True)
class Expected:
    """The expected Kantorovich error of one mechanism, and the standard error of that expectation.

    epsilon: per unit of distance for the geometric, for any two values for randomized response. over_range: the
    epsilon between the two ends of the range, the logarithm of the worst ratio of all.
    """

    mechanism: Kind
    epsilon: Fraction
    over_range: Fraction
    error: float = 0.0
    uncertainty: float = 0.0

    @property
    def promise(self) -> str:
        """The epsilon, and what it is for."""
        return f"{float(self.epsilon):.4g} {'per unit' if self.mechanism == 'geometric' else 'for any two'}"

    @property
    def worst_ratio(self) -> float:
        """The worst ratio of the probabilities of a report under any two values; infinite beyond floats."""
        return math.exp(self.over_range) if self.over_range < LARGEST_LOG else math.inf

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; the epsilon exactly, as text, and no worst ratio beyond floats."""
        return {
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "promise": self.promise,
            "worst_ratio": self.worst_ratio if math.isfinite(self.worst_ratio) else None,
            "log_worst_ratio": float(self.over_range),
            "error": self.error,
            "uncertainty": self.uncertainty,
        }

    @property
    def spoken_ratio(self) -> str:
        return f"{self.worst_ratio:.4g}" if self.worst_ratio < 1e6 else f"e^{float(self.over_range):.4g}"


@dataclass(frozen=True, eq=False)
class CollectionPlan:
    """Expected errors of the reconstructed distribution, in the unit of the answers, least first.

    The distribution that is assumed is `truth`; the error is the mean over `runs` simulated collections of the
    Kantorovich distance between it and the maximum-likelihood reconstruction.
    """

    query: Query
    reports: int
    options: tuple[Expected, ...]
    truth: Floats
    runs: int
    seed: int

    @property
    def better(self) -> Expected:
        return self.options[0]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "reports": self.reports,
            "better": self.better.mechanism,
            "options": [option.to_json() for option in self.options],
            "note": PROMISES_DIFFER,
        }

    def error(self, mechanism: Kind) -> float:
        """The expected error of one of the mechanisms."""
        return self._option(mechanism).error

    def reports_needed(self, error: Number, mechanism: Kind | None = None) -> int:
        """How many reports bring the expected error down to `error`; for the better mechanism unless one is named.

        Simulated at each number tried, with the same draws, between which the error falls like a power; to two
        digits.
        """
        wanted = float(exact(error, "error"))
        if not wanted > 0:
            raise ValueError(f"error must be positive, got {error!r}")
        option = self._option(mechanism or self.better.mechanism)

        def expected(reports: int) -> float:
            return _expectation(self, option, reports).error

        return _search(expected, wanted, self.reports, option.error)

    def mechanism(self, kind: Kind | None = None) -> Mechanism:
        """The certified mechanism that was planned: the better one unless one is named."""
        option = self._option(kind or self.better.mechanism)
        if option.mechanism == "geometric":
            return truncated_geometric(_per_unit(self.query), option.epsilon)
        return randomized_response(with_neighbours(self.query, Everyone()), option.epsilon)

    def _option(self, mechanism: Kind) -> Expected:
        for option in self.options:
            if option.mechanism == mechanism:
                return option
        raise ValueError(f"mechanism must be 'geometric' or 'randomized_response', got {mechanism!r}")

    def __str__(self) -> str:
        lines = [f"{self.reports} reports about {self.query!r}"]
        lines += [
            f"  {o.mechanism:20} epsilon {o.promise}, worst ratio over the range {o.spoken_ratio}: error {o.error:.4g}"
            for o in self.options
        ]
        return "\n".join([*lines, PROMISES_DIFFER, *([ROUNDED] if self.query.rounds else [])])


def plan(
    query: Query | tuple[int, int] | range,
    epsilon: Number | None = None,
    *,
    reports: int,
    radius: Number | None = None,
    ratio: Number | None = None,
    truth: ArrayLike | None = None,
    runs: int = 20,
    seed: int = 0,
) -> CollectionPlan:
    """The expected error of the geometric mechanism and of randomized response at the same ratio within a radius.

    query: `ib.ordinal(low, high)`, or (low, high). Privacy is a ratio within a radius (001 §4): both mechanisms
    keep `ratio` between values at most `radius` apart, the rounding of real values counted. The geometric spends
    epsilon = ln(ratio) / radius per unit of distance; randomized response cannot tell near from far and keeps the
    ratio everywhere, epsilon = ln(ratio). The promises are equal within the radius only: `Expected.worst_ratio` says
    what is left at the ends of the range. Given `epsilon` per unit of distance instead, the radius is 1 unless said
    otherwise. truth: the distribution expected; by default a bell over the middle of the domain (binomial).
    O(runs · domain); no data are touched.

    >>> found = plan((0, 100), ratio=2, radius=10, reports=10_000, runs=5)
    >>> found.better.mechanism, found.error("randomized_response") > 3 * found.error("geometric")
    ('geometric', True)
    """
    asked = _domain(query)
    per_unit, flat = _levels(asked, epsilon, radius, ratio)
    shape = _truth(truth, asked)
    start = CollectionPlan(
        asked, whole(reports, "reports", 1), (), shape, whole(runs, "runs", 2), whole(seed, "seed", 0)
    )
    options = (
        Expected("geometric", per_unit, per_unit * asked.answers.span),
        Expected("randomized_response", flat, flat),
    )
    found = [_expectation(start, option, start.reports) for option in options]
    return replace(start, options=tuple(sorted(found, key=lambda option: option.error)))


def _domain(query: Any) -> Query:
    if isinstance(query, Query):
        if not (query.ordered and query.answers.regular and query.one_output_per_answer):
            raise ValueError("query must have numeric answers without gaps and one output for each, as ib.ordinal has")
        return query
    if isinstance(query, Sequence | range) and len(query) >= 2:
        return ordinal(query[0], query[-1])
    raise TypeError(f"query must be ib.ordinal(low, high) or a pair (low, high), got {type(query).__name__}")


def _per_unit(query: Query) -> Query:
    """The query with epsilon counted for every unit of distance."""
    return with_neighbours(query, Metric(Fraction(1)))


def _levels(
    query: Query, epsilon: Number | None, radius: Number | None, ratio: Number | None
) -> tuple[Fraction, Fraction]:
    """(epsilon of the geometric per unit of distance, epsilon of randomized response)."""
    if (epsilon is None) == (ratio is None):
        raise ValueError("a plan needs either epsilon or a ratio (with its radius), and not both")
    distance = Fraction(1) if radius is None else exact(radius, "radius")
    if not 0 < distance <= query.answers.span + (query.answers.unit if query.rounds else 0):
        raise ValueError(f"radius must be positive and within the domain, got {radius!r}")
    metric = _per_unit(query)
    paid = metric.steps_within(distance) * query.answers.unit if query.rounds else distance
    if ratio is not None:
        return calibrated(ratio, paid), calibrated(ratio)
    unit = query.neighbours.unit if isinstance(query.neighbours, Metric) else Fraction(1)
    per_unit = as_epsilon(epsilon) / unit  # type: ignore[arg-type]
    return per_unit, as_epsilon(per_unit * paid)


def _truth(truth: ArrayLike | None, query: Query) -> Floats:
    size = len(query.answers)
    if truth is None:
        k = np.arange(size)
        logs = np.array([math.lgamma(size) - math.lgamma(j + 1) - math.lgamma(size - j) for j in k.tolist()])
        shape = np.exp(logs - logs.max())
        return np.asarray(shape / shape.sum())
    weights = np.asarray(truth, dtype=np.float64)
    if weights.shape != (size,):
        raise ValueError(f"truth must be one weight for each of the {size} answers, got the shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError("truth must be finite, not negative and not all zero")
    return np.asarray(weights / weights.sum())


# --- simulation -------------------------------------------------------------------------------------------


def channel(kind: Kind, size: int, epsilon: float) -> Channel:
    """The mechanism's matrix in floats, in O(size): what a plan simulates without building and proving anything."""
    slack = Slack.none(size)
    if kind == "geometric":
        a = math.exp(-epsilon)
        rows = np.full(size, math.tanh(epsilon / 2))
        rows[[0, -1]] = 1 / (1 + a)
        return Geometric(rows, np.full(size - 1, a), np.ones(size), slack)
    rest = 1 / (size - 1 + math.exp(epsilon))
    return Response(np.full(size, rest), np.full(size, math.expm1(epsilon) * rest), slack)


def _expectation(settled: CollectionPlan, option: Expected, reports: int) -> Expected:
    """Mean Kantorovich error over simulated collections, with the same seed whatever the number of reports."""
    size, step = len(settled.truth), settled.query.answers.unit
    rate = float(option.epsilon * step) if option.mechanism == "geometric" else float(option.epsilon)
    model, rng = channel(option.mechanism, size, rate), np.random.default_rng(settled.seed)
    likely = model.forward(settled.truth)
    errors = []
    for counts in rng.multinomial(reports, likely / likely.sum(), size=settled.runs):
        problem = ReconstructionProblem.counted(model, counts.astype(np.float64), np.full(size, 1 / size), None)
        errors.append(kantorovich(maximum(problem, RESIDUAL), settled.truth) * float(step))
    spread = float(np.std(errors, ddof=1) / math.sqrt(len(errors)))
    return replace(option, error=float(np.mean(errors)), uncertainty=spread)


def _search(expected: Any, wanted: float, reports: int, error: float) -> int:
    """The number of reports at which a falling function reaches `wanted`: bracket by fours, then halve."""
    low = high = reports
    while error > wanted:
        low, high = high, high * 4
        if high > MOST_REPORTS:
            raise ValueError(f"error must be reachable; {wanted:.4g} takes more than {MOST_REPORTS:.0e} reports")
        error = expected(high)
    while low == high or expected(low) <= wanted:
        if low == 1:
            return 1
        low, high = max(1, low // 4), low
    while high - low > max(1, low // 50):
        middle = math.isqrt(low * high)
        middle = middle if low < middle < high else (low + high) // 2
        low, high = (low, middle) if expected(middle) <= wanted else (middle, high)
    return high

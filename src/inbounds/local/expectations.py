"""What a law that might be collected with promises, and the error that simulated collections by it have."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.catalog import randomized_response, truncated_geometric
from inbounds.local.distance import kantorovich
from inbounds.local.reconstruct.channel import Channel, Geometric, Response, Slack
from inbounds.local.reconstruct.problem import ReconstructionProblem
from inbounds.local.reconstruct.reconstruction import maximum
from inbounds.local.statement import spoken_ratio
from inbounds.mechanism import Mechanism
from inbounds.numbers import Floats
from inbounds.query import Everyone, Metric, Query, with_neighbours

LARGEST_LOG = 700
"""Logarithms from here on are left as they are: e^710 is beyond floats."""

RESIDUAL = 1e-7
"""Residual of the reconstructions that a plan simulates: far below the error that they measure."""


@dataclass(frozen=True)
class Level:
    """How private reports are to be: epsilon per unit of distance (None for labels), and between any two answers.

    A law that knows distances keeps the first, one that does not the second.
    """

    per_unit: Fraction | None
    any_two: Fraction


@dataclass(frozen=True)
class Expected:
    """The expected error of one mechanism, and the standard error of that expectation.

    over_range: the epsilon between any two answers, the logarithm of the worst ratio of all. epsilon: what the
    mechanism is made with: per unit of distance for the geometric, for any two answers otherwise.
    """

    mechanism: str
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
        """The worst ratio of the probabilities of a report under any two answers; infinite beyond floats."""
        return math.exp(self.over_range) if self.over_range < LARGEST_LOG else math.inf

    @property
    def spoken_ratio(self) -> str:
        return spoken_ratio(float(self.over_range))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; the epsilon exactly, as text, and no worst ratio beyond floats."""
        return {
            "worst_ratio": self.worst_ratio if math.isfinite(self.worst_ratio) else None,
            "log_worst_ratio": float(self.over_range),
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "promise": self.promise,
            "error": self.error,
            "uncertainty": self.uncertainty,
        }

    def __str__(self) -> str:
        return (
            f"any two answers within a ratio of {self.spoken_ratio}: {self.mechanism}, epsilon {self.promise}, "
            f"error {self.error:.4g}"
        )


@dataclass(frozen=True)
class PlannedLaw:
    """A law that a plan considers: for which queries, at which epsilon, as what channel, and how it is made."""

    name: str
    fits: Callable[[Query], bool]
    promised: Callable[[Query, Level], Expected]
    channel: Callable[[Query, Fraction], Channel]
    make: Callable[[Query, Fraction], Mechanism]


def laws(query: Query) -> list[PlannedLaw]:
    """The laws that can be asked about this query."""
    return [law for law in LAWS if law.fits(query)]


def law_named(name: str, query: Query) -> PlannedLaw:
    known = {law.name: law for law in laws(query)}
    if name not in known:
        raise ValueError(f"mechanism must be {' or '.join(map(repr, known))}, got {name!r}")
    return known[name]


def per_unit(query: Query) -> Query:
    """The query with epsilon counted for every unit of distance."""
    return with_neighbours(query, Metric(Fraction(1)))


def expectation(query: Query, option: Expected, truth: Floats, reports: int, runs: int, seed: int) -> Expected:
    """The option with the mean error over simulated collections; the same seed whatever the number of reports.

    The error of numbers is the Kantorovich distance from the truth, in their unit; of labels the sum of the
    differences of all shares. Estimated as `ib.reconstruct` does by default.
    """
    model = law_named(option.mechanism, query).channel(query, option.epsilon)
    likely, start = model.forward(truth), np.full(len(truth), 1 / len(truth))
    errors = []
    for counts in np.random.default_rng(seed).multinomial(reports, likely / likely.sum(), size=runs):
        found = estimated(ReconstructionProblem.counted(model, counts.astype(np.float64), start, query))
        errors.append(distance(found, truth, query))
    spread = float(np.std(errors, ddof=1) / math.sqrt(len(errors)))
    return replace(option, error=float(np.mean(errors)), uncertainty=spread)


def estimated(problem: ReconstructionProblem) -> Floats:
    """The distribution that a reconstruction of these counts would give."""
    return maximum(problem, RESIDUAL)


def distance(found: Floats, truth: Floats, query: Query) -> float:
    if query.ordered:
        return kantorovich(found, truth) * float(query.answers.unit)
    return float(np.abs(found - truth).sum())


# --- the laws ---------------------------------------------------------------------------------------------


def geometric_channel(size: int, rate: float) -> Channel:
    """The truncated geometric in floats, e^-rate from step to step, in O(size)."""
    a = math.exp(-rate)
    rows = np.full(size, math.tanh(rate / 2))
    rows[[0, -1]] = 1 / (1 + a)
    return Geometric(rows, np.full(size - 1, a), np.ones(size), Slack.none(size))


def response_channel(size: int, epsilon: float) -> Channel:
    """Randomized response in floats, in O(size)."""
    rest = 1 / (size - 1 + math.exp(epsilon))
    return Response(np.full(size, rest), np.full(size, math.expm1(epsilon) * rest), Slack.none(size))


def _geometric_promise(query: Query, level: Level) -> Expected:
    assert level.per_unit is not None
    return Expected("geometric", level.per_unit, level.per_unit * query.answers.span)


LAWS = (
    PlannedLaw(
        "geometric",
        lambda query: query.ordered,
        _geometric_promise,
        lambda query, epsilon: geometric_channel(len(query.answers), float(epsilon * query.answers.unit)),
        lambda query, epsilon: truncated_geometric(per_unit(query), epsilon),
    ),
    PlannedLaw(
        "randomized_response",
        lambda query: True,
        lambda query, level: Expected("randomized_response", level.any_two, level.any_two),
        lambda query, epsilon: response_channel(len(query.answers), float(epsilon)),
        lambda query, epsilon: randomized_response(with_neighbours(query, Everyone()), epsilon),
    ),
)
"""What plans choose from."""

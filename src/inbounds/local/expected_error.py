"""The guarantee of a law that could be used for a collection, and its error in simulated collections."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.catalog import metric_geometric, randomized_response, truncated_geometric
from inbounds.exact import Floats, Number, to_fraction
from inbounds.local.distance import kantorovich
from inbounds.local.guarantee import format_ratio
from inbounds.local.label_mechanisms import compare_labels, hadamard_response, projective_response, subset_selection
from inbounds.local.reconstruct.affine_estimator import even
from inbounds.local.reconstruct.batches import update_batch
from inbounds.local.reconstruct.channel import GeometricChannel, LinearChannel, ResponseChannel, Slack
from inbounds.local.reconstruct.early_stopping import held_out_steps
from inbounds.local.reconstruct.methods import choose_method, maximize_likelihood
from inbounds.local.reconstruct.multiscale import estimate_multiscale
from inbounds.local.reconstruct.problem import ReconstructionProblem
from inbounds.local.reconstruct.structure import channel_for_law
from inbounds.mechanism import Mechanism
from inbounds.query import AllPairs, Metric, RangeQuery, category, with_neighbours

LARGEST_LOG = 700
"""Logarithms from here on are not exponentiated: e^710 is beyond floats."""

RESIDUAL = 1e-7
"""Residual of the reconstructions that a plan simulates: far below the error that they measure."""


@dataclass(frozen=True)
class PrivacyLevel:
    """How private reports must be: epsilon per unit of distance (None for labels), and epsilon between any two answers.

    A law that uses distances keeps the first, any other law the second.
    """

    per_unit: Fraction | None
    any_two: Fraction


@dataclass(frozen=True)
class ExpectedAccuracy:
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
        return f"{float(self.epsilon):.4g} {'per unit' if 'geometric' in self.mechanism else 'for any two'}"

    @property
    def worst_ratio(self) -> float:
        """The worst ratio of the probabilities of a report under any two answers; infinite beyond floats."""
        return math.exp(self.over_range) if self.over_range < LARGEST_LOG else math.inf

    @property
    def format_ratio(self) -> str:
        return format_ratio(float(self.over_range))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the epsilon exactly, as text, and no worst ratio beyond floats."""
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
            f"any two answers within a ratio of {self.format_ratio}: {self.mechanism}, epsilon {self.promise}, "
            f"error {self.error:.4g}"
        )


def candidate_guarantees(query: RangeQuery, level: PrivacyLevel) -> list[ExpectedAccuracy]:
    """Return the laws to compare: for numbers two, for labels the one of least variance and randomized response."""
    plain = ExpectedAccuracy("randomized_response", level.any_two, level.any_two)
    if not query.neighbours.is_line:
        assert level.per_unit is not None
        return [ExpectedAccuracy("metric_geometric", level.per_unit, level.per_unit * diameter(query)), plain]
    if level.per_unit is not None:
        return [ExpectedAccuracy("geometric", level.per_unit, level.per_unit * query.answers.span), plain]
    best = compare_labels(query, level.any_two).best.name
    return [plain] if best == plain.mechanism else [replace(plain, mechanism=best), plain]


def diameter(query: RangeQuery) -> Fraction:
    """Return an upper bound on the longest of all shortest paths of a graph."""
    return to_fraction(float(query.distances().max()) * (1 + 1e-12), "distance")


def build_candidates(query: RangeQuery, option: ExpectedAccuracy) -> Mechanism:
    """Build the certified mechanism of an option."""
    match option.mechanism:
        case "geometric":
            return truncated_geometric(per_unit(query), option.epsilon)
        case "metric_geometric":
            return metric_geometric(query, option.epsilon)
        case "randomized_response" if query.labels is not None and not query.neighbours.is_line:
            return randomized_response(category(query.labels or ()), option.epsilon)
        case "randomized_response":
            return randomized_response(with_neighbours(query, AllPairs()), option.epsilon)
    return LABEL_LAWS[option.mechanism](query, option.epsilon)


def channel(query: RangeQuery, option: ExpectedAccuracy) -> LinearChannel:
    """Return the law of an option in floats, to simulate it without building and proving a matrix."""
    size = len(query.answers)
    match option.mechanism:
        case "metric_geometric":
            return channel_for_law(build_candidates(query, option))
        case "geometric":
            return geometric_channel(size, float(option.epsilon * query.answers.unit))
        case "randomized_response":
            return response_channel(size, float(option.epsilon))
    return channel_for_law(LABEL_LAWS[option.mechanism](query, option.epsilon))


LABEL_LAWS: dict[str, Callable[[RangeQuery, Number], Mechanism]] = {
    "subset_selection": subset_selection,
    "hadamard_response": hadamard_response,
    "projective_response": projective_response,
}
"""Laws whose reports name sets of labels."""


def per_unit(query: RangeQuery) -> RangeQuery:
    """Return the query with epsilon counted per unit of distance."""
    return with_neighbours(query, Metric(Fraction(1)))


def expectation(
    query: RangeQuery, option: ExpectedAccuracy, truth: Floats, reports: int, runs: int, seed: int
) -> ExpectedAccuracy:
    """Return the option with the mean error over simulated collections; the same seed whatever the number of reports.

    The error of numbers is the Kantorovich distance from the truth, in their unit; of labels the sum of the
    differences of all shares. Estimated as `ib.reconstruct` does by default.
    """
    model = channel(query, option)
    likely = model.forward(truth)
    draws = np.random.default_rng(seed).multinomial(reports, likely / likely.sum(), size=runs)
    errors = [
        distance(estimate, truth, query) for estimate in simulate_estimate(model, draws.astype(np.float64), query)
    ]
    spread = float(np.std(errors, ddof=1) / math.sqrt(len(errors)))
    return replace(option, error=float(np.mean(errors)), uncertainty=spread)


def simulate_estimate(model: LinearChannel, draws: Floats, query: RangeQuery) -> Floats:
    """Simulate the distributions that `ib.reconstruct` makes of each row of counts by default.

    Where updates are stopped by held-out reports, the first row says where, for all rows.
    """
    start = np.full(model.shape[1], 1 / model.shape[1])
    problems = [ReconstructionProblem.from_channel(model, counts, start, query) for counts in draws]
    match choose_method(problems[0]):
        case "multiscale":
            return np.stack([_multiscale(problem) for problem in problems])
        case "held-out":
            steps = held_out_steps(problems[0], lambda half: maximize_likelihood(half, RESIDUAL))
            if steps is not None:
                return update_batch(model, draws, start, steps)
    return np.stack([maximize_likelihood(problem, RESIDUAL) for problem in problems])


def _multiscale(problem: ReconstructionProblem) -> Floats:
    law = even(problem.channel, problem.q)
    assert law is not None
    return estimate_multiscale(law, problem.reports)


def distance(estimate: Floats, truth: Floats, query: RangeQuery) -> float:
    if query.is_ordered:
        return kantorovich(estimate, truth) * float(query.answers.unit)
    if not query.neighbours.is_line:
        return kantorovich(estimate, truth, query)
    return float(np.abs(estimate - truth).sum())


# --- the laws ---------------------------------------------------------------------------------------------


def geometric_channel(size: int, rate: float) -> LinearChannel:
    """Return the truncated geometric in floats, e^-rate from step to step, in O(size)."""
    a = math.exp(-rate)
    rows = np.full(size, math.tanh(rate / 2))
    rows[[0, -1]] = 1 / (1 + a)
    return GeometricChannel(rows, np.full(size - 1, a), np.ones(size), Slack.none(size))


def response_channel(size: int, epsilon: float) -> LinearChannel:
    """Return randomized response in floats, in O(size)."""
    rest = 1 / (size - 1 + math.exp(epsilon))
    return ResponseChannel(np.full(size, rest), np.full(size, math.expm1(epsilon) * rest), Slack.none(size))

"""Errors of reports at face value: losses, bias, variance, probabilities of the truth and of the ends.

Every function takes a mechanism first and is a method of `Mechanism`; the law computes the sums, in floats.
`exact_measures` has the same measures as Fractions. Noise tables use the linear-time forms of `clamped`, so these
measures also work for counts of a million.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.exact import Floats
from inbounds.losses import LossLike, Prior, to_loss, to_prior
from inbounds.query import RangeQuery

if TYPE_CHECKING:
    from inbounds.mechanism import Mechanism


def loss(mechanism: "Mechanism", loss: LossLike = "absolute", prior: Prior = None) -> float:
    """Return the expected loss, averaged over the answers with weights `prior` (uniform by default; 000 (23), (24))."""
    return float(loss_per_answer(mechanism, loss) @ to_prior(prior, mechanism.query))


def worst_loss(mechanism: "Mechanism", loss: LossLike = "absolute") -> float:
    """Return the expected loss under the answer for which it is largest."""
    return float(loss_per_answer(mechanism, loss).max())


def loss_per_answer(mechanism: "Mechanism", loss: LossLike = "absolute") -> Floats:
    """Return sum_i P[i, j] · loss[i, j] for every answer j: the expected loss when j is true."""
    return mechanism.law.losses(mechanism.query, to_loss(loss))


def truth_probability(mechanism: "Mechanism") -> Floats:
    """Return for every true answer the probability of reporting the cell that holds it."""
    return mechanism.law.truth_probability(mechanism.query)


def end_probability(mechanism: "Mechanism") -> Floats:
    """Return for every true answer the probability of reporting the first or the last output, true or not.

    Clamping adds up at the ends: a large value with a small probability of the truth means that reports say more
    about the range than about the data.
    """
    return mechanism.law.ends(_require_numbers(mechanism.query, "an end of the range"))


def bias(mechanism: "Mechanism") -> Floats:
    """Return the expected report minus the true answer, for every true answer."""
    return mechanism.law.bias(_require_numbers(mechanism.query, "bias"))


def variance(mechanism: "Mechanism") -> Floats:
    """Return the variance of the report for every true answer, summed around each column's mean to avoid cancellation.

    For a noise table it is E[error²] - bias², correct to 10^-15 of the squared range.
    """
    return mechanism.law.variance(_require_numbers(mechanism.query, "variance"))


def rmse(mechanism: "Mechanism") -> Floats:
    """Return the root of the expected squared error for every true answer: sqrt(variance + bias²)."""
    _require_numbers(mechanism.query, "an error")
    return np.asarray(np.sqrt(np.maximum(loss_per_answer(mechanism, "squared"), 0.0)))


def output_index(query: RangeQuery, output: Any) -> int:
    """Return the position of a reported value among the outputs. A place may be a label or coordinates.

    Raises `ValueError` if it is not a value that the mechanism reports.
    """
    if query.places is not None and not isinstance(output, str):
        return int(query.encode(output))
    reported = query.output_values
    if query.labels:
        matches = reported == output
    else:
        matches = np.isclose(reported.astype(float), float(output), rtol=1e-9, atol=0)
    positions = np.flatnonzero(matches)
    if len(positions) != 1:
        raise ValueError("output must be one of the values the mechanism reports")
    return int(positions[0])


def _require_numbers(query: RangeQuery, what: str) -> RangeQuery:
    if not query.is_ordered:
        raise ValueError(f"{what} needs numeric answers; labels have none")
    return query

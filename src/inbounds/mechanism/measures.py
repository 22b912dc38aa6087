"""How wrong reports are, taken at face value: losses, bias, variance, chances of the truth and of the ends.

Every function takes a mechanism first and is a method of `Mechanism`. Matrix laws are summed from their float
view; `exactly` has the same measures as Fractions. Noise tables use the linear-time forms of `clamped`, so
these measures also serve counts of a million.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.errors import TooLarge
from inbounds.loss import ErrorLoss, LossLike, Prior, as_loss, as_prior
from inbounds.mechanism import clamped
from inbounds.mechanism.law import Noise
from inbounds.numbers import Floats
from inbounds.query import Query

if TYPE_CHECKING:
    from inbounds.mechanism import Mechanism


def loss(mechanism: "Mechanism", loss: LossLike = "absolute", prior: Prior = None) -> float:
    """Expected loss, averaged over the answers with weights `prior` (uniform by default; 000 (23), (24))."""
    return float(loss_per_answer(mechanism, loss) @ as_prior(prior, mechanism.query))


def worst_loss(mechanism: "Mechanism", loss: LossLike = "absolute") -> float:
    """Expected loss under the answer for which it is largest."""
    return float(loss_per_answer(mechanism, loss).max())


def loss_per_answer(mechanism: "Mechanism", loss: LossLike = "absolute") -> Floats:
    """sum_i P[i, j] · loss[i, j] for every answer j: the expected loss when j is true."""
    chosen, query, law = as_loss(loss), mechanism.query, mechanism.law
    if not isinstance(law, Noise):
        return np.asarray(np.einsum("ij,ij->j", mechanism.matrix, chosen.table(query)))
    if not isinstance(chosen, ErrorLoss):
        raise TooLarge("a loss table or function needs a matrix of this size; use a loss of the error")
    if chosen.name == "zero-one":
        return 1.0 - clamped.truth(law, query)
    return clamped.expected(law, query, lambda error: np.asarray(chosen.of(np.abs(error)), dtype=np.float64))


def truth_probability(mechanism: "Mechanism") -> Floats:
    """For every true answer, the probability of reporting the cell that holds it."""
    query = mechanism.query
    if isinstance(mechanism.law, Noise):
        return clamped.truth(mechanism.law, query)
    return mechanism.matrix[query.home, np.arange(len(query.answers))]


def end_probability(mechanism: "Mechanism") -> Floats:
    """For every true answer, the probability of reporting the first or the last output, true or not.

    Snapping piles up here: a large value beside a small probability of the truth means that reports say
    more about the range than about the data.
    """
    query = _numeric(mechanism.query, "an end of the range")
    if isinstance(mechanism.law, Noise):
        return clamped.ends(mechanism.law, query)
    matrix = mechanism.matrix
    return np.asarray(matrix[0] + matrix[-1] if len(matrix) > 1 else matrix[0].copy())


def bias(mechanism: "Mechanism") -> Floats:
    """Expected report minus the true answer, for every true answer."""
    query = _numeric(mechanism.query, "bias")
    if isinstance(mechanism.law, Noise):
        return clamped.expected(mechanism.law, query, lambda error: error)
    return np.asarray(np.einsum("ij,ij->j", mechanism.matrix, _errors(query)))


def variance(mechanism: "Mechanism") -> Floats:
    """Variance of the report, for every true answer: around each column's own mean, so that nothing cancels.

    For a noise table it is E[error²] - bias², right to 10^-15 of the squared range.
    """
    query = _numeric(mechanism.query, "variance")
    if isinstance(mechanism.law, Noise):
        return np.maximum(rmse(mechanism) ** 2 - bias(mechanism) ** 2, 0.0)
    around = _errors(query) - bias(mechanism)
    return np.asarray(np.einsum("ij,ij,ij->j", mechanism.matrix, around, around))


def rmse(mechanism: "Mechanism") -> Floats:
    """Root of the expected squared error, for every true answer: sqrt(variance + bias²)."""
    _numeric(mechanism.query, "an error")
    return np.sqrt(np.maximum(loss_per_answer(mechanism, "squared"), 0.0))


def output_index(query: Query, output: Any) -> int:
    """The position of a reported value among the outputs."""
    reported = query.reported
    if query.labels:
        near = reported == output
    else:
        near = np.isclose(reported.astype(float), float(output), rtol=1e-9, atol=0)
    found = np.flatnonzero(near)
    if len(found) != 1:
        raise ValueError("output must be one of the values the mechanism reports")
    return int(found[0])


def _errors(query: Query) -> Floats:
    return query.outputs.values.floats()[:, None] - query.answers.floats()[None, :]


def _numeric(query: Query, what: str) -> Query:
    if not query.ordered:
        raise ValueError(f"{what} needs numeric answers; labels have none")
    return query

"""What k answers to the same question tell together: posterior, estimates, and the loss that is left.

The paper's colluding or patient questioners (004 §5.3) each get an independent report of one true answer. Their
reports i_1..i_k have likelihood prod P[i_r, j], so everything follows from the matrix. Estimates:

    likelihood   the answer under which the reports are likeliest (of several, the middle one)
    median       the lower median of the reports: the likeliest answer for unbounded Laplace and geometric noise
                 (004 Lemma 1, which says so of staircase noise too: there it need not be)
    mean         the posterior mean under a prior
    guess        the answer with the least posterior loss: no estimate does better under that prior
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.losses import ErrorLoss, Loss, LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import Mechanism, check_mechanism
from inbounds.mechanism.bayes import answer_values
from inbounds.mechanism.measures import output_index

Estimator = Literal["likelihood", "median", "mean", "guess"]
ESTIMATORS: tuple[Estimator, ...] = ("likelihood", "median", "mean", "guess")

TIE = 1e-9
"""Log-likelihoods this close are equal: floats cannot tell them apart."""


def posterior(mechanism: Mechanism, reports: Sequence[Any], prior: Prior = None) -> Floats:
    """Pr[answer | all reports]: prior[j] · prod_r P[i_r, j], scaled to one.

    >>> from inbounds import catalog, count
    >>> m = catalog.truncated_geometric(count(4), 1)
    >>> posterior(m, [2, 2, 3]).round(2).tolist()
    [0.0, 0.03, 0.7, 0.26, 0.01]
    """
    check_mechanism(mechanism)
    logs = log_likelihood(mechanism, _tally(mechanism, reports)[None, :])
    return np.asarray(posteriors(logs, to_prior(prior, mechanism.query))[0])


def estimate(
    mechanism: Mechanism,
    reports: Sequence[Any],
    by: Estimator = "likelihood",
    *,
    prior: Prior = None,
    loss: LossLike = "absolute",
) -> Any:
    """Return the best answer to k reports by one of the four ways; "mean" and "guess" use `prior`, "guess" also `loss`."""
    check_mechanism(mechanism)
    reader = ReportReader.from_mechanism(mechanism, by, to_loss(loss), prior)
    value = reader.values(_tally(mechanism, reports)[None, :])[0]
    return value.item() if hasattr(value, "item") else value


def log_matrix(mechanism: Mechanism) -> Floats:
    """ln P[output, answer], minus infinity where an output cannot occur."""
    with np.errstate(divide="ignore"):
        return np.log(mechanism.matrix)


def posteriors(logs: Floats, prior: Floats) -> Floats:
    """Return rows of log-likelihoods to rows of posterior probabilities."""
    with np.errstate(divide="ignore"):
        joint = logs + np.log(prior)
    best = joint.max(axis=1, keepdims=True)
    if not np.isfinite(best).all():
        raise ValueError("reports must be possible under the prior")
    weights = np.exp(joint - best)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ReportReader:
    """One way to turn tallies of reports (rows: how often each output came) into an estimate and its losses."""

    mechanism: Mechanism
    by: Estimator
    loss: Loss
    prior: Floats

    @classmethod
    def from_mechanism(cls, mechanism: Mechanism, by: Estimator, loss: Loss, prior: Prior) -> "ReportReader":
        if by not in ESTIMATORS:
            raise ValueError(f"estimator must be one of {', '.join(map(repr, ESTIMATORS))}, got {by!r}")
        if by in ("median", "mean") and not mechanism.query.is_ordered:
            raise ValueError(f"a {by} needs numeric answers; for labels use 'likelihood' or 'guess'")
        return cls(mechanism, by, loss, to_prior(prior, mechanism.query))

    def values(self, tallies: Ints) -> Any:
        """Return the estimates themselves, one for each row of tallies."""
        query = self.mechanism.query
        if self.by == "median":
            return query.output_values[_medians(tallies)]
        logs = log_likelihood(self.mechanism, tallies)
        believed = posteriors(logs, self.prior)
        return believed @ self._numbers if self.by == "mean" else answer_values(query)[self._answers(logs, believed)]

    def losses(self, logs: Floats, believed: Floats, truth: Ints) -> Floats:
        """Losses if truth[…, row] is true, from rows of log-likelihoods and of the posteriors they give."""
        if self.by != "mean":
            return self._guesses[self._answers(logs, believed), truth]
        if not isinstance(self.loss, ErrorLoss):
            raise ValueError("a posterior mean needs a loss of the error; use 'guess' for tables and functions")
        return np.asarray(self.loss.of(np.abs(believed @ self._numbers - self._numbers[truth])), dtype=np.float64)

    def _answers(self, logs: Floats, believed: Floats) -> Ints:
        if self.by == "likelihood":
            return _middle(logs >= logs.max(axis=1, keepdims=True) - TIE)
        return np.asarray((believed @ self._guesses.T).argmin(axis=1))

    @cached_property
    def _guesses(self) -> Floats:
        return self.loss.guesses(self.mechanism.query)

    @cached_property
    def _numbers(self) -> Floats:
        return self.mechanism.query.answers.floats()


def _medians(tallies: Ints) -> Ints:
    """Return output positions of the lower medians."""
    k = tallies.sum(axis=1, keepdims=True)
    return np.asarray((2 * np.cumsum(tallies, axis=1) >= k).argmax(axis=1))


def _middle(best: Any) -> Ints:
    """For every row the middle one of the marked positions (the lower of two)."""
    half = (best.sum(axis=1, keepdims=True) + 1) // 2
    return np.asarray((np.cumsum(best, axis=1) >= half).argmax(axis=1))


def _tally(mechanism: Mechanism, reports: Sequence[Any]) -> Ints:
    if len(reports) == 0:
        raise ValueError("reports must be at least one; k = 0 answers tell nothing")
    positions = [output_index(mechanism.query, report) for report in reports]
    return np.bincount(positions, minlength=mechanism.query.shape[0]).astype(np.int64)


def log_likelihood(mechanism: Mechanism, tallies: Ints) -> Floats:
    """sum_i tally[i] · ln P[i, j], with 0 · ln 0 = 0."""
    logs = log_matrix(mechanism)
    known = tallies @ np.where(np.isfinite(logs), logs, 0.0)
    impossible = (tallies > 0).astype(np.float64) @ (~np.isfinite(logs)).astype(np.float64)
    return np.where(impossible > 0, -np.inf, known)

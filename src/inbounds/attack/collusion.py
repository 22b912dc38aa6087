"""Inference from k answers to the same question: posterior, estimates, and the remaining loss.

The paper's colluding or patient questioners (004 §5.3) each get an independent output of one true answer. Their
outputs i_1..i_k have likelihood prod P[i_r, j], so everything follows from the matrix. Estimators:

    likelihood   the answer under which the outputs are most likely (of several, the middle one)
    median       the lower median of the outputs: the likeliest answer for unbounded Laplace and geometric noise
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

Estimator = Literal["likelihood", "median", "mean", "guess"]
ESTIMATORS: tuple[Estimator, ...] = ("likelihood", "median", "mean", "guess")

TIE = 1e-9
"""Log-likelihoods this close count as equal: floats cannot tell them apart."""


def check_reports(mechanism: Mechanism) -> None:
    """Raise `TypeError` unless the outputs of a mechanism are answers, and not sets of labels."""
    check_mechanism(mechanism)
    if mechanism.report_query is not mechanism.query:
        raise TypeError("mechanism must have answers as outputs, but these name sets of labels; use ib.reconstruct")


def posterior(mechanism: Mechanism, outputs: Sequence[Any], prior: Prior = None) -> Floats:
    """Return Pr[answer | all outputs]: prior[j] · prod_r P[i_r, j], scaled to one.

    >>> from inbounds import catalog, count
    >>> m = catalog.truncated_geometric(count(4), 1)
    >>> posterior(m, [2, 2, 3]).round(2).tolist()
    [0.0, 0.03, 0.7, 0.26, 0.01]
    """
    check_reports(mechanism)
    logs = log_likelihood(mechanism, _tally(mechanism, outputs)[None, :])
    return np.asarray(posteriors(logs, to_prior(prior, mechanism.query))[0])


def estimate(
    mechanism: Mechanism,
    outputs: Sequence[Any],
    by: Estimator = "likelihood",
    *,
    prior: Prior = None,
    loss: LossLike = "absolute",
) -> Any:
    """Estimate the answer from k outputs by one of four estimators; "mean" and "guess" use `prior`, "guess" also
    `loss`.
    """
    check_reports(mechanism)
    reader = ReportReader.from_mechanism(mechanism, by, to_loss(loss), prior)
    value = reader.values(_tally(mechanism, outputs)[None, :])[0]
    return value.item() if hasattr(value, "item") else value


def log_matrix(mechanism: Mechanism) -> Floats:
    """Return ln P[output, answer], minus infinity for an output that cannot occur."""
    with np.errstate(divide="ignore"):
        return np.log(mechanism.matrix)


def posteriors(logs: Floats, prior: Floats) -> Floats:
    """Convert rows of log-likelihoods to rows of posterior probabilities."""
    with np.errstate(divide="ignore"):
        joint = logs + np.log(prior)
    highest = joint.max(axis=1, keepdims=True)
    if not np.isfinite(highest).all():
        raise ValueError("outputs must be possible under the prior")
    weights = np.exp(joint - highest)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ReportReader:
    """An estimator: turns tallies of outputs (rows: how often each output came) into estimates and their losses."""

    mechanism: Mechanism
    estimator: Estimator
    loss: Loss
    prior: Floats

    @classmethod
    def from_mechanism(cls, mechanism: Mechanism, estimator: Estimator, loss: Loss, prior: Prior) -> "ReportReader":
        if estimator not in ESTIMATORS:
            raise ValueError(f"estimator must be one of {', '.join(map(repr, ESTIMATORS))}, got {estimator!r}")
        if estimator in ("median", "mean") and not mechanism.query.is_ordered:
            raise ValueError(f"a {estimator} needs numeric answers; for labels use 'likelihood' or 'guess'")
        return cls(mechanism, estimator, loss, to_prior(prior, mechanism.query))

    def values(self, tallies: Ints) -> Any:
        """Return the estimates, one for each row of tallies."""
        query = self.mechanism.query
        if self.estimator == "median":
            return query.output_values[_medians(tallies)]
        logs = log_likelihood(self.mechanism, tallies)
        beliefs = posteriors(logs, self.prior)
        return (
            beliefs @ self._numbers if self.estimator == "mean" else answer_values(query)[self._answers(logs, beliefs)]
        )

    def losses(self, logs: Floats, beliefs: Floats, truth: Ints) -> Floats:
        """Return the losses if truth[…, row] is true, from rows of log-likelihoods and their posteriors."""
        if self.estimator != "mean":
            return self._guesses[self._answers(logs, beliefs), truth]
        if not isinstance(self.loss, ErrorLoss):
            raise ValueError("a posterior mean needs a loss of the error; use 'guess' for tables and functions")
        return np.asarray(self.loss.of(np.abs(beliefs @ self._numbers - self._numbers[truth])), dtype=np.float64)

    def _answers(self, logs: Floats, beliefs: Floats) -> Ints:
        if self.estimator == "likelihood":
            return _middle(logs >= logs.max(axis=1, keepdims=True) - TIE)
        return np.asarray((beliefs @ self._guesses.T).argmin(axis=1))

    @cached_property
    def _guesses(self) -> Floats:
        return self.loss.guesses(self.mechanism.query)

    @cached_property
    def _numbers(self) -> Floats:
        return self.mechanism.query.answers.floats()


def _medians(tallies: Ints) -> Ints:
    """Return the output positions of the lower medians."""
    k = tallies.sum(axis=1, keepdims=True)
    return np.asarray((2 * np.cumsum(tallies, axis=1) >= k).argmax(axis=1))


def _middle(marked: Any) -> Ints:
    """Return for every row the middle of the marked positions (the lower of two)."""
    half = (marked.sum(axis=1, keepdims=True) + 1) // 2
    return np.asarray((np.cumsum(marked, axis=1) >= half).argmax(axis=1))


def _tally(mechanism: Mechanism, outputs: Sequence[Any]) -> Ints:
    if len(outputs) == 0:
        raise ValueError("outputs must be at least one; k = 0 answers tell nothing")
    positions = [mechanism.query.output_index(output) for output in outputs]
    return np.bincount(positions, minlength=mechanism.query.shape[0]).astype(np.int64)


def log_likelihood(mechanism: Mechanism, tallies: Ints) -> Floats:
    """Return sum_i tally[i] · ln P[i, j], with 0 · ln 0 = 0."""
    logs = log_matrix(mechanism)
    finite_sum = tallies @ np.where(np.isfinite(logs), logs, 0.0)
    impossible = (tallies > 0).astype(np.float64) @ (~np.isfinite(logs)).astype(np.float64)
    return np.where(impossible > 0, -np.inf, finite_sum)

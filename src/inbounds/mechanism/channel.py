"""`Channel`: Pr[output | true answer] with a prior of the true answer, for losses and Bayesian readings."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats
from inbounds.losses import LossLike, Prior, to_loss
from inbounds.mechanism import bayes, measures
from inbounds.mechanism.laws.base import MatrixMeasures
from inbounds.mechanism.limits import MATRIX_LIMIT, refuse_large_matrix
from inbounds.query import RangeQuery


@dataclass(frozen=True)
class Channel:
    """Pr[output | true answer] and Pr[true answer].

    query: the answers and outputs. prior: of the answers, sums to one. possible: the answers that can occur, if not all
    can; worst cases are taken over these. For the mechanism of a quantile the matrix is the one expected of groups of
    records; it is then simulated with a fixed seed, and expected errors are within about two hundredths of the true
    ones.
    """

    query: RangeQuery
    prior: Floats = field(repr=False)
    law: MatrixMeasures = field(repr=False)
    possible: NDArray[np.bool_] | None = field(default=None, repr=False)
    make_matrix: Callable[[], Floats] | None = field(default=None, repr=False, compare=False)

    def channel(self, prior: Prior = None) -> "Channel":
        """Return the channel itself; it has a prior already."""
        if prior is not None:
            raise ValueError("a channel has its prior already; give the prior to the mechanism's channel()")
        return self

    @property
    def matrix(self) -> Floats:
        """P[output, answer] as floats. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
        return self.law.probabilities(self.query) if self.make_matrix is None else self.make_matrix()

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, answers): the shape of the matrix."""
        return self.law.output_count(self.query), len(self.query.answers)

    @property
    def is_too_large(self) -> bool:
        """Whether the matrix would have more than MATRIX_LIMIT entries."""
        return self.shape[0] * self.shape[1] > MATRIX_LIMIT

    def refuse_if_too_large(self) -> None:
        """Raise `TooLarge` if the matrix would have more than MATRIX_LIMIT entries."""
        refuse_large_matrix(*self.shape)

    @property
    def is_expected(self) -> bool:
        """Whether the matrix is the one expected of groups of records, as for a quantile."""
        return isinstance(self.law, ExpectedMatrix)

    @property
    def has_face_value(self) -> bool:
        """Whether an output is one of the answers, so that it has a loss; not if it names a set of labels."""
        return self.law.has_face_value

    @property
    def output_values(self) -> NDArray[Any]:
        """The released values, in the order of the outputs."""
        return np.asarray(self.law.decode(self.query, np.arange(self.shape[0])))

    def output_index(self, output: Any) -> int:
        """Return the position of a released value. Raises `ValueError` if it is no output."""
        return self.law.output_index(self.query, output)

    def likelihood(self, output: int) -> Floats:
        """Return Pr[output | answer] for every answer; without a matrix if it would be too large."""
        if self.is_too_large:
            return np.asarray(self.law.likelihood(self.query, output))
        return np.asarray(self.matrix[output])

    def select_possible(self, values: Floats) -> Floats:
        """Return the values of the answers that can occur."""
        return values if self.possible is None else values[self.possible]

    def constant_loss(self, loss: LossLike = "absolute") -> float:
        """Return the expected loss of the best constant guess, which needs no data."""
        return float((to_loss(loss).guesses(self.query) @ self.prior).min())

    loss = measures.loss
    worst_loss = measures.worst_loss
    loss_per_answer = measures.loss_per_answer
    truth_probability = measures.truth_probability
    end_probability = measures.end_probability
    bias = measures.bias
    variance = measures.variance
    rmse = measures.rmse

    posterior = bayes.posterior
    best_guess = bayes.best_guess
    credible_set = bayes.credible_set
    remap = bayes.best_remap
    bayes_loss = bayes.bayes_loss
    interpret = bayes.interpret
    interpretations = bayes.interpret_all
    coverage = bayes.coverage
    mutual_information = bayes.mutual_information
    posterior_entropy = bayes.posterior_entropy


@dataclass(frozen=True, eq=False)
class ExpectedMatrix(MatrixMeasures):
    """The matrix that is expected of a mechanism under a model of the records."""

    floats: Floats

    def probabilities(self, query: RangeQuery) -> Floats:
        return self.floats

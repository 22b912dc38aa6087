"""The measures of a mechanism as exact Fractions: integer sums over its weights, without rounding.

For auditors. Absolute, squared and zero-one losses are exact; any other loss counts with the exact value of its floats.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from inbounds.exact import Number, Wholes, to_fraction
from inbounds.losses import Loss, LossLike, to_loss
from inbounds.query import RangeQuery, Scale
from inbounds.trusted.bounds import TOTAL

if TYPE_CHECKING:
    from inbounds.mechanism import Mechanism

Rows = tuple[Iterator[Wholes], Fraction]
"""Integers, row by row, and the unit they are multiples of."""


@dataclass(frozen=True)
class ExactMeasures:
    """The measures of one mechanism as Fractions, with the same names as the methods of the mechanism.

    Cost: a few integer operations per entry of the matrix, row by row; `bayes_loss` one per guess and entry.

    >>> from inbounds import catalog, count
    >>> catalog.uniform(count(2), 1).exact_measures.loss("absolute").limit_denominator(100)
    Fraction(8, 9)
    """

    mechanism: "Mechanism"

    def loss(self, loss: LossLike = "absolute", prior: Sequence[Number] | None = None) -> Fraction:
        """Return the expected loss, averaged over the answers with weights `prior` (uniform by default)."""
        weights = exact_prior(prior, self.mechanism.query)
        return sum((q * x for q, x in zip(weights, self.loss_per_answer(loss), strict=True)), Fraction(0))

    def worst_loss(self, loss: LossLike = "absolute") -> Fraction:
        """Return the expected loss under the answer for which it is largest."""
        return max(self.loss_per_answer(loss))

    def loss_per_answer(self, loss: LossLike = "absolute") -> list[Fraction]:
        """Return the expected loss for every true answer."""
        return self._expectation(lambda query: loss_rows(query, to_loss(loss)))

    def truth_probability(self) -> list[Fraction]:
        """Return for every true answer the probability of the cell that holds it."""
        weights = self.mechanism.weights
        return [Fraction(int(weights[i, j]), TOTAL) for j, i in enumerate(self.mechanism.query.home_cell)]

    def end_probability(self) -> list[Fraction]:
        """Return for every true answer the probability of the first or the last output."""
        ends = self.mechanism.weights[sorted({0, len(self.mechanism.weights) - 1})].astype(object)
        return [Fraction(int(units), TOTAL) for units in ends.sum(axis=0)]

    def bias(self) -> list[Fraction]:
        """Return the expected output minus the true answer, for every true answer."""
        return self._expectation(_errors)

    def variance(self) -> list[Fraction]:
        """Return the variance of the output for every true answer."""
        return [square - b * b for square, b in zip(self.loss_per_answer("squared"), self.bias(), strict=True)]

    def bayes_loss(self, loss: LossLike = "absolute", prior: Sequence[Number] | None = None) -> Fraction:
        """Return sum_i min_g sum_j prior[j] · P[i, j] · loss(g, j) (000 (25), (26), corrected)."""
        weights, prior_shares = self.mechanism.weights, exact_prior(prior, self.mechanism.query)
        rows, unit = loss_rows(self.mechanism.query, to_loss(loss), guesses=True)
        table = np.array(list(rows), dtype=object)
        common = math.lcm(*(q.denominator for q in prior_shares))
        wholes = np.array([int(q * common) for q in prior_shares], dtype=object)
        least = sum(min(table @ (row.astype(object) * wholes)) for row in weights)
        return Fraction(least) * unit / (TOTAL * common)

    def _expectation(self, worth: Callable[[RangeQuery], Rows]) -> list[Fraction]:
        """Return sum_i W[i, j] · worth[i, j] · unit / 2**62 for every j, row by row to save memory."""
        matrix = self.mechanism.weights  # first, because it raises TooLarge
        rows, unit = worth(self.mechanism.query)
        sums = np.zeros(matrix.shape[1], dtype=object)
        for weights, row in zip(matrix, rows, strict=True):
            sums += weights.astype(object) * row
        return [Fraction(int(total)) * unit / TOTAL for total in sums]


def exact_prior(prior: Sequence[Number] | None, query: RangeQuery) -> list[Fraction]:
    """Return a prior as exact shares that sum to one. A float means the decimal it prints as."""
    size = len(query.answers)
    if prior is None:
        return [Fraction(1, size)] * size
    weights = [to_fraction(weight, "prior") for weight in prior]
    if len(weights) != size:
        raise ValueError(f"prior must have one weight for each of the {size} answers, got {len(weights)}")
    if not (min(weights) >= 0 and sum(weights) > 0):
        raise ValueError("prior must be non-negative and not all zero")
    return [weight / sum(weights) for weight in weights]


def loss_rows(query: RangeQuery, loss: Loss, *, guesses: bool = False) -> Rows:
    """Return losses as multiples of a unit: of output i, or of guessing answer i, when answer j is true."""
    if query.is_ordered and loss.name in ("absolute", "squared"):
        errors, unit = _errors(query, query.answers if guesses else query.outputs.values)
        if loss.name == "absolute":
            return (np.abs(row) for row in errors), unit
        return (row * row for row in errors), unit * unit
    values, value_index = np.unique(loss.guesses(query) if guesses else loss.table(query), return_inverse=True)
    fractions = [Fraction(value) for value in values.tolist()]
    common = math.lcm(*(value.denominator for value in fractions))
    wholes = np.array([int(value * common) for value in fractions], dtype=object)
    return (wholes[row] for row in value_index.reshape(-1, len(query.answers))), Fraction(1, common)


def _errors(query: RangeQuery, reported: Scale | None = None) -> Rows:
    """Return output - true as multiples of a unit, one row per released value."""
    if not query.is_ordered:
        raise ValueError("an error needs numeric answers; labels have none")
    rows = list(query.outputs.values if reported is None else reported)
    columns = list(query.answers)
    common = math.lcm(*(value.denominator for value in (*rows, *columns)))
    v = [int(value * common) for value in rows]
    a = np.array([int(value * common) for value in columns], dtype=object)
    return (value - a for value in v), Fraction(1, common)

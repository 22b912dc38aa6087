"""Randomized response as a law: two weights for any number of answers, so that no matrix is needed."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, Ints, round_up_to_float
from inbounds.losses import ErrorLoss, Loss
from inbounds.mechanism.audit import log_upper_bound
from inbounds.mechanism.blanket import BlanketPair, pair_of_kinds
from inbounds.mechanism.json_values import parse_integer
from inbounds.mechanism.laws.base import BROWSER, COQ, AnswerLaw
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.properties import MatrixLayout, square_layout
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import check_response
from inbounds.trusted.limits import MOST_RECOMPUTED
from inbounds.trusted.samplers import ResponseSampler


@dataclass(frozen=True)
class Response(AnswerLaw):
    """Randomized response over `size` answers: each wrong answer has `other_weight` of 2**62, the true one the rest."""

    size: int
    other_weight: int

    kind = "response"
    fields = dict.fromkeys(("size", "other"))
    checkers = frozenset({BROWSER, COQ})
    measured_exactly = False

    def __post_init__(self) -> None:
        for name in ("size", "other_weight"):  # the checker needs plain ints
            object.__setattr__(self, name, int(operator.index(getattr(self, name))))

    def __reduce__(self) -> tuple[type["Response"], tuple[int, int]]:
        return Response, (self.size, self.other_weight)  # copies and pickles carry no sampler

    @property
    def truth_weight(self) -> int:
        """The weight of the true answer over 2**62."""
        return TOTAL - (self.size - 1) * self.other_weight

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        near = not query.neighbours.has_distances  # at distance 1, as two weights are checked for
        if self.size != len(query.answers) or not query.one_output_per_answer or not near:
            raise InvalidDistribution("two weights need one output per answer, and neighbours at distance 1")
        check_response(self.size, self.other_weight, epsilon)

    def matrix(self, query: RangeQuery) -> Ints:
        refuse_beyond_limit(query)
        return self.corner(self.size)

    def corner(self, most: int = 4) -> Ints:
        """Return the weights of the first `most` answers. Any property of the whole matrix can be judged from them."""
        size = min(self.size, most)
        weights = np.full((size, size), self.other_weight, dtype=np.int64)
        weights[np.diag_indices(size)] = self.truth_weight
        return weights

    def property_weights(self, query: RangeQuery) -> tuple[Ints, MatrixLayout]:
        refuse_beyond_limit(query)
        corner = self.corner()
        return corner, square_layout(len(corner))

    def closed_average(self, name: str) -> Fraction | None:
        return self.average(name) if self.size > MOST_RECOMPUTED else None

    def blanket_pairs(self, query: RangeQuery) -> Iterator[BlanketPair]:
        truth, other = Fraction(self.truth_weight, TOTAL), Fraction(self.other_weight, TOTAL)
        least, others = min(truth, other), (self.size - 2) * other
        yield pair_of_kinds([(least, truth, other), (least, other, truth), ((self.size - 2) * least, others, others)])

    # --- measures, for every true answer; linear in the size ----------------------------------------------

    @property
    def _shares(self) -> tuple[float, float]:
        """Probabilities of the truth and of each other answer."""
        return self.truth_weight / TOTAL, self.other_weight / TOTAL

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        """Return Pr[output | answer] for every answer."""
        truth, other = self._shares
        likelihoods = np.full(self.size, other)
        likelihoods[output] = truth
        return likelihoods

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        """Return the expected loss for every answer: Pr[other] times the losses of all steps down and all steps up.

        Raises `TooLarge` for other losses than those of the error, and for answers with gaps.
        """
        if not isinstance(loss, ErrorLoss):
            raise TooLarge("a loss table or function needs a matrix of this size; use a loss of the error")
        if loss.name == "zero-one":
            return 1.0 - self.truth_probability(query)
        if not query.is_ordered:
            raise ValueError(f"loss {loss.name!r} needs numeric answers; labels have none; use 'zero-one'")
        values = query.answers.floats()
        if not query.answers.is_regular:
            raise TooLarge("a loss of the error needs a matrix of this size where answers have gaps")
        one_sided = np.cumsum(np.asarray(loss.of(values - values[0]), dtype=np.float64))
        truth, other = self._shares
        return np.asarray(other * (one_sided + one_sided[::-1]) + (truth - 2 * other) * one_sided[0])

    def average(self, name: str) -> Fraction:
        """Return the named loss, averaged over all answers of a grid without gaps, in closed form.

        name: absolute, squared or zero-one. The result is in grid steps (squared: in squared steps).
        """
        n = self.size
        sums = {
            "absolute": Fraction(n * n - 1, 3),
            "squared": Fraction(n * (n * n - 1), 6),
            "zero-one": Fraction(n - 1),
        }
        return sums[name] * Fraction(self.other_weight, TOTAL)

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the answer] for every answer."""
        return np.full(self.size, self._shares[0])

    def ends(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the first or the last output] for every answer."""
        truth, other = self._shares
        probabilities = np.full(self.size, 2 * other)
        probabilities[[0, -1]] = truth + other
        return probabilities

    def bias(self, query: RangeQuery) -> Floats:
        """Return E[output - true] for every answer."""
        values = query.answers.floats()
        return np.asarray(self._shares[1] * self.size * (values.mean() - values))

    def variance(self, query: RangeQuery) -> Floats:
        """Return (1 - l)·Var[u] + l·(1 - l)·(v - E[u])² for every answer v.

        With probability l the output is v, else a uniform draw u from all answers.
        """
        values, lift = query.answers.floats(), self._shares[0] - self._shares[1]
        around = values - values.mean()
        return np.asarray((1 - lift) * values.var() + lift * (1 - lift) * around**2)

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return the ratio of an output's probabilities under two answers, rounded up: the same for any two."""
        return round_up_to_float(Fraction(self.truth_weight, self.other_weight)) if steps else 1.0

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        """Return for every answer and the next one the largest ratio."""
        return [self.ratio_within(query, 1)] * (self.size - 1)

    def proof_steps(self, query: RangeQuery) -> list[str]:
        return [
            f"each of {self.size - 1} answers that are not the true one has the probability "
            f"{self.other_weight}/2^62, and the "
            "true one the rest, which is not less",
            "the rest is at most p/2^128 times as much",
            f"p/2^{EXP_BITS} ≤ e^epsilon, found by a sum rounded down at every step",
        ]

    def tight_epsilon(self, query: RangeQuery) -> float:
        return log_upper_bound(Fraction(self.truth_weight, self.other_weight), Fraction(1))

    def sampler(self, query: RangeQuery) -> ResponseSampler:
        return ResponseSampler(self.size, self.other_weight)

    def to_json(self) -> Any:
        return {"size": str(self.size), "other": str(self.other_weight)}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        return cls(*(parse_integer(part[key]) for key in ("size", "other")))


def make_tight_response(size: int, epsilon: Fraction) -> Response:
    """Make the randomized response with the largest weight of the truth that epsilon allows.

    truth · 2**128 <= p · other and truth + (size - 1) · other = 2**62, so `other` is the least integer of at least
    2**62 · 2**128 / (p + (size - 1) · 2**128).
    """
    p = ratio_lower_bound(epsilon, Fraction(1))
    return Response(size, -(-(TOTAL << EXP_BITS) // (p + ((size - 1) << EXP_BITS))))

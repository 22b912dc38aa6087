"""The contract of a law: the numbers of a mechanism, and how they are checked, drawn from, written and measured.

To add a law, write its certificate in `inbounds.trusted`, a subclass of `AnswerLaw` or `RecordsLaw` in this package,
and one line in `LAWS`. Sampling, passports, comparisons, verdicts and pages follow from the methods below. Every other
checker (the browser's page, the program extracted from the Coq proof) needs an independently written rule; until it has
one it gives no verdict, and `checkers` does not name it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, FrozenArray, Ints, freeze
from inbounds.files import canonical_json
from inbounds.losses import Loss
from inbounds.mechanism.audit import find_worst_ratio
from inbounds.mechanism.blanket import BlanketPair, pairs_of_matrix
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.ratios import largest_ratio, ratio_in_matrix
from inbounds.properties import MatrixLayout
from inbounds.query import QuantileQuery, Query, RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL
from inbounds.trusted.samplers import Draws, MatrixSampler, Sampler

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from inbounds.mechanism.laws.noise import Noise

    Q = TypeVar("Q", bound=Query, default=RangeQuery)
else:
    from typing import TypeVar

    Q = TypeVar("Q")

BROWSER, COQ = "browser", "coq"
"""The checkers beside Python's: the page in the browser, and the program extracted from the machine-checked proof."""

ROUNDING = 1e-9
"""Share by which the float length of a path may exceed its own; a pair more is looked at rather than one less."""

RATIO_BOUND = f"p/2^{EXP_BITS} ≤ e^epsilon, found by a sum rounded down at every step"

DrawFunction = Callable[[Ints, Draws], Ints]
"""From encoded inputs (positions of answers, or histograms of records) to positions of outputs."""


class Law(ABC, Generic[Q]):
    """The numbers of a mechanism. Instances are immutable; `Mechanism` runs `check` before it accepts one."""

    kind: ClassVar[str]
    """The key of the law in passports."""
    fields: ClassVar[Any] = None
    """The names that the law's JSON may have, as `refuse_unknown_fields` takes them; None if it is no object."""
    query_type: ClassVar[type[Any]]
    """The class of the queries that it serves."""
    checkers: ClassVar[frozenset[str]] = frozenset()
    """The checkers beside Python's that judge the law: BROWSER, COQ."""
    has_claims: ClassVar[bool] = True
    """Whether its passport states losses, properties and the tight epsilon."""

    delta: Fraction = Fraction(0)
    """Beside epsilon, the delta at which the law is private."""

    @abstractmethod
    def check(self, query: Q, epsilon: Fraction) -> None:
        """Raise unless the law fits the query and is epsilon-private, at its delta, in integers.

        It must hold for what the law's sampler draws, in both directions of every pair of neighbours, and be cheap for
        queries of 2**53 answers: passports may come from strangers.
        """

    @abstractmethod
    def to_json(self) -> Any:
        """Return the law as plain JSON values; integers are decimal text, as `json_values` writes and parses them."""

    @classmethod
    @abstractmethod
    def from_json(cls, part: Any, query: Q) -> Self:
        """Read what `to_json` wrote. Raises for malformed values; privacy is checked by `Mechanism`."""

    @classmethod
    def count_cells(cls, part: Any) -> int:
        """Return how many outputs or answers the JSON lists one by one; a query in a file may have as many cells."""
        return 0

    @abstractmethod
    def proof_steps(self, query: Q) -> list[str]:
        """Return what `check` established, as sentences for people."""

    def can_report(self, query: Q, output: int) -> bool:
        """Return whether an output is possible under any input."""
        return 0 <= output < self.output_count(query)

    def canonical_bytes(self) -> bytes:
        """Return the numbers of the law as bytes, for digests."""
        return canonical_json({self.kind: self.to_json()}).encode()

    def tight_epsilon(self, query: Q) -> float:
        """Return the least epsilon that the law is private for, rounded up. Raises `TooLarge` if it is not known."""
        raise TooLarge(f"the tight epsilon of a law of the kind {self.kind!r} is not computed")

    @abstractmethod
    def output_count(self, query: Q) -> int:
        """Return the number of possible outputs."""

    @abstractmethod
    def decode(self, query: Q, outputs: Ints) -> Any:
        """Return the released values at these positions."""


class MatrixMeasures:
    """Measures for every true answer, computed from a matrix of probabilities P[output, answer]."""

    has_face_value: ClassVar[bool] = True
    """Whether an output is one of the answers, so that it has a loss at face value."""

    def probabilities(self, query: RangeQuery) -> Floats:
        """Return P[output, answer] as floats. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
        raise NotImplementedError

    def report_query(self, query: RangeQuery) -> RangeQuery:
        """Return a query with the possible outputs, in their order."""
        return query

    def named_labels(self, query: RangeQuery, output: int) -> Ints:
        """Return the positions of the answers that an output names: itself, or a set of labels."""
        return np.array([output])

    def output_count(self, query: RangeQuery) -> int:
        """Return the number of possible outputs."""
        return len(query.outputs)

    def output_index(self, query: RangeQuery, output: Any) -> int:
        """Return the position of a released value. Raises `ValueError` if it is no output."""
        return query.output_index(output)

    def decode(self, query: RangeQuery, outputs: Ints) -> Any:
        """Return the released values at these positions."""
        return query.decode(outputs)

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        """Return Pr[output | answer] for every answer."""
        return np.asarray(self.probabilities(query)[output])

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        """Return sum_i P[i, j] · loss[i, j] for every answer j."""
        return np.asarray(np.einsum("ij,ij->j", self.probabilities(query), loss.table(query)))

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the cell that holds the answer] for every answer."""
        return self.probabilities(query)[query.home_cell, np.arange(len(query.answers))]

    def ends(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the first or the last output] for every answer."""
        matrix = self.probabilities(query)
        return np.asarray(matrix[0] + matrix[-1] if len(matrix) > 1 else matrix[0].copy())

    def bias(self, query: RangeQuery) -> Floats:
        """Return E[output - true] for every answer."""
        return np.asarray(np.einsum("ij,ij->j", self.probabilities(query), _errors(query)))

    def variance(self, query: RangeQuery) -> Floats:
        """Return the variance of the output for every answer, around each column's mean to avoid cancellation."""
        around = _errors(query) - self.bias(query)
        return np.asarray(np.einsum("ij,ij,ij->j", self.probabilities(query), around, around))

    def best_guesses(self, query: RangeQuery, loss: Loss, prior: Floats) -> tuple[Ints, Floats] | None:
        """Return the best guess for every output and the joint losses; None to have them computed from the matrix."""
        return None


class AnswerLaw(MatrixMeasures, Law[RangeQuery]):
    """A law whose output depends on one true answer: Pr[output | answer].

    A subclass must have `matrix`; it may have quicker forms of everything that is derived from it here.
    """

    query_type = RangeQuery
    measured_exactly: ClassVar[bool] = True
    """Whether losses are computed as exact Fractions."""
    states_tight_epsilon: ClassVar[bool] = True
    """Whether passports state the tight epsilon, rather than the epsilon that the law was made for."""

    @property
    def noise_table(self) -> "Noise | None":
        """The law itself if it adds noise to the answer, else None."""
        return None

    @abstractmethod
    def matrix(self, query: RangeQuery) -> Ints:
        """Return the law as integer weights, outputs × answers, over 2**62. Raises `TooLarge` beyond MATRIX_LIMIT."""

    def sampler(self, query: RangeQuery) -> Sampler:
        """Return the sampler of `inbounds.trusted` for this law; override it if the matrix may be too large."""
        return MatrixSampler.from_weights(self.matrix(query))

    def probabilities(self, query: RangeQuery) -> Floats:
        return freeze(self.matrix(query) / TOTAL)

    def property_weights(self, query: RangeQuery) -> tuple[Ints, MatrixLayout]:
        """Return weights from which every structural property of the law can be measured, and their layout."""
        refuse_beyond_limit(query)
        layout = MatrixLayout(len(query.outputs), query.home_cell, query.below, query.above)
        return self.matrix(query), layout

    def closed_average(self, name: str) -> Fraction | None:
        """Return the absolute, squared or zero-one loss in grid steps, averaged over all answers.

        None if it is computed from the losses of all answers instead, as for laws that are not long.
        """
        return None

    def label_chances(self, query: RangeQuery) -> tuple[Fraction, Fraction]:
        """Return Pr[an output names the true label] and Pr[it names a given other one].

        For laws that treat all labels alike; others must not be asked.
        """
        truth, other = self.likelihood(query, 0)[:2].tolist()
        return Fraction(truth), Fraction(other)

    def can_report(self, query: RangeQuery, output: int) -> bool:
        return super().can_report(query, output) and bool(self.likelihood(query, output).max() > 0)

    # --- what it reveals ----------------------------------------------------------------------------------

    def tight_epsilon(self, query: RangeQuery) -> float:
        return find_worst_ratio(self.matrix(query), query).epsilon

    def blanket_pairs(self, query: RangeQuery) -> Iterator[BlanketPair]:
        """Yield every ordered pair of answers, those once that nobody tells apart but by the names of outputs.

        Raises `TooLarge` where there are too many.
        """
        return pairs_of_matrix(self.matrix(query))

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return the largest ratio of any output's probabilities under answers at most `steps` grid steps apart."""
        return ratio_in_matrix(self.matrix(query), query.answers, steps) if steps else 1.0

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        """Return for every answer and the next one the largest ratio of any output's probabilities."""
        return [largest_ratio(np.maximum(a, b), np.minimum(a, b)) for a, b in pairwise(self.matrix(query).T)]

    def ratio_apart(self, query: RangeQuery, distance: float) -> float:
        """Return the largest ratio under two answers of a graph with a path of at most `distance` between them."""
        weights = self.matrix(query)
        near = query.distances(directed=False) <= distance * (1 + ROUNDING)
        worst = (largest_ratio(weights[:, near[j]].max(axis=1), weights[:, j]) for j in range(len(near)))
        return max(1.0, *worst)


class RecordsLaw(Law[QuantileQuery]):
    """A law whose output depends on all records of a group, given as histograms: groups × counts of the values."""

    query_type = QuantileQuery
    has_claims = False

    def output_count(self, query: QuantileQuery) -> int:
        return query.width + 1

    def decode(self, query: QuantileQuery, outputs: Ints) -> Any:
        return query.as_range_query.decode(outputs)

    @abstractmethod
    def make_sampler(self, query: QuantileQuery) -> DrawFunction:
        """Return the function that draws outputs, by a sampler of `inbounds.trusted`."""

    @abstractmethod
    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        """Return Pr[output] for every group, to float precision: groups × outputs."""


def one_or_many(draw: DrawFunction) -> DrawFunction:
    """Return the function for histograms of many groups, groups × values, that also takes that of one group."""

    def draw_any(histograms: Ints, draws: Draws) -> Ints:
        return draw(np.atleast_2d(histograms), draws).reshape(histograms.shape[:-1])

    return draw_any


def seal_weights(values: Any) -> FrozenArray:
    """Return a read-only int64 copy in immutable bytes. Raises `InvalidDistribution` for another dtype."""
    array = np.ascontiguousarray(values)
    if array.dtype != np.int64:
        raise InvalidDistribution(f"weights must be int64, got {array.dtype}")
    return FrozenArray.from_array(array)


def freeze_weights(values: Any) -> Ints:
    """Return a read-only int64 copy of an array of weights."""
    return seal_weights(values).array


def _errors(query: RangeQuery) -> Floats:
    return query.outputs.values.floats()[:, None] - query.answers.floats()[None, :]

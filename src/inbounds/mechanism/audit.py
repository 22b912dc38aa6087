"""Audits: the tight privacy loss of any matrix of probabilities or law, the pair that attains it, and its profile."""

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inbounds.exact import Number, round_up_to_float, round_up_to_printed, to_fraction
from inbounds.mechanism.profile import Profile
from inbounds.query import RangeQuery, check_query
from inbounds.trusted.certify import PAIRS_AT_A_TIME, edges_by_length

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Exact = Fraction | int

COLUMN_SLACK = 1e-6
"""The relative difference that the sums of two columns may have, because solvers are not exact."""

FLOAT_MAX, FLOAT_DOUBT = sys.float_info.max, 2.0**-50
"""A ratio of two numbers, each rounded to a float and then divided, is wrong by less than this share."""

TINY = Fraction(1, 10**20)
"""Below this x, ln(1 + x) and x are the same float, or adjacent ones."""

COLUMNS = "one for each true answer: P[output, answer]"


@dataclass(frozen=True)
class Audit:
    """The tight privacy loss of a matrix, and where it is attained.

    epsilon: the least value for which the matrix is private, `inf` if there is none. output, answers, ratio: the index
    of the output that reveals most, the indices of the answers under which it is most and least likely, and the ratio
    of the two probabilities. distance: the distance of the two answers that epsilon is multiplied by.

    `delta`, `epsilon_at` and `plot` have its privacy profile: smaller epsilons at the price of a delta.
    """

    epsilon: float
    output: int
    answers: tuple[int, int]
    ratio: float
    distance: float
    _values: NDArray[Any] = field(compare=False, repr=False)
    _query: RangeQuery = field(compare=False, repr=False)

    @cached_property
    def profile(self) -> Profile:
        """The same numbers as exact Fractions: `profile.delta(epsilon)`, `profile.epsilon_at(delta)`, for Fractions."""
        return Profile.from_entries(self._values, self._query)

    def delta(self, epsilon: Number) -> float:
        """Return the least delta for which the matrix is (epsilon, delta)-private, rounded up.

        It is the largest, over ordered pairs of neighbouring answers, of sum_i max(0, P[i, j] - e^epsilon·P[i, k]).
        Under metric privacy and on graphs all answers with a path between them are compared, at epsilon times its
        length. Neighbours are the query's: for several persons at once audit `ib.with_neighbours(query, …)`.
        Entries count as they are, and the least sum of a column as probability 1. O(pairs · outputs).

        >>> from inbounds.query import count
        >>> leaky = audit([["0.7", "0.2"], ["0.2", "0.7"], ["0.1", "0"], ["0", "0.1"]], count(1))
        >>> leaky.delta(0), leaky.delta(2), leaky.epsilon_at("0.1"), leaky.epsilon_at("0.05")
        (0.6000000000000001, 0.1, 1.252762968495368, inf)
        """
        e = to_fraction(epsilon, "epsilon")
        if not e >= 0:
            raise ValueError(f"epsilon must not be negative, got {epsilon}")
        return round_up_to_printed(self.profile.delta(e))

    def epsilon_at(self, delta: Number) -> float:
        """Return the least epsilon for which the matrix is (epsilon, delta)-private, rounded up; `inf` if none is.

        >>> from inbounds.query import count
        >>> audit([["0.9", "0"], ["0.1", "1"]], count(1)).epsilon_at("0.9")
        0.0
        """
        d = to_fraction(delta, "delta")
        if not 0 <= d <= 1:
            raise ValueError(f"delta must be between 0 and 1, got {delta}")
        epsilon = self.profile.epsilon_at(d)
        return math.inf if epsilon is None else round_up_to_printed(epsilon)

    @property
    def least_delta(self) -> float:
        """The delta that no epsilon avoids: the largest probability of outputs that a neighbour cannot give."""
        return round_up_to_printed(self.profile.infinite)

    def plot(self) -> "Figure":
        """Draw delta against epsilon as a figure (extra `figures`)."""
        from inbounds.report.figures import privacy_profile

        return privacy_profile(self)

    def __str__(self) -> str:
        likelier, rarer = self.answers
        return (
            f"epsilon {self.epsilon:.9g}: output {self.output} is {self.ratio:.6g} times likelier under "
            f"answer {likelier} than under answer {rarer} (indices)"
        )


def audit(matrix: ArrayLike, query: RangeQuery) -> Audit:
    """Return the least epsilon for which P[output, answer] is private under the query's neighbourhood.

    Ints, Fractions, Decimals and texts ("1/3", "1e-400") are exact; floats count as the binary numbers they are.
    epsilon is rounded up, by at most one unit in its last place. A zero whose neighbour is positive is an infinite
    loss; a row of zeros is no loss. Any number of outputs will do. O(outputs · answers · reach), on a graph
    O(outputs · edges).

    >>> from inbounds.query import count
    >>> audit([[0.75, 0.25], [0.25, 0.75]], count(1)).ratio
    3.0
    """
    check_query(query)
    values = _exact_entries(matrix).copy()
    answers = len(query.answers)
    if values.ndim != 2 or values.shape[1] != answers or not len(values):
        raise ValueError(
            f"matrix must have the shape (outputs, {answers}), a column for each answer, got {values.shape}"
        )
    if (values < 0).any():
        raise ValueError("matrix entries must be finite and not negative")
    if (values.max(axis=0) == 0).any():
        raise ValueError("every column must have some mass")
    sums = _stable_sums(values, 0)
    if not _are_alike(sums):
        raise ValueError(f"columns must all have the same sum, {COLUMNS}{transpose_hint(values)}")
    return find_worst_ratio(values, query)


def _exact_entries(matrix: ArrayLike) -> NDArray[Any]:
    """Return the entries without rounding: integers and binary floats as arrays, anything else as exact objects."""
    values = np.asarray(matrix)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        values = values.astype(np.float64)  # exact: binary floats of 16 and 32 bits are among those of 64
        if not np.isfinite(values).all():
            raise ValueError("matrix entries must be finite and not negative")
    if values.dtype.kind in "iu" or values.dtype == np.float64:
        return values
    values = np.asarray(matrix, dtype=object)  # directly from the input: numpy could round it or cut texts short
    return np.array([to_exact_entry(value) for value in values.ravel()], dtype=object).reshape(values.shape)


def to_exact_entry(value: Any) -> Exact:
    """Return an entry as an exact number. A float is its binary value here, not the decimal that it prints as."""
    if isinstance(value, np.generic):
        value = value.item() if not isinstance(value, np.longdouble) else Fraction(*value.as_integer_ratio())
    if type(value) is int or type(value) is Fraction:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("matrix entries must be finite and not negative")
        return Fraction(float(value))
    return to_fraction(value, "matrix entry")


def _stable_sums(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return sums along an axis: of floats relative to the largest entry, against overflow; of others exactly."""
    if values.dtype != np.float64:
        return np.asarray(values.sum(axis=axis, dtype=object))
    return np.asarray((values / values.max(initial=0.0)).sum(axis=axis)) if values.any() else values.sum(axis=axis)


def transpose_hint(values: NDArray[Any]) -> str:
    """Return a hint for a message if the rows, not the columns, have equal sums; else an empty text."""
    columns, rows = (_are_alike(_stable_sums(values, axis)) for axis in (0, 1))
    return "; the rows do: pass the transpose of the matrix" if rows and not columns else ""


def _are_alike(sums: NDArray[Any]) -> bool:
    slack = COLUMN_SLACK if sums.dtype == np.float64 else Fraction(COLUMN_SLACK)
    return bool(sums.max() - sums.min() <= slack * sums.max())


def find_worst_ratio(values: NDArray[Any], query: RangeQuery) -> Audit:
    """Return the largest log-ratio per unit of distance over all outputs and neighbouring answers, rounded up.

    Floats only select the pairs that may be the worst; these are compared exactly.
    """
    if not query.neighbours.is_line:
        return _worst_ratio_on_graph(values, query)
    worst: dict[Fraction, _Pair] = {}
    for start, stop, distance in query.cliques():
        block = values[:, start:stop]
        highs, lows = block.max(axis=1), block.min(axis=1)
        i = int(((lows == 0) & (highs > 0)).argmax())
        if lows[i] == 0 and highs[i] > 0:
            pair = (start + int(block[i].argmax()), start + int(block[i].argmin()))
            return Audit(math.inf, i, pair, math.inf, round_up_to_float(distance), values, query)
        best = worst.get(distance)
        for i, high, low in _candidates(highs, lows, best):
            if best is None or high * best.low > best.high * low:
                best = _Pair(high, low, i, (start + int(block[i].argmax()), start + int(block[i].argmin())))
        if best is not None:
            worst[distance] = best
    return _largest_audit(worst.items(), values, query)


def _worst_ratio_on_graph(values: NDArray[Any], query: RangeQuery) -> Audit:
    """Return the result of `find_worst_ratio` on a graph: the tail's probability over the head's, along every edge."""
    worst: list[tuple[Fraction, _Pair]] = []
    step = max(1, PAIRS_AT_A_TIME // len(values))
    for length, edge_pairs in edges_by_length(query.edges):
        best: _Pair | None = None
        for start in range(0, len(edge_pairs), step):
            pairs = edge_pairs[start : start + step]
            tails, heads = np.array(pairs, dtype=np.int64).T
            highs, lows = values[:, tails].ravel(), values[:, heads].ravel()
            k = int(((lows == 0) & (highs > 0)).argmax())
            if lows[k] == 0 and highs[k] > 0:
                output, pair = k // len(pairs), pairs[k % len(pairs)]
                return Audit(math.inf, output, pair, math.inf, round_up_to_float(length), values, query)
            for k, high, low in _candidates(highs, lows, best):
                if best is None or high * best.low > best.high * low:
                    best = _Pair(high, low, k // len(pairs), pairs[k % len(pairs)])
        if best is not None:
            worst.append((length, best))
    return _largest_audit(worst, values, query)


def _largest_audit(worst: "Iterable[tuple[Fraction, _Pair]]", values: NDArray[Any], query: RangeQuery) -> Audit:
    pairs = [(_loss_of_pair(pair, distance), distance, pair) for distance, pair in worst if pair.high > pair.low]
    if not pairs:
        return Audit(0.0, 0, (0, 0), 1.0, 1.0, values, query)
    epsilon, distance, pair = max(pairs, key=lambda found: found[0])
    ratio = _ratio_above(pair.high, pair.low)
    return Audit(epsilon, pair.output, pair.answers, ratio, round_up_to_float(distance), values, query)


class _Pair(NamedTuple):
    """The probabilities of an output under the two answers between which it differs most."""

    high: Exact
    low: Exact
    output: int
    answers: tuple[int, int]


def _candidates(highs: NDArray[Any], lows: NDArray[Any], best: _Pair | None) -> Iterator[tuple[int, Exact, Exact]]:
    """Yield (output, high, low), as exact numbers, for pairs whose ratio may exceed the best so far."""
    live = np.flatnonzero(highs > 0)
    if highs.dtype != object and live.size:
        with np.errstate(over="ignore"):
            ratios = highs[live].astype(np.float64) / lows[live].astype(np.float64)
        least = ratios.max() if best is None else max(ratios.max(), _ratio_above(best.high, best.low))
        live = live[ratios >= min(least, FLOAT_MAX) * (1 - FLOAT_DOUBT)]
    for i, high, low in zip(live.tolist(), highs[live].tolist(), lows[live].tolist(), strict=True):
        yield i, to_exact_entry(high), to_exact_entry(low)


def _loss_of_pair(pair: _Pair, distance: Fraction) -> float:
    return log_upper_bound(Fraction(pair.high) / Fraction(pair.low), distance)


def _ratio_above(high: Exact, low: Exact) -> float:
    return round_up_to_float(Fraction(high) / Fraction(low))


def log_upper_bound(ratio: Fraction, distance: Fraction = Fraction(1)) -> float:
    """Return a float at or above ln(ratio) / distance, for ratio >= 1, at most one unit in the last place too large.

    For tiny x, ln(1 + x) <= x is used, with an error below x²/2. Otherwise the logarithm is correct to about
    40 digits and raised in the 35th.
    """
    over = ratio - 1
    if over < TINY:
        return round_up_to_printed(over / distance)
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, MAX_EMAX, MIN_EMIN
        log = Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    return round_up_to_printed(log * (1 + Fraction(1, 10**35)) / distance)

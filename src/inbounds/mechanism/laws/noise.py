"""A law as noise that is added to the answer, clamped to the range and mapped to an output: for ranges of any size."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.losses import ErrorLoss, Loss
from inbounds.mechanism.audit import log_upper_bound
from inbounds.mechanism.json_values import count_words, format_integers, parse_array, parse_integer
from inbounds.mechanism.laws import clamped
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, AnswerLaw, seal_weights
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.ratios import ratio_in_noise
from inbounds.properties import MatrixLayout, square_layout
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import check_noise, neighbour_weights
from inbounds.trusted.limits import MOST_RECOMPUTED, MOST_STEPS
from inbounds.trusted.samplers import NoiseSampler
from inbounds.trusted.scale import check_list_size


@dataclass(frozen=True, eq=False)
class Noise(AnswerLaw):
    """A law that outputs clamp(answer + noise) on the steps 0..size, mapped to an output by `remap`.

    Noise weights over 2**62: core[d + K] for |d| <= K, `floor` for K < |d| < size, `end` for |d| = size.
    The floor keeps every output possible under every answer; the ends make tail sums decay slowly enough.
    """

    core: Ints
    floor: int
    end: int
    size: int
    remap: Ints | None = None
    _sealed: tuple[FrozenArray, FrozenArray | None] = field(init=False, repr=False)

    kind = "noise"
    fields = dict.fromkeys(("core", "floor", "end", "size", "remap"))
    checkers = frozenset({BROWSER, COQ})
    measured_exactly = False
    states_tight_epsilon = False

    def __post_init__(self) -> None:
        remap = None if self.remap is None else seal_weights(self.remap)
        object.__setattr__(self, "_sealed", (seal_weights(self.core), remap))
        object.__setattr__(self, "core", self._sealed[0].array)
        object.__setattr__(self, "remap", None if remap is None else remap.array)
        for name in ("floor", "end", "size"):  # the checker needs plain ints: no overflow, no overloaded arithmetic
            object.__setattr__(self, name, int(operator.index(getattr(self, name))))

    @property
    def half_width(self) -> int:
        """K, the largest noise with a weight in the core."""
        return len(self.core) // 2

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        """Raise unless the noise fits the query and is epsilon-private, in integers.

        The remap is post-processing: only its targets are checked.
        """
        reach, distance = find_noise_reach(query)
        if self.size != len(query.answers) - 1:
            raise InvalidDistribution(f"a noise table for {len(query.answers)} answers must have that size less one")
        beyond = min(reach, self.size - 1 - self.half_width)
        if beyond > max(MOST_STEPS, 4 * len(self.core)):
            raise TooLarge(
                f"a noise table must write out what one person can reach: a core of {len(self.core)} weights is too "
                f"short for a reach of {reach} steps"
            )
        core, remap = self._sealed
        if remap is None and not query.one_output_per_answer:
            raise InvalidDistribution("a noise table without a remap needs one output per answer")
        if remap is not None:
            if remap.shape != (self.size + 1,):
                raise InvalidDistribution("remap must name an output for every clamped step")
            if remap.array.min() < 0 or remap.array.max() >= len(query.outputs):
                raise InvalidDistribution("remap must name outputs of the query")
        check_noise(core.array, self.floor, self.end, self.size, reach, distance, epsilon)

    def sampler(self, query: RangeQuery) -> NoiseSampler:
        core, remap = self._sealed
        targets = None if remap is None else remap.array
        return NoiseSampler.from_weights(core.array, self.floor, self.end, self.size, targets)

    def all_weights(self) -> Ints:
        """Return the weights of noise -size..size. Raises `TooLarge` beyond MOST_LISTED."""
        check_list_size(2 * self.size + 1)
        run = np.full(self.size - 1 - self.half_width, self.floor, dtype=np.int64)
        return np.concatenate([[self.end], run, self.core, run, [self.end]]).astype(np.int64, copy=False)

    def matrix(self, query: RangeQuery) -> Ints:
        """Return the law as a weight matrix. Raises `TooLarge` beyond MATRIX_LIMIT entries.

        With a remap, each run of steps with one target is a difference of two cumulative sums: O(runs · answers).
        """
        if self.remap is None:
            refuse_beyond_limit(query)
            return self.clamped_matrix()
        starts, stops, targets = clamped.remap_runs(self.remap)
        refuse_beyond_limit(query, len(targets))
        upto = sliding_window_view(np.cumsum(self.all_weights()), self.size + 1)[:, ::-1]  # upto[s, j] = C(s - j)
        weights = np.zeros(query.shape, dtype=np.int64)
        for start, stop, target in zip(starts.tolist(), stops.tolist(), targets.tolist(), strict=True):
            above = upto[stop] if stop < self.size else TOTAL
            weights[target] += above - upto[start - 1] if start else above
        return weights

    def clamped_matrix(self) -> Ints:
        """Return the weight matrix before any remap: steps × steps."""
        table, steps = self.all_weights(), self.size + 1
        clamped = np.empty((steps, steps), dtype=np.int64)
        for j in range(steps):
            clamped[:, j] = table[self.size - j : 2 * self.size - j + 1]
        clamped[0] = np.cumsum(table)[:steps][::-1]  # output 0: sum of noise -size..-j, for j = 0..size
        clamped[-1] = np.cumsum(table[::-1])[:steps]  # output size: noise size..size-j
        return clamped

    def shorten(self) -> "Noise":
        """Return the same noise over fewer steps; the ends get the floor of the steps left out.

        For measuring properties: every comparison of neighbouring outputs or answers in the long table occurs in the
        short one too, because where noise is constant, or a tail sum falls steadily, the first step is the worst.
        """
        size = min(self.size, 2 * self.half_width + 4)
        return Noise(self.core, self.floor, self.end + (self.size - size) * self.floor, size)

    def property_weights(self, query: RangeQuery) -> tuple[Ints, MatrixLayout]:
        if self.remap is not None:
            return super().property_weights(query)
        refuse_beyond_limit(query)
        short = self.shorten()
        return short.clamped_matrix(), square_layout(short.size + 1)

    def closed_average(self, name: str) -> Fraction | None:
        is_long = self.remap is None and self.size > MOST_RECOMPUTED
        return clamped.clamped_average(self, name) if is_long else None

    # --- measures, for every true answer; linear in the size ----------------------------------------------

    @property
    def noise_table(self) -> "Noise":
        return self

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        """Return Pr[output | answer] for every answer, without writing out the matrix."""
        return clamped.clamped_likelihood(self, output)

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        """Return the expected loss for every answer. Raises `TooLarge` for other losses than those of the error."""
        if not isinstance(loss, ErrorLoss):
            raise TooLarge("a loss table or function needs a matrix of this size; use a loss of the error")
        if loss.name == "zero-one":
            return 1.0 - self.truth_probability(query)
        return clamped.expected_error_terms(
            self, query, lambda error: np.asarray(loss.of(np.abs(error)), dtype=np.float64)
        )

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the cell that holds the answer] for every answer."""
        return clamped.clamped_truth(self, query)

    def ends(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the first or the last output] for every answer."""
        return clamped.clamped_ends(self, query)

    def bias(self, query: RangeQuery) -> Floats:
        """Return E[output - true] for every answer."""
        return clamped.expected_error_terms(self, query, lambda error: error)

    def variance(self, query: RangeQuery) -> Floats:
        """Return E[error²] - bias² for every answer, correct to 10^-15 of the squared range."""
        return np.maximum(clamped.expected_error_terms(self, query, np.square) - self.bias(query) ** 2, 0.0)

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return the largest ratio of any output's probabilities under answers at most `steps` grid steps apart."""
        return ratio_in_noise(self.all_weights(), min(steps, self.size)) if steps else 1.0

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        """Return for every answer and the next one the largest ratio: the same everywhere on the grid."""
        return [self.ratio_within(query, 1)] * self.size

    def proof_steps(self, query: RangeQuery) -> list[str]:
        return [
            f"{len(self.core)} noise probabilities are whole multiples of 2^-62, all positive, and with the "
            "constant tails they sum to exactly 1",
            "any two noise values within the reach, and any two tail sums, differ at most by the factor p/2^128",
            RATIO_BOUND,
            "clamping and renaming outputs look only at the noisy value, so they reveal nothing more",
        ]

    def tight_epsilon(self, query: RangeQuery) -> float:
        """Return the tight privacy loss, rounded up, from the pairs of weights that the checker compares.

        With a remap it is that of the remapped matrix; if this is too large, that of the noise before the remap, which
        is an upper bound (post-processing).
        """
        if self.remap is not None:
            try:
                return super().tight_epsilon(query)
            except TooLarge:
                pass
        reach, distance = find_noise_reach(query)
        worst, least = 1, 1
        for _, pairs in neighbour_weights(self.core, self.floor, self.end, self.size, reach):
            for high, low in pairs:
                if high * least > worst * low:
                    worst, least = high, low
        return log_upper_bound(Fraction(worst, least), distance)

    # --- files --------------------------------------------------------------------------------------------

    def to_json(self) -> Any:
        sizes = {"floor": str(self.floor), "end": str(self.end), "size": str(self.size)}
        remap = None if self.remap is None else format_integers(self.remap.tolist())
        return {"core": format_integers(self.core.tolist()), **sizes, "remap": remap}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        floor, end, size = (parse_integer(part[key]) for key in ("floor", "end", "size"))
        remap = None if part["remap"] is None else parse_array(part["remap"])
        return cls(parse_array(part["core"]), floor, end, size, remap)

    @classmethod
    def count_cells(cls, part: Any) -> int:
        return count_words(part["remap"])

    def __reduce__(self) -> tuple[type["Noise"], tuple[Any, ...]]:
        return Noise, (self.core, self.floor, self.end, self.size, self.remap)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Noise)
            and (self.floor, self.end, self.size) == (other.floor, other.end, other.size)
            and np.array_equal(self.core, other.core)
            and (self.remap is None) == (other.remap is None)
            and (self.remap is None or other.remap is None or np.array_equal(self.remap, other.remap))
        )

    def __hash__(self) -> int:
        return hash((self.core.tobytes(), self.floor, self.end, self.size))


def find_noise_reach(query: RangeQuery) -> tuple[int, Fraction]:
    """Return (reach in grid steps, distance that epsilon is multiplied by) of the query.

    Raises `ValueError` if noise on a grid cannot serve the query.
    """
    neighbours = query.neighbours
    if not (query.is_ordered and query.answers.is_regular and neighbours.is_line) or neighbours.is_complete:
        raise ValueError("a noise table needs numeric answers without gaps and neighbours within a reach")
    first = next(query.cliques())
    return first.stop - first.start - 1, first.distance


def make_geometric_noise(query: RangeQuery, epsilon: Fraction, remap: Ints | None = None) -> Noise:
    """Make two-sided geometric noise as integers: t[d] near t[0]·beta**|d|, never below t[d - reach] / ratio."""
    reach, distance = find_noise_reach(query)
    beta = math.exp(-float(epsilon * distance) / reach)
    return _make_noise(query, epsilon, lambda d: beta**d, 1, remap)


def make_staircase_noise(query: RangeQuery, epsilon: Fraction, split: int, remap: Ints | None = None) -> Noise:
    """Make staircase noise as integers: t[d] = t[0] for |d| < split, then exp(-epsilon) times less with each reach.

    split: 1..reach. (Geng and Viswanath 2014, the discrete case. With reach 1 it is geometric noise.)
    """
    reach, distance = find_noise_reach(query)
    if not 1 <= split <= reach:
        raise ValueError(f"split must be in 1..{reach}, the steps that one person moves the answer, got {split}")
    rate = float(epsilon * distance)
    return _make_noise(query, epsilon, lambda d: math.exp(-rate * ((d - split) // reach + 1)), split, remap)


def _make_noise(
    query: RangeQuery, epsilon: Fraction, share: Callable[[int], float], plateau: int, remap: Ints | None
) -> Noise:
    """Make symmetric noise as integers, private within the reach: t[d] = t[0] for |d| < plateau, else share(|d|)·t[0].

    Weights are computed outwards from t[0], each at least what its inner neighbours require, until integers cannot
    fall further. What is left of 2**62 goes to the ends. O(reach / epsilon), independent of the size.
    """
    reach, distance = find_noise_reach(query)
    size = len(query.answers) - 1
    p = ratio_lower_bound(epsilon, distance)
    if p == 1 << EXP_BITS:
        raise ValueError("epsilon is too small for answers this close: whole numbers cannot tell them apart")
    start = TOTAL
    while True:
        side, floor = _decay(start, share, plateau, reach, size, p)
        run = size - 1 - len(side)
        outermost = sum(([start, *side] + [floor] * min(run, reach))[-reach:])
        least_end = -((-outermost << EXP_BITS) // (p - (1 << EXP_BITS)))  # e + outermost <= ratio · e
        end = (TOTAL - start - 2 * sum(side)) // 2 - run * floor
        if end >= least_end:
            return Noise(np.array([*side[::-1], start, *side]), floor, end, size, remap)
        # an even start keeps both ends equal; each weight of the side may be rounded up by one unit
        spent = start + 2 * sum(side) + 2 * least_end
        start = start * (TOTAL - 2 * run * floor - 4 * len(side) - 4) // spent & ~1


def _decay(
    start: int, share: Callable[[int], float], plateau: int, reach: int, size: int, p: int
) -> tuple[list[int], int]:
    """Return the weights of noise 1, 2, … as max(floor(start·share), least allowed), and the floor they end at."""
    side: list[int] = [start] * (min(plateau, size) - 1)
    for d in range(plateau, size):
        inner = start if d <= reach else side[d - reach - 1]
        side.append(max(int(start * share(d)), -((-inner << EXP_BITS) // p)))
        if side[-1] == inner:
            break
    return side, side[-1] if side else start

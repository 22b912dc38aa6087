"""A count that is published only above a threshold: for groups that are not known before the data is read."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from inbounds.errors import InvalidDistribution
from inbounds.exact import Floats, FrozenArray, Ints, round_up_to_float
from inbounds.mechanism.json_values import format_integers, parse_array, parse_fraction
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, AnswerLaw, seal_weights
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.profile import Profile
from inbounds.query import RangeQuery, count
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.samplers import ThresholdSampler
from inbounds.trusted.threshold import check_threshold

NOTHING = 0
"""The output that stands for no output."""


@dataclass(frozen=True, eq=False)
class Threshold(AnswerLaw):
    """A count plus noise, published if it exceeds the bound of the noise; else the output is 0: nothing is published.

    wide, narrow: weights of the noise -k..k, and of -(k - 1)..k - 1 or nothing, over 2**62 together.

    Formal guarantee: (epsilon, delta)-private for counts one apart, and a count of 0 is never published. For two counts
    n apart, which one person never causes, see `ApproximateMatrix`. Outputs are at most the largest answer.
    """

    wide: Ints
    narrow: Ints
    delta: Fraction
    _sealed: tuple[FrozenArray, FrozenArray] = field(init=False, repr=False)

    kind = "threshold"
    fields = dict.fromkeys(("delta", "wide", "narrow"))
    checkers = frozenset({BROWSER, COQ})
    has_claims = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sealed", (seal_weights(self.wide), seal_weights(self.narrow)))
        for name, sealed in zip(("wide", "narrow"), self._sealed, strict=True):
            object.__setattr__(self, name, sealed.array)
        object.__setattr__(self, "delta", Fraction(self.delta))

    @property
    def bound(self) -> int:
        """The largest noise, k: counts above 2k are always published."""
        return len(self.wide) // 2

    @cached_property
    def noise(self) -> Ints:
        """The weights of the noise -k..k, both tables together."""
        added = np.zeros(len(self.wide), dtype=np.int64)
        if len(self.narrow):
            added[1:-1] = self.narrow
        return added + self.wide

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        if query != count(len(query.answers) - 1):
            raise InvalidDistribution("a threshold needs the number of persons of a group, of which one moves it by 1")
        wide, narrow = self._sealed
        check_threshold(wide.array, narrow.array, epsilon, self.delta)

    def sampler(self, query: RangeQuery) -> ThresholdSampler:
        wide, narrow = self._sealed
        return ThresholdSampler.from_weights(wide.array, narrow.array, len(query.answers) - 1)

    def matrix(self, query: RangeQuery) -> Ints:
        refuse_beyond_limit(query)
        return np.array([self._weights(query, output) for output in range(len(query.answers))])

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        return np.asarray(self._weights(query, output) / TOTAL)

    def _weights(self, query: RangeQuery, output: int) -> Ints:
        """Return the weight of an output under every answer: of noise between two bounds."""
        size, answers = len(query.answers) - 1, np.arange(len(query.answers))
        weights = np.zeros(len(answers), dtype=np.int64)
        for table in (self.wide, self.narrow) if len(self.narrow) else (self.wide,):
            bound, upto = len(table) // 2, np.cumsum(np.concatenate([[0], table]))
            first, last = (output, size + bound if output == size else output) if output else (-bound, bound)
            first = max(first, bound + 1) if output else first
            below, above = (np.clip(end - answers + bound + 1, 0, len(table)) for end in (first - 1, last))
            weights += np.maximum(upto[above] - upto[below], 0)
        return weights

    def chance(self, persons: int) -> Fraction:
        """Return the probability that a group of so many persons is published."""
        tables = [(self.wide, self.bound)] + ([(self.narrow, self.bound - 1)] if len(self.narrow) else [])
        reported = sum(sum(table[max(2 * bound + 1 - persons, 0) :].tolist()) for table, bound in tables)
        return Fraction(reported, TOTAL)

    def mean_error(self, power: int = 1) -> float:
        """Return the mean of the absolute noise, or of a power of it.

        It is expected of a published number, if all numbers of persons are equally likely: an output above k can
        come from every noise, and an output of k from every noise that is bounded by k - 1.
        """
        sizes = np.abs(np.arange(-self.bound, self.bound + 1)).astype(np.float64) ** power
        return float(sizes @ (self.noise / TOTAL))

    def tight_epsilon(self, query: RangeQuery) -> float:
        """Return the least epsilon at the delta of the law, rounded up; of the law without a largest answer."""
        short = count(2 * self.bound + 2)
        reached = count(3 * self.bound + 2)
        columns = self.matrix(reached)[:, : len(short.answers)]
        weights = np.zeros((len(reached.answers), len(short.answers)), dtype=object)
        weights[:] = columns
        least = Profile.from_entries(weights, short).epsilon_at(self.delta)
        assert least is not None  # the check found an epsilon
        return round_up_to_float(least)

    def to_json(self) -> Any:
        tables = {name: format_integers(getattr(self, name).tolist()) for name in ("wide", "narrow")}
        return {"delta": str(self.delta), **tables}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        narrow = np.empty(0, dtype=np.int64) if part["narrow"] == "" else parse_array(part["narrow"])
        return cls(parse_array(part["wide"]), narrow, parse_fraction(part["delta"]))

    def proof_steps(self, query: RangeQuery) -> list[str]:
        return [
            f"{len(self.wide) + len(self.narrow)} weights of noise are whole, none negative, and sum to 2^62",
            f"noise is at most {self.bound}, and a number is published only above the bound of its noise, so that a "
            "group of nobody is never published",
            "for any two counts one apart, in both orders, what the probabilities of outputs under the one exceed "
            f"p/2^128 times those under the other adds up to at most delta, {self.delta}",
            RATIO_BOUND,
        ]

    def __reduce__(self) -> tuple[type["Threshold"], tuple[Any, ...]]:
        return Threshold, (self.wide, self.narrow, self.delta)  # copies and pickles freeze their weights again

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Threshold) or self.delta != other.delta:
            return False
        return np.array_equal(self.wide, other.wide) and np.array_equal(self.narrow, other.narrow)

    def __hash__(self) -> int:
        return hash((self.delta, self.wide.tobytes(), self.narrow.tobytes()))

"""Several quantiles read off noisy counts of all values: for few values."""

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism.json_values import format_integers, parse_integers
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, DrawFunction
from inbounds.mechanism.laws.joint import JointLaw
from inbounds.query import JointQuantileQuery
from inbounds.trusted.noisy_counts import CountsSampler, check_counts
from inbounds.trusted.samplers import Draws, seeded_entropy

SIMULATED = (8, 1 << 14)
"""The fewest and the most draws of a group from which probabilities are estimated."""

NUMBERS = 1 << 22
"""Noisy counts that are drawn for all groups together, within these limits."""


@dataclass(frozen=True)
class NoisyCounts(JointLaw):
    """Counts of all values with noise, Pr[noise z] = table[z mod its length] / 2**62, and their quantiles.

    See `trusted.noisy_counts`.
    """

    table: tuple[int, ...]

    kind = "counts"
    fields = dict.fromkeys(("table",))
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        object.__setattr__(self, "table", tuple(map(operator.index, self.table)))

    def check(self, query: JointQuantileQuery, epsilon: Fraction) -> None:
        check_counts(self.table, count_moves(query), epsilon)

    def make_sampler(self, query: JointQuantileQuery) -> DrawFunction:
        sampler = CountsSampler.from_table(self.table, query.size, query.public_size, query.at, query.missing)

        def draw(histograms: Ints, draws: Draws) -> Ints:
            counts = np.atleast_2d(histograms)
            outputs = sampler.draw(query.pad(counts) if query.public_size else counts, draws)
            return outputs.reshape(*histograms.shape[:-1], len(query.at))

        return draw

    def probabilities(self, query: JointQuantileQuery, histograms: Ints) -> Floats:
        """Estimate the probability of every value of every quantile from simulated draws, the same ones every time."""
        groups, values, draw = len(histograms), query.width + 1, self.make_sampler(query)
        entropy, result = seeded_entropy(np.random.default_rng(values)), np.zeros((groups, len(query.at), values))
        times = int(np.clip(NUMBERS // max(1, groups * values), *SIMULATED))
        together = max(1, NUMBERS // (4 * times * values))
        for start in range(0, groups, together):
            part = histograms[start : start + together]
            reports = draw(np.repeat(part, times, axis=0), entropy).reshape(len(part), times, -1)
            for value in range(values):
                result[start : start + together, :, value] = (reports == value).mean(axis=1)
        return result

    def proof_steps(self, query: JointQuantileQuery) -> list[str]:
        moves = count_moves(query)
        return [
            f"the number of records with each value has noise of {len(self.table)} weights, which sum to 2^62",
            f"one person moves counts by at most {moves} steps of 1 in all",
            "weights beside each other, around the circle, have a ratio of at most p/2^128",
            RATIO_BOUND.replace("epsilon", f"(epsilon / {moves})") if moves > 1 else RATIO_BOUND,
        ]

    def to_json(self) -> Any:
        return {"table": format_integers(self.table)}

    @classmethod
    def from_json(cls, part: Any, query: JointQuantileQuery) -> Self:
        return cls(tuple(parse_integers(part["table"])))


def count_moves(query: JointQuantileQuery) -> int:
    """Return how many steps one person can move counts: two for each record that changes, one for each that comes."""
    return (2 if query.public_size else 1) * query.records

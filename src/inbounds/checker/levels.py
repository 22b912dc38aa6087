"""Check the levels of a record: one question answered at several epsilons, with one chain of draws for each group.

The first level is drawn from the data, at the epsilon of the plan. Each further level is drawn from the draw before it
alone, so all levels together cost as much as the first.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from inbounds.checker.account import StatedCost
from inbounds.checker.fields import Fields, insist, read_number
from inbounds.checker.plan import QUANTILES, StatedPlan

LEVEL_OF_EPSILON = "level of epsilon"
"""The column with the level of a row."""


@dataclass(frozen=True)
class StatedLevels:
    """The epsilons of the levels, falling, and the digests of their chains, by size."""

    epsilons: tuple[Fraction, ...]
    chains: dict[int, str]


def check_levels(values: list[Any], costs: list[StatedCost], plan: StatedPlan) -> StatedLevels:
    """Return the levels of a record; it must have a line for each level and size, with the chain that drew it."""
    wrong, size_counts = "the levels are not those of the plan and its groups", sorted(Counter(plan.sizes).items())
    insist(len(costs) == 1 and not plan.adds_up(costs[0].statistic), wrong)
    statistic, drawn_at = costs[0].statistic, costs[0].layers
    chained = statistic.kind not in QUANTILES and not plan.parts(statistic)
    insist(chained and len(values) % len(size_counts) == 0 and bool(values), wrong)
    epsilons: list[Fraction] = []
    chains: dict[int, str] = {}
    for start in range(0, len(values), len(size_counts)):
        for line, (size, groups) in zip(values[start : start + len(size_counts)], size_counts, strict=True):
            fields = Fields(line, "a level")
            level, epsilon = fields.exact("level"), fields.exact("epsilon")
            if size == size_counts[0][0]:
                epsilons.append(level)
            insist((fields.whole("size"), fields.whole("groups"), level) == (size, groups, epsilons[-1]), wrong)
            insist(epsilon == level * drawn_at[""] / plan.epsilon, wrong)
            fields.take("expected_error", read_number, "a number")
            digest = fields.digest("sha256")
            insist(chains.setdefault(size, digest) == digest, wrong)
            fields.end()
    falling = all(a > b > 0 for a, b in pairwise(epsilons))
    insist(falling and epsilons[0] == plan.epsilon, wrong)
    return StatedLevels(tuple(epsilons), chains)

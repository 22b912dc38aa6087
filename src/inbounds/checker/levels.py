"""Records of one question that was answered for readers who are trusted differently: one chain of draws for each group.

The first level is drawn from the data, at what the plan spends; every other one from the draw before it alone. So all
levels together cost what the first does.
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
"""The column that says which level a row is of."""


@dataclass(frozen=True)
class StatedLevels:
    """The epsilons of the levels, falling, and the digests of their chains, by size."""

    epsilons: tuple[Fraction, ...]
    chains: dict[int, str]


def check_levels(values: list[Any], costs: list[StatedCost], plan: StatedPlan) -> StatedLevels:
    """The levels of a record: for each of them, and each size, a line with the chain that drew it."""
    wrong, counted = "the levels are not those of the plan and its groups", sorted(Counter(plan.sizes).items())
    insist(len(costs) == 1 and not plan.adds_up(costs[0].statistic), wrong)
    statistic, drawn_at = costs[0].statistic, costs[0].layers
    chained = statistic.kind not in QUANTILES and not (statistic.kind == "mean" and not plan.public)
    insist(chained and len(values) % len(counted) == 0 and bool(values), wrong)
    epsilons: list[Fraction] = []
    chains: dict[int, str] = {}
    for start in range(0, len(values), len(counted)):
        for line, (size, groups) in zip(values[start : start + len(counted)], counted, strict=True):
            fields = Fields(line, "a level")
            level, epsilon = fields.exact("level"), fields.exact("epsilon")
            if size == counted[0][0]:
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

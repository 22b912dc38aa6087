"""How epsilon is shared among the levels of a hierarchy, from the plan alone.

With the share s of a level its own reports have the variance own = 2α/(1 - α)², α = exp(-s·epsilon). Together with the
sum of its k children a node is known with

    V[l] = 1/(1/own[l] + 1/(k·V[l-1])),     V[0] = 1/(1/own[0] + 1/uniform),

where a leaf is uniform on its range before anything is reported. Minimised: Σ weight[l]·√V[l].
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from inbounds.adjust.likelihoods import geometric_variance

STEPS = 200
"""Shares are multiples of 1/STEPS."""

FLOOR = Fraction(1, 20)
"""Least share of a level, of up to 1/FLOOR levels: what is declared is said with some care."""


def optimize_shares(
    epsilons: Sequence[float],
    weights: Sequence[Fraction],
    children: Sequence[float],
    size: float,
    below: Sequence[int] | None = None,
) -> tuple[Fraction, ...]:
    """Shares of the levels, leaves first, that sum to one.

    epsilons: epsilon per unit that a level would have if it had the whole. weights: of the levels' mean absolute
    errors. children: of a node of each level above the leaves, on average. size: of a leaf's range, on average. below:
    the level whose nodes are the children of each level above the leaves, by default the one before.
    """
    levels = len(weights)
    least = min(int(STEPS * FLOOR), STEPS // levels)
    starts = [[least] * levels for _ in range(levels)]
    for level, start in enumerate(starts):
        start[level] += STEPS - sum(start)

    def error(shares: list[int]) -> float:
        return _error(shares, epsilons, weights, children, size, below or range(levels - 1))

    best = min((_descend(start, least, error) for start in starts), key=error)
    return tuple(Fraction(share, STEPS) for share in best)


def _descend(shares: list[int], least: int, error: Callable[[list[int]], float]) -> list[int]:
    """Moves from one level to another as long as one helps, of half the size where none does."""
    pace = STEPS // 4
    while pace:
        moves = [shares, *(_move_share(shares, a, b, pace) for a, b in permutations(range(len(shares)), 2))]
        best = min((move for move in moves if min(move) >= least), key=error)
        pace, shares = (pace // 2, shares) if best == shares else (pace, best)
    return shares


def _move_share(shares: list[int], giver: int, taker: int, steps: int) -> list[int]:
    moved = list(shares)
    moved[giver] -= steps
    moved[taker] += steps
    return moved


def _error(
    shares: list[int],
    epsilons: Sequence[float],
    weights: Sequence[Fraction],
    children: Sequence[float],
    size: float,
    below: Sequence[int],
) -> float:
    variances: list[float] = []
    for level, share in enumerate(shares):
        before = children[level - 1] * variances[below[level - 1]] if level else ((size + 1) ** 2 - 1) / 12
        variances.append(1 / (1 / geometric_variance(epsilons[level] * share / STEPS) + 1 / before))
    return sum(float(weight) * float(np.sqrt(variance)) for weight, variance in zip(weights, variances, strict=True))

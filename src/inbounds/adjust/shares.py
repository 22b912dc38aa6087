"""Division of epsilon among the levels of a hierarchy, from the plan alone.

With share s, the reports of a level have the variance U = 2α/(1 - α)², α = exp(-s·epsilon). Combined with the sum of
its k children, a node is known with variance

    V[l] = 1/(1/U[l] + 1/(k·V[l-1])),     V[0] = 1/(1/U[0] + 1/uniform),

where a leaf has a uniform prior on its range. The shares minimize Σ weight[l]·√V[l].
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from inbounds.adjust.likelihoods import geometric_variance

STEPS = 200
"""Shares are multiples of 1/STEPS."""

FLOOR = Fraction(1, 20)
"""Least share of a level, if there are at most 1/FLOOR levels: every declared level gets some accuracy."""


def optimize_shares(
    epsilons: Sequence[float],
    weights: Sequence[Fraction],
    children: Sequence[float],
    size: float,
    below: Sequence[int] | None = None,
) -> tuple[Fraction, ...]:
    """Find the shares of the levels, leaves first, that minimize the weighted error. They sum to one.

    epsilons: epsilon per unit of each level if it got all of it. weights: of the levels' mean absolute errors.
    children: mean number of children of a node, for each level above the leaves. size: mean range of a leaf. below: for
    each level above the leaves, the level of its children; by default the previous one.
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
    """Move shares between levels while a move helps; halve the step when none does."""
    step = STEPS // 4
    while step:
        moves = [shares, *(_move_share(shares, a, b, step) for a, b in permutations(range(len(shares)), 2))]
        best = min((move for move in moves if min(move) >= least), key=error)
        step, shares = (step // 2, shares) if best == shares else (step, best)
    return shares


def _move_share(shares: list[int], giver: int, taker: int, steps: int) -> list[int]:
    """Return the shares after `giver` passes `steps` to `taker`."""
    result = list(shares)
    result[giver] -= steps
    result[taker] += steps
    return result


def _error(
    shares: list[int],
    epsilons: Sequence[float],
    weights: Sequence[Fraction],
    children: Sequence[float],
    size: float,
    below: Sequence[int],
) -> float:
    """Compute Σ weight[l]·√V[l] for shares in units of 1/STEPS."""
    variances: list[float] = []
    for level, share in enumerate(shares):
        prior_variance = children[level - 1] * variances[below[level - 1]] if level else ((size + 1) ** 2 - 1) / 12
        variances.append(1 / (1 / geometric_variance(epsilons[level] * share / STEPS) + 1 / prior_variance))
    return sum(float(weight) * float(np.sqrt(variance)) for weight, variance in zip(weights, variances, strict=True))

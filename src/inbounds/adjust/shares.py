"""Division of epsilon among the levels of a table that adds up, from the plan alone.

The shares minimize

    Σ_l weight[l] · error[l] / yardstick[l]

where error[l] is the standard deviation of a node of level l given all outputs, and yardstick[l] that of the exact
average of its parent (of the best constant, for the top). The yardstick does not depend on the shares: it is the spread
between siblings under the prior of `spreads`. Measured against the published average of its parent, a level would seem
to gain when its parent gets worse.

With share s, an output of a level has the variance U = 2α/(1 - α)², α = exp(-s·epsilon). A node known from its own
output and those below it has the variance

    E[l] = 1/(1/U[l] + 1/(k[l]·E[l-1])),     E[0] = U[0],

with k children. Siblings differ from the average of their parent by τ. The average and the differences have
independent outputs, so that

    V[top] = 1/(1/τ[top]² + 1/E[top]),     V[l] = V[l+1]/k² + (1 - 1/k)/(1/τ[l]² + 1/E[l]).

This is exact for normal distributions and equally many children everywhere. `simulated` states the errors themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from inbounds.adjust.likelihoods import geometric_variance

STEPS = 200
"""Shares are multiples of 1/STEPS."""

FEWEST = 2.0
"""Children of a parent, at least, in a yardstick: an only child equals its parent, whose average would be exact."""


@dataclass(frozen=True)
class LevelFacts:
    """What the plan says about one level.

    epsilon: per unit, if the level got all of it. weight: of its error. deviation: prior standard deviation of a node
    around the average of its parent, or around a constant at the top. children: mean number of children of a node; 0
    for leaves. size: mean of the largest values of its nodes.
    """

    epsilon: float
    weight: Fraction
    deviation: float
    children: float = 0.0
    size: float = 0.0


Deviations = Callable[[Sequence[LevelFacts], Sequence[float]], list[float]]
"""From levels and the variances of their outputs to the standard deviation of a node of each level."""


def optimize_shares(levels: Sequence[LevelFacts], deviations: Deviations) -> tuple[Fraction, ...]:
    """Find the shares of the levels, leaves first, that minimize the objective. They sum to one.

    No level gets less than half of what a division by weight would give it, so that its noise is at most about twice as
    large as it would be then; a level without weight gets 1/STEPS.
    """
    total = sum((level.weight for level in levels), Fraction(0))
    least = [max(int(STEPS * level.weight / (2 * total)), 1) for level in levels]
    starts = [list(least) for _ in levels]
    for level, start in enumerate(starts):
        start[level] += STEPS - sum(start)
    yardsticks = [level.deviation for level in levels]

    def objective(shares: list[int]) -> float:
        variances = [
            geometric_variance(level.epsilon * share / STEPS) for level, share in zip(levels, shares, strict=True)
        ]
        parts = zip(levels, deviations(levels, variances), yardsticks, strict=True)
        return sum(float(level.weight) * error / max(yardstick, 1e-300) for level, error, yardstick in parts)

    best = min((_descend(start, least, objective) for start in starts), key=objective)
    return tuple(Fraction(share, STEPS) for share in best)


def _descend(shares: list[int], least: Sequence[int], objective: Callable[[list[int]], float]) -> list[int]:
    """Move shares between levels while a move helps; halve the step when none does."""
    step = STEPS // 4
    while step:
        moves = [shares, *(_move_share(shares, a, b, step) for a, b in permutations(range(len(shares)), 2))]
        allowed = [move for move in moves if all(share >= low for share, low in zip(move, least, strict=True))]
        best = min(allowed, key=objective)
        step, shares = (step // 2, shares) if best == shares else (step, best)
    return shares


def _move_share(shares: list[int], giver: int, taker: int, steps: int) -> list[int]:
    """Return the shares after `giver` passes `steps` to `taker`."""
    result = list(shares)
    result[giver] -= steps
    result[taker] += steps
    return result


def tree_deviations(levels: Sequence[LevelFacts], variances: Sequence[float]) -> list[float]:
    """Compute √V of every level of a tree, leaves first."""
    below = subtree_variances(levels, variances)
    top = combine_variances(levels[-1].deviation ** 2, below[-1])
    known = [top]
    for level in range(len(levels) - 2, -1, -1):
        children = max(levels[level + 1].children, 1.0)
        # the deviation is that of children from the average of `children` of them
        apart = levels[level].deviation ** 2 / (1 - 1 / max(children, FEWEST))
        known.insert(0, known[0] / children**2 + (1 - 1 / children) * combine_variances(apart, below[level]))
    return [variance**0.5 for variance in known]


def subtree_variances(levels: Sequence[LevelFacts], variances: Sequence[float]) -> list[float]:
    """Compute E of every level of a tree: of a node given its own output and those below it."""
    below = [variances[0]]
    for level, variance in zip(levels[1:], variances[1:], strict=True):
        below.append(combine_variances(variance, level.children * below[-1]))
    return below


def separate_deviations(levels: Sequence[LevelFacts], variances: Sequence[float]) -> list[float]:
    """Compute the standard deviations of nodes that nothing but their own output tells about."""
    return [variance**0.5 for variance in variances]


def margin_deviations(levels: Sequence[LevelFacts], variances: Sequence[float]) -> list[float]:
    """Compute the standard deviations of the cells of a two-way table, and of its margins, which are sums of cells."""
    cell = combine_variances(levels[0].deviation ** 2, variances[0])
    margins = [
        combine_variances(level.deviation**2, combine_variances(variance, level.children * cell))
        for level, variance in zip(levels[1:], variances[1:], strict=True)
    ]
    cells = [
        margin / level.children**2 + (1 - 1 / level.children) * cell
        for margin, level in zip(margins, levels[1:], strict=True)
    ]
    return [variance**0.5 for variance in (min([cell, *cells]), *margins)]


def combine_variances(one: float, other: float) -> float:
    """Return the variance of a value that two independent normal outputs tell about."""
    return one * other / (one + other) if one + other > 0 else 0.0

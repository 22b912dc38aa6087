"""Staircase rays: a plateau of answers first..last that falls as fast as privacy allows on both sides.

For losses that grow with the error, mostly these rays are used. There are n(n+1)/2 of them. Their costs and reduced
costs are sums of a left tail, the plateau and a right tail, so all follow from prefix sums in O(n^2).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inbounds.design.problem import Floats, Ints
from inbounds.design.solver.pricing import Cone


@dataclass(frozen=True, eq=False)
class Stairs:
    """All staircases of a cone.

    left[l]: log of the ray before a plateau that starts at l. right[r]: after one that ends at r. -inf elsewhere.
    """

    left: Floats
    right: Floats

    def log_rays(self, first: Ints, last: Ints) -> Floats:
        """Return log x of the staircases with these plateaus, shape (answers, rays)."""
        j = np.arange(len(self.left))[:, None]
        tails = np.maximum(self.left[first].T, self.right[last].T)
        return np.where((j >= first) & (j <= last), 0.0, tails)

    @cached_property
    def tails(self) -> tuple[Floats, Floats]:
        """The rays before and after their plateaus."""
        return np.exp(self.left), np.exp(self.right)

    def sums(self, c: Floats) -> Floats:
        """Compute c.x for all plateaus: entry [first, last], only valid for first <= last."""
        before, after = (tail @ c for tail in self.tails)
        total = np.concatenate([[0.0], np.cumsum(c)])
        value: Floats = (before - total[:-1])[:, None] + (after + total[1:])[None, :]
        return value

    def cheapest(self, cost: Floats) -> Floats:
        """Compute the least cost of every staircase over the outputs (rows of `cost`); inf where last < first."""
        best = np.full((len(self.left), len(self.left)), np.inf)
        for c in cost:
            np.minimum(best, self.sums(c), out=best)
        best[np.tril_indices(len(best), -1)] = np.inf
        return best


def stairs(cone: Cone) -> Stairs:
    """Build all staircases of a cone, with regular windows or not."""
    mirror = _tails(cone.size - 1 - cone.ahead[::-1], cone.step[::-1])
    return Stairs(_tails(cone.reach, cone.step), mirror[::-1, ::-1])


def _tails(reach: Ints, step: Floats) -> Floats:
    """Compute log x before a plateau that starts at each answer; -inf elsewhere."""
    n = len(reach)
    tails = np.full((n, n), -np.inf)
    for first in range(1, n):
        # the band below `first` holds all answers that share a window with it; from there on as from its own
        # start
        low = int(reach[first])
        tails[first, low:first] = -step[first - 1]
        tails[first, :low] = tails[low, :low] - step[first - 1]
    return tails

"""One pair with few losses that dominates all pairs of a mechanism's columns.

The curve of a pair (P, Q) is delta(X) = sum max(0, P - X·Q).
Losses that are alike become the largest of them (docs/theory/tilted-convolution.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from inbounds.accounting.dominating_pairs import Curve
from inbounds.directed_rounding import ROUNDOFF
from inbounds.exact import Floats, Ints
from inbounds.query.neighbours import Pair
from inbounds.trusted.bounds import TOTAL

Losses = Mapping[Any, int]
"""A mapping from the ratio of the two probabilities, exact, to the weight under the first."""

ALIKE, FINELY, MERGED_BITS = 2.0**-40, 1000, 256
"""Ratios whose neighbours differ by at most this share are one loss. If there are more, the largest of each run is kept
of about so many runs, none of which has more than two such shares of all losses, or of their range. Weights are rounded
up to multiples of 2**-MERGED_BITS."""

ROUNDS = 8
"""How often crossings of curves are looked for between those that were found."""


def merged_curve(losses: Losses) -> Curve | None:
    """Return the curve of the pair with these losses, over 2**MERGED_BITS; None if one is too rare for that.

    The weight of the second distribution is rounded down, which raises the curve.
    """
    upper = [p for p in losses.values() if p]
    lower = [p * loss.denominator // loss.numerator for loss, p in losses.items() if p]
    return Curve(tuple(upper), tuple(lower)) if all(lower) else None


def merge_losses(weights: Ints, pairs: Sequence[Pair]) -> Losses | None:
    """Return the privacy losses of a pair of distributions that dominates all these pairs of columns.

    Its losses X_0 < X_1 < … are the largest of each run of ratios that are alike, and those where another curve becomes
    the highest. There its curve, sum max(0, P - X·Q), is the maximum of theirs, computed in integers, and between them
    it is linear. The curve of a pair of columns is convex, and total at 0, so it lies below. None if a ratio is
    infinite.
    """
    upper, lower = (weights[:, [pair[side] for pair in pairs]] for side in (0, 1))
    if ((upper > 0) & (lower == 0)).any():
        return None
    curves = _SortedCurves.from_columns(upper, lower)
    rising = np.unique(-curves.falling)
    rising = rising[rising > 0]
    points = rising[np.append(rising[1:] > rising[:-1] * (1 + ALIKE), True)]
    if len(points) > FINELY:
        along = np.log(points / points[0]) / np.log(points[-1] / points[0]) + np.linspace(0, 1, len(points))
        points = points[np.append(np.diff(along * FINELY // 2) > 0, True)]
    points = curves.with_crossings(points * (1 + 8 * ROUNDOFF))
    return dict(zip(map(Fraction, points.tolist()), _masses(curves, points), strict=True))


def _masses(curves: "_SortedCurves", points: Floats) -> list[int]:
    """Return the weights of the losses of the pair whose curve connects the highest ones at the points.

    A loss X weighs X·(slope before it - slope after it), and the least one the rest of TOTAL. Numbers are whole over
    one power of two, and only a weight is rounded, so no fraction is reduced.
    """
    exact = [point.as_integer_ratio() for point in points.tolist()]
    unit = max(denominator for _, denominator in exact)  # all are powers of two
    wholes = [numerator * (unit // denominator) for numerator, denominator in exact]
    tops = curves.highest(points, wholes, unit)
    if len(points) == 1:
        return [1 << MERGED_BITS]
    falls = [(high - low, far - near) for (near, high), (far, low) in pairwise(zip(wholes, tops, strict=True))]
    rest = [(TOTAL * unit - tops[1] + tops[-1]) * falls[0][1] - wholes[1] * falls[0][0], falls[0][1]]
    masses = [rest]
    for whole, (fall, width), (next_fall, next_width) in zip(wholes[1:], falls, [*falls[1:], (0, 1)], strict=True):
        masses.append([whole * (fall * next_width - next_fall * width), width * next_width])
    return [-(-(mass << MERGED_BITS) // (width * unit * TOTAL)) for mass, width in masses]


@dataclass(frozen=True, eq=False)
class _SortedCurves:
    """The curves of pairs of columns: ratios as floats, to three roundings, their negatives rising in each column; and
    the sums of P and of Q over the first outputs, exactly.
    """

    falling: Floats
    upper: Ints
    lower: Ints

    @classmethod
    def from_columns(cls, upper: Ints, lower: Ints) -> "_SortedCurves":
        ratios = np.divide(upper, lower, out=np.zeros(upper.shape), where=upper > 0)
        order = np.argsort(-ratios, axis=0, kind="stable")
        sums = [np.zeros((len(upper) + 1, upper.shape[1]), np.int64) for _ in range(2)]
        for rows, part in zip(sums, (upper, lower), strict=True):
            np.cumsum(np.take_along_axis(part, order, axis=0), axis=0, out=rows[1:])  # at most 2^62
        return cls(np.take_along_axis(-ratios, order, axis=0), *sums)

    def _at(self, points: Floats) -> tuple[Ints, Ints, Floats]:
        """Return the sums of P and of Q above each point, points × pairs, and the curves as floats."""
        counts = np.stack([column.searchsorted(-points) for column in self.falling.T.copy()], axis=1)
        p, q = (np.take_along_axis(part, counts, axis=0) for part in (self.upper, self.lower))
        return p, q, p / TOTAL - points[:, None] * (q / TOTAL)

    def with_crossings(self, points: Floats) -> Floats:
        """Add to points those between them where another curve becomes the highest, as if all were linear there.

        At a new point a third curve may be the highest: then it crosses both, which the next round finds.
        """
        heights, rising = self._at(points)[2], np.sort(-self.falling, axis=None)
        for _ in range(ROUNDS):
            new = _crossings(points, heights)
            new = new[np.equal(*(np.searchsorted(rising, new * (1 + share)) for share in (-ALIKE, ALIKE)))]
            if not len(new):
                break
            order = np.argsort(np.concatenate([points, new]))
            points = np.concatenate([points, new])[order]
            heights = np.concatenate([heights, self._at(new)[2]])[order]
        return points

    def highest(self, points: Floats, wholes: Sequence[int], unit: int) -> list[int]:
        """Return the maximum of all curves at each point, times unit, exactly: floats choose which may be the highest.

        wholes: the points times unit.
        No point is as near to a ratio as its three roundings, so floats tell rightly which outputs are above it.
        """
        p, q, heights = self._at(points)
        margin = 16 * ROUNDOFF * (1 + points)
        places, pairs = np.nonzero(heights >= (heights.max(axis=1) - margin)[:, None])
        tops = [0] * len(points)
        rows = zip(places.tolist(), p[places, pairs].tolist(), q[places, pairs].tolist(), strict=True)
        for place, p_sum, q_sum in rows:
            tops[place] = max(tops[place], p_sum * unit - wholes[place] * q_sum)
        return tops


def _crossings(points: Floats, heights: Floats) -> Floats:
    """Return where the highest curves of neighbouring points cross, if they are linear between them."""
    winner, row = heights.argmax(axis=1), np.arange(len(points) - 1)
    first, second = winner[:-1], winner[1:]
    before = heights[:-1][row, first] - heights[:-1][row, second]
    after = heights[1:][row, second] - heights[1:][row, first]
    turns = np.minimum(before, after) > 16 * ROUNDOFF * (1 + points[1:])
    near, far = points[:-1][turns], points[1:][turns]
    between = near + (far - near) * (before[turns] / (before[turns] + after[turns]))
    return np.asarray(between[(between > near * (1 + ALIKE)) & (between < far * (1 - ALIKE))])

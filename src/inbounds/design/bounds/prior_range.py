"""A lower bound on the average loss of every private mechanism for an evenly spaced range under any prior p.

As in `long_range`, numbers v_j give the bound sum_j v_j if for every output i

    sum_j (p_j f(|i - j|) - v_j) x_j >= 0     for all rows x of the cone of `pricing`.                          (1)

Here v_j = p_j g_j with a smooth g, which suits smooth priors. It is proposed as for the geometric remap
(`count_remap`): let T_s be the staircase around the noisy value s, and C_s = min_i sum_j p_j f(|i - j|) T_sj what its
best output costs. At the optimum T v = C; hats solve that by least squares. Then g is lowered around every output that
violates (1), until none does, every rounding counted against the bound.

Every k-th answer may form a chain of its own, as in `long_range`. All chains share g, and one pass prices every output
on its own chain.

*Thresholds.* As in `long_range`, if f is 0 up to an error of d and 1 beyond, (1) holds with w = p - v >= 0 if for every
answer k the sum of w_j exp(-rate ceil(|j - k| / reach)) is at least the largest probability of 2 d + 1 answers in a row
that hold k. No rows are needed.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inbounds.design.bounds.long_range import (
    EXCEEDED,
    LOWER,
    STEEPEST,
    UNIT,
    Chains,
    Window,
    choose_chains,
    depth_of_ends,
)
from inbounds.design.closed.noise import staircase_losses
from inbounds.design.problem import Floats, Ints

WORK = 3e7
"""Largest work, in states of `pricing`, to price all outputs once."""

CELLS = 16
"""Cells of the proposal per width of the noise, if that has so many steps."""

MOST_CELLS, MOST_ANSWERS = 1 << 15, 1 << 20
"""Most cells of a proposal, and most answers: some seconds each."""

KNOTS = 100
"""Knots of g, half of them spread over the answers and half over the prior. Near the ends there are FINE per reach, at
distances that grow by the factor WIDER up to END widths of the noise beside three reaches."""
FINE, WIDER, END = 8, 1.15, 10.0

FARTHEST = 8.0
"""Largest shift of an output, in widths of the noise, beside one reach."""

OUTSIDE = 1e-6
"""Probability at either end of the prior that is left out of the bound, if it lies more than three widths from it."""
FAR = 3.0

HIGHEST = 1e-3
"""Probability of the answers where g is lowered to a common height, so that rows are short."""

TURNS = 4
"""Rounds in which w of thresholds is moved towards equality."""

SMOOTH = 1e-3
"""Weight of the bends of g against the errors of the equations."""

RADII, NEAR = (0.25, 0.25, 0.25, 0.5, 1.0, 2.0), 1e-5
"""How far around an output g is lowered in each round, in widths of the noise: small first, so that little is lost; and
the share of the bound that is not worth another round. The last round prices every output, the others one per cell."""

FACTOR = 64.0
"""How much more than before levels are lowered around outputs that fail by their last digits."""

FAINT = 1e-200
"""Share of the largest probability that is left out, before products underflow."""

BATCH = 1 << 22
"""Costs that are held in memory at once."""


def average_bound(prior: Floats, reach: int, rate: float, losses: Floats, most: float = WORK) -> float:
    """Compute a lower bound on the average loss of every private mechanism for answers 0..n-1 with this prior.

    losses[e]: of an error of e = 0..n-1 steps, not falling. The least loss if the range is too long for a few seconds.
    """
    base, scale, size = float(losses[0]), float(losses[-1] - losses[0]), len(prior)
    cell = max(1, int(reach / rate / CELLS)) if rate > 0 else size
    if size < 3 or not 0 < scale < math.inf or size > MOST_ANSWERS or size > cell * MOST_CELLS or rate > STEEPEST:
        return base
    f = np.maximum((losses - base) / scale * (1 - 4 * UNIT), 0.0)
    p = np.where(prior > FAINT * prior.max(), prior, 0.0)
    depth = min(depth_of_ends(reach, rate), size - 1)
    chains = choose_chains(f, reach, rate, depth, most, priced=size)
    last = int(np.searchsorted(f, 0.0, side="right")) - 1
    is_threshold, low = f[last + 1] == f[-1], 0.0
    if is_threshold:
        low = float(f[-1]) * _threshold_bound(p, last, reach, rate, depth)
    if chains.window(depth, 0.0).half < 1 or (is_threshold and last == 0 and chains.spacing > 1):
        return base + low * scale * (1 - 8 * UNIT)
    priced = PricedRange.from_proposal(p, _propose_levels(p, f, reach, rate, cell), chains, depth)
    low = max(low, priced.lower_until_feasible(reach / rate, cell))
    return base + low * scale * (1 - 8 * UNIT)


@dataclass(eq=False)
class PricedRange:
    """A range with v = prior · levels, whose outputs are priced on their chains.

    window: of every chain. No level is above the losses of errors beyond its zone.
    """

    prior: Floats
    levels: Floats
    chains: Chains
    window: Window

    @classmethod
    def from_proposal(cls, prior: Floats, levels: Floats, chains: Chains, depth: int) -> "PricedRange":
        """Cut a proposal off at a height that the losses of the window exceed."""
        order = np.argsort(levels)
        rank = int(np.searchsorted(np.cumsum(prior[order]), (1 - HIGHEST) * float(prior.sum())))
        farthest = float(chains.losses[chains.window(depth, 0.0).half]) / (1 + 2 * EXCEEDED)
        highest = max(min(float(levels[order[min(rank, len(order) - 1)]]), farthest), 0.0)
        return cls(prior, np.clip(levels, 0.0, highest), chains, chains.window(depth, highest))

    def lower_until_feasible(self, width: float, cell: int) -> float:
        """Lower the levels around outputs that violate (1) until surely none does; return the bound."""
        from scipy.ndimage import maximum_filter1d

        for share in RADII:
            around = maximum_filter1d(self._needs(cell), 2 * max(math.ceil(share * width), cell) + 1)
            self.levels = np.maximum(self.levels - around * (1 + LOWER), 0.0)
            if float(self.prior @ around) <= NEAR * float(self.prior @ self.levels):
                break
        radius = math.ceil(RADII[-1] * width)
        self.levels = np.maximum(self.levels - maximum_filter1d(self._needs(1), 2 * radius + 1) * (1 + LOWER), 0.0)
        share, fails = LOWER, self._fails()
        while fails.any() and self.levels.any():
            reached = min(2 * radius + 1, 2 * len(fails) - 1)
            self.levels[maximum_filter1d(fails.astype(np.int8), reached) > 0] *= 1 - share
            if share >= 1:
                radius *= 2
            share, fails = min(share * FACTOR, 1.0), self._fails()
        return 0.0 if fails.any() else math.fsum(self.prior * self.levels * (1 - 8 * UNIT)) * (1 - 8 * UNIT)

    def _costs(self, cell: int = 1) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield every `cell`-th output, the places of the answers of its window, and the costs p f - v, rounded down.

        Answers beyond an end cost nothing.
        """
        size, half, k = len(self.prior), self.window.half, self.chains.spacing
        f = self.window.losses[np.abs(np.arange(-half, half + 1))][:, None]
        step = max(1, BATCH // (2 * half + 1))
        for start in range(0, size, step * cell):
            outputs = np.arange(start, min(size, start + step * cell), cell)
            places = outputs + k * np.arange(-half, half + 1)[:, None]
            inside = (places >= 0) & (places < size)
            at = np.clip(places, 0, size - 1)
            p = self.prior[at]
            gain, loss = p * self.levels[at], p * f
            yield outputs, at, np.where(inside, loss - gain - 8 * UNIT * (loss + gain), 0.0)

    def _needs(self, cell: int) -> Floats:
        """Compute by how much the levels around every `cell`-th output must fall, so that its cheapest row is free."""
        needs = np.zeros(len(self.prior))
        for outputs, at, costs in self._costs(cell):
            rows = self.window.cheapest_rows(costs)
            cost, weight = (costs * rows).sum(axis=0), (self.prior[at] * rows * (costs != 0)).sum(axis=0)
            needs[outputs] = np.where(cost < 0, -cost / np.maximum(weight, np.finfo(float).tiny), 0.0)
        return np.asarray(np.minimum(needs, self.levels.max()))

    def _fails(self) -> NDArray[np.bool_]:
        """Return for each output whether (1) is not sure to hold."""
        fails = np.zeros(len(self.prior), dtype=np.bool_)
        for outputs, _, costs in self._costs():
            fails[outputs] = ~self.window.are_feasible(costs)
        return fails


def _threshold_bound(p: Floats, last: int, reach: int, rate: float, depth: int) -> float:
    """Bound the average probability of an error of more than `last` steps."""
    from scipy.ndimage import maximum_filter1d

    size, window = len(p), 2 * last + 1
    runs = np.convolve(p, np.ones(window))[: size + 2 * last] * (1 + (window + 2) * UNIT)  # of outputs -last..n-1+last
    need = maximum_filter1d(runs, window)[last : last + size]
    levels = math.ceil(depth / reach)
    doubt = 8.0 * (levels + 2) * (size + 2) * float(np.finfo(np.longdouble).eps)

    def sums(w: Floats) -> Floats:
        """Sum w_j exp(-rate ceil(|j - k| / reach)) within `depth` of every k, rounded down."""
        total = np.concatenate([np.zeros(depth + 1), np.cumsum(w, dtype=np.longdouble)])
        total = np.concatenate([total, np.full(depth, total[-1])])
        inner, value = w, w * (1 - 4 * UNIT)
        for level in range(1, levels + 1):
            radius = min(level * reach, depth)
            outer = (
                total[depth + radius + 1 : depth + radius + 1 + size] - total[depth - radius : depth - radius + size]
            )
            value = value + math.exp(-rate * level) * np.maximum(outer - inner, 0.0)
            inner = outer
        return np.asarray(value * (1 - levels * 8 * UNIT) - doubt * float(w.sum()), float)

    w = need / sums(np.ones(size)) + 2 * doubt
    for _ in range(TURNS):
        w = w * np.clip(need / sums(w), 0.5, 2.0)
    w = w * np.maximum(maximum_filter1d(need / sums(w), 2 * reach + 1), 1.0)
    reached = sums(w)
    if not (reached > 0).all():
        return 0.0
    w = w * max(float((need / reached).max()), 1.0) * (1 + LOWER)
    return max(0.0, math.fsum(p) - math.fsum(w)) * (1 - 4 * UNIT) if (sums(w) >= need).all() else 0.0


def _propose_levels(p: Floats, f: Floats, reach: int, rate: float, cell: int) -> Floats:
    """Propose g with T (p g) = C, by hats and least squares, on cells of `cell` answers.

    g is zero where the prior has faded away.
    """
    size = len(p)
    count = -(-size // cell)
    cells = np.minimum(np.arange(count) * cell + cell // 2, size - 1)
    mass = np.add.reduceat(p, np.arange(count) * cell)
    split = 1 + int(staircase_losses(f, reach, rate).argmin())
    errors = np.abs(np.arange(1 - count, count)) * cell
    noise = np.exp(-rate * np.where(errors < split, 0, (errors - split) // reach + 1))
    costs = np.full(count, np.inf)
    farthest = math.ceil((FARTHEST / rate + 1) * reach / cell)
    for u in range(-min(farthest, count - 1), min(farthest, count - 1) + 1):
        moved = np.minimum(np.abs(np.arange(1 - count, count) + u) * cell, size - 1)
        cost = _convolve(mass, noise * f[moved])
        at = slice(max(-u, 0), count - max(u, 0))
        costs[at] = np.minimum(costs[at], cost[at])
    totals = _convolve(mass, noise)
    first, last = _spread(mass, FAR * reach / rate / cell)
    knots = _knots(mass, first, last, reach / cell, reach / rate / cell)
    hats = np.zeros((count, len(knots)))
    for hat, column in zip(hats.T, np.eye(len(knots)), strict=True):
        hat[first : last + 1] = np.interp(np.arange(first, last + 1), knots, column)
    sums = np.stack([_convolve(mass * hat, noise) for hat in hats.T], axis=1)
    at, gaps = slice(first, last + 1), np.diff(knots)
    weights = np.sqrt(np.maximum(totals[at], 0.0) / totals.max())
    shares = weights / np.maximum(totals[at], np.finfo(float).tiny)
    bends = np.zeros((max(len(knots) - 2, 0), len(knots)))
    for k, bend in enumerate(bends):
        before, after = min(gaps[k : k + 2]) / gaps[k : k + 2]
        bend[k : k + 3] = before, -before - after, after
    bends *= SMOOTH * math.sqrt(float(weights @ weights))
    left, right = np.vstack([sums[at] * shares[:, None], bends]), np.append(costs[at] * shares, np.zeros(len(bends)))
    levels = hats @ np.linalg.lstsq(left, right, rcond=None)[0]
    inner = (np.arange(size) >= first * cell) & (np.arange(size) < (last + 1) * cell)
    return np.where(inner, np.interp(np.arange(size), cells, levels), 0.0)


def _convolve(x: Floats, kernel: Floats) -> Floats:
    """Return sum_j x_j kernel[s - j] for every s; the kernel has the middle 0."""
    from scipy.signal import fftconvolve  # slow to import, and only long ranges under priors need it

    return np.asarray(fftconvolve(x, kernel)[len(x) - 1 : 2 * len(x) - 1])


def _spread(mass: Floats, far: float) -> tuple[int, int]:
    """Return the first and last cell of the bound: an end of the range, or where the prior has faded away."""
    below = np.cumsum(mass) / mass.sum()
    first, last = (int(np.searchsorted(below, share)) for share in (OUTSIDE, 1 - OUTSIDE))
    return (first if first > far else 0), (min(last, len(mass) - 1) if last < len(mass) - 1 - far else len(mass) - 1)


def _knots(mass: Floats, first: int, last: int, reach: float, width: float) -> Ints:
    """Return knots in first..last: more of them near its ends and where the prior is."""
    inside = mass[first : last + 1]
    spread = np.cumsum(inside) / inside.sum() + np.arange(1, len(inside) + 1) / len(inside)
    knots, at, gap = [], 0.0, max(1.0, reach / FINE)
    while at < min(len(inside) / 2, END * width + 3 * reach):
        knots += [at, len(inside) - 1 - at]
        at, gap = at + gap, gap * WIDER
    knots += [0, len(inside) - 1, *np.searchsorted(spread, np.linspace(0, 2, KNOTS)).tolist()]
    wanted = np.unique(np.clip(np.round(knots), 0, len(inside) - 1)).astype(np.int64)
    kept = [0]
    for knot in wanted[1:].tolist():
        if knot - kept[-1] >= max(1.0, reach / FINE):
            kept.append(knot)
    kept[-1:] = [kept[-1], len(inside) - 1] if kept[-1] < len(inside) - 1 else [kept[-1]]
    return first + np.array(kept, dtype=np.int64)

"""A lower bound on the average loss of every private mechanism for a long, evenly spaced range.

Answers are 0..n-1, equally likely; two of them at most `reach` apart may differ by the factor exp(rate); the loss f
of an error does not fall as it grows. By weak duality (`bound`) numbers v_j give a bound, sum_j v_j / n, if for every
output i

    sum_j (f(|i - j|) - v_j) x_j >= 0     for all rows x of the cone of `pricing`.                              (1)

Far from both ends v_j is one number, the least loss on an endless range. Near an end less is lost, by a deficit u that
falls to zero within some multiples of reach / rate: v_j = level - u_j - u_{n-1-j}. So two small problems are left.

*Level.* The largest one for which (1) holds for one output in the middle of a window. Terms outside the window are not
negative and may be dropped. Staircases attain it (Geng and Viswanath 2014), so the search starts there.

*Deficit.* The least sum of u >= 0, of a few hats on knots, for which (1) holds for the outputs near one end, on a range
that goes on for ever on the other side. This is a linear program with one constraint for each ray; those that are
violated are added in rounds. Outputs further inside see a window that does not reach the end, in which v_j is at most
the level: for them (1) holds by the choice of the level.

*Rows.* Where f exceeds the level on both sides of an output, costs are passed inwards in steps of the reach,
x_j >= exp(-rate) x_{j-reach}, and the rest is priced by `pricing`. Every rounding counts against the bound.

*Coarser ranges.* Every k-th answer forms a chain of its own, with a reach of floor(reach / k) steps, and the bounds of
k chains add up. If k is m times the reach, next answers of a chain may differ by exp(m rate). This makes a long reach
and a small epsilon affordable. Outputs between two answers of a chain count as those answers, with a loss that is
lowered by what they may gain.

*Thresholds.* If f is 0 up to an error of d and 1 beyond, let w = 1 - v >= 0, and let k be the answer within d of the
output at which a row is largest, 1. Then x_j >= exp(-rate ceil(|j - k| / reach)), so (1) holds if for every k the sum
of w_j exp(-rate ceil(|j - k| / reach)) is at least 2 d + 1: a small linear program without rays, exact for zero-one
loss.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from inbounds.design.closed.noise import staircase_losses
from inbounds.design.problem import Floats, Ints
from inbounds.design.solver import pricing
from inbounds.design.solver.pricing import Cone

DEPTH, LEAST_DEPTH = 18.0, 3.0
"""An end counts up to this privacy loss, beyond which noise has a share of exp(-18); and this many reaches at least."""

INSIDE, ENDS, MOST = 2e7, 1e6, 1e7
"""Largest work, in states of `pricing`, to prove the level, and to price the outputs near an end once: usually, and if
the gap would be large."""

SHORTER = 0.9
"""Share of a depth that is tried next on a short range."""

DEEPEST, STEEPEST = 1 << 20, 64.0
"""Most answers from an end that are looked at; largest rate, beyond which the least loss is below exp(-64) of any."""

FINE = 8
"""Knots of the deficit per reach, near the end; WIDER: how the distance of knots grows beyond two reaches."""
WIDER = 1.25

ROUNDS, NEAR = 25, 1e-3
"""Rounds of constraints at most; share of the deficit that may be left when they stop."""

EXCEEDED = 1e-3
"""Share of a level by which losses of errors beyond the zone exceed it."""

UNIT = 2.0**-53
DIGITS = 40
"""Binary digits of losses, fewer than floats have."""
LEVEL = 1e-6
"""Share by which finer chains must be better."""
LOWER, TINY = 2.0**-40, 2.0**-1000
"""First share by which a level or a deficit is moved until it passes; each further step is FACTOR times as large."""
FACTOR = 4.0


@dataclass(frozen=True, eq=False)
class Window:
    """The costs of rows around one output or several: cells -half..half around each, in steps of a chain.

    losses[e]: of an error of e steps, e = 0..2 · half. zone: cells further from an output have costs that are not
    negative, for any v up to the level.
    """

    losses: Floats
    reach: int
    rate: float
    half: int
    zone: int

    @property
    def cone(self) -> Cone:
        """The private rows on the cells -zone..zone."""
        j = np.arange(2 * self.zone + 1)
        return Cone(np.maximum(j - self.reach, 0), np.full(2 * self.zone, self.rate))

    @property
    def decay(self) -> float:
        """exp(-rate), rounded down."""
        return math.exp(-self.rate) * (1 - UNIT * (8 + 2 * self.rate))

    def costs(self, v: Floats, outputs: Ints) -> Floats:
        """Compute f - v around each output, rounded down; zero for cells before the first answer.

        v[j]: of the answers 0, 1, …; further ones have the last. Shape (2 · half + 1, outputs).
        """
        cells = np.arange(-self.half, self.half + 1)
        j = outputs + cells[:, None]
        f, at = self.losses[np.abs(cells)][:, None], v[np.clip(j, 0, len(v) - 1)]
        return np.where(j >= 0, f - at - 4 * UNIT * (np.abs(f) + np.abs(at)), 0.0)

    def fold(self, costs: Floats) -> Floats:
        """Pass the costs of cells outside the zone inwards, rounded down; return those of the cells of the zone."""
        costs, last = costs.copy(), len(costs) - 1
        while last > self.half + self.zone:
            first = max(self.half + self.zone + 1, last - self.reach + 1)
            for outer in (slice(first, last + 1), slice(len(costs) - 1 - last, len(costs) - first)):
                shift = -self.reach if outer.start >= self.half else self.reach
                inner = slice(outer.start + shift, outer.stop + shift)
                passed = self.decay * costs[outer]
                costs[inner] += passed - 4 * UNIT * (np.abs(costs[inner]) + passed)
            last = first - 1
        return costs[self.half - self.zone : self.half + self.zone + 1]

    def is_feasible(self, v: Floats, outputs: Ints) -> bool:
        """Return whether (1) surely holds for these outputs."""
        if self.losses[self.half] < v.max():
            return False  # what lies beyond the window must not be negative
        return bool(self.are_feasible(self.costs(v, outputs)).all())

    def are_feasible(self, costs: Floats) -> NDArray[np.bool_]:
        """Return for each column of costs, rounded down, whether no row surely has a negative cost."""
        cone, inside = self.cone, slice(self.half - self.zone, self.half + self.zone + 1)
        passed = np.delete(costs, np.r_[inside], axis=0).min(axis=0, initial=0.0) >= 0  # only such are passed inwards
        least = pricing.min_over_cone(self.fold(costs), cone, pricing.rounding(cone)) if self.zone else costs[self.half]
        return np.asarray(passed & (least >= 0))

    def best_rows(self, v: Floats, outputs: Ints) -> Floats:
        """Return for each output the row of least cost, with sum one over the cells of the window that are answers."""
        x = self.cheapest_rows(self.costs(v, outputs))
        x[outputs + np.arange(-self.half, self.half + 1)[:, None] < 0] = 0.0
        return np.asarray(x / x.sum(axis=0))

    def cheapest_rows(self, costs: Floats) -> Floats:
        """Return for each column of costs the row of least cost, with the largest value one."""
        logs = pricing.best_rays(self.fold(costs), self.cone)
        x = np.zeros(costs.shape)
        x[self.half - self.zone : self.half + self.zone + 1] = np.exp(logs - logs.max(axis=0))
        for cell in range(self.half + self.zone + 1, len(x)):
            x[cell] = self.decay * x[cell - self.reach]
            x[-1 - cell] = self.decay * x[-1 - cell + self.reach]
        return x


@dataclass(frozen=True, eq=False)
class LongRangeDuals:
    """v of a long range: a level, and the deficit of every `spacing`-th answer from an end."""

    level: float
    deficit: Floats
    spacing: int

    def average(self, size: int) -> float:
        """Return the bound for a range of this many answers, rounded down."""
        missed = 2 * self.spacing * math.fsum(self.deficit)
        return (self.level - missed / size) * (1 - 16 * UNIT) if missed < self.level * size else 0.0


@dataclass(frozen=True, eq=False)
class Chains:
    """Every `spacing`-th answer of a range: losses between its answers, its reach in steps, and the rate."""

    losses: Floats
    reach: int
    rate: float
    spacing: int

    def window(self, depth: int, level: float) -> Window:
        """Return the window of `depth` answers of the range on each side. At least 2 · half + 1 steps of a chain fit
        into 2 · depth + 1 answers."""
        half = max(((2 * depth + 1) // self.spacing - 1) // 2, 0)
        beyond = int(np.searchsorted(self.losses, level * (1 + EXCEEDED), side="right"))
        return Window(self.losses, self.reach, self.rate, half, min(max(beyond, self.reach), half))

    @property
    def level(self) -> float:
        """The least loss of staircase noise on an endless chain."""
        return float(staircase_losses(self.losses, self.reach, self.rate).min())


def average_bound(size: int, reach: int, rate: float, losses: Floats, work: float = ENDS) -> float:
    """Compute a lower bound on the average loss of every private mechanism for `size` equally likely answers.

    losses[e]: of an error of e = 0..size-1 steps, not falling. Cost: independent of the size beyond some
    36 reach / rate; with the least work a fraction of a second, and nothing for a request that was seen before.
    """
    base, scale = float(losses[0]), float(losses[1] - losses[0]) or 1.0
    depth = _round_depth(depth_of_ends(reach, rate), (size - 1) // 2)
    if not 1 <= depth <= DEEPEST or rate > STEEPEST:
        return base
    table = _round_losses((losses[: 2 * depth + 1] - base) / scale)
    found = _long_range_duals(table.tobytes(), reach, rate, depth, work).average(size)
    return base + scale * found * (1 - 4 * UNIT) if found > 0 else base


def _round_losses(losses: Floats) -> Floats:
    """Round losses down to DIGITS binary digits, so that the same loss in other units is the same table.

    Means of groups of different sizes lose multiples of different steps, and these quotients differ in their last bits.
    """
    digits, powers = np.frexp(losses * (1 + 2.0 ** -(DIGITS + 5)))
    rounded = np.ldexp(np.floor(np.ldexp(digits, DIGITS)), powers - DIGITS)
    return np.asarray(rounded * (1 - 2.0 ** -(DIGITS + 3)))


def depth_of_ends(reach: int, rate: float) -> int:
    """Return how many answers from an end differ from those of an endless range."""
    return math.ceil(reach * max(DEPTH / rate, LEAST_DEPTH))


def _round_depth(depth: int, most: int) -> int:
    """Return the depth, or, if there is not room for it, one of few smaller ones, which many sizes share."""
    while depth > most:
        depth = min(int(depth * SHORTER), depth - 1)
    return depth


@lru_cache(maxsize=256)
def _long_range_duals(table: bytes, reach: int, rate: float, depth: int, work: float) -> LongRangeDuals:
    """Compute level and deficit on the chains that promise most within the work allowed."""
    losses = np.frombuffer(table)
    chains = choose_chains(losses, reach, rate, depth, work, priced=None)
    cells = chains.window(depth, 0.0).half
    level = _level(choose_chains(losses, reach, rate, depth, INSIDE, priced=1), cells * chains.spacing)
    level = min(level, float(chains.losses[cells]))
    duals = LongRangeDuals(level, _deficit(chains, depth, level), chains.spacing)
    last = int(np.searchsorted(losses, 0.0, side="right")) - 1
    if chains.spacing == 1 or last < 0 or losses[-1] != losses[min(last + 1, len(losses) - 1)]:
        return duals
    unit = float(losses[-1])
    threshold = _threshold_duals(last, reach, rate, depth, unit)
    return max(duals, threshold, key=lambda one: one.average(2 * depth + 1))


def choose_chains(losses: Floats, reach: int, rate: float, depth: int, most: float, priced: int | None) -> Chains:
    """Return the chains with the largest level within a work limit.

    priced: how many outputs are priced on windows of `depth` answers on each side; None: those near one end.
    """
    multiples = [m * reach for m in (64, 32, 16, 8, 4, 2) if m * rate <= 1 and m * reach <= depth]
    spacings = [*multiples, *dict.fromkeys(reach // steps for steps in range(1, reach + 1) if reach // steps <= depth)]
    best, highest = None, -1.0
    for k in spacings or [1]:
        chains = Chains(coarsen_losses(losses, k), max(reach // k, 1), rate * max(k // reach, 1), k)
        level = chains.level
        window = chains.window(depth, level)
        work = (2 * window.zone + 1) * 2 * (chains.reach + 1) * (window.half if priced is None else priced)
        if best is not None and work > most:
            break
        if window.half >= 1 and level > highest * (1 + LEVEL):
            best, highest = chains, level
    return best or Chains(losses, reach, rate, 1)


def coarsen_losses(losses: Floats, k: int) -> Floats:
    """Return a loss on every k-th answer that no output between them undercuts.

    An output u steps beyond an answer of the chain loses at least the interpolation between the two answers around it
    less `sag`; or as much as from the answer nearest to it, less half a spacing. The better of both as a whole.
    """
    if k == 1:
        return losses
    cells = (len(losses) - 1) // k
    grid = losses[: cells * k + 1 : k]
    share = np.arange(k) / k
    inner = losses[: cells * k].reshape(cells, k)
    between = (np.outer(grid[:-1], 1 - share) + np.outer(grid[1:], share)) * (1 + 4 * UNIT)
    sag = np.maximum(between - inner, 0.0).max(axis=1)
    smooth = grid - np.maximum(np.append(sag, sag[-1]), np.append(sag[0], sag))
    near = losses[np.maximum(np.arange(cells + 1) * k - k // 2, 0)]
    return np.asarray(smooth if smooth.sum() >= near.sum() else near)


def _level(chains: Chains, depth: int) -> float:
    """Compute the largest level of the chains: the least ratio of cost and sum of a row (Dinkelbach)."""
    level = chains.level
    window = chains.window(depth, level)
    if window.half < 1:
        return 0.0
    middle = np.array([len(window.losses)])  # far from any end
    errors = np.abs(np.arange(-window.half, window.half + 1))
    for _ in range(ROUNDS):
        lower = float(window.losses[errors] @ window.best_rows(np.array([level]), middle)[:, 0])
        if lower >= level * (1 - LOWER):
            break
        level = lower
    share = LOWER
    while level > 0 and not window.is_feasible(np.array([level]), middle):
        level, share = level * (1 - share), share * FACTOR
    return max(level, 0.0)


def _deficit(chains: Chains, depth: int, level: float) -> Floats:
    """Compute deficits for which (1) holds at all outputs near the end, with nearly the least sum."""
    from scipy.optimize import linprog

    window = chains.window(depth, level)
    chain, cells = window.losses, window.half
    outputs, hats = np.arange(cells + 1), _hats(cells, chains.reach)
    rows, limits = [], []

    def add(x: Floats, at: Ints) -> None:
        """Add the constraint of a row for each of some outputs: sum of u x >= sum of (level - f) x."""
        j = at + np.arange(-cells, cells + 1)[:, None]
        inside = np.zeros((cells, len(at)))
        where = (j >= 0) & (j < cells)
        inside[j[where], np.broadcast_to(np.arange(len(at)), j.shape)[where]] = x[where]
        rows.append(-(hats.T @ inside).T)
        limits.append((x * (chain[np.abs(np.arange(-cells, cells + 1))] - level)[:, None]).sum(axis=0))

    add(window.best_rows(np.array([level]), outputs), outputs)
    best, least = np.full(cells, level), math.inf
    for _ in range(ROUNDS):
        u = linprog(hats.sum(axis=0), np.vstack(rows), np.concatenate(limits), method="highs").x
        if u is None:
            break
        deficit = hats @ u
        x = window.best_rows(level - np.append(deficit, 0.0), outputs)
        j = outputs + np.arange(-cells, cells + 1)[:, None]
        u_at = np.where(j >= 0, np.append(deficit, 0.0)[np.clip(j, 0, cells)], 0.0)
        cost = ((chain[np.abs(np.arange(-cells, cells + 1))][:, None] - level + u_at) * x).sum(axis=0)
        near = np.where((j >= 0) & (j < cells), x, 0.0).sum(axis=0)
        needs = np.where(cost < -LOWER * level, -cost / np.maximum(near, TINY), 0.0)  # the rest is rounding
        need = float(needs.max())
        violated = needs > NEAR * need
        add(x[:, violated], outputs[violated])
        if (total := float(deficit.sum()) + need * cells) < least:
            best, least = deficit + need, total
        if need * cells <= NEAR * float(deficit.sum()):
            break
    share = LOWER
    while not window.is_feasible(level - np.append(best, 0.0), outputs):
        best, share = best + share * level, share * FACTOR
    return best


def _threshold_duals(last: int, reach: int, rate: float, depth: int, unit: float) -> LongRangeDuals:
    """Compute level and deficit for a loss that is 0 up to an error of `last` steps, and `unit` beyond."""
    from scipy.optimize import linprog

    need, hats = 2.0 * last + 1, _hats(depth, reach)
    least = need / _staircase_sums(np.ones(2 * depth + 1), reach, rate, depth)[depth]

    def sums(w: Floats) -> Floats:
        """Sum the values near the end, with `least` further inside."""
        return _staircase_sums(np.concatenate([w, np.full(depth + 1, least)]), reach, rate, depth)[: depth + 1]

    base = sums(np.full(depth, least))
    columns = np.stack([sums(least + hat) - base for hat in hats.T], axis=1)
    at = slice(None, None, max(1, reach // FINE))
    more = linprog(hats.sum(axis=0), -columns[at], base[at] - need, bounds=(-least, None), method="highs").x
    w, share = least + (hats @ more if more is not None else np.zeros(depth)), LOWER
    w, least = np.maximum(w, least * LOWER), least * (1 + LOWER)
    while (fewest := float(sums(w).min())) < need * (1 + LOWER / 2):  # far more than the roundings of the sums
        w, share = w * (need * (1 + share) / fewest), share * FACTOR
    return LongRangeDuals((1 - least) * unit, (w - least) * unit, 1)


def _staircase_sums(w: Floats, reach: int, rate: float, width: int) -> Floats:
    """Sum w_j exp(-rate ceil(|j - k| / reach)) over the answers j within `width` of k, for every k."""
    n, sums = len(w), np.concatenate([[0.0], np.cumsum(w)])
    k, total, inner = np.arange(n), np.asarray(w, float).copy(), np.asarray(w, float)
    for level in range(1, math.ceil(width / reach) + 1):
        radius = min(level * reach, width)
        outer = sums[np.minimum(k + radius + 1, n)] - sums[np.maximum(k - radius, 0)]
        total = total + math.exp(-rate * level) * (outer - inner)
        inner = outer
    return total


def _hats(cells: int, steps: int) -> Floats:
    """Return hat functions on cells 0..cells-1: knots near the end are `steps / FINE` apart; zero at the last knot."""
    knots, gap = [0], max(1, steps // FINE)
    while knots[-1] < cells:
        knots.append(min(cells, knots[-1] + gap))
        if knots[-1] > 2 * steps:
            gap = math.ceil(gap * WIDER)
    identity = np.eye(len(knots))[:, :-1]
    return np.stack([np.interp(np.arange(cells), knots, column) for column in identity.T], axis=1)

"""A lower bound on the loss of the worst answer of an evenly spaced range, and the prior that proves it.

The worst answer loses at least the average under any prior p, and as in `prior_range` numbers v_j bound that by
sum_j v_j if for every output i

    sum_j (p_j f(|i - j|) - v_j) x_j >= 0     for all rows x of the cone of `pricing`.                          (1)

(1) is linear in p and v together, so the hardest prior and its proof are one linear program: the largest sum of v over
p >= 0 of sum one. p and v are sums of hats, each its own mirror image, on knots that are closer near the ends. Rows
that violate (1) are found by the shortest path of `pricing` and added in rounds, on one chain and for outputs that are
close against the noise. `prior_range` then lowers v until (1) surely holds on every chain, every rounding counted.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from inbounds.design.bounds.long_range import STEEPEST, UNIT, Chains, Window, choose_chains, depth_of_ends
from inbounds.design.bounds.prior_range import CELLS, MOST_ANSWERS, MOST_CELLS, WIDER, PricedRange
from inbounds.design.problem import Floats, Ints
from inbounds.design.solver import highs

WORK = 6e7
"""Largest work, in states of `pricing`, to price all outputs once."""

FINE, COARSE = 8, 80
"""Knots per reach near an end; least number of knots of the whole range. At least two knots lie in each width."""

SAMPLED = 2.0
"""Least distance of knots in steps of the chain, so that the chain sees every hat."""

HIGHER = 1.6
"""Largest v_j / p_j in units of the level of an endless range: rows are short, and more is hardly gained."""

ROUNDS, NEAR, SETTLED = 40, 1e-4, 1e-5
"""Rounds of rows at most; share of the bound below which a violation, and a change of the bound, ends them."""

WORST = 0.05
"""Violations below this share of the largest add no row in this round."""

TOLERANCE = 1e-9
"""Of the solver: v is lowered until it holds exactly."""


@dataclass(frozen=True, eq=False)
class HardestPrior:
    """A prior, symmetric and of sum one, and a lower bound on the average loss under it: on the worst loss too."""

    prior: Floats
    bound: float


def find_hardest_prior(size: int, reach: int, rate: float, losses: Floats, most: float = WORK) -> HardestPrior:
    """Find a prior under which every private mechanism loses much, and prove how much.

    losses[e]: of an error of e = 0..size-1 steps, not falling. most: work for the proof. The uniform prior and the
    least loss if the range is too long or too short for it.
    """
    base, scale = float(losses[0]), float(losses[-1] - losses[0])
    cell = max(1, int(reach / rate / CELLS)) if rate > 0 else size
    nothing = HardestPrior(np.full(size, 1.0 / size), base)
    if size < 3 or not 0 < scale < math.inf or size > MOST_ANSWERS or size > cell * MOST_CELLS or rate > STEEPEST:
        return nothing
    f = np.maximum((losses - base) / scale * (1 - 4 * UNIT), 0.0)
    depth = min(depth_of_ends(reach, rate), size - 1)
    chains = choose_chains(f, reach, rate, depth, most, priced=size)
    if chains.window(depth, 0.0).half < 1:
        return nothing
    program = _HatProgram.from_chains(chains, size, depth, reach / rate, max(1, cell // chains.spacing))
    prior, duals = program.solve(np.arange(size))
    levels = np.where(prior > 0, duals / np.maximum(prior, np.finfo(float).tiny), 0.0)
    prior /= prior.sum()
    priced = PricedRange.from_proposal(prior, levels, chains, depth)
    return HardestPrior(prior, base + scale * priced.lower_until_feasible(reach / rate, cell) * (1 - 8 * UNIT))


@dataclass(frozen=True, eq=False)
class _HatProgram:
    """The linear program of p and v on one chain.

    window: of every output. places: of the chain's answers in the range. outputs: those that are priced, in one half.
    """

    size: int
    level: float
    highest: float
    window: Window
    places: Floats
    outputs: Ints
    knots: Floats

    @classmethod
    def from_chains(cls, chains: Chains, size: int, depth: int, width: float, step: int) -> "_HatProgram":
        """Set up the chain in the middle of the range; every `step`-th output is priced."""
        level, farthest = chains.level, float(chains.losses[chains.window(depth, 0.0).half])
        highest = min(HIGHER * level, (level + farthest) / 2)
        count = (size - 1) // chains.spacing + 1
        window = chains.window(depth, highest)
        half = min(window.half, count - 1)
        window = Window(window.losses, window.reach, window.rate, half, min(window.zone, half))
        places = np.arange(count, dtype=np.float64) * chains.spacing + ((size - 1) % chains.spacing) / 2
        knots = _place_knots(size, chains.reach * chains.spacing, width, SAMPLED * chains.spacing)
        near = np.arange(0, min(2 * chains.reach, (count + 1) // 2))  # outputs near an end are all priced
        return cls(size, level, highest, window, places, np.union1d(near, np.arange(0, (count + 1) // 2, step)), knots)

    def _hats(self, places: Floats | Ints) -> Floats:
        """Return the hats at some places, one column each."""
        inwards = np.minimum(places, self.size - 1 - places)
        return np.stack([np.interp(inwards, self.knots, hat) for hat in np.eye(len(self.knots))], axis=1)

    def solve(self, answers: Ints) -> tuple[Floats, Floats]:
        """Return p and v at the answers, nearly feasible."""
        hats, window = self._hats(self.places), self.window
        sums, count = hats.sum(axis=0), hats.shape[1]
        steps = np.arange(-window.half, window.half + 1)
        at = self.outputs + steps[:, None]
        inside, at = (at >= 0) & (at < len(hats)), np.clip(at, 0, len(hats) - 1)
        f = window.losses[np.abs(steps)][:, None]
        program = highs.solver(primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE)
        capped = np.hstack([-self.highest * np.eye(count), np.eye(count)])  # v <= highest p
        rows = np.vstack([np.append(sums / len(hats), np.zeros(count)), capped])
        at_most = np.append(1.0, np.zeros(count))
        least = np.append(1.0, np.full(count, -np.inf))
        cost = np.append(np.zeros(count), -sums / len(hats))
        highs.load(program, cost, np.zeros(2 * count), csr_array(rows), least, at_most)
        p = np.full(count, 1.0 / len(hats))
        v, bound, settled = p * self.level, math.inf, 0
        for _ in range(ROUNDS):
            at_p, at_v = (hats @ p)[at], (hats @ v)[at]
            costs = np.where(inside, at_p * f - at_v, 0.0)
            rows = np.where(inside, window.cheapest_rows(costs), 0.0)
            rows /= rows.sum(axis=0)
            missed = -(costs * rows).sum(axis=0) / np.maximum((at_p * rows).sum(axis=0), np.finfo(float).tiny)
            if missed.max() <= NEAR * self.level or settled > 1:
                break
            violated = missed > max(WORST * missed.max(), NEAR * self.level)
            cuts = csr_array(_constraints(rows[:, violated], f, at[:, violated], hats))
            highs.add_rows(program, cuts, np.full(cuts.shape[0], -np.inf), np.zeros(cuts.shape[0]))
            if not highs.run(program, math.inf):
                break
            found = np.array(program.getSolution().col_value) / len(hats)
            p, v = found[:count], found[count:]
            before, bound = bound, float(sums @ v)
            free = bound < self.highest * (1 - SETTLED)  # not by v <= highest p alone
            settled = settled + 1 if free and before - bound <= SETTLED * bound else 0
        full = self._hats(answers)
        return np.maximum(full @ p, 0.0), np.maximum(full @ v, 0.0)


def _constraints(rows: Floats, f: Floats, at: Ints, hats: Floats) -> Floats:
    """Return (1) for some rows as coefficients of p and v: sum_j v_j x_j - sum_j p_j f_j x_j <= 0."""
    columns = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    weights, costs = np.zeros((2, len(hats), rows.shape[1]))
    np.add.at(weights, (at, columns), rows)
    np.add.at(costs, (at, columns), rows * f)
    return np.hstack([-costs.T @ hats, weights.T @ hats])


def _place_knots(size: int, reach: int, width: float, least: float) -> Floats:
    """Return knots from an end to the middle: FINE per reach at the end, then ever wider apart."""
    middle, most = (size - 1) / 2, max(min(width / 2, size / COARSE), least)
    knots, gap = [0.0], max(min(reach / FINE, most), least, 1.0)
    while knots[-1] < middle:
        knots.append(min(middle, knots[-1] + gap))
        if knots[-1] > 2 * reach:
            gap = max(min(gap * WIDER, most), gap)
    if len(knots) > 2 and knots[-1] - knots[-2] < (knots[-2] - knots[-3]) / 2:
        knots.pop(-2)  # no hat is too narrow for the chain
    return np.array(knots)

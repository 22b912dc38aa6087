"""The cone of private rows, and pricing: the extreme ray with the least linear cost.

A row x of P[output, answer] is private when x_j <= exp(step) x_k for all answers j, k of one window. Such
rows form a cone. On an extreme ray the tight ratios connect all answers, so with equal steps x = exp(step *
h) with whole numbers h that differ by at most one inside a window. The least cost r.x over the cone is
therefore a shortest path along the answers. Its state is all that restricts the next h: whether the other
level of the window lies above or below, and how many answers ago it occurred. The level itself is not part of the
state, because the cost of a suffix scales with its first entry.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inbounds.design.problem import Floats, Ints, Problem

Moves = NDArray[np.int8]

#: largest number of rounds towards the most improving ray; least relative gain of a round that is followed by another
SHARPER, FINER = 60, 1e-9


@dataclass(frozen=True, eq=False)
class Cone:
    """The private rows over a connected run of answers.

    reach[j] is the first answer that shares a window with j; step[j] is the log of the largest ratio between
    answers j and j + 1. Windows wider than two answers must all have the same step: then, and for chains with
    any steps, the shortest path is exact.
    """

    reach: Ints
    step: Floats

    @property
    def size(self) -> int:
        return len(self.reach)

    @cached_property
    def memory(self) -> Ints:
        """memory[j]: how many answers before j still restrict the ratio between answers j and j + 1."""
        return np.arange(self.size - 1) - self.reach[1:]

    @property
    def ahead(self) -> Ints:
        """ahead[j]: the last answer that shares a window with j."""
        last: Ints = np.searchsorted(self.reach, np.arange(self.size), side="right") - 1
        return last

    @property
    def is_mirrored(self) -> bool:
        same = np.array_equal(self.reach, self.size - 1 - self.ahead[::-1])
        return same and np.array_equal(self.step, self.step[::-1])

    @property
    def everyone(self) -> bool:
        return self.size > 1 and int(self.reach[-1]) == 0


def split_components(problem: Problem) -> Iterator[slice]:
    """Yield the connected runs of answers. No privacy constraint links two runs."""
    start, end = 0, 0
    for low, high in _links(problem):
        if low >= end > start:
            yield slice(start, end)
            start = end
        end = max(end, high)
    yield slice(start, end)


def _links(problem: Problem) -> list[tuple[int, int]]:
    """List all single answers and cliques as ranges, sorted."""
    singles = [(j, j + 1) for j in range(problem.shape[1])]
    return sorted(singles + [(a, b) for a, b, _ in problem.cliques])


def is_regular(problem: Problem) -> bool:
    """Return whether `Cone` can represent the neighbourhood: only links between successive answers, or one distance."""
    wide = any(b - a > 2 for a, b, _ in problem.cliques)
    return not wide or len({d for a, b, d in problem.cliques if b - a > 1}) <= 1


def cone(problem: Problem, part: slice) -> Cone:
    """Build the cone of the answers in `part`, one of the `split_components` of an `is_regular` problem."""
    reach = np.arange(part.start, part.stop)
    step = np.full(part.stop - part.start, np.inf)
    for a, b, d in problem.cliques:
        if part.start <= a and b <= part.stop and b - a > 1:
            inside = slice(a - part.start, b - part.start)
            reach[inside] = np.minimum(reach[inside], a)
            links = slice(a - part.start, b - part.start - 1)
            step[links] = np.minimum(step[links], problem.epsilon * d)
    return Cone(reach - part.start, step[:-1])


def min_over_cone(r: Floats, cone: Cone, unit: float = 0.0) -> Floats:
    """Compute min over the cone of r[:, i].x for every i, x scaled to 1 at its first (`everyone`: least) entry.

    With `unit` at least `rounding(cone)` the result is a true lower bound: every addition is lowered by unit
    times the sizes of its terms. Cost: n * window * outputs.
    """
    if cone.size == 1:
        return np.array(r[0])
    if cone.everyone:
        return _least_everyone(r, float(cone.step[0]), unit)
    V = _final_states(r, cone)
    for j in range(cone.size - 2, -1, -1):
        best, _ = _advance(V, cone, j)
        V = r[j] + best
        if unit:
            V -= unit * (np.abs(r[j]) + np.abs(best))
    value: Floats = V[0, -1]
    return value


def best_rays(r: Floats, cone: Cone) -> Floats:
    """Return log x of a ray that attains `min_over_cone`, for every column of r; shape (n, outputs), first entry 0."""
    if cone.everyone:
        return np.where(r < 0, float(cone.step[0]), 0.0)
    V = _final_states(r, cone)
    moves: list[Moves] = []
    for j in range(cone.size - 2, -1, -1):
        best, move = _advance(V, cone, j)
        V = r[j] + best
        moves.append(move)
    return _trace_moves(moves[::-1], cone, r.shape[1])


def most_improving(r: Floats, cone: Cone, worth: float, deadline: float = math.inf) -> tuple[Floats, Ints, float]:
    """Find the ray that gains most for every column of r where one gains more than `worth`.

    Returns the logs of these rays, their columns, and the largest gain. The gain of a ray is -r.x divided by its mean.
    The threshold `worth` keeps rounding errors of rays that span many orders of magnitude from hiding a real gain.
    Repeating the search with the gain so far as threshold (Dinkelbach) leads in a few rounds to the largest gain. The
    means of a mechanism's rows sum to one, so no mix gains more than that.
    """
    threshold = np.full(r.shape[1], worth)
    log_x, good = np.zeros_like(r), np.zeros(r.shape[1], bool)
    for _ in range(SHARPER):
        rays = best_rays(r + threshold / cone.size, cone)
        x = np.exp(rays - rays.max(axis=0))
        gain = -(r * x).sum(axis=0) / x.mean(axis=0)
        better = gain > threshold * (1 + FINER)
        if not better.any() or time.monotonic() > deadline:
            break
        log_x[:, better] = rays[:, better]
        good |= better
        threshold = np.maximum(threshold, gain)
    return log_x[:, good], np.flatnonzero(good), float(threshold.max())


def rounding(cone: Cone) -> float:
    """Return the relative rounding error of one step of `min_over_cone`: of ratio, product, sum and their sizes."""
    return float(2.0**-53 * (16 + 4 * cone.step.max(initial=0.0)))


def _least_everyone(r: Floats, step: float, unit: float) -> Floats:
    """Compute `min_over_cone` if all answers are neighbours."""
    # x is exp(step) where r is negative and 1 elsewhere
    value: Floats = np.where(r < 0, np.exp(step), 1.0) * r
    total: Floats = value.sum(axis=0) - (len(r) + 2) * unit * np.abs(value).sum(axis=0)
    return total


def _final_states(r: Floats, cone: Cone) -> Floats:
    """Return the costs of all states at the last answer."""
    # axes: the other level is above / below; it was seen 1, 2, ... answers ago, last: too long ago to matter
    depth = int(cone.memory.max(initial=0))
    return np.broadcast_to(r[-1], (2, depth + 1, r.shape[1]))


def _advance(V: Floats, cone: Cone, j: int) -> tuple[Floats, Moves]:
    """Compute the best continuation of every state at answer j, and its move: up (1), down (-1) or level (0)."""
    grow = np.exp(cone.step[j])
    up, down = grow * V[1, 0], V[0, 0] / grow
    turn, sign = np.minimum(up, down), np.where(up < down, 1, -1).astype(np.int8)
    if V.shape[1] == 1:  # a chain: staying is never better than the better of up and down
        return np.broadcast_to(turn, V.shape), np.broadcast_to(sign, V.shape)
    best = np.concatenate([V[:, 1:], V[:, -1:]], axis=1)
    bound = int(cone.memory[j])
    other = np.empty_like(best)
    other[0, :bound], other[1, :bound], other[:, bound:] = up, down, turn
    kind = np.empty(best.shape, np.int8)
    kind[0, :bound], kind[1, :bound], kind[:, bound:] = 1, -1, sign
    better = other < best
    return np.where(better, other, best), np.where(better, kind, 0).astype(np.int8)


def _trace_moves(moves: list[Moves], cone: Cone, count: int) -> Floats:
    """Follow the best moves from the first answer; return log x of the rays."""
    log_x = np.zeros((cone.size, count))
    below, ago = np.zeros(count, int), np.full(count, moves[0].shape[1] - 1)
    for j, move in enumerate(moves):
        c = move[below, ago, np.arange(count)].astype(int)
        log_x[j + 1] = log_x[j] + c * cone.step[j]
        ago = np.where(c == 0, np.minimum(ago + 1, move.shape[1] - 1), 0)
        below = np.where(c == 0, below, (c > 0).astype(int))
    return log_x

"""What a solver is asked: plain arrays, no query objects, no privacy promises.

Every route of the designer takes a `Problem` and returns a `Proposal`. A proposal is only that: the
exact repair and the checker turn it into a mechanism.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgeArrays:
    """Answers on a graph: P[i, tail] <= exp(epsilon * length) * P[i, head] for every edge and output i."""

    tails: Ints
    heads: Ints
    lengths: Floats


SPARE = 1e-11
"""Share of its largest loss by which a limit is kept tighter than asked: rounding to whole weights moves less."""


@dataclass(frozen=True, eq=False)
class LinearLimit:
    """Another expected loss that must stay below a bound: sum_i table[i, j] P[i, j] <= bound for every answer j
    (`each`), or on average under the prior, or under a prior of its own (`under`). table: not negative.
    spare: share of the largest loss by which a proposal keeps more than the bound."""

    table: Floats
    bound: float
    each: bool
    under: Floats | None = None
    spare: float = SPARE

    @property
    def inside(self) -> float:
        """The bound that a proposal keeps, so that the mechanism keeps the one that was asked for."""
        return self.bound - self.spare * float(self.table.max())

    def prior(self, prior: Floats) -> Floats:
        """The weights of the answers in its average."""
        return prior if self.under is None else self.under

    def weights(self, prior: Floats, multiplier: Floats) -> Floats:
        """What a multiplier (one per answer, or one) puts on each answer's loss."""
        return multiplier if self.each else multiplier * self.prior(prior)

    def values(self, P: Floats, prior: Floats) -> Floats:
        """The losses that the bound is for: one per answer, or one."""
        losses = (self.table * P).sum(axis=0)
        return losses if self.each else np.array([losses @ self.prior(prior)])


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimize a linear loss over matrices P[output, answer], columns summing to one, that are private.

    cliques: (start, stop, distance): for answers j, k in start..stop-1 and every output i,
        P[i, j] <= exp(epsilon * distance) * P[i, k]. Count: (j, j+2, 1) for every j; `AllPairs`: one
        clique over all answers; metric privacy: (j, j+2, gap) for every j.
    loss: loss[i, j] of reporting output i when the true answer is j; finite.
    prior: weights of the answers, non-negative, summing to one; unused when `worst`.
    worst: minimize the largest expected loss of any answer instead of the average.
    home: home[j] is the output whose cell holds answer j.
    below, above: row monotonicity of output i means: P[i, :below[i]] does not fall, P[i, above[i]:] does
        not rise (000 (12)-(13)). With one output per answer, below[i] = i + 1 and above[i] = i.
    properties: names of `inbounds.properties` to impose.
    limits: other losses that must stay below a bound.
    edges: of answers on a graph, which has no cliques.
    """

    epsilon: float
    cliques: tuple[tuple[int, int, float], ...]
    loss: Floats
    prior: Floats
    home: Ints
    below: Ints
    above: Ints
    worst: bool = False
    properties: frozenset[str] = field(default_factory=frozenset)
    limits: tuple[LinearLimit, ...] = ()
    edges: EdgeArrays | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.loss.shape

    def value(self, P: Floats) -> float:
        """What is minimized."""
        each = (self.loss * P).sum(axis=0)
        return float(each.max() if self.worst else each @ self.prior)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A route's answer: floats P (outputs x answers), and a proved lower bound on the best possible loss."""

    matrix: Floats
    bound: float
    route: str


# --- mirror images: when a problem is its own, an optimal matrix can be too, at no loss -----------------------


def is_mirror_symmetric(problem: Problem) -> bool:
    """Whether neighbourhood, loss and (for an average) prior read the same from both ends."""
    if problem.edges is not None:
        return False  # the numbers of answers on a graph mean nothing
    n = problem.shape[1]
    cliques = {(n - b, n - a, d) for a, b, d in problem.cliques} == set(problem.cliques)
    loss = np.array_equal(problem.loss, problem.loss[::-1, ::-1])
    return cliques and loss and (problem.worst or np.array_equal(problem.prior, problem.prior[::-1]))


def symmetrize(problem: Problem, P: Floats) -> Floats:
    """P itself, or its average with its mirror image if the problem is mirrored: the loss is the same (worst:
    no more)."""
    return (P + P[::-1, ::-1]) / 2 if is_mirror_symmetric(problem) else P


def fold_mirror(x: Floats, size: int) -> Floats:
    """What answers j and n-1-j have on average, for the first `size`: a ray and its mirror image as one column."""
    return np.asarray((x + x[::-1])[:size] / 2)


def unfold_mirror(y: Floats, answers: int) -> Floats:
    """The duals of all answers from those of the folded ones: the transpose of `fold_mirror`."""
    full = np.zeros(answers)
    full[: len(y)] = y / 2
    return full + full[::-1]

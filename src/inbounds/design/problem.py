"""The contract of every route: plain arrays, no query objects, no privacy guarantee.

A `Route` of the designer takes a `Problem` and returns a `Proposal`. A proposal becomes a mechanism only after
rounding to integer weights and the exact check.
"""

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inbounds.mechanism.origin import NO_GAP

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgeArrays:
    """Edges between answers: P[i, tail] <= exp(epsilon * length) * P[i, head] for every edge and output i."""

    tails: Ints
    heads: Ints
    lengths: Floats

    def is_mirrored(self, answers: int) -> bool:
        """Return whether the mirror image of every edge is an edge of the same length."""
        return self._lengths_by_ends() == self._mirror(answers)._lengths_by_ends()

    def with_mirror(self, answers: int) -> "EdgeArrays":
        """Return the edges and their mirror images, of two between the same answers the shorter.

        A symmetric matrix that keeps the ratios of the edges keeps those of their mirror images too.
        """
        lengths: dict[tuple[int, int], float] = {}
        for edges in (self, self._mirror(answers)):
            for ends, length in edges._lengths_by_ends().items():
                lengths[ends] = min(length, lengths.get(ends, length))
        tails, heads = np.array([*lengths], dtype=np.int64).T
        return EdgeArrays(tails, heads, np.array([*lengths.values()]))

    def _mirror(self, answers: int) -> "EdgeArrays":
        return EdgeArrays(answers - 1 - self.tails, answers - 1 - self.heads, self.lengths)

    def _lengths_by_ends(self) -> dict[tuple[int, int], float]:
        ends = zip(self.tails.tolist(), self.heads.tolist(), strict=True)
        return dict(zip(ends, self.lengths.tolist(), strict=True))


TIED = 1e-9
"""Relative gap between a limit and a bound that is the solver's inaccuracy."""

SPARE = 1e-11
"""Share of its largest loss by which a proposal keeps a limit tighter than required: rounding changes less."""


@dataclass(frozen=True, eq=False)
class LinearLimit:
    """Another expected loss that must stay below a bound: sum_i table[i, j] P[i, j] <= bound.

    It holds for every answer j (`per_answer`), or on average under the prior, or under the prior `under`.
    table: not negative. spare: share of the largest loss by which a proposal keeps the bound tighter.
    """

    table: Floats
    bound: float
    per_answer: bool
    under: Floats | None = None
    spare: float = SPARE

    @property
    def inside(self) -> float:
        """The tighter bound for proposals, so that the mechanism keeps `bound` after rounding."""
        return self.bound - self.spare * float(self.table.max())

    def is_out_of_reach(self, least: float) -> bool:
        """Return whether `least`, a lower bound of the limited loss, proves that no mechanism keeps the limit."""
        return least > self.bound * (1 + TIED)

    def prior(self, prior: Floats) -> Floats:
        """Return the weights of the answers in the average."""
        return prior if self.under is None else self.under

    def weights(self, prior: Floats, multiplier: Floats) -> Floats:
        """Return the weight that a multiplier (one per answer, or one) puts on each answer's loss."""
        return multiplier if self.per_answer else multiplier * self.prior(prior)

    def values(self, P: Floats, prior: Floats) -> Floats:
        """Return the losses that the bound limits: one per answer, or one."""
        losses = (self.table * P).sum(axis=0)
        return losses if self.per_answer else np.array([losses @ self.prior(prior)])


@dataclass(frozen=True, eq=False)
class Problem:
    """A request in numbers: minimize a linear loss over private matrices P[output, answer] with columns summing to one.

    cliques: (start, stop, distance): for answers j, k in start..stop-1 and every output i,
        P[i, j] <= exp(epsilon * distance) * P[i, k]. Count: (j, j+2, 1) for every j; `AllPairs`: one
        clique over all answers; metric privacy: (j, j+2, gap) for every j.
    loss: loss[i, j] of output i when the true answer is j; finite.
    prior: weights of the answers, non-negative, summing to one; unused when `worst`.
    worst: minimize the largest expected loss of any answer instead of the average.
    home: home[j] is the output whose cell holds answer j.
    below, above: row monotonicity of output i means: P[i, :below[i]] does not fall, P[i, above[i]:] does
        not rise (000 (12)-(13)). With one output per answer, below[i] = i + 1 and above[i] = i.
    properties: names of `inbounds.properties` to impose.
    limits: other losses that must stay below a bound.
    edges: for answers on a graph; then there are no cliques.
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
        """Return the objective: the average or largest expected loss."""
        losses = (self.loss * P).sum(axis=0)
        return float(losses.max() if self.worst else losses @ self.prior)


SAME = 1e-10
"""Losses that differ by less, relatively, are the same: of two such matrices the first is kept."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """The result of a route: floats P (outputs x answers), and a proved lower bound on the best possible loss.

    matrix: None if the route found none that has the properties and keeps the limits.
    least_excess: by how much every mechanism exceeds one of the limits, as a share of its largest loss; if that is
    positive, no mechanism keeps them.
    """

    matrix: Floats | None
    bound: float
    route: str
    least_excess: float = 0.0

    def improve(self, problem: Problem, other: "Proposal") -> "Proposal":
        """Return the better matrix of two proposals, the first if they are alike, with the better bounds."""
        best = self
        if other.matrix is not None:
            value = problem.value(other.matrix)
            if self.matrix is None or problem.value(self.matrix) - value > SAME * abs(value):
                best = other
        low, excess = max(self.bound, other.bound), max(self.least_excess, other.least_excess)
        return replace(best, bound=low, least_excess=excess)

    def is_closed(self, problem: Problem, gap: float = NO_GAP) -> bool:
        """Return whether the matrix is optimal up to a relative gap."""
        return self.matrix is not None and problem.value(self.matrix) - self.bound <= gap * abs(self.bound)


class Route(Protocol):
    """A way to solve problems of some kind. Most routes are modules with these three names.

    name: for people. accepts: whether the route is worth trying; cheap and exact, nothing is solved. solve: about until
    `deadline` (of `time.monotonic`); it always returns, and its bound always holds.
    """

    @property
    def name(self) -> str: ...
    def accepts(self, problem: Problem, /) -> bool: ...
    def solve(self, problem: Problem, /, deadline: float) -> Proposal: ...


# --- mirror images: a problem that equals its mirror image has an optimum that does too -----------------------


def is_mirror_symmetric(problem: Problem) -> bool:
    """Return whether neighbourhood, loss and (for an average) prior equal their mirror images."""
    if problem.edges is not None:
        return False  # the numbering of answers on a graph has no meaning
    n = problem.shape[1]
    cliques = {(n - b, n - a, d) for a, b, d in problem.cliques} == set(problem.cliques)
    loss = np.array_equal(problem.loss, problem.loss[::-1, ::-1])
    return cliques and loss and (problem.worst or np.array_equal(problem.prior, problem.prior[::-1]))


def symmetrize(problem: Problem, P: Floats) -> Floats:
    """Average P with its mirror image if the problem is mirror symmetric. The loss stays the same (worst: no more)."""
    return (P + P[::-1, ::-1]) / 2 if is_mirror_symmetric(problem) else P


def fold_mirror(x: Floats, size: int) -> Floats:
    """Average answers j and n-1-j, for the first `size` answers: a ray and its mirror image become one column."""
    return np.asarray((x + x[::-1])[:size] / 2)


def unfold_mirror(y: Floats, answers: int) -> Floats:
    """Expand the duals of folded answers to all answers: the transpose of `fold_mirror`."""
    full = np.zeros(answers)
    full[: len(y)] = y / 2
    return full + full[::-1]

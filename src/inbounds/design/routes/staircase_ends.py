"""Staircase noise on a wide range with properties that clamping would break: both ends are mended by a linear program.

Noise that leaves the range is reported as the end nearest to it, so an end is likelier than the truth of its
neighbours: `fair` and the column properties fail there, and only there. Here a noisy value near an end, or beyond it,
is reported by chance as one of the outputs near the end. That looks at the noisy value alone, so it is private whatever
the chances are. The matrix is linear in them, and so are its losses and its properties: a small linear program finds
the best ones.

Far from an end each column repeats an earlier one, exp(rate) times smaller with each reach, so the columns of two more
reaches stand for all of them.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, vstack

from inbounds.design.closed.noise import LIGHTEST, staircase_losses
from inbounds.design.problem import Floats, Ints, Problem
from inbounds.design.solver import highs

REACHES, FEWEST = (4, 8), 16
"""Reaches from an end whose outputs are mended, more if they do not suffice; fewest outputs."""

SPREAD = 1
"""Reaches that a noisy value inside the range may move; what lies beyond an end may move anywhere near it."""

MOST_ENTRIES = 1 << 22
"""Entries of the largest program: some fifteen seconds."""

UNITS = 4096.0
"""Sum of a column inside the solver, so that its absolute tolerance is far below what a property may be missed by."""

TIES = 1e-3
"""Weight of the average loss beside the worst."""

MENDED = frozenset(
    {"symmetric", "fair", "weakly_honest", "row_honest", "row_monotone", "column_honest", "column_monotone"}
)

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class _End:
    """The first `outputs` outputs of an endless range, and the columns 0..`columns`-1 that see them.

    sources[k, j]: probability of noisy value k under answer j; the last row is of all values below 0.
    """

    reach: int
    outputs: int
    columns: int
    weights: Floats
    sources: Floats

    @property
    def moves(self) -> Pairs:
        """The variables: noisy value `moves[1]` is reported as `moves[0]`."""
        i, k = np.divmod(np.arange(self.outputs * (self.outputs + 1)), self.outputs + 1)
        near = (np.abs(i - k) <= SPREAD * self.reach) | (k == self.outputs)
        return i[near], k[near]

    def noise(self, output: int, answers: Ints) -> Floats:
        """Return the probability of an inner output under some answers."""
        return np.asarray(self.weights[np.abs(output - answers)])


def mend_staircase(
    problem: Problem, reach: int, rate: float, losses: Floats, deadline: float = math.inf
) -> Floats | None:
    """Return a matrix with the properties and a small loss; None if they are not all MENDED, or nothing was found.

    problem: of a regular grid with one output for each answer. losses[e]: of an error of e steps, not falling.
    deadline: of `time.monotonic`. Cost: a small linear program, and a matrix.
    """
    size = len(losses)
    if not problem.properties <= MENDED:
        return None
    split = 1 + int(staircase_losses(losses, reach, rate).argmin())
    errors = np.arange(size + math.ceil(LIGHTEST * reach / rate))
    weights = np.exp(-rate * np.where(errors < split, 0, (errors - split) // reach + 1))
    weights /= weights[0] + 2 * math.fsum(weights[1:])
    if "weakly_honest" in problem.properties and weights[0] * size < 1:
        return None
    for reaches in REACHES:
        outputs = max(reaches * reach, FEWEST) + 1
        if 2 * (outputs + 2 * reach) > size:
            continue
        end = _make_end(weights, reach, outputs, outputs + 2 * reach)
        chances = _solve(end, problem, losses, deadline)
        if chances is not None:
            return _assemble(end, chances, size)
    return None


def _make_end(weights: Floats, reach: int, outputs: int, columns: int) -> _End:
    beyond = np.cumsum(weights[::-1])[::-1]
    answers = np.arange(len(weights) - 1)
    inner = weights[np.abs(np.arange(outputs)[:, None] - answers)]
    return _End(reach, outputs, columns, weights, np.vstack([inner, beyond[1:]]))


def _solve(end: _End, problem: Problem, losses: Floats, deadline: float) -> Floats | None:
    """Return the chances of the moves, or None if no chances give the properties, or the program is too large."""
    i, k = end.moves
    less, more, offset = _comparisons(end, problem.properties)
    variables = len(i)
    if (len(less[0]) + len(more[0])) * (variables // end.outputs) > MOST_ENTRIES:
        return None
    sums = csr_array((np.ones(variables), (k, np.arange(variables))), shape=(end.outputs + 1, variables))
    parts, lower, upper = [sums], [np.full(end.outputs + 1, UNITS)], [np.full(end.outputs + 1, UNITS)]
    if "fair" in problem.properties:
        truth = np.arange(end.outputs)
        parts.append(_rows(end, (truth, truth)))
        lower.append(np.full(end.outputs, UNITS * end.weights[0]))
        upper.append(lower[-1])
    if len(less[0]):
        parts.append(_rows(end, less) - _rows(end, more))
        lower.append(np.full(len(less[0]), -np.inf))
        upper.append(UNITS * offset)
    prior = np.zeros(end.sources.shape[1])
    known = min(len(problem.prior), len(prior))
    prior[:known] = 1.0 / known if problem.worst else ((problem.prior + problem.prior[::-1]) / 2)[:known]
    far = losses[np.minimum(np.abs(np.arange(end.outputs)[:, None] - np.arange(len(prior))), len(losses) - 1)]
    cost = ((far * prior) @ end.sources.T)[i, k]
    rows, least = csr_array(vstack(parts)), np.zeros(variables)
    cost = cost / max(float(np.abs(cost).max()), np.finfo(float).tiny)
    if problem.worst:  # one more variable: the share of the worst loss near the end in that far from it
        inner = _inner_loss(end, losses)
        top = csr_array(np.full((end.columns, 1), -inner))
        none = csr_array((rows.shape[0], 1))
        rows = csr_array(block_array([[rows, none], [_loss_rows(end, far), top]]))
        lower.append(np.full(end.columns, -np.inf))
        upper.append(-UNITS * _lost_further(end, losses))
        cost, least = np.append(TIES * cost, 1.0), np.append(least, UNITS)
    program = highs.solver()
    highs.load(program, cost, least, rows, np.concatenate(lower), np.concatenate(upper))
    if not highs.run(program, deadline):
        return None
    found = np.maximum(np.array(program.getSolution().col_value)[:variables], 0.0)
    chances = np.zeros((end.outputs, end.outputs + 1))
    chances[i, k] = found
    return np.asarray(chances / chances.sum(axis=0))


def _rows(end: _End, cells: Pairs) -> csr_array:
    """Return the probability of cells (output, answer) as rows over the moves; inner outputs have none."""
    i, k = end.moves
    outputs, answers = cells
    first = np.searchsorted(i, np.arange(end.outputs + 1))
    counts = np.where(outputs < end.outputs, np.diff(first)[np.minimum(outputs, end.outputs - 1)], 0)
    rows = np.repeat(np.arange(len(outputs)), counts)
    starts = np.cumsum(counts) - counts
    columns = np.arange(counts.sum()) - np.repeat(starts - first[np.minimum(outputs, end.outputs - 1)], counts)
    values = end.sources[k[columns], np.repeat(answers, counts)]
    return csr_array((values, (rows, columns)), shape=(len(outputs), len(i)))


def _comparisons(end: _End, properties: frozenset[str]) -> tuple[Pairs, Pairs, Floats]:
    """Return cells that must be at most other cells, and by how much the inner ones among the latter exceed the former.

    Inner outputs are known: their probabilities go to the right side.
    """
    m, columns = end.outputs, end.columns
    i, j = (x.ravel() for x in np.meshgrid(np.arange(m + 1), np.arange(columns), indexing="ij"))
    less, more = list[Ints](), list[Ints]()

    def demand(lesser_i: Ints, lesser_j: Ints, greater_i: Ints, greater_j: Ints) -> None:
        less.append(np.stack([lesser_i, lesser_j]))
        more.append(np.stack([greater_i, greater_j]))

    if "column_monotone" in properties:
        demand(i, j, i + np.sign(j - i), j)
    elif "column_honest" in properties:
        demand(i, j, j, j)
    if "row_monotone" in properties:
        demand(i, j, i, j + np.sign(i - j))
    elif "row_honest" in properties:
        demand(i, j, i, i)
    if "weakly_honest" in properties and "fair" not in properties:
        inner = np.full(m, m)
        demand(inner, inner, np.arange(m), np.arange(m))  # the inner truth is likely enough
    if not less:
        empty = np.empty(0, dtype=np.int64)
        return (empty, empty), (empty, empty), np.empty(0)
    lesser, greater = np.hstack(less), np.hstack(more)
    kept = (lesser != greater).any(axis=0) & ((lesser[0] < m) | (greater[0] < m))
    lesser, greater = lesser[:, kept], greater[:, kept]
    offset = _known(end, greater) - _known(end, lesser)
    return (lesser[0], lesser[1]), (greater[0], greater[1]), offset


def _known(end: _End, cells: Ints) -> Floats:
    """Return the probabilities of the inner outputs among some cells, zero for the others."""
    return np.where(cells[0] >= end.outputs, end.weights[np.abs(cells[0] - cells[1])], 0.0)


def _loss_rows(end: _End, far: Floats) -> csr_array:
    """Return the expected loss of the columns from the outputs near the end as rows over the moves."""
    i, k = end.moves
    values = far[i, : end.columns] * end.sources[k, : end.columns]
    return csr_array(values.T)


def _inner_loss(end: _End, losses: Floats) -> float:
    """Return the loss of an answer far from both ends."""
    known = losses[np.minimum(np.arange(len(end.weights)), len(losses) - 1)] * end.weights
    return float(known[0] + 2 * math.fsum(known[1:]))


def _lost_further(end: _End, losses: Floats) -> Floats:
    """Return the expected loss of the columns from inner outputs."""
    known = losses[np.minimum(np.arange(len(end.weights)), len(losses) - 1)] * end.weights
    above = np.append(np.cumsum(known[::-1])[::-1], 0.0)  # above[d]: from errors of d steps or more
    inwards = end.outputs - np.arange(end.columns)
    return np.where(
        inwards >= 0, above[np.maximum(inwards, 0)], above[0] + above[1] - above[np.maximum(1 - inwards, 1)]
    )


def _assemble(end: _End, chances: Floats, size: int) -> Floats:
    """Return the matrix: noise, with the outputs near both ends mended alike."""
    answers = np.arange(size)
    matrix = end.weights[np.abs(answers[:, None] - answers)]
    matrix[: end.outputs] = chances @ end.sources[:, :size]
    matrix[size - end.outputs :] = matrix[: end.outputs][::-1, ::-1]
    return np.asarray(matrix / matrix.sum(axis=0))

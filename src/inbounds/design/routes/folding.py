"""The linear program with equal cells merged: its variables and its rows, in P = scale * z.

- cells that must be equal (fairness, mirror images, plateaus) are one variable;
- P[i, j] = exp(-epsilon steps(i, j)) z[i, j], so far tails keep their relative accuracy;
- comparisons that others imply are dropped: in monotone rows, and in cliques expressed by their least cell.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from inbounds.design.comparisons import (
    CellInequalities,
    classes,
    drop_duplicates,
    hubs,
    is_foldable,
    privacy,
    property_comparisons,
    requested_properties,
    steps,
)
from inbounds.design.problem import Floats, Ints, LinearLimit, Problem
from inbounds.design.solver import highs

CAP = 12.0  # cells are scaled by exp(-12) at most: further out, one unit of scale costs more than it saves


@dataclass(frozen=True, eq=False)
class HubVariable:
    """A clique expressed by its least cell, mu <= P[i, j] <= factor mu, for the outputs that need it."""

    start: int
    stop: int
    factor: float
    outputs: Ints
    first: int  # variable of the first output's mu


@dataclass(frozen=True, eq=False)
class FoldedProgram:
    """The folded program: one variable per class of equal cells, then one per hub and output, then t if worst.

    cells: class of each cell; scale: P = scale * z for each class; compared: rows of the program, the
    first `linked` of them privacy and row monotonicity.
    """

    problem: Problem
    folded: bool
    cells: Ints
    scale: Floats
    compared: CellInequalities
    linked: int
    hubs: tuple["HubVariable", ...]

    @property
    def size(self) -> int:
        return len(self.scale)

    @property
    def variables(self) -> int:
        return self.size + sum(len(hub.outputs) for hub in self.hubs) + self.problem.worst

    def matrix(self, z: Floats) -> Floats:
        """Return P of a solution z."""
        P: Floats = (self.scale * z[: self.size])[self.cells].reshape(self.problem.shape)
        return P


def fold_program(problem: Problem) -> FoldedProgram:
    """Build the folded program of a request. O(outputs * answers * largest neighbourhood)."""
    properties, folded = requested_properties(problem), is_foldable(problem)
    equal = property_comparisons(problem, properties & {"fair", "row_honest", "row_monotone"})
    cells = classes(problem, equal, folded=folded)
    scale = np.zeros(cells.max() + 1)
    np.maximum.at(scale, cells, np.exp(-np.minimum(CAP, problem.epsilon * steps(problem))).ravel())
    hubbed = _hubs(problem, len(scale), folded=folded)
    linked = property_comparisons(problem, properties & {"row_monotone"})
    linked = drop_duplicates(linked if hubbed else privacy(problem) + linked, cells)
    merged = {"fair", "symmetric", "row_monotone", "weakly_honest"}
    other = drop_duplicates(property_comparisons(problem, properties - merged), cells)
    return FoldedProgram(problem, folded, cells, scale, linked + other, len(linked), hubbed)


def _hubs(problem: Problem, first: int, *, folded: bool) -> tuple[HubVariable, ...]:
    """List the hub variables; of two mirrored (clique, output) pairs one is enough."""
    m, n = problem.shape
    variables, outputs = [], np.arange(m)
    for a, b, d in hubs(problem):
        needed = outputs
        if folded:
            needed = outputs[: (m + 1) // 2] if a == n - b else outputs[: m if a < n - b else 0]
        variables.append(HubVariable(a, b, float(np.exp(problem.epsilon * d)), needed, first))
        first += len(needed)
    return tuple(variables)


# --- the rows, in P = scale * z -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProgramRows:
    """The constraints lower <= matrix z <= upper."""

    matrix: csr_array
    lower: Floats
    upper: Floats


def _at_least_zero(model: FoldedProgram, plus: tuple[Ints, Floats], minus: tuple[Ints, Floats]) -> ProgramRows:
    """Build rows plus_value z[plus] - minus_value z[minus] >= 0, one per entry, divided by the larger value."""
    (g, high), (x, low) = plus, minus
    norm = np.maximum(high, low)
    k = np.arange(len(g))
    place = (np.concatenate((k, k)), np.concatenate((g, x)))
    entries = np.concatenate((high / norm, -low / norm))
    matrix = coo_array((entries, place), shape=(len(k), model.variables)).tocsr()
    return ProgramRows(matrix, np.zeros(len(k)), np.full(len(k), np.inf))


def _comparison_rows(model: FoldedProgram, compared: CellInequalities, scale: Floats) -> ProgramRows:
    """Build the rows of comparisons between cells."""
    g, x = model.cells[compared.greater], model.cells[compared.lesser]
    return _at_least_zero(model, (g, compared.factor * scale[g]), (x, scale[x]))


def _hub_rows(model: FoldedProgram, hub: HubVariable, scale: Floats) -> list[ProgramRows]:
    """Build rows factor mu - P[i, j] >= 0, then P[i, j] - mu >= 0, for the hub's outputs i and answers j."""
    n = model.problem.shape[1]
    i, j = (v.ravel() for v in np.indices((len(hub.outputs), hub.stop - hub.start)))
    cell = model.cells[hub.outputs[i] * n + j + hub.start]
    mu, one, value = hub.first + i, np.ones(len(i)), scale[cell]
    return [
        _at_least_zero(model, (mu, hub.factor * one), (cell, value)),
        _at_least_zero(model, (cell, value), (mu, one)),
    ]


def _cell_rows(model: FoldedProgram, weight: Floats, scale: Floats) -> csr_array:
    """Build rows j: sum_i weight[i, j] P[i, j]."""
    m, n = model.problem.shape
    j = np.broadcast_to(np.arange(n), (m, n)).ravel()
    values = weight.ravel() * scale[model.cells]
    return coo_array((values, (j, model.cells)), shape=(n, model.variables)).tocsr()


def _column_rows(model: FoldedProgram, scale: Floats) -> ProgramRows:
    """Build the rows of column sums, which are MASS; of two mirrored columns one is enough."""
    m, n = model.problem.shape
    count = (n + 1) // 2 if model.folded else n
    mass = np.full(count, highs.MASS)
    return ProgramRows(_cell_rows(model, np.ones((m, n)), scale)[:count], mass, mass)


def _worst_rows(model: FoldedProgram, scale: Floats) -> ProgramRows:
    """Build rows t - sum_i loss[i, j] P[i, j] >= 0."""
    n = model.problem.shape[1]
    t = coo_array((np.ones(n), (np.arange(n), np.full(n, model.variables - 1))), (n, model.variables))
    matrix = csr_array(t.tocsr() - _cell_rows(model, model.problem.loss, scale))
    return ProgramRows(matrix, np.zeros(n), np.full(n, np.inf))


def _limit_rows(model: FoldedProgram, limit: LinearLimit, scale: Floats) -> ProgramRows:
    """Build rows sum_i table[i, j] P[i, j] <= bound for every answer j, or one row for their average."""
    n, prior = model.problem.shape[1], model.problem.prior
    matrix = _cell_rows(model, limit.table if limit.per_answer else limit.table * limit.prior(prior), scale)
    matrix = matrix if limit.per_answer else csr_array(csr_array(np.ones((1, n))) @ matrix)
    top = np.full(matrix.shape[0], highs.MASS * limit.inside)
    return ProgramRows(matrix, np.full(len(top), -np.inf), top)


def program_rows(model: FoldedProgram, scale: Floats) -> ProgramRows:
    """Build all rows, in the order that `linear_program` reads: columns, worst answers, limits, hubs, comparisons."""
    parts = [_column_rows(model, scale)]
    if model.problem.worst:
        parts.append(_worst_rows(model, scale))
    parts += [_limit_rows(model, limit, scale) for limit in model.problem.limits]
    for hub in model.hubs:
        parts += _hub_rows(model, hub, scale)
    parts.append(_comparison_rows(model, model.compared, scale))
    return ProgramRows(
        csr_array(vstack([part.matrix for part in parts])),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
    )


def costs(model: FoldedProgram, cell_costs: Floats, scale: Floats) -> Floats:
    """Compute the cost of each variable when cell [i, j] costs cell_costs[i, j]."""
    cost = np.zeros(model.variables)
    cost[: model.size] = np.bincount(model.cells, cell_costs.ravel() * scale[model.cells], model.size)
    return cost

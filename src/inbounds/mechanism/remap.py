"""The best randomized remap of a fixed mechanism for the worst-case loss, by a linear program."""

import numpy as np

from inbounds.errors import ConvergenceError, TooLarge
from inbounds.exact import Floats

LARGEST = 1 << 23
"""The most coefficients (outputs × guesses × answers); a laptop solves such a program in some seconds."""


def minimax_remap(matrix: Floats, loss: Floats) -> Floats:
    """Return R[guess, output], with columns that sum to one, that minimizes the largest expected loss of any answer.

    min t subject to sum_{g, i} R[g, i] · P[i, j] · loss[g, j] <= t for every answer j (004 OPT2 with the noise
    fixed). matrix: P[output, answer]; loss[guess, answer]. Every row of losses is dense: O(n³) coefficients.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    outputs, answers = matrix.shape
    guesses = len(loss)
    if outputs * guesses * answers > LARGEST:
        raise TooLarge("a remap for worst-case users is only found up to about 200 answers; use coarser answers")
    scale = float(loss.max()) or 1.0
    losses = np.einsum("ij,gj->jgi", matrix, loss / scale).reshape(answers, guesses * outputs)
    loss_rows = np.hstack([losses, -np.ones((answers, 1))])
    column = np.arange(guesses * outputs)
    column_sums = coo_array((np.ones(len(column)), (column % outputs, column)), shape=(outputs, len(column) + 1))
    cost = np.append(np.zeros(len(column)), 1.0)
    solution = linprog(cost, loss_rows, np.zeros(answers), column_sums.tocsr(), np.ones(outputs), method="highs")
    if solution.status != 0:
        raise ConvergenceError(f"the remap for worst-case users was not found: {solution.message}")
    R = np.maximum(solution.x[:-1].reshape(guesses, outputs), 0.0)
    return np.asarray(R / R.sum(axis=0))

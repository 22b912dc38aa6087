"""The remap for users who fear the worst answer: a linear program around a fixed mechanism."""

import numpy as np

from inbounds.errors import ConvergenceError, TooLarge
from inbounds.exact import Floats

LARGEST = 1 << 23
"""Coefficients of the program (outputs × guesses × answers) that a laptop solves in some seconds."""


def minimax_remap(matrix: Floats, loss: Floats) -> Floats:
    """R[guess, output], columns summing to one, with the least worst loss of any answer.

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
    bounded = np.hstack([losses, -np.ones((answers, 1))])
    column = np.arange(guesses * outputs)
    one = coo_array((np.ones(len(column)), (column % outputs, column)), shape=(outputs, len(column) + 1))
    cost = np.append(np.zeros(len(column)), 1.0)
    found = linprog(cost, bounded, np.zeros(answers), one.tocsr(), np.ones(outputs), method="highs")
    if found.status != 0:
        raise ConvergenceError(f"the remap for worst-case users was not found: {found.message}")
    R = np.maximum(found.x[:-1].reshape(guesses, outputs), 0.0)
    return np.asarray(R / R.sum(axis=0))

"""The least favourable prior for a choice among several designs."""

import numpy as np

from inbounds.design.problem import Floats


def hardest_mixture(losses: Floats) -> Floats:
    """Find the mixture of priors under which the best of the designs (rows) loses most: a small linear program.

    losses[d, k]: loss of design d under prior k.
    """
    from scipy.optimize import linprog

    count = losses.shape[1]
    cost = np.append(np.zeros(count), -1.0)
    inequalities = np.hstack([-losses, np.ones((len(losses), 1))])  # value <= mixture · losses of every design
    sum_row = np.append(np.ones(count), 0.0)[None, :]
    solution = linprog(
        cost, inequalities, np.zeros(len(losses)), sum_row, [1.0], bounds=[(0, None)] * count + [(None, None)]
    )
    weights = np.maximum(solution.x[:-1], 0.0)
    return np.asarray(weights / weights.sum())

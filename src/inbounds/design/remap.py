"""The prior under which the best of several designs loses most."""

import numpy as np

from inbounds.design.problem import Floats


def hardest_mixture(losses: Floats) -> Floats:
    """The mixture of priors under which the best of the designs (rows) loses most: a small linear program."""
    from scipy.optimize import linprog

    count = losses.shape[1]
    cost = np.append(np.zeros(count), -1.0)
    above = np.hstack([-losses, np.ones((len(losses), 1))])  # value <= mixture · losses of every design
    one = np.append(np.ones(count), 0.0)[None, :]
    found = linprog(cost, above, np.zeros(len(losses)), one, [1.0], bounds=[(0, None)] * count + [(None, None)])
    weights = np.maximum(found.x[:-1], 0.0)
    return np.asarray(weights / weights.sum())

"""The least favourable prior for a choice among several designs."""

import numpy as np

from inbounds.design.problem import Floats


def hardest_mixture(losses: Floats) -> Floats:
    """Find the mixture of priors under which the best of the designs (rows) loses most; see `solve_game`."""
    return solve_game(losses)[0]


def solve_game(losses: Floats) -> tuple[Floats, Floats, float]:
    """Solve the game of designs (rows) against priors (columns): a small linear program.

    losses[d, k]: loss of design d under prior k. Returns the mixture of priors under which the best design loses most,
    the mixture of designs that loses least under the worst prior, and that loss.
    """
    from scipy.optimize import linprog

    count = losses.shape[1]
    cost = np.append(np.zeros(count), -1.0)
    inequalities = np.hstack([-losses, np.ones((len(losses), 1))])  # value <= mixture · losses of every design
    sum_row = np.append(np.ones(count), 0.0)[None, :]
    solution = linprog(
        cost, inequalities, np.zeros(len(losses)), sum_row, [1.0], bounds=[(0, None)] * count + [(None, None)]
    )
    priors, designs = np.maximum(solution.x[:-1], 0.0), np.maximum(-solution.ineqlin.marginals, 0.0)
    return np.asarray(priors / priors.sum()), np.asarray(designs / designs.sum()), float(solution.x[-1])

"""Mirror images: when a problem is its own, an optimal matrix can be too, at no loss."""

import numpy as np

from inbounds.design.problem import Floats, Problem


def mirrored(problem: Problem) -> bool:
    """Whether neighbourhood, loss and (for an average) prior read the same from both ends."""
    n = problem.shape[1]
    cliques = {(n - b, n - a, d) for a, b, d in problem.cliques} == set(problem.cliques)
    loss = np.array_equal(problem.loss, problem.loss[::-1, ::-1])
    return cliques and loss and (problem.worst or np.array_equal(problem.prior, problem.prior[::-1]))


def settled(problem: Problem, P: Floats) -> Floats:
    """P itself, or its average with its mirror image if the problem is mirrored: the loss is the same (worst:
    no more)."""
    return (P + P[::-1, ::-1]) / 2 if mirrored(problem) else P

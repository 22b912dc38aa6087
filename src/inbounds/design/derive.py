"""Can one mechanism be had from another by renaming its outputs at random?"""

from dataclasses import dataclass

import numpy as np

from inbounds.design.closed.geometric import truncated_matrix
from inbounds.errors import NotConverged
from inbounds.mechanism import Mechanism
from inbounds.numbers import Floats
from inbounds.query import Reach

NEGLIGIBLE = 1e-8
"""Probability by which a remap may miss and still count; the linear program is accurate to less."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """Whether `remap` (columns sum to one) turns the finer mechanism into the coarser one, and how closely.

    distance: the largest total variation, over the true answers, between remap @ finer and the coarser mechanism.
    """

    remap: Floats
    distance: float

    def __bool__(self) -> bool:
        return self.distance <= NEGLIGIBLE


def derivable(mechanism: Mechanism) -> Refinement:
    """Is the mechanism the geometric one with its output remapped? (Gupte, Sundararajan 2010, Theorem 2.)

    For counts with a = exp(-epsilon), the geometric matrix G is invertible, so the only candidate is R = P·G^-1:
    R[i, k] is (1 + a²)·P[i, k] - a·(P[i, k-1] + P[i, k+1]) up to a positive factor, and the mechanism is derivable
    exactly when no entry is negative. When some are, the remap returned is the candidate with negative entries
    removed, and `distance` says how far off it is. O(outputs · answers).
    """
    query = mechanism.query
    if query.neighbours != Reach(1) or not query.answers.regular:
        raise ValueError("derivable must be asked of a count: answers one step apart are neighbours")
    a, P = float(np.exp(-float(mechanism.epsilon))), mechanism.matrix
    padded = np.pad(P, ((0, 0), (1, 1)))
    middle = np.full(P.shape[1], 1 + a * a)
    middle[[0, -1]] = 1.0
    share = np.full(P.shape[1], (1 - a) * (1 - a))  # (1 - a²) · G's row factor (1 - a) / (1 + a)
    share[[0, -1]] = 1 - a
    candidate = (middle * P - a * (padded[:, :-2] + padded[:, 2:])) / share
    remap = np.maximum(candidate, 0.0)
    remap /= remap.sum(axis=0)
    finer = truncated_matrix(len(query.answers), float(mechanism.epsilon))
    return Refinement(remap, _distance(remap @ finer, P))


def refines(finer: Mechanism, coarser: Mechanism) -> Refinement:
    """Can `coarser` be had from `finer` by any random remap of its outputs? A linear program finds the closest one.

    Minimizes sum |R·A - B| over column-stochastic R; it is zero exactly when A can simulate B, in which case B
    preserves no more information than A (000 §3.1, the axiom of sufficiency). Outputs² variables.
    """
    if finer.query.answers != coarser.query.answers or finer.query.labels != coarser.query.labels:
        raise ValueError("refines needs two mechanisms for the same true answers")
    remap = _closest_remap(finer.matrix, coarser.matrix)
    return Refinement(remap, _distance(remap @ finer.matrix, coarser.matrix))


def _closest_remap(finer: Floats, coarser: Floats) -> Floats:
    """Column-stochastic R with the least sum |R·finer - coarser|: R by rows, then both parts of the deviation."""
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array, kron

    (targets, answers), sources = coarser.shape, len(finer)
    deviation = eye_array(targets * answers)
    sums = kron(np.ones((1, targets)), eye_array(sources))
    equations = block_array(
        [[kron(eye_array(targets), csr_array(finer.T)), deviation, -deviation], [sums, None, None]], format="csr"
    )
    cost = np.repeat([0.0, 1.0], [targets * sources, 2 * targets * answers])
    right = np.concatenate([coarser.ravel(), np.ones(sources)])
    accurate = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_eq=equations, b_eq=right, method="highs-ds", options=accurate)
    if found.x is None:
        raise NotConverged("the search for a remap did not end; try mechanisms with fewer outputs")
    remap = np.maximum(found.x[: targets * sources].reshape(targets, sources), 0.0)
    return np.asarray(remap / remap.sum(axis=0))


def _distance(made: Floats, wanted: Floats) -> float:
    return float(np.abs(made - wanted).sum(axis=0).max() / 2)

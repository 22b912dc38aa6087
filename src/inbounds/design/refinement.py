"""Comparisons of mechanisms: whether one can be derived from another, and whose outputs are closer to the truth."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.design.closed.geometric import truncated_matrix
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats
from inbounds.mechanism import PROPERTY_UNITS, Mechanism, check_mechanism
from inbounds.query import Reach
from inbounds.trusted.bounds import TOTAL

NEGLIGIBLE = 1e-8
"""Largest distance at which a remap counts as exact; the linear program is more accurate."""


@dataclass(frozen=True, eq=False)
class Refutation:
    """A loss and a prior under which the coarser mechanism is better.

    loss: outputs of the coarser mechanism × answers, between 0 and 1. finer: the least loss of the finer mechanism with
    any remap. coarser: the loss of the coarser mechanism.
    """

    loss: Floats
    prior: Floats
    finer: float
    coarser: float


@dataclass(frozen=True, eq=False)
class RefinementResult:
    """Whether `remap` (columns sum to one) turns the finer mechanism into the coarser one, and how closely.

    distance: the largest total variation, over the true answers, between remap @ finer and the coarser mechanism.
    refutation: if there is no such remap, a loss and a prior that prefer the coarser mechanism.
    """

    remap: Floats
    distance: float
    refutation: Refutation | None = None

    def __bool__(self) -> bool:
        return self.distance <= NEGLIGIBLE


def is_derivable(mechanism: Mechanism) -> RefinementResult:
    """Test whether the mechanism is the geometric one with its output remapped (Gupte, Sundararajan 2010, Theorem 2).

    For counts with a = exp(-epsilon), the geometric matrix G is invertible, so the only candidate is R = P·G^-1:
    R[i, k] is (1 + a²)·P[i, k] - a·(P[i, k-1] + P[i, k+1]) up to a positive factor, and the mechanism is derivable
    exactly when no entry is negative. When some are, the remap returned is the candidate with negative entries
    removed, and `distance` says how far off it is. O(outputs · answers).
    """
    check_mechanism(mechanism)
    query = mechanism.query
    if query.neighbours != Reach(1) or not query.answers.is_regular:
        raise ValueError("derivable needs a count, in which answers one step apart are neighbours")
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
    return RefinementResult(remap, _total_variation(remap @ finer, P))


def check_refinement(finer: Mechanism, coarser: Mechanism) -> RefinementResult:
    """Test whether `finer` is at least as good as `coarser` for every loss and prior; certify or refute it.

    This holds exactly when `coarser` is `finer` followed by a random remap R of its outputs (Blackwell 1951; 000 §3.1,
    the axiom of sufficiency). A linear program minimizes sum |R·A - B|. At zero, R is the certificate. Otherwise the
    program's multipliers Y, which are between -1 and 1, are the refutation: under a uniform prior and the loss
    (1 - Y) / 2 the coarser mechanism loses less than the finer one with any remap. Outputs² variables.
    """
    check_mechanism(finer, "finer")
    check_mechanism(coarser, "coarser")
    if finer.query.answers != coarser.query.answers or finer.query.labels != coarser.query.labels:
        raise ValueError("refines needs two mechanisms for the same true answers")
    remap, multipliers = _closest_remap(finer.matrix, coarser.matrix)
    distance = _total_variation(remap @ finer.matrix, coarser.matrix)
    refutation = None if distance <= NEGLIGIBLE else _refutation(finer.matrix, coarser.matrix, multipliers)
    return RefinementResult(remap, distance, refutation)


def _refutation(finer: Floats, coarser: Floats, multipliers: Floats) -> Refutation | None:
    """Return the loss and prior of the multipliers, or None if rounding hides the difference."""
    loss, n = (1 - np.clip(multipliers, -1, 1)) / 2, finer.shape[1]
    best = float((loss @ finer.T).min(axis=0).sum()) / n
    reached = float((loss * coarser).sum()) / n
    return Refutation(loss, np.full(n, 1 / n), best, reached) if reached < best else None


def _closest_remap(finer: Floats, coarser: Floats) -> tuple[Floats, Floats]:
    """Find the column-stochastic R with the least sum |R·finer - coarser|, and the multipliers of R·finer + … =
    coarser.

    Variables: R by rows, then both parts of the deviation.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array, kron

    (targets, answers), sources = coarser.shape, len(finer)
    deviation = eye_array(targets * answers)
    sums = kron(np.ones((1, targets)), eye_array(sources))
    equations = block_array(
        [[kron(eye_array(targets), csr_array(finer.T)), deviation, -deviation], [sums, None, None]], format="csr"
    )
    cost = np.repeat([0.0, 1.0], [targets * sources, 2 * targets * answers])
    right_side = np.concatenate([coarser.ravel(), np.ones(sources)])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solution = linprog(cost, A_eq=equations, b_eq=right_side, method="highs-ds", options=options)
    if solution.x is None:
        raise ConvergenceError("the search for a remap did not end; try mechanisms with fewer outputs")
    remap = np.maximum(solution.x[: targets * sources].reshape(targets, sources), 0.0)
    multipliers = np.asarray(solution.eqlin.marginals[: targets * answers]).reshape(targets, answers)
    return np.asarray(remap / remap.sum(axis=0)), multipliers


@dataclass(frozen=True)
class ClosenessResult:
    """Whether the outputs of one mechanism are closer to the truth than another's, for every true answer and distance.

    If not: a true answer and a distance, and the probability of each mechanism to be off by more than that. With loss
    `ib.threshold_loss(distance)` and all prior weight on the answer, the second mechanism is better.
    """

    answer: Fraction | None = None
    distance: Fraction | None = None
    first: Fraction = Fraction(0)
    second: Fraction = Fraction(0)

    def __bool__(self) -> bool:
        return self.answer is None


def compare_closeness(first: Mechanism, second: Mechanism) -> ClosenessResult:
    """Test whether `first` is smaller than `second` in the order of 000, Definition 7.

    That is: for every answer, moving the outputs of `second` towards the truth can give those of `first`, or
    Pr[|output - answer| > d] is nowhere larger, for any answer and d. Then `first` loses no more for every prior and
    every loss that does not fall as the error grows, without remaps (Theorem 3). So a mechanism that is optimal for one
    such loss is minimal in this order (Corollary 1). Computed in integer weights, up to 2^-40 of probability for
    rounding. O(outputs · answers).
    """
    check_mechanism(first, "first")
    check_mechanism(second, "second")
    if first.query.answers != second.query.answers or not first.query.is_ordered or not second.query.is_ordered:
        raise ValueError("closer needs two mechanisms for the same true answers, and answers with distances")
    for j, answer in enumerate(first.query.answers):
        first_weights, second_weights = (_weights_by_distance(mechanism, j, answer) for mechanism in (first, second))
        first_tail = second_tail = 0  # the weight of outputs beyond the distance, which falls
        for distance in sorted({*first_weights, *second_weights}, reverse=True):
            if first_tail > second_tail + PROPERTY_UNITS:
                return ClosenessResult(answer, distance, Fraction(first_tail, TOTAL), Fraction(second_tail, TOTAL))
            first_tail, second_tail = (
                first_tail + first_weights.get(distance, 0),
                second_tail + second_weights.get(distance, 0),
            )
    return ClosenessResult()


def _weights_by_distance(mechanism: Mechanism, j: int, answer: Fraction) -> dict[Fraction, int]:
    """Sum the weights of outputs by their distance from an answer."""
    weights: dict[Fraction, int] = {}
    for value, weight in zip(mechanism.query.outputs.values, mechanism.weights[:, j].tolist(), strict=True):
        weights[abs(value - answer)] = weights.get(abs(value - answer), 0) + weight
    return weights


def _total_variation(actual: Floats, target: Floats) -> float:
    """Return the largest total variation between columns."""
    return float(np.abs(actual - target).sum(axis=0).max() / 2)

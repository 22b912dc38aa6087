"""The order between mechanisms: what can be had from what, and whose reports are closer to the truth."""

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
"""Probability by which a remap may miss and still count; the linear program is accurate to less."""


@dataclass(frozen=True, eq=False)
class Refutation:
    """A loss table (outputs of the coarser mechanism × answers, between 0 and 1) and a prior under which a user of the
    coarser mechanism does better: `finer` is the least loss that any reading of the finer one has, `coarser` the loss
    of the coarser one as it is."""

    loss: Floats
    prior: Floats
    finer: float
    coarser: float


@dataclass(frozen=True, eq=False)
class RefinementResult:
    """Whether `remap` (columns sum to one) turns the finer mechanism into the coarser one, and how closely.

    distance: the largest total variation, over the true answers, between remap @ finer and the coarser mechanism.
    refuted: where there is no such remap, a loss and a prior that prefer the coarser mechanism.
    """

    remap: Floats
    distance: float
    refuted: Refutation | None = None

    def __bool__(self) -> bool:
        return self.distance <= NEGLIGIBLE


def is_derivable(mechanism: Mechanism) -> RefinementResult:
    """Is the mechanism the geometric one with its output remapped? (Gupte, Sundararajan 2010, Theorem 2.)

    For counts with a = exp(-epsilon), the geometric matrix G is invertible, so the only candidate is R = P·G^-1:
    R[i, k] is (1 + a²)·P[i, k] - a·(P[i, k-1] + P[i, k+1]) up to a positive factor, and the mechanism is derivable
    exactly when no entry is negative. When some are, the remap returned is the candidate with negative entries
    removed, and `distance` says how far off it is. O(outputs · answers).
    """
    check_mechanism(mechanism)
    query = mechanism.query
    if query.neighbours != Reach(1) or not query.answers.is_regular:
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
    return RefinementResult(remap, _distance(remap @ finer, P))


def check_refinement(finer: Mechanism, coarser: Mechanism) -> RefinementResult:
    """Is `finer` at least as good as `coarser` for every loss and every prior? With a certificate, or a refutation.

    It is exactly when `coarser` can be had from `finer` by a random remap R of its outputs (Blackwell 1951; 000 §3.1,
    the axiom of sufficiency). A linear program minimizes sum |R·A - B|. At zero, R is the certificate. Otherwise the
    program's multipliers Y, which are between -1 and 1, are the refutation: under a uniform prior and the loss
    (1 - Y) / 2 the coarser mechanism as it is loses less than the finer one however it is read. Outputs² variables.
    """
    check_mechanism(finer, "finer")
    check_mechanism(coarser, "coarser")
    if finer.query.answers != coarser.query.answers or finer.query.labels != coarser.query.labels:
        raise ValueError("refines needs two mechanisms for the same true answers")
    remap, multipliers = _closest_remap(finer.matrix, coarser.matrix)
    distance = _distance(remap @ finer.matrix, coarser.matrix)
    refuted = None if distance <= NEGLIGIBLE else _refutation(finer.matrix, coarser.matrix, multipliers)
    return RefinementResult(remap, distance, refuted)


def _refutation(finer: Floats, coarser: Floats, multipliers: Floats) -> Refutation | None:
    """The loss and prior that multipliers stand for, or None where rounding leaves nothing of the difference."""
    loss, n = (1 - np.clip(multipliers, -1, 1)) / 2, finer.shape[1]
    best = float((loss @ finer.T).min(axis=0).sum()) / n
    own = float((loss * coarser).sum()) / n
    return Refutation(loss, np.full(n, 1 / n), best, own) if own < best else None


def _closest_remap(finer: Floats, coarser: Floats) -> tuple[Floats, Floats]:
    """Column-stochastic R with the least sum |R·finer - coarser|, and the multipliers of R·finer + … = coarser.

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
    right = np.concatenate([coarser.ravel(), np.ones(sources)])
    accurate = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_eq=equations, b_eq=right, method="highs-ds", options=accurate)
    if found.x is None:
        raise ConvergenceError("the search for a remap did not end; try mechanisms with fewer outputs")
    remap = np.maximum(found.x[: targets * sources].reshape(targets, sources), 0.0)
    multipliers = np.asarray(found.eqlin.marginals[: targets * answers]).reshape(targets, answers)
    return np.asarray(remap / remap.sum(axis=0)), multipliers


@dataclass(frozen=True)
class ClosenessResult:
    """Whether one mechanism's reports are closer to the truth than another's, for every true answer and distance.

    Where they are not: a true answer and a distance, and how likely each mechanism is to be off by more than it. With
    loss `ib.threshold_loss(distance)` and a prior that is sure of the answer, the second is the better one.
    """

    answer: Fraction | None = None
    distance: Fraction | None = None
    first: Fraction = Fraction(0)
    second: Fraction = Fraction(0)

    def __bool__(self) -> bool:
        return self.answer is None


def compare_closeness(first: Mechanism, second: Mechanism) -> ClosenessResult:
    """Is `first` smaller than `second` in the order of 000, Definition 7: can the reports of `second` be moved towards
    the truth to become those of `first`, whatever the truth is?

    That is: Pr[|report - answer| > d] is nowhere larger, for any answer and d. Then `first` loses no more for every
    loss that does not fall as the error grows and every prior, both taken as they are reported (Theorem 3); so what is
    optimal for one such loss is minimal in this order (Corollary 1). In whole weights, up to 2^-40 of probability:
    what rounding may add. O(outputs · answers).
    """
    check_mechanism(first, "first")
    check_mechanism(second, "second")
    if first.query.answers != second.query.answers or not first.query.is_ordered or not second.query.is_ordered:
        raise ValueError("closer needs two mechanisms for the same true answers, and answers with distances")
    for j, answer in enumerate(first.query.answers):
        near, far = (_distances(mechanism, j, answer) for mechanism in (first, second))
        one = two = 0  # the weight of reports beyond the distance, which falls
        for distance in sorted({*near, *far}, reverse=True):
            if one > two + PROPERTY_UNITS:
                return ClosenessResult(answer, distance, Fraction(one, TOTAL), Fraction(two, TOTAL))
            one, two = one + near.get(distance, 0), two + far.get(distance, 0)
    return ClosenessResult()


def _distances(mechanism: Mechanism, j: int, answer: Fraction) -> dict[Fraction, int]:
    """The weight of every distance that reports can have from an answer."""
    found: dict[Fraction, int] = {}
    for value, weight in zip(mechanism.query.outputs.values, mechanism.weights[:, j].tolist(), strict=True):
        found[abs(value - answer)] = found.get(abs(value - answer), 0) + weight
    return found


def _distance(made: Floats, wanted: Floats) -> float:
    return float(np.abs(made - wanted).sum(axis=0).max() / 2)

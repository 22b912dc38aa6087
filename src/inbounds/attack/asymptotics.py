"""The limit of many answers: closed approximations, the loss that remains, and how fast the rest vanishes.

The paper's approximations (004 (16)-(18)) are for unbounded noise on a continuous answer. In a bounded range with
finitely many answers the limit is different and exact: two answers with different columns can be told apart with an
error that falls exponentially, at the rate of their Chernoff information; answers with equal columns never can.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from inbounds.attack.collusion import Estimator, check_reports
from inbounds.catalog.registry import REGISTRY, UnboundedNoise
from inbounds.catalog.unbounded import expected_error, median_error
from inbounds.exact import Floats, Ints, Number, to_epsilon, to_fraction, to_int
from inbounds.losses import ErrorLoss, Loss, LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import Mechanism

SAME = 1e-12
"""Columns closer than this in total variation count as equal: some 10^12 answers are needed to tell them apart."""


def approximate_loss(family: UnboundedNoise, epsilon: Number, answers: int, scale: Number = 1) -> float:
    """Return the expected |error| of the median of k answers with unbounded noise, for large k: 004 (16)-(18).

    The sample median is nearly normal with deviation 1/(2·f(0)·sqrt(k)), f the density of the noise, and
    E|N(0, s)| = s·sqrt(2/pi). With a = exp(-epsilon):

        laplace    sqrt(2/(pi k)) / epsilon               (16)
        staircase  sqrt(2/(pi k)) · sqrt(a)/(1-a)         (17)
        geometric  (1+a)/(1-a) / sqrt(2 pi k)             (18), treating the integers as a continuum

    scale: the sensitivity for (16) and (17), the grid step for (18) with epsilon per step.
    """
    e, k = float(to_epsilon(epsilon)), to_int(answers, "answers", 1)
    a, one_less = math.exp(-e), -math.expm1(-e)
    match family:
        case "laplace":
            half_width = 1 / e
        case "staircase":
            half_width = math.sqrt(a) / one_less
        case "geometric":
            half_width = (1 + a) / one_less / 2
        case _:
            raise ValueError(f"family must be 'laplace', 'staircase' or 'geometric', got {family!r}")
    return float(to_fraction(scale, "scale")) * math.sqrt(2 / (math.pi * k)) * half_width


def epsilon_for(
    epsilon: Number,
    answers: int,
    *,
    keeps: Literal["guarantee", "error"] = "guarantee",
    family: UnboundedNoise = "geometric",
) -> Fraction:
    """Return the epsilon of each of k answers to one question, for k people who put them together.

    keeps="guarantee": all answers together promise `epsilon`, so each gets epsilon/k. keeps="error": the median of k
    answers with unbounded noise of the family errs as much as one answer at `epsilon` does (004 §5.3.1 proposes to
    redefine the level like that). That is an accuracy, **not** a promise: together the answers promise k times the
    result. It is rounded down to six digits. On a finite range use `simulate_collusion`, which is exact there.

    >>> epsilon_for("0.5", 10), epsilon_for("0.5", 10, keeps="error")
    (Fraction(1, 20), Fraction(80693, 500000))
    """
    bound, k = to_epsilon(epsilon), to_int(answers, "answers", 1)
    if keeps not in ("guarantee", "error"):
        raise ValueError(f"keeps must be 'guarantee' or 'error', got {keeps!r}")
    if keeps == "guarantee":
        return to_epsilon(bound / k)
    least = expected_error(family, bound) * (1 - 1e-9)  # beyond the errors of integration
    digits = 10 ** (5 - math.floor(math.log10(bound)))
    low, high = 0, math.floor(bound * digits)  # the error falls as epsilon grows; one answer errs most
    if median_error(family, bound, k) >= least:
        return bound
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if median_error(family, Fraction(middle, digits), k) >= least else (low, middle)
    return to_epsilon(Fraction(low, digits))


def approximation_for(mechanism: Mechanism, answers: int) -> float | None:
    """Return the approximation for a mechanism of the catalog, in units of its answers; None if there is none."""
    check_reports(mechanism)
    entry = REGISTRY.get(mechanism.origin.name)
    if entry is None or entry.noise is None:
        return None
    family = entry.noise
    query = mechanism.query
    if family == "geometric":
        return approximate_loss(family, mechanism.epsilon / query.steps, answers, query.answers.unit)
    return approximate_loss(family, mechanism.epsilon, answers, query.sensitivity)


@dataclass(frozen=True)
class Limit:
    """The loss that remains after unlimited answers, and the rate at which it is approached.

    floor: by estimator, the loss of someone who knows the column exactly. groups: the number of different columns.
    rate: the least Chernoff information between different columns, in nats per answer; the excess over the floor of the
    best guess falls like exp(-rate·k). Infinity if there is only one column.
    """

    floor: dict[Estimator, float]
    groups: int
    rate: float

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the rate is null if there is only one column."""
        rate = self.rate if math.isfinite(self.rate) else None
        return {"floor": self.floor, "different_columns": self.groups, "rate": rate}


def loss_limit(mechanism: Mechanism, loss: LossLike = "absolute", prior: Prior = None) -> Limit:
    """Compute the loss that remains however often a mechanism answers.

    Pre-rounded answers share columns, hence a floor (004 §5.2.3, remark 4). The median has another floor if the median
    of a column is not its answer: an effect of the finite range under strong privacy near the ends. Cost: answers² ·
    outputs.

    >>> from inbounds import catalog, count
    >>> found = loss_limit(catalog.truncated_geometric(count(4), 1))
    >>> found.floor["guess"], round(found.rate, 3)
    (0.0, 0.12)
    """
    check_reports(mechanism)
    weights, loss_object = to_prior(prior, mechanism.query), to_loss(loss)
    group = _groups(mechanism.matrix)
    floor = _floors(loss_object.guesses(mechanism.query), group, weights)
    if mechanism.query.is_ordered:
        floor["median"] = _median_floor(mechanism, loss_object, weights)
        if isinstance(loss_object, ErrorLoss):
            floor["mean"] = _mean_floor(mechanism, loss_object, group, weights)
    first = np.unique(group, return_index=True)[1]
    return Limit(floor, len(first), _rate(mechanism.matrix[:, first]))


def _groups(matrix: Floats) -> Ints:
    """Return for every answer the first answer with the same column."""
    first = np.arange(matrix.shape[1])
    for j in range(matrix.shape[1]):
        distances = np.abs(matrix[:, :j] - matrix[:, [j]]).sum(axis=0) / 2
        same = np.flatnonzero(distances <= SAME)
        first[j] = first[same[0]] if len(same) else j
    return first


def _floors(losses: Floats, group: Ints, prior: Floats) -> "dict[Estimator, float]":
    """Return the losses of someone who knows only the group: of its best member under the prior, and its middle
    member.
    """
    best_loss = middle_loss = 0.0
    for leader in np.unique(group):
        members = np.flatnonzero(group == leader)
        costs = losses[:, members] @ prior[members]
        best_loss += float(costs.min())
        middle_loss += float(costs[members[(len(members) - 1) // 2]])
    return {"guess": best_loss, "likelihood": middle_loss}


def _median_floor(mechanism: Mechanism, loss: Loss, prior: Floats) -> float:
    middle = (np.cumsum(mechanism.matrix, axis=0) >= 0.5).argmax(axis=0)
    return float(loss.table(mechanism.query)[middle, np.arange(len(prior))] @ prior)


def _mean_floor(mechanism: Mechanism, loss: ErrorLoss, group: Ints, prior: Floats) -> float:
    answers, floor = mechanism.query.answers.floats(), 0.0
    for leader in np.unique(group):
        members = np.flatnonzero((group == leader) & (prior > 0))
        if len(members):
            mean = answers[members] @ prior[members] / prior[members].sum()
            floor += float(loss.of(np.abs(answers[members] - mean)) @ prior[members])
    return floor


def _rate(columns: Floats) -> float:
    """Return the least Chernoff information -min_s ln sum_i p_i^s · q_i^(1-s) over pairs of columns; infinity for one
    column.

    Chernoff's information lies between the Bhattacharyya distance B (s = 1/2) and 2·B, so only pairs within twice the
    least B are examined.
    """
    size = columns.shape[1]
    if size < 2:
        return math.inf
    roots = np.sqrt(columns)
    overlap = roots.T @ roots
    overlap[np.diag_indices(size)] = 0.0
    distance = -np.log(np.minimum(overlap, 1.0), where=overlap > 0, out=np.full_like(overlap, math.inf))
    np.fill_diagonal(distance, math.inf)
    j, k = np.nonzero(np.triu(distance <= 2 * distance.min()))
    return float(min(_chernoff(columns[:, a], columns[:, b]) for a, b in zip(j, k, strict=True)))


def _chernoff(p: Floats, q: Floats) -> float:
    """Return -min over 0 <= s <= 1 of ln sum p^s · q^(1-s), by golden section on a convex function."""
    both = (p > 0) & (q > 0)
    log_p, log_q = np.log(p[both]), np.log(q[both])

    def information(s: float) -> float:
        return -math.log(float(np.exp(s * log_p + (1 - s) * log_q).sum()))

    low, high, golden = 0.0, 1.0, (math.sqrt(5) - 1) / 2
    while high - low > 1e-7:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if information(a) > information(b) else (a, high)
    return information((low + high) / 2)

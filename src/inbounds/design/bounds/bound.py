"""Lower bounds on the best possible loss that do not rest on a solver's tolerance.

Weak duality: if for every output i the vector c_i - v, with c_ij = weight_j * loss_ij, is non-negative on the
whole cone of private rows, then every private matrix P has
    sum_ij c_ij P_ij >= sum_ij v_j P_ij = sum_j v_j,
because its rows lie in the cone and its columns sum to one. `pricing.min_over_cone` decides the condition for all
rows of the cone at once, with every rounding error counted against the bound. A v that fails is lowered
evenly until it passes.
"""

import math

import numpy as np

from inbounds.design.problem import Floats
from inbounds.design.solver import pricing

UNIT = 2.0**-53
#: v is lowered by this share of the bound, then by FACTOR times as much; beyond SHARP the last step is refined by
#: halving
START, FACTOR, SHARP, HALVINGS = 2.0**-48, 4.0, 1e-11, 12


def average(v: Floats, cost: Floats, cone: pricing.Cone) -> float:
    """Compute a true lower bound on min sum(cost * P), close to sum(v) when v is nearly dual feasible.

    v: any number per answer; cost[i, j] = prior_j * loss_ij >= 0, each factor correct up to one rounding. Guarantee:
    never above the optimum, not even by rounding. Cost: a few runs of `pricing.min_over_cone`.
    """
    trivial = max(0.0, _total(cost.min(axis=0) * (1 - 8 * UNIT)))
    low = (cost * (1 - 8 * UNIT)).T
    if not np.all(np.isfinite(v)):
        return trivial
    share = np.full(len(v), 1.0 / len(v))
    size = max(math.fsum(np.abs(v)), 1e-290)
    bad, good = 0.0, START * size
    while not _is_feasible(low, v - good * share, cone):
        bad, good = good, FACTOR * good
        if math.fsum(v) - good < trivial:
            return trivial
    for _ in range(HALVINGS if bad > SHARP * size else 0):
        middle = (bad + good) / 2
        bad, good = (bad, middle) if _is_feasible(low, v - middle * share, cone) else (middle, good)
    return max(trivial, _total(v - good * share))


def worst(v: Floats, weights: Floats, loss: Floats, cone: pricing.Cone) -> float:
    """Compute a true lower bound on the least possible worst loss of any answer, loss >= 0, from answer weights.

    The worst answer loses at least the average under any weights, so this is `average` divided by their sum.
    """
    weights = np.maximum(weights, 0.0)
    total = math.fsum(weights)
    if not 0 < total < math.inf:
        return 0.0
    return average(v, weights * loss, cone) / total * (1 - 8 * UNIT)


def _is_feasible(low: Floats, v: Floats, cone: pricing.Cone) -> bool:
    """Return whether c_i - v is surely non-negative on the cone for every output i."""
    r = low - v[:, None]
    r -= 2 * UNIT * np.abs(r)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.all(pricing.min_over_cone(r, cone, pricing.rounding(cone)) >= 0))


def _total(v: Floats) -> float:
    """Sum v, rounded down."""
    return math.nextafter(math.fsum(v), -math.inf)

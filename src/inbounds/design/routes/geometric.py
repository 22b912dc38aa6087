"""The route for counts and other chains, without a solver: the truncated geometric mechanism with the best remap.

Let alpha_j = exp(-epsilon * d_j) be the ratio allowed between answers j and j + 1, and T[s, j] the product of
the ratios between s and j: the rays of the cone with one peak. The truncated geometric mechanism is P =
diag(w) T. With c_ij = prior_j * loss_ij and C_is = sum_j c_ij T[s, j], map s to y_s = argmin_i C_is.

Theorem. If for all outputs i < i' the difference loss_ij - loss_i'j changes sign at most once along the
answers j, from minus to plus, then no private matrix has a smaller average loss than sum_s w_s C_{y_s, s}.

Proof. y can be taken non-decreasing (T is totally positive, so C_is - C_i's has one sign change too). Let v
solve T v = C with C_s = C_{y_s, s}; then sum v = sum_s w_s C_s. We show that r = c_i - v is non-negative on
the cone for every i. Write D_R = sum_{j >= R} r_j T[R, j]. From C_{R-1} = left + a right, C_R = a left +
right with a = alpha_{R-1}, the suffix sums of v and c_i give D_R = ((C_iR - C_R) - a (C_i,R-1 - C_R-1)) / (1
- a^2). For i = y_{R-1} the second bracket is zero and D_R >= 0; for smaller i, D_R is larger: if the suffix
sum of c_i - c_{y_{R-1}} were negative, its one sign change would come after R, so the whole sum at s = R - 1
would be negative, but y_{R-1} is best there. So D_R >= 0 whenever i <= y_{R-1}, and in the same way the
prefix sum up to R is >= 0 whenever i >= y_{R+1}. Where these hold the cheapest continuation of a row is to
fall. Let s be the first with y_s >= i. If y_s = i, the cheapest row falls on both sides of s and costs C_is -
C_s >= 0. If y_s > i, it falls before s - 1 and after s and may do either between: (C_is - C_s) or (C_i,s-1 -
C_s-1) up to a positive factor, both >= 0. QED.

For counts this is the theorem of Ghosh, Roughgarden and Sundararajan (Universally utility-maximizing privacy
mechanisms, 2009), with unequal distances, any outputs and a weaker condition on the loss added. The bound
does not depend on the theorem: v is checked by `bound`.
"""

import numpy as np

from inbounds.design.bounds import bound
from inbounds.design.problem import Floats, Ints, Problem, Proposal, symmetrize
from inbounds.design.solver import pricing

name = "geometric remap"
#: costs this close (relative) are ties
TIE = 1e-13


def accepts(problem: Problem) -> bool:
    """Return whether the theorem above applies: average aim, no properties or limits, a chain, a loss with ordered
    differences.
    """
    chain = problem.edges is None and all(b - a <= 2 for a, b, _ in problem.cliques)
    is_free = not (problem.worst or problem.properties or problem.limits)
    return chain and is_free and has_ordered_differences(problem.loss)


def has_ordered_differences(loss: Floats) -> bool:
    """Return whether loss_ij - loss_i'j, i < i', changes sign at most once along j, from minus to plus.

    True for every non-decreasing function of the distance |output - answer|, also one per answer: the sign
    changes at the midpoint. Cost: O(outputs * answers) for convex losses and for functions of the distance in
    positions, otherwise O(outputs^2 * answers).
    """
    return _is_monge(loss) or _depends_on_distance(loss) or _pairwise_ordered(loss)


def _is_monge(loss: Floats) -> bool:
    """Return whether all mixed second differences are non-positive, as for convex losses of the error."""
    return bool(np.all(np.diff(np.diff(loss, axis=0), axis=1) <= 0))


def _depends_on_distance(loss: Floats) -> bool:
    """Return whether the loss is a non-decreasing function of the distance in positions."""
    m, n = loss.shape
    f = loss[0]
    away = np.abs(np.arange(m)[:, None] - np.arange(n))
    return m == n and bool(np.all(np.diff(f) >= 0)) and np.array_equal(loss, f[away])


def _pairwise_ordered(loss: Floats) -> bool:
    """Check the condition for every pair of outputs."""
    for i in range(len(loss) - 1):
        sign = np.sign(loss[i] - loss[i + 1 :])
        if np.any((np.maximum.accumulate(sign, axis=1) > 0) & (sign < 0)):
            return False
    return True


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Return the optimal matrix of a problem that `accepts`, at once."""
    return Proposal(*remap(problem), name)


def remap(problem: Problem) -> tuple[Floats, float]:
    """Compute the mechanism with the best remap, and the bound. Cost: O(outputs * answers); no solver.

    Guarantee: a matrix of rays, private up to rounding; the bound is checked against the whole cone, so it is
    valid even where the theorem does not apply, only then not equal to the loss.
    """
    P, low = np.zeros(problem.shape), 0.0
    for span in pricing.split_components(problem):
        cone, cost = pricing.cone(problem, span), problem.prior[span] * problem.loss[:, span]
        away = (np.arange(len(cost))[:, None] - problem.home[span]).astype(float) ** 2
        floor = cost.min(axis=0)
        C = peak_costs(cost - floor, cone.step)
        y = _best(C, peak_costs(away, cone.step))
        x = np.cumsum(np.append(0.0, cone.step))
        np.add.at(P[:, span], y, peak_weights(cone.step)[:, None] * np.exp(-np.abs(x[:, None] - x)))
        low += bound.average(peak_duals(cost - floor, C, y, cone.step), cost - floor, cone)
        low += float(floor.sum() - 2.0**-50 * len(floor) * np.abs(floor).sum())
    return symmetrize(problem, P), low - 2.0**-50 * abs(low)


def peak_costs(c: Floats, step: Floats) -> Floats:
    """Compute C[i, s] = sum_j c[i, j] T[s, j], by one recursion from each end."""
    left, right = c.copy(), c.copy()
    alpha = np.exp(-step)
    for s in range(1, c.shape[1]):
        left[:, s] += alpha[s - 1] * left[:, s - 1]
        right[:, -1 - s] += alpha[-s] * right[:, -s]
    return left + right - c


def peak_weights(step: Floats) -> Floats:
    """Compute w with sum_s w_s T[s, j] = 1 for every j: (1 - a b) / ((1 + a)(1 + b)) for the ratios a, b to both
    neighbours."""
    gaps = np.concatenate([[np.inf], step, [np.inf]])
    a, b = np.exp(-gaps[:-1]), np.exp(-gaps[1:])
    w: Floats = -np.expm1(-gaps[:-1] - gaps[1:]) / ((1 + a) * (1 + b))
    return w


def peak_duals(c: Floats, C: Floats, y: Ints, step: Floats) -> Floats:
    """Compute v with T v = C_y: the cost of the output y_s at s itself, plus what neighbours gain by their own outputs.

    The tridiagonal inverse of T, arranged so that nothing large cancels:
    v_s = c[y_s, s] + sum over neighbours t of (C[y_s, t] - C[y_t, t]) * a / (1 - a^2).
    """
    s = np.arange(c.shape[1])
    best = C[y, s]
    share = np.exp(-step) / -np.expm1(-2 * step)
    v = c[y, s].copy()
    v[1:] += share * (C[y[1:], s[:-1]] - best[:-1])
    v[:-1] += share * (C[y[:-1], s[1:]] - best[1:])
    return v


def _best(C: Floats, away: Floats) -> Ints:
    """Return the cheapest output of each peak; ties go to the least squared error in positions."""
    lowest = C.min(axis=0)
    tied = lowest * (1 + TIE) >= C
    y: Ints = np.where(tied, away, np.inf).argmin(axis=0)
    return y

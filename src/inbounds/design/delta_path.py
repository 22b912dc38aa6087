"""The best (epsilon, delta)-private matrix on a path of answers, with a bound that is proved in whole numbers.

    minimize   sum_j prior_j sum_i loss[i, j] P[i, j]      over P >= 0 whose columns sum to one, and for neighbours
    subject to sum_i max(0, P[i, j] - e^epsilon · P[i, j±1]) <= delta

A row of P with its excesses is a mix of rays: positive on a run of answers, with steps e^epsilon or e^-epsilon inside,
and an excess at each end that is not an end of the path. For costs w of a row and prices up, down of the excesses, the
cheapest ray is found from left to right. Let c_j be the least cost of the answers up to j, if the row is 1 at j:

    c_j = w_j + min(up_(j-1), e^-epsilon · c_(j-1), e^epsilon · c_(j-1));   it improves if c_b + down_b < 0 for some b.

So pricing takes O(outputs · answers), and duals without an improving ray prove that the loss is at least
sum v - delta · sum (up + down). `prove_bound` checks that in whole numbers, each step rounded against us.

Little is gained: duals of the pure program are finite, so the gain is at most delta times their sum, some hundred-
thousandths of the error of a count at delta 1e-6.
"""

import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from inbounds.design.goal import DesignGoal
from inbounds.design.solver.ray_program import Duals, RayProgram
from inbounds.design.solver.threads import one_thread
from inbounds.exact import Floats, Ints, Number, to_epsilon, to_fraction
from inbounds.losses import LossLike, Prior, to_loss, to_prior
from inbounds.mechanism import Mechanism, certify
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.query import RangeQuery, check_query
from inbounds.trusted.bounds import EXP_BITS, exp_lower_bound

SCALE = 160
"""Bits after the point in `prove_bound`."""

CLOSE = 1e-10
"""The search ends at a gap of this share of the value."""

LEAST = -1e200
"""A run that costs less improves anyway; clipped so that nothing overflows."""

IMPROVING = 1e-13
"""A ray must improve by this share of the value over the answers, or it is rounding."""

STEPS = 80
"""Most Newton steps of `_shift`."""


def design_with_delta(
    query: RangeQuery, epsilon: Number, delta: Number, loss: LossLike, prior: Prior, max_seconds: float
) -> Mechanism:
    """Design the (epsilon, delta)-private mechanism with the least average loss on a path of answers.

    Raises ValueError unless each answer's neighbours are the one before and the one after it.
    """
    check_query(query)
    bound, exact_delta = to_epsilon(epsilon), to_fraction(delta, "delta")
    if not 0 < exact_delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {delta}")
    answers = len(query.answers)
    path = {(j, k) for j in range(answers) for k in (j - 1, j + 1) if 0 <= k < answers}
    is_path = query.neighbours.is_line and not query.neighbours.has_distances
    if not is_path or set(query.neighbours.pairs(query.answers)) != path:
        raise ValueError(
            f"delta must be left out for {query!r}: a design with a delta needs answers of which each is a neighbour "
            "of the next one alone, as in a count"
        )
    refuse_beyond_limit(query)
    goal = DesignGoal(to_loss(loss), prior, frozenset(), "average", ())
    cost = to_prior(prior, query) * goal.loss.table(query)
    with np.errstate(all="ignore"), one_thread():
        matrix, low = solve_path(cost, bound, exact_delta, max_seconds)
    made = certify(matrix, query, bound, origin=goal.origin("rays with a delta"), delta=exact_delta)
    return Mechanism(query, bound, made.law, made.origin, goal.optimality(made.law, query, low))


def solve_path(cost: Floats, epsilon: Fraction, delta: Fraction, max_seconds: float) -> tuple[Floats, float]:
    """Return the best matrix found and a proved lower bound of sum cost · P; it begins with geometric rows."""
    start, n, ratio = time.monotonic(), cost.shape[1], float(np.exp(float(epsilon)))
    program, at = RayProgram(cost, float(delta)), np.arange(n)
    for answer in range(n):  # feasible from the start, and optimal at delta 0 for ordered losses
        log_ray = -float(epsilon) * np.abs(at - answer)
        program.add(log_ray, int((cost @ np.exp(log_ray)).argmin()))
    best, centre = -np.inf, None
    proof: Duals = np.zeros(n), np.zeros(n - 1), np.zeros(n - 1)
    weights, duals, value = program.solve()
    while True:
        is_new = False
        middle = None if centre is None else tuple((a + b) / 2 for a, b in zip(centre, duals, strict=True))
        for v, up, down in [duals] if middle is None else [middle, duals]:
            shift, (ends, worst, choice) = _shift(cost, v, up, down, ratio)
            low = float(v.sum() - n * shift - float(delta) * (up.sum() + down.sum()))
            if low > best:
                best, proof = low, (v - shift, up, down)
            for i in np.flatnonzero(worst < -IMPROVING * max(1.0, abs(value)) / n).tolist():
                log_ray = _follow(choice[i], int(ends[i]), float(epsilon))
                ray = np.exp(log_ray - log_ray.max())
                is_new |= program.add(log_ray, int((cost @ ray).argmin()))
            if is_new:
                break
        centre = proof if best > -np.inf else None
        if not is_new or value - best <= CLOSE * abs(value) or time.monotonic() - start > max_seconds:
            break
        weights, duals, value = program.solve()
    return program.matrix(weights), prove_bound(cost, proof, epsilon, delta)


def _price(costs: Floats, up: Floats, down: Floats, ratio: float) -> tuple[Floats, NDArray[np.int8]]:
    """Return the cheapest run that ends at each answer, for rows of costs, and the choices to follow back."""
    rows, n = costs.shape
    total, choice = np.empty((rows, n)), np.zeros((rows, n), np.int8)
    total[:, 0] = costs[:, 0]
    for j in range(1, n):
        before = total[:, j - 1]
        onwards = np.where(before >= 0, before / ratio, np.maximum(before, LEAST) * ratio)
        starts = up[j - 1] < onwards
        choice[:, j] = np.where(starts, 0, np.where(before >= 0, 1, -1))
        total[:, j] = costs[:, j] + np.where(starts, up[j - 1], onwards)
    return total + np.append(down, 0.0), choice


def _follow(choice: NDArray[np.int8], last: int, epsilon: float) -> Floats:
    """Return the logarithms of the run that ends at an answer, -inf outside."""
    log_ray = np.full(len(choice), -np.inf)
    log_ray[last] = 0.0
    j = last
    while j > 0 and choice[j]:
        log_ray[j - 1] = log_ray[j] - epsilon * choice[j]
        j -= 1
    return log_ray


def _shift(
    cost: Floats, v: Floats, up: Floats, down: Floats, ratio: float
) -> tuple[float, tuple[Ints, Floats, NDArray[np.int8]]]:
    """Return the least t for which no ray improves if v is lowered by t, and the rays met before.

    Newton's method from 0: t only rises, and each step is at least a rounding, because long runs magnify one.
    """
    shift, met = 0.0, None
    epsilon, least = np.log(ratio), 1e-17 * (1 + np.abs(v).max())
    for _ in range(STEPS):
        total, choice = _price(cost - v + shift, up, down, ratio)
        ends = total.argmin(axis=1)
        worst = total[np.arange(len(cost)), ends]
        met = met or (ends, worst, choice)
        if worst.min() >= -1e-14 * (1 + np.abs(v).max()):
            return shift, met
        i = int(worst.argmin())
        log_ray = _follow(choice[i], int(ends[i]), epsilon)  # its last entry is 0, as `worst` means it
        step = -worst[i] * np.exp(-np.logaddexp.reduce(log_ray[np.isfinite(log_ray)]))
        if worst[i] < LEAST / 1e100:  # clipped on the way: the ray's own cost, less precise
            ray, inside = np.exp(log_ray - log_ray.max()), np.flatnonzero(np.isfinite(log_ray))
            begins, stops = np.append(0.0, up)[inside[0]], np.append(down, 0.0)[inside[-1]]
            excess = begins * ray[inside[0]] + stops * ray[inside[-1]]
            step = -((cost[i] - v + shift) @ ray + excess) / ray.sum()
        shift, least = shift + max(step * (1 + 1e-12), least), 2 * least
    assert met is not None
    return np.inf, met


def prove_bound(cost: Floats, duals: Duals, epsilon: Fraction, delta: Fraction) -> float:
    """Return a lower bound of sum cost · P for every (epsilon, delta)-private P, from any duals.

    v is lowered until no ray improves, in whole numbers over 2^160. Costs and duals are rounded down, products too, so
    a cheapest run is never too dear.
    """
    v, up, down = duals
    one, below = 1 << SCALE, exp_lower_bound(epsilon)
    above = below + (below >> 110) + 1  # exp_lower_bound is low by less than 2^-120 of itself
    to_wholes = np.vectorize(lambda x: int(Fraction(x) * one // 1), otypes=[object])
    costs, lower = to_wholes(cost), to_wholes(np.where(np.isfinite(v), v, 0.0))
    ups, downs = to_wholes(np.maximum(up, 0.0)), to_wholes(np.maximum(down, 0.0))
    n, size = costs.shape[1], max(int(abs(x)) for x in lower.tolist()) + 1
    for lift in (0, *(size >> places for places in range(60, 9, -4))):  # v lowered as little as need be
        run = costs[:, 0] - lower[0] + lift
        least = run + (downs[0] if n > 1 else 0)
        for j in range(1, n):
            onwards = np.where(run >= 0, (run << EXP_BITS) // above, (run * above) >> EXP_BITS)
            run = costs[:, j] - lower[j] + lift + np.minimum(onwards, ups[j - 1])
            least = np.minimum(least, run + (downs[j] if j < n - 1 else 0))
        if least.min() >= 0:
            total = Fraction(sum(lower.tolist()) - n * lift) - delta * (sum(ups.tolist()) + sum(downs.tolist()))
            return max(0.0, float(total / one) * (1 - 2**-50))
    return 0.0

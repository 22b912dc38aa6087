"""The route for any neighbourhood without properties: mixes of extreme rays, by column generation, with a proved bound.

A private matrix is a sum of rows from the cone of `pricing`, so it is a non-negative mix of the cone's
extreme rays, each used for one output. The mix must sum to one at every answer: n equations, one column
per (ray, output). A small linear program chooses among the rays found so far; its duals v price all others.
First come staircases, priced all at once. Then the shortest path of `pricing` prices all rays, and when none
improves, v proves the optimum. For the worst case every answer has a second equation, its loss, whose duals act as the
prior.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from inbounds.design.bounds import bound
from inbounds.design.problem import Floats, Ints, Problem, Proposal, symmetrize
from inbounds.design.routes import windows_interior
from inbounds.design.routes.staircases import Stairs, stairs
from inbounds.design.solver import pricing
from inbounds.design.solver.kink_basis import Kinks
from inbounds.design.solver.master import MasterProgram, MasterSolution
from inbounds.design.solver.pricing import Cone
from inbounds.design.solver.stars import fill_from_minima

name = "cone rays"
#: a ray is worth adding when it improves by this share of the value
WORTH = 1e-13
#: a relative gap at which exact arithmetic takes over; with more than LARGE answers, where exact pivots are slow, one
#: at which they are spared
CLOSED, LARGE, NEARLY = 1e-10, 100, 1e-8
#: the same for staircases, which only prepare the ground; costs this close are ties
COARSE, TIE = 1e-6, 1e-12
#: pivots in full precision after the solver: none but the last basis solved again, or as many as it may take
EXACT, PIVOTS = 0, 200
#: entries of a program that take as long as pricing one answer and output; of the work of an interior point, what
#: staircases and rays may take before one is tried; how often it is with more outputs, and how many times as many
PRICING, STAIRS_SHARE, RAYS_SHARE, TRIES, MORE = 400.0, 0.1, 1.0, 2, 1.5
#: rows from which a program is written in kinks: shorter ones need fewer rounds without; answers from which an
#: interior point is worth its steps
LONG, MATCHED = 200, 128
#: seconds that the first program gets even when no time is left, and those kept back to prove a bound, for each
#: output, answer and answer of a window
MOMENT, PROVING = 1.0, 2.5e-7
#: with at least MANY answers, all neighbours, the interior point is tried first; its gap must be ENOUGH;
#: columns of its points that sum to one up to SOUND need no other repair than that of the weights
MANY, ENOUGH, SOUND = 16, 5e-8, windows_interior.SOUND
#: the same gap for windows, whose interior points may crawl
SHUT = 2 * windows_interior.GOOD
#: values this close, relatively, are alike
ALIKE = 1e-11


@dataclass(frozen=True, eq=False)
class Component:
    """A connected run of answers: loss (smallest value zero), prior weights, squared steps from home, aim and cone."""

    loss: Floats
    prior: Floats
    away: Floats
    worst: bool
    cone: Cone

    @property
    def is_mirrored(self) -> bool:
        prior = self.worst or np.array_equal(self.prior, self.prior[::-1])
        return prior and self.cone.is_mirrored and np.array_equal(self.loss, self.loss[::-1, ::-1])


def accepts(problem: Problem) -> bool:
    """Return whether this route proves optimality: no properties or limits, and windows `pricing` is exact for."""
    return problem.edges is None and not (problem.properties or problem.limits) and pricing.is_regular(problem)


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Find the optimal private matrix without properties, for any neighbourhood, loss table, prior and aim.

    Returns at about the deadline at the latest, then with the best mix so far and a valid but weaker
    bound. Cost: a few dozen rounds, each O(n * window * outputs) for the pricing and a warm-started program
    with n (worst case 2n) rows. The dual argument is in `bound`.
    """
    deadline -= min(_proving_seconds(problem), max(deadline - time.monotonic(), 0.0) / 2)
    blocks, bounds = [], []
    for part, floor in _parts(problem):
        P, low = _solve_part(part, deadline)
        blocks.append(P)
        bounds.append(low + floor)
    low = max(bounds) if problem.worst else sum(bounds) - 2.0**-50 * sum(map(abs, bounds))
    return Proposal(symmetrize(problem, np.hstack(blocks)), low, name)


def _proving_seconds(problem: Problem) -> float:
    """Estimate the seconds that a bound takes; it is cheaper if all answers are neighbours."""
    width = max((b - a for a, b, _ in problem.cliques), default=1)
    return PROVING * problem.loss.size * (width if width < problem.shape[1] else 1)


def _parts(problem: Problem) -> Iterator[tuple[Component, float]]:
    """Yield the components, with the constant subtracted from their losses to make the least one zero."""
    for span in pricing.split_components(problem):
        loss, prior = problem.loss[:, span], problem.prior[span]
        floor = np.full(loss.shape[1], loss.min()) if problem.worst else loss.min(axis=0)
        weight = np.array([1.0]) if problem.worst else prior
        terms = weight * floor[: len(weight)]
        off = float(terms.sum() - 2.0**-50 * len(terms) * np.abs(terms).sum())
        away = (np.arange(len(loss))[:, None] - problem.home[span]).astype(float) ** 2
        yield Component(loss - floor, prior, away, problem.worst, pricing.cone(problem, span)), off


def _solve_part(part: Component, deadline: float) -> tuple[Floats, float]:
    """Return the best matrix of a component and its bound."""
    if part.cone.size == 1 or not part.loss.any():
        return _constant(part), 0.0
    if not (part.cone.everyone and part.cone.size >= MANY):
        return _generate(part, deadline)
    P, low = _among_outputs(part, np.arange(len(part.loss)), deadline)
    if _is_closed(part, P, low) or time.monotonic() > deadline:
        return P, low
    return _better(part, (P, low), _generate(part, deadline))


def _value(part: Component, P: Floats) -> float:
    """Return the objective of P."""
    losses = (part.loss * P).sum(axis=0)
    return float(losses.max() if part.worst else part.prior @ losses)


def _bound(part: Component, v: Floats, mu: Floats) -> float:
    """Prove a bound from duals v and answer weights mu."""
    if part.worst:
        return bound.worst(v, mu, part.loss, part.cone)
    return bound.average(v, part.prior * part.loss, part.cone)


def _generate(part: Component, deadline: float) -> tuple[Floats, float]:
    """Find the best mix of rays and its bound; a constant mechanism and zero if the solver fails at once.

    If the proof takes longer than an interior point would, that is tried; if it fails too, column generation goes on.
    """
    tails = stairs(part.cone)
    master, mix = _start(part, tails, deadline)
    if mix is None:
        return _constant(part), 0.0
    P, low = _constant(part), 0.0
    matched = part.cone.size >= MATCHED and windows_interior.is_applicable(part.cone) and not part.cone.everyone
    for impatient in (matched, False):
        mix = _add_staircases(part, tails, master, mix, _stairs_work(part) if impatient else np.inf, deadline)
        first = len(master.outputs)
        work_limit = _rays_work(part, master, mix) if impatient else np.inf
        mix, proved = _add_rays(part, master, mix, work_limit, deadline)
        P, low = _better(part, (P, low), (master.matrix(mix.weights), proved or 0.0))
        if proved is not None or time.monotonic() > deadline:
            break
        P, low = _better(part, (P, low), _among_outputs(part, _select_outputs(part, master, mix, first), deadline))
        if _is_closed(part, P, low, SHUT):
            break
    return P, low


def _better(part: Component, one: tuple[Floats, float], other: tuple[Floats, float]) -> tuple[Floats, float]:
    """Return the better mechanism of two, the first if they are equal up to ALIKE, and the better bound."""
    first = _value(part, one[0]) * (1 - ALIKE) <= _value(part, other[0])
    return one[0] if first else other[0], max(one[1], other[1])


def _is_closed(part: Component, P: Floats, low: float, enough: float = ENOUGH) -> bool:
    """Return whether the relative gap is at most `enough`."""
    return _value(part, P) - low <= enough * _value(part, P)


def _stairs_work(part: Component) -> float:
    """Return the work on staircases after which an interior point is tried: only for the worst-case aim, where they are
    slow."""
    return (
        STAIRS_SHARE * windows_interior.work(part.cone, len(part.loss) // (2 if part.is_mirrored else 1))
        if part.worst
        else np.inf
    )


def _rays_work(part: Component, master: MasterProgram, mix: MasterSolution) -> float:
    """Return the work on all rays after which an interior point with the outputs of the mix is tried."""
    outputs = np.unique(master.outputs[: len(mix.weights)][mix.weights > 0])
    return (
        _stairs_work(part) if part.worst else master.work + RAYS_SHARE * windows_interior.work(part.cone, len(outputs))
    )


def _select_outputs(part: Component, master: MasterProgram, mix: MasterSolution, first: int) -> Ints:
    """Select the outputs of the mix and of the rays from `first` on, and those beside them.

    For the worst-case aim select all, because most are used by some optimal mechanism.
    """
    outputs = np.append(master.outputs[: len(mix.weights)][mix.weights > 0], master.outputs[first:])
    beside = np.clip(np.concatenate([outputs - 1, outputs, outputs + 1]), 0, len(part.loss) - 1)
    return np.arange(len(part.loss)) if part.worst else np.unique(beside)


def _among_outputs(part: Component, outputs: Ints, deadline: float) -> tuple[Floats, float]:
    """Find a near-optimal matrix by `windows_interior` with few outputs, and its bound.

    If few other outputs would improve it, try again with them.
    """
    P, low = _constant(part), 0.0
    enough = ENOUGH if part.cone.everyone else SHUT
    for _ in range(TRIES):
        v, mu = np.zeros(part.cone.size), part.prior
        arguments = part.loss, part.prior, part.worst, part.cone, part.is_mirrored, outputs, deadline
        for point in windows_interior.points(*arguments):
            v, mu = point.v, point.weights
            low = max(low, _bound(part, v, mu))
            for Q in _repair(part, point.matrix):
                P, low = _better(part, (P, low), (Q, low))
            if _is_closed(part, P, low, windows_interior.GAP):
                break
        if _is_closed(part, P, low, enough) or time.monotonic() > deadline:
            break
        priced = price_rays(part, MasterSolution(np.empty(0), v, mu, _value(part, P)), deadline)
        more = np.union1d(outputs, priced.outputs)
        if not len(outputs) < len(more) < MORE * len(outputs):
            break
        outputs = more
    return P, low


def _repair(part: Component, P: Floats) -> Iterator[Floats]:
    """Yield matrices near P with columns that sum to one.

    Where all answers are neighbours these are independent of each other given the row minima, and each takes what is
    cheapest for it, for both aims.
    """
    sums = P.sum(axis=0)
    if part.cone.everyone:
        cost = part.loss if part.worst else part.prior * part.loss
        yield fill_from_minima(P.min(axis=1), cost, part.away, float(np.expm1(part.cone.step[0])))
    if np.abs(sums - 1).max() < SOUND:
        yield P / sums


def _constant(part: Component) -> Floats:
    """Return the matrix that always reports the output of least total loss."""
    P = np.zeros(part.loss.shape)
    P[part.loss.sum(axis=1).argmin()] = 1.0
    return P


def _start(part: Component, tails: Stairs, deadline: float) -> tuple[MasterProgram, MasterSolution | None]:
    """Start with the narrowest staircases and the constant row; solve twice if the value is far from the scale."""
    n, largest = part.cone.size, float(part.loss.max())
    peaks = np.arange(n)
    log_x = np.hstack([np.zeros((n, 1)), tails.log_rays(peaks, peaks)])
    outputs = _cheapest(part, _weights(part), log_x)
    scale = 1.0 if 1e-3 < largest < 1e3 else largest
    master, mix = _initial_master(part, log_x, outputs, scale, deadline)
    if mix is None or not mix.value > 0 or 0.1 < mix.value / scale < 10:
        return master, mix
    return _initial_master(part, log_x, outputs, mix.value, deadline)


def _initial_master(
    part: Component, log_x: Floats, outputs: Ints, scale: float, deadline: float
) -> tuple[MasterProgram, MasterSolution | None]:
    """Build and solve the first master program, with kinks if it is long and that works."""
    kinks = Kinks(part.cone, part.is_mirrored)
    for combined in ([kinks] if kinks.size >= LONG else []) + [None]:  # plain sums if the combined ones fail
        master = MasterProgram(part.loss, part.prior, part.worst, part.is_mirrored, scale, combined)
        master.add(log_x, outputs)
        master.begin()
        mix = master.solve(max(deadline - time.monotonic(), MOMENT))
        if mix is not None or time.monotonic() > deadline:
            break
    return master, mix


def _weights(part: Component) -> Floats:
    """Return initial answer weights: the prior, or uniform for the worst case."""
    return np.full(part.cone.size, 1.0 / part.cone.size) if part.worst else part.prior


def _cheapest(part: Component, weights: Floats, log_x: Floats) -> Ints:
    """Return the cheapest output of each ray under answer weights; ties go to the least squared error in positions."""
    x = np.exp(log_x - log_x.max(axis=0))
    cost = (weights * part.loss) @ x
    tied = cost <= cost.min(axis=0) * (1 + TIE)
    away = (np.maximum(weights, weights.max() * TIE) * part.away) @ x
    best: Ints = np.where(tied, away, np.inf).argmin(axis=0)
    return best


def _add_staircases(
    part: Component, tails: Stairs, master: MasterProgram, mix: MasterSolution, work_limit: float, deadline: float
) -> MasterSolution:
    """Run column generation over all staircases: for each start the best end, for each end the best start."""
    size = np.abs(tails.sums(np.full(part.cone.size, 1.0 / part.cone.size)))  # of real staircases: positive
    edge = np.arange(part.cone.size)
    cost: Floats | None = None
    while time.monotonic() < deadline and master.work < work_limit:
        if cost is None or part.worst:
            cost = tails.cheapest(mix.mu * _outputs(part))
        gain = (tails.sums(mix.v) - cost) / size
        first, last = np.append(edge, gain.argmax(axis=0)), np.append(gain.argmax(axis=1), edge)
        good = gain[first, last] > COARSE * mix.value
        log_x = tails.log_rays(first[good], last[good])
        if not good.any() or not master.add(log_x, _cheapest(part, mix.mu, log_x)):
            return mix
        mix = master.solve(deadline - time.monotonic()) or mix
    return mix


def _outputs(part: Component) -> Floats:
    """Return the losses of the outputs to price: half of them if the other half mirrors them."""
    return part.loss[: (len(part.loss) + 1) // 2] if part.is_mirrored else part.loss


def _add_rays(
    part: Component, master: MasterProgram, mix: MasterSolution, work_limit: float, deadline: float
) -> tuple[MasterSolution, float | None]:
    """Run column generation over all rays until none improves or time runs out; return the mix and its bound.

    The bound is None if more work than `work_limit` would be needed. If many outputs are equally good, the duals of the
    program oscillate, so rays are priced between them and the best duals so far (Wentges 1997). If that brings nothing
    new, or the bound meets the value, the same basis is solved exactly, then with pivots below the solver's tolerance.
    """
    master.refine()
    care, pivots = iter((EXACT, PIVOTS)), None
    best = PricingResult(mix, -np.inf)
    while master.work < work_limit:
        priced = price_rays(part, mix if pivots is not None else best.towards(mix), deadline)
        best = max(best, priced, key=lambda result: result.bound)
        master.work += PRICING * part.loss.size
        stuck = not master.add(priced.log_rays, priced.outputs)
        if stuck and pivots is None:
            priced = price_rays(part, mix, deadline)
            best = max(best, priced, key=lambda result: result.bound)
            stuck = not master.add(priced.log_rays, priced.outputs)
        if time.monotonic() > deadline:
            return mix, _bound(part, best.mix.v, best.mix.mu)
        if not len(priced.outputs) and pivots is not None:
            return mix, _prove_bound(part, mix, best.mix)
        if stuck or mix.value - best.bound <= CLOSED * mix.value:
            enough = pivots is not None and part.cone.size > LARGE and mix.value - best.bound <= NEARLY * mix.value
            pivots = next(care, None)
            if pivots is None or enough:
                return mix, _prove_bound(part, mix, best.mix)
        mix = master.solve(deadline - time.monotonic(), pivots) or mix
    return mix, None


def _prove_bound(part: Component, mix: MasterSolution, other: MasterSolution) -> float:
    """Return the better of the bounds of two solutions' duals."""
    return max(_bound(part, solution.v, solution.mu) for solution in (mix, other))


@dataclass(frozen=True, eq=False)
class PricingResult:
    """The result of pricing.

    mix: duals, with v lowered so that no ray improves. bound: what they prove up to rounding. log_rays, outputs: the
    improving rays, as logs, with the outputs to use them for.
    """

    mix: MasterSolution
    bound: float
    log_rays: Floats = field(default_factory=lambda: np.empty((0, 0)))
    outputs: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def towards(self, mix: MasterSolution) -> MasterSolution:
        """Return the duals halfway to those of a mix."""
        if self.bound == -np.inf:
            return mix
        return replace(mix, v=(self.mix.v + mix.v) / 2, mu=(self.mix.mu + mix.mu) / 2)


def price_rays(part: Component, mix: MasterSolution, deadline: float) -> PricingResult:
    """Find the most improving ray of every output where one improves the mix by more than WORTH of its value."""
    r = (mix.mu * _outputs(part)).T - mix.v[:, None]
    log_x, outputs, most = pricing.most_improving(r, part.cone, WORTH * mix.value, deadline)
    lowered = replace(mix, v=mix.v - most / part.cone.size)
    weight = (float(mix.mu.sum()) or 1.0) if part.worst else 1.0
    outputs = outputs if part.worst else _cheapest(part, part.prior, log_x)
    return PricingResult(lowered, (float(mix.v.sum()) - most) / weight, log_x, outputs)

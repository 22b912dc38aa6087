"""The route for ranges too long for a matrix: noise tables, with the best output of each noisy value.

Where neighbours are one step apart geometric noise with the best remap is optimal on average (`geometric`). If one
person moves the answer by several steps, staircase noise is, far from both ends of the range. Its one parameter, the
split of a step, is searched for the loss in question. `long_range` and `prior_range` bound what every mechanism loses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from inbounds.design.bounds import long_range, prior_range, worst_range
from inbounds.design.closed.noise import staircase_losses
from inbounds.design.goal import ROUNDING, DesignGoal
from inbounds.design.problem import Floats
from inbounds.design.routes import count_remap, grid_noise, noise_remap, worst_remap
from inbounds.losses import ErrorLoss, to_prior
from inbounds.mechanism.laws import Noise
from inbounds.mechanism.laws.noise import find_noise_reach, make_geometric_noise, make_staircase_noise
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import TOTAL

POWERS = {"absolute": 1, "squared": 2}
"""Losses that are a power of the error and have a bound for chains under any prior."""

KEPT = frozenset({"symmetric", "row_honest", "row_monotone", "weakly_honest"})
"""Properties of noise on a range, if it is symmetric, larger errors are never likelier, and no value is renamed.

An inner row holds the weights of the noise, the row of an end their running sums: both fall away from their answer. The
truth has at least the largest weight; the output is right as often as by guessing once that is above the average.
"""

MOST_CONVOLVED = 1 << 28
"""Largest product of answers and shifts for which the outputs under a prior are searched."""

MOST_SUMMED = 1 << 25
"""Largest product of answers and terms of a cost for which geometric noise is remapped too: some seconds."""


@dataclass(frozen=True, eq=False)
class NoiseProposal:
    """A private noise table (None: only a bound is new), and a bound on the loss of every mechanism."""

    law: Noise | None
    route: str
    bound: float = 0.0


def propose_noise(
    query: RangeQuery, epsilon: Fraction, goal: DesignGoal, losses: Floats, most_remapped: int
) -> Iterator[NoiseProposal]:
    """Yield noise tables for a goal. losses[e]: of an error of e steps, not falling.

    most_remapped: most answers of a total or a mean whose noisy values get the best output each.
    """
    reach, distance = find_noise_reach(query)
    rate, prior = float(epsilon * distance), to_prior(goal.prior, query)
    is_free = goal.aim == "average" and not goal.properties
    if reach == 1 and goal.aim == "average":
        best = count_remap.remap(rate, losses, prior)
        remap, route = (best.outputs, "geometric remap") if is_free else (None, "geometric noise")
        yield NoiseProposal(make_geometric_noise(query, epsilon, remap), route, best.bound)
        return
    split = 1 + int(staircase_losses(losses, reach, rate).argmin())
    plain = make_staircase_noise(query, epsilon, split)
    yield NoiseProposal(plain, "staircase noise", _bound(goal, losses, prior, reach, rate))
    if is_free and len(prior) <= most_remapped:
        yield from _remapped(query, epsilon, goal, losses, plain, split)


def is_weakly_honest(law: Noise) -> bool:
    """Return whether noise without a remap reports the truth at least as often as by guessing."""
    return int(law.core[law.half_width]) * (law.size + 1) >= TOTAL


def _remapped(
    query: RangeQuery, epsilon: Fraction, goal: DesignGoal, losses: Floats, plain: Noise, split: int
) -> Iterator[NoiseProposal]:
    """Yield staircase noise and geometric noise with the best output of each value."""
    reach, distance = find_noise_reach(query)
    rate = float(epsilon * distance)
    if goal.prior is None:
        depth = long_range.depth_of_ends(reach, rate)
        reports = noise_remap.best_reports_evenly(plain, losses, split, depth, reach, rate)
        yield NoiseProposal(make_staircase_noise(query, epsilon, split, reports), "staircase noise, remapped")
        return
    prior = to_prior(goal.prior, query)
    if len(prior) * noise_remap.count_shifts(reach, rate) <= MOST_CONVOLVED:
        reports = noise_remap.best_reports(plain.core / TOTAL, losses, prior, reach, rate)
        yield NoiseProposal(make_staircase_noise(query, epsilon, split, reports), "staircase noise, remapped")
    if len(prior) * count_remap.count_terms(rate / reach, losses) <= MOST_SUMMED:
        guesses = grid_noise.guesses(reach, rate, losses, POWERS.get(goal.loss.name), prior)
        yield NoiseProposal(make_geometric_noise(query, epsilon, guesses.remap), "geometric remap", guesses.bound)


def _bound(goal: DesignGoal, losses: Floats, prior: Floats, reach: int, rate: float) -> float:
    """Compute a lower bound on the loss of every mechanism."""
    if goal.prior is None:  # the worst answer loses at least the average of all
        return long_range.average_bound(len(prior), reach, rate, losses)
    return 0.0


def propose_sharply(
    query: RangeQuery, epsilon: Fraction, goal: DesignGoal, losses: Floats, effort: float
) -> NoiseProposal:
    """Bound the loss of every mechanism with more work; for the worst answer also make a table that loses less.

    effort: share of the largest work, up to 1.
    """
    reach, distance = find_noise_reach(query)
    rate, size = float(epsilon * distance), len(losses)
    if goal.aim == "average" and goal.prior is not None:
        bound = prior_range.average_bound(to_prior(goal.prior, query), reach, rate, losses, effort * prior_range.WORK)
        return NoiseProposal(None, "staircase noise", bound)
    if goal.aim == "average":
        bound = long_range.average_bound(size, reach, rate, losses, effort * long_range.MOST)
        return NoiseProposal(None, "staircase noise", bound)
    return _propose_for_worst(query, epsilon, goal, losses, effort)


def _propose_for_worst(
    query: RangeQuery, epsilon: Fraction, goal: DesignGoal, losses: Floats, effort: float
) -> NoiseProposal:
    """Bound the worst loss by the average under hard priors, and remap noise so that its worst loss is small."""
    assert isinstance(goal.loss, ErrorLoss)
    reach, distance = find_noise_reach(query)
    rate, size = float(epsilon * distance), len(losses)
    hardest = worst_range.find_hardest_prior(size, reach, rate, losses, effort * worst_range.WORK)
    split = 1 + int(staircase_losses(losses, reach, rate).argmin())
    laws, priors = [], [hardest.prior]
    if not goal.properties:
        for reports, prior in worst_remap.propose_remaps(size, reach, rate, losses, split, hardest.prior):
            laws.append(make_staircase_noise(query, epsilon, split, reports))
            priors.append(prior)
    bounds = [grid_noise.guesses(reach, rate, losses, POWERS.get(goal.loss.name), prior).bound for prior in priors]
    law = min(laws, key=lambda one: float(one.losses(query, goal.loss).max()), default=None)
    return NoiseProposal(law, "staircase noise, remapped", max(hardest.bound, *bounds) * (1 - ROUNDING))

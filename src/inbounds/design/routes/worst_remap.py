"""The remap of noise whose worst answer loses least, and the prior under which every remap loses most.

Clamped noise loses most in the middle of the range. A remap that moves reports inwards there loses less, at the cost of
answers near the ends. This is a game: one side chooses a remap, the other one a prior. It is played on cells that are
fine against the noise, with priors that are sums of hats. Each round adds the best remap under a prior to the choice of
remaps, and solves the game of this choice, a linear program: its mixture of priors is what the next round starts from.
If larger errors cost more in proportion (a convex loss), the mixture of the remaps is as good as choosing among them.

Both are proposals. The remap is post-processing, and `bounds.prior_range` proves what the prior promises.
"""

import math
from dataclasses import dataclass

import numpy as np

from inbounds.design.closed.noise import LIGHTEST
from inbounds.design.problem import Floats, Ints
from inbounds.design.remap import solve_game

FINE, MOST_CELLS, LEAST_CELLS = 4, 1200, 400
"""Cells per width of the noise at least; most cells; cells of a short range with so many answers."""

KNOTS, WIDER = 16, 1.3
"""Knots are at most a KNOTS-th of the range apart; their distance grows by the factor WIDER from an end."""

SOFT = 0.75
"""Widths of the noise over which the prior is averaged at last: kinks promise more than a bound can prove."""

GOLDEN = (math.sqrt(5) - 1) / 2
"""Reports between two answers are rounded up or down by multiples of the golden ratio: any run of values meets its
average closely, and a shift of less than a step is not lost."""

ROUNDS, NEAR = 80, 5e-4
"""Rounds at most; relative distance between the values of the best prior and the best mixture at which they stop."""

INERTIA = 0.5
"""Share of the best prior so far in the next one: without it rounds swing."""


@dataclass(frozen=True, eq=False)
class HardestGame:
    """prior: weights of the answers. reports: the report of every noisy value 0..n-1, symmetric and not falling."""

    prior: Floats
    reports: Ints


@dataclass(frozen=True, eq=False)
class CellNoise:
    """Clamped noise on cells: places of the cells, channel[s, j] = Pr[noisy value s | answer j], and losses.

    losses[e]: of an error of e steps.
    """

    places: Floats
    channel: Floats
    losses: Floats

    def loss_of_errors(self, errors: Floats) -> Floats:
        """Return the loss of errors, not whole ones too."""
        return np.interp(np.abs(errors), np.arange(len(self.losses)), self.losses)

    def loss_per_answer(self, reports: Floats) -> Floats:
        """Return the expected loss of every answer, if noisy value s is reported as reports[s]."""
        return np.asarray((self.channel * self.loss_of_errors(reports[:, None] - self.places)).sum(axis=0))

    def best_reports(self, prior: Floats) -> tuple[Floats, float]:
        """Find the report of least loss of every noisy value, between cells by a parabola; and the expected loss."""
        costs = self.loss_of_errors(self.places[:, None] - self.places) @ (prior[:, None] * self.channel.T)
        least = costs.argmin(axis=0)
        inner = np.clip(least, 1, len(costs) - 2)
        before, at, after = (costs[inner + step, np.arange(len(inner))] for step in (-1, 0, 1))
        bend = before - 2 * at + after
        shift = np.where((bend > 0) & (inner == least), (before - after) / np.maximum(2 * bend, 1e-300), 0.0)
        reports = self.places[least] + np.clip(shift, -0.5, 0.5) * (self.places[1] - self.places[0])
        return (reports + self.places[-1] - reports[::-1]) / 2, float(costs.min(axis=0).sum())


def play_hardest_game(size: int, reach: int, rate: float, losses: Floats, split: int) -> HardestGame | None:
    """Find the hardest prior for remaps of staircase noise, and the remap; None if the range is too wide for it.

    losses[e]: of an error of e = 0..size-1 steps, not falling. split: of the staircase.
    """
    from scipy.ndimage import gaussian_filter1d

    count = min(size, max(math.ceil(size * rate / reach * FINE), LEAST_CELLS))
    if not 3 <= count <= MOST_CELLS:
        return None
    noise = _make_cell_noise(size, count, reach, rate, losses, split)
    hats = _make_hats(count)
    weights = np.full(len(hats), 1.0 / len(hats))
    best, highest, tried, values = weights, -math.inf, [], []
    for _ in range(ROUNDS):
        answered, value = noise.best_reports(weights @ hats)
        if value > highest:
            best, highest = weights, value
        tried.append(answered)
        values.append(hats @ noise.loss_per_answer(answered))
        hardest, shares, least = solve_game(np.array(values))
        if least - highest <= NEAR * least:
            break
        weights = (1 - INERTIA) * hardest + INERTIA * best
    answers = np.arange(size)
    soft = gaussian_filter1d(best @ hats, SOFT * reach / rate / noise.places[1], mode="reflect")
    prior = np.interp(answers, noise.places, soft)
    mixed = np.interp(answers, noise.places, np.maximum.accumulate(shares @ np.array(tried)))
    dither = np.modf(answers * GOLDEN)[0]
    reports: Ints = np.clip(np.maximum.accumulate(np.floor(mixed + dither)), 0, size - 1).astype(np.int64)
    reports[(size + 1) // 2 :] = size - 1 - reports[: size // 2][::-1]
    return HardestGame(prior / prior.sum(), reports)


def _make_cell_noise(size: int, count: int, reach: int, rate: float, losses: Floats, split: int) -> CellNoise:
    """Make clamped staircase noise on `count` evenly spaced cells of a range."""
    places = np.linspace(0.0, size - 1.0, count)
    errors = np.arange(math.ceil(LIGHTEST * reach / rate) + reach + size)
    weights = np.exp(-rate * np.where(errors < split, 0, (errors - split) // reach + 1))
    noise = np.asarray(np.bincount(np.floor(errors / places[1] + 0.5).astype(np.int64), weights), float)
    noise[0] = 2 * noise[0] - weights[0]  # errors of both signs
    noise /= noise[0] + 2 * math.fsum(noise[1:])
    at = np.arange(count)
    channel = noise[np.abs(at[:, None] - at)]
    tails = np.cumsum(noise[::-1])[::-1][:count]
    channel[0], channel[-1] = tails, tails[::-1]
    return CellNoise(places, channel, losses)


def _make_hats(count: int) -> Floats:
    """Return priors on cells, hats on knots that are closer near the ends; each is its own mirror image."""
    last, knots, gap = (count + 1) // 2 - 1, [0], 1.0
    while knots[-1] < last:
        knots.append(min(last, knots[-1] + round(gap)))
        gap = min(gap * WIDER, max(1.0, count / KNOTS))
    cells = np.minimum(np.arange(count), np.arange(count)[::-1])
    hats = np.stack([np.interp(cells, knots, column) for column in np.eye(len(knots))])
    return np.asarray(hats / hats.sum(axis=1, keepdims=True))

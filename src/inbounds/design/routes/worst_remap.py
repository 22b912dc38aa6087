"""A remap of noise whose worst answer loses little.

Clamped noise loses most in the middle of the range. A remap that moves outputs inwards there loses less, at the cost of
answers near the ends. This is a game: one side chooses a remap, the other one a prior. It is played on runs of noisy
values that are short against the noise, with the first and the last value, where clamping collects what lies beyond, as
runs of their own. Each round adds the best remap under a prior to the choice of remaps, and solves the game of this
choice, a linear program: its mixture of priors is what the next round starts from.

If larger errors cost more in proportion (a convex loss), the mean of the mixture of remaps is as good as choosing among
them. Otherwise each noisy value takes one of the remaps, in turns that follow the mixture; the first and the last value
cannot take turns, so the game is played again with the output that they get. At last outputs are moved by single steps
as long as that lowers the largest losses.

All of it proposes. The remap is post-processing, and `bounds.worst_range` proves how much a better one could gain.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inbounds.design.closed.noise import LIGHTEST
from inbounds.design.problem import Floats, Ints
from inbounds.design.remap import solve_game

FINE, MOST_RUNS, LEAST_RUNS, SINGLE = 4, 1200, 400, 800
"""Runs per width of the noise at least; most and fewest runs; ranges of so many answers have one run for each."""

KNOTS, WIDER = 32, 1.3
"""Knots of priors are at most a KNOTS-th of the range apart; their distance grows by the factor WIDER from an end."""

GOLDEN, PLASTIC = (math.sqrt(5) - 1) / 2, 0.7548776662466927
"""Multiples of the golden ratio, modulo one, meet any average closely over any run of values. So outputs between two
answers are rounded, and remaps chosen; the inverse of the plastic number serves where both are needed."""

ROUNDS, NEAR = 80, 5e-4
"""Rounds at most; relative distance between the values of the best prior and the best mixture at which they stop."""

INERTIA = 0.5
"""Share of the best prior so far in the next one: without it rounds swing."""

MOST_POLISHED = 1500
"""Most answers for which reports are moved by single steps: some seconds. On longer ranges a step is little."""

HARDNESS, SWEEPS = (300.0, 1000.0, 3000.0), 4
"""Sharpness with which the largest losses are told from the others, in units of the largest; most sweeps with each."""

PARTNERS = 24
"""Outputs that may move the other way when one moves: losses hardly change but for the place."""

NEGLIGIBLE = 1e-9
"""Gain that is not worth a move."""

HOTTEST = 600.0
"""Largest exponent: moves that raise a loss so far are refused anyway."""


@dataclass(frozen=True, eq=False)
class CellNoise:
    """Clamped staircase noise on runs of noisy values, under some answers.

    places: middles of the runs. columns: the answers. channel[s, j] = Pr[run s | columns[j]]. losses[e]: of an error of
    e steps. ends: the output of the first value, if it is fixed.
    """

    places: Floats
    columns: Ints
    channel: Floats
    losses: Floats
    ends: int | None = None

    def loss_of_errors(self, errors: Floats) -> Floats:
        """Return the loss of errors, not whole ones too."""
        return np.interp(np.abs(errors), np.arange(len(self.losses)), self.losses)

    def loss_per_answer(self, reports: Floats) -> Floats:
        """Return the expected loss of every answer, if run s is mapped to reports[s]."""
        return np.asarray((self.channel * self.loss_of_errors(reports[:, None] - self.columns)).sum(axis=0))

    def best_reports(self, prior: Floats) -> Floats:
        """Find the output of least loss of every run, between two places by a parabola."""
        costs = self.loss_of_errors(self.places[:, None] - self.columns) @ (prior[:, None] * self.channel.T)
        least = costs.argmin(axis=0)
        inner = np.clip(least, 1, len(costs) - 2)
        before, at, after = (costs[inner + step, np.arange(len(inner))] for step in (-1, 0, 1))
        bend = before - 2 * at + after
        shift = np.where((bend > 0) & (inner == least), (before - after) / np.maximum(2 * bend, 1e-300), 0.0)
        reports = self.places[least] + np.clip(shift, -0.5, 0.5) * np.gradient(self.places)[least]
        if self.ends is not None:
            reports[[0, -1]] = self.ends, self.places[-1] - self.ends
        return np.asarray((reports + self.places[-1] - reports[::-1]) / 2)


def propose_remaps(
    size: int, reach: int, rate: float, losses: Floats, split: int, prior: Floats
) -> Iterator[tuple[Ints, Floats]]:
    """Yield remaps of staircase noise with small worst loss, each with a hard prior; none if the range is too wide.

    losses[e]: of an error of e = 0..size-1 steps, not falling. split: of the staircase. prior: where the game starts.
    """
    count = size if size <= SINGLE else max(math.ceil(size * rate / reach * FINE), LEAST_RUNS)
    if not 3 <= count <= MOST_RUNS:
        return
    noise = _StaircaseSums(reach, rate, split, size)
    cells = _make_cells(noise, count, losses)
    game = _play(cells, prior)
    yield _polish(_round_mean(game, size), noise, losses), game.answers_prior(size)
    if (np.diff(losses, 2) < 0).any():
        ends = round(float(game.shares @ game.remaps[:, 0]))
        game = _play(CellNoise(cells.places, cells.columns, cells.channel, losses, ends), prior)
        yield _polish(_take_turns(game, size), noise, losses), game.answers_prior(size)


class _StaircaseSums:
    """Staircase noise clamped to 0..size-1, by sums: the probability of a run of noisy values under any answer."""

    def __init__(self, reach: int, rate: float, split: int, size: int) -> None:
        errors = np.arange(math.ceil(LIGHTEST * reach / rate) + reach + 1)
        side = np.exp(-rate * np.where(errors < split, 0, (errors - split) // reach + 1))
        weights = np.concatenate([side[:0:-1], side])
        self.size, self.beyond = size, len(side)
        self.sums = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])

    def up_to(self, noise: Ints) -> Floats:
        """Return the probability of noise up to these numbers."""
        return np.asarray(self.sums[np.clip(noise + self.beyond, 0, len(self.sums) - 1)])

    def probability(self, first: Ints, last: Ints, answers: Ints) -> Floats:
        """Return the probability of the noisy values first..last; beyond an end all is collected there."""
        low = np.where(first == 0, 0.0, self.up_to(first - 1 - answers))
        return np.where(last == self.size - 1, 1.0, self.up_to(last - answers)) - low


@dataclass(frozen=True, eq=False)
class _Game:
    """The remaps that were tried, one row each, their shares in the best mixture, and the hardest prior."""

    cells: CellNoise
    remaps: Floats
    shares: Floats
    prior: Floats

    def shifts(self, reports: Floats, size: int) -> Floats:
        """Return by how much every inner noisy value moves, from the outputs of runs."""
        inner = slice(1, -1)
        return np.interp(np.arange(size), self.cells.places[inner], (reports - self.cells.places)[inner])

    def answers_prior(self, size: int) -> Floats:
        """Return the hardest prior of all answers."""
        columns = self.cells.columns
        prior = np.interp(np.arange(size), columns, self.prior / _areas(columns))
        return np.asarray(prior / prior.sum())


def _make_cells(noise: _StaircaseSums, count: int, losses: Floats) -> CellNoise:
    """Divide the noisy values into `count` runs, the first and the last value alone."""
    starts = np.concatenate([[0], np.round(np.linspace(1, noise.size - 1, count - 1)).astype(np.int64)])
    stops = np.append(starts[1:], noise.size) - 1
    places = (starts + stops) / 2
    columns = np.minimum(np.floor(places), noise.size - 1 - np.ceil(places)).astype(np.int64)
    columns = np.unique(np.concatenate([columns, noise.size - 1 - columns]))
    return CellNoise(places, columns, noise.probability(starts[:, None], stops[:, None], columns), losses)


def _areas(columns: Ints) -> Floats:
    """Return how many answers each column stands for."""
    edges = np.concatenate([[-0.5], (columns[1:] + columns[:-1]) / 2, [columns[-1] + 0.5]])
    return np.diff(edges)


def _play(cells: CellNoise, prior: Floats) -> _Game:
    """Look for the hardest prior, a sum of hats, and for the mixture of remaps that loses least; start at a prior."""
    hats = _make_hats(cells.columns)
    start = np.interp(cells.columns, np.arange(len(prior)), prior) * _areas(cells.columns)
    weights = np.maximum(np.linalg.lstsq(hats.T, start, rcond=None)[0], 0.0)
    weights /= weights.sum()
    best, highest, tried, values = weights, -math.inf, [], []
    for _ in range(ROUNDS):
        reports = cells.best_reports(weights @ hats)
        tried.append(reports)
        values.append(hats @ cells.loss_per_answer(reports))
        if (value := float(weights @ values[-1])) > highest:
            best, highest = weights, value
        hardest, shares, least = solve_game(np.array(values))
        if least - highest <= NEAR * least:
            break
        weights = (1 - INERTIA) * hardest + INERTIA * best
    return _Game(cells, np.array(tried), shares, best @ hats)


def _make_hats(columns: Ints) -> Floats:
    """Return priors on columns, hats on knots that are closer near the ends; each is its own mirror image."""
    count = len(columns)
    last, knots, gap = (count + 1) // 2 - 1, [0], 1.0
    while knots[-1] < last:
        knots.append(min(last, knots[-1] + round(gap)))
        gap = min(gap * WIDER, max(1.0, count / KNOTS))
    at = np.minimum(np.arange(count), np.arange(count)[::-1])
    hats = np.stack([np.interp(at, knots, column) for column in np.eye(len(knots))]) * _areas(columns)
    return np.asarray(hats / hats.sum(axis=1, keepdims=True))


def _round_mean(game: _Game, size: int) -> Ints:
    """Return the mean of the mixture of remaps, rounded to answers."""
    mean = game.shares @ game.remaps
    return _to_reports(np.arange(size) + game.shifts(mean, size), float(mean[0]), GOLDEN)


def _take_turns(game: _Game, size: int) -> Ints:
    """Return a remap in which each noisy value follows one of the remaps."""
    kept = game.shares > 0
    shares = np.cumsum(game.shares[kept] / game.shares[kept].sum())
    values = np.arange(size)
    turn = np.minimum(np.searchsorted(shares, np.modf(values * GOLDEN)[0]), len(shares) - 1)
    shifts = np.stack([game.shifts(remap, size) for remap in game.remaps[kept]])
    return _to_reports(values + shifts[turn, values], float(game.remaps[0, 0]), PLASTIC)


def _to_reports(reports: Floats, first: float, ratio: float) -> Ints:
    """Round outputs to answers, now up, now down; the first one alone. The second half mirrors the first."""
    size = len(reports)
    whole = np.floor(reports + np.modf(np.arange(size) * ratio)[0])
    whole[0] = round(first)
    rounded: Ints = np.clip(whole, 0, size - 1).astype(np.int64)
    rounded[(size + 1) // 2 :] = size - 1 - rounded[: size // 2][::-1]
    return rounded


def _polish(reports: Ints, noise: _StaircaseSums, losses: Floats) -> Ints:
    """Move outputs by single steps, mirror images together, while that lowers the largest losses; never raise them.

    A move is judged by the sum over the answers of the exponential of their losses, ever sharper.
    """
    size, answers = noise.size, np.arange(noise.size)
    if size > MOST_POLISHED:
        return reports
    moving = np.arange(size // 2)
    chances = noise.probability(moving[:, None], moving[:, None], answers)
    reports = reports.copy()
    table = _sum_losses(reports, noise, losses)
    best, least, half = reports.copy(), float(table.max()), (size + 1) // 2

    def change(values: Ints, to: Ints) -> Floats:
        """Return how the losses change if values, and their mirror images, get other outputs."""
        errors = np.abs(to[:, None] - answers), np.abs(reports[values][:, None] - answers)
        changes = chances[values] * (losses[errors[0]] - losses[errors[1]])
        return np.asarray((changes + changes[:, ::-1])[:, :half])

    table = table[:half]
    for hardness in HARDNESS:
        sharp = hardness / max(float(table.max()), np.finfo(float).tiny)
        for _ in range(SWEEPS):
            moves = 0
            for s in moving.tolist():
                for step in (-1, 1):
                    report = reports[s] + step
                    if not 0 <= report < size:
                        continue
                    heat = np.exp(sharp * (table - table.max()))
                    alone = change(moving[s : s + 1], np.array([report]))
                    partners = moving[s + 1 : s + 1 + PARTNERS]
                    partners = partners[(reports[partners] >= max(step, 0)) & (reports[partners] < size + min(step, 0))]
                    changes = np.vstack([alone, alone + change(partners, reports[partners] - step)])
                    heats = np.exp(np.minimum(sharp * changes, HOTTEST)) @ heat
                    pick = int(heats.argmin())
                    if heats[pick] >= heat.sum() * (1 - NEGLIGIBLE):
                        continue
                    reports[s] = report
                    if pick:
                        reports[partners[pick - 1]] -= step
                    table, moves = table + changes[pick], moves + 1
            if table.max() < least:
                best, least = reports.copy(), float(table.max())
            if not moves:
                break
    best[(size + 1) // 2 :] = size - 1 - best[: size // 2][::-1]
    return best


def _sum_losses(reports: Ints, noise: _StaircaseSums, losses: Floats) -> Floats:
    """Return the expected loss of every answer."""
    answers = np.arange(noise.size)
    chances = noise.probability(answers[:, None], answers[:, None], answers)
    return np.asarray((chances * losses[np.abs(reports[:, None] - answers)]).sum(axis=0))

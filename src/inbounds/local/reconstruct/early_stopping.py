"""Stop the updates where one half of the reports explains the other half best.

The maximum of the likelihood turns spiky if reports cannot tell neighbouring answers apart. Values that are heaped by
nature need many steps. The reports decide: each is put into one of two halves by a fair coin (thinning, so both halves
follow the law), the updates run on one half, and the likelihood of the other is computed.
"""

from collections.abc import Callable

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct import ibu
from inbounds.local.reconstruct.channel import DenseChannel, LinearChannel
from inbounds.local.reconstruct.problem import ReconstructionProblem

HALVINGS = 4
"""Times that the reports are halved. The mean of the likelihoods decides: more halvings leave less to the coins, and
take longer in proportion."""

MOST_WORK = 1 << 26
"""Answers times updates that are spent on one half at most: about a second."""

ENTRIES_PER_ANSWER = 16
"""Entries of a plain matrix that cost as much time as one answer of the other channels."""

BEYOND_BEST = 4
"""Larger numbers of updates are tried up to this multiple of the best one so far."""

MOST_UPDATES = 10_000
"""Updates tried; if more would be better still, the maximum is too."""

WHOLE_TOLERANCE = 1e-9
"""Share by which a count may miss a whole number: it was divided by the number of reports, and multiplied again."""


def held_out_steps(problem: ReconstructionProblem, maximum: Callable[[ReconstructionProblem], Floats]) -> int | None:
    """Return how many plain updates to take; None if the maximum of the likelihood explains held-out reports best.

    Draws with a fixed seed, so that the same reports always give the same estimate.
    """
    counts = whole_counts(problem)
    if counts is None:
        return None
    rng, steps = np.random.default_rng(0), _steps_tried(_update_cost(problem.channel))
    stopped, at_maximum = np.zeros(len(steps)), 0.0
    for _ in range(HALVINGS):
        half = rng.binomial(counts, 0.5)
        if half.sum() in (0, counts.sum()):  # one half is empty, and says nothing
            continue
        seen, other = (_halves_for(problem, part) for part in (half, counts - half))
        stopped += _held_out(seen, other, steps)
        at_maximum += other.log_likelihood(maximum(seen))
    best = int(stopped.argmax())
    return None if at_maximum >= stopped[best] else steps[best]


def whole_counts(problem: ReconstructionProblem) -> Ints | None:
    """Return the counts of the reports; None if frequencies were given, which do not state the number of reports."""
    counts = problem.q * problem.reports
    near = np.rint(counts)
    return near.astype(np.int64) if (np.abs(counts - near) <= WHOLE_TOLERANCE * np.maximum(near, 1)).all() else None


def _update_cost(channel: LinearChannel) -> int:
    """Return the cost of an update, in answers."""
    outputs, answers = channel.shape
    return max(answers, outputs * answers // ENTRIES_PER_ANSWER) if isinstance(channel, DenseChannel) else answers


def _steps_tried(work: int) -> list[int]:
    """Return the step counts to try: 1, 2, 3, … then a third more each time, as far as the work allows."""
    tried = [1]
    while tried[-1] * work * 4 // 3 < MOST_WORK and tried[-1] < MOST_UPDATES:
        tried.append(max(tried[-1] + 1, tried[-1] * 4 // 3))
    return tried


def _halves_for(problem: ReconstructionProblem, counts: Ints) -> ReconstructionProblem:
    return ReconstructionProblem.from_channel(problem.channel, counts.astype(np.float64), problem.start, problem.query)


def _held_out(seen: ReconstructionProblem, other: ReconstructionProblem, steps: list[int]) -> Floats:
    """Return the likelihood of the other half after each number of updates; minus infinity once it has long fallen."""
    likelihoods = np.full(len(steps), -np.inf)
    best, updates, taken = 0, ibu.iterate(seen.channel, seen.q, seen.start), -1
    for k, count in enumerate(steps):
        while taken < count:
            update, taken = next(updates), taken + 1
        likelihoods[k] = other.log_likelihood(update.p / update.p.sum())
        best = k if likelihoods[k] >= likelihoods[best] else best
        if count > BEYOND_BEST * steps[best] + 10:
            break
    return likelihoods

"""Bayesian reading of outputs: posteriors, best guesses, credible sets, information.

Every function takes a mechanism or a channel first and is a method of both. If the matrix would be too large, functions
of one output use the law instead, and so do best guesses on maps; all others raise `TooLarge`. Priors are weights of
the answers, uniform by default; for a quantile they are the distribution of the records' values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints
from inbounds.losses import LossLike, Prior, to_loss
from inbounds.mechanism.cells import best_map_cells
from inbounds.mechanism.measures import HasChannel
from inbounds.mechanism.remap import minimax_remap
from inbounds.query import RangeQuery
from inbounds.query.places import take_places

if TYPE_CHECKING:
    from inbounds.mechanism.channel import Channel

LEVEL_SLACK = 1e-12
"""Posteriors are float sums: a set that is below the level by at most this share counts as reaching it."""


# --- one output -------------------------------------------------------------------------------------------


def posterior(source: HasChannel, output: Any, prior: Prior = None) -> Floats:
    """Return Pr[answer | output] for every answer: prior[j]·P[i, j] / sum_j prior[j]·P[i, j].

    output: a released value. Raises `ValueError` if it is impossible under the prior.
    """
    channel = source.channel(prior)
    joint = channel.likelihood(channel.output_index(output)) * channel.prior
    if not joint.sum() > 0:
        raise ValueError("output must be possible under the prior")
    return np.asarray(joint / joint.sum())


def best_guess(source: HasChannel, output: Any, loss: LossLike = "absolute", prior: Prior = None) -> Any:
    """Return the answer with the least expected loss given `output`; as coordinates if `output` is coordinates."""
    channel = source.channel(prior)
    query, index = channel.query, channel.output_index(output)
    if channel.is_too_large:
        guess = best_map_cells(query, to_loss(loss), [channel.likelihood(index) * channel.prior])[0]
    else:
        guess = _guess_costs(channel, loss, [index]).argmin(axis=1)
    return _name_answers(query, guess, output)[0]


@dataclass(frozen=True)
class CredibleSet:
    """Answers that hold the truth with `probability` under the prior; consecutive if answers are numbers."""

    answers: tuple[Any, ...]
    probability: float

    def __str__(self) -> str:
        return f"{_format_answers(self.answers)} with {format_percent(self.probability)}"


def credible_set(source: HasChannel, output: Any, level: float = 0.9, prior: Prior = None) -> CredibleSet:
    """Return the smallest set of answers that holds the truth with probability `level` given `output`.

    For numbers it is the shortest run of consecutive answers, for labels the likeliest ones. Among sets of the same
    size it is the most probable. level: above 0, at most 1.
    """
    channel = source.channel(prior)
    p = posterior(channel, output)
    members = _credible_positions(channel.query, p, _check_level(level))
    return CredibleSet(tuple(_name_answers(channel.query, members, output)), float(p[members].sum()))


# --- every output -----------------------------------------------------------------------------------------


def best_remap(source: HasChannel, loss: LossLike = "absolute", prior: Prior = None) -> Any:
    """Return the best guess for every output, in the order of the outputs; of equally good guesses the lowest."""
    channel = source.channel(prior)
    return answer_values(channel.query)[_best_guesses(channel, loss)]


def bayes_loss(source: HasChannel, loss: LossLike = "absolute", prior: Prior = None) -> float:
    """Return the expected loss of a user who replaces every output by the best guess: 000 (25)-(26), corrected.

    sum_i min_g sum_j prior[j] · P[i, j] · loss(g, j), over guesses g among the answers. It is at most the face-value
    loss if outputs are answers, and a lower bound for every post-processing of this mechanism.
    """
    channel = source.channel(prior)
    found = channel.law.best_guesses(channel.query, to_loss(loss), channel.prior)
    return float((_guess_costs(channel, loss).min(axis=1) if found is None else found[1]).sum())


@dataclass(frozen=True)
class Interpretation:
    """What one published output means to a reader.

    chance: the probability that it is published, under the prior. answers, probability: the credible set and its
    probability. at_least: the least probability of the set if a share `doubt` of the prior is replaced by any other
    prior. The set is empty if the output is impossible under the prior.
    """

    output: Any
    chance: float
    best_guess: Any
    answers: tuple[Any, ...]
    probability: float
    at_least: float

    def __str__(self) -> str:
        if not self.answers:
            return f"published {self.output} → never, under this prior"
        answers = _format_answers(self.answers)
        return f"published {self.output} → true answer {answers} with {format_percent(self.probability)}"


def interpret_all(
    source: HasChannel,
    level: float = 0.9,
    prior: Prior = None,
    loss: LossLike = "absolute",
    doubt: float = 0.1,
) -> tuple[Interpretation, ...]:
    """Return for every output its credible set and best guess, and how robust the set is against a wrong prior.

    Let the true prior be (1 - c)·prior + c·q with c = `doubt` (at least 0, below 1) and any q. Then the set S of output
    i has at least the probability (1 - c)·joint(S) / ((1 - c)·joint(all) + c·max_{j not in S} P[i, j]). The worst q is
    the one answer outside S that explains the output best.

    >>> from inbounds import catalog, count
    >>> print(catalog.truncated_geometric(count(5), 2).interpretations()[3])
    published 3 → true answer 2–4 with 97 %
    """
    channel = source.channel(prior)
    channel.refuse_if_too_large()
    guesses = answer_values(channel.query)[_best_guesses(channel, loss)].tolist()
    values = channel.output_values.tolist()
    return tuple(
        _interpret_likelihood(channel, row, value, guess, level, doubt)
        for row, value, guess in zip(channel.matrix, values, guesses, strict=True)
    )


def interpret(
    source: HasChannel,
    output: Any,
    level: float = 0.9,
    prior: Prior = None,
    loss: LossLike = "absolute",
    doubt: float = 0.1,
) -> Interpretation:
    """Return the interpretation of one output, also for laws that are too large for a matrix."""
    channel = source.channel(prior)
    likelihood, guess = channel.likelihood(channel.output_index(output)), best_guess(channel, output, loss)
    return _interpret_likelihood(channel, likelihood, output, guess, level, doubt)


def _interpret_likelihood(
    channel: "Channel", likelihood: Floats, output: Any, guess: Any, level: float, doubt: float
) -> Interpretation:
    if not 0 <= doubt < 1:
        raise ValueError(f"doubt must be at least 0 and below 1, got {doubt}")
    query, joint = channel.query, likelihood * channel.prior
    chance = float(joint.sum())
    if not chance > 0:
        return Interpretation(output, 0.0, guess, (), 0.0, 0.0)
    inside = _credible_positions(query, joint / chance, _check_level(level))
    outside = np.delete(likelihood, inside)
    certain_mass = (1 - doubt) * float(joint[inside].sum())
    at_least = certain_mass / ((1 - doubt) * chance + doubt * float(outside.max(initial=0.0)))
    probability = float(joint[inside].sum()) / chance
    return Interpretation(output, chance, guess, tuple(answer_values(query)[inside].tolist()), probability, at_least)


def coverage(source: HasChannel, level: float = 0.9, prior: Prior = None) -> Floats:
    """Return for every true answer the probability that the credible set of the output holds it.

    The average over the prior is at least `level`. Under any other prior the average lies between the least and the
    largest entry.
    """
    channel = source.channel(prior)
    query, probabilities = channel.query, np.zeros(len(channel.prior))
    for likelihood in channel.matrix:
        joint = likelihood * channel.prior
        if joint.sum() > 0:
            inside = _credible_positions(query, joint / joint.sum(), _check_level(level))
            probabilities[inside] += likelihood[inside]
    return probabilities


def regret(source: HasChannel, assumed: Prior, actual: Prior, loss: LossLike = "absolute") -> float:
    """Return the extra loss of guessing with the prior `assumed` when `actual` is true."""
    costs = _guess_costs(source.channel(actual), loss)
    assumed_costs = costs[np.arange(len(costs)), _best_guesses(source.channel(assumed), loss)]
    return float((assumed_costs - costs.min(axis=1)).sum())


# --- information ------------------------------------------------------------------------------------------


def mutual_information(source: HasChannel, prior: Prior = None) -> float:
    """Return the mutual information of output and answer in bits: sum joint · log2(P[i, j] / Pr[i]).

    No remap can raise it.
    """
    channel = source.channel(prior)
    weights, P = channel.prior, channel.matrix
    chance = P @ weights
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(P > 0, P * (np.log2(P) - np.log2(chance)[:, None]), 0.0)
    return max(0.0, float((bits @ np.where(weights > 0, weights, 0.0)).sum()))


def posterior_entropy(source: HasChannel, prior: Prior = None) -> float:
    """Return the entropy of the answer given the output in bits: that of the prior minus the mutual information."""
    channel = source.channel(prior)
    positive = channel.prior[channel.prior > 0]
    return max(0.0, float(-(positive * np.log2(positive)).sum()) - mutual_information(channel))


# --- post-processing --------------------------------------------------------------------------------------


def worst_remap(source: HasChannel, loss: LossLike = "absolute") -> Floats:
    """Return the randomized remap with the least worst-case loss: R[guess, output], columns sum to one.

    It minimizes max_j sum_i sum_g R[g, i] · P[i, j] · loss(g, j), by a linear program with one variable for every
    guess and output (risk-averse users, 004 OPT2). For average losses the deterministic `best_remap` is optimal; here
    randomizing can be strictly better.
    """
    channel = source.channel()
    return minimax_remap(channel.matrix, to_loss(loss).guesses(channel.query))


# --- shared -----------------------------------------------------------------------------------------------


def _guess_costs(channel: "Channel", loss: LossLike, rows: Any = slice(None)) -> Floats:
    """Return costs[i, g], the joint loss of guessing g for output i, for the outputs selected by `rows`."""
    return np.asarray((channel.matrix[rows] * channel.prior) @ to_loss(loss).guesses(channel.query).T)


def _best_guesses(channel: "Channel", loss: LossLike) -> Ints:
    found = channel.law.best_guesses(channel.query, to_loss(loss), channel.prior)
    return np.asarray(_guess_costs(channel, loss).argmin(axis=1)) if found is None else found[0]


def _name_answers(query: RangeQuery, positions: Ints, output: Any) -> list[Any]:
    """Return answers as people write them; as tuples of coordinates if the output is coordinates."""
    if query.places is None or isinstance(output, str):
        return [*answer_values(query)[positions].tolist()]
    return [tuple(place) for place in take_places(query.places, positions).tolist()]


def _credible_positions(query: RangeQuery, p: Floats, level: float) -> Ints:
    """Return the positions of the smallest credible set."""
    if query.is_ordered:
        return np.arange(*find_shortest_run(p, level))
    order = np.argsort(-p, kind="stable")
    enough = level * (1 - LEVEL_SLACK)
    return np.sort(order[: int(np.searchsorted(np.cumsum(p[order]), enough)) + 1])


def find_shortest_run(p: Floats, level: float) -> tuple[int, int]:
    """Return (first, stop) of the shortest run with probability `level` under p; of several, the most probable."""
    enough = level * (1 - LEVEL_SLACK)
    below = np.zeros(len(p) + 1)
    np.cumsum(p, out=below[1:])
    needed = below[:-1] + enough
    starts = np.arange(np.searchsorted(needed, below[-1], side="right"))  # after these, too little probability is left
    stops = np.searchsorted(below, needed[: len(starts)])
    length = stops - starts
    shortest = starts[length == length.min()]
    masses = below[stops[shortest]] - below[shortest]
    best = shortest[np.argmax(masses >= masses.max() - LEVEL_SLACK)]  # the first of those that differ only by rounding
    return int(best), int(stops[best])


def _check_level(level: float) -> float:
    if not 0 < level <= 1:
        raise ValueError(f"level must be above 0 and at most 1, got {level}")
    return level


def answer_values(query: RangeQuery) -> NDArray[Any]:
    """Return the answers as people write them: labels, whole numbers, or decimals."""
    return np.array(query.labels, dtype=object) if query.labels is not None else query.answers.numbers()


def format_percent(share: float) -> str:
    """Write a share of one in percent, rounded down so that 'at least' stays true.

    >>> format_percent(0.9), format_percent(0.95999), format_percent(0.99999)
    ('90 %', '95 %', '99.9 %')
    """
    hundredths = np.floor(share * 100 * (1 + LEVEL_SLACK))
    if hundredths >= 99 and share < 1 - LEVEL_SLACK:
        return f"{np.floor(share * 1000) / 10:.1f} %"
    return f"{hundredths:.0f} %"


def _format_answers(answers: Sequence[Any]) -> str:
    """Write a set of answers: '2–4' for a run of numbers, 'a or b' for labels."""
    are_names = isinstance(answers[0], str | tuple)
    texts = [str(answer) if are_names else f"{answer:g}" for answer in answers]
    if len(texts) == 1:
        return texts[0]
    return " or ".join(texts) if are_names else f"{texts[0]}–{texts[-1]}"

"""Bayesian reading of reports: posteriors, best guesses, credible sets, information.

Every function takes a mechanism first, or another `ChannelLike`, and is a method of `Mechanism`. If the matrix would be
too large, functions of one output use the law instead, and so do best guesses on maps; all others raise `TooLarge`.
Priors are weights of the answers, uniform by default.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints
from inbounds.losses import LossLike, Prior, to_loss, to_prior
from inbounds.mechanism.cells import find_best_cells, step_losses
from inbounds.mechanism.limits import is_too_large, refuse_beyond_limit
from inbounds.mechanism.measures import output_index
from inbounds.mechanism.plane import PlaneNoise
from inbounds.mechanism.remap import minimax_remap
from inbounds.query import RangeQuery
from inbounds.query.places import take_places
from inbounds.trusted.bounds import TOTAL


class ChannelLike(Protocol):
    """An object with a query and a matrix of probabilities: a mechanism, or a channel expected of one."""

    @property
    def query(self) -> RangeQuery: ...
    @property
    def matrix(self) -> Floats:
        """P[output, answer]."""


@runtime_checkable
class HasLaw(Protocol):
    """An object with a law, which has the probabilities of one output: a mechanism."""

    @property
    def law(self) -> Any: ...


LEVEL_SLACK = 1e-12
"""Posteriors are float sums: a set that is below the level by at most this share counts as reaching it."""


# --- one output -------------------------------------------------------------------------------------------


def posterior(mechanism: ChannelLike, output: Any, prior: Prior = None) -> Floats:
    """Return Pr[answer | output] for every answer: prior[j]·P[i, j] / sum_j prior[j]·P[i, j].

    output: a reported value. Raises `ValueError` if it is impossible under the prior.
    """
    joint = _likelihood(mechanism, output_index(mechanism.query, output)) * to_prior(prior, mechanism.query)
    if not joint.sum() > 0:
        raise ValueError("output must be possible under the prior")
    return np.asarray(joint / joint.sum())


def best_guess(mechanism: ChannelLike, output: Any, loss: LossLike = "absolute", prior: Prior = None) -> Any:
    """Return the answer with the least expected loss given `output`; as coordinates if `output` is coordinates."""
    query, index = mechanism.query, output_index(mechanism.query, output)
    if is_too_large(query):
        weights = to_prior(prior, query)
        guess = _best_map_cells(query, loss, iter([_likelihood(mechanism, index) * weights]))[0]
    else:
        guess = _guess_costs(mechanism, loss, prior, [index]).argmin(axis=1)
    return _name_answers(query, guess, output)[0]


@dataclass(frozen=True)
class CredibleSet:
    """Answers that hold the truth with `probability` under the prior; consecutive if answers are numbers."""

    answers: tuple[Any, ...]
    probability: float

    def __str__(self) -> str:
        return f"{_format_answers(self.answers)} with {format_percent(self.probability)}"


def credible_set(mechanism: ChannelLike, output: Any, level: float = 0.9, prior: Prior = None) -> CredibleSet:
    """Return the smallest set of answers that holds the truth with probability `level` given `output`.

    For numbers it is the shortest run of consecutive answers, for labels the likeliest ones. Among sets of the same
    size it is the most probable. level: above 0, at most 1.
    """
    p = posterior(mechanism, output, prior)
    members = _credible_positions(mechanism.query, p, _check_level(level))
    return CredibleSet(tuple(_name_answers(mechanism.query, members, output)), float(p[members].sum()))


# --- every output -----------------------------------------------------------------------------------------


def best_remap(mechanism: ChannelLike, loss: LossLike = "absolute", prior: Prior = None) -> Any:
    """Return the best guess for every output, in the order of the outputs; of equally good guesses the lowest."""
    return answer_values(mechanism.query)[_best_guesses(mechanism, loss, prior)]


def bayes_loss(mechanism: ChannelLike, loss: LossLike = "absolute", prior: Prior = None) -> float:
    """Return the expected loss of a user who replaces every output by the best guess: 000 (25)-(26), corrected.

    sum_i min_g sum_j prior[j] · P[i, j] · loss(g, j), over guesses g among the answers. It is at most the face-value
    loss if outputs are answers, and a lower bound for every post-processing of this mechanism.
    """
    if (plane := _large_plane(mechanism)) is not None:
        return float(_map_guesses(mechanism.query, plane, loss, prior)[1].sum())
    return float(_guess_costs(mechanism, loss, prior).min(axis=1).sum())


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
    mechanism: ChannelLike,
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
    query = mechanism.query
    refuse_beyond_limit(query)
    guesses = answer_values(query)[_best_guesses(mechanism, loss, prior)].tolist()
    values = query.output_values.tolist()
    return tuple(
        _interpret_likelihood(query, row, value, guess, level, prior, doubt)
        for row, value, guess in zip(mechanism.matrix, values, guesses, strict=True)
    )


def interpret(
    mechanism: ChannelLike,
    output: Any,
    level: float = 0.9,
    prior: Prior = None,
    loss: LossLike = "absolute",
    doubt: float = 0.1,
) -> Interpretation:
    """Return the interpretation of one output, also for laws that are too large for a matrix."""
    index = output_index(mechanism.query, output)
    guess = best_guess(mechanism, output, loss, prior)
    return _interpret_likelihood(mechanism.query, _likelihood(mechanism, index), output, guess, level, prior, doubt)


def _interpret_likelihood(
    query: RangeQuery, likelihood: Floats, output: Any, guess: Any, level: float, prior: Prior, doubt: float
) -> Interpretation:
    if not 0 <= doubt < 1:
        raise ValueError(f"doubt must be at least 0 and below 1, got {doubt}")
    joint = likelihood * to_prior(prior, query)
    chance = float(joint.sum())
    if not chance > 0:
        return Interpretation(output, 0.0, guess, (), 0.0, 0.0)
    inside = _credible_positions(query, joint / chance, _check_level(level))
    outside = np.delete(likelihood, inside)
    certain_mass = (1 - doubt) * float(joint[inside].sum())
    at_least = certain_mass / ((1 - doubt) * chance + doubt * float(outside.max(initial=0.0)))
    probability = float(joint[inside].sum()) / chance
    return Interpretation(output, chance, guess, tuple(answer_values(query)[inside].tolist()), probability, at_least)


def coverage(mechanism: ChannelLike, level: float = 0.9, prior: Prior = None) -> Floats:
    """Return for every true answer the probability that the credible set of the output holds it.

    The average over the prior is at least `level`. Under any other prior the average lies between the least and the
    largest entry.
    """
    weights, query = to_prior(prior, mechanism.query), mechanism.query
    probabilities = np.zeros(len(weights))
    for likelihood in mechanism.matrix:
        joint = likelihood * weights
        if joint.sum() > 0:
            inside = _credible_positions(query, joint / joint.sum(), _check_level(level))
            probabilities[inside] += likelihood[inside]
    return probabilities


def regret(mechanism: ChannelLike, assumed: Prior, actual: Prior, loss: LossLike = "absolute") -> float:
    """Return the extra loss of guessing with the prior `assumed` when `actual` is true."""
    costs = _guess_costs(mechanism, loss, actual)
    assumed_costs = costs[np.arange(len(costs)), _best_guesses(mechanism, loss, assumed)]
    return float((assumed_costs - costs.min(axis=1)).sum())


# --- information ------------------------------------------------------------------------------------------


def mutual_information(mechanism: ChannelLike, prior: Prior = None) -> float:
    """Return the mutual information of report and answer in bits: sum joint · log2(P[i, j] / Pr[i]).

    No remap can raise it.
    """
    weights = to_prior(prior, mechanism.query)
    P = mechanism.matrix
    chance = P @ weights
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(P > 0, P * (np.log2(P) - np.log2(chance)[:, None]), 0.0)
    return max(0.0, float((bits @ np.where(weights > 0, weights, 0.0)).sum()))


def posterior_entropy(mechanism: ChannelLike, prior: Prior = None) -> float:
    """Return the entropy of the answer given the report in bits: that of the prior minus the mutual information."""
    weights = to_prior(prior, mechanism.query)
    positive = weights[weights > 0]
    return max(0.0, float(-(positive * np.log2(positive)).sum()) - mutual_information(mechanism, prior))


# --- post-processing --------------------------------------------------------------------------------------


def worst_remap(mechanism: ChannelLike, loss: LossLike = "absolute") -> Floats:
    """Return the randomized remap with the least worst-case loss: R[guess, output], columns sum to one.

    It minimizes max_j sum_i sum_g R[g, i] · P[i, j] · loss(g, j), by a linear program with one variable for every
    guess and output (risk-averse users, 004 OPT2). For average losses the deterministic `best_remap` is optimal; here
    randomizing can be strictly better.
    """
    return minimax_remap(mechanism.matrix, to_loss(loss).guesses(mechanism.query))


# --- shared -----------------------------------------------------------------------------------------------


def _guess_costs(mechanism: ChannelLike, loss: LossLike, prior: Prior, rows: Any = slice(None)) -> Floats:
    """Return costs[i, g], the joint loss of guessing g for output i, for the outputs selected by `rows`."""
    weights = to_prior(prior, mechanism.query)
    return np.asarray((mechanism.matrix[rows] * weights) @ to_loss(loss).guesses(mechanism.query).T)


def _name_answers(query: RangeQuery, positions: Ints, output: Any) -> list[Any]:
    """Return answers as people write them; as tuples of coordinates if the output is coordinates."""
    if query.places is None or isinstance(output, str):
        return [*answer_values(query)[positions].tolist()]
    return [tuple(place) for place in take_places(query.places, positions).tolist()]


def _likelihood(mechanism: ChannelLike, output: int) -> Floats:
    """Return Pr[output | answer] for every answer, without a matrix if it would be too large."""
    if isinstance(mechanism, HasLaw) and is_too_large(mechanism.query):
        return np.asarray(mechanism.law.likelihood(mechanism.query, output))
    return np.asarray(mechanism.matrix[output])


def _large_plane(mechanism: ChannelLike) -> PlaneNoise | None:
    """Return the law if it is noise on a map that is too large for a matrix, else None."""
    large = isinstance(mechanism, HasLaw) and is_too_large(mechanism.query)
    return mechanism.law if large and isinstance(mechanism.law, PlaneNoise) else None  # type: ignore[attr-defined]


def _map_guesses(query: RangeQuery, law: PlaneNoise, loss: LossLike, prior: Prior) -> tuple[Ints, Floats]:
    """Return the best guess for every output of noise on a map, and the joint losses."""
    weights = to_prior(prior, query).reshape(law.size)
    return _best_map_cells(query, loss, (law.output_weights(i) * weights / TOTAL for i in range(weights.size)))


def _best_map_cells(query: RangeQuery, loss: LossLike, joints: Iterator[Floats]) -> tuple[Ints, Floats]:
    cost = step_losses(query, to_loss(loss))
    size = [length // 2 + 1 for length in cost.shape]
    blocks = [*find_best_cells((joint.reshape(size) for joint in joints), cost)]
    return np.concatenate([cells for cells, _ in blocks]), np.concatenate([costs for _, costs in blocks])


def _best_guesses(mechanism: ChannelLike, loss: LossLike, prior: Prior) -> Ints:
    if (plane := _large_plane(mechanism)) is not None:
        return _map_guesses(mechanism.query, plane, loss, prior)[0]
    return np.asarray(_guess_costs(mechanism, loss, prior).argmin(axis=1))


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

"""What a reader with a prior makes of a report: posteriors, best guesses, credible sets, information.

Every function takes a mechanism first, or another `ChannelLike`, and is a method of `Mechanism`. Beyond the size of a
matrix, what is said of one output is read off the law, and on maps the best guesses are too; all else raises
`TooLarge`. Priors are weights of the answers, uniform by default.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints
from inbounds.losses import LossLike, Prior, to_loss, to_prior
from inbounds.mechanism.cells import find_best_cells, step_losses
from inbounds.mechanism.limits import refuse_beyond_limit, too_large
from inbounds.mechanism.measures import output_index
from inbounds.mechanism.plane import PlaneNoise
from inbounds.mechanism.remap import minimax_remap
from inbounds.query import RangeQuery
from inbounds.query.places import take_places
from inbounds.trusted.bounds import TOTAL


class ChannelLike(Protocol):
    """Whatever has probabilities of outputs for the answers of a query: a mechanism, or what is expected of one."""

    @property
    def query(self) -> RangeQuery: ...
    @property
    def matrix(self) -> Floats:
        """P[output, answer]."""


@runtime_checkable
class HasLaw(Protocol):
    """A mechanism: its law knows the probabilities of one output."""

    @property
    def law(self) -> Any: ...


LEVEL_SLACK = 1e-12
"""Posteriors are float sums: a set that misses the level by this share has reached it."""


# --- one output -------------------------------------------------------------------------------------------


def posterior(mechanism: ChannelLike, output: Any, prior: Prior = None) -> Floats:
    """Pr[answer | output] for every answer: prior[j]·P[i, j] / sum_j of the same.

    output: a reported value. One that the prior makes impossible is a `ValueError`.
    """
    joint = _likelihood(mechanism, output_index(mechanism.query, output)) * to_prior(prior, mechanism.query)
    if not joint.sum() > 0:
        raise ValueError("output must be possible under the prior")
    return np.asarray(joint / joint.sum())


def best_guess(mechanism: ChannelLike, output: Any, loss: LossLike = "absolute", prior: Prior = None) -> Any:
    """The answer that loses least after seeing `output`; coordinates are answered by coordinates."""
    query, seen = mechanism.query, output_index(mechanism.query, output)
    if too_large(query):
        weights = to_prior(prior, query)
        guess = _on_map(query, loss, iter([_likelihood(mechanism, seen) * weights]))[0]
    else:
        guess = _guess_costs(mechanism, loss, prior, [seen]).argmin(axis=1)
    return _name_answers(query, guess, output)[0]


@dataclass(frozen=True)
class CredibleSet:
    """Answers that hold the truth with `probability` under the prior; consecutive when answers are numbers."""

    answers: tuple[Any, ...]
    probability: float

    def __str__(self) -> str:
        return f"{_span(self.answers)} with {format_percent(self.probability)}"


def credible_set(mechanism: ChannelLike, output: Any, level: float = 0.9, prior: Prior = None) -> CredibleSet:
    """The fewest answers that hold the truth with probability `level` after seeing `output`.

    For numbers the shortest run of consecutive answers, for labels the likeliest ones; of several as short,
    the most probable.
    """
    p = posterior(mechanism, output, prior)
    members = _members(mechanism.query, p, _proper(level))
    return CredibleSet(tuple(_name_answers(mechanism.query, members, output)), float(p[members].sum()))


# --- every output -----------------------------------------------------------------------------------------


def best_remap(mechanism: ChannelLike, loss: LossLike = "absolute", prior: Prior = None) -> Any:
    """The best guess for every output, in the order of the outputs; of several as good the lowest."""
    return answer_values(mechanism.query)[_guesses(mechanism, loss, prior)]


def bayes_loss(mechanism: ChannelLike, loss: LossLike = "absolute", prior: Prior = None) -> float:
    """Expected loss of a user who replaces every output by the best guess: 000 (25)-(26), corrected.

    sum_i min_g sum_j prior[j] · P[i, j] · loss(g, j), over guesses g among the answers. Never above the
    face-value loss where outputs are answers; no mechanism derived from this one can go below.
    """
    if (plane := _large_plane(mechanism)) is not None:
        return float(_map_guesses(mechanism.query, plane, loss, prior)[1].sum())
    return float(_guess_costs(mechanism, loss, prior).min(axis=1).sum())


@dataclass(frozen=True)
class Interpretation:
    """What one published output means to a reader.

    chance: how often it is published under the prior. answers, probability: the credible set and what it holds.
    at_least: what the set still holds if a share `doubt` of the prior were anything else. The set is empty
    when the prior says that the output cannot occur.
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
        return f"published {self.output} → true answer {_span(self.answers)} with {format_percent(self.probability)}"


def interpret_all(
    mechanism: ChannelLike,
    level: float = 0.9,
    prior: Prior = None,
    loss: LossLike = "absolute",
    doubt: float = 0.1,
) -> tuple[Interpretation, ...]:
    """For every output its credible set and best guess, and how far they can be trusted if the prior is wrong.

    If the prior is right only up to a share `doubt`, q = (1 - c)·prior + c·anything, the set S of output i holds
    at least (1 - c)·joint(S) / ((1 - c)·joint(all) + c·max_{j not in S} P[i, j]): all doubt on the one answer
    outside S that explains the output best.

    >>> from inbounds import catalog, count
    >>> print(catalog.truncated_geometric(count(5), 2).interpretations()[3])
    published 3 → true answer 2–4 with 97 %
    """
    query = mechanism.query
    refuse_beyond_limit(query)
    guesses = answer_values(query)[_guesses(mechanism, loss, prior)].tolist()
    values = query.output_values.tolist()
    return tuple(
        _reading(query, row, value, guess, level, prior, doubt)
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
    """As `interpret_all`, for one output: of laws too large for a matrix too."""
    seen = output_index(mechanism.query, output)
    guess = best_guess(mechanism, output, loss, prior)
    return _reading(mechanism.query, _likelihood(mechanism, seen), output, guess, level, prior, doubt)


def _reading(
    query: RangeQuery, likelihood: Floats, output: Any, guess: Any, level: float, prior: Prior, doubt: float
) -> Interpretation:
    if not 0 <= doubt < 1:
        raise ValueError(f"doubt must be at least 0 and below 1, got {doubt}")
    joint = likelihood * to_prior(prior, query)
    chance = float(joint.sum())
    if not chance > 0:
        return Interpretation(output, 0.0, guess, (), 0.0, 0.0)
    inside = _members(query, joint / chance, _proper(level))
    outside = np.delete(likelihood, inside)
    held = (1 - doubt) * float(joint[inside].sum())
    at_least = held / ((1 - doubt) * chance + doubt * float(outside.max(initial=0.0)))
    probability = float(joint[inside].sum()) / chance
    return Interpretation(output, chance, guess, tuple(answer_values(query)[inside].tolist()), probability, at_least)


def coverage(mechanism: ChannelLike, level: float = 0.9, prior: Prior = None) -> Floats:
    """For every true answer, how often the credible set of the output holds it.

    Averaged over the prior it is at least `level`; whatever the prior really is, the average lies between
    the least and the largest entry.
    """
    weights, query = to_prior(prior, mechanism.query), mechanism.query
    held = np.zeros(len(weights))
    for likelihood in mechanism.matrix:
        joint = likelihood * weights
        if joint.sum() > 0:
            inside = _members(query, joint / joint.sum(), _proper(level))
            held[inside] += likelihood[inside]
    return held


def regret(mechanism: ChannelLike, assumed: Prior, actual: Prior, loss: LossLike = "absolute") -> float:
    """What believing the prior `assumed` costs when `actual` is right: loss of its guesses minus the least loss."""
    costs = _guess_costs(mechanism, loss, actual)
    taken = costs[np.arange(len(costs)), _guesses(mechanism, loss, assumed)]
    return float((taken - costs.min(axis=1)).sum())


# --- information ------------------------------------------------------------------------------------------


def mutual_information(mechanism: ChannelLike, prior: Prior = None) -> float:
    """Bits that a report tells about the answer: sum joint · log2(P[i, j] / Pr[i]). No remap can raise it."""
    weights = to_prior(prior, mechanism.query)
    P = mechanism.matrix
    chance = P @ weights
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(P > 0, P * (np.log2(P) - np.log2(chance)[:, None]), 0.0)
    return max(0.0, float((bits @ np.where(weights > 0, weights, 0.0)).sum()))


def posterior_entropy(mechanism: ChannelLike, prior: Prior = None) -> float:
    """Bits of uncertainty left about the answer after a report: entropy of the prior minus the information."""
    weights = to_prior(prior, mechanism.query)
    known = weights[weights > 0]
    return max(0.0, float(-(known * np.log2(known)).sum()) - mutual_information(mechanism, prior))


# --- post-processing --------------------------------------------------------------------------------------


def worst_remap(mechanism: ChannelLike, loss: LossLike = "absolute") -> Floats:
    """The best randomized remap for a user who fears the worst answer: R[guess, output], columns sum to one.

    Minimizes max_j sum_i sum_g R[g, i] · P[i, j] · loss(g, j), by a linear program with one variable for every
    guess and output (risk-averse users, 004 OPT2). The deterministic `best_remap` serves average losses; here mixing
    can be strictly better.
    """
    return minimax_remap(mechanism.matrix, to_loss(loss).guesses(mechanism.query))


# --- shared -----------------------------------------------------------------------------------------------


def _guess_costs(mechanism: ChannelLike, loss: LossLike, prior: Prior, seen: Any = slice(None)) -> Floats:
    """costs[i, g]: joint loss of answering output i with guess g, for all outputs or those seen."""
    weights = to_prior(prior, mechanism.query)
    return np.asarray((mechanism.matrix[seen] * weights) @ to_loss(loss).guesses(mechanism.query).T)


def _name_answers(query: RangeQuery, positions: Ints, output: Any) -> list[Any]:
    """Answers as they are called; as tuples of coordinates where the output was given by its coordinates."""
    if query.places is None or isinstance(output, str):
        return [*answer_values(query)[positions].tolist()]
    return [tuple(place) for place in take_places(query.places, positions).tolist()]


def _likelihood(mechanism: ChannelLike, output: int) -> Floats:
    """Pr[output | answer]; of a law too large for a matrix without writing one out."""
    if isinstance(mechanism, HasLaw) and too_large(mechanism.query):
        return np.asarray(mechanism.law.likelihood(mechanism.query, output))
    return np.asarray(mechanism.matrix[output])


def _large_plane(mechanism: ChannelLike) -> PlaneNoise | None:
    """The noise of a map that is too large for a matrix."""
    large = isinstance(mechanism, HasLaw) and too_large(mechanism.query)
    return mechanism.law if large and isinstance(mechanism.law, PlaneNoise) else None  # type: ignore[attr-defined]


def _map_guesses(query: RangeQuery, law: PlaneNoise, loss: LossLike, prior: Prior) -> tuple[Ints, Floats]:
    """The best guess for every output of noise on a map, and its joint loss."""
    weights = to_prior(prior, query).reshape(law.size)
    return _on_map(query, loss, (law.output_weights(i) * weights / TOTAL for i in range(weights.size)))


def _on_map(query: RangeQuery, loss: LossLike, joints: Iterator[Floats]) -> tuple[Ints, Floats]:
    cost = step_losses(query, to_loss(loss))
    size = [length // 2 + 1 for length in cost.shape]
    found = [*find_best_cells((joint.reshape(size) for joint in joints), cost)]
    return np.concatenate([cells for cells, _ in found]), np.concatenate([costs for _, costs in found])


def _guesses(mechanism: ChannelLike, loss: LossLike, prior: Prior) -> Ints:
    if (plane := _large_plane(mechanism)) is not None:
        return _map_guesses(mechanism.query, plane, loss, prior)[0]
    return np.asarray(_guess_costs(mechanism, loss, prior).argmin(axis=1))


def _members(query: RangeQuery, p: Floats, level: float) -> Ints:
    """Positions of the smallest credible set."""
    if query.is_ordered:
        return np.arange(*find_shortest_run(p, level))
    order = np.argsort(-p, kind="stable")
    enough = level * (1 - LEVEL_SLACK)
    return np.sort(order[: int(np.searchsorted(np.cumsum(p[order]), enough)) + 1])


def find_shortest_run(p: Floats, level: float) -> tuple[int, int]:
    """(first, stop) of the shortest run that holds `level` of the probability p; of several, the most probable."""
    enough = level * (1 - LEVEL_SLACK)
    below = np.zeros(len(p) + 1)
    np.cumsum(p, out=below[1:])
    needed = below[:-1] + enough
    starts = np.arange(np.searchsorted(needed, below[-1], side="right"))  # further on, too little is left
    stops = np.searchsorted(below, needed[: len(starts)])
    length = stops - starts
    shortest = starts[length == length.min()]
    held = below[stops[shortest]] - below[shortest]
    best = shortest[np.argmax(held >= held.max() - LEVEL_SLACK)]  # the first, where they differ by rounding alone
    return int(best), int(stops[best])


def _proper(level: float) -> float:
    if not 0 < level <= 1:
        raise ValueError(f"level must be above 0 and at most 1, got {level}")
    return level


def answer_values(query: RangeQuery) -> NDArray[Any]:
    """The answers as people write them: labels, whole numbers, or decimals."""
    return np.array(query.labels, dtype=object) if query.labels is not None else query.answers.numbers()


def format_percent(share: float) -> str:
    """A share of one, rounded down so that the sentence stays true.

    >>> format_percent(0.9), format_percent(0.95999), format_percent(0.99999)
    ('90 %', '95 %', '99.9 %')
    """
    hundredths = np.floor(share * 100 * (1 + LEVEL_SLACK))
    if hundredths >= 99 and share < 1 - LEVEL_SLACK:
        return f"{np.floor(share * 1000) / 10:.1f} %"
    return f"{hundredths:.0f} %"


def _span(answers: Sequence[Any]) -> str:
    """2–4 for a run of numbers, a list for labels, one answer for itself."""
    named = isinstance(answers[0], str | tuple)
    texts = [str(answer) if named else f"{answer:g}" for answer in answers]
    if len(texts) == 1:
        return texts[0]
    return " or ".join(texts) if named else f"{texts[0]}–{texts[-1]}"

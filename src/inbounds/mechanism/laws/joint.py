"""Several quantiles of one group in one draw: the closer a vector is to the true one, the likelier it is."""

import operator
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism.json_values import format_integers, parse_integer, parse_integers
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, DrawFunction, Law
from inbounds.query import JointQuantileQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.joint_quantiles import SLACK_BITS, JointSampler, Staircases, check_joint, truths_and_depths
from inbounds.trusted.multisets import central_window
from inbounds.trusted.samplers import Draws

NUMBERS = 1 << 20
"""The most numbers in memory at a time while probabilities are computed."""


class JointLaw(Law[JointQuantileQuery]):
    """A law whose report is a rising vector of quantiles, and depends on all records of a group."""

    query_type = JointQuantileQuery
    has_claims = False

    def output_count(self, query: JointQuantileQuery) -> int:
        """Return the number of values of one quantile."""
        return query.width + 1

    def can_report(self, query: JointQuantileQuery, output: int) -> bool:
        """Return whether one of the quantiles can have a value, given by its position."""
        return 0 <= output <= query.width

    def decode(self, query: JointQuantileQuery, outputs: Ints) -> Any:
        return query.as_range_query.decode(outputs)

    @abstractmethod
    def make_sampler(self, query: JointQuantileQuery) -> DrawFunction:
        """Return the function that draws the positions of vectors from histograms of records: groups × quantiles."""

    @abstractmethod
    def probabilities(self, query: JointQuantileQuery, histograms: Ints) -> Floats:
        """Return the probability of every value of every quantile, to float precision: groups × quantiles × values."""


@dataclass(frozen=True)
class JointPathLengths(JointLaw):
    """Pr[vector] ∝ the spacings of the vector · x^(its level), x = weight / 2**62; more for the truth of deep groups.

    The level is twice the number of records that must change until the vector is the true one. spacing: for every
    distance of two quantiles, beside each other, a positive weight: what is expected before any record is read. See
    `trusted.joint_quantiles`.
    """

    weight: int
    spacing: tuple[int, ...]

    kind = "joint"
    fields = dict.fromkeys(("weight", "spacing"))
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        object.__setattr__(self, "weight", operator.index(self.weight))
        object.__setattr__(self, "spacing", tuple(map(operator.index, self.spacing)))

    def check(self, query: JointQuantileQuery, epsilon: Fraction) -> None:
        if not query.public_size:
            raise ValueError("several quantiles in one draw need a public size; draw them one by one")
        if len(self.spacing) != query.width + 1:
            raise ValueError("a joint law must have a weight for each spacing of the values")
        check_joint(self.weight, self.spacing, _distinct(query.ranks), query.size, query.records, epsilon)

    def make_sampler(self, query: JointQuantileQuery) -> DrawFunction:
        ranks = _distinct(query.ranks)
        sampler = JointSampler.from_weights(self.weight, self.spacing, ranks, query.size)
        places = np.searchsorted(ranks, query.ranks)

        def draw(histograms: Ints, draws: Draws) -> Ints:
            outputs = sampler.draw(query.pad(np.atleast_2d(histograms)), draws)[:, places]
            return outputs.reshape(*histograms.shape[:-1], len(places))

        return draw

    def probabilities(self, query: JointQuantileQuery, histograms: Ints) -> Floats:
        ranks = _distinct(query.ranks)
        window = central_window(query.pad(histograms), 1, query.size)
        spacing = np.array(self.spacing) / max(self.spacing)
        rows = max(1, NUMBERS // ((query.size + query.width + 1) * (query.width + 1)))
        parts = [
            _marginals(self.weight / TOTAL, spacing, ranks, window[start : start + rows])
            for start in range(0, len(window), rows)
        ]
        return np.concatenate(parts)[:, np.searchsorted(ranks, query.ranks)]

    def proof_steps(self, query: JointQuantileQuery) -> list[str]:
        whose = "" if query.records == 1 else f"for each of the {query.records} records of a person "
        return [
            f"a vector has a weight of its own, times x^2 for each record that must change until it is the true one, "
            f"x = {self.weight} / 2^62; the true one has x^-2 for each record that may change before it is another",
            "when a record changes no weight moves by more than x^2, and neither does their sum: "
            f"{whose}the ratio is at most x^-4, with 2^-{SLACK_BITS} of the probability for the sampler's rounding, "
            "and that is at most p/2^128",
            RATIO_BOUND.replace("epsilon", "(epsilon / records of a person)") if query.records > 1 else RATIO_BOUND,
        ]

    def to_json(self) -> Any:
        return {"weight": str(self.weight), "spacing": format_integers(self.spacing)}

    @classmethod
    def from_json(cls, part: Any, query: JointQuantileQuery) -> Self:
        return cls(parse_integer(part["weight"]), tuple(parse_integers(part["spacing"])))


# --- probabilities in floats, for losses ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Moves:
    """All ways from the states behind one rank to the next: states × values × groups."""

    weights: Floats
    places: Ints
    """Where each way lands, as a flat index of states × groups."""


def _marginals(x: float, spacing: Floats, ranks: tuple[int, ...], histograms: Ints) -> Floats:
    """Return the probability of every value of every rank, by sums from both ends: groups × ranks × values."""
    stairs = Staircases.from_histograms(histograms)
    (steps, groups), values = stairs.value.shape, histograms.shape[1]
    power = x ** np.arange(2.0 * (steps - values) + 2)
    start = np.clip(ranks[0] - 1, stairs.below, stairs.upto)
    landed = np.zeros((steps, groups))
    np.put_along_axis(landed, start + np.arange(values)[:, None], power[np.abs(start - ranks[0] + 1)], axis=0)
    forward, moves = [_pass_place(stairs, landed, x)], list[_Moves]()
    for before, rank in pairwise(ranks):
        moves.append(_find_moves(stairs, power, spacing, rank - before - 1))
        weights = moves[-1].weights * forward[-1][:, None]
        sums = np.bincount(moves[-1].places.ravel(), weights=weights.ravel(), minlength=steps * groups)
        landed = np.asarray(sums, dtype=np.float64).reshape(steps, groups)
        forward.append(_pass_place(stairs, landed, x))
    rest = power[np.abs(ranks[-1] - stairs.behind)]
    total = (forward[-1] * rest).sum(axis=0)
    truths, depths = truths_and_depths(stairs, np.array(ranks))
    shrink = power[2 * depths]
    truth_share = spacing[np.diff(truths, axis=0)].prod(axis=0) * (1 - shrink)
    scale = total * shrink + truth_share
    result, cell = np.zeros((len(ranks), values, groups)), stairs.value * groups + np.arange(groups)
    for j in range(len(ranks) - 1, -1, -1):
        chances = forward[j] * rest * (shrink / scale)
        flat = np.bincount(cell.ravel(), weights=chances.ravel(), minlength=values * groups)
        result[j] = flat.reshape(values, groups)
        result[j, truths[j], np.arange(groups)] += truth_share / scale
        if j:
            behind_place = np.where(stairs.is_last, x * rest, np.roll(rest, -1, axis=0))
            rest = (moves[j - 1].weights * behind_place.take(moves[j - 1].places)).sum(axis=1)
    return result.transpose(2, 0, 1)


def _pass_place(stairs: Staircases, landed: Floats, x: float) -> Floats:
    """Return the weights behind the place of a rank: one more record if the value has one, else one level."""
    passed = np.where(stairs.is_last, landed * x, 0.0)
    passed[1:] += np.where(stairs.is_first[1:], 0.0, landed[:-1])
    return passed


def _find_moves(stairs: Staircases, power: Floats, spacing: Floats, places: int) -> _Moves:
    groups, values = stairs.value.shape[1], len(stairs.upto)
    to, reached = np.arange(values)[None, :, None], (stairs.behind + places)[:, None]
    stop = np.clip(reached, stairs.below, stairs.upto)
    apart = to - stairs.value[:, None]
    weights = np.where(apart >= 0, spacing[np.abs(apart)] * power[np.abs(reached - stop)], 0.0)
    return _Moves(weights, (stop + to) * groups + np.arange(groups))


def _distinct(ranks: tuple[int, ...]) -> tuple[int, ...]:
    """Return every rank once: quantiles of the same record are the same number."""
    return tuple(sorted(set(ranks)))

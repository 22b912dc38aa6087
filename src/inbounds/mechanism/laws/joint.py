"""Several quantiles of one group in one draw: the closer a vector is to the true one, the likelier it is."""

import operator
from abc import abstractmethod
from dataclasses import dataclass, replace
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
from inbounds.trusted.joint_sizes import JointSizesSampler, capacity, check_joint_sizes, window_up_to
from inbounds.trusted.multisets import central_window
from inbounds.trusted.path_lengths import quantile_rank
from inbounds.trusted.samplers import Draws

NUMBERS = 1 << 20
"""The most numbers in memory at a time while probabilities are computed."""


class JointLaw(Law[JointQuantileQuery]):
    """A law whose output is a rising vector of quantiles, and depends on all records of a group."""

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

    def make_simulator(self, query: JointQuantileQuery) -> DrawFunction:
        """Return a function that draws as the sampler does, of groups within the size, perhaps at less cost.

        For what is expected of a draw: its work may depend on the groups that are given.
        """
        return self.make_sampler(query)

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


@dataclass(frozen=True)
class JointPathLengthsOverSizes(JointLaw):
    """Pr[vector] ∝ the spacings of the vector · (2^-floor + sum over `sizes` of x^level), x = weight / 2**62.

    For groups of secret size: the level is the number of records to add or remove until there are so many records and
    the vector is the true one. See `trusted.joint_sizes`.
    """

    weight: int
    spacing: tuple[int, ...]
    sizes: tuple[int, ...]
    floor: int

    kind = "joint_sizes"
    fields = dict.fromkeys(("weight", "spacing", "sizes", "floor"))
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        for name in ("spacing", "sizes"):
            object.__setattr__(self, name, tuple(map(operator.index, getattr(self, name))))
        for name in ("weight", "floor"):
            object.__setattr__(self, name, operator.index(getattr(self, name)))

    def check(self, query: JointQuantileQuery, epsilon: Fraction) -> None:
        if query.public_size:
            raise ValueError("a law over sizes is for groups whose size is not public")
        if len(self.spacing) != query.width + 1:
            raise ValueError("a joint law must have a weight for each spacing of the values")
        check_joint_sizes(
            self.weight, self.spacing, self.sizes, self.floor, len(query.at), query.records, epsilon
        )  # fmt: skip

    def make_sampler(self, query: JointQuantileQuery) -> DrawFunction:
        return _make_draw(self._sampler(query), query)

    def make_simulator(self, query: JointQuantileQuery) -> DrawFunction:
        return _make_draw(replace(self._sampler(query), capacity=query.size), query)

    def _sampler(self, query: JointQuantileQuery) -> JointSizesSampler:
        return JointSizesSampler.from_weights(
            self.weight, self.spacing, self.sizes, self.floor, query.at, query.missing
        )

    def probabilities(self, query: JointQuantileQuery, histograms: Ints) -> Floats:
        largest, values = int(histograms.sum(axis=1).max(initial=0)), query.width + 1
        most = min(largest, capacity(self.weight, self.sizes, self.floor))
        rows = max(1, NUMBERS // ((most + values) * values))
        parts = [
            self._probabilities(query, window_up_to(histograms[start : start + rows], most), most)
            for start in range(0, len(histograms), rows)
        ]
        return np.concatenate(parts)

    def _probabilities(self, query: JointQuantileQuery, window: Ints, most: int) -> Floats:
        spacing, m = np.array(self.spacing) / max(self.spacing), len(query.at)
        powers = np.arange(2.0 * max(most, self.sizes[-1]) + 2)
        stairs, power = Staircases.from_histograms(window, most), (self.weight / TOTAL) ** powers
        base = _spaced_marginals(spacing, m) * 2.0**-self.floor
        result = np.repeat(base[:, :, None], len(window), axis=2)
        for size in self.sizes:
            if not size:
                result[:, query.missing] += spacing[0] ** (m - 1) * power[window.sum(axis=1)]
                continue
            ranks = [quantile_rank(at, size) for at in query.at]
            found, _ = _chain_marginals(stairs, power, spacing, _distinct(tuple(ranks)), size)
            merged = m - len(found)
            result += spacing[0] ** merged * found[np.searchsorted(_distinct(tuple(ranks)), ranks)]
        return np.asarray((result / result.sum(axis=1, keepdims=True)).transpose(2, 0, 1))

    def proof_steps(self, query: JointQuantileQuery) -> list[str]:
        whose = "" if query.records == 1 else f"for each of the {query.records} records of a person "
        return [
            f"a vector has a weight of its own, times the sum of 2^-{self.floor} and, for each of {len(self.sizes)} "
            "sizes, x for each record to add or remove until there are so many and these are their quantiles, "
            f"x = {self.weight} / 2^62",
            "when a record is added or removed no weight moves by more than x, and neither does their sum: "
            f"{whose}the ratio is at most x^-2, with 2^-{SLACK_BITS} of the probability for the sampler's rounding, "
            "and that is at most p/2^128",
            RATIO_BOUND.replace("epsilon", "(epsilon / records of a person)") if query.records > 1 else RATIO_BOUND,
        ]

    def to_json(self) -> Any:
        lists = {"spacing": format_integers(self.spacing), "sizes": format_integers(self.sizes)}
        return {"weight": str(self.weight), **lists, "floor": str(self.floor)}

    @classmethod
    def from_json(cls, part: Any, query: JointQuantileQuery) -> Self:
        spacing, sizes = (tuple(parse_integers(part[name])) for name in ("spacing", "sizes"))
        return cls(parse_integer(part["weight"]), spacing, sizes, parse_integer(part["floor"]))


def _make_draw(sampler: JointSizesSampler, query: JointQuantileQuery) -> DrawFunction:
    def draw(histograms: Ints, draws: Draws) -> Ints:
        outputs = sampler.draw(np.atleast_2d(histograms), draws)
        return outputs.reshape(*histograms.shape[:-1], len(query.at))

    return draw


# --- probabilities in floats, for losses ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Moves:
    """All ways from the states behind one rank to the next: states × values × groups."""

    weights: Floats
    places: Ints
    """Where each way lands, as a flat index of states × groups."""


def _marginals(x: float, spacing: Floats, ranks: tuple[int, ...], histograms: Ints) -> Floats:
    """Return the probability of every value of every rank, by sums from both ends: groups × ranks × values."""
    size, groups = int(histograms[0].sum()), np.arange(len(histograms))
    stairs, power = Staircases.from_histograms(histograms, size), x ** np.arange(2.0 * size + 2)
    result, total = _chain_marginals(stairs, power, spacing, ranks, size)
    truths, depths = truths_and_depths(stairs, np.array(ranks))
    shrink = power[2 * depths]
    truth_share = spacing[np.diff(truths, axis=0)].prod(axis=0) * (1 - shrink)
    scale = total * shrink + truth_share
    result *= shrink / scale
    for j, truth in enumerate(truths):
        result[j, truth, groups] += truth_share / scale
    return result.transpose(2, 0, 1)


def _chain_marginals(
    stairs: Staircases, power: Floats, spacing: Floats, ranks: tuple[int, ...], places: int
) -> tuple[Floats, Floats]:
    """Return the weight of all vectors with each value of each rank, ranks × values × groups, and of all vectors.

    Weights are those of levels alone, for so many places.
    """
    (steps, groups), values, x = stairs.value.shape, len(stairs.upto), power[1]
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
    rest = power[np.abs(stairs.upto[-1] - stairs.behind - (places - ranks[-1]))]
    total = (forward[-1] * rest).sum(axis=0)
    result, cell = np.zeros((len(ranks), values, groups)), stairs.value * groups + np.arange(groups)
    for j in range(len(ranks) - 1, -1, -1):
        flat = np.bincount(cell.ravel(), weights=(forward[j] * rest).ravel(), minlength=values * groups)
        result[j] = flat.reshape(values, groups)
        if j:
            behind_place = np.where(stairs.is_last, x * rest, np.roll(rest, -1, axis=0))
            rest = (moves[j - 1].weights * behind_place.take(moves[j - 1].places)).sum(axis=1)
    return result, total


def _spaced_marginals(spacing: Floats, quantiles: int) -> Floats:
    """Return the weight of all rising vectors with each value at each place, quantiles × values."""
    values = len(spacing)
    apart = np.arange(values) - np.arange(values)[:, None]
    moves = np.where(apart >= 0, spacing[np.abs(apart)], 0.0)
    forward, backward = [np.ones(values)], [np.ones(values)]
    for _ in range(quantiles - 1):
        forward.append(forward[-1] @ moves)
        backward.append(moves @ backward[-1])
    return np.array([before * behind for before, behind in zip(forward, backward[::-1], strict=True)])


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

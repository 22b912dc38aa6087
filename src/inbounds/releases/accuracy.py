"""The accuracy of a number: its expected error, its interval, and how often the interval is right.

All follow from the mechanism and a prior of the truth; none from data. If group sizes are public, the prior is about
the answer alone. If not, the size of the group is unknown as well, and its prior (`statistics.sizes`) is part of it:

    quantiles       Pr[size]·Pr[quantile | size]·Pr[output | quantile, size], at a few sizes and between them
    several         from simulated groups and draws (`releases.vector_accuracy`), of any size if it is not public
    sums            Pr[sum] = sum over sizes of Pr[size]·(1 / number of sums that so many records can have)
    secret means    from both sums that are drawn, which tell the size too (`statistics._mean_pair`)

A prior that the plan declares (`prior` of its design) is about sums themselves, and then replaces that of the sizes.
Counts of records and of labels do not use the prior of the sizes.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.losses import best_constant_loss, to_loss
from inbounds.mechanism import AnyMechanism, Channel, Mechanism
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.mechanism.expected_channel import SMALL, expected_channel
from inbounds.mechanism.laws import AnswerLaw, Threshold
from inbounds.mechanism.laws.base import RecordsLaw
from inbounds.query import JointQuantileQuery, QuantileQuery, RangeQuery
from inbounds.releases.vector_accuracy import SimulatedVectors, simulate_vectors
from inbounds.schema.text import format_number
from inbounds.statistics import DerivedValue, ExpectedError, Statistic, StatisticContext
from inbounds.statistics.designs import DesignRequest, resolve_prior
from inbounds.statistics.sizes import (
    FEW,
    SizeBeliefs,
    certain_sizes,
    common_nodes,
    lattice,
    size_nodes,
    spread_on_nodes,
)

DECILES = 10
"""Coverage is computed for groups of so many sizes: a tenth of the maximum, two tenths, …, the maximum."""

OBSERVED = 2
"""Number of equally likely counts under which coverage is computed if the plan publishes the count of a group."""

MOST_COVERED = 1 << 16
"""Most answers of a sum for which coverage is computed: beyond, the noise is small against the range."""

MOST_CONDITIONED = 1 << 27
"""Most numbers in the priors of sums given published counts; with more, sums are not conditioned on counts."""

DRAWN = 512
"""Numbers of true sums and draws at which coverage is computed where a matrix would be large: evenly spread, and so
right to about a hundredth."""

MATRIX = 1024
"""Most answers of a sum for which coverage is computed from the whole matrix."""


@dataclass(frozen=True)
class StatisticModel:
    """A statistic in groups of one declared size, its mechanism, and the prior of the size if it is not public.

    beliefs: None for groups as large as their maximum. at: which of several quantiles that are drawn together.
    is_rough: whether simulations may be short, for errors that are only compared.
    """

    statistic: Statistic
    context: StatisticContext
    request: DesignRequest
    mechanism: AnyMechanism
    size: int
    beliefs: SizeBeliefs | None = None
    at: Fraction | None = None
    is_rough: bool = False

    @property
    def quantiles(self) -> tuple["StatisticModel", ...]:
        """Return the model of every quantile that is drawn together with others; none for other statistics."""
        query = self.mechanism.query
        return tuple(replace(self, at=at) for at in query.at) if isinstance(query, JointQuantileQuery) else ()

    @cached_property
    def derived(self) -> DerivedValue | None:
        """Return how the number is computed, if others are drawn."""
        return self.statistic.derive(self.context)

    @property
    def query(self) -> RangeQuery:
        """Return the query of one answer."""
        query: RangeQuery = self.mechanism.query.as_range_query
        return query

    @cached_property
    def prior(self) -> Floats | None:
        """Return the prior that the plan declares for answers, or for the values of records."""
        return resolve_prior(self.request.options, self.query if self.derived is None else self.derived.query)

    @property
    def key(self) -> Hashable:
        """Return what its accuracy depends on, as a key for what was computed."""
        return self.request, type(self.statistic), self.statistic.loss, self.derived, self.beliefs, self.at

    @property
    def is_sized(self) -> bool:
        """Return whether the prior of the size is part of what is said about the number."""
        if self.beliefs is None:
            return False
        from_records = isinstance(self.mechanism.query, QuantileQuery | JointQuantileQuery)
        return self.derived is not None or from_records or self._has_answer_prior

    @cached_property
    def _has_answer_prior(self) -> bool:
        return self.prior is None and type(self.statistic).answer_prior is not Statistic.answer_prior

    def answer_prior(self, beliefs: SizeBeliefs) -> Floats | None:
        """Return the prior of the answers under one distribution of the size."""
        return self.statistic.answer_prior(self.context, self.size, beliefs) if self._has_answer_prior else self.prior

    # --- expected errors ----------------------------------------------------------------------------------

    def expected_error(self) -> ExpectedError:
        """Compute the mean loss over the prior, and that of the best constant, to six digits."""
        error, constant = self._expected_error()
        return ExpectedError(float(f"{error:.6g}"), float(f"{constant:.6g}"))

    def _expected_error(self) -> tuple[float, float]:
        loss = self.statistic.loss
        if self.at is None and self.quantiles:  # the mean of all
            every = [one._expected_error() for one in self.quantiles]
            return float(np.mean([error for error, _ in every])), float(np.mean([constant for _, constant in every]))
        if self.at is not None:
            return self.vectors.expected_error(self._place, loss, self.vectors.weights(self._full_beliefs))
        if self.derived is not None:
            beliefs = certain_sizes([self.size]) if self.beliefs is None else self.beliefs
            expected = self.derived.expected(_require_answers(self.mechanism), self.prior, beliefs)
            return expected.error, expected.constant
        sized = certain_sizes([self.size]) if self.beliefs is None and self._is_wide else self.beliefs
        if sized is not None and isinstance(self.mechanism.query, QuantileQuery):
            sizes, (weights,) = self._on_nodes(sized)
            parts = [self._expect(int(size), len(sizes)) for size in sizes]
            truths = sum(weight * prior.array for weight, (_, prior) in zip(weights, parts, strict=True))
            error = sum(float(weight) * one for weight, (one, _) in zip(weights, parts, strict=True))
            return error, best_constant_loss(self.query, loss, truths)
        if isinstance(self.mechanism.law, Threshold):  # of numbers that are published
            channel = self.mechanism.channel()
            return self.mechanism.law.mean_error(), best_constant_loss(channel.query, loss, channel.prior)
        prior = self.prior if self.beliefs is None else self.answer_prior(self.beliefs)
        channel = self.mechanism.channel(prior)
        return channel.loss(loss), best_constant_loss(channel.query, loss, channel.prior)

    def errors(self, drawn: Sequence[Ints], expected: float, beliefs: SizeBeliefs | None) -> Floats:
        """Return the expected error of every group's number. beliefs: about the size of each group.

        drawn: the numbers it is computed from; of several quantiles in one draw all of them.
        """
        if self.at is not None:
            losses = to_loss(self.statistic.loss).table(self.query)
            places, found = drawn[self._place], np.empty(len(drawn[0]))
            for groups, mass in self._vector_posteriors(drawn, beliefs):
                found[groups] = losses[places[groups[0]]] @ mass.sum(axis=0) / mass.sum()
            return found
        if not self.is_sized or beliefs is None:
            return np.full(len(drawn[0]), expected)
        if self.derived is not None:
            return self.derived.errors(_require_answers(self.mechanism), drawn, self.prior, beliefs)
        if len(beliefs.weights) == 1:
            return np.full(len(drawn[0]), expected)
        if isinstance(self.mechanism.query, QuantileQuery):
            sizes, weights = self._on_nodes(beliefs)
            errors = np.array([self._expect(int(size), len(sizes))[0] for size in sizes])
            return np.asarray((weights @ errors)[beliefs.place_of(len(drawn[0]))])
        losses = self.mechanism.loss_per_answer(self.statistic.loss)
        return np.array([float(prior @ losses) for prior in self._answer_priors(beliefs)])[
            beliefs.place_of(len(drawn[0]))
        ]

    def _answer_priors(self, beliefs: SizeBeliefs) -> Iterator[Floats]:
        for row in range(len(beliefs.weights)):
            prior = self.answer_prior(beliefs.select(np.array([row])))
            assert prior is not None
            yield prior

    # --- several quantiles in one draw ----------------------------------------------------------------------

    @cached_property
    def vectors(self) -> SimulatedVectors:
        """Return simulated groups and draws of the mechanism of several quantiles."""
        return simulate_vectors(self.mechanism, self.prior, is_rough=self.is_rough)

    @property
    def _place(self) -> int:
        assert isinstance(self.mechanism.query, JointQuantileQuery)
        assert self.at is not None
        return self.mechanism.query.at.index(self.at)

    @property
    def _full_beliefs(self) -> SizeBeliefs | None:
        """Return the prior of the size; certain to be the maximum where errors of full groups are asked."""
        assert isinstance(self.mechanism.query, JointQuantileQuery)
        return (
            certain_sizes([self.size])
            if self.beliefs is None and not self.mechanism.query.public_size
            else self.beliefs
        )

    def _vector_posteriors(self, drawn: Sequence[Ints], beliefs: SizeBeliefs | None) -> Iterator[tuple[Ints, Floats]]:
        """Yield the masses of the quantile, halves × values, for each distinct reading, and the groups that have it."""
        beside = np.stack(drawn[max(0, self._place - 1) : self._place + 2])
        rows = np.zeros(len(drawn[0]), dtype=np.int64) if beliefs is None else beliefs.place_of(len(drawn[0]))
        _, first, place = np.unique(np.vstack([rows, beside]), axis=1, return_index=True, return_inverse=True)
        members = np.split(np.argsort(place.ravel(), kind="stable"), np.cumsum(np.bincount(place.ravel()))[:-1])
        reports = np.stack(drawn, axis=1)[first]
        for row in np.unique(rows[first]):
            of_row = np.flatnonzero(rows[first] == row)
            weights = self.vectors.weights(beliefs, int(row))
            posteriors = self.vectors.posteriors(self._place, reports[of_row], weights)
            for k, mass in zip(of_row, posteriors, strict=True):
                yield members[k], mass

    # --- quantiles in groups of several sizes -------------------------------------------------------------

    @property
    def _is_wide(self) -> bool:
        """Return whether it is a quantile of so many values that what is expected of it is shared and thinned."""
        query = self.mechanism.query
        return isinstance(query, QuantileQuery) and query.width >= SMALL

    def _on_nodes(self, beliefs: SizeBeliefs) -> tuple[Ints, Floats]:
        """Return sizes at which errors of a quantile are computed, and distributions over them."""
        if not self._is_wide:
            return beliefs.nodes, beliefs.node_weights
        sizes = beliefs.sizes if self.context.public else common_nodes(int(beliefs.sizes[0]), int(beliefs.sizes[-1]))
        return sizes, np.asarray(beliefs.weights @ spread_on_nodes(beliefs.sizes, sizes))

    def nodes(self, sizes: Ints) -> list["QuantileNode"]:
        """Return what is expected of the mechanism of a quantile in groups of these sizes."""
        return self._nodes_among(sizes, len(sizes))

    def _nodes_among(self, sizes: Ints, parts: int) -> list["QuantileNode"]:
        """Return what is expected in groups of these sizes, of so many that are averaged."""
        return [QuantileNode.compute(*self._node_arguments(int(size), parts)) for size in sizes]

    def _node_arguments(self, size: int, parts: int) -> tuple[QuantileQuery, RecordsLaw, Floats | None, int, int]:
        """Return what a node depends on: for wide columns the same for all maxima."""
        query, law = self.mechanism.query, self.mechanism.law
        assert isinstance(law, RecordsLaw)
        assert isinstance(query, QuantileQuery)
        query = query if query.public_size else replace(query, size=max(size, 1))
        return query, law, self.prior, size, FEW if self._is_wide and not query.public_size else parts

    def _expect(self, size: int, parts: int) -> tuple[float, FrozenArray]:
        """Return the expected loss of a quantile in groups of one size, and the prior of the true one."""
        query, law, prior, size, parts = self._node_arguments(size, parts)
        return _expect(
            query, law, None if prior is None else FrozenArray.from_array(prior), size, parts, self.statistic.loss
        )

    # --- intervals ----------------------------------------------------------------------------------------

    def intervals(self, drawn: Sequence[Ints], level: Fraction, beliefs: SizeBeliefs | None) -> tuple[Floats, Floats]:
        """Compute the ends of the credible interval of every group's number. drawn: the numbers it is computed from."""
        if self.derived is not None:
            sized = certain_sizes([self.size]) if beliefs is None else beliefs
            return self.derived.interval(_require_answers(self.mechanism), drawn, level, self.prior, sized)
        if self.at is not None:
            ends = np.empty((2, len(drawn[0])), dtype=np.int64)
            for groups, mass in self._vector_posteriors(drawn, beliefs):
                report = int(drawn[self._place][groups[0]])  # what is published lies in its interval
                lows, highs = zip((report, report), *(_ends(half, level) for half in mass), strict=True)
                ends[:, groups] = np.array([min(lows), max(highs)])[:, None]
            lowest, highest = self.query.answers.numbers_at(ends).astype(np.float64)
            return lowest, highest
        (outputs,) = drawn
        if beliefs is None and self._is_wide:
            beliefs = certain_sizes([self.size])
        elif beliefs is None or not self.is_sized:
            return credible_intervals(self.mechanism.channel(self.prior), outputs, level)
        pairs, place = np.unique(np.stack([beliefs.place_of(len(outputs)), outputs]), axis=1, return_inverse=True)
        ends = np.array([_ends(mass, level) for mass in self._joint_masses(pairs, beliefs)])
        low, high = self.query.answers.numbers_at(ends.T)[:, place.ravel()].astype(np.float64)
        return low, high

    def _joint_masses(self, pairs: Ints, beliefs: SizeBeliefs) -> Iterator[Floats]:
        """Yield Pr[answer, output] for pairs of a distribution of the size and an output, in their order."""
        if isinstance(self.mechanism.query, QuantileQuery):
            yield from self._quantile_masses(pairs, beliefs)
            return
        channel, known, prior = self.mechanism.channel(), -1, np.empty(0)
        for row, output in pairs.T:
            if row != known:
                known, (prior,) = row, self._answer_priors(beliefs.select(np.array([row])))
            yield _possible(channel.law.likelihood(channel.query, int(output)) * prior, prior)

    def _quantile_masses(self, pairs: Ints, beliefs: SizeBeliefs) -> Iterator[Floats]:
        sizes, weights = self._on_nodes(beliefs)
        nodes, known = self.nodes(sizes), -1
        joint, truths = np.empty(0), np.empty(0)
        for row, output in pairs.T:
            if row != known:
                known = row
                parts = [part for part in zip(weights[row], nodes, strict=True) if part[0] > 0]
                joint = np.asarray(sum(weight * node.joint for weight, node in parts))
                truths = np.asarray(sum(weight * node.truths for weight, node in parts))
            yield _possible(joint[output], truths)

    # --- how often intervals are right --------------------------------------------------------------------

    def coverage(self, size: int, level: Fraction, beliefs: SizeBeliefs) -> float | None:
        """Compute the probability that the interval holds the truth in groups of one size; None if it is not known.

        beliefs: about the size, one or several of the same probability. Given the size, the truth is distributed as the
        prior says.
        """
        (covered,) = self.coverages([size], level, beliefs)
        return covered

    def coverages(self, sizes: Sequence[int], level: Fraction, beliefs: SizeBeliefs) -> list[float | None]:
        """Compute `coverage` for groups of several sizes, about which the same is believed."""
        outputs = len(self.query.outputs)
        if self.derived is not None:
            mechanism = _require_answers(self.mechanism)
            return [self.derived.coverage(mechanism, size, level, self.prior, beliefs) for size in sizes]
        if self.quantiles:
            return [self._vector_coverage(size, level, beliefs) for size in sizes]
        if not isinstance(self.mechanism.query, QuantileQuery):
            if not self.is_sized or outputs > MOST_COVERED:
                return [None] * len(sizes)
            if outputs > MATRIX and self.mechanism.law.noise_table is not None:
                return [self._sampled_coverage(size, level, beliefs) for size in sizes]
        ends = [self._ends_of_all(row, level, beliefs) for row in range(len(beliefs.weights))]
        return [self._covered(size, beliefs, ends) for size in sizes]

    def _ends_of_all(self, row: int, level: Fraction, beliefs: SizeBeliefs) -> list[tuple[int, int]]:
        """Return the ends of the interval of every output, for one distribution of the size."""
        outputs = np.arange(len(self.query.outputs))
        return [_ends(mass, level) for mass in self._joint_masses(np.stack([outputs * 0 + row, outputs]), beliefs)]

    def _covered(self, size: int, beliefs: SizeBeliefs, ends: Sequence[list[tuple[int, int]]]) -> float:
        """Return the mean probability that intervals with these ends hold the truth in groups of one size."""
        if isinstance(self.mechanism.query, QuantileQuery):
            joint = self._joint_at(size, beliefs)
        else:
            truths = self.answer_prior(certain_sizes([size]))
            assert truths is not None
            joint = self.mechanism.matrix * truths
        upto = np.pad(np.cumsum(joint, axis=1), ((0, 0), (1, 0)))
        places, covered = np.arange(len(joint)), 0.0
        for row in ends:
            first, last = np.array(row).T
            covered += float((upto[places, last + 1] - upto[places, first]).sum())
        return covered / len(ends)

    def _vector_coverage(self, size: int, level: Fraction, beliefs: SizeBeliefs) -> float:
        """Compute the coverage of several quantiles, in the mean, at the simulated groups of about one size."""
        nearest = np.argsort(np.abs(self.vectors.sizes - size), kind="stable")[:DRAWN]
        drawn, held = [*self.vectors.reports[nearest].T], []
        row = np.arange(len(nearest)) % len(beliefs.weights)
        of_groups = SizeBeliefs(beliefs.sizes, beliefs.weights, row)
        for place, one in enumerate(self.quantiles):
            low, high = one.intervals(drawn, level, of_groups)
            truths = self.query.answers.numbers_at(self.vectors.truths[nearest, place])
            held.append(float(((low <= truths) & (truths <= high)).mean()))
        return float(np.mean(held))

    def _joint_at(self, size: int, beliefs: SizeBeliefs) -> Floats:
        """Return Pr[answer, output] of a quantile in groups of one size, between those of the nearest nodes."""
        nodes, _ = self._on_nodes(beliefs)
        if not nodes[0] <= size <= nodes[-1]:
            least = max(1, self.size // DECILES)
            nodes = common_nodes(least, self.size) if self._is_wide else size_nodes(least, self.size)
        (weights,) = spread_on_nodes(np.array([size]), nodes)
        near = np.flatnonzero(weights > 0)
        parts = zip(weights[near], self._nodes_among(nodes[near], len(nodes)), strict=True)
        return np.asarray(sum(weight * node.joint for weight, node in parts))

    def _sampled_coverage(self, size: int, level: Fraction, beliefs: SizeBeliefs) -> float:
        """Compute the coverage of sums at evenly spread truths and draws of geometric noise."""
        noise = _require_answers(self.mechanism).law.noise_table
        assert noise is not None
        truths = self.answer_prior(certain_sizes([size]))
        assert truths is not None
        turns = np.arange(DRAWN)[:, None] * lattice(2) % 1
        places = np.searchsorted(np.cumsum(truths) * (1 - 1e-12), turns[:, 0])
        steps = np.arange(-noise.half_width, noise.half_width + 1)
        shares = np.cumsum(noise.core) / float(np.sum(noise.core, dtype=np.float64))
        moved = steps[np.minimum(np.searchsorted(shares, turns[:, 1]), len(steps) - 1)]
        outputs = np.clip(places + moved, 0, len(truths) - 1)
        outputs = outputs if noise.remap is None else noise.remap[outputs]
        rows = np.arange(len(outputs)) % len(beliefs.weights)
        low, high = self.intervals([outputs], level, SizeBeliefs(beliefs.sizes, beliefs.weights, rows))
        values = self.query.answers.numbers_at(places)
        return float(((low <= values) & (values <= high)).mean())


@dataclass(frozen=True)
class QuantileNode:
    """A quantile in groups of one size. joint: Pr[answer, output], outputs × answers. truths: Pr[answer]."""

    query: RangeQuery
    joint: Floats
    truths: Floats

    @classmethod
    def compute(
        cls, query: QuantileQuery, law: RecordsLaw, prior: Floats | None, size: int, parts: int
    ) -> "QuantileNode":
        """Compute the node. An empty group has the answer `missing`. parts: the number of sizes that are averaged."""
        if size > 0:
            channel = expected_channel(query, law, prior, size, parts)
            return cls(channel.query, channel.matrix * channel.prior, channel.prior)
        truths = np.zeros(query.width + 1)
        truths[query.missing] = 1.0
        (reports,) = law.probabilities(query, np.zeros((1, query.width + 1), dtype=np.int64))
        return cls(query.as_range_query, reports[:, None] * truths, truths)

    def loss(self, loss: Any) -> float:
        """Return the expected loss."""
        return float((self.joint * to_loss(loss).table(self.query)).sum())


@lru_cache(maxsize=4096)
def _expect(
    query: QuantileQuery, law: RecordsLaw, prior: FrozenArray | None, size: int, parts: int, loss: str
) -> tuple[float, FrozenArray]:
    node = QuantileNode.compute(query, law, None if prior is None else prior.array, size, parts)
    return node.loss(loss), FrozenArray.from_array(node.truths)


def _require_answers(mechanism: AnyMechanism) -> Mechanism:
    """Return the mechanism, which for sums and parts of derived numbers answers a range query."""
    assert isinstance(mechanism.law, AnswerLaw)
    return mechanism


def _possible(mass: Floats, prior: Floats) -> Floats:
    """Return the joint probabilities, or the prior where the output is impossible under it."""
    return mass if mass.sum() > 0 else prior


# --- how often intervals are right, by size ---------------------------------------------------------------------

Coverage = tuple[tuple[int, float], ...]
"""Sizes of groups, and the probability that an interval holds the truth in groups of each."""

FLAGGED = 0.85
"""Sizes at which 90 % intervals hold the truth less often are named beside the number, and so in proportion."""


def coverage_by_size(model: StatisticModel, level: Fraction, counter: AnyMechanism | None) -> Coverage:
    """Compute the coverage in groups of a tenth of the maximum, of two tenths, …; of fewer than ten each size.

    counter: the mechanism of the count of each group, if the plan publishes it.
    """
    sizes = sorted({-(-model.size * tenth // DECILES) for tenth in range(1, DECILES + 1)})
    beliefs = model.beliefs
    assert beliefs is not None
    if counter is None or not model.is_sized:
        found = model.coverages(sizes, level, beliefs)
    else:
        counts = [likely_counts(counter, size) for size in sizes]
        given = [replace(sizes_given_counts(beliefs, counter, likely), place=None) for likely in counts]
        found = [model.coverage(size, level, one) for size, one in zip(sizes, given, strict=True)]
    return tuple((size, round(one, 4)) for size, one in zip(sizes, found, strict=True) if one is not None)


def describe_low_coverage(coverage: Mapping[int, Coverage], level: Fraction) -> str:
    """Describe the sizes at which intervals are right too seldom; empty if there are none. coverage: by maximum."""
    flagged = FLAGGED * float(level) / 0.9
    low = {most: [one for one in of_sizes if one[1] < flagged] for most, of_sizes in coverage.items()}
    low = {most: few for most, few in low.items() if few}
    if not low:
        return ""
    shares = [covered for few in low.values() for _, covered in few]
    least, most = (f"{100 * share:.0f}" for share in (min(shares), max(shares)))
    cover = f"{_percent(level)} intervals cover about {least if least == most else f'{least} to {most}'} %"
    if len(low) > 1:
        part = max(few[-1][0] / maximum for maximum, few in low.items())
        return f"in groups of up to {100 * part:.0f} % of their maximum, {cover} in some"
    ((maximum, few),) = low.items()
    sizes = [size for size, _ in few]
    every = [size for size, _ in coverage[maximum]]
    where = ", ".join(map(str, sizes))
    if sizes == every[: len(sizes)]:
        where = f"up to {sizes[-1]}"
    elif sizes == every[-len(sizes) :]:
        where = f"{sizes[0]} or more"
    return f"in groups of {where} of at most {maximum} records, {cover}"


def _percent(level: Fraction) -> str:
    return f"{format_number(100 * level)} %"


# --- what a published count tells about sizes -----------------------------------------------------------------


def sizes_given_counts(beliefs: SizeBeliefs, mechanism: AnyMechanism, counts: Ints) -> SizeBeliefs:
    """Condition the prior of sizes on the drawn count of every group."""
    distinct, place = np.unique(counts, return_inverse=True)
    channel = mechanism.channel()
    likelihoods = np.array([channel.law.likelihood(channel.query, int(count))[beliefs.sizes] for count in distinct])
    given = beliefs.given(likelihoods)
    return SizeBeliefs(given.sizes, given.weights, place.ravel())


def likely_counts(mechanism: AnyMechanism, size: int) -> Ints:
    """Return OBSERVED about equally likely draws of the count of a group of one size."""
    channel = mechanism.channel()
    values = channel.output_values.astype(np.float64)
    nearest = int(np.abs(values - size).argmin())
    upto = np.cumsum(channel.law.likelihood(channel.query, nearest))  # the noise is as likely upwards as downwards
    places = np.searchsorted(upto, (np.arange(OBSERVED) + 0.5) / OBSERVED * upto[-1])
    return np.array([int(np.abs(values - place).argmin()) for place in places])


# --- credible intervals: where the true answer lies, given the released one and a prior over the answers -------


def credible_intervals(channel: Channel, outputs: Ints, level: Fraction) -> tuple[Floats, Floats]:
    """Find for every output the shortest run of answers that holds at least `level` of the posterior.

    Post-processing of the draw: it needs the mechanism and the prior, not the data. A run is found once per distinct
    output, in O(answers).
    """
    distinct, place = np.unique(outputs, return_inverse=True)
    ends = np.array([_ends(mass, level) for mass in _joint(channel, distinct)])
    low, high = channel.query.answers.numbers_at(ends.T)[:, place].astype(np.float64)
    return low, high


def _joint(channel: Channel, outputs: Ints) -> Iterator[Floats]:
    """Yield for every output its joint probabilities with each true answer; a quantile's prior is about records."""
    for i in outputs:
        yield _possible(channel.law.likelihood(channel.query, int(i)) * channel.prior, channel.prior)


def _ends(mass: Floats, level: Fraction) -> tuple[int, int]:
    first, stop = find_shortest_run(mass / mass.sum(), float(level))
    return first, stop - 1

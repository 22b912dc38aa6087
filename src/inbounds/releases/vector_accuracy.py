"""The accuracy of several quantiles in one draw, from groups of a declared model and one simulated draw for each.

Before a draw, the expected error of a quantile is its mean distance from the true one over these groups. After it the
whole vector tells: how far it is from a quantile to those beside it says how closely the records lie there, so that
gaps and heaps are seen. Groups of the model whose outputs have about the same distances on both sides are weighted up,
and their errors, stretched to the group's distances, are the joint posterior's of this quantile.

    weight of a simulated group     exp(-(difference of log(1 + distance) / bandwidth)^2 / 2), for both sides

The bandwidth is Scott's rule for two dimensions: the standard deviation times count^(-1/6).

Without a prior of the values the groups are those of the family that designs are judged on
(`record_models.draw_declared`): in one half of them records lie together at any scale, in the other they do so in a
window of the range. An interval holds its probability under either half. With a prior records are drawn independently
from it. If the size of a group is not public, simulated groups have any size, and those of about the sizes that are
believed count more. All is post-processing of what was drawn.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.losses import LossLike, best_constant_loss, to_loss
from inbounds.mechanism import JointMechanism
from inbounds.mechanism.laws import JointPathLengthsOverSizes
from inbounds.mechanism.record_models import draw_declared
from inbounds.query import JointQuantileQuery
from inbounds.statistics.sizes import SizeBeliefs
from inbounds.trusted.samplers import seeded_entropy

SIMULATED = (64, 4096)
"""The fewest and the most groups that are simulated for a mechanism."""

STEPS = 1 << 27
"""The most steps of the sampler's sums in all simulated groups, beyond the fewest."""

SHORTER = 8
"""So many times fewer groups are simulated where a rough error is enough."""

TOGETHER = 1 << 22
"""Weights in memory at a time."""


@dataclass(frozen=True, eq=False)
class SimulatedVectors:
    """Simulated groups: their sizes, their true quantiles, and the outputs of one draw for each, groups × quantiles.

    halves: 1 for groups in windows, else 0.
    """

    query: JointQuantileQuery
    sizes: Ints
    truths: Ints
    reports: Ints
    halves: Ints

    @classmethod
    def simulate(cls, mechanism: JointMechanism, prior: Floats | None, *, is_rough: bool = False) -> "SimulatedVectors":
        """Simulate groups of the size that is public, or of any size up to the maximum; the same ones every time."""
        query = mechanism.query
        values, fewest, most = query.width + 1, *SIMULATED
        law = mechanism.law
        tried = len(law.sizes) if isinstance(law, JointPathLengthsOverSizes) else 1
        steps = len(query.at) * (query.size + values) * values * tried
        times = SHORTER if is_rough else 1
        count = int(np.clip(STEPS // times // steps, fewest, most // times))
        rng = np.random.default_rng([query.size, values, len(query.at)])
        of_groups = np.full(count, query.size) if query.public_size else np.arange(count) * (query.size + 1) // count
        groups, scales = (
            draw_declared(values, of_groups, rng)
            if prior is None
            else (rng.multinomial(of_groups, prior), np.zeros_like(of_groups))
        )
        truths = np.stack([single.true_positions(groups) for single in query.singles], axis=1)
        return cls(query, of_groups, truths, law.make_simulator(query)(groups, seeded_entropy(rng)), np.sign(scales))

    @cached_property
    def _log_distances(self) -> Floats:
        """Return log(1 + distance): groups × (to the output before, to the one behind) × quantiles."""
        return np.log1p(_distances(self.reports, self.query.width))

    def _bandwidths(self, place: int) -> Floats:
        spread = self._log_distances[:, :, place].std(axis=0)
        return np.asarray(np.maximum(spread, 1e-9) * len(self.reports) ** (-1 / 6))

    def weights(self, beliefs: SizeBeliefs | None, row: int = 0) -> Floats:
        """Return the weights of the simulated groups for one distribution of the size; they sum to one."""
        if beliefs is None:
            return np.full(len(self.sizes), 1 / len(self.sizes))
        logs = np.log1p(self.sizes)
        width = max(float(logs.std()), 1e-9) * len(logs) ** (-1 / 7)  # Scott's rule for three dimensions
        near = np.exp(-0.5 * ((np.log1p(beliefs.sizes)[:, None] - logs) / width) ** 2)
        return np.asarray(beliefs.weights[row] @ (near / near.sum(axis=1, keepdims=True)))

    def expected_error(self, place: int, loss: LossLike, weights: Floats) -> tuple[float, float]:
        """Return the mean loss of a quantile, and that of the best constant."""
        query, truths = self.query.as_range_query, self.truths[:, place]
        losses = to_loss(loss).table(query)[self.reports[:, place], truths]
        prior = np.bincount(truths, weights=weights, minlength=self.query.width + 1)
        return float(losses @ weights), best_constant_loss(query, loss, prior)

    def posteriors(self, place: int, reports: Ints, weights: Floats) -> Iterator[Floats]:
        """Yield for every vector of outputs, vectors × quantiles, the masses of a quantile's values: halves × values.

        Their sum is in proportion to the posterior over both halves.
        """
        count = int(self.halves.max()) + 1
        values, log_distances = self.query.width + 1, self._log_distances[:, :, place]
        tables = [
            np.exp(-0.5 * ((np.log1p(np.arange(values))[:, None] - own) / width) ** 2)
            for own, width in zip(log_distances.T, self._bandwidths(place), strict=True)
        ]
        moved = self.truths[:, place] - self.reports[:, place]
        side = (moved > 0).astype(np.int64)
        own_distance = np.exp(log_distances[np.arange(len(moved)), side])
        distances = _distances(reports, self.query.width)[:, :, place]
        rows = max(1, TOGETHER // len(moved))
        for start in range(0, len(reports), rows):
            before, behind = distances[start : start + rows].T
            mass = tables[0][before] * tables[1][behind] * weights
            for half in range(count):
                of_half = self.halves == half
                lost = mass[:, of_half].sum(axis=1) <= 0
                mass[np.ix_(lost, of_half)] = weights[of_half]
            stretch = (1.0 + distances[start : start + rows][:, side]) / own_distance
            places = np.rint(reports[start : start + rows, place, None] + moved * stretch)
            cells = np.clip(places, 0, values - 1).astype(np.int64)
            cells += (np.arange(len(mass))[:, None] * count + self.halves) * values
            found = np.bincount(cells.ravel(), weights=mass.ravel(), minlength=len(mass) * count * values)
            yield from np.asarray(found, dtype=np.float64).reshape(len(mass), count, values)


def _distances(reports: Ints, width: int) -> Ints:
    """Return the distance of every output to the one before and the one behind, or to the ends of the range."""
    ends = np.zeros((len(reports), 1), dtype=np.int64), np.full((len(reports), 1), width)
    apart = np.diff(np.concatenate([ends[0], reports, ends[1]], axis=1), axis=1)
    return np.stack([apart[:, :-1], apart[:, 1:]], axis=1)


@lru_cache(maxsize=64)
def _simulate(mechanism: JointMechanism, prior: FrozenArray | None, is_rough: bool) -> SimulatedVectors:
    return SimulatedVectors.simulate(mechanism, None if prior is None else prior.array, is_rough=is_rough)


def simulate_vectors(mechanism: Any, prior: Floats | None, *, is_rough: bool = False) -> SimulatedVectors:
    """Return the simulated groups of a mechanism of several quantiles; those of the last mechanisms are kept."""
    return _simulate(mechanism, None if prior is None else FrozenArray.from_array(prior), is_rough)

"""Answer one question at several epsilons, for readers with different trust: one chain of draws per group.

    true answer → level 1 → level 2 → …          epsilon_1 > epsilon_2 > …

Each level sees only the answer of the level before (`accounting.multilevel`), so the answers of several readers are all
computed from the answer with the largest epsilon: all levels together cost as much as the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from inbounds.accounting.multilevel import MechanismChain, make_chain
from inbounds.errors import InboundsError
from inbounds.exact import Ints
from inbounds.mechanism.laws.base import DrawFunction
from inbounds.plan.plan import Plan
from inbounds.progress import Progress, ignore_progress
from inbounds.query import RangeQuery
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.layout import OutputColumn
from inbounds.releases.workload import ReleaseDesign, TableContent, publish_columns
from inbounds.schema.errors import PlanError
from inbounds.schema.record_types import ChainRecord
from inbounds.statistics.base import ValueCounts
from inbounds.statistics.designs import DesignedMechanism, DesignOptions
from inbounds.trusted.samplers import Draws, draw_outputs, system_entropy

LEVEL = "level of epsilon"
"""The column of a stored table with the level of a row: its epsilon."""

GEOMETRIC = DesignOptions(mechanism="truncated_geometric")
"""The options of the first level of every chain."""


@lru_cache(maxsize=64)
def _chain(query: RangeQuery, epsilons: tuple[Fraction, ...]) -> MechanismChain:
    return make_chain(query, epsilons)


@dataclass(frozen=True)
class ChainedDraw:
    """A draw method for a plan of one statistic in levels: a chain for every group size. epsilons: falling."""

    designed: ReleaseDesign
    epsilons: tuple[Fraction, ...]
    chains: tuple[MechanismChain, ...] = field(repr=False)

    @staticmethod
    def from_design(designed: ReleaseDesign, epsilons: Sequence[Fraction]) -> "ChainedDraw":
        """Build the chains of a plan; raise PlanError if its numbers have none."""
        workload, plan = designed.workload, designed.workload.plan
        (statistic,) = plan.statistics
        if plan.delta:
            raise PlanError("cannot be answered in levels: a chain of draws has no delta", ("privacy", "delta"))
        if plan.is_layered(statistic) or statistic.derive(plan.context) is not None or statistic.counts_values:
            raise PlanError(f"cannot be answered in levels: {statistic.kind} has no noise chain; ask for a count")
        levels = tuple(sorted(epsilons, reverse=True))
        part = workload.entries[0].statistic_epsilon / plan.epsilon
        drawn_at = tuple(epsilon * part for epsilon in levels)
        try:
            chains = tuple(_chain(request.query, drawn_at) for request in workload.requests[0])
        except (InboundsError, ValueError, TypeError) as reason:
            raise PlanError(f"cannot be answered in levels: {reason}") from None
        return ChainedDraw(designed, levels, chains)

    def level(self, position: int) -> ReleaseDesign:
        """Return one level as if it had been drawn alone, for its errors and intervals."""
        if position == 0:
            return self.designed
        workload = self.designed.workload
        designs = tuple(DesignedMechanism(chain.level(position), self.sha256(k)) for k, chain in enumerate(self.chains))
        requests = tuple(
            replace(request, epsilon=design.mechanism.epsilon)
            for request, design in zip(workload.requests[0], designs, strict=True)
        )
        leveled = ReleaseDesign(replace(workload, requests=(requests,)), (designs,), (), self.designed.layers)
        expected = tuple(leveled.model(0, s).expected_error() for s in range(len(designs)))
        return replace(leveled, expected=(expected,))

    def sha256(self, size: int) -> str:
        """Return the digest of the chain of a group size, given by its position."""
        return self.chains[size].to_document().sha256

    @property
    def mechanisms(self) -> list[str]:
        """Return the digests of the chains, each of all its levels."""
        return [self.sha256(size) for size in range(len(self.chains))]

    def draw(
        self, truths: TrueAnswers, progress: Progress = ignore_progress, draws: Draws = system_entropy
    ) -> list[Ints]:
        """Draw all levels, one after the other; only the first sees a true answer."""
        levels, groups = len(self.epsilons), len(self.designed.workload.plan.groups)
        planned, rows = levels * len(truths.positions) * groups, list[Ints]()
        progress("drawing", 0, planned)
        for positions in truths.positions:
            assert not isinstance(positions, ValueCounts)
            rows.append(self._first(positions, draws))
        previous = rows
        for step in range(levels - 1):
            progress("drawing", len(rows) * groups, planned)
            previous = [self._degrade(step, outputs, draws) for outputs in previous]
            rows = rows + previous
        progress("drawing", planned, planned)
        return rows

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        """Build the table of all levels of all groups, one under the other."""
        plan, row_iterator = self.designed.workload.plan, iter(rows)
        names = plan.drawn_columns(plan.statistics[0])
        level_designs = [self.level(position) for position in range(len(self.epsilons))]
        drawn = [{name: next(row_iterator) for name in names} for _ in level_designs]
        tables = [
            publish_columns(level_design, outputs) for level_design, outputs in zip(level_designs, drawn, strict=True)
        ]
        records = [
            record
            for position, level_design in enumerate(level_designs)
            for record in self._chain_records(position, level_design)
        ]
        draws = {name: np.concatenate([outputs[name] for outputs in drawn]) for name in names}
        return TableContent(_stack_levels(plan, tables, self.epsilons), draws, levels=records)

    def _chain_records(self, position: int, level_design: ReleaseDesign) -> Iterator[ChainRecord]:
        for k, (size, members) in enumerate(
            zip(level_design.workload.sizes, level_design.workload.members, strict=True)
        ):
            yield {
                "level": str(self.epsilons[position]),
                "epsilon": str(level_design.designs[0][k].mechanism.epsilon),
                "size": size,
                "groups": len(members),
                "sha256": self.sha256(k),
                "expected_error": level_design.expected[0][k].error,
            }

    def _first(self, positions: Ints, draws: Draws) -> Ints:
        return self._by_size(positions, [chain.first.draw for chain in self.chains], draws)

    def _degrade(self, step: int, outputs: Ints, draws: Draws) -> Ints:
        return self._by_size(outputs, [partial(draw_outputs, chain.samplers[step]) for chain in self.chains], draws)

    def _by_size(self, positions: Ints, samplers: Sequence[DrawFunction], draws: Draws) -> Ints:
        outputs = np.empty(len(positions), dtype=np.int64)
        for draw, members in zip(samplers, self.designed.workload.members, strict=True):
            outputs[members] = draw(positions[members], draws)
        return outputs


def _stack_levels(plan: Plan, tables: list[list[OutputColumn]], epsilons: tuple[Fraction, ...]) -> list[OutputColumn]:
    """Stack the tables of all levels, with a column of their levels."""
    levels = np.repeat(np.array([str(epsilon) for epsilon in epsilons], dtype=object), len(plan.groups))
    columns = [
        OutputColumn(level_columns[0].name, np.concatenate([column.values for column in level_columns]))
        for level_columns in zip(*tables, strict=True)
    ]
    return [OutputColumn(LEVEL, levels), *columns]

"""One question for readers who are trusted differently: its reports are drawn as one chain, from the finest down.

    true answer → level 1 → level 2 → …          epsilon_1 > epsilon_2 > …

Each level looks at the report of the level before alone (`accounting.multilevel`), so whatever several readers hold is
computed from the report of the one with the largest epsilon: a table of all levels costs what the first does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from inbounds.accounting.multilevel import MechanismChain, make_chain
from inbounds.errors import InboundsError
from inbounds.exact import Ints
from inbounds.plan.plan import Plan
from inbounds.query import RangeQuery
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.layout import OutputColumn
from inbounds.releases.workload import ReleaseDesign, TableContent, expected_error_of, publish_columns
from inbounds.schema.errors import PlanError
from inbounds.schema.record_types import ChainRecord
from inbounds.statistics.base import ValueCounts
from inbounds.statistics.designs import DesignedMechanism, DesignOptions, Progress, ignore_progress
from inbounds.trusted.samplers import Draws, draw_outputs, system_entropy

LEVEL = "level of epsilon"
"""The column of a stored table that says which level a row is of: its epsilon."""

GEOMETRIC = DesignOptions(mechanism="truncated_geometric")
"""What the first level of every chain is."""


@lru_cache(maxsize=64)
def _chain(query: RangeQuery, epsilons: tuple[Fraction, ...]) -> MechanismChain:
    return make_chain(query, epsilons)


@dataclass(frozen=True)
class ChainedDraw:
    """A plan of one statistic, answered in levels: for every group size a chain. epsilons: of the levels, falling."""

    designed: ReleaseDesign
    epsilons: tuple[Fraction, ...]
    chains: tuple[MechanismChain, ...] = field(repr=False)

    @staticmethod
    def from_design(designed: ReleaseDesign, epsilons: Sequence[Fraction]) -> "ChainedDraw":
        """The chains of a plan; a `PlanError` where its numbers have none."""
        asked, plan = designed.asked, designed.asked.plan
        (statistic,) = plan.statistics
        subject = plan.context(statistic)
        if plan.is_layered(statistic) or statistic.own.derived(subject) is not None or statistic.own.counts_values:
            raise PlanError(f"cannot be answered in levels: {statistic.kind} has no noise chain; ask for a count")
        falling = tuple(sorted(epsilons, reverse=True))
        part = asked.entries[0].statistic_epsilon / plan.epsilon
        drawn_at = tuple(epsilon * part for epsilon in falling)
        try:
            chains = tuple(_chain(request.query, drawn_at) for request in asked.requests[0])
        except (InboundsError, ValueError, TypeError) as reason:
            raise PlanError(f"cannot be answered in levels: {reason}") from None
        return ChainedDraw(designed, falling, chains)

    def level(self, position: int) -> ReleaseDesign:
        """One level by itself, as if it had been drawn alone: for its errors and intervals."""
        if position == 0:
            return self.designed
        asked = self.designed.asked
        designs = tuple(DesignedMechanism(chain.level(position), self.sha256(k)) for k, chain in enumerate(self.chains))
        requests = tuple(
            replace(request, epsilon=design.mechanism.epsilon)
            for request, design in zip(asked.requests[0], designs, strict=True)
        )
        loss = asked.plan.statistics[0].own.error
        expected = tuple(
            expected_error_of(design.mechanism, request, loss, None)
            for design, request in zip(designs, requests, strict=True)
        )
        return ReleaseDesign(replace(asked, requests=(requests,)), (designs,), (expected,), self.designed.layers)

    def sha256(self, size: int) -> str:
        """The digest of the chain for the groups of a size, by its position."""
        return str(self.chains[size].content()["sha256"])

    @property
    def mechanisms(self) -> list[str]:
        """The digests of the chains, each of all its levels."""
        return [self.sha256(size) for size in range(len(self.chains))]

    def draw(
        self, truths: TrueAnswers, progress: Progress = ignore_progress, draws: Draws = system_entropy
    ) -> list[Ints]:
        """All levels, one after the other; the first is the only one that sees a true answer."""
        rows = list[Ints]()
        for positions in truths.positions:
            assert not isinstance(positions, ValueCounts)
            rows.append(self._first(positions, draws))
        before = rows
        for step in range(len(self.epsilons) - 1):
            before = [self._degrade(step, outputs, draws) for outputs in before]
            rows = rows + before
        return rows

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        """All levels of all groups, one under the other."""
        plan, given = self.designed.asked.plan, iter(rows)
        names = plan.drawn_columns(plan.statistics[0])
        alone = [self.level(position) for position in range(len(self.epsilons))]
        drawn = [{name: next(given) for name in names} for _ in alone]
        tables = [publish_columns(own, outputs) for own, outputs in zip(alone, drawn, strict=True)]
        forms = [form for position, own in enumerate(alone) for form in self._forms(position, own)]
        draws = {name: np.concatenate([outputs[name] for outputs in drawn]) for name in names}
        return TableContent(_stack_levels(plan, tables, self.epsilons), draws, levels=forms)

    def _forms(self, position: int, own: ReleaseDesign) -> Iterator[ChainRecord]:
        for k, (size, members) in enumerate(zip(own.asked.sizes, own.asked.members, strict=True)):
            yield {
                "level": str(self.epsilons[position]),
                "epsilon": str(own.designs[0][k].mechanism.epsilon),
                "size": size,
                "groups": len(members),
                "sha256": self.sha256(k),
                "expected_error": own.expected[0][k].error,
            }

    def _first(self, positions: Ints, draws: Draws) -> Ints:
        return self._by_size(positions, [chain.first.law.sampler for chain in self.chains], draws)

    def _degrade(self, step: int, outputs: Ints, draws: Draws) -> Ints:
        return self._by_size(outputs, [chain.samplers[step] for chain in self.chains], draws)

    def _by_size(self, positions: Ints, samplers: Sequence[object], draws: Draws) -> Ints:
        found = np.empty(len(positions), dtype=np.int64)
        for sampler, members in zip(samplers, self.designed.asked.members, strict=True):
            found[members] = draw_outputs(sampler, positions[members], draws)  # type: ignore[arg-type]
        return found


def _stack_levels(plan: Plan, tables: list[list[OutputColumn]], epsilons: tuple[Fraction, ...]) -> list[OutputColumn]:
    """The tables of all levels as one, with a column that says which is which."""
    levels = np.repeat(np.array([str(epsilon) for epsilon in epsilons], dtype=object), len(plan.groups))
    columns = [
        OutputColumn(own[0].name, np.concatenate([column.values for column in own]))
        for own in zip(*tables, strict=True)
    ]
    return [OutputColumn(LEVEL, levels), *columns]

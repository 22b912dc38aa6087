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

from inbounds.accounting.multilevel import MultiLevel, multilevel
from inbounds.errors import InboundsError
from inbounds.numbers import Ints
from inbounds.query import Query
from inbounds.tables.answer import Answers, Designed, expected_of, published
from inbounds.tables.designs import Design, Progress, Wishes, no_progress
from inbounds.tables.engine import Truths
from inbounds.tables.errors import PlanError
from inbounds.tables.forms import LevelForm
from inbounds.tables.layout import Released
from inbounds.tables.plan import Plan
from inbounds.tables.statistics.kind import ValueCounts
from inbounds.trusted.sample import Draws, entropy, report

LEVEL = "level of epsilon"
"""The column of a stored table that says which level a row is of: its epsilon."""

GEOMETRIC = Wishes(mechanism="truncated_geometric")
"""What the first level of every chain is."""


@lru_cache(maxsize=64)
def _chain(query: Query, epsilons: tuple[Fraction, ...]) -> MultiLevel:
    return multilevel(query, epsilons)


@dataclass(frozen=True)
class Leveled:
    """A plan of one statistic, answered in levels: for every group size a chain. epsilons: of the levels, falling."""

    designed: Designed
    epsilons: tuple[Fraction, ...]
    chains: tuple[MultiLevel, ...] = field(repr=False)

    @staticmethod
    def of(designed: Designed, epsilons: Sequence[Fraction]) -> "Leveled":
        """The chains of a plan; a `PlanError` where its numbers have none."""
        asked, plan = designed.asked, designed.asked.plan
        (statistic,) = plan.statistics
        subject = plan.subject(statistic)
        if plan.adds_up(statistic) or statistic.own.derived(subject) is not None or statistic.own.counts_values:
            raise PlanError(f"cannot be answered in levels: {statistic.kind} has no noise chain; ask for a count")
        falling = tuple(sorted(epsilons, reverse=True))
        part = asked.entries[0].own_at / plan.epsilon
        drawn_at = tuple(epsilon * part for epsilon in falling)
        try:
            chains = tuple(_chain(request.query, drawn_at) for request in asked.requests[0])
        except (InboundsError, ValueError, TypeError) as reason:
            raise PlanError(f"cannot be answered in levels: {reason}") from None
        return Leveled(designed, falling, chains)

    def level(self, position: int) -> Designed:
        """One level by itself, as if it had been drawn alone: for its errors and intervals."""
        if position == 0:
            return self.designed
        asked = self.designed.asked
        designs = tuple(Design(chain.level(position), self.sha256(k)) for k, chain in enumerate(self.chains))
        requests = tuple(
            replace(request, epsilon=design.mechanism.epsilon)
            for request, design in zip(asked.requests[0], designs, strict=True)
        )
        loss = asked.plan.statistics[0].own.error
        expected = tuple(
            expected_of(design.mechanism, request, loss, None)
            for design, request in zip(designs, requests, strict=True)
        )
        return Designed(replace(asked, requests=(requests,)), (designs,), (expected,), self.designed.layers)

    def sha256(self, size: int) -> str:
        """The digest of the chain for the groups of a size, by its position."""
        return str(self.chains[size].content()["sha256"])

    @property
    def mechanisms(self) -> list[str]:
        """The digests of the chains, each of all its levels."""
        return [self.sha256(size) for size in range(len(self.chains))]

    def draw(self, truths: Truths, progress: Progress = no_progress, draws: Draws = entropy) -> list[Ints]:
        """All levels, one after the other; the first is the only one that sees a true answer."""
        rows = list[Ints]()
        for positions in truths.positions:
            assert not isinstance(positions, ValueCounts)
            rows.append(self._first(positions, draws))
        before = rows
        for step in range(len(self.epsilons) - 1):
            before = [self._degraded(step, outputs, draws) for outputs in before]
            rows = rows + before
        return rows

    def answers(self, rows: Sequence[Ints]) -> Answers:
        """All levels of all groups, one under the other."""
        plan, given = self.designed.asked.plan, iter(rows)
        names = plan.draws(plan.statistics[0])
        alone = [self.level(position) for position in range(len(self.epsilons))]
        drawn = [{name: next(given) for name in names} for _ in alone]
        tables = [published(own, outputs) for own, outputs in zip(alone, drawn, strict=True)]
        forms = [form for position, own in enumerate(alone) for form in self._forms(position, own)]
        draws = {name: np.concatenate([outputs[name] for outputs in drawn]) for name in names}
        return Answers(_stacked(plan, tables, self.epsilons), draws, levels=forms)

    def _forms(self, position: int, own: Designed) -> Iterator[LevelForm]:
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

    def _degraded(self, step: int, outputs: Ints, draws: Draws) -> Ints:
        return self._by_size(outputs, [chain.samplers[step] for chain in self.chains], draws)

    def _by_size(self, positions: Ints, samplers: Sequence[object], draws: Draws) -> Ints:
        found = np.empty(len(positions), dtype=np.int64)
        for sampler, members in zip(samplers, self.designed.asked.members, strict=True):
            found[members] = report(sampler, positions[members], draws)  # type: ignore[arg-type]
        return found


def _stacked(plan: Plan, tables: list[list[Released]], epsilons: tuple[Fraction, ...]) -> list[Released]:
    """The tables of all levels as one, with a column that says which is which."""
    levels = np.repeat(np.array([str(epsilon) for epsilon in epsilons], dtype=object), len(plan.groups))
    columns = [
        Released(own[0].name, np.concatenate([column.values for column in own])) for own in zip(*tables, strict=True)
    ]
    return [Released(LEVEL, levels), *columns]

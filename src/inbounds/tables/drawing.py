"""The draw: every declared group's position goes to the mechanism of its range. No other step sees a true answer.

What was drawn is kept in the ledger as it is, before anything is computed from it: rows of output numbers, eight bytes
each, whatever they are, so that neither a full disk nor anything that fails later can choose between draws.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from inbounds.errors import LedgerError
from inbounds.files import canonical, sha256
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.numbers import Ints
from inbounds.tables.answer import Answers, Asked, Designed, answers, plain
from inbounds.tables.designs import Design, Progress, no_progress
from inbounds.tables.engine import Truths
from inbounds.tables.statistics.kind import ValueCounts
from inbounds.trusted.sample import Draws, entropy, report

BLOCK_OF_COUNTS = 1 << 20
"""Counts of values that are written out at a time."""

FORMAT, VERSION = "inbounds draw", 1


class Drawing(Protocol):
    """How a plan is answered: number by number, or in levels."""

    @property
    def mechanisms(self) -> list[str]:
        """The digests of all that draws, in order."""
        ...

    def draw(self, truths: Truths, progress: Progress = no_progress) -> list[Ints]:
        """Rows of outputs, as many and as long as the plan says."""
        ...

    def answers(self, rows: Sequence[Ints]) -> Answers:
        """The table that follows from such rows and nothing else."""
        ...


@dataclass(frozen=True)
class NumberByNumber:
    """Every number is drawn by the mechanism of its range, independent of all others."""

    designed: Designed

    @property
    def mechanisms(self) -> list[str]:
        return [design.sha256 for row in (*self.designed.designs, *self.designed.layers) for design in row]

    def draw(self, truths: Truths, progress: Progress = no_progress) -> list[Ints]:
        return draw(self.designed, truths, progress=progress)

    def answers(self, rows: Sequence[Ints]) -> Answers:
        return answers(self.designed, rows)


def draw(designed: Designed, truths: Truths, *, draws: Draws = entropy, progress: Progress = no_progress) -> list[Ints]:
    """For every statistic the rows of its own numbers, then those of the sums that are drawn beside them."""
    plan, rows, given = designed.asked.plan, list[Ints](), iter(truths.positions)
    total, done = len(truths.positions) * len(plan.groups), 0
    for k, statistic in enumerate(plan.statistics):
        positions = []
        for _ in plan.draws(statistic):
            positions.append(next(given))
            rows.append(_reported(designed.asked, designed.designs[k], positions[-1], draws))
            done += len(plan.groups)
            progress("answering", done, total)
        if plan.adds_up(statistic):
            rows += [row for layer in _drawn_sums(designed, k, positions, draws) for row in layer]
    return rows


def _drawn_sums(designed: Designed, k: int, positions: Sequence[Any], draws: Draws) -> list[list[Ints]]:
    """Reports about the sums beside a statistic's own numbers: for every layer, rows of them."""
    layered = designed.asked.entries[k].layered
    assert layered is not None
    return [
        [report(plain(design).law.sampler, row, draws) for row in layer.sums(positions)]
        for layer, design in zip(layered.layers, designed.layers[k], strict=True)
    ]


def _reported(asked: Asked, designs: Sequence[Design], truths: Ints | ValueCounts, draws: Draws) -> Ints:
    """The output that each group's mechanism reports for its true position, or records: fresh draws for each."""
    outputs = np.empty(len(asked.plan.groups), dtype=np.int64)
    for design, members in zip(designs, asked.members, strict=True):
        if isinstance(design.mechanism, QuantileMechanism):
            assert isinstance(truths, ValueCounts)
            outputs[members] = _reported_from_records(design.mechanism, truths, members, draws)
        else:
            assert not isinstance(truths, ValueCounts)
            outputs[members] = report(design.mechanism.law.sampler, truths[members], draws)
    return outputs


def _reported_from_records(made: QuantileMechanism, truths: ValueCounts, members: Ints, draws: Draws) -> Ints:
    """In blocks of groups, so that the histograms of all of them are never written out at once."""
    outputs = np.empty(len(members), dtype=np.int64)
    rows = max(1, BLOCK_OF_COUNTS // (made.query.width + 1))
    for start in range(0, len(members), rows):
        block = members[start : start + rows]
        outputs[start : start + rows] = made.law.report(made.query, truths.histograms(block), draws)
    return outputs


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """What was drawn. drawn_by: the digest of all mechanisms, without which nobody could read it. key_types: of the
    columns that name a group, as the schema had them; a record states them, and may be written when no data is open."""

    drawn_by: str
    rows: tuple[Ints, ...] = field(repr=False)
    key_types: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(drawing: Drawing, rows: Sequence[Ints], key_types: Mapping[str, str]) -> "DrawnRows":
        return DrawnRows(_digest(drawing), tuple(rows), key_types)

    def written(self) -> bytes:
        """A line of public facts, and the outputs; as many bytes for every draw of a plan."""
        facts = {
            "format": FORMAT,
            "version": VERSION,
            "drawn_by": self.drawn_by,
            "lengths": list(map(len, self.rows)),
            "key_types": dict(self.key_types),
        }
        return canonical(facts).encode() + b"\n" + b"".join(row.astype("<i8").tobytes() for row in self.rows)

    @staticmethod
    def read(content: bytes, drawing: Drawing) -> "DrawnRows":
        """What `written` wrote; refused unless the mechanisms that are there now are those that drew it."""
        line, _, outputs = content.partition(b"\n")
        facts = json.loads(line)
        if (facts["format"], facts["version"]) != (FORMAT, VERSION):
            raise LedgerError(f"a stored draw must be of version {VERSION}; install a later inbounds to read it")
        if facts["drawn_by"] != _digest(drawing):
            raise LedgerError(
                "the reports that are stored for this release were drawn by other mechanisms than those designed now; "
                "repeat it with the version of inbounds that began it, or draw and pay anew under a key of its own"
            )
        ends = np.cumsum(facts["lengths"])
        rows = np.split(np.frombuffer(outputs, "<i8").astype(np.int64), ends[:-1])
        return DrawnRows(facts["drawn_by"], tuple(rows), facts.get("key_types", {}))


def _digest(drawing: Drawing) -> str:
    return sha256(canonical(drawing.mechanisms))

"""The draw: every declared group's position goes to the mechanism of its range. No other step sees a true answer.

What was drawn is kept in the ledger as it is, before anything is computed from it: rows of output numbers, eight bytes
each, whatever they are, so that neither a full disk nor anything that fails later can choose between draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from inbounds.errors import LedgerError
from inbounds.exact import Ints
from inbounds.files import DRAW, Document, FileFormat, LoadedFile, canonical_json, refuse_unknown_fields, sha256_hex
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.workload import ReleaseDesign, TableContent, Workload, build_table, require_range_mechanism
from inbounds.statistics.base import ValueCounts
from inbounds.statistics.designs import DesignedMechanism, Progress, ignore_progress
from inbounds.trusted.samplers import Draws, draw_outputs, system_entropy

BLOCK_OF_COUNTS = 1 << 20
"""Counts of values that are written out at a time."""


def _checked_header(document: Document) -> Document:
    """The header of a stored draw, whose fields are those that are read."""
    known = dict.fromkeys(("mechanisms_sha256", "lengths", "key_types", "outputs_sha256"))
    refuse_unknown_fields(document.content, known, "the stored draw", LedgerError)
    return document


STORED_DRAW = FileFormat(DRAW, "stored draw", _checked_header, LedgerError)


class DrawMethod(Protocol):
    """How a plan is answered: number by number, or in levels."""

    @property
    def mechanisms(self) -> list[str]:
        """The digests of all that draws, in order."""
        ...

    def draw(self, truths: TrueAnswers, progress: Progress = ignore_progress) -> list[Ints]:
        """Rows of outputs, as many and as long as the plan says."""
        ...

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        """The table that follows from such rows and nothing else."""
        ...


@dataclass(frozen=True)
class IndependentDraw:
    """Every number is drawn by the mechanism of its range, independent of all others."""

    designed: ReleaseDesign

    @property
    def mechanisms(self) -> list[str]:
        return [design.sha256 for row in (*self.designed.designs, *self.designed.layers) for design in row]

    def draw(self, truths: TrueAnswers, progress: Progress = ignore_progress) -> list[Ints]:
        return draw_rows(self.designed, truths, progress=progress)

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        return build_table(self.designed, rows)


def draw_rows(
    designed: ReleaseDesign, truths: TrueAnswers, *, draws: Draws = system_entropy, progress: Progress = ignore_progress
) -> list[Ints]:
    """For every statistic the rows of its own numbers, then those of the sums that are drawn beside them."""
    plan, rows, given = designed.workload.plan, list[Ints](), iter(truths.positions)
    total, done = len(truths.positions) * len(plan.groups), 0
    for k, statistic in enumerate(plan.statistics):
        positions = []
        for _ in plan.drawn_columns(statistic):
            positions.append(next(given))
            rows.append(_draw_outputs(designed.workload, designed.designs[k], positions[-1], draws))
            done += len(plan.groups)
            progress("answering", done, total)
        if plan.is_layered(statistic):
            rows += [row for layer in _drawn_sums(designed, k, positions, draws) for row in layer]
    return rows


def _drawn_sums(designed: ReleaseDesign, k: int, positions: Sequence[Any], draws: Draws) -> list[list[Ints]]:
    """Reports about the sums beside a statistic's own numbers: for every layer, rows of them."""
    layered = designed.workload.entries[k].layered
    assert layered is not None
    return [
        [draw_outputs(require_range_mechanism(design).law.sampler, row, draws) for row in layer.sums(positions)]
        for layer, design in zip(layered.layers, designed.layers[k], strict=True)
    ]


def _draw_outputs(
    asked: Workload, designs: Sequence[DesignedMechanism], truths: Ints | ValueCounts, draws: Draws
) -> Ints:
    """The output that each group's mechanism reports for its true position, or records: fresh draws for each."""
    outputs = np.empty(len(asked.plan.groups), dtype=np.int64)
    for design, members in zip(designs, asked.members, strict=True):
        if isinstance(design.mechanism, QuantileMechanism):
            assert isinstance(truths, ValueCounts)
            outputs[members] = _reported_from_records(design.mechanism, truths, members, draws)
        else:
            assert not isinstance(truths, ValueCounts)
            outputs[members] = draw_outputs(design.mechanism.law.sampler, truths[members], draws)
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
class Draw:
    """What was drawn. drawn_by: the digest of all mechanisms, without which nobody could read it. key_types: of the
    columns that name a group, as the schema had them; a record states them, and may be written when no data is open."""

    drawn_by: str
    rows: tuple[Ints, ...] = field(repr=False)
    key_types: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def from_rows(drawing: DrawMethod, rows: Sequence[Ints], key_types: Mapping[str, str]) -> "Draw":
        return Draw(_digest(drawing), tuple(rows), key_types)

    def to_bytes(self) -> bytes:
        """An envelope in one line, and the outputs; as many bytes for every draw of a plan."""
        outputs = b"".join(row.astype("<i8").tobytes() for row in self.rows)
        header = {
            "mechanisms_sha256": self.drawn_by,
            "lengths": list(map(len, self.rows)),
            "key_types": dict(self.key_types),
            "outputs_sha256": sha256_hex(outputs),
        }
        return canonical_json(Document.wrap(DRAW, header).to_json()).encode() + b"\n" + outputs

    @staticmethod
    def from_bytes(content: bytes, drawing: DrawMethod) -> "Draw":
        """What `to_bytes` wrote; refused unless the mechanisms that are there now are those that drew it."""
        line, _, outputs = content.partition(b"\n")
        header = STORED_DRAW.read(LoadedFile(Path("draw"), line)).content
        if header["outputs_sha256"] != sha256_hex(outputs):
            raise LedgerError("the stored draw was changed: its outputs do not have the digest stated")
        if header["mechanisms_sha256"] != _digest(drawing):
            raise LedgerError(
                "the reports that are stored for this release were drawn by other mechanisms than those designed now; "
                "repeat it with the version of inbounds that began it, or draw and pay anew under a key of its own"
            )
        ends = np.cumsum(header["lengths"])
        rows = np.split(np.frombuffer(outputs, "<i8").astype(np.int64), ends[:-1])
        return Draw(header["mechanisms_sha256"], tuple(rows), header["key_types"])


def _digest(drawing: DrawMethod) -> str:
    return sha256_hex(canonical_json(drawing.mechanisms))

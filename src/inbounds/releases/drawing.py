"""Draw the outputs of a release: the true answer of every declared group goes to the mechanism of its range.

No later step sees a true answer. The draws are stored in the ledger before anything is computed from them, as rows of
output numbers of eight bytes each. The stored size does not depend on the values, so neither a full disk nor a later
failure can select among draws.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from inbounds.errors import LedgerError
from inbounds.exact import Ints
from inbounds.files import DRAW, Document, FileFormat, LoadedFile, canonical_json, refuse_unknown_fields, sha256_hex
from inbounds.mechanism import AnyMechanism, JointMechanism, QuantileMechanism
from inbounds.mechanism.laws.joint import JointLaw
from inbounds.progress import Progress, ignore_progress
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.workload import ReleaseDesign, TableContent, Workload, build_table, require_range_mechanism
from inbounds.statistics.base import ValueCounts
from inbounds.statistics.designs import DesignedMechanism
from inbounds.trusted.samplers import Draws, system_entropy

BLOCK_OF_COUNTS = 1 << 20
"""Most counts of values that are held in memory at a time."""


def _check_header(document: Document) -> Document:
    """Return the header of a stored draw; refuse unknown fields."""
    known = dict.fromkeys(("mechanisms_sha256", "lengths", "key_types", "keys", "outputs_sha256"))
    refuse_unknown_fields(document.content, known, "the stored draw", LedgerError)
    return document


STORED_DRAW = FileFormat(DRAW, "stored draw", _check_header, LedgerError)


class DrawMethod(Protocol):
    """A method to answer a plan: number by number, or in levels."""

    @property
    def mechanisms(self) -> list[str]:
        """Return the digests of all mechanisms, in order."""
        ...

    def draw(self, truths: TrueAnswers, progress: Progress = ignore_progress) -> list[Ints]:
        """Draw rows of outputs; the plan determines their number and length."""
        ...

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        """Build the table from the rows alone."""
        ...


@dataclass(frozen=True)
class IndependentDraw:
    """A draw method: the mechanism of its range draws each number, independent of all others."""

    designed: ReleaseDesign

    @property
    def mechanisms(self) -> list[str]:
        own = [design.sha256 for row in (*self.designed.designs, *self.designed.layers) for design in row]
        return own + [sha256 for level in self.designed.above for sha256 in IndependentDraw(level).mechanisms]

    def draw(self, truths: TrueAnswers, progress: Progress = ignore_progress) -> list[Ints]:
        return draw_rows(self.designed, truths, progress=progress)

    def answers(self, rows: Sequence[Ints]) -> TableContent:
        return build_table(self.designed, rows)


@dataclass(frozen=True)
class PublishedRows:
    """The rows of the groups that were published, of those that the data holds; of the others nothing is kept."""

    keys: tuple[tuple[str, ...], ...]
    rows: tuple[Ints, ...] = field(repr=False)


def draw_published(
    designed: ReleaseDesign, truths: TrueAnswers, *, draws: Draws = system_entropy, progress: Progress = ignore_progress
) -> PublishedRows:
    """Draw the number of persons of every group that the data holds, and of those published everything else.

    Progress tells nothing of how many groups there are.
    """
    plan = designed.workload.plan
    place = plan.publishing_place
    assert place is not None
    progress("drawing", 0, 1)
    persons = truths.positions[sum(len(plan.drawn_columns(one)) for one in plan.statistics[:place])]
    assert not isinstance(persons, ValueCounts)
    numbers = _draw_answers(designed.designs[place][0].mechanism, persons, draws)
    published = np.flatnonzero(numbers)
    own = designed.with_published([truths.keys[k] for k in published.tolist()])
    rows = draw_rows(own, truths.select(published), draws=draws, drawn={place: numbers[published]})
    progress("drawing", 1, 1)
    return PublishedRows(own.workload.plan.groups.keys, tuple(rows))


def draw_rows(
    designed: ReleaseDesign,
    truths: TrueAnswers,
    *,
    draws: Draws = system_entropy,
    progress: Progress = ignore_progress,
    drawn: Mapping[int, Ints] = MappingProxyType({}),
) -> list[Ints]:
    """Draw for every statistic the rows of its own numbers and of the sums beside them, then those of every level.

    drawn: the row of a statistic that was drawn before, by its place.
    """
    plan, rows, truth_iterator = designed.workload.plan, list[Ints](), iter(truths.positions)
    planned, done = designed.workload.numbers, 0
    progress("drawing", done, planned)
    for k, statistic in enumerate(plan.statistics):
        positions = [next(truth_iterator) for _ in plan.drawn_columns(statistic)]
        own_rows: Iterable[Ints]
        if k in drawn:
            own_rows = [drawn[k]]
        elif isinstance(designed.designs[k][0].mechanism.law, JointLaw):
            own_rows = _draw_together(designed.workload, designed.designs[k], positions[0], draws)
        else:
            own_rows = (_draw_outputs(designed.workload, designed.designs[k], own, draws) for own in positions)
        sums = _draw_sums(designed, k, positions, draws) if plan.adds_up(statistic) else ()
        for row in chain(own_rows, sums):
            rows.append(row)
            done += len(row)
            progress("drawing", done, planned)
    for level, answers in zip(designed.above, truths.above, strict=True):
        rows += draw_rows(level, answers, draws=draws)
    return rows


def _draw_sums(designed: ReleaseDesign, k: int, positions: Sequence[Any], draws: Draws) -> Iterator[Ints]:
    """Draw the sums beside a statistic's own numbers: the rows of every layer."""
    layered = designed.workload.entries[k].layered
    assert layered is not None
    for layer, design in zip(layered.sums, designed.layers[k], strict=True):
        for row in layer.sums(positions):
            yield _draw_answers(require_range_mechanism(design), row, draws)


def _draw_outputs(
    workload: Workload, designs: Sequence[DesignedMechanism], truths: Ints | ValueCounts, draws: Draws
) -> Ints:
    """Draw the output of each group's mechanism for its true position, or for the counts of its values."""
    outputs = np.empty(len(workload.plan.groups), dtype=np.int64)
    for design, members in zip(designs, workload.members, strict=True):
        if isinstance(truths, ValueCounts):
            outputs[members] = _draw_quantiles(design.mechanism, truths, members, draws)
        else:
            outputs[members] = _draw_answers(design.mechanism, truths[members], draws)
    return outputs


def _draw_together(
    workload: Workload, designs: Sequence[DesignedMechanism], truths: Ints | ValueCounts, draws: Draws
) -> Ints:
    """Draw the vector of quantiles of each group: one row for each quantile."""
    assert isinstance(truths, ValueCounts)
    outputs = np.empty((len(designs[0].mechanism.query.at), len(workload.plan.groups)), dtype=np.int64)
    for design, members in zip(designs, workload.members, strict=True):
        outputs[:, members] = _draw_quantiles(design.mechanism, truths, members, draws).T
    return outputs


def _draw_answers(mechanism: AnyMechanism, positions: Ints, draws: Draws) -> Ints:
    """Draw the outputs for the positions of true answers."""
    return mechanism.draw(positions, draws)


def _draw_quantiles(
    mechanism: QuantileMechanism | JointMechanism, truths: ValueCounts, members: Ints, draws: Draws
) -> Ints:
    """Draw quantiles in blocks of groups, so that the histograms of all groups are never in memory at once."""
    rows = max(1, BLOCK_OF_COUNTS // (mechanism.query.width + 1))
    blocks = [members[start : start + rows] for start in range(0, max(len(members), 1), rows)]
    return np.concatenate([mechanism.draw(truths.histograms(block), draws) for block in blocks])


@dataclass(frozen=True, eq=False)
class Draw:
    """The drawn outputs of a release.

    mechanisms_sha256: the digest of all mechanisms, which are needed to read the outputs. key_types: the types of the
    columns that name a group; they are stored because a record may be written later, when no data is open. keys: of
    the groups that were published, if the plan declares none; nothing is stored of any other.
    """

    mechanisms_sha256: str
    rows: tuple[Ints, ...] = field(repr=False)
    key_types: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] | None = None

    @staticmethod
    def from_rows(
        drawing: DrawMethod,
        rows: Sequence[Ints],
        key_types: Mapping[str, str],
        keys: tuple[tuple[str, ...], ...] | None = None,
    ) -> "Draw":
        """Build the draw of a method from its rows."""
        return Draw(_digest(drawing), tuple(rows), key_types, keys)

    def to_bytes(self) -> bytes:
        """Write an envelope in one line, then the outputs; every draw of declared groups has the same number of bytes.

        The number of groups from the data that were published is part of what is released.
        """
        outputs = b"".join(row.astype("<i8").tobytes() for row in self.rows)
        header: dict[str, Any] = {} if self.keys is None else {"keys": [list(key) for key in self.keys]}
        header |= {
            "mechanisms_sha256": self.mechanisms_sha256,
            "lengths": list(map(len, self.rows)),
            "key_types": dict(self.key_types),
            "outputs_sha256": sha256_hex(outputs),
        }
        return canonical_json(Document.wrap(DRAW, header).to_json()).encode() + b"\n" + outputs

    @staticmethod
    def from_bytes(content: bytes, drawing: DrawMethod) -> "Draw":
        """Read what `to_bytes` wrote; raise LedgerError if it was changed or drawn by other mechanisms."""
        line, _, outputs = content.partition(b"\n")
        header = STORED_DRAW.read(LoadedFile(Path("draw"), line)).content
        if header["outputs_sha256"] != sha256_hex(outputs):
            raise LedgerError("the stored draw was changed: its outputs do not have the digest stated")
        if header["mechanisms_sha256"] != _digest(drawing):
            raise LedgerError(
                "the draws that are stored for this release were made by other mechanisms than those designed now; "
                "repeat it with the version of inbounds that began it, or draw and pay anew under a key of its own"
            )
        ends = np.cumsum(header["lengths"])
        rows = np.split(np.frombuffer(outputs, "<i8").astype(np.int64), ends[:-1])
        keys = tuple(map(tuple, header["keys"])) if "keys" in header else None
        return Draw(header["mechanisms_sha256"], tuple(rows), header["key_types"], keys)


def _digest(drawing: DrawMethod) -> str:
    return sha256_hex(canonical_json(drawing.mechanisms))

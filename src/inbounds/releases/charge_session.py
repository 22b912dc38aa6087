"""A release in the ledger: charged before the data is read, its draw kept before anything is computed from it, its
table before anybody sees it.

What is the same question? The plan, where its data is, the people, and the declared edition; never the data's contents
or the time of a file, because whether something is drawn anew must not depend on the data. Frames have no place: one
frame is told from another by an edition or a key alone, and without either no stored table is given out for a frame.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from inbounds.exact import format_all_digits
from inbounds.files import canonical_json, is_same_file, sha256_hex
from inbounds.ledger.charges import Charge
from inbounds.ledger.ledger import Ledger
from inbounds.ledger.population import LONGEST, validate_name
from inbounds.optional import import_optional
from inbounds.plan.plan import Plan
from inbounds.releases.write import record_path
from inbounds.schema.errors import UnfinishedRelease
from inbounds.schema.record_types import LedgerReference, ReleaseRecord

BESIDE = "inbounds.ledger"
"""The ledger beside the output of a plan that names none: it counts, without a cap."""

RECORD = b"inbounds release"
"""Where a kept table carries its record."""

LedgerLike = Ledger | str | PathLike[str]


class ReusedTableWarning(UserWarning):
    """The table that a release returned was drawn by an earlier one with the same plan and edition."""


@dataclass(frozen=True)
class StoredTable:
    """A released table and its record as the ledger keeps them. drawn: by this call, not by an earlier one."""

    table: Any
    record: ReleaseRecord
    drawn: bool


@dataclass(frozen=True)
class ChargeSession:
    """Which entry a release is, in which ledger. place: None where nothing is recorded.

    told_apart: the key is of this data alone, as far as anybody declared. read_again: data may be read again under the
    charge of an earlier run that stored no draw, because the owner of the data said so.
    """

    plan: Plan
    place: LedgerLike | None
    key: str
    declared: bool
    told_apart: bool = True
    read_again: bool = False

    @staticmethod
    def open(
        plan: Plan, target: Path | None, ledger: LedgerLike | None, key: str | None, *, read_again: bool = False
    ) -> "ChargeSession":
        """The ledger given, or the plan's own, or the file beside the output; and the key of the question."""
        if ledger == "":
            raise ValueError("ledger must be a file or a postgresql:// URL, got ''; leave it out for the plan's own")
        declared = plan.people.ledger or None if ledger is None else ledger
        beside = target.absolute().parent / BESIDE if target is not None else None
        told_apart = key is not None or bool(plan.edition) or plan.source.kind != "frame"
        own_key = sha256_hex(canonical_json(release_identity(plan))) if key is None else validate_name(key, "key")
        made = ChargeSession(plan, declared or beside, own_key, bool(declared), told_apart, read_again)
        own = (str(target), str(record_path(target))) if target is not None else ()
        for file in made.file:
            _check_place(Path(file), (*plan.inputs, *own))
        return made

    @property
    def file(self) -> tuple[str, ...]:
        """The file of the ledger, if it is in one; no output may take its place."""
        if self.place is None:
            return ()
        place = self.place.place if isinstance(self.place, Ledger) else fspath(self.place)
        return () if "://" in place else (place,)

    def find_stored(self) -> StoredTable | None:
        """What was kept under the key before; nothing is charged."""
        if not self._there():
            return None
        with self._open() as ledger:
            if self.declared:
                ledger.population(population_name(self.plan))  # refused now rather than after the designs
            charge = ledger.find(self.key)
            return None if charge is None or charge.answer is None else self._check_charge(ledger, charge)

    def describe_state(self) -> str:
        """In words, where the people stand before the release; nothing where no ledger is there yet."""
        if not self._there():
            return ""
        with self._open() as ledger:
            return "; ".join(str(who) for who in ledger.people() if who.name == population_name(self.plan))

    def charge(self) -> Charge | None:
        """Spend the plan's epsilon, durably; `BudgetExceeded` if it is not there. No data may be read before.

        None where nothing is recorded. `UnfinishedRelease` where an earlier run was charged and stored no draw.
        """
        if self.place is None:
            return None
        with self._open() as ledger:
            charge = self._charge(ledger)
        if charge.repeated and charge.draw is None and charge.answer is None and not self.read_again:
            raise UnfinishedRelease  # the owner of the data decides; no program tries until it succeeds
        return charge

    def find_unfinished(self) -> Charge | None:
        """The charge of an earlier release with this key that kept a draw and no table; nothing is charged."""
        if not self._there():
            return None
        with self._open() as ledger:
            charge = ledger.find(self.key)
            if charge is None or charge.draw is None:
                return None
            self._charge(ledger)  # the key must be of this very question
            self._is_this_data(charge.draw)
            return charge

    def store_draw(self, charge: Charge | None, drawn: bytes) -> bytes:
        """What the table is computed from: this draw, kept now, or the one that somebody else kept first."""
        if charge is None:
            return drawn
        with self._open() as ledger:
            kept = ledger.store_draw(charge, drawn)
        return kept if kept == drawn else self._is_this_data(kept)

    def store_table(self, charge: Charge | None, table: Any, record: ReleaseRecord, *, drawn: bool) -> StoredTable:
        """The table that may be given out: this one, kept now, or the one that somebody else kept first.

        drawn: its numbers were drawn by this call.
        """
        if charge is None:
            return StoredTable(table, {**record, "ledger": None}, drawn)
        with self._open() as ledger:
            full: ReleaseRecord = {**record, "ledger": _reference(ledger, charge)}
            content = encode_table(table, full)
            stored = ledger.store(charge, content)
            return StoredTable(table, full, drawn) if stored == content else self._earlier(stored)

    def _there(self) -> bool:
        """Whether there is a ledger to look into; one that was declared must be, and is refused if it is not."""
        if self.place is None or self.declared:
            return self.declared
        assert not isinstance(self.place, Ledger)
        return Path(self.place).exists()

    def _charge(self, ledger: Ledger) -> Charge:
        name = population_name(self.plan)
        if not self.declared and not any(who.name == name for who in ledger.people()):
            ledger.add_population(name)
        return ledger.charge(
            name,
            self.plan.total_epsilon,
            key=self.key,
            purpose=f"release of {self.plan.source.summary()['name']}"[:LONGEST].strip(),
            parts=self.plan.epsilons,
            question=release_identity(self.plan),
        )

    def _check_charge(self, ledger: Ledger, charge: Charge) -> StoredTable:
        """The charge must be for this very question: a key that somebody chose may be that of another."""
        assert charge.answer is not None
        self._charge(ledger)
        return self._earlier(charge.answer)

    def _earlier(self, stored: bytes) -> StoredTable:
        """A table that an earlier release drew."""
        return StoredTable(*decode_table(self._is_this_data(stored)), drawn=False)

    def _is_this_data(self, stored: bytes) -> bytes:
        """What an earlier release drew; never for a frame that may be another one."""
        if not self.told_apart:
            raise ValueError(
                "edition must be given to release a frame under a plan that has released one before, got none; give "
                "the plan an `edition` for new data, `key=` a name of its own for another draw, or "
                f"key={self.key!r} for the table that is stored"
            )
        return stored

    @contextmanager
    def _open(self) -> Iterator[Ledger]:
        if isinstance(self.place, Ledger):
            yield self.place
            return
        assert self.place is not None
        with Ledger.open(self.place, create=not self.declared) as ledger:
            yield ledger


def population_name(plan: Plan) -> str:
    """Whom a plan is about: its people's name, or the source's."""
    return plan.people.name or plan.source.summary()["name"][:LONGEST]


def release_identity(plan: Plan) -> dict[str, Any]:
    """All that makes a release the same as an earlier one."""
    return {
        "plan": plan.summary(),
        "place": plan.place,
        "people": population_name(plan),
        "edition": plan.edition,
    }


def format_population_state(record: ReleaseRecord) -> str:
    """In words, what was spent on the people of a release when it was made, by their ledger's own rule."""
    entry = record.get("ledger")
    if not entry:
        return "recorded in no ledger: nothing counts what this release spent"
    room = f" of {entry['budget']}, {entry['left']} left" if entry["budget"] else ", counted without a cap"
    return f"{entry['people']}: {entry['unit']} {entry['spent']} in all{room} (entry {entry['entry']} of their ledger)"


def encode_table(table: Any, record: ReleaseRecord) -> bytes:
    """A table and its record as one Arrow stream."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    named = table.replace_schema_metadata({RECORD: json.dumps(record).encode()})
    with pyarrow.ipc.new_stream(sink, named.schema) as stream:
        stream.write_table(named)
    return bytes(sink.getvalue())


def decode_table(content: bytes) -> tuple[Any, ReleaseRecord]:
    """The table and the record of such a stream."""
    table = import_optional("pyarrow", "tables").ipc.open_stream(content).read_all()
    return table.replace_schema_metadata(None), json.loads(table.schema.metadata[RECORD])


def _reference(ledger: Ledger, charge: Charge) -> LedgerReference:
    """What a record says of its entry: where it is, and what was spent on these people when it was made."""
    after = charge.people
    return {
        "id": ledger.id,
        "entry": charge.number,
        "sha256": charge.sha256,
        "key": charge.key,
        "people": after.name,
        "rule": after.rule,
        "unit": after.unit,
        "budget": None if after.budget is None else format_all_digits(after.budget),
        "spent": format_all_digits(after.spent),
        "left": None if after.remaining is None else format_all_digits(after.remaining),
    }


def _check_place(place: Path, others: tuple[str, ...]) -> None:
    if any(is_same_file(place, other) for other in others):
        raise ValueError(f"ledger must not be a file that the release reads or writes, got {place}; give another name")

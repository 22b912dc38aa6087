"""Charge a release to its ledger: before the data is read; the draw is stored before anything is computed from it, and
the table before it is given out.

Two releases are the same question if the plan, the place of its data, the people and the declared edition are the
same. The contents of the data and the times of files do not matter, because whether something is drawn again must not
depend on the data. A frame has no place: two frames differ only by an edition or a key, and without either no stored
table is returned for a frame.
"""

import json
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.exact import format_all_digits
from inbounds.files import RELEASE, canonical_json, is_same_file, sha256_hex
from inbounds.ledger.charges import Charge
from inbounds.ledger.ledger import Ledger
from inbounds.ledger.population import LONGEST, validate_name
from inbounds.optional import import_optional
from inbounds.plan.plan import Plan
from inbounds.releases.disasters import check_confirmed
from inbounds.releases.write import record_path
from inbounds.schema.errors import UnfinishedRelease
from inbounds.schema.record_types import LedgerReference, ReleaseRecord

BESIDE = "inbounds.ledger"
"""The ledger beside the output if the plan names none; it counts without a cap."""

RECORD = RELEASE.encode()
"""Where a kept table carries its record."""

LedgerLike = Ledger | str | PathLike[str]


class ReusedTableWarning(UserWarning):
    """The returned table was drawn by an earlier release with the same plan and edition."""


class OtherPeopleWarning(UserWarning):
    """The same data was charged to other people of the ledger before."""


@dataclass(frozen=True)
class StoredTable:
    """A released table and its record as the ledger keeps them. drawn: by this call, not by an earlier one."""

    table: Any
    record: ReleaseRecord
    drawn: bool


@dataclass
class ChargeSession:
    """The entry of a release in its ledger, which is opened once for the whole session. place: None if nothing is
    recorded.

    declared: whether the plan or the caller named the ledger. identifies_data: whether the key identifies this data.
    read_again: whether data may be read again under the charge of an earlier run that stored no draw, because the owner
    of the data allowed it.

    Use it as a context manager. The ledger is opened by the first call that needs it, because an undeclared
    ledger is not created before the charge; leaving the session closes it, unless the caller opened it. Each call is
    a transaction of its own, so nothing is locked between two calls.
    """

    plan: Plan
    place: LedgerLike | None
    key: str
    declared: bool
    identifies_data: bool = True
    read_again: bool = False
    _opened: Ledger | None = field(default=None, init=False, repr=False)

    @staticmethod
    def open(
        plan: Plan, target: Path | None, ledger: LedgerLike | None, key: str | None, *, read_again: bool = False
    ) -> "ChargeSession":
        """Use the ledger given, or the plan's, or the file beside the output; and compute the question's key."""
        if ledger == "":
            raise ValueError("ledger must be a file or a postgresql:// URL, got ''; leave it out for the plan's own")
        declared = plan.people.ledger or None if ledger is None else ledger
        beside = target.absolute().parent / BESIDE if target is not None else None
        identifies_data = key is not None or bool(plan.edition) or plan.source.kind != "frame"
        question_key = sha256_hex(canonical_json(plan.identity)) if key is None else validate_name(key, "key")
        session = ChargeSession(plan, declared or beside, question_key, bool(declared), identifies_data, read_again)
        outputs = (str(target), str(record_path(target))) if target is not None else ()
        for file in session.file:
            _check_place(Path(file), (*plan.inputs, *outputs))
        return session

    def __enter__(self) -> "ChargeSession":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger if this session opened it."""
        opened, self._opened = self._opened, None
        if opened is not None and opened is not self.place:
            opened.close()

    @property
    def file(self) -> tuple[str, ...]:
        """Return the file of the ledger, if it is a file; no output may overwrite it."""
        if self.place is None:
            return ()
        place = self.place.place if isinstance(self.place, Ledger) else fspath(self.place)
        return () if "://" in place else (place,)

    def find_stored(self) -> StoredTable | None:
        """Return the table stored under the key before; charge nothing."""
        if not self._has_ledger():
            return None
        if self.declared:
            self._ledger.population(self.plan.population)  # refused now rather than after the designs
        charge = self._ledger.find(self.key)
        if charge is None or charge.answer is None:
            return None
        self._charge()  # the key must be of this very question: one that a user chose may be that of another
        return self._decode(charge.answer)

    def find_unfinished(self) -> Charge | None:
        """Return the charge of an earlier release with this key that stored a draw and no table; charge nothing."""
        charge = self._ledger.find(self.key) if self._has_ledger() else None
        if charge is None or charge.draw is None:
            return None
        self._charge()  # the key must be of this very question
        self._check_same_data(charge.draw)
        return charge

    def describe_state(self) -> str:
        """Describe the budget of the people before the release; empty if there is no ledger yet."""
        if not self._has_ledger():
            return ""
        return "; ".join(str(who) for who in self._ledger.people() if who.name == self.plan.population)

    def describe_new_edition(self) -> str:
        """Ask whether the data is new, if earlier editions were charged from the same place; else an empty text.

        Only declared places and editions are compared. Whether the data changed is not looked at.
        """
        editions = {edition for _, edition in self._earlier_charges()}
        if not editions or self.plan.edition in editions:
            return ""
        earlier = ", ".join(f"edition {name}" if name else "no edition" for name in sorted(editions))
        return (
            f"{self.plan.source.name} was released before with {earlier}: is there new data at this place now, of "
            f"edition {self.plan.edition or 'none'}? The same data under two editions is charged twice, and published "
            "as if it were new"
        )

    def describe_other_people(self) -> str:
        """Say that the data was charged to other people of the ledger; empty if it was not."""
        others = sorted({people for people, _ in self._earlier_charges()} - {self.plan.population})
        if not others:
            return ""
        return (
            f"{self.plan.source.name} was charged to {', '.join(others)} before, and is charged to "
            f"{self.plan.population} now; if they are the same persons, name them alike in people.name, so that one "
            "budget counts both"
        )

    def _earlier_charges(self) -> list[tuple[str, str]]:
        place = self.plan.source.location
        return self._ledger.charges_about(place) if place and self._has_ledger() else []

    def charge(self) -> Charge | None:
        """Spend the plan's epsilon, durably. No data may be read before.

        Returns None if nothing is recorded. Raises BudgetExceeded if the budget is too small, UnfinishedRelease if an
        earlier run was charged and stored no draw.
        """
        check_confirmed(self.plan)
        if self.place is None:
            return None
        charge = self._charge()
        if charge.repeated and charge.draw is None and charge.answer is None and not self.read_again:
            raise UnfinishedRelease  # the owner of the data decides; no program tries until it succeeds
        return charge

    def check_charged(self, charge: Charge | None) -> None:
        """Raise LedgerError unless this is a charge of the session; only a session without a ledger has none."""
        if charge is None if self.place is not None else charge is not None:
            raise LedgerError("a table must be charged before it is drawn; nothing was read")

    def store_draw(self, charge: Charge | None, draw: bytes) -> bytes:
        """Store this draw; return it, or the one that another process stored first. The table is computed from that."""
        if charge is None:
            return draw
        stored = self._ledger.store_draw(charge, draw)
        return stored if stored == draw else self._check_same_data(stored)

    def store_table(self, charge: Charge | None, table: Any, record: ReleaseRecord, *, drawn: bool) -> StoredTable:
        """Store this table; return it, or the one that another process stored first. Only that may be given out.

        drawn: whether its numbers were drawn by this call.
        """
        if charge is None:
            return StoredTable(table, {**record, "ledger": None}, drawn)
        full: ReleaseRecord = {**record, "ledger": _reference(self._ledger, charge)}
        content = encode_table(table, full)
        stored = self._ledger.store(charge, content)
        return StoredTable(table, full, drawn) if stored == content else self._decode(stored)

    @property
    def _ledger(self) -> Ledger:
        """The ledger, opened by the first call."""
        if self._opened is None:
            assert self.place is not None
            self._opened = (
                self.place if isinstance(self.place, Ledger) else Ledger.open(self.place, create=not self.declared)
            )
        return self._opened

    def _has_ledger(self) -> bool:
        """Return whether there is a ledger to look into; a declared one must exist and is opened anyway."""
        if self.place is None or self.declared:
            return self.declared
        assert not isinstance(self.place, Ledger)
        return Path(self.place).exists()

    def _charge(self) -> Charge:
        name = self.plan.population
        if not self.declared and not any(who.name == name for who in self._ledger.people()):
            if self.plan.delta:  # nobody declared one for these people, who can still be declared with one
                raise BudgetExceeded(name, self.plan.delta, Fraction(0), Fraction(0), "delta")
            self._ledger.add_population(name)
        return self._ledger.charge(
            name,
            self.plan.total_epsilon,
            key=self.key,
            purpose=f"release of {self.plan.source.summary()['name']}"[:LONGEST].strip(),
            parts=self.plan.charged_epsilons,
            delta=self.plan.delta,
            question=self.plan.identity,
            source=self.plan.source.location,
            edition=self.plan.edition,
        )

    def _decode(self, stored: bytes) -> StoredTable:
        """Return a table that an earlier release drew."""
        return StoredTable(*decode_table(self._check_same_data(stored)), drawn=False)

    def _check_same_data(self, stored: bytes) -> bytes:
        """Return stored bytes; raise ValueError for a frame that may be another one."""
        if not self.identifies_data:
            raise ValueError(
                "edition must be given to release a frame under a plan that has released one before, got none; give "
                "the plan an `edition` for new data, `key=` a name of its own for another draw, or "
                f"key={self.key!r} for the table that is stored"
            )
        return stored


def format_population_state(record: ReleaseRecord) -> str:
    """Describe what was spent on the people of a release when it was made, by the ledger's rule."""
    entry = record.get("ledger")
    if not entry:
        return "recorded in no ledger: nothing counts what this release spent"
    deltas = f"; delta {entry['delta_spent']} of {entry['delta_budget']} spent" if "delta_spent" in entry else ""
    return _format_spending(entry) + deltas


def _format_spending(entry: LedgerReference) -> str:
    if "period" in entry:
        return (
            f"{entry['people']}: {entry['unit']} {entry['period_spent']} of {entry['period_budget']} spent in "
            f"{entry['period']}, {entry['left']} left, and {entry['spent']} in all periods so far, which is what "
            f"protects someone who is in the data of every period (entry {entry['entry']} of their ledger)"
        )
    budget = f" of {entry['budget']}, {entry['left']} left" if entry["budget"] else ", counted without a cap"
    return (
        f"{entry['people']}: {entry['unit']} {entry['spent']} in all{budget} (entry {entry['entry']} of their ledger)"
    )


def encode_table(table: Any, record: ReleaseRecord) -> bytes:
    """Encode a table and its record as one Arrow stream."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with_record = table.replace_schema_metadata({RECORD: json.dumps(record).encode()})
    with pyarrow.ipc.new_stream(sink, with_record.schema) as stream:
        stream.write_table(with_record)
    return bytes(sink.getvalue())


def decode_table(content: bytes) -> tuple[Any, ReleaseRecord]:
    """Decode the table and the record of such a stream."""
    table = import_optional("pyarrow", "tables").ipc.open_stream(content).read_all()
    return table.replace_schema_metadata(None), json.loads(table.schema.metadata[RECORD])


def _reference(ledger: Ledger, charge: Charge) -> LedgerReference:
    """Return what a record states about its entry: where it is, and what was spent on these people."""
    people = charge.people
    renewal: dict[str, str] = {}
    if people.period is not None and people.period_budget is not None:
        spent, budget = format_all_digits(people.period_spent), format_all_digits(people.period_budget)
        renewal = {"period": people.period, "period_spent": spent, "period_budget": budget}
    reference: LedgerReference = {
        "id": ledger.id,
        "entry": charge.number,
        "sha256": charge.sha256,
        "key": charge.key,
        "people": people.name,
        "rule": people.rule,
        "unit": people.unit,
        "budget": None if people.budget is None else format_all_digits(people.budget),
        "spent": format_all_digits(people.spent),
        "left": None if people.remaining is None else format_all_digits(people.remaining),
    }
    deltas: dict[str, str] = {}
    if people.delta_budget_units:
        amounts = {"budget": people.delta_budget, "spent": people.delta_spent, "left": people.delta_remaining}
        deltas = {f"delta_{name}": format_all_digits(amount) for name, amount in amounts.items()}
    return cast(LedgerReference, {**reference, **renewal, **deltas})


def _check_place(place: Path, others: tuple[str, ...]) -> None:
    """Raise ValueError if the ledger is a file that the release reads or writes."""
    if any(is_same_file(place, other) for other in others):
        raise ValueError(f"ledger must not be a file that the release reads or writes, got {place}; give another name")

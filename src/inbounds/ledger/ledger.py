"""The ledger: what was spent on which people. A budget is never exceeded, even if a process crashes at any point.

One transaction contains a request (key and digest of the question), a conditional charge, and an entry. It is durable
before the data is read. Then the answer is drawn and its bytes are stored, and only then is it given out:

    charge → (durable) → draw → store → (durable) → give out

If the answer is computed from a draw, the draw is stored before the computation begins. So a failure of the
computation, which may depend on the draw, cannot cause another draw:

    charge → (durable) → draw → store the draw → (durable) → compute → store the answer → (durable) → give out

The same key again returns the stored answer at no cost, or the stored draw to compute it from. If neither is stored,
no answer was given out, and the caller decides whether to read the data again under the existing charge. If two
processes draw at once, one draw is stored and both continue from it. Nothing is ever refunded.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from time import time
from types import TracebackType
from typing import Any

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.exact import Number
from inbounds.files import LEDGER, Document, LoadedFile, canonical_json, sha256_hex
from inbounds.files.envelope import VERSION
from inbounds.ledger import queries
from inbounds.ledger.charges import Charge, ChargeRequest, Cost, StoredAnswer, price_units
from inbounds.ledger.entries import START, Entry, canonical_entry
from inbounds.ledger.population import Every, Population, check_same_population, new_population, validate_name
from inbounds.ledger.queries import LastEntry, PopulationState
from inbounds.ledger.store import ConnectionLost, DamageTranslator, Run, Store
from inbounds.ledger.units import ATTO, MOST, UNITS, Rule, delta_units, units_to_amount
from inbounds.ledger.verify import (
    LedgerHead,
    LedgerReport,
    StoredContent,
    compare_heads,
    load_export,
    verify_entries,
    verify_export,
)
from inbounds.optional import to_pandas_frame, to_polars_frame


@lru_cache(maxsize=1)
def format_time(second: int) -> str:
    """Format seconds since 1970 as entries have them, in UTC."""
    return datetime.fromtimestamp(second, UTC).isoformat()


def new_id() -> str:
    """Return a random id."""
    return secrets.token_hex(16)


class Ledger:
    """A ledger in a store; `Ledger.open` opens a file or a PostgreSQL database. clock, ids: for tests.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(folder + "/budget.db") as ledger:
    ...     made = ledger.add_population("pupils", epsilon=2)
    ...     receipt = ledger.charge("pupils", "0.5", key="term 1", purpose="how many like school")
    ...     print(ledger.people()[0])
    pupils: epsilon 0.5 of 2 spent, 1.5 left
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time, ids: Callable[[], str] = new_id) -> None:
        if not hasattr(store, "look"):
            raise TypeError(f"store must be an open store, got {type(store).__name__}; ib.Ledger.open opens a file")
        self._store, self._clock, self._ids = store, clock, ids
        self._damage = DamageTranslator(store.place)
        with self._damage:
            self.id = queries.first_key(store.look) or self._begin()
            self._mark = store.mark
        self._seen, self._importing = LastEntry(0, START), False
        store.on_reopen(self._check_reopened)

    @staticmethod
    def open(place: str | PathLike[str], *, create: bool = True) -> "Ledger":
        """Open the ledger in a file or behind a postgresql:// URL. create: create it if there is none."""
        return _open_in(open_store(place, create=create))

    @staticmethod
    def open_to_read(place: str | PathLike[str]) -> "Ledger":
        """Open a ledger that is there, only to read it: also a file on a medium that cannot be written to."""
        if "://" in fspath(place):
            return Ledger.open(place, create=False)
        from inbounds.ledger.sqlite import Sqlite, can_be_written

        path = Path(place)
        if not path.exists() or can_be_written(path):
            return Ledger.open(place, create=False)
        return _open_in(Sqlite(path, create=False, read_only=True))

    def _begin(self) -> str:
        with self._store.writing() as run:
            ledger_id = queries.first_key(run)
            if ledger_id is not None:  # another process was faster
                return ledger_id
            new_ledger_id = validate_name(self._ids(), "id")
            self._append(
                run,
                queries.last_entry(run),
                "ledger",
                key=new_ledger_id,
                facts=canonical_json({"format": LEDGER, "version": VERSION}),
            )
            return new_ledger_id

    def _check_reopened(self, run: Run) -> None:
        """Raise LedgerError unless a ledger that was opened again contains the last entry that was acknowledged."""
        seen = LedgerHead(self.id, *self._seen)
        current = LedgerHead(queries.first_key(run) or "", *queries.last_entry(run))
        compare_heads(self.place, current, seen, queries.digest_at(run, seen.entries))
        self._mark = self._store.mark

    def _note(self, number: int, sha256: str) -> None:
        """Remember the last entry that was acknowledged."""
        if number > self._seen.number:
            self._seen = LastEntry(number, sha256)

    @property
    def place(self) -> str:
        """Return the file, or the URL without its password."""
        return self._store.place

    @property
    def brought_forward(self) -> str:
        """Return a sentence if opening upgraded the ledger from an older version, else an empty text."""
        steps = self._store.migrated_steps
        if not steps or steps[0] == 1:
            return ""
        return f"{self.place} was a ledger of version {steps[0] - 1} and was brought forward to {steps[-1]}"

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    def __str__(self) -> str:
        """Return its place, and one line for each population."""
        return "\n".join([repr(self), *map(str, self.people())])

    def _repr_html_(self) -> str:
        """Return what a notebook shows: populations, what was spent and is left, and the head."""
        from inbounds.ledger.budget_page import notebook_view

        return notebook_view(self.place, self.head(), self.people())

    def to_pandas(self) -> Any:
        """Return a pandas frame with a row for each population; amounts as exact decimals in text."""
        return to_pandas_frame([population.to_json() for population in self.people()])

    def to_polars(self) -> Any:
        """Return a Polars frame with a row for each population; amounts as exact decimals in text."""
        return to_polars_frame([population.to_json() for population in self.people()])

    # --- people -------------------------------------------------------------------------------------------

    def add_population(
        self,
        name: str,
        epsilon: Number | None = None,
        rule: Rule = "sum",
        delta: Number | None = None,
        *,
        every: Every | None = None,
        period: str | None = None,
        answer_delta: Number | None = None,
    ) -> Population:
        """Add people with a budget; without epsilon, what is spent on them is counted without a cap.

        rule: "sum" (epsilons add up) or "zcdp" (for epsilon at delta; many small questions cost less together).
        delta: of the whole promise. Under sum it is what answers with a delta of their own may spend, by default none.
        answer_delta: under zcdp, the part of delta that such answers may spend, by default none.
        every, period: "year" or "month" if the budget renews, and the first period, such as "2027". Then epsilon is the
        budget of each period, and someone who is in the data of every period is protected by the sum of them all.
        Adding the same people again returns them; raises ValueError if the budget or rule differs.
        """
        new = new_population(validate_name(name, "people"), epsilon, rule, delta, every, period, answer_delta)
        with self._damage, self._store.writing() as run:
            existing = queries.find_population(run, name)
            if existing is not None:
                return check_same_population(existing, new)
            texts = [None if one is None else str(one) for one in (new.epsilon, new.delta, new.answer_delta)]
            renewal = {} if every is None else {"every": every, "period": period}
            part = {} if texts[2] is None else {"answer_delta": texts[2]}
            values = name, rule, *texts[:2], new.budget_units, every, period, texts[2], new.delta_budget_units
            run("INSERT INTO people VALUES (?, ?, ?, ?, ?, 0, ?, ?, 0, ?, ?, 0, 0)", *values)
            facts = {"rule": rule, "epsilon": texts[0], "delta": texts[1], **renewal, **part}
            self._append(run, queries.last_entry(run), "people", name, new.budget_units, facts=canonical_json(facts))
        return new

    def raise_budget(
        self, people: str, epsilon: Number, *, purpose: str = "", delta: Number | None = None
    ) -> Population:
        """Raise the budget of people to `epsilon`, in all or of each period, with an entry. It never falls.

        delta: the new delta budget where epsilons add up; by default it stays. Under zCDP it cannot be raised, because
        rho is converted at it.
        """
        current = self.population(people)
        if delta is not None and current.rule != "sum":
            raise ValueError("delta must not be given under zcdp, where it is fixed; create people under another name")
        declared = new_population(people, epsilon, "sum", delta)
        current._replace(epsilon=declared.epsilon).with_allowance()  # zCDP takes its time, outside the transaction
        with self._damage, self._store.writing() as run:
            before = queries.require_population(run, people, self.place)
            whole = before.delta if delta is None else declared.delta
            after = before._replace(epsilon=declared.epsilon, delta=whole).with_allowance()
            if before.budget_units is None:
                hint = "create people with a budget under another name, and name them in plans from now on"
                raise ValueError(f"people must have a budget to raise, got {people}, counted without a cap; {hint}")
            assert after.budget_units is not None
            if after.budget_units < before.budget_units:
                raise ValueError(f"epsilon must be at least the budget it raises, {before.epsilon}, got {epsilon}")
            if after.delta_budget_units < before.delta_budget_units:
                raise ValueError(f"delta must be at least the budget it raises, {before.delta}, got {delta}")
            if (after.budget_units, after.delta_budget_units) != (before.budget_units, before.delta_budget_units):
                text = None if after.delta is None else str(after.delta)
                values = after.budget_units, str(after.epsilon), text, after.delta_budget_units, people
                run("UPDATE people SET budget = ?, epsilon = ?, delta = ?, delta_budget = ? WHERE name = ?", *values)
                facts = {"epsilon": str(after.epsilon), "purpose": purpose and validate_name(purpose, "purpose")}
                facts |= {"delta": str(after.delta)} if delta is not None else {}
                self._append(
                    run, queries.last_entry(run), "budget", people, after.budget_units, facts=canonical_json(facts)
                )
            return queries.require_population(run, people, self.place)

    def renew(self, people: str, period: str, *, purpose: str = "") -> Population:
        """Open a later period for people whose budget renews, with an entry: its budget is spent on editions of it.

        What was left of the period before is lost, and its editions are closed. What was spent so far stays in the
        ledger and adds up: no renewal lowers it.
        """
        with self._damage, self._store.writing() as run:
            after = queries.require_population(run, people, self.place).renew(period)
            spent = after.earlier_units, after.delta_budget_units, after.delta_earlier_units
            values = after.budget_units, after.period, *spent, people
            run(
                "UPDATE people SET budget = ?, period = ?, earlier = ?, delta_budget = ?, delta_earlier = ? "
                "WHERE name = ?",
                *values,
            )
            facts = {"period": period, "purpose": purpose and validate_name(purpose, "purpose")}
            self._append(
                run, queries.last_entry(run), "period", people, after.budget_units, facts=canonical_json(facts)
            )
            return after

    def people(self) -> list[Population]:
        """Return all populations, ordered by name."""
        with self._damage:
            return queries.list_populations(self._store.look)

    def population(self, name: str) -> Population:
        """Return the population of this name; raise LedgerError if there is none."""
        with self._damage:
            return queries.require_population(self._store.look, name, self.place)

    # --- charges and answers ------------------------------------------------------------------------------

    def charge(
        self,
        people: str,
        epsilon: Number,
        *,
        key: str | None = None,
        purpose: str = "",
        parts: Sequence[Number] | None = None,
        question: Any = None,
        source: str = "",
        edition: str = "",
        delta: Number = 0,
    ) -> Charge:
        """Spend epsilon, and a delta if the answer has one, on people; durable when this returns.

        key: the name of the request. The same key again with the same content returns the same charge at no cost; with
        other content it is refused. By default a random key.
        parts: the epsilons of independent parts that make up the whole, which zCDP adds up one by one.
        question: plain values that describe the question, for the digest.
        source, edition: the declared place and edition of the data. A budget that renews is charged for editions of its
        current period alone.
        delta: that of the whole answer; it is spent from the delta budget, which is 0 unless declared.

        Raises BudgetExceeded, with what is left, and charges nothing if the budget is too small.
        """
        price = Cost.from_epsilon(epsilon, parts, delta)
        request = ChargeRequest.from_arguments(
            people, price, self._ids() if key is None else key, purpose, question, source, edition
        )
        with self._damage, self._store.writing() as run:
            before = queries.population_state(run, people, request.key, self.place)
            charge = self._charge(run, request, before) if before.digest is None else self._again(run, request, before)
            if self._mark:
                self._check_restored(charge.number, is_stored=charge.answer is not None or charge.draw is not None)
        self._note(charge.number, charge.sha256)
        return charge

    def find(self, key: str) -> Charge | None:
        """Return the charge under a key, with its answer if one is stored; charge nothing."""
        with self._damage:
            stored = queries.find_charge(self._store.look, key, self.place)
            return None if stored is None else _as_charge(key, stored)

    def charges_about(self, source: str) -> list[tuple[str, str]]:
        """Return the people and the edition of every charge for data at this declared place."""
        with self._damage:
            return queries.charges_about(self._store.look, source)

    def has(self, key: str) -> bool:
        """Return whether something was charged under a key."""
        return bool(self._store.look("SELECT 1 FROM entries WHERE kind = 'charge' AND key = ?", key))

    def store(self, charge: Charge, content: bytes) -> bytes:
        """Store the answer of a charge; durable when this returns. Only the returned bytes may be given out.

        The first answer stays: if one is stored already, it is returned and these bytes are discarded.
        """
        _check_bytes(content, "an answer")
        return self._do_again(lambda: self._store_answer(charge, content))

    def _store_answer(self, charge: Charge, content: bytes) -> bytes:
        with self._damage, self._store.writing() as run:
            stored = self._find_acknowledged(run, charge)
            if stored.answer is not None:
                return stored.answer
            if self._mark:
                self._check_restored(stored.number, is_stored=stored.draw is not None)
            last, name = stored.last, stored.people[0]
            new = self._append(run, last, "answer", name, key=charge.key, digest=sha256_hex(content))
            run("INSERT INTO answers VALUES (?, ?)", new.number, content)
        self._note(*new)
        return content

    def store_draw(self, charge: Charge, content: bytes) -> bytes:
        """Store what was drawn under a charge, before anything is computed from it; durable when this returns.

        Compute the answer from the returned bytes only: the first draw stays, as with `store`. All draws must have the
        same length; otherwise a full disk could select between draws.
        """
        _check_bytes(content, "a draw")
        return self._do_again(lambda: self._store_draw(charge, content))

    def _do_again(self, act: Callable[[], bytes]) -> bytes:
        """Store something; if the connection was lost meanwhile, store the same once more, which changes nothing."""
        try:
            return act()
        except ConnectionLost:
            return act()

    def _store_draw(self, charge: Charge, content: bytes) -> bytes:
        with self._damage, self._store.writing() as run:
            stored = self._find_acknowledged(run, charge)
            if stored.draw is not None:
                return stored.draw
            if stored.answer is not None:  # there is an answer without a draw; `store` returns it
                return content
            if self._mark:
                self._check_restored(stored.number, is_stored=False)
            new = self._append(run, stored.last, "draw", stored.people[0], key=charge.key, digest=sha256_hex(content))
            run("INSERT INTO draws VALUES (?, ?)", stored.number, content)
        self._note(*new)
        return content

    def _find_acknowledged(self, run: Run, charge: Charge) -> queries.StoredCharge:
        """Return the charge as stored now; raise LedgerError if it is gone."""
        stored = queries.find_charge(run, charge.key, self.place)
        if stored is None or stored.sha256 != charge.sha256:
            raise LedgerError(f"{self.place} lost a charge that it had acknowledged; no answer is given out")
        return stored

    def stored_answers(
        self, people: str, epsilon: Number, draw: Callable[[Charge], bytes], *, key: str, **asked: Any
    ) -> StoredAnswer:
        """Run the whole protocol: charge, draw if no answer is stored, store, return what is stored.

        draw: reads the data; called only when the charge is durable. asked: further arguments of `charge`.
        """
        charge = self.charge(people, epsilon, key=key, **asked)
        if charge.answer is not None:
            return StoredAnswer(charge.answer, charge, drawn=False)
        content = draw(charge)
        stored = self.store(charge, content)
        return StoredAnswer(stored, charge, drawn=stored == content)

    def _charge(self, run: Run, request: ChargeRequest, before: PopulationState) -> Charge:
        """Charge the request; both this only writer and the database (`CHECK (spent <= budget)`) check the budget."""
        units, spent = price_units(before.rule, request.price), before.spent
        amount, budget = units_to_amount(before.rule, units), before.budget or MOST
        people = before.people(spent, before.delta_spent)
        people.check_edition(request.edition)
        deltas = delta_units(request.price.delta) if request.price.delta else 0
        if deltas > before.delta_budget - before.delta_spent:
            whole_delta = (before.delta_budget - before.delta_earlier) * ATTO
            raise BudgetExceeded(request.people, deltas * ATTO, people.delta_remaining, whole_delta, "delta")
        if units > budget - spent:
            left, whole = (units_to_amount(before.rule, budget - used) for used in (spent, before.earlier))
            raise BudgetExceeded(request.people, amount, left, whole, UNITS[before.rule])
        values = units, deltas, request.people
        run("UPDATE people SET spent = spent + ?, delta_spent = delta_spent + ? WHERE name = ?", *values)
        last, request_facts = LastEntry(before.number, before.sha256), (request.key, request.digest, request.facts)
        number, digest = self._append(run, last, "charge", request.people, units, *request_facts)
        after = people.with_spent(spent + units, before.delta_spent + deltas)
        return Charge(request.key, number, digest, after, amount, deltas * ATTO)

    def _again(self, run: Run, request: ChargeRequest, before: PopulationState) -> Charge:
        """Return the existing charge of the same key; raise LedgerError if it is for another question."""
        if before.digest != request.digest:
            raise LedgerError(
                f"key must be new for another question, price or people, got {request.key!r} of an earlier charge; "
                "give another key"
            )
        stored = queries.find_charge(run, request.key, self.place)
        if stored is None:  # its digest was found
            raise LedgerError(f"{self.place} was damaged: its charge under {request.key!r} has no people")
        return _as_charge(request.key, stored)

    def _append(
        self,
        run: Run,
        last: LastEntry,
        kind: str,
        people: str | None = None,
        units: int | None = None,
        key: str | None = None,
        digest: str | None = None,
        facts: str = "{}",
    ) -> LastEntry:
        """Append the next entry of the chain; return its number and digest."""
        values = (
            last.number + 1,
            format_time(int(self._clock())),
            kind,
            people,
            units,
            key,
            digest,
            facts,
            last.sha256,
        )
        signed = sha256_hex(canonical_entry(*values))
        run("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values, signed)
        return LastEntry(last.number + 1, signed)

    # --- backups ------------------------------------------------------------------------------------------

    def backup(self, target: str | PathLike[str]) -> LedgerHead:
        """Copy a ledger in a file to a new one, whatever is going on meanwhile; return the head of the copy.

        Where the copy is put in the ledger's place, it is closed until `reopen`, because it does not know what was
        spent since.
        """
        self._store.backup(Path(target), "SELECT max(number) FROM entries")
        with Ledger.open_to_read(target) as copy:
            return copy.verify().head

    @property
    def is_closed(self) -> bool:
        """Return whether this is a backup that was restored and is not reopened yet."""
        if self._mark:  # another process may have reopened it
            self._mark = self._store.mark
        return self._mark < 0

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Allow charges although the ledger is closed: those of answers that were given after the backup."""
        self._importing = True
        try:
            yield
        finally:
            self._importing = False

    def reopen(self, head: LedgerHead | None = None, *, write_off: bool = False, imported: bool = False) -> LedgerHead:
        """Reopen a restored backup, which then charges again; return its head.

        head: the last one that was kept; nothing may be missing. imported: everything that was given after the backup
        was brought in. write_off: charge all that is left of every budget instead. Without a head, a charge of the
        backup that has no draw is never drawn: another draw may have been given under it.
        """
        if [head is not None, write_off, imported].count(True) != 1:
            raise ValueError("reopen needs one of head, imported and write_off; without a proof use write_off")
        with self._damage, self._store.writing() as run:
            mark = self._store.mark
            if mark >= 0:
                raise ValueError(f"ledger must be a restored backup that is closed, got {self.place}, which is open")
            last = queries.last_entry(run)
            if head is not None:
                compare_heads(self.place, LedgerHead(self.id, *last), head, queries.digest_at(run, head.entries))
                if head.entries < last.number:
                    raise ValueError(f"head must be the last that was kept, got one of {head.entries} entries")
            if write_off:
                for one in queries.list_populations(run):
                    self._write_off(run, one)
            self._store.set_mark(0 if head is not None else -mark)
            last = queries.last_entry(run)
        self._mark = 0 if head is not None else -mark
        return LedgerHead(self.id, *last)

    def write_off(self) -> None:
        """Charge all that is left of every budget."""
        with self._damage, self._store.writing() as run:
            for one in queries.list_populations(run):
                self._write_off(run, one)

    def _write_off(self, run: Run, people: Population) -> None:
        """Charge all that is left of a budget."""
        epsilon = people.largest_epsilon()
        if epsilon:
            name, period = people.name, people.period or ""
            price, key = Cost.in_parts((epsilon,)), f"written off {self._ids()}"
            request = ChargeRequest.from_arguments(name, price, key, "written off after a restore", None, "", period)
            self._charge(run, request, queries.population_state(run, name, key, self.place))

    def _check_restored(self, number: int, *, is_stored: bool) -> None:
        """Raise LedgerError if a restored ledger may not charge, or draw under this charge."""
        if self._importing or is_stored:
            return
        if self.is_closed:
            raise LedgerError(
                f"{self.place} is a backup that was restored, and is closed: it does not know what was spent after its "
                f"{-self._mark} entries; bring that in, or write it off: inbounds ledger reopen {self.place} --help"
            )
        if number <= self._mark:
            raise LedgerError(
                f"{self.place} was restored, and another draw may have been given under its charge {number}; ask under "
                "another key, which is charged by itself"
            )

    # --- reading ------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, the first first."""
        last = 0
        while True:
            with self._damage, self._store.reading() as run:  # page by page: charges may come in between
                page = queries.page_after(run, last)
            yield from page
            if not page:
                return
            last = page[-1].number

    def head(self) -> LedgerHead:
        """Return the number of entries and the last digest; kept elsewhere, it shows a ledger that was cut off."""
        with self._damage:
            last = queries.last_entry(self._store.look)
        self._note(*last)
        return LedgerHead(self.id, *last)

    def check_continues(self, head: LedgerHead) -> None:
        """Raise LedgerError unless the chain contains a head that was seen before; reads that entry only."""
        with self._store.reading() as run:
            current, mark = LedgerHead(self.id, *queries.last_entry(run)), queries.digest_at(run, head.entries)
        compare_heads(self.place, current, head, mark)

    def verify(self, head: LedgerHead | None = None) -> LedgerReport:
        """Walk the chain, add everything up again, and compare; raise LedgerError with what is wrong.

        head: one kept elsewhere; the ledger must contain its last entry.
        """
        with self._damage:
            problems = self._store.guards()
        if problems:
            raise LedgerError(f"{self.place} was changed: {'; '.join(problems)}")
        with self._damage, self._store.reading() as run:
            stored = StoredContent(queries.stored_answers(run), queries.stored_draws(run))
            return verify_entries(self.place, queries.all_entries(run), queries.list_populations(run), stored, head)


def _open_in(store: Store) -> Ledger:
    """Return the ledger in a store, which is closed if there is none."""
    try:
        return Ledger(store)
    except BaseException:
        store.close()
        raise


def _as_charge(key: str, stored: queries.StoredCharge) -> Charge:
    """Return the receipt of an existing charge."""
    population = queries.population_from_row(*stored.people)
    cost, delta = units_to_amount(population.rule, stored.units), delta_units(stored.delta) * ATTO
    found = stored.number, stored.sha256, population, cost, delta, stored.answer
    return Charge(key, *found, repeated=True, draw=stored.draw)


def _check_bytes(content: object, name: str) -> None:
    if not isinstance(content, bytes):
        raise TypeError(f"{name} must be bytes, got {type(content).__name__}; encode it")


def open_store(place: str | PathLike[str], *, create: bool) -> Store:
    """Open the store behind a path or URL."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        from inbounds.ledger.postgres import Postgres

        return Postgres(place, create=create)
    if isinstance(place, str) and "://" in place:
        raise ValueError("a ledger must be a file or a postgresql:// URL; give another place")
    from inbounds.ledger.sqlite import Sqlite

    return Sqlite(Path(place), create=create)


def verify_ledger(
    place: str | Document, head: LedgerHead | None = None, *, tell: Callable[[str], None] = lambda sentence: None
) -> LedgerReport:
    """Verify a ledger, or an exported one; `tell` hears that an older one was brought forward."""
    if isinstance(place, Document):
        return verify_export(place, head)
    if "://" not in place and not (loaded := LoadedFile.load(place)).is_database and loaded.format == LEDGER:
        return load_export(loaded, head)
    with Ledger.open_to_read(place) as ledger:
        if ledger.brought_forward:
            tell(ledger.brought_forward)
        return ledger.verify(head)

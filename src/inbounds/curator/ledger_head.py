"""The last head of the ledger that a curator has seen, so that a lost or older ledger is noticed.

A ledger that was lost, replaced or restored does not know all charges: the people's whole budget would come back. So
the curator's database keeps the ledger's id and its last head, and a ledger that does not continue from there is
refused.
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from inbounds.curator.dataset import Dataset
from inbounds.curator.evaluations import forget_uncharged
from inbounds.curator.issued import cancel_reservation, list_issued
from inbounds.curator.settings import declared_budgets
from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.ledger.store import Run, Store
from inbounds.ledger.verify import LedgerHead


def last_seen_head(run: Run) -> LedgerHead | None:
    """Return the last head of the ledger that was seen here; None before the first."""
    rows = run("SELECT id, entries, sha256 FROM seen")
    return LedgerHead(*rows[0]) if rows else None


def note_head(run: Run, head: LedgerHead) -> None:
    """Store a head unless a later one is stored."""
    run(
        "UPDATE seen SET entries = ?, sha256 = ? WHERE id = ? AND entries < ?",
        *_entries_and_digest(head),
        head.ledger,
        head.entries,
    )


def start_head(store: Store, place: str) -> None:
    """Adopt the ledger of a curator that knows none yet. A ledger is created only for a curator without accounts."""
    with store.writing() as run:
        if last_seen_head(run) is None:
            is_new = not run("SELECT 1 FROM accounts LIMIT 1")
            with Ledger.open(place, create=is_new) as ledger:
                _adopt_ledger(run, ledger)


def accept_head(
    store: Store, place: str, datasets: Mapping[str, Dataset], *, write_off: bool
) -> tuple[LedgerHead, int]:
    """Adopt the ledger that is there now, and reopen ledger and database where they are restored backups.

    The person responsible for the data decides this. First every question that this curator answered, and that the
    ledger has not charged, is charged. datasets: as declared. write_off: then charge all that is left of every budget
    too, because more may be missing. Return the head and how many questions were charged.
    """
    with store.writing() as run, Ledger.open(place, create=False) as ledger:
        declare_people(ledger, datasets)
        with ledger.importing():
            lost = [row for row in run("SELECT key, dataset, epsilon FROM questions") if not ledger.has(row[0])]
            for key, dataset, epsilon in lost:
                if dataset not in datasets:
                    raise LedgerError(
                        f"dataset {dataset} has stored answers and must be declared, got none; declare it"
                    )
                who, purpose = ledger.population(datasets[dataset].people.name), "given before a restore"
                own_key, edition = f"lost {key}", who.period or ""
                try:
                    ledger.charge(who.name, Fraction(epsilon), key=own_key, purpose=purpose, edition=edition)
                except BudgetExceeded:
                    if not write_off:
                        raise
        if ledger.is_closed:
            ledger.reopen(write_off=write_off, imported=not write_off)
        elif write_off:
            ledger.write_off()
        _adopt_ledger(run, ledger)
        if store.mark < 0:
            store.set_mark(-store.mark)
        return ledger.head(), len(lost)


def declare_people(ledger: Ledger, datasets: Mapping[str, Dataset]) -> None:
    """Add the declared people that the ledger does not have yet."""
    known = {who.name for who in ledger.people()}
    for people, budget in declared_budgets(datasets).items():
        if people not in known:
            ledger.add_population(
                people,
                budget.epsilon,
                budget.rule,  # type: ignore[arg-type]
                budget.delta,
                every=budget.every,  # type: ignore[arg-type]
                period=budget.period,
            )


def _adopt_ledger(run: Run, ledger: Ledger) -> None:
    """Store the ledger's head, and delete answers issued under charges that it does not have.

    Such questions are charged and drawn again when they are asked again, and cost the account's cap again.
    """
    for one in list_issued(run):
        if not ledger.has(one.key):
            cancel_reservation(run, one)
    forget_uncharged(run, ledger.has)
    run("DELETE FROM seen")
    head = ledger.head()
    run("INSERT INTO seen VALUES (?, ?, ?)", head.ledger, *_entries_and_digest(head))


def check_ledger_exists(store: Store, place: str) -> None:
    """Raise `LedgerError` if the ledger's file is gone; a new ledger would not know what was spent."""
    if "://" not in place and not Path(place).exists():
        raise _wrong_ledger_error(f"{place} must be the ledger of this curator, got no file", _read_head(store))


def check_head(store: Store, ledger: Ledger) -> None:
    """Raise `LedgerError` unless a ledger continues from the last head that was seen."""
    with store.reading() as run:
        check_seen(run, ledger, store.place)


def check_seen(run: Run, ledger: Ledger, place: str) -> None:
    """Check the same inside a transaction of the curator's database, which is at this place."""
    head = _require_head(run, place)
    try:
        ledger.check_continues(head)
    except LedgerError as reason:
        raise _wrong_ledger_error(str(reason), head) from None


def check_reopened(store: Store) -> None:
    """Raise `LedgerError` if the curator's database is a restored backup that its owner has not accepted yet."""
    if store.mark < 0:
        raise LedgerError(
            f"{store.place} is a backup that was restored, and is closed: questions asked since are missing; then "
            "inbounds curator accept-ledger"
        )


def _read_head(store: Store) -> LedgerHead:
    with store.reading() as run:
        return _require_head(run, store.place)


def _require_head(run: Run, place: str) -> LedgerHead:
    head = last_seen_head(run)
    if head is None:
        raise LedgerError(f"{place} must know its ledger, got none; start the curator again")
    return head


def _wrong_ledger_error(reason: str, head: LedgerHead) -> LedgerError:
    return LedgerError(
        f"{reason}; this curator saw entry {head.entries} of ledger {head.ledger}: put that ledger back, or count "
        "what is missing as spent and then run inbounds curator accept-ledger"
    )


def _entries_and_digest(head: LedgerHead) -> tuple[int, str]:
    return head.entries, head.sha256

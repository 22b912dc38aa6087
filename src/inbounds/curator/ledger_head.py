"""The last head of the ledger that a curator has seen, so that a lost or older ledger is noticed.

A ledger that was lost, replaced or restored does not know all charges: the people's whole budget would come back. So
the curator's database keeps the ledger's id and its last head, and a ledger that does not continue from there is
refused.
"""

from pathlib import Path

from inbounds.curator.evaluations import forget_uncharged
from inbounds.curator.issued import cancel_reservation, list_issued
from inbounds.errors import LedgerError
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


def accept_head(store: Store, place: str) -> LedgerHead:
    """Adopt the ledger that is there now, whichever it is. The person responsible for the data decides this."""
    with store.writing() as run, Ledger.open(place, create=False) as ledger:
        _adopt_ledger(run, ledger)
        return ledger.head()


def _adopt_ledger(run: Run, ledger: Ledger) -> None:
    """Store the ledger's head, and delete answers issued under charges that it does not have.

    Such questions are drawn again when they are asked again, and cost the account's cap again; what was spent stays
    spent.
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

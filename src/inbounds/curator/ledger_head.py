"""The ledger that a curator began with is the one that it goes on with.

A ledger that was lost, replaced or restored does not know all that was spent: with it the people's whole budget would
come back. So the curator's database keeps the ledger's id and the last head that was seen, and nothing is asked of a
ledger that does not go on from there.
"""

from pathlib import Path

from inbounds.curator.evaluations import forget_uncharged
from inbounds.curator.issued import cancel_reservation, list_issued
from inbounds.errors import LedgerError
from inbounds.ledger import Ledger
from inbounds.ledger.store import Run, Store
from inbounds.ledger.verify import LedgerHead


def last_seen_head(run: Run) -> LedgerHead | None:
    """The last head of the ledger that was seen here; None before there was one."""
    rows = run("SELECT id, entries, sha256 FROM seen")
    return LedgerHead(*rows[0]) if rows else None


def note_head(run: Run, head: LedgerHead) -> None:
    """Remember a head; never an earlier one than that which is remembered."""
    run(
        "UPDATE seen SET entries = ?, sha256 = ? WHERE id = ? AND entries < ?",
        *_entries_and_digest(head),
        head.ledger,
        head.entries,
    )


def start_head(store: Store, place: str) -> None:
    """Take the ledger of a curator that knows none yet; one is made only for a curator that is new itself."""
    with store.writing() as run:
        if last_seen_head(run) is None:
            is_new = not run("SELECT 1 FROM accounts LIMIT 1")
            with Ledger.open(place, create=is_new) as ledger:
                _adopt_ledger(run, ledger)


def accept_head(store: Store, place: str) -> LedgerHead:
    """Go on with the ledger that is there now, whichever it is: the decision of whoever answers for the people."""
    with store.writing() as run, Ledger.open(place, create=False) as ledger:
        _adopt_ledger(run, ledger)
        return ledger.head()


def _adopt_ledger(run: Run, ledger: Ledger) -> None:
    """Remember where a ledger stands, and forget what was given under charges that it does not have.

    What is asked again is drawn again then, and costs the account's cap again; what it spent stays spent.
    """
    for one in list_issued(run):
        if not ledger.has(one.key):
            cancel_reservation(run, one)
    forget_uncharged(run, ledger.has)
    run("DELETE FROM seen")
    head = ledger.head()
    run("INSERT INTO seen VALUES (?, ?, ?)", head.ledger, *_entries_and_digest(head))


def check_ledger_exists(store: Store, place: str) -> None:
    """A `LedgerError` where the ledger's file is gone: whoever makes a new one forgets what was spent."""
    if "://" not in place and not Path(place).exists():
        raise _wrong_ledger_error(f"{place} must be the ledger of this curator, got no file", _read_head(store))


def check_head(store: Store, ledger: Ledger) -> None:
    """A `LedgerError` unless a ledger goes on from the last head that was seen."""
    head = _read_head(store)
    try:
        ledger.check_continues(head)
    except LedgerError as reason:
        raise _wrong_ledger_error(str(reason), head) from None


def _read_head(store: Store) -> LedgerHead:
    with store.reading() as run:
        head = last_seen_head(run)
    if head is None:
        raise LedgerError(f"{store.place} must know its ledger, got none; start the curator again")
    return head


def _wrong_ledger_error(reason: str, head: LedgerHead) -> LedgerError:
    return LedgerError(
        f"{reason}; this curator saw entry {head.entries} of ledger {head.ledger}: put that ledger back, or count "
        "what is missing as spent and then run inbounds curator accept-ledger"
    )


def _entries_and_digest(head: LedgerHead) -> tuple[int, str]:
    return head.entries, head.sha256

"""What was spent over time, on one self-contained page: totals, a picture for each people, the entries."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.ledger.amounts import unit_of
from inbounds.ledger.checking import Head
from inbounds.ledger.entries import Entry
from inbounds.ledger.people import People
from inbounds.numbers import all_digits
from inbounds.report import svg
from inbounds.report.layout import rendered, thinned
from inbounds.report.notebook import shown

SHOWN = 200
"""Entries on the page; the ledger and its export hold all of them."""

COLUMNS = ("people", "spent", "budget", "left", "in units of", "rule")

POINTS = 60
"""Moments of a picture; of more entries an even selection, the last among them."""


def page(place: str, head: Head, people: Sequence[People], entries: Iterable[Entry]) -> str:
    """The page of a ledger."""
    return rendered("ledger.html", {"title": "What was spent", "place": place, **view(head, people, entries)})


def notebook_view(place: str, head: Head, people: Sequence[People]) -> str:
    """What a notebook shows of a ledger."""
    rows = [_row(who) for who in people]
    note = f"{head.entries} entries, head {head.sha256}"
    return shown(f"Ledger {place}", head=COLUMNS, rows=rows, notes=[note])


def view(head: Head, people: Sequence[People], entries: Iterable[Entry]) -> dict[str, Any]:
    """What a page shows of a ledger: its head, its people with a picture each, the last entries."""
    listed = list(entries)
    return {
        "head": head,
        "columns": COLUMNS,
        "people": [_row(who) for who in people],
        "parts": [_part(who, spending(who, listed)) for who in people],
        "entries": [_entry(entry, people) for entry in listed[-SHOWN:]],
    }


def _part(who: People, moments: Sequence[tuple[str, Fraction]]) -> dict[str, str | None]:
    picture = _drawn(who, moments) if len(moments) > 1 else None
    return {"name": who.name, "standing": str(who), "picture": picture}


def spending(who: People, entries: Iterable[Entry]) -> list[tuple[str, Fraction]]:
    """When something was spent on these people, and how much in all by then; the first is when they came."""
    total, found = Fraction(0), []
    for entry in entries:
        if entry.people == who.name and entry.kind in ("people", "charge"):
            total += (entry.units or 0) * unit_of(who.rule) if entry.kind == "charge" else 0
            found.append((entry.time, total))
    return found


def _drawn(who: People, moments: Sequence[tuple[str, Fraction]]) -> str:
    chosen = thinned(len(moments), POINTS)
    curves = {f"{who.unit} spent": np.array([float(moments[k][1]) for k in chosen])}
    if who.budget is not None:
        curves["budget now"] = np.full(len(chosen), float(who.budget))
    return svg.lines(curves, [moments[k][0][:10] for k in chosen], "when it was charged", f"{who.unit} in all")


def _row(who: People) -> list[str]:
    amounts = [who.spent, who.budget, who.left]
    texts = ["no cap" if amount is None else all_digits(amount) for amount in amounts]
    return [who.name, *texts, who.unit, who.rule]


def _entry(entry: Entry, people: Sequence[People]) -> list[str]:
    units = {who.name: unit_of(who.rule) for who in people}
    amount = "" if entry.units is None or not entry.people else all_digits(entry.units * units[entry.people])
    purpose = str(entry.said.get("purpose") or "")
    when = entry.time.replace("T", " ").replace("+00:00", " UTC")
    return [str(entry.number), when, entry.kind, entry.people or "", amount, purpose]

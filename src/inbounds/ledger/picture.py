"""What was spent over time, on one self-contained page: totals, a picture for each people, the entries."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from html import escape

import numpy as np

from inbounds.ledger.amounts import unit_of
from inbounds.ledger.checking import Head
from inbounds.ledger.entries import Entry
from inbounds.ledger.people import People
from inbounds.numbers import all_digits
from inbounds.report import svg
from inbounds.report.layout import document, table

SHOWN = 200
"""Entries on the page; the ledger and its export hold all of them."""

POINTS = 60
"""Moments of a picture; of more entries an even selection, the last among them."""


def page(place: str, head: Head, people: Sequence[People], entries: Iterable[Entry]) -> str:
    """The page of a ledger."""
    return document("What was spent", _parts(place, head, people, list(entries)))


def _parts(place: str, head: Head, people: Sequence[People], entries: Sequence[Entry]) -> Iterator[str]:
    yield "<h1>What was spent</h1>"
    yield f'<p class="sub">{escape(place)} · {head.entries} entries · head <code>{head.sha256}</code></p>'
    names = ["people", "spent", "budget", "left", "in units of", "rule"]
    yield table(names, [_row(who) for who in people])
    for who in people:
        yield f"<h2>{escape(who.name)}</h2><p>{escape(str(who))}.</p>"
        moments = spending(who, entries)
        if len(moments) > 1:
            yield f"<figure>{_drawn(who, moments)}</figure>"
    yield "<h2>Entries</h2>"
    yield table(["entry", "when", "what", "people", "how much", "for"], [_entry(e, people) for e in entries[-SHOWN:]])
    if len(entries) > SHOWN:
        yield f'<p class="sub">The last {SHOWN} of {len(entries)}; <code>inbounds ledger export</code> has all.</p>'


def spending(who: People, entries: Iterable[Entry]) -> list[tuple[str, Fraction]]:
    """When something was spent on these people, and how much in all by then; the first is when they came."""
    total, found = Fraction(0), []
    for entry in entries:
        if entry.people == who.name and entry.kind in ("people", "charge"):
            total += (entry.units or 0) * unit_of(who.rule) if entry.kind == "charge" else 0
            found.append((entry.time, total))
    return found


def _drawn(who: People, moments: Sequence[tuple[str, Fraction]]) -> str:
    chosen = sorted({round(k) for k in np.linspace(0, len(moments) - 1, min(len(moments), POINTS))})
    curves = {f"{who.unit} spent": np.array([float(moments[k][1]) for k in chosen])}
    if who.budget is not None:
        curves["budget now"] = np.full(len(chosen), float(who.budget))
    return svg.lines(curves, [moments[k][0][:10] for k in chosen], "when it was charged", f"{who.unit} in all")


def _row(who: People) -> list[str]:
    amounts = [who.spent, who.budget, who.left]
    texts = ["no cap" if amount is None else all_digits(amount) for amount in amounts]
    return [escape(who.name), *texts, who.unit, who.rule]


def _entry(entry: Entry, people: Sequence[People]) -> list[str]:
    units = {who.name: unit_of(who.rule) for who in people}
    amount = "" if entry.units is None or not entry.people else all_digits(entry.units * units[entry.people])
    purpose = str(entry.said.get("purpose") or "")
    when = entry.time.replace("T", " ").replace("+00:00", " UTC")
    return [str(entry.number), *map(escape, (when, entry.kind, entry.people or "", amount, purpose))]

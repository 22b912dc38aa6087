"""What was spent over time, on one self-contained page: totals, a picture for each people, the entries."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.exact import format_all_digits
from inbounds.ledger.entries import Entry
from inbounds.ledger.population import Population
from inbounds.ledger.units import rule_unit
from inbounds.ledger.verify import LedgerHead
from inbounds.report import svg
from inbounds.report.notebook import render_notebook
from inbounds.report.templates import pick_evenly, render_template

SHOWN = 200
"""Entries on the page; the ledger and its export hold all of them."""

COLUMNS = ("people", "spent", "budget", "left", "in units of", "rule")

POINTS = 60
"""Moments of a picture; of more entries an even selection, the last among them."""


def page(place: str, head: LedgerHead, people: Sequence[Population], entries: Iterable[Entry]) -> str:
    """The page of a ledger."""
    return render_template(
        "ledger.html", {"title": "What was spent", "place": place, **budget_view(head, people, entries)}
    )


def notebook_view(place: str, head: LedgerHead, people: Sequence[Population]) -> str:
    """What a notebook shows of a ledger."""
    rows = [_row(who) for who in people]
    note = f"{head.entries} entries, head {head.sha256}"
    return render_notebook(f"Ledger {place}", head=COLUMNS, rows=rows, notes=[note])


def budget_view(head: LedgerHead, people: Sequence[Population], entries: Iterable[Entry]) -> dict[str, Any]:
    """What a page shows of a ledger: its head, its people with a picture each, the last entries."""
    listed = list(entries)
    return {
        "head": head,
        "columns": COLUMNS,
        "people": [_row(who) for who in people],
        "parts": [_part(who, spending_rows(who, listed)) for who in people],
        "entries": [_entry(entry, people) for entry in listed[-SHOWN:]],
    }


def _part(who: Population, moments: Sequence[tuple[str, Fraction]]) -> dict[str, str | None]:
    picture = _draw_budget(who, moments) if len(moments) > 1 else None
    return {"name": who.name, "standing": str(who), "picture": picture}


def spending_rows(who: Population, entries: Iterable[Entry]) -> list[tuple[str, Fraction]]:
    """When something was spent on these people, and how much in all by then; the first is when they came."""
    total, found = Fraction(0), []
    for entry in entries:
        if entry.people == who.name and entry.kind in ("people", "charge"):
            total += (entry.units or 0) * rule_unit(who.rule) if entry.kind == "charge" else 0
            found.append((entry.time, total))
    return found


def _draw_budget(who: Population, moments: Sequence[tuple[str, Fraction]]) -> str:
    chosen = pick_evenly(len(moments), POINTS)
    curves = {f"{who.unit} spent": np.array([float(moments[k][1]) for k in chosen])}
    if who.budget is not None:
        curves["budget now"] = np.full(len(chosen), float(who.budget))
    return svg.lines(curves, [moments[k][0][:10] for k in chosen], "when it was charged", f"{who.unit} in all")


def _row(who: Population) -> list[str]:
    amounts = [who.spent, who.budget, who.remaining]
    texts = ["no cap" if amount is None else format_all_digits(amount) for amount in amounts]
    return [who.name, *texts, who.unit, who.rule]


def _entry(entry: Entry, people: Sequence[Population]) -> list[str]:
    units = {who.name: rule_unit(who.rule) for who in people}
    amount = "" if entry.units is None or not entry.people else format_all_digits(entry.units * units[entry.people])
    purpose = str(entry.parsed_facts.get("purpose") or "")
    when = entry.time.replace("T", " ").replace("+00:00", " UTC")
    return [str(entry.number), when, entry.kind, entry.people or "", amount, purpose]

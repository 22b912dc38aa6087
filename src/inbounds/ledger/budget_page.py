"""A self-contained page of what was spent over time: totals, a picture for each population, the entries."""

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
"""Most entries on the page; the ledger and its export hold all of them."""

COLUMNS = ("people", "spent", "budget", "left", "in units of", "rule")

POINTS = 60
"""Most points of a picture; of more entries an even selection with the last one."""


def page(place: str, head: LedgerHead, people: Sequence[Population], entries: Iterable[Entry]) -> str:
    """Render the page of a ledger."""
    return render_template(
        "ledger.html", {"title": "What was spent", "place": place, **budget_view(head, people, entries)}
    )


def notebook_view(place: str, head: LedgerHead, people: Sequence[Population]) -> str:
    """Render what a notebook shows of a ledger."""
    rows = [_row(population) for population in people]
    note = f"{head.entries} entries, head {head.sha256}"
    return render_notebook(f"Ledger {place}", head=COLUMNS, rows=rows, notes=[note])


def budget_view(head: LedgerHead, people: Sequence[Population], entries: Iterable[Entry]) -> dict[str, Any]:
    """Return what a page shows of a ledger: its head, its populations with a picture each, the last entries."""
    all_entries = list(entries)
    return {
        "head": head,
        "columns": COLUMNS,
        "people": [_row(population) for population in people],
        "parts": [_part(population, spending_rows(population, all_entries)) for population in people],
        "entries": [_entry(entry, people) for entry in all_entries[-SHOWN:]],
    }


def _part(population: Population, moments: Sequence[tuple[str, Fraction]]) -> dict[str, str | None]:
    picture = _draw_budget(population, moments) if len(moments) > 1 else None
    return {"name": population.name, "standing": str(population), "picture": picture}


def spending_rows(population: Population, entries: Iterable[Entry]) -> list[tuple[str, Fraction]]:
    """Return the times at which something was spent on a population, with the total so far; its creation first."""
    total, moments = Fraction(0), []
    for entry in entries:
        if entry.people == population.name and entry.kind in ("people", "charge"):
            total += (entry.units or 0) * rule_unit(population.rule) if entry.kind == "charge" else 0
            moments.append((entry.time, total))
    return moments


def _draw_budget(population: Population, moments: Sequence[tuple[str, Fraction]]) -> str:
    picked = pick_evenly(len(moments), POINTS)
    curves = {f"{population.unit} spent": np.array([float(moments[k][1]) for k in picked])}
    if population.budget is not None:
        curves["budget now"] = np.full(len(picked), float(population.budget))
    return svg.lines(curves, [moments[k][0][:10] for k in picked], "when it was charged", f"{population.unit} in all")


def _row(population: Population) -> list[str]:
    amounts = [population.spent, population.budget, population.remaining]
    texts = ["no cap" if amount is None else format_all_digits(amount) for amount in amounts]
    return [population.name, *texts, population.unit, population.rule]


def _entry(entry: Entry, people: Sequence[Population]) -> list[str]:
    units = {population.name: rule_unit(population.rule) for population in people}
    amount = "" if entry.units is None or not entry.people else format_all_digits(entry.units * units[entry.people])
    purpose = str(entry.parsed_facts.get("purpose") or "")
    when = entry.time.replace("T", " ").replace("+00:00", " UTC")
    return [str(entry.number), when, entry.kind, entry.people or "", amount, purpose]

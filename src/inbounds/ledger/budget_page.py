"""A self-contained page of what was spent over time: totals, a picture for each population, the entries."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

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

COLUMNS = ("people", "spent", "budget", "left", "in units of", "rule", "period", "delta spent")

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


class Moment(NamedTuple):
    """A change of what was spent on a population or may be spent, with both in all so far.

    name: the edition that was charged, the period that began, or else the day.
    """

    name: str
    spent: Fraction
    budget: Fraction | None


def _part(population: Population, moments: Sequence[Moment]) -> dict[str, str | None]:
    picture = _draw_budget(population, moments) if len(moments) > 1 else None
    return {"name": population.name, "standing": str(population), "picture": picture}


def spending_rows(population: Population, entries: Iterable[Entry]) -> list[Moment]:
    """Return the moments of a population, its creation first."""
    unit, spent, budget = rule_unit(population.rule), Fraction(0), None
    moments = []
    for entry in entries:
        if entry.people != population.name or entry.kind not in ("people", "budget", "period", "charge"):
            continue
        amount = None if entry.units is None else entry.units * unit
        if entry.kind == "charge":
            spent += amount or 0
        else:
            budget = amount
        moments.append(Moment(_edition(entry) or entry.time[:10], spent, budget))
    return moments


def _edition(entry: Entry) -> str:
    facts = entry.parsed_facts
    return str(facts.get("edition") or facts.get("period") or "")


def _draw_budget(population: Population, moments: Sequence[Moment]) -> str:
    picked = [moments[k] for k in pick_evenly(len(moments), POINTS)]
    curves = {f"{population.unit} spent": np.array([float(moment.spent) for moment in picked])}
    if population.budget is not None:
        curves["budget"] = np.array([float(moment.budget or 0) for moment in picked])
    names = [moment.name for moment in picked]
    return svg.lines(curves, names, "edition or day", f"{population.unit} in all", steps=True)


def _row(population: Population) -> list[str]:
    amounts = [population.spent, population.budget, population.remaining]
    texts = ["no cap" if amount is None else format_all_digits(amount) for amount in amounts]
    period = "" if population.period is None else f"{population.period}, one {population.every}"
    delta = population.delta_spent, population.delta_budget
    of_delta = " of ".join(map(format_all_digits, delta)) if population.delta_budget_units else ""
    return [population.name, *texts, population.unit, population.rule, period, of_delta]


def _entry(entry: Entry, people: Sequence[Population]) -> list[str]:
    units = {population.name: rule_unit(population.rule) for population in people}
    amount = "" if entry.units is None or not entry.people else format_all_digits(entry.units * units[entry.people])
    purpose = str(entry.parsed_facts.get("purpose") or "")
    when = entry.time.replace("T", " ").replace("+00:00", " UTC")
    return [str(entry.number), when, entry.kind, entry.people or "", amount, _edition(entry), purpose]

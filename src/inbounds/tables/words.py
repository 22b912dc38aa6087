"""What a release promises, in plain sentences."""

import math
from fractions import Fraction

from inbounds.tables import condition
from inbounds.tables.account import Entry
from inbounds.tables.csvfile import WELL_FORMED
from inbounds.tables.plan import CHANGE, NUMERIC, Plan
from inbounds.tables.schema import texts_of, used_columns
from inbounds.tables.texts import is_date


def statement(plan: Plan) -> str:
    """The guarantee for a reader without formulas: who is protected, from what, by how much."""
    return promised(plan.groups.public, plan.neighbours, plan.spent, record_of(plan.source.kind))


def promised(public: bool, neighbours: str, spent: Fraction, record: str) -> str:
    """The guarantee from what it depends on: public sizes, the relation, the epsilon spent, what a record is."""
    factor = math.exp(float(spent))
    return (
        f"{record} {_relation(public, neighbours, spent)} Whatever that record holds, any table this release can give "
        f"is at most {factor:.4g} times likelier than it would be otherwise (epsilon {number(spent)})."
    )


RECORD_BEFORE = "One record is one person."
"""What records of version 1 say."""


def record_of(kind: str) -> str:
    """What one record is, in a source of this kind."""
    said = "One record, a row that the source's reader delivers, is one person."
    return f"{said} The CSV file must be well formed ({WELL_FORMED}); if not, it is refused." if kind == "csv" else said


def _relation(public: bool, neighbours: str, spent: Fraction) -> str:
    """The neighbouring relation, and what it does not cover at this price."""
    if public:
        return (
            "Which group a person belongs to and how large each group is are public; "
            "everything else about one person may be changed, or the record left out. "
            "(A person who moves from one group to another is covered at twice the epsilon, "
            f"{number(2 * spent)}.)"
        )
    if neighbours == CHANGE:
        return (
            "Group sizes are not public beyond a declared maximum; one person's record "
            "may be replaced by any other, also in another group."
        )
    return (
        "Group sizes are not public beyond a declared maximum; one person's record may "
        f"be added or removed. (Replacing it by another is covered at twice the epsilon, {number(2 * spent)}.)"
    )


def handling(plan: Plan) -> list[str]:
    """For every column that is answered: what becomes of values outside its bounds or labels, and of none at all."""
    kinds: dict[str, set[str]] = {}
    for statistic in plan.statistics:
        if statistic.kind in NUMERIC:
            kinds.setdefault(statistic.of, set()).add(statistic.kind)
    cells = {s.of: False for s in plan.statistics if s.kind == "histogram"}
    cells |= {s.of: True for s in plan.statistics if s.consistent}
    numbers = [_handled(plan, name, asked) for name, asked in kinds.items()]
    return numbers + [_sorted(plan, name, full) for name, full in cells.items()] + _dated(plan) + _encoded(plan)


def _dated(plan: Plan) -> list[str]:
    """Columns of text that are compared with dates, where a time of day is data and cannot be refused."""
    counts = [statistic.where for statistic in plan.statistics if statistic.kind == "count"]
    names = dict.fromkeys(name for where in counts for name, _ in condition.texts(where))
    dated = [name for name in names if all(map(is_date, texts_of(plan, name)))] if plan.source.textual else []
    return [f"{name}: what is not a date alone, such as 2024-01-31 10:30, is missing; cut off times" for name in dated]


def _encoded(plan: Plan) -> list[str]:
    """Whether a file is UTF-8 is data, so nobody is told that it is not: what then happens is said beforehand."""
    if not plan.source.textual:
        return []
    keys = [part for key in plan.groups.keys for part in key]
    labels = [text for name in used_columns(plan) for text in texts_of(plan, name)]
    strange = next((text for text in (*keys, *labels) if not text.isascii()), None)
    said = f"the file must be UTF-8: otherwise {strange} and other texts with letters beyond ASCII never match"
    return [] if strange is None else [said]


def _sorted(plan: Plan, name: str, full: bool) -> str:
    other = plan.columns[name].other
    if other is None:
        return f"{name}: a record with any other value than a label, or none, is in no cell"
    short = " and where cells add up each record short of the size," if full else ""
    drawn = "; the expected error is that of cells as drawn, before they are made to add up" if full else ""
    return f"{name}: a record with any other value than a label, or none,{short} counts as {other} (other){drawn}"


def _handled(plan: Plan, name: str, kinds: set[str]) -> str:
    column, added = plan.columns[name], kinds & {"sum", "mean"}
    assert column.low is not None
    assert column.high is not None
    assert column.missing is not None
    steps = "" if column.step == 1 else f" in steps of {number(column.step)}"
    if plan.groups.public and added:
        short = f"and {'for sums and means ' if kinds - added else ''}each record short of the size, "
    else:
        short = "and a group without records, " if kinds - {"sum"} else ""
    return (
        f"{name}: values are moved into {number(column.low)}..{number(column.high)}{steps}; a record without a value"
        f"{_unread(plan)}{', ' if short else ' '}{short}counts as {number(column.missing)} (missing)"
    )


def _unread(plan: Plan) -> str:
    """Which texts of a CSV file are no numbers: a decimal comma that nobody declared is the usual reason."""
    if not plan.source.textual:
        return ""
    one, none = ("4,5", "4.5") if plan.source.decimal == "," else ("4.5", "4,5")
    return f" or with text that is no number ({one} is one, {none} is not)"


def composition(plan: Plan, entries: list[Entry] | tuple[Entry, ...]) -> list[str]:
    """The account, line by line: what is spent where, and why the sum is the whole."""
    lines = [
        f"{entry.statistic.name}: epsilon {number(entry.spent)}; each number is drawn at {number(entry.drawn_at)} "
        f"({entry.reason})"
        for entry in entries
    ]
    groups = f"{len(plan.groups)} groups" if len(plan.groups) > 1 else "one group"
    lines.append(
        f"{groups}: no record is in two of them, so they cost no more than one (parallel composition); statistics "
        f"of the same group add up: {number(plan.spent)} of {number(plan.epsilon)} spent"
    )
    return lines


def number(value: Fraction) -> str:
    """An exact number as people write it: a decimal where it ends soon, else a fraction.

    >>> number(Fraction(1, 4)), number(Fraction(1, 3))
    ('0.25', '1/3')
    """
    short = f"{float(value):.6g}"
    return short if Fraction(short) == value else str(value)

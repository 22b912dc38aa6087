"""What a release promises, in plain sentences."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from inbounds.tables import condition
from inbounds.tables.account import AccountLine
from inbounds.tables.plan import CHANGE, PERSON, Plan
from inbounds.tables.schema import texts_of, used_columns
from inbounds.tables.sources.csvfile import WELL_FORMED
from inbounds.tables.statistics import DOMAINS
from inbounds.tables.texts import is_date, number


def statement(plan: Plan) -> str:
    """The guarantee for a reader without formulas: who is protected, from what, by how much."""
    meant = record_of(plan.source.kind, plan.people.summary())
    return promised(plan.groups.public, plan.neighbours, plan.spent, meant)


def promised(public: bool, neighbours: str, spent: Fraction, record: str) -> str:
    """The guarantee from what it depends on: public sizes, the relation, the epsilon spent, what a record is."""
    factor = math.exp(float(spent))
    whatever = "Whatever these records hold" if neighbours == PERSON else "Whatever that record holds"
    return (
        f"{record} {_relation(public, neighbours, spent)} {whatever}, any table this release can give "
        f"is at most {factor:.4g} times likelier than it would be otherwise (epsilon {number(spent)})."
    )


RECORD_BEFORE = "One record is one person."
"""What records of version 1 say."""


def record_of(kind: str, person: Mapping[str, Any]) -> str:
    """What one record is, in a source of this kind, and what one person is."""
    said = "One record, a row that the source's reader delivers, is one person."
    if person:
        records, groups = person["max_records"], person["max_groups"]
        said = (
            f"One person is all records, rows that the source's reader delivers, with the same {person['id']}, byte by "
            f"byte; at most {records} of them count in each of at most {groups} group{'s' * (groups > 1)}, chosen by "
            f"that person's own records alone, and records without {person['id']} count for nobody."
        )
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
    if neighbours == PERSON:
        return (
            "Group sizes are not public beyond a declared maximum; one person may be added or removed, with all "
            "records. (A person replaced by another, or whose records change, is covered at twice the epsilon, "
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
    together: dict[Any, list[Any]] = {}
    for statistic in plan.statistics:
        kind = statistic.own
        shared = DOMAINS.index(kind.domain), kind.words, statistic.of
        together.setdefault(shared, []).append((kind, plan.subject(statistic)))
    in_order = sorted(together.items(), key=lambda item: item[0][0])
    lines = [line for (_, words, _), members in in_order for line in words(members, plan.source)]
    return _keyed(plan) + lines + _adding_up(plan) + _dated(plan) + _encoded(plan)


def _adding_up(plan: Plan) -> list[str]:
    """What becomes of numbers that add up after they were drawn."""
    names = [statistic.name for statistic in plan.statistics if plan.adds_up(statistic)]
    if not names:
        return []
    return [
        f"{', '.join(names)}: drawn together with sums, all of which the record keeps, then made to add up in whole "
        "numbers within their ranges; the error is what is expected of each number after that"
    ]


def _keyed(plan: Plan) -> list[str]:
    """How records find their group, where that was said."""
    periods = plan.groups.period.items()
    found = [f"{name}: a record's group is the {period} of its date or time" for name, period in periods]
    if plan.groups.not_stated:
        none = "no date" if plan.groups.period else "no value"
        found.append(f"groups: a record with {none}, or an empty one, has the key {plan.groups.not_stated}")
    return found


def _dated(plan: Plan) -> list[str]:
    """Columns of text that are compared with dates, where a time of day is data and cannot be refused."""
    names = dict.fromkeys(name for where in plan.conditions for name, _ in condition.texts(where))
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


def _spent(entry: AccountLine) -> str:
    """What a statistic spends, and how a statistic that adds up shares it."""
    said = f"{entry.statistic.name}: epsilon {number(entry.spent)}; each number is drawn at {number(entry.drawn_at)}"
    if entry.layered is None:
        return f"{said} ({entry.reason})"
    shares = [f"{number(entry.drawn_at * share)} for {name}" for name, share in entry.layered.shares]
    return f"{said} ({entry.reason}), shared, as a record is in one number of each: {', '.join(shares)}"


def composition(plan: Plan, entries: list[AccountLine] | tuple[AccountLine, ...]) -> list[str]:
    """The account, line by line: what is spent where, and why the sum is the whole."""
    lines = [_spent(entry) for entry in entries]
    groups = f"{len(plan.groups)} groups" if len(plan.groups) > 1 else "one group"
    most = plan.contribution.groups
    apart = "no record is in two of them, so they cost no more than one (parallel composition)"
    if most > 1:
        apart = f"one person counts in at most {most} of them, so they cost no more than {most} (parallel composition)"
    lines.append(
        f"{groups}: {apart}; statistics of the same group add up: {number(plan.spent)} of {number(plan.epsilon)} spent"
    )
    return lines

"""The release record: what an auditor needs to know about a released table, and no true value."""

import math
import platform
import secrets
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from inbounds import __version__
from inbounds._moved import old_name
from inbounds.mechanism.spelling import query_json
from inbounds.query import Query
from inbounds.tables import condition
from inbounds.tables.answer import AccountLine, Designed
from inbounds.tables.designs import Design
from inbounds.tables.forms import MechanismForm, RecordForm
from inbounds.tables.plan import CHANGE, Plan
from inbounds.tables.schema import texts_of, used_columns
from inbounds.tables.sources.csvfile import WELL_FORMED
from inbounds.tables.statistics import DOMAINS
from inbounds.tables.texts import is_date, number

FORMAT, VERSION = "inbounds release", 2
"""Fields may be added, never redefined. Version 2 says what a record is; version 1 is read for ever."""

TOLD = ("ibis-framework", "duckdb", "psycopg", "pyspark", "pyarrow", "numpy", "scipy", "highspy")


def record(designed: Designed) -> RecordForm:
    """Everything but the table's own digest, which `write` adds. Built from the plan and the mechanisms alone."""
    asked, plan = designed.asked, designed.asked.plan
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": secrets.token_hex(16),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "plan_sha256": plan.digest,
        "plan": plan.summary(),
        "statement": statement(plan),
        "values": handling(plan),
        "epsilon": {"total": str(plan.epsilon), "spent": str(plan.spent)},
        "account": [
            {
                "statistic": entry.statistic.name,
                "spent": str(entry.spent),
                "drawn_at": str(entry.drawn_at),
                "reason": entry.reason,
            }
            for entry in asked.entries
        ],
        "composition": composition(plan, asked.entries),
        "mechanisms": mechanisms(designed),
        "versions": versions(),
    }


def mechanisms(designed: Designed) -> list[MechanismForm]:
    """One line per statistic and mechanism: its digest, construction, epsilon, range, and the sizes it answered."""
    merged: dict[tuple[str, str], MechanismForm] = {}
    asked = designed.asked
    for statistic, designs, errors in zip(asked.plan.statistics, designed.designs, designed.errors, strict=True):
        for size, members, design, error in zip(asked.sizes, asked.members, designs, errors, strict=True):
            line = _line(statistic.name, size, len(members), design, error)
            first = merged.get((statistic.name, design.sha256))
            merged[statistic.name, design.sha256] = line if first is None else _joined(first, line)
    return list(merged.values())


def _line(statistic: str, size: int, groups: int, design: Design, error: float) -> MechanismForm:
    made = design.mechanism
    return {
        "statistic": statistic,
        "size": size,
        "groups": groups,
        "sha256": design.sha256,
        "epsilon": str(made.epsilon),
        "answers": _answers(made.query),
        "neighbours": str(made.query.neighbours),
        "origin": str(made.origin),
        "query": query_json(made.query),
        "expected_error": error,
    }


def _joined(first: MechanismForm, line: MechanismForm) -> MechanismForm:
    """Sizes that share a mechanism (min, max, median do not depend on the size) on one line: first..last."""
    sizes = f"{str(first['size']).partition('..')[0]}..{line['size']}"
    return {**first, "size": sizes, "groups": first["groups"] + line["groups"]}


def _answers(query: Query) -> str:
    if query.labels is not None:
        return ", ".join(query.labels)
    return f"{query.answers[0]}..{query.answers[-1]}, {len(query.answers)} values"


def versions() -> dict[str, str]:
    found = {"inbounds": __version__, "python": platform.python_version()}
    for name in TOLD:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# --- what a release promises, in plain sentences -----------------------------------------------------------


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
    together: dict[Any, list[Any]] = {}
    for statistic in plan.statistics:
        kind = statistic.own
        shared = DOMAINS.index(kind.domain), kind.words, statistic.of
        together.setdefault(shared, []).append((kind, plan.subject(statistic)))
    in_order = sorted(together.items(), key=lambda item: item[0][0])
    lines = [line for (_, words, _), members in in_order for line in words(members, plan.source)]
    return lines + _dated(plan) + _encoded(plan)


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


def composition(plan: Plan, entries: list[AccountLine] | tuple[AccountLine, ...]) -> list[str]:
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


def __getattr__(name: str) -> Any:
    """What this was in version 0.1, when records were also read here."""
    return old_name(__name__, name)

"""Foreseeable disasters: mistakes that spend epsilon on wrong numbers, found in the schema and the declarations alone.

Each is refused before the charge, with the line to write. None depends on a record.
"""

import re

from inbounds.plan.plan import Plan
from inbounds.schema.columns import Declared, LabelColumn, NumberColumn
from inbounds.schema.errors import PlanError, SourceError
from inbounds.schema.names import names_persons
from inbounds.sources.open import Source


def check_foreseeable(plan: Plan, names: list[str], read: list[str]) -> None:
    """Raise PlanError or SourceError for a mistake that can be foreseen.

    names: all columns of the source. read: those that statistics and conditions use; all of them are in the source, so
    its first line is no record. A frame was made by a program, which may keep columns that the plan does not need.
    """
    _check_decimal(plan.source, [plan.columns[name] for name in read if name in plan.columns])
    if (plan.source.has_schema or read or plan.groups.by) and not plan.source.is_frame:
        _check_persons(plan, names)
    _check_keys(plan)


def check_confirmed(plan: Plan) -> None:
    """Raise PlanError for a plan that is still marked as a draft; it can be tried, and not released."""
    if plan.draft:
        message = "must be deleted before a release, when everything in the plan is right; --dry-run tries it"
        with plan.with_line_numbers():
            raise PlanError(message, ("draft",))


def _check_decimal(source: Source, columns: list[Declared]) -> None:
    """Refuse semicolons without a declared decimal mark: 4,5 would count as missing."""
    numbers = any(column.type == "number" for column in columns)
    if source.kind == "csv" and source.delimiter == ";" and not source.decimal and numbers:
        message = (
            'must be given beside delimiter = ";" if numbers are read: decimal = "," if they are written 4,5, or '
            'decimal = "." if they are written 4.5; any other spelling counts as missing'
        )
        raise SourceError(message, ("source", "decimal"))


def _check_persons(plan: Plan, names: list[str]) -> None:
    """Without an id every record counts as one person, so one with ten records would be protected ten times less."""
    one_each = plan.people.one_record_each
    for name in one_each:
        if name not in names:
            raise SourceError(f"must name columns of the source, got {name!r}", ("people", "one_record_each"))
    suspects = [name for name in names if names_persons(name) and name not in (*one_each, *plan.groups.by)]
    if suspects and not plan.people.id:
        raise SourceError(_person_message(suspects[0]), ("people",))


def _person_message(name: str) -> str:
    return (
        f'must say whose a record is, as the source has the column {name!r}: id = "{name}" (with max_size) if a person '
        f'may have several records, or one_record_each = ["{name}"] if every person has one'
    )


def _check_keys(plan: Plan) -> None:
    """Refuse a key that its column cannot hold, as declared: its group would always be empty."""
    for k, name in enumerate(plan.groups.by):
        column = plan.columns.get(name)
        if name in plan.groups.period or column is None:
            continue
        for key in {key[k] for key in plan.groups.keys} - {plan.groups.missing_key}:
            if not _holds(column, key):
                message = f"must be values that the column {name!r} is declared to have, got {key!r}"
                raise PlanError(message, ("groups", "keys"))


def _holds(column: Declared, key: str) -> bool:
    if isinstance(column, LabelColumn):
        return column.spelling.strict(key) in map(column.spelling.strict, column.labels)
    if isinstance(column, NumberColumn) and re.fullmatch(r"-?[0-9]{1,18}", key):
        return column.low <= int(key) <= column.high
    return True

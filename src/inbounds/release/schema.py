"""The schema against the plan: names and types of columns, known before any record is read."""

import unicodedata
from typing import Any

from inbounds.release import condition as language
from inbounds.release.errors import SourceError
from inbounds.release.plan import Plan

KEYS = ("groups", "keys")


def check_schema(plan: Plan, schema: dict[str, Any]) -> None:
    """A `SourceError` unless the source has every key and every used column, in a type that fits."""
    for name in plan.groups.by:
        _check_present(name, schema, ("groups", "by"))
    _check_keys(plan, schema)
    counts = [statistic.where for statistic in plan.statistics if statistic.kind == "count"]
    right = set().union(*map(language.compared_with, counts))
    for name in used_columns(plan):
        _check_present(name, schema, ("columns", name), f"; {language.text_hint(name)}" if name in right else "")
        _check_type(plan, name, schema[name])


def used_columns(plan: Plan) -> list[str]:
    """The declared columns that some statistic reads."""
    names: dict[str, None] = {}
    for statistic in plan.statistics:
        found = language.used(statistic.where) if statistic.kind == "count" else {statistic.of: None}
        names.update(dict.fromkeys(found))
    return list(names)


def _check_present(name: str, schema: dict[str, Any], path: tuple[str, ...], hint: str = "") -> None:
    if name not in schema:
        raise SourceError(f"names the column {name!r}, but the source has: {', '.join(schema)}{hint}", path)


def _check_keys(plan: Plan, schema: dict[str, Any]) -> None:
    """Keys fit their columns, and no record can match two of them in any engine."""
    forms = []
    for k, name in enumerate(plan.groups.by):
        kind = schema[name]
        if not (kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date()):
            said = f"must be text, whole numbers, booleans or dates, but {name!r} is {kind}"
            raise SourceError(said, ("groups", "by"))
        values = [key[k] for key in plan.groups.keys]
        if kind.is_integer() and not all(map(_is_whole, values)):
            raise SourceError(f"must be whole numbers as the column {name!r} is; at least one is not", KEYS)
        forms.append([int(v) if kind.is_integer() else _seen(v, plan) for v in values])
    if forms and len(set(zip(*forms, strict=True))) < len(plan.groups):
        raise SourceError("must be different numbers, and texts that no database takes for the same", KEYS)


def _is_whole(text: str) -> bool:
    return len(text) < 20 and text.isascii() and text.removeprefix("-").isdecimal() and abs(int(text)) < 1 << 63


def _seen(text: str, plan: Plan) -> str:
    """A text as the engine compares it: byte by byte, or in a database perhaps by a forgiving collation."""
    if plan.source.bytewise:
        return text
    plain = unicodedata.normalize("NFKD", text).casefold().strip()
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _check_type(plan: Plan, name: str, kind: Any) -> None:
    declared = plan.columns[name].type
    if plan.source.textual:
        return
    fits = {
        "number": kind.is_numeric() and not kind.is_boolean(),
        "text": kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date(),
        "boolean": kind.is_boolean(),
    }
    if not fits[declared]:
        raise SourceError(f"is declared as {declared}, but the source holds {kind}", ("columns", name))

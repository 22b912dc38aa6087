"""Compare the schema of a source with the plan: names and types of columns, before any record is read."""

import difflib
import math
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.plan.plan import Plan
from inbounds.schema.columns import Declared, NumberColumn, column_labels
from inbounds.schema.condition import tree as language
from inbounds.schema.errors import Path, SourceError
from inbounds.schema.spelling import Spelling
from inbounds.schema.text import FLOATS, find_close, is_date
from inbounds.sources.groups import number_rows
from inbounds.sources.records import are_as_spelled, fit_text

KEYS = ("groups", "keys")


def check_schema(plan: Plan, schema: dict[str, Any]) -> None:
    """Raise SourceError unless the source has every key and every used column, in a type that fits."""
    for name in plan.groups.by:
        _check_present(plan, name, schema, ("groups", "by"))
    if plan.people.id:
        _check_present(plan, plan.people.id, schema, ("people", "id"))
    _check_keys(plan, schema)
    right = set().union(*map(language.right_hand_names, plan.conditions))
    for name in used_columns(plan):
        hint = language.hint_text_type(name) if name in right else ""
        _check_present(plan, name, schema, ("columns", name), hint)
        _check_type(plan, name, schema[name])
        _check_step(plan.columns[name], schema[name], name)
    _check_texts(plan, schema)


def used_columns(plan: Plan) -> list[str]:
    """Return the declared columns that some statistic or the plan's condition reads."""
    names: dict[str, None] = dict.fromkeys(language.columns_used(plan.condition) if plan.condition is not None else ())
    for statistic in plan.statistics:
        names.update(dict.fromkeys(statistic.columns_read))
    return list(names)


def read_columns(plan: Plan) -> list[str]:
    """Return every column that is read: keys, those of statistics, and the id."""
    return list(dict.fromkeys((*plan.groups.by, *used_columns(plan), *([plan.people.id] if plan.people.id else ()))))


def list_compared_texts(plan: Plan, name: str) -> list[str]:
    """Return every text that a column is compared with: its labels, and those of conditions."""
    texts = [
        text for where in plan.conditions for column, text in language.find_text_comparisons(where) if column == name
    ]
    return [*column_labels(plan.columns[name]), *texts]


# --- names ------------------------------------------------------------------------------------------------


def _check_present(plan: Plan, name: str, schema: dict[str, Any], path: Path, hint: str = "") -> None:
    if name in schema:
        return
    if plan.source.has_schema:
        other = f"; {hint}" if hint else ""
        raise SourceError(f"names the column {name!r}, but the source has: {', '.join(schema)}{other}", path)
    close = _similar(plan, name, schema)
    if plan.source.kind == "frame":
        hint = hint or "frame.columns lists those that it has"
    hint = f"did you mean {close[0]!r}?" if close else hint or "does the file begin with a header line?"
    raise SourceError(f"names the column {name!r}, which the source does not have; {hint}", path)


def _similar(plan: Plan, name: str, schema: dict[str, Any]) -> list[str]:
    """Return names like this one, for a source whose names may be its first record.

    A file without a header line must not have that record printed. So names are never listed, and a name that is only
    similar is suggested only if other names of the plan occur, because then the first line is a header.
    """
    if not set(read_columns(plan)) & set(schema):
        return find_close(name, schema)
    return find_close(name, schema) or difflib.get_close_matches(name, schema, 1, 0.75)


# --- keys, labels and texts of conditions -----------------------------------------------------------------


def _check_keys(plan: Plan, schema: dict[str, Any]) -> None:
    """Check that keys fit their columns, and that no record can match two of them in any engine."""
    forms = list[list[str]]()
    for k, name in enumerate(plan.groups.by):
        kind, period = schema[name], name in plan.groups.period
        if not _is_key(kind):
            message = f"must be text, whole numbers, booleans or dates, but {name!r} is {kind}"
            raise SourceError(message + _key_way_out(name, kind), ("groups", "by"))
        if period and not (kind.is_string() or kind.is_date() or kind.is_timestamp()):
            message = f"must be about dates, times or texts, but {name!r} is {kind}"
            raise SourceError(message, ("groups", "period", name))
        if plan.groups.from_data:
            _check_type(plan, name, kind)
        else:
            forms.append(canonical_keys(plan, k, kind))
    if any(len(set(form)) < len(form) for form in forms):
        coded = zip(forms, plan.groups.coded, strict=True)
        rows = number_rows([[form[place] for place in places.tolist()] for form, (_, places) in coded])
        if int(rows[-1].max()) + 1 < len(plan.groups):
            raise SourceError("must be different values of their columns", KEYS)


def canonical_keys(plan: Plan, k: int, kind: Any) -> list[str]:
    """Return the different keys of a column as canonical records of this Ibis type spell them.

    Periods and the missing key have only the spelling of the plan. Computed once, and raises SourceError if no record
    can have one.
    """
    groups, name, spelling = plan.groups, plan.groups.by[k], plan.spelling(plan.groups.by[k])
    place = k, kind, spelling
    if place not in groups.spelled:

        def spell(text: str) -> str:
            if name in groups.period or text == groups.missing_key:
                return spelling.spell(text)
            return _check_spelling(text, name, kind, KEYS, spelling)

        texts, _ = groups.coded[k]
        groups.spelled[place] = list(texts if are_as_spelled(texts, kind, spelling) else map(spell, texts))
    return groups.spelled[place]


def key_types(plan: Plan, schema: dict[str, Any]) -> dict[str, str]:
    """Return how the values of every key column are distinguished, in a word: 01 and 1 are one number but two texts."""
    return {name: _key_type(schema[name]) for name in plan.groups.by}


def _key_type(kind: Any) -> str:
    if kind.is_string():
        return "text"
    if kind.is_boolean():
        return "boolean"
    return "number" if kind.is_integer() else "date" if kind.is_date() else "time"


def _is_key(kind: Any) -> bool:
    zoned = kind.is_timestamp() and kind.timezone is not None
    return bool(_is_textual(kind) or (kind.is_timestamp() and not zoned))


def _is_textual(kind: Any) -> bool:
    return bool(kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_date())


def _key_way_out(name: str, kind: Any) -> str:
    if kind.is_floating():
        return f"; {FLOATS}"
    return f"; in pandas, frame[{name!r}].dt.date is a column of dates" if kind.is_timestamp() else ""


def _check_texts(plan: Plan, schema: dict[str, Any]) -> None:
    """Check that columns can hold the labels and texts of conditions."""
    for k, statistic in enumerate(plan.statistics):
        if statistic.compares_labels:
            for name in statistic.columns_read:
                _check_labels(plan.columns[name], name, schema[name])
        if statistic.where is not None:
            _check_condition(plan, statistic.where, schema, ("statistics", k, statistic.kind))
    if plan.condition is not None:
        _check_condition(plan, plan.condition, schema, ("where",))


def _check_condition(plan: Plan, where: language.Condition, schema: dict[str, Any], path: Path) -> None:
    for name, text in language.find_text_comparisons(where):
        _check_spelling(text, name, schema[name], path, plan.spelling(name), f"compare {name} with")
    for name in language.date_ordered_columns(where):
        _check_dates(plan, name, schema[name], path)


def _check_labels(column: Declared, name: str, kind: Any) -> None:
    """Check that no record of the column can have two of its labels."""
    path = ("columns", name, "labels")
    forms = [_check_spelling(label, name, kind, path, column.spelling) for label in column_labels(column)]
    if len(set(forms)) < len(forms):
        raise SourceError(f"must be different values of a column of {kind}", path)


def _check_dates(plan: Plan, name: str, kind: Any, path: Path) -> None:
    """Check that a text column that is ordered is compared with dates only."""
    others = [text for text in list_compared_texts(plan, name) if not is_date(text)]
    if kind.is_string() and others:
        message = (
            f"orders {name} by date, so all it is compared with must be dates such as 2024-01-31, got {others[0]!r}"
        )
        raise SourceError(message, path)


def _check_spelling(text: str, name: str, kind: Any, path: Path, spelling: Spelling, verb: str = "be") -> str:
    try:
        return fit_text(text, kind, spelling)
    except ValueError as error:
        rule, _, got = str(error).rpartition(", got ")
        message = f"must {verb} {rule}, as the column {name!r} is {kind}, got {got}"
    raise SourceError(message, path)


# --- types ------------------------------------------------------------------------------------------------


def _check_type(plan: Plan, name: str, kind: Any) -> None:
    declared, is_text = plan.columns[name].type, kind.is_string()
    fits = {
        "number": (kind.is_numeric() and not kind.is_boolean()) or is_text,
        "text": _is_textual(kind),
        "boolean": kind.is_boolean() or is_text,
    }
    if not fits[declared]:
        message = f"is declared as {declared}, but the source holds {kind}"
        hint = _type_way_out(declared, name, kind)
        raise SourceError(message + hint, ("columns", name))


def _check_step(column: Declared, kind: Any, name: str) -> None:
    """Raise SourceError for a step below the spacing of floats at the bounds: rounding would decide the steps."""
    if not isinstance(column, NumberColumn):
        return
    bound = float(max(abs(column.low), abs(column.high)))
    single = kind.is_floating() and kind.nbytes < 8
    spacing = Fraction(float(np.spacing(np.float32(bound))) if single else math.ulp(bound))
    if column.step < spacing:
        message = f"must be at least {float(spacing):.3g}, the spacing of {kind if single else 'float64'} numbers near "
        raise SourceError(f"{message}{bound:.6g}, got {float(column.step):.3g}", ("columns", name, "step"))


def _type_way_out(declared: str, name: str, kind: Any) -> str:
    if kind.is_string():
        return "; cast it in a view, or in Python before it is given"
    if kind.is_boolean():
        return f'; declare type = "boolean": count = "{name}" counts those that are true'
    if declared == "text" and kind.is_floating():
        return f"; {FLOATS}"
    if kind.is_timestamp():
        return _key_way_out(name, kind)
    return f"; compare it with numbers, such as {name} = 1" if kind.is_numeric() else ""

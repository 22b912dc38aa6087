"""Conversion of the form's choices to the plain values of a plan, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inbounds.files.bounded import parse_toml
from inbounds.plan.hierarchy import ALL
from inbounds.plan.write import dump_toml
from inbounds.schema.errors import PlanError, error_path
from inbounds.studio.forms import StatisticChoice, parse_number
from inbounds.studio.plan.draft import TYPES, ColumnChoice, Draft

Values = dict[str, Any]

WRITING = ("delimiter", "decimal", "thousands", "encoding", "header_row")
"""Fields of a source that say how its file is written."""


def content(draft: Draft) -> Values:
    """Return the plain values of a plan, as its file holds them."""
    values: Values = {
        "edition": draft.edition,
        "about": _drop_empty(title=draft.title, author=draft.author, contact=draft.contact, notes=draft.notes),
        "source": place(draft),
        "groups": _groups(draft),
        "hierarchy": {"levels": draft.levels_in_order} if draft.nested else {},
        "people": _people(draft),
        "columns": {column.name: facts for column in draft.columns if (facts := _column(column))},
        "privacy": {"epsilon": parse_number(draft.epsilon)},
        "statistics": [_statistic(k, choice) for k, choice in enumerate(draft.statistics)],
        "output": _drop_empty(path=draft.output, credible_level=parse_number(draft.credible_level)),
    }
    with error_path("more"):
        more = _read(draft.more)
    return _join_lines({name: value for name, value in values.items() if value}, more)


def text(draft: Draft) -> str:
    """Return the text of the plan's file, the same that the command line runs."""
    return dump_toml(content(draft))


def _join_lines(values: Values, more: Values) -> Values:
    """Add further lines to the form's values; a fact that the form states already is refused."""
    for name, value in more.items():
        present = values.get(name)
        if isinstance(present, dict) and isinstance(value, dict) and not present.keys() & value.keys():
            values[name] = {**present, **value}
        elif present is None:
            values[name] = value
        else:
            raise PlanError(f"must not say again what the form says: {name}", ("more",))
    return values


def _read(lines: str) -> Values:
    try:
        return parse_toml(lines)
    except ValueError as error:
        raise PlanError(f"must be lines of TOML: {error}") from None


def _drop_empty(**values: Any) -> Values:
    return {name: value for name, value in values.items() if value not in ("", None)}


def place(draft: Draft) -> Values:
    """Return where the data is, and how its file is written."""
    where = {"url": draft.url} if draft.url else {"path": draft.source}
    written = {name: getattr(draft, name) for name in WRITING} | {"header_row": parse_number(draft.header_row)}
    return _drop_empty(**where, table=draft.table, **written)


def _groups(draft: Draft) -> Values:
    keys = _keys(draft) if draft.by else None
    sizes = {draft.sizes if draft.sizes in ("size", "max_size") else "size": parse_number(draft.size)}
    sizes["typical"] = [parse_number(part.strip()) for part in draft.typical.split(",")] if draft.typical else ""
    period = {column.name: column.period for column in draft.columns if column.use == "group" and column.period}
    return _drop_empty(by=draft.by or None, keys=keys, **sizes, missing_key=draft.missing_key, period=period or None)


def _keys(draft: Draft) -> Any:
    if draft.keys_from == "file":
        return draft.file
    if draft.keys_from == "listed" and len(draft.by) > 1:
        return [[part.strip() for part in line.split("|")] for line in _lines(draft.listed)]
    lists = {name: _lines(draft.column(name).keys) for name in draft.by}
    return lists[draft.by[0]] if len(lists) == 1 else lists


def _people(draft: Draft) -> Values:
    person = next((column.name for column in draft.columns if column.use == "person"), "")
    most = {name: parse_number(getattr(draft, name)) for name in ("max_records", "max_groups") if person}
    one_each = draft.used["one_record_each"]
    return _drop_empty(name=draft.people, ledger=draft.ledger, id=person, one_record_each=one_each or None, **most)


def _column(column: ColumnChoice) -> Values | None:
    if column.use == "number":
        numbers = {name: parse_number(getattr(column, name)) for name in ("low", "high", "step", "missing")}
        return _drop_empty(**numbers) or {"type": "number"}
    if column.use == "labels":
        return _drop_empty(
            labels=[label.strip() for label in column.labels.split(",") if label.strip()], other=column.other
        )
    return {"type": TYPES[column.use]} if column.use in TYPES else None


def _statistic(number: int, choice: StatisticChoice) -> Values:
    with error_path("statistics", number):
        return _join_lines(choice.to_values(), _read(choice.more))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


# --- from a plan's file -----------------------------------------------------------------------------------


def from_content(content: Mapping[str, Any], schema: Mapping[str, str], plan: str) -> Draft:
    """Return the choices of an existing plan; what has no field in the form becomes further lines."""
    try:
        return _from_content(content, schema, plan)
    except PlanError as error:
        raise error.with_place(plan) from None
    except (AttributeError, LookupError, TypeError, ValueError):
        raise PlanError("has a form that cannot be shown here; correct it in an editor", place=plan) from None


def _from_content(content: Mapping[str, Any], schema: Mapping[str, str], plan: str) -> Draft:
    left: Values = {name: dict(part) if isinstance(part, Mapping) else part for name, part in content.items()}
    take = _Taker(left)
    groups, group_columns = _groups_from(take), _names_in(content.get("groups", {}).get("by", []))
    declared, period = left.pop("columns", {}), take("groups", "period", {})
    columns = [_column_from(name, kind, declared.get(name)) for name, kind in schema.items()]
    special = dict.fromkeys(take("people", "one_record_each", []), "one_record_each")
    special |= {take("people", "id", ""): "person"} | dict.fromkeys(group_columns, "group")
    levels = left.get("hierarchy", {}).get("levels", [])
    plain = left.get("hierarchy", {}) == {"levels": levels} and levels in (group_columns, [ALL, *group_columns])
    nested = plain and bool(left.pop("hierarchy", None))
    columns = [
        replace(
            column,
            use=special.get(column.name, column.use),
            keys=groups["lists"].get(column.name, ""),
            period=period.get(column.name, "") if group_columns else "",
        )
        for column in columns
    ]
    single = {name: _format_value(take(part, key, "")) for name, (part, key) in PLACES.items()}
    statistics = tuple(_statistic_from(k, entry) for k, entry in enumerate(left.pop("statistics", [])))
    draft = Draft(
        tuple(columns), statistics, **single, **groups["single"],
        nested="yes" if nested else "", levels=", ".join(levels) if nested else "",
        edition=_format_value(left.pop("edition", "")), plan=plan,
    )  # fmt: skip
    return replace(draft, more=dump_toml({name: part for name, part in left.items() if part}))


PLACES = {
    "source": ("source", "path"), "url": ("source", "url"), "table": ("source", "table"),
    **{name: ("source", name) for name in WRITING},
    **{name: ("about", name) for name in ("title", "author", "contact", "notes")},
    "missing_key": ("groups", "missing_key"), "max_records": ("people", "max_records"),
    "max_groups": ("people", "max_groups"), "people": ("people", "name"), "ledger": ("people", "ledger"),
    "epsilon": ("privacy", "epsilon"), "credible_level": ("output", "credible_level"), "output": ("output", "path"),
}  # fmt: skip
"""Fields of the form that stand in one place of a plan."""


class _Taker:
    """Takes the values that have a field in the form; the rest becomes further lines."""

    def __init__(self, left: Values) -> None:
        self.left = left

    def __call__(self, part: str, key: str, usual: Any) -> Any:
        return self.left.get(part, {}).pop(key, usual)


def _groups_from(take: _Taker) -> dict[str, Any]:
    group_columns, keys = _names_in(take("groups", "by", [])), take("groups", "keys", None)
    groups = take.left.get("groups", {})
    sizes = "max_size" if "max_size" in groups else "size"
    plain = not isinstance(groups.get(sizes), list | Mapping)  # sizes for each group stay a further line
    single = {
        "sizes": sizes,
        "keys_from": "combined",
        "size": _format_value(take("groups", sizes, "")) if plain else "",
        "typical": _format_typical(take("groups", "typical", "")),
    }
    lists: dict[str, str] = {}
    if isinstance(keys, str):
        single |= {"keys_from": "file", "file": keys}
    elif isinstance(keys, Mapping):
        lists = {name: "\n".join(map(_format_value, values)) for name, values in keys.items()}
    elif isinstance(keys, Sequence) and len(group_columns) == 1:
        lists = {group_columns[0]: "\n".join(map(_format_value, keys))}
    elif isinstance(keys, Sequence):
        single |= {"keys_from": "listed", "listed": "\n".join(" | ".join(map(_format_value, row)) for row in keys)}
    return {"lists": lists, "single": single}


def _format_typical(value: Any) -> str:
    """Write a typical size as the form has it: 235, or 100, 300."""
    return ", ".join(map(_format_value, value)) if isinstance(value, list) else _format_value(value)


def _column_from(name: str, kind: str, facts: Mapping[str, Any] | None) -> ColumnChoice:
    choice = ColumnChoice(name, kind)
    if facts is None:
        return choice
    if "labels" in facts:
        labels = ", ".join(map(_format_value, facts["labels"]))
        return replace(choice, use="labels", labels=labels, other=_format_value(facts.get("other", "")))
    if "low" in facts or "high" in facts:
        numbers = {n: _format_value(facts[n]) for n in ("low", "high", "step", "missing") if n in facts}
        return replace(choice, use="number", **numbers)
    use = next((use for use, kind in TYPES.items() if kind == facts.get("type")), "text")
    return replace(choice, use=use)


def _statistic_from(number: int, entry: Mapping[str, Any]) -> StatisticChoice:
    with error_path("statistics", number):
        return StatisticChoice.from_values(entry)


def _names_in(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _format_value(value: Any) -> str:
    return "" if value is None else str(value)

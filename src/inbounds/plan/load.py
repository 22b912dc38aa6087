"""Load plans from TOML files: plain values to frozen ones. Every error names the line it is about."""

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast, get_args

from inbounds.exact import to_fraction, to_int
from inbounds.files.bounded import parse_toml, read_text
from inbounds.plan.hierarchy import Hierarchy, parse_hierarchy
from inbounds.plan.plan import CHANGE, Plan
from inbounds.schema.columns import (
    Declared,
    PlainColumn,
    PrivacyUnit,
    label_column,
    number_codes,
    number_column,
    text_spelling,
)
from inbounds.schema.condition import tree
from inbounds.schema.errors import LineIndex, PlanError, error_path, index_lines
from inbounds.schema.record_types import AboutRecord
from inbounds.schema.types import check_known_fields
from inbounds.sources.groups import check_keys_not_data, parse_groups, resolve_key_source
from inbounds.sources.open import Source
from inbounds.statistics import Statistic
from inbounds.statistics.designs import DESIGN_FIELDS, DesignOptions, parse_design_options
from inbounds.statistics.entries import parse_statistic

Values = Mapping[str, Any]

PARTS = (
    "source", "groups", "columns", "privacy", "statistics", "design", "output", "people", "edition", "hierarchy",
    "where", "draft", "about",
)  # fmt: skip
FIELDS: dict[str, tuple[str, ...]] = {
    "source": ("path", "url", "table", "engine", "delimiter", "decimal", "thousands", "encoding", "header_row"),
    "groups": ("by", "keys", "size", "max_size", "typical", "missing_key", "period"),
    "column": (
        "type",
        "low",
        "high",
        "step",
        "missing",
        "labels",
        "other",
        "ignore_case",
        "trim",
        "missing_codes",
        "max_length",
    ),
    "privacy": ("epsilon", "neighbours", "delta", "persons", "allow_large_delta"),
    "design": DESIGN_FIELDS,
    "output": ("path", "credible_level"),
    "hierarchy": ("levels", "weights", "shares"),
    "about": ("title", "author", "contact", "notes"),
    "people": ("name", "ledger", "id", "max_records", "max_groups", "one_record_each"),
}


LONGEST_ABOUT = 10_000
"""The most characters of a text about a release."""

SPELLED = ("ignore_case", "trim", "missing_codes")
"""Fields of a column of text that say how its texts are read."""

PlanLike = Plan | Mapping[str, Any] | str | os.PathLike[str]


def to_plan(plan: PlanLike, frame: Any = None, person: str | None = None) -> Plan:
    """Convert any form of a plan; replace its source by `frame` and its id column by `person` if given."""
    if person is not None:
        return _about_persons(to_plan(plan, frame), person)
    if isinstance(plan, Plan):
        reads = (*plan.reads, plan.source.path)
        return replace(plan, source=Source(frame=frame), reads=reads) if frame is not None else plan
    if isinstance(plan, Mapping):
        return parse_plan(plan, frame=frame)
    if not isinstance(plan, str | os.PathLike):
        kind = type(plan).__name__
        raise TypeError(f"plan must be a Plan, a TOML file or the values of one, got {kind}; the frame comes after it")
    return load_plan(plan, frame=frame)


def _about_persons(plan: Plan, person: str) -> Plan:
    """Replace the id column; a plan that protected records then protects persons."""
    neighbours = plan.neighbours if plan.neighbours == CHANGE and not plan.groups.public else ""
    return replace(plan, people=replace(plan.people, id=person), neighbours=neighbours)


def load_plan(path: str | os.PathLike[str], *, frame: Any = None) -> Plan:
    """Load the plan in a TOML file. Paths in it are relative to its folder. A frame replaces its source."""
    file = Path(path)
    try:
        text = read_text(file)
    except UnicodeDecodeError:
        raise PlanError("must be a TOML file in UTF-8", place=file.name) from None
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise PlanError(f"is not TOML: {error}", place=file.name) from None
    return parse_plan(content, folder=file.parent, file=file, lines=index_lines(text, file.name), frame=frame)


def parse_plan(
    content: Values,
    *,
    folder: Path | None = None,
    file: Path | None = None,
    lines: LineIndex | None = None,
    frame: Any = None,
) -> Plan:
    """Build a plan from the plain values of a TOML file. Raises PlanError.

    folder: where relative paths start. file: the file of the plan. frame: replaces the source's path.
    """
    try:
        return _plan(content, folder or Path(), file, lines, frame)
    except PlanError as error:
        raise (error.with_place(lines.place(error.path)) if lines else error) from None


def _plan(content: Values, folder: Path, file: Path | None, lines: LineIndex | None, frame: Any) -> Plan:
    _check_parts(content)
    declared_paths = plan_source_paths(content, folder)
    privacy, output = _part(content, "privacy"), _part(content, "output")
    if "epsilon" not in privacy:
        raise PlanError("must be given", ("privacy", "epsilon"))
    source = parse_source(_part(content, "source") if frame is None else {}, folder, frame)
    with error_path("groups"):
        group_values = _fields(content, "groups")
    check_keys_not_data(resolve_key_source(group_values.get("keys"), folder), source, declared_paths)  # before a read
    with error_path("groups"):
        groups = parse_groups(**group_values, folder=folder)
    with error_path("design"):
        options = parse_design_options(_part(content, "design"))
    credible_level = output.get("credible_level")
    return Plan(
        source=source,
        groups=groups,
        columns=parse_columns(content.get("columns", {})),
        statistics=parse_statistics(content.get("statistics"), options),
        epsilon=privacy["epsilon"],
        neighbours=privacy.get("neighbours", ""),
        delta=privacy.get("delta", Fraction(0)),
        persons=privacy.get("persons"),
        allow_large_delta=_allows_large_delta(privacy),
        design=options,
        credible_level=None if credible_level is None else _exact_in(credible_level, "output", "credible_level"),
        output=str(folder / output["path"]) if "path" in output else "",
        lines=lines,
        reads=declared_paths if file is None else (str(file), *declared_paths),
        people=parse_privacy_unit(_part(content, "people"), folder),
        edition=_text(content.get("edition", ""), "edition"),
        draft=_flag(content.get("draft", False), "draft"),
        about=parse_about(_part(content, "about")),
        hierarchy=_hierarchy(content),
        where=_text(content.get("where", ""), "where"),
    )


def _allows_large_delta(privacy: Values) -> bool:
    with error_path("privacy"):
        return _flag(privacy.get("allow_large_delta", False), "allow_large_delta")


def _hierarchy(content: Values) -> Hierarchy | None:
    if "hierarchy" not in content:
        return None
    with error_path("hierarchy"):
        return parse_hierarchy(_fields(content, "hierarchy"))


def parse_privacy_unit(values: Values, folder: Path) -> PrivacyUnit:
    """Parse [people]; a ledger's path is relative to the plan's folder."""
    with error_path("people"):
        one_each = values.get("one_record_each", [])
        if not isinstance(one_each, list) or not all(isinstance(name, str) for name in one_each):
            raise PlanError("must be a list of columns", ("one_record_each",))
        texts = [name for name in values if not name.startswith("max_") and name != "one_record_each"]
        unit: dict[str, Any] = {name: _text(values[name], name) for name in texts}
        unit |= {"one_record_each": tuple(one_each)} if one_each else {}
        unit |= {name: values[name] for name in values if name.startswith("max_")}
        if unit.get("id", "id") == "":
            raise PlanError("must name the column that says whose a record is, got ''", ("id",))
        if "://" not in unit.get("ledger", "://"):
            unit["ledger"] = str(folder / unit["ledger"])
        return PrivacyUnit(**unit)


def parse_about(values: Values) -> AboutRecord:
    """Parse [about]: texts for readers."""
    with error_path("about"):
        about: dict[str, Any] = {name: _text(value, name) for name, value in values.items()}
        for name, text in about.items():
            if len(text) > LONGEST_ABOUT:
                raise PlanError(f"must have at most {LONGEST_ABOUT} characters, got {len(text)}", (name,))
    return cast(AboutRecord, about)


def parse_source(values: Values, folder: Path, frame: Any = None) -> Source:
    """Parse [source]; its path is relative to the plan's folder."""
    with error_path("source"):
        check_known_fields("source", values, FIELDS["source"])
        fields: dict[str, Any] = {name: _text(values[name], name) for name in values if name != "header_row"}
        if "header_row" in values:
            fields["header_row"] = to_int(values["header_row"], "header_row", 1)
        if "path" in fields:
            fields["path"] = str(folder / fields["path"])
        return Source(**fields, frame=frame)


def plan_source_paths(content: Values, folder: Path) -> tuple[str, ...]:
    """Return the file that the plan names as its source, even if a frame replaces it."""
    source = content.get("source", {})
    path = source.get("path") if isinstance(source, Mapping) else None  # what is no table is refused by `parse_source`
    return (str(folder / path),) if isinstance(path, str | Path) else ()


def parse_columns(values: Any) -> dict[str, Declared]:
    """Parse [columns]: low and high make a number, labels a category, type a plain column."""
    if not isinstance(values, Mapping):
        raise PlanError("must be tables such as [columns.age]", ("columns",))
    columns = {}
    for name, column in values.items():
        with error_path("columns", name):
            columns[name] = parse_column(column)
    return columns


def parse_column(values: Any) -> Declared:
    """Parse one declared column."""
    if not isinstance(values, Mapping):
        raise PlanError("must be a table such as { low = 0, high = 10 }")
    check_known_fields("column", values, FIELDS["column"])
    implied = "number" if {"low", "high"} & set(values) else "text" if "labels" in values else values.get("type")
    if values.get("type", implied) != implied:
        raise PlanError(f"must be {implied} beside what else is declared, got {values['type']!r}", ("type",))
    if "low" in values or "high" in values:
        names = _only(values, "low", "high", "step", "missing", "type", "missing_codes")
        return number_column(**{name: values[name] for name in names})
    if "labels" in values:
        names = _only(values, "labels", "other", "type", *SPELLED)
        return label_column(**{name: values[name] for name in names})
    if values.get("type") not in get_args(tree.Type):
        raise PlanError('must give low and high, or labels, or type = "number", "text" or "boolean"')
    length = values.get("max_length", 0)
    if "max_length" in values and (type(length) is not int or length < 1):
        raise PlanError(f"must be a whole number of at least 1, got {length!r}", ("max_length",))
    if values["type"] == "number":
        _only(values, "type", "missing_codes", "max_length")
        codes = number_codes(values.get("missing_codes", ()))
        return PlainColumn("number", missing_codes=codes, max_length=length)
    names = _only(values, "type", "max_length", *(SPELLED if values["type"] == "text" else ()))
    spelling = text_spelling(**{name: values[name] for name in names if name != "max_length"})
    return PlainColumn(values["type"], spelling, max_length=length)


def _only(values: Values, *names: str) -> list[str]:
    """Return the names other than `type`; raise PlanError for a name that does not belong beside them."""
    for name in values:
        if name not in names:
            raise PlanError(f"does not belong beside {names[0]}", (name,))
    if "high" in names:
        for name in ("low", "high"):
            if name not in values:
                raise PlanError(f"must be given beside {'high' if name == 'low' else 'low'}", (name,))
    return [name for name in values if name != "type"]


def parse_statistics(values: Any, options: DesignOptions) -> tuple[Statistic, ...]:
    """Parse [[statistics]]; each has the plan's design options, except those it sets itself."""
    if not isinstance(values, list | tuple):
        raise PlanError("must be given as a list, each as [[statistics]]", ("statistics",))
    statistics: list[Statistic] = []
    for k, statistic in enumerate(values):
        with error_path("statistics", k):
            statistics.append(parse_statistic(statistic, options))
    return tuple(statistics)


def _check_parts(content: Values) -> None:
    """Raise PlanError for an unknown part of a plan, or for a key outside its part."""
    for name in content if isinstance(content, Mapping) else ():
        parts = [part for part in PARTS if name not in PARTS and name in FIELDS.get(part, ())]
        if parts:
            raise PlanError(f"belongs into {' or '.join(f'[{part}]' for part in parts)}", (name,))
    check_known_fields("plan", content, PARTS)


def _part(content: Values, name: str) -> Values:
    return _check(content.get(name, {}), name)


def _check(values: Any, name: str) -> Values:
    with error_path(name):
        check_known_fields(name, values, FIELDS[name])
    return values  # type: ignore[no-any-return]


def _fields(content: Values, name: str) -> dict[str, Any]:
    check_known_fields(name, content.get(name, {}), FIELDS[name])
    return dict(content.get(name, {}))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise PlanError(f"must be text in quotes, got {value!r}", (name,))
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise PlanError(f"must be true or false, got {value!r}", (name,))
    return value


def _exact_in(value: Any, *path: str) -> Fraction:
    with error_path(*path):
        return to_fraction(value, path[-1])

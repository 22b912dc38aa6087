"""Plans from TOML files: plain values to frozen ones; every error names the line it is about."""

import difflib
import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from inbounds.exact import to_fraction
from inbounds.files.bounded import parse_toml, read_text
from inbounds.plan.hierarchy import Hierarchy, parse_hierarchy
from inbounds.plan.plan import CHANGE, Plan, Statistic
from inbounds.schema.columns import Declared, PlainColumn, PrivacyUnit, label_column, number_column
from inbounds.schema.condition import tree
from inbounds.schema.errors import LineIndex, PlanError, error_path, index_lines
from inbounds.sources.groups import check_keys_not_data, parse_groups, resolve_key_source
from inbounds.sources.open import Source
from inbounds.statistics import CONDITIONS, CROSSES, KINDS
from inbounds.statistics.crosstab import CROSS
from inbounds.statistics.designs import USUAL, DesignOptions, find_catalog_entry

Values = Mapping[str, Any]

PARTS = (
    "source", "groups", "columns", "privacy", "statistics", "design", "output", "people", "edition", "hierarchy",
    "where",
)  # fmt: skip
WISHES = ("loss", "properties", "prior", "aim", "mechanism", "limits")
FIELDS: dict[str, tuple[str, ...]] = {
    "source": ("path", "url", "table", "engine", "delimiter", "decimal"),
    "groups": ("by", "keys", "size", "max_size", "missing_key", "period"),
    "column": ("type", "low", "high", "step", "missing", "labels", "other"),
    "privacy": ("epsilon", "neighbours"),
    "statistic": (*KINDS, "name", "epsilon", "budget_share", "sum_to_size", "margins", *WISHES),
    "design": WISHES,
    "output": ("path", "credible_level"),
    "hierarchy": ("levels", "weights", "shares"),
    "people": ("name", "ledger", "id", "max_records", "max_groups"),
}


PlanLike = Plan | Mapping[str, Any] | str | os.PathLike[str]


def to_plan(plan: PlanLike, frame: Any = None, person: str | None = None) -> Plan:
    """A plan from any of its forms, its source replaced by a frame and its people's id by `person`, if given."""
    if person is not None:
        return _about_persons(to_plan(plan, frame), person)
    if isinstance(plan, Plan):
        reads = (*plan.reads, plan.source.path)
        return replace(plan, source=Source(frame=frame), reads=reads) if frame is not None else plan
    if isinstance(plan, Mapping):
        return replace(parse_plan(plan, frame=frame), reads=plan_source_paths(plan, Path()))
    if not isinstance(plan, str | os.PathLike):
        kind = type(plan).__name__
        raise TypeError(f"plan must be a Plan, a TOML file or the values of one, got {kind}; the frame comes after it")
    return load_plan(plan, frame=frame)


def _about_persons(plan: Plan, person: str) -> Plan:
    """The plan with this column for the id; what it promised of records it promises of persons."""
    before = plan.neighbours if plan.neighbours == CHANGE and not plan.groups.public else ""
    return replace(plan, people=replace(plan.people, id=person), neighbours=before)


def load_plan(path: str | os.PathLike[str], *, frame: Any = None) -> Plan:
    """The plan in a TOML file; files it names are relative to its folder. A frame takes the place of its source."""
    file = Path(path)
    try:
        text = read_text(file)
    except UnicodeDecodeError:
        raise PlanError("must be a TOML file in UTF-8", place=file.name) from None
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise PlanError(f"is not TOML: {error}", place=file.name) from None
    plan = parse_plan(content, folder=file.parent, lines=index_lines(text, file.name), frame=frame)
    return replace(plan, reads=(str(file), *plan_source_paths(content, file.parent)))


def parse_plan(
    content: Values, *, folder: Path | None = None, lines: LineIndex | None = None, frame: Any = None
) -> Plan:
    """A plan from the plain values that a TOML file holds; `frame` takes the place of a source's path."""
    try:
        return _plan(content, folder or Path(), lines, frame)
    except PlanError as error:
        raise (error.with_place(lines.place(error.path)) if lines else error) from None


def _plan(content: Values, folder: Path, lines: LineIndex | None, frame: Any) -> Plan:
    _check_parts(content)
    privacy, output = _part(content, "privacy"), _part(content, "output")
    if "epsilon" not in privacy:
        raise PlanError("must be given", ("privacy", "epsilon"))
    source = parse_source(_part(content, "source") if frame is None else {}, folder, frame)
    with error_path("groups"):
        asked = _fields(content, "groups")
    check_keys_not_data(
        resolve_key_source(asked.get("keys"), folder), source, plan_source_paths(content, folder)
    )  # before they are read
    with error_path("groups"):
        declared = parse_groups(**asked, folder=folder)
    with error_path("design"):
        wishes = parse_design_options(_part(content, "design"))
    credible_level = output.get("credible_level")
    return Plan(
        source=source,
        groups=declared,
        columns=parse_columns(content.get("columns", {})),
        statistics=parse_statistics(content.get("statistics"), wishes),
        epsilon=privacy["epsilon"],
        neighbours=privacy.get("neighbours", ""),
        wishes=wishes,
        credible_level=None if credible_level is None else _exact_in(credible_level, "output", "credible_level"),
        output=str(folder / output["path"]) if "path" in output else "",
        lines=lines,
        people=parse_privacy_unit(_part(content, "people"), folder),
        edition=_text(content.get("edition", ""), "edition"),
        hierarchy=_hierarchy(content),
        where=_text(content.get("where", ""), "where"),
    )


def _hierarchy(content: Values) -> Hierarchy | None:
    if "hierarchy" not in content:
        return None
    with error_path("hierarchy"):
        return parse_hierarchy(_fields(content, "hierarchy"))


def parse_privacy_unit(values: Values, folder: Path) -> PrivacyUnit:
    """Whom the plan is about; a ledger's path is relative to the plan's folder."""
    with error_path("people"):
        given: dict[str, Any] = {name: _text(values[name], name) for name in values if not name.startswith("max_")}
        given |= {name: values[name] for name in values if name.startswith("max_")}
        if given.get("id", "id") == "":
            raise PlanError("must name the column that says whose a record is, got ''", ("id",))
        if "://" not in given.get("ledger", "://"):
            given["ledger"] = str(folder / given["ledger"])
        return PrivacyUnit(**given)


def parse_source(values: Values, folder: Path, frame: Any = None) -> Source:
    """The source, its path relative to the plan's folder."""
    with error_path("source"):
        check_known_fields("source", values, FIELDS["source"])
        given = {name: _text(values[name], name) for name in values}
        if "path" in given:
            given["path"] = str(folder / given["path"])
        return Source(**given, frame=frame)


def plan_source_paths(content: Values, folder: Path) -> tuple[str, ...]:
    """The file that the plan names, although a frame may take its place."""
    path = content.get("source", {}).get("path")
    return (str(folder / path),) if isinstance(path, str | Path) else ()


def parse_columns(values: Any) -> dict[str, Declared]:
    """The declared columns; low and high make a number, labels a category, type anything else."""
    if not isinstance(values, Mapping):
        raise PlanError("must be tables such as [columns.age]", ("columns",))
    found = {}
    for name, column in values.items():
        with error_path("columns", name):
            found[name] = parse_column(column)
    return found


def parse_column(values: Any) -> Declared:
    if not isinstance(values, Mapping):
        raise PlanError("must be a table such as { low = 0, high = 10 }")
    check_known_fields("column", values, FIELDS["column"])
    implied = "number" if {"low", "high"} & set(values) else "text" if "labels" in values else values.get("type")
    if values.get("type", implied) != implied:
        raise PlanError(f"must be {implied} beside what else is declared, got {values['type']!r}", ("type",))
    if "low" in values or "high" in values:
        return number_column(**{name: values[name] for name in _only(values, "low", "high", "step", "missing", "type")})
    if "labels" in values:
        return label_column(**{name: values[name] for name in _only(values, "labels", "other", "type")})
    if values.get("type") not in get_args(tree.Type):
        raise PlanError('must give low and high, or labels, or type = "number", "text" or "boolean"')
    _only(values, "type")
    return PlainColumn(values["type"])


def _only(values: Values, *names: str) -> list[str]:
    """The given names but `type`; a name that does not belong beside them is refused."""
    for name in values:
        if name not in names:
            raise PlanError(f"does not belong beside {names[0]}", (name,))
    if "high" in names:
        for name in ("low", "high"):
            if name not in values:
                raise PlanError(f"must be given beside {'high' if name == 'low' else 'low'}", (name,))
    return [name for name in values if name != "type"]


def parse_statistics(values: Any, wishes: DesignOptions) -> tuple[Statistic, ...]:
    """The statistics, each with the plan's wishes but for its own."""
    if not isinstance(values, list | tuple):
        raise PlanError("must be given as a list, each as [[statistics]]", ("statistics",))
    found = []
    for k, statistic in enumerate(values):
        with error_path("statistics", k):
            found += _statistics(statistic, wishes)
    return tuple(found)


def _statistics(values: Any, wishes: DesignOptions) -> list[Statistic]:
    """The statistic that a table of the plan asks for; of several quantiles one each, with its part of the epsilon."""
    given = values.get("quantile") if isinstance(values, Mapping) else None
    if given is None:
        return [_statistic(values, wishes)]
    with error_path("quantile"):
        check_known_fields("quantile", given, ("of", "at"))
        if "of" not in given or "at" not in given:
            raise PlanError("must be { of = a column, at = a share such as 0.9, or several in a list }")
        said = given["at"].tolist() if hasattr(given["at"], "tolist") else given["at"]
        shares = said if isinstance(said, list | tuple) else [said]
        if not shares or (len(shares) > 1 and values.get("name")):
            raise PlanError("must have at least one share, and no name where it has several", ("at",))
        several = [_exact_in(share, "at") for share in shares]
        if len(set(several)) < len(several):
            raise PlanError("must have every share once", ("at",))
    own = {name: values[name] for name in values if name != "quantile"}
    parts = {name: _exact_in(own[name], name) / len(several) for name in ("epsilon", "budget_share") if name in own}
    return [_statistic({**own, **parts, "quantile": given["of"]}, wishes, share) for share in sorted(several)]


def _statistic(values: Values, wishes: DesignOptions, share: Fraction | None = None) -> Statistic:
    check_known_fields("statistic", values, FIELDS["statistic"])
    kinds = [kind for kind in KINDS if kind in values]
    if len(kinds) != 1:
        raise PlanError(f"must have exactly one of {', '.join(KINDS)}")
    own = {name: values[name] for name in WISHES if name in values}
    rest = {name: values[name] for name in ("name", "epsilon", "budget_share", "sum_to_size") if name in values}
    if not isinstance(rest.get("sum_to_size", False), bool):
        raise PlanError("must be true or false", ("sum_to_size",))
    rest["name"] = _text(rest.get("name", ""), "name")
    if "margins" in values or KINDS[kinds[0]].over_cells:
        rest["margins"] = _margins(values, kinds[0])
    of = _subject(values[kinds[0]], kinds[0])
    return Statistic(kinds[0], of, wishes=parse_design_options(own, wishes) if own else None, at=share, **rest)


def _margins(values: Values, kind: str) -> tuple[str, ...]:
    """The columns of a crosstab that are counted by themselves as well: both, unless the plan says which."""
    margins = values.get("margins", values[kind])
    if not isinstance(margins, list) or not all(isinstance(name, str) for name in margins):
        raise PlanError("must be a list of columns of the crosstab", ("margins",))
    return tuple(margins)


def _subject(value: Any, kind: str) -> str:
    if KINDS[kind].domain is CROSSES:
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(name, str) for name in value):
            raise PlanError(f'must be two columns of labels, such as ["gender", "answer"], got {value!r}', (kind,))
        return CROSS.join(value)
    if KINDS[kind].domain is CONDITIONS and value is True:
        raise PlanError(f'must be a condition in quotes; {kind} = "true" counts all records', (kind,))
    return _text(value, kind)


def parse_design_options(values: Values, outer: DesignOptions | None = None) -> DesignOptions:
    """Wishes as written, on top of those of the plan."""
    check_known_fields("design", values, WISHES)
    base = outer or USUAL
    said = {name: values.get(name, getattr(base, name)) for name in WISHES}
    if "prior" in values:
        said["prior"] = _prior(values["prior"])
    for name, what in (("properties", "names"), ("limits", "limits such as 'off-by-more-than-2=0.05'")):
        if isinstance(said[name], str):
            raise PlanError(f"must be a list of {what}", (name,))
        said[name] = tuple(said[name])
    with error_path("mechanism"):
        if said["mechanism"] != "optimal":
            find_catalog_entry(said["mechanism"])
    return DesignOptions(**said)


def _prior(value: Any) -> tuple[Any, ...]:
    """A named prior: "uniform", { binomial = 0.3 }, { normal = [5, 2] }."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Mapping) or len(value) != 1:
        raise PlanError(
            'must be "uniform" or one of { binomial = p }, { normal = [mean, deviation] }, { beta = [a, b] }',
            ("prior",),
        )
    ((name, numbers),) = value.items()
    listed = numbers if isinstance(numbers, list) else [numbers]
    return (name, *(_exact_in(number, "prior") for number in listed))


def check_known_fields(what: str, values: Any, names: tuple[str, ...]) -> None:
    """Refuse a key that nothing reads: a misspelt wish would be silently ignored."""
    if not isinstance(values, Mapping):
        raise PlanError(f"must be a table with some of: {', '.join(names)}")
    for name in values:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(names)}"
            raise PlanError(f"is not a field of a {what}{hint}", (name,))


def _check_parts(content: Values) -> None:
    """Refuse what is no part of a plan; what belongs into one of them is said to."""
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


def _exact_in(value: Any, *path: str) -> Fraction:
    with error_path(*path):
        return to_fraction(value, path[-1])

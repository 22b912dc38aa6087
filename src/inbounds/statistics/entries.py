"""Statistics as people write them: `mean = "age"`, with further fields and design options beside it.

The kind is the key and its subject the value; in one line, `quantile = { of = "score", at = 0.9 }`. The model behind it
has `kind` and `column`.
"""

from collections.abc import Mapping
from typing import Any

from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.types import check_known_fields
from inbounds.statistics import STATISTICS
from inbounds.statistics.base import Statistic
from inbounds.statistics.designs import DESIGN_FIELDS, DesignOptions, parse_design_options

NOT_BESIDE = ("kind", "design")
"""Fields of a model that are written otherwise: the kind is a key, and design options stand beside it."""


def entry_fields(statistic: type[Statistic]) -> tuple[str, ...]:
    """Return the names of the fields that are written beside the kind, without design options."""
    return tuple(name for name in statistic.model_fields if name not in (*NOT_BESIDE, statistic.subject))


FIELDS = tuple(dict.fromkeys(name for statistic in STATISTICS.values() for name in entry_fields(statistic)))
"""The fields that are written beside some kind, without design options."""

KNOWN = (*STATISTICS, *FIELDS, *DESIGN_FIELDS)


def find_kind(values: Mapping[str, Any], what: str = "") -> str:
    """Return the kind that a table of fields names; raise PlanError unless there is exactly one."""
    kinds = [kind for kind in STATISTICS if kind in values]
    if len(kinds) != 1:
        got = f", got {' and '.join(kinds) or 'none'}"
        raise PlanError(f"{what}must have exactly one of {', '.join(STATISTICS)}{got}")
    return kinds[0]


def parse_statistic(values: Any, options: DesignOptions) -> Statistic:
    """Parse one table of a plan.

    options: the plan's design options, which hold unless the table sets them itself.
    """
    check_known_fields("statistic", values, KNOWN)
    kind = find_kind(values)
    statistic, values = STATISTICS[kind], flatten_entry(values)
    fields: dict[str, Any] = {}
    for name in values:
        if name in statistic.model_fields:
            fields[name] = values[name]
        elif name in FIELDS:
            _check_absent(name, values[name], kind)
    design = {name: values[name] for name in DESIGN_FIELDS if name in values}
    if design:
        fields["design"] = parse_design_options(design, options)
    if values[kind] is True and statistic.subject == "condition":
        raise PlanError(f'must be text in quotes; {kind} = "true" is about all records', (kind,))
    return _build(statistic, kind, {statistic.subject: values[kind], **fields})


def flatten_entry(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with its fields side by side. It may hold a table: `quantile = { of = "score", at = 0.9 }`."""
    kind = find_kind(values)
    table = values[kind]
    if not isinstance(table, Mapping):
        return dict(values)
    with error_path(kind):
        check_known_fields(kind, table, ("of", *entry_fields(STATISTICS[kind])))
        for name in table:
            if name in values:
                raise PlanError("is given twice", (name,))
        if "of" not in table:
            raise PlanError("must be given", ("of",))
    return {**values, **{kind if name == "of" else name: value for name, value in table.items()}}


def _check_absent(name: str, value: Any, kind: str) -> None:
    """Raise PlanError for a field of other kinds, unless it says what holds for this one anyway: false, or no list."""
    owners = [other for other in STATISTICS if name in STATISTICS[other].model_fields]
    default = STATISTICS[owners[0]].model_fields[name].default
    if not (value is default or (default == () and isinstance(value, list) and not value)):
        raise PlanError(f"is meant for {' or '.join(owners)}, not for {kind}", (name,))


def statistic_from_json(values: Mapping[str, Any]) -> Statistic:
    """Build a statistic from the plain values of a record. Raises PlanError for an unknown kind."""
    if values.get("kind") not in STATISTICS:
        raise PlanError(f"must be one of {', '.join(STATISTICS)}", ("kind",))
    return STATISTICS[values["kind"]](**values)


def _build(statistic: type[Statistic], kind: str, fields: Mapping[str, Any]) -> Statistic:
    """Build the model; an error about its subject is an error about the key that is written."""
    try:
        return statistic(**fields)
    except PlanError as error:
        if error.path[:1] == (statistic.subject,):
            raise PlanError(error.message, (kind, *error.path[1:])) from None
        raise

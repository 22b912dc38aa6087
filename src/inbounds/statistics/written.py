"""Statistics as people write them: `mean = "age"`, with further fields and design options beside it.

The kind is the key and its subject the value. The model behind it has `kind` and `column`.
"""

from collections.abc import Mapping
from typing import Any

from inbounds.schema.errors import PlanError
from inbounds.schema.types import check_known_fields
from inbounds.statistics import STATISTICS
from inbounds.statistics.base import Statistic
from inbounds.statistics.designs import DESIGN_FIELDS, DesignOptions, parse_design_options

UNWRITTEN = ("kind", "design")
"""Fields of a model that are written otherwise: the kind is a key, and design options stand beside it."""


def written_fields(statistic: type[Statistic]) -> tuple[str, ...]:
    """Return the names of the fields that are written beside the kind, without design options."""
    return tuple(name for name in statistic.model_fields if name not in (*UNWRITTEN, statistic.subject))


def find_kind(values: Mapping[str, Any], what: str = "") -> str:
    """Return the kind that a table of fields names; raise PlanError unless there is exactly one."""
    kinds = [kind for kind in STATISTICS if kind in values]
    if len(kinds) != 1:
        got = f", got {' and '.join(kinds) or 'none'}"
        raise PlanError(f"{what}must have exactly one of {', '.join(STATISTICS)}{got}")
    return kinds[0]


def parse_statistic(values: Any, options: DesignOptions) -> list[Statistic]:
    """Parse one table of a plan: one statistic, or several for a list of quantiles, which share its epsilon.

    options: the plan's design options, which hold unless the table sets them itself.
    """
    everything = {name: None for kind in STATISTICS.values() for name in written_fields(kind)}
    check_known_fields("statistic", values, (*STATISTICS, *everything, *DESIGN_FIELDS))
    kind = find_kind(values)
    statistic = STATISTICS[kind]
    fields = {name: values[name] for name in values if name in everything}
    for name in fields:
        if name not in statistic.model_fields:
            owners = [other for other in STATISTICS if name in STATISTICS[other].model_fields]
            raise PlanError(f"is meant for {' or '.join(owners)}, not for {kind}", (name,))
    design = {name: values[name] for name in DESIGN_FIELDS if name in values}
    if design:
        fields["design"] = parse_design_options(design, options)
    if values[kind] is True:
        raise PlanError(f'must be text in quotes; {kind} = "true" counts all records', (kind,))
    return [_build(statistic, kind, each) for each in statistic.expand({statistic.subject: values[kind], **fields})]


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

"""A question: one statistic of a plan, with condition, groups and epsilon, in canonical form.

Two questions with the same canonical form are the same question and get the same stored answer. The order of conditions
and groups, the spelling of numbers and quotation marks around names do not matter.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from inbounds.curator.dataset import Dataset
from inbounds.exact import format_decimal, to_epsilon
from inbounds.files import canonical_json, sha256_hex
from inbounds.plan.load import DESIGN_FIELDS, check_known_fields, parse_statistics
from inbounds.plan.plan import CHANGE, Plan, Statistic
from inbounds.releases.charge_session import release_identity
from inbounds.schema.condition.canonical import canonical_text
from inbounds.schema.condition.tree import columns_used
from inbounds.schema.errors import PlanError, error_path
from inbounds.statistics import CONDITIONS, KINDS
from inbounds.statistics.designs import DEFAULT_OPTIONS, DesignOptions

FIELDS = (*KINDS, "where", "by", "epsilon", "sum_to_size", "margins", *DESIGN_FIELDS, "redraw", "allow_useless")

LONGEST_CONDITION = 4000
"""Characters of a condition that is asked. A stored one may be longer: two are joined, and numbers spelled out."""

EVERYTHING = "true"
"""The condition that every record meets."""


@dataclass(frozen=True)
class Question:
    """One statistic about the groups of a dataset, in canonical form; made by `parse_question`.

    where: the condition that a record must meet to count; for a count it is part of the statistic's condition.
    by: the columns of groups, in the dataset's order; none means all people as one group.
    epsilon: None if the dataset's levels state it.
    redraw: draw a new answer even if a sum of stored cells, or an answer at a larger epsilon, would do.
    allow_useless: answer even if no answer is expected to be better than a constant.
    """

    statistic: Statistic
    by: tuple[str, ...] = ()
    where: str = ""
    epsilon: Fraction | None = None
    design: DesignOptions = DEFAULT_OPTIONS
    redraw: bool = False
    allow_useless: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the question as plain values that `parse_question` reads back."""
        one = self.statistic
        values: dict[str, Any] = {one.kind: one.of if one.at is None else {"of": one.of, "at": format_decimal(one.at)}}
        if one.definition.over_cells:
            values = {one.kind: list(one.definition.margins(one.of)), "margins": list(one.margins)}
        if one.sum_to_size:
            values["sum_to_size"] = True
        if self.where:
            values["where"] = self.where
        values["by"] = list(self.by)
        if self.epsilon is not None:
            values["epsilon"] = format_decimal(self.epsilon)
        return values | _options_to_json(self.design)

    def to_plan(self, dataset: Dataset, epsilon: Fraction) -> Plan:
        """Return the plan that answers the question at an epsilon; it declares only the columns that it uses."""
        groups, neighbours = dataset.groups_by(self.by), dataset.neighbours
        if (
            self.where and groups.public
        ):  # the number of records that meet it is not public: a changed record may start or stop to meet it
            groups, neighbours = replace(groups, public=False), CHANGE
        names = {*self.statistic.definition.domain.reads(self.statistic.of), *_condition_columns(self.where)}
        with _shorten_error_paths():
            return Plan(
                source=dataset.source,
                groups=groups,
                columns={name: column for name, column in dataset.columns.items() if name in names},
                statistics=(self.statistic,),
                epsilon=epsilon,
                neighbours=neighbours,
                design=self.design,
                credible_level=dataset.credible_level,
                people=replace(dataset.people, ledger=""),
                edition=dataset.edition,
                where=self.where,
            )


@dataclass(frozen=True)
class QuestionIdentity:
    """Digests that identify a question. base: without its epsilon. family: without its epsilon and groups."""

    base: str
    family: str

    @staticmethod
    def from_plan(dataset: Dataset, plan: Plan) -> "QuestionIdentity":
        """Build the identity from the plan, source, people and edition: declared facts only, nothing from the data."""
        identity = release_identity(plan)
        facts = {name: value for name, value in identity["plan"].items() if name != "epsilon"}
        levels = [str(epsilon) for epsilon in dataset.levels.values()]
        base = {**identity, "plan": facts, "dataset": dataset.name, "levels": levels}
        apart = ("by", "groups", "keys_sha256", "missing_key", "period")
        family = {**base, "plan": {name: value for name, value in facts.items() if name not in apart}}
        return QuestionIdentity(sha256_hex(canonical_json(base)), sha256_hex(canonical_json(family)))

    def key(self, epsilon: Fraction) -> str:
        """Return the key of the question in the ledger, the same for all accounts."""
        return sha256_hex(canonical_json({"question": self.base, "epsilon": str(epsilon)}))


def parse_question(values: Mapping[str, Any], dataset: Dataset, *, stored: bool = False) -> Question:
    """Parse a question from plain values into canonical form. Raises `PlanError`.

    stored: the values are those of a question that was accepted before (`Question.to_json`), so no length is limited.
    """
    check_known_fields("question", values, FIELDS)
    entry = {name: values[name] for name in values if name in (*KINDS, "sum_to_size", "margins", *DESIGN_FIELDS)}
    _check_sizes(values)
    _check_kind(values)
    with _shorten_error_paths():
        statistics = parse_statistics([entry], DEFAULT_OPTIONS)
    if len(statistics) != 1:
        raise PlanError("must be one share; ask for several quantiles one by one", ("quantile", "at"))
    design = _sort_options(statistics[0].design or DEFAULT_OPTIONS)
    _check_column(statistics[0], dataset)
    longest = None if stored else LONGEST_CONDITION
    bare = replace(statistics[0], design=None, name="")
    statistic, where = _canonical(bare, values.get("where", ""), dataset, longest)
    return Question(
        statistic,
        _parse_by(values.get("by", []), dataset),
        where,
        _parse_epsilon(values.get("epsilon"), dataset),
        design,
        _parse_flag(values, "redraw"),
        _parse_flag(values, "allow_useless"),
    )


@contextmanager
def _shorten_error_paths() -> Iterator[None]:
    """Remove `statistics[1]` from the paths of errors: a question has one statistic and its author wrote only
    `mean`.
    """
    try:
        yield
    except PlanError as error:
        path = error.path[2:] if error.path[:2] == ("statistics", 0) else error.path
        raise type(error)(error.message, path) from error.__cause__


def _canonical(statistic: Statistic, where: Any, dataset: Dataset, longest: int | None) -> tuple[Statistic, str]:
    """Return the statistic and the condition beside it; for a count both conditions become one."""
    also = _parse_condition(where, "where", dataset, longest) if where else EVERYTHING
    if statistic.definition.domain is not CONDITIONS:
        margins = tuple(sorted(statistic.margins))
        return replace(statistic, margins=margins, name=""), "" if also == EVERYTHING else also
    condition = _parse_condition(statistic.of, statistic.kind, dataset, longest)
    both = condition if also == EVERYTHING else canonical_text(f"({condition}) and ({also})")
    return replace(statistic, of=both, name=""), ""


def _parse_condition(text: Any, name: str, dataset: Dataset, longest: int | None) -> str:
    with error_path(name):
        if not isinstance(text, str) or (longest is not None and len(text) > longest):
            raise PlanError(f"must be a condition of at most {LONGEST_CONDITION} characters")
        CONDITIONS.declared(text, dataset.columns)
        return canonical_text(text)


def _condition_columns(where: str) -> list[str]:
    condition = CONDITIONS.condition(where) if where else None
    return [] if condition is None else list(columns_used(condition))


def _parse_by(names: Any, dataset: Dataset) -> tuple[str, ...]:
    group_columns = dataset.groups.by
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise PlanError("must be a list of columns", ("by",))
    for name in names:
        if name not in group_columns:
            raise PlanError(
                f"must be columns of groups: {', '.join(group_columns) or 'there are none'}; got {name!r}", ("by",)
            )
    return tuple(name for name in group_columns if name in names)


def _parse_epsilon(value: Any, dataset: Dataset) -> Fraction | None:
    if value is None:
        if not dataset.levels:
            raise PlanError("must be given, such as '0.5'", ("epsilon",))
        return None
    with error_path("epsilon"):
        return to_epsilon(value)


def _parse_flag(values: Mapping[str, Any], name: str) -> bool:
    if not isinstance(values.get(name, False), bool):
        raise PlanError("must be true or false", (name,))
    return bool(values.get(name, False))


def _check_sizes(values: Mapping[str, Any]) -> None:
    for name in ("properties", "limits", "margins"):
        if name in values and (not isinstance(values[name], list) or len(values[name]) > 20):
            raise PlanError("must be a list of at most 20", (name,))


def _check_kind(values: Mapping[str, Any]) -> None:
    kinds = [name for name in KINDS if name in values]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none"
        raise PlanError(f"question must ask for exactly one of {', '.join(KINDS)}, got {got}")


def _check_column(statistic: Statistic, dataset: Dataset) -> None:
    """Raise `PlanError` naming the dataset's columns if the statistic uses another one. Conditions are checked
    elsewhere.
    """
    if statistic.definition.domain is CONDITIONS:
        return
    for name in statistic.definition.domain.reads(statistic.of):
        if name not in dataset.columns:
            columns = ", ".join(dataset.columns) or "there are none"
            raise PlanError(f"must be about columns of the dataset: {columns}; got {name!r}", (statistic.kind,))


def _sort_options(options: DesignOptions) -> DesignOptions:
    if options == DEFAULT_OPTIONS:
        return DEFAULT_OPTIONS
    return replace(
        options, properties=tuple(sorted(set(options.properties))), limits=tuple(sorted(set(options.limits)))
    )


def _options_to_json(options: DesignOptions) -> dict[str, Any]:
    """Return the design options that differ from the defaults, as a question writes them."""
    values = dict[str, Any]()
    if options == DEFAULT_OPTIONS:
        return values
    for name in DESIGN_FIELDS:
        value = getattr(options, name)
        if value != getattr(DEFAULT_OPTIONS, name):
            values[name] = list(value) if isinstance(value, tuple) else value
    if options.prior is not None:
        name, *numbers = options.prior
        values["prior"] = name if not numbers else {name: [format_decimal(number) for number in numbers]}
    return values

"""A question: one statistic of a plan, with condition, groups and epsilon, in canonical form.

Two questions with the same canonical form are the same question and get the same stored answer. The order of conditions
and groups, the spelling of numbers and quotation marks around names do not matter.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field, StrictStr

from inbounds.curator.dataset import Dataset
from inbounds.exact import format_decimal, to_epsilon
from inbounds.files import canonical_json, sha256_hex
from inbounds.plan.plan import CHANGE, Plan
from inbounds.schema.columns import check_condition
from inbounds.schema.condition.canonical import canonical_text
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import columns_used
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.types import Exact, Flag, Schema, check_known_fields
from inbounds.statistics import STATISTICS, Statistic
from inbounds.statistics.conditions import EVERYTHING
from inbounds.statistics.designs import DEFAULT_OPTIONS, DESIGN_FIELDS, DesignOptions
from inbounds.statistics.entries import entry_fields, find_kind, parse_statistic

LONGEST_CONDITION = 4000
"""Characters of a condition that is asked. A stored one may be longer: two are joined, and numbers spelled out."""

MOST_LISTED = 20
"""Most entries of a list in a question."""


class QuestionOptions(Schema):
    """What a question says beside its statistic."""

    where: StrictStr = Field("", description="Only records that meet this condition count.", examples=["age > 50"])
    by: Annotated[tuple[StrictStr, ...], Field(max_length=MOST_LISTED)] = Field(
        (), description="Columns of groups; none: all people as one group.", examples=[["school"]]
    )
    epsilon: Exact | None = Field(None, description="Left out where the dataset has levels.", examples=["0.5"])
    redraw: Flag = Field(
        False, description="Draw it although a stored sum, or an answer at a larger epsilon, would do."
    )
    allow_useless: Flag = Field(False, description="Ask although it is no better than a constant.")


OF_STATISTICS = tuple(
    name
    for name in dict.fromkeys(name for statistic in STATISTICS.values() for name in entry_fields(statistic))
    if name not in Statistic.model_fields
)
"""The fields that some kinds of statistics have beside their subject."""

FIELDS = (*STATISTICS, *OF_STATISTICS, *QuestionOptions.model_fields, *DESIGN_FIELDS)


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
        values = self.statistic.to_entry()
        if self.where:
            values["where"] = self.where
        values["by"] = list(self.by)
        if self.epsilon is not None:
            values["epsilon"] = format_decimal(self.epsilon)
        return values | self.design.to_entry()

    def to_plan(self, dataset: Dataset, epsilon: Fraction) -> Plan:
        """Return the plan that answers the question at an epsilon; it declares only the columns that it uses."""
        groups, neighbours = dataset.groups_by(self.by), dataset.neighbours
        if self.where and groups.public:
            # the number of records that meet it is not public: a changed record may start or stop to meet it
            groups, neighbours = replace(groups, public=False), CHANGE
        elif self.where and groups.typical:  # of a typical group, any number of records may meet it
            groups = replace(groups, typical=(0, groups.typical[-1]))
        names = {*self.statistic.columns_read, *(columns_used(parse(self.where)) if self.where else ())}
        with _shorten_error_paths():
            plan = Plan(
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
            if len(plan.statistics) > 1:
                message = "cannot be one draw in these groups; ask for each share by itself"
                raise PlanError(message, ("statistics", 0, self.statistic.kind))
            return plan


@dataclass(frozen=True)
class QuestionIdentity:
    """Digests that identify a question. base: without its epsilon. family: without its epsilon and groups."""

    base: str
    family: str

    @staticmethod
    def from_plan(dataset: Dataset, plan: Plan) -> "QuestionIdentity":
        """Build the identity from the plan, source, people and edition: declared facts only, nothing from the data."""
        facts = {name: value for name, value in plan.identity["plan"].items() if name != "epsilon"}
        levels = [str(epsilon) for epsilon in dataset.levels.values()]
        base = {**plan.identity, "plan": facts, "dataset": dataset.name, "levels": levels}
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
    values = {name: value for name, value in values.items() if value is not None}  # null in JSON: left out
    kind = find_kind(values, "question ")
    for name, value in values.items():
        if isinstance(value, list | tuple) and len(value) > MOST_LISTED:
            raise PlanError(f"must be a list of at most {MOST_LISTED}", (name,))
    options = QuestionOptions(**{name: values[name] for name in QuestionOptions.model_fields if name in values})
    entry = {name: value for name, value in values.items() if name not in QuestionOptions.model_fields}
    statistic = parse_statistic(entry, DEFAULT_OPTIONS)
    design = DEFAULT_OPTIONS
    if statistic.design is not None:
        design, statistic = _sort_options(statistic.design), statistic.replace(design=None)
    longest = None if stored else LONGEST_CONDITION
    canonical, where = _canonicalize(statistic, kind, options.where, dataset, longest)
    return Question(
        canonical,
        _order_by(options.by, dataset),
        where,
        _check_epsilon(options.epsilon, dataset),
        design,
        options.redraw,
        options.allow_useless,
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


def _canonicalize(
    statistic: Statistic, kind: str, where: str, dataset: Dataset, longest: int | None
) -> tuple[Statistic, str]:
    """Return the statistic and the condition beside it; for a count both conditions become one."""
    with error_path(kind):
        _check_subject(statistic, dataset, longest)
        canonical = statistic.to_canonical()
    with error_path("where"):
        also = _canonical_condition(where, dataset, longest) if where else EVERYTHING
    if also == EVERYTHING:
        return canonical, ""
    restricted = canonical.with_condition(also)
    return (canonical, also) if restricted is None else (restricted, "")


def _check_subject(statistic: Statistic, dataset: Dataset, longest: int | None) -> None:
    """Raise `PlanError` unless the statistic is about columns of the dataset; the message names those."""
    if statistic.subject == "condition":
        _check_length(statistic.subject_text, longest)  # before it is parsed
        check_condition(parse(statistic.subject_text), dataset.columns)
        return
    for name in statistic.columns_read:
        if name not in dataset.columns:
            columns = ", ".join(dataset.columns) or "there are none"
            raise PlanError(f"must be about columns of the dataset: {columns}; got {name!r}")


def _canonical_condition(text: str, dataset: Dataset, longest: int | None) -> str:
    _check_length(text, longest)
    check_condition(parse(text), dataset.columns)
    return canonical_text(text)


def _check_length(text: str, longest: int | None) -> None:
    if longest is not None and len(text) > longest:
        raise PlanError(f"must be a condition of at most {longest} characters")


def _order_by(names: tuple[str, ...], dataset: Dataset) -> tuple[str, ...]:
    group_columns = dataset.groups.by
    for name in names:
        if name not in group_columns:
            raise PlanError(
                f"must be columns of groups: {', '.join(group_columns) or 'there are none'}; got {name!r}", ("by",)
            )
    return tuple(name for name in group_columns if name in names)


def _check_epsilon(epsilon: Fraction | None, dataset: Dataset) -> Fraction | None:
    if epsilon is None and not dataset.levels:
        raise PlanError("must be given, such as '0.5'", ("epsilon",))
    with error_path("epsilon"):
        return None if epsilon is None else to_epsilon(epsilon)


def _sort_options(options: DesignOptions) -> DesignOptions:
    if options == DEFAULT_OPTIONS:
        return DEFAULT_OPTIONS
    return options.replace(properties=tuple(sorted(set(options.properties))), limits=tuple(sorted(set(options.limits))))

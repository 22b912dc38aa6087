"""A dataset: a plan without statistics. All of it is public and declared before any question."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inbounds.exact import Number, format_decimal, to_epsilon, to_fraction, to_int
from inbounds.ledger import Population
from inbounds.ledger.population import is_edition_of, new_population, validate_name
from inbounds.plan.load import FIELDS, parse_columns, parse_privacy_unit, parse_source
from inbounds.plan.plan import ADD_OR_REMOVE, CHANGE, PERSON, Plan
from inbounds.schema.columns import Declared, LabelColumn, PrivacyUnit, column_labels
from inbounds.schema.condition.canonical import format_condition
from inbounds.schema.condition.tree import ColumnRef, IsNull
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.types import check_known_fields
from inbounds.sources.groups import Groups, check_keys_not_data, parse_groups
from inbounds.sources.open import Source
from inbounds.statistics import Count, Histogram
from inbounds.statistics.conditions import EVERYTHING

PARTS = (
    "title", "edition", "source", "groups", "columns", "people", "neighbours", "credible_level", "levels", "budget",
    "answer_seconds", "max_rows",
)  # fmt: skip

PEOPLE_FIELDS = tuple(name for name in FIELDS["people"] if name != "ledger")
"""Fields of a dataset's people; their ledger is that of the curator."""

MOST_GROUPS = 10_000
"""Groups of a dataset: an answer has a row for each."""

ANSWER_SECONDS = Fraction(1)
"""How long the answer to a new question takes, unless declared. An engine aggregates a million records of a Parquet
file in about a tenth of a second: a second leaves room for load, and a person can wait for it."""

MAX_ROWS = 1 << 31
"""Records of a source, unless declared: with at most 2**31 steps each, sums stay within 64 bits."""


@dataclass(frozen=True)
class Budget:
    """The privacy budget of a dataset's people; created in the ledger if they are not there yet.

    every, period: "year" or "month" if the budget renews, and the first period. Then epsilon is that of each period,
    and `inbounds ledger renew` opens the next one.
    """

    epsilon: Fraction | None = None
    rule: str = "sum"
    delta: Fraction | None = None
    every: str | None = None
    period: str | None = None

    def describe_conflict(self, population: Population, name: str, edition: str) -> str:
        """Return a warning if the ledger has another budget for these people, or none for this edition; else empty."""
        if population.period is not None and not is_edition_of(edition, population.period):
            return (
                f"warning: datasets.{name}.edition is {edition}, and the ledger's budget is for editions of "
                f"{population.period}: new questions are refused; inbounds ledger renew opens a later one"
            )
        held = Budget(population.epsilon, population.rule, population.delta, population.every, self.period)
        if self in (Budget(), held):
            return ""
        return (
            f"warning: datasets.{name}.budget is not that of the ledger, which holds: {population}; "
            "inbounds ledger raise-budget changes it"
        )


@dataclass(frozen=True)
class Dataset:
    """The public facts about data that can be asked about.

    groups: the finest declared groups; a question may use coarser ones. people: the population in the ledger. edition:
    of the data; new data need a new one. credible_level: the probability of the intervals beside answers. levels:
    epsilons by name, for accounts that are trusted differently; every question is then answered for all levels at once
    and costs the largest epsilon. answer_seconds: the time after which the answer to a new question leaves, however
    long the evaluation takes; an evaluation that takes longer closes the dataset. max_rows: the most records that the
    source may have, checked when it is attached.
    """

    name: str
    source: Source
    groups: Groups
    columns: Mapping[str, Declared]
    people: PrivacyUnit
    edition: str
    title: str = ""
    neighbours: str = ""
    credible_level: Fraction | None = Fraction(9, 10)
    levels: Mapping[str, Fraction] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    answer_seconds: Fraction = ANSWER_SECONDS
    max_rows: int = MAX_ROWS

    def __post_init__(self) -> None:
        if self.groups.from_data:
            message = (
                "must be public: how long an answer takes would tell how many groups the data holds; publish groups "
                "from the data by a release"
            )
            raise PlanError(message, ("groups", "keys"))
        with error_path("name"):
            validate_name(self.name, "name")
            if "/" in self.name:
                raise PlanError("must not have a slash, because it is part of an address")
        if not self.people.name:
            raise PlanError("must be given: the people's name in the ledger", ("people", "name"))
        if not self.edition:
            raise PlanError("must be given, such as '2026-11': new data need a new one", ("edition",))
        if len(self.groups) > MOST_GROUPS:
            raise PlanError(f"must be at most {MOST_GROUPS}, got {len(self.groups)}", ("groups", "keys"))
        if len(set(self.levels.values())) < len(self.levels):
            raise PlanError("must be different epsilons; accounts may share one", ("levels",))
        check_keys_not_data(self.groups.register, self.source)

    @property
    def relation(self) -> str:
        """The neighbourhood relation of the data, the same for every question."""
        if self.people.id:
            return PERSON
        return self.neighbours or (CHANGE if self.groups.public else ADD_OR_REMOVE)

    @property
    def top(self) -> Fraction:
        """The largest epsilon of its levels."""
        return max(self.levels.values())

    def groups_by(self, by: tuple[str, ...]) -> Groups:
        """Return the groups by some of the columns: keys that agree there become one group with the sum of
        their sizes.
        """
        if by not in self._groups_by_columns:
            self._groups_by_columns[by] = self._merge_groups(by)
        return self._groups_by_columns[by]

    @cached_property
    def _groups_by_columns(self) -> dict[tuple[str, ...], Groups]:
        """Groups computed so far, by their columns."""
        return {}

    def _merge_groups(self, by: tuple[str, ...]) -> Groups:
        groups = self.groups
        places = [groups.by.index(name) for name in by]
        sizes: dict[tuple[str, ...], int] = {}
        for key, size in zip(groups.keys, groups.sizes.tolist(), strict=True):
            part = tuple(key[k] for k in places)
            sizes[part] = sizes.get(part, 0) + size
        stated = any(groups.missing_key in key for key in sizes)
        merged = Counter(tuple(key[k] for k in places) for key in groups.keys)
        period = {name: how for name, how in groups.period.items() if name in by}
        return Groups(
            by,
            tuple(sizes),
            np.array(list(sizes.values()), dtype=np.int64),
            groups.public,
            missing_key=groups.missing_key if stated else "",
            period=period,
            typical=_merge_typical(groups.typical, min(merged.values()), max(merged.values())),
        )

    def check_plan(self) -> Plan:
        """Return a plan that reads every declared column and key. It serves to compare them with the source and is
        never released.
        """
        names = [format_condition(IsNull(ColumnRef(name))) for name in self.columns]
        counted = [Count(condition=" and ".join(names) or EVERYTHING)]
        labelled = [name for name, column in self.columns.items() if isinstance(column, LabelColumn)]
        return Plan(
            source=self.source,
            groups=replace(self.groups, register=None),
            columns=self.columns,
            statistics=(*counted, *(Histogram(column=name) for name in labelled)),
            epsilon=Fraction(1),
            neighbours=self.neighbours,
            people=self.people,
        )

    def describe(self) -> dict[str, Any]:
        """Return the public facts as plain values."""
        groups = self.groups
        return {
            "name": self.name,
            "title": self.title,
            "edition": self.edition,
            "people": self.people.name,
            "neighbours": self.relation,
            "by": list(groups.by),
            "groups": [
                {"key": list(key), "records": size}
                for key, size in zip(groups.keys, groups.sizes.tolist(), strict=True)
            ],
            "records": "public" if groups.public else "at most",
            "typical": list(groups.typical) or None,
            "columns": {name: _describe_column(column) for name, column in self.columns.items()},
            "credible_level": None if self.credible_level is None else format_decimal(self.credible_level),
            "levels": {name: format_decimal(epsilon) for name, epsilon in self.levels.items()},
            "unit": self.people.summary() if self.people.id else None,
            "answer_seconds": format_decimal(self.answer_seconds),
        }


def _merge_typical(typical: tuple[int, ...], fewest: int, most: int) -> tuple[int, ...]:
    """Return the typical size of groups that are unions of so many; a range if not all unions have as many."""
    if not typical or (fewest == most and len(typical) == 1):
        return tuple(most * size for size in typical)
    return fewest * typical[0], most * typical[-1]


def _describe_column(column: Declared) -> dict[str, Any]:
    summary: dict[str, Any] = {**column.summary()}
    return {**summary, "labels": list(column_labels(column))} if "labels" in summary else summary


def parse_dataset(name: str, values: Mapping[str, Any], folder: Path) -> Dataset:
    """Parse a dataset from its table in curator.toml; files are relative to its folder."""
    with error_path("datasets", name):
        check_known_fields("dataset", values, PARTS)
        source = parse_source(values.get("source", {}), folder)
        with error_path("groups"):
            check_known_fields("groups", values.get("groups", {}), FIELDS["groups"])
            declared = parse_groups(**values.get("groups", {}), folder=folder)
        with error_path("people"):
            check_known_fields("people", values.get("people", {}), PEOPLE_FIELDS)
        return Dataset(
            name=name,
            title=str(values.get("title", "")),
            source=replace(source, path=os.path.abspath(source.path)) if source.path else source,
            groups=declared,
            columns=parse_columns(values.get("columns", {})),
            people=parse_privacy_unit(values.get("people", {}), folder),
            edition=str(values.get("edition", "")),
            neighbours=str(values.get("neighbours", "")),
            credible_level=_parse_credible_level(values.get("credible_level", "0.9")),
            levels=_parse_levels(values.get("levels", {})),
            budget=_parse_budget(values.get("budget", {})),
            answer_seconds=_parse_answer_seconds(values.get("answer_seconds", ANSWER_SECONDS)),
            max_rows=_parse_max_rows(values.get("max_rows", MAX_ROWS)),
        )


def _parse_credible_level(value: Any) -> Fraction | None:
    with error_path("credible_level"):
        level = to_fraction(value, "credible_level")
        if not 0 <= level < 1:
            raise PlanError(f"must be between 0 (none) and 1, got {value}")
        return level or None


def _parse_max_rows(value: Any) -> int:
    with error_path("max_rows"):
        return to_int(value, "max_rows", 1)


def _parse_answer_seconds(value: Any) -> Fraction:
    with error_path("answer_seconds"):
        seconds = to_fraction(value, "answer_seconds")
        if not 0 < seconds <= 3600:
            raise PlanError(f"must be more than 0 and at most 3600, got {value}")
        return seconds


def _parse_levels(values: Any) -> dict[str, Fraction]:
    with error_path("levels"):
        if not isinstance(values, Mapping):
            raise PlanError('must be epsilons by name, such as { public = "0.1", partners = "0.5" }')
        named = {validate_name(name, "level"): to_epsilon(epsilon) for name, epsilon in values.items()}
        return dict(sorted(named.items(), key=lambda item: -item[1]))


def _parse_budget(values: Any) -> Budget:
    with error_path("budget"):
        check_known_fields("budget", values, ("epsilon", "rule", "delta", "every", "period"))

        def number(name: str) -> Fraction | None:
            amount: Number | None = values.get(name)
            return None if amount is None else to_fraction(amount, name)

        budget = Budget(
            number("epsilon"), values.get("rule", "sum"), number("delta"), values.get("every"), values.get("period")
        )
        if budget != Budget():
            _check_budget(budget)
        return budget


def _check_budget(budget: Budget) -> None:
    """Raise PlanError for a budget that no ledger can hold."""
    try:
        new_population("people", budget.epsilon, budget.rule, budget.delta, budget.every, budget.period)  # type: ignore[arg-type]
    except ValueError as error:
        field, _, rest = str(error).partition(" ")
        if field not in ("epsilon", "rule", "delta", "every", "period"):
            raise
        raise PlanError(rest, (field,)) from None

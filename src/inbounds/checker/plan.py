"""Read the plan in a release record, field by field, and check that it can be carried out."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import Any

from inbounds.checker.fields import (
    LARGEST,
    Fields,
    NoRule,
    insist,
    read_count,
    read_exact,
    read_exacts,
    read_flag,
    read_line,
    read_list,
    read_object,
    read_text,
    read_texts,
    read_wholes,
)
from inbounds.checker.keys import AS_WRITTEN, KeyMatching, SpellingRule

CHANGE = "change one record"
ADD_OR_REMOVE = "add or remove one record"
PERSON = "add or remove one person"
RELATIONS = {("public", CHANGE), ("maximum", CHANGE), ("maximum", ADD_OR_REMOVE), ("maximum", PERSON)}

SOURCES = {
    "csv", "parquet", "xlsx", "spss", "stata", "sas", "duckdb", "sqlite", "postgresql", "postgres", "spark", "frame",
}  # fmt: skip

FROM_DATA = "from the data"
"""The keys of a plan whose groups are those that the data holds."""

GRAND = "all"
"""The level of all groups together, which is above the columns that name a group."""

MOST_SHARE_PARTS = 10**6
"""Largest denominator of a quantile."""

MOST_SHARES = 100
"""Most quantiles in one draw."""


@dataclass(frozen=True)
class KindRule:
    """How a kind of statistic behaves. subject: what it is computed from.

    options: the fields that only some kinds have; a statistic with any other field is refused. in_cells: whether it has
    several numbers, with each record in at most one of them. moves_several: whether records of one person may move
    several of its numbers. over_groups, over_cells: whether its numbers add up over levels, or over margins. parts: the
    ends of the names of the columns that it is computed from in groups of secret size. known_parts: the same in groups
    of public size. averages: whether, in groups of public size, it is a sum divided by the size. of_levels: whether it
    is drawn of every level by itself, unless it is computed from numbers of groups. once: whether a person with several
    records moves a number by one all the same.
    """

    subject: str
    options: tuple[str, ...] = ()
    in_cells: bool = False
    moves_several: bool = False
    over_groups: bool = False
    over_cells: bool = False
    parts: tuple[str, ...] = ()
    known_parts: tuple[str, ...] = ()
    once: bool = False
    averages: bool = False
    of_levels: bool = False


CONDITION, NUMBER, LABELS, CROSSED = "condition", "number", "labels", "crossed"
SUMS = ("squares", "products", "far_squares")
SPREADS = ("variance", "standard_deviation")
QUANTILES = {"min": Fraction(0), "median": Fraction(1, 2), "max": Fraction(1), "quantile": None}
RULES = {
    "count": KindRule(CONDITION, over_groups=True),
    "count_distinct": KindRule(CONDITION, once=True),
    "histogram": KindRule(LABELS, ("sum_to_size",), in_cells=True, moves_several=True, over_groups=True),
    "crosstab": KindRule(CROSSED, ("margins",), in_cells=True, moves_several=True, over_cells=True),
    "sum": KindRule(NUMBER, over_groups=True),
    "mean": KindRule(NUMBER, moves_several=True, parts=("above_low", "below_high"), averages=True),
    "variance": KindRule(NUMBER, moves_several=True, parts=SUMS, of_levels=True),
    "standard_deviation": KindRule(NUMBER, moves_several=True, parts=SUMS, known_parts=("variance",), of_levels=True),
    "percentage": KindRule(CONDITION, moves_several=True, parts=("with", "without"), averages=True),
    "mode": KindRule(LABELS, of_levels=True),
    **{kind: KindRule(NUMBER, ("at",) if kind == "quantile" else (), of_levels=True) for kind in QUANTILES},
}
"""Every kind of statistic that can be checked; a record with any other is not verifiable yet."""

_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""How a kind is written; anything else is no kind of any version."""


@dataclass(frozen=True)
class StatedColumn:
    """A declared column: a number on a grid, labels, or neither. longest: the most bytes of a key; 0 if not said."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    missing: Fraction = Fraction(0)
    labels: tuple[str, ...] = ()
    other: str | None = None
    spelling: SpellingRule = AS_WRITTEN
    longest: int = 0

    @property
    def width(self) -> int:
        """Return the range in steps; 0 for a column without bounds."""
        return int((self.high - self.low) / self.step)


PERCENT = StatedColumn(Fraction(0), Fraction(100), Fraction(100))
"""What each record adds to a percentage, which is the mean of it: 100 or 0."""


@dataclass(frozen=True)
class StatedStatistic:
    """One statistic of the plan. columns: those it is about; none for a condition, two for a crosstab.

    at: the shares of its quantiles; several are drawn together. condition: its text, if it is about one.
    """

    kind: str
    name: str
    columns: tuple[str, ...]
    epsilon: Fraction | None
    budget_share: Fraction | None
    sum_to_size: bool
    margins: tuple[str, ...]
    at: tuple[Fraction, ...]
    condition: str = ""

    @property
    def rule(self) -> KindRule:
        """Return the rule of its kind."""
        return RULES[self.kind]

    @property
    def column(self) -> str:
        """Return the only column."""
        (column,) = self.columns
        return column


@dataclass(frozen=True)
class StatedPerson:
    """The privacy unit: how many records of one person count in one group, and in how many groups."""

    id: str
    records: int
    groups: int


@dataclass(frozen=True)
class StatedHierarchy:
    """Levels from the top down, with weights, shares of epsilon if the plan has them, and numbers of nodes."""

    levels: tuple[str, ...]
    weights: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class StatedPlan:
    """The plan, with the keys and sizes of its groups. source: the kind of its source.

    most: the largest size of every group, if groups are those that the data holds, and keys those published; else 0.
    """

    source: str
    by: tuple[str, ...]
    public: bool
    columns: dict[str, StatedColumn]
    statistics: tuple[StatedStatistic, ...]
    epsilon: Fraction
    neighbours: str
    credible_level: Fraction | None
    person: StatedPerson | None
    hierarchy: StatedHierarchy | None
    keys: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]
    delta: Fraction = Fraction(0)
    most: int = 0

    @property
    def is_found(self) -> bool:
        """Return whether groups are those that the data holds."""
        return self.most > 0

    @property
    def groups_of_person(self) -> int:
        """Return in how many groups one person counts; how many the data holds is no bound."""
        if self.person is None:
            return 1
        return self.person.groups if self.is_found else min(self.person.groups, len(self.sizes))

    def publishes(self, statistic: StatedStatistic) -> bool:
        """Return whether groups are published by this number of persons."""
        kind = "count" if self.person is None else "count_distinct"
        return self.is_found and (statistic.kind, statistic.condition) == (kind, "true")

    def column(self, statistic: StatedStatistic) -> StatedColumn:
        """Return the column of a statistic of one column, or the numbers that a percentage is the mean of."""
        return PERCENT if statistic.kind == "percentage" else self.columns[statistic.column]

    def parts(self, statistic: StatedStatistic) -> tuple[str, ...]:
        """Return the ends of the names of the columns that it is computed from; () if it is drawn itself."""
        return statistic.rule.known_parts if self.public else statistic.rule.parts

    def adds_up(self, statistic: StatedStatistic) -> bool:
        """Return whether its numbers are drawn together with their sums."""
        summed = statistic.rule.over_groups or (statistic.rule.averages and self.public)
        return statistic.rule.over_cells or (self.hierarchy is not None and summed)

    def is_drawn_of_levels(self, statistic: StatedStatistic) -> bool:
        """Return whether it is drawn of every level by itself."""
        pooled = bool(statistic.rule.parts) and not self.public
        return self.hierarchy is not None and statistic.rule.of_levels and not pooled

    def has_layers(self, statistic: StatedStatistic) -> bool:
        """Return whether its epsilon is shared between its own numbers and sums or levels above them."""
        return self.adds_up(statistic) or self.is_drawn_of_levels(statistic)

    def labels(self, statistic: StatedStatistic) -> tuple[tuple[str, ...], ...]:
        """Return the labels of its column; for a crosstab, of its two columns."""
        return tuple(self.columns[name].labels for name in statistic.columns)


def read_plan(values: Any, groups: Any) -> StatedPlan:
    """Return the plan in a record, with its groups; refuse a plan that is incomplete or cannot be carried out.

    Raises `NoRule` for a statistic of an unknown kind, if there is nothing else to refuse the plan for.
    """
    fields = Fields(values, "the plan")
    source = Fields(fields.anything("source"), "the source")
    kind = source.text("kind")
    for name in ("name", "table", "engine", "decimal", "thousands", "encoding", "header_row"):
        source.optional_text(name)
    source.end()
    insist(kind in SOURCES, "the source must be of a known kind")
    sizes, neighbours = fields.text("sizes"), fields.text("neighbours")
    insist((sizes, neighbours) in RELATIONS, "the plan has a relation that no release has")
    by, count = fields.texts("by"), fields.take("groups", read_count, "a whole number")
    most = 0
    if fields.has("keys"):
        insist(fields.text("keys") == FROM_DATA and count == 0, "keys must be declared, or those from the data")
        most = fields.whole("max_size")
        insist(sizes == "maximum", "groups from the data have no public sizes")
    missing_key = fields.optional_text("missing_key")
    typical = fields.optional("typical", read_wholes, "whole numbers") or ()
    period = fields.optional("period", lambda value: {k: read_text(v) for k, v in read_object(value).items()}, "texts")
    columns = {name: _read_column(column) for name, column in fields.take("columns", read_object, "an object").items()}
    spellings = {name: columns[name].spelling for name in by if name in columns}
    matching = KeyMatching(by, missing_key, period or {}, spellings)
    keys, people = _read_groups(groups, matching, count, fields.digest("keys_sha256"), most)
    credible_level = fields.take(
        "credible_level", lambda value: None if value is None else read_exact(value), "text or null"
    )
    statistics, unknown_kinds = _read_statistics(fields.objects("statistics"))
    plan = StatedPlan(
        source=kind,
        by=by,
        public=sizes == "public",
        columns=columns,
        statistics=statistics,
        epsilon=fields.exact("epsilon"),
        neighbours=neighbours,
        credible_level=credible_level,
        person=_read_person(fields.anything("unit")) if fields.has("unit") else None,
        hierarchy=_read_hierarchy(fields.anything("hierarchy")) if fields.has("hierarchy") else None,
        keys=keys,
        sizes=people,
        delta=_read_delta(fields, sum(people) if sizes == "public" else None),
        most=most,
    )
    for name in ("people", "edition"):
        fields.optional_text(name)
    estimate = len(typical) <= 2 and list(typical) == sorted(typical) and not (typical and plan.public)
    insist(estimate, "a typical size must be a number or a range, of groups whose sizes are not public")
    _check_design(fields.anything("design"))
    insist(not (fields.optional_text("where") and plan.public), "a plan with a condition has no public sizes")
    fields.end()
    _check_plan(plan, whole=not unknown_kinds)
    if unknown_kinds:
        listed = ", ".join(f'"{unknown}"' for unknown in unknown_kinds)
        raise NoRule(f"not verifiable yet: this checker has no rule for statistics of the kind {listed}")
    return plan


def _read_delta(fields: Fields, known_persons: int | None) -> Fraction:
    """Return the delta of the plan, 0 without one; refuse one above 1 over the number of persons, unless allowed."""
    delta = fields.optional_exact("delta")
    if delta is None:
        return Fraction(0)
    stated, allowed = (fields.whole("persons") if fields.has("persons") else None), False
    if fields.has("allow_large_delta"):
        allowed = fields.take("allow_large_delta", read_flag, "true or false")
    insist(0 < delta < 1, "delta must be between 0 and 1")
    insist(stated is None or known_persons is None, "public sizes say how many persons there are")
    persons = known_persons if stated is None else stated
    insist(allowed or (persons is not None and delta * persons <= 1), "delta must be at most 1 over the persons")
    return delta


def _read_groups(
    values: Any, matching: KeyMatching, count: int, digest: str, most: int = 0
) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """Return keys and sizes in order; refuse them unless their digest is that of the plan.

    most: the size of every group that the data holds. Such groups stand in the order of their keys, which are values of
    records, so that no record has two of them.
    """
    fields, by = Fields(values, "the groups"), matching.by
    columns = fields.take("keys", lambda value: {k: read_texts(v) for k, v in read_object(value).items()}, "texts")
    types = fields.take("types", lambda value: {k: read_text(v) for k, v in read_object(value).items()}, "texts")
    sizes = fields.take("sizes", _read_line_or_nothing if most else read_line, "whole numbers")
    fields.end()
    insist(len(set(by)) == len(by) and set(columns) == set(by), "the groups must have a key for each column of `by`")
    if most:
        insist(
            bool(by) and set(sizes) <= {most}, "groups from the data are named by columns, and all have the same size"
        )
        count = len(sizes)
    insist(len(sizes) == count and all(1 <= size < LARGEST for size in sizes), "every group must have a size")
    insist(all(len(column) == count for column in columns.values()), "every group must have a key")
    keys = tuple(zip(*(columns[name] for name in by), strict=True)) if by else ((),) * count
    if most:
        matching.check_types(types)
        insist(
            all(one < other for one, other in pairwise(keys)),
            "groups from the data must stand in the order of their keys",
        )
        insist(digest == sha256(json.dumps([[], []]).encode()).hexdigest(), "a plan must not state keys from the data")
        return keys, sizes
    distinct_keys = matching.normalize(keys, types)
    insist(len(distinct_keys) == count, "no two groups may have the same key, or keys that match the same records")
    computed_digest = sha256(json.dumps([keys, sizes]).encode()).hexdigest()
    insist(computed_digest == digest, "the keys and sizes of the groups do not have the digest that the plan states")
    return keys, sizes


def _read_line_or_nothing(value: Any) -> tuple[int, ...]:
    return () if value == "" else read_line(value)


def _read_column(values: Any) -> StatedColumn:
    fields = Fields(values, "a column")
    kind = fields.text("type")
    if fields.has("low"):
        low, high, step, missing = (fields.exact(name) for name in ("low", "high", "step", "missing"))
        fields.optional("missing_codes", read_texts, "a list of texts")
        fields.end()
        is_range = kind == "number" and low < high and step > 0
        insist(is_range and (high - low) % step == 0, "the steps of a column must fill its range")
        insist(low <= missing <= high and (missing - low) % step == 0, "`missing` must be a value of its column")
        return StatedColumn(low, high, step, missing)
    labels = fields.texts("labels") if fields.has("labels") else ()
    other = fields.optional("other", read_text, "text")
    codes = fields.optional("codes", lambda value: {k: read_text(v) for k, v in read_object(value).items()}, "texts")
    case, trim = (fields.optional(name, read_flag, "true or false") or False for name in ("ignore_case", "trim"))
    fields.optional("missing_codes", read_texts, "a list of texts")
    longest = fields.whole("max_length") if fields.has("max_length") else 0
    fields.end()
    insist(not (longest and labels), "a column of labels has no longest key")
    insist(kind == "text" or not (case or trim or codes), "only a column of text says how its texts are read")
    insist(set((codes or {}).values()) <= set(labels), "a code must stand for a label")
    spelling = SpellingRule(case, trim, bool(codes))
    insist(len(set(map(spelling.normalize, labels))) == len(labels), "no two labels may be the same as texts are read")
    insist(len(set(labels)) == len(labels) != 1, "labels must be at least two, all different")
    insist(other is None or other in labels, "`other` must be one of the labels")
    insist(kind == "text" if labels else kind in ("number", "text", "boolean"), "a column must have a known type")
    return StatedColumn(labels=labels, other=other, spelling=spelling, longest=longest)


def _read_statistics(values: list[Any]) -> tuple[tuple[StatedStatistic, ...], list[str]]:
    """Return the statistics of known kinds, and the unknown kinds; the fields of the latter have no rule here."""
    statistics, unknown_kinds, names = [], [], []
    for statistic in values:
        fields = Fields(statistic, "a statistic")
        kind = fields.take("kind", _read_kind, "a kind of statistic")
        names.append(fields.text("name"))
        if kind in RULES:
            statistics.append(_read_statistic(fields, kind))
        elif kind not in unknown_kinds:
            unknown_kinds.append(kind)
    insist(bool(names), "a plan must have a statistic")
    insist(len(set(names)) == len(names), "no two statistics may have the same name")
    return tuple(statistics), unknown_kinds


def _read_kind(value: Any) -> str:
    if _KIND.fullmatch(read_text(value)) is None:
        raise ValueError
    return read_text(value)


def _read_statistic(fields: Fields, kind: str) -> StatedStatistic:
    """Read the fields that a kind has: all of them, and no others."""
    rule = RULES[kind]
    epsilon, budget_share = fields.optional_exact("epsilon"), fields.optional_exact("budget_share")
    insist(epsilon is None or budget_share is None, "a statistic must not have both an epsilon and a budget_share")
    condition = fields.text("condition") if rule.subject == CONDITION else ""
    columns = _read_columns(fields, rule.subject)
    at = _read_shares(fields, kind)
    statistic = StatedStatistic(
        kind=kind,
        name=fields.text("name"),
        columns=columns,
        epsilon=epsilon,
        budget_share=budget_share,
        sum_to_size="sum_to_size" in rule.options
        and (fields.optional("sum_to_size", read_flag, "true or false") or False),
        margins=fields.texts("margins") if "margins" in rule.options else (),
        at=at,
        condition=condition,
    )
    if fields.has("design"):
        _check_design(fields.anything("design"))
    fields.end()
    return statistic


def _read_shares(fields: Fields, kind: str) -> tuple[Fraction, ...]:
    """Return the shares of a quantile: one text, or a rising list; none for other statistics."""
    fixed = QUANTILES.get(kind)
    if kind != "quantile":
        return () if fixed is None else (fixed,)
    shares = fields.take("at", _read_one_or_several, "an exact number, or a list of them")
    inside = all(0 <= share <= 1 and share.denominator <= MOST_SHARE_PARTS for share in shares)
    insist(inside, "a quantile must be between 0 and 1")
    insist(all(low < high for low, high in pairwise(shares)), "several quantiles must rise")
    return shares


def _read_one_or_several(value: Any) -> tuple[Fraction, ...]:
    if type(value) is not list:
        return (read_exact(value),)
    if not 2 <= len(value) <= MOST_SHARES:
        raise ValueError
    return read_exacts(value)


def _read_columns(fields: Fields, subject: str) -> tuple[str, ...]:
    """Return the columns that a statistic is about; none for a condition."""
    if subject == CONDITION:
        return ()
    return fields.texts("columns") if subject == CROSSED else (fields.text("column"),)


def _check_design(values: Any) -> None:
    """Check the types of design options. Their values are not checked: the passports show which mechanism was used."""
    fields = Fields(values, "the design")
    for name in ("loss", "aim", "mechanism"):
        fields.optional_text(name)
    for name in ("properties", "limits"):
        fields.optional(name, read_texts, "a list of texts")
    fields.optional("prior", read_list, "a list")
    fields.end()


def _read_person(values: Any) -> StatedPerson:
    fields = Fields(values, "the privacy unit")
    person = StatedPerson(fields.text("id"), fields.whole("max_records"), fields.whole("max_groups"))
    fields.end()
    return person


def _read_hierarchy(values: Any) -> StatedHierarchy:
    fields = Fields(values, "the hierarchy")
    hierarchy = StatedHierarchy(
        fields.texts("levels"),
        fields.take("weights", read_exacts, "exact numbers"),
        fields.optional("shares", read_exacts, "exact numbers") or (),
        fields.take("nodes", read_wholes, "whole numbers"),
    )
    fields.end()
    lengths = {
        len(hierarchy.levels),
        len(hierarchy.weights),
        len(hierarchy.nodes),
        len(hierarchy.shares or hierarchy.levels),
    }
    insist(len(lengths) == 1 and len(hierarchy.levels) >= 2, "a hierarchy must have weights and nodes for each level")
    insist(
        min(hierarchy.weights) >= 0 and max(hierarchy.weights) > 0,
        "weights of levels must not be negative, nor all zero",
    )
    shared = not hierarchy.shares or (min(hierarchy.shares) > 0 and sum(hierarchy.shares) == 1)
    insist(shared, "shares of levels must be positive and sum to 1")
    return hierarchy


def _check_plan(plan: StatedPlan, whole: bool) -> None:
    """Check the plan of all statistics that have a rule. whole: these are all of its statistics."""
    insist((plan.person is not None) == (plan.neighbours == PERSON), "the plan has a relation that no release has")
    insist(plan.epsilon > 0, "epsilon must be positive")
    insist(plan.credible_level is None or 0 < plan.credible_level < 1, "credible_level must be between 0 and 1")
    shared = plan.delta == 0 or all(statistic.epsilon is None for statistic in plan.statistics)
    insist(shared, "statistics of a plan with a delta have no epsilon of their own")
    for statistic in plan.statistics:
        _CHECKS[statistic.rule.subject](plan, statistic)
    if plan.is_found:
        _check_found(plan)
    hierarchy = plan.hierarchy
    if hierarchy is not None:
        grand = hierarchy.levels[0] == GRAND and GRAND not in plan.by
        columns = hierarchy.levels[1:] if grand else hierarchy.levels
        same = len(set(columns)) == len(columns) and set(columns) == set(plan.by)
        insist(same, "the levels of a hierarchy must be the columns that name a group, below one for all or not")
        rules = [statistic.rule for statistic in plan.statistics]
        has_levels = any(rule.over_groups or rule.averages or rule.of_levels for rule in rules)
        insist(not whole or has_levels, "a hierarchy must have a statistic with numbers of every level")


def _check_found(plan: StatedPlan) -> None:
    """Check a plan whose groups are those that the data holds."""
    insist(plan.delta > 0, "groups from the data need a delta")
    insist(plan.neighbours != CHANGE, "groups from the data are for persons who are added or removed")
    simple = plan.hierarchy is None and not any(statistic.rule.over_cells for statistic in plan.statistics)
    insist(simple, "groups from the data have no levels and no margins")
    insist(
        sum(map(plan.publishes, plan.statistics)) == 1, "groups from the data are published by one number of persons"
    )
    for k, name in enumerate(plan.by):
        longest = plan.columns[name].longest if name in plan.columns else 0
        fits = longest and all(1 <= len(key[k].encode()) <= longest for key in plan.keys)
        insist(bool(fits), f"keys of {name} must be declared with their largest length, and keep it")


def _check_number(plan: StatedPlan, statistic: StatedStatistic) -> None:
    known = statistic.column in plan.columns and plan.column(statistic).width > 0
    insist(known, f"{statistic.name} must be about a column with bounds")
    several = statistic.kind not in SPREADS or min((*plan.sizes, plan.most or 2)) >= 2
    insist(several, f"{statistic.name} needs sizes of at least two")


def _check_labels(plan: StatedPlan, statistic: StatedStatistic) -> None:
    known = statistic.column in plan.columns and len(plan.column(statistic).labels) > 1
    insist(known, f"{statistic.name} must be about a column with labels")
    filled = not (statistic.sum_to_size and plan.public) or plan.column(statistic).other is not None
    insist(filled, f"the cells of {statistic.name} cannot sum to public sizes: some records are in none")


def _check_crossed(plan: StatedPlan, statistic: StatedStatistic) -> None:
    names = statistic.columns
    known = len(names) == len(set(names)) == 2 and set(names) <= plan.columns.keys()
    insist(known and all(map(len, plan.labels(statistic))), f"{statistic.name} must be about two columns with labels")
    margins = statistic.margins
    fit = len(set(margins)) == len(margins) and set(margins) <= set(names)
    insist(fit, f"the margins of {statistic.name} must be columns of it")


def _check_condition(plan: StatedPlan, statistic: StatedStatistic) -> None:
    of_persons = plan.person is not None or not statistic.rule.once
    insist(of_persons, f"{statistic.name} counts persons, but the plan has no privacy unit of several records")


_CHECKS: dict[str, Callable[[StatedPlan, StatedStatistic], None]] = {
    NUMBER: _check_number,
    LABELS: _check_labels,
    CROSSED: _check_crossed,
    CONDITION: _check_condition,
}

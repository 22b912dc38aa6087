"""Aggregation: the data is reduced to one row of whole numbers per declared group; those become positions.

    source → canonical records, materialised → group and one small whole number per statistic → sums per group

Every record is first turned into small whole numbers of its own (does it meet the condition, which label, which
step of the range), so whatever a record holds, it moves an aggregate by no more than `statistics` allows. Nothing on
the way can fail because of what a record holds: see `sources.records` and `evaluation`. The declared keys go to the
engine and join the data there: nothing about any other group comes back.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from inbounds.exact import Ints
from inbounds.plan.plan import Plan, Statistic
from inbounds.releases.check_source import check_schema, key_types, read_columns, used_columns
from inbounds.schema.condition import tree as language
from inbounds.schema.errors import AggregationError, SourceError
from inbounds.schema.text import match_spelling
from inbounds.sources import csv_files
from inbounds.sources.contributions import GROUP, NOWHERE, bound_contributions, check_person
from inbounds.sources.engines import DuckDB, Engine, detect_engine
from inbounds.sources.expressions import TRUE, RecordWriter
from inbounds.sources.open import open_table, read_table, silence_engine
from inbounds.sources.records import (
    PERSON,
    RecordLayout,
    choose_form,
    first_columns,
    key_text,
    person_text,
    second_columns,
    text_to_digits,
)
from inbounds.statistics import GroupAggregates
from inbounds.statistics.base import ValueCounts

MEASURES = "measures"
"""The statement that has one row for each group."""


@dataclass(frozen=True)
class TrueAnswers:
    """True answers as positions in each query's answers: one row per statistic (per label of a histogram).

    They never leave the process, so they are not shown either.
    """

    positions: tuple[Ints | ValueCounts, ...] = field(repr=False)


@dataclass(frozen=True)
class CanonicalRecords:
    """Canonical records, materialised in an engine under a name."""

    engine: Engine = field(repr=False)
    name: str
    layout: RecordLayout

    def share(self, threads: int) -> "CanonicalRecords":
        """The same records where every cursor sees them, each with so many threads; of DuckDB in memory only."""
        assert isinstance(self.engine, DuckDB)
        run, shared = self.engine.connection.execute, f"{self.name}_shared"
        run(f"SET threads = {threads}")
        run(f"CREATE TABLE {shared} AS SELECT * FROM {self.name}")
        self.engine.drop(self.name)
        return replace(self, name=shared)

    def cursor(self) -> "CanonicalRecords":
        """The same records for another thread, once they are shared."""
        assert isinstance(self.engine, DuckDB)
        return replace(self, engine=DuckDB(self.engine.connection.cursor()))

    def count(self) -> int:
        """How many records there are."""
        return int(self.engine.fetch(f"SELECT CAST(COUNT(*) AS BIGINT) FROM {self.name}")[0][0])

    def close(self) -> None:
        """Close this cursor; the records stay."""
        assert isinstance(self.engine, DuckDB)
        self.engine.connection.close()


@dataclass(frozen=True)
class OpenSource:
    """A source whose schema fits the plan; nothing has been read from it yet.

    records: canonical records that were materialised before, for this plan and others.
    """

    plan: Plan
    table: Any = field(repr=False)
    records: CanonicalRecords | None = field(default=None, repr=False)

    @property
    def key_types(self) -> dict[str, str]:
        """The types of the columns that name a group, in words; from the schema, no data."""
        with silence_engine():
            return key_types(self.plan, dict(self.table.schema().items()))

    def close(self) -> None:
        """Let go of the file or server; a table of Ibis that was given, and Spark, stay open."""
        source = self.plan.source
        with silence_engine(), suppress(Exception):
            if self.records is not None:
                self.records.close()
            elif (source.frame is None or source.is_frame) and source.engine != "spark":
                self.table.get_backend().disconnect()

    def aggregate(self) -> TrueAnswers:
        """Run the aggregation in the engine and place every declared group's answers."""
        if self.records is None and self.plan.source.textual:
            with self.plan.with_line_numbers():
                csv_files.check_quotes(self.plan.source)
        with silence_engine():
            try:
                raw = self._raw()
            except Exception:  # the engine's words may quote a record, so not even the chain of causes is kept
                raw = None
        if raw is None:
            name = self.plan.source.name
            raise AggregationError(
                f"the engine stopped while aggregating {name}; its reason may quote data and is withheld"
            )
        return TrueAnswers(
            tuple(row for k in range(len(self.plan.statistics)) for row in _to_positions(self.plan, k, raw))
        )

    def _raw(self) -> dict[str, Any]:
        if self.records is not None:
            return aggregate(self.plan, self.records)
        with canonical_records(self.plan, self.table) as records:
            return aggregate(self.plan, records)


def open_plan_source(plan: Plan, records: CanonicalRecords | None = None, table: Any = None) -> OpenSource:
    """Open the plan's source and compare its schema with the plan: names and types, no data.

    records, table: of the same source, materialised and opened before: then it is not opened again, nor closed.
    """
    with plan.with_line_numbers():
        table = open_table(plan.source, read_columns(plan)) if table is None else table
        opened = OpenSource(plan, table, records)
        try:
            _check(opened)
            if records is None:
                _rehearse(opened)
        except BaseException:
            opened.close()
            raise
    return opened


def _rehearse(opened: OpenSource) -> None:
    """Evaluate the plan on no records, before anything is charged: a `SourceError` where the engine cannot.

    Engines limit how many columns a statement has, how deep it is nested and how long a row is, each in its own way.
    """
    with silence_engine():
        try:
            records = _materialise(opened.plan, opened.table.limit(0))
            try:
                aggregate(opened.plan, records)
            finally:
                records.engine.drop(records.name)
        except Exception:  # an engine's words may quote what it saw
            records = None
    if records is None:
        said = (
            "are too many, use too many columns, or have conditions too long, for the engine to evaluate at once; "
            "divide the plan, or declare fewer columns"
        )
        raise SourceError(said, ("statistics",))


def _check(opened: OpenSource) -> None:
    """A `SourceError` unless the source has what the plan names."""
    import pyarrow.dataset  # noqa: F401, the engine loads it when it reads: should it fail, then before the charge

    plan = opened.plan
    with silence_engine():
        schema = dict(opened.table.schema().items())
    check_schema(plan, schema)
    if plan.people.id:
        check_person(plan.people.id, schema[plan.people.id])


# --- canonical records --------------------------------------------------------------------------------------


@contextmanager
def canonical_records(plan: Plan, table: Any, *, days: bool = False) -> Iterator[CanonicalRecords]:
    """The canonical records of a plan's columns, while something is computed from them."""
    records = materialise(plan, table, days=days)
    try:
        yield records
    finally:
        with suppress(Exception):
            records.engine.drop(records.name)


def materialise(plan: Plan, table: Any, *, days: bool = False) -> CanonicalRecords:
    """Read the source once, and keep its canonical records under a name of their own.

    days: every text also as a date, whatever the plan's own conditions compare.
    """
    return _materialise(plan, read_table(plan.source, table, read_columns(plan), plan.people.id), days=days)


def _materialise(plan: Plan, table: Any, *, days: bool = False) -> CanonicalRecords:
    if plan.source.textual:
        table = csv_files.read_all_as_text(table, read_columns(plan))
    backend = table.get_backend()
    engine, name = detect_engine(backend), f"inbounds_{secrets.token_hex(8)}"
    layout = _layout(plan, table)
    first = _first_step(plan, table, layout, set(layout.forms) if days else _by_date(plan))
    backend._run_pre_execute_hooks(first)  # tables of Python's memory that an Ibis table may be made of
    second = _second_step(plan, table, layout, first.schema())
    sql = f"WITH {FIRST} AS ({backend.compile(first)}) {backend.compile(second)}"
    _keep_with_codes(engine, name, sql, second.columns, layout)
    return CanonicalRecords(engine, name, layout)


FIRST = "first_step"


def _first_step(plan: Plan, table: Any, layout: RecordLayout, by_date: set[str]) -> Any:
    """Every column in its canonical type, whose a record is, and the texts of its keys."""
    import ibis

    found = {"nothing_": ibis.literal(0, "int64")}
    for k, name in enumerate(layout.forms):
        dated = name in by_date and _may_be_dates(table[name].type())
        own = first_columns(table[name], plan.columns[name], plan.source, days=dated)
        found |= {f"{letter}{k}": column for letter, column in own.items()}
    whose = {PERSON: person_text(table[plan.people.id])} if plan.people.id else {}
    return table.select(**found, **whose, **_keys(plan, table))


def _second_step(plan: Plan, table: Any, layout: RecordLayout, schema: Any) -> Any:
    """What follows from the columns of the first step, beside them."""
    import ibis

    first, engine = ibis.table(schema, name=FIRST), table.get_backend().name
    found = {name: first[name] for name in first.columns}
    for k, name in enumerate(layout.forms):
        own = second_columns(first[f"c{k}"], plan.columns[name], table[name].type(), engine)
        found |= {f"{letter}{k}": column for letter, column in own.items()}
    return first.select(**found)


def _keys(plan: Plan, table: Any) -> dict[str, Any]:
    """The texts of the columns of keys, in digits."""
    groups = plan.groups
    periods = (groups.period.get(name, "") for name in groups.by)
    return {
        f"t{j}": key_text(table[name], period, groups.missing_key)
        for j, (name, period) in enumerate(zip(groups.by, periods, strict=True))
    }


def _layout(plan: Plan, table: Any) -> RecordLayout:
    engine = table.get_backend().name
    forms = {name: choose_form(plan.columns[name], table[name].type(), engine) for name in used_columns(plan)}
    kinds = {name: table[name].type() for name in plan.groups.by}
    keys = {name: tuple(dict.fromkeys(_key_digits(plan, k, kinds[name]))) for k, name in enumerate(plan.groups.by)}
    return RecordLayout(forms, keys, kinds)


def _key_digits(plan: Plan, k: int, kind: Any) -> list[str]:
    """The declared keys of a column as it writes them, in digits; names of periods and of no value as they are."""
    groups, name = plan.groups, plan.groups.by[k]
    own = (key[k] for key in groups.keys)
    return [
        text_to_digits(text if name in groups.period or text == groups.missing_key else match_spelling(text, kind))
        for text in own
    ]


def _by_date(plan: Plan) -> set[str]:
    return set().union(*(language.is_ordering(where) for where in plan.conditions))


def _may_be_dates(kind: Any) -> bool:
    return bool(kind.is_string() or kind.is_date())


def _keep_with_codes(engine: Engine, name: str, sql: str, columns: Sequence[str], layout: RecordLayout) -> None:
    """Keep a query's columns, with the place of each key among the declared ones instead of its text."""
    tables = [f"{name}_k{j}" for j in range(len(layout.keys))]
    for table, texts in zip(tables, layout.keys.values(), strict=True):
        engine.load(table, {"text_": texts, "place_": range(len(texts))})
    places = [f"COALESCE({table}.place_, {NOWHERE}) AS k{j}" for j, table in enumerate(tables)]
    joins = [f" LEFT JOIN {table} ON read_.t{j} = {table}.text_" for j, table in enumerate(tables)]
    key_texts = {f"t{j}" for j in range(len(tables))}
    selected = ", ".join([*(f"read_.{column}" for column in columns if column not in key_texts), *places])
    engine.keep(name, f"SELECT {selected} FROM ({sql}) AS read_{''.join(joins)}")
    for table in tables:
        engine.drop(table)


# --- from canonical records to one row per group --------------------------------------------------------------


def aggregate(plan: Plan, records: CanonicalRecords) -> dict[str, Any]:
    """For every measure, one whole number per declared group; groups without records have the neutral 0.

    Temporary tables belong to a connection, so that several threads may ask of the same records.
    """
    engine, counting, groups = records.engine, f"{records.name}_counted", f"{records.name}_groups"
    try:
        if plan.groups.by:
            engine.load(groups, _group_table(plan, records.layout))
        engine.keep(counting, counted_records(plan, records, groups))
        found = {name: engine.fetch(sql) for name, sql in _statements(plan, engine, counting).items()}
    finally:
        with suppress(Exception):
            engine.drop(counting)
            engine.drop(groups)
    return _by_group(plan, found)


def _group_table(plan: Plan, layout: RecordLayout) -> dict[str, Any]:
    """The declared groups, each by the places of its keys."""
    columns = dict[str, Any]({GROUP: range(len(plan.groups))})
    for k, name in enumerate(plan.groups.by):
        place = {digits: i for i, digits in enumerate(layout.keys[name])}
        columns[layout.key(name)] = [place[digits] for digits in _key_digits(plan, k, layout.key_types[name])]
    return columns


def counted_records(plan: Plan, records: CanonicalRecords, groups: str) -> str:
    """One row per record that may count: its group, or `NOWHERE`, and one whole number per statistic; as SQL."""
    layout, engine = records.layout, records.engine
    writer = RecordWriter(layout, engine.real)
    numbers = [f"v{k}" for k in range(len(plan.statistics))]
    values = [f"CAST({_number(plan, one, writer)} AS BIGINT) AS v{k}" for k, one in enumerate(plan.statistics)]
    keys = [layout.key(name) for name in plan.groups.by]
    group = f"COALESCE({groups}.{GROUP}, {NOWHERE})" if keys else "0"
    joined = f" LEFT JOIN {groups} ON {' AND '.join(f'{groups}.{key} = r.{key}' for key in keys)}" if keys else ""
    counts = [f"{writer.truth(plan.condition)} = {TRUE}"] if plan.condition is not None else []
    counts += [f"r.{PERSON} IS NOT NULL"] if plan.people.id else []
    counted = f"CASE WHEN {' AND '.join(counts)} THEN {group} ELSE {NOWHERE} END" if counts else group
    person = [f"r.{PERSON} AS {PERSON}"] if plan.people.id else []
    selected = ", ".join([*person, f"CAST({counted} AS BIGINT) AS {GROUP}", *values])
    sql = f"SELECT {selected} FROM {records.name} AS r{joined}"
    if not plan.people.id:
        return sql
    most = plan.contribution
    return bound_contributions(
        engine, f"({sql}) AS own", numbers, most.records, most.groups if most.groups < len(plan.groups) else 0
    )


def _number(plan: Plan, statistic: Statistic, writer: RecordWriter) -> str:
    """The whole number that a record contributes: never missing, always in its range."""
    return statistic.own.domain.number(statistic.of, plan.context(statistic).declared, writer)


def _statements(plan: Plan, engine: Engine, counting: str) -> dict[str, str]:
    """What the engine is asked of the records that count: all measures at once; and how many records of each group have
    each value, once for every column that a statistic asks it of."""
    measures = [
        value
        for k, statistic in enumerate(plan.statistics)
        for value in statistic.own.measures(plan.context(statistic), f"v{k}", engine.sum).values()
    ]
    found = {
        MEASURES: f"SELECT {', '.join([GROUP, 'CAST(COUNT(*) AS BIGINT)', *measures])} FROM {counting} GROUP BY {GROUP}"
    }
    for k, statistic in enumerate(plan.statistics):
        if statistic.own.counts_values and (name := _values(statistic)) not in found:
            found[name] = f"SELECT {GROUP}, v{k}, CAST(COUNT(*) AS BIGINT) FROM {counting} GROUP BY {GROUP}, v{k}"
    return found


def _by_group(plan: Plan, columns: dict[str, list[Ints]]) -> dict[str, Any]:
    """What the engine found, for every declared group."""
    names = ["rows_"] + [
        _measure(k, suffix)
        for k, statistic in enumerate(plan.statistics)
        for suffix in statistic.own.measures(plan.context(statistic), "", str)
    ]
    groups, *measures = columns[MEASURES]
    declared, found = groups != NOWHERE, dict[str, Any]()
    for name, own in zip(names, measures, strict=True):
        found[name] = np.zeros(len(plan.groups), dtype=np.int64)
        found[name][groups[declared]] = own[declared]
    for statistic in plan.statistics:
        if statistic.own.counts_values:
            own, values, counts = columns[_values(statistic)]
            there, shape = own != NOWHERE, (len(plan.groups), plan.context(statistic).declared.width + 1)
            found[_values(statistic)] = ValueCounts.from_entries(own[there], values[there], counts[there], shape)
    return found


def _values(statistic: Statistic) -> str:
    """What the counted values of a column are called."""
    return f"values of {statistic.of}"


def _measure(k: int, suffix: str) -> str:
    """What a measure of the k-th statistic is called."""
    return f"m{k}{suffix}"


# --- whole numbers as positions ---------------------------------------------------------------------------


def _to_positions(plan: Plan, k: int, raw: dict[str, Any]) -> Sequence[Ints | ValueCounts]:
    """Positions in the query's answers, as the statistic's kind defines them; always within the range."""
    statistic, prefix = plan.statistics[k], _measure(k, "")
    own = {name.removeprefix(prefix): found for name, found in raw.items() if name.startswith(prefix)}
    found = GroupAggregates(raw["rows_"], plan.groups.sizes, own, raw.get(_values(statistic)))
    return statistic.own.positions(plan.context(statistic), found)

"""Aggregation: reduce the data to one row of whole numbers per declared group, and those to positions.

    source → canonical records, materialised → group and one small whole number per statistic → sums per group

Every record is first turned into small whole numbers (whether it meets the condition, which label, which step of the
range). So whatever a record holds, it moves an aggregate by no more than `statistics` allows. No step can fail because
of what a record holds: see `sources.records` and `sources.expressions`. The declared keys are sent to the engine and
joined with the data there; nothing about any other group is returned.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from inbounds.exact import Ints
from inbounds.plan.plan import Plan
from inbounds.releases.check_source import canonical_keys, check_schema, key_types, read_columns, used_columns
from inbounds.releases.disasters import check_foreseeable
from inbounds.schema.columns import NumberColumn, PlainColumn
from inbounds.schema.condition import tree as language
from inbounds.schema.errors import AggregationError, SourceError
from inbounds.schema.text import is_period
from inbounds.sources import csv_files
from inbounds.sources.contributions import GROUP, NO_KEY, NOWHERE, bound_contributions, check_person
from inbounds.sources.engines import DuckDB, Engine, detect_engine
from inbounds.sources.expressions import TRUE, RecordWriter
from inbounds.sources.groups import FROM_DATA
from inbounds.sources.open import column_names, open_table, read_table, silence_engine
from inbounds.sources.records import (
    PERSON,
    RecordLayout,
    choose_form,
    first_columns,
    key_text,
    key_value,
    person_text,
    second_columns,
    text_to_digits,
)
from inbounds.statistics import GroupAggregates, Statistic
from inbounds.statistics.base import ValueCounts

MEASURES = "measures"
"""The name of the query with one row for each group."""


@dataclass(frozen=True)
class TrueAnswers:
    """True answers as positions in each query's answers: one row per statistic (per label of a histogram).

    above: those of every level above the groups, from below up, for what is drawn of levels. keys: of the groups that
    the data holds, in the order of their texts, if the plan does not declare groups; also those that will not be
    published. They never leave the process, so their repr hides them.
    """

    positions: tuple[Ints | ValueCounts, ...] = field(repr=False)
    above: tuple["TrueAnswers", ...] = field(default=(), repr=False)
    keys: tuple[tuple[str, ...], ...] = field(default=(), repr=False)

    def select(self, groups: Ints) -> "TrueAnswers":
        """Return the answers of these groups, by their places."""
        positions = (row.select(groups) if isinstance(row, ValueCounts) else row[groups] for row in self.positions)
        return TrueAnswers(tuple(positions), keys=tuple(self.keys[k] for k in groups.tolist()))


@dataclass(frozen=True)
class CanonicalRecords:
    """Canonical records, materialised in an engine under a name.

    group_tables: tables of declared groups that are stored beside shared records, by the digest of their keys.
    """

    engine: Engine = field(repr=False)
    name: str
    layout: RecordLayout
    group_tables: dict[str, str] = field(default_factory=dict, repr=False)

    def share(self, threads: int) -> "CanonicalRecords":
        """Make the records visible to every cursor, each with so many threads; for DuckDB in memory only."""
        assert isinstance(self.engine, DuckDB)
        execute, shared = self.engine.connection.execute, f"{self.name}_shared"
        execute(f"SET threads = {threads}")
        execute(f"CREATE TABLE {shared} AS SELECT * FROM {self.name}")
        self.engine.drop(self.name)
        return replace(self, name=shared)

    def share_groups(self, plan: Plan) -> None:
        """Store the groups of a plan beside shared records, once for all questions about them. Not for two threads."""
        digest = plan.groups.keys_sha256
        if plan.groups.by and digest not in self.group_tables:
            own, shared = f"{self.name}_groups", f"{self.name}_groups_{len(self.group_tables)}"
            self.engine.load(own, _group_table(plan, self.layout))
            assert isinstance(self.engine, DuckDB)
            self.engine.connection.execute(f"CREATE TABLE {shared} AS SELECT * FROM {own}")
            self.engine.drop(own)
            self.group_tables[digest] = shared

    def cursor(self) -> "CanonicalRecords":
        """Return the same shared records for another thread."""
        assert isinstance(self.engine, DuckDB)
        return replace(self, engine=DuckDB(self.engine.connection.cursor()))

    def count(self) -> int:
        """Count the records."""
        return int(self.engine.fetch(f"SELECT CAST(COUNT(*) AS BIGINT) FROM {self.name}")[0][0])

    def close(self) -> None:
        """Close this cursor; the records stay."""
        assert isinstance(self.engine, DuckDB)
        self.engine.connection.close()


@dataclass(frozen=True)
class KeyTables:
    """Tables of an engine with what is public of groups.

    columns: of each key column the declared keys, with their places. groups: as in `CanonicalRecords`.
    """

    engine: Engine = field(repr=False)
    columns: tuple[str, ...] = ()
    groups: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, engine: Engine, layout: RecordLayout, plan: Plan | None = None) -> "KeyTables":
        """Load the keys of a layout under new names, and the groups of a plan; none if they are those of the data."""
        if layout.keys is None:
            return cls(engine)
        name = f"inbounds_{secrets.token_hex(8)}"
        columns = tuple(f"{name}_k{j}" for j in range(len(layout.keys)))
        for table, texts in zip(columns, layout.keys.values(), strict=True):
            engine.load(table, {"text_": texts, "place_": np.arange(len(texts))})
        if plan is None or not plan.groups.by:
            return cls(engine, columns)
        engine.load(f"{name}_groups", _group_table(plan, layout))
        return cls(engine, columns, {plan.groups.keys_sha256: f"{name}_groups"})

    def drop(self) -> None:
        """Remove the tables."""
        for name in (*self.columns, *self.groups.values()):
            self.engine.drop(name)


@dataclass(frozen=True)
class OpenSource:
    """An open source whose schema fits the plan; nothing has been read from it yet.

    records: canonical records that were materialised before, for this plan and others.
    """

    plan: Plan
    table: Any = field(repr=False)
    records: CanonicalRecords | None = field(default=None, repr=False)

    @property
    def key_types(self) -> dict[str, str]:
        """Return the types of the columns that name a group, in words; from the schema."""
        with silence_engine():
            return key_types(self.plan, dict(self.table.schema().items()))

    def close(self) -> None:
        """Close the file or server; an Ibis table given by the caller, and Spark, stay open."""
        source = self.plan.source
        with silence_engine(), suppress(Exception):
            if self.records is not None:
                self.records.close()
            if "key_tables" in vars(self):
                self.key_tables.drop()
            if self.records is None and (source.frame is None or source.is_frame) and source.engine != "spark":
                self.table.get_backend().disconnect()

    def aggregate(self) -> TrueAnswers:
        """Aggregate in the engine and return the true answers of every declared group.

        Raises AggregationError without the engine's reason, which may quote data.
        """
        if self.records is None and self.plan.source.kind == "csv":
            with self.plan.with_line_numbers():
                csv_files.check_quotes(self.plan.source)
        with silence_engine():
            try:
                raw = self._raw()
            except Exception:  # the engine's message may quote a record, so not even the chain of causes is kept
                raw = None
        if raw is None:
            name = self.plan.source.name
            raise AggregationError(
                f"the engine stopped while aggregating {name}; its reason may quote data and is withheld"
            )
        plan, aggregates = raw
        return replace(true_answers(plan, aggregates), keys=plan.groups.keys if plan.groups.from_data else ())

    def _raw(self) -> tuple[Plan, dict[str, Any]]:
        """Return the plan, with the groups that the data holds if it declares none, and their aggregates."""
        if self.records is not None:
            return self.plan, aggregate(self.plan, self.records)
        with canonical_records(self.plan, self.table, self.conversion, self.key_tables) as records:
            if self.plan.groups.from_data:
                return aggregate_found(self.plan, records)
            return self.plan, aggregate(self.plan, records)

    @cached_property
    def conversion(self) -> "Conversion":
        """Write the SQL that makes the source's records canonical; from the plan and the schema."""
        return Conversion.from_schema(self.plan, self.table.schema(), self.table.get_backend())

    @cached_property
    def key_tables(self) -> KeyTables:
        """Load the declared keys into the engine: once, for the rehearsal and for the answer."""
        return KeyTables.load(detect_engine(self.table.get_backend()), self.conversion.layout, self.plan)


def open_plan_source(plan: Plan, records: CanonicalRecords | None = None, table: Any = None) -> OpenSource:
    """Open the plan's source and compare its schema with the plan: names and types, no data.

    records, table: of the same source, materialised and opened before; then it is neither opened again nor closed.
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
    """Evaluate the plan on no records, before anything is charged; raise SourceError if the engine cannot.

    Engines limit the number of columns, the nesting of a statement and the length of a row, each in its own way.
    """
    with silence_engine():
        try:
            records = _materialise(opened.plan, opened.table.limit(0), opened.conversion, opened.key_tables)
            try:
                (aggregate_found if opened.plan.groups.from_data else aggregate)(opened.plan, records)
            finally:
                records.engine.drop(records.name)
        except Exception:  # an engine's message may quote what it read
            records = None
    if records is None:
        message = (
            "are too many, use too many columns, or have conditions too long, for the engine to evaluate at once; "
            "divide the plan, or declare fewer columns"
        )
        raise SourceError(message, ("statistics",))


def _check(opened: OpenSource) -> None:
    """Raise SourceError unless the source has what the plan names."""
    import pyarrow.dataset  # noqa: F401, the engine loads it when it reads: should it fail, then before the charge

    plan = opened.plan
    with silence_engine():
        schema = dict(opened.table.schema().items())
    check_schema(plan, schema)
    if plan.groups.from_data:
        _check_memory(opened.table)
    if opened.records is None:
        check_foreseeable(plan, column_names(plan.source, opened.table), used_columns(plan))
    if plan.people.id:
        check_person(plan.people.id, schema[plan.people.id])


def _check_memory(table: Any) -> None:
    """Keep the engine from writing temporary files, which could hold keys that are not published, or refuse it."""
    try:
        with silence_engine():
            detect_engine(table.get_backend()).stay_in_memory()
    except Exception:
        message = (
            f"must be read by DuckDB, in a connection that wrote no temporary file yet, beside keys = {FROM_DATA!r}: "
            "other engines keep temporary tables in files, which would hold keys that are not published"
        )
        raise SourceError(message, ("source",)) from None


# --- canonical records --------------------------------------------------------------------------------------


SOURCE, FIRST = "source_records", "first_step"
"""Names within the statement that makes records canonical."""


@dataclass(frozen=True)
class Conversion:
    """SQL that turns records named `SOURCE` into canonical ones; the same for a rehearsal and for the answer."""

    layout: RecordLayout
    columns: tuple[str, ...]
    first: str
    second: str

    @classmethod
    def from_schema(cls, plan: Plan, schema: Any, backend: Any, *, days: bool = False) -> "Conversion":
        """Write the SQL for an engine. days: store every text also as a date, whatever the conditions compare."""
        from ibis.expr.operations import DatabaseTable

        table, engine = DatabaseTable(name=SOURCE, schema=schema, source=backend).to_expr(), backend.name
        layout = _layout(plan, table, engine)
        first = _first_step(plan, table, layout, set(layout.forms) if days else _by_date(plan))
        second = _second_step(plan, table, layout, first.schema(), engine)
        return cls(layout, tuple(second.columns), backend.compile(first), backend.compile(second))

    def statement(self, records: str) -> str:
        """Write the statement for the records of a query."""
        return f"WITH {SOURCE} AS ({records}), {FIRST} AS ({self.first}) {self.second}"


@contextmanager
def canonical_records(
    plan: Plan, table: Any, conversion: Conversion | None = None, keys: KeyTables | None = None
) -> Iterator[CanonicalRecords]:
    """Materialise the canonical records of a plan's columns; drop them when the block is left."""
    records = materialise(plan, table, conversion, keys=keys)
    try:
        yield records
    finally:
        with suppress(Exception):
            records.engine.drop(records.name)


def materialise(
    plan: Plan,
    table: Any,
    conversion: Conversion | None = None,
    *,
    days: bool = False,
    keys: KeyTables | None = None,
) -> CanonicalRecords:
    """Read the source once, and store its canonical records under a new name.

    conversion: of the plan and the table's schema, if it was written before.
    days: store every text also as a date, whatever the plan's conditions compare.
    keys: the declared keys, if they were loaded before.
    """
    conversion = conversion or Conversion.from_schema(plan, table.schema(), table.get_backend(), days=days)
    loaded = keys or KeyTables.load(detect_engine(table.get_backend()), conversion.layout)
    try:
        records = read_table(plan.source, table, read_columns(plan), plan.people.id)
        return _materialise(plan, records, conversion, loaded)
    finally:
        if keys is None:
            loaded.drop()


def _materialise(plan: Plan, table: Any, conversion: Conversion, keys: KeyTables) -> CanonicalRecords:
    if plan.source.kind == "csv" and not plan.source.is_decoded:
        table = csv_files.read_columns_together(table, read_columns(plan))
    backend = table.get_backend()
    engine, name = detect_engine(backend), f"inbounds_{secrets.token_hex(8)}"
    backend._run_pre_execute_hooks(table)  # registers tables in Python's memory that an Ibis table may use
    sql = conversion.statement(backend.compile(table))
    _keep_with_codes(engine, name, sql, conversion.columns, conversion.layout, keys.columns)
    return CanonicalRecords(engine, name, conversion.layout, dict(keys.groups))


def _first_step(plan: Plan, table: Any, layout: RecordLayout, by_date: set[str]) -> Any:
    """Build every column in its canonical type, the id, and the texts of the keys."""
    import ibis

    columns = {"nothing_": ibis.literal(0, "int64")}
    for k, name in enumerate(layout.forms):
        dated = name in by_date and _may_be_dates(table[name].type())
        converted = first_columns(table[name], plan.columns[name], plan.source, days=dated)
        columns |= {f"{letter}{k}": column for letter, column in converted.items()}
    person = {PERSON: person_text(table[plan.people.id])} if plan.people.id else {}
    return table.select(**columns, **person, **_keys(plan, table))


def _second_step(plan: Plan, table: Any, layout: RecordLayout, schema: Any, engine: str) -> Any:
    """Build the columns that follow from those of the first step, beside them."""
    import ibis

    first = ibis.table(schema, name=FIRST)
    columns = {name: first[name] for name in first.columns}
    for k, name in enumerate(layout.forms):
        computed = second_columns(first[f"c{k}"], plan.columns[name], table[name].type(), engine)
        columns |= {f"{letter}{k}": column for letter, column in computed.items()}
    for j, name in enumerate(plan.groups.by):
        columns[f"t{j}"] = key_value(first[f"t{j}"], plan.spelling(name), table[name].type(), plan.groups.missing_key)
    return first.select(**columns)


def _keys(plan: Plan, table: Any) -> dict[str, Any]:
    """Build the texts of the key columns, in digits."""
    groups = plan.groups
    periods = (groups.period.get(name, "") for name in groups.by)
    return {
        f"t{j}": key_text(table[name], period, plan.spelling(name))
        for j, (name, period) in enumerate(zip(groups.by, periods, strict=True))
    }


def _layout(plan: Plan, table: Any, engine: str) -> RecordLayout:
    forms = {name: choose_form(plan.columns[name], table[name].type(), engine) for name in used_columns(plan)}
    kinds = {name: table[name].type() for name in plan.groups.by}
    if plan.groups.from_data:
        return RecordLayout(forms, None, kinds)
    keys = {name: tuple(dict.fromkeys(_key_digits(plan, k, kinds[name]))) for k, name in enumerate(plan.groups.by)}
    return RecordLayout(forms, keys, kinds)


def _key_digits(plan: Plan, k: int, kind: Any) -> list[str]:
    """Return the different keys of a column in its spelling, in digits; computed once."""
    place = k, kind, plan.spelling(plan.groups.by[k]), "digits"
    if place not in plan.groups.spelled:
        plan.groups.spelled[place] = list(map(text_to_digits, canonical_keys(plan, k, kind)))
    return plan.groups.spelled[place]


def _by_date(plan: Plan) -> set[str]:
    return set().union(*(language.date_ordered_columns(where) for where in plan.conditions))


def _may_be_dates(kind: Any) -> bool:
    return bool(kind.is_string() or kind.is_date())


def _keep_with_codes(
    engine: Engine, name: str, sql: str, columns: Sequence[str], layout: RecordLayout, tables: Sequence[str]
) -> None:
    """Store a query's columns, with the position of each key among the declared ones instead of its text.

    tables: the declared keys of each column.
    """
    if layout.keys is None:  # groups that the data holds: the keys stay texts in digits
        engine.keep(name, sql)
        return
    places = [f"COALESCE({table}.place_, {NOWHERE}) AS k{j}" for j, table in enumerate(tables)]
    joins = [f" LEFT JOIN {table} ON read_.t{j} = {table}.text_" for j, table in enumerate(tables)]
    key_texts = {f"t{j}" for j in range(len(tables))}
    selected = ", ".join([*(f"read_.{column}" for column in columns if column not in key_texts), *places])
    engine.keep(name, f"SELECT {selected} FROM ({sql}) AS read_{''.join(joins)}")


# --- from canonical records to one row per group --------------------------------------------------------------


def aggregate(plan: Plan, records: CanonicalRecords) -> dict[str, Any]:
    """Compute every measure, one whole number per declared group; groups without records have 0.

    Temporary tables belong to a connection, so several threads may query the same records.
    """
    engine, counted, own_groups = records.engine, f"{records.name}_counted", f"{records.name}_groups"
    groups = records.group_tables.get(plan.groups.keys_sha256, own_groups)
    try:
        if plan.groups.by and groups == own_groups:
            engine.load(own_groups, _group_table(plan, records.layout))
        engine.keep(counted, write_contributions(plan, records, groups))
        results = {name: engine.fetch(sql) for name, sql in _statements(plan, engine, counted).items()}
    finally:
        with suppress(Exception):
            engine.drop(counted)
            if groups == own_groups:
                engine.drop(own_groups)
    return _by_group(plan, results)


def aggregate_found(plan: Plan, records: CanonicalRecords) -> tuple[Plan, dict[str, Any]]:
    """Compute every measure for the groups that the data holds; return the plan with these groups, by their texts.

    A record's group is a function of the record, and the records that count for a person are functions of that person's
    records: both before any key is compared with those of others. Keys that no table could show are left out.
    """
    engine, named, counted, places = (
        records.engine,
        *(f"{records.name}_{end}" for end in ("named", "counted", "places")),
    )
    try:
        engine.keep(named, write_contributions(plan, records, ""))
        texts = engine.fetch_texts(f"SELECT DISTINCT {GROUP} FROM {named} WHERE {GROUP} <> {NO_KEY}")
        keys = {key: text for text in texts if (key := _read_key(plan, text)) is not None}
        found = plan.with_published(sorted(keys))
        columns: dict[str, Any] = {"text_": [keys[key] for key in found.groups.keys], PLACE: range(len(keys))}
        engine.load(places, columns if keys else {"text_": [NO_KEY], PLACE: [NOWHERE]})
        values = ", ".join(f"v{k}" for k in range(len(plan.statistics)))
        engine.keep(
            counted,
            f"SELECT CAST(COALESCE({places}.{PLACE}, {NOWHERE}) AS BIGINT) AS {GROUP}, {values} FROM {named} AS named_ "
            f"LEFT JOIN {places} ON named_.{GROUP} = {places}.text_",
        )
        results = {name: engine.fetch(sql) for name, sql in _statements(found, engine, counted).items()}
    finally:
        with suppress(Exception):
            for table in (named, counted, places):
                engine.drop(table)
    return found, _by_group(found, results)


PLACE = "place_"
"""The column with the place of a group that the data holds."""


def _read_key(plan: Plan, text: str) -> tuple[str, ...] | None:
    """Return the key that is written in digits; None if it is not printable text, or not a period of its column."""
    try:
        key = tuple(bytes.fromhex(digits).decode() for digits in text.split(KEY_END)[:-1])
    except ValueError:
        return None
    periods = (plan.groups.period.get(name) for name in plan.groups.by)
    pairs = zip(key, periods, strict=True)
    fits = all(period is None or part == plan.groups.missing_key or is_period(part, period) for part, period in pairs)
    return key if fits and all(part.isprintable() for part in key) else None


KEY_END = "Z"
"""A letter that is no digit, behind the digits of each column of a key: every collation tells it from them."""


def _write_key(plan: Plan) -> str:
    """Write SQL for the key of a record in digits; that of no group if a part is missing, empty or too long."""
    parts, bounds = [f"r.t{j}" for j in range(len(plan.groups.by))], []
    for part, name in zip(parts, plan.groups.by, strict=True):
        column = plan.columns[name]
        assert isinstance(column, PlainColumn)
        bounds += [f"{part} IS NOT NULL", f"{part} <> ''", f"LENGTH({part}) <= {2 * column.max_length}"]
    key = " || ".join(f"{part} || '{KEY_END}'" for part in parts)
    return f"CASE WHEN {' AND '.join(bounds)} THEN {key} ELSE {NO_KEY} END"


def _group_table(plan: Plan, layout: RecordLayout) -> dict[str, Any]:
    """Return the declared groups, each by the positions of its keys."""
    assert layout.keys is not None
    columns = dict[str, Any]({GROUP: np.arange(len(plan.groups))})
    for k, name in enumerate(plan.groups.by):
        _, places = plan.groups.coded[k]
        digits = _key_digits(plan, k, layout.key_types[name])
        are_all = tuple(digits) == layout.keys[name]
        columns[layout.key(name)] = places if are_all else _find(layout, name, digits)[places]
    return columns


def _find(layout: RecordLayout, name: str, digits: Sequence[str]) -> Ints:
    """Find keys in digits among those of a layout."""
    assert layout.keys is not None
    place = {text: k for k, text in enumerate(layout.keys[name])}
    return np.array([place[text] for text in digits], dtype=np.int64)


def write_contributions(plan: Plan, records: CanonicalRecords, groups: str) -> str:
    """Write SQL for one row per record: its group, or `NOWHERE`, and one whole number per statistic.

    groups: the table of declared groups. Groups that the data holds are named by their keys instead.
    """
    layout, engine = records.layout, records.engine
    writer = RecordWriter(layout, engine.real)
    numbers = [f"v{k}" for k in range(len(plan.statistics))]
    values = [f"CAST({_number(plan, one, writer)} AS BIGINT) AS v{k}" for k, one in enumerate(plan.statistics)]
    if plan.groups.from_data:
        group, joined, nowhere, kind = _write_key(plan), "", NO_KEY, engine.text
    else:
        keys = [layout.key(name) for name in plan.groups.by]
        group, nowhere, kind = f"COALESCE({groups}.{GROUP}, {NOWHERE})" if keys else "0", str(NOWHERE), "BIGINT"
        joined = f" LEFT JOIN {groups} ON {' AND '.join(f'{groups}.{key} = r.{key}' for key in keys)}" if keys else ""
    conditions = [f"{writer.truth(plan.condition)} = {TRUE}"] if plan.condition is not None else []
    conditions += [f"r.{PERSON} IS NOT NULL"] if plan.people.id else []
    counting_group = f"CASE WHEN {' AND '.join(conditions)} THEN {group} ELSE {nowhere} END" if conditions else group
    person = [f"r.{PERSON} AS {PERSON}"] if plan.people.id else []
    selected = ", ".join([*person, f"CAST({counting_group} AS {kind}) AS {GROUP}", *values])
    sql = f"SELECT {selected} FROM {records.name} AS r{joined}"
    if not plan.people.id:
        return sql
    most, once = plan.contribution, [f"v{k}" for k, statistic in enumerate(plan.statistics) if statistic.once]
    groups_counted = most.groups if plan.groups.from_data or most.groups < len(plan.groups) else 0
    return bound_contributions(engine, f"({sql}) AS own", numbers, most.records, groups_counted, once, nowhere)


def _number(plan: Plan, statistic: Statistic, writer: RecordWriter) -> str:
    """Write SQL for the whole number that a record contributes: never missing, always in its range."""
    return statistic.number(plan.context, writer)


def _statements(plan: Plan, engine: Engine, counted: str) -> dict[str, str]:
    """Write the queries: all measures at once, and value counts once for each column that needs them."""
    measures = [
        value
        for k, statistic in enumerate(plan.statistics)
        for value in statistic.measures(plan.context, f"v{k}", engine.sum).values()
    ]
    statements = {
        MEASURES: f"SELECT {', '.join([GROUP, 'CAST(COUNT(*) AS BIGINT)', *measures])} FROM {counted} GROUP BY {GROUP}"
    }
    for k, statistic in enumerate(plan.statistics):
        if statistic.counts_values and (name := _values(statistic)) not in statements:
            statements[name] = f"SELECT {GROUP}, v{k}, CAST(COUNT(*) AS BIGINT) FROM {counted} GROUP BY {GROUP}, v{k}"
    return statements


def _by_group(plan: Plan, columns: dict[str, list[Ints]]) -> dict[str, Any]:
    """Arrange the engine's results by declared group."""
    names = ["rows_"] + [
        _measure(k, suffix)
        for k, statistic in enumerate(plan.statistics)
        for suffix in statistic.measures(plan.context, "", str)
    ]
    groups, *measures = columns[MEASURES]
    declared, aggregates = groups != NOWHERE, dict[str, Any]()
    for name, values in zip(names, measures, strict=True):
        aggregates[name] = np.zeros(len(plan.groups), dtype=np.int64)
        aggregates[name][groups[declared]] = values[declared]
    for statistic in plan.statistics:
        if statistic.counts_values:
            group, value, count = columns[_values(statistic)]
            inside, shape = group != NOWHERE, (len(plan.groups), _width(plan, statistic))
            aggregates[_values(statistic)] = ValueCounts.from_entries(
                group[inside], value[inside], count[inside], shape
            )
    return aggregates


def _values(statistic: Statistic) -> str:
    """Return the name of the counted values of a column."""
    return f"values of {statistic.subject_text}"


def _width(plan: Plan, statistic: Statistic) -> int:
    """Return the number of values of the column."""
    column = plan.columns[statistic.subject_text]
    assert isinstance(column, NumberColumn)
    return column.width + 1


def _measure(k: int, suffix: str) -> str:
    """Return the name of a measure of the k-th statistic."""
    return f"m{k}{suffix}"


# --- whole numbers as positions ---------------------------------------------------------------------------


def true_answers(plan: Plan, raw: dict[str, Any]) -> TrueAnswers:
    """Compute positions in the queries' answers, as the kinds of statistics define them; always within the range."""
    read = [_aggregates(plan, k, raw) for k in range(len(plan.statistics))]
    of_levels = [groups for one, groups in zip(plan.statistics, read, strict=True) if plan.is_drawn_of_levels(one)]
    nodes_of_groups = plan.group_tree.nodes_of_groups if plan.level_plans else []
    above = [
        _positions(level, [groups.join(nodes, level.groups.sizes) for groups in of_levels])
        for level, nodes in zip(plan.level_plans, nodes_of_groups, strict=True)
    ]
    return replace(_positions(plan, read), above=tuple(above))


def _positions(plan: Plan, aggregates: Sequence[GroupAggregates]) -> TrueAnswers:
    pairs = zip(plan.statistics, aggregates, strict=True)
    return TrueAnswers(tuple(row for statistic, own in pairs for row in statistic.positions(plan.context, own)))


def _aggregates(plan: Plan, k: int, raw: dict[str, Any]) -> GroupAggregates:
    statistic, prefix = plan.statistics[k], _measure(k, "")
    measures = {name.removeprefix(prefix): aggregates for name, aggregates in raw.items() if name.startswith(prefix)}
    return GroupAggregates(raw["rows_"], plan.groups.sizes, measures, raw.get(_values(statistic)))

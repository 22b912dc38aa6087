"""Aggregation: the engine reduces the data to one row of whole numbers per declared group; those become positions.

Every record is first turned into small whole numbers of its own (does it meet the condition, which label, which
step of the range), so whatever a record holds, it moves an aggregate by no more than `statistics` allows. The
declared keys go to the engine and join the data there: nothing about any other group comes back.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inbounds.numbers import Ints
from inbounds.tables.condition import translated, with_texts
from inbounds.tables.errors import AggregationFailed
from inbounds.tables.persons import GROUP, PERSON, bounded, check_person, person, prepare
from inbounds.tables.plan import Plan, Statistic
from inbounds.tables.schema import check_schema, read_columns, texts_of, used_columns
from inbounds.tables.sources import csvfile
from inbounds.tables.sources import typed as reading
from inbounds.tables.sources.source import filled, opened, quiet
from inbounds.tables.statements import CHOSEN, Expressions, Statements
from inbounds.tables.statistics import Aggregates
from inbounds.tables.statistics.kind import Fit, ValueCounts
from inbounds.tables.texts import fitted

MEASURES = "measures"
"""The statement that has one row for each group."""

MET = "met_"
"""The column that says whether a record meets the plan's own condition."""


@dataclass(frozen=True)
class Truths:
    """True answers as positions in each query's answers: one row per statistic (per label of a histogram).

    They never leave the process, so they are not shown either.
    """

    positions: tuple[Ints | ValueCounts, ...] = field(repr=False)


@dataclass(frozen=True)
class Opened:
    """A source whose schema fits the plan; nothing has been read from it yet.

    statements: of a source that stays open for others; see there.
    """

    plan: Plan
    table: Any = field(repr=False)
    statements: Statements | None = field(default=None, repr=False)

    def close(self) -> None:
        """Let go of the file or server; a frame or table that was given stays open."""
        if self.statements is None and self.plan.source.frame is None and self.plan.source.engine != "spark":
            with quiet(), suppress(Exception):
                self.table.get_backend().disconnect()

    def aggregate(self) -> Truths:
        """Run the aggregation in the engine and place every declared group's answers."""
        if self.plan.source.textual:
            with self.plan.located():
                csvfile.check_quotes(self.plan.source)
        with quiet():
            try:
                raw = self._raw()
            except Exception:  # the engine's words may quote a record, so not even the chain of causes is kept
                raw = None
        if raw is None:
            name = self.plan.source.name
            raise AggregationFailed(
                f"the engine stopped while aggregating {name}; its reason may quote data and is withheld"
            )
        return Truths(tuple(row for k in range(len(self.plan.statistics)) for row in _placed(self.plan, k, raw)))

    def _raw(self) -> dict[str, Any]:
        if self.statements is not None:
            return _raw_by(self.statements, self.plan)
        wanted = read_columns(self.plan)
        return _raw(self.plan, filled(self.plan.source, self.table, wanted, self.plan.people.id))


def open_source(plan: Plan, statements: Statements | None = None) -> Opened:
    """Open the plan's source and compare its schema with the plan: names and types, no data.

    statements: of the same source, which stays open: then it is not opened again, nor closed.
    """
    with plan.located():
        table = opened(plan.source, read_columns(plan)) if statements is None else statements.table
        with quiet():
            schema = dict(table.schema().items())
        import pyarrow.dataset  # noqa: F401, the engine loads it when it reads: should it fail, then before the charge

        check_schema(plan, schema)
        if plan.people.id:
            check_person(plan.people.id, schema[plan.people.id], table.get_backend().name)
    return Opened(plan, table, statements)


# --- records as whole numbers -----------------------------------------------------------------------------


def _raw(plan: Plan, table: Any) -> dict[str, Any]:
    """For every measure, one whole number per declared group; groups without records have the neutral 0."""
    with _chosen(plan, _joined(plan, table)) as joined:
        arrow = {name: found.to_pyarrow() for name, found in _expressions(plan, joined).items()}
    return _by_group(
        plan, {part: {name: own[name].to_numpy() for name in own.column_names} for part, own in arrow.items()}
    )


def _raw_by(statements: Statements, plan: Plan) -> dict[str, Any]:
    """The same by statements that are written once for all plans of a shape."""
    import ibis

    def expressed(plan: Plan) -> Expressions:
        def kept(declared: Any) -> Any:
            return statements.keys(plan, ibis.memtable(declared))

        if not plan.people.id:
            return Expressions(None, _aggregated_first(plan, statements.table, kept))
        joined = _joined(plan, statements.table, kept)
        return Expressions(joined, _expressions(plan, ibis.table(joined.schema(), name=CHOSEN)))

    return _by_group(plan, statements.columns(plan, expressed))


def _aggregated_first(plan: Plan, table: Any, as_table: Callable[[Any], Any]) -> dict[str, Any]:
    """The same expressions where every record counts: what is found for each key, and then whose key it is.

    A table has few keys and many records, and it is the records that take time to compare with the declared keys.
    """
    records = _records(plan, table)
    keys = [f"k{k}" for k in range(len(plan.groups.by))]
    if not keys:
        return _expressions(plan, _named(plan, table, records, as_table))
    declared, found = as_table(_declared(plan, table)), _expressions(plan, records, keys)
    return {name: _joined_by(declared, own, keys).drop(*keys) for name, own in found.items()}


@contextmanager
def _chosen(plan: Plan, joined: Any) -> Iterator[Any]:
    """The records that count, chosen once where persons have several.

    A server may not let us keep a table; there each statement chooses again, and chooses the same.
    """
    backend = joined.get_backend()
    if not plan.people.id or backend.name not in ("duckdb", "sqlite"):
        yield joined
        return
    name = f"inbounds_{secrets.token_hex(8)}"
    try:
        yield backend.create_table(name, joined, temp=True)
    finally:
        backend.con.execute(f"drop table if exists temp.{name}")


def _expressions(plan: Plan, joined: Any, by: Sequence[str] = (GROUP,)) -> dict[str, Any]:
    """What the engine is asked of the records that count: all measures at once; and how many records of each group have
    each value, once for every column that a statistic asks it of. by: the columns that name a group."""
    measures = {
        _measure(k, suffix): value
        for k, statistic in enumerate(plan.statistics)
        for suffix, value in statistic.own.measures(plan.subject(statistic), joined[f"v{k}"]).items()
    }
    found = {MEASURES: joined.group_by(*by).agg(rows_=joined.count().cast("int64"), **measures)}
    for k, statistic in enumerate(plan.statistics):
        if statistic.own.counts_values and (name := _values(statistic)) not in found:
            found[name] = joined.group_by(*by, f"v{k}").agg(n_=joined.count().cast("int64"))
    return found


def _by_group(plan: Plan, columns: Mapping[str, Mapping[str, Ints]]) -> dict[str, Any]:
    """What the engine found, for every declared group."""
    measures, found = columns[MEASURES], dict[str, Any]()
    for name, own in measures.items():
        found[name] = np.zeros(len(plan.groups), dtype=np.int64)
        found[name][measures[GROUP]] = own
    for statistic in plan.statistics:
        if statistic.own.counts_values:
            groups, values, counts = columns[_values(statistic)].values()
            shape = len(plan.groups), plan.subject(statistic).declared.width + 1
            found[_values(statistic)] = ValueCounts.of(groups, values, counts, shape)
    return found


def _values(statistic: Statistic) -> str:
    """What the counted values of a column are called."""
    return f"values of {statistic.of}"


def _measure(k: int, suffix: str) -> str:
    """What a measure of the k-th statistic is called in the engine."""
    return f"m{k}{suffix}"


def _joined(plan: Plan, table: Any, as_table: Callable[[Any], Any] | None = None) -> Any:
    """The records of declared groups: the group's position, and one whole number per statistic.

    as_table: makes a table of the engine from the declared groups, in the place of Ibis.
    """
    records = _named(plan, table, _records(plan, table), as_table)
    own = [f"v{k}" for k in range(len(plan.statistics))]
    return _of_persons(plan, records.select(GROUP, *own, *([PERSON] if plan.people.id else [])), own)


def _named(plan: Plan, table: Any, records: Any, as_table: Callable[[Any], Any] | None) -> Any:
    """Records with the position of their group; those of no declared group are left out."""
    import ibis

    keys = [f"k{k}" for k in range(len(plan.groups.by))]
    if not keys:
        return records.mutate(group_=ibis.literal(0, "int64"))
    return _joined_by((as_table or ibis.memtable)(_declared(plan, table)), records, keys)


def _joined_by(declared: Any, records: Any, keys: Sequence[str]) -> Any:
    return declared.inner_join(records, [declared[name] == records[name] for name in keys])


def _records(plan: Plan, table: Any) -> Any:
    """Every record that meets the plan's own condition: its keys, one whole number per statistic, and whose it is."""
    if plan.source.textual:
        table = csvfile.reading_all(table, read_columns(plan))
    columns = {
        name: reading.typed(table[name], plan.columns[name], plan.source, texts_of(plan, name))
        for name in used_columns(plan)
    }
    fit = _Fit({name: table[name].type() for name in columns}, plan.source.spells)
    own = {f"v{k}": _number(plan, statistic, columns, fit) for k, statistic in enumerate(plan.statistics)}
    groups = plan.groups
    keys = {
        f"k{k}": reading.key(
            table[name], plan.source, (key[k] for key in groups.keys), groups.period.get(name, ""), groups.not_stated
        )
        for k, name in enumerate(groups.by)
    }
    whose = {PERSON: person(table[plan.people.id])} if plan.people.id else {}
    return _meeting(plan, table.select(**keys, **own, **whose, **_met(plan, columns, fit)))


def _met(plan: Plan, columns: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """Whether a record meets the plan's own condition, if it has one."""
    return {} if plan.condition is None else {MET: translated(with_texts(plan.condition, fit), columns)}


def _meeting(plan: Plan, records: Any) -> Any:
    """The records that meet it; what can be neither said nor denied of a record is not met."""
    return records if plan.condition is None else records.filter(records[MET])


def _of_persons(plan: Plan, records: Any, numbers: list[str]) -> Any:
    """The records that count: all of them, or of each person as many as the plan says."""
    if not plan.people.id:
        return records
    prepare(records.get_backend())
    most = plan.contribution
    return bounded(records, numbers, most.records, most.groups if most.groups < len(plan.groups) else 0)


def _number(plan: Plan, statistic: Statistic, columns: dict[str, Any], fit: Fit) -> Any:
    """The whole number that a record contributes: never missing, always in its range."""
    return statistic.own.domain.number(statistic.of, plan.subject(statistic).declared, columns, fit)


@dataclass(frozen=True)
class _Fit:
    """Public texts as their columns write them: see `texts.fitted`, and `typed.spelled`."""

    kinds: dict[str, Any]
    spells: bool

    def __call__(self, name: str, text: str) -> str:
        form = fitted(text, self.kinds[name])
        return reading.spelled(form) if self.spells else form


def _key_fit(plan: Plan, name: str, kind: Any) -> Fit:
    """Keys as their column writes them; the name of a period, and of no value, are as they are."""
    fit, spells = _Fit({name: kind}, plan.source.spells), plan.source.spells

    def fitted_key(name: str, text: str) -> str:
        if name in plan.groups.period or text == plan.groups.not_stated:
            return reading.spelled(text) if spells else text
        return fit(name, text)

    return fitted_key


def _declared(plan: Plan, table: Any) -> Any:
    import pyarrow

    arrays: dict[str, Any] = {"group_": pyarrow.array(range(len(plan.groups)), pyarrow.int64())}
    for k, name in enumerate(plan.groups.by):
        kind = table[name].type()
        whole = kind.is_integer() and not plan.groups.not_stated
        fit = (lambda _, text: int(text)) if whole else _key_fit(plan, name, kind)
        values = [fit(name, key[k]) for key in plan.groups.keys]
        arrays[f"k{k}"] = pyarrow.array(values, pyarrow.int64() if whole else pyarrow.string())
    return pyarrow.table(arrays)


# --- whole numbers as positions ---------------------------------------------------------------------------


def _placed(plan: Plan, k: int, raw: dict[str, Any]) -> Sequence[Ints | ValueCounts]:
    """Positions in the query's answers, as the statistic's kind defines them; always within the range."""
    statistic, prefix = plan.statistics[k], _measure(k, "")
    own = {name.removeprefix(prefix): found for name, found in raw.items() if name.startswith(prefix)}
    found = Aggregates(raw["rows_"], plan.groups.sizes, own, raw.get(_values(statistic)))
    return statistic.own.positions(plan.subject(statistic), found)

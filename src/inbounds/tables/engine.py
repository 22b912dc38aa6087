"""Aggregation: the engine reduces the data to one row of whole numbers per declared group; those become positions.

Every record is first turned into small whole numbers of its own (does it meet the condition, which label, which
step of the range), so whatever a record holds, it moves an aggregate by no more than `statistics` allows. The
declared keys go to the engine and join the data there: nothing about any other group comes back.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inbounds.numbers import Ints
from inbounds.tables.errors import AggregationFailed
from inbounds.tables.plan import Plan, Statistic
from inbounds.tables.schema import check_schema, texts_of, used_columns
from inbounds.tables.sources import csvfile
from inbounds.tables.sources import typed as reading
from inbounds.tables.sources.source import filled, opened, quiet
from inbounds.tables.statistics import Aggregates
from inbounds.tables.statistics.kind import Fit
from inbounds.tables.texts import fitted


@dataclass(frozen=True)
class Truths:
    """True answers as positions in each query's answers: one row per statistic (per label of a histogram).

    They never leave the process, so they are not shown either.
    """

    positions: tuple[Ints, ...] = field(repr=False)


@dataclass(frozen=True)
class Opened:
    """A source whose schema fits the plan; nothing has been read from it yet."""

    plan: Plan
    table: Any = field(repr=False)

    def close(self) -> None:
        """Let go of the file or server; a frame or table that was given stays open."""
        if self.plan.source.frame is None and self.plan.source.engine != "spark":
            with quiet(), suppress(Exception):
                self.table.get_backend().disconnect()

    def aggregate(self) -> Truths:
        """Run the aggregation in the engine and place every declared group's answers."""
        if self.plan.source.textual:
            with self.plan.located():
                csvfile.check_quotes(self.plan.source)
        with quiet():
            try:
                raw = _raw(self.plan, filled(self.plan.source, self.table, _wanted(self.plan)))
            except Exception:  # the engine's words may quote a record, so not even the chain of causes is kept
                raw = None
        if raw is None:
            name = self.plan.source.name
            raise AggregationFailed(
                f"the engine stopped while aggregating {name}; its reason may quote data and is withheld"
            )
        return Truths(tuple(row for k in range(len(self.plan.statistics)) for row in _placed(self.plan, k, raw)))


def open_source(plan: Plan) -> Opened:
    """Open the plan's source and compare its schema with the plan: names and types, no data."""
    with plan.located():
        table = opened(plan.source, _wanted(plan))
        with quiet():
            schema = dict(table.schema().items())
        check_schema(plan, schema)
    return Opened(plan, table)


def _wanted(plan: Plan) -> tuple[str, ...]:
    """The columns that are read: keys and what statistics are of."""
    return *plan.groups.by, *used_columns(plan)


# --- records as whole numbers -----------------------------------------------------------------------------


def _raw(plan: Plan, table: Any) -> dict[str, Ints]:
    """For every measure, one whole number per declared group; groups without records have the neutral 0."""
    joined, kinds = _joined(plan, table), [statistic.own for statistic in plan.statistics]
    measures = {
        _measure(k, suffix): value
        for k, statistic in enumerate(plan.statistics)
        for suffix, value in kinds[k].measures(plan.subject(statistic), joined[f"v{k}"]).items()
    }
    rows = [joined.group_by("group_").agg(rows_=joined.count().cast("int64"), **measures)]
    rows += [kind.rows(joined, f"v{k}", _measure(k, "")) for k, kind in enumerate(kinds) if kind.rows is not None]
    found: dict[str, Ints] = {}
    for expression in rows:
        arrow = expression.to_pyarrow()
        groups = arrow["group_"].to_numpy()
        for name in arrow.column_names:
            found[name] = np.zeros(len(plan.groups), dtype=np.int64)
            found[name][groups] = arrow[name].to_numpy()
    return found


def _measure(k: int, suffix: str) -> str:
    """What a measure of the k-th statistic is called in the engine."""
    return f"m{k}{suffix}"


def _joined(plan: Plan, table: Any) -> Any:
    """The records of declared groups: the group's position, and one whole number per statistic."""
    import ibis

    if plan.source.textual:
        table = csvfile.reading_all(table, list(dict.fromkeys(_wanted(plan))))
    columns = {
        name: reading.typed(table[name], plan.columns[name], plan.source, texts_of(plan, name))
        for name in used_columns(plan)
    }
    fit = _Fit({name: table[name].type() for name in columns}, plan.source.spells)
    own = {f"v{k}": _number(plan, statistic, columns, fit) for k, statistic in enumerate(plan.statistics)}
    keys = {
        f"k{k}": reading.key(table[name], plan.source, (key[k] for key in plan.groups.keys))
        for k, name in enumerate(plan.groups.by)
    }
    records = table.select(**keys, **own)
    if not keys:
        return records.mutate(group_=ibis.literal(0, "int64"))
    declared = ibis.memtable(_declared(plan, table))
    return declared.inner_join(records, [declared[name] == records[name] for name in keys]).select("group_", *own)


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


def _declared(plan: Plan, table: Any) -> Any:
    import pyarrow

    arrays: dict[str, Any] = {"group_": pyarrow.array(range(len(plan.groups)), pyarrow.int64())}
    for k, name in enumerate(plan.groups.by):
        kind = table[name].type()
        whole = kind.is_integer()
        fit = (lambda _, text: int(text)) if whole else _Fit({name: kind}, plan.source.spells)
        values = [fit(name, key[k]) for key in plan.groups.keys]
        arrays[f"k{k}"] = pyarrow.array(values, pyarrow.int64() if whole else pyarrow.string())
    return pyarrow.table(arrays)


# --- whole numbers as positions ---------------------------------------------------------------------------


def _placed(plan: Plan, k: int, raw: dict[str, Ints]) -> list[Ints]:
    """Positions in the query's answers, as the statistic's kind defines them; always within the range."""
    statistic, prefix = plan.statistics[k], _measure(k, "")
    own = {name.removeprefix(prefix): found for name, found in raw.items() if name.startswith(prefix)}
    return statistic.own.positions(plan.subject(statistic), Aggregates(raw["rows_"], plan.groups.sizes, own))

"""Aggregation: the engine reduces the data to one row of whole numbers per declared group; those become positions.

Every record is first turned into small whole numbers of its own (does it meet the condition, which label, which
step of the range), so whatever a record holds, it moves an aggregate by no more than `account` allows. The
declared keys go to the engine and join the data there: nothing about any other group comes back.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inbounds.numbers import Ints
from inbounds.tables import columns as reading
from inbounds.tables import condition as language
from inbounds.tables import csvfile, digits
from inbounds.tables.account import open_grid
from inbounds.tables.consistent import filled
from inbounds.tables.errors import AggregationFailed
from inbounds.tables.expression import translated
from inbounds.tables.facts import Column
from inbounds.tables.plan import Plan, Statistic
from inbounds.tables.schema import check_schema, texts_of, used_columns
from inbounds.tables.source import opened, quiet
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
                raw = _raw(self.plan, self.table)
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
        table = opened(plan.source, (*plan.groups.by, *used_columns(plan)))
        with quiet():
            schema = dict(table.schema().items())
        check_schema(plan, schema)
    return Opened(plan, table)


# --- records as whole numbers -----------------------------------------------------------------------------


def _raw(plan: Plan, table: Any) -> dict[str, Ints]:
    """For every measure, one whole number per declared group; groups without records have the neutral 0."""
    joined = _joined(plan, table)
    measures = {name: value for k in range(len(plan.statistics)) for name, value in _measures(plan, k, joined).items()}
    rows = [joined.group_by("group_").agg(rows_=joined.count().cast("int64"), **measures)]
    rows += [_median_rows(joined, k) for k, s in enumerate(plan.statistics) if s.kind == "median"]
    found: dict[str, Ints] = {}
    for expression in rows:
        arrow = expression.to_pyarrow()
        groups = arrow["group_"].to_numpy()
        for name in arrow.column_names:
            found[name] = np.zeros(len(plan.groups), dtype=np.int64)
            found[name][groups] = arrow[name].to_numpy()
    return found


def _joined(plan: Plan, table: Any) -> Any:
    """The records of declared groups: the group's position, and one whole number per statistic."""
    import ibis

    if plan.source.textual:
        table = csvfile.reading_all(table, list(dict.fromkeys((*plan.groups.by, *used_columns(plan)))))
    columns = {
        name: reading.typed(table[name], plan.columns[name], plan.source, texts_of(plan, name))
        for name in used_columns(plan)
    }
    fit = _Fit({name: table[name].type() for name in columns}, plan.source.spells)
    own = {f"v{k}": _number_of(plan, s, columns, fit) for k, s in enumerate(plan.statistics)}
    keys = {
        f"k{k}": reading.key(table[name], plan.source, (key[k] for key in plan.groups.keys))
        for k, name in enumerate(plan.groups.by)
    }
    records = table.select(**keys, **own)
    if not keys:
        return records.mutate(group_=ibis.literal(0, "int64"))
    declared = ibis.memtable(_declared(plan, table))
    return declared.inner_join(records, [declared[name] == records[name] for name in keys]).select("group_", *own)


@dataclass(frozen=True)
class _Fit:
    """Public texts as their columns write them: see `texts.fitted`, and `digits`."""

    kinds: dict[str, Any]
    spells: bool

    def __call__(self, name: str, text: str) -> str:
        form = fitted(text, self.kinds[name])
        return digits.spelled(form) if self.spells else form


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


def _number_of(plan: Plan, statistic: Statistic, columns: dict[str, Any], fit: _Fit) -> Any:
    """The whole number that a record contributes: never missing, always in its range."""
    if statistic.kind == "count":
        return _one_if(translated(language.retold(statistic.where, fit), columns))
    column = plan.columns[statistic.of]
    if statistic.kind == "histogram":
        return _label_number(columns[statistic.of], column, [fit(statistic.of, label) for label in column.labels])
    return _step_number(columns[statistic.of], column)


def _one_if(condition: Any) -> Any:
    """1 where the condition is true, 0 where it is false or cannot be told."""
    import ibis

    return ibis.cases((condition, ibis.literal(1, "int64")), else_=ibis.literal(0, "int64"))


def _label_number(values: Any, column: Column, forms: list[str]) -> Any:
    """The position of the label; every other value is `other`, or -1 for no cell at all."""
    import ibis

    other = column.labels.index(column.other) if column.other is not None else -1
    branches = [(values == label, ibis.literal(k, "int64")) for k, label in enumerate(forms)]
    return ibis.cases(*branches, else_=ibis.literal(other, "int64"))


def _step_number(values: Any, column: Column) -> Any:
    """The nearest step of the range, a whole number of 0..width; a missing value counts as the default.

        clamp(floor((clamp(v, low, high) - low + step/2) / step), 0, width)

    Clamped before the division, so that no engine overflows, and after the floor, because the floats nearest to the
    bounds may lie beside them. Half a step is added before the division: PostgreSQL stops where a quotient
    underflows.
    """
    import ibis

    assert column.low is not None
    assert column.high is not None
    low, high, step = float(column.low), float(column.high), float(column.step)
    inside = _within(values.cast("float64"), low, high)
    nearest = _within(((inside - low + step / 2) / step).floor(), 0.0, float(column.width))
    return ibis.cases((values.notnull(), nearest.cast("int64")), else_=ibis.literal(column.default, "int64"))


def _within(values: Any, low: float, high: float) -> Any:
    import ibis

    return ibis.least(ibis.greatest(values, ibis.literal(low, "float64")), ibis.literal(high, "float64"))


def _measures(plan: Plan, k: int, joined: Any) -> dict[str, Any]:
    """What the engine computes per group from a statistic's own numbers."""
    statistic, own = plan.statistics[k], joined[f"v{k}"]
    if statistic.kind == "histogram":
        labels = plan.columns[statistic.of].labels
        return {f"m{k}_{i}": _one_if(own == i).sum().cast("int64") for i in range(len(labels))}
    if statistic.kind in ("min", "max"):
        return {f"m{k}": own.min() if statistic.kind == "min" else own.max()}
    return {} if statistic.kind == "median" else {f"m{k}": own.sum().cast("int64")}


def _median_rows(joined: Any, k: int) -> Any:
    """The lower median: the least step that at least half of the group's records do not exceed."""
    import ibis

    name = f"v{k}"
    steps = joined.group_by("group_", name).agg(n=joined.count())
    upto = steps.n.sum().over(ibis.cumulative_window(group_by="group_", order_by=name))
    everyone = steps.n.sum().over(ibis.window(group_by="group_"))
    halves = steps.mutate(upto=upto, everyone=everyone)
    half = halves.filter(halves.upto * 2 >= halves.everyone)
    return half.group_by("group_").agg(**{f"m{k}": half[name].min()})


# --- whole numbers as positions ---------------------------------------------------------------------------


def _placed(plan: Plan, k: int, raw: dict[str, Ints]) -> list[Ints]:
    """Positions in the query's answers, as `account` defines them; always within the range."""
    statistic, sizes, rows = plan.statistics[k], plan.groups.sizes, raw["rows_"]
    if statistic.kind == "count":
        return [np.minimum(raw[f"m{k}"], sizes)]
    column = plan.columns[statistic.of]
    if statistic.kind == "histogram":
        cells = np.array([raw[f"m{k}_{i}"] for i in range(len(column.labels))])
        if statistic.consistent and column.other is not None:
            return list(filled(cells, column.labels.index(column.other), sizes))
        return list(np.minimum(cells, sizes))
    own = raw[f"m{k}"]
    if statistic.kind in ("min", "max", "median"):
        return [np.where(rows > 0, own, column.default).clip(0, column.width)]
    own, sizes, rows = (array.astype(object) for array in (own, sizes, rows))  # whole numbers of any size
    if plan.groups.public:
        return [_clamped(own + (sizes - rows) * column.default, 0, sizes * column.width)]
    if statistic.kind == "sum":
        grid = open_grid(column)
        first, last = np.minimum(0, sizes * grid.low), np.maximum(0, sizes * grid.high)
        return [_clamped(rows * grid.low + own * grid.step - first, 0, last - first)]
    nearest = (2 * own + rows) // np.maximum(2 * rows, 1)
    return [_clamped(np.where(rows > 0, nearest, column.default), 0, column.width)]


def _clamped(values: Any, low: Any, high: Any) -> Ints:
    return np.asarray(np.minimum(np.maximum(values, low), high), dtype=np.int64)

"""Workload, design and table: what a plan asks, the mechanisms for it, and the table that follows from a draw.

The draw (`drawing`) is the only step that sees a true answer. The steps here come before it, or are post-processing.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from inbounds.adjust.histograms import round_to_sum
from inbounds.errors import InboundsError
from inbounds.exact import Floats, Ints
from inbounds.mechanism import AnyMechanism, Mechanism
from inbounds.mechanism.laws import AnswerLaw
from inbounds.plan.plan import Plan
from inbounds.progress import Progress, ignore_progress
from inbounds.query import RangeQuery
from inbounds.releases.accuracy import Coverage, StatisticModel, coverage_by_size, sizes_given_counts
from inbounds.releases.budget import BudgetLine, plan_budget, query_for_person
from inbounds.releases.layers import layer_design_request
from inbounds.releases.layout import OutputColumn, build_reports_record, extend_to_levels, level_columns
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.record_types import ChainRecord
from inbounds.schema.report_types import DEFAULT_LEVEL, ReportsRecord
from inbounds.statistics import ExpectedError
from inbounds.statistics.designs import DesignedMechanism, DesignRequest, load_or_design
from inbounds.statistics.sizes import SizeBeliefs, size_prior

T = TypeVar("T")

Beliefs = Sequence[SizeBeliefs | None]
"""What is believed about the sizes of the groups of each maximum; None if sizes are public."""

Mechanisms = Mapping[tuple[str, int], AnyMechanism]
"""The mechanism of every statistic and group size."""


@dataclass(frozen=True)
class Workload:
    """The numbers of a plan before the data is read.

    entries: the budget of every statistic. sizes: the distinct group sizes. members: the groups of each size.
    requests: for every statistic, the mechanism of each distinct size. layers: for every statistic, those of the sums
    that are drawn beside it. typical: what the plan declares of the sizes of groups of each distinct size. above: of
    every level above the groups, from below up, the workload of what is drawn of its nodes.
    """

    plan: Plan
    entries: tuple[BudgetLine, ...]
    sizes: tuple[int, ...]
    members: tuple[Ints, ...] = field(repr=False)
    requests: tuple[tuple[DesignRequest, ...], ...] = field(repr=False)
    layers: tuple[tuple[DesignRequest, ...], ...] = field(repr=False)
    typical: tuple[tuple[int, ...], ...] = field(repr=False)
    above: tuple["Workload", ...] = field(default=(), repr=False)

    @classmethod
    def from_plan(cls, plan: Plan) -> "Workload":
        """Build the workload; groups of one size have the same range and share a mechanism."""
        entries = tuple(plan_budget(plan))
        parts = np.ones(len(plan.groups))
        above = []
        for place, level in enumerate(plan.level_plans):
            of_level = tuple(
                replace(entry, drawn_at=entry.drawn_at * entry.layered.layers[place].share, layered=None)
                for entry in entries
                if entry.layered is not None and plan.is_drawn_of_levels(entry.statistic)
            )
            groups = np.bincount(plan.group_tree.nodes_of_groups[place])
            above.append(cls._from_entries(level, of_level, plan.groups.typical, groups))
        return replace(cls._from_entries(plan, entries, plan.groups.typical, parts), above=tuple(above))

    @classmethod
    def _from_entries(
        cls, plan: Plan, entries: tuple[BudgetLine, ...], typical: tuple[int, ...], parts: Floats | Ints
    ) -> "Workload":
        """Build the workload of a budget. typical: of one declared group. parts: how many of them each group has."""
        distinct = np.array(plan.groups.distinct_sizes)
        place = np.searchsorted(distinct, plan.groups.sizes)
        order = np.argsort(place, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(place, minlength=len(distinct)))[:-1])
        requests, layers = [], []
        for k, entry in enumerate(entries):
            with plan.with_line_numbers(), error_path("statistics", k, entry.statistic.kind):
                options = plan.design_options(entry.statistic)
                statistic, context = entry.statistic, plan.context
                queries = [query_for_person(statistic, context, int(size), entry.records) for size in distinct]
                epsilon, delta = entry.statistic_epsilon, entry.delta
                requests.append(tuple(DesignRequest(query, epsilon, options, delta) for query in queries))
                sums = () if entry.layered is None else entry.layered.sums
                layers.append(tuple(layer_design_request(statistic, context, layer, entry.drawn_at) for layer in sums))
        likely = [tuple(round(one * float(parts[nodes].mean())) for one in typical) for nodes in members]
        sizes = tuple(distinct.tolist())
        return cls(plan, entries, sizes, tuple(members), tuple(requests), tuple(layers), tuple(likely))

    def size_beliefs(self, size: int) -> SizeBeliefs | None:
        """Return the prior of the size of groups with this maximum; None if sizes are public."""
        return None if self.plan.groups.public else size_prior(self.typical[self.sizes.index(size)], size)

    @property
    def numbers(self) -> int:
        """Return how many numbers are drawn: those of the groups, and the sums of every layer beside them."""
        own = sum(len(self.plan.drawn_columns(entry.statistic)) for entry in self.entries) * len(self.plan.groups)
        layers = [layer for entry in self.entries if entry.layered is not None for layer in entry.layered.sums]
        sums = sum(len(layer.columns) * layer.nodes for layer in layers)
        return own + sums + sum(level.numbers for level in self.above)

    @property
    def rows(self) -> int:
        """Return how many rows are drawn of a workload without sums: the columns that are drawn."""
        return sum(len(self.plan.drawn_columns(statistic)) for statistic in self.plan.statistics)

    def requests_of(self, k: int) -> list[DesignRequest]:
        """Return all requests of a statistic: its own, those of the sums beside it, and of every level."""
        found, name = [*self.requests[k], *self.layers[k]], self.plan.statistics[k].name
        return found + [request for level in self.above for j in level.places_of(name) for request in level.requests[j]]

    def places_of(self, name: str) -> list[int]:
        """Return the place of a statistic in the workload of a level, if it is drawn of levels."""
        return [k for k, statistic in enumerate(self.plan.statistics) if statistic.name == name]


@dataclass(frozen=True)
class DesignCache:
    """Designs that were certified in this process, and what was computed of their accuracy, for callers that answer
    many plans. tried: expected errors under changes that were tried for a useless statistic; None if none was designed.
    """

    designs: dict[DesignRequest, DesignedMechanism] = field(default_factory=dict, repr=False)
    expected: dict[Hashable, ExpectedError] = field(default_factory=dict, repr=False)
    coverage: dict[Hashable, Coverage] = field(default_factory=dict, repr=False)
    tried: dict[Hashable, ExpectedError | None] = field(default_factory=dict, repr=False)

    def expected_error(self, model: StatisticModel) -> ExpectedError:
        """Return the expected error of a statistic; computed once."""
        if model.key not in self.expected:
            self.expected[model.key] = model.expected_error()
        return self.expected[model.key]

    def interval_coverage(self, designed: "ReleaseDesign", k: int, s: int) -> Coverage:
        """Return how often the intervals of a statistic are right in groups of a tenth of the maximum, of two tenths, …

        Nothing if it has no intervals, if sizes are public, or if the statistic adds up.
        """
        workload, model = designed.workload, designed.model(k, s)
        plan, counted = workload.plan, workload.plan.total_count_place
        adds_up = plan.adds_up(plan.statistics[k])
        if not plan.has_interval(plan.statistics[k]) or adds_up or model.beliefs is None:
            return ()
        assert plan.credible_level is not None
        counter = None if counted is None or counted == k else designed.designs[counted][s]
        key = model.key, plan.credible_level, None if counter is None else counter.sha256
        if key not in self.coverage:
            mechanism = None if counter is None else counter.mechanism
            self.coverage[key] = coverage_by_size(model, plan.credible_level, mechanism)
        return self.coverage[key]


@dataclass(frozen=True)
class ReleaseDesign:
    """A plan with all its mechanisms: for every statistic, one design per distinct size.

    expected: for every statistic, the expected error in groups of each size. full: what decides whether a release is
    refused: that in groups as large as their maximum, and of a statistic that adds up, that of its levels without a
    typical size. coverage: how often intervals are right, for groups of a tenth of the maximum, of two tenths, …
    levels: for a statistic in layers, the expected error of each of its levels over all nodes, the groups first.
    `expected.state_errors` fills in what adds up, `with_coverage` the coverage. quantiles: for a statistic of several
    quantiles in one draw, the expected error of each of them in groups of each size; `expected` is their mean. above:
    the designs of `workload.above`. memory: what was computed before.
    """

    workload: Workload
    designs: tuple[tuple[DesignedMechanism, ...], ...] = field(repr=False)
    expected: tuple[tuple[ExpectedError, ...], ...]
    layers: tuple[tuple[DesignedMechanism, ...], ...] = field(repr=False)
    full: tuple[tuple[ExpectedError, ...], ...] = field(default=(), repr=False)
    coverage: tuple[tuple[Coverage, ...], ...] = field(default=(), repr=False)
    levels: tuple[tuple[ExpectedError, ...], ...] = ()
    quantiles: tuple[tuple[tuple[ExpectedError, ...], ...], ...] = field(default=(), repr=False)
    above: tuple["ReleaseDesign", ...] = field(default=(), repr=False)
    memory: DesignCache = field(default_factory=DesignCache, repr=False, compare=False)

    @property
    def has_useless(self) -> bool:
        """Return whether some number is no better than a constant: see `usefulness`."""
        return any(one.no_better for row in (*self.expected, *self.full, *self.levels) for one in row)

    @property
    def expected_cells(self) -> dict[str, tuple[ExpectedError, ...]]:
        """Return the expected errors for each distinct size, of each statistic or quantile by the column's name."""
        plan, found = self.workload.plan, dict[str, tuple[ExpectedError, ...]]()
        for statistic, row, together in zip(plan.statistics, self.expected, self.quantiles, strict=True):
            rows = zip(*together, strict=True) if any(together) else [row]
            found |= dict(zip(statistic.error_cells(plan.context), rows, strict=True))
        return found

    def with_published(self, keys: Sequence[tuple[str, ...]]) -> "ReleaseDesign":
        """Return the same design for the groups that were published; mechanisms do not depend on them."""
        return replace(self, workload=Workload.from_plan(self.workload.plan.with_published(keys)))

    @classmethod
    def from_workload(
        cls, workload: Workload, folder: Path, progress: Progress = ignore_progress, memory: DesignCache | None = None
    ) -> "ReleaseDesign":
        """Design every distinct request once; an error names the statistic that cannot be designed.

        Expected errors of statistics that add up are left out: see `expected.state_errors`; so is the coverage.
        """
        memory = memory or DesignCache()
        mechanisms = memory.designs
        rows = [workload.requests_of(k) for k in range(len(workload.entries))]
        planned, made = len({request for row in rows for request in row}), set[DesignRequest]()
        progress("designing", 0, planned)
        for k, row in enumerate(rows):
            kind = workload.plan.statistics[k].kind
            with workload.plan.with_line_numbers(), error_path("statistics", k, kind):
                for request in row:
                    if request not in mechanisms:
                        mechanisms[request] = _make(request, folder)
                    if request not in made:
                        made.add(request)
                        progress("designing", len(made), planned)
        designs, layers = (
            tuple(tuple(mechanisms[request] for request in row) for row in requests)
            for requests in (workload.requests, workload.layers)
        )
        at_most = cls(workload, designs, (), layers)
        every = [
            [] if workload.plan.adds_up(entry.statistic) else [at_most.model(k, s) for s in range(len(workload.sizes))]
            for k, entry in enumerate(workload.entries)
        ]
        expect = _counted(memory.expected_error, "expecting errors", sum(map(len, every)), progress)
        designed = replace(
            at_most,
            expected=tuple(tuple(expect(model) for model in row) for row in every),
            full=tuple(tuple(memory.expected_error(replace(model, beliefs=None)) for model in row) for row in every),
            levels=((),) * len(every),
            quantiles=tuple(
                tuple(tuple(memory.expected_error(one) for one in model.quantiles) for model in row) for row in every
            ),
            above=tuple(
                cls.from_workload(level, folder, _named(progress, name), memory)
                for level, name in zip(workload.above, level_names(workload.plan), strict=False)
            ),
            memory=memory,
        )
        return designed._with_levels()

    def _with_levels(self) -> "ReleaseDesign":
        """Fill in the errors by level of what is drawn of every level."""
        full, levels = list(self.full), list(self.levels)
        for k, statistic in enumerate(self.workload.plan.statistics):
            if self.workload.plan.is_drawn_of_levels(statistic):
                levels[k], full[k] = zip(*self._mean_errors(statistic.name), strict=True)
        return replace(self, full=tuple(full), levels=tuple(levels))

    def _mean_errors(self, name: str) -> Iterator[tuple[ExpectedError, ExpectedError]]:
        """Yield for the groups and every level above the mean error of a statistic, as expected and in full groups."""
        for level in (self, *self.above):
            (k,) = level.workload.places_of(name)
            weights = np.array([len(members) for members in level.workload.members], dtype=np.float64)
            expected, full = (
                ExpectedError(*(weights @ np.array([one[:2] for one in row]) / weights.sum()).tolist())
                for row in (level.expected[k], level.full[k])
            )
            yield expected, full

    def with_coverage(self, progress: Progress = ignore_progress) -> "ReleaseDesign":
        """Add how often intervals are right. A record states it; what is refused does not need it."""
        statistics, sizes = range(len(self.workload.entries)), range(len(self.workload.sizes))
        planned = len(statistics) * len(sizes)
        cover = _counted(partial(self.memory.interval_coverage, self), "checking intervals", planned, progress)
        return replace(self, coverage=tuple(tuple(cover(k, s) for s in sizes) for k in statistics))

    def model(self, k: int, s: int) -> StatisticModel:
        """Return what tells the accuracy of a statistic in groups of one maximum, by their places."""
        workload = self.workload
        request, design, size = workload.requests[k][s], self.designs[k][s], workload.sizes[s]
        statistic, context = workload.plan.statistics[k], workload.plan.context
        return StatisticModel(statistic, context, request, design.mechanism, size, workload.size_beliefs(size))


def _counted(work: Callable[..., T], doing: str, planned: int, progress: Progress) -> Callable[..., T]:
    """Return the same function that tells after each call how much is done."""
    done = count(1)

    def counted(*arguments: Any) -> T:
        result = work(*arguments)
        progress(doing, next(done), planned)
        return result

    return counted


def _named(progress: Progress, level: str) -> Progress:
    """Return a progress that tells which level a step is for."""
    return lambda doing, done, planned: progress(f"{doing}, {level}", done, planned)


def _make(request: DesignRequest, folder: Path) -> DesignedMechanism:
    try:
        return load_or_design(request, folder)
    except InboundsError as error:
        raise PlanError(f"cannot be designed with these options: {error}") from error


def mechanisms_by_size(designed: ReleaseDesign) -> Mechanisms:
    """Return all mechanisms of a release, by the statistic's name and the group's size."""
    workload = designed.workload
    mechanisms = {
        (statistic.name, size): design.mechanism
        for statistic, row in zip(workload.plan.statistics, designed.designs, strict=True)
        for size, design in zip(workload.sizes, row, strict=True)
    }
    for entry, row in zip(workload.entries, designed.layers, strict=True):
        layers = () if entry.layered is None else entry.layered.sums
        for layer, design in zip(layers, row, strict=True):
            mechanisms[f"{entry.statistic.name}: {layer.name}", layer.size] = design.mechanism
    for level, name in zip(designed.above, level_names(workload.plan), strict=False):
        for (statistic_name, size), mechanism in mechanisms_by_size(level).items():
            mechanisms[f"{statistic_name}: {name}", size] = mechanism
    return mechanisms


def level_names(plan: Plan) -> tuple[str, ...]:
    """Return the levels above the groups, from below up."""
    return () if plan.hierarchy is None else plan.hierarchy.levels[-2::-1]


@dataclass(frozen=True)
class TableContent:
    """What is released: columns, the draws that they follow from, and the chains of its levels.

    draws: for every drawn column, the output of its mechanism for each row: for each group, or with those of the levels
    above before them. reports: the draws of statistics that were made to add up.
    """

    columns: list[OutputColumn]
    draws: dict[str, Ints] = field(repr=False)
    reports: ReportsRecord | None = field(default=None, repr=False)
    levels: list[ChainRecord] | None = field(default=None, repr=False)


def build_table(designed: ReleaseDesign, rows: Sequence[Ints]) -> TableContent:
    """Build the released columns from the draws. rows: as `drawing` returns them."""
    plan, row_iterator = designed.workload.plan, iter(rows)
    outputs, layered = list[dict[str, Ints]](), dict[int, list[list[Ints]]]()
    for k, statistic in enumerate(plan.statistics):
        outputs.append({name: next(row_iterator) for name in plan.drawn_columns(statistic)})
        layered_statistic = designed.workload.entries[k].layered
        if layered_statistic is not None and plan.adds_up(statistic):
            layered[k] = [
                list(outputs[k].values()),
                *([next(row_iterator) for _ in layer.columns] for layer in layered_statistic.sums),
            ]
    beliefs = _beliefs(designed, outputs)
    columns = {
        k: _publish(designed, k, outputs[k], cells, beliefs)
        for k, cells in enumerate(_sort_quantiles(plan, outputs))
        if k not in layered
    }
    draws = {name: row for k in columns for name, row in outputs[k].items()}
    if not layered and plan.hierarchy is None:
        return TableContent([*keys_and_sizes(plan), *(column for k in columns for column in columns[k])], draws)
    above = []
    for level in designed.above:
        above.append(build_table(level, [next(row_iterator) for _ in range(level.workload.rows)]))
    for level_table in above:
        draws |= {name: np.concatenate([row, draws[name]]) for name, row in level_table.draws.items()}
    table_columns, reports = _build_layered_table(designed, columns, layered, outputs, above)
    return TableContent(table_columns, draws, reports)


def publish_columns(designed: ReleaseDesign, outputs: dict[str, Ints]) -> list[OutputColumn]:
    """Build the columns of a plan of one statistic from its draws."""
    beliefs = _beliefs(designed, [outputs])
    return [*keys_and_sizes(designed.workload.plan), *_publish(designed, 0, outputs, outputs, beliefs)]


def _build_layered_table(
    designed: ReleaseDesign,
    columns: dict[int, list[OutputColumn]],
    layered: dict[int, list[list[Ints]]],
    outputs: Sequence[dict[str, Ints]],
    above: Sequence[TableContent],
) -> tuple[list[OutputColumn], ReportsRecord | None]:
    """Build the table: statistics that add up, adjusted, beside those that do not.

    above: of every level above the groups, from below up, the table of what was drawn of it.
    """
    plan, reports = designed.workload.plan, None
    if layered:
        from inbounds.releases.adjust_reports import adjust_columns  # with much of SciPy, which only such plans need

        reports = build_reports_record(plan, designed.workload.entries, layered)
        for k, statistic, (adjusted, by) in zip(layered, reports["statistics"], adjust_columns(reports), strict=True):
            columns[k] = [OutputColumn(name, values) for name, values in adjusted.items()]
            statistic["by"] = by
    levels = [{column.name: column.values for column in table.columns} for table in above[::-1]]
    table_columns = keys_and_sizes(plan) if plan.hierarchy is None else level_columns(plan)
    for k in range(len(plan.statistics)):
        if k in layered:
            table_columns += columns[k]
            continue
        pooled = _pool_groups(designed, k, outputs[k])
        for column in columns[k]:
            drawn = [level[column.name] for level in levels if plan.is_drawn_of_levels(plan.statistics[k])]
            known = np.concatenate(drawn) if drawn else pooled.get(column.name)
            table_columns.append(extend_to_levels(plan, column, known))
    return table_columns, reports


def _pool_groups(designed: ReleaseDesign, k: int, drawn: dict[str, Ints]) -> dict[str, Floats]:
    """Compute the columns of a derived number above the groups, from the top down; none for other statistics."""
    workload, plan = designed.workload, designed.workload.plan
    statistic = plan.statistics[k]
    derived = statistic.derive(plan.context)
    if derived is None or derived.read is None or derived.pooled is None or plan.hierarchy is None:
        return {}
    readings, variance = np.empty((len(drawn), len(plan.groups))), np.empty(len(plan.groups))
    for design, members in zip(designed.designs[k], workload.members, strict=True):
        mechanism = require_range_mechanism(design)
        for row, outputs in zip(readings, drawn.values(), strict=True):
            row[members], variance[members] = derived.read(mechanism, outputs[members])
    *sums, spread = (_sum_levels(plan, row) for row in (*readings, variance))
    values, errors, low, high = derived.pooled(sums, spread, plan.credible_level or DEFAULT_LEVEL)
    name = statistic.name
    return {name: values, f"{name}_error": errors, f"{name}_low": low, f"{name}_high": high}


def _sum_levels(plan: Plan, leaves: Floats) -> Floats:
    """Sum numbers of the groups over the nodes of every level above, from the top down."""
    nest = plan.group_tree
    levels = [leaves[nest.order]]
    for parents in nest.tree.parents:
        levels.append(np.bincount(parents, levels[-1]).astype(np.float64))
    return np.concatenate(levels[:0:-1])


def _sort_quantiles(plan: Plan, outputs: Sequence[dict[str, Ints]]) -> list[dict[str, Ints]]:
    """Return what is published of the draws: the quantiles of one column are sorted, all else is unchanged."""
    ordered, columns = list(outputs), dict[str, list[int]]()
    ranks = {k: rank for k, statistic in enumerate(plan.statistics) if (rank := statistic.rank) is not None}
    for k in sorted(ranks, key=ranks.__getitem__):
        columns.setdefault(plan.statistics[k].subject_text, []).append(k)
    for members in columns.values():
        rising = np.sort([row for k in members for row in outputs[k].values()], axis=0)
        for k, rising_outputs in zip(members, rising, strict=True):
            ordered[k] = dict.fromkeys(outputs[k], rising_outputs)
    return ordered


def output_query(mechanism: AnyMechanism) -> RangeQuery:
    """Return the query with the possible answers and their outputs."""
    query: RangeQuery = mechanism.query.as_range_query
    return query


def _publish(
    designed: ReleaseDesign, k: int, drawn: dict[str, Ints], cells: dict[str, Ints], beliefs: Beliefs
) -> list[OutputColumn]:
    """Build the columns of a statistic: values, expected errors, and intervals if the plan asks for them."""
    workload, statistic = designed.workload, designed.workload.plan.statistics[k]
    reported = [output_query(design.mechanism).output_values for design in designed.designs[k]]
    values = [_by_size(workload, reported, outputs) for outputs in cells.values()]
    if statistic.sums_to_size:
        cells_drawn, sizes = np.array(values), workload.plan.groups.sizes
        totals = sizes if workload.plan.groups.public else np.minimum(cells_drawn.sum(axis=0), sizes)
        values = list(round_to_sum(cells_drawn, totals))
    columns = [OutputColumn(name, column) for name, column in zip(cells, values, strict=True)]
    derived = statistic.derive(workload.plan.context)
    if derived is not None:
        errors, ends = _accuracy(designed, k, list(cells.values()), beliefs)
        columns = [OutputColumn(statistic.name, derived.value(list(cells.values()), values)), *columns]
        columns.append(OutputColumn(f"{statistic.name}_error", errors))
        return columns if ends is None else [*columns, *_end_columns(statistic.name, *ends)]
    error_columns = dict(zip(drawn, workload.plan.error_columns(statistic), strict=False))
    for place, ((name, outputs), published) in enumerate(zip(drawn.items(), values, strict=True)):
        together = [*drawn.values()] if designed.model(k, 0).quantiles else [outputs]
        errors, ends = _accuracy(designed, k, together, beliefs, place)
        if name in error_columns:
            columns.append(OutputColumn(error_columns[name], errors))
        if ends is not None:
            low, high = (end.astype(np.int64) for end in ends) if _are_whole(designed, k) else ends
            if statistic.sums_to_size or statistic.rank is not None:  # it may lie outside the interval of the drawn one
                low, high = np.minimum(low, published), np.maximum(high, published)
            columns += _end_columns(name, low, high)
    return columns


def _end_columns(name: str, low: NDArray[Any], high: NDArray[Any]) -> list[OutputColumn]:
    return [OutputColumn(f"{name}_low", low), OutputColumn(f"{name}_high", high)]


def _by_size(workload: Workload, tables: Sequence[NDArray[Any]], outputs: Ints) -> NDArray[Any]:
    """Return tables[size][output] for every group."""
    values = np.empty(len(outputs), dtype=np.result_type(*tables))
    for table, members in zip(tables, workload.members, strict=True):
        values[members] = table[outputs[members]]
    return values


def require_range_mechanism(design: DesignedMechanism) -> Mechanism:
    """Return the mechanism, which for sums and parts of derived numbers answers a range query."""
    assert isinstance(design.mechanism.law, AnswerLaw)
    return design.mechanism


def _accuracy(
    designed: ReleaseDesign, k: int, drawn: Sequence[Ints], beliefs: Beliefs, place: int = 0
) -> tuple[Floats, tuple[Floats, Floats] | None]:
    """Compute the expected error of every group's number, and the ends of its interval if the plan asks for one.

    drawn: the numbers that it is computed from. beliefs: about the sizes of the groups of each maximum. place: which of
    several quantiles it is that are drawn together.
    """
    workload, level = designed.workload, designed.workload.plan.credible_level
    errors, low, high = (np.empty(len(workload.plan.groups)) for _ in range(3))
    has_interval = workload.plan.has_interval(workload.plan.statistics[k])
    for s, members in enumerate(workload.members):
        if not len(members):  # no group was published
            continue
        model, group_outputs = designed.model(k, s), [outputs[members] for outputs in drawn]
        expected = designed.expected[k][s]
        if model.quantiles:
            model, expected = model.quantiles[place], designed.quantiles[k][s][place]
        errors[members] = model.errors(group_outputs, expected.error, beliefs[s])
        if has_interval:
            assert level is not None
            low[members], high[members] = model.intervals(group_outputs, level, beliefs[s])
    return errors, (low, high) if has_interval else None


def _are_whole(designed: ReleaseDesign, k: int) -> bool:
    return all(output_query(design.mechanism).output_values.dtype.kind == "i" for design in designed.designs[k])


def _beliefs(designed: ReleaseDesign, outputs: Sequence[dict[str, Ints]]) -> Beliefs:
    """Return what is believed about the sizes of all groups, given the count of each if the plan publishes it."""
    workload = designed.workload
    priors, counted = [workload.size_beliefs(size) for size in workload.sizes], workload.plan.total_count_place
    if counted is None or not len(workload.plan.groups):
        return priors
    (counts,) = outputs[counted].values()
    return [
        None if prior is None else sizes_given_counts(prior, design.mechanism, counts[members])
        for prior, design, members in zip(priors, designed.designs[counted], workload.members, strict=True)
    ]


def keys_and_sizes(plan: Plan) -> list[OutputColumn]:
    """Build the public columns that name each group, with its declared size if sizes differ."""
    pairs = zip(plan.groups.by, plan.groups.columns, strict=True)
    columns = [OutputColumn(name, np.array(texts, dtype=object)) for name, texts in pairs]
    return columns + ([OutputColumn(plan.size_column, np.array(plan.groups.sizes))] if plan.size_column else [])


def to_arrow_table(columns: Sequence[OutputColumn]) -> Any:
    """Convert the released columns to a PyArrow table."""
    import pyarrow

    return pyarrow.table({column.name: pyarrow.array(column.values) for column in columns})

"""Answers: what is asked, what is designed for it, and the table that follows from what was drawn (`drawing`).

The draw is the only step that sees a true answer. What is here never does: it comes before, or is post-processing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.adjust.histograms import round_to_sum
from inbounds.errors import InboundsError
from inbounds.exact import Floats, Ints
from inbounds.losses import best_constant_loss, to_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.plan.plan import Plan
from inbounds.query import QuantileQuery, RangeQuery
from inbounds.releases.budget import BudgetLine, plan_budget, query_for_person
from inbounds.releases.layers import layer_design_request
from inbounds.releases.layout import OutputColumn, build_reports_record, extend_to_levels, level_columns
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.record_types import ChainRecord
from inbounds.schema.report_types import ReportsForm
from inbounds.statistics import DerivedValue, ExpectedError
from inbounds.statistics.designs import (
    AnyMechanism,
    DesignedMechanism,
    DesignRequest,
    Progress,
    ignore_progress,
    load_or_design,
    resolve_prior,
)

Mechanisms = Mapping[tuple[str, int], AnyMechanism]
"""The mechanism of every statistic and group size."""


@dataclass(frozen=True)
class Workload:
    """A plan's numbers before the data is looked at.

    requests: for every statistic, that of each distinct size. layers: for every statistic, those of the sums that are
    drawn beside it.
    """

    plan: Plan
    entries: tuple[BudgetLine, ...]
    sizes: tuple[int, ...]
    members: tuple[Ints, ...] = field(repr=False)
    requests: tuple[tuple[DesignRequest, ...], ...] = field(repr=False)
    layers: tuple[tuple[DesignRequest, ...], ...] = field(repr=False)

    @classmethod
    def from_plan(cls, plan: Plan) -> "Workload":
        """Groups of one size have the same range and share a mechanism."""
        distinct, place = np.unique(plan.groups.sizes, return_inverse=True)
        order = np.argsort(place, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(place))[:-1])
        entries, requests, layers = tuple(plan_budget(plan)), [], []
        for k, entry in enumerate(entries):
            with plan.with_line_numbers(), error_path("statistics", k, entry.statistic.kind):
                wishes = plan.design_options(entry.statistic)
                kind, subject = entry.statistic.kind, plan.context(entry.statistic)
                queries = [query_for_person(kind, subject, int(size), entry.records) for size in distinct]
                requests.append(tuple(DesignRequest(query, entry.statistic_epsilon, wishes) for query in queries))
                above = () if entry.layered is None else entry.layered.layers
                layers.append(
                    tuple(layer_design_request(entry.statistic, subject, layer, entry.drawn_at) for layer in above)
                )
        return cls(plan, entries, tuple(distinct.tolist()), tuple(members), tuple(requests), tuple(layers))


@dataclass(frozen=True)
class DesignCache:
    """Designs that were certified in this process, and what to expect of them, for whoever answers many plans."""

    made: dict[DesignRequest, DesignedMechanism] = field(default_factory=dict, repr=False)
    expected: dict[tuple[DesignRequest, str, Any], ExpectedError] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ReleaseDesign:
    """A plan whose mechanisms are all there: for every statistic, one design per distinct size."""

    asked: Workload
    designs: tuple[tuple[DesignedMechanism, ...], ...] = field(repr=False)
    expected: tuple[tuple[ExpectedError, ...], ...]
    layers: tuple[tuple[DesignedMechanism, ...], ...] = field(repr=False)

    @property
    def has_useless(self) -> bool:
        """Whether some number is no better than a constant: see `worth`."""
        return any(found.no_better for row in self.expected for found in row)

    @property
    def errors(self) -> tuple[tuple[float, ...], ...]:
        """For every statistic, the expected error of each distinct size."""
        return tuple(tuple(found.error for found in row) for row in self.expected)

    @classmethod
    def from_workload(
        cls, asked: Workload, folder: Path, progress: Progress = ignore_progress, memory: DesignCache | None = None
    ) -> "ReleaseDesign":
        """Design every distinct request once; what cannot be designed is an error about its statistic."""
        memory = memory or DesignCache()
        made, found = memory.made, memory.expected
        rows = [(*own, *above) for own, above in zip(asked.requests, asked.layers, strict=True)]
        distinct = len({request for row in rows for request in row})
        for k, row in enumerate(rows):
            kind = asked.plan.statistics[k].kind
            with asked.plan.with_line_numbers(), error_path("statistics", k, kind):
                for request in row:
                    if request not in made:
                        progress("designing", len(made), distinct)
                        made[request] = _make(request, folder)
        progress("designing", distinct, distinct)
        designs, layers = (
            tuple(tuple(made[request] for request in row) for row in wanted)
            for wanted in (asked.requests, asked.layers)
        )
        expected = []
        for statistic, row in zip(asked.plan.statistics, asked.requests, strict=True):
            loss, derived = statistic.own.error, statistic.own.derived(asked.plan.context(statistic))
            for request in row:
                if (request, loss, derived) not in found:
                    found[request, loss, derived] = expected_error_of(made[request].mechanism, request, loss, derived)
            expected.append(tuple(found[request, loss, derived] for request in row))
        return cls(asked, designs, tuple(expected), layers)


def _make(request: DesignRequest, folder: Path) -> DesignedMechanism:
    try:
        return load_or_design(request, folder)
    except InboundsError as error:
        raise PlanError(f"cannot be answered as wished: {error}") from error


def expected_error_of(
    made: AnyMechanism, request: DesignRequest, loss: str, derived: DerivedValue | None
) -> ExpectedError:
    """The mean loss over the prior, to six digits, and that of the best constant: the same for all groups of a size."""
    if isinstance(made, QuantileMechanism):
        reports = made.channel(resolve_prior(request.wishes, made.query.as_range_query))
        found = ExpectedError(reports.loss(loss), reports.constant_loss(loss))
    elif derived is None:
        prior = resolve_prior(request.wishes, made.query)
        found = ExpectedError(made.loss(loss, prior), best_constant_loss(made.query, loss, prior))
    else:
        found = derived.expected(made, resolve_prior(request.wishes, derived.query))
    return ExpectedError(*(float(f"{value:.6g}") for value in found))


def mechanisms_by_size(designed: ReleaseDesign) -> Mechanisms:
    """All mechanisms of a release, by the statistic's name and the group's size."""
    asked = designed.asked
    found = {
        (statistic.name, size): made.mechanism
        for statistic, row in zip(asked.plan.statistics, designed.designs, strict=True)
        for size, made in zip(asked.sizes, row, strict=True)
    }
    for entry, row in zip(asked.entries, designed.layers, strict=True):
        layers = () if entry.layered is None else entry.layered.layers
        for layer, made in zip(layers, row, strict=True):
            found[f"{entry.statistic.name}: {layer.name}", layer.size] = made.mechanism
    return found


@dataclass(frozen=True)
class TableContent:
    """What is released: columns, the draws that they follow from, and the chains of its levels.

    draws: for every column that was drawn, the output of its mechanism for each row. reports: the draws of statistics
    that were made to add up.
    """

    columns: list[OutputColumn]
    draws: dict[str, Ints] = field(repr=False)
    reports: ReportsForm | None = field(default=None, repr=False)
    levels: list[ChainRecord] | None = field(default=None, repr=False)


def build_table(designed: ReleaseDesign, rows: Sequence[Ints]) -> TableContent:
    """The released columns, and the draws that they follow from. rows: as `drawing.draw` has them."""
    plan, given = designed.asked.plan, iter(rows)
    drawn, layered = list[dict[str, Ints]](), dict[int, list[list[Ints]]]()
    for k, statistic in enumerate(plan.statistics):
        drawn.append({name: next(given) for name in plan.drawn_columns(statistic)})
        above = designed.asked.entries[k].layered
        if above is not None:
            layered[k] = [list(drawn[k].values()), *([next(given) for _ in layer.columns] for layer in above.layers)]
    columns = {
        k: _publish(designed, k, drawn[k], cells) for k, cells in enumerate(_in_order(plan, drawn)) if k not in layered
    }
    draws = {name: row for k in columns for name, row in drawn[k].items()}
    if not layered:
        return TableContent([*keys_and_sizes(plan), *(column for k in columns for column in columns[k])], draws)
    found, reports = _adding_up(designed, columns, layered)
    return TableContent(found, draws, reports)


def publish_columns(designed: ReleaseDesign, outputs: dict[str, Ints]) -> list[OutputColumn]:
    """The columns of a plan of one statistic, from what was drawn for it."""
    return [*keys_and_sizes(designed.asked.plan), *_publish(designed, 0, outputs, outputs)]


def _adding_up(
    designed: ReleaseDesign, columns: dict[int, list[OutputColumn]], layered: dict[int, list[list[Ints]]]
) -> tuple[list[OutputColumn], ReportsForm]:
    """The table after post-processing: statistics that add up, adjusted, beside those that do not."""
    from inbounds.releases.adjust_reports import adjust_columns  # with much of SciPy, which only such plans need

    plan = designed.asked.plan
    reports = build_reports_record(plan, designed.asked.entries, layered)
    for k, own, (adjusted, by) in zip(layered, reports["statistics"], adjust_columns(reports), strict=True):
        columns[k] = [OutputColumn(name, values) for name, values in adjusted.items()]
        own["by"] = by
    found = keys_and_sizes(plan) if plan.hierarchy is None else level_columns(plan)
    for k in range(len(plan.statistics)):
        found += columns[k] if k in layered else [extend_to_levels(plan, column) for column in columns[k]]
    return found, reports


def _in_order(plan: Plan, drawn: Sequence[dict[str, Ints]]) -> list[dict[str, Ints]]:
    """What is published of what was drawn: the quantiles of one column are put in order, all else is as it is."""
    found, columns = list(drawn), dict[str, list[int]]()
    for k in sorted(range(len(drawn)), key=lambda k: plan.statistics[k].at or Fraction(0)):
        if plan.statistics[k].at is not None:
            columns.setdefault(plan.statistics[k].of, []).append(k)
    for members in columns.values():
        rising = np.sort([own for k in members for own in drawn[k].values()], axis=0)
        for k, outputs in zip(members, rising, strict=True):
            found[k] = dict.fromkeys(drawn[k], outputs)
    return found


def output_query(mechanism: AnyMechanism) -> RangeQuery:
    """The possible answers, and what is reported for each."""
    return mechanism.query.as_range_query if isinstance(mechanism.query, QuantileQuery) else mechanism.query


def _publish(designed: ReleaseDesign, k: int, drawn: dict[str, Ints], cells: dict[str, Ints]) -> list[OutputColumn]:
    """Outputs as values, one column of expected errors, and intervals of what was drawn on request."""
    asked, statistic = designed.asked, designed.asked.plan.statistics[k]
    reported = [output_query(design.mechanism).output_values for design in designed.designs[k]]
    values = [_by_size(asked, reported, outputs) for outputs in cells.values()]
    if statistic.sum_to_size:
        cells_drawn, sizes = np.array(values), asked.plan.groups.sizes
        totals = sizes if asked.plan.groups.public else np.minimum(cells_drawn.sum(axis=0), sizes)
        values = list(round_to_sum(cells_drawn, totals))
    columns = [OutputColumn(name, column) for name, column in zip(cells, values, strict=True)]
    derived = statistic.own.derived(asked.plan.context(statistic))
    if derived is not None:
        columns = [OutputColumn(statistic.name, derived.value(list(cells.values()))), *columns]
    columns.append(OutputColumn(f"{statistic.name}_error", _error_column(designed, k, derived, list(cells.values()))))
    if asked.plan.has_interval(statistic) and derived is not None:
        low, high = _derived_intervals(designed, k, derived, list(cells.values()))
        columns += [OutputColumn(f"{statistic.name}_low", low), OutputColumn(f"{statistic.name}_high", high)]
    elif asked.plan.has_interval(statistic):
        for (name, outputs), published in zip(drawn.items(), values, strict=True):
            low, high = _intervals(designed, k, outputs)
            if statistic.sum_to_size or statistic.at is not None:  # it may lie outside the interval of the drawn one
                low, high = np.minimum(low, published), np.maximum(high, published)
            columns += [OutputColumn(f"{name}_low", low), OutputColumn(f"{name}_high", high)]
    return columns


def _error_column(designed: ReleaseDesign, k: int, derived: DerivedValue | None, drawn: Sequence[Ints]) -> Floats:
    """The expected error of every group's number."""
    found = np.empty(len(designed.asked.plan.groups))
    for design, expected, members in zip(
        designed.designs[k], designed.expected[k], designed.asked.members, strict=True
    ):
        own = [outputs[members] for outputs in drawn]
        found[members] = (
            expected.error if derived is None else derived.errors(require_range_mechanism(design), expected, own)
        )
    return found


def _by_size(asked: Workload, tables: Sequence[NDArray[Any]], outputs: Ints) -> NDArray[Any]:
    """tables[size][output] for every group."""
    found = np.empty(len(outputs), dtype=np.result_type(*tables))
    for table, members in zip(tables, asked.members, strict=True):
        found[members] = table[outputs[members]]
    return found


def _intervals(designed: ReleaseDesign, k: int, outputs: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends of the credible interval of every answer."""
    asked = designed.asked
    assert asked.plan.credible_level is not None
    low, high = np.empty(len(outputs)), np.empty(len(outputs))
    for design, request, members in zip(designed.designs[k], asked.requests[k], asked.members, strict=True):
        prior = resolve_prior(request.wishes, output_query(design.mechanism))
        low[members], high[members] = credible_intervals(
            design.mechanism, outputs[members], asked.plan.credible_level, prior
        )
    whole = all(output_query(design.mechanism).output_values.dtype.kind == "i" for design in designed.designs[k])
    return (low.astype(np.int64), high.astype(np.int64)) if whole else (low, high)


def _derived_intervals(
    designed: ReleaseDesign, k: int, derived: DerivedValue, drawn: Sequence[Ints]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends of the interval of every number that is computed from drawn ones."""
    asked = designed.asked
    assert asked.plan.credible_level is not None
    low, high = np.empty(len(asked.plan.groups)), np.empty(len(asked.plan.groups))
    for design, request, members in zip(designed.designs[k], asked.requests[k], asked.members, strict=True):
        prior, own = resolve_prior(request.wishes, derived.query), [outputs[members] for outputs in drawn]
        low[members], high[members] = derived.interval(
            require_range_mechanism(design), own, asked.plan.credible_level, prior
        )
    return low, high


def require_range_mechanism(design: DesignedMechanism) -> Mechanism:
    """What numbers that others are computed from, and sums, are drawn by."""
    assert isinstance(design.mechanism, Mechanism)
    return design.mechanism


def keys_and_sizes(plan: Plan) -> list[OutputColumn]:
    """What names each group, and its declared size where they differ, so that a reader knows which mechanism answered
    it; public."""
    keys = plan.groups.keys
    found = [
        OutputColumn(name, np.array([key[k] for key in keys], dtype=object)) for k, name in enumerate(plan.groups.by)
    ]
    return found + ([OutputColumn(plan.size_column, np.array(plan.groups.sizes))] if plan.size_column else [])


def arrow(columns: Sequence[OutputColumn]) -> Any:
    """The released columns as a PyArrow table."""
    import pyarrow

    return pyarrow.table({column.name: pyarrow.array(column.values) for column in columns})


# --- credible intervals: where the true answer lies, given the released one and a prior over the answers ----


def credible_intervals(
    mechanism: AnyMechanism, outputs: Ints, level: Fraction, prior: Floats | None
) -> tuple[Floats, Floats]:
    """The shortest run of answers that holds at least `level` of the posterior, as `credible_set`, for every output.

    Post-processing of the draw: it needs the mechanism and the prior, not the data. A run is found once per
    distinct output, in O(answers).
    """
    distinct, place = np.unique(outputs, return_inverse=True)
    ends = np.array([_ends(mass, level) for mass in _joint(mechanism, distinct, prior)])
    low, high = output_query(mechanism).answers.numbers_at(ends.T)[:, place].astype(np.float64)
    return low, high


def _joint(mechanism: AnyMechanism, outputs: Ints, prior: Floats | None) -> Iterator[Floats]:
    """For every output the probabilities of it and each true answer; of a quantile the prior is of the records."""
    if isinstance(mechanism, QuantileMechanism):
        reports = mechanism.channel(prior)
        for i in outputs:
            mass = reports.matrix[i] * reports.prior
            yield mass if mass.sum() > 0 else reports.prior
        return
    for i in outputs:
        likelihood = mechanism.law.likelihood(mechanism.query, int(i))
        yield likelihood if prior is None else likelihood * to_prior(prior, mechanism.query)


def _ends(mass: Floats, level: Fraction) -> tuple[int, int]:
    first, stop = find_shortest_run(mass / mass.sum(), float(level))
    return first, stop - 1

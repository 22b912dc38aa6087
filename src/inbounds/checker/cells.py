"""Compare the published table with the stored draws: the cells that follow from them, and the sums that must hold.

Recomputed here: the columns and their order, keys, levels and sizes, every number that is an output of its mechanism,
quantiles in order, cells that were made to sum to their sizes, and means from their two sums. For tables that add up:
all numbers lie on their grid and in their range, every node is the sum of its children, every margin the sum of its
cells, and cells sum to their sizes. The choice among possible tables, expected errors and intervals are estimates;
`releases.recompute` computes those again with the code of the release.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.checker.account import COLUMNS, ROWS, StatedCost
from inbounds.checker.draws import KNOWN, MOST, cell_names, drawn_sizes, layer_columns, margin_names, sums_of_cells
from inbounds.checker.fields import insist, refuse
from inbounds.checker.levels import LEVEL_OF_EPSILON
from inbounds.checker.lines import drawn_parts
from inbounds.checker.plan import SPREADS, StatedPlan, StatedStatistic
from inbounds.checker.queries import AnswerGrid, required_query
from inbounds.checker.record import CheckedRecord
from inbounds.checker.tablefile import Cell, PublishedTable, format_cell

LEVEL = "level"

Cells = Sequence[Cell]

ESTIMATE: Any = object()
"""Stands for a cell that is an estimate, and is compared with what the draws give up to small differences."""

NEAR = 1e-6
"""The largest difference of an estimate, as a part of its range: sums of floats differ in their last digits."""


@dataclass(frozen=True)
class RecomputedCells:
    """The columns that were recomputed from the draws, and the estimates, of which only sums were checked."""

    recomputed: tuple[str, ...]
    estimated: tuple[str, ...]


def check_cells(record: CheckedRecord, table: PublishedTable) -> RecomputedCells:
    """Refuse a table that does not follow from the draws of its record."""
    names = expected_columns(record)
    if not (record.rows or table.columns):  # JSON without rows has no names of columns
        table = PublishedTable(table.file, {name: [] for name in names}, written=False)
    written = [format_cell(name) if table.written else name for name in names]
    insist(list(table.columns) == written, "the table does not have the columns of its plan, in order")
    insist(table.rows == record.rows, "the table does not have a row for each of the plan's groups")
    named = PublishedTable(table.file, dict(zip(names, table.columns.values(), strict=True)), table.written)
    known = dict([*_public_columns(record), *_drawn_columns(record)])
    for name, cells in known.items():
        for row, cell in enumerate(cells):
            if cell is ESTIMATE:
                continue
            if not named.has_cell(name, row, cell):
                refuse(f"{named.file}: {name} in row {row + 1} is not what its draw gives")
    for cost in record.costs:
        if record.plan.adds_up(cost.statistic):
            _check_sums(record, cost.statistic, named)
        elif drawn_parts(cost, record.plan) and not record.plan.is_drawn_of_levels(cost.statistic):
            _check_pooled(record, cost, named)
    return RecomputedCells(tuple(known), tuple(name for name in names if name not in known))


# --- the columns ------------------------------------------------------------------------------------------


def expected_columns(record: CheckedRecord) -> list[str]:
    """Return the names of all columns of the table, in order."""
    plan, columns = record.plan, [name for name, _ in _public_columns(record)]
    for cost in record.costs:
        statistic = cost.statistic
        cells, interval = published_names(statistic, plan), plan.credible_level is not None and statistic.kind != "mode"
        if len(statistic.at) > 1:  # each quantile has an error of its own, beside its interval
            ends = ("error", "low", "high") if interval else ("error",)
            columns += [*cells, *(f"{name}_{end}" for name in cells for end in ends)]
            continue
        columns += [*cells, *drawn_parts(cost, plan), f"{statistic.name}_error"]
        columns += [f"{name}_{end}" for name in cells for end in ("low", "high") if interval]
    return columns


def published_names(statistic: StatedStatistic, plan: StatedPlan) -> list[str]:
    """Return the columns of a statistic's answers and margins."""
    margins = [(ROWS, COLUMNS)[statistic.columns.index(margin)] for margin in statistic.margins]
    names = [name for margin in margins for name in margin_names(statistic, plan, margin)]
    return [*cell_names(statistic, plan), *names]


def _public_columns(record: CheckedRecord) -> Iterator[tuple[str, Cells]]:
    """Yield the columns that name every row and state its size."""
    plan, tree = record.plan, record.tree
    size = "group_size" if plan.public else "group_maximum"
    if tree is not None:
        assert plan.hierarchy is not None
        levels = plan.hierarchy.levels
        rows = [key for nodes in tree.keys[::-1] for key in nodes]
        yield LEVEL, [levels[len(key) - 1] for key in rows]
        for name in plan.by:
            depth = levels.index(name)
            yield name, [key[depth] if depth < len(key) else None for key in rows]
        if size not in plan.by:
            yield size, [people for nodes in tree.people[::-1] for people in nodes]
        return
    times = 1
    if record.levels is not None:
        times = len(record.levels.epsilons)
        yield LEVEL_OF_EPSILON, [str(epsilon) for epsilon in record.levels.epsilons for _ in plan.sizes]
    for k, name in enumerate(plan.by):
        yield name, [key[k] for key in plan.keys] * times
    if len(set(plan.sizes)) > 1 and size not in plan.by:
        yield size, [*plan.sizes] * times


# --- what follows from the draws --------------------------------------------------------------------------


def _drawn_columns(record: CheckedRecord) -> Iterator[tuple[str, Cells]]:
    """Yield every column whose cells follow from the draws; cells above the groups of a hierarchy are empty."""
    plan = record.plan
    above: Cells = [None] * (0 if record.tree is None else record.rows - len(plan.sizes))
    outputs = _sort_quantiles(record)
    for cost in record.costs:
        statistic = cost.statistic
        if plan.adds_up(statistic):
            continue
        parts = drawn_parts(cost, plan)
        names, sizes = parts or tuple(cell_names(statistic, plan)), drawn_sizes(statistic, plan, record.tree)
        before = [] if plan.is_drawn_of_levels(statistic) else above
        grids = {n: required_query(statistic, plan, n, cost.records).grid for n in set(sizes)}
        if parts:
            drawn = [outputs[part] for part in parts]
            own = _roots(grids, sizes, *drawn) if plan.public else _computed(plan, statistic, drawn)
            yield statistic.name, [*([ESTIMATE] * len(before)), *own]
        if statistic.sum_to_size:
            rows = zip(*(outputs[name] for name in names), strict=True)
            repeated = [*plan.sizes] * (len(outputs[names[0]]) // max(len(plan.sizes), 1))
            summed = [_round_to_sum(row, size, public=plan.public) for row, size in zip(rows, repeated, strict=True)]
            for k, name in enumerate(names):
                yield name, [*above, *(row[k] for row in summed)]
            continue
        for name in names:
            labelled = statistic.kind == "mode"
            column = outputs[name]
            cells = _labels(plan, statistic, column) if labelled else _values(grids, sizes, column)
            yield name, [*before, *cells]


def _sort_quantiles(record: CheckedRecord) -> dict[str, tuple[int, ...]]:
    """Return the published outputs: quantiles of one column that were drawn one by one are sorted in each group."""
    outputs, columns = dict(record.outputs), dict[str, list[StatedStatistic]]()
    for statistic in record.plan.statistics:
        if statistic.kind == "quantile" and len(statistic.at) == 1:
            columns.setdefault(statistic.column, []).append(statistic)
    for members in columns.values():
        names = [statistic.name for statistic in sorted(members, key=lambda statistic: statistic.at)]
        rising = [sorted(group) for group in zip(*(record.outputs[name] for name in names), strict=True)]
        outputs |= {name: tuple(group[k] for group in rising) for k, name in enumerate(names)}
    return outputs


def _values(grids: dict[int, AnswerGrid], sizes: Sequence[int], outputs: Sequence[int]) -> Cells:
    """Return the values of outputs: ints if all values of all sizes are whole, otherwise floats."""
    whole = all(grid.is_whole for grid in grids.values())
    groups = [grids[size] for size in sizes] * (len(outputs) // max(len(sizes), 1))
    pairs = zip(groups, outputs, strict=True)
    return [int(grid.value(k)) if whole else nearest_float(grid, k) for grid, k in pairs]


def _roots(grids: dict[int, AnswerGrid], sizes: Sequence[int], outputs: Sequence[int]) -> list[float]:
    """Return the roots of the values of outputs."""
    return [math.sqrt(nearest_float(grids[size], k)) for size, k in zip(sizes, outputs, strict=True)]


def nearest_float(grid: AnswerGrid, position: int) -> float:
    """Compute a value of a grid as a float: whole numbers in a common unit, and one division."""
    common = math.lcm(grid.start.denominator, grid.unit.denominator)
    return (int(grid.start * common) + int(grid.unit * common) * float(position)) / common


def _labels(plan: StatedPlan, statistic: StatedStatistic, outputs: Sequence[int]) -> Cells:
    return [plan.column(statistic).labels[k] for k in outputs]


def _computed(plan: StatedPlan, statistic: StatedStatistic, drawn: Sequence[Sequence[Any]]) -> list[float]:
    """Compute the number of every group of secret size from the sums that were drawn of it."""
    if statistic.kind not in SPREADS:
        return _means(plan, statistic, *drawn)
    column = plan.column(statistic)
    width, shares = float(column.high - column.low), map(_spread, *drawn)
    root = statistic.kind == "standard_deviation"
    return [width * math.sqrt(share) if root else width * width * share for share in shares]


def _spread(squares: float, products: float, far_squares: float) -> float:
    """Compute (A·C - B²/4)/(A + B + C)², between 0 and 1/4; 0 where all are 0."""
    whole = squares + products + far_squares
    if not whole > 0:
        return 0.0
    a, b, c = (part / whole for part in (squares, products, far_squares))
    return min(max(a * c - b * b / 4, 0.0), 0.25)


def _means(plan: StatedPlan, statistic: StatedStatistic, above: Sequence[Any], below: Sequence[Any]) -> list[float]:
    """Compute low + (high - low)·U/(U + V), within the bounds; `missing` where both sums are 0."""
    column = plan.column(statistic)
    low, high, missing = float(column.low), float(column.high), float(column.missing)
    pairs = zip(above, below, strict=True)
    return [missing if u + v == 0 else min(max(low + (high - low) * (u / (u + v)), low), high) for u, v in pairs]


def _round_to_sum(cells: Sequence[int], size: int, *, public: bool) -> list[int]:
    """Find the nearest cells that are not negative and sum to the size; with a maximum, to at most the size.

    The cells that stay positive all lose the same amount t. Where t is not whole they lose t rounded up, and the first
    of them get back the units that are then missing.

    >>> _round_to_sum([5, 3, 0], 7, public=True), _round_to_sum([1, 4, 4], 7, public=True)
    ([5, 2, 0], [1, 3, 3])
    """
    total = size if public else min(sum(cells), size)
    if total == 0:
        return [0] * len(cells)
    falling, positive, partial_sum = sorted(cells, reverse=True), 0, 0
    for count, cell in enumerate(falling, start=1):
        if count * cell > partial_sum + cell - total:  # the cell stays positive
            positive, partial_sum = count, partial_sum + cell
        else:
            break
    loss = -((total - partial_sum) // positive)
    nearest = [max(cell - loss, 0) for cell in cells]
    left = total - sum(nearest)
    for k, cell in enumerate(cells):
        if left and positive * cell > partial_sum - total:
            nearest[k], left = nearest[k] + 1, left - 1
    return nearest


# --- sums that must hold ----------------------------------------------------------------------------------


def _check_sums(record: CheckedRecord, statistic: StatedStatistic, table: PublishedTable) -> None:
    """Check that numbers are in their range, nodes and margins are sums, and cells sum to their sizes."""
    plan, tree = record.plan, record.tree
    above = 0 if tree is None else record.rows - len(plan.sizes)
    if statistic.rule.over_cells:
        for name in published_names(statistic, plan):
            empty = all(table.has_cell(name, row, None) for row in range(above))
            insist(empty, f"{table.file}: {name} must be empty above the groups")
        rows = [(size, above + k) for k, size in enumerate(plan.sizes)]
        cells = {name: _positions(record, statistic, table, name, rows) for name in published_names(statistic, plan)}
        _check_margins(statistic, plan, cells, table.file)
        _check_sizes(statistic, plan, [cells[name] for name in cell_names(statistic, plan)], plan.sizes, table.file)
        return
    assert tree is not None
    names, first = cell_names(statistic, plan), record.rows
    below: dict[str, list[int]] = {}
    for level, people in enumerate(tree.people):
        first -= len(people)
        rows = [(size, first + k) for k, size in enumerate(people)]
        level_cells = {name: _positions(record, statistic, table, name, rows) for name in names}
        for name in names if level else ():
            parents = tree.parents[level - 1]
            sums = [0] * len(people)
            for value, parent in zip(below[name], parents, strict=True):
                sums[parent] += value
            adds_up = sums == level_cells[name]  # of an average, weighted with the sizes
            insist(adds_up, f"{table.file}: {name} of a {_level_name(record, level)} is not the sum of its parts")
        _check_sizes(statistic, plan, [level_cells[name] for name in names], people, table.file)
        below = level_cells


def _check_pooled(record: CheckedRecord, cost: StatedCost, table: PublishedTable) -> None:
    """Check that numbers above the groups are those of the sums drawn of their groups, to a millionth of the range.

    A draw at an end of its range is read farther out by what geometric noise has beyond the end on average: with a
    falling to a for each step, a/(1 - a).
    """
    plan, tree, statistic = record.plan, record.tree, cost.statistic
    if tree is None:
        return
    queries = {size: required_query(statistic, plan, size) for size in set(plan.sizes)}
    falls = math.exp(-float(cost.layers[""]) / queries[plan.sizes[0]].apart)
    beyond, sums = falls / (1 - falls), []
    for part in drawn_parts(cost, plan):
        ends = [queries[size].grid.last for size in plan.sizes]
        pairs = zip(record.outputs[part], ends, strict=True)
        sums.append([drawn + beyond * ((drawn == end) - (drawn == 0)) for drawn, end in pairs])
    expected: list[float] = []
    low, high = _ends(plan, statistic)
    for parents, keys in zip(tree.parents, tree.keys[1:], strict=True):
        sums = [_add_children(one, parents, len(keys)) for one in sums]
        expected = _computed(plan, statistic, [[max(one, 0.0) for one in row] for row in sums]) + expected
    for row, number in enumerate(expected):
        try:
            fits = low <= Fraction(table.columns[statistic.name][row]) <= high
            near = abs(float(table.columns[statistic.name][row]) - number) <= NEAR * float(high - low)
        except (ValueError, TypeError, OverflowError):
            fits = near = False
        insist(fits, f"{table.file}: {statistic.name} in row {row + 1} is not in its range")
        insist(near, f"{table.file}: {statistic.name} in row {row + 1} is not what the draws of its groups give")


def _ends(plan: StatedPlan, statistic: StatedStatistic) -> tuple[Fraction, Fraction]:
    """Return the least and the largest number that it can be."""
    column = plan.column(statistic)
    half = (column.high - column.low) / 2
    largest = {"variance": half**2, "standard_deviation": half}.get(statistic.kind)
    return (column.low, column.high) if largest is None else (Fraction(0), largest)


def _add_children(values: Sequence[float], parents: Sequence[int], count: int) -> list[float]:
    sums = [0.0] * count
    for value, parent in zip(values, parents, strict=True):
        sums[parent] += value
    return sums


def _level_name(record: CheckedRecord, level: int) -> str:
    assert record.plan.hierarchy is not None
    return record.plan.hierarchy.levels[-1 - level]


def _positions(
    record: CheckedRecord, statistic: StatedStatistic, table: PublishedTable, name: str, rows: list[tuple[int, int]]
) -> list[int]:
    """Return published numbers as steps from the least possible one; refuse numbers off the grid or out of range."""
    grid, positions = required_query(statistic, record.plan, 1).grid, []
    common = math.lcm(grid.start.denominator, grid.unit.denominator)
    start, unit = int(grid.start * common), int(grid.unit * common)
    averages = statistic.rule.averages
    for size, row in rows:
        published, people = table.columns[name][row], size if averages else 1
        try:
            steps = round((Fraction(published) * people * common - size * start) / unit)
        except (ValueError, TypeError, OverflowError):
            refuse(f"{table.file}: {name} in row {row + 1} is no number")
        whole = size * start + steps * unit
        same = table.has_cell(name, row, whole if common == 1 and not averages else whole / (common * people))
        insist(same and 0 <= steps <= size * grid.last, f"{table.file}: {name} in row {row + 1} is not in its range")
        positions.append(steps)
    return positions


def _check_margins(statistic: StatedStatistic, plan: StatedPlan, cells: dict[str, list[int]], file: str) -> None:
    names = cell_names(statistic, plan)
    rows, columns = map(len, plan.labels(statistic))
    members = {
        ROWS: [names[k * columns : (k + 1) * columns] for k in range(rows)],
        COLUMNS: [names[k::columns] for k in range(columns)],
    }
    for margin in statistic.margins:
        layer = (ROWS, COLUMNS)[statistic.columns.index(margin)]
        for name, parts in zip(layer_columns(statistic, plan, layer), members[layer], strict=True):
            sums = [sum(group) for group in zip(*(cells[part] for part in parts), strict=True)]
            insist(sums == cells[name], f"{file}: {name} is not the sum of its cells")


def _check_sizes(
    statistic: StatedStatistic, plan: StatedPlan, cells: list[list[int]], sizes: Sequence[int], file: str
) -> None:
    kind, sums = sums_of_cells(statistic, plan), [sum(group) for group in zip(*cells, strict=True)]
    if kind == KNOWN:
        insist(sums == list(sizes), f"{file}: the cells of {statistic.name} do not sum to the sizes of the groups")
    elif kind == MOST:
        fits = all(map(int.__le__, sums, sizes))
        insist(fits, f"{file}: the cells of {statistic.name} sum to more than the sizes of the groups")

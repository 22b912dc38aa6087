"""What a published number errs, for every statistic and level, from the plan alone.

A statistic that does not add up has the expected error of its mechanism, for each group size (`workload`). One that
adds up is published after its table was adjusted, so its errors are those of adjusted surveys that are drawn from the
prior (`adjust.simulated`). Dry run, studio, record and report state the numbers that `state_errors` returns. It is
called before there is any data; nothing that reads or draws may import this module.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from inbounds import __version__
from inbounds.adjust.simulated import (
    CrossedTable,
    LevelError,
    SizesDraw,
    TreeTable,
    draw_public_sizes,
    draw_uniform_sizes,
    simulate_errors,
    simulate_tree,
    thin_groups,
)
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints
from inbounds.files import canonical_json, sha256_hex, write_text
from inbounds.plan.plan import Plan
from inbounds.progress import Progress, ignore_progress
from inbounds.releases.budget import BudgetLine
from inbounds.releases.layers import layer_query, level_facts, node_ranges
from inbounds.releases.layout import statistic_sums
from inbounds.releases.workload import ReleaseDesign
from inbounds.schema.report_types import COLUMNS, KNOWN, ROWS
from inbounds.statistics import Crosstab, ExpectedError
from inbounds.statistics.sizes import size_prior

NEAR = 4
"""The error in groups of a size is the mean over the 1/NEAR of the simulated groups whose sizes are nearest."""


def state_errors(
    designed: ReleaseDesign, folder: Path | None = None, progress: Progress = ignore_progress
) -> ReleaseDesign:
    """Add the expected errors of statistics that add up: by group size, of every level, and without a typical size.

    folder: where simulated errors are kept; None to simulate again. Cost: see `adjust.simulated`; about a second for
    five answers in 40 groups.
    """
    plan, sizes = designed.workload.plan, designed.workload.sizes
    rows, full, levels = list(designed.expected), list(designed.full), list(designed.levels)
    for k, entry in enumerate(designed.workload.entries):
        if plan.adds_up(entry.statistic):
            rows[k], levels[k] = expect_levels(plan, k, entry, sizes, folder, progress)
            full[k] = levels[k]
            if plan.groups.typical:
                undeclared = replace(plan, groups=replace(plan.groups, typical=()))
                _, full[k] = expect_levels(undeclared, k, entry, sizes, folder, progress)
    return replace(designed, expected=tuple(rows), full=tuple(full), levels=tuple(levels))


SEEDED = ("by", "groups", "keys_sha256", "sizes", "columns", "statistics", "hierarchy")
"""What of a plan the surveys depend on."""

Stated = tuple[tuple[ExpectedError, ...], tuple[ExpectedError, ...]]
"""Expected errors in groups of each size, and of each level over all its nodes, the groups first."""


def expect_levels(
    plan: Plan,
    k: int,
    entry: BudgetLine,
    sizes: Sequence[int],
    folder: Path | None = None,
    progress: Progress = ignore_progress,
) -> Stated:
    """Compute the errors of statistic number k, which adds up; those in the folder are not simulated again."""
    identity = {
        "versions": [__version__, np.__version__],
        "plan": plan.digest,
        "seed": survey_seed(plan),
        "statistic": k,
        "groups": sha256_hex(canonical_json(plan.groups.sizes.tolist())),
        "sizes": list(sizes),
    }
    digest = sha256_hex(canonical_json(identity))
    path = None if folder is None else folder / f"errors-{digest}.json"
    if path is not None and path.exists():
        try:
            by_size, levels = json.loads(path.read_text("utf-8"))
            return tuple(ExpectedError(*one) for one in by_size), tuple(ExpectedError(*one) for one in levels)
        except (OSError, ValueError, TypeError):
            pass  # simulate again
    stated = _simulate(plan, entry, sizes, survey_seed(plan), progress)
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(stated))
        except OSError:
            pass  # only slower next time
    return stated


def survey_seed(plan: Plan) -> int:
    """Return the seed of the surveys, from the digest of the plan's groups, columns, statistics and levels.

    The source is no part: who verifies a record has another one. Nor are epsilon and its division among levels: while
    these are changed the surveys stay the same, and errors differ by the noise alone.
    """
    values: dict[str, Any] = {name: value for name, value in plan.summary().items() if name in SEEDED}
    hierarchy = {name: value for name, value in values.get("hierarchy", {}).items() if name in ("levels", "nodes")}
    return int(sha256_hex(canonical_json({**values, "hierarchy": hierarchy}))[:16], 16)


def _simulate(plan: Plan, entry: BudgetLine, sizes: Sequence[int], seed: int, progress: Progress) -> Stated:
    """Simulate the errors of a statistic that adds up."""
    query = layer_query(entry.statistic, plan.context, 1)
    simulate = _simulate_cells if isinstance(entry.statistic, Crosstab) else _simulate_levels
    levels = simulate(plan, entry, sizes_prior(plan), seed, progress)
    unit, positions = float(query.answers.unit), len(query.answers) - 1
    if entry.statistic.averages:
        levels = [_per_person(level, positions) for level in levels]
    groups = [_near(levels[0], positions * size, unit) for size in sizes]
    return tuple(groups), tuple(_state(level, unit) for level in levels)


def sizes_prior(plan: Plan) -> SizesDraw:
    """Return how sizes of groups are drawn: public ones are known, others as declared, or any up to the maximum."""
    groups = plan.groups
    if groups.public:
        return draw_public_sizes
    return partial(_draw_typical_sizes, groups.typical) if groups.typical else draw_uniform_sizes


def _draw_typical_sizes(typical: tuple[int, ...], sizes: Ints, generator: np.random.Generator) -> Ints:
    """Draw sizes from the prior of a typical size."""
    drawn = np.empty(len(sizes), np.int64)
    for most in np.unique(sizes):
        prior, members = size_prior(typical, int(most)), sizes == most
        drawn[members] = generator.choice(prior.sizes, int(members.sum()), p=prior.weights[0])
    return drawn


def _rates(plan: Plan, entry: BudgetLine) -> dict[str, float]:
    """Return the epsilon per unit of every layer by name, the statistic's own numbers first."""
    assert entry.layered is not None
    steps = layer_query(entry.statistic, plan.context, 1).steps
    return {name: float(entry.drawn_at * share / steps) for name, share in entry.layered.shares}


def _simulate_levels(
    plan: Plan, entry: BudgetLine, draw_sizes: SizesDraw, seed: int, progress: Progress
) -> list[LevelError]:
    assert entry.layered is not None
    nest, labels = plan.group_tree, len(plan.cells(entry.statistic))
    leaves = node_ranges(entry.statistic, plan.context, nest.tree.sizes[0])
    tree, rates = Tree.from_leaves(leaves, *nest.tree.parents), tuple(_rates(plan, entry).values())
    weights = entry.layered.weights
    table = TreeTable(
        tree,
        len(layer_query(entry.statistic, plan.context, 1).answers) - 1,
        labels,
        statistic_sums(plan, entry.statistic),
        rates,
        tuple(map(float, weights)),
    )
    facts = level_facts(tree.sizes, max(labels, 2), sum(rates), weights)
    return simulate_tree(table, facts, draw_sizes, seed, progress)


def _simulate_cells(
    plan: Plan, entry: BudgetLine, draw_sizes: SizesDraw, seed: int, progress: Progress
) -> list[LevelError]:
    assert isinstance(entry.statistic, Crosstab)
    rates, known = _rates(plan, entry), statistic_sums(plan, entry.statistic) == KNOWN
    own = next(iter(rates.values()))
    shape = entry.statistic.label_pair(plan.context).shape
    table = CrossedTable(shape, plan.groups.sizes, known, own, rates.get(ROWS), rates.get(COLUMNS))
    levels = simulate_errors(thin_groups(table), draw_sizes, seed, progress)
    names = [name for name in (ROWS, COLUMNS) if name in rates]
    by_name = dict(zip(names, levels[1:], strict=True))
    return [levels[0], *(by_name[name] for name in list(rates)[1:])]


# --- numbers as they are stated -----------------------------------------------------------------------------


def _per_person(level: LevelError, positions: int) -> LevelError:
    """Divide the errors of sums by the number of people in each node."""
    people = level.sizes / positions
    by_node, constant, parent = (
        None if errors is None else errors / people
        for errors in (level.by_node, level.constant_by_node, level.parent_by_node)
    )
    assert by_node is not None
    assert constant is not None
    error = float(by_node.mean())
    return replace(
        level,
        error=error,
        deviation=level.deviation * error / level.error if level.error else 0.0,
        constant=float(constant.mean()),
        parent=None if parent is None else float(parent.mean()),
        by_node=by_node,
        constant_by_node=constant,
        parent_by_node=parent,
    )


def _state(level: LevelError, unit: float) -> ExpectedError:
    parent = None if level.parent is None else _digits(level.parent * unit)
    return ExpectedError(
        _digits(level.error * unit), _digits(level.constant * unit), parent, float(f"{level.deviation * unit:.2g}")
    )


def _near(level: LevelError, size: int, unit: float) -> ExpectedError:
    """State the errors in groups of a size, from the simulated groups whose sizes are nearest."""
    distance = np.abs(level.sizes - size)
    near = distance <= np.sort(distance)[(len(distance) - 1) // NEAR]
    if near.all():
        return _state(level, unit)

    def mean(by_node: Floats) -> float:
        return float(by_node[near].mean())

    error = mean(level.by_node)
    deviation = level.deviation * error / level.error if level.error else 0.0
    parent = None if level.parent_by_node is None else _digits(mean(level.parent_by_node) * unit)
    return ExpectedError(
        _digits(error * unit), _digits(mean(level.constant_by_node) * unit), parent, float(f"{deviation * unit:.2g}")
    )


def _digits(value: float) -> float:
    """Round to three digits: more would be noise of the simulation."""
    return float(f"{value:.3g}")

"""Compare the expected error of a statistic with its yardsticks, before data is read.

The best constant is the answer that loses least on average without the data. In a table that adds up, every number also
has the average of its parent, as published: the region's number divided among its schools. A statistic that errs as
much as one of them spends epsilon and tells nothing. Improvements are found by designing the statistic again.
Everything follows from the plan.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from inbounds.catalog.noise_tables import geometric_table
from inbounds.catalog.response import exponential
from inbounds.design.quantiles import design_joint
from inbounds.errors import InboundsError
from inbounds.mechanism import AnyMechanism
from inbounds.progress import Progress, ignore_progress
from inbounds.query import JointQuantileQuery, RangeQuery
from inbounds.releases.accuracy import StatisticModel
from inbounds.releases.budget import BudgetLine, query_for_person
from inbounds.releases.expected import state_errors
from inbounds.releases.workload import ReleaseDesign
from inbounds.schema.columns import NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.report_types import CELLS
from inbounds.schema.text import format_number
from inbounds.statistics import ExpectedError, Statistic, StatisticContext
from inbounds.statistics.designs import DESIGNED_UP_TO, DesignRequest, load_or_design
from inbounds.statistics.sizes import SizeBeliefs, size_prior

USEFUL = 0.5
"""A change helps if it brings the error down to this share of the constant's."""

FACTORS = (2, 4, 8, 16)
"""Factors that are tried for epsilon, records in a group, and the step."""

TRIED = 120
"""Most answers for which a change is designed as requested; beyond, a closed form that is no better is used."""

LARGEST = 1 << 20
"""Most answers for which anything is tried."""


@dataclass(frozen=True)
class UselessStatistic:
    """A statistic that is no better than a yardstick in groups of some sizes, and what would help at the largest.

    everywhere: in groups of every size, and of a statistic that adds up, at every level. even_full: everywhere, also
    in groups as large as their maximum (of what adds up, without a typical size), which decides whether a release is
    refused: what a plan declares about typical sizes does not. level: of a statistic that adds up, the level or margin
    that is no better. parent: what the level adds up to; empty at the top.
    """

    statistic: str
    sizes: tuple[int, ...]
    expected: ExpectedError
    helps: tuple[str, ...]
    everywhere: bool
    even_full: bool
    level: str = ""
    parent: str = ""

    def __str__(self) -> str:
        if self.level:
            return self._describe_level()
        first, last = self.sizes[0], self.sizes[-1]
        where = "" if self.everywhere else f" in groups of {first if first == last else f'{first}..{last}'}"
        hint = f"; what would help: {', or '.join(self.helps)}" if self.helps else ""
        return (
            f"{self.statistic} is no better than a constant{where}: expected error {self.expected.error:.4g}, the best "
            f"constant's {self.expected.constant:.4g}{hint}"
        )

    def _describe_level(self) -> str:
        """Describe a level that is no better than the average of its parent, or than a constant."""
        expected = self.expected
        error = f"{expected.error:.3g} ± {expected.deviation:.2g}" if expected.deviation else f"{expected.error:.3g}"
        hint = f"; what would help: {', or '.join(self.helps)}" if self.helps else ""
        if expected.parent is None or expected.constant < expected.parent:
            return (
                f"{self.statistic}, {self.level}, is no better than a constant: expected error {error}, the best "
                f"constant's {expected.constant:.3g}{hint}"
            )
        return (
            f"{self.statistic}, {self.level}, is no better than the average of its {self.parent} as published: "
            f"expected error {error}, the average's {expected.parent:.3g}{hint}"
        )


@dataclass(frozen=True)
class CheckedDesign:
    """A design that may be charged. useless: its statistics that are no better than a yardstick."""

    designed: ReleaseDesign
    useless: tuple[UselessStatistic, ...] = ()

    @staticmethod
    def from_design(
        designed: ReleaseDesign, folder: Path, progress: Progress = ignore_progress, *, allow_useless: bool
    ) -> "CheckedDesign":
        """State the errors of a design and check it; raise PlanError if no statistic is useful, unless `allow_useless`.

        folder: of mechanisms and simulated errors.
        """
        designed = state_errors(designed, folder, progress)
        useless = find_useless(designed, folder) if designed.has_useless else ()
        if useless and not allow_useless:
            with designed.workload.plan.with_line_numbers():
                check_useful(designed, useless)
        return CheckedDesign(designed.with_coverage(progress), useless)


def find_useless(designed: ReleaseDesign, folder: Path) -> tuple[UselessStatistic, ...]:
    """Find the statistics that are no better than a constant, in the plan's order."""
    return tuple(useless for k in range(len(designed.workload.entries)) for useless in _judge(designed, k, folder))


def check_useful(designed: ReleaseDesign, useless: tuple[UselessStatistic, ...]) -> None:
    """Raise PlanError if no statistic of the plan is better than a constant."""
    if are_all_useless(designed, useless):
        sentences = "; ".join(map(str, useless))
        raise PlanError(
            "are all expected to be no more accurate than a fixed guess; raise epsilon or the group size, or give "
            f"--allow-useless (in Python, allow_useless=True) to release them nevertheless: {sentences}",
            ("statistics",),
        )


def are_all_useless(designed: ReleaseDesign, useless: tuple[UselessStatistic, ...]) -> bool:
    """Return whether every statistic is useless even in groups as large as their maximum."""
    return are_all_named([entry.statistic.name for entry in designed.workload.entries], useless)


def are_all_named(names: Sequence[str], useless: Sequence[UselessStatistic]) -> bool:
    """Return whether all statistics with these names are useless, even in groups as large as their maximum."""
    return set(names) == {statistic.statistic for statistic in useless if statistic.even_full}


def _judge(designed: ReleaseDesign, k: int, folder: Path) -> Iterator[UselessStatistic]:
    workload, expected = designed.workload, designed.expected[k]
    if workload.entries[k].layered is not None:
        yield from _judge_levels(designed, k)
        return
    even_full = all(one.no_better for one in designed.full[k])
    useless_sizes = [s for s, one in enumerate(expected) if one.no_better or even_full]
    if useless_sizes:
        worst, sizes = expected[useless_sizes[-1]], tuple(workload.sizes[s] for s in useless_sizes)
        worst = worst if worst.no_better else designed.full[k][useless_sizes[-1]]
        everywhere = len(useless_sizes) == len(expected)
        helps = tuple(_helps(designed, k, sizes[-1], folder))
        yield UselessStatistic(workload.entries[k].statistic.name, sizes, worst, helps, everywhere, even_full)


def _judge_levels(designed: ReleaseDesign, k: int) -> Iterator[UselessStatistic]:
    """Yield the levels of a statistic that adds up which are no better than a yardstick, the lowest first."""
    workload, levels, full = designed.workload, designed.levels[k], designed.full[k]
    entry, sizes = workload.entries[k], workload.sizes
    assert entry.layered is not None
    names = [name for name, _ in entry.layered.shares]
    everywhere, even_full = (all(one.no_better for one in stated) for stated in (levels, full))
    for position, name in enumerate(names):
        expected = full[position] if even_full and not levels[position].no_better else levels[position]
        if expected.no_better:
            helps = [f"more than epsilon {format_number(workload.plan.epsilon)} for the plan"]
            if entry.statistic.adds_over_groups(workload.plan.context) and position < len(names) - 1:
                helps.append(f"a plan without the level {name}")
            yield UselessStatistic(
                entry.statistic.name,
                sizes,
                expected,
                tuple(helps),
                everywhere or even_full,
                even_full,
                name,
                _parent_name(names, position),
            )


def _parent_name(names: Sequence[str], position: int) -> str:
    """Return the level above; of the cells of a crosstab, their margin."""
    if names[0] == CELLS:
        return "margin" if position == 0 and len(names) > 1 else ""
    return names[position + 1] if position + 1 < len(names) else ""


# --- changes that would help, found by trying --------------------------------------------------------------


def _helps(designed: ReleaseDesign, k: int, size: int, folder: Path) -> Iterator[str]:
    """Yield changes of the plan that make a statistic useful."""
    plan, entry = designed.workload.plan, designed.workload.entries[k]
    context, statistic = plan.context, entry.statistic

    def expected_with(factor: int, more: str) -> ExpectedError | None:
        """Return the errors with so many times the epsilon, the records, or the step."""
        changed = _coarser(context, statistic, factor) if more == "step" else context
        largest = size * factor if more == "size" else size
        epsilon = entry.drawn_at * (factor if more == "epsilon" else 1)
        typical = tuple(own * largest // size for own in plan.groups.typical)
        beliefs = None if plan.groups.public else size_prior(typical, largest)
        return (
            None if changed is None else _expected_errors(designed, entry, changed, largest, epsilon, beliefs, folder)
        )

    ways: dict[str, Callable[[int], str]] = {
        "epsilon": lambda f: f"epsilon {format_number(f * plan.epsilon)} for the plan",
        "size": lambda f: f"groups of {f * size}" + ("" if plan.groups.public else " at most, and as many records"),
        "step": lambda f: f"a step of {format_number(f * _step(context, statistic))} for {statistic.subject_text}",
    }
    for more, describe in ways.items():
        for factor in FACTORS:
            expected = expected_with(factor, more)
            if expected is not None and expected.error <= USEFUL * expected.constant:
                yield f"{describe(factor)} (error at most {expected.error:.4g}, constant {expected.constant:.4g})"
                break


def _expected_errors(
    designed: ReleaseDesign,
    entry: BudgetLine,
    context: StatisticContext,
    size: int,
    epsilon: Fraction,
    beliefs: SizeBeliefs | None,
    folder: Path,
) -> ExpectedError | None:
    """Compute the errors of the statistic under other facts, once for all alike; None if it cannot be designed."""
    statistic, tried = entry.statistic, designed.memory.tried
    try:
        query = query_for_person(statistic, context, size, entry.records)
        request = DesignRequest(query, epsilon, designed.workload.plan.design_options(statistic))
        key = request, type(statistic), statistic.loss, statistic.derive(context), beliefs
    except (InboundsError, ValueError, ArithmeticError):
        return None
    if key not in tried:
        try:
            mechanism = _try_design(request, folder)
            model = StatisticModel(statistic, context, request, mechanism, size, beliefs, is_rough=True)
            tried[key] = model.expected_error()
        except (InboundsError, ValueError, ArithmeticError):
            tried[key] = None
    return tried[key]


def _try_design(request: DesignRequest, folder: Path) -> AnyMechanism:
    """Design what was requested, or, if that would take long, a mechanism in closed form that is no better."""
    if isinstance(request.query, JointQuantileQuery):
        return design_joint(request.query, request.epsilon)
    if not isinstance(request.query, RangeQuery):
        return load_or_design(request, folder).mechanism
    query, answers = request.query, len(request.query.answers)
    if answers <= TRIED or query.neighbours.has_distances:
        return load_or_design(request, folder).mechanism
    if not query.neighbours.is_complete and answers <= LARGEST:
        return geometric_table(query, request.epsilon)
    if answers <= DESIGNED_UP_TO:
        return exponential(query, request.epsilon)
    raise ValueError(f"has {answers} possible answers, too many to try")


def _coarser(context: StatisticContext, statistic: Statistic, factor: int) -> StatisticContext | None:
    """Return the statistic's column in larger steps, if they divide its range."""
    column = context.columns.get(statistic.subject_text)
    if not isinstance(column, NumberColumn) or column.width % factor or column.width == factor:
        return None
    step = factor * column.step
    nearest = column.low + (column.missing - column.low) // step * step
    coarse = replace(column, step=step, missing=nearest)
    return replace(context, columns={**context.columns, statistic.subject_text: coarse})


def _step(context: StatisticContext, statistic: Statistic) -> Fraction:
    column = context.columns[statistic.subject_text]
    assert isinstance(column, NumberColumn)
    return column.step

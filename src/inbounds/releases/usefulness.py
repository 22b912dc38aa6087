"""Whether a statistic is worth its epsilon: its expected error beside that of the best constant, before data is read.

The best constant is the answer that loses least on average when nobody looks at the data. A statistic that errs as much
spends epsilon and says nothing. What would help is found by designing it again, not guessed. All of it follows from the
plan: nothing here depends on the data.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from inbounds.catalog.noise_tables import geometric_table
from inbounds.catalog.response import exponential
from inbounds.errors import InboundsError
from inbounds.query import Metric, QuantileQuery, Reach
from inbounds.releases.budget import BudgetLine, query_for_person
from inbounds.releases.workload import ReleaseDesign, expected_error_of
from inbounds.schema.columns import NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.text import format_number
from inbounds.statistics import ExpectedError, StatisticContext
from inbounds.statistics.designs import DESIGNED_UP_TO, AnyMechanism, DesignRequest, load_or_design

USEFUL = 0.5
"""What would help brings the error down to this share of the constant's."""

FACTORS = (2, 4, 8, 16)
"""How much more is tried, of epsilon, of records in a group, of the step."""

TRIED = 120
"""Answers up to which what would help is designed as wished; beyond, a closed form that is no better stands for it."""

LARGEST = 1 << 20
"""Answers beyond which nothing is tried."""


@dataclass(frozen=True)
class UselessStatistic:
    """A statistic that is no better than a constant in groups of some sizes, and what would help at the largest.

    everywhere: in groups of every size.
    """

    statistic: str
    sizes: tuple[int, ...]
    found: ExpectedError
    helps: tuple[str, ...]
    everywhere: bool

    def __str__(self) -> str:
        first, last = self.sizes[0], self.sizes[-1]
        where = "" if self.everywhere else f" in groups of {first if first == last else f'{first}..{last}'}"
        way = f"; what would help: {', or '.join(self.helps)}" if self.helps else ""
        return (
            f"{self.statistic} is no better than a constant{where}: expected error {self.found.error:.4g}, the best "
            f"constant's {self.found.constant:.4g}{way}"
        )


def find_useless(designed: ReleaseDesign, folder: Path) -> tuple[UselessStatistic, ...]:
    """The statistics that are no better than a constant, in the plan's order."""
    return tuple(found for k in range(len(designed.asked.entries)) for found in _judge(designed, k, folder))


def check_useful(designed: ReleaseDesign, found: tuple[UselessStatistic, ...]) -> None:
    """A `PlanError` if nothing in the plan is worth its epsilon."""
    if are_all_useless(designed, found):
        said = "; ".join(map(str, found))
        raise PlanError(
            "are all no better than a constant, so the release would spend epsilon and say nothing; give "
            f"--allow-useless (in Python, allow_useless=True) to release it nevertheless: {said}",
            ("statistics",),
        )


def are_all_useless(designed: ReleaseDesign, found: tuple[UselessStatistic, ...]) -> bool:
    return len(found) == len(designed.asked.entries) and all(one.everywhere for one in found)


def _judge(designed: ReleaseDesign, k: int, folder: Path) -> Iterator[UselessStatistic]:
    asked, expected = designed.asked, designed.expected[k]
    if asked.entries[k].layered is not None:
        return  # what adds up is known by its sums as well
    bad = [s for s, found in enumerate(expected) if found.no_better]
    if bad:
        worst, sizes = expected[bad[-1]], tuple(asked.sizes[s] for s in bad)
        everywhere = len(bad) == len(expected)
        helps = tuple(_helps(designed, k, sizes[-1], folder))
        yield UselessStatistic(asked.entries[k].statistic.name, sizes, worst, helps, everywhere)


# --- what would help, found by trying ---------------------------------------------------------------------


def _helps(designed: ReleaseDesign, k: int, size: int, folder: Path) -> Iterator[str]:
    plan, entry = designed.asked.plan, designed.asked.entries[k]
    subject = plan.context(entry.statistic)

    def tried(factor: int, more: str) -> ExpectedError | None:
        """The errors with so many times the epsilon, the records, or the step."""
        own = _coarser(subject, factor) if more == "step" else subject
        largest = size * factor if more == "size" else size
        epsilon = entry.drawn_at * (factor if more == "epsilon" else 1)
        return None if own is None else _expected_errors(designed, entry, own, largest, epsilon, folder)

    ways: dict[str, Callable[[int], str]] = {
        "epsilon": lambda f: f"epsilon {format_number(f * plan.epsilon)} for the plan",
        "size": lambda f: f"groups of {f * size}" + ("" if plan.groups.public else " at most, and as many records"),
        "step": lambda f: f"a step of {format_number(f * subject.declared.step)} for {subject.of}",
    }
    for more, say in ways.items():
        for factor in FACTORS:
            found = tried(factor, more)
            if found is not None and found.error <= USEFUL * found.constant:
                yield f"{say(factor)} (error at most {found.error:.4g}, constant {found.constant:.4g})"
                break


def _expected_errors(
    designed: ReleaseDesign,
    entry: BudgetLine,
    subject: StatisticContext[NumberColumn],
    size: int,
    epsilon: Fraction,
    folder: Path,
) -> ExpectedError | None:
    """The errors of the statistic under other facts; nothing where it cannot be designed."""
    statistic = entry.statistic
    try:
        query = query_for_person(statistic.kind, subject, size, entry.records)
        request = DesignRequest(query, epsilon, designed.asked.plan.design_options(statistic))
        return expected_error_of(
            _try_design(request, folder), request, statistic.own.error, statistic.own.derived(subject)
        )
    except (InboundsError, ValueError, ArithmeticError):
        return None


def _try_design(request: DesignRequest, folder: Path) -> AnyMechanism:
    """What was asked for, or one that is made at once and is no better, where a design would take long."""
    if isinstance(request.query, QuantileQuery):
        return load_or_design(request, folder).mechanism
    query, answers = request.query, len(request.query.answers)
    if answers <= TRIED or isinstance(query.neighbours, Metric):
        return load_or_design(request, folder).mechanism
    if isinstance(query.neighbours, Reach) and answers <= LARGEST:
        return geometric_table(query, request.epsilon)
    if answers <= DESIGNED_UP_TO:
        return exponential(query, request.epsilon)
    raise ValueError(f"has {answers} possible answers, too many to try")


def _coarser(subject: StatisticContext[NumberColumn], factor: int) -> StatisticContext[NumberColumn] | None:
    """The same column in larger steps, where they divide its range."""
    column = subject.declared
    if not isinstance(column, NumberColumn) or column.width % factor or column.width == factor:
        return None
    step = factor * column.step
    nearest = column.low + (column.missing - column.low) // step * step
    return replace(subject, declared=replace(column, step=step, missing=nearest))

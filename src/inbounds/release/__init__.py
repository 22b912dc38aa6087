"""Release: a table in, a private in-range table out, with a statement an auditor can check.

    plan → schema → design → aggregate → answer → write

Nothing is read from the data before the plan, the schema and every mechanism are settled, and nothing about the
data decides what happens afterwards: every declared group is answered, in declared order.
"""

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from inbounds.release.answer import Asked, Designed, Released, answered
from inbounds.release.designs import Progress, cache_folder, no_progress
from inbounds.release.engine import open_source
from inbounds.release.errors import AggregationFailed, PlanError, SourceError, at
from inbounds.release.facts import Column, Groups
from inbounds.release.keys import groups
from inbounds.release.plan import Plan, Statistic
from inbounds.release.reading import plan_from, read_plan
from inbounds.release.record import record as recorded
from inbounds.release.source import Source
from inbounds.release.wishes import Wishes
from inbounds.release.words import composition, number, statement
from inbounds.release.write import check_target
from inbounds.release.write import write as written

__all__ = [
    "AggregationFailed",
    "Column",
    "Groups",
    "Plan",
    "PlanError",
    "Preview",
    "Release",
    "Source",
    "SourceError",
    "Statistic",
    "Wishes",
    "groups",
    "preview",
    "read_plan",
    "release",
]

PlanLike = Plan | Mapping[str, Any] | str | PathLike[str]


@dataclass(frozen=True)
class Release:
    """A released table and its record. `table` is a PyArrow table: `.table.to_pandas()` for a frame."""

    plan: Plan
    table: Any
    record: Mapping[str, Any]
    path: Path | None = None

    def __repr__(self) -> str:
        where = "not written" if self.path is None else str(self.path)
        return f"Release({where}, {self.table.num_rows} rows, epsilon {number(self.plan.spent)})"

    def write(self, path: str | PathLike[str], *, overwrite: bool = False) -> "Release":
        """Write the table (.csv, .parquet or .json) with its record beside it, both or neither."""
        full = written(self.table, dict(self.record), Path(path), overwrite=overwrite)
        return replace(self, record=full, path=Path(path))


@dataclass(frozen=True)
class Preview:
    """What a release would do, told from the plan and the schema alone.

    errors: for every statistic, the expected error (mean absolute, over the prior) for every group size.
    """

    plan: Plan
    statement: str
    account: tuple[str, ...]
    sizes: tuple[int, ...]
    errors: Mapping[str, tuple[float, ...]]
    record: Mapping[str, Any] = field(repr=False)


class _CallableModule(ModuleType):
    """`inbounds.release` is this package and, as `ib.release(plan)`, its main function."""

    def __call__(self, *words: Any, **named: Any) -> "Release":
        return release(*words, **named)


sys.modules[__name__].__class__ = _CallableModule


def release(
    plan: PlanLike,
    frame: Any = None,
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    cache: str | PathLike[str] | None = None,
    progress: Progress = no_progress,
) -> Release:
    """Answer a plan: aggregate, draw with operating-system entropy, and write the table with its record.

    plan: a `Plan`, the path of a TOML file, or the plain values of one. frame: a pandas, Polars or Arrow frame,
    or an Ibis table, in the place of the plan's source. output: where to write (over the plan's own); without
    any, nothing is written. cache: the folder of designed mechanisms.

    Formal guarantee: between neighbouring tables (`plan.neighbours`), the probability of any release differs by
    a factor of at most exp(plan.spent).
    Cost: the engine's aggregation, one design per distinct group size, one draw per number.
    """
    wanted = as_plan(plan, frame)
    target = Path(output or wanted.output) if output or wanted.output else None
    if target is not None:
        with wanted.located(), at("output", "path"):
            check_target(target, overwrite=overwrite)
    with closing(open_source(wanted)) as source:
        designed = _designed(wanted, cache, progress)
        progress("aggregating", 0, 1)
        truths = source.aggregate()
        progress("aggregating", 1, 1)
    columns = answered(designed, truths, progress=progress)
    result = Release(wanted, arrow(columns), recorded(designed))
    return result if target is None else result.write(target, overwrite=overwrite)


def preview(
    plan: PlanLike, frame: Any = None, *, cache: str | PathLike[str] | None = None, progress: Progress = no_progress
) -> Preview:
    """A dry run: design everything, say what would be released and how well; read nothing but the schema."""
    wanted = as_plan(plan, frame)
    open_source(wanted).close()
    designed = _designed(wanted, cache, progress)
    asked = designed.asked
    errors = {statistic.name: row for statistic, row in zip(wanted.statistics, designed.errors, strict=True)}
    lines = tuple(composition(wanted, asked.entries))
    return Preview(wanted, statement(wanted), lines, asked.sizes, errors, recorded(designed))


def as_plan(plan: PlanLike, frame: Any = None) -> Plan:
    """A plan from any of its forms, its source replaced by a frame if there is one."""
    if isinstance(plan, Plan):
        return replace(plan, source=Source(frame=frame)) if frame is not None else plan
    if isinstance(plan, Mapping):
        return plan_from(plan, frame=frame)
    return read_plan(plan, frame=frame)


def _designed(plan: Plan, cache: str | PathLike[str] | None, progress: Progress) -> Designed:
    folder = Path(cache) if cache is not None else cache_folder()
    return Designed.of(Asked.of(plan), folder, progress)


def arrow(columns: list[Released]) -> Any:
    """The released columns as a PyArrow table."""
    import pyarrow

    return pyarrow.table({column.name: pyarrow.array(column.values) for column in columns})

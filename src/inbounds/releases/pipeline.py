"""Release: a table in, a private in-range table out, with a statement an auditor can check.

    plan → schema → design → aggregate → answer → write

Nothing is read from the data before the plan, the schema and every mechanism are settled, and nothing about the
data decides what happens afterwards: every declared group is answered, in declared order.
"""

import json
import textwrap
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from inbounds.files import write_text
from inbounds.ledger.charges import Charge
from inbounds.optional import import_optional
from inbounds.plan.load import PlanLike, load_plan, to_plan
from inbounds.plan.plan import Plan, Statistic
from inbounds.releases.aggregate import OpenSource, open_plan_source
from inbounds.releases.charge_session import ChargeSession, LedgerLike, ReusedTableWarning, StoredTable
from inbounds.releases.csvw import metadata, metadata_path
from inbounds.releases.drawing import Draw, DrawMethod, IndependentDraw
from inbounds.releases.passports import find_mechanism, write_passports
from inbounds.releases.recompute import recompute_table
from inbounds.releases.record import build_record as recorded
from inbounds.releases.record import describe_composition, plan_statement
from inbounds.releases.totals import estimate_totals
from inbounds.releases.usefulness import UselessStatistic, check_useful, find_useless
from inbounds.releases.workload import Mechanisms, ReleaseDesign, Workload, arrow, mechanisms_by_size
from inbounds.releases.write import check_page_target, check_target, is_same_release, record_path
from inbounds.releases.write import write_release as written
from inbounds.report.notebook import SHOWN_ROWS, text_table
from inbounds.report.templates import pick_evenly
from inbounds.schema.columns import Column, LabelColumn, NumberColumn, PlainColumn
from inbounds.schema.errors import AggregationError, PlanError, SourceError, UnfinishedRelease, error_path
from inbounds.schema.record_types import ReleaseRecord
from inbounds.schema.text import format_number
from inbounds.sources.groups import Groups, parse_groups
from inbounds.sources.open import Source
from inbounds.statistics.designs import DesignOptions, Progress, default_cache_folder, ignore_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "AggregationError",
    "Column",
    "DesignOptions",
    "Groups",
    "LabelColumn",
    "NumberColumn",
    "PlainColumn",
    "Plan",
    "PlanError",
    "Release",
    "ReleasePreview",
    "ReusedTableWarning",
    "Source",
    "SourceError",
    "Statistic",
    "UnfinishedRelease",
    "estimate_totals",
    "find_mechanism",
    "load_plan",
    "parse_groups",
    "preview_release",
    "recompute_table",
    "release",
]


@dataclass(frozen=True)
class Release:
    """A released table and its record. `table` is a PyArrow table; `frame` is of the kind that was released from.

    mechanisms: what each number was drawn by, for every statistic's name and group size.
    stored: the table is that of an earlier release with the same plan and edition, and cost nothing now.
    """

    plan: Plan
    table: Any
    record: ReleaseRecord
    path: Path | None = None
    mechanisms: Mechanisms = field(default_factory=dict, repr=False, compare=False)
    stored: bool = False

    def __repr__(self) -> str:
        where = "not written" if self.path is None else str(self.path)
        entry = self.record.get("ledger")
        booked = f"entry {entry['entry']} of its ledger" if entry else "recorded in no ledger"
        again = ", drawn by an earlier release" if self.stored else ""
        rows = f"{self.table.num_rows} rows, epsilon {format_number(self.plan.total_epsilon)}"
        return f"Release({where}, {rows}, {booked}{again})"

    @property
    def frame(self) -> Any:
        """The table as the kind of frame that was given: pandas for pandas, Polars for Polars, else PyArrow."""
        given = type(self.plan.source.frame).__module__.partition(".")[0]
        return self.to_pandas() if given == "pandas" else self.to_polars() if given == "polars" else self.table

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        import_optional("pandas", "frames")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The table as a Polars frame."""
        return import_optional("polars", "frames").from_arrow(self.table)

    def plot(self) -> "Figure":
        """Published numbers as dots with their intervals or expected errors (extra `figures`)."""
        from inbounds.releases.pictures import figure

        return figure(self.record, self.table)

    def __str__(self) -> str:
        """The first rows, and what they cost."""
        head, rows = self.table.column_names, self.table.slice(0, SHOWN_ROWS).to_pylist()
        cut = f"\n{SHOWN_ROWS} of {self.table.num_rows} rows" if self.table.num_rows > SHOWN_ROWS else ""
        return f"{text_table(head, [list(row.values()) for row in rows])}{cut}\n\n{self!r}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the promise and the table."""
        from inbounds.releases.report import notebook_view

        return notebook_view(self.record, self.table, repr(self))

    def write(self, path: str | PathLike[str], *, overwrite: bool = False) -> "Release":
        """Write the table (.csv, .parquet or .json) with its record beside it, both or neither.

        Writing the same release again, under another name or form, spends nothing.
        """
        inputs = self.plan.inputs
        full = written(self.table, self.record, Path(path), overwrite=overwrite, inputs=inputs)
        return replace(self, record=full, path=Path(path))

    def write_metadata(self, *, overwrite: bool = False) -> Path:
        """Write `<table>.csv-metadata.json` beside the CSV file: columns, epsilon, expected errors, digests (CSVW)."""
        if self.path is None or self.path.suffix.lower() != ".csv":
            way = "write it first, and go on with what that returns: done = done.write('released.csv')"
            raise ValueError(f"path must be a CSV file that was written, got {self.path}; {way}")
        target = metadata_path(self.path)
        check_page_target(target, overwrite=overwrite, inputs=(*self.plan.inputs, *_release_files(self.path)))
        write_text(target, json.dumps(metadata(self.record, self.table), indent=1, ensure_ascii=False) + "\n")
        return target

    def report(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write one HTML page for the auditor: promise, account, expected errors, the table, digests."""
        from inbounds.releases.report import page

        check_page_target(Path(path), overwrite=overwrite, inputs=(*self.plan.inputs, *_release_files(self.path)))
        write_text(Path(path), page(self.record, self.table))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: the record, and where the table was written."""
        return {"output": None if self.path is None else str(self.path), **self.record}

    def write_mechanisms(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the passports that readers need: `<statistic>-<size>.json`. They hold nothing about the data."""
        return write_passports(self.mechanisms, folder)


SHOWN_SIZES = 8
"""Group sizes that a preview prints; `errors` holds all."""


@dataclass(frozen=True)
class ReleasePreview:
    """What a release would do, told from the plan and the schema alone.

    errors: for every statistic, the expected error (mean absolute, over the prior) for every group size. constants:
    what the best constant would err by. no_better: the statistics that are no better, and what would help.
    """

    plan: Plan
    statement: str
    account: tuple[str, ...]
    sizes: tuple[int, ...]
    errors: Mapping[str, tuple[float, ...]]
    record: ReleaseRecord = field(repr=False)
    mechanisms: Mechanisms = field(default_factory=dict, repr=False, compare=False)
    constants: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    no_better: tuple[UselessStatistic, ...] = ()

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {row[-1]:.4g}" for name, row in self.errors.items())
        most = f"of {self.sizes[-1]}" if self.plan.groups.public else f"of at most {self.sizes[-1]}"
        said = f"epsilon {format_number(self.plan.total_epsilon)}, expected errors in groups {most}: {errors}"
        return f"Preview({textwrap.shorten(said, 300, placeholder=' …')})"

    def __str__(self) -> str:
        """Expected errors for every size, beside the best constant's; what is not worth its epsilon; the promise."""
        picked, most = pick_evenly(len(self.sizes), SHOWN_SIZES), "size" if self.plan.groups.public else "at most"
        head = ["expected error", *(f"{most} {self.sizes[k]}" for k in picked), "best constant"]
        rows = [[name, *(row[k] for k in picked), self.constants[name][-1]] for name, row in self.errors.items()]
        return "\n".join([text_table(head, rows), *map(str, self.no_better), "", self.statement])

    @property
    def says_nothing(self) -> bool:
        """Whether all statistics are no better than a constant; a release then needs `allow_useless`."""
        return len(self.no_better) == len(self.plan.statistics) and all(one.everywhere for one in self.no_better)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values: the record as it would be, and every expected error."""
        errors = {name: dict(zip(map(str, self.sizes), row, strict=True)) for name, row in self.errors.items()}
        return {**self.record, "expected_error_by_size": errors}


def release(
    plan: PlanLike,
    frame: Any = None,
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    cache: str | PathLike[str] | None = None,
    mechanisms: str | PathLike[str] | None = None,
    progress: Progress = ignore_progress,
    ledger: LedgerLike | None = None,
    key: str | None = None,
    person: str | None = None,
    allow_useless: bool = False,
    read_again: bool = False,
) -> Release:
    """Answer a plan: charge, aggregate, draw with operating-system entropy, and write the table with its record.

    plan: a `Plan`, the path of a TOML file, or the plain values of one. frame: a pandas, Polars or Arrow frame,
    or an Ibis table, in the place of the plan's source. output: where to write (over the plan's own); without
    any, nothing is written. overwrite: replace an older table; never a file that the plan reads. cache: the folder
    of designed mechanisms. mechanisms: a folder for the passports that readers need, `<statistic>-<size>.json`.
    ledger: where the epsilon is charged (over the plan's own); by default the file `inbounds.ledger` beside the
    output, which counts without a cap; without output and ledger nothing is recorded, and the release says so.
    key: the request's name, to draw anew; without it the same plan, people and edition return the stored table,
    with the warning `ReusedTableWarning`, and cost nothing. person: the column that says whose a record is (over the
    plan's).
    allow_useless: release a plan whose statistics are all no better than a constant; without it that is a `PlanError`.
    read_again: read the data again under the charge of an earlier run that failed before its draw was stored; without
    it that is an `UnfinishedRelease`.

    Formal guarantee: between neighbouring tables (`plan.neighbours`), the probability of any release differs by
    a factor of at most exp(plan.spent). All releases in one ledger together: its budget.
    Cost: the engine's aggregation, one design per distinct group size, one draw per number.
    """
    wanted = to_plan(plan, frame, person)
    target = Path(output or wanted.output) if output or wanted.output else None
    booking = ChargeSession.open(wanted, target, ledger, key, read_again=read_again)

    def check() -> None:
        with wanted.with_line_numbers(), error_path("output", "path"):
            if target is not None:
                check_target(target, overwrite=overwrite, inputs=wanted.inputs)

    def settled() -> CheckedDesign:
        return CheckedDesign.from_design(
            _design_plan(wanted, cache, mechanisms, progress), _folder(cache), allow_useless=allow_useless
        )

    kept, designed = booking.find_stored(), None
    if kept is None:
        check()
        found = draw_table(booking, settled, check, progress)
        kept, designed = found.kept, found.settled.designed
    elif mechanisms is not None:
        designed = _design_plan(wanted, cache, mechanisms, progress)
    if not kept.drawn:
        warn(
            f"the stored table of {kept.record['time']} is returned, at no cost; {ANEW}",
            ReusedTableWarning,
            stacklevel=3,
        )
    made = {} if designed is None else mechanisms_by_size(designed)
    result = Release(wanted, kept.table, kept.record, mechanisms=made, stored=not kept.drawn)
    if target is None or (result.stored and is_same_release(kept.record, target)):
        return replace(result, path=target)
    return result.write(target, overwrite=overwrite)


ANEW = "new data need a new edition, another draw a key of its own (--redraw on the command line)"


@dataclass(frozen=True)
class CheckedDesign:
    """A plan that may be charged: every mechanism is there. idle: its statistics that are no better than a constant."""

    designed: ReleaseDesign
    idle: tuple[UselessStatistic, ...] = ()

    @staticmethod
    def from_design(designed: ReleaseDesign, folder: Path, *, allow_useless: bool) -> "CheckedDesign":
        """A `PlanError` where no statistic is better than a constant, unless `allow_useless`."""
        idle = find_useless(designed, folder) if designed.has_useless else ()
        if idle and not allow_useless:
            with designed.asked.plan.with_line_numbers():
                check_useful(designed, idle)
        return CheckedDesign(designed, idle)


@dataclass(frozen=True)
class DrawnTable:
    """A table that may be given out, and what it was drawn by."""

    kept: StoredTable
    settled: CheckedDesign


def draw_table(
    booking: ChargeSession,
    settled: Callable[[], CheckedDesign],
    check: Callable[[], None] = lambda: None,
    progress: Progress = ignore_progress,
    drawing: Callable[[ReleaseDesign], DrawMethod] = IndependentDraw,
    opening: Callable[[Plan], OpenSource] = open_plan_source,
    charge: Charge | None = None,
) -> DrawnTable:
    """A new table: everything settled, charged, read, drawn; the draw is kept, and then the table made of it.

    Where an earlier call kept a draw and not its table, this one goes on from there: no data is opened, nothing drawn.
    check: what is looked at once more right before the charge; afterwards it would be too late. charge: of this
    booking, if it was made before.
    """
    charged = booking.find_unfinished() if charge is None else charge
    kept, own = None if charged is None else charged.draw, b""
    if kept is None:
        with closing(opening(booking.plan)) as source:
            ready = settled()
            check()  # a passport may have taken the table's name
            by = drawing(ready.designed)
            charged = booking.charge() if charge is None else charge
            types = source.key_types
            progress("aggregating", 0, 1)
            truths = source.aggregate()
            progress("aggregating", 1, 1)
        own = Draw.from_rows(by, by.draw(truths, progress), types).to_bytes()
        kept = booking.store_draw(charged, own)
    else:
        ready = settled()
        by = drawing(ready.designed)
    stored = Draw.from_bytes(kept, by)
    found = by.answers(stored.rows)
    record = recorded(ready.designed, ready.idle, found, stored.key_types)
    return DrawnTable(booking.store_table(charged, arrow(found.columns), record, drawn=kept == own), ready)


def preview_release(
    plan: PlanLike,
    frame: Any = None,
    *,
    cache: str | PathLike[str] | None = None,
    mechanisms: str | PathLike[str] | None = None,
    progress: Progress = ignore_progress,
    person: str | None = None,
) -> ReleasePreview:
    """A dry run: design everything, say what would be released and how well; read nothing but the schema."""
    wanted = to_plan(plan, frame, person)
    with closing(open_plan_source(wanted)) as source:
        types = source.key_types
    designed = _design_plan(wanted, cache, mechanisms, progress)
    asked = designed.asked
    names = [statistic.name for statistic in wanted.statistics]
    errors = dict(zip(names, designed.errors, strict=True))
    constants = {
        name: tuple(found.constant for found in row) for name, row in zip(names, designed.expected, strict=True)
    }
    lines = tuple(describe_composition(wanted, asked.entries))
    idle = find_useless(designed, _folder(cache)) if designed.has_useless else ()
    found, record = mechanisms_by_size(designed), recorded(designed, idle, key_types=types)
    return ReleasePreview(wanted, plan_statement(wanted), lines, asked.sizes, errors, record, found, constants, idle)


def _release_files(path: Path | None) -> tuple[str, ...]:
    """The files of a release that was written."""
    return () if path is None else (str(path), str(record_path(path)))


def _design_plan(
    plan: Plan, cache: str | PathLike[str] | None, mechanisms: str | PathLike[str] | None, progress: Progress
) -> ReleaseDesign:
    """Every mechanism, before the data is read; so are the passports written, which might not find their folder."""
    designed = ReleaseDesign.from_workload(Workload.from_plan(plan), _folder(cache), progress)
    if mechanisms is not None:
        write_passports(mechanisms_by_size(designed), mechanisms)
    return designed


def _folder(cache: str | PathLike[str] | None) -> Path:
    return Path(cache) if cache is not None else default_cache_folder()

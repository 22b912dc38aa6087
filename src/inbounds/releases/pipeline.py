"""Release a table: a plan and data in, a private table within its ranges and a checkable record out.

    plan → workload → design → charge → read → draw → store the draw → table → store the table → write
    └───── prepare_table ────┘         └───────────────────── draw_table ─────────────────────┘

Nothing is read from the data before the plan, the schema and every mechanism are fixed, and nothing about the data
decides what happens afterwards: every declared group is answered, in declared order. A release takes these two steps
with a charge between them, also in the studio; a preview ends after the first. The curator prepares from designs and
sources that it keeps (`curator.answer_pipeline`), and takes the second step.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from inbounds.exact import format_decimal
from inbounds.files import with_file_name, write_text
from inbounds.ledger.charges import Charge
from inbounds.optional import import_optional
from inbounds.plan.load import PlanLike, load_plan, to_plan
from inbounds.plan.plan import Plan
from inbounds.progress import Progress, ignore_progress
from inbounds.releases.aggregate import OpenSource, open_plan_source
from inbounds.releases.charge_session import (
    ChargeSession,
    LedgerLike,
    OtherPeopleWarning,
    ReusedTableWarning,
    StoredTable,
)
from inbounds.releases.csvw import build_metadata, metadata_path
from inbounds.releases.disasters import check_confirmed
from inbounds.releases.drawing import Draw, DrawMethod, IndependentDraw, draw_published
from inbounds.releases.passports import find_mechanism, write_passports
from inbounds.releases.recompute import recompute_table
from inbounds.releases.record import build_record, describe_composition, plan_statement
from inbounds.releases.totals import estimate_totals
from inbounds.releases.usefulness import CheckedDesign, UselessStatistic, are_all_named
from inbounds.releases.workload import Mechanisms, ReleaseDesign, Workload, mechanisms_by_size, to_arrow_table
from inbounds.releases.write import check_page_target, check_target, is_same_release, record_path, write_release
from inbounds.report.notebook import SHOWN_ROWS, text_table
from inbounds.report.templates import pick_evenly
from inbounds.schema.columns import Column, LabelColumn, NumberColumn, PlainColumn
from inbounds.schema.errors import (
    AggregationError,
    PlanError,
    SourceError,
    UnconfirmedEdition,
    UnfinishedRelease,
    error_path,
)
from inbounds.schema.record_types import ReleaseRecord
from inbounds.schema.text import split_statement
from inbounds.sources.groups import Groups, parse_groups
from inbounds.sources.open import Source
from inbounds.statistics import ExpectedError, Statistic
from inbounds.statistics.designs import DesignOptions, default_cache_folder

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
    "UnconfirmedEdition",
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
    """A released table and its record.

    table: a PyArrow table; `frame` is of the kind that was released from. mechanisms: the mechanism of each number, by
    the statistic's name and the group size. stored: the table is that of an earlier release with the same plan and
    edition, and cost nothing now.
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
        ledger_entry = f"entry {entry['entry']} of its ledger" if entry else "recorded in no ledger"
        reused = ", drawn by an earlier release" if self.stored else ""
        rows = f"{self.table.num_rows} rows, {self.plan.format_cost()}"
        return f"Release({where}, {rows}, {ledger_entry}{reused})"

    @property
    def frame(self) -> Any:
        """Return the table as the kind of frame that was given: pandas, Polars, or else PyArrow."""
        library = type(self.plan.source.frame).__module__.partition(".")[0]
        return self.to_pandas() if library == "pandas" else self.to_polars() if library == "polars" else self.table

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        import_optional("pandas", "frames")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Return the table as a Polars frame."""
        return import_optional("polars", "frames").from_arrow(self.table)

    def plot(self) -> "Figure":
        """Draw published numbers as dots with their intervals or expected errors (extra `figures`)."""
        from inbounds.releases.pictures import figure

        return figure(self.record, self.table)

    def __str__(self) -> str:
        """Return the first rows and what they cost."""
        head, rows = self.table.column_names, self.table.slice(0, SHOWN_ROWS).to_pylist()
        cut = f"\n{SHOWN_ROWS} of {self.table.num_rows} rows" if self.table.num_rows > SHOWN_ROWS else ""
        return f"{text_table(head, [list(row.values()) for row in rows])}{cut}\n\n{self!r}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the guarantee and the table."""
        from inbounds.releases.report import notebook_view

        return notebook_view(self.record, self.table, repr(self))

    def write(self, path: str | PathLike[str], *, overwrite: bool = False) -> "Release":
        """Write the table (.csv, .parquet or .json) with its record beside it, both or neither.

        Writing the same release again, under another name or form, spends nothing.
        """
        inputs = self.plan.inputs
        record = write_release(self.table, self.record, Path(path), overwrite=overwrite, inputs=inputs)
        return replace(self, record=record, path=Path(path))

    def write_metadata(self, *, overwrite: bool = False) -> Path:
        """Write `<table>.csv-metadata.json` beside the CSV file: columns, epsilon, expected errors, digests (CSVW)."""
        if self.path is None or self.path.suffix.lower() != ".csv":
            way = "write it first, and go on with what that returns: done = done.write('released.csv')"
            raise ValueError(f"path must be a CSV file that was written, got {self.path}; {way}")
        target = metadata_path(self.path)
        check_page_target(target, overwrite=overwrite, inputs=(*self.plan.inputs, *_release_files(self.path)))
        write_text(target, json.dumps(build_metadata(self.record, self.table), indent=1, ensure_ascii=False) + "\n")
        return target

    def export(
        self, path: str | PathLike[str], *, bom: bool = False, structure: str = "", overwrite: bool = False
    ) -> Path:
        """Write the table in another form: .xlsx with three sheets, .sdmx.csv, .csv for spreadsheets, or .html.

        The .html file is a page for the public; `report` writes the auditor's.

        The released table stays the one that can be verified. bom: begin a CSV file with a byte order mark.
        structure: the dataflow of SDMX-CSV, such as "ESTAT:NA_MAIN(1.6.0)".
        """
        from inbounds.releases.export import encode_export

        target = Path(path)
        content = encode_export(self.record, self.table, target, bom=bom, structure=structure)
        check_page_target(target, overwrite=overwrite, inputs=(*self.plan.inputs, *_release_files(self.path)))
        with with_file_name(target):
            target.write_bytes(content)
        return target

    def report(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write one HTML page for the auditor: promise, account, expected errors, the table, digests."""
        from inbounds.releases.report import page

        check_page_target(Path(path), overwrite=overwrite, inputs=(*self.plan.inputs, *_release_files(self.path)))
        write_text(Path(path), page(self.record, self.table))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the record, and where the table was written."""
        return {"output": None if self.path is None else str(self.path), **self.record}

    def write_mechanisms(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the passports that readers need: `<statistic>-<size>.json`. They hold nothing about the data."""
        return write_passports(self.mechanisms, folder)


SHOWN_SIZES = 8
"""Most group sizes that a preview prints; `errors` holds all."""


@dataclass(frozen=True)
class LevelPreview:
    """A level or margin of a statistic that adds up: how many nodes, share of its epsilon, and expected error."""

    name: str
    nodes: int
    share: Fraction
    expected: ExpectedError

    @property
    def error_text(self) -> str:
        """Return the expected error, with its standard error if it was simulated."""
        deviation = f" ± {self.expected.deviation:.2g}" if self.expected.deviation else ""
        return f"{self.expected.error:.3g}{deviation}"

    @property
    def parent_text(self) -> str:
        """Return the error of the average of the published parent; empty without a parent."""
        return "" if self.expected.parent is None else f"{self.expected.parent:.3g}"

    def row(self, statistic: str) -> list[str]:
        """Return the cells of a line under LEVELS_HEAD."""
        share, constant = f"{float(self.share):.3g}", f"{self.expected.constant:.3g}"
        return [f"{statistic}, {self.name}", str(self.nodes), share, self.error_text, self.parent_text, constant]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the share is exact, as text."""
        return {"level": self.name, "nodes": self.nodes, "share": str(self.share), **self.expected._asdict()}


def _toml_table(numbers: Mapping[str, Fraction]) -> str:
    """Write numbers by name as a plan does; a fraction as text."""
    texts = {name: format_decimal(number) for name, number in numbers.items()}
    parts = [
        f"{name if PLAIN_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)} = "
        + (f'"{text}"' if "/" in text else text)
        for name, text in texts.items()
    ]
    return f"{{ {', '.join(parts)} }}"


PLAIN_KEY = re.compile("[A-Za-z0-9_-]+")
"""A key of a TOML table that needs no quotation marks."""


LEVELS_HEAD = ["level", "groups", "share of epsilon", "expected error", "parent's average", "best constant"]
"""The columns of a preview of levels; errors are those of published numbers."""


def preview_levels(designed: ReleaseDesign) -> dict[str, tuple[LevelPreview, ...]]:
    """Return the levels of every statistic in layers, the highest first."""
    levels = {}
    for entry, row in zip(designed.workload.entries, designed.levels, strict=True):
        if entry.layered is not None:
            counts = [len(designed.workload.plan.groups), *(layer.nodes for layer in entry.layered.layers)]
            lines = zip(entry.layered.shares, counts, row, strict=True)
            levels[entry.statistic.name] = tuple(
                LevelPreview(name, nodes, share, expected) for (name, share), nodes, expected in lines
            )[::-1]
    return levels


@dataclass(frozen=True)
class ReleasePreview:
    """What a release would do, from the plan and the schema alone.

    errors: for every statistic, the expected error (mean absolute, over the prior) for every group size. constants: the
    errors of the best constant. no_better: the statistics that are no better than a yardstick, and what would help.
    levels: for every statistic that adds up, its levels, the highest first. split: how to change the division of
    epsilon among them, in one sentence; empty without levels.
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
    levels: Mapping[str, tuple[LevelPreview, ...]] = field(default_factory=dict)

    @property
    def split(self) -> str:
        """Return how the division of epsilon among levels can be changed, in one sentence."""
        if self.plan.hierarchy is None:
            return ""
        levels = self.plan.hierarchy.levels
        first = next(name for name, lines in self.levels.items() if len(lines) == len(levels))
        weights = dict.fromkeys(levels, Fraction(1)) | {levels[-1]: Fraction(3)}
        shares = {level.name: level.share for level in self.levels[first]}
        return (
            "To divide epsilon otherwise, write under [hierarchy] how much each level matters, such as "
            f"weights = {_toml_table(weights)}, or the shares themselves, such as shares = {_toml_table(shares)}."
        )

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {row[-1]:.4g}" for name, row in self.errors.items())
        most = f"of {self.sizes[-1]}" if self.plan.groups.public else f"of at most {self.sizes[-1]}"
        said = f"{self.plan.format_cost()}, expected errors in groups {most}: {errors}"
        return f"Preview({textwrap.shorten(said, 300, placeholder=' …')})"

    def __str__(self) -> str:
        """Return expected errors for every size, beside the best constant's; useless statistics; the guarantee."""
        picked, most = pick_evenly(len(self.sizes), SHOWN_SIZES), "size" if self.plan.groups.public else "at most"
        head = ["expected error", *(f"{most} {self.sizes[k]}" for k in picked), "best constant"]
        alone = {name: row for name, row in self.errors.items() if name not in self.levels}
        rows = [[name, *(row[k] for k in picked), self.constants[name][-1]] for name, row in alone.items()]
        shown = [text_table(head, rows)] if rows else []
        if self.levels:
            shown += [text_table(LEVELS_HEAD, self.level_rows), self.split]
        return "\n".join([*filter(None, shown), *map(str, self.no_better), "", split_statement(self.statement)[0]])

    @property
    def level_rows(self) -> list[list[str]]:
        """Return a line under LEVELS_HEAD for every level of every statistic that adds up."""
        return [level.row(name) for name, lines in self.levels.items() for level in lines]

    @property
    def says_nothing(self) -> bool:
        """Whether all statistics are no better than a constant; a release then needs `allow_useless`."""
        return are_all_named([statistic.name for statistic in self.plan.statistics], self.no_better)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the record as it would be, and every expected error."""
        errors = {name: dict(zip(map(str, self.sizes), row, strict=True)) for name, row in self.errors.items()}
        levels = {name: [level.to_json() for level in lines] for name, lines in self.levels.items()}
        return {**self.record, "expected_error_by_size": errors, "expected_error_by_level": levels}


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
    new_data: bool = False,
) -> Release:
    """Answer a plan: charge, aggregate, draw with operating-system entropy, and write the table with its record.

    plan: a `Plan`, the path of a TOML file, or the plain values of one.
    frame: a pandas, Polars or Arrow frame, or an Ibis table, in place of the plan's source.
    output: where to write, instead of the plan's output; without either, nothing is written.
    overwrite: replace an older table; never a file that the plan reads.
    cache: the folder of designed mechanisms.
    mechanisms: a folder for the passports that readers need, `<statistic>-<size>.json`.
    ledger: where the epsilon is charged, instead of the plan's ledger; by default the file `inbounds.ledger` beside the
    output, which counts without a cap. Without output and ledger nothing is recorded, and the release states that.
    key: the name of the request, to draw again; without it the same plan, people and edition return the stored table,
    with the warning `ReusedTableWarning`, and cost nothing.
    person: the column that identifies persons, instead of the plan's.
    allow_useless: release a plan whose statistics are all no better than a constant; otherwise that is a `PlanError`.
    read_again: read the data again under the charge of an earlier run that failed before its draw was stored; otherwise
    that is an `UnfinishedRelease`.
    new_data: confirm that there is new data at a place from which another edition was released; otherwise that is an
    `UnconfirmedEdition`. Data charged to other people of the ledger gives the warning `OtherPeopleWarning`.

    Formal guarantee: between neighbouring tables (`plan.neighbours`), the probability of any release differs by a
    factor of at most exp(plan.total_epsilon). All releases in one ledger together: its budget.

    Cost: the engine's aggregation, one design per distinct group size, one draw per number.
    """
    resolved = to_plan(plan, frame, person)
    target = Path(output or resolved.output) if output or resolved.output else None
    prepared: PreparedTable | None = None
    with ChargeSession.open(resolved, target, ledger, key, read_again=read_again) as session:
        stored = _find_stored(session, target, overwrite)
        if stored is None:
            check_confirmed(resolved)
            charge = session.find_unfinished()
            if charge is None:
                _check_earlier_charges(session, new_data=new_data)
            with prepare_table(
                resolved, _folder(cache), progress, allow_useless=allow_useless, open_source=charge is None
            ) as prepared:
                if mechanisms is not None:
                    write_passports(prepared.mechanisms, mechanisms)
                # a passport may have taken the table's name, or another process released the same table
                stored = _find_stored(session, target, overwrite)
                if stored is None:
                    charge = session.charge() if charge is None else charge
                    stored = draw_table(session, prepared, charge, progress)
        elif mechanisms is not None:
            with prepare_table(resolved, _folder(cache), progress, open_source=False) as prepared:
                write_passports(prepared.mechanisms, mechanisms)
    if not stored.drawn:
        warn(
            f"the stored table of {stored.record['time']} is returned, at no cost; {ANEW}",
            ReusedTableWarning,
            stacklevel=3,
        )
    by_size = {} if prepared is None else prepared.mechanisms
    result = Release(resolved, stored.table, stored.record, mechanisms=by_size, stored=not stored.drawn)
    if target is None or is_same_release(stored.record, target):
        return replace(result, path=target)
    return result.write(target, overwrite=overwrite)


def _find_stored(session: ChargeSession, target: Path | None, overwrite: bool) -> StoredTable | None:
    """Return the table that is stored for this release; without one, check that the output can be written."""
    stored = session.find_stored()
    if stored is not None:
        return stored
    try:
        _check_output(session.plan, target, overwrite)
    except ValueError:
        stored = session.find_stored()  # another process may have released and written it just now
        if stored is None:
            raise
    return stored


def _check_earlier_charges(session: ChargeSession, *, new_data: bool) -> None:
    """Raise UnconfirmedEdition for an unconfirmed new edition, and warn if other people were charged for the data."""
    if not new_data and (sentence := session.describe_new_edition()):
        raise UnconfirmedEdition(f"{sentence}; if it is new, say new_data=True (--new-data)")
    if other := session.describe_other_people():
        warn(other, OtherPeopleWarning, stacklevel=4)


ANEW = "new data need a new edition, another draw a key of its own (--redraw on the command line)"


@dataclass(frozen=True)
class PreparedTable:
    """Everything that a table is drawn with, made before the charge and without data.

    method: how the numbers are drawn. source: the open data, of which only the schema was read; None if the table is
    computed from a draw that is stored already.
    """

    design: CheckedDesign
    method: DrawMethod
    source: OpenSource | None

    @property
    def mechanisms(self) -> Mechanisms:
        """Return the mechanism of each number, by the statistic's name and the group size."""
        return mechanisms_by_size(self.design.designed)


@contextmanager
def prepare_table(
    plan: Plan, folder: Path, progress: Progress = ignore_progress, *, allow_useless: bool = True, open_source: bool
) -> Iterator[PreparedTable]:
    """Compare the plan with the source's schema and design every mechanism; charge nothing and read no data.

    folder: of designed mechanisms. Raises PlanError if no statistic is better than a constant, unless `allow_useless`.
    The source is closed when the block is left.
    """
    with ExitStack() as stack:
        source = stack.enter_context(closing(open_plan_source(plan))) if open_source else None
        designed = ReleaseDesign.from_workload(Workload.from_plan(plan), folder, progress)
        design = CheckedDesign.from_design(designed, folder, progress, allow_useless=allow_useless)
        yield PreparedTable(design, IndependentDraw(designed), source)


def draw_table(
    session: ChargeSession, prepared: PreparedTable, charge: Charge | None, progress: Progress = ignore_progress
) -> StoredTable:
    """Draw a table under its charge: read, draw, store the draw, compute the table from it and store that.

    If an earlier call stored a draw and not its table, this one continues from there: no data is read, nothing is
    drawn. charge: of this session, durable by now; None only if nothing is recorded.
    """
    session.check_charged(charge)
    draw_bytes, new_draw = None if charge is None else charge.draw, b""
    if draw_bytes is None:
        new_draw = _draw(prepared, progress).to_bytes()
        draw_bytes = session.store_draw(charge, new_draw)
    draw, method, designed = Draw.from_bytes(draw_bytes, prepared.method), prepared.method, prepared.design.designed
    if draw.keys is not None:
        designed = designed.with_published(draw.keys)
        method = IndependentDraw(designed)
    content = method.answers(draw.rows)
    record = build_record(designed, prepared.design.useless, content, draw.key_types)
    table = to_arrow_table(content.columns)
    return session.store_table(charge, table, record, drawn=draw_bytes == new_draw)


def _draw(prepared: PreparedTable, progress: Progress) -> Draw:
    """Read the data and draw every number; the data is closed before the first is drawn."""
    assert prepared.source is not None
    with closing(prepared.source) as source:
        key_types = source.key_types
        progress("aggregating", 0, 1)
        truths = source.aggregate()
        progress("aggregating", 1, 1)
    designed = prepared.design.designed
    if designed.workload.plan.groups.from_data:
        published = draw_published(designed, truths, progress=progress)
        return Draw.from_rows(prepared.method, published.rows, key_types, published.keys)
    return Draw.from_rows(prepared.method, prepared.method.draw(truths, progress), key_types)


def preview_release(
    plan: PlanLike,
    frame: Any = None,
    *,
    cache: str | PathLike[str] | None = None,
    mechanisms: str | PathLike[str] | None = None,
    progress: Progress = ignore_progress,
    person: str | None = None,
) -> ReleasePreview:
    """Design everything, and return what would be released and how accurate it is; read only the schema."""
    resolved = to_plan(plan, frame, person)
    with prepare_table(resolved, _folder(cache), progress, open_source=True) as prepared:
        assert prepared.source is not None
        types = prepared.source.key_types
    if mechanisms is not None:
        write_passports(prepared.mechanisms, mechanisms)
    designed, useless = prepared.design.designed, prepared.design.useless
    cells = designed.expected_cells
    return ReleasePreview(
        resolved,
        plan_statement(resolved),
        tuple(describe_composition(resolved, designed.workload.entries)),
        designed.workload.sizes,
        {name: tuple(expected.error for expected in row) for name, row in cells.items()},
        build_record(designed, useless, key_types=types),
        prepared.mechanisms,
        {name: tuple(expected.constant for expected in row) for name, row in cells.items()},
        useless,
        preview_levels(designed),
    )


def _release_files(path: Path | None) -> tuple[str, ...]:
    """Return the files of a release that was written."""
    return () if path is None else (str(path), str(record_path(path)))


def _check_output(plan: Plan, target: Path | None, overwrite: bool) -> None:
    """Raise an error if the table cannot be written where it should be."""
    with plan.with_line_numbers(), error_path("output", "path"):
        if target is not None:
            check_target(target, overwrite=overwrite, inputs=plan.inputs)


def _folder(cache: str | PathLike[str] | None) -> Path:
    return Path(cache) if cache is not None else default_cache_folder()

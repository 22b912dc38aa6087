"""The dry run of a plan, from the plan and the schema alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds.exact import format_decimal
from inbounds.files.bounded import parse_toml
from inbounds.plan.draft import read_schema
from inbounds.plan.load import parse_plan
from inbounds.plan.plan import Plan
from inbounds.progress import Progress, ignore_progress
from inbounds.releases.calibrate import calibrate_plan_epsilon, expected_error
from inbounds.releases.charge_session import ChargeSession
from inbounds.releases.pipeline import ReleasePreview, preview_release
from inbounds.report.templates import pick_evenly
from inbounds.schema.errors import PlanError
from inbounds.schema.text import format_groups, split_statement
from inbounds.sources.open import Source, table_names
from inbounds.statistics import ExpectedError
from inbounds.statistics.designs import default_cache_folder
from inbounds.studio.workspace import OutsideFolder, Workspace

SHOWN = 12
"""Group sizes on the page; of more, an even selection."""


@dataclass(frozen=True)
class ErrorLine:
    """The expected error in groups of one size, the error of the best constant, and whether it is no better."""

    size: int
    error: str
    constant: str
    no_better: bool


@dataclass(frozen=True)
class StatisticErrors:
    """A statistic with a line for each group size."""

    name: str
    lines: tuple[ErrorLine, ...]


@dataclass(frozen=True)
class LevelLine:
    """A level of a statistic that adds up: cells as text, and whether it is no better than a yardstick."""

    cells: tuple[str, ...]
    no_better: bool


@dataclass(frozen=True)
class DryRun:
    """A dry run in plain values.

    rows: of statistics that do not add up. levels: of those that do. split: how to change the division of epsilon among
    levels. idle: what is no better than a yardstick, in words. standing: the state of the people's budget. new_edition:
    a question if another edition was released from the same place. other_people: what was charged to others. digest: of
    the plan.
    """

    promise: str
    details: str
    account: tuple[str, ...]
    groups: str
    public: bool
    sizes: int
    rows: tuple[StatisticErrors, ...]
    levels: tuple[LevelLine, ...]
    split: str
    idle: tuple[str, ...]
    values: tuple[str, ...]
    spent: str
    standing: str
    new_edition: str
    other_people: str
    says_nothing: bool
    digest: str
    target: str


def load_draft(text: str, folder: Path, name: str) -> Plan:
    """Load the plan in a text, as the command line does. No file outside the studio's folder is opened."""
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise PlanError(f"is not TOML: {error}", place=name) from None
    check_inside(content, Workspace(folder))
    return parse_plan(content, folder=folder, file=folder / name)


def check_inside(content: Mapping[str, Any], place: Workspace) -> None:
    """Refuse a plan that names a file outside the folder: a visitor of this page may not be allowed to read it."""
    for part, field in (("source", "path"), ("groups", "keys"), ("output", "path"), ("people", "ledger")):
        named = content.get(part)
        path = named.get(field) if isinstance(named, Mapping) else None
        if isinstance(path, str) and "://" not in path and not place.inside(path):
            raise OutsideFolder(
                f"a plan in the studio must stay in its folder, got {part}.{field} elsewhere; start the studio in the "
                "folder above both, or release with the command line"
            )


def output_target(plan: Plan, folder: Path, name: str) -> Path:
    """Return where the table is written: as the plan says, or the command line's default."""
    return Path(plan.output) if plan.output else folder / f"{Path(name).stem}.released.csv"


def dry_run(text: str, folder: str, name: str, progress: Progress = ignore_progress) -> DryRun:
    """Run a dry run of a plan."""
    plan = load_draft(text, Path(folder), name)
    preview = preview_release(plan, progress=progress)
    target = output_target(plan, Path(folder), name)
    promise, details = split_statement(preview.statement)
    with ChargeSession.open(plan, target, None, None) as session:
        standing, new_edition = session.describe_state(), session.describe_new_edition()
        other_people = session.describe_other_people()
    return DryRun(
        promise=promise,
        details=details,
        account=preview.account,
        groups=format_groups(len(plan.groups), plan.groups.by),
        public=plan.groups.public,
        sizes=len(preview.sizes),
        rows=tuple(_row(preview, name) for name in preview.errors if name not in preview.levels),
        levels=tuple(
            LevelLine(tuple(level.row(name)), level.expected.no_better)
            for name, lines in preview.levels.items()
            for level in lines
        ),
        split=preview.split,
        idle=tuple(map(str, preview.no_better)),
        values=tuple(preview.record.get("values", ())),
        spent=plan.format_cost(),
        standing=standing,
        new_edition=new_edition,
        other_people=other_people,
        says_nothing=preview.says_nothing,
        digest=plan.digest,
        target=target.name,
    )


def _row(preview: ReleasePreview, name: str) -> StatisticErrors:
    lines = []
    for k in pick_evenly(len(preview.sizes), SHOWN):
        error, constant = preview.errors[name][k], preview.constants[name][k]
        line = ErrorLine(preview.sizes[k], f"{error:.3g}", f"{constant:.3g}", ExpectedError(error, constant).no_better)
        lines.append(line)
    return StatisticErrors(name, tuple(lines))


def calibrate_dry_run(
    text: str, folder: str, name: str, wish: tuple[str, str, str], progress: Progress = ignore_progress
) -> tuple[str, str]:
    """Return the epsilon for a wanted accuracy, and the error at it. wish: statistic, group size, error."""
    plan, (statistic, size, error) = load_draft(text, Path(folder), name), wish
    epsilon: Fraction = calibrate_plan_epsilon(plan, statistic, int(size), error, default_cache_folder())
    reached = expected_error(replace(plan, epsilon=epsilon), statistic, int(size), default_cache_folder())
    return format_decimal(epsilon), f"{reached:.4g}"


def columns(folder: str, source: tuple[tuple[str, Any], ...], progress: Progress = ignore_progress) -> dict[str, str]:
    """Return the columns of a source by name, with the kind of their values; no value is read."""
    place: dict[str, Any] = dict(source)
    if place.get("path"):
        place["path"] = str(Path(folder) / place["path"])
    return read_schema(Source(**place))


def tables(folder: str, path: str, url: str, progress: Progress = ignore_progress) -> list[str]:
    """Return the names of the tables of a database; none for a file that is a table itself."""
    return table_names(str(Path(folder) / path) if path else "", url)

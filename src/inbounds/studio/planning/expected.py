"""What a plan would do, told from the plan and the schema alone: for the live panel, and for the dry run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from inbounds.files.intake import from_toml
from inbounds.numbers import decimal
from inbounds.report.layout import thinned
from inbounds.studio.workspace import OutsideFolder, Workspace
from inbounds.tables import Preview, preview
from inbounds.tables.booking import Booking
from inbounds.tables.designs import Progress, cache_folder, no_progress
from inbounds.tables.errors import PlanError
from inbounds.tables.plan import Plan
from inbounds.tables.plan.drafting import schema
from inbounds.tables.plan.reading import plan_from
from inbounds.tables.sources.source import Source, table_names
from inbounds.tables.statistics import ExpectedError
from inbounds.tables.texts import number
from inbounds.tables.wanted import epsilon_for_error, expected_error

SHOWN = 12
"""Group sizes on the page; of more, an even selection."""


@dataclass(frozen=True)
class ErrorLine:
    """What to expect in groups of one size: the error beside that of the best constant, and whether it is no better."""

    size: int
    error: str
    constant: str
    no_better: bool


@dataclass(frozen=True)
class StatisticErrors:
    """A statistic: a line for each group size. idle: in words, where it is no better than a constant."""

    name: str
    lines: tuple[ErrorLine, ...]
    idle: str


@dataclass(frozen=True)
class DryRun:
    """A dry run in plain values. standing: where the people stand in their ledger. digest: of the plan."""

    statement: str
    account: tuple[str, ...]
    groups: int
    public: bool
    sizes: int
    rows: tuple[StatisticErrors, ...]
    values: tuple[str, ...]
    spent: str
    standing: str
    says_nothing: bool
    digest: str
    target: str


def read(text: str, folder: Path, name: str) -> Plan:
    """The plan in a text, as the command line reads it; no file is opened outside the studio's folder."""
    try:
        content = from_toml(text)
    except ValueError as error:
        raise PlanError(f"is not TOML: {error}", place=name) from None
    check_inside(content, Workspace(folder))
    return replace(plan_from(content, folder=folder), reads=(str(folder / name),))


def check_inside(content: Mapping[str, Any], place: Workspace) -> None:
    """Refuse a plan that names a file elsewhere: who may use this page need not be who may read that."""
    for part, field in (("source", "path"), ("groups", "keys"), ("output", "path"), ("people", "ledger")):
        named = content.get(part)
        path = named.get(field) if isinstance(named, Mapping) else None
        if isinstance(path, str) and "://" not in path and not place.inside(path):
            raise OutsideFolder(
                f"a plan in the studio must stay in its folder, got {part}.{field} elsewhere; start the studio in the "
                "folder above both, or release with the command line"
            )


def target_of(plan: Plan, folder: Path, name: str) -> Path:
    """Where the table goes: as the plan says, or as the command line does."""
    return Path(plan.output) if plan.output else folder / f"{Path(name).stem}.released.csv"


def expected(text: str, folder: str, name: str, progress: Progress = no_progress) -> DryRun:
    """A dry run."""
    plan = read(text, Path(folder), name)
    found = preview(plan, progress=progress)
    target = target_of(plan, Path(folder), name)
    return DryRun(
        statement=found.statement,
        account=found.account,
        groups=len(plan.groups),
        public=plan.groups.public,
        sizes=len(found.sizes),
        rows=tuple(_row(found, own.name) for own in plan.statistics),
        values=tuple(found.record.get("values", ())),
        spent=number(plan.spent),
        standing=Booking.of(plan, target, None, None).before(),
        says_nothing=found.says_nothing,
        digest=plan.digest,
        target=target.name,
    )


def _row(found: Preview, name: str) -> StatisticErrors:
    idle = next((str(one) for one in found.no_better if one.statistic == name), "")
    lines = []
    for k in thinned(len(found.sizes), SHOWN):
        error, constant = found.errors[name][k], found.constants[name][k]
        line = ErrorLine(found.sizes[k], f"{error:.3g}", f"{constant:.3g}", ExpectedError(error, constant).no_better)
        lines.append(line)
    return StatisticErrors(name, tuple(lines), idle)


def enough(
    text: str, folder: str, name: str, wish: tuple[str, str, str], progress: Progress = no_progress
) -> tuple[str, str]:
    """The epsilon for a wanted accuracy, and the error that comes of it. wish: statistic, group size, error."""
    plan, (statistic, size, error) = read(text, Path(folder), name), wish
    found: Fraction = epsilon_for_error(plan, statistic, int(size), error, cache_folder())
    reached = expected_error(replace(plan, epsilon=found), statistic, int(size), cache_folder())
    return decimal(found), f"{reached:.4g}"


def columns(folder: str, source: tuple[tuple[str, str], ...], progress: Progress = no_progress) -> dict[str, str]:
    """The columns of a source by name, with what kind of values each declares; no value is read."""
    given = dict(source)
    if given.get("path"):
        given["path"] = str(Path(folder) / given["path"])
    return schema(Source(**given))


def tables(folder: str, path: str, url: str, progress: Progress = no_progress) -> list[str]:
    """The names of the tables of a database; none for a file that is a table itself."""
    return table_names(str(Path(folder) / path) if path else "", url)

"""A release carried out again from the draws in its record, and compared with the table that was published.

First come the rules of `checker`, which share no code with the release: query, neighbours and epsilon of every
mechanism, all cells that follow from the draws without an estimate, and the sums that must hold. Then the release's own
code is run once more from the draws: plan, mechanisms (from passports, or designed again, and certified either way),
expected errors, intervals, and the choice among tables that add up. All of that is post-processing of private draws: a
fault in it, found or not, cannot weaken the promise.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from inbounds.checker import CheckedRecord, PublishedTable, check_cells, check_record, read_table
from inbounds.errors import InboundsError, PassportError
from inbounds.exact import Ints
from inbounds.files import read_json_file
from inbounds.mechanism.codec import parse_fraction
from inbounds.mechanism.quantiles import QuantileMechanism
from inbounds.plan.hierarchy import Hierarchy
from inbounds.plan.plan import Plan, Statistic
from inbounds.query import QuantileQuery
from inbounds.releases.drawing import DrawMethod, IndependentDraw
from inbounds.releases.levels import ChainedDraw
from inbounds.releases.passports import wishes_in
from inbounds.releases.record import build_record as recorded
from inbounds.releases.record import package_versions
from inbounds.releases.totals import Total, estimate_totals
from inbounds.releases.verify import load_record, load_released_table
from inbounds.releases.workload import DesignCache, ReleaseDesign, TableContent, Workload, arrow
from inbounds.schema.columns import Column, PrivacyUnit
from inbounds.schema.record_types import PlanRecord, ReleaseRecord
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.designs import AnyMechanism, DesignedMechanism, DesignRequest, default_cache_folder

PATIENCE = 60.0
"""Seconds that designing mechanisms again may take, for a record that comes without passports."""

MOST_DESIGNED_AGAIN = 1 << 20
"""Answers of a mechanism, or records of a quantile's group, for which it is designed again: the time for one mechanism
grows with them, and nobody can interrupt it. Larger ones need their passports."""

TEXTS = ("statement", "values", "account", "composition", "mechanisms", "reports", "levels", "groups", "draws")
"""Fields of a record that are written anew and compared."""

UNRELIABLE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError, MemoryError)
"""What a stranger's record may cause when it is carried out."""


def check_release(path: str | PathLike[str], mechanisms: Mapping[str, AnyMechanism] | None = None) -> list[str]:
    """Check a record and the table beside it; returns what was found, sentence by sentence.

    mechanisms: certified, by the digest of their passports; any other is designed again from the record. A
    `PassportError` with the reason where anything differs, or a mechanism can be had in neither way.
    """
    file, given = Path(path), mechanisms or {}
    content = read_json_file(file, "release record")
    checked = check_record(content)
    if checked.table is None:
        raise PassportError(f"{file.name} names no table")
    table = read_table(file.parent / checked.table.file, checked.table.sha256)
    cells = check_cells(checked, table)
    with _refusing(file.name):
        plan = plan_in(content)
        designed = _load_designs(content, plan, given, checked)
        drawing = _drawing(content, designed)
        answered = drawing.answers(list(_rows(content, designed)))
        _compare_texts(content, recorded(designed, (), answered, content["groups"]["types"]))
        _compare_cells(content, table, answered)
    return [*checked.sentences, *_sentences(checked, table, len(cells.recomputed), given)]


def _sentences(
    checked: CheckedRecord, table: PublishedTable, recomputed: int, given: Mapping[str, AnyMechanism]
) -> Iterator[str]:
    digests = {line.sha256 for line in checked.lines}
    proved = len(digests & given.keys())
    again = f"{len(digests) - proved} were designed again" if len(digests) > proved else ""
    by = " and ".join(part for part in (f"{proved} come from their passports" if proved else "", again) if part)
    yield f"the weights of all {len(digests)} mechanisms were certified and have the digests in the record: {by}"
    count = table.rows * len(table.columns)
    yield f"all {count} cells of {table.file} were recomputed from the stored draws and are the same"
    adding = [f"the numbers of {name}, which add up" for name in checked.reports]
    interval = ["intervals"] if checked.plan.credible_level is not None else []
    yield (
        f"{recomputed} of its {len(table.columns)} columns were recomputed by rules that share no code with the "
        f"release, the others by its own post-processing: {', '.join(['expected errors', *interval, *adding])}"
    )
    if adding:
        yield "what adds up lies in its range, and every sum in the table is the sum of its parts"


class _refusing:  # noqa: N801 - a context, named like a verb
    """Whatever goes wrong while a record is carried out is a `PassportError` about it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PassportError):
            return
        if isinstance(error, (InboundsError, *UNRELIABLE)):
            raise PassportError(f"{self.name} cannot be carried out again from what it holds") from None


# --- the plan in a record -----------------------------------------------------------------------------------


def plan_in(record: ReleaseRecord) -> Plan:
    """The plan of a record with its groups; its source is known by its kind alone."""
    said, groups = record["plan"], record["groups"]
    keys = tuple(zip(*(groups["keys"][name] for name in said["by"]), strict=True)) if said["by"] else ((),)
    plan = Plan(
        source=_source(said),
        groups=Groups(
            tuple(said["by"]),
            keys,
            _line(groups["sizes"]),
            said["sizes"] == "public",
            missing_key=said.get("missing_key", ""),
            period=said.get("period", {}),
        ),
        columns={name: Column(**column) for name, column in said["columns"].items()},  # type: ignore[arg-type]
        statistics=tuple(map(_statistic, said["statistics"])),
        epsilon=parse_fraction(said["epsilon"]),
        neighbours=said["neighbours"],
        wishes=wishes_in(said["wishes"]),
        credible_level=None if said["credible_level"] is None else parse_fraction(said["credible_level"]),
        people=_people(said),
        edition=said.get("edition", ""),
        hierarchy=_hierarchy(said),
        where=said.get("where", ""),
    )
    if {**plan.summary(), "source": said["source"]} != said:
        raise PassportError("the plan in the record is not written as a plan is")
    return plan


def _line(text: str) -> Ints:
    return np.array(text.split(" "), dtype=np.int64)


def _source(said: PlanRecord) -> Source:
    """What is said about values depends on whether they were read from text."""
    source = said["source"]
    return Source(path="x.csv", decimal=source.get("decimal", "")) if source["kind"] == "csv" else Source(frame=())


def _statistic(said: Mapping[str, Any]) -> Statistic:
    exact: dict[str, Any] = {
        name: parse_fraction(said[name]) for name in ("epsilon", "budget_share", "at") if name in said
    }
    return Statistic(
        said["kind"],
        said["of"],
        said["name"],
        sum_to_size=said.get("sum_to_size", False),
        wishes=wishes_in(said["wishes"]) if "wishes" in said else None,
        margins=tuple(said.get("margins", ())),
        **exact,
    )


def _people(said: PlanRecord) -> PrivacyUnit:
    name, person = said.get("people", ""), said.get("person")
    if person is None:
        return PrivacyUnit(name)
    return PrivacyUnit(name, id=person["id"], max_records=person["max_records"], max_groups=person["max_groups"])


def _hierarchy(said: PlanRecord) -> Hierarchy | None:
    if "hierarchy" not in said:
        return None
    own = said["hierarchy"]
    weights, shares = (tuple(map(parse_fraction, texts)) for texts in (own["weights"], own.get("shares", [])))
    return Hierarchy(tuple(own["levels"]), weights, shares)


# --- mechanisms and draws -----------------------------------------------------------------------------------


def _load_designs(
    record: ReleaseRecord, plan: Plan, given: Mapping[str, AnyMechanism], checked: CheckedRecord
) -> ReleaseDesign:
    """Every mechanism, each with the digest that the record states."""
    asked, memory = Workload.from_plan(plan), DesignCache()
    wanted = list(_requested_digests(record, asked))
    for request, sha256 in wanted:
        if sha256 in given:
            memory.made[request] = DesignedMechanism(given[sha256], sha256)
        elif _extent(request) > MOST_DESIGNED_AGAIN:
            raise PassportError(
                f"a mechanism with more than {MOST_DESIGNED_AGAIN} answers is not designed again; give the passports "
                "along with the record (inbounds release --passports FOLDER writes them)"
            )
    start = time.monotonic()

    def watch(doing: str, done: int, total: int) -> None:
        if time.monotonic() - start > PATIENCE:
            raise PassportError(
                f"designing the mechanisms of the record again takes more than {PATIENCE:.0f} seconds; give their "
                "passports along with it (inbounds release --passports FOLDER writes them)"
            )

    designed = ReleaseDesign.from_workload(asked, default_cache_folder(), watch, memory)
    for (request, sha256), line in zip(wanted, record["mechanisms"], strict=False):
        if memory.made[request].sha256 != sha256:
            raise PassportError(
                f"the mechanism of {line['statistic']} in groups of {line['size']} cannot be designed again here with "
                "the digest that the record states; give its passport (inbounds release --passports FOLDER)"
            )
    return designed


def _extent(request: DesignRequest) -> int:
    """How much there is to design."""
    query = request.query
    return query.size if isinstance(query, QuantileQuery) else len(query.answers)


def _requested_digests(record: ReleaseRecord, asked: Workload) -> Iterator[tuple[DesignRequest, str]]:
    """Every request with the digest of its mechanism."""
    lines = iter(record["mechanisms"])
    for own, above in zip(asked.requests, asked.layers, strict=True):
        for request in (*dict.fromkeys(own), *above):
            yield request, next(lines)["sha256"]


def _drawing(record: ReleaseRecord, designed: ReleaseDesign) -> DrawMethod:
    if "levels" not in record:
        return IndependentDraw(designed)
    return ChainedDraw.from_design(
        designed, list(dict.fromkeys(parse_fraction(line["level"]) for line in record["levels"]))
    )


def _rows(record: ReleaseRecord, designed: ReleaseDesign) -> Iterator[Ints]:
    """The draws in the order in which they were drawn."""
    plan = designed.asked.plan
    if "levels" in record:
        rows = [
            _line(record["draws"][name]).reshape(-1, len(plan.groups))
            for name in plan.drawn_columns(plan.statistics[0])
        ]
        for level in zip(*rows, strict=True):
            yield from level
        return
    adding = {own["statistic"]: own for own in record["reports"]["statistics"]} if "reports" in record else {}
    for k, statistic in enumerate(plan.statistics):
        if statistic.name in adding:
            for layer in adding[statistic.name]["layers"]:
                yield from (np.array(row, dtype=np.int64) for row in layer["reports"])
        else:
            rows = [_line(record["draws"][name]) for name in plan.drawn_columns(statistic)]
            _check_outputs(designed, k, rows)
            yield from rows


def _check_outputs(designed: ReleaseDesign, k: int, rows: Sequence[Ints]) -> None:
    """A `PassportError` if a statistic's draws hold an output that its mechanism never gives."""
    for design, members in zip(designed.designs[k], designed.asked.members, strict=True):
        made = design.mechanism
        if isinstance(made, QuantileMechanism):
            continue
        for output in np.unique(np.concatenate([row[members] for row in rows])).tolist():
            if not made.law.likelihood(made.query, output).max() > 0:
                name = designed.asked.plan.statistics[k].name
                raise PassportError(f"the draws of {name} hold an output that its mechanism never gives")


# --- the comparison -----------------------------------------------------------------------------------------


def _compare_texts(record: ReleaseRecord, again: ReleaseRecord) -> None:
    """What the record says beside its draws is what the release writes of them."""
    for name in TEXTS:
        if record.get(name) != again.get(name):
            raise PassportError(f"the record's {name} are not what follows from its plan and draws{_elsewhere(record)}")


def _compare_cells(record: ReleaseRecord, table: PublishedTable, answered: TableContent) -> None:
    for (name, cells), published in zip(arrow(answered.columns).to_pydict().items(), table.columns, strict=True):
        for row, cell in enumerate(cells):
            if not table.has_cell(published, row, cell):
                raise PassportError(
                    f"{table.file}: {name} in row {row + 1} is not what follows from the draws{_elsewhere(record)}"
                )


def _elsewhere(record: ReleaseRecord) -> str:
    """Which other versions the release was made with: sums of floats may differ there."""
    here = package_versions()
    others = [f"{name} {made}" for name, made in record["versions"].items() if here.get(name) != made]
    return f"; it was released with {', '.join(others)}, which may compute otherwise" if others else ""


# --- tables that add up, for readers ------------------------------------------------------------------------


@dataclass(frozen=True)
class RecomputedTable:
    """The columns that add up, computed again; which of them the table does not have so, and statistics that were
    made to add up otherwise than the record tells; the totals; and how each statistic was made to add up, by the
    posterior or by least squares.
    """

    columns: Mapping[str, list[Any]] = field(repr=False)
    different: tuple[str, ...]
    totals: tuple[Total, ...]
    by: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        sums = {own.column: None if own.sum is None else vars(own.sum) for own in self.totals}
        return {"different": list(self.different), "by": dict(self.by), "totals": sums, "columns": dict(self.columns)}


def recompute_table(path: str | PathLike[str]) -> RecomputedTable:
    """Adjust the reports in a release record anew, and compare with the table beside it, digit by digit.

    Anyone can do so: it is post-processing of the reports, which are what is private and was drawn. Sums of floats may
    differ in another version of NumPy or SciPy, and the prior in another of ours; the versions are in the record.
    """
    from inbounds.releases.adjust_reports import adjust_columns

    record: Any = load_record(path)
    if "reports" not in record:
        raise ValueError(f"{Path(path).name} must be the record of a table that adds up, but it keeps no reports")
    table = load_released_table(record, Path(path))
    try:
        adjusted = adjust_columns(record["reports"])
        found = {name: values.tolist() for part, _ in adjusted for name, values in part.items()}
        different = tuple(name for name, values in found.items() if table[name].to_pylist() != values)
        names = [own["statistic"] for own in record["reports"]["statistics"]]
        by = dict(zip(names, (by for _, by in adjusted), strict=True))
        told = {own["statistic"]: own["by"] for own in record["reports"]["statistics"]}
        different += tuple(name for name in by if told[name] != by[name])
        return RecomputedTable(found, different, tuple(estimate_totals(record, table)), by)
    except UNRELIABLE:  # a record may say anything
        raise PassportError(f"{Path(path).name} does not hold the reports of its table") from None

"""Carry out a release again from the draws in its record, and compare with the published table.

First come the rules of `checker`, which share no code with the release: query, neighbours and epsilon of every
mechanism, all cells that follow from the draws without an estimate, and the sums that must hold. Then the release's own
code runs again from the draws: plan, mechanisms (from passports, or designed again, and certified either way), expected
errors, intervals, and the choice among tables that add up. All of that is post-processing of private draws: a fault in
it cannot weaken the guarantee.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from inbounds.checker import CheckedRecord, PublishedTable, check_cells, check_record, read_table
from inbounds.errors import InboundsError, PassportError
from inbounds.exact import Ints
from inbounds.files import FileLike
from inbounds.mechanism import AnyMechanism
from inbounds.mechanism.json_values import parse_fraction
from inbounds.plan.hierarchy import Hierarchy
from inbounds.plan.plan import Plan
from inbounds.query import RangeQuery
from inbounds.releases.drawing import DrawMethod, IndependentDraw
from inbounds.releases.expected import state_errors
from inbounds.releases.levels import ChainedDraw
from inbounds.releases.record import build_record, package_versions
from inbounds.releases.totals import Total, estimate_totals
from inbounds.releases.verify import RELEASE_RECORD, load_released_table
from inbounds.releases.workload import DesignCache, ReleaseDesign, TableContent, Workload, to_arrow_table
from inbounds.schema.columns import Column, PrivacyUnit
from inbounds.schema.record_types import PlanRecord, ReleaseRecord
from inbounds.sources.groups import Groups
from inbounds.sources.open import FILES, TEXT_CELLS, Source
from inbounds.statistics.designs import DesignedMechanism, DesignOptions, DesignRequest, default_cache_folder
from inbounds.statistics.entries import statistic_from_json

PATIENCE = 60.0
"""Seconds that designing mechanisms again may take, for a record without passports."""

MOST_DESIGNED_AGAIN = 1 << 20
"""Most answers of a mechanism, or records of a quantile's group, for which it is designed again: a design cannot be
interrupted, and its time grows with them. Larger ones need their passports."""

TEXTS = ("statement", "values", "account", "composition", "mechanisms", "reports", "levels", "groups", "draws")
"""Fields of a record that are written again and compared."""

UNRELIABLE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError, MemoryError)
"""Errors that an untrusted record may cause when it is carried out."""


def check_release(record: FileLike, mechanisms: Mapping[str, AnyMechanism] | None = None) -> list[str]:
    """Check a record and the table beside it; return what was checked, one sentence each.

    mechanisms: certified, by the digest of their passports; any other is designed again from the record. Raises
    PassportError with the reason if anything differs, or if a mechanism is neither given nor can be designed again.
    """
    document, mechanisms_by_sha256 = RELEASE_RECORD.load(record), mechanisms or {}
    file, content = document.path or Path("record"), cast(ReleaseRecord, document.content)
    checked = check_record(document.to_json())
    if checked.table is None:
        raise PassportError(f"{file.name} names no table")
    table = read_table(file.parent / checked.table.file, checked.table.sha256)
    cells = check_cells(checked, table)
    with _ReplayErrors(file.name):
        plan = plan_from_record(content)
        designed = state_errors(_load_designs(content, plan, mechanisms_by_sha256, checked)).with_coverage()
        drawing = _draw_method(content, designed)
        recomputed = drawing.answers(list(_rows(content, designed)))
        _compare_texts(content, build_record(designed, (), recomputed, content["groups"]["types"]))
        _compare_cells(content, table, recomputed)
    return [*checked.sentences, *_sentences(checked, table, len(cells.recomputed), mechanisms_by_sha256)]


def _sentences(
    checked: CheckedRecord, table: PublishedTable, recomputed: int, mechanisms_by_sha256: Mapping[str, AnyMechanism]
) -> Iterator[str]:
    digests = {line.sha256 for line in checked.lines}
    proved = len(digests & mechanisms_by_sha256.keys())
    redesigned = f"{len(digests) - proved} were designed again" if len(digests) > proved else ""
    origins = " and ".join(
        part for part in (f"{proved} come from their passports" if proved else "", redesigned) if part
    )
    yield f"the weights of all {len(digests)} mechanisms were certified and have the digests in the record: {origins}"
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


class _ReplayErrors:
    """A context that turns every error of carrying out a record into a `PassportError` about it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PassportError):
            return
        if isinstance(error, (InboundsError, *UNRELIABLE)):
            raise PassportError(
                f"{self.name} cannot be recomputed; it was changed, or made by another version"
            ) from None


# --- the plan in a record -----------------------------------------------------------------------------------


def plan_from_record(record: ReleaseRecord) -> Plan:
    """Build the plan of a record with its groups; its source is known by its kind only."""
    plan_record, groups = record["plan"], record["groups"]
    keys = (
        tuple(zip(*(groups["keys"][name] for name in plan_record["by"]), strict=True)) if plan_record["by"] else ((),)
    )
    plan = Plan(
        source=_source(plan_record),
        groups=Groups(
            tuple(plan_record["by"]),
            keys,
            _parse_integers(groups["sizes"]),
            plan_record["sizes"] == "public",
            missing_key=plan_record.get("missing_key", ""),
            period=plan_record.get("period", {}),
            typical=tuple(plan_record.get("typical", ())),
            most=plan_record.get("max_size", 0),
        ),
        columns={name: Column(**column) for name, column in plan_record["columns"].items()},  # type: ignore[arg-type]
        statistics=tuple(map(statistic_from_json, plan_record["statistics"])),
        epsilon=parse_fraction(plan_record["epsilon"]),
        neighbours=plan_record["neighbours"],
        design=DesignOptions(**plan_record["design"]),
        credible_level=None if plan_record["credible_level"] is None else parse_fraction(plan_record["credible_level"]),
        people=_people(plan_record),
        edition=plan_record.get("edition", ""),
        hierarchy=_hierarchy(plan_record),
        where=plan_record.get("where", ""),
        delta=parse_fraction(plan_record.get("delta", "0")),
        persons=plan_record.get("persons"),
        allow_large_delta=plan_record.get("allow_large_delta", False),
    )
    if {**plan.summary(), "source": plan_record["source"]} != plan_record:
        raise PassportError("the plan in the record is malformed")
    return plan


def _parse_integers(text: str) -> Ints:
    return np.array(text.split(" ") if text else [], dtype=np.int64)


def _source(plan_record: PlanRecord) -> Source:
    """Return a source of the same kind: sentences about values depend on whether they were read from text."""
    source = plan_record["source"]
    if source["kind"] not in TEXT_CELLS:
        return Source(frame=())
    ending = next(end for end, kind in FILES.items() if kind == source["kind"])
    return Source(
        path=f"x{ending}",
        decimal=source.get("decimal", ""),
        thousands=source.get("thousands", ""),
        encoding=source.get("encoding", ""),
    )


def _people(plan_record: PlanRecord) -> PrivacyUnit:
    name, person = plan_record.get("people", ""), plan_record.get("unit")
    if person is None:
        return PrivacyUnit(name)
    return PrivacyUnit(name, id=person["id"], max_records=person["max_records"], max_groups=person["max_groups"])


def _hierarchy(plan_record: PlanRecord) -> Hierarchy | None:
    if "hierarchy" not in plan_record:
        return None
    hierarchy = plan_record["hierarchy"]
    weights, shares = (
        tuple(map(parse_fraction, texts)) for texts in (hierarchy["weights"], hierarchy.get("shares", []))
    )
    return Hierarchy(tuple(hierarchy["levels"]), weights, shares)


# --- mechanisms and draws -----------------------------------------------------------------------------------


def _load_designs(
    record: ReleaseRecord, plan: Plan, mechanisms: Mapping[str, AnyMechanism], checked: CheckedRecord
) -> ReleaseDesign:
    """Load or design every mechanism, each with the digest that the record states."""
    workload, cache = Workload.from_plan(plan), DesignCache()
    digests = list(_requested_digests(record, workload))
    for request, sha256 in digests:
        if sha256 in mechanisms:
            cache.designs[request] = DesignedMechanism(mechanisms[sha256], sha256)
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

    designed = ReleaseDesign.from_workload(workload, default_cache_folder(), watch, cache)
    for (request, sha256), line in zip(digests, record["mechanisms"], strict=False):
        if cache.designs[request].sha256 != sha256:
            raise PassportError(
                f"the mechanism of {line['statistic']} in groups of {line['size']} cannot be designed again here with "
                "the digest that the record states; give its passport (inbounds release --passports FOLDER)"
            )
    return designed


def _extent(request: DesignRequest) -> int:
    """Return the size of a design: answers of a query, or records of a quantile's group."""
    query = request.query
    return len(query.answers) if isinstance(query, RangeQuery) else query.size


def _requested_digests(record: ReleaseRecord, workload: Workload) -> Iterator[tuple[DesignRequest, str]]:
    """Yield every request with the digest of its mechanism."""
    lines = iter(record["mechanisms"])
    for k, (number_requests, sum_requests) in enumerate(zip(workload.requests, workload.layers, strict=True)):
        for request in (*dict.fromkeys(number_requests), *sum_requests):
            yield request, next(lines)["sha256"]
        for level in workload.above:
            for place in level.places_of(workload.plan.statistics[k].name):
                for request in dict.fromkeys(level.requests[place]):
                    yield request, next(lines)["sha256"]


def _draw_method(record: ReleaseRecord, designed: ReleaseDesign) -> DrawMethod:
    if "levels" not in record:
        return IndependentDraw(designed)
    return ChainedDraw.from_design(
        designed, list(dict.fromkeys(parse_fraction(line["level"]) for line in record["levels"]))
    )


def _rows(record: ReleaseRecord, designed: ReleaseDesign) -> Iterator[Ints]:
    """Yield the draws in the order in which they were drawn."""
    plan = designed.workload.plan
    if "levels" in record:
        rows = [
            _parse_integers(record["draws"][name]).reshape(-1, len(plan.groups))
            for name in plan.drawn_columns(plan.statistics[0])
        ]
        for level in zip(*rows, strict=True):
            yield from level
        return
    adding = (
        {statistic_record["statistic"]: statistic_record for statistic_record in record["reports"]["statistics"]}
        if "reports" in record
        else {}
    )
    for k, statistic in enumerate(plan.statistics):
        if statistic.name in adding:
            for layer in adding[statistic.name]["layers"]:
                yield from (np.array(row, dtype=np.int64) for row in layer["reports"])
        else:
            rows = [
                _parse_integers(record["draws"][name])[-len(plan.groups) :] for name in plan.drawn_columns(statistic)
            ]
            _check_outputs(designed, k, rows)
            yield from rows
    yield from _rows_above(record, designed)


def _rows_above(record: ReleaseRecord, designed: ReleaseDesign) -> Iterator[Ints]:
    """Yield the draws of what is drawn of every level, from below up; a record has the highest level first."""
    end = -len(designed.workload.plan.groups)
    for level in designed.above:
        plan = level.workload.plan
        start = end - len(plan.groups)
        for k, statistic in enumerate(plan.statistics):
            rows = [_parse_integers(record["draws"][name])[start:end] for name in plan.drawn_columns(statistic)]
            _check_outputs(level, k, rows)
            yield from rows
        end = start


def _check_outputs(designed: ReleaseDesign, k: int, rows: Sequence[Ints]) -> None:
    """Raise PassportError if a statistic's draws hold an output that its mechanism never gives."""
    for design, members in zip(designed.designs[k], designed.workload.members, strict=True):
        mechanism = design.mechanism
        for output in np.unique(np.concatenate([row[members] for row in rows])).tolist():
            if not mechanism.law.can_report(mechanism.query, output):
                name = designed.workload.plan.statistics[k].name
                raise PassportError(f"the draws of {name} hold an output that its mechanism never gives")


# --- the comparison -----------------------------------------------------------------------------------------


def _compare_texts(record: ReleaseRecord, expected: ReleaseRecord) -> None:
    """Raise PassportError if a text of the record is not what the release writes for its plan and draws."""
    for name in TEXTS:
        if record.get(name) != expected.get(name):
            raise PassportError(
                f"the record's {name} are not what follows from its plan and draws{_other_versions(record)}"
            )


def _compare_cells(record: ReleaseRecord, table: PublishedTable, content: TableContent) -> None:
    """Raise PassportError if a cell of the table is not what the release computes from the draws."""
    expected = to_arrow_table(content.columns).to_pydict()
    for (name, cells), published in zip(expected.items(), table.columns or expected, strict=True):
        for row, cell in enumerate(cells):
            if not table.has_cell(published, row, cell):
                raise PassportError(
                    f"{table.file}: {name} in row {row + 1} is not what follows from the draws{_other_versions(record)}"
                )


def _other_versions(record: ReleaseRecord) -> str:
    """Describe package versions of the release that differ from those here: sums of floats may differ with them."""
    here = package_versions()
    others = [f"{name} {version}" for name, version in record["versions"].items() if here.get(name) != version]
    return f"; it was released with {', '.join(others)}, which may compute otherwise" if others else ""


# --- tables that add up, for readers ------------------------------------------------------------------------


@dataclass(frozen=True)
class RecomputedTable:
    """The columns that add up, computed again.

    different: the columns that differ from the table, and statistics that were made to add up otherwise than the record
    states. totals: of the columns. by: how each statistic was made to add up, by the posterior or by least squares.
    """

    columns: Mapping[str, list[Any]] = field(repr=False)
    different: tuple[str, ...]
    totals: tuple[Total, ...]
    by: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        sums = {total.column: None if total.sum is None else vars(total.sum) for total in self.totals}
        return {"different": list(self.different), "by": dict(self.by), "totals": sums, "columns": dict(self.columns)}


def recompute_table(file: FileLike) -> RecomputedTable:
    """Adjust the draws in a release record again, and compare with the table beside it, digit by digit.

    This is post-processing of private draws, so it costs no epsilon. Sums of floats may differ with another version of
    NumPy or SciPy, and the prior with another version of this package; the versions are in the record.
    """
    from inbounds.releases.adjust_reports import adjust_columns

    document = RELEASE_RECORD.load(file)
    record: Any = RELEASE_RECORD.read(document)
    path = document.path or Path("record")
    if "reports" not in record:
        raise ValueError(f"{path.name} must be the record of a table that adds up, but it has no draws of one")
    table = load_released_table(record, path)
    try:
        adjusted = adjust_columns(record["reports"])
        columns = {name: values.tolist() for part, _ in adjusted for name, values in part.items()}
        different = tuple(name for name, values in columns.items() if table[name].to_pylist() != values)
        names = [statistic["statistic"] for statistic in record["reports"]["statistics"]]
        by = dict(zip(names, (by for _, by in adjusted), strict=True))
        stated = {statistic["statistic"]: statistic["by"] for statistic in record["reports"]["statistics"]}
        different += tuple(name for name in by if stated[name] != by[name])
        return RecomputedTable(columns, different, tuple(estimate_totals(record, table)), by)
    except UNRELIABLE:  # a record may contain anything
        raise PassportError(f"{path.name} does not hold the draws of its table") from None

"""A written release opened again: its record is checked, its table read back, and several releases are added up."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from inbounds.checker import check_cells, check_record, read_table
from inbounds.errors import PassportError
from inbounds.files import RELEASE, Document, FileFormat, FileLike
from inbounds.files.bounded import parse_json, read_text
from inbounds.optional import import_optional
from inbounds.plan.plan import CHANGE, PERSON
from inbounds.releases.report import page
from inbounds.releases.write import escape_formula, unescape_formula
from inbounds.schema.record_types import ReleaseRecord
from inbounds.schema.text import format_number


def record_from_document(document: Document) -> ReleaseRecord:
    """A record whose parts fit each other, by the rules of `checker`; its table need not be there."""
    check_record(document.to_json())
    return cast(ReleaseRecord, document.content)


RELEASE_RECORD = FileFormat(RELEASE, "release record", record_from_document)


def load_record(file: FileLike) -> ReleaseRecord:
    """The content of a release record whose parts fit each other; its table need not be there."""
    return RELEASE_RECORD.read(file)


def find_statistic(record: ReleaseRecord, column: str) -> str:
    """The statistic that a column of the released table belongs to: "answer: yes" is a cell of the histogram answer.

    What is no such column is returned as it is. A number that is computed from others has no mechanism of its own.
    """
    plan = record["plan"]
    for line in record["mechanisms"]:
        parts = line.get("parts", [])
        if column == line["statistic"] and parts:
            said = f"statistic must be a column that was drawn, got {column!r}, computed from {' and '.join(parts)}"
            raise ValueError(said)
        if column in parts:
            return line["statistic"]
    for asked in plan["statistics"]:
        labels = plan["columns"][asked["of"]].get("labels", ()) if asked["kind"] == "histogram" else ()
        if column in (f"{asked['name']}: {label}" for label in labels):
            return asked["name"]
    return column


def was_adjusted(record: ReleaseRecord, statistic: str | None) -> bool:
    """Whether the cells of a released histogram were made to add up, so that no mechanism reported them as they are."""
    asked = [own for own in record["plan"]["statistics"] if statistic in (own["name"], None)]
    adding = {own["statistic"] for own in record["reports"]["statistics"]} if "reports" in record else set()
    return any(own.get("sum_to_size", False) or own["name"] in adding for own in asked)


# --- the table beside a record ------------------------------------------------------------------------------


def record_page(file: FileLike) -> str:
    """The HTML page of a release record and the table beside it, whose cells follow from the record's draws."""
    document = RELEASE_RECORD.load(file)
    record, path = cast(ReleaseRecord, document.content), document.path or Path("record")
    checked = check_record(document.to_json())
    if checked.table is None:
        raise PassportError(f"{path.name} names no table")
    check_cells(checked, read_table(path.parent / checked.table.file, checked.table.sha256))
    return page(record, load_released_table(record, path))


def load_released_table(record: ReleaseRecord, path: Path) -> Any:
    """The released table as Arrow; keys stay the texts they are."""
    file = path.parent / record["table"]["file"]
    if file.suffix.lower() == ".parquet":
        return import_optional("pyarrow.parquet", "tables").read_table(file)
    if file.suffix.lower() == ".json":
        return import_optional("pyarrow", "tables").Table.from_pylist(parse_json(read_text(file)))
    arrow, types = import_optional("pyarrow.csv", "tables"), import_optional("pyarrow", "tables")
    by = record["plan"]["by"]
    held = arrow.read_csv(
        file,
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(
            column_types={escape_formula(name): types.string() for name in by}, strings_can_be_null=False
        ),
    )
    held = held.rename_columns([unescape_formula(name) for name in held.column_names])
    for name in by:
        keys = types.array([unescape_formula(key) for key in held[name].to_pylist()], types.string())
        held = held.set_column(held.column_names.index(name), name, keys)
    return held


# --- several releases about the same people: what their records promise together, by adding up ---------------
#
# Each release was drawn by itself, so the factors multiply and the epsilons add up (sequential composition). A record
# that is left out moves every answer no further than the relation of its release allows, whichever that is; so the
# sum always covers a record in the data or not. It covers more when all releases promise the same.


@dataclass(frozen=True)
class ComposedReleases:
    """Releases by name, what each spends, and what is covered by the sum."""

    names: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    covers: str

    @property
    def epsilon(self) -> Fraction:
        return sum(self.epsilons, Fraction(0))

    def __str__(self) -> str:
        parts = " + ".join(map(format_number, self.epsilons))
        total = f"{parts} = {format_number(self.epsilon)}" if len(self.epsilons) > 1 else parts
        factor = math.exp(float(self.epsilon))
        return (
            f"If they are about the same people, these releases are together epsilon {total}: {self.covers}, and all "
            f"tables together are at most {factor:.4g} times likelier than they would be otherwise"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; epsilons exactly, as text."""
        members = zip(self.names, self.epsilons, strict=True)
        releases = [{"file": name, "epsilon": str(epsilon)} for name, epsilon in members]
        return {"releases": releases, "epsilon": str(self.epsilon), "statement": str(self)}


def compose_releases(records: Mapping[str, ReleaseRecord]) -> ComposedReleases:
    """The sum over records, by file name. One release written twice, under any names, counts once."""
    own = {_release(record): (name, record) for name, record in records.items()}
    names, contents = zip(*own.values(), strict=True)
    return ComposedReleases(
        names, tuple(Fraction(record["epsilon"]["spent"]) for record in contents), _covered_records(contents)
    )


def _release(record: ReleaseRecord) -> tuple[str, ...]:
    """What tells one release from all others: its random id, and nothing that a careless copy could share."""
    return record["id"], record["plan_sha256"], record["epsilon"]["spent"], record["time"]


def _covered_records(records: Sequence[ReleaseRecord]) -> str:
    promises = {(record["plan"]["sizes"], record["plan"]["neighbours"]) for record in records}
    if promises == {("public", CHANGE)}:
        return "one person's record may be changed within its groups, or left out"
    if promises == {("maximum", CHANGE)}:
        return "one person's record may be replaced by any other, also in another group"
    if promises == {("maximum", PERSON)}:
        return "one person may be added or removed, with all records (replaced: at twice the epsilon)"
    if ("maximum", PERSON) in promises:
        return (
            "one person may be added or removed, with one record where a release names no persons (replaced: at twice "
            "the epsilon)"
        )
    return "one person's record may be added or removed (replaced: at twice the epsilon)"

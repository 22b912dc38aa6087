"""Open a written release: check its record, read its table, and add up the epsilons of several releases."""

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
from inbounds.plan.plan import CHANGE, LEVEL, PERSON
from inbounds.releases.report import page
from inbounds.releases.write import escape_formula, unescape_formula
from inbounds.schema.record_types import ReleaseRecord
from inbounds.schema.text import format_number


def record_from_document(document: Document) -> ReleaseRecord:
    """Return the content of a record that `checker` accepts; its table need not exist."""
    check_record(document.to_json())
    return cast(ReleaseRecord, document.content)


RELEASE_RECORD = FileFormat(RELEASE, "release record", record_from_document)


def load_record(file: FileLike) -> ReleaseRecord:
    """Load a release record that `checker` accepts; its table need not exist."""
    return RELEASE_RECORD.read(file)


def find_statistic(record: ReleaseRecord, column: str) -> str:
    """Return the statistic of a column of the released table: "answer: yes" is a cell of the histogram answer.

    Any other text is returned unchanged. Raises ValueError for a column that is computed from drawn columns, because it
    has no mechanism.
    """
    plan = record["plan"]
    for line in record["mechanisms"]:
        parts = line.get("parts", [])
        if column == line["statistic"] and parts:
            raise ValueError(
                f"statistic must be a column that was drawn, got {column!r}, computed from {' and '.join(parts)}"
            )
        if column in parts:
            return line["statistic"]
    for statistic in plan["statistics"]:
        labels = plan["columns"][statistic["column"]].get("labels", ()) if "column" in statistic else ()
        if column in (f"{statistic['name']}: {label}" for label in labels):
            return statistic["name"]
    return column


def was_adjusted(record: ReleaseRecord, statistic: str | None) -> bool:
    """Return whether the numbers of a statistic were made to add up; they are then not outputs of its mechanism."""
    candidates = [entry for entry in record["plan"]["statistics"] if statistic in (entry["name"], None)]
    adding = {entry["statistic"] for entry in record["reports"]["statistics"]} if "reports" in record else set()
    return any(entry.get("sum_to_size", False) or entry["name"] in adding for entry in candidates)


# --- the table beside a record ------------------------------------------------------------------------------


def record_page(file: FileLike) -> str:
    """Return the HTML page of a release record and its table; refuse a table that does not follow from the draws."""
    return page(*load_release(file))


def load_release(file: FileLike) -> tuple[ReleaseRecord, Any]:
    """Return a release record and its table; refuse a table that does not follow from the draws."""
    document = RELEASE_RECORD.load(file)
    record, path = cast(ReleaseRecord, document.content), document.path or Path("record")
    checked = check_record(document.to_json())
    if checked.table is None:
        raise PassportError(f"{path.name} names no table")
    check_cells(checked, read_table(path.parent / checked.table.file, checked.table.sha256))
    return record, load_released_table(record, path)


def load_released_table(record: ReleaseRecord, path: Path) -> Any:
    """Load the released table as an Arrow table; keys stay texts."""
    file = path.parent / record["table"]["file"]
    if file.suffix.lower() == ".parquet":
        return import_optional("pyarrow.parquet", "tables").read_table(file)
    if file.suffix.lower() == ".json":
        return import_optional("pyarrow", "tables").Table.from_pylist(parse_json(read_text(file)))
    arrow, types = import_optional("pyarrow.csv", "tables"), import_optional("pyarrow", "tables")
    by = record["plan"]["by"]
    table = arrow.read_csv(
        file,
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(
            column_types={escape_formula(name): types.string() for name in by}, strings_can_be_null=False
        ),
    )
    table = table.rename_columns([unescape_formula(name) for name in table.column_names])
    shown = _named_in_rows(record, table)
    for name in by:
        texts = zip(table[name].to_pylist(), shown[name], strict=True)
        keys = types.array([unescape_formula(key) if named else None for key, named in texts], types.string())
        table = table.set_column(table.column_names.index(name), name, keys)
    return table


def _named_in_rows(record: ReleaseRecord, table: Any) -> dict[str, list[bool]]:
    """Return for each column that names a group whether a row has a name in it; rows above the groups have not all."""
    by, hierarchy = record["plan"]["by"], record["plan"].get("hierarchy")
    if hierarchy is None:
        return {name: [True] * table.num_rows for name in by}
    levels = hierarchy["levels"]
    depths = [levels.index(level) for level in table[LEVEL].to_pylist()]
    return {name: [levels.index(name) <= depth for depth in depths] for name in by}


# --- several releases about the same people: what their records promise together, by adding up ---------------
#
# Each release was drawn independently, so the factors multiply and the epsilons add up (sequential composition).
# Leaving out a record moves every answer no further than the neighbours of its release allow, for any kind of
# neighbours; so the sum always covers adding or removing a record. It covers more if all releases have the same ones.


@dataclass(frozen=True)
class ComposedReleases:
    """Several releases: their names, the epsilon of each, what the sum covers, and the sum of their deltas."""

    names: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    covers: str
    delta: Fraction = Fraction(0)

    @property
    def epsilon(self) -> Fraction:
        """Return the sum of the epsilons."""
        return sum(self.epsilons, Fraction(0))

    def __str__(self) -> str:
        parts = " + ".join(map(format_number, self.epsilons))
        total = f"{parts} = {format_number(self.epsilon)}" if len(self.epsilons) > 1 else parts
        factor = math.exp(float(self.epsilon))
        if self.delta:
            delta = format_number(self.delta)
            return (
                f"If they are about the same people, these releases are together epsilon {total}, delta {delta}: "
                f"{self.covers}, and any set of tables together has at most {factor:.4g} times the probability that it "
                f"would have otherwise, plus {delta}"
            )
        return (
            f"If they are about the same people, these releases are together epsilon {total}: {self.covers}, and all "
            f"tables together are at most {factor:.4g} times likelier than they would be otherwise"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; epsilons are exact, as text."""
        members = zip(self.names, self.epsilons, strict=True)
        releases = [{"file": name, "epsilon": str(epsilon)} for name, epsilon in members]
        delta = {"delta": str(self.delta)} if self.delta else {}
        return {"releases": releases, "epsilon": str(self.epsilon), **delta, "statement": str(self)}


def compose_releases(records: Mapping[str, ReleaseRecord]) -> ComposedReleases:
    """Add up the epsilons and deltas of records, by file name. A release that was written twice counts once."""
    releases = {_release_key(record): (name, record) for name, record in records.items()}
    names, contents = zip(*releases.values(), strict=True)
    covers = _covered_records(contents)
    delta = sum((Fraction(record["epsilon"].get("delta", 0)) for record in contents), Fraction(0))
    if delta:
        covers = covers.replace("at twice the epsilon)", "at twice the epsilon, and 1 + exp(epsilon) times the delta)")
    epsilons = tuple(Fraction(record["epsilon"]["spent"]) for record in contents)
    return ComposedReleases(names, epsilons, covers, delta)


def _release_key(record: ReleaseRecord) -> tuple[str, ...]:
    """Return what identifies a release; its id is random, so two releases never share it."""
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

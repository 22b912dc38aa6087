"""A written release opened again: the record is checked, and the table beside it read back."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.extras import library
from inbounds.tables.record import check, read
from inbounds.tables.report import page


def page_of(path: str | PathLike[str]) -> str:
    """The HTML page of a release record and the table beside it, both as they were released."""
    check(path)
    record = read(path)
    return page(record, table_beside(record, Path(path)))


def table_beside(record: dict[str, Any], path: Path) -> Any:
    """The released table as Arrow; keys stay the texts they are."""
    file = path.parent / record["table"]["file"]
    if file.suffix.lower() == ".parquet":
        return library("pyarrow.parquet", "tables").read_table(file)
    if file.suffix.lower() == ".json":
        return library("pyarrow", "tables").Table.from_pylist(json.loads(file.read_text("utf-8")))
    arrow = library("pyarrow.csv", "tables")
    texts = {name: library("pyarrow", "tables").string() for name in record["plan"]["by"]}
    return arrow.read_csv(
        file,
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(column_types=texts, strings_can_be_null=False),
    )

"""A written release opened again: the record is checked, and the table beside it read back."""

from os import PathLike
from pathlib import Path
from typing import Any

from inbounds.extras import library
from inbounds.files.intake import from_json, text_of
from inbounds.tables.record import check, read
from inbounds.tables.report import page
from inbounds.tables.write import neutral, restored


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
        return library("pyarrow", "tables").Table.from_pylist(from_json(text_of(file)))
    arrow, types = library("pyarrow.csv", "tables"), library("pyarrow", "tables")
    by = record["plan"]["by"]
    held = arrow.read_csv(
        file,
        parse_options=arrow.ParseOptions(newlines_in_values=True),
        convert_options=arrow.ConvertOptions(
            column_types={neutral(name): types.string() for name in by}, strings_can_be_null=False
        ),
    )
    held = held.rename_columns([restored(name) for name in held.column_names])
    for name in by:
        keys = types.array([restored(key) for key in held[name].to_pylist()], types.string())
        held = held.set_column(held.column_names.index(name), name, keys)
    return held

"""CSV files that are not in UTF-8: decoded in memory, checked like all CSV files, and read into columns of text.

Bytes that are not in the declared encoding become question marks, so no byte can make reading fail. Records with more
or fewer fields than the header line are left out, as the engine does with files in UTF-8.
"""

import csv
import io
from typing import TYPE_CHECKING, Any

from inbounds.sources import csv_files

if TYPE_CHECKING:
    from inbounds.sources.open import Source

HEADER = 1 << 20
"""Bytes of a file that are looked at for the header line."""


def read_names(source: "Source") -> list[str]:
    """Read the column names in the first line; unnamed columns are ""."""
    with open(source.path, "rb") as file:
        start = file.read(HEADER).decode(source.encoding, "replace")
    names = next(csv.reader(io.StringIO(start.removeprefix("\ufeff"), newline=""), delimiter=source.separator), [])
    return csv_files.check_header(names)


def read_columns(source: "Source", wanted: list[str]) -> dict[str, list[str | None]]:
    """Read the wanted columns. Raises SourceError unless the file is well-formed CSV."""
    import pyarrow
    import pyarrow.csv

    content = csv_files.decode_file(source)
    csv_files.check_content(source, content)
    names = [name or f"\n{k}" for k, name in enumerate(read_names(source))]  # no name has a line break
    table = pyarrow.csv.read_csv(
        pyarrow.BufferReader(content),
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, skip_rows=0, block_size=len(content) + 1, use_threads=False
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=source.separator, newlines_in_values=True, invalid_row_handler=lambda row: "skip"
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={name: pyarrow.large_string() for name in names},
            include_columns=list(wanted),
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,
        ),
    )
    return {name: _below_header(table[name]) for name in wanted}


def _below_header(column: Any) -> list[str | None]:
    return column.to_pylist()[1:]  # type: ignore[no-any-return]

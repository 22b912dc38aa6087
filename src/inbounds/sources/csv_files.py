"""CSV files: check the format and the header line, and open the file as a table with every field as text."""

import csv
import mmap
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.files.open_files import read_start
from inbounds.schema.errors import SourceError
from inbounds.trusted.limits import LONGEST

if TYPE_CHECKING:
    from inbounds.sources.open import Source

WHERE = ("source", "path")

DELIMITERS = {";": '";"', "\t": '"\\t"', "|": '"|"'}
"""Delimiters other than the comma, and how a plan writes them."""

FORMATS = {
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an Excel file",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": 'text in UTF-16 (declare encoding = "utf-16")',
    b"\xfe\xff": 'text in UTF-16 (declare encoding = "utf-16")',
}
"""File formats by their first bytes, which are no data."""

UNNAMED = "unnamed_column_"

WELL_FORMED = (
    "fields with a quotation mark, the delimiter or a line break stand in quotation marks, those within are doubled, "
    "and no carriage return stands alone among line feeds"
)

ILL_FORMED = (
    f"must be a well-formed CSV file ({WELL_FORMED}), so that no record runs into the next; nothing was released; "
    "write the file again with a CSV writer"
)
"""A message about the file that never names a position in it."""

TOO_LONG = (
    "must be a CSV file whose records have less than 8 MB each; nothing was released; write the file again without "
    "the column of long texts"
)


def read_header(source: "Source") -> list[str]:
    """Read the column names in the first line of a CSV file; unnamed columns, such as a pandas index, are "".

    Raises SourceError if the names are missing, repeated, or the same but for capitals.
    """
    _check_format(source.path)
    with open(source.path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        names = next(csv.reader(file, delimiter=source.separator), [])
    return check_header(names)


def check_header(names: list[str]) -> list[str]:
    """Return the names in a header line, unnamed columns as ""; raise SourceError as `read_header` does."""
    _check_letters(names)
    named = [name for name in names if name.strip()]
    if not named or len(set(named)) < len(named):
        empty = "" if named else ", and its first line has none"
        raise SourceError(f"must begin with a line of different column names{empty}", WHERE)
    if len({name.casefold() for name in named}) < len(named):
        raise SourceError("has columns whose names differ in capitals alone, the same to an engine; rename one", WHERE)
    if len(names) == 1:
        _check_delimiter(names[0])
    return [name if name.strip() else "" for name in names]


def _check_format(path: str) -> None:
    """Raise SourceError if the first bytes belong to another file format."""
    first = read_start(path, 4)
    for mark, what in FORMATS.items():
        if first.startswith(mark):
            raise SourceError(f"names {what}, whatever its ending says; save it as CSV in UTF-8: {path}", WHERE)


def _check_letters(names: list[str]) -> None:
    """Raise SourceError if the header line is not UTF-8. Whether the records are is data and is not checked."""
    if any("\udc80" <= letter <= "\udcff" or letter == "\ufffd" for name in names for letter in name):
        message = (
            "begins with a line that is not in UTF-8, or not in the encoding that is declared; give --encoding "
            'windows-1252 in one line, or encoding = "windows-1252" under [source] of the plan, or save the file as '
            "CSV UTF-8"
        )
        raise SourceError(message, WHERE)


def _check_delimiter(name: str) -> None:
    """Raise SourceError if a header with one name contains another delimiter."""
    for mark, written in DELIMITERS.items():
        if mark in name:
            way = "name the file .tsv" if mark == "\t" else f"give --delimiter {written}"
            raise SourceError(
                f"has one column only; is the delimiter {written}? write delimiter = {written} under [source] of the "
                f"plan, or {way} in one line",
                WHERE,
            )


def read_csv_table(source: "Source", engine: Any) -> Any:
    """Open the file as a table: all fields as text, without records that lack fields and without unnamed columns."""
    header = read_header(source)
    names = [name or _unused_name(k, header) for k, name in enumerate(header)]
    table = (_spark if source.engine == "spark" else _duckdb)(source, engine, names)
    return table.select(*(name for name in header if name))


def _unused_name(k: int, names: list[str]) -> str:
    """Return a name for an unnamed column that no other column has."""
    name = f"{UNNAMED}{k}"
    while name in names:
        name += "_"
    return name


def _duckdb(source: "Source", engine: Any, names: list[str]) -> Any:
    """Open the file in DuckDB, read in one pass: parallel parts would have to guess whether they begin in quotes."""
    return engine.read_csv(
        escape_file_pattern(source.path),
        parallel=False,
        hive_partitioning=False,
        auto_detect=False,
        header=True,
        columns=dict.fromkeys(names, "VARCHAR"),
        delim=source.separator,
        quote='"',
        escape='"',
        strict_mode=False,
        ignore_errors=True,
    )


def read_columns_together(table: Any, names: Sequence[str]) -> Any:
    """Make the engine read all these columns whenever it reads one of them.

    DuckDB leaves out a record with invalid UTF-8 only when it reads that column, so the record could count in some
    statistics and not in others. The filter needs every column; DuckDB does not know that it is always true.
    """
    lengths = [table[name].length().fill_null(0) for name in names]
    return table.filter(_add_up(lengths) >= 0) if lengths else table


def _add_up(columns: Sequence[Any]) -> Any:
    """Add columns, as a balanced tree: DuckDB refuses expressions that are nested 1,000 deep."""
    half = len(columns) // 2
    return _add_up(columns[:half]) + _add_up(columns[half:]) if half else columns[0]


def check_quotes(source: "Source") -> None:
    """Raise SourceError unless the file is well-formed CSV (RFC 4180).

    In such a file a field with a quotation mark, the delimiter or a line break stands in quotation marks, quotation
    marks within are doubled, and no carriage return stands alone among line feeds. Then the reader finds exactly the
    records that were written, and one changed record is one changed row. In any other file one quotation mark may
    swallow all that follows, and one field may become two records. The message does not name a position, which would be
    data.

    A record must not be so long that no record ends in one of the blocks of `BLOCK` bytes: DuckDB loses what follows a
    record that fills a whole buffer (32 MB).
    """
    if source.is_decoded:
        check_content(source, decode_file(source))
        return
    with open(source.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        check_content(source, content)
        if _has_long_record(content):
            raise SourceError(f"{TOO_LONG}: {source.path}", WHERE)


def decode_file(source: "Source") -> bytes:
    """Return the content of a file of another encoding in UTF-8; bytes that are not in it become question marks."""
    if Path(source.path).stat().st_size > LONGEST:
        message = f"must be a CSV file of at most {LONGEST} bytes unless it is in UTF-8; save it as CSV UTF-8"
        raise SourceError(message, WHERE)
    text = Path(source.path).read_bytes().decode(source.encoding, "replace")
    return text.removeprefix("\ufeff").encode("utf-8", "replace")


def check_content(source: "Source", content: mmap.mmap | bytes) -> None:
    """Raise SourceError unless this content of a file, in UTF-8, is well-formed."""
    if not any(re.fullmatch(_grammar(source.separator, bare), content) for bare in BARE):
        raise SourceError(f"{ILL_FORMED}: {source.path}", WHERE)


BLOCK = 1 << 23
"""A record of twice as many bytes contains a whole block; one of fewer may."""


def _has_long_record(content: mmap.mmap) -> bool:
    """Whether no record of a well-formed file ends in some whole block of it."""
    quoted = 0
    for start in range(0, len(content) - BLOCK + 1, BLOCK):
        block = content[start : start + BLOCK]
        if not (_ends_record(block[:4096], quoted) or _ends_record(block, quoted)):
            return True
        quoted ^= block.count(b'"') & 1
    return False


def _ends_record(block: bytes, quoted: int) -> bool:
    """Whether a line break stands outside of quotation marks. quoted: 1 if the block begins within them, else 0."""
    return any(b"\n" in part or b"\r" in part for part in block.split(b'"')[quoted::2])


BARE = (rb'[^"\r]*+(?:\r\n[^"\r]*+)*+', rb'[^"\n]*+')
"""Text outside quotation marks, in a file whose lines end with LF or CR LF, or all with CR.

Among line feeds, a single carriage return is a line break to some readers and a character to some writers.
"""


def _grammar(separator: str, bare: bytes) -> bytes:
    """Write the regular expression of a whole file: quoted fields between delimiters or line breaks, and bare text."""
    mark = re.escape(separator.encode())
    begins = rb"(?:\A|(?<=\A\xef\xbb\xbf)|(?<=[\r\n])|(?<=" + mark + rb"))"
    ends = rb"(?=\Z|[\r\n]|" + mark + rb")"
    return rb"(?:" + bare + begins + rb'"[^"]*+(?:""[^"]*+)*+"' + ends + rb")*+" + bare


def escape_file_pattern(path: str) -> str:
    """Escape a path so that DuckDB's file patterns match this file only."""
    return re.sub(r"([\[*?])", r"[\1]", path)


def _spark(source: "Source", engine: Any, names: list[str]) -> Any:
    schema = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in names)
    return engine.read_csv(
        source.path,
        header=True,
        sep=source.separator,
        schema=schema,
        mode="DROPMALFORMED",
        escape='"',
        multiLine=True,  # else a line break within quotes would make two records of one
    )

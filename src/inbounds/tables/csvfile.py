"""CSV files: what their first bytes and their first line say, and the table with every field as text."""

import csv
import re
from typing import TYPE_CHECKING, Any

from inbounds.tables.errors import SourceError

if TYPE_CHECKING:
    from inbounds.tables.source import Source

WHERE = ("source", "path")

DELIMITERS = {";": '";"', "\t": '"\\t"', "|": '"|"'}
"""What else than a comma separates fields, and how a plan writes it."""

FORMATS = {
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an Excel file",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}
"""What the first bytes of a file say that it is; they belong to the format and hold no value."""

UNNAMED = "unnamed_column_"


def header(source: "Source") -> list[str]:
    """The names in the first line of a CSV file; that of an unnamed column, such as a pandas index, is empty."""
    _check_format(source.path)
    with open(source.path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
        names = next(csv.reader(file, delimiter=source.separator), [])
    _check_letters(names)
    named = [name for name in names if name.strip()]
    if not named or len(set(named)) < len(named):
        raise SourceError("must begin with a line of different column names", WHERE)
    if len({name.casefold() for name in named}) < len(named):
        raise SourceError("has columns whose names differ in capitals alone, the same to an engine; rename one", WHERE)
    if len(names) == 1:
        _check_delimiter(names[0])
    return [name if name.strip() else "" for name in names]


def _check_format(path: str) -> None:
    with open(path, "rb") as file:
        first = file.read(4)
    for mark, what in FORMATS.items():
        if first.startswith(mark):
            raise SourceError(f"names {what}, whatever its ending says; save it as CSV in UTF-8: {path}", WHERE)


def _check_letters(names: list[str]) -> None:
    """The header line is part of the schema; whether the records are UTF-8 as well is data and is not asked."""
    if any("\udc80" <= letter <= "\udcff" for name in names for letter in name):
        raise SourceError("begins with a line that is not in UTF-8; save the file as CSV UTF-8", WHERE)


def _check_delimiter(name: str) -> None:
    for mark, written in DELIMITERS.items():
        if mark in name:
            way = "name the file .tsv" if mark == "\t" else f"give --delimiter {written}"
            raise SourceError(
                f"has one column only; is the delimiter {written}? write delimiter = {written} under [source] of the "
                f"plan, or {way} in one line",
                WHERE,
            )


def read(source: "Source", engine: Any) -> Any:
    """The file as a table: all fields as text, records with too few fields left out, unnamed columns ignored."""
    found = header(source)
    names = [name or _unused(k, found) for k, name in enumerate(found)]
    table = (_spark if source.engine == "spark" else _duckdb)(source, engine, names)
    return table.select(*(name for name in found if name))


def _unused(k: int, names: list[str]) -> str:
    name = f"{UNNAMED}{k}"
    while name in names:
        name += "_"
    return name


def _duckdb(source: "Source", engine: Any, names: list[str]) -> Any:
    """Read from the first byte to the last: parts read side by side begin with a guess whether they are in quotes."""
    return engine.read_csv(
        literally(source.path),
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


def literally(path: str) -> str:
    """The path of one file, as a pattern that matches nothing else."""
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

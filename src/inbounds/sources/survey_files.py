"""Files of SPSS, Stata and SAS, read by `pyreadstat` into columns of text.

A release takes from such a file the names of its columns, its encoding, and which numbers are dates: what a database
also declares. Value labels and missing codes are often made from the data, so they are never used; `inbounds init`
copies them into a plan for its owner to confirm.

Texts are read as bytes and decoded here, with question marks for what is not in the file's encoding: the library would
stop at such a text. So every cell becomes a text or a missing one, and no cell can make reading fail.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.schema.errors import SourceError
from inbounds.schema.text import LONGEST_TEXT
from inbounds.sources.xlsx_files import number_text, time_text
from inbounds.trusted.limits import LONGEST, MOST_ROWS_PER_BYTE

if TYPE_CHECKING:
    from inbounds.sources.open import Source

WHERE = ("source", "path")

BYTES = "LATIN1"
"""The encoding in which every byte is a letter, so that no text is refused; see `_decode`."""

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Functions of `pyreadstat` by the endings of files."""

_SPSS_TIME = re.compile(r"(A|E|J|S)?DATE[0-9.]*|(DATETIME|YMDHMS)[0-9.]*")
_STATA_TIME = re.compile(r"%-?(td|tc|d).*")
_SAS_DAY = re.compile(r"(DATE|(YYMMDD|MMDDYY|DDMMYY|YYMM|MMYY)[BCDNPS]?|MONYY|WEEKDATX?|WORDDATX?|[EB]8601DA)[0-9.]*")
_SAS_TIME = re.compile(r"(DATETIME|[EB]8601DT)[0-9.]*")


@dataclass(frozen=True)
class SurveyColumn:
    """A column as its file describes it. labels: texts of its codes. missing: codes, or pairs of the ends of a range.

    seconds: how many seconds a unit of its dates has, 0 for a column that holds none.
    """

    name: str
    stored: str
    title: str
    is_number: bool
    labels: dict[str, str] = field(default_factory=dict)
    missing: tuple[Any, ...] = ()
    seconds: float = 0


def read_names(source: "Source") -> list[str]:
    """Read the column names of a file."""
    return [column.name for column in describe_columns(source)]


def describe_columns(source: "Source") -> list[SurveyColumn]:
    """Read what the file says about its columns; no record is read."""
    ending, encoding = Path(source.path).suffix.lower(), _encoding(source.path)
    _, meta = _read(source.path, metadataonly=True)
    if (meta.number_rows or 0) > MOST_ROWS_PER_BYTE * Path(source.path).stat().st_size:
        raise SourceError(f"must be a file with at most {MOST_ROWS_PER_BYTE} rows for each of its bytes", WHERE)
    columns = []
    for name, title in zip(meta.column_names, meta.column_labels, strict=True):
        labels = meta.variable_value_labels.get(name, {})
        columns.append(
            SurveyColumn(
                _decode(name, encoding),
                name,
                _decode(title or "", encoding),
                meta.readstat_variable_types[name] != "string",
                {_code(code): _decode(str(label), encoding) for code, label in labels.items()},
                tuple(_missing(one) for one in meta.missing_ranges.get(name, ())),
                _time_unit(ending, meta.original_variable_types.get(name) or ""),
            )
        )
    return columns


def read_columns(source: "Source", wanted: list[str]) -> dict[str, list[str | None]]:
    """Read the wanted columns of all records."""
    columns = {column.name: column for column in describe_columns(source)}
    encoding, first = _encoding(source.path), _first_day(source.path)
    cells, _ = _read(source.path, usecols=[columns[name].stored for name in wanted])
    return {
        name: [_text(cell, columns[name].seconds, first, encoding) for cell in cells[columns[name].stored]]
        for name in wanted
    }


def _read(path: str, **options: Any) -> tuple[Any, Any]:
    import pyreadstat

    if Path(path).stat().st_size > LONGEST:
        raise SourceError(f"must be a file of at most {LONGEST} bytes; save it as CSV UTF-8 or Parquet", WHERE)
    reader: Callable[..., Any] = getattr(pyreadstat, READERS[Path(path).suffix.lower()])
    if reader is pyreadstat.read_sav:
        options["user_missing"] = True
    return reader(path, encoding=BYTES, output_format="dict", disable_datetime_conversion=True, **options)  # type: ignore[no-any-return]


# --- cells ------------------------------------------------------------------------------------------------


def _text(cell: Any, seconds: float, first: datetime, encoding: str) -> str | None:
    """Return the text of a cell, or None; never fails."""
    if isinstance(cell, str):
        return _decode(cell, encoding)[: LONGEST_TEXT + 1]
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    if not seconds:
        return number_text(float(cell))
    try:
        return time_text(first + timedelta(seconds=round(cell * seconds)))
    except (OverflowError, ValueError):
        return None


def _decode(text: str, encoding: str) -> str:
    """Decode the bytes that each letter stands for; what is not in the encoding becomes a question mark."""
    return text.encode("latin-1", "replace").decode(encoding, "replace")


def _code(code: Any) -> str:
    return code if isinstance(code, str) else number_text(float(code)) or str(code)


def _missing(one: Any) -> Any:
    """Return a missing code, or the ends of a range of them."""
    low, high = (one["lo"], one["hi"]) if isinstance(one, dict) else (one, one)
    return _code(low) if low == high else (_code(low), _code(high))


def _time_unit(ending: str, shown: str) -> float:
    """Return how many seconds a unit of a column has by the format in which it is shown; 0 if that is no date."""
    shown = shown.upper() if ending != ".dta" else shown
    if ending in (".sav", ".zsav"):
        return 1 if _SPSS_TIME.fullmatch(shown) else 0
    if ending == ".dta":
        return (0.001 if "tc" in shown else 86_400) if _STATA_TIME.fullmatch(shown) else 0
    return 86_400 if _SAS_DAY.fullmatch(shown) else 1 if _SAS_TIME.fullmatch(shown) else 0


def _first_day(path: str) -> datetime:
    return datetime(1582, 10, 14) if Path(path).suffix.lower() in (".sav", ".zsav") else datetime(1960, 1, 1)


def _encoding(path: str) -> str:
    """Return the encoding that the file states; Stata's follows from the version of the format."""
    import codecs

    import pyreadstat

    ending = Path(path).suffix.lower()
    if ending == ".dta":
        with open(path, "rb") as file:
            start = file.read(32)
        release = int(start[28:31]) if start.startswith(b"<stata_dta>") and start[28:31].isdigit() else 0
        return "utf-8" if release >= 118 else "windows-1252"
    _, meta = getattr(pyreadstat, READERS[ending])(path, metadataonly=True)
    try:
        return codecs.lookup(meta.file_encoding or "windows-1252").name
    except LookupError:
        return "utf-8"

"""Sheets of `.xlsx` files, read cell by cell into columns of text.

Nothing in a spreadsheet counts as declared but the names of its sheets and one row of column names. So every cell
becomes a text, whatever it is: a number its digits, a date 2024-01-31, a formula the value that it had when the file
was saved. What has no text (an error such as #N/A, a date beyond the calendar) is missing. The plan alone says what a
column holds.

A library would stop at some cells. Here no cell can make reading fail: `_Cells.text` has a result for each. A damaged
archive or XML that is not well-formed is refused, and so is an archive that unfolds to more than its length allows.
"""

import math
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from inbounds.schema.errors import SourceError
from inbounds.schema.text import LONGEST_TEXT
from inbounds.trusted.limits import LONGEST, MOST_UNFOLDED

if TYPE_CHECKING:
    from inbounds.sources.open import Source

WHERE = ("source", "path")

MOST_MEMBERS = 1 << 14
"""Files in an archive."""

MOST_COLUMNS = 1 << 14
"""Columns of a sheet, as of Excel itself."""

LARGEST_WHOLE = 1 << 53
"""Whole numbers below this size are exact in a cell."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_PLACE = re.compile(r"([A-Z]{1,3})[0-9]+")
_UNFORMATTED = re.compile(r'"[^"]*"|\\.|_.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
"""Numbers of the built-in formats of dates and times."""

Row = dict[int, str | None]
"""The cells of a row by their column, the first 0."""


class _Enough(Exception):
    """Raised by a handler when no more rows are wanted."""


def read_names(source: "Source") -> list[str]:
    """Read the column names of a sheet; unnamed columns are "".

    Raises SourceError for a file that is no workbook, a sheet that is not named and not the only one, and names that
    are repeated or missing.
    """
    with _open_archive(source.path) as archive:
        return _header(archive, source)


def read_columns(source: "Source", wanted: list[str]) -> dict[str, list[str | None]]:
    """Read the wanted columns below the row of names; a row without any cell under a name is no record."""
    with _open_archive(source.path) as archive:
        header = _header(archive, source)
        places = [k for k, name in enumerate(header) if name]
        columns: dict[str, list[str | None]] = {name: [] for name in wanted}
        targets = [(header.index(name), columns[name]) for name in wanted]

        def take(number: int, row: Row) -> None:
            if number > source.header_row and any(row.get(k) not in (None, "") for k in places):
                for place, target in targets:
                    target.append(row.get(place))

        _read_rows(archive, source, take)
    return columns


def sheet_names(path: str) -> list[str]:
    """Return the names of the sheets, in their order."""
    with _open_archive(path) as archive:
        return list(_sheets(archive))


def _header(archive: zipfile.ZipFile, source: "Source") -> list[str]:
    found: list[Row] = []

    def take(number: int, row: Row) -> None:
        if number == source.header_row:
            found.append(row)
        if number >= source.header_row:
            raise _Enough

    _read_rows(archive, source, take)
    row = found[0] if found else {}
    names = [" ".join((row.get(k) or "").split()) for k in range(max(row, default=-1) + 1)]
    named = [name for name in names if name]
    if not named or len({name.casefold() for name in named}) < len(named):
        message = (
            f"must have different column names in row {source.header_row}; if they are further down, write header_row "
            "under [source]"
        )
        raise SourceError(message, ("source", "header_row"))
    return names


# --- the archive ------------------------------------------------------------------------------------------


@contextmanager
def _open_archive(path: str) -> Iterator[zipfile.ZipFile]:
    """Open the archive; raise SourceError without a reason from its content if it is damaged or unfolds to too much."""
    damaged = False
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, path)
            yield archive
    except SourceError:
        raise
    except Exception:  # its message may quote the file
        damaged = True
    if damaged:
        raise SourceError(f"must be an .xlsx file that is not damaged: {path}", WHERE)


def _check_sizes(archive: zipfile.ZipFile, path: str) -> None:
    """Raise SourceError for an archive of too many files, or one that unfolds to too much, as it states itself."""
    members = archive.infolist()
    unfolded, folded = sum(one.file_size for one in members), sum(one.compress_size for one in members)
    if len(members) > MOST_MEMBERS or unfolded > min(2 * LONGEST, MOST_UNFOLDED * (folded + 1)):
        message = (
            f"must be an .xlsx file that unfolds to at most {2 * LONGEST} bytes and {MOST_UNFOLDED} times its length; "
            f"save it as CSV UTF-8: {path}"
        )
        raise SourceError(message, WHERE)


def _parse(archive: zipfile.ZipFile, name: str, start: Callable[..., None], end: Any = None, text: Any = None) -> None:
    """Parse a member of the archive. Handlers see names without their namespace; a document type is refused."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def refuse(*_: Any) -> None:
        raise ValueError("a workbook has no document type")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, attributes: start(tag.rpartition(" ")[2], attributes)
    if end is not None:
        parser.EndElementHandler = lambda tag: end(tag.rpartition(" ")[2])
    if text is not None:
        parser.CharacterDataHandler = text
    with archive.open(name) as member:
        parser.ParseFile(member)


def _sheets(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the member of every sheet of cells, by its name."""
    targets, sheets = dict[str, str](), dict[str, str]()

    def relation(tag: str, attributes: dict[str, str]) -> None:
        if tag == "Relationship" and attributes.get("Type", "").endswith("/worksheet"):
            target = attributes["Target"]
            targets[attributes["Id"]] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"

    def sheet(tag: str, attributes: dict[str, str]) -> None:
        if tag == "sheet":
            reference = next((value for key, value in attributes.items() if key.endswith("relationships id")), "")
            if reference in targets:
                sheets[attributes["name"]] = targets[reference]

    _parse(archive, "xl/_rels/workbook.xml.rels", relation)
    _parse(archive, "xl/workbook.xml", sheet)
    return sheets


def _member(archive: zipfile.ZipFile, source: "Source") -> str:
    """Return the member of the sheet that the source names, or of the only one."""
    sheets = _sheets(archive)
    if source.table and source.table not in sheets:
        raise SourceError(f"must be one of the sheets {', '.join(sheets)}, got {source.table!r}", ("source", "table"))
    if not source.table and len(sheets) != 1:
        names = ", ".join(f'"{name}"' for name in sheets)
        first = next(iter(sheets), "")
        raise SourceError(f'must name one of the sheets: {names}; for example --table "{first}"', ("source", "table"))
    return sheets[source.table] if source.table else next(iter(sheets.values()))


# --- cells ------------------------------------------------------------------------------------------------


class _Cells:
    """What cells refer to: shared texts, styles of dates, and the first day of the calendar.

    decimal: the mark with which numbers are written.
    """

    def __init__(self, archive: zipfile.ZipFile, decimal: str) -> None:
        self.texts, self.decimal = list[str](), decimal
        self.dated, self.first = _date_styles(archive), datetime(1899, 12, 30)
        if "xl/sharedStrings.xml" in archive.namelist():
            self._read_texts(archive)

        def settings(tag: str, attributes: dict[str, str]) -> None:
            if tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                self.first = datetime(1904, 1, 1)

        _parse(archive, "xl/workbook.xml", settings)

    def _read_texts(self, archive: zipfile.ZipFile) -> None:
        """Read the shared texts; spoken forms of Japanese texts are no part of them."""
        parts: list[str] = []
        inside = {"t": 0, "rPh": 0}

        def start(tag: str, _: Any) -> None:
            if tag == "si":
                parts.clear()
            elif tag in inside:
                inside[tag] += 1

        def end(tag: str) -> None:
            if tag == "si":
                self.texts.append("".join(parts)[: LONGEST_TEXT + 1])
            elif tag in inside:
                inside[tag] -= 1

        def text(letters: str) -> None:
            if inside["t"] and not inside["rPh"]:
                parts.append(letters)

        _parse(archive, "xl/sharedStrings.xml", start, end, text)

    def text(self, kind: str, style: str, value: str) -> str | None:
        """Return the text of a cell, or None; never fails."""
        if kind == "s":
            k = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else -1
            return self.texts[k] if 0 <= k < len(self.texts) else None
        if kind in ("str", "inlineStr"):
            return value[: LONGEST_TEXT + 1]
        if kind == "b":
            return {"1": "true", "0": "false"}.get(value)
        if kind == "d":
            return _iso_text(value)
        if kind not in ("", "n") or len(value) > 400 or not _NUMBER.fullmatch(value):
            return None
        number = float(value)
        return self._time_text(number) if style in self.dated else number_text(number, self.decimal)

    def _time_text(self, days: float) -> str | None:
        """Return the date of a day number, with its time if it is no midnight; None beyond the calendar."""
        if not 0 <= days < 2_958_466:
            return None
        seconds = round(days * 86_400)
        early = self.first.year == 1899 and days < 60  # the calendar of Excel has a 29 February 1900
        try:
            return time_text(self.first + timedelta(days=early, seconds=seconds))
        except OverflowError:
            return None


def number_text(number: float, decimal: str = "") -> str | None:
    """Return the digits of a number, whole numbers without a point; None for NaN and infinities."""
    if not math.isfinite(number):
        return None
    if number.is_integer() and abs(number) < LARGEST_WHOLE:
        return str(int(number))
    return repr(number).replace(".", decimal or ".")


def time_text(time: datetime) -> str:
    """Return 2024-01-31, or 2024-01-31 12:30:00 if it is no midnight."""
    return time.date().isoformat() if time == datetime(time.year, time.month, time.day) else time.isoformat(" ")


def _iso_text(value: str) -> str | None:
    try:
        return date.fromisoformat(value).isoformat() if len(value) == 10 else time_text(datetime.fromisoformat(value))
    except (ValueError, TypeError):
        return None


def _date_styles(archive: zipfile.ZipFile) -> set[str]:
    """Return the numbers of the styles in which a number is a date or a time of day."""
    formats, styles, inside = set(_DATE_FORMATS), list[int](), [False]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "numFmt":
            number, code = int(attributes["numFmtId"]), _UNFORMATTED.sub("", attributes.get("formatCode", ""))
            dated = re.search(r"[dmyhs]", code.split(";")[0], re.IGNORECASE) and "[" not in code
            (formats.add if dated else formats.discard)(number)
        elif tag == "cellXfs":
            inside[0] = True
        elif tag == "xf" and inside[0]:
            styles.append(int(attributes.get("numFmtId", "0")))

    def end(tag: str) -> None:
        inside[0] = inside[0] and tag != "cellXfs"

    if "xl/styles.xml" not in archive.namelist():
        return set()
    _parse(archive, "xl/styles.xml", start, end)
    return {str(k) for k, number in enumerate(styles) if number in formats}


def _read_rows(archive: zipfile.ZipFile, source: "Source", take: Callable[[int, Row], None]) -> None:
    """Call `take` with the number and the cells of every row of the sheet, until it raises _Enough."""
    cells, parts = _Cells(archive, source.decimal), list[str]()
    row: Row = {}
    number, place, kind, style, inside = 0, -1, "", "", 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal number, place, kind, style, inside, row
        if tag == "row":
            stated = attributes.get("r", "")
            number = int(stated) if stated.isdecimal() and len(stated) < 8 else number + 1
            place, row = -1, {}
        elif tag == "c":
            place = _column(attributes.get("r", ""), place + 1)
            kind, style = attributes.get("t", ""), attributes.get("s", "")
            parts.clear()
        elif tag in ("v", "t"):
            inside += 1
        elif tag == "rPh":
            inside -= 1

    def end(tag: str) -> None:
        nonlocal inside
        if tag == "row":
            take(number, row)
        elif tag == "c":
            if parts and place < MOST_COLUMNS:
                row[place] = cells.text(kind, style, "".join(parts))
        elif tag in ("v", "t"):
            inside -= 1
        elif tag == "rPh":
            inside += 1

    def text(letters: str) -> None:
        if inside > 0:
            parts.append(letters)

    try:
        _parse(archive, _member(archive, source), start, end, text)
    except _Enough:
        return


def _column(place: str, following: int) -> int:
    """Return the column of a place such as B7, which is 1; the following column if the place is not stated."""
    match = _PLACE.fullmatch(place)
    if match is None:
        return following
    number = 0
    for letter in match[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1

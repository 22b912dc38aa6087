"""Other forms of a released table: an Excel workbook, CSV for spreadsheets, SDMX-CSV, and a page for the public.

They are made from the table and its record alone, so they cost nothing, and they are no releases: what can be verified
is the table that stands beside its record. Numbers in them are those of the table, in a workbook to sixteen digits; how
many it shows follows from the error.

    name.xlsx        three sheets: the table, how exact it is, what was promised
    name.sdmx.csv    SDMX-CSV 2.0, one row for each number
    name.csv         the table, with a byte order mark if asked for
    name.html        a page for the public (`public_page`)

Rows of a hierarchy are sorted so that every part follows its whole. Texts that a spreadsheet would take for formulas
are written as texts.
"""

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from inbounds.optional import import_optional
from inbounds.plan.load import parse_columns
from inbounds.plan.plan import LEVEL
from inbounds.releases.public_page import public_page
from inbounds.releases.row_order import row_paths, sort_rows
from inbounds.releases.totals import estimate_totals
from inbounds.releases.write import encode_table_file, escape_formula, record_path
from inbounds.schema.record_types import AboutRecord, MechanismRecord, ReleaseRecord
from inbounds.schema.text import split_statement
from inbounds.statistics import Statistic, StatisticContext
from inbounds.statistics.entries import statistic_from_json

WORKBOOK, SDMX, CSV, PAGE = ".xlsx", ".sdmx.csv", ".csv", ".html"

BOM = "\ufeff".encode()
"""The byte order mark, by which some spreadsheets recognize UTF-8."""


def export_form(target: Path) -> str:
    """Return the form that a file's name asks for; raise ValueError for another ending."""
    name = target.name.lower()
    for form in (WORKBOOK, SDMX, CSV, PAGE):  # a name that ends in .sdmx.csv ends in .csv too
        if name.endswith(form):
            return form
    raise ValueError(f"an export must end in {WORKBOOK}, {SDMX}, {CSV} or {PAGE}, got {target.name!r}")


def encode_export(
    record: ReleaseRecord,
    table: Any,
    target: Path,
    *,
    bom: bool = False,
    structure: str = "",
    about: AboutRecord | None = None,
) -> bytes:
    """Return a released table in another form, as bytes.

    record: with the digest of the table's file. table: a PyArrow table. target: its name says the form. bom: whether a
    CSV file begins with a byte order mark. structure: the dataflow of SDMX-CSV, such as "ESTAT:NA_MAIN(1.6.0)". about:
    title, author, contact and notes on a page for the public, instead of those in the record.
    """
    form = export_form(target)
    if bom and form != CSV:
        raise ValueError(f"a byte order mark is for {CSV} files, got {target.name!r}; leave bom out")
    if bool(structure) != (form == SDMX):
        raise ValueError(
            "structure must be given for SDMX-CSV, and for nothing else: the dataflow as AGENCY:ID(VERSION), such as "
            f"ESTAT:NA_MAIN(1.6.0); got {structure!r} for {target.name!r}"
        )
    if form != PAGE and about is not None:
        raise ValueError(f"about must be given for a page for the public only, a file that ends in {PAGE}")
    if form == PAGE:
        return public_page(record, table, about).encode()
    rows = table.take(sort_rows(record, table))
    if form == WORKBOOK:
        return write_workbook(record, rows)
    if form == SDMX:
        return write_sdmx(record, rows, structure)
    return (BOM if bom else b"") + encode_table_file(rows, CSV)


# --- columns ----------------------------------------------------------------------------------------------


KEY, SIZE, NUMBER, PART, END, ERROR = "key", "size", "number", "part", "end", "error"


@dataclass(frozen=True)
class ExportColumn:
    """A column of the table.

    holds: NUMBER for a statistic's number with its stated error, PART for one without: a margin, or a drawn number that
    another is computed from. error: the column of its error. of: for the end of an interval, the column with the
    number.
    """

    name: str
    holds: str
    error: str = ""
    of: str = ""


def list_columns(record: ReleaseRecord, table: Any) -> list[ExportColumn]:
    """Return what each column of the table holds, in its order."""
    plan = record["plan"]
    context = StatisticContext(parse_columns(plan["columns"]), plan["sizes"] == "public")
    known = {name: ExportColumn(name, KEY) for name in (LEVEL, *plan["by"])}
    for statistic in map(statistic_from_json, plan["statistics"]):
        cells, margins = statistic.cells(context), statistic.margin_cells(context)
        errors = [f"{name}_error" for name in statistic.error_cells(context)]
        error_of = dict(zip(cells, errors if len(errors) == len(cells) else errors * len(cells), strict=True))
        beside = (*_parts(statistic, context), *margins)
        known |= {name: ExportColumn(name, PART, errors[0]) for name in beside}
        known |= {name: ExportColumn(name, NUMBER, error) for name, error in error_of.items()}
        for name in (*cells, *margins):
            error = error_of.get(name, errors[0])
            known |= {f"{name}_{end}": ExportColumn(f"{name}_{end}", END, error, name) for end in ENDS}
        known |= {error: ExportColumn(error, ERROR, error) for error in errors}
    return [known.get(name, ExportColumn(name, SIZE)) for name in table.column_names]


ENDS = ("low", "high")


def _parts(statistic: Statistic, context: StatisticContext) -> list[str]:
    derived = statistic.derive(context)
    return [] if derived is None else [f"{statistic.name}_{part}" for part in derived.parts]


# --- a workbook -------------------------------------------------------------------------------------------


HEAD_FILL, PARENT_FILL = "FF1F3A5F", "FFE8EEF5"
"""Colours of the head, and of rows that have parts."""

WIDEST, NARROWEST = 60, 9
"""Widths of columns, in characters."""

NOTE_WIDTH = 100
"""Width of a column of sentences."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that a workbook cannot hold."""


def write_workbook(record: ReleaseRecord, table: Any) -> bytes:
    """Write an Excel workbook (extra `sheets`): the table, how exact it is, and what was promised."""
    openpyxl = import_optional("openpyxl", "sheets")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Table"
    _write_table(record, table, sheet)
    _write_lines(book.create_sheet("How exact"), _exactness(record, table))
    _write_lines(book.create_sheet("What was promised"), _promise(record))
    book.properties.creator = f"inbounds {record['versions'].get('inbounds', '')}".strip()
    book.properties.created = book.properties.modified = datetime.fromisoformat(record["time"]).replace(tzinfo=None)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _write_table(record: ReleaseRecord, table: Any, sheet: Any) -> None:
    styles = import_optional("openpyxl.styles", "sheets")
    columns = list_columns(record, table)
    depths = [len(path) for path in row_paths(record, table)] if "hierarchy" in record["plan"] else []
    lowest = max(depths, default=0)
    _head(sheet, 1, table.column_names)
    for place, column in enumerate(columns, start=1):
        values = table[column.name].to_pylist()
        shown = number_format(column, table)
        for row, value in enumerate(values, start=2):
            cell = _write_cell(sheet, row, place, value)
            if shown and isinstance(value, int | float):
                cell.number_format = shown
            if depths and depths[row - 2] < lowest:
                cell.fill = styles.PatternFill("solid", start_color=PARENT_FILL)
                cell.font = styles.Font(bold=True)
        _set_width(sheet, place, [column.name, *values[:1000]], WIDEST)
    keys = sum(column.holds == KEY for column in columns)
    sheet.freeze_panes = sheet.cell(2, keys + 1)
    sheet.auto_filter.ref = sheet.dimensions
    sheet.print_title_rows = "1:1"
    _fit_page(sheet)


def number_format(column: ExportColumn, table: Any) -> str:
    """Return how a spreadsheet shows the numbers of a column; their values stay exact. Empty for other columns.

    A number is shown to the leading digit of the smallest error that is stated for it, since later ones say nothing;
    the error itself to one digit more.
    """
    values = [value for value in table[column.name].to_pylist() if isinstance(value, int | float)]
    if column.holds in (KEY, SIZE) or not values:
        return ""
    if all(isinstance(value, int) for value in values):
        return "#,##0"
    if column.holds == PART:
        return ""
    errors = [e for e in table[column.error].to_pylist() if e is not None and 0 < e < math.inf]
    decimals = decimals_worth(min(errors)) if errors else 0
    decimals += column.holds == ERROR
    return "#,##0" + ("." + "0" * decimals if decimals else "")


def decimals_worth(error: float) -> int:
    """Return the decimals up to the leading digit of an error.

    >>> [decimals_worth(error) for error in (26.0, 2.6, 0.26, 0.026)]
    [0, 0, 1, 2]
    """
    return max(0, -math.floor(math.log10(error)))


def _write_cell(sheet: Any, row: int, place: int, value: Any) -> Any:
    """Write a value; a text is a text, also if it begins like a formula, and is shown as one after it was edited."""
    cell = sheet.cell(row, place)
    if isinstance(value, str):
        cell.value = _CONTROL.sub("\ufffd", value)
        cell.data_type = "s"
        cell.quotePrefix = escape_formula(value) != value
    else:
        cell.value = value
    return cell


def _head(sheet: Any, row: int, names: Sequence[str]) -> None:
    styles = import_optional("openpyxl.styles", "sheets")
    for place, name in enumerate(names, start=1):
        cell = _write_cell(sheet, row, place, name)
        cell.font = styles.Font(bold=True, color="FFFFFFFF")
        cell.fill = styles.PatternFill("solid", start_color=HEAD_FILL)
        cell.alignment = styles.Alignment(wrap_text=True, vertical="top")


def _set_width(sheet: Any, place: int, values: Sequence[Any], widest: int) -> None:
    letter = import_optional("openpyxl.utils", "sheets").get_column_letter(place)
    longest = max(len(f"{value:.6g}" if isinstance(value, float) else str(value)) for value in values)
    sheet.column_dimensions[letter].width = min(max(longest + 2, NARROWEST), widest)


def _fit_page(sheet: Any) -> None:
    """Print on pages as wide as the sheet."""
    sheet.page_setup.orientation = "landscape"
    sheet.sheet_properties.pageSetUpPr = import_optional("openpyxl.worksheet.properties", "sheets").PageSetupProperties(
        fitToPage=True
    )
    sheet.page_setup.fitToHeight = 0


@dataclass(frozen=True)
class Heading:
    """A heading within a sheet of lines."""

    text: str


Line = Heading | tuple[Any, ...]
"""A heading, or the cells of a line; a head of columns is a tuple within a tuple."""


def _write_lines(sheet: Any, lines: Iterator[Line]) -> None:
    styles = import_optional("openpyxl.styles", "sheets")
    for row, line in enumerate(lines, start=1):
        if isinstance(line, Heading):
            _write_cell(sheet, row, 1, line.text).font = styles.Font(bold=True, size=14)
        elif len(line) == 1 and isinstance(line[0], tuple):
            _head(sheet, row, line[0])
        else:
            for place, value in enumerate(line, start=1):
                cell = _write_cell(sheet, row, place, value)
                cell.alignment = styles.Alignment(wrap_text=True, vertical="top")
                if isinstance(value, float):
                    cell.number_format = "#,##0" + "." * bool(d := decimals_of(value)) + "0" * d
            if len(line) == 1:
                sheet.merge_cells(start_row=row, end_row=row, start_column=1, end_column=5)
                sheet.row_dimensions[row].height = 15 * (1 + len(str(line[0])) // NOTE_WIDTH)
    for place, width in enumerate((34, 18, 18, 18, 18), start=1):
        letter = import_optional("openpyxl.utils", "sheets").get_column_letter(place)
        sheet.column_dimensions[letter].width = width
    _fit_page(sheet)


def decimals_of(value: float) -> int:
    """Return the decimals that show a number to three digits."""
    return 0 if value == 0 or not math.isfinite(value) else max(0, 2 - math.floor(math.log10(abs(value))))


def _exactness(record: ReleaseRecord, table: Any) -> Iterator[Line]:
    """Yield the lines about accuracy."""
    plan = record["plan"]
    yield Heading("How exact these numbers are")
    yield (
        "Every number is the true one with random noise, which protects each person. The error says by how much such a "
        "number is off on average. It follows from the plan alone, not from the data.",
    )
    if plan["credible_level"] is not None:
        yield (
            f"The columns that end in _low and _high are the ends of an interval: it holds the true number with "
            f"probability {plan['credible_level']}, if all answers are equally likely beforehand, or as the "
            "lines below say.",
        )
    size = "group size" if plan["sizes"] == "public" else "largest size"
    yield (("number", size, "how many", "expected error", "error of a fixed guess"),)
    for line in record["mechanisms"]:
        yield (_line_name(line), line["size"], line["groups"], line["expected_error"], line.get("constant_error"))
    sums = [] if plan["groups"] <= 1 else [one for one in estimate_totals(record, table) if one.sum is not None]
    if sums:
        yield Heading("Totals over all groups")
        yield ("Estimated from the released numbers without bias. Adding up the table would add its bias too.",)
        yield (("column", "total", "standard error"),)
        for total in sums:
            assert total.sum is not None
            yield total.column, total.sum.estimate, total.sum.standard_error
    yield Heading("How records are counted")
    yield from ((text,) for text in record.get("values", ()))
    yield from ((text,) for text in record.get("useless", ()))


def _line_name(line: MechanismRecord) -> str:
    return f"{line['statistic']} ({line['layer']})" if "layer" in line else line["statistic"]


def _promise(record: ReleaseRecord) -> Iterator[Line]:
    """Yield the lines about privacy, and where the table is that can be verified."""
    plan, epsilon = record["plan"], record["epsilon"]
    yield Heading("What was promised to the people in the data")
    yield from ((text,) for text in split_statement(record["statement"]))
    yield (("", "value"),)
    yield "epsilon spent", epsilon["spent"]
    yield "epsilon of the plan", epsilon["total"]
    if "delta" in epsilon:
        yield "delta of the plan", epsilon["delta"]
    yield "data", plan["source"].get("name", "")
    if "edition" in plan:
        yield "edition", plan["edition"]
    yield "released", record["time"]
    yield Heading("How epsilon was divided")
    yield (("number", "spent", "drawn at"),)
    for line in record["account"]:
        yield line["statistic"], line["spent"], line["draw_epsilon"]
    yield from ((text,) for text in record["composition"])
    yield Heading("The table that can be verified")
    written = record.get("table")
    if written is not None:
        yield (
            f"This workbook was made from {written['file']}. That file and its record can be checked by anyone: "
            f"inbounds verify {record_path(Path(written['file'])).name}",
        )
        yield "SHA-256 of the table", written["sha256"]
    yield "SHA-256 of the plan", record["plan_sha256"]


# --- SDMX-CSV ---------------------------------------------------------------------------------------------


_STRUCTURE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*:[A-Za-z0-9_@$-]+\(\d+(\.\d+){0,2}\)")

TOTAL = "_T"
"""The code of a dimension in rows that are about all its values."""

FIXED = ("STRUCTURE", "STRUCTURE_ID", "ACTION", "INDICATOR", "TIME_PERIOD", "OBS_VALUE", "EXPECTED_ERROR")
FIXED_ENDS = ("LOWER_BOUND", "UPPER_BOUND")


def write_sdmx(record: ReleaseRecord, table: Any, structure: str) -> bytes:
    """Write SDMX-CSV 2.0: a row for each released number, with its expected error and the ends of its interval.

    Dimensions are the columns that name a group, INDICATOR, and TIME_PERIOD if the plan has an edition. Keys that a
    spreadsheet would take for a formula, and the key "_T", which stands for all, are refused.
    """
    if not _STRUCTURE.fullmatch(structure):
        raise ValueError(f"structure must be AGENCY:ID(VERSION), such as ESTAT:NA_MAIN(1.6.0), got {structure!r}")
    plan, columns = record["plan"], list_columns(record, table)
    by, edition = plan["by"], plan.get("edition", "")
    dimensions = _name_dimensions(by)
    ends = {(column.of, column.name.removeprefix(f"{column.of}_")): column.name for column in columns if column.of}
    head = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *dimensions, "INDICATOR", *(["TIME_PERIOD"] if edition else [])]
    head += ["OBS_VALUE", "EXPECTED_ERROR", *(FIXED_ENDS if ends else ())]
    keys = [[_code(name, key) for key in table[name].to_pylist()] for name in by]
    lists: dict[str, list[Any]] = {name: [] for name in head}
    for column in columns:
        if column.holds not in (NUMBER, PART):
            continue
        values, errors = table[column.name].to_pylist(), table[column.error].to_pylist()
        bounds = [table[ends[column.name, end]].to_pylist() if (column.name, end) in ends else None for end in ENDS]
        for row, value in enumerate(values):
            if value is None:
                continue
            own: list[Any] = ["dataflow", structure, "I", *(key[row] for key in keys), _code("INDICATOR", column.name)]
            own += [edition] if edition else []
            own += [value, errors[row] if column.holds == NUMBER else None]
            own += [None if bound is None else bound[row] for bound in bounds] if ends else []
            for name, cell in zip(head, own, strict=True):
                lists[name].append(cell)
    return _csv_lines([head, *zip(*lists.values(), strict=True)])


def _name_dimensions(by: Sequence[str]) -> list[str]:
    """Return ids of dimensions: letters, digits, _, @, $ and - only."""
    names = [re.sub(r"[^A-Za-z0-9_@$-]", "_", name) for name in by]
    taken = {*FIXED, *FIXED_ENDS}
    if len({*names}) < len(names) or taken & {*names}:
        raise ValueError(
            f"columns of groups must have different names as SDMX ids, none of {', '.join(sorted(taken))}, got "
            f"{', '.join(names)}; rename them in the plan"
        )
    return names


def _code(name: str, key: str | None) -> str:
    if key is None:
        return TOTAL
    if key == TOTAL or escape_formula(key) != key:
        raise ValueError(
            f"{name} must not have the value {key!r}, which means all, or begins like a formula; export .xlsx instead"
        )
    return key


def _csv_lines(rows: Sequence[Sequence[Any]]) -> bytes:
    """Write rows as RFC 4180."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8")

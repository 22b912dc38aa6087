"""Sheets are read cell by cell: every cell has a text or none, and nothing but sheet and header is declared."""

import zipfile
from datetime import date, datetime
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from inbounds.plan.draft import draft_plan
from inbounds.schema.errors import SourceError
from inbounds.sources import xlsx_files
from inbounds.sources.open import Source
from raising import raises_at
from sources.reading import read_cells

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def write_workbook(path: Path, sheets: dict[str, str], texts: str = "", styles: str = "", before: str = "") -> Path:
    """Write a workbook from the XML of the rows of its sheets."""
    names = "".join(f'<sheet name="{escape(n)}" sheetId="{k}" r:id="r{k}"/>' for k, n in enumerate(sheets))
    links = "".join(
        f'<Relationship Id="r{k}" Type="{LINKS}/worksheet" Target="worksheets/s{k}.xml"/>' for k in range(len(sheets))
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml", f'{HEAD}<workbook {MAIN} xmlns:r="{LINKS}"><sheets>{names}</sheets></workbook>'
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f"{HEAD}<Relationships>{links}</Relationships>")
        for k, rows in enumerate(sheets.values()):
            content = f"{HEAD}{before}<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/s{k}.xml", content)
        if texts:
            archive.writestr("xl/sharedStrings.xml", f"{HEAD}<sst {MAIN}>{texts}</sst>")
        if styles:
            archive.writestr("xl/styles.xml", f"{HEAD}<styleSheet {MAIN}>{styles}</styleSheet>")
    return path


def text_cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'


def read(path: Path, **settings) -> dict[str, list[str | None]]:
    return read_cells(Source(path=str(path), **settings))


STYLES = (
    '<numFmts><numFmt numFmtId="170" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="171" formatCode="0.0&quot;days&quot;"/>'
    '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs>'
)
CELLS = {
    "a number": ("<c><v>12.50</v></c>", "12.5"),
    "a whole number": ("<c><v>3.0</v></c>", "3"),
    "a small number": ("<c><v>1E-7</v></c>", "1e-07"),
    "a number too large": ("<c><v>1e999</v></c>", None),
    "a word where a number should be": ("<c><v>five</v></c>", None),
    "endless digits": (f"<c><v>{'9' * 5000}</v></c>", None),
    "digits of other alphabets": ("<c><v>٣</v></c>", None),
    "a truth": ('<c t="b"><v>1</v></c>', "true"),
    "no truth": ('<c t="b"><v>2</v></c>', None),
    "an error": ('<c t="e"><v>#N/A</v></c>', None),
    "a formula with a text": ('<c t="str"><f>A1</f><v>x</v></c>', "x"),
    "a shared text": ('<c t="s"><v>1</v></c>', "rich text"),
    "a shared text that is not there": ('<c t="s"><v>99</v></c>', None),
    "a shared text of no number": ('<c t="s"><v>²</v></c>', None),
    "a date by a built-in style": ('<c s="1"><v>45322</v></c>', "2024-01-31"),
    "a date and time by a style of its own": ('<c s="2"><v>45322.4375</v></c>', "2024-01-31 10:30:00"),
    "a number in a style with words": ('<c s="3"><v>45322</v></c>', "45322"),
    "a date before the calendar": ('<c s="1"><v>-1</v></c>', None),
    "a date after the calendar": ('<c s="1"><v>99999999</v></c>', None),
    "an early date": ('<c s="1"><v>1</v></c>', "1900-01-01"),
    "a style that is not there": ('<c s="77"><v>4</v></c>', "4"),
    "a date in words": ('<c t="d"><v>2024-01-31</v></c>', "2024-01-31"),
    "no date in words": ('<c t="d"><v>31 January</v></c>', None),
    "a cell of an unknown kind": ('<c t="zzz"><v>4</v></c>', None),
}


@pytest.mark.parametrize(("cell", "text"), CELLS.values(), ids=CELLS)
def test_every_cell_has_a_text_or_none(tmp_path, cell, text):
    head = f'<row r="1">{text_cell("A1", "value")}{text_cell("B1", "there")}</row>'
    body = f'<row r="2">{cell}{text_cell("B2", "yes")}</row>'
    shared = "<si><t>one</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>spoken</t></rPh></si>"
    path = write_workbook(tmp_path / "t.xlsx", {"S": head + body}, shared, STYLES)
    assert read(path) == {"value": [text], "there": ["yes"]}


def test_records_lie_below_the_declared_row_of_names_and_empty_rows_are_none(tmp_path):
    rows = (
        f'<row r="1">{text_cell("A1", "A title")}</row>'
        f'<row r="3">{text_cell("A3", " School  name ")}{text_cell("C3", "n")}</row>'
        f'<row r="4">{text_cell("A4", "North")}<c r="C4"><v>1</v></c></row><row r="5"><c r="B5"><v>7</v></c></row>'
        f'<row r="9"><c r="C9"><v>2</v></c></row>'
    )
    path = write_workbook(tmp_path / "t.xlsx", {"S": rows})
    assert read(path, header_row=3) == {"School name": ["North", None], "n": ["1", "2"]}
    with raises_at(SourceError, ("source", "header_row")):
        read(path, header_row=2)


def test_a_draft_is_not_made_of_the_title_of_a_sheet(tmp_path):
    rows = (
        f'<row r="1">{text_cell("A1", "A title")}</row>'
        f'<row r="3">{text_cell("A3", "School")}{text_cell("B3", "n")}</row>'
    )
    path = str(write_workbook(tmp_path / "t.xlsx", {"S": rows}))
    with raises_at(SourceError, ("source", "header_row")):
        draft_plan(Source(path=path), tmp_path / "plan.toml")
    assert "header_row = 3" in draft_plan(Source(path=path, header_row=3), tmp_path / "plan.toml")


def test_one_of_several_sheets_must_be_named(tmp_path):
    sheets = {name: f'<row r="1">{text_cell("A1", name)}</row>' for name in ("one", "two")}
    path = write_workbook(tmp_path / "t.xlsx", sheets)
    assert xlsx_files.sheet_names(str(path)) == ["one", "two"]
    assert read(path, table="two") == {"two": []}
    for table in ("", "three"):
        with raises_at(SourceError, ("source", "table")):
            read(path, table=table)


def test_a_decimal_comma_holds_for_texts_and_numbers_alike(tmp_path):
    rows = f'<row r="1">{text_cell("A1", "n")}</row><row>{text_cell("A2", "4,5")}</row><row><c><v>4.5</v></c></row>'
    assert read(write_workbook(tmp_path / "t.xlsx", {"S": rows}), decimal=",") == {"n": ["4,5", "4,5"]}


@pytest.mark.parametrize("kind", ["no archive", "no workbook", "entities", "cut off", "bomb"])
def test_a_file_that_is_damaged_or_unfolds_to_too_much_is_refused_without_its_words(tmp_path, kind):
    path = tmp_path / "t.xlsx"
    rows = f'<row r="1">{text_cell("A1", "secret")}</row>'
    if kind == "no archive":
        path.write_bytes(b"secret")
    elif kind == "no workbook":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("secret.xml", "<a/>")
    elif kind == "entities":
        write_workbook(path, {"S": rows}, before='<!DOCTYPE x [<!ENTITY a "secret">]>')
    elif kind == "cut off":
        write_workbook(path, {"S": rows + "<row>"})
    else:
        write_workbook(path, {"S": rows + " " * 50_000_000})
    with raises_at(SourceError, ("source", "path")) as refused:
        xlsx_files.read_columns(Source(path=str(path)), ["secret"])
    assert "secret" not in str(refused.value)


def test_a_workbook_of_another_program_reads_as_it_was_written(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = [["id", "day", "seen", "wage", "ok"], ["a", date(2024, 1, 31), datetime(2024, 2, 1, 9, 5), 12.25, True]]
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    read_back = read(tmp_path / "t.xlsx")
    assert [column[0] for column in read_back.values()] == ["a", "2024-01-31", "2024-02-01 09:05:00", "12.25", "true"]

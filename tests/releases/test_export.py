"""Other forms of a released table: an Excel workbook, CSV for spreadsheets, SDMX-CSV. The released one stays."""

import csv
import io
import zipfile

import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.releases.export import decimals_worth, encode_export, list_columns
from inbounds.releases.pipeline import release
from inbounds.releases.row_order import sort_rows
from inbounds.releases.verify import load_release
from raising import rejects

openpyxl = pytest.importorskip("openpyxl")

ROWS = [("North", "a", 3.0), ("North", "b", 5.0), ("South", "c", 9.0)] * 6
FRAME = pa.table({name: [row[k] for row in ROWS] for k, name in enumerate(("region", "school", "x"))})
NESTED = {
    "groups": {
        "by": ["region", "school"],
        "keys": [["North", "a"], ["South", "c"], ["North", "b"], ["South", "=1+1"]],
        "max_size": [9, 6, 8, 3],
    },
    "hierarchy": {"levels": ["region", "school"]},
    "columns": {"x": {"low": 0, "high": 6}},
    "statistics": [{"count": "true", "name": "n"}, {"mean": "x"}, {"count": "x > 4", "name": "-share"}],
    "privacy": {"epsilon": 5},
    "output": {"credible_level": 0.9},
    "edition": "2026",
}
FLAT = {
    **{name: part for name, part in NESTED.items() if name not in ("hierarchy", "edition")},
    "groups": {"by": ["school"], "keys": ["c", "a", "b"], "max_size": 8},
    "statistics": [{"count": "true", "name": "n"}, {"mean": "x"}],
}


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nested")
    return release(NESTED, FRAME, cache=folder, output=folder / "t.csv")


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat")
    return release(FLAT, FRAME, cache=folder, output=folder / "t.csv")


def sheets_of(path):
    book = openpyxl.load_workbook(path)
    return {sheet.title: sheet for sheet in book}


def rows_of(text):
    return list(csv.reader(io.StringIO(text.decode("utf-8-sig"), newline="")))


# --- rows and columns -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_every_part_follows_its_whole_and_rows_without_levels_stay(nested, flat):
    order = sort_rows(nested.record, nested.table)
    keys = nested.table.take(order).select(["region", "school"]).to_pydict()
    paths = list(zip(keys["region"], keys["school"], strict=True))
    assert paths == [
        ("North", None),
        ("North", "a"),
        ("North", "b"),
        ("South", None),
        ("South", "c"),
        ("South", "=1+1"),
    ]
    assert list(sort_rows(flat.record, flat.table)) == [0, 1, 2]


def test_what_a_column_holds_is_known_from_the_plan(nested):
    holds = {column.name: column.holds for column in list_columns(nested.record, nested.table)}
    assert [holds[name] for name in ("level", "region", "group_maximum")] == ["key", "key", "size"]
    assert [holds[f"x_mean{end}"] for end in ("", "_above_low", "_error", "_low")] == ["number", "part", "error", "end"]


@pytest.mark.parametrize(("error", "decimals"), [(12.0, 0), (1.0, 0), (0.9, 1), (0.1, 1), (0.099, 2)])
def test_numbers_are_shown_to_the_leading_digit_of_their_error(error, decimals):
    assert decimals_worth(error) == decimals


# --- the workbook -----------------------------------------------------------------------------------------------


def test_a_workbook_has_the_table_its_exactness_and_the_promise(nested, tmp_path):
    sheets = sheets_of(nested.export(tmp_path / "t.xlsx"))
    assert list(sheets) == ["Table", "How exact", "What was promised"]
    texts = {name: [cell.value for row in sheet.iter_rows() for cell in row] for name, sheet in sheets.items()}
    assert nested.record["statement"].splitlines()[0] in texts["What was promised"]
    assert nested.record["table"]["sha256"] in texts["What was promised"]
    assert set(nested.record["values"]) <= set(texts["How exact"])
    assert {line["expected_error"] for line in nested.record["mechanisms"]} <= set(texts["How exact"])


def test_a_workbook_holds_the_numbers_of_the_table_and_shows_what_they_are_worth(nested, tmp_path):
    sheet = sheets_of(nested.export(tmp_path / "t.xlsx"))["Table"]
    head, *rows = sheet.iter_rows()
    names = [cell.value for cell in head]
    table = nested.table.take(sort_rows(nested.record, nested.table)).to_pydict()
    assert names == nested.table.column_names
    for place, name in enumerate(names):
        for row, value in zip(rows, table[name], strict=True):
            assert row[place].value == (pytest.approx(value, rel=1e-15) if isinstance(value, float) else value)
    shown = {name: rows[1][place].number_format for place, name in enumerate(names)}
    error = min(e for e in table["x_mean_error"] if e is not None)
    assert shown["x_mean"] == "#,##0." + "0" * decimals_worth(error)
    assert shown["n"] == "#,##0"
    assert sheet.freeze_panes == "D2"


def test_texts_like_formulas_are_texts_in_a_workbook(nested, tmp_path):
    path = nested.export(tmp_path / "t.xlsx")
    sheet = sheets_of(path)["Table"]
    cells = {cell.value: cell for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)}
    for text in ("=1+1", "-share"):
        assert cells[text].data_type == "s"
        assert cells[text].quotePrefix
    with zipfile.ZipFile(path) as parts:
        assert all(b"<f>" not in parts.read(name) for name in parts.namelist() if "worksheets" in name)


# --- CSV and SDMX-CSV -------------------------------------------------------------------------------------------


def test_a_csv_file_may_begin_with_a_byte_order_mark_and_holds_the_sorted_table(nested, tmp_path):
    plain, marked = (nested.export(tmp_path / f"{bom}.csv", bom=bom).read_bytes() for bom in (False, True))
    assert marked == b"\xef\xbb\xbf" + plain
    head, *rows = rows_of(marked)
    released = rows_of(nested.path.read_bytes())
    assert head == released[0]
    assert sorted(rows) == sorted(released[1:])
    assert rows[-1][2] == "'=1+1"


def test_sdmx_has_a_row_for_each_number(flat, tmp_path):
    path = flat.export(tmp_path / "t.sdmx.csv", structure="XX:SCHOOLS(1.0)")
    head, *rows = rows_of(path.read_bytes())
    assert head[:5] == ["STRUCTURE", "STRUCTURE_ID", "ACTION", "school", "INDICATOR"]
    assert head[5:] == ["OBS_VALUE", "EXPECTED_ERROR", "LOWER_BOUND", "UPPER_BOUND"]
    assert {tuple(row[:3]) for row in rows} == {("dataflow", "XX:SCHOOLS(1.0)", "I")}
    of_c = {row[4]: row[5:] for row in rows if row[3] == "c"}
    first = flat.table.slice(0, 1).to_pylist()[0]
    assert of_c["n"] == [str(first[name]) for name in ("n", "n_error", "n_low", "n_high")]
    assert of_c["x_mean_above_low"] == [str(first["x_mean_above_low"]), "", "", ""]


def test_sdmx_names_the_whole_of_a_level_and_the_edition(nested, tmp_path):
    keys = [["North", "a"], ["South", "c"], ["North", "b"], ["South", "d"]]
    done = release({**NESTED, "groups": {**NESTED["groups"], "keys": keys}, "statistics": [{"count": "x > 4"}]}, FRAME)
    head, first, *_ = rows_of(done.export(tmp_path / "t.sdmx.csv", structure="A.B:C(1)").read_bytes())
    line = dict(zip(head, first, strict=True))
    assert (line["region"], line["school"], line["TIME_PERIOD"]) == ("North", "_T", "2026")


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_an_export_is_the_same_from_the_files_of_a_release(tmp_path, suffix):
    keys = [["North", "a"], ["South", "c"], ["North", "b"], ["South", "d"]]
    content = {**NESTED, "groups": {**NESTED["groups"], "keys": keys}, "statistics": [{"count": "x > 4"}]}
    done = release(content, FRAME, cache=tmp_path, output=tmp_path / f"t{suffix}")
    record, table = load_release(tmp_path / f"t{suffix}.release.json")
    written = encode_export(record, table, tmp_path / "again.sdmx.csv", structure="A.B:C(1)")
    assert written == done.export(tmp_path / "t.sdmx.csv", structure="A.B:C(1)").read_bytes()


# --- what is refused --------------------------------------------------------------------------------------------


def test_forms_that_cannot_be_are_refused_and_nothing_is_written(nested, tmp_path, golden):
    def export(name, options):
        nested.export(tmp_path / name, **options)

    golden.errors(
        "wrong_exports",
        [
            lambda: export("t.xls", {}),
            lambda: export("t.xlsx", {"bom": True}),
            lambda: export("t.csv", {"structure": "A:B(1.0)"}),
            lambda: export("t.sdmx.csv", {}),
            lambda: export("t.sdmx.csv", {"structure": "not one"}),
            lambda: export("t.sdmx.csv", {"structure": "A:B(1.0)"}),
        ],
    )
    assert not list(tmp_path.iterdir())


def test_neither_the_released_table_nor_another_file_is_replaced(nested, tmp_path):
    before = nested.path.read_bytes()
    with rejects(ValueError, "report", about="itself"):
        nested.export(nested.path, overwrite=True)
    (tmp_path / "t.xlsx").write_text("mine")
    with rejects(ValueError, "report", about="exist"):
        nested.export(tmp_path / "t.xlsx")
    assert nested.path.read_bytes() == before
    assert ib.verify(nested.path.with_name("t.csv.release.json")).is_valid


def test_the_command_checks_the_table_first(flat, tmp_path, command):
    for path in (flat.path, flat.path.with_name("t.csv.release.json")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = command(tmp_path, "export", "t.csv.release.json", "--out", "t.xlsx")
    assert done.returncode == 0
    assert list(sheets_of(tmp_path / "t.xlsx")) == ["Table", "How exact", "What was promised"]
    (tmp_path / "other.csv").write_text("mine")
    refused = command(tmp_path, "export", "t.csv.release.json", "--out", "other.csv", "--overwrite")
    assert refused.returncode == 2
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().replace("\na,", "\nz,"))
    assert command(tmp_path, "export", "t.csv.release.json", "--out", "u.xlsx").returncode != 0
    assert not (tmp_path / "u.xlsx").exists()

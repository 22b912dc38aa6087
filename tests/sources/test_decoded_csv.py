"""A CSV file in another encoding has the same records as its copy in UTF-8."""

import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.plan.draft import draft_plan
from inbounds.schema.errors import PlanError, SourceError
from inbounds.sources.csv_files import check_quotes
from inbounds.sources.open import Source
from raising import raises_at
from sources.reading import read_cells

TEXT = 'naïve;value;;note\r\nZoë;"a;b";1;\r\ntoo;few\r\n\r\nq;;3;"x\r\ny"\r\nr;"he said ""no""";;z\r\n'


def read(path, person="", **settings):
    return read_cells(Source(path=str(path), delimiter=";", **settings), person)


@pytest.mark.parametrize("encoding", ["windows-1252", "iso-8859-15", "utf-16"])
def test_a_file_reads_as_its_copy_in_utf8(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes(TEXT.encode(encoding))
    (tmp_path / "b.csv").write_bytes(TEXT.encode())
    assert read(tmp_path / "a.csv", encoding=encoding) == read(tmp_path / "b.csv")


@pytest.mark.parametrize("kind", ["windows-1252", "xlsx", "sav", "sqlite", "parquet", "frame"])
def test_columns_may_be_asked_for_in_another_order_than_the_files(tmp_path, kind):
    table = pa.table({"a": ["1", "2"], "b": ["x", "y"], "c": ["u", "v"]})
    path = tmp_path / f"t.{'csv' if kind == 'windows-1252' else kind}"
    source = write_table(table, path, kind)
    assert read_cells(source, wanted=["c", "a"]) == {"a": ["1", "2"], "c": ["u", "v"]}


def write_table(table, path, kind):
    names, rows = table.column_names, [list(row.values()) for row in table.to_pylist()]
    if kind == "frame":
        return Source(frame=table)
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in (names, *rows):
            book.active.append(row)
        book.save(path)
    elif kind == "sav":
        pytest.importorskip("pyreadstat").write_sav(table.to_pandas(), path)
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as file:
            file.execute("CREATE TABLE t (a TEXT, b TEXT, c TEXT)")
            file.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            file.commit()
        return Source(path=str(path), table="t")
    else:
        path.write_text("\n".join(",".join(row) for row in (names, *rows)) + "\n", "ascii")
        return Source(path=str(path), encoding=kind)
    return Source(path=str(path))


def test_bytes_that_are_not_in_the_encoding_are_question_marks_and_name_nobody(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"who;v\n\x81\x82;1\nb;2\n")
    assert read(tmp_path / "a.csv", encoding="shift-jis")["v"] == ["1", "2"]
    assert read(tmp_path / "a.csv", "who", encoding="shift-jis")["who"][1] == "b"


def test_a_file_that_is_not_well_formed_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes('a;b\nx;"é\n'.encode("windows-1252"))
    with raises_at(SourceError, ("source", "path")):
        check_quotes(Source(path=str(tmp_path / "a.csv"), delimiter=";", encoding="windows-1252"))


def test_an_unknown_encoding_is_refused_and_a_draft_keeps_a_known_one(tmp_path):
    with raises_at(PlanError, ("encoding",)):
        Source(path="a.csv", encoding="rot13")
    (tmp_path / "a.csv").write_bytes("größe;v\n1;2\n".encode("windows-1252"))
    source = Source(path=str(tmp_path / "a.csv"), delimiter=";", encoding="windows-1252")
    assert 'encoding = "windows-1252"' in draft_plan(source, tmp_path / "plan.toml")

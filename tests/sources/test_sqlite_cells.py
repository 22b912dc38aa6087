"""Cells of SQLite: each becomes a value of its column's declared type, or none, and no two persons become one."""

import sqlite3
from contextlib import closing

import ibis
import pytest

from inbounds.sources.sqlite_cells import arrow_table

KINDS = {
    "whole": ibis.dtype("int64"),
    "real": ibis.dtype("float64"),
    "truth": ibis.dtype("boolean"),
    "day": ibis.dtype("date"),
    "moment": ibis.dtype("timestamp"),
    "text": ibis.dtype("string"),
}


@pytest.fixture
def read(tmp_path):
    """Write cells of one column, as SQLite is given them, and read them as this type."""

    def read_column(kind, *cells, person=False):
        with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
            connection.execute("CREATE TABLE t (c)")
            connection.executemany("INSERT INTO t VALUES (CAST(? AS TEXT))", [(c,) for c in cells if type(c) is bytes])
            connection.executemany("INSERT INTO t VALUES (?)", [(c,) for c in cells if type(c) is not bytes])
            connection.commit()
        return arrow_table(str(tmp_path / "t.db"), "t", {"c": KINDS[kind]}, "c" if person else "")["c"].to_pylist()

    return read_column


def test_a_whole_number_beyond_64_bits_is_missing(read):
    cells = [3.0, 2.5, 2.0**62, 2.0**63, -(2.0**63), 1e300, -5]
    assert read("whole", *cells) == [3, None, 1 << 62, None, None, None, -5]


def test_a_time_with_a_zone_is_missing_and_a_day_is_a_midnight(read):
    cells = [b"2024-01-31 10:30", b"2024-01-31T10:30+01:00", b"2024-01-31T10:30Z", b"no", b"2024-01-31"]
    assert [time and str(time) for time in read("moment", *cells)] == [
        *("2024-01-31 10:30:00", None, None, None, "2024-01-31 00:00:00")
    ]


def test_only_a_midnight_is_a_day(read):
    cells = [b"2024-01-31", b"2024-01-31 00:00", b"2024-01-31 00:01"]
    assert [day and str(day) for day in read("day", *cells)] == ["2024-01-31", "2024-01-31", None]


def test_a_cell_of_another_kind_is_missing(read):
    assert read("truth", b"yes", 1, 0, 2.0) == [None, True, False, None]


def test_ids_that_are_no_text_or_could_be_confused_are_missing(read):
    assert read("text", b"ann", b"\xff1", b"\xfe1", 7, 7.5, person=True) == ["ann", None, None, "7", None]


def test_other_texts_keep_what_can_be_read(read):
    assert read("text", b"ann", b"\xff1", 7, 7.5) == ["ann", "\N{REPLACEMENT CHARACTER}1", "7", "7.5"]

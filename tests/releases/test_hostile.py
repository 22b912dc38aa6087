"""Records and files made to be in two groups, to move others, or to stop the engine: each is held to its own group."""

import datetime
import decimal
import math
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.releases.pipeline import SourceError, open_plan_source, to_plan
from inbounds.sources.open import silence_engine
from raising import raises_at
from releases.places import places

pandas = pytest.importorskip("pandas")

COUNT = {"statistics": [{"count": "true"}]}


def truths(content, frame=None, **source):
    """True answers as positions, one list per output cell."""
    full = {"privacy": {"epsilon": 1}, "columns": {}, **content, **({"source": source} if source else {})}
    with closing(open_plan_source(to_plan(full, frame))) as opened:
        return places(opened)


def by(*keys, column="g", size=9):
    return {"groups": {"by": [column], "keys": list(keys), "size": size}}


# --- Parquet files that tell about themselves ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("last", [3.0, 11.0, 1e38, math.inf, -math.inf, math.nan, None])
def test_one_number_of_a_parquet_file_does_not_decide_what_nan_counts_as_elsewhere(tmp_path, last, kind):
    """The file's own statistics leave NaN out: they say that everything lies within the bounds, or not."""
    values = pa.array([math.nan] * 9 + [last], kind)
    pa.parquet.write_table(pa.table({"g": ["a"] * 9 + ["b"], "x": values}), tmp_path / "t.parquet")
    content = {
        **by("a", "b"),
        "columns": {"x": {"low": 0, "high": 10, "missing": 5}},
        "statistics": [{"sum": "x"}, {"max": "x"}, {"count": "x > 9"}, {"count": "x is null", "name": "null"}],
    }
    found = truths(content, path=str(tmp_path / "t.parquet"))
    assert [cell[0] for cell in found] == [45, 5, 0, 9]


# --- CSV files ----------------------------------------------------------------------------------------------

PIECE = 8_000_000
"""DuckDB reads larger files in pieces of this many bytes, side by side if it may."""


def test_a_quoted_field_across_the_border_of_two_pieces_of_a_file_is_one_field(tmp_path):
    line, inner = b"b,q,1\n", b"a,p,2\n" * 3000
    before, after = (PIECE - len(inner) // 2) // len(line), PIECE // 4 // len(line)
    with open(tmp_path / "t.csv", "wb") as file:
        file.write(b"g,c,x\n" + line * before + b'a,"' + inner + b'",2\n' + line * after)
    assert truths({**by("a", "b", size=10**9), **COUNT}, path=str(tmp_path / "t.csv")) == [[1, before + after]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_line_break_within_quotes_makes_no_second_record_in_spark(spark, tmp_path):
    (tmp_path / "t.csv").write_text('g,c,x\nb,q,1\na,"p\na,p,2\na,p,2\n",2\nb,q,1\n')
    found = [truths({**by("a", "b"), **COUNT}, path=str(tmp_path / "t.csv"), engine=e) for e in ("duckdb", "spark")]
    assert found == [[[1, 2]], [[1, 2]]]


def test_a_header_with_names_that_an_engine_takes_for_the_same_is_refused_in_words(tmp_path):
    (tmp_path / "t.csv").write_text("G,g\nb,a\n")
    with raises_at(SourceError, ("source", "path"), about="capitals"):
        truths({**by("a"), **COUNT}, path=str(tmp_path / "t.csv"))


# --- paths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["s[1]", "s?", "s*", "[!b]"])
def test_a_path_is_one_file_and_never_a_pattern(tmp_path, name, kind):
    for stem, key in ((name, "a"), ("s1", "b"), ("s2", "b"), ("a", "b")):
        write(tmp_path / f"{stem}.{kind}", pa.table({"g": [key]}))
    assert truths({**by("a", "b"), **COUNT}, path=str(tmp_path / f"{name}.{kind}")) == [[1, 0]]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_name_of_a_folder_is_no_column(tmp_path, kind):
    (tmp_path / "g=b").mkdir()
    path = tmp_path / "g=b" / f"t.{kind}"
    write(path, pa.table({"g": ["a", "a"]}))
    assert truths({**by("a", "b"), **COUNT}, path=str(path)) == [[2, 0]]


def write(path, table):
    if path.suffix == ".csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pa.parquet.write_table(table, path)


# --- collations ---------------------------------------------------------------------------------------------

HIDDEN = ["ab", "a\u00adb", "a\u200bb", "a\x01b", "AB", "äb", "a-b", "ab "]
"""Texts that some collation takes for the same."""


def compared(**source):
    """One record 'ab' by keys, by labels, and by conditions."""
    groups = truths({**by(*HIDDEN), **COUNT}, **source)
    labels = {"groups": {"size": 9}, "columns": {"g": {"labels": HIDDEN}}, "statistics": [{"histogram": "g"}]}
    counts = [{"count": f"g = '{text}'", "name": f"n{k}"} for k, text in enumerate(HIDDEN)]
    tests = {"groups": {"size": 9}, "columns": {"g": {"type": "text"}}, "statistics": counts}
    return [groups[0], [cell[0] for cell in truths(labels, **source)], [cell[0] for cell in truths(tests, **source)]]


ONCE = [[1] + [0] * (len(HIDDEN) - 1)] * 3


@pytest.mark.parametrize("collation", ["nocase", "rtrim"])
def test_no_collation_of_sqlite_puts_a_record_into_two_groups(tmp_path, collation):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript(f"create table t (g text collate {collation}); insert into t values ('ab'), (null);")
    assert compared(path=str(tmp_path / "t.sqlite"), table="t") == ONCE


@pytest.mark.parametrize("collation", ["de", "nocase", "nocase.noaccent"])
def test_no_collation_of_duckdb_puts_a_record_into_two_groups(tmp_path, collation):
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"create table t (g varchar collate {collation})")
        connection.execute("insert into t values ('ab'), (null)")
    assert compared(path=str(tmp_path / "t.duckdb"), table="t") == ONCE


def test_a_collation_of_the_whole_connection_does_not_count_either():
    import ibis

    engine = ibis.duckdb.connect()
    engine.raw_sql("create table t as select 'ab' as g")
    engine.raw_sql("set default_collation = 'nocase'")
    with silence_engine():
        table = engine.table("t")
    assert truths({**by("ab", "AB"), **COUNT}, table) == [[1, 0]]


def test_a_table_of_an_engine_that_nobody_tried_is_refused():
    import ibis

    engine = ibis.sqlite.connect()
    engine.con.executescript("create table t (g text); insert into t values ('ab');")
    table = engine.table("t")
    with raises_at(SourceError, ("source",), about="sqlite"):
        truths({**by("ab", "cd"), **COUNT}, table)


def test_missing_texts_stay_missing_in_a_database(tmp_path):
    """SQLite has the digits '' for nothing."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript("create table t (c text); insert into t values ('x'), (null), ('');")
    content = {
        "groups": {"size": 9},
        "columns": {"c": {"type": "text"}},
        "statistics": [{"count": "c is null", "name": "a"}, {"count": "c != 'y'", "name": "b"}],
    }
    assert truths(content, path=str(tmp_path / "t.sqlite"), table="t") == [[1], [2]]


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["und-u-ks-level1", "und-u-ka-shifted-ks-level1", "de-u-kn-ks-level2"])
def test_no_collation_of_postgresql_puts_a_record_into_two_groups(postgres, locale):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("drop table if exists collated")
        connection.execute("drop collation if exists loose")
        connection.execute(f"create collation loose (provider = icu, locale = '{locale}', deterministic = false)")
        connection.execute("create table collated (g text collate loose, h text collate loose)")
        connection.execute("insert into collated values ('ab', '1.0'), (null, null), ('true', 'TRUE')")
    source = {"url": postgres, "table": "collated"}
    assert compared(**source) == ONCE
    assert truths({**by("1", "true", "t-rue", column="h"), **COUNT}, **source) == [[1, 1, 0]]
    dates = {"groups": {"size": 9}, "columns": {"h": {"type": "text"}}, "statistics": [{"count": "h > '2024-01-31'"}]}
    assert truths(dates, **source) == [[0]]


# --- types that follow from records -------------------------------------------------------------------------


@pytest.mark.parametrize("last", [2, 2.5, None, "a"])
def test_a_gap_among_categories_changes_the_text_of_no_other_record(last):
    held = pandas.Series([1.0, 1e16, last], dtype=object if last == "a" else None)
    frame = pandas.DataFrame({"c": held.astype("category"), "d": ["1", str(10**16), "-"]})
    content = {
        "groups": {"size": 3},
        "columns": {"c": {"type": "text"}, "d": {"type": "text"}},
        "statistics": [{"count": "c = d"}],
    }
    assert truths(content, frame) == [[2]]


@pytest.mark.parametrize("first", ["1", "1.5", "'q'", "null", "x'00'", None])
@pytest.mark.parametrize("table", ["t", "v"])
def test_the_records_of_sqlite_do_not_decide_the_type_of_a_column_without_one(tmp_path, first, table):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript("create table t (g text, x); create view v as select g, x + 0 as x from t;")
        if first is not None:
            connection.execute(f"insert into t values ('a', {first})")
        connection.commit()
    source = {"path": str(tmp_path / "t.sqlite"), "table": table}
    assert truths({**by("a"), **COUNT}, **source) == [[int(first is not None)]]
    content = {**by("a"), "columns": {"x": {"low": 0, "high": 3}}, "statistics": [{"sum": "x"}]}
    with raises_at(SourceError, ("source", "table"), about="'x'"):
        truths(content, **source)


def test_a_table_of_sqlite_that_declares_nothing_is_refused_and_text_is_read_as_numbers(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript('create table t (x); create table "u ""u" ("a ""b" text)')
    with raises_at(SourceError, ("source", "table"), about="no column of a declared type"):
        truths({"groups": {"size": 3}, **COUNT}, path=str(tmp_path / "t.sqlite"), table="t")
    odd = {"path": str(tmp_path / "t.sqlite"), "table": 'u "u'}
    assert truths({**by("a", column='a "b'), **COUNT}, **odd) == [[0]]
    number = {"groups": {"size": 3}, "columns": {'a "b': {"low": 0, "high": 3}}, "statistics": [{"sum": 'a "b'}]}
    assert truths(number, **odd) == [[0]]


# --- values that stop an engine -----------------------------------------------------------------------------


class Speechless:
    """A value that cannot say its text."""

    def __str__(self):
        raise RuntimeError("a secret")


class Strange:
    """A value that cannot even be compared."""

    def __ne__(self, other):
        raise RuntimeError("a secret")


@pytest.mark.parametrize(
    "value",
    [Speechless(), Strange(), 10**5000, decimal.Decimal("sNaN"), decimal.Decimal("NaN"), np.datetime64("NaT")],
    ids=lambda value: type(value).__name__,
)
def test_an_object_without_a_text_is_missing(value):
    frame = pandas.DataFrame({"c": pandas.Series(["1", 2, value], dtype=object)})
    content = {
        "groups": {"size": 3},
        "columns": {"c": {"labels": ["1", "2"]}},
        "statistics": [{"histogram": "c"}, {"count": "c is null"}],
    }
    assert truths(content, frame) == [[1], [1], [1]]


def test_bytes_of_an_arrow_text_that_are_no_text_leave_the_other_records_alone():
    held = pa.array([b"1", b"true", b"5\xff", None], pa.binary())
    odd = pa.Array.from_buffers(pa.string(), len(held), held.buffers(), held.null_count)
    content = {"groups": {"max_size": 9}, "columns": {"x": {"low": 0, "high": 9}}, "statistics": [{"sum": "x"}]}
    labels = {**content, "columns": {"x": {"labels": ["true", "1"]}}, "statistics": [{"histogram": "x"}]}
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), odd)
    for column in (odd, odd.cast(pa.large_string(), safe=False), coded):
        assert truths(content, pa.table({"x": column})) == [[1]]
        assert truths(labels, pa.table({"x": column})) == [[1], [1]]


@pytest.mark.long
@pytest.mark.parametrize("held", [b"\xff.0", b"2024-01-\xff\xff", b"\xc3", b"1.0", b"1\x00.0", b"2024-01-01"])
@pytest.mark.parametrize("kind", ["text", "blob"])
def test_bytes_that_sqlite_keeps_as_text_leave_the_other_records_alone(tmp_path, held, kind):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript("create table t (g text); insert into t values ('a'), ('b'), ('2024-01-31');")
        connection.execute(f"insert into t values (cast(? as {kind}))", (held,))
        connection.commit()
    source = {"path": str(tmp_path / "t.sqlite"), "table": "t"}
    assert truths({**by("a", "b", "7"), **COUNT}, **source) == [[1, 1, 0]]
    ordered = {
        "groups": {"size": 9},
        "columns": {"g": {"type": "text"}},
        "statistics": [{"count": "g > '2024-01-30'"}],
    }
    assert truths(ordered, **source) == [[1]]
    whole = {"groups": {"size": 9}, "columns": {"g": {"labels": ["1", "a"]}}, "statistics": [{"histogram": "g"}]}
    assert truths(whole, **source)[1] == [1]


@pytest.mark.parametrize("far", [2**62, -(2**62), 2**63 - 1, -(2**63) + 1, 2**40])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_beyond_all_calendars_is_no_key(unit, far):
    midnight = np.datetime64("2024-01-01", unit).astype(int)
    table = pa.table({"g": pa.array([int(midnight), far], pa.timestamp(unit))})
    assert truths({**by("2024-01-01"), **COUNT}, table) == [[1]]


def test_a_whole_number_beyond_63_bits_is_no_key():
    assert truths({**by(1, 2), **COUNT}, pa.table({"g": pa.array([1, 2, 2**63, 2**64 - 1], pa.uint64())})) == [[1, 1]]


D = decimal.Decimal


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**64 - 1], pa.uint64()),
        pa.array([1, 200], pa.uint8()),
        pa.array([D(1), D(10) ** 50], pa.decimal256(60, 0)),
        pa.array([D(1), D(9)], pa.decimal128(38, 37)),
        pa.array([D(1), D(9)], pa.decimal128(38, 30)),
        pa.array(np.array([1, 9], dtype="float16")),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("other", [1, 10**10, 2**63 - 1, -(2**63)])
def test_numbers_of_every_type_are_compared_with_numbers_of_every_size(column, other):
    content = {
        "groups": {"size": 2},
        "columns": {"x": {"low": -3, "high": 4}, "y": {"type": "number"}},
        "statistics": [{"sum": "x"}, {"count": "x > 3", "name": "n"}, {"count": "x = y", "name": "m"}],
    }
    assert truths(content, pa.table({"x": column, "y": [1, other]})) == [[4 + 7], [1], [1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "counts"),
    [
        ("'NaN'", (0, 1)),
        ("'Infinity'", (0, 1)),
        ("'-Infinity'", (0, 1)),
        ("1e400", (0, 1)),
        ("-1e400", (0, 1)),
        ("1e-400", (0, 0)),
        ("4", (1, 0)),
    ],
)
def test_numerics_that_no_float_holds_are_missing_on_postgresql(postgres, value, counts):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("drop table if exists wide")
        connection.execute("create table wide (v numeric, f float8)")
        connection.execute(f"insert into wide values (2, 3), ({value}, 3)")
    content = {
        "groups": {"size": 2},
        "columns": {"v": {"low": 0, "high": 5}, "f": {"type": "number"}},
        "statistics": [{"count": "v > f", "name": "a"}, {"count": "v is null", "name": "b"}, {"sum": "v"}],
    }
    found = truths(content, url=postgres, table="wide")
    assert [cell[0] for cell in found] == [*counts, 6 if value == "4" else 2]


@pytest.mark.slow
@pytest.mark.parametrize("day", ["infinity", "-infinity", "5874897-12-31", "4713-01-01 BC"])
def test_a_date_that_postgresql_cannot_write_is_no_key(postgres, day):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("drop table if exists days")
        connection.execute("create table days (d date)")
        connection.execute("insert into days values ('2024-01-01'), (%s)", (day,))
    assert truths({**by("2024-01-01", column="d"), **COUNT}, url=postgres, table="days") == [[1]]


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [pandas.DataFrame, pa.table], ids=["pandas", "arrow"])
def test_a_column_that_differs_in_capitals_is_not_taken_for_the_one_that_is_named(made):
    for names in (("G", "g"), ("g", "G")):
        frame = made({name: ["a", "b"] if name == "g" else ["b", "b"] for name in names})
        assert truths({**by("a", "b"), **COUNT}, frame) == [[1, 1]]
    both = {"groups": {"by": ["g", "G"], "keys": [["a", "b"]], "size": 3}, **COUNT}
    with raises_at(SourceError, ("source",), about="'g' and 'G'"):
        truths(both, made({"g": ["a"], "G": ["b"]}))


@pytest.mark.parametrize("made", [pandas.DataFrame, pa.table], ids=["pandas", "arrow"])
def test_records_are_counted_though_no_column_is_read(made):
    assert truths({"groups": {"size": 9}, **COUNT}, made({"g": ["a", "b"]})) == [[2]]


def test_dates_as_categories_are_dates():
    days = pandas.Series([datetime.datetime(2024, 1, 1), None]).astype("category")
    assert truths({**by("2024-01-01"), **COUNT}, pandas.DataFrame({"g": days})) == [[1]]

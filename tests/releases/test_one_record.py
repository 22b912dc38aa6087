"""One record, whatever it holds, on every engine: a whole number of 0..width, its own group, and nothing else."""

import csv
import itertools
import json
import math
import sqlite3
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds.releases import drawing
from inbounds.releases.pipeline import SourceError, open_plan_source, to_plan
from inbounds.schema.columns import Column
from inbounds.sources.open import silence_engine
from inbounds.sources.records import step_expression
from inbounds.statistics.quantile import MOST_VALUES
from raising import raises_at
from releases.places import places

SQLITE = {"string": "text", "int64": "integer", "double": "real", "bool": "boolean", "date32[day]": "date"}
POSTGRES = {
    "string": "text", "int64": "bigint", "double": "float8", "float": "real", "bool": "boolean", "date32[day]": "date",
    "timestamp[us]": "timestamp", "decimal128(20, 3)": "numeric(20, 3)",
}  # fmt: skip

HERE = ["csv", "parquet", "duckdb", "sqlite", "arrow", "pandas", "polars"]
SLOW = [pytest.param(name, marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore")]) for name in ("pg", "spark")]
# Parquet files and frames are read into Arrow: they differ in what their types become, and hardly in the numbers.
FIRST = ["csv", "duckdb", "sqlite", "arrow", "pandas"]
ENGINES = [*FIRST, *(pytest.param(name, marks=pytest.mark.slow) for name in HERE if name not in FIRST), *SLOW]


@pytest.fixture
def stored(tmp_path, request):
    """Keep an Arrow table in an engine: the source of a plan, and a frame or None."""

    def keep(engine: str, table: pa.Table) -> tuple[dict[str, str], Any]:
        if engine in ("arrow", "pandas", "polars"):
            return {}, FRAMES[engine](table)
        if engine == "pg":
            return _in_postgres(request.getfixturevalue("postgres"), table), None
        if engine == "spark":
            request.getfixturevalue("spark")
            pa.parquet.write_table(table, tmp_path / "t.parquet")
            return {"path": str(tmp_path / "t.parquet"), "engine": "spark"}, None
        path = tmp_path / f"t.{engine}"
        path.unlink(missing_ok=True)
        FILES[engine](path, table)
        return {"path": str(path), **({"table": "t"} if engine in ("duckdb", "sqlite") else {})}, None

    return keep


def _pandas(table):
    import pandas

    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    for name in table.column_names:
        if str(table[name].type) == "null":
            frame[name] = pandas.Series([None] * table.num_rows, dtype=object)
    return frame


def _polars(table):
    return pytest.importorskip("polars").from_arrow(table)


def _csv(path, table):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _duckdb(path, table):
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("create table t as select * from given")


def _sqlite(path, table):
    types = [SQLITE[str(column.type)] for column in table.columns]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table t ({', '.join(map(' '.join, zip(table.column_names, types, strict=True)))})")
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        marks = ", ".join("?" * len(types))
        connection.executemany(f"insert into t values ({marks})", [tuple(map(_plain, row)) for row in rows])
        connection.commit()


def _plain(value):
    return value.isoformat() if hasattr(value, "isoformat") else value


def _in_postgres(url, table):
    import psycopg

    types = [POSTGRES[str(column.type)] for column in table.columns]
    with psycopg.connect(url) as connection:
        connection.execute("drop table if exists one_record")
        columns = ", ".join(map(" ".join, zip(table.column_names, types, strict=True)))
        connection.execute(f"create table one_record ({columns})")
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        with connection.cursor() as cursor:
            cursor.executemany(f"insert into one_record values ({', '.join(['%s'] * len(types))})", rows)
    return {"url": url, "table": "one_record"}


FRAMES = {"arrow": lambda table: table, "pandas": _pandas, "polars": _polars}
FILES = {
    "csv": _csv,
    "parquet": lambda path, table: pa.parquet.write_table(table, path),
    "duckdb": _duckdb,
    "sqlite": _sqlite,
}


def truths(content, source, frame):
    full = {"privacy": {"epsilon": 1}, "columns": {}, **content, **({"source": source} if source else {})}
    with closing(open_plan_source(to_plan(full, frame))) as opened:
        return places(opened)


def each(values, kind):
    """A table in which every value is a record and a group of its own."""
    return pa.table({"g": [f"k{k}" for k in range(len(values))], "x": pa.array(values, kind)})


def positions_of(values, kind, column, keep, engine):
    """The position of every value in its own group of one."""
    content = {
        "groups": {"by": ["g"], "keys": [f"k{k}" for k in range(len(values))], "size": 1},
        "columns": {"x": column},
        "statistics": [{"sum": "x"}],
    }
    if Column.number(**column).width < MOST_VALUES:
        content["statistics"].append({"median": "x"})
    sums, *medians = truths(content, *keep(engine, each(values, kind)))
    assert all(median == sums for median in medians)
    return sums


# --- one record is a whole number of 0..width ---------------------------------------------------------------

FLOATS = [
    math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, 2.4, 2.5, 10.0, 10.4, 1e16, -1e16,
    2.0**52 - 1, 2.0**52, 2.0**52 + 1, 2.0**52 + 5, 2.0**52 + 6, 2.0**53, None,
]  # fmt: skip
WHOLE = [0, 1, -1, 10, 11, 2**52, 2**52 + 5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None]
DECIMALS = [Decimal("0.005"), Decimal("10.4"), Decimal(10) ** 16, -(Decimal(10) ** 16), Decimal(2**52 + 3), None]
BOUNDS = [
    {"low": 0, "high": 10, "step": 2, "missing": 6},
    {"low": "4503599627370496.3", "high": "4503599627370501.3", "step": 1},
    {"low": "-4503599627370501.3", "high": "4503599627370501.7", "step": "9007199254741003"},
    {"low": "1/3", "high": "7/3", "step": "1/7"},
]


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", BOUNDS, ids=str)
@pytest.mark.parametrize(
    ("values", "kind"),
    [(FLOATS, pa.float64()), (WHOLE, pa.int64()), (DECIMALS, pa.decimal128(20, 3))],
    ids=["floats", "whole", "decimals"],
)
def test_every_number_of_every_type_is_a_step_of_the_range_on_every_engine(stored, values, kind, column, engine):
    if engine == "sqlite" and pa.types.is_decimal(kind):
        pytest.skip("SQLite has no decimals")
    declared = Column.number(**column)
    found = positions_of(values, kind, column, stored, engine)
    assert all(0 <= position <= declared.width for position in found)
    low, high = float(declared.low), float(declared.high)
    for value, position in zip(values, found, strict=True):
        if value is None or not math.isfinite(value) or abs(value) > 1e300:
            assert position == declared.default
        elif value >= high or value <= low:
            assert position == (declared.width if value >= high else 0)
        else:  # floats may miss the nearest step by one at most
            exact = math.floor((Fraction(value) - declared.low) / declared.step + Fraction(1, 2))
            assert abs(position - exact) <= 1


@st.composite
def columns_of_numbers(draw):
    """Bounds that are no floats, steps down to far below their spacing."""
    low = draw(st.integers(-(2**52), 2**52)) + draw(st.fractions(0, 1, max_denominator=1000))
    step = draw(st.fractions(Fraction(1, 10**30), 10**6, max_denominator=10**30).filter(lambda step: step > 0))
    width = draw(st.integers(1, 2**20))
    if abs(low + width * step) >= 2**53:
        width, step = 1, Fraction(1, 50)
    return Column.number(low, low + width * step, step=step)


@given(columns_of_numbers(), st.lists(st.floats(), max_size=5), st.lists(st.integers(-3, 3), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_expression_alone_keeps_every_float_within_the_range_whatever_the_bounds_and_the_step(column, far, near):
    """Also where the schema would refuse the step: the clamp does not lean on it."""
    import ibis

    values = [
        *far,
        *(math.nextafter(float(column.low), math.inf) + k for k in near),
        *(float(column.high) + k for k in near),
    ]
    with silence_engine():
        table = ibis.memtable(pa.table({"x": pa.array(values, pa.float64())}))
        found = table.select(p=step_expression(table.x, column)).to_pyarrow()["p"].to_pylist()
    assert all(isinstance(position, int) and 0 <= position <= column.width for position in found)


SHARP = {"low": "4503599627370496.49", "high": "4503599627370496.51", "step": "0.02"}


@pytest.mark.parametrize("engine", [*HERE, *SLOW])
def test_a_step_below_the_spacing_of_floats_is_refused_whatever_the_records_hold(stored, engine):
    said = set()
    for values in ([], [None], [2.0**52], [2.0**52, 2.0**52 + 1, 2.0**52 + 2]):
        with raises_at(SourceError, ("columns", "x", "step"), about="4.5036e+15") as bad:
            positions_of(values or [None], pa.float64(), SHARP, stored, engine)
        said.add(str(bad.value))
    assert len(said) == 1


def test_one_value_beside_such_bounds_moves_no_sum_past_its_width():
    import ibis

    with silence_engine():
        table = ibis.memtable(pa.table({"x": [2.0**52, 2.0**52 + 1, 2.0**52 + 2]}))
        found = table.select(p=step_expression(table.x, Column.number(**SHARP))).to_pyarrow()["p"].to_pylist()
    assert set(found) <= {0, 1}


@pytest.mark.parametrize("engine", ["parquet", "duckdb", "arrow", "pandas", "polars", *SLOW])
def test_the_spacing_is_that_of_the_columns_own_floats(stored, engine):
    column = {"low": 0, "high": 1000000, "step": "0.01"}
    assert positions_of([2.5], pa.float64(), column, stored, engine) == [250]
    with raises_at(SourceError, ("columns", "x", "step"), about="0.0625"):
        positions_of([2.5], pa.float32(), column, stored, engine)


# --- what is accepted depends on the schema alone ------------------------------------------------------------

TYPES = {
    "text": (pa.string(), ["a", "1"], "a"),
    "whole": (pa.int64(), [1, 2], "1"),
    "float": (pa.float64(), [1.0, 2.5], "1"),
    "single": (pa.float32(), [1.0, 2.5], "1"),
    "decimal": (pa.decimal128(20, 3), [Decimal(1), Decimal("2.5")], "1"),
    "boolean": (pa.bool_(), [True, False], "true"),
    "date": (pa.date32(), [19753, 19754], "2024-01-31"),
    "time": (pa.timestamp("us"), [0, 86_400_000_000], "1970-01-01"),
    "nothing": (pa.null(), [None, None], "a"),
}
USES = {
    "number": lambda text: {"columns": {"x": {"low": 0, "high": 10}}, "statistics": [{"sum": "x"}]},
    "boolean": lambda text: {"columns": {"x": {"type": "boolean"}}, "statistics": [{"count": "x"}]},
    "labels": lambda text: {"columns": {"x": {"labels": [text, "9"] if text == "1" else [text, flipped(text)]}},
                            "statistics": [{"histogram": "x"}]},
    "condition": lambda text: {"columns": {"x": {"type": "text"}}, "statistics": [{"count": f"x = '{text}'"}]},
    "key": lambda text: {"groups": {"by": ["x"], "keys": [text], "size": 9}, "statistics": [{"count": "true"}]},
}  # fmt: skip
ACCEPTED = {
    "number": {"text", "whole", "float", "single", "decimal", "nothing"},
    "boolean": {"text", "boolean", "nothing"},
    "labels": {"text", "whole", "boolean", "date", "nothing"},
    "condition": {"text", "whole", "boolean", "date", "nothing"},
    "key": {"text", "whole", "boolean", "date", "time", "nothing"},
}


def flipped(text):
    return {"true": "false", "2024-01-31": "2024-02-01"}.get(text, "b")


LACKING = {
    "sqlite": {"decimal", "single", "time", "nothing"},
    "duckdb": {"nothing"},
    "pg": {"nothing"},
    "csv": set(TYPES) - {"text"},
}
"""Types that an engine does not have; a CSV file has texts alone."""


QUICK = ["csv", "arrow"]
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in HERE if name not in QUICK]


@pytest.mark.long
@pytest.mark.parametrize("engine", [*QUICK, *OTHERS, *SLOW])
@pytest.mark.parametrize("use", USES)
def test_whether_a_column_fits_is_said_by_its_type_alone_and_alike_on_every_engine(stored, use, engine):
    for name in sorted(set(TYPES) - LACKING.get(engine, set())):
        kind, values, text = TYPES[name]
        content = {"groups": {"size": 9}, **USES[use](text)}
        found = set()
        for held in ([], [None], [*values, None]):
            where = stored(engine, pa.table({"x": pa.array(held, kind), "y": pa.array([1] * len(held), pa.int64())}))
            try:
                truths(content, *where)
                found.add("accepted")
            except SourceError as reason:
                found.add(str(reason))
        assert len(found) == 1, (name, found)
        assert (found == {"accepted"}) == (name in ACCEPTED[use]), (name, found)


def test_a_column_of_pandas_that_is_all_null_is_accepted_as_one_with_a_value_is(tmp_path):
    pandas = pytest.importorskip("pandas")
    content = {"groups": {"size": 2}, "columns": {"x": {"labels": ["yes", "no"]}}, "statistics": [{"histogram": "x"}]}
    for value, cell in ((None, 0), ("yes", 1)):
        pandas.DataFrame({"x": [None, value], "y": [1, 2]}).to_parquet(tmp_path / "t.parquet")
        assert truths(content, {"path": str(tmp_path / "t.parquet")}, None) == [[cell], [0]]


NUMBERS = {
    "3": 3, " 4.5 ": 4.5, "+3": 3, "-3": 0, ".5": 0.5, "2.": 2, "1e0": 1, "1E+1": 10, "9e-1": 1, "1e-320": 0,
    "1e-400": 0, "1e999": None, "-1e999": None, "1e1000": None, "1e-1000": None, "1_0": None,
    "0x1": None, "Infinity": None, "nan": None, "": None, "1,5": None, "٣": None, "1d": None, "\t7\n": 7, "9" * 300: 10,
    "9" * 400: None, "9" * 401: None, "0" * 399 + "7": 7, "0" * 400 + "7": None, "1 0": None, "1\n": 1,
    "e1": None, ".": None, None: None,
}  # fmt: skip


@pytest.mark.parametrize("engine", [*HERE, *SLOW])
def test_text_that_says_a_number_says_the_same_on_every_engine(stored, engine):
    found = positions_of(
        list(NUMBERS), pa.string(), {"low": 0, "high": 10, "step": "1/2", "missing": 6}, stored, engine
    )
    wanted = [12 if value is None else round(2 * value) for value in NUMBERS.values()]
    assert dict(zip(NUMBERS, found, strict=True)) == dict(zip(NUMBERS, wanted, strict=True))


@pytest.mark.parametrize("engine", [*HERE, *SLOW])
def test_text_that_says_true_or_false_says_the_same_on_every_engine(stored, engine):
    words = ["true", "T", " Yes ", "1", "y", "false", "no", "0", "maybe", "", None]
    content = {
        "groups": {"size": 99},
        "columns": {"x": {"type": "boolean"}},
        "statistics": [{"count": "x", "name": "a"}, {"count": "not x", "name": "b"}],
    }
    assert truths(content, *stored(engine, each(words, pa.string()))) == [[5], [3]]


@pytest.mark.parametrize("held", [b"\xff7", b"7\xff", b"7\x00", b"\xc3", b"7"])
@pytest.mark.parametrize("kind", ["text", "blob"])
def test_bytes_that_sqlite_keeps_as_text_are_read_as_numbers_or_missing(tmp_path, held, kind):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as connection:
        connection.executescript("create table t (x text); insert into t values ('1'), ('2');")
        connection.execute(f"insert into t values (cast(? as {kind}))", (held,))
        connection.commit()
    content = {"groups": {"size": 3}, "columns": {"x": {"low": 0, "high": 10}}, "statistics": [{"sum": "x"}]}
    own = 7 if held == b"7" and kind == "text" else 0
    assert truths(content, {"path": str(tmp_path / "t.sqlite"), "table": "t"}, None) == [[3 + own]]


# --- neighbours through the whole path ----------------------------------------------------------------------

PLAN = """
[source]
path = "{name}"
{table}
[groups]
by = ["g"]
keys = ["North", "South", "Köln"]
size = 4
[columns.c]
labels = ["yes", "no"]
[columns.n]
low = 0
high = 5
missing = 2
[privacy]
epsilon = 1
[[statistics]]
count = "c = 'yes'"
[[statistics]]
histogram = "c"
[[statistics]]
sum = "n"
[[statistics]]
median = "n"
"""
REACH = [1, 1, 1, 5, 1]
"""How far one record moves each cell: the count, two labels, the sum, the lengths of the median."""

HOSTILE = [
    '"', '""', 'x"y', '\\"', '\\', 'a\nSouth,yes,3\nSouth,yes,3\n', '"\nSouth,yes,3\n"', "\r", "a\rSouth,yes,3\r\n",
    "x" * 3_000_000, "\ufeff", "=1+1", "\x1b[31m", "'; drop table t; --", ":smile:", "[bold]", "\u202e", "yes", "no",
    "nan", "inf", "-inf", "1e999", "9" * 400, "5", "-7", "2024-01-31 10:00", "", None, "\ufffd", "\x7f", ",", ";",
]  # fmt: skip
RAW = [b"\xff\xfe", b"yes\xff", b"\xc3", b"5\xff", b"\xed\xa0\x80", b"\x00", b"yes\x00"]
NUMBERS_HELD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 4.5, 2.0**63, None]


def written(path, rows):
    """A CSV file by the rule: every field in quotation marks, those within doubled; fields may be bytes."""

    def field(value):
        held = value if isinstance(value, bytes) else ("" if value is None else str(value)).encode()
        return b'"' + held.replace(b'"', b'""') + b'"'

    path.write_bytes(b"".join(b",".join(map(field, row)) + b"\n" for row in [("g", "c", "n"), *rows]))


ROWS = [("North", "yes", 3), ("North", "no", 5), ("South", "yes", 1), ("Köln", "yes", 4), ("Köln", None, 0)]


@pytest.fixture
def seen(command, tmp_path, monkeypatch):
    """Everything that a release through the command line shows, its draws replaced by the true answers."""
    handed = []
    monkeypatch.setattr(
        drawing, "_draw_answers", lambda sampler, positions, draws: handed.append(positions.tolist()) or positions
    )

    def from_records(made, truths, members, draws):
        lengths = made.query.path_lengths(truths.histograms(members))
        handed.append(lengths.tolist())
        return lengths.argmin(axis=1)

    monkeypatch.setattr(drawing, "_draw_quantiles", from_records)

    def run(name, table=""):
        (tmp_path / "plan.toml").write_text(PLAN.format(name=name, table=f'table = "{table}"' if table else ""))
        handed.clear()
        for ledger in tmp_path.glob("inbounds.ledger*"):  # the same plan again would return the stored table
            ledger.unlink()
        done = command(tmp_path, "release", "plan.toml", "--overwrite", "-o", "out.csv", "--report", "page.html")
        record = json.loads((tmp_path / "out.csv.release.json").read_text("utf-8"))["content"]
        for changing in ("id", "time", "table", "ledger", "draws"):
            del record[changing]
        rest = done.stderr, done.returncode, record, sorted(path.name for path in tmp_path.iterdir())
        return [list(row) for row in handed], rest, [line for line in done.stdout.splitlines() if "│" not in line]

    return run


def assert_neighbours(here, there, group):
    """The cells of one group moved within their reach; no other cell, message, exit code or file differs."""
    assert here[1:] == there[1:]
    assert len(here[0]) == len(REACH)
    for reach, one, other in zip(REACH, here[0], there[0], strict=True):
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            apart = np.abs(np.array(a) - b).max()  # of a median, the lengths of all values
            assert apart <= (reach if k == group else 0)


@pytest.mark.long
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_a_hostile_record_of_a_csv_file_moves_its_own_group_within_the_reach_and_nothing_else(seen, every, tmp_path):
    written(tmp_path / "t.csv", ROWS)
    here = seen("t.csv")
    assert here[0][:4] == [[1, 1, 1], [1, 1, 1], [1, 0, 0], [8 + 4, 1 + 6, 4 + 4]]
    assert [lengths.index(0) for lengths in here[0][4]] == [2, 2, 2]  # of four records each, those that lack being 2
    for held in [*HOSTILE, *RAW][::every]:
        written(tmp_path / "t.csv", [("North", held, held), *ROWS[1:]])
        assert_neighbours(here, seen("t.csv"), group=0)


@pytest.mark.long
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("engine", ["parquet", "duckdb", "sqlite"])
def test_a_hostile_record_of_a_database_moves_its_own_group_within_the_reach_and_nothing_else(
    seen, stored, engine, every
):
    """Quickly, every engine meets a part of its own."""

    def run(rows):
        g, c, n = zip(*rows, strict=True)
        table = pa.table({"g": g, "c": pa.array(c, pa.string()), "n": pa.array(n, pa.float64())})
        return seen(f"t.{engine}", stored(engine, table)[0].get("table", ""))

    here, start = run(ROWS), ["parquet", "duckdb", "sqlite"].index(engine) % every
    for text, number in itertools.zip_longest(HOSTILE[start :: 2 * every - 1], NUMBERS_HELD[start::every], fillvalue=3):
        assert_neighbours(here, run([("North", str(text), number), *ROWS[1:]]), group=0)


def test_a_record_with_bad_utf8_is_left_out_of_the_count_the_sum_and_the_median_alike(tmp_path):
    content = {
        "groups": {"by": ["g"], "keys": ["a"], "max_size": 3},
        "columns": {"c": {"type": "text"}, "n": {"low": 0, "high": 9}},
        "statistics": [
            {"count": "true", "name": "all"}, {"count": "c is null", "name": "null"},
            {"count": "c != 'x'", "name": "other"}, {"sum": "n"}, {"median": "n"}, {"max": "n"}, {"min": "n"},
        ],
    }  # fmt: skip
    for held, found in ((b"\xff", [2, 0, 0, 8, 3, 5, 3]), (b"fine", [3, 0, 1, 17, 5, 9, 3])):
        written(tmp_path / "t.csv", [("a", held, 9), ("a", "x", 3), ("a", "x", 5)])
        assert truths(content, {"path": str(tmp_path / "t.csv")}, None) == [[cell] for cell in found]
    written(tmp_path / "t.csv", [("a", b"\xff", 9), ("a", "x", 3), ("a", "x", 5)])
    unread = {**content, "statistics": [{"count": "true"}, {"median": "n"}]}
    assert truths(unread, {"path": str(tmp_path / "t.csv")}, None) == [[3], [5]]

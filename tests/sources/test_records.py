"""Canonical records: constants become values of a column's type exactly, and no cell can stop a conversion."""

import math
import sqlite3
from contextlib import closing
from fractions import Fraction
from functools import partial

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds.releases.pipeline import SourceError, open_plan_source, to_plan
from inbounds.schema.spelling import Spelling
from inbounds.schema.text import LONGEST_TEXT
from inbounds.sources.frames import arrow_table
from inbounds.sources.open import Source
from inbounds.sources.records import NumberForm, key_value, person_text, read_number, text_to_digits
from inbounds.sources.sqlite_cells import LONGEST_CELL

SIGNS = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

constants = st.one_of(
    st.fractions(min_value=-(10**21), max_value=10**21, max_denominator=10**6),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-2000, max_value=2000).map(Fraction),
    st.sampled_from([Fraction((1 << 63) + k) for k in range(-2, 3)] + [Fraction(-(1 << 63) + k) for k in range(-2, 3)]),
)


def outcome(form: NumberForm, sign: str, value: Fraction, constant: Fraction) -> bool:
    """What the written comparison says of one value."""
    found = form.bound(sign, constant)
    return found if isinstance(found, bool) else SIGNS[found[0]](value, Fraction(found[1]))


@given(
    st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-2100, 2100)), st.sampled_from([*SIGNS]), constants
)
@settings(max_examples=350, derandomize=True)
def test_a_whole_number_compares_with_any_constant_exactly(value, sign, constant):
    assert outcome(NumberForm("whole"), sign, Fraction(value), constant) is SIGNS[sign](value, constant)


@given(st.integers(0, 38), st.integers(1, 38), st.data())
@settings(max_examples=350, derandomize=True)
def test_a_decimal_compares_with_any_constant_exactly(scale, digits, data):
    digits = max(scale, digits)
    value = Fraction(data.draw(st.integers(1 - 10**digits, 10**digits - 1)), 10**scale)
    near = st.sampled_from([value, value + Fraction(1, 10**40), value - Fraction(1, 10**40), 3 * value])
    constant, sign = data.draw(st.one_of(near, constants)), data.draw(st.sampled_from([*SIGNS]))
    assert outcome(NumberForm("decimal", digits, scale), sign, value, constant) is SIGNS[sign](value, constant)


@pytest.mark.parametrize("kind", ["real", "single"])
@given(constant=constants, sign=st.sampled_from([*SIGNS]), value=st.floats(-1e300, 1e300))
@settings(max_examples=300, derandomize=True)
def test_a_float_compares_with_the_float_nearest_to_the_constant(kind, constant, sign, value):
    with np.errstate(over="ignore"):
        near = float(np.float32(float(constant))) if kind == "single" else float(constant)
    assert math.isfinite(near)
    assert outcome(NumberForm(kind), sign, Fraction(value), constant) is SIGNS[sign](value, near)


def test_types_that_fit_38_digits_have_a_common_type_in_which_both_are_exact():
    price, large, whole, real = (
        NumberForm("decimal", 10, 2),
        NumberForm("decimal", 38, 0),
        NumberForm("whole"),
        NumberForm("real"),
    )
    assert price.common(whole) == "DECIMAL(21, 2)"
    assert price.common(large) == ""  # 40 digits: floats must do
    assert whole.common(real) == ""
    assert NumberForm("numeric").common(whole) == "NUMERIC"


# --- what once stopped an engine --------------------------------------------------------------------------------


def truths(frame=None, source=None, count="true", columns=None, groups=None, people=None):
    content = {
        "groups": groups or {"max_size": 9},
        "columns": columns or {},
        "statistics": [{"count": count}],
        "privacy": {"epsilon": 1},
        **({"source": source} if source else {}),
        **({"people": people} if people else {}),
    }
    with closing(open_plan_source(to_plan(content, frame))) as opened:
        return opened.aggregate().positions[0].tolist()


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(38, 0), pa.decimal128(38, 19)])
@pytest.mark.parametrize("value", [0, 10**18, 9 * 10**18])
def test_a_constant_with_many_decimals_stops_at_no_number(kind, value):
    frame = pa.table({"x": pa.array([value], kind)})
    number = {"x": {"type": "number"}}
    assert truths(frame, count="x > 0.00010000000000000002", columns=number) == [int(value > 0)]
    assert truths(frame, count="x < 4.5", columns=number) == [int(value < 4.5)]


def test_columns_whose_common_type_has_too_many_digits_are_compared_all_the_same():
    frame = pa.table({"a": pa.array([5], pa.decimal128(10, 2)), "b": pa.array([10**37], pa.decimal128(38, 0))})
    assert truths(frame, count="a < b", columns={"a": {"type": "number"}, "b": {"type": "number"}}) == [1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("period", ["", "day", "month", "quarter", "year"])
def test_times_at_the_ends_of_their_type_belong_to_no_group_and_stop_nothing(unit, period):
    ends = [-(2**63), -(2**63) + 1, -(2**63) + 2, 2**63 - 1, 2**63 - 2, 0]
    frame = pa.table({"t": pa.array(ends, pa.int64()).cast(pa.timestamp(unit))})
    name = {"": "1970-01-01", "day": "1970-01-01", "month": "1970-01", "quarter": "1970-Q1", "year": "1970"}[period]
    groups = {"by": ["t"], "keys": [name], "max_size": 9, **({"period": {"t": period}} if period else {})}
    found = truths(frame, groups=groups)
    assert found == [1]


def test_a_text_of_a_parquet_file_that_is_no_utf8_stops_nothing(tmp_path):
    bytes_ = b"\xff\xfeab"
    held = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 4], "i4").tobytes()), pa.py_buffer(bytes_)]
    )
    pa.parquet.write_table(pa.table({"c": held}), tmp_path / "t.parquet")
    source = {"path": str(tmp_path / "t.parquet")}
    assert truths(source=source, count="c = 'ab'", columns={"c": {"type": "text"}}) == [1]
    assert truths(source=source, groups={"by": ["c"], "keys": ["ab"], "max_size": 9}) == [1]


def test_persons_in_sqlite_with_numbers_in_texts_are_answered(tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as file, file:
        file.execute("create table t (who text, g text, x text)")
        file.executemany("insert into t values (?, ?, ?)", [("a", "p", "3"), ("a", "q", "4"), ("b", "q", "no")])
    people = {"name": "us", "id": "who", "max_groups": 1}
    groups = {"by": ["g"], "keys": ["p", "q"], "max_size": 9}
    source = {"path": str(tmp_path / "t.sqlite"), "table": "t"}
    found = truths(source=source, count="x >= 3", columns={"x": {"type": "number"}}, groups=groups, people=people)
    assert sum(found) == 1


@pytest.mark.parametrize("length", [LONGEST_TEXT - 1, LONGEST_TEXT, LONGEST_TEXT + 1, 5 * LONGEST_TEXT])
def test_a_long_text_is_equal_to_itself_alone_and_stops_nothing(length):
    frame = pa.table({"c": ["é" * length]})
    text = {"c": {"type": "text"}}
    if length > LONGEST_TEXT:
        with pytest.raises(SourceError):
            truths(frame, count=f"c = '{'é' * length}'", columns=text)
    assert truths(frame, count=f"c = '{'é' * min(length, LONGEST_TEXT)}'", columns=text) == [
        int(length <= LONGEST_TEXT)
    ]
    assert truths(frame, count="c is null", columns=text) == [0]


def test_a_whole_number_of_39_digits_is_missing_and_stops_nothing(tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as file:
        file.execute("create table t as select unnest([7, 170141183460469231731687303715884105727]::hugeint[]) as x")
    source = {"path": str(tmp_path / "t.duckdb"), "table": "t"}
    number = {"x": {"type": "number"}}
    assert truths(source=source, count="x < 10", columns=number) == [1]
    assert truths(source=source, count="x is null", columns=number) == [1]


@pytest.mark.parametrize("last", [b"b", b"\xff"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_category_of_a_parquet_file_that_is_no_utf8_stops_nothing(tmp_path, last, kind):
    texts = pa.array([b"a", last], pa.binary()).view(pa.string())
    if kind != pa.string():
        texts = pa.array([b"a", last], pa.large_binary()).view(kind)
    pa.parquet.write_table(
        pa.table({"c": pa.DictionaryArray.from_arrays(pa.array([0, 0, 1]), texts)}), tmp_path / "t.parquet"
    )
    source = {"path": str(tmp_path / "t.parquet")}
    assert truths(source=source, count="c = 'a'", columns={"c": {"type": "text"}}) == [2]
    assert truths(source=source, groups={"by": ["c"], "keys": ["a"], "max_size": 9}) == [2]


class Label(pa.ExtensionType):
    """A type of one's own whose values are texts."""

    def __init__(self):
        super().__init__(pa.string(), "tests.label")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


@pytest.mark.parametrize("last", [b"b", b"\xff"])
def test_a_text_in_a_type_of_ones_own_stops_nothing(last):
    texts = pa.array([b"a", last], pa.binary()).view(pa.string())
    frame = pa.table({"c": pa.ExtensionArray.from_storage(Label(), texts)})
    assert truths(frame, count="c = 'a'", columns={"c": {"type": "text"}}) == [1]


class Odd(str):
    """A text whose bytes are none."""

    def __str__(self):
        return self

    def encode(self, *how):
        return 7


def test_an_object_that_lies_about_its_text_stops_nothing():
    import pandas

    frame = pandas.DataFrame({"c": pandas.Series(["a", Odd("b")], dtype=object)})
    assert truths(frame, count="c = 'a'", columns={"c": {"type": "text"}}) == [1]


def unchecked_decimals(values, kind):
    """A column of decimals as they are stored, whatever precision their type declares."""
    held = b"".join(value.to_bytes(kind.byte_width, "little", signed=True) for value in values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(held)])


DECIMALS = [
    *(pa.decimal32(9, 4), pa.decimal32(3, 0), pa.decimal64(18, 0), pa.decimal64(12, 10)),
    *(pa.decimal128(9, 4), pa.decimal128(18, 18), pa.decimal128(38, 0), pa.decimal128(38, 38), pa.decimal128(5, -3)),
    *(pa.decimal256(40, 2), pa.decimal256(76, 0), pa.decimal256(50, -3)),
]


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_a_decimal_beyond_its_declared_precision_is_missing_and_stops_nothing(tmp_path, kind):
    most, ends = 10**kind.precision - 1, (2 ** (kind.bit_width - 1) - 1, -(2 ** (kind.bit_width - 1)))
    held = unchecked_decimals([1, most, -most, most + 1, -most - 1, *ends], kind)
    frame = pa.table({"x": held, "y": pa.array([1] * 7, pa.decimal128(12, 10))})
    columns = {"x": {"type": "number"}, "y": {"type": "number"}}
    for count, expected in (("x is null", 4), ("x < 0", 1), ("x < y or x >= y", 3)):
        assert truths(frame, count=count, columns=columns) == [expected]
    if kind in (pa.decimal128(9, 4), pa.decimal128(38, 0)):
        frame = pa.table({"x": unchecked_decimals([1, most, -most, most + 1], kind), "y": frame["y"][:4]})
        pa.parquet.write_table(frame, tmp_path / "t.parquet")
        source = {"path": str(tmp_path / "t.parquet")}
        assert truths(source=source, count="x < y or x >= y", columns=columns) == [3]


@pytest.mark.parametrize("letter", ["a", "é", "𝄞"])
@pytest.mark.parametrize("kind", [None, object, "category", pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_texts_are_cut_before_they_reach_an_engine_that_limits_them(kind, letter):
    """So that neither a text of 4 GB nor texts of 2 GB in all stop anything."""
    import pandas

    texts = ["b", letter * LONGEST_TEXT, letter * (LONGEST_TEXT + 1), "z" + letter * (5 * LONGEST_TEXT)]
    frame = pandas.DataFrame({"c": pandas.Series(texts, dtype=kind)}) if kind in (None, object, "category") else None
    frame = pa.table({"c": pa.array(texts, kind)}) if frame is None else frame
    made = arrow_table(frame, ["c"], "c")["c"]
    assert made.type != pa.string() or kind == pa.string()
    assert all(text is None or len(text.encode()) <= LONGEST_CELL for text in made.to_pylist())
    assert truths(frame, count=f"c = '{letter * LONGEST_TEXT}'", columns={"c": {"type": "text"}}) == [1]
    assert truths(frame, people={"name": "us", "id": "c"}) == [2]


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be", "UTF-8"])
def test_a_database_of_sqlite_in_another_encoding_is_refused_before_anything_is_read(tmp_path, encoding):
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as file, file:
        file.execute(f"pragma encoding = '{encoding}'")
        file.execute("create table t (c text)")
        file.execute("insert into t values ('a')")
    source, columns = {"path": str(tmp_path / "t.sqlite"), "table": "t"}, {"c": {"type": "text"}}
    if encoding == "UTF-8":
        assert truths(source=source, count="c = 'a'", columns=columns) == [1]
        return
    with pytest.raises(SourceError) as caught:
        truths(source=source, count="c = 'a'", columns=columns)
    assert caught.value.path == ("source", "path")


# --- columns as expressions ----------------------------------------------------------------------------------------


def converted(convert, *cells):
    """What an expression makes of texts."""
    column = ibis.memtable(pa.table({"c": pa.array(cells, pa.string())})).c
    return convert(column).to_pyarrow().to_pylist()


def test_a_point_is_no_part_of_a_number_with_a_decimal_comma():
    read = partial(read_number, source=Source(path="t.csv", decimal=","))
    assert converted(read, "4,5", "1.234", "1.234,5", "7") == [4.5, None, None, 7.0]


def test_an_empty_id_and_one_that_is_too_long_are_nobody():
    longest = "x" * LONGEST_TEXT
    assert converted(person_text, "", None, longest + "x", "1", longest) == [
        None,
        None,
        None,
        "31",
        "78" * LONGEST_TEXT,
    ]


def test_records_without_a_value_or_with_an_empty_one_have_the_missing_key():
    key = partial(key_value, spelling=Spelling(), kind=ibis.dtype("string"))
    assert converted(partial(key, missing_key="none"), "", None, "31") == [text_to_digits("none")] * 2 + ["31"]
    assert converted(key, "", None, "31") == ["", None, "31"]

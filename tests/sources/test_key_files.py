"""Public registers as people have them: strays are cleaned or refused, and everything in them may be named."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.releases.pipeline import PlanError, parse_groups
from raising import raises_at

pandas = pytest.importorskip("pandas")


def test_a_register_is_read_without_the_spaces_around_its_fields(tmp_path):
    (tmp_path / "k.csv").write_text('s , n\n1 , 3\n" b", 4\n')
    found = parse_groups(["s"], "k.csv", "n", folder=tmp_path)
    assert found.keys == (("1",), ("b",))
    assert found.sizes.tolist() == [3, 4]


def test_a_register_that_pandas_wrote_with_its_index_is_read(tmp_path):
    pandas.DataFrame({"s": ["b", "a"], "n": [3, 4]}).to_csv(tmp_path / "k.csv")
    assert parse_groups(["s"], "k.csv", "n", folder=tmp_path).keys == (("b",), ("a",))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_register_is_seen_in_its_first_line(tmp_path, delimiter):
    (tmp_path / "k.csv").write_text("s,n\nb,3\na,4\n".replace(",", delimiter))
    found = parse_groups(["s"], "k.csv", "n", folder=tmp_path)
    assert found.keys == (("b",), ("a",))
    assert found.sizes.tolist() == [3, 4]


BAD_REGISTERS = [
    ("k.csv", "s,n\nb,1\n,2\n", "keys"),
    ("k.txt", '"a"\n"b"\n', "keys"),
    ("k.txt", "a,1\nb,2\n", "keys"),
    ("k.csv", "t,n\na,3\n", "keys"),
    ("k.csv", "S;n\na;3\n", "keys"),
    ("k.csv", "s,n\na\n", "keys"),
    ("k.csv", "s,n\na,\n", "size"),
    ("k.csv", "s,m\na,3\n", "size"),
    ("k.txt", "a\nb\n", "size"),
    ("none.csv", None, "keys"),
    ("k.csv", b"s,n\n\xe4,3\n", "keys"),
    ("k.xlsx", "", "keys"),
]


def test_a_bad_register_is_refused_with_the_way_out(tmp_path, golden):
    said = {}
    for name, text, field in BAD_REGISTERS:
        if text is not None:
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        with raises_at(PlanError, (field,)) as caught:
            parse_groups(["s"], name, "n", folder=tmp_path)
        said[f"{name}: {text!r}"] = str(caught.value).replace(str(tmp_path), "<folder>")
    golden.parts("wrong_registers", said)


def test_some_keys_with_commas_or_quotes_are_keys(tmp_path):
    (tmp_path / "k.txt").write_text('Washington, DC\n"q"\n1.0\n')
    assert parse_groups(["s"], "k.txt", 3, folder=tmp_path).keys == (("Washington, DC",), ('"q"',), ("1.0",))
    assert parse_groups(["s"], ["1.0", "2.0"], 3).keys == (("1.0",), ("2.0",))


@pytest.mark.parametrize(("name", "text"), [("k.csv", "s,n\n1.0,3.0\n-2.0,4\n"), ("k.txt", "1.0\n-2.0\n")])
def test_a_register_of_whole_numbers_that_a_program_wrote_as_floats_is_one_of_whole_numbers(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert parse_groups(["s"], name, [3, 4], folder=tmp_path).keys == (("1",), ("-2",))


@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a"],
        pandas.Series(["b", "a"]),
        pandas.Index(["b", "a"]),
        np.array(["b", "a"]),
        pa.array(["b", "a"]),
        pandas.DataFrame({"s": ["b", "a"]}),
        {"s": pandas.Series(["b", "a"])},
    ],
)
def test_keys_may_be_anything_that_holds_a_column(keys):
    assert parse_groups(["s"], keys, 3).keys == (("b",), ("a",))


def test_keys_of_two_columns_may_be_an_array_or_an_index_of_pairs():
    pairs = [("b", 1), ("a", 2)]
    wanted = (("b", "1"), ("a", "2"))
    assert parse_groups(["s", "y"], pandas.MultiIndex.from_tuples(pairs), 3).keys == wanted
    assert parse_groups(["s", "y"], np.array([["b", "1"], ["a", "2"]]), 3).keys == wanted


@pytest.mark.parametrize("keys", [[1.0, 2.0], pandas.Series([1, None]), np.array([1.5]), [None], [b"a"]])
def test_keys_that_are_no_texts_are_refused(keys):
    with raises_at(PlanError, ("keys",), about="texts"):
        parse_groups(["s"], keys, 3)


@pytest.mark.parametrize(
    "size",
    [{"a": 4, "b": 3}, pandas.Series({"a": 4, "b": 3}), [3, 4], np.array([3, 4]), pandas.array([3, 4]), ["3", 4.0]],
)
def test_sizes_may_be_given_by_key_or_in_order(size):
    assert parse_groups(["s"], ["b", "a"], size).sizes.tolist() == [3, 4]


def test_sizes_by_key_of_two_columns_and_of_booleans_and_dates():
    found = parse_groups(["s", "y"], [["b", 1], ["a", 2]], {("a", 2): 4, ("b", 1): 3})
    assert found.sizes.tolist() == [3, 4]
    day = datetime.date(2024, 1, 1)
    assert parse_groups(["s"], [day, True], {True: 4, day: 3}).sizes.tolist() == [3, 4]


BAD_SIZES = {
    "a key without": {"a": 4},
    "a series": pandas.Series([3, 4]),
    "another key": {"a": 4, "b": 3, "c": 1},
    "none": {"a": None, "b": 3},
    "half a person": [3, 2.5],
    "a frame": pandas.DataFrame({"n": [3, 4]}),
    "too many": 2**60,
}


def test_bad_sizes_are_refused_with_their_key(golden):
    said = {}
    for name, size in BAD_SIZES.items():
        with raises_at(PlanError, ("size",)) as caught:
            parse_groups(["s"], ["b", "a"], size)
        said[name] = caught.value
    golden.parts("wrong_sizes", said)


def test_a_header_line_is_known_by_its_name_in_any_case(tmp_path):
    for first in ("School", "school", "SCHOOL"):
        (tmp_path / "k.txt").write_text(f"{first}\na\n")
        with raises_at(PlanError, ("keys",), about="header"):
            parse_groups(["school"], "k.txt", 3, folder=tmp_path)


def test_a_parquet_file_that_unfolds_too_far_is_refused_before_it_is_read(tmp_path, monkeypatch):
    pa.parquet.write_table(
        pa.table({"s": [f"{k:0100}" for k in range(1000)]}), tmp_path / "k.parquet", compression="zstd"
    )
    assert len(parse_groups(["s"], "k.parquet", 3, folder=tmp_path).keys) == 1000
    monkeypatch.setattr("inbounds.sources.key_files.MOST_UNFOLDED", 2)
    with raises_at(PlanError, ("keys",), about="unfolds"):
        parse_groups(["s"], "k.parquet", 3, folder=tmp_path)

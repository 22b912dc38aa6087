"""Public registers as people have them: strays are cleaned or refused, and everything in them may be named."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from inbounds.releases.pipeline import PlanError, parse_groups

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


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("k.csv", "s,n\nb,1\n,2\n", "keys must not be empty: a record without a key is in no group"),
        ("k.txt", '"a"\n"b"\n', "every line stands in quotes; name the file .csv"),
        ("k.txt", "a,1\nb,2\n", "every line holds a comma; name the file .csv"),
        ("k.csv", "t,n\na,3\n", "the columns: s; it has: t, n"),
        ("k.csv", "S;n\na;3\n", "the columns: s; it has: S, n"),
        ("k.csv", "s,n\na\n", "must have 2 fields in every row, as in the first, got 1 in row 2"),
        ("k.csv", "s,n\na,\n", "size must be a whole number of at least 1, the people of a group, got '' for 'a'"),
        ("k.csv", "s,m\na,3\n", "size must be a number, a list, or a column .* got 'n'; it has: s, m"),
        ("k.txt", "a\nb\n", "got 'n'; a list of keys has no columns"),
        ("none.csv", None, "must be a readable file, and .*none.csv does not exist"),
        ("k.csv", b"s,n\n\xe4,3\n", "must be a file in UTF-8, and .* is not; save it as CSV UTF-8"),
        ("k.xlsx", "", "save it as CSV UTF-8, or give pandas.read_excel"),
    ],
)
def test_a_bad_register_is_refused_with_the_way_out(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PlanError, match=words):
        parse_groups(["s"], name, "n", folder=tmp_path)


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
    with pytest.raises(PlanError, match="keys must be texts, whole numbers, booleans or dates, got"):
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


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ({"a": 4}, "must give a number for every key, but has none for 'b'"),
        (pandas.Series([3, 4]), r"has none for 'b'; sizes in the order of the keys are a list: .tolist\(\)"),
        ({"a": 4, "b": 3, "c": 1}, "must give numbers for keys only, but 'c' is none"),
        ({"a": None, "b": 3}, "got None for 'a'"),
        ([3, 2.5], "got 2.5 for 'a'"),
        (pandas.DataFrame({"n": [3, 4]}), "give the frame as keys, and here the name of its column"),
        (2**60, "must lie below"),
    ],
)
def test_bad_sizes_are_refused_with_their_key(size, words):
    with pytest.raises(PlanError, match=f"size .*{words}|{words}"):
        parse_groups(["s"], ["b", "a"], size)

"""Frames: types are never guessed from values, and a column that cannot be read is named with the way out."""

import datetime
import decimal
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from inbounds.releases.pipeline import SourceError, open_plan_source, to_plan
from raising import raises_at
from releases.places import places

pandas = pytest.importorskip("pandas")

PLAN = {
    "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": 9},
    "columns": {"n": {"low": 0, "high": 10, "missing": 5}},
    "statistics": [{"max": "n"}],
    "privacy": {"epsilon": 1},
}
COUNT = {**PLAN, "columns": {}, "statistics": [{"count": "true"}]}
ODD = [None, float("nan"), "n/a", "1_0", 3, 2.5, True, b"\xff", "\ud800", datetime.date(2024, 1, 1), decimal.Decimal(7)]


def truths(frame, content=PLAN):
    with closing(open_plan_source(to_plan(content, frame))) as opened:
        return places(opened)


def test_text_that_is_no_number_is_missing_in_a_frame_as_in_a_csv_file(tmp_path):
    frame = pandas.DataFrame({"g": ["a", "b", "b"], "n": ["n/a", "7", "3"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        source = {**PLAN, "source": {"path": str(tmp_path / name)}}
        with closing(open_plan_source(to_plan(source))) as opened:
            assert places(opened) == [[5, 7]]
    assert truths(frame) == truths(frame.astype(object)) == truths(pa.Table.from_pandas(frame)) == [[5, 7]]


@pytest.mark.long
@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("column", ["g", "n"])
def test_no_value_of_one_record_changes_whether_a_frame_is_read_or_another_group(odd, column):
    rows = [{"g": "a", "n": 4}, {"g": "b", "n": 6}]
    rows.append({**rows[0], column: odd})
    frame = pandas.DataFrame({name: pandas.Series([r[name] for r in rows], dtype=object) for name in ("g", "n")})
    assert truths(frame)[0][1] == 6


@pytest.mark.parametrize("values", [["a", "b", None], [None, None, None], ["a", 1, b"b"]])
def test_the_types_of_python_objects_do_not_follow_from_their_values(values):
    frame = pandas.DataFrame({"g": pandas.Series(values, dtype=object)})
    with closing(open_plan_source(to_plan(COUNT, frame))) as opened:
        assert opened.table.schema()["g"].is_string()
        assert opened.aggregate().positions[0][0] == values.count("a")


def test_categories_are_their_values_whatever_they_are():
    frame = pandas.DataFrame({"g": pandas.Categorical(["a", None, "b", "a"]), "n": pandas.Categorical([1, 2, None, 8])})
    assert truths(frame) == [[8, 5]]
    ages = pandas.DataFrame({"g": pandas.cut([1, 5, 12], [0, 10, 20])})
    keys = {**COUNT, "groups": {"by": ["g"], "keys": ["(0, 10]", "(10, 20]"], "size": 9}}
    assert truths(ages, keys) == [[2, 1]]
    polars = pytest.importorskip("polars")
    coded = polars.DataFrame({"g": ["a", None, "b", "a"]}, schema={"g": polars.Categorical})
    assert truths(coded, COUNT) == truths(coded.to_arrow(), COUNT) == [[2, 1]]


def test_an_index_that_the_plan_names_is_a_column():
    frame = pandas.DataFrame({"g": ["a", "b"], "n": [6, 8]})  # above what a missing one counts as
    assert truths(frame.set_index("g")) == truths(frame) == [[6, 8]]


@pytest.mark.parametrize(
    ("name", "values", "path", "about"),
    [
        ("g", pandas.Series([1, None]), ("groups", "by"), '.astype("Int64")'),
        (
            "g",
            pandas.Series(pandas.to_datetime(["2024-01-01", None], utc=True)),
            ("groups", "by"),
            "frame['g'].dt.date",
        ),
        ("g", pandas.period_range("2024-01", periods=2, freq="M"), ("source",), ".astype(str)"),
        ("n", pandas.interval_range(0, 2), ("source",), ".astype(str)"),
        ("n", np.array([1j, 2]), ("source",), "complex128"),
        ("n", pandas.to_timedelta([1, 2], unit="s"), ("source",), "total_seconds"),
        (
            "n",
            pandas.Series([True, False]),
            ("columns", "n"),
            'type = "boolean"',
        ),
    ],
)
def test_a_column_that_cannot_be_read_is_named_with_the_way_out(name, values, path, about):
    frame = pandas.DataFrame({"g": ["a", "b"], "n": [1, 2]}).assign(**{name: values})
    with raises_at(SourceError, path, about=about):
        truths(frame)


def test_columns_that_the_plan_does_not_use_may_be_anything():
    frame = pandas.DataFrame({"g": ["a", "b"], "p": pandas.period_range("2024", periods=2, freq="Y"), "o": [1j, 2]})
    assert truths(frame, COUNT) == [[1, 1]]
    twice = pandas.concat([frame, frame[["p"]]], axis=1)
    assert truths(twice, COUNT) == [[1, 1]]
    with raises_at(SourceError, ("source",), about="more than one column"):
        truths(pandas.concat([frame, frame[["g"]]], axis=1), COUNT)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pandas.Series(["a"], name="g"), ".to_frame()"),
        ({"g": ["a"]}, "pandas.DataFrame"),
        ("survey.csv", "a file"),
        (3, "got int"),
    ],
)
def test_what_is_no_frame_is_refused_with_the_way_out(frame, words):
    with raises_at(SourceError, ("source",), about=words):
        truths(frame, COUNT)


def test_a_type_that_arrow_lacks_matters_only_in_columns_that_are_read():
    import polars

    frame = polars.DataFrame({"g": ["a", "b"], "p": [True, False]}).with_columns(big=polars.lit(1, polars.Int128))
    assert truths(frame, COUNT) == truths(frame.drop("big"), COUNT)
    with raises_at(SourceError, ("source",), about="Int128"):
        truths(frame.with_columns(g=polars.lit(1, polars.Int128)), COUNT)


def test_a_frame_without_a_column_is_not_taken_for_a_file():
    with raises_at(SourceError, ("groups", "by"), about="frame.columns"):
        truths(pandas.DataFrame({"other": ["a"]}), COUNT)


def test_a_misspelt_column_of_a_frame_is_suggested_and_no_other_is_listed():
    frame = pandas.DataFrame({"G": ["a"], "secret": [1], "scores": [2]})
    with raises_at(SourceError, ("groups", "by"), about="'G'") as caught:
        truths(frame, COUNT)
    assert "secret" not in str(caught.value)

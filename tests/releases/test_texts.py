"""Keys, labels and texts of conditions match what their column can hold, or are refused before anything is read."""

import datetime
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.releases.pipeline import PlanError, SourceError, open_plan_source, to_plan
from raising import raises_at
from releases.places import places

pandas = pytest.importorskip("pandas")

DAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]


def truths(content, frame=None, *, by="g", keys=("a",), columns=None, **statistic):
    """The true counts, cell by cell, of a plan with one statistic and groups of up to 9."""
    plan = {
        "groups": {"by": [by], "keys": keys, "size": 9},
        "columns": columns or {},
        "statistics": [statistic or {"count": "true"}],
        "privacy": {"epsilon": 1},
        **content,
    }
    with closing(open_plan_source(to_plan(plan, frame))) as opened:
        return places(opened)


def bool_frame():
    return pandas.DataFrame({"g": [True, True, False], "s": [True, False, False], "one": ["x"] * 3})


def bool_sources(folder):
    """The same register of booleans as pandas writes it in every form."""
    frame = bool_frame()
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("create table records (g boolean, s boolean, one text)")
        rows = frame.astype({"g": int, "s": int}).itertuples(index=False)
        connection.executemany("insert into records values (?, ?, ?)", map(tuple, rows))
    connection.close()
    files = [{"path": str(folder / name)} for name in ("t.csv", "t.parquet")]
    files.append({"path": str(folder / "t.sqlite"), "table": "records"})
    return [({"source": file}, None) for file in files] + [({}, frame), ({}, frame.astype(object))]


@pytest.mark.long
@pytest.mark.parametrize("keys", [[True, False], ["True", "False"], ["true", "FALSE"], np.array([True, False])])
def test_boolean_keys_match_in_any_case_and_alike_in_every_source(tmp_path, keys):
    for content, frame in bool_sources(tmp_path):
        assert truths(content, frame, keys=keys) == [[2, 1]]


@pytest.mark.long
@pytest.mark.parametrize("labels", [[True, False], ["True", "False"], ["true", "false"]])
def test_boolean_labels_match_in_any_case_and_alike_in_every_source(tmp_path, labels):
    for content, frame in bool_sources(tmp_path):
        columns = {"s": {"labels": labels}}
        assert truths(content, frame, by="one", keys=["x"], columns=columns, histogram="s") == [[1], [2]]


@pytest.mark.long
@pytest.mark.parametrize("test", ["s = 'True'", "s = 'true'", "'TRUE' = s", "s in ('True', 'x')", "s != 'false'"])
def test_a_condition_on_a_boolean_matches_in_any_case_and_alike_in_every_source(tmp_path, test):
    for content, frame in bool_sources(tmp_path):
        if "x" in test and content.get("source", {}).get("path", ".csv")[-4:] != ".csv":
            continue
        if "x" in test and frame is not None:
            continue
        assert truths(content, frame, by="one", keys=["x"], columns={"s": {"type": "text"}}, count=test) == [[1]]


def test_the_released_table_says_the_keys_as_they_were_declared():
    plan = to_plan(
        {
            "groups": {"by": ["g"], "keys": ["True", "False"], "size": 2},
            "statistics": [{"count": "true"}],
            "privacy": {"epsilon": 1},
        },
        bool_frame(),
    )
    assert open_plan_source(plan).plan.groups.keys == (("True",), ("False",))


@pytest.mark.parametrize(
    ("kind", "values", "texts", "rule"),
    [
        ("boolean", [True, False], ["yes", "no"], "true or false"),
        ("boolean", [True, False], [1, 0], "true or false"),
        ("date", DAYS[1:], ["2024-1-1", "2024-01-02"], "dates such as 2024-01-31"),
        ("date", DAYS[1:], ["01.01.2024", "02.01.2024"], "dates such as 2024-01-31"),
        ("date", DAYS[1:], ["2024-02-30", "2024-01-01"], "dates such as 2024-01-31"),
        ("int64", [1, 2], ["1.0", "2.0"], "whole numbers"),
    ],
)
def test_a_text_that_its_column_can_never_hold_is_refused(kind, values, texts, rule):
    frame = pa.table({"g": values, "one": ["x"] * 2})
    with raises_at(SourceError, ("groups", "keys"), about=rule):
        truths({}, frame, keys=texts)
    inner = {"by": "one", "keys": ["x"]}
    with raises_at(SourceError, ("columns", "g", "labels"), about=rule):
        truths({}, frame, **inner, columns={"g": {"labels": texts}}, histogram="g")
    with raises_at(SourceError, ("statistics", 0, "count"), about=rule):
        truths({}, frame, **inner, columns={"g": {"type": "text"}}, count=f"not g = '{texts[0]}'")


@pytest.mark.long
@pytest.mark.parametrize(
    "keys",
    [
        ["2024-01-01", "2024-01-02"],
        [datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 2)],
        pandas.to_datetime(["2024-01-01", "2024-01-02"]),
        pandas.Series(pandas.to_datetime(["2024-01-01", "2024-01-02"])),
        np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]"),
        [pandas.Timestamp("2024-01-01"), pandas.Timestamp("2024-01-02")],
    ],
)
def test_dates_are_keys_however_python_writes_them_and_a_midnight_is_its_date(tmp_path, keys):
    times = pandas.DataFrame({"g": pandas.to_datetime(DAYS)})
    times.to_parquet(tmp_path / "t.parquet")
    for frame in (times, pa.table({"g": DAYS}), pandas.DataFrame({"g": DAYS})):
        assert truths({}, frame, keys=keys) == [[2, 1]]
    assert truths({"source": {"path": str(tmp_path / "t.parquet")}}, keys=keys) == [[2, 1]]


def test_texts_of_midnights_are_dates_where_the_column_holds_dates():
    for column in (DAYS, pandas.to_datetime(DAYS)):
        assert truths({}, pa.table({"g": column}), keys=["2024-01-01 00:00:00", "2024-01-02T00:00"]) == [[2, 1]]


def test_a_time_of_day_is_in_no_group_of_dates():
    frame = pandas.DataFrame({"g": pandas.to_datetime(["2024-01-01 00:00", "2024-01-01 12:30"])})
    assert truths({}, frame, keys=["2024-01-01"]) == [[1]]


def test_dates_are_labels_and_texts_of_conditions():
    frame = pa.table({"g": ["a"] * 3, "day": DAYS})
    labels = {"day": {"labels": [datetime.date(2024, 1, 1), "2024-01-02 00:00:00"]}}
    assert truths({}, frame, columns=labels, histogram="day") == [[2], [1]]
    assert truths({}, frame, columns={"day": {"type": "text"}}, count="day = '2024-01-01 00:00:00'") == [[2]]


def test_labels_may_be_whole_numbers_and_booleans():
    frame = pa.table({"g": ["a"] * 3, "n": [1, 1, 3]})
    assert truths({}, frame, columns={"n": {"labels": [1, 2, 3], "other": 3}}, histogram="n") == [[2], [0], [1]]
    with raises_at(PlanError, ("columns", "n", "labels"), about="1.5"):
        truths({}, frame, columns={"n": {"labels": [1.5, 2]}}, histogram="n")
    with raises_at(PlanError, ("columns", "n", "labels"), about="different"):
        truths({}, frame, columns={"n": {"labels": ["True", "true"]}}, histogram="n")
    with raises_at(SourceError, ("columns", "n", "labels"), about="different"):
        truths({}, frame, columns={"n": {"labels": ["1", "01"]}}, histogram="n")


# --- conditions and labels ----------------------------------------------------------------------------------


ANSWERS = pa.table({"g": ["a"] * 3, "s": ["yes", "maybe", "no"]})


def test_a_text_in_a_condition_that_is_no_label_is_refused():
    columns = {"s": {"labels": ["yes", "no"]}}
    assert truths({}, ANSWERS, columns=columns, count="s = 'yes'") == [[1]]
    with raises_at(PlanError, ("statistics", 0, "count"), about="did you mean 'yes'"):
        truths({}, ANSWERS, columns=columns, count="not s in ('no', 'Yes')")
    with raises_at(PlanError, ("statistics", 0, "count"), about="labels are yes, no"):
        truths({}, ANSWERS, columns=columns, count="s = 'maybe'")


def test_where_other_is_declared_a_condition_may_name_another_value_but_no_slip_of_a_label():
    columns = {"s": {"labels": ["yes", "no"], "other": "no"}}
    assert truths({}, ANSWERS, columns=columns, count="s = 'maybe'") == [[1]]
    for slip in ("Yes", "yes ", "NO"):
        with raises_at(PlanError, ("statistics", 0, "count"), about="did you mean"):
            truths({}, ANSWERS, columns=columns, count=f"s = '{slip}'")


def test_conditions_see_the_values_as_they_are_and_statistics_the_declared_ones():
    table = pa.table({"g": ["a"] * 2, "n": [99, 3], "s": ["maybe", "yes"]})
    columns = {"n": {"low": 0, "high": 10}, "s": {"labels": ["yes", "no"], "other": "no"}}
    assert truths({}, table, columns=columns, max="n") == [[10]]
    assert truths({}, table, columns=columns, count="n > 10") == [[1]]
    assert truths({}, table, columns=columns, histogram="s") == [[1], [1]]
    assert truths({}, table, columns=columns, count="s = 'no'") == [[0]]


def test_counting_all_records_is_said_in_words():
    assert truths({}, ANSWERS, count="true") == [[3]]
    with raises_at(PlanError, ("statistics", 0, "count"), about='"true"'):
        truths({}, ANSWERS, count=True)


# --- whole numbers that pandas wrote as floats ---------------------------------------------------------------


MARKS = ["1", "1.0", "2.0", "v1.0", "01.0", "1.00", "1.0\n", "-1.0", ".0", "", None, "true"]


def mark_sources(folder):
    """The same texts in a file, a database and a frame."""
    table = pa.table({"g": MARKS, "one": ["x"] * len(MARKS)})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    table.to_pandas().to_csv(folder / "t.csv", index=False)
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("create table records (g text, one text)")
        connection.executemany("insert into records values (?, ?)", [(mark, "x") for mark in MARKS])
    connection.close()
    files = [{"path": str(folder / name)} for name in ("t.csv", "t.parquet")]
    files.append({"path": str(folder / "t.sqlite"), "table": "records"})
    return [({"source": file}, None) for file in files] + [({}, table), ({}, table.to_pandas())]


@pytest.mark.long
@pytest.mark.parametrize("texts", [["1", "2", "v1", "01"], ["1.0", "2.0", "v1", "01.0"], [1, 2, "v1", "01"]])
def test_a_whole_number_matches_with_and_without_its_point_and_alike_in_every_source(tmp_path, texts):
    for content, frame in mark_sources(tmp_path):
        assert truths(content, frame, keys=texts) == [[2, 1, 0, 1]]
        inner = {"by": "one", "keys": ["x"]}
        assert truths(content, frame, **inner, columns={"g": {"labels": texts}}, histogram="g") == [[2], [1], [0], [1]]
        columns = {"g": {"type": "text"}}
        assert truths(content, frame, **inner, columns=columns, count=f"g in ('{texts[0]}', '{texts[1]}')") == [[3]]


def test_a_survey_that_pandas_wrote_with_gaps_has_the_histogram_of_its_whole_numbers(tmp_path):
    pandas.DataFrame({"g": ["a"] * 5, "n": [3, 3, None, 5, 1]}).to_csv(tmp_path / "t.csv", index=False)
    content, columns = {"source": {"path": str(tmp_path / "t.csv")}}, {"n": {"labels": list("12345")}}
    assert truths(content, columns=columns, histogram="n") == [[1], [0], [2], [0], [1]]


def test_one_whole_number_in_two_forms_is_one_key_and_one_label():
    frame = pa.table({"g": ["3"], "one": ["x"]})
    with raises_at(SourceError, ("groups", "keys"), about="different"):
        truths({}, frame, keys=["3", "3.0"])
    with raises_at(PlanError, ("columns", "g", "labels"), about="different"):
        truths({}, frame, by="one", keys=["x"], columns={"g": {"labels": ["3", "3.0"]}}, histogram="g")


def test_texts_are_left_as_they_are_where_no_whole_number_is_meant():
    assert truths({}, pa.table({"g": MARKS}), keys=["v1.0", "1.00"]) == [[1, 1]]


# --- dates in order ------------------------------------------------------------------------------------------


WRITTEN = ["2024-05-31", "2024-06-01", "2024-06-02", "2024-6-3", "9", "unknown", "2024-06-02\n", "", None]


@pytest.mark.long
@pytest.mark.parametrize(
    ("test", "count"),
    [
        ("day >= '2024-06-01'", 2),
        ("not day < '2024-06-01'", 2),
        ("'2024-06-01' > day", 1),
        ("day between '2024-05-01' and '2024-06-01'", 2),
        ("day > '2024-06-01' or day = '2024-05-31'", 2),
    ],
)
def test_dates_are_ordered_and_what_is_no_date_cannot_be_told(tmp_path, test, count):
    columns = {"day": {"type": "text"}}
    table = pa.table({"g": ["a"] * len(WRITTEN), "day": WRITTEN})
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("create table records (g text, day text)")
        connection.executemany("insert into records values ('a', ?)", [(text,) for text in WRITTEN])
    connection.close()
    assert truths({}, table, columns=columns, count=test) == [[count]]
    for source in ({"path": str(tmp_path / "t.csv")}, {"path": str(tmp_path / "t.sqlite"), "table": "records"}):
        assert truths({"source": source}, columns=columns, count=test) == [[count]]
    dates = [datetime.date.fromisoformat(text) for text in WRITTEN[:3]]
    assert truths({}, pa.table({"g": ["a"] * 3, "day": dates}), columns=columns, count=test) == [[count]]


def test_a_missing_text_is_missing_in_every_source(tmp_path):
    inner = {"by": "one", "keys": ["x"], "columns": {"g": {"type": "text"}}}
    for content, frame in mark_sources(tmp_path):
        empty = 2 if content.get("source", {}).get("path", "").endswith(".csv") else 1  # as a CSV file writes it
        assert truths(content, frame, **inner, count="g is null and not g = 'v1.0'") == [[0]]
        assert truths(content, frame, **inner, count="g is null or g = 'v1.0'") == [[empty + 1]]


@pytest.mark.parametrize("text", ["2024-6-1", "1.6.2024", "2024-06-31", "2024-06-01 00:00"])
def test_a_date_in_another_form_is_not_ordered(text):
    frame = pa.table({"g": ["a"], "day": ["2024-06-01"]})
    with raises_at(PlanError, ("statistics", 0, "count"), about="is it a date?"):
        truths({}, frame, columns={"day": {"type": "text"}}, count=f"day < '{text}'")


def test_a_column_of_text_that_is_ordered_is_compared_with_dates_only():
    frame = pa.table({"g": ["a"], "day": ["2024-06-01"]})
    with raises_at(SourceError, ("statistics", 0, "count"), about="'never'"):
        truths({}, frame, columns={"day": {"type": "text"}}, count="day < '2024-06-01' or day = 'never'")


OF_ANOTHER_TYPE = [
    ("boolean", "s = 'True'"),
    ("boolean", "'1' = s"),
    ("text", "s = true"),
    ("text", "s"),
    ("text", "s = 3"),
    ("number", "s = '3'"),
]


def test_a_constant_of_another_type_is_refused_with_the_way_out(golden):
    said = {}
    for kind, test in OF_ANOTHER_TYPE:
        with raises_at(PlanError, ("statistics", 0, "count")) as caught:
            truths({}, ANSWERS, columns={"s": {"type": kind}}, count=test)
        said[f"{kind}: {test}"] = caught.value
    golden.parts("wrong_conditions", said)

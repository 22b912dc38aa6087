"""Keys, labels and texts of conditions match what their column can hold, or are refused before anything is read."""

import datetime
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.release import PlanError, SourceError, as_plan, open_source

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
    with closing(open_source(as_plan(plan, frame))) as opened:
        return [row.tolist() for row in opened.aggregate().positions]


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


@pytest.mark.parametrize("keys", [[True, False], ["True", "False"], ["true", "FALSE"], np.array([True, False])])
def test_boolean_keys_match_in_any_case_and_alike_in_every_source(tmp_path, keys):
    for content, frame in bool_sources(tmp_path):
        assert truths(content, frame, keys=keys) == [[2, 1]]


@pytest.mark.parametrize("labels", [[True, False], ["True", "False"], ["true", "false"]])
def test_boolean_labels_match_in_any_case_and_alike_in_every_source(tmp_path, labels):
    for content, frame in bool_sources(tmp_path):
        columns = {"s": {"labels": labels}}
        assert truths(content, frame, by="one", keys=["x"], columns=columns, histogram="s") == [[1], [2]]


@pytest.mark.parametrize("test", ["s = 'True'", "s = 'true'", "'TRUE' = s", "s in ('True', 'x')", "s != 'false'"])
def test_a_condition_on_a_boolean_matches_in_any_case_and_alike_in_every_source(tmp_path, test):
    for content, frame in bool_sources(tmp_path):
        if "x" in test and content.get("source", {}).get("path", ".csv")[-4:] != ".csv":
            continue
        if "x" in test and frame is not None:
            continue
        assert truths(content, frame, by="one", keys=["x"], columns={"s": {"type": "text"}}, count=test) == [[1]]


def test_the_released_table_says_the_keys_as_they_were_declared():
    plan = as_plan(
        {
            "groups": {"by": ["g"], "keys": ["True", "False"], "size": 2},
            "statistics": [{"count": "true"}],
            "privacy": {"epsilon": 1},
        },
        bool_frame(),
    )
    assert open_source(plan).plan.groups.keys == (("True",), ("False",))


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
    with pytest.raises(SourceError, match=f"groups.keys must be {rule}, as the column 'g' is {kind}, got"):
        truths({}, frame, keys=texts)
    inner = {"by": "one", "keys": ["x"]}
    with pytest.raises(SourceError, match=f"columns.g.labels must be {rule}, as the column 'g' is {kind}, got"):
        truths({}, frame, **inner, columns={"g": {"labels": texts}}, histogram="g")
    with pytest.raises(SourceError, match=rf"statistics\[1\].count must compare g with {rule}, as the column"):
        truths({}, frame, **inner, columns={"g": {"type": "text"}}, count=f"not g = '{texts[0]}'")


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
    with pytest.raises(PlanError, match=r"columns.n.labels must be texts, whole numbers, booleans or dates, got 1.5"):
        truths({}, frame, columns={"n": {"labels": [1.5, 2]}}, histogram="n")
    with pytest.raises(PlanError, match="two different texts"):
        truths({}, frame, columns={"n": {"labels": ["True", "true"]}}, histogram="n")
    with pytest.raises(SourceError, match=r"columns.n.labels must be different values"):
        truths({}, frame, columns={"n": {"labels": ["1", "01"]}}, histogram="n")


# --- conditions and labels ----------------------------------------------------------------------------------


ANSWERS = pa.table({"g": ["a"] * 3, "s": ["yes", "maybe", "no"]})


def test_a_text_in_a_condition_that_is_no_label_is_refused():
    columns = {"s": {"labels": ["yes", "no"]}}
    assert truths({}, ANSWERS, columns=columns, count="s = 'yes'") == [[1]]
    with pytest.raises(PlanError, match=r"must compare s with one of its labels, got 'Yes'; did you mean 'yes'\?"):
        truths({}, ANSWERS, columns=columns, count="not s in ('no', 'Yes')")
    with pytest.raises(PlanError, match="got 'maybe'; its labels are yes, no"):
        truths({}, ANSWERS, columns=columns, count="s = 'maybe'")


def test_where_other_is_declared_a_condition_may_name_another_value_but_no_slip_of_a_label():
    columns = {"s": {"labels": ["yes", "no"], "other": "no"}}
    assert truths({}, ANSWERS, columns=columns, count="s = 'maybe'") == [[1]]
    for slip in ("Yes", "yes ", "NO"):
        with pytest.raises(PlanError, match="did you mean"):
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
    with pytest.raises(PlanError, match='count = "true" counts all records'):
        truths({}, ANSWERS, count=True)

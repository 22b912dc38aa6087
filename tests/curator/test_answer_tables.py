"""Answers as figures, files and one table: every published number, each in its row, and no formulas."""

import csv
import io
import json
from dataclasses import replace

import openpyxl
import pytest

from inbounds.curator.answer import Answer, AnswerCost
from inbounds.curator.answer_tables import FORMS, encode_answer, number_panels
from raising import rejects

COST = AnswerCost("0.5", "1.5", "epsilon", "0.5", None)


def answer(table, **question):
    return Answer(
        "id", "pupils", "2026", question, "0.5", None, "new", table, (), "A promise.", ("A sentence.",), "now", COST
    )


COUNTS = answer(
    {
        "school": ["=North", "South"],
        "count": [3, 5],
        "count_low": [1, 3],
        "count_high": [5, 8],
        "count_error": [1.5, 1.5],
    },
    count="age > 12",
    by=["school"],
    where="",
)
MEANS = answer({"school": ["South", "East"], "mean": [2.5, 3.5], "mean_error": [0.5, 0.25]}, mean="age", by=["school"])


def test_a_column_is_drawn_with_its_interval_or_else_with_its_error():
    ((name, rows, _),) = number_panels(COUNTS.table, ["school"])
    assert (name, [tuple(row) for row in rows]) == ("count", [("=North", 1, 3, 5), ("South", 3, 5, 8)])
    ((name, rows, _),) = number_panels(MEANS.table, ["school"])
    assert (name, [tuple(row) for row in rows]) == ("mean", [("South", 2, 2.5, 3), ("East", 3.25, 3.5, 3.75)])
    assert len(COUNTS.plot().axes) == 1


def test_a_table_without_groups_or_numbers_is_drawn_as_far_as_it_can_be():
    ((_, rows, _),) = number_panels({"count": [3], "count_error": [1.0]}, [])
    assert [row.name for row in rows] == ["all"]
    assert list(number_panels({"school": ["a"], "mode": ["yes"], "mode_error": [0.1]}, ["school"])) == []


def test_answers_are_joined_by_key_and_a_missing_key_is_empty():
    joined = COUNTS.join(MEANS, replace(COUNTS, table={**COUNTS.table, "count": [7, 9]}))
    assert joined.table["school"] == ["=North", "South", "East"]
    assert joined.table["mean"] == [None, 2.5, 3.5]
    assert (joined.table["count"], joined.table["count_3"]) == ([3, 5, None], [7, 9, None])
    assert list(joined.to_pandas().columns) == list(joined.table)


def test_the_order_of_the_columns_of_keys_does_not_matter():
    one = answer({"a": ["x", "y"], "b": ["1", "2"], "count": [1, 2]}, count="true", by=["a", "b"])
    other = answer({"b": ["2", "1"], "a": ["y", "x"], "sum": [20, 10]}, sum="v", by=["b", "a"])
    assert one.join(other).table["sum"] == [10, 20]


def test_answers_by_other_columns_are_not_joined():
    with rejects(ValueError, "answers"):
        COUNTS.join(answer({"count": [3]}, count="true", by=[]))


def test_no_cell_of_a_file_is_a_formula():
    lines = list(csv.reader(io.StringIO(encode_answer(COUNTS, ".csv").decode())))
    assert lines[:2] == [list(COUNTS.table), ["'=North", "3", "1", "5", "1.5"]]
    book = openpyxl.load_workbook(io.BytesIO(encode_answer(COUNTS, ".xlsx")))
    assert [cell.value for cell in book["answer"][2]] == ["=North", 3, 1, 5, 1.5]
    assert book["answer"]["A2"].data_type == "s"
    about = {row[0].value: row[1].value for row in book["about"]}
    assert (about["count"], about["promise"], about["epsilon of the answer"]) == ("age > 12", "A promise.", "0.5")
    assert "where" not in about


def test_the_json_file_is_what_the_curator_sends():
    assert json.loads(encode_answer(COUNTS, ".json")) == COUNTS.to_json()


def test_a_file_of_another_form_or_that_exists_is_refused(tmp_path):
    with rejects(ValueError, about="'.txt'"):
        COUNTS.save(tmp_path / "answer.txt")
    assert COUNTS.save(tmp_path / "answer.csv").read_bytes() == encode_answer(COUNTS, ".csv")
    with rejects(ValueError, "path"):
        COUNTS.save(tmp_path / "answer.csv")
    MEANS.save(tmp_path / "answer.csv", overwrite=True)
    assert (tmp_path / "answer.csv").read_bytes() == encode_answer(MEANS, ".csv")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_takes_an_answer_without_rows(form):
    assert encode_answer(answer({"count": []}, count="true"), form)

"""Cells that add up: a record that is not there is in the cell `other`, and one record still moves no more than two."""

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pyarrow as pa
import pytest

from inbounds.adjust.histograms import fill_to_size, round_to_sum
from inbounds.releases.pipeline import open_plan_source, preview_release, release, to_plan
from inbounds.statistics import histogram

VALUES = ("p", "q", "r", "unknown")
TABLES = [table for k in range(6) for table in combinations_with_replacement(VALUES, k)]
SIZES = (1, 2, 3)


def frame(rows):
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in ("g", "c")})


def plan(keys, size, **more):
    return {
        "groups": {"by": ["g"], "keys": keys, "size": size},
        "columns": {"c": {"labels": ["p", "q", "r"], "other": "r"}},
        "statistics": [{"histogram": "c", "sum_to_size": True}],
        "privacy": {"epsilon": 1},
        **more,
    }


def true_cells(tables, sizes):
    """The true cells of many tables, each a group of its own, as the engine aggregates them: tables × labels."""
    keys = [str(k) for k in range(len(tables))]
    rows = [{"g": key, "c": value} for key, table in zip(keys, tables, strict=True) for value in table]
    return np.array(open_plan_source(to_plan(plan(keys, list(sizes)), frame(rows))).aggregate().positions).T


def neighbours(table):
    """One record left out, or changed to any other value."""
    for k in range(len(table)):
        rest = table[:k] + table[k + 1 :]
        yield tuple(sorted(rest))
        yield from (tuple(sorted((*rest, value))) for value in VALUES)


def check_every_neighbour():
    asked = [(table, size) for size in SIZES for table in TABLES]
    cells = dict(zip(asked, true_cells(*zip(*asked, strict=True)), strict=True))
    for (table, size), here in cells.items():
        for other in neighbours(table):
            moved = np.abs(here - cells[other, size])
            assert moved.max() <= 1
            assert moved.sum() <= 2
    return cells


def test_one_record_moves_at_most_two_cells_by_one_each_in_every_small_table():
    """All tables of up to five records over three labels and an unknown one, all sizes to 3, all neighbours."""
    check_every_neighbour()


def test_the_check_finds_absent_records_that_count_twice(monkeypatch):
    def twice(cells, other, sizes):
        full = cells.copy()
        full[other] += 2 * np.maximum(sizes - cells.sum(axis=0), 0)
        return np.minimum(full, sizes)

    monkeypatch.setattr(histogram, "fill_to_size", twice)
    with pytest.raises(AssertionError):
        check_every_neighbour()


def test_true_cells_sum_to_the_size_unless_there_are_more_records():
    for (table, size), cells in check_every_neighbour().items():
        counted = Counter(value if value in "pqr" else "r" for value in table)
        if len(table) <= size:
            assert cells.tolist() == [counted["p"], counted["q"], counted["r"] + size - len(table)]
        else:
            assert cells.tolist() == [min(counted[label], size) for label in "pqr"]


def test_a_group_without_records_is_all_other_and_no_cell_is_raised_on_average(checks):
    """400 groups of 30 without a record: before, each cell came out near 10. The means have errors below 0.2."""
    keys = [str(k) for k in range(400)]
    columns = {c.name: c.values for c in checks.release(plan(keys, 30), [], seed=1)}
    assert np.mean(columns["c: p"]) < 2
    assert np.mean(columns["c: q"]) < 2
    assert np.mean(columns["c: r"]) > 26


def test_cells_of_a_group_with_few_respondents_keep_their_truths(checks):
    """18 of 30 answered: 10, 5 and 3. A cell's mean is off by less than its announced error."""
    keys = [str(k) for k in range(300)]
    answers = ["p"] * 10 + ["q"] * 5 + ["r"] * 3
    columns = {c.name: c.values for c in checks.release(plan(keys, 30), _rows(keys, answers), seed=2)}
    error = columns["c_error"][0]
    for label, truth in (("p", 10), ("q", 5), ("r", 15)):
        assert abs(np.mean(columns[f"c: {label}"]) - truth) < error / 2
        assert np.mean(np.abs(columns[f"c: {label}"] - truth)) < 1.2 * error
    assert (sum(columns[f"c: {label}"] for label in "pqr") == 30).all()


def _rows(keys, answers):
    return [{"g": key, "c": value} for key in keys for value in answers]


def test_filled_cells_are_already_consistent_up_to_the_size():
    cells = fill_to_size(np.array([[2, 0], [1, 0], [0, 0]]), 1, np.array([5, 4]))
    assert cells.T.tolist() == [[2, 3, 0], [0, 4, 0]]
    assert round_to_sum(cells, np.array([5, 4])).tolist() == cells.tolist()


@pytest.mark.parametrize(
    ("consistent", "other", "said"),
    [
        (True, "r", "or none, and where cells add up each record short of the size, counts as r (other)"),
        (False, "r", "c: a record with any other value than a label, or none, counts as r (other)"),
        (False, None, "c: a record with any other value than a label, or none, is in no cell"),
    ],
)
def test_a_dry_run_and_the_record_say_where_absent_records_are_counted(tmp_path, consistent, other, said):
    labels = {"labels": ["p", "q", "r"], **({"other": other} if other else {})}
    asked = plan(["A"], 2, columns={"c": labels}, statistics=[{"histogram": "c", "sum_to_size": consistent}])
    for found in (
        preview_release(asked, frame([]), cache=tmp_path),
        release(asked, frame([]), cache=tmp_path, allow_useless=True),
    ):
        assert said in " ".join(found.record["values"])

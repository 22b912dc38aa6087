"""Means and percentages of public size over levels: the sums and counts of the same draws, divided by the sizes."""

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.checker import check_cells, check_record
from inbounds.checker.tablefile import PublishedTable
from inbounds.errors import PassportError
from inbounds.files import RELEASE, Document
from inbounds.releases.aggregate import open_plan_source
from inbounds.releases.drawing import IndependentDraw, draw_rows
from inbounds.releases.pipeline import prepare_table, to_plan
from inbounds.trusted.samplers import seeded_entropy

SIZES = [4, 6, 3, 9]
KEYS = [("n", "a"), ("n", "b"), ("s", "c"), ("s", "d")]
WIDE = {"low": "-3/2", "high": 3, "step": "1/2", "missing": 0}
FRAME = pa.table(
    {
        "r": [r for (r, _), n in zip(KEYS, SIZES, strict=True) for _ in range(n)],
        "s": [s for (_, s), n in zip(KEYS, SIZES, strict=True) for _ in range(n)],
        "x": [(k % 9) / 2 - 1.5 for k in range(sum(SIZES))],
    }
)


def plan(statistics):
    return {
        "groups": {"by": ["r", "s"], "keys": [list(key) for key in KEYS], "size": SIZES},
        "hierarchy": {"levels": ["all", "r", "s"]},
        "columns": {"x": WIDE},
        "statistics": statistics,
        "privacy": {"epsilon": 6},
        "output": {"credible_level": 0.9},
    }


def draw_table(statistics, folder):
    """The columns of a release with seeded entropy, and what is expected of its levels."""
    asked = to_plan(plan(statistics), FRAME)
    with prepare_table(asked, folder, open_source=False) as prepared:
        designed = prepared.design.designed
    answers = open_plan_source(asked).aggregate()
    rows = draw_rows(designed, answers, draws=seeded_entropy(np.random.default_rng(3)))
    table = {column.name: column.values for column in IndependentDraw(designed).answers(rows).columns}
    return table, designed.levels


@pytest.mark.long
def test_an_average_is_the_sum_of_the_same_draws_divided_by_the_size(tmp_path):
    averages, _ = draw_table([{"mean": "x", "name": "a"}, {"percentage": "x > 1", "name": "p"}], tmp_path)
    sums, _ = draw_table([{"sum": "x", "name": "a"}, {"count": "x > 1", "name": "p"}], tmp_path)
    sizes = averages["group_size"].astype(float)
    for name, unit in (("a", 1.0), ("p", 100.0)):
        for column in (name, f"{name}_low", f"{name}_high"):
            np.testing.assert_allclose(averages[column], unit * sums[column].astype(float) / sizes, rtol=1e-12)
        np.testing.assert_allclose(averages[f"{name}_error"], unit * sums[f"{name}_error"] / sizes, rtol=2e-3)


@pytest.mark.long
def test_the_stated_errors_of_one_top_are_those_of_its_sum_divided_by_its_size(tmp_path):
    _, of_means = draw_table([{"mean": "x", "name": "a"}], tmp_path)
    _, of_sums = draw_table([{"sum": "x", "name": "a"}], tmp_path)
    assert of_means[0][-1].constant == pytest.approx(of_sums[0][-1].constant / sum(SIZES), rel=0.5)
    assert of_means[0][-1].error == pytest.approx(of_sums[0][-1].error / sum(SIZES), rel=0.5)


def test_a_mean_that_is_not_that_of_its_parts_does_not_verify(tmp_path):
    done = ib.release(plan([{"mean": "x", "name": "a"}]), FRAME, output=tmp_path / "t.csv", cache=tmp_path)
    assert ib.verify(f"{done.path}.release.json").is_valid
    record = check_record(Document.wrap(RELEASE, {**done.record}).to_json())
    columns = {name: done.table[name].to_pylist() for name in done.table.column_names}
    check_cells(record, PublishedTable("t", columns, written=False))
    step = -0.5 if columns["a"][0] > 0 else 0.5
    for row, size in enumerate((sum(SIZES), 10, 12, *SIZES)):
        forged = [*columns["a"]]
        forged[row] += step / size  # the next value on its grid
        with pytest.raises(PassportError):
            check_cells(record, PublishedTable("t", {**columns, "a": forged}, written=False))

"""Means and percentages above the groups: the right number on average, with the error that is stated."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.catalog.noise_tables import geometric_table
from inbounds.checker import check_cells, check_record
from inbounds.checker.tablefile import PublishedTable
from inbounds.errors import PassportError
from inbounds.files import RELEASE, Document
from inbounds.releases.aggregate import open_plan_source
from inbounds.releases.drawing import IndependentDraw, draw_rows
from inbounds.releases.pipeline import prepare_table, to_plan
from inbounds.schema.columns import number_column
from inbounds.statistics._mean_pair import pair_query, read_sum
from inbounds.trusted.samplers import seeded_entropy

SCHOOLS = [(f"r{k // 10}", f"s{k}") for k in range(40)]
PLAN = {
    "groups": {"by": ["region", "school"], "keys": [list(key) for key in SCHOOLS], "max_size": 40},
    "hierarchy": {"levels": ["all", "region", "school"]},
    "columns": {"x": {"low": 0, "high": 10}},
    "statistics": [
        {"count": "true", "name": "n"},
        {"mean": "x", "name": "mean"},
        {"percentage": "x > 4", "name": "share"},
        {"percentage": "x > 9", "name": "none"},
    ],
    "privacy": {"epsilon": 4},
    "output": {"credible_level": 0.9},
}


@pytest.fixture(scope="module")
def frame():
    rows = [(*key, (7 * k + 3 * i) % 8) for k, key in enumerate(SCHOOLS) for i in range(15 + k % 20)]  # no x above 9
    return pa.table({name: [row[k] for row in rows] for k, name in enumerate(("region", "school", "x"))})


@pytest.fixture(scope="module")
def done(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pooled")
    return ib.release(PLAN, frame, cache=folder, allow_useless=True).write(folder / "t.csv")


@pytest.mark.long
def test_above_the_groups_the_numbers_are_those_of_all_records_with_the_stated_error(frame, tmp_path, done):
    """Over 60 seeded releases: unbiased, also where every part is at an end of its range, and intervals hold."""
    plan = to_plan(PLAN, frame)
    truths = _truths(frame)
    with prepare_table(plan, tmp_path, open_source=False) as prepared:
        designed = prepared.design.designed
    answers = open_plan_source(plan).aggregate()
    method, found = IndependentDraw(designed), []
    for seed in range(60):
        rows = draw_rows(designed, answers, draws=seeded_entropy(np.random.default_rng(seed)))
        found.append({column.name: column.values[:5] for column in method.answers(rows).columns})
    for name, truth in truths.items():
        off = np.array([one[name] for one in found], dtype=float) - truth
        stated = np.array([one[f"{name}_error"] for one in found], dtype=float)
        low, high = (np.array([one[f"{name}_{end}"] for one in found], dtype=float) for end in ("low", "high"))
        ratio = np.abs(off).mean() / stated.mean()
        if name == "none":  # 0 is never reported below itself, which halves the error
            assert ratio < 0.75
        else:
            assert 0.8 < ratio < 1.25
            assert np.abs(off.mean(axis=0)).max() < 5 * off.std() / np.sqrt(len(found))
        assert ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean() > 0.8


@pytest.mark.parametrize(("size", "epsilon"), [(1, "1/5"), (4, "1/20"), (6, 2)])
def test_a_draw_is_read_right_on_average_however_short_its_range(size, epsilon):
    column = number_column(0, 3)
    mechanism = geometric_table(pair_query(column, size), Fraction(epsilon))
    reports = np.arange(3 * size + 1)
    readings, _ = read_sum(mechanism, reports, float(Fraction(epsilon)) / column.width)
    np.testing.assert_allclose(mechanism.matrix.T @ readings, reports, atol=1e-9 * len(reports))


def _truths(frame):
    table = frame.to_pandas()
    regions = [table, *(part for _, part in table.groupby("region"))]
    return {
        "mean": np.array([part["x"].mean() for part in regions]),
        "share": np.array([100 * (part["x"] > 4).mean() for part in regions]),
        "none": np.zeros(len(regions)),
    }


def test_the_table_verifies_and_a_mean_out_of_its_range_does_not(done):
    assert ib.verify(f"{done.path}.release.json").is_valid
    assert any("above the groups computed" in line for line in done.record["values"])
    record = check_record(Document.wrap(RELEASE, {**done.record}).to_json())
    columns = {name: done.table[name].to_pylist() for name in done.table.column_names}
    check_cells(record, PublishedTable("t", columns, written=False))
    for wrong in (10.5, -1.0, None, "x"):
        forged = {**columns, "mean": [wrong, *columns["mean"][1:]]}
        with pytest.raises(PassportError):
            check_cells(record, PublishedTable("t", forged, written=False))

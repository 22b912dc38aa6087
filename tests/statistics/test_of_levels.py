"""Quantiles, variances and modes of a hierarchy: each level is drawn of all records of its groups."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.checker import check_cells, check_record
from inbounds.checker.tablefile import PublishedTable
from inbounds.errors import PassportError
from inbounds.files import RELEASE, Document
from inbounds.releases.aggregate import open_plan_source
from inbounds.releases.pipeline import preview_release, to_plan

KEYS = [("n", "a"), ("n", "b"), ("s", "c"), ("s", "d")]
SIZES = [5, 7, 4, 9]
FRAME = pa.table(
    {
        "r": [r for (r, _), n in zip(KEYS, SIZES, strict=True) for _ in range(n)],
        "s": [s for (_, s), n in zip(KEYS, SIZES, strict=True) for _ in range(n)],
        "x": [(5 * k + k * k) % 11 for k in range(sum(SIZES))],
        "c": [("p", "q", "p", "p")[k % 4] if k < 12 else "q" for k in range(sum(SIZES))],
        "who": [str(k % 20) for k in range(sum(SIZES))],
    }
)
PUBLIC = {"size": SIZES}
AT_MOST = {"max_size": 12}


def plan(statistics, sizes, **more):
    return {
        "groups": {"by": ["r", "s"], "keys": [list(key) for key in KEYS], **sizes},
        "hierarchy": {"levels": ["all", "r", "s"]},
        "columns": {"x": {"low": 0, "high": 10}, "c": {"labels": ["p", "q"]}},
        "statistics": statistics,
        "privacy": {"epsilon": 4},
        **more,
    }


def counted(answers):
    """Positions as arrays, and counted values as histograms."""
    return [one if isinstance(one, np.ndarray) else one.rows.toarray() for one in answers.positions]


@pytest.mark.parametrize("sizes", [PUBLIC, AT_MOST])
def test_the_answer_of_a_level_is_that_of_a_plan_with_its_nodes_as_groups(sizes):
    more = [{"variance": "x"}] if sizes is PUBLIC else []
    asked = to_plan(plan([{"median": "x"}, {"mode": "c"}, {"count": "true"}, *more], sizes), FRAME)
    found = open_plan_source(asked).aggregate()
    assert [level.groups.by for level in asked.level_plans] == [("r",), ()]
    for level, answers in zip(asked.level_plans, found.above, strict=True):
        alone = open_plan_source(level).aggregate()
        assert len(alone.positions) == 2 + len(more)
        for one, other in zip(counted(answers), counted(alone), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_levels_share_the_epsilon_and_each_is_judged(tmp_path):
    found = preview_release(plan([{"median": "x", "name": "m"}], PUBLIC), FRAME, cache=tmp_path)
    (line,) = found.record["account"]
    shares = {name: Fraction(epsilon) / 4 for name, epsilon in line["layers"].items()}
    assert sum(shares.values()) == 1
    assert shares["s"] > shares["r"] >= shares["all"] >= Fraction(1, 6) - Fraction(1, 200)
    drawn = {(one["layer"], one["size"]): Fraction(one["epsilon"]) for one in found.record["mechanisms"]}
    assert drawn == {(name, size): 4 * shares[name] for name, size in drawn}
    assert {size for name, size in drawn if name != "s"} == {25, 12, 13}


def test_records_of_a_person_in_several_groups_are_counted_one_by_one(tmp_path):
    people = {"people": {"id": "who", "max_records": 3, "max_groups": 2}}
    found = preview_release(plan([{"median": "x"}], AT_MOST, **people), FRAME, cache=tmp_path)
    (line,) = found.record["account"]
    assert Fraction(line["draw_epsilon"]) == Fraction(4, 6)  # all six may be in one region
    assert all(one["query"]["records"] == "1" for one in found.record["mechanisms"])


def test_several_quantiles_are_one_draw_only_if_the_largest_level_can_be():
    quantiles = [{"quantile": "x", "at": [0.25, 0.5, 0.75]}]
    few = to_plan(plan(quantiles, {"size": 40}), FRAME)
    many = to_plan(plan(quantiles, {"size": 1 << 30}), FRAME)
    assert len(few.statistics) == 1
    assert len(many.statistics) == 3


@pytest.mark.long
def test_a_number_of_a_level_that_its_draw_does_not_give_is_refused(tmp_path):
    asked = plan([{"median": "x", "name": "m"}, {"quantile": "x", "at": [0.25, 1], "name": "q"}], PUBLIC)
    done = ib.release(asked, FRAME, output=tmp_path / "t.csv", cache=tmp_path, allow_useless=True)
    assert ib.verify(f"{done.path}.release.json").is_valid
    record = check_record(Document.wrap(RELEASE, {**done.record}).to_json())
    columns = {name: done.table[name].to_pylist() for name in done.table.column_names}
    for name in ("m", "q_q25", "q_max"):
        for row in range(7):
            forged = [*columns[name]]
            forged[row] = (forged[row] + 1) % 11
            with pytest.raises(PassportError):
                check_cells(record, PublishedTable("t", {**columns, name: forged}, written=False))

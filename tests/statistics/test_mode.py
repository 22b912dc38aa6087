"""The most frequent label: one file of the package, and everything a plan, an engine, a table and a record need."""

import json
import math
import sqlite3
from contextlib import closing
from itertools import product

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.query import AllPairs
from inbounds.releases import workload as answering
from inbounds.releases.pipeline import PlanError, find_mechanism, open_plan_source, preview_release, release, to_plan
from inbounds.releases.recompute import check_release as check
from raising import raises_at

LABELS = ["p", "q", "it's"]
VALUES = [*LABELS, "elsewhere", None]
TABLES = [table for n in range(4) for table in product(VALUES, repeat=n)]


def plan(*statistics, other="q", keys=("a",), **rest):
    column = {"labels": LABELS, **({"other": other} if other else {})}
    return {
        "groups": {"by": ["g"], "keys": list(keys), **rest.pop("sizes", {"size": 3})},
        "columns": {"c": column},
        "statistics": list(statistics) or [{"mode": "c"}],
        "privacy": {"epsilon": 1, **rest.pop("privacy", {})},
        **rest,
    }


def frame(tables):
    rows = [(str(k), value) for k, table in enumerate(tables) for value in table]
    return pa.table({"g": [key for key, _ in rows], "c": pa.array([value for _, value in rows], pa.string())})


def most_frequent(table, other):
    """By plain counting: the earliest of the most frequent labels, `other` or the first label where there is none."""
    told = [value if value in LABELS else other for value in table]
    counts = [told.count(label) for label in LABELS]
    return LABELS[counts.index(max(counts))] if max(counts) else other or LABELS[0]


@pytest.mark.parametrize("other", ["q", None])
@pytest.mark.parametrize("sizes", ["size", "max_size"])
def test_the_mode_of_every_small_table_is_that_of_plain_counting(other, sizes):
    """More records than declared among them: a label needs no clamp."""
    content = plan(other=other, keys=map(str, range(len(TABLES))), sizes={sizes: 2})
    (found,) = open_plan_source(to_plan(content, frame(TABLES))).aggregate().positions
    assert [LABELS[position] for position in found] == [most_frequent(table, other) for table in TABLES]


@pytest.mark.parametrize(
    ("sizes", "neighbours", "part"),
    [
        ("size", "change one record", 1),
        ("max_size", "add or remove one record", 1),
        ("max_size", "change one record", 2),
    ],
)
def test_one_label_may_become_any_other_and_one_number_spends_it_all(sizes, neighbours, part):
    content = plan(sizes={sizes: 3}, privacy={"neighbours": neighbours})
    asked = answering.Workload.from_plan(to_plan(content, frame(TABLES)))
    ((request,),), (entry,) = asked.requests, asked.entries
    assert isinstance(request.query.neighbours, AllPairs)
    assert request.epsilon == entry.drawn_at == entry.spent / part


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
def test_the_error_is_the_least_probability_of_a_wrong_label_that_epsilon_allows(tmp_path, epsilon):
    """Randomized response: with k labels, 1 - e^epsilon / (e^epsilon + k - 1), and the mechanism is tight."""
    seen = preview_release(plan(privacy={"epsilon": epsilon}), frame(TABLES), cache=tmp_path)
    assert seen.errors["c_mode"][0] == pytest.approx(2 / (math.exp(epsilon) + 2), rel=1e-5)
    made = seen.mechanisms["c_mode", 3].matrix
    assert (made[0, 0] / made[0, 1]) == pytest.approx(math.exp(epsilon), rel=1e-12)


def test_a_huge_epsilon_gives_the_labels_themselves_and_no_interval(tmp_path):
    """Each of 156 labels is wrong with probability 2 / (e^30 + 2): together below 1e-10."""
    keys = list(map(str, range(len(TABLES))))
    content = plan({"mode": "c"}, {"count": "true"}, keys=keys, privacy={"epsilon": 60}, output={"credible_level": 0.9})
    table = release(content, frame(TABLES), cache=tmp_path).table
    assert table["c_mode"].to_pylist() == [most_frequent(one, "q") for one in TABLES]
    assert table.column_names == ["g", "c_mode", "c_mode_error", "count", "count_error", "count_low", "count_high"]


def sources(folder, held):
    pyarrow.parquet.write_table(held, folder / "t.parquet")
    pd.DataFrame(held.to_pydict()).to_csv(folder / "t.csv", index=False)
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection, connection:
        connection.execute("create table t (g text, c text)")
        rows = zip(*held.to_pydict().values(), strict=True)
        connection.executemany("insert into t values (?, ?)", rows)
    yield {"path": str(folder / "t.parquet")}, None
    yield {"path": str(folder / "t.csv")}, None
    yield {"path": str(folder / "t.sqlite"), "table": "t"}, None
    yield {}, held.to_pandas()
    yield {}, pl.from_arrow(held)


def test_every_engine_finds_the_same_mode(tmp_path):
    content = plan(keys=map(str, range(len(TABLES))))
    expected = [most_frequent(table, "q") for table in TABLES]
    for source, given in sources(tmp_path, frame(TABLES)):
        asked = to_plan({**content, "source": source} if source else content, given)
        with closing(open_plan_source(asked)) as opened:
            (found,) = opened.aggregate().positions
        assert [LABELS[position] for position in found] == expected


@pytest.mark.slow
def test_the_same_mode_on_postgresql(postgres):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("create table modes (g text, c text)")
        with connection.cursor() as cursor:
            rows = zip(*frame(TABLES).to_pydict().values(), strict=True)
            cursor.executemany("insert into modes values (%s, %s)", list(rows))
    content = {**plan(keys=map(str, range(len(TABLES)))), "source": {"url": postgres, "table": "modes"}}
    with closing(open_plan_source(to_plan(content))) as opened:
        (found,) = opened.aggregate().positions
    assert [LABELS[position] for position in found] == [most_frequent(table, "q") for table in TABLES]


def test_a_release_of_a_mode_is_verified_and_its_mechanism_made_again_from_the_record(tmp_path):
    target = tmp_path / "out.csv"
    done = release(plan(keys=["0", "1"], sizes={"size": [2, 3]}), frame(TABLES), output=target, cache=tmp_path / "c")
    assert set(done.table["c_mode"].to_pylist()) <= set(LABELS)
    assert any("the account adds up" in line for line in check(f"{target}.release.json"))
    record = json.loads((tmp_path / "out.csv.release.json").read_text("utf-8"))["content"]
    (line,) = record["mechanisms"]  # one for all sizes
    assert (line["size"], line["answers"]) == ("2..3", "p, q, it's")
    assert find_mechanism(f"{target}.release.json").sha256 == line["sha256"]
    assert [words for words in record["values"] if "the same however clear the lead is" in words]


def test_modes_of_other_labels_are_kept_apart_in_the_cache(tmp_path):
    first = preview_release(plan(), frame(TABLES), cache=tmp_path)
    second = plan()
    second["columns"]["c"] = {"labels": ["x", "y", "z"]}
    other = preview_release(second, frame(TABLES), cache=tmp_path)
    assert first.mechanisms["c_mode", 3].query.labels == tuple(LABELS)
    assert other.mechanisms["c_mode", 3].query.labels == ("x", "y", "z")
    assert len(list(tmp_path.glob("*.json"))) == 2


NO_MODES = [
    ({"mode": "c", "loss": "squared"}, "loss"),
    ({"mode": "c", "prior": {"binomial": 0.3}}, "prior"),
    ({"mode": "c", "sum_to_size": True}, "sum_to_size"),
    ({"mode": "d"}, "mode"),
    ({"mode": "n"}, "mode"),
]


def test_what_has_no_meaning_for_labels_is_refused(golden):
    said = {}
    for statistic, field in NO_MODES:
        content = plan(statistic)
        content["columns"]["n"] = {"low": 0, "high": 3}
        with raises_at(PlanError, ("statistics", 0, field)) as caught:
            to_plan(content, frame(TABLES))
        said[str(statistic)] = caught.value
    golden.parts("wrong_modes", said)


def test_a_prior_of_the_other_statistics_does_not_hinder_a_mode_that_has_its_own(tmp_path):
    content = plan({"count": "c = 'p'"}, {"mode": "c", "prior": "uniform"}, design={"prior": {"binomial": 0.3}})
    assert set(preview_release(content, frame(TABLES), cache=tmp_path).errors) == {"count", "c_mode"}

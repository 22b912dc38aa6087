"""Grand totals: a level above all others, whose one node is every group. It shares epsilon like any level."""

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pyarrow as pa
import pytest

import inbounds as ib
from envelopes import wrap
from fuzz.joint import exp_below, joint_law, largest_ratio
from inbounds.errors import PassportError
from inbounds.files import RELEASE, canonical_json, sha256_hex
from inbounds.releases.pipeline import PlanError, open_plan_source, preview_release, release, to_plan
from inbounds.releases.recompute import check_release as check
from raising import raises_at

COLUMNS = {"c": {"labels": ["p", "q"], "other": "q"}, "x": {"low": 0, "high": 3}}
FLAT = {
    "groups": {"by": ["g"], "keys": ["A", "B", "C"], "max_size": 2},
    "columns": COLUMNS,
    "hierarchy": {"levels": ["all", "g"]},
    "statistics": [{"count": "c = 'p'", "name": "n"}, {"sum": "x"}],
    "privacy": {"epsilon": 2},
}
NESTED = {
    **FLAT,
    "groups": {"by": ["r", "g"], "keys": [["N", "A"], ["S", "B"], ["N", "C"]], "size": [2, 3, 4]},
    "hierarchy": {"levels": ["all", "r", "g"], "weights": {"all": 2}},
    "statistics": [*FLAT["statistics"], {"histogram": "c", "sum_to_size": True}, {"median": "x"}],
    "output": {"credible_level": 0.9},
}


def table(rows):
    """Records (group, label, number, person) as a table; the region follows from the group."""
    regions = {"A": "N", "B": "S", "C": "N"}
    columns = {"g": [r[0] for r in rows], "c": [r[1] for r in rows], "who": [r[3] for r in rows]}
    return pa.table(
        {name: pa.array(values, pa.string()) for name, values in columns.items()}
        | {"r": pa.array([regions[r[0]] for r in rows], pa.string()), "x": pa.array([r[2] for r in rows], pa.float64())}
    )


def laws_of(content, tables, folder):
    """The exact joint law of everything that is drawn, for every table."""
    found = []
    for rows in tables:
        plan = to_plan(content, table(rows))
        found.append(joint_law(plan, open_plan_source(plan).aggregate(), folder))
    return plan, found


def assert_tight(plan, laws, pairs):
    """No pair of neighbours is further apart than epsilon, in whole numbers, and some pair is as far."""
    ratios = [largest_ratio(laws[a], laws[b]) for one in pairs for a, b in (one, one[::-1])]
    bound = exp_below(plan.total_epsilon)
    assert max(ratios) <= bound
    assert float(max(ratios) / bound) > 0.99


RECORDS = [(g, *what, None) for g, what in product("AB", [("p", 3.0), ("q", 0.0), (None, None)])]
TABLES = [rows for n in range(3) for rows in combinations_with_replacement(RECORDS, n)]


def without_one(rows):
    return [(*rows[:k], *rows[k + 1 :]) for k in range(len(rows))]


@pytest.mark.long
def test_a_record_more_or_less_costs_epsilon_over_all_levels_together(tmp_path):
    """All tables of up to two records in three groups."""
    place = {rows: k for k, rows in enumerate(TABLES)}
    plan, laws = laws_of(FLAT, TABLES, tmp_path)
    assert_tight(plan, laws, [(place[less], k) for rows, k in place.items() for less in without_one(rows)])


@pytest.mark.long
def test_a_person_with_records_in_two_groups_costs_epsilon_though_the_total_counts_all_of_them(tmp_path):
    """A person with up to four records, of which two count in each of two groups, comes or goes."""
    content = {
        **FLAT,
        "people": {"id": "who", "max_records": 2, "max_groups": 2},
        "groups": {**FLAT["groups"], "max_size": 5},
    }
    own = [(g, "p", 3.0, "me") for g in "ABC"]
    mine = [rows for n in range(5) for rows in combinations_with_replacement(own, n)]
    other = (("A", "p", 3.0, "another"),)
    plan, laws = laws_of(content, [other, *(other + rows for rows in mine)], tmp_path)
    assert_tight(plan, laws, [(0, k + 1) for k in range(len(mine))])


@pytest.mark.long
def test_the_total_is_the_first_row_and_the_sum_of_all_groups(tmp_path):
    rows = [("A", "p", 3.0, None), ("B", "q", 1.0, None), ("C", "p", 2.0, None), ("C", None, None, None)]
    done = release(NESTED, table(rows), cache=tmp_path, output=tmp_path / "t.csv")
    frame = done.table.to_pandas()
    assert frame["level"].tolist() == ["all", "r", "r", "g", "g", "g"]
    assert frame.loc[0, ["r", "g"]].isna().all()
    assert frame.loc[0, "group_size"] == 9
    for name in ("n", "x_sum", "c: p", "c: q"):
        for level in ("r", "g"):
            assert frame.loc[frame["level"] == level, name].sum() == frame.loc[0, name]
    assert frame.loc[0, "c: p"] + frame.loc[0, "c: q"] == 9
    assert frame["x_median"].notna().all()
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid
    layers = done.record["account"][0]["layers"]
    assert list(layers) == ["g", "r", "all"]
    assert sum(map(Fraction, layers.values())) == Fraction(done.record["account"][0]["draw_epsilon"])


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The record of a release, beside its table."""
    folder = tmp_path_factory.mktemp("released")
    release(NESTED, table([]), cache=folder, output=folder / "t.csv")
    assert check(folder / "t.csv.release.json")
    return folder / "t.csv.release.json"


@pytest.mark.long
@pytest.mark.parametrize("lie", ["no total", "two nodes", "its share moved", "another name"])
def test_a_record_that_is_wrong_about_its_total_is_refused(released, lie):
    path = released.with_name("lie.release.json")
    record = json.loads(released.read_text())["content"]
    hierarchy, layers = record["plan"]["hierarchy"], record["account"][0]["layers"]
    if lie == "no total":
        for part in ("levels", "weights", "nodes"):
            del hierarchy[part][0]
    elif lie == "two nodes":
        hierarchy["nodes"][0] = 2
    elif lie == "its share moved":
        layers["all"], layers["g"] = str(Fraction(layers["all"]) / 2), layers["g"]
    else:
        hierarchy["levels"][0] = "every"
    record["plan_sha256"] = sha256_hex(canonical_json(record["plan"]))
    path.write_text(json.dumps(wrap(RELEASE, record)))
    with pytest.raises(PassportError):
        check(path)


def test_all_is_a_column_where_groups_have_one_of_that_name(tmp_path):
    content = {
        **FLAT,
        "groups": {"by": ["all", "g"], "keys": [["u", "A"], ["u", "B"]], "size": 2},
        "hierarchy": {"levels": ["all", "g"]},
    }
    frame = pa.table({"all": ["u"], "g": ["A"], "c": ["p"], "x": [1.0]})
    assert preview_release(content, frame, cache=tmp_path).record["plan"]["hierarchy"]["nodes"] == [1, 2]


@pytest.mark.parametrize("levels", [["g"], ["g", "all"], ["all"], ["all", "all", "g"], ["every", "g"]])
def test_other_levels_that_are_no_columns_are_refused(tmp_path, levels):
    with raises_at(PlanError, ("hierarchy", "levels")):
        preview_release({**FLAT, "hierarchy": {"levels": levels}}, table([]), cache=tmp_path)


def test_one_line_has_a_total(tmp_path, command):
    (tmp_path / "t.csv").write_text("g,x\nA,1\nB,2\n")
    (tmp_path / "keys.txt").write_text("A\nB\n")
    words = [
        "--sum",
        "x",
        "--low",
        "0",
        "--high",
        "9",
        "--by",
        "g",
        "--keys",
        "keys.txt",
        "--size",
        "30",
        "--epsilon",
        "5",
    ]
    assert command(tmp_path, "release", "t.csv", *words, "--total", "--out", "out.csv").returncode == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("all,,60,")

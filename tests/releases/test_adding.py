"""Tables that add up, from plan to file: what a person costs, by brute force; every draw; computing it again."""

import json
import math
import shutil
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import inbounds as ib
from envelopes import wrap
from inbounds.adjust import tree_adjust as adjusting
from inbounds.errors import PassportError
from inbounds.files import RELEASE
from inbounds.query import Reach
from inbounds.releases import drawing
from inbounds.releases import workload as answering
from inbounds.releases.adjust_reports import adjust_columns
from inbounds.releases.pipeline import (
    PlanError,
    estimate_totals,
    find_mechanism,
    open_plan_source,
    preview_release,
    recompute_table,
    release,
    to_plan,
)
from inbounds.releases.recompute import check_release as check
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.schema.report_types import KNOWN, LEAST_SQUARES, POSTERIOR
from inbounds.schema.text import format_number
from raising import raises_at, rejects

COLUMNS = {
    "c": {"labels": ["p", "q"], "other": "q"},
    "d": {"labels": ["u", "v", "w"], "other": "w"},
    "x": {"low": -1, "high": 2, "missing": 0},
}
TYPES = {
    "person": pa.string(),
    "r": pa.string(),
    "s": pa.string(),
    "c": pa.string(),
    "d": pa.string(),
    "x": pa.float64(),
}
LEVELS = {"hierarchy": {"levels": ["r", "s"]}}
ADDING = [
    {"count": "c = 'p'"},
    {"histogram": "d"},
    {"histogram": "d", "sum_to_size": True},
    {"sum": "x"},
]
CROSSED = [
    {"crosstab": ["c", "d"]},
    {"crosstab": ["c", "d"], "margins": ["d"]},
    {"crosstab": ["c", "d"], "margins": []},
]


def frame(rows):
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in TYPES.items()})


def plan(statistics, keys, sizes, epsilon=1, **more):
    return {
        "groups": {"by": ["r", "s"], "keys": [list(key) for key in keys], **sizes},
        "columns": COLUMNS,
        "statistics": [{**s, "name": f"s{k}"} for k, s in enumerate(statistics)],
        "privacy": {"epsilon": epsilon, **({"neighbours": more.pop("neighbours")} if "neighbours" in more else {})},
        **more,
    }


# --- what one person costs, by brute force over neighbouring tables --------------------------------------

RECORDS = [("p", "u", -1.0), ("p", "v", 2.0), ("q", "w", 2.0), (None, None, None), ("q", "u", 0.0)]


def costs(content_of, tables):
    """For all tables at once, each in regions of its own: rate and positions of every number that is drawn.

    tables: for every table the records of its three groups: two of one region, one of another. Returns for every
    statistic, what it spends and a list of (cost per unit, positions[number, table, node]).
    """
    keys, rows = [], []
    for t, table in enumerate(tables):
        places = [(f"{t} north", f"{t} a"), (f"{t} north", f"{t} b"), (f"{t} south", f"{t} d")]
        keys += places
        for place, records in zip(places, table, strict=True):
            for who, (c, d, x) in records:
                rows.append({"person": f"{t} {who}", "r": place[0], "s": place[1], "c": c, "d": d, "x": x})
    asked = Workload.from_plan(to_plan(content_of(keys), frame(rows)))
    positions = iter(open_plan_source(asked.plan).aggregate().positions)
    found = []
    for k, entry in enumerate(asked.entries):
        own = [next(positions) for _ in asked.plan.drawn_columns(entry.statistic)]
        assert entry.layered is not None
        drawn = [(asked.requests[k][0], own)]
        drawn += [(r, layer.sums(own)) for r, layer in zip(asked.layers[k], entry.layered.layers, strict=True)]
        layers = []
        for request, numbers in drawn:
            reach = request.query.neighbours.steps if isinstance(request.query.neighbours, Reach) else 1
            assert max(int(number.max()) for number in numbers) < len(request.query.answers)
            layers.append((request.epsilon / reach, np.array(numbers).reshape(len(numbers), len(tables), -1)))
        found.append((entry.spent, layers))
    return found


def loss(layers, one, other):
    """What all numbers of a statistic together tell two tables apart by: geometric noise costs rate for every unit."""
    return sum(rate * int(np.abs(at[:, one] - at[:, other]).sum()) for rate, at in layers)


def check_costs(content_of, tables, neighbours):
    """No pair of neighbours costs more than is spent, and some pair costs exactly that."""
    for spent, layers in costs(content_of, tables):
        worst = max(loss(layers, one, other) for one, other in neighbours)
        assert worst == spent


def people(records):
    return [(f"{k}", record) for k, record in enumerate(records)]


SMALL = [list(own) for n in range(4) for own in combinations_with_replacement(RECORDS[:4], n)]


@pytest.mark.parametrize("statistics", [ADDING, CROSSED], ids=["hierarchy", "crosstab"])
def test_a_record_that_changes_in_a_group_of_public_size_costs_epsilon(statistics):
    """All tables of up to three records in a group of two, one record changed or left out."""
    tables = [[people(own), people([RECORDS[0]]), people([])] for own in SMALL]
    pairs = [
        (a, b)
        for a, one in enumerate(SMALL)
        for b, other in enumerate(SMALL)
        if max(sum(max(x.count(r) - y.count(r), 0) for r in RECORDS) for x, y in ((one, other), (other, one))) <= 1
    ]
    more = LEVELS if statistics is ADDING else {}
    check_costs(lambda keys: plan(statistics, keys, {"size": 2}, **more), tables, pairs)


@pytest.mark.parametrize("statistics", [[ADDING[0], ADDING[1], ADDING[3]], CROSSED], ids=["hierarchy", "crosstab"])
def test_a_record_that_comes_or_goes_costs_epsilon(statistics):
    tables = [[people(own), people([]), people([RECORDS[2]])] for own in SMALL]
    pairs = [
        (a, b)
        for a, one in enumerate(SMALL)
        for b, other in enumerate(SMALL)
        if len(other) == len(one) + 1 and all(one.count(r) <= other.count(r) for r in RECORDS)
    ]
    more = LEVELS if statistics is ADDING or statistics[0] is ADDING[0] else {}
    check_costs(
        lambda keys: plan(statistics, keys, {"max_size": 2}, **more), tables, pairs + [(b, a) for a, b in pairs]
    )


@pytest.mark.parametrize("statistics", [[ADDING[0], ADDING[1], ADDING[3]], CROSSED], ids=["hierarchy", "crosstab"])
def test_a_record_that_moves_to_another_group_costs_epsilon_where_that_is_promised(statistics):
    """From any group to any other, of the same region or not, changing what it holds."""
    places = list(product(range(3), RECORDS))
    tables = [[people([r] if g == k else []) for k in range(3)] for g, r in places]
    more = LEVELS if statistics[0] is ADDING[0] else {}
    check_costs(
        lambda keys: plan(statistics, keys, {"max_size": 2}, neighbours="change one record", **more),
        tables,
        list(product(range(len(tables)), repeat=2)),
    )


@pytest.mark.long
@pytest.mark.parametrize(("records", "groups"), [(1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("statistics", [[ADDING[0], ADDING[1], ADDING[3]], CROSSED], ids=["hierarchy", "crosstab"])
def test_a_person_with_several_records_costs_epsilon(statistics, records, groups):
    """A person with any records in any groups, beside others, comes or goes; more than may count are left out."""
    one_group = [list(own) for n in range(4) for own in combinations_with_replacement(RECORDS[:3], n)]
    mine = [(a, b, d) for a, b, d in product(one_group, repeat=3) if len(a) + len(b) + len(d) <= 4]
    others = [[], [("other", RECORDS[0])]]
    tables = [
        [[("me", r) for r in part] + (o if k == 1 else []) for k, part in enumerate(own)]
        for o in others
        for own in mine
    ]
    nobody = mine.index(([], [], []))
    pairs = [(o * len(mine) + nobody, o * len(mine) + k) for o in range(2) for k in range(len(mine))]
    more = LEVELS if statistics[0] is ADDING[0] else {}
    persons = {"people": {"id": "person", "max_records": records, "max_groups": groups}}
    check_costs(lambda keys: plan(statistics, keys, {"max_size": 4}, **more, **persons), tables, pairs)


# --- every draw adds up -----------------------------------------------------------------------------------


def has_siblings(keys, order):
    """Whether some node of the first level has several children; without any the order of the levels is refused."""
    above = [key[("r", "s").index(order[0])] for key in keys]
    return len(keys) == 1 or len(set(above)) < len(keys)


@st.composite
def plans(draw):
    regions = draw(st.integers(1, 3))
    keys = [(f"r{i}", f"s{j}") for i in range(regions) for j in range(draw(st.integers(1, 3)))]
    keys = draw(st.permutations(keys))
    sizes = draw(st.sampled_from([{"size": 3}, {"max_size": 4}, {"size": [2 + k % 3 for k in range(len(keys))]}]))
    asked = draw(st.lists(st.sampled_from([*ADDING, *CROSSED, {"median": "x"}]), min_size=1, max_size=3))
    orders = [["r", "s"], ["s", "r"]]
    more = {
        "hierarchy": {
            "levels": draw(st.sampled_from([order for order in orders if has_siblings(keys, order)] or orders[:1]))
        }
    }
    assume(has_siblings(keys, more["hierarchy"]["levels"]))
    if draw(st.booleans()):
        more["hierarchy"]["weights"] = {"r": 3}
    if draw(st.booleans()):
        more["hierarchy"]["shares"] = {"r": "1/4", "s": "3/4"}
    if not any("crosstab" not in own and "mean" not in own for own in asked):
        asked.append(ADDING[0])
    interval = draw(st.sampled_from([{}, {"output": {"credible_level": 0.8}}]))
    return plan(asked, keys, sizes, epsilon=draw(st.sampled_from(["1/2", 4])), **more, **interval)


@pytest.mark.long
@given(data=st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_draw_of_a_random_plan_adds_up_in_whole_numbers_within_range(data, tmp_path):
    """Whatever comes out of the mechanisms: here any reports at all."""
    content, seed = data.draw(plans()), data.draw(st.integers(0, 2**32))
    asked = to_plan(content, frame([]))
    designed, rng = (
        ReleaseDesign.from_workload(Workload.from_plan(asked), tmp_path / "cache"),
        np.random.default_rng(seed),
    )

    def anything(mechanism, positions, draws):
        outputs = range(mechanism.output_count)
        return rng.choice([i for i in outputs if mechanism.law.can_report(mechanism.query, i)], len(positions))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_draw_answers", anything)
        found = answering.build_table(designed, drawing.draw_rows(designed, open_plan_source(asked).aggregate()))
    check_sums(asked, {column.name: column.values.tolist() for column in found.columns})
    kept = json.loads(json.dumps(found.reports))  # as a file keeps it
    again = [column for part, _ in adjust_columns(kept) for column in part.items()]
    own = {column.name: column.values.tolist() for column in found.columns}
    assert all(own[name] == values.tolist() for name, values in again)


def check_sums(asked, table):
    levels = asked.hierarchy.levels
    rows = list(range(len(table["level"])))
    for statistic in asked.statistics:
        cells = asked.cells(statistic)
        if statistic.over_groups:
            for name in cells:
                for row in rows:
                    check_node(asked, table, name, row, levels)
        if statistic.over_groups and statistic.sums_to_size:
            totals_of = [sum(table[name][row] for name in cells) for row in rows]
            pairs = zip(totals_of, table[asked.size_column], strict=True)
            assert all(found == size if asked.groups.public else found <= size for found, size in pairs)
        if statistic.over_cells:
            check_crosstab(asked, statistic, table, rows)


def check_node(asked, table, name, row, levels):
    """A node is the sum of its children, whole, and within its range."""
    value, size = table[name][row], table[asked.size_column][row]
    low, high = (0, size) if "x" not in asked.columns or "sum" not in kind_of(asked, name) else sum_range(asked, size)
    assert isinstance(value, int)
    assert low <= value <= high
    if table["level"][row] == levels[-1]:
        return
    depth = levels.index(table["level"][row]) + 1
    children = [
        other
        for other in range(len(table["level"]))
        if table["level"][other] == levels[depth] and all(table[k][other] == table[k][row] for k in levels[:depth])
    ]
    assert children
    assert value == sum(table[name][other] for other in children)
    assert size == sum(table[asked.size_column][other] for other in children)


def kind_of(asked, name):
    return next(own.kind for own in asked.statistics if name in asked.cells(own))


def sum_range(asked, size):
    return (-size, 2 * size)


def check_crosstab(asked, statistic, table, rows):
    cells = np.array(
        [
            [table[name][row] for name in asked.cells(statistic)]
            for row in rows
            if table["level"][row] == asked.hierarchy.levels[-1]
        ]
    )
    sizes = np.array(
        [table[asked.size_column][row] for row in rows if table["level"][row] == asked.hierarchy.levels[-1]]
    )
    square = cells.astype(int).reshape(-1, 2, 3)
    assert (square >= 0).all()
    assert (square.sum(axis=(1, 2)) == sizes).all() if asked.groups.public else (square.sum(axis=(1, 2)) <= sizes).all()
    for margin, axis in (("c", 2), ("d", 1)):
        if margin in statistic.margins:
            names = statistic.sum_names(asked.context, margin)
            sums = np.array([table[name][-len(cells) :] for name in names]).T
            assert (sums == square.sum(axis=axis)).all()


# --- from plan to file ------------------------------------------------------------------------------------

KEYS = [(f"r{k % 2}", f"s{k}") for k in range(6)]
ROWS = [{"r": r, "s": s, "c": "pq"[k % 2], "d": "uvw"[k % 3], "x": float(k % 4 - 1)} for r, s in KEYS for k in range(5)]
WHOLE = plan(
    [*ADDING, *CROSSED, {"median": "x"}], KEYS, {"size": 5}, epsilon=16, **LEVELS, output={"credible_level": 0.9}
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("released")
    return folder, release(WHOLE, frame(ROWS), output=folder / "out.csv", cache=folder / "cache")


@pytest.fixture
def written(made, tmp_path):
    """The record in a copy of its folder that a test may change, and the release."""
    folder, done = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out.csv.release.json", done


@pytest.mark.long
def test_a_written_table_has_rows_for_every_level_and_verifies(written):
    path, done = written
    assert done.table["level"].to_pylist() == ["r"] * 2 + ["s"] * 6
    assert done.table["s"].to_pylist()[:2] == [None, None]
    assert done.table["group_size"].to_pylist() == [15, 15] + [5] * 6
    assert None not in done.table["s7"].to_pylist()
    assert any("account adds up" in line for line in check(path))


@pytest.mark.long
def test_anyone_gets_the_same_digits_from_the_record(written, command):
    path, done = written
    found = recompute_table(path)
    assert found.different == ()
    assert found.columns["s0"] == done.table["s0"].to_pylist()
    said = command(path.parent, "interpret", path.name, "--adjust")
    assert said.returncode == 0
    assert "digit by digit" in said.one_line


def test_a_table_that_does_not_follow_from_its_reports_is_found_out(written, command):
    """The record's own digest is right, and the table's: only the reports tell."""
    path, _ = written
    record = json.loads(path.read_text())["content"]
    report = record["reports"]["statistics"][0]["layers"][0]["reports"][0]
    report[0] = 0 if report[0] else 5
    record = wrap(RELEASE, record)
    path.write_text(json.dumps(record))
    assert recompute_table(path).different
    assert command(path.parent, "interpret", path.name, "--adjust").returncode == 1


@pytest.mark.parametrize("spoil", ["epsilon", "layers", "rows", "missing"])
def test_a_record_whose_layers_spend_too_much_is_refused(written, spoil):
    path, _ = written
    record = json.loads(path.read_text())["content"]
    line = next(m for m in record["mechanisms"] if m.get("layer") == "r")
    if spoil == "epsilon":
        line["epsilon"] = "99"
    elif spoil == "layers":
        record["account"][0]["layers"]["r"] = "99"
    elif spoil == "rows":
        record["table"]["rows"] = 6
    else:
        del record["account"][0]["layers"]
    record = wrap(RELEASE, record)
    path.write_text(json.dumps(record))
    with pytest.raises(PassportError):
        check(path)


def test_reports_that_say_anything_are_refused_in_words(written):
    path, _ = written
    record = json.loads(path.read_text())["content"]
    record["reports"]["parents"][0] = [0, 7]
    record = wrap(RELEASE, record)
    path.write_text(json.dumps(record))
    with pytest.raises(PassportError):
        recompute_table(path)


SPOILED = {
    "sizes": lambda form: form.update(sizes=[5] * 5 + [6]),
    "many sizes": lambda form: form.update(sizes=[10**15] * 6),
    "parents": lambda form: form.update(parents=[[0] * 6]),
    "far parents": lambda form: form.update(parents=[[0, 0, 0, 1, 1, 10**12]]),
    "credible_level": lambda form: form.update(credible_level="1/2"),
    "published": lambda form: form.update(published=not form["published"]),
    "rate": lambda form: form["statistics"][0]["layers"][0].update(rate="64"),
    "endless rate": lambda form: form["statistics"][0]["layers"][0].update(rate="1e999999999"),
    "negative rate": lambda form: form["statistics"][0]["layers"][0].update(rate="-1"),
    "weight": lambda form: form["statistics"][0]["layers"][0].update(weight="-1"),
    "endless weight": lambda form: form["statistics"][0]["layers"][0].update(weight="1e999999999"),
    "start": lambda form: form["statistics"][0].update(start="1e999999999"),
    "step": lambda form: form["statistics"][0].update(step="2"),
    "positions": lambda form: form["statistics"][0].update(positions=10**12),
    "name": lambda form: form["statistics"][0].update(statistic="s1"),
    "shape": lambda form: form["statistics"][0].update(shape=[10**6, 10**6]),
    "sums": lambda form: form["statistics"][0].update(sums=KNOWN),
    "by": lambda form: form["statistics"][0].update(by="guessing"),
    "order": lambda form: form["statistics"][0]["layers"].reverse(),
    "no layers": lambda form: form["statistics"][0].update(layers=[]),
    "no rows": lambda form: form["statistics"][0]["layers"][0].update(reports=[]),
    "few reports": lambda form: form["statistics"][0]["layers"][0]["reports"][0].pop(),
    "negative report": lambda form: form["statistics"][0]["layers"][0].update(reports=[[-1] * 6]),
    "high report": lambda form: form["statistics"][0]["layers"][0].update(reports=[[6] * 6]),
    "no statistics": lambda form: form.update(statistics=[]),
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_reports_that_are_not_those_of_plan_and_account_are_refused_before_they_are_used(written, spoil, monkeypatch):
    path, _ = written
    record = json.loads(path.read_text())["content"]
    SPOILED[spoil](record["reports"])
    record = wrap(RELEASE, record)
    path.write_text(json.dumps(record))
    monkeypatch.setattr("inbounds.releases.adjust_reports.adjust_columns", None)
    for read_anew in (check, recompute_table):
        with pytest.raises(PassportError):
            read_anew(path)


def test_a_record_that_tells_another_way_of_adding_up_is_found_out(written):
    path, _ = written
    record = json.loads(path.read_text())["content"]
    own = record["reports"]["statistics"][0]
    own["by"] = LEAST_SQUARES if own["by"] == POSTERIOR else POSTERIOR
    record = wrap(RELEASE, record)
    path.write_text(json.dumps(record))
    assert own["statistic"] in recompute_table(path).different


def test_the_mechanisms_of_layers_are_found_by_their_digest(written):
    path, done = written
    made = find_mechanism(path, "s0", 15, layer="r")
    assert made.sha256 == next(m["sha256"] for m in done.record["mechanisms"] if m.get("layer") == "r")
    assert find_mechanism(path, "s0", 5).query == ib.count(5)
    with rejects(ValueError, "layer", about="s, r"):
        find_mechanism(path, "s0", 5, layer="x")


def test_totals_are_right_on_average_whatever_the_truth(tmp_path):
    """By enumeration: over all reports of a small hierarchy, the total averages to the truth."""
    content = plan([{"count": "c = 'p'"}], [("r0", "s0"), ("r0", "s1")], {"size": 2}, epsilon=2, **LEVELS)
    asked = to_plan(content, frame([]))
    designed = ReleaseDesign.from_workload(Workload.from_plan(asked), tmp_path)
    own, above = designed.designs[0][0].mechanism.matrix, designed.layers[0][0].mechanism.matrix
    form = {"sizes": [2, 2], "parents": [[0, 0]], "credible_level": "9/10", "published": False}
    rates = [
        str(designed.workload.entries[0].drawn_at * share) for _, share in designed.workload.entries[0].layered.shares
    ]
    for truth in product(range(3), repeat=2):
        mean = square = stated = 0.0
        for one, other, both in product(range(3), range(3), range(5)):
            chance = own[one, truth[0]] * own[other, truth[1]] * above[both, sum(truth)]
            layers = [
                {"name": "s", "columns": ["s0"], "rate": rates[0], "weight": "1", "reports": [[one, other]]},
                {"name": "r", "columns": ["s0"], "rate": rates[1], "weight": "1", "reports": [[both]]},
            ]
            kept = {
                "statistic": "s0",
                "shape": [],
                "sums": "",
                "start": "0",
                "step": "1",
                "positions": 1,
                "layers": layers,
            }
            record = {
                "reports": {**form, "statistics": [kept]},
                "plan": {"statistics": [{"name": "s0", "kind": "count", "condition": "c = 'p'"}]},
            }
            (found,) = estimate_totals(record, None)
            mean += chance * found.sum.estimate
            square += chance * found.sum.estimate**2
            stated += chance * found.sum.standard_error**2
        assert mean == pytest.approx(sum(truth), abs=1e-9)
        assert square - mean**2 == pytest.approx(stated, rel=1e-6)


def test_totals_of_plain_reports_are_those_of_unbiased_sums(tmp_path):
    content = {
        "groups": {"by": ["s"], "keys": [s for _, s in KEYS], "size": [5, 5, 5, 6, 6, 6]},
        "columns": COLUMNS,
        "statistics": [{"count": "c = 'p'", "mechanism": "truncated_geometric"}, {"sum": "x"}],
        "privacy": {"epsilon": 2},
    }
    done = release(content, frame(ROWS), cache=tmp_path)
    count, added = estimate_totals(done.record, done.table)
    made = [done.mechanisms["count", size] for size in (5, 5, 5, 6, 6, 6)]
    wanted = ib.unbiased_sum(done.table["count"].to_pylist(), made)
    assert count.sum.estimate == pytest.approx(wanted.estimate)
    assert count.sum.standard_error == pytest.approx(wanted.standard_error)
    assert added.sum is None
    assert "must not be added" in str(added)


@pytest.mark.long
def test_the_report_prints_totals_and_says_what_must_not_be_added(tmp_path):
    content = {**WHOLE, "statistics": [{"count": "c = 'p'"}, {"sum": "x", "name": "total"}]}
    done = release(content, frame(ROWS), cache=tmp_path / "cache")
    done.report(tmp_path / "page.html")
    shown = (tmp_path / "page.html").read_text()
    assert "Totals over all groups" in shown
    layers = done.record["account"][0]["layers"].items()
    assert ", ".join(f"{format_number(Fraction(part))} for {name}" for name, part in layers) in shown
    plain = {**content, "statistics": [{"count": "c = 'p'"}]}
    del plain["hierarchy"]
    release(plain, frame(ROWS), cache=tmp_path / "cache").report(tmp_path / "plain.html")
    assert "must not be added" in (tmp_path / "plain.html").read_text()


def test_the_command_line_takes_nested_columns(tmp_path, command):
    lines = ["r,s,c", *(f"{row['r']},{row['s']},{row['c']}" for row in ROWS)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "keys.csv").write_text("r,s\n" + "".join(f"{r},{s}\n" for r, s in KEYS))
    words = ["release", "data.csv", "--count", "c = 'p'", "--by", "r,s", "--nested", "--keys", "keys.csv"]
    assert command(tmp_path, *words, "--size", "5", "--epsilon", "4", "--cache", "cache").returncode == 0
    table = (tmp_path / "data.released.csv").read_text().splitlines()
    assert table[0].startswith("level,r,s,group_size,count")
    assert len(table) == 9


NO_LEVELS = [
    ({"hierarchy": {"levels": ["r"]}}, ("hierarchy", "levels")),
    ({"hierarchy": {"levels": ["r", "t"]}}, ("hierarchy", "levels")),
    ({"hierarchy": {"levels": "r"}}, ("hierarchy", "levels")),
    ({"hierarchy": {"levels": ["r", "s"], "weights": {"t": 1}}}, ("hierarchy", "weights")),
    ({"hierarchy": {"levels": ["r", "s"], "weights": {"r": 0, "s": 0}}}, ("hierarchy", "weights")),
    ({"hierarchy": {"levels": ["r", "s"], "shares": {"r": 1}}}, ("hierarchy", "shares")),
    ({"hierarchy": {"levels": ["r", "s"], "shares": {"r": "1/2", "s": "1/4"}}}, ("hierarchy", "shares")),
    ({"hierarchy": {"levels": ["r", "s"], "shares": {"r": 0, "s": 1}}}, ("hierarchy", "shares")),
    ({"hierarchy": {"levels": ["r", "s"], "depth": 2}}, ("hierarchy", "depth")),
    ({"statistics": [{"crosstab": ["c", "d"]}]}, ("hierarchy",)),
    ({"statistics": [{"crosstab": ["c"]}]}, ("statistics", 0, "crosstab")),
    ({"statistics": [{"crosstab": ["c", "c"]}]}, ("statistics", 0, "crosstab")),
    ({"statistics": [{"crosstab": ["c", "d"], "margins": ["x"]}]}, ("statistics", 0, "margins")),
    ({"statistics": [{"count": "c = 'p'", "margins": ["c"]}]}, ("statistics", 0, "margins")),
    ({"statistics": [{"count": "c = 'p'", "mechanism": "truncated_geometric"}]}, ("statistics", 0)),
]


def test_plans_that_make_no_sense_are_refused_in_words(golden):
    said = {}
    for change, path in NO_LEVELS:
        with raises_at(PlanError, path) as caught:
            to_plan({**WHOLE, **change}, frame([]))
        said[str(change)] = caught.value
    golden.parts("wrong_levels", said)


def test_shares_are_designed_before_the_data_and_said_in_the_dry_run(tmp_path):
    found = preview_release(WHOLE, frame(ROWS), cache=tmp_path)
    layers = {line["statistic"]: line.get("layers") for line in found.record["account"]}
    assert list(layers["s0"]) == ["s", "r"]
    assert sum(map(Fraction, layers["s0"].values())) == Fraction(found.record["account"][0]["draw_epsilon"])
    assert any("shared" in line for line in found.account)
    assert list(layers["s7"]) == ["s", "r"]  # a median, drawn of every level
    assert math.isclose(sum(float(Fraction(line["spent"])) for line in found.record["account"]), 16)


def test_how_a_table_was_made_to_add_up_is_told_in_record_report_and_when_computed_again(tmp_path):
    rows = [{"r": r, "s": s, "c": "p"} for r, s in (("a", "k"), ("a", "l")) for _ in range(4)]
    own = plan(ADDING[:1], [("a", "k"), ("a", "l")], {"size": 4}, **LEVELS)
    for most, told in ((adjusting.LARGEST, "least expected error"), (0, "least squares and rounding")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adjusting, "LARGEST", most)
            done = release(
                own,
                frame(rows),
                allow_useless=True,
                key=str(most),
                output=tmp_path / f"{most}.csv",
                cache=tmp_path / "cache",
            )
            by = recompute_table(tmp_path / f"{most}.csv.release.json").by["s0"]
        assert done.record["reports"]["statistics"][0]["by"] == by
        assert any(told in line for line in done.record["values"])
        done.report(tmp_path / f"{most}.html")
        assert told in (tmp_path / f"{most}.html").read_text("utf-8")


def test_a_crosstab_beside_a_hierarchy_says_what_it_adds_up_to_and_the_way_out():
    keys = [("a", "k"), ("a", "l")]
    told = preview_release(plan([ADDING[0], CROSSED[0]], keys, {"size": 4}, **LEVELS), frame([])).record["values"]
    assert any("s1: adds up within every group, not over levels" in line and "histogram" in line for line in told)
    alone = preview_release(plan(CROSSED[:1], keys, {"size": 4}), frame([])).record["values"]
    assert not any("not over levels" in line for line in alone)

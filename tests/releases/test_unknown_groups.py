"""Groups from the data: the promise on neighbouring tables, what is kept of those not published, and verify."""

import json
import random
import sqlite3
from dataclasses import replace
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import pytest

import inbounds as ib
from envelopes import seal
from inbounds.plan.load import parse_plan
from inbounds.releases import drawing
from inbounds.releases.aggregate import open_plan_source
from inbounds.releases.drawing import draw_published
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.schema.errors import PlanError, SourceError
from inbounds.sources.groups import parse_groups
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.samplers import seeded_entropy
from raising import rejects


def values(**parts):
    """A plan about persons in up to two groups, whose keys are those of the data."""
    plan = {
        "groups": {"by": "key", "keys": "from the data", "max_size": 4},
        "columns": {"key": {"type": "text", "max_length": 8}, "ill": {"type": "boolean"}},
        "people": {"id": "who", "max_groups": 2, "max_records": 1, "name": "patients"},
        "privacy": {"epsilon": 8, "delta": "1/3", "persons": 3},
        "statistics": [{"count_distinct": "true", "name": "persons", "budget_share": "3/4"}, {"count": "ill"}],
        "edition": "1",
    }
    return plan | parts


def many(**parts):
    """A plan for a thousand records, in which frequent keys are published."""
    return values(groups={"by": "key", "keys": "from the data", "max_size": 500}, **parts) | {
        "privacy": {"epsilon": 2, "delta": "1e-4", "persons": 1000}
    }


def frame(rows):
    return pd.DataFrame(rows, columns=["who", "key", "ill"])


def thousand():
    """Three frequent keys, and many that a single person has."""
    rows = [(f"p{k % 400}", "abc"[k % 3], k % 2 == 0) for k in range(1200)]
    return frame([*rows, *((f"q{k}", f"lonely{k}", True) for k in range(40))])


def truths(plan, table):
    """What is drawn from: the number of persons, and of ill ones, of every key that the data holds."""
    parsed = parse_plan(plan, frame=table)
    source = open_plan_source(parsed)
    try:
        found = source.aggregate()
    finally:
        source.close()
    return {key: tuple(int(row[k]) for row in found.positions) for k, key in enumerate(found.keys)}


# --- the promise ------------------------------------------------------------------------------------------


def law_of_key(designed, persons, *others):
    """The exact law of what is released of a key: nothing, or all numbers; whole weights over 2**62 for each number."""
    first, *further = (row[0].mechanism.weights.astype(object) for row in designed.designs)
    law = first[1:, persons]
    for weights, truth in zip(further, others, strict=True):
        law = np.outer(law, weights[:, truth]).ravel()
    return np.concatenate([[first[0, persons] * TOTAL ** len(others)], law])


def divergence(designed, one, other, epsilon):
    """The largest Pr[S | one] - e^epsilon · Pr[S | other] over all sets S of tables, exactly."""
    moved = sorted({key for key in {*one, *other} if one.get(key) != other.get(key)})
    laws = []
    for table in (one, other):
        law = np.array([1], dtype=object)
        for key in moved:
            law = np.outer(law, law_of_key(designed, *table.get(key, (0,) * len(designed.designs)))).ravel()
        laws.append(law)
    ratio = ratio_lower_bound(epsilon, Fraction(1))
    excess = sum(max(0, (p << EXP_BITS) - ratio * q) for p, q in zip(*laws, strict=True))
    return Fraction(excess, TOTAL ** (len(designed.designs) * len(moved)) << EXP_BITS)


def databases(seed):
    """A small table, and the same without one of its persons, who has rows in up to three groups."""
    rng = random.Random(seed)
    rows = [(f"p{rng.randrange(3)}", rng.choice("abcd"), rng.random() < 0.5) for _ in range(rng.randrange(3, 9))]
    gone = rng.choice(rows)[0]
    return rows, [row for row in rows if row[0] != gone], [row for row in rows if row[0] == gone]


@pytest.mark.parametrize("seeds", [[2, 14], pytest.param([*range(20)], marks=pytest.mark.long)])
def test_tables_that_differ_in_a_person_keep_epsilon_and_delta_by_the_exact_joint_law(seeds, tmp_path):
    plan = values()
    designed = ReleaseDesign.from_workload(Workload.from_plan(parse_plan(plan, frame=frame([]))), tmp_path)
    worst, moved_most = Fraction(0), 0
    for seed in seeds:
        rows, without, _ = databases(seed)
        with_person, without_person = (truths(plan, frame(part)) for part in (rows, without))
        for one, other in ((with_person, without_person), (without_person, with_person)):
            worst = max(worst, divergence(designed, one, other, Fraction(8)))
        keys = {*with_person, *without_person}
        moved_most = max(moved_most, sum(with_person.get(key) != without_person.get(key) for key in keys))
    assert moved_most == 2
    assert Fraction(1, 4) < worst <= Fraction(1, 3)


FURTHER = [{"count": "true"}, {"histogram": "size"}, {"mean": "age"}, {"sum": "age"}, {"percentage": "ill"}]


@pytest.mark.parametrize(
    "statistic", [FURTHER[0], *(pytest.param(one, marks=pytest.mark.long) for one in FURTHER[1:])], ids=str
)
def test_a_person_with_several_records_moves_further_numbers_of_a_group_by_its_part_of_epsilon(statistic, tmp_path):
    plan = values(columns=values()["columns"] | {"size": {"labels": ["small", "large"]}, "age": {"low": 0, "high": 3}})
    plan["people"] = {**plan["people"], "max_records": 2}
    plan["statistics"] = [plan["statistics"][0] | {"budget_share": "1/2"}, statistic]
    rng, worst, moved_most = random.Random(4), 0.0, 0

    def table(rows):
        return pd.DataFrame(rows, columns=["who", "key", "ill", "size", "age"]).astype({"ill": object, "age": object})

    designed = ReleaseDesign.from_workload(Workload.from_plan(parse_plan(plan, frame=table([]))), tmp_path)
    law = designed.designs[1][0].mechanism.weights / TOTAL
    for _ in range(3):
        rows = [
            (
                f"p{rng.randrange(4)}",
                rng.choice("abc"),
                rng.random() < 0.5,
                rng.choice(["small", "large"]),
                rng.randrange(4),
            )
            for _ in range(14)
        ]
        one, other = (truths(plan, table(part)) for part in (rows, [row for row in rows if row[0] != "p1"]))
        moved = [(one[key], other[key]) for key in one.keys() & other.keys() if one[key] != other[key]]
        moved_most = max(moved_most, len(moved) + len(one.keys() ^ other.keys()))
        assert all(abs(a[0] - b[0]) <= 1 for a, b in moved)
        for a, b in moved:
            pairs = [(law[:, i], law[:, j]) for i, j in zip(a[1:], b[1:], strict=True)]
            losses = [np.abs(np.log(p[p > 0]) - np.log(q[p > 0])).max() for p, q in pairs]
            worst = max(worst, float(sum(losses)))
    part = float(designed.workload.plan.epsilons[1]) / 2
    assert moved_most == 2
    assert part / 4 < worst <= part * (1 + 1e-9)


def test_a_person_replaced_by_another_is_covered_at_twice_epsilon_and_twice_delta(tmp_path):
    plan = values(privacy={"epsilon": 4, "delta": "1/3", "persons": 3})
    plan["groups"] = {**plan["groups"], "max_size": 8}
    plan["statistics"] = plan["statistics"][:1]
    designed = ReleaseDesign.from_workload(Workload.from_plan(parse_plan(plan, frame=frame([]))), tmp_path)
    twice = [("x", "a", True), ("x", "b", True)], [("x", "c", False), ("x", "d", True)], [("x", "a", False)]
    rest = [("y", "a", True), ("z", "c", True)]
    laws = [truths(plan, frame([*rest, *own])) for own in twice]
    worst = max(divergence(designed, one, other, Fraction(8)) for one, other in product(laws, laws))
    assert Fraction(1, 4) < worst <= Fraction(2, 3)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_groups_of_a_person_are_chosen_from_that_persons_rows_alone(seed):
    plan = values()
    rows, without, own = databases(seed)
    alone = truths(plan, frame(own))
    together, rest = truths(plan, frame(rows)), truths(plan, frame(without))
    for key in {*together, *rest, *alone}:
        parts = [found.get(key, (0, 0)) for found in (alone, rest)]
        assert together.get(key, (0, 0)) == tuple(map(sum, zip(*parts, strict=True)))
    assert len(alone) <= 2


def test_a_person_counts_in_no_more_groups_than_declared():
    found = truths(values(), frame([("p1", key, True) for key in "abcdef"]))
    assert sum(persons for persons, _ in found.values()) == 2


def test_neither_the_order_of_rows_nor_where_they_are_stored_changes_what_is_drawn_from(tmp_path, subtests):
    table = thousand().assign(key=lambda t: t.key.where(t.index % 7 > 0, "Ü|" + t.key))
    expected = truths(many(), table)
    assert ("Ü|a",) in expected
    shuffled = table.sample(frac=1, random_state=1)
    shuffled.to_csv(tmp_path / "t.csv", index=False)
    shuffled.to_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("shuffled", shuffled)
        connection.execute("CREATE TABLE t AS SELECT * FROM shuffled")
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        shuffled.assign(ill=shuffled.ill.map({True: "true", False: "false"})).to_sql("t", connection, index=False)
    connection.close()
    sources = [{"path": str(tmp_path / "t.csv")}, {"path": str(tmp_path / "t.parquet")}]
    sources += [{"path": str(tmp_path / f"t.{kind}"), "table": "t"} for kind in ("duckdb", "sqlite")]
    for source in sources:
        with subtests.test(**source):
            assert truths(many(source=source), None) == expected
    with subtests.test("shuffled"):
        assert truths(many(), shuffled) == expected


def test_a_key_that_no_table_could_show_is_in_no_group_and_raises_nothing():
    strange = ["x" * 9, "é" * 5, "", None, "a\nb", "a\x1b[0m", "\x00"]
    table = frame([*((f"p{k}", key, True) for k, key in enumerate(strange)), ("q", "é" * 4, True), ("r", " ", False)])
    assert truths(values(), table) == {(" ",): (1, 0), ("éééé",): (1, 1)}
    kept = truths(values(groups={**values()["groups"], "missing_key": "none"}), table)
    assert kept[("none",)] == (2, 2)


@pytest.mark.parametrize(
    ("options", "keys"),
    [({"ignore_case": True}, ["strasse", "straße"]), ({"ignore_case": True}, ["k", "\u212a"]), ({}, ["K", "k"])],
)
def test_keys_that_unicode_takes_for_one_are_groups_of_their_own_and_raise_nothing(options, keys):
    columns = values()["columns"] | {"key": {"type": "text", "max_length": 8} | options}
    table = frame([(f"p{k}", key, True) for k, key in enumerate(keys)])
    assert [*truths(values(columns=columns), table)] == [(key,) for key in keys]


def test_keys_of_several_columns_and_of_dates_are_groups():
    table = pd.DataFrame(
        {"who": ["1", "2", "3"], "key": ["a", "b", "a"], "at": ["2024-01-05", "2024-13-05", "2024-01-31"]}
    )
    groups = {"by": ["key", "at"], "keys": "from the data", "max_size": 9, "period": {"at": "month"}}
    columns = {"key": {"type": "text", "max_length": 8}, "at": {"type": "text", "max_length": 10}}
    plan = values(groups=groups, columns=columns, statistics=[{"count_distinct": "true"}])
    assert truths(plan, table) == {("a", "2024-01"): (2,)}


def test_without_an_id_every_record_is_a_person():
    people = {"name": "visits"}
    plan = values(people=people, statistics=[{"count": "true", "name": "persons"}, {"count": "ill"}])
    plan["columns"] = {**plan["columns"], "who": {"type": "text"}}
    plan["people"]["one_record_each"] = ["who"]
    assert truths(plan, frame([("1", "a", True), ("1", "a", False), ("1", "b", True)])) == {
        ("a",): (2, 1),
        ("b",): (1, 1),
    }


# --- what is kept -----------------------------------------------------------------------------------------


def place_of_ledger(tmp_path):
    place = tmp_path / "people.ledger"
    with ib.Ledger.open(place, create=True) as ledger:
        ledger.add_population("patients", 100, delta="1/10")
    return place


def test_nothing_is_kept_of_groups_that_were_not_published(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place, steps = place_of_ledger(tmp_path), []
    released = ib.release(
        many(), thousand(), output="out.csv", ledger=place, cache=tmp_path / "cache",
        progress=lambda doing, done, total: steps.append((doing, done, total)),
    )  # fmt: skip
    assert released.table["key"].to_pylist() == ["a", "b", "c"]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} >= {".csv", ".json", ".ledger"}
    assert not [file for file in files if b"lonely" in file.read_bytes()]
    assert steps[steps.index(("aggregating", 0, 1)) :] == [  # what is told before is told before data is read
        ("aggregating", 0, 1), ("aggregating", 1, 1), ("drawing", 0, 1), ("drawing", 1, 1),
    ]  # fmt: skip


def test_the_stored_draw_holds_published_keys_and_their_rows_alone(tmp_path):
    plan = parse_plan(many(), frame=thousand())
    designed = ReleaseDesign.from_workload(Workload.from_plan(plan), tmp_path)
    source = open_plan_source(plan)
    found = source.aggregate()
    source.close()
    assert len(found.keys) == 43
    assert "lonely" not in repr(found)
    published = draw_published(designed, found, draws=seeded_entropy(np.random.default_rng(3)))
    assert published.keys == (("a",), ("b",), ("c",))
    stored = drawing.Draw.from_rows(drawing.IndependentDraw(designed), published.rows, {}, published.keys)
    content = stored.to_bytes()
    assert (b"lonely" in content, len(content.partition(b"\n")[2])) == (False, 8 * 2 * 3)
    again = drawing.Draw.from_bytes(content, drawing.IndependentDraw(designed))
    assert (again.keys, [row.tolist() for row in again.rows]) == (
        published.keys,
        [row.tolist() for row in published.rows],
    )


def test_the_engine_writes_no_temporary_file():
    source = open_plan_source(parse_plan(many(), frame=thousand()))
    directory = source.table.get_backend().con.execute("SELECT current_setting('temp_directory')").fetchone()
    source.close()
    assert directory == ("",)


def test_a_release_is_found_again_and_goes_on_from_its_stored_draw(tmp_path):
    place = place_of_ledger(tmp_path)
    arguments = {"output": tmp_path / "out.csv", "ledger": place, "cache": tmp_path / "cache"}
    first = ib.release(many(), thousand(), **arguments)
    with pytest.warns(UserWarning, match="stored"):
        second = ib.release(many(), frame([]).astype({"ill": bool}), key=first.record["ledger"]["key"], **arguments)
    assert second.table.equals(first.table)


def test_the_record_tells_the_day_and_not_how_long_the_release_took(tmp_path):
    done = ib.release(many(), thousand(), cache=tmp_path)
    assert done.record["time"].partition("T")[2] == "00:00:00+00:00"


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"privacy": {"epsilon": 1}}, ("privacy", "delta")),
        ({"privacy": {"epsilon": 1, "delta": "1e-3"}}, ("privacy", "persons")),
        ({"privacy": {"epsilon": 1, "delta": "1e-3", "persons": 5000}}, ("privacy", "delta")),
        ({"columns": {"ill": {"type": "boolean"}}}, ("groups", "by", 0)),
        ({"columns": {"key": {"type": "text"}, "ill": {"type": "boolean"}}}, ("groups", "by", 0)),
        ({"statistics": [{"count": "ill"}]}, ("statistics",)),
        ({"statistics": [{"count": "true"}]}, ("statistics",)),
        ({"statistics": [{"count_distinct": "true"}, {"count_distinct": "true", "name": "again"}]}, ("statistics",)),
        ({"hierarchy": {"levels": ["all", "key"]}}, ("hierarchy",)),
        ({"groups": {"by": "key", "keys": "from the data", "size": 4}}, ("groups", "size")),
        ({"groups": {"by": [], "keys": "from the data", "max_size": 4}}, ("groups", "by")),
    ],
)
def test_a_plan_that_cannot_promise_it_is_refused_with_its_place(parts, path):
    with pytest.raises(PlanError) as refused:
        parse_plan(values(**parts), frame=frame([]))
    assert refused.value.path == path


def test_a_group_that_could_never_be_published_is_refused_before_the_charge(tmp_path):
    plan = values(privacy={"epsilon": 1, "delta": "1e-3", "persons": 3})
    with pytest.raises(PlanError) as refused:
        ib.preview_release(plan, frame([("p", "a", True)]), cache=tmp_path)
    assert refused.value.path[:2] == ("statistics", 0)


def test_a_curator_does_not_read_groups_from_the_data(tmp_path):
    from inbounds.curator.dataset import parse_dataset

    with pytest.raises(PlanError) as refused:
        parse_dataset("d", {"groups": values()["groups"], "source": {"path": "t.csv"}}, tmp_path)
    assert refused.value.path == ("datasets", "d", "groups", "keys")
    public = {"source": {"path": "t.csv"}, "edition": "1", "people": {"name": "p"}}
    dataset = parse_dataset("d", {"groups": {"by": "key", "keys": ["a"], "max_size": 4}} | public, tmp_path)
    with pytest.raises(PlanError) as again:
        replace(dataset, groups=parse_groups(**values()["groups"]))
    assert again.value.path == ("groups", "keys")


# --- verify -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("released")
    done = ib.release(many(output={"credible_level": "0.9"}), thousand(), cache=folder / "cache")
    done.write(folder / "t.csv")
    done.write_mechanisms(folder / "passports")
    return folder


def test_a_release_verifies_and_says_what_is_published(released):
    verdict = ib.verify(released / "t.csv.release.json")
    assert verdict.is_valid
    assert "read from the data" in str(verdict)
    passports = [*(released / "passports").iterdir()]
    assert ib.verify(released / "t.csv.release.json", passports=passports).is_valid


def test_the_page_for_the_public_says_that_groups_may_be_missing(released):
    done = ib.release(many(), thousand(), cache=released / "cache")
    done.export(released / "public.html")
    assert "Only groups with enough people are shown" in (released / "public.html").read_text()


ODD = {
    "columns": {
        "key": {"type": "text", "max_length": 8},
        "ill": {"type": "boolean"},
        "who": {"type": "text"},
        "size": {"labels": ["small", "large"]},
        "age": {"low": 0, "high": 3},
    },
    "statistics": [
        {"count_distinct": "true", "name": "persons", "budget_share": "1/2"},
        {"histogram": "size", "sum_to_size": True},
        {"quantile": "age", "at": ["1/4"]},
        {"mode": "size"},
    ],
    "output": {"credible_level": "0.9"},
}


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("parquet", "json")]


@pytest.mark.parametrize("format_", ["csv", *LONG])
def test_a_table_without_any_group_is_written_shown_and_verifies(format_, tmp_path):
    table = frame([("p", "a", True)]).assign(size="small", age=1)
    done = ib.release(many(**ODD), table, cache=tmp_path, allow_useless=True).write(tmp_path / f"t.{format_}")
    assert done.table.num_rows == 0
    assert ib.verify(tmp_path / f"t.{format_}.release.json").is_valid
    for name in ("page.html", "t.xlsx"):
        done.export(tmp_path / name)
    done.report(tmp_path / "report.html")
    assert {"page.html", "t.xlsx", "report.html"} <= {file.name for file in tmp_path.iterdir()}


STRANGE = ["=1+1", "<b>&", 'a,"b', "|x", " ", "nan", "NULL", "007", "@", "é"]
"""Keys that files and pages could take for something else."""


@pytest.mark.parametrize("format_", ["csv", *LONG])
def test_keys_that_look_like_something_else_stay_texts_and_verify(format_, tmp_path):
    table = frame([(f"p{k}", STRANGE[k % len(STRANGE)], k % 3 > 0) for k in range(600)])
    done = ib.release(many(), table, cache=tmp_path).write(tmp_path / f"t.{format_}")
    assert done.table["key"].to_pylist() == sorted(STRANGE)
    assert ib.verify(tmp_path / f"t.{format_}.release.json").is_valid
    done.report(tmp_path / "report.html")
    done.export(tmp_path / "page.html")
    assert not any("<b>&" in (tmp_path / page).read_text() for page in ("report.html", "page.html"))


def forge(record, change):
    content = record["content"]
    change(content)
    content["plan_sha256"] = ib.files.sha256_hex(ib.files.canonical_json(content["plan"]))
    return seal(record)


FORGERIES = {
    "a delta for one group": lambda c: c["account"][0].update(draw_delta="1/10000"),
    "less delta": lambda c: c["account"][0].update(draw_delta="1/30000"),
    "no delta of the draw": lambda c: c["account"][0].pop("draw_delta"),
    "a delta of another": lambda c: c["account"][1].update(draw_delta="1/20000"),
    "fewer groups of a person": lambda c: c["plan"]["unit"].update(max_groups=1),
    "a group that was not published": lambda c: c["draws"].update(persons="0" + c["draws"]["persons"][3:]),
    "keys in another order": lambda c: c["groups"]["keys"].update(key=["b", "a", "c"]),
    "a key twice": lambda c: c["groups"]["keys"].update(key=["a", "a", "c"]),
    "a key that is too long": lambda c: c["groups"]["keys"].update(key=["a", "b", "c" * 9]),
    "no longest key": lambda c: c["plan"]["columns"]["key"].pop("max_length"),
    "declared keys": lambda c: c["plan"].pop("keys"),
    "a number of groups": lambda c: c["plan"].update(groups=3),
    "no delta": lambda c: [c["plan"].pop(name) for name in ("delta", "persons")],
    "another condition": lambda c: c["plan"]["statistics"][0].update(condition="ill"),
    "another size": lambda c: c["groups"].update(sizes="500 500 400"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_record_is_refused(name, released, tmp_path):
    record = json.loads((released / "t.csv.release.json").read_text())
    (tmp_path / "t.csv").write_bytes((released / "t.csv").read_bytes())
    (tmp_path / "r.json").write_text(json.dumps(forge(record, FORGERIES[name])))
    verdict = ib.verify(tmp_path / "r.json")
    assert verdict.is_decided
    assert not verdict.is_valid
    assert "cannot be carried out" not in verdict.reason
    assert ("did not publish it" in verdict.reason) == (name == "a group that was not published")


def test_the_checker_alone_refuses_draws_at_another_delta_than_the_plan_has(released):
    from inbounds.checker import check_record

    record = json.loads((released / "t.csv.release.json").read_text())
    assert check_record(record).lines
    with rejects(ib.PassportError, about="delta of the plan"):
        check_record(forge(record, FORGERIES["a delta for one group"]))


def test_a_passport_at_another_delta_is_not_connected(released):
    record = json.loads((released / "t.csv.release.json").read_text())
    from inbounds.checker import check_record, connect

    lines = check_record(record).lines
    (file,) = (released / "passports").glob("persons-*.json")
    passport = json.loads(file.read_text())
    assert connect(lines, {"p": passport}).connected == {"p": (lines[0].required.owner,)}
    passport["content"]["law"]["threshold"]["delta"] = "1/10000"
    with rejects(ib.PassportError, about="threshold"):
        connect(lines, {"p": passport})


def test_a_source_that_duckdb_does_not_read_is_refused():
    class Elsewhere:
        def get_backend(self):
            return type("Backend", (), {"name": "postgres", "con": None})()

    from inbounds.releases.aggregate import _check_memory

    with pytest.raises(SourceError):
        _check_memory(Elsewhere())

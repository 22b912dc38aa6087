"""Several attributes, and the same person again: statements checked by enumerating everything that can be sent."""

import contextlib
import copy
import itertools
import json
import math
import pickle
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import inbounds as ib
from inbounds import local
from inbounds.local.permanent import ReportMemory
from inbounds.mechanism.laws import Matrix
from local.test_local_engines import ENGINES, table
from raising import rejects

STARS = ib.catalog.truncated_geometric(ib.ordinal(0, 2), Fraction(1, 2))
DRINKS = ib.catalog.randomized_response(ib.category(["tea", "coffee"]), 1)
WIDE = ib.catalog.randomized_response(ib.category(["a", "b", "c"]), "0.7")
STEEP = ib.catalog.truncated_geometric(ib.ordinal(0, 6), 60)
"""So little noise that a report is its value."""

TOTAL = 1 << 62


def law(mechanism) -> list[list[Fraction]]:
    """Pr[output | answer] exactly, by answer."""
    assert isinstance(mechanism.law, Matrix)
    return [[Fraction(int(w), TOTAL) for w in column] for column in mechanism.weights.T]


def worst(laws: list[dict]) -> Fraction:
    """From the definition: the largest ratio of any outcome's probabilities under any two inputs."""
    outcomes = {outcome for each in laws for outcome in each}
    assert all(set(each) == outcomes for each in laws)  # nothing is possible under one and impossible under another
    return max(one[x] / other[x] for x in outcomes for one in laws for other in laws)


# --- several attributes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["all", "one"])
@pytest.mark.parametrize("mechanisms", [(STARS, DRINKS), (STARS, DRINKS, WIDE)], ids=["two", "three"])
def test_the_joint_statement_is_the_worst_ratio_over_everything_that_is_sent(ask, mechanisms):
    names = [f"attribute {k}" for k in range(len(mechanisms))]
    survey = local.Survey(dict(zip(names, mechanisms, strict=True)), ask)
    laws = [law(m) for m in mechanisms]
    sent = []
    for person in product(*(range(len(each)) for each in laws)):
        found: dict = defaultdict(Fraction)
        if ask == "all":
            for reports in product(*(range(len(each)) for each in laws)):
                found[reports] += math.prod(laws[k][person[k]][r] for k, r in enumerate(reports))
        else:
            for k, each in enumerate(laws):
                for r, p in enumerate(each[person[k]]):
                    found[k, r] += p / len(laws)
        assert sum(found.values()) == 1
        sent.append(found)
    stated = survey.privacy
    assert worst(sent) <= Fraction(stated.worst_ratio())
    assert stated.worst_ratio() == pytest.approx(float(worst(sent)), rel=1e-12)
    assert stated.ldp == pytest.approx(math.log(stated.worst_ratio()))
    assert str(stated).startswith("any two people: probabilities of all reports within a ratio of")


def test_a_person_sends_all_attributes_or_one_of_them():
    answers = {"stars": 1, "drink": "tea"}
    every = local.Survey({"stars": STARS, "drink": DRINKS})(answers)
    assert set(every) == {"stars", "drink"}
    assert every["stars"] in (0, 1, 2)
    lots = [local.Survey({"stars": STARS, "drink": DRINKS}, "one")(answers) for _ in range(60)]
    assert {len(lot) for lot in lots} == {1}
    assert {next(iter(lot)) for lot in lots} == {"stars", "drink"}  # 60 lots alike: probability 2^-59


def test_every_attribute_has_its_share_of_the_lots_whatever_the_answers():
    """100,000 lots in three: each count is within 1,500 of a third, ten standard deviations."""
    columns = {"a": np.zeros(100_000, dtype=int), "b": np.full(100_000, "tea"), "c": np.full(100_000, "b")}
    found = local.Survey({"a": STARS, "b": DRINKS, "c": WIDE}, "one").arrays(columns)
    asked = np.array([[value is not None for value in column] for column in found.values()])
    assert (asked.sum(axis=0) == 1).all()
    assert np.abs(asked.sum(axis=1) - 100_000 / 3).max() < 1500


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ask", ["all", "one"])
def test_a_survey_is_randomized_and_collected_in_every_engine(engine, ask):
    steep = ib.catalog.randomized_response(ib.category(["tea", "coffee", "water"]), 60)
    survey = local.Survey({"age": STEEP, "drink": steep}, ask)
    private = survey.randomize(table(engine), keep=["row"])
    if engine in ("arrow reader", "duckdb"):
        private = private.read_all()
    elif engine == "polars lazy":
        private = private.collect()
    columns = {
        name: list(private[name].to_pylist() if hasattr(private[name], "to_pylist") else private[name])
        for name in ("age", "drink", "row")
    }
    for age, drink, row in zip(*columns.values(), strict=True):
        assert age is None or age != age or age == row % 7
        assert drink is None or drink != drink or drink == ["tea", "coffee"][row % 2]
    counted = survey.collect(private, shard="week 46")
    sizes = {name: collector.total for name, collector in counted.items()}
    assert sum(sizes.values()) == (1400 if ask == "all" else 700)
    assert counted["age"].shards == {"week 46: age"}
    assert set(survey.collect(private, by="row")["drink"]) <= set(range(700))


def test_a_lazy_filter_never_sees_true_values():
    polars = pytest.importorskip("polars")
    plain = ib.catalog.randomized_response(ib.category(["no", "yes"]), "0.01")
    people = polars.LazyFrame({"ill": ["yes"] * 100 + ["no"] * 4000})
    private = local.Survey({"ill": plain}).randomize(people)
    reports = private.filter(polars.col("ill") == "yes").collect()["ill"].to_list()
    assert set(reports) == {"yes"}
    assert len(reports) > 1500  # of 4100 reports about half, 17 standard deviations below; 100 are true
    single = local.randomize(people, "ill", plain).filter(polars.col("ill") == "yes").collect()["ill"].to_list()
    assert set(single) == {"yes"}
    assert len(single) > 1500


@pytest.mark.parametrize(
    ("make", "error", "subject"),
    [
        (lambda: local.Survey({}), ValueError, "a survey"),
        (lambda: local.Survey({"a": STARS}, "some"), ValueError, "ask"),
        (lambda: local.Survey({"a": "m.json"}), TypeError, "mechanism"),
        (lambda: local.Survey({"a": STARS, "b": DRINKS})({"a": 1}), ValueError, "answers"),
        (lambda: local.Survey({"a": STARS, "b": DRINKS}, "one")({"a": 1, "b": "gin"}), ValueError, "true answers"),
        (lambda: local.Survey({"a": STARS, "b": DRINKS}).arrays({"a": [1], "b": ["tea"] * 2}), ValueError, "columns"),
    ],
)
def test_a_survey_refuses_what_it_cannot_ask(make, error, subject):
    """An answer that is out of range is refused whether its attribute is drawn or not."""
    for _ in range(8):
        with rejects(error, subject):
            make()


# --- planning a survey ------------------------------------------------------------------------------------


def test_a_survey_is_planned_both_ways_within_one_ratio():
    found = local.plan_survey({"score": (0, 20), "drink": ["a", "b", "c"]}, ratio=8, reports=3000, runs=4)
    for ask in ("all", "one"):
        assert found.survey(ask).privacy.worst_ratio() <= 8 * (1 + 1e-14)  # rounded up twice
        assert found.survey(ask).privacy.worst_ratio() == pytest.approx(8, rel=1e-6)
    assert found.better == found.survey().ask
    assert str(found).startswith("any two people within a ratio of 8, all attributes together")
    assert json.dumps(found.to_json())


@pytest.mark.long
def test_lots_are_better_for_labels_and_splitting_for_numbers_with_little_noise():
    labels = local.plan_survey({"x": ["a", "b", "c"], "y": ["a", "b", "c"]}, 1, reports=20_000, runs=6)
    assert labels.better == "one"
    smooth = local.plan_survey({"x": (0, 1), "y": (0, 1)}, 20, reports=2000, runs=10)
    assert smooth.better == "all"


# --- the same person again --------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [STARS, WIDE], ids=["numbers", "labels"])
@pytest.mark.parametrize("schedule", [("1", "1", "1"), ("1", "2", "2"), ("1", "2", "1")], ids=" ".join)
def test_the_statement_of_permanent_reports_is_the_worst_ratio_over_all_courses_of_values(mechanism, schedule):
    """Every course of values, every draw, through the memory itself; exact probabilities."""
    table, periods = law(mechanism), len(set(schedule))
    size = len(table)
    courses = []
    for course in product(range(size), repeat=len(schedule)):
        sent: dict = defaultdict(Fraction)
        for script in product(range(size), repeat=periods):
            memory, draws, chance, reports = ReportMemory("law"), iter(script), Fraction(1), []
            for value, period in zip(course, schedule, strict=True):

                def draw(places, value=value, draws=draws):
                    nonlocal chance
                    assert places == [0]
                    drawn = next(draws)
                    chance *= table[value][drawn]
                    return [drawn]

                reports += memory.recall(period, ["me"], draw)
            assert next(draws, None) is None  # one draw for each period, whatever the values
            sent[tuple(reports)] += chance
        assert sum(sent.values()) == 1
        courses.append(sent)
    stated = local.make_permanent(local.make_randomizer(mechanism), periods=periods).privacy
    assert worst(courses) <= Fraction(stated.worst_ratio())
    assert stated.worst_ratio() == pytest.approx(float(worst(courses)), rel=1e-9)
    assert stated.ldp == pytest.approx(math.log(stated.worst_ratio()))


def test_a_permanent_report_is_drawn_once_for_each_person_and_period(tmp_path):
    path = tmp_path / "reports.json"
    client = local.make_permanent(local.make_randomizer(AGES), path, periods=2)
    people, ages = [f"person {k}" for k in range(300)], np.arange(300) % 101
    first = client(ages, people, period="2026")
    assert client(ages[::-1], people, period="2026").tolist() == first.tolist()
    again = local.make_permanent(local.make_randomizer(AGES), path, periods=2)  # another process, later
    assert again(ages, people, period="2026").tolist() == first.tolist()
    assert again(ages, people, period="2027").tolist() != first.tolist()
    twice = again([1, 2, 3], ["new", "person 0", "new"], period="2026").tolist()
    assert twice[0] == twice[2]
    assert twice[1] == first[0]
    with rejects(ValueError, "period"):
        again(ages, people, period="2028")
    with rejects(ib.PassportError, about="another"):
        local.make_permanent(local.make_randomizer(STARS), path)


AGES = ib.catalog.truncated_geometric(ib.ordinal(0, 100), local.epsilon_for_ratio(2, radius=10))


def test_a_report_is_on_disk_before_it_is_sent(tmp_path, monkeypatch):
    from inbounds.files import Document

    client = local.make_permanent(local.make_randomizer(AGES), tmp_path / "reports.json")
    with monkeypatch.context() as broken:
        broken.setattr(Document, "save", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with rejects(OSError, about="disk"):
            client(37)
        assert client.memory.periods == {}
    report = client(37)
    assert json.loads((tmp_path / "reports.json").read_text())["content"]["periods"] == {"": [[""], [report]]}


def test_one_person_keeps_one_report_whatever_the_value_becomes():
    client = local.make_permanent(local.make_randomizer(AGES))
    assert len({client(value) for value in range(101)}) == 1
    survey = local.make_permanent(local.Survey({"stars": STARS, "drink": DRINKS}, "one"), periods=3)
    sent = {tuple(survey({"stars": k % 3, "drink": "tea"}).items()) for k in range(30)}
    assert len(sent) == 1
    assert survey.privacy.ldp == pytest.approx(3)
    columns = survey({"stars": [0, 1, 2], "drink": ["tea"] * 3}, [1, 2, 3], period="later")
    assert [(s is None) != (d is None) for s, d in zip(columns["stars"], columns["drink"], strict=True)] == [True] * 3


def test_a_permanent_client_refuses_what_it_cannot_keep(golden):
    c = local.make_permanent(local.make_randomizer(AGES))
    golden.errors(
        "wrong_permanent_clients",
        [
            lambda: c([1, 2]),
            lambda: c([1, 2], ["a"]),
            lambda: c([1], [1.5]),
            lambda: c(1, period=2026),
            lambda: c(777),
            lambda: local.make_permanent(AGES),
            lambda: local.make_permanent(c.client, periods=0),
        ],
    )


def test_two_clients_of_one_file_send_one_report_and_keep_one_promise(tmp_path):
    path, client = tmp_path / "reports.json", local.make_randomizer(AGES)
    one, other = (local.make_permanent(client, path) for _ in range(2))
    people = [*range(50)]
    assert one([50] * 50, people).tolist() == other([50] * 50, people).tolist()
    stale = local.make_permanent(client, tmp_path / "new.json", periods=1)
    local.make_permanent(client, tmp_path / "new.json", periods=1)(3, period="2025")
    with rejects(ValueError, "period"):
        stale(3, period="2026")
    for periods in (2, 5):
        with rejects(ValueError, "periods"):
            local.make_permanent(client, path, periods=periods)
    assert pickle.loads(pickle.dumps(one))([50] * 50, people).tolist() == one([1] * 50, people).tolist()
    with rejects(TypeError, about="copied"):
        copy.deepcopy(local.make_permanent(client))


@pytest.mark.parametrize("kept", [True, False], ids=["file", "process"])
def test_threads_that_ask_at_once_get_one_report(tmp_path, kept):
    """Every thread is in the middle of its draw before any may keep it, unless they wait for each other."""
    drawing, own = threading.Barrier(4), itertools.count()

    def draw(places):
        with contextlib.suppress(threading.BrokenBarrierError):
            drawing.wait(0.2)
        return [next(own) for _ in places]

    shared = ReportMemory("law")
    memories = [ReportMemory.at(tmp_path / "reports.json", "law") if kept else shared for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        reports = [*pool.map(lambda memory: memory.recall("", ["me"], draw), memories)]
    assert len({tuple(report) for report in reports}) == 1


@pytest.mark.parametrize("engine", ["list", "numpy", "pandas", "polars", "arrow"])
def test_a_later_value_is_never_looked_at(engine):
    make = {
        "list": list,
        "numpy": lambda values: np.array(values, dtype=object),
        "pandas": lambda values: pytest.importorskip("pandas").Series(values),
        "polars": lambda values: pytest.importorskip("polars").Series(values),
        "arrow": lambda values: pytest.importorskip("pyarrow").array(values),
    }[engine]
    client = local.make_permanent(local.make_randomizer(AGES))
    sent = client(make([5, 6]), ["a", "b"]).tolist()
    assert client(make([None, 777]), ["a", "b"]).tolist() == sent
    assert client(make([None, 7, 777]), ["a", "c", "b"]).tolist()[::2] == sent
    with rejects(ValueError, "true answers" if engine in ("list", "numpy") else "values"):
        client(make([5, None]), ["a", "d"])


def test_a_changed_memory_is_refused(tmp_path):
    from inbounds.files import PERMANENT_REPORTS, Document

    client = local.make_randomizer(AGES)
    law_of = local.make_permanent(client).memory.law
    for periods in ({"": [["a"]]}, {"": [["a"], []]}, {"": [[1.5], [3]]}, {"": 3}):
        path = tmp_path / "m.json"
        Document.wrap(PERMANENT_REPORTS, {"law": law_of, "periods": periods}).save(path)
        with rejects(ib.PassportError, about="malformed"):
            local.make_permanent(client, path)


def test_no_two_surveys_have_one_fingerprint_and_no_two_collectors_one_count():
    from inbounds.local.collector import Collector, fingerprint

    odd = f"a {fingerprint(STARS)}|b"
    assert local.Survey({"a": STARS, "b": STARS}).fingerprint != local.Survey({odd: STARS}).fingerprint
    one = Collector(STARS)
    other = copy.copy(one)
    other.add([0, 1])
    assert (one.total, other.total) == (0, 2)


def test_a_map_of_one_cell_is_refused():
    for metric in ("euclidean", "manhattan"):
        with rejects(ValueError, about="cells"):
            ib.grid(1, 1, metric=metric)


def test_every_attribute_of_a_reader_is_counted():
    pa = pytest.importorskip("pyarrow")
    survey = local.Survey({"a": ib.optimal(ib.count(2), 1), "b": ib.optimal(ib.count(3), 1)})
    table = pa.table({"a": [0, 1, 2, 2], "b": [3, 1, 0, 2]})
    found = survey.collect(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    assert {name: collector.total for name, collector in found.items()} == {"a": 4, "b": 4}

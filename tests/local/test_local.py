"""Local privacy: the client, what it promises, the plan, files, and the command line from plan to distribution."""

import csv
import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import inbounds as ib
from inbounds import local
from inbounds.cli import app
from inbounds.cli import local as _commands  # noqa: F401 - registers its commands
from inbounds.local import files
from inbounds.local.collector import Collector
from inbounds.local.expected_error import channel
from inbounds.local.reconstruct import reconstruct
from raising import rejects

LN2 = ib.epsilon_from_alpha("1/2")
AGES = ib.catalog.truncated_geometric(ib.ordinal(0, 100), local.epsilon_for_ratio(2, radius=10))
DRINKS = ib.catalog.randomized_response(ib.category(["tea", "coffee", "water"]), 1)


# --- clients ----------------------------------------------------------------------------------------------


def test_reports_have_the_shape_and_kind_of_the_values():
    client = local.make_randomizer(AGES)
    assert type(client(37)) is int
    assert client([37, 99]).dtype == np.int64
    assert client(np.zeros((3, 4), dtype=np.int32)).shape == (3, 4)
    assert client(np.array([], dtype=np.int64)).shape == (0,)
    assert type(local.make_randomizer(DRINKS)("tea")) is str
    assert set(local.make_randomizer(DRINKS)(["tea", "water"] * 50)) <= {"tea", "coffee", "water"}
    tenths = local.make_randomizer(ib.catalog.truncated_geometric(ib.mean(10, 0, 1), 1))
    assert type(tenths(0.3)) is float


def test_reports_follow_the_law_of_the_mechanism():
    """Chi-square with 3 cells against exact probabilities; 30 is exceeded twice with probability 1e-13."""
    client = local.make_randomizer(DRINKS)
    for _ in range(2):
        seen = Counter(client(["coffee"] * 30_000))
        expected = 30_000 * DRINKS.matrix[:, 1]
        distance = sum((seen[label] - e) ** 2 / e for label, e in zip(DRINKS.query.labels, expected, strict=True))
        if distance < 30:
            return
    pytest.fail(f"chi-square {distance}")


def test_each_call_draws_anew():
    client = local.make_randomizer(AGES)
    assert not np.array_equal(client(np.full(200, 50)), client(np.full(200, 50)))


def test_values_outside_are_refused_without_being_repeated_or_clamped_when_asked():
    strict, lenient = local.make_randomizer(AGES), local.make_randomizer(AGES, outside="clamp")
    for values in ([7654321], [-7654321, 3], [math.nan], 7654321.5):
        with rejects(ValueError, about="answers") as caught:
            strict(values)
        assert "7654321" not in str(caught.value)
    assert set(lenient(np.array([7654321, -5], dtype=np.int64))) <= set(range(101))
    assert set(lenient(np.array([250, 3], dtype=np.uint8))) <= set(range(101))
    assert 0 <= lenient(1e300) <= 100
    with rejects(ValueError, about="answers"):
        lenient([math.nan])
    with rejects(ValueError, about="declared"):
        local.make_randomizer(DRINKS)(["gin"])


def test_clamping_moves_a_value_to_the_nearer_end_before_the_noise():
    steep = ib.catalog.truncated_geometric(ib.ordinal(10, 20), 60)
    client = local.make_randomizer(steep, outside="clamp")
    assert client([5, 10, 17, 400]).tolist() == [10, 10, 17, 20]


def test_a_client_is_validated_when_made(golden):
    def make(arguments):
        local.make_randomizer(*arguments)

    golden.errors(
        "wrong_clients",
        [
            lambda: make(("m.json",)),
            lambda: make((AGES, "drop")),
            lambda: make((DRINKS, "clamp")),
        ],
    )


# --- the statement ----------------------------------------------------------------------------------------


def brute_ratio(mechanism, radius) -> float:
    """From the definition: every report, every pair of values within the radius."""
    answers = list(mechanism.query.answers)
    rows = [[int(w) for w in row] for row in mechanism.weights]
    pairs = [(j, k) for j, a in enumerate(answers) for k, b in enumerate(answers) if j != k and abs(a - b) <= radius]
    return max((row[j] / row[k] for row in rows for j, k in pairs), default=1.0)


@pytest.mark.parametrize(
    "mechanism",
    [
        ib.catalog.truncated_geometric(ib.ordinal(0, 12), Fraction(1, 3)),
        ib.catalog.truncated_geometric(ib.ordinal(-5, 5, unit=2), 1),
        ib.catalog.randomized_response(ib.ordinal(0, 8), 1),
        ib.catalog.explicit_fair(ib.count(9), Fraction(1, 2)),
        ib.catalog.truncated_geometric(ib.mean(4, 0, 2), 1),
        ib.catalog.truncated_geometric(ib.interval(0, 12, 1, 12, holes=[(3, 7)]), 1),
    ],
    ids=lambda m: f"{m.origin} {m.query.kind}",
)
def test_the_ratio_at_every_radius_is_that_of_the_definition(mechanism):
    statement, span = local.local_guarantee(mechanism), mechanism.query.answers.span
    radii = [mechanism.query.answers.unit * k for k in range(1, int(span / mechanism.query.answers.unit) + 1)]
    found = [statement.ratio(radius) for radius in radii]
    defined = [brute_ratio(mechanism, radius) for radius in radii]
    if mechanism.query.cuts:  # values at the edges of a hole lie one step further apart than they are
        beyond = [*defined[1:], brute_ratio(mechanism, span)]
        assert all(
            low * (1 - 1e-12) <= f <= high * (1 + 1e-12) for low, f, high in zip(defined, found, beyond, strict=True)
        )
    else:
        assert found == pytest.approx(defined, rel=1e-12)
    assert all(a <= b for a, b in pairwise(found))
    assert statement.worst_ratio() == pytest.approx(brute_ratio(mechanism, span), rel=1e-12)
    assert statement.ldp == pytest.approx(math.log(statement.worst_ratio()))


def test_001_ratio_2_within_radius_10_is_epsilon_ln2_over_10():
    assert float(local.epsilon_for_ratio(2, radius=10)) == pytest.approx(math.log(2) / 10, rel=1e-15)
    statement = local.local_guarantee(AGES)
    assert statement.notion == "epsilon·d"
    assert statement.ratio(10) <= 2
    assert statement.ratio(10) == pytest.approx(2, rel=1e-12)
    assert statement.ratio(11) > 2
    assert statement.radius(2) == 10
    assert statement.worst_ratio() == pytest.approx(2**10, rel=1e-9)
    assert statement.per_unit == pytest.approx(math.log(2) / 10, rel=1e-12)


def test_randomized_response_keeps_one_ratio_over_the_whole_domain():
    for query in (ib.extreme(0, 100), ib.ordinal(0, 100)):
        statement = local.local_guarantee(ib.catalog.randomized_response(query, local.epsilon_for_ratio(2)))
        assert statement.ldp == pytest.approx(math.log(2), rel=1e-12)
        assert statement.radius(2) == 100
        assert statement.ratio(1) == statement.worst_ratio() <= 2
    labels = local.local_guarantee(DRINKS)
    assert (labels.notion, labels.per_unit) == ("epsilon-LDP", None)
    assert labels.ldp == pytest.approx(1)
    with rejects(ValueError, "labels"):
        labels.ratio(1)


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 40), st.sampled_from(["1/50", "1/3", "2"]), st.data())
def test_the_statement_of_a_noise_table_is_that_of_its_matrix(size, epsilon, data):
    from inbounds.mechanism import Mechanism, Origin
    from inbounds.mechanism.laws import Matrix
    from inbounds.mechanism.laws.noise import make_geometric_noise

    query = ib.ordinal(0, size)
    law = make_geometric_noise(query, Fraction(epsilon))
    compact = Mechanism(query, Fraction(epsilon), law, Origin("noise"))
    written = Mechanism(query, Fraction(epsilon), Matrix(law.matrix(query)), Origin("matrix"))
    radius = data.draw(st.integers(1, size))
    assert local.local_guarantee(compact).ratio(radius) == pytest.approx(
        local.local_guarantee(written).ratio(radius), rel=1e-12
    )
    assert local.local_guarantee(compact).per_unit == pytest.approx(local.local_guarantee(written).per_unit, rel=1e-9)


def test_the_statement_says_which_notion_it_is_in_words():
    first = "any two values: probabilities of any report within a ratio of"
    assert str(local.local_guarantee(AGES)).startswith(
        f"{first} 1024 (6.93147-LDP); values d apart within a ratio of e^(0.0693147·d)"
    )
    assert str(local.local_guarantee(AGES)).endswith("epsilon·d privacy with epsilon 0.0693147 for every 1 of distance")
    assert str(local.local_guarantee(DRINKS)) == f"{first} 2.718 (epsilon-LDP with epsilon 1)"
    assert "values one step apart" in str(local.local_guarantee(ib.catalog.truncated_geometric(ib.count(5), 1)))


def test_a_calibration_that_promises_nothing_is_refused(golden):
    def calibrate(arguments):
        local.epsilon_for_ratio(*arguments)

    golden.errors(
        "wrong_ratios",
        [
            lambda: calibrate((1,)),
            lambda: calibrate((0.5,)),
            lambda: calibrate((2, 0)),
            lambda: calibrate((2, -1)),
            lambda: calibrate((math.nan,)),
        ],
    )


# --- the plan ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["geometric", "randomized_response"])
def test_a_plan_simulates_the_very_mechanism_that_would_run(kind):
    found = local.plan_collection((0, 20), ratio=2, radius=5, reports=100, runs=2)
    model = channel(found.query, found._option(kind))
    rng = np.random.default_rng(0)
    for p in (rng.dirichlet(np.ones(21)), np.eye(21)[3]):
        assert np.allclose(model.forward(p), found.mechanism(kind).matrix @ p, rtol=1e-12)
    statement = local.local_guarantee(found.mechanism(kind))
    assert statement.ratio(5) <= 2
    assert statement.ratio(5) == pytest.approx(2, rel=1e-9)


def test_the_expected_error_is_that_of_real_collections():
    """Fifteen collections by the certified mechanism; means of 15 and 20 runs agree within five standard errors."""
    found = local.plan_collection((0, 30), ratio=2, radius=4, reports=5000)
    mechanism = found.mechanism("geometric")
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(15):
        values = rng.choice(31, size=5000, p=found.truth)
        result = reconstruct(mechanism.simulate(values, rng), mechanism)
        errors.append(ib_distance(result.distribution, found.truth))
    spread = math.hypot(np.std(errors, ddof=1) / math.sqrt(15), found.better.uncertainty)
    assert abs(np.mean(errors) - found.error("geometric")) < 5 * spread


def ib_distance(p, q) -> float:
    return float(np.abs(np.cumsum(p - q)).sum())


def test_more_reports_and_a_larger_ratio_expect_less_error():
    errors = [
        local.plan_collection((0, 50), ratio=2, radius=5, reports=n, runs=8).error("geometric")
        for n in (100, 10_000, 10**6)
    ]
    assert errors == sorted(errors, reverse=True)
    loose, tight = (
        local.plan_collection((0, 50), ratio=r, radius=5, reports=1000, runs=8).error("geometric") for r in (8, 2)
    )
    assert loose < tight


def test_the_better_mechanism_comes_first_and_is_not_always_the_geometric():
    """Within radius 10 of 0..10 the geometric is as flat as randomized response and spreads more mass far away."""
    wide = local.plan_collection((0, 100), ratio=2, radius=10, reports=10_000, runs=5)
    assert wide.better.mechanism == "geometric"
    assert wide.options[0].error <= wide.options[1].error
    four = np.zeros(11)
    four[[0, 10]] = 0.5
    narrow = local.plan_collection((0, 10), ratio=20, radius=10, reports=100_000, truth=four, runs=5)
    assert narrow.better.mechanism == "randomized_response"


def test_the_number_of_reports_needed_brings_the_error_down_to_what_was_wanted():
    found = local.plan_collection((0, 20), ratio=3, radius=4, reports=1000, runs=6)
    for wanted in (found.error("geometric") / 3, found.error("geometric") * 2):
        needed = found.reports_needed(wanted, "geometric")
        at, before = (
            local.plan_collection((0, 20), ratio=3, radius=4, reports=max(1, n), runs=6).error("geometric")
            for n in (needed, int(0.9 * needed))
        )
        assert at <= wanted
        assert before > 0.9 * wanted
    assert found.reports_needed(1000) == 1


def test_epsilon_and_ratio_are_two_ways_to_say_the_same():
    one = local.plan_collection((0, 20), LN2 / 4, radius=4, reports=1000, runs=3)
    other = local.plan_collection(ib.ordinal(0, 20), ratio=2, radius=4, reports=1000, runs=3)
    assert one.error("geometric") == pytest.approx(other.error("geometric"))
    assert one.error("randomized_response") == pytest.approx(other.error("randomized_response"))


@pytest.mark.slow
def test_a_plan_over_a_hundred_thousand_answers_needs_no_matrix():
    found = local.plan_collection((0, 100_000), ratio=2, radius=1000, reports=10_000, runs=2)
    assert found.better.mechanism == "geometric"
    assert found.better.error < 1000


def test_a_plan_refuses_what_it_cannot_answer(golden):
    def plan(query, options):
        local.plan_collection(query, **options)

    golden.errors(
        "wrong_collections",
        [
            lambda: plan((0, 10), {"reports": 10}),
            lambda: plan((0, 10), {"reports": 10, "ratio": 2, "epsilon": 1}),
            lambda: plan((0, 10), {"reports": 0, "ratio": 2}),
            lambda: plan((0, 10), {"reports": 10, "ratio": 2, "radius": 11}),
            lambda: plan((0, 10), {"reports": 10, "ratio": 1}),
            lambda: plan((0, 10), {"reports": 10, "ratio": 2, "runs": 1}),
            lambda: plan((0, 10), {"reports": 10, "ratio": 2, "truth": [1, 2]}),
            lambda: plan((0, 10), {"reports": 10, "ratio": 2, "truth": [-1.0] * 11}),
            lambda: plan(ib.interval(0, 9, 1, 9, holes=[(3, 6)]), {"reports": 10, "ratio": 2}),
            lambda: plan(["a", "b"], {"reports": 10, "ratio": 2, "radius": 1}),
            lambda: plan(7, {"reports": 10, "ratio": 2}),
        ],
    )


def test_a_plan_refuses_errors_that_no_collection_reaches():
    found = local.plan_collection((0, 3), ratio=2, reports=100, runs=2)
    with rejects(ValueError, "error"):
        found.reports_needed(0)
    with rejects(ValueError, "error"):
        found.reports_needed("1e-9", "randomized_response")
    with rejects(ValueError, "mechanism"):
        found.error("laplace")


# --- files and the command line ---------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["name", "age", "drink"])
        lines.writerows([f"person {k}, esq.", 20 + k % 60, ["tea", "coffee"][k % 2]] for k in range(300))
    return path


def run(*words, code=0):
    result = CliRunner().invoke(app, ["local", *map(str, words)])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output if code == 0 else str(result.exception)


def test_plan_randomize_and_reconstruct_follow_each_other_on_the_command_line(people, tmp_path):
    passport, reports, ages = tmp_path / "m.json", tmp_path / "reports.csv", tmp_path / "ages.csv"
    planned = run("plan", "--low", 0, "--high", 100, "--ratio", 2, "--radius", 10, "--reports", 300, "--out", passport)
    assert "geometric" in planned
    assert "epsilon·d privacy" in " ".join(planned.split())
    assert "wrote 300 reports" in run("randomize", people, "--column", "age", "-m", passport, "--out", reports)
    written = list(csv.DictReader(reports.read_text().splitlines()))
    assert len(written) == 300
    assert set(written[0]) == {"age"}
    assert all(0 <= int(row["age"]) <= 100 for row in written)
    words = ("--column", "age", "-m", passport, "--out", ages, "--method", "ibu", "--json")
    found = json.loads(run("reconstruct", reports, *words))
    assert found["reports"] == 300
    assert found["residual"] <= 1e-9
    assert sum(found["distribution"].values()) == pytest.approx(1)
    saved = [float(row["probability"]) for row in csv.DictReader(ages.read_text().splitlines())]
    assert saved == list(found["distribution"].values())
    shown = run("reconstruct", reports, "--column", "age", "-m", passport, "--iterations", 50)
    assert "50 steps" in shown


def test_the_plan_as_json_names_the_reports_needed():
    words = ("--low", 0, "--high", 20, "--epsilon", "1/2", "--reports", 1000, "--error", 1, "--json")
    found = json.loads(run("plan", *words))
    assert found["better"] in ("geometric", "randomized_response")
    assert {option["mechanism"] for option in found["options"]} == {"geometric", "randomized_response"}
    assert found["reports_needed"] >= 1


def test_the_plan_says_that_the_two_promises_differ_at_the_ends_of_the_range():
    words = ("--low", 0, "--high", 100, "--ratio", 2, "--radius", 10, "--reports", 500)
    said = " ".join(run("plan", *words).split())
    for part in ("0.06931 per unit", "0.6931 for any two", "1024", "the promises differ"):
        assert part in said
    assert said.index("ratio between") < said.index("mechanism")
    for option in json.loads(run("plan", *words, "--json"))["options"]:
        made = local.plan_collection((0, 100), ratio=2, radius=10, reports=500, runs=2).mechanism(option["mechanism"])
        assert option["worst_ratio"] == pytest.approx(local.local_guarantee(made).worst_ratio(), rel=1e-9)


def test_a_worst_ratio_beyond_floats_is_said_as_a_power():
    found = local.plan_collection((0, 1000), 1, radius=1, reports=10, runs=2)
    (option,) = (o for o in found.options if o.mechanism == "geometric")
    assert option.format_ratio == "e^1000"
    assert option.worst_ratio == math.inf


@pytest.mark.parametrize("level", [{"ratio": 20}, {"epsilon": "2.995"}], ids=["ratio", "epsilon"])
def test_without_a_radius_every_law_of_a_plan_keeps_the_ratio_between_any_two_answers(level):
    for query in ((0, 40), ["a", "b", "c"], ib.ordinal(0, 6, unit=2)):
        found = local.plan_collection(query, reports=200, runs=2, **level)
        for option in found.options:
            statement = local.local_guarantee(found.mechanism(option.mechanism))
            assert statement.worst_ratio() <= 20
            assert statement.worst_ratio() == pytest.approx(option.worst_ratio, rel=1e-3)
            assert str(option).startswith("any two answers within a ratio of")
        assert found.note.startswith("All keep the same ratio between any two answers.")


def test_labels_are_planned_by_the_differences_of_their_shares():
    """Against collections by the certified mechanism: means of 20 runs each agree within five standard errors."""
    found = local.plan_collection(["a", "b", "c", "d"], ratio=3, reports=2000)
    assert found.truth.tolist() == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25])
    mechanism, rng, errors = found.mechanism(), np.random.default_rng(2), []
    for _ in range(20):
        reports = mechanism.simulate(rng.choice(list("abcd"), size=2000, p=found.truth), rng)
        errors.append(np.abs(reconstruct(reports, mechanism).distribution - found.truth).sum())
    spread = math.hypot(np.std(errors, ddof=1) / math.sqrt(20), found.better.uncertainty)
    assert abs(np.mean(errors) - found.better.error) < 5 * spread
    assert found.reports_needed(found.better.error / 2) == pytest.approx(4 * 2000, rel=0.5)


def test_many_labels_are_planned_with_sets_and_the_plan_says_why():
    found = local.plan_collection(ib.category(40), ratio=3, reports=5000, runs=4)
    assert found.better.mechanism in ("subset_selection", "projective_response")
    assert found.better.error < found.error("randomized_response")
    assert "times that for randomized_response" in found.note
    assert local.local_guarantee(found.mechanism()).worst_ratio() <= 3


def test_labels_are_planned_on_the_command_line():
    said = " ".join(run("plan", "--labels", "tea, coffee,water", "--ratio", 3, "--reports", 500).split())
    assert said.index("ratio between") < said.index("mechanism")
    for part in (
        "one of 3 labels",
        "same ratio between any two answers",
        "randomized response",
        "sum of the differences",
    ):
        assert part in said
    assert "a plan needs --low and --high for values, or --labels" in run("plan", "--ratio", 3, "--reports", 5, code=1)


def test_reports_are_not_written_over_others_unless_asked(people, tmp_path):
    """The refusal comes before anything is read: neither the values nor the mechanism need to be there."""
    AGES.save(tmp_path / "m.json")
    reports = tmp_path / "reports.csv"
    reports.write_text("age\n1\n")
    words = [sys.executable, "-m", "inbounds", "local", "randomize", "--column", "age", "--out", str(reports)]
    done = subprocess.run([*words, "gone.csv", "-m", "gone.json"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "output must not exist yet" in " ".join(done.stderr.split())
    assert "spends its epsilon on top of the first" in " ".join(done.stderr.split())
    assert reports.read_text() == "age\n1\n"
    run("randomize", people, "--column", "age", "-m", tmp_path / "m.json", "--out", reports, "--overwrite")
    assert len(reports.read_text().split()) == 301


def test_a_maximum_about_numbers_comes_with_a_hint_and_an_early_stop_does_not(tmp_path):
    AGES.save(tmp_path / "m.json")
    rng = np.random.default_rng(1)
    few = AGES.simulate(rng.integers(0, 101, 300), rng)
    (tmp_path / "r.csv").write_text("\n".join(["age", *map(str, few)]))
    words = ("reconstruct", tmp_path / "r.csv", "--column", "age", "-m", tmp_path / "m.json")
    maximum = (*words, "--method", "ibu")
    assert "--method held-out" in " ".join(run(*maximum).split())
    assert "--method held-out" in json.loads(run(*maximum, "--json"))["hint"]
    assert json.loads(run(*words, "--json"))["hint"] is None
    assert "spiky" not in run(*words, "--iterations", 500)
    assert json.loads(run(*words, "--method", "least-squares", "--json"))["hint"] is None


@pytest.mark.parametrize("reports", [300, 3000, 20_000])
def test_what_the_hint_suggests_is_smoother_and_nearer_to_smooth_values(reports):
    rng = np.random.default_rng(1)
    seen = AGES.simulate(rng.integers(0, 101, reports), rng)
    greatest, early = (
        reconstruct(seen, AGES, given="reports", method=method).distribution for method in ("ibu", "held-out")
    )
    assert np.abs(np.diff(early)).sum() < np.abs(np.diff(greatest)).sum()
    assert ib_distance(early, np.ones(101) / 101) < ib_distance(greatest, np.ones(101) / 101)


def test_many_labels_are_shown_by_their_shares_and_never_put_together_like_numbers(tmp_path):
    names = [f"label {k}" for k in range(40)]
    many = ib.catalog.randomized_response(ib.category(names), 6)
    many.save(tmp_path / "m.json")
    (tmp_path / "r.csv").write_text("\n".join(["x", *["label 31"] * 50, *["label 7"] * 30]))
    shown = run("reconstruct", tmp_path / "r.csv", "--column", "x", "-m", tmp_path / "m.json")
    assert shown.index("label 31") < shown.index("label 7")
    assert "16 others" in shown
    assert ".." not in shown


def test_labels_and_kept_columns_go_through_csv(people, tmp_path):
    DRINKS.save(tmp_path / "m.json")
    reports = tmp_path / "reports.csv"
    words = ("--column", "drink", "-m", tmp_path / "m.json", "--out", reports, "--keep", "name")
    assert json.loads(run("randomize", people, *words, "--json"))["rows"] == 300
    rows = list(csv.DictReader(reports.read_text().splitlines()))
    assert {row["drink"] for row in rows} <= {"tea", "coffee", "water"}
    assert rows[7]["name"] == "person 7, esq."
    assert "water" in run("reconstruct", reports, "--column", "drink", "-m", tmp_path / "m.json")


def test_parquet_files_are_read_and_written_in_batches(people, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(files, "ROWS", 64)
    AGES.save(tmp_path / "m.json")
    reports = tmp_path / "reports.parquet"
    run("randomize", people, "--column", "age", "-m", tmp_path / "m.json", "--out", reports)
    again = tmp_path / "again.parquet"
    run("randomize", reports, "--column", "age", "-m", tmp_path / "m.json", "--out", again)
    found = json.loads(run("reconstruct", again, "--column", "age", "-m", tmp_path / "m.json", "--json"))
    assert found["reports"] == 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--column", "wage"), "column must be one that people.csv has, got 'wage'; does the file begin with a header"),
        (("--column", "name"), "true answers must be numbers"),
        (("--column", "age", "--keep", "height"), "got 'height'"),
        (("--column", "age", "--out", "reports.txt"), "file must end in .csv or .parquet, got 'reports.txt'"),
    ],
)
def test_a_refused_file_leaves_nothing_behind(people, tmp_path, words, message):
    AGES.save(tmp_path / "m.json")
    target = "reports.txt" if "--out" in words else "reports.csv"
    kept = [word for word in words if word not in ("--out", "reports.txt")]
    said = run("randomize", people, *kept, "-m", tmp_path / "m.json", "--out", tmp_path / target, code=1)
    assert message in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "people.csv"]


def test_a_value_beyond_the_range_stops_the_file_unless_clamped(tmp_path):
    (tmp_path / "wide.csv").write_text("age\n5\n7654321\n")
    AGES.save(tmp_path / "m.json")
    words = ("randomize", tmp_path / "wide.csv", "--column", "age", "-m", tmp_path / "m.json", "--out")
    assert "7654321" not in run(*words, tmp_path / "r.csv", code=1)
    assert not (tmp_path / "r.csv").exists()
    run(*words, tmp_path / "r.csv", "--clamp")
    assert len((tmp_path / "r.csv").read_text().split()) == 3


def test_an_empty_file_of_reports_is_refused(tmp_path):
    (tmp_path / "none.csv").write_text("age\n")
    AGES.save(tmp_path / "m.json")
    said = run("reconstruct", tmp_path / "none.csv", "--column", "age", "-m", tmp_path / "m.json", code=1)
    assert "the collection is empty" in said


def test_a_file_without_rows_is_not_randomized(tmp_path):
    (tmp_path / "none.csv").write_text("age\n")
    AGES.save(tmp_path / "m.json")
    words = ("--column", "age", "-m", tmp_path / "m.json", "--out", tmp_path / "r.csv")
    assert "none.csv must have at least one row" in run("randomize", tmp_path / "none.csv", *words, code=1)
    assert not (tmp_path / "r.csv").exists()


def test_local_privacy_is_imported_without_solvers_or_table_engines():
    program = (
        "import sys, inbounds, inbounds.local, inbounds.local.distance; "
        "import inbounds.local.reconstruct, inbounds.local.collector; "
        "print(sorted({'scipy', 'highspy', 'pandas', 'polars', 'pyarrow', 'duckdb', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_row_that_is_too_short_is_refused(tmp_path):
    (tmp_path / "torn.csv").write_text("name,age\na,5\nb\n")
    with rejects(ValueError, "torn.csv"):
        list(files.read(tmp_path / "torn.csv", ["age"]))


@pytest.mark.parametrize(
    ("content", "about"),
    [
        (b"name,age\nsecret,5\nb,6,secret\n", "every column"),
        (b"name,age\nsecret,\xff\n", "UTF-8"),
        (b"name,\xff\nsecret,5\n", "UTF-8"),
        (b"name,age\nsecret," + b"5" * (9 << 20), "4 MiB"),
    ],
)
def test_a_broken_file_is_refused_without_a_word_of_what_it_holds(tmp_path, content, about):
    """Neither in the message nor in the error behind it."""
    (tmp_path / "odd.csv").write_bytes(content)
    with rejects(ValueError, "odd.csv", about=about) as refused:
        list(files.read(tmp_path / "odd.csv", ["age"]))
    assert not any(value in str(refused.value) for value in ("secret", "5", "6"))
    assert refused.value.__context__ is None


def test_every_field_is_read_as_the_text_it_is(tmp_path):
    """No type is guessed and nothing is missing: not 007, not NULL, not an empty field, not a line in quotes."""
    odd = ["007", "NULL", "", "1e3", "true", "2026-01-01", " 5 ", 'a "b"', "two\nlines", "0.1", "é"]
    with (tmp_path / "odd.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([["age", "x", "age"], *([text, "1", "2"] for text in odd)])
    (batch,) = files.read(tmp_path / "odd.csv", ["age", "x"])
    assert batch["age"].tolist() == odd
    assert set(batch["x"].tolist()) == {"1"}


@pytest.mark.parametrize("content", ["age\n5\n\n6\n", "age,name\n5,a\n\n6,b\n"])
def test_an_empty_line_is_an_empty_value_and_never_left_out(tmp_path, content):
    """A person without a report would be known by its absence; the door refuses the empty value of a number."""
    (tmp_path / "gap.csv").write_text(content)
    (batch,) = files.read(tmp_path / "gap.csv", ["age"])
    assert batch["age"].tolist() == ["5", "", "6"]
    with rejects(TypeError, "true answers"):
        local.make_randomizer(ib.catalog.truncated_geometric(ib.ordinal(0, 9), 1)).array(batch["age"])


@pytest.mark.parametrize("content", ["age", "age\n", ""])
def test_a_file_without_rows_has_no_batches_or_no_column(tmp_path, content):
    (tmp_path / "none.csv").write_text(content)
    if content:
        assert [len(batch["age"]) for batch in files.read(tmp_path / "none.csv", ["age"])] == []
    else:
        with rejects(ValueError, "column"):
            list(files.read(tmp_path / "none.csv", ["age"]))


def test_a_large_file_comes_in_batches_that_hold_every_row_in_order(tmp_path):
    rows = 400_000
    (tmp_path / "large.csv").write_text("name,age\n" + "".join(f"person {k},{k}\n" for k in range(rows)))
    batches = [batch["age"] for batch in files.read(tmp_path / "large.csv", ["age"])]
    assert len(batches) > 1
    assert np.concatenate(batches).astype(int).tolist() == list(range(rows))


def test_a_distribution_replaces_only_a_distribution_and_only_when_asked_to(people, tmp_path):
    AGES.save(tmp_path / "m.json")
    words = ("reconstruct", people, "--column", "age", "-m", tmp_path / "m.json", "--out")
    (tmp_path / "mine.csv").write_text("mine\n1\n")
    for overwrite in ([], ["--overwrite"]):
        said = run(*words, tmp_path / "mine.csv", *overwrite, code=1)
        assert "--out must not replace what is no distribution" in said
    run(*words, tmp_path / "ages.csv")
    assert "give another name, or --overwrite" in run(*words, tmp_path / "ages.csv", code=1)
    run(*words, tmp_path / "ages.csv", "--overwrite")
    assert (tmp_path / "mine.csv").read_text() == "mine\n1\n"


def test_collecting_a_file_and_collecting_its_rows_agree(people):
    ages = np.concatenate([batch["age"] for batch in files.read(people, ["age"])]).astype(int)
    assert Collector(AGES).add(ages).total == 300


@pytest.mark.parametrize("words", [["randomize", "--overwrite"], ["reconstruct"]])
def test_the_peoples_own_values_are_never_replaced(tmp_path, words):
    file, passport = tmp_path / "people.csv", tmp_path / "m.json"
    file.write_text("age\n1\n2\n")
    ib.catalog.truncated_geometric(ib.ordinal(0, 9), 1).save(passport)
    (tmp_path / "link.csv").symlink_to(file)
    for target in (file, passport, tmp_path / "link.csv"):
        command = ["local", words[0], str(file), "--column", "age", "-m", str(passport), "--out", str(target)]
        done = CliRunner().invoke(app, [*command, *words[1:]])
        assert str(done.exception).startswith("--out must not be ")
    assert file.read_text() == "age\n1\n2\n"

"""The command line, run as people run it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app, main
from inbounds.mechanism import Mechanism, Origin


@pytest.fixture
def passport(tmp_path: Path) -> Path:
    path = tmp_path / "m.json"
    ib.catalog.explicit_fair(ib.count(5), "0.5").save(path)
    return path


def test_version_is_the_packages_version(started):
    assert started("--version").stdout.strip() == f"inbounds {ib.__version__}"


def test_verify_says_in_words_what_is_proved(inbounds, passport):
    done = inbounds("verify", "--all", str(passport))
    assert done.returncode == 0
    assert "proved" in done.stdout
    assert "each of the 6 columns sums to exactly 1" in done.stdout


def test_verify_prints_json_for_machines(inbounds, passport):
    summary = json.loads(inbounds("verify", str(passport), "--json").stdout)
    assert summary["epsilon"] == "1/2"
    assert summary["law"] == "matrix"


@pytest.mark.parametrize(("old", "new"), [('"epsilon": "1/2"', '"epsilon": "1/3"'), ('"reach": 1', '"reach": 2')])
def test_verify_refuses_a_changed_file_with_exit_code_1_and_no_traceback(inbounds, passport, old, new):
    text = passport.read_text()
    assert old in text
    passport.write_text(text.replace(old, new))
    done = inbounds("verify", str(passport))
    assert done.returncode == 1
    assert "digest" in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_prints_json_for_a_refused_file_too(inbounds, passport):
    passport.write_text(passport.read_text().replace('"reach": 1', '"reach": 2'))
    done = inbounds("verify", str(passport), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["valid"] is False


def test_an_option_that_the_query_does_not_take_is_refused(inbounds):
    done = inbounds("design", "count", "--size", "3", "--low", "0", "--epsilon", "1")
    assert done.returncode == 2
    assert "--low" in done.stderr


def test_holes_are_ranges_that_cannot_occur(inbounds, tmp_path):
    words = [
        "design",
        "interval",
        "--low",
        "0",
        "--high",
        "24",
        "--sensitivity",
        "3",
        "--cells",
        "24",
        "--epsilon",
        "1",
        "--holes",
    ]
    done = inbounds(*words, "8..10, 20..24", "--out", str(tmp_path / "m.json"))
    assert done.returncode == 0
    made = ib.load(tmp_path / "m.json")
    assert made.query == ib.interval(0, 24, 3, 24, holes=[(8, 10), (20, 24)])
    assert "--holes must be ranges such as 8..16" in inbounds(*words, "8-10").stderr
    refused = inbounds("design", "count", "--size", "3", "--epsilon", "1", "--holes", "1..2")
    assert "--holes" in refused.stderr


def test_neighbours_are_pairs_of_answers_or_a_file_of_them(inbounds, tmp_path):
    words = ["design", "ordinal", "--low", "-1", "--high", "2", "--epsilon", "1", "--out", str(tmp_path / "m.json")]
    expected = ib.ordinal(-1, 2, neighbours=[(-1, 0), (0, 1), (1, 2), (-1, 2, "3/2")])
    assert inbounds(*words, "--neighbours", "-1:0, 0:1,1:2, -1:2:3/2").returncode == 0
    assert ib.load(tmp_path / "m.json").query == expected
    for head in ("", "from,to,distance\n"):
        (tmp_path / "pairs.csv").write_text(f"{head}-1,0\n0,1\n\n1, 2,1\n-1,2,1.5\n")
        done = inbounds(*words, "--overwrite", "--neighbours", str(tmp_path / "pairs.csv"))
        assert done.returncode == 0
        assert ib.load(tmp_path / "m.json").query == expected
    assert "--neighbours must be pairs such as" in inbounds(*words, "--overwrite", "--neighbours", "0-1").stderr
    assert "two of the answers" in inbounds(*words, "--overwrite", "--neighbours", "0:3").stderr
    refused = inbounds("compare", "--epsilon", "1", "--neighbours", "0:1")
    assert refused.returncode == 2


def test_a_collection_is_planned_for_declared_neighbours(inbounds, tmp_path):
    words = ["local", "plan", "--low", "0", "--high", "3", "--reports", "200", "--ratio", "9", "--json"]
    line = json.loads(inbounds(*words).stdout)
    star = json.loads(inbounds(*words, "--neighbours", "0:1,0:2,0:3").stdout)
    assert {option["mechanism"] for option in line["options"]} == {"geometric", "randomized_response"}
    assert {option["mechanism"] for option in star["options"]} == {"metric_geometric", "randomized_response"}


def test_a_reader_that_has_seen_enough_is_no_error(passport):
    command = f"set -o pipefail; {sys.executable} -m inbounds verify {passport} | head -1"
    assert subprocess.run(["bash", "-c", command], capture_output=True).returncode == 0


def test_a_missing_file_is_misuse_in_one_sentence(inbounds, tmp_path):
    done = inbounds("verify", str(tmp_path / "none.json"))
    assert done.returncode == 2
    assert "No such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback(started, tmp_path):
    assert "Traceback" in started("--debug", "verify", str(tmp_path / "none.json")).stderr


def test_sample_reads_answers_from_standard_input_and_stays_in_range(started, passport):
    done = started("sample", str(passport), stdin="0\n5\n3\n" * 50)
    reports = [int(line) for line in done.stdout.split()]
    assert len(reports) == 150
    assert set(reports) <= set(range(6))


@pytest.mark.parametrize("answer", ["31337", "2.71", "canary"])
def test_sample_never_repeats_a_bad_true_answer(inbounds, passport, answer):
    done = inbounds("sample", str(passport), answer)
    assert done.returncode == 2
    assert answer not in done.stdout + done.stderr


def test_design_saves_a_mechanism_that_verifies(inbounds, tmp_path):
    path = tmp_path / "m.json"
    request = "design count --size 6 --epsilon 0.5 --property fair,column-monotone --out"
    done = inbounds(*request.split(), str(path))
    assert done.returncode == 0, done.stderr
    mechanism = ib.load(path)
    assert mechanism.properties()["fair"]
    assert mechanism.properties()["column_monotone"]
    assert mechanism.optimality.gap <= 1e-7


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["count", "--epsilon", "1"], "count needs --size"),
        (["mean", "--epsilon", "1", "--size", "5"], "mean needs --low and --high"),
        (["count", "--size", "3", "--epsilon", "0"], "epsilon must be positive"),
        (["count", "--size", "3", "--epsilon", "1", "--property", "nice"], "property must be one of"),
        (["count", "--size", "3", "--epsilon", "1", "--loss", "cubed"], "loss must be one of"),
        (["count", "--size", "3", "--epsilon", "1", "--aim", "median"], "aim must be 'average' or 'worst'"),
        (["sum", "--epsilon", "1"], "query must be count"),
    ],
)
def test_design_explains_bad_requests_in_one_sentence(inbounds, words, reason):
    done = inbounds("design", *words)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_words_of_a_file_are_printed_as_they_are(inbounds, tmp_path):
    """Markup in a claim must not look like the tool's own verdict."""
    claimed = Origin("x", {}, "[bold green]proved[/] by everybody")
    made = ib.catalog.uniform(ib.count(2), 1)
    Mechanism(made.query, made.epsilon, made.law, claimed).save(tmp_path / "m.json")
    assert "[bold green]proved[/] by everybody" in inbounds("verify", "--all", str(tmp_path / "m.json")).stdout


def test_a_page_is_not_written_under_the_name_of_another_format(tmp_path):
    target = tmp_path / "c.pdf"
    done = CliRunner().invoke(app, ["compare", "count", "--size", "2", "--epsilon", "1", "--out", str(target)])
    assert str(done.exception).startswith("--out must end in ")
    assert not target.exists()


def test_too_little_memory_is_said_in_one_sentence(monkeypatch, capsys):
    def starved(words, prog_name):
        raise MemoryError

    monkeypatch.setitem(main.__globals__, "app", starved)
    monkeypatch.setattr("sys.argv", ["inbounds"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert "needs more memory than there is" in capsys.readouterr().err

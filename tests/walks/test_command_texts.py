"""What each command prints, whole: the golden files in tests/texts are read by people before they change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inbounds as ib
from golden import Golden
from reference.package import seeded

pytest.importorskip("ibis", reason="the extra tables is not installed")

SURVEY = "school,answer,score,adult\n" + "".join(
    f"{school},{answer},{score},{adult}\n"
    for school in ("North", "South", "East")
    for answer, score, adult in (("yes", 3, "true"), ("no", 12, "false"), ("yes", "", "true"))
)
ABOUT = ["--by", "school", "--keys", "schools.txt", "--size", "5", "--epsilon", "2"]
TABLE = ["--count", "answer = 'yes'", "--mean", "score", "--low", "0", "--high", "4", "--credible-level", "0.9"]
RECORD = "survey.released.csv.release.json"

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, command: Any) -> Run:
    """`run("verify", file)`: what a command prints, in a folder with a survey; draws follow from the words."""
    (tmp_path / "survey.csv").write_text(SURVEY)
    (tmp_path / "schools.txt").write_text("West\nNorth\nSouth\n")

    def printed(*words: str, code: int = 0) -> str:
        with seeded(" ".join(words)):
            done = command(tmp_path, *words)
        assert done.returncode == code, done.stderr
        return str(done.stdout + done.stderr)

    return printed


# --- mechanisms -------------------------------------------------------------------------------------------


def test_design_and_what_is_said_of_its_file(run: Run, golden: Golden) -> None:
    golden("design", run("design", "count", "--size", "5", "--epsilon", "0.5", "--property", "fair", "--out", "m.json"))
    golden("verify_mechanism", run("verify", "m.json"))
    golden("verify_mechanism_all", run("verify", "m.json", "--all"))
    golden("interpret_mechanism", run("interpret", "m.json"))


def test_two_files_are_verified_in_one_go_and_one_of_them_is_refused(run: Run, golden: Golden, tmp_path: Path) -> None:
    made = ib.catalog.explicit_fair(ib.count(5), "0.5")
    made.save(tmp_path / "good.json")
    (tmp_path / "changed.json").write_text((tmp_path / "good.json").read_text().replace('"1/2"', '"1/3"'))
    golden("verify_several", run("verify", "good.json", "changed.json", code=1))


def test_compare(run: Run, golden: Golden) -> None:
    golden("compare", run("compare", "count", "--size", "4", "--epsilon", "0.5"))


def test_recommend(run: Run, golden: Golden) -> None:
    golden("recommend", run("recommend", "count", "--size", "4", "--epsilon", "0.5", "--property", "fair"))


def test_calibrate(run: Run, golden: Golden) -> None:
    golden("calibrate", run("calibrate", "count", "--size", "8", "--within", "2", "--probability", "0.9"))


def test_compose_and_attack(run: Run, golden: Golden, tmp_path: Path) -> None:
    ib.catalog.truncated_geometric(ib.count(4), "0.5").save(tmp_path / "m.json")
    composed = run("compose", "m.json", "--times", "3", "--delta", "1e-6", "--out", "three.json")
    golden("compose", composed)
    golden("verify_composition", run("verify", "three.json"))
    golden("attack", run("attack", "m.json", "--repeat", "1,2"))


def test_a_chain_of_answers_is_verified(run: Run, golden: Golden, tmp_path: Path) -> None:
    ib.make_chain(ib.count(3), [1, "0.5"]).save(tmp_path / "chain.json")
    golden("verify_chain", run("verify", "chain.json"))


# --- tables -----------------------------------------------------------------------------------------------


def test_a_drafted_plan(run: Run, golden: Golden, tmp_path: Path) -> None:
    golden("init", run("init", "survey.csv"))
    golden("init_plan", (tmp_path / "plan.toml").read_text())


def test_a_dry_run(run: Run, golden: Golden) -> None:
    golden("release_dry_run", run("release", "survey.csv", *ABOUT, *TABLE, "--dry-run"))


def test_a_release_and_what_is_said_of_its_record_and_ledger(run: Run, golden: Golden) -> None:
    golden("release", run("release", "survey.csv", *ABOUT, *TABLE))
    golden("verify_record", run("verify", RECORD))
    golden("interpret_record", run("interpret", RECORD, "2", "--statistic", "count"))
    golden("ledger_show", run("ledger", "show", "inbounds.ledger"))
    golden("ledger_verify", run("ledger", "verify", "inbounds.ledger"))
    golden("verify_ledger", run("verify", "inbounds.ledger"))


# --- local ------------------------------------------------------------------------------------------------


def test_a_local_plan(run: Run, golden: Golden) -> None:
    golden("local_plan", run("local", "plan", "--labels", "tea,coffee,water", "--ratio", "3", "--reports", "1000"))

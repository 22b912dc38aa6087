"""release and init, run as people run them."""

import csv
import datetime
import html.parser
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import inbounds as ib
from inbounds.cli.app import out
from inbounds.plan.write import quote
from inbounds.releases.pipeline import load_plan

DATA = "school,answer,score,adult\n" + "".join(
    f"{school},{answer},{score},{adult}\n"
    for school in ("North", "South", "East")
    for answer, score, adult in (("yes", 3, "true"), ("no", 12, "false"), ("yes", "", "true"))
)
ONE_LINE = ["release", "survey.csv", "--by", "school", "--keys", "schools.txt", "--size", "5", "--epsilon", "1"]
COUNT = ["--count", "answer = 'yes'"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "survey.csv").write_text(DATA)
    (tmp_path / "schools.txt").write_text("West\nNorth\nSouth\n")
    return tmp_path


@pytest.fixture
def inbounds(command):
    """The command line in this process; `test_the_command_runs_by_itself` starts a real one."""
    return command


@pytest.mark.long
def test_the_command_runs_by_itself(folder):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "100"}
    command = [sys.executable, "-m", "inbounds", *ONE_LINE, *COUNT, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    assert json.loads(done.stdout)["output"] == "survey.released.csv"
    assert done.stderr == ""


def test_one_line_releases_a_table_with_its_record_and_report(folder, inbounds):
    done = inbounds(folder, *ONE_LINE, *COUNT, "--credible-level", "0.9", "--report", "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    with open(folder / "survey.released.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["school"] for row in rows] == ["West", "North", "South"]
    assert all(0 <= int(r["count_low"]) <= int(r["count_high"]) <= 5 and 0 <= int(r["count"]) <= 5 for r in rows)
    record = json.loads((folder / "survey.released.csv.release.json").read_text())["content"]
    assert record["epsilon"]["spent"] == "1"
    assert "epsilon 1" in re.sub(r"\s+", " ", done.stdout)
    page = (folder / "report.html").read_text()
    html.parser.HTMLParser().feed(page)
    assert record["plan_sha256"] in page
    assert record["mechanisms"][0]["sha256"] in page
    assert "North" in page
    assert "<script" not in page
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page


def test_a_dry_run_writes_nothing_and_says_what_will_happen(folder, inbounds):
    before = {p.name for p in folder.iterdir()}
    done = inbounds(folder, *ONE_LINE, *COUNT, "--median", "score", "--low", "0", "--high", "4", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in folder.iterdir()} - before == {"cache"}
    said = re.sub(r"\s+", " ", done.stdout)
    for words in ("nothing is read but the schema", "3 groups by school", "epsilon 0.5", "Expected error"):
        assert words in said
    answer = json.loads(inbounds(folder, *ONE_LINE, *COUNT, "--dry-run", "--json").stdout)
    assert answer["expected_error_by_size"]["count"].keys() == {"5"}


@pytest.mark.long
def test_every_one_line_statistic_is_answered(folder, inbounds):
    words = [word for kind in ("mean", "sum", "median", "min", "max") for word in (f"--{kind}", "score")]
    words += ["--low", "0", "--high", "4", "--step", "2", "--histogram", "answer", "--labels", "yes, no"]
    done = inbounds(folder, *ONE_LINE, *words, "--count", "score > 1", "--count", "adult = true", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["account"]) == 8


def test_init_drafts_a_plan_that_runs_once_the_keys_are_filled_in(folder, inbounds):
    assert inbounds(folder, "init", "survey.csv").returncode == 0
    text = (folder / "plan.toml").read_text()
    columns = tomllib.loads(text)["columns"]
    kinds = {name: column["type"] for name, column in columns.items()}
    assert kinds == {"answer": "text", "score": "number", "adult": "text"}
    assert "North" not in text
    refused = inbounds(folder, "release", "plan.toml")
    assert refused.returncode == 2
    assert "plan.toml, line 24: groups.keys must hold at least one group" in re.sub(r"\s+", " ", refused.stderr)
    text = text.replace("keys = []", 'keys = "schools.txt"')
    (folder / "plan.toml").write_text(text)
    refused = inbounds(folder, "release", "plan.toml")  # it would count nobody, and spend epsilon
    assert refused.returncode == 2
    assert "must be completed: '…' in a draft stands for a text of yours" in re.sub(r"\s+", " ", refused.stderr)
    (folder / "plan.toml").write_text(text.replace("'…'", "'yes'"))
    refused = inbounds(folder, "release", "plan.toml")
    assert refused.returncode == 2
    assert "draft must be deleted before a release" in re.sub(r"\s+", " ", refused.stderr)
    (folder / "plan.toml").write_text(text.replace("'…'", "'yes'").replace("draft = true", ""))
    done = inbounds(folder, "release", "plan.toml")
    assert done.returncode == 0, done.stderr
    assert (folder / "plan.released.csv").exists()
    again = inbounds(folder, "init", "survey.csv")
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_init_takes_types_from_the_schema_of_a_file_that_has_one(folder, inbounds):
    table = pa.table({"town": ["x"], "n": [1], "real": [0.5], "yes": [True], "odd name": ["y"]})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    assert inbounds(folder, "init", "t.parquet", "--out", "p.toml", "--json").returncode == 0
    content = tomllib.loads((folder / "p.toml").read_text())
    assert content["groups"]["by"] == ["town"]
    types = {name: column["type"] for name, column in content["columns"].items()}
    assert types == {"n": "number", "real": "number", "yes": "boolean", "odd name": "text"}


def test_init_declares_no_column_that_the_release_would_refuse(folder, inbounds):
    moment = datetime.datetime(2024, 1, 31, 12)
    table = pa.table({"at": [moment], "town": ["x"], "on": [moment.date()], "list": [[1]]})
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    assert inbounds(folder, "init", "t.parquet").returncode == 0
    text = (folder / "plan.toml").read_text()
    content = tomllib.loads(text)
    assert content["columns"] == {"on": {"type": "text"}}
    assert content["statistics"][0]["count"] == "on = '…'"
    assert "# at holds times, or something else that no statistic reads" in text
    text = text.replace("keys = []", 'keys = ["x"]').replace("'…'", "'2024-01-31'")
    (folder / "plan.toml").write_text(text)
    done = inbounds(folder, "release", "plan.toml", "--dry-run")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["plain", 'a "quoted" one', "it's", "back\\slash", "tab\t", "both ' and \""])
def test_drafted_names_survive_toml(name):
    assert tomllib.loads(f"k = {quote(name)}")["k"] == name


def test_keys_and_labels_that_look_like_markup_are_shown_as_they_are(folder, inbounds):
    (folder / "schools.txt").write_text("[red]North\n[/]\n")
    done = inbounds(folder, *ONE_LINE, "--histogram", "answer", "--labels", "[bold]yes,no")
    assert done.returncode == 0, done.stderr
    assert "[red]North" in done.stdout
    assert "[bold]yes" in done.stdout


def test_options_beside_a_plan_file_are_refused(folder, inbounds):
    (folder / "plan.toml").write_text("")
    done = inbounds(folder, "release", "plan.toml", "--epsilon", "1")
    assert done.returncode == 2
    assert "leave out --epsilon" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["release", "survey.csv"], "needs a plan file, or a statistic"),
        ([*ONE_LINE[:-2], *COUNT], "needs --epsilon"),
        ([*ONE_LINE, "--mean", "score"], "--mean needs --low and --high"),
        ([*ONE_LINE, "--histogram", "answer"], "--histogram needs --labels"),
        ([*ONE_LINE, "--count", "answer ~ 'y'"], "not in the language of conditions"),
        (["release", "nothing.toml"], "No such file"),
        ([*ONE_LINE, *COUNT, "--report", "no/such/folder/report.html"], "must be in a folder that can be written to"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_2(folder, inbounds, words, said):
    done = inbounds(folder, *words)
    assert done.returncode == 2
    assert said in re.sub(r"\s+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert not (folder / "survey.released.csv").exists()


def test_the_documented_plan_is_read(folder):
    """The plan in the tutorial is a plan."""
    page = (Path(__file__).parents[2] / "docs" / "plan.md").read_text()
    (toml,) = re.findall(r"```toml title=\"plan.toml\"\n(.*?)```", page, re.DOTALL)
    (folder / "plan.toml").write_text(toml)
    assert len(load_plan(folder / "plan.toml").statistics) >= 3


# --- what newcomers stumble over ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--mean", "score", "--low", "0", "--low", "1", "--high", "4"],
        ["--mean", "score", "--low", "0", "--high", "4", "--high", "5"],
        ["--mean", "score", "--median", "age", "--low", "0", "--high", "4"],
    ],
)
def test_bounds_are_never_applied_to_a_second_column(folder, inbounds, words):
    done = inbounds(folder, *ONE_LINE, *words)
    assert done.returncode == 2
    assert re.search(r"^inbounds: --(low|high) ", done.stderr)
    assert not (folder / "survey.released.csv").exists()


@pytest.mark.parametrize("words", [["--histogram", "adult"], ["--labels", "a,b"]])
def test_labels_are_never_applied_to_a_second_column(folder, inbounds, words):
    done = inbounds(folder, *ONE_LINE, "--histogram", "answer", "--labels", "yes,no", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("inbounds: --labels ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*ONE_LINE, "--count", "answer = yes"], "is it a text? write 'yes' in single quotes"),
        ([*ONE_LINE, "--count", 'not (answer = "yes")'], "is it a text? write 'yes' in single quotes"),
        ([*ONE_LINE, "--count", "score > '12'"], "write 12 without quotes"),
        ([*ONE_LINE, "--count", "answer = 'yes"], "the quotation mark is not closed"),
        (["release", "survey.csv", *COUNT, "--by", "school", "--size", "5", "--epsilon", "1"], "--keys FILE"),
        (["release", "survey.csv", *COUNT, "--epsilon", "1"], "needs --size, the public size of each group, or --max"),
        (["release", "semi.csv", *ONE_LINE[2:], *COUNT], 'one column only; is the delimiter ";"?'),
        (["init", "semi.csv"], "give --delimiter"),
        (["release", "tabs.csv", *ONE_LINE[2:], *COUNT], "name the file .tsv"),
        ([*ONE_LINE, *COUNT, "--low", "0"], "--low describes a column; name it with --sum or --mean or"),
        ([*ONE_LINE, *COUNT, "--labels", "a,b"], "--labels describes a column; name it with --histogram"),
        ([*ONE_LINE, *COUNT, "--size", "-5"], "groups.size must be a whole number of at least 1"),
        ([*ONE_LINE, *COUNT, "--size", "99999999"], "100000000 possible answers, over 67108864; declare smaller"),
        ([*ONE_LINE, *COUNT, "--keys", "head.txt"], "looks like a header line"),
        ([*ONE_LINE, *COUNT, "--out", "head.csv"], "--overwrite"),
    ],
)
def test_errors_name_the_way_out(folder, inbounds, words, said):
    (folder / "semi.csv").write_text(DATA.replace(",", ";"))
    (folder / "tabs.csv").write_text(DATA.replace(",", "\t"))
    (folder / "head.txt").write_text("School\nNorth\n")
    (folder / "head.csv").write_text("School\nNorth\n")
    done = inbounds(folder, *words)
    assert done.returncode == 2
    assert said in re.sub(r"\s+", " ", done.stderr)


def test_a_delimiter_in_one_line_and_in_a_draft_reads_the_same_table(folder, inbounds):
    (folder / "semi.csv").write_text(DATA.replace(",", ";"))
    words = ["release", "semi.csv", "--delimiter", ";", *ONE_LINE[2:], *COUNT]
    assert inbounds(folder, *words).returncode == 0
    assert inbounds(folder, "init", "semi.csv", "--delimiter", ";").returncode == 0
    content = tomllib.loads((folder / "plan.toml").read_text())
    assert content["source"]["delimiter"] == ";"
    assert list(content["columns"]) == ["answer", "score", "adult"]


def test_a_decimal_comma_in_one_line_and_in_a_draft_is_said_in_the_dry_run(folder, inbounds):
    (folder / "semi.csv").write_text(DATA.replace(",", ";"))
    marks = ["--delimiter", ";", "--decimal", ","]
    words = ["release", "semi.csv", *marks, *ONE_LINE[2:], "--mean", "score", "--low", "0", "--high", "4", "--dry-run"]
    said = re.sub(r"\s+", " ", inbounds(folder, *words).stdout)
    assert "text that is no number (4,5 is one, 4.5 and 1.234,5 are not)" in said
    assert inbounds(folder, "init", "semi.csv", *marks).returncode == 0
    assert tomllib.loads((folder / "plan.toml").read_text())["source"]["decimal"] == ","


@pytest.mark.parametrize("words", [["init", "survey.csv"], [*ONE_LINE, *COUNT]])
def test_without_the_engine_every_command_names_the_extra(folder, inbounds, monkeypatch, words):
    monkeypatch.setitem(sys.modules, "ibis", None)
    done = inbounds(folder, *words)
    assert done.returncode == 2
    assert "needs the extra 'tables': pip install 'inbounds[tables]'" in re.sub(r"\s+", " ", done.stderr)


@pytest.mark.parametrize("words", [["--dry-run"], []])
def test_every_reader_is_told_what_a_missing_value_counts_as(folder, inbounds, words):
    mean = ["--mean", "score", "--low", "0", "--high", "4", "--missing", "2"]
    done = inbounds(folder, *ONE_LINE, *mean, *words, "--report", "report.html")
    said = (
        "score: values are moved into 0..4; a record without a value or with text that is no number (4.5 is one, "
        "4,5 is not), and each record short of the size, counts as 2 (missing)"
    )
    assert said in re.sub(r"\s+", " ", done.stdout)
    assert said in (folder / "report.html").read_text()


def test_expected_errors_are_thinned_alike_for_every_statistic_and_that_is_said(folder, inbounds):
    (folder / "sizes.csv").write_text("school,n\n" + "".join(f"S{k},{k}\n" for k in range(2, 32)))
    words = ["release", "survey.csv", *COUNT, "--count", "score > 1", "--by", "school", "--keys", "sizes.csv"]
    done = inbounds(folder, *words, "--size", "n", "--epsilon", "1", "--dry-run", "--report", "report.html")
    assert re.search(r"\d of 30 sizes shown; all are in the record", done.stdout)
    page = (folder / "report.html").read_text()
    assert "20 of 30 sizes shown; all are in the record" in page
    shown = re.findall(r'<th data-label="statistic">([^<]*)</th><td data-label="group size">(\d+)</td>', page)
    sizes = {name: [int(size) for other, size in shown if other == name] for name, _ in shown}
    assert len(sizes) == 2
    first, second = sizes.values()
    assert first == second
    assert (first[0], first[-1], len(first)) == (2, 31, 20)


def test_a_wide_table_is_printed_as_far_as_it_fits(folder, inbounds, monkeypatch):
    monkeypatch.setattr(out, "_width", 60)
    words = [*ONE_LINE, *COUNT, "--histogram", "answer", "--labels", "yes,no,unsure", "--credible-level", "0.9"]
    done = inbounds(folder, *words, "--report", "report.html")
    assert done.returncode == 0, done.stderr
    drawn = [line for line in done.stdout.splitlines() if line.startswith(("┃", "│"))]
    assert max(map(len, drawn)) <= 60
    assert "answer: yes" in drawn[0]
    assert "count_error" not in drawn[0]
    total = 1 + 2 + 2 + 3 + 1 + 6
    assert f"+ {total - (drawn[0].count('┃') - 1)} more columns in the file" in done.stdout
    page = (folder / "report.html").read_text()
    assert page.count("count_error") == 1
    assert "overflow-x:auto" in page


def test_markup_in_a_label_is_shown_on_the_page_and_not_obeyed(folder, inbounds):
    words = [*ONE_LINE, "--histogram", "answer", "--labels", "yes,<b>no</b>&co"]
    done = inbounds(folder, *words, "--report", "report.html")
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text()
    assert "<b>no" not in page
    assert "&lt;b&gt;no&lt;/b&gt;&amp;co" in page


# --- reading what was released -------------------------------------------------------------------------------


def test_a_value_is_read_as_the_terminal_shows_it(folder, inbounds):
    mean = ["--mean", "score", "--low", "0", "--high", "4", "--size", "12"]
    assert inbounds(folder, *ONE_LINE, *mean).returncode == 0
    record = ["interpret", "survey.released.csv.release.json"]
    shown = json.loads(inbounds(folder, *record, "2.833", "--json").stdout)
    assert [round(row["output"], 3) for row in shown] == [2.833]
    assert json.loads(inbounds(folder, *record, repr(shown[0]["output"]), "--json").stdout) == shown
    assert json.loads(inbounds(folder, *record, "3", "--json").stdout)[0]["output"] == 3
    for typed in ("2.8", "2.7", "99", "1e999", "x"):
        refused = inbounds(folder, *record, typed)
        assert refused.returncode == 2
        words = "the nearest are" if typed[-1].isdigit() and "e" not in typed else "output must be a number"
        assert words in re.sub(r"\s+", " ", refused.stderr)


def test_a_cell_of_a_histogram_is_read_by_the_name_of_its_column(folder, inbounds):
    assert inbounds(folder, *ONE_LINE, *COUNT, "--histogram", "answer", "--labels", "yes,no").returncode == 0
    record = ["interpret", "survey.released.csv.release.json", "1", "--statistic"]
    by_name = inbounds(folder, *record, "answer")
    assert by_name.returncode == 0, by_name.stderr
    assert inbounds(folder, *record, "answer: yes").stdout == by_name.stdout
    assert "must be one of count, answer" in re.sub(r"\s+", " ", inbounds(folder, *record, "answer: maybe").stderr)


def test_the_terminal_has_group_sizes_where_the_file_has_them(folder, inbounds):
    (folder / "sizes.csv").write_text("school,n\nNorth,3\nSouth,4\n")
    words = ["release", "survey.csv", *COUNT, "--by", "school", "--keys", "sizes.csv", "--size", "n", "--epsilon", "1"]
    done = inbounds(folder, *words)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("┃")]
    header = (folder / "survey.released.csv").read_text().splitlines()[0]
    assert [name.strip() for name in line.strip("┃").split("┃")] == header.split(",")
    assert header.startswith("school,group_size,count")


def test_the_dry_run_says_that_errors_are_those_of_cells_before_they_add_up(folder, inbounds):
    plan = """
    source.path = "survey.csv"
    groups = { by = ["school"], keys = ["North"], size = 3 }
    columns.answer = { labels = ["yes", "no", "no answer"], other = "no answer" }
    privacy.epsilon = 1
    statistics = [{ histogram = "answer", sum_to_size = true }]
    """
    (folder / "plan.toml").write_text(plan)
    words = "the expected error is that of cells as drawn, before they are made to add up"
    assert words in re.sub(r"\s+", " ", inbounds(folder, "release", "plan.toml", "--dry-run").stdout)


def test_a_published_median_is_read_from_its_record_and_from_its_passport(folder, inbounds):
    (folder / "v.csv").write_text("g,v\n" + "".join(f"a,{k % 5 + 1}\n" for k in range(50)), "utf-8")
    (folder / "keys.csv").write_text("g\na\n", "utf-8")
    words = ["--by", "g", "--keys", "keys.csv", "--size", "50", "--epsilon", "1", "--low", "1", "--high", "5"]
    done = inbounds(folder, "release", "v.csv", "--median", "v", *words)
    assert done.returncode == 0, done.stderr
    read = inbounds(folder, "interpret", "v.released.csv.release.json", "3", "--statistic", "v_median", "--size", "50")
    assert read.returncode == 0, read.stderr
    assert "published 3" in read.stdout
    assert "every value is as likely to be the answer" in " ".join(read.stdout.split())
    ib.design_permute_flip(ib.median(1, 5, size=50), 1).save(folder / "passport.json")
    assert inbounds(folder, "interpret", "passport.json", "3").stdout == read.stdout

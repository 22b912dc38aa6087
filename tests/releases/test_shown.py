"""What is written and printed holds texts that nobody obeys: no spreadsheet, no terminal, no browser."""

import csv
import errno
import json
import os
import re
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.cli.app import OBEYED, escape_controls, main
from inbounds.releases.pipeline import release
from inbounds.releases.verify import load_released_table, record_page
from inbounds.releases.write import escape_formula, unescape_formula

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1+1", "'=1+1", "''=1", "-", "+"]
PLAIN = ["-3", "+3.5", "-1e5", "North", "'North", "a=b", "3-4", ""]
ODD = ["\x1b[31mred", "\x07", "a\x9b2Jb", "\u202eabc", ":smile:", "[bold]x[/]", "a\nb", "\u200b", "\x00"]


def plan(keys):
    return {
        "groups": {"by": ["=g"], "keys": keys, "size": 4},
        "columns": {"c": {"labels": ["=p", "q"]}},
        "statistics": [{"histogram": "c", "name": "@h"}],
        "privacy": {"epsilon": 1},
    }


FRAME = pa.table({"=g": ["A"], "c": ["q"]})


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_begins_like_a_formula_is_written_behind_an_apostrophe(text):
    assert escape_formula(text) == "'" + text


@pytest.mark.parametrize("value", [*PLAIN, -3, -3.5, None])
def test_numbers_and_other_texts_are_written_as_they_are(value):
    assert escape_formula(value) == value


@given(st.text(st.sampled_from("'=+-@\t\r1.e＝a"), max_size=6))
def test_no_two_texts_are_written_alike_and_each_is_found_again(text):
    assert unescape_formula(escape_formula(text)) == text


def test_formulas_among_keys_and_names_are_texts_in_csv_and_html_and_themselves_elsewhere(tmp_path):
    keys = [key for key in [*FORMULAS, *PLAIN] if key.strip()]
    done = release(plan(keys), FRAME, cache=tmp_path / "cache")
    for name in ("o.csv", "o.json", "o.parquet"):
        done.write(tmp_path / name)
        record = tmp_path / f"{name}.release.json"
        assert load_released_table(json.loads(record.read_text("utf-8"))["content"], record).equals(done.table)
    with open(tmp_path / "o.csv", newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert names[:3] == ["'=g", "'@h: =p", "'@h: q"]
    assert [row[0] for row in rows] == [escape_formula(key) for key in keys]
    done.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert not re.search(r"<t[dh][^>]*>\s*[=@]", page)
    assert "&#39;=1+1" in page
    assert record_page(tmp_path / "o.csv.release.json").count("&#39;=1+1") == page.count("&#39;=1+1")


# --- the terminal -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ODD)
def test_no_terminal_is_sent_what_it_would_obey(text):
    from unicodedata import category

    shown = escape_controls(text)
    assert not any(category(letter) in OBEYED for letter in shown)
    assert (shown == text) == (not any(category(letter) in OBEYED for letter in text))


def test_odd_keys_and_names_are_printed_letter_by_letter(command, tmp_path):
    keys = ODD[:-1]
    (tmp_path / "d.csv").write_text("g,c\nA,p\n")
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "d.csv"\n[groups]\nby = ["g"]\nsize = 3\nkeys = ' + json.dumps(keys) + "\n[columns.c]\n"
        'type = "text"\n[privacy]\nepsilon = 1\n[[statistics]]\nname = ":smile:\\u001b[1m[red]"\ncount = "c = \'p\'"\n'
    )
    for words in ([], ["--dry-run"]):
        done = command(tmp_path, "release", "plan.toml", *words)
        assert done.returncode == 0
        assert "\x1b" not in done.stdout
        assert not {letter for key in keys for letter in visible_only_escaped(key)} & set(done.stdout)
        assert ":smile:" in done.stdout
        assert "[red]" in done.stdout
    done = command(tmp_path, "release", "plan.toml", "--overwrite")
    for key in keys:
        assert escape_controls(key) in done.stdout


def visible_only_escaped(key):
    return [letter for letter in key if letter not in escape_controls(key) and letter != "\n"]


def test_errors_are_printed_letter_by_letter_too(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["inbounds", "verify", str(tmp_path / "\x1b[31m:smile:.json")])
    with pytest.raises(SystemExit):
        main()
    told = "".join(capsys.readouterr().err.split())
    assert "\x1b" not in told
    assert r"\x1b[31m:smile:.json" in told


def test_verify_prints_what_a_record_says_letter_by_letter(command, tmp_path):
    release(plan(["A"]), FRAME, output=tmp_path / "\x1b[31mred.csv", cache=tmp_path / "cache")
    done = command(tmp_path, "verify", "\x1b[31mred.csv.release.json")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert r"cells of \x1b[31mred.csv were recomputed" in done.one_line


# --- a full disk --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["table", "report"])
def test_a_full_disk_names_the_file_and_leaves_no_part_of_it(monkeypatch, capsys, tmp_path, command, where):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "d.csv").write_text("c\np\n")
    command(tmp_path, "ledger", "init", "inbounds.ledger", "--people", "others")
    if where == "table":
        monkeypatch.setattr(os, "fsync", full)
    elif not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    words = ["release", "d.csv", "--count", "c = 'p'", "--size", "3", "--epsilon", "1", "--overwrite"]
    done = command(tmp_path, *words, *(["--report", "/dev/full"] if where == "report" else []))
    assert done.returncode == 2
    named = "/dev/full" if where == "report" else "d.released.csv"
    assert done.one_line == f"inbounds: No space left on device: {named}"
    left = {path.name for path in tmp_path.iterdir() if "ledger" not in path.name} - {"cache", "d.csv"}
    assert left == (set() if where == "table" else {"d.released.csv", "d.released.csv.release.json"})

"""The command line as a newcomer reads it: every command explains itself the same way, and its examples are real."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

from checker.released import publish
from inbounds.cli import app, completion


def commands(group=None, name=()):
    """Every command that does something, with the words that call it."""
    group = group or get_command(app)
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*name, word))
        else:
            yield (*name, word), command


COMMANDS = dict(commands())
EXAMPLE = re.compile(r"Example: \[bold\]inbounds (.+?)\[/\]", re.S)


def parameters(command) -> list:
    """Its options and arguments; those for statistics are made when they are asked for."""
    return command.get_params(command.make_context("inbounds", [], resilient_parsing=True))


def options(command) -> set[str]:
    return {name for parameter in parameters(command) for name in parameter.opts + parameter.secondary_opts}


def examples(words) -> list[list[str]]:
    return [shlex.split(found, comments=True) for found in EXAMPLE.findall(COMMANDS[words].help)]


def test_the_commands_are_found():
    assert {("design",), ("verify",), ("sample",), ("release",), ("local", "plan")} <= set(COMMANDS)


def test_help_loads_no_room_that_only_a_command_needs():
    """What --help costs is what it imports: rooms, solvers and engines wait for the command that needs them."""
    asked = (
        "import sys, atexit, inbounds.cli; atexit.register(lambda: print(*sys.modules)); inbounds.cli.app(['--help'])"
    )
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    rooms = (
        "accounting",
        "attack",
        "curator",
        "design.optimal",
        "ledger",
        "local",
        "plan",
        "releases",
        "sideinfo",
        "statistics",
        "studio",
    )
    waiting = {
        *(f"inbounds.{room}" for room in rooms),
        "inbounds.verdict",
        "inbounds_studies",
    }
    waiting |= {"inbounds.report.html", "rich.progress", "scipy", "highspy", "jinja2"}
    waiting |= {"ibis", "duckdb", "pandas", "polars", "pyarrow", "matplotlib", "fastapi", "pydantic", "sqlite3"}
    assert "inbounds.mechanism" in loaded
    assert not waiting.intersection(loaded)


def test_every_command_speaks_json(subtests):
    for words in COMMANDS:
        with subtests.test(command=" ".join(words)):
            assert "--json" in options(COMMANDS[words])


def test_every_option_and_argument_is_explained(subtests):
    for words in COMMANDS:
        with subtests.test(command=" ".join(words)):
            for parameter in parameters(COMMANDS[words]):
                assert parameter.help, parameter.name


def test_every_command_has_an_example_that_parses(subtests):
    """Parsed by the command itself: unknown, missing or misspelt options would raise. Nothing is run."""
    for words in COMMANDS:
        with subtests.test(command=" ".join(words)):
            assert examples(words)
            for given in examples(words):
                assert tuple(given[: len(words)]) == words
                shell = next((k for k, word in enumerate(given) if word in ("<", ">", "|")), len(given))
                COMMANDS[words].make_context("inbounds", given[len(words) : shell])


def test_files_are_written_where_out_says(subtests):
    """One word for where the result goes; a second file, the report of a release or a figure, has its own."""
    for words in COMMANDS:
        with subtests.test(command=" ".join(words)):
            found = options(COMMANDS[words])
            assert not found & {"--output", "--to", "--save", "--html"}
            assert "--out" in found or not found & {"-o", "--overwrite", "--report", "--figure"}
            assert ("--overwrite" in found) == ("--out" in found)


def test_the_first_page_says_what_exit_codes_mean():
    assert "Exit codes: 0" in get_command(app).epilog


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("inbounds de", {"describe", "design"}),
        ("inbounds design ", {"count", "total", "mean", "extreme", "interval", "ordinal", "category"}),
        ("inbounds design count --lo", {"--loss", "--low"}),
        ("inbounds design count --aim ", {"average", "worst"}),
        ("inbounds design count --property row", {"row_honest", "row_monotone"}),
        ("inbounds design count --property fair,sy", {"fair,symmetric"}),
        ("inbounds calibrate count --family trunc", {"truncated_geometric"}),
        ("inbounds local reconstruct r.csv --method le", {"least-squares"}),
        ("inbounds ledger init budget.db --rule ", {"sum", "zcdp"}),
        ("inbounds release survey.csv --cr", {"--credible-level", "--crosstab"}),
        ("inbounds ask http://127.0.0.1 people --me", {"--mean", "--median"}),
        ("inbounds local ", {"plan", "randomize", "reconstruct", "estimate", "test"}),
    ],
)
def test_a_shell_completes_commands_options_and_values(typed, offered, inbounds, monkeypatch):
    for name, value in asked_by_bash(typed).items():
        monkeypatch.setenv(name, value)
    assert set(inbounds().stdout.split()) == offered


def asked_by_bash(typed: str) -> dict[str, str]:
    return {"_INBOUNDS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}


def completed(typed: str) -> set[str]:
    """What bash offers."""
    program = Path(sys.executable).with_name("inbounds")
    done = subprocess.run([program], env={**os.environ, **asked_by_bash(typed)}, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.long
def test_a_shell_completes_the_statistics_and_sizes_of_a_record(tmp_path):
    record = publish(tmp_path).record
    content = json.loads(record.read_text())["content"]
    names = {statistic["name"] for statistic in content["plan"]["statistics"]}
    assert names
    assert completed(f"inbounds interpret {record} --statistic ") == names
    sizes = {str(use["size"]) for use in content["mechanisms"]}
    assert completed(f"inbounds interpret {record} --statistic {names.pop()} --size ") == sizes


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format": "inbounds/release", "content": {"plan": {}}}', '{"format": "another"}']
)
def test_a_shell_is_offered_nothing_from_what_is_no_record(tmp_path, content):
    (tmp_path / "m.json").write_text(content)
    asked = SimpleNamespace(args=[tmp_path / "m.json"])
    assert completion.statistics(asked, "") == completion.sizes(asked, "") == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_names_what_to_type_after_an_option(words):
    """Types of Python (<str>, list[Path], <bool>) mean nothing to the people who type."""
    for parameter in parameters(COMMANDS[words]):
        if parameter.param_type_name == "option":
            assert bool(parameter.metavar) != parameter.is_flag
            assert "<" not in parameter.metavar

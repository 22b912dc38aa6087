"""Every declared statistic is an option of `release` and `ask`, and the list of commands does not need them."""

import json
import subprocess
import sys
from typing import Literal

import pytest
from typer.main import get_command

from inbounds import statistics
from inbounds.cli import app
from inbounds.statistics import STATISTICS, Mean
from raising import rejects

VALUES = {"low": "0", "high": "9", "labels": "a,b"}
FACTS = ["--size", "20", "--epsilon", "20", "--dry-run", "--json"]


PERSONS = ["--max-size" if word == "--size" else word for word in FACTS] + ["--id", "gender"]
"""A person may have several records."""


def example_words(kind: str) -> list[str]:
    """The words of a command for the declared example of a statistic and of its columns."""
    statistic = STATISTICS[kind]
    subject = statistic.model_fields[statistic.subject].examples[0]
    columns = [subject] if isinstance(subject, str) else subject
    must = [field.examples[0] for name, field in statistic.model_fields.items() if field.is_required()][1:]
    words = [f"--{kind.replace('_', '-')}", "@".join([",".join(columns), *must])]
    for column in columns:
        words += [word for name in statistic.needed_options for word in (f"--{name}", f"{column}={VALUES[name]}")]
    return words


@pytest.mark.long
@pytest.mark.parametrize("kind", STATISTICS)
def test_every_statistic_has_an_option_that_makes_a_plan_with_it(tmp_path, command, kind):
    (tmp_path / "t.csv").write_text("age,answer,gender\n1,a,b\n")
    facts = PERSONS if STATISTICS[kind].once else FACTS
    done = command(tmp_path, "release", "t.csv", *example_words(kind), *facts)
    assert done.returncode == 0, done.stderr
    assert {one["kind"] for one in json.loads(done.stdout)["plan"]["statistics"]} == {kind}


@pytest.mark.parametrize("name", ["release", "ask"])
def test_a_statistic_that_is_added_to_the_list_has_an_option(monkeypatch, name):
    class Range(Mean):
        """The largest value minus the least."""

        kind: Literal["range"] = "range"

    monkeypatch.setattr(statistics, "STATISTICS", {**STATISTICS, "range": Range})
    chosen = get_command(app).commands[name]
    context = chosen.make_context("inbounds", ["somewhere", "--range", "age"])
    (option,) = [option for option in chosen.get_params(context) if "--range" in option.opts]
    assert (option.help, option.metavar) == ("The largest value minus the least.", "COLUMN")
    assert context.params["range"] in ("age", ["age"])


def test_columns_have_values_of_their_own(tmp_path, command):
    (tmp_path / "t.csv").write_text("x,y,c\n1,2,a\n")
    words = ["--mean", "x", "--mean", "y", "--low", "x=0", "--low", "y=1", "--high", "x=5", "--high", "y=6"]
    words += ["--histogram", "c", "--labels", "a,b", "--other", "b"]
    done = command(tmp_path, "release", "t.csv", *words, *FACTS)
    assert done.returncode == 0, done.stderr
    columns = json.loads(done.stdout)["plan"]["columns"]
    assert [(columns[name]["low"], columns[name]["high"]) for name in "xy"] == [("0", "5"), ("1", "6")]
    assert (columns["c"]["labels"], columns["c"]["other"]) == (["a", "b"], "b")


@pytest.mark.parametrize("name", ["--id", "--id-column"])
def test_a_person_is_named_as_in_a_plan(tmp_path, command, name):
    (tmp_path / "plan.toml").write_text("")
    done = command(tmp_path, "release", "plan.toml", name, "pupil")
    assert (done.returncode, "--id," in done.stderr) == (2, True)


@pytest.mark.parametrize("name", ["release", "ask"])
def test_without_the_extra_a_command_names_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with rejects(ImportError, about="inbounds[tables]"):
        get_command(app).commands[name].make_context("inbounds", ["somewhere"])


def test_without_the_extra_commands_are_listed():
    program = "import sys; sys.modules |= dict.fromkeys(('pydantic', 'ibis')); from inbounds.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "release" in done.stdout


def test_without_the_extra_a_shell_completes_the_other_options(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    chosen = get_command(app).commands["release"]
    context = chosen.make_context("inbounds", [], resilient_parsing=True)
    names = {name for option in chosen.get_params(context) for name in option.opts}
    assert {"--epsilon", "--labels"} <= names
    assert not {"--count", "--statistics"} & names

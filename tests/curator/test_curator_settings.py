"""curator.toml: what it says is what is served, and what is wrong with it is said with its line."""

import json
import re
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from curator.pupils import declared, write_pupils
from inbounds.cli import app
from inbounds.curator import Curator, ServiceLimits, Settings, load_settings, parse_settings
from inbounds.curator.errors import UnknownResource
from inbounds.schema.errors import PlanError, SourceError
from raising import raises_at, rejects

OPERATE = Path(__file__).parents[2] / "docs" / "operate.md"

SETTINGS = """\
[limits]
tick = 0.05
designs = 0

[datasets.pupils]
edition = "2026-11"
source = { path = "pupils.parquet" }
people = { name = "pupils" }
groups = { by = ["school"], keys = ["north", "south"], max_size = 25 }

[datasets.pupils.columns.likes]
labels = ["yes", "no", "none"]

[datasets.pupils.levels]
public = 0.25
inner = "1/2"
"""


@pytest.fixture
def file(folder: Path) -> Path:
    write_pupils(folder / "pupils.parquet")
    found = folder / "curator.toml"
    found.write_text(SETTINGS)
    return found


def test_a_file_of_settings_is_read_whole(file):
    found = load_settings(file)
    assert (found.limits.tick, found.limits.designs) == (0.05, 0)
    assert found.limits.rate == ServiceLimits().rate
    assert list(found.datasets["pupils"].levels.items()) == [("inner", 1 / 2), ("public", 1 / 4)]
    with Curator(found) as curator:
        curator.check_sources()


def test_the_settings_that_are_documented_are_read(folder):
    """The example of docs/operate.md, with its limits, which are said to be the usual ones."""
    text = re.search(r"```toml\n(# curator.toml\n.*?)```", OPERATE.read_text(), re.DOTALL)
    (folder / "curator.toml").write_text(text[1])
    found = load_settings(folder / "curator.toml")
    assert found.limits == ServiceLimits()
    assert list(found.datasets) == ["survey"]


WRONG = [
    ("tick = 0.05", "tick = -1", ("limits", "tick"), 2),
    ("tick = 0.05", "tack = 1", ("limits", "tack"), 2),
    ('edition = "2026-11"', "", ("datasets", "pupils", "edition"), 5),
    ('people = { name = "pupils" }', "", ("datasets", "pupils", "people", "name"), 5),
    ("designs = 0", "threads = 1.5", ("limits", "threads"), 3),
    ("public = 0.25", 'public = "1/2"', ("datasets", "pupils", "levels"), 14),
]


def test_what_is_wrong_is_said_with_its_place(file, golden):
    said = {}
    for old, new, path, line in WRONG:
        assert old in SETTINGS
        file.write_text(SETTINGS.replace(old, new))
        with raises_at(PlanError, path, line=line) as caught:
            load_settings(file)
        said[f"{old}  →  {new}"] = caught.value
    golden.parts("wrong_settings", said)


def test_a_column_that_the_source_does_not_have_is_said_with_its_line(file):
    file.write_text(SETTINGS.replace("columns.likes", "columns.like"))
    with (
        Curator.open(file) as curator,
        raises_at(SourceError, ("datasets", "pupils", "columns", "like"), line=11),
    ):
        curator.check_sources()


def declared_twice(folder: Path, *budgets: int | None) -> Settings:
    """Two datasets of the pupils, each with a budget of its own, or none."""
    values = declared(folder)
    own = values["datasets"].pop("pupils")
    for name, budget in zip(("one", "two"), budgets, strict=True):
        values["datasets"][name] = {**own, "budget": {} if budget is None else {"epsilon": budget}}
    return parse_settings(values, folder)


@pytest.mark.parametrize("budgets", [(6, 6), (6, None), (None, 6), (None, None)])
def test_two_datasets_of_the_same_people_have_one_budget(folder, budgets):
    """At the first start, when their people are made, and at every later one."""
    write_pupils(folder / "pupils.parquet")
    for _ in range(2):
        with Curator(declared_twice(folder, *budgets)) as curator:
            one, other = (curator.people(dataset) for dataset in curator.settings.datasets.values())
            assert one == other
            assert one.budget == next(filter(None, budgets), None)
            assert curator.budget_conflicts() == []


@pytest.mark.parametrize("budgets", [(6, 7), (7, 6)])
def test_two_datasets_that_declare_different_budgets_of_the_same_people_are_refused(folder, budgets):
    with pytest.raises(PlanError) as refused:
        declared_twice(folder, *budgets)
    assert refused.value.path == ("datasets", "two", "budget")


def test_accounts_are_added_listed_and_revoked_on_the_command_line(file):
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["curator", "account", *words])
        assert done.exit_code == 0, done.output
        return done.output

    token = run("add", str(file), "ana", "--dataset", "pupils=2@inner").removeprefix("token: ").strip()
    with Curator.open(file) as curator:
        grant = curator.account(token).grants["pupils"]
        assert (grant.cap, grant.level) == (2, "inner")
    run("add", str(file), "head", "--owner", "--json")
    listed = json.loads(run("list", str(file), "--json"))["accounts"]
    assert [(one["name"], one["role"]) for one in listed] == [("ana", "analyst"), ("head", "owner")]
    assert "epsilon 0 of 2, level inner" in run("list", str(file))
    run("revoke", str(file), "ana")
    assert "revoked" in run("list", str(file))


def test_an_account_for_an_unknown_dataset_is_refused_with_those_that_are_there(curator):
    with rejects(UnknownResource, "dataset", about="pupils, got 'pupil'"):
        curator.add_account("new", {"pupil": 1})


def test_a_port_that_is_taken_or_none_is_refused_before_a_token_is_made(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port, words in ((taken.getsockname()[1], "must be free to listen at"), (99_999, "between 0 and 65535")):
            done = CliRunner().invoke(
                app, ["curator", "serve", "--demo", "--folder", str(tmp_path / "demo"), "--port", str(port)]
            )
            assert words in str(done.exception)
    assert not (tmp_path / "demo").exists()

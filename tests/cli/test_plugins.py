"""Commands of other packages: listed without importing them, imported when called, harmless when broken."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from inbounds.cli import app

SUMMARY = "A weather report."
WEATHER = """
import typer

weather = typer.Typer()

@weather.command()
def today(place: str) -> None:
    typer.echo(f"rain in {place}")

@weather.command()
def tomorrow() -> None:
    typer.echo("sun")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package with a command where Python finds packages."""
    monkeypatch.syspath_prepend(tmp_path)

    def installed(code: str = WEATHER, name: str = "weather", place: str = "weather_plugin:weather") -> Path:
        (tmp_path / "weather_plugin.py").write_text(code)
        metadata = tmp_path / "weather_plugin-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: weather-plugin\nSummary: {SUMMARY}\n")
        (metadata / "entry_points.txt").write_text(f"[inbounds.commands]\n{name} = {place}\n")
        return tmp_path

    yield installed
    sys.modules.pop("weather_plugin", None)


def run(*words: str):
    return CliRunner().invoke(app, words)


PROGRAM = (sys.executable, "-m", "inbounds")


def call(
    *words: str, path: Path, program: Sequence[str | Path] = PROGRAM, **more: str
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own that finds packages in this folder too."""
    found = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": found, **more}
    return subprocess.run([*program, *words], capture_output=True, text=True, env=environment)


def test_a_command_of_another_package_runs_with_its_arguments(install):
    install()
    assert run("weather", "today", "Lund").output == "rain in Lund\n"
    assert run("weather", "tomorrow").output == "sun\n"
    assert "--place" not in run("weather", "today").output
    assert run("weather", "today").exit_code == 2


def test_the_first_page_lists_a_package_by_its_summary_and_does_not_import_it(install):
    install()
    shown = run("--help")
    assert shown.exit_code == 0
    assert "weather" in shown.output
    assert SUMMARY in shown.output
    assert "weather_plugin" not in sys.modules


def test_our_own_commands_import_no_plugin(install):
    install()
    assert run("design", "count", "--size", "2", "--epsilon", "1").exit_code == 0
    assert "weather_plugin" not in sys.modules


@pytest.mark.parametrize("code", ["import no_such_library", "def (:", "weather = 3"])
def test_a_broken_package_breaks_its_own_command_only(install, inbounds, code):
    install(code)
    assert run("--help").exit_code == 0
    assert run("design", "count", "--size", "2", "--epsilon", "1").exit_code == 0
    refused = inbounds("weather", "today")
    assert refused.returncode == 2
    assert "weather-plugin" in refused.stderr
    assert "Traceback" not in refused.stderr


def complete(typed: str, path: Path) -> tuple[str, str]:
    """What bash offers, and errors."""
    asked = {"_INBOUNDS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = call(path=path, program=[Path(sys.executable).with_name("inbounds")], **asked)
    return done.stdout.strip(), done.stderr


@pytest.mark.long
def test_a_shell_completes_the_commands_of_another_package(install):
    path = install()
    assert complete("inbounds weath", path) == ("weather", "")
    assert complete("inbounds weather to", path) == ("today\ntomorrow", "")


def test_a_shell_that_completes_a_broken_command_is_offered_nothing_and_sees_no_error(install):
    path = install("1 / 0")
    assert complete("inbounds weather to", path) == ("", "")


def test_metadata_that_cannot_be_read_hides_no_command(install):
    path = install()
    (path / "wrong-1.0.dist-info").mkdir()
    (path / "wrong-1.0.dist-info" / "entry_points.txt").write_text("[inbounds.commands]\nno equals sign\n")
    assert "weather" in run("--help").output
    assert run("weather", "tomorrow").output == "sun\n"


def test_a_package_cannot_replace_one_of_our_commands(install):
    install(name="design")
    assert run("design", "today", "Lund").exit_code == 2
    assert "weather_plugin" not in sys.modules


def test_the_studies_are_listed_and_say_how_to_install_them_where_they_are_missing(monkeypatch):
    monkeypatch.setattr("importlib.metadata.distributions", list)
    assert "studies" in run("--help").output
    refused = run("studies", "list").exception
    assert isinstance(refused, ImportError)
    assert "pip install inbounds-studies" in str(refused)

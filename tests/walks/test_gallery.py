"""The notebooks of the gallery run, and show what they showed; the pages made from the code are as the code is."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> ModuleType:
    """A script of docs/, which is no package."""
    place = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


notebooks, commands = script("notebooks"), script("commands")
SLOW = {"budget", "curator"}
"""A server, and a year of charges on disk: what their tutorials run as well."""
NAMES = [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in notebooks.names()]


def texts(outputs: list[dict]) -> list[str]:
    """What is shown as text, line by line; figures are not compared."""
    shown = [output.get("text") or output["data"].get("text/plain", []) for output in outputs]
    return [line.rstrip() for lines in shown for line in lines]


@pytest.mark.pages
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_what_it_showed_where_nothing_is_drawn(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notebook = notebooks.read(name)
    for cell, shown in zip(notebooks.code_cells(notebook), notebooks.executed(notebook, name), strict=True):
        kinds = [sorted(output.get("data", ["text"])) for output in shown]
        assert kinds == [sorted(output.get("data", ["text"])) for output in cell["outputs"]]
        assert notebooks.drawn(cell) or texts(shown) == texts(cell["outputs"])


@pytest.mark.parametrize("name", notebooks.names())
def test_a_notebook_is_short_has_a_picture_and_was_run(name):
    notebook = notebooks.read(name)
    cells = notebooks.code_cells(notebook)
    assert 4 <= len(cells) <= 8
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])
    assert max(len(line) for cell in cells for line in notebooks.source(cell).splitlines()) <= 88


@pytest.mark.parametrize("name", notebooks.names())
def test_the_links_of_a_notebook_lead_to_pages(name):
    words = [notebooks.source(cell) for cell in notebooks.read(name)["cells"] if cell["cell_type"] == "markdown"]
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", "\n".join(words))
    assert links
    assert [link for link in links if not (DOCS / "gallery" / link).resolve().is_file()] == []


def test_the_gallery_lists_every_notebook_and_so_does_the_navigation():
    listed = re.findall(r"\(([\w-]+)\.ipynb\)", (DOCS / "gallery" / "index.md").read_text("utf-8"))
    navigation = re.findall(r"gallery/([\w-]+)\.ipynb$", (DOCS.parent / "mkdocs.yml").read_text("utf-8"), re.M)
    assert listed == navigation
    assert sorted(listed) == notebooks.names()


def test_a_cell_whose_output_changed_is_noticed():
    cell = {"cell_type": "code", "metadata": {}, "source": ["print(1 + 1)"], "outputs": []}
    (shown,) = notebooks.executed({"cells": [cell]}, "two")
    assert texts(shown) == ["2"]
    assert texts(shown) != texts(json.loads(json.dumps(shown).replace("2", "3")))


def test_the_page_of_commands_is_made_from_the_commands():
    assert commands.PAGE.read_text("utf-8") == commands.page()

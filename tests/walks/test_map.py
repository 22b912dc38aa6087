"""The map of the package: what it names exists, and its tables are read at a glance."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

import inbounds

ROOT, PACKAGE = Path(__file__).parents[2], Path(inbounds.__file__).parent
PAGES = {name: (ROOT / "docs" / name).read_text("utf-8") for name in ("architecture.md", "extend.md")}
WIDEST = 80
CODE = re.compile(r"`([^`\n]+)`")

pages = pytest.mark.parametrize("name", PAGES)


@pages
def test_every_file_that_is_named_exists(name):
    paths = {text for text in CODE.findall(PAGES[name]) if re.fullmatch(r"[\w./-]+(/|\.(py|js|toml|yml|v|ml))", text)}
    assert len(paths) > 15
    places = (PACKAGE, ROOT, ROOT / "coq" / "theories", PACKAGE / "report" / "static" / "check")
    assert {path for path in paths if not any((place / path).exists() for place in places)} == set()


@pages
def test_every_module_that_is_named_exists(name):
    rooms = {place.name.removesuffix(".py") for place in PACKAGE.iterdir()}
    dotted = {text for text in CODE.findall(PAGES[name]) if re.fullmatch(r"[a-z_]+(\.\w+)+", text)}
    for text in dotted:
        if text.split(".")[0] in rooms and not text.endswith(".py"):
            assert resolve_name(f"inbounds.{text}") is not None


@pages
def test_no_cell_of_a_table_is_longer_than_a_line(name):
    shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", PAGES[name])  # a link is read as its text
    rows = re.findall(r"^\|(.*)\|$", shown, re.MULTILINE)
    assert len(rows) > 15
    assert [cell for row in rows for cell in row.split("|") if len(cell.strip()) > WIDEST] == []


def test_every_room_is_once_in_the_diagram_and_once_in_the_table():
    rooms = sorted(place.name.removesuffix(".py") for place in PACKAGE.iterdir() if place.name[0] not in "_.")
    rooms.remove("py.typed")
    text = PAGES["architecture.md"]
    (diagram,) = re.findall(r"^## The rooms$.*?```text\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    without_comments = [line[:40] + line[40:].partition("  ")[0] for line in diagram.splitlines()]
    assert sorted(re.findall(r"[a-z_]+", " ".join(without_comments))) == rooms
    rows = re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|", text, re.MULTILINE)
    assert sorted(rows) == rooms

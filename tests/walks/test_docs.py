"""What the pages say can be done: their Python runs, their links lead somewhere.

Blocks of one page run top to bottom in one namespace, in an empty folder. A block that is not meant to run (it needs a
peer library, or a server) has the line `<!-- not run: why -->` before it. A `text` block right after a Python block is
what that block prints; an ellipsis in it stands for anything.
"""

import contextlib
import importlib
import io
import re
import socket
import sys
import textwrap
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import pytest

import inbounds as ib
from envelopes import seal
from inbounds import files
from inbounds.mechanism import load
from inbounds.mechanism import passport as passports
from raising import rejects

ROOT = Path(__file__).parents[2]
FRONT = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md"))
ROOMS = sorted(path.name for path in (ROOT / "src" / "inbounds").iterdir() if (path / "__init__.py").exists())
RUN = [page for page in (FRONT[0], *PAGES) if "studies" not in page.relative_to(ROOT).parts]

FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>`{3,}) *(?P<language>[\w-]*)[^\n`]*\n(?P<body>.*?)^(?P=indent)(?P=ticks) *$", re.M | re.S
)
NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*\Z")
WIDEST = 88
"""Characters of code that fit on a page of the site without a scroll bar, on a window of 1280 pixels."""
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#*)?$", re.M)


@dataclass(frozen=True)
class Block:
    """Python of a page, the line of the page on which it starts, and what the page says that it prints."""

    code: str
    line: int
    prints: str | None = None


def blocks(text: str) -> Iterator[Block]:
    """The Python blocks of a page that are meant to run."""
    for found in FENCE.finditer(text):
        if found["language"] in ("python", "py") and not NOT_RUN.search(text[: found.start()]):
            line = text.count("\n", 0, found.start("body")) + 1
            yield Block(textwrap.dedent(found["body"]), line, _shown_after(text, found.end()))


def _shown_after(text: str, end: int) -> str | None:
    following = FENCE.search(text, end)
    if following is None or following["language"] != "text" or text[end : following.start()].strip():
        return None
    return textwrap.dedent(following["body"])


FEWER = {"docs/published.md": ("size=(100, len(released))", "size=(10, len(released))")}
"""What a page repeats more often, for its reader, than is needed to see that it runs."""


def run(page: Path, text: str) -> None:
    """Execute a page's blocks; a traceback names the page's own lines."""
    if page.is_relative_to(ROOT) and name(page) in FEWER:
        often, seldom = FEWER[name(page)]
        assert often in text
        text = text.replace(often, seldom)
    scope: dict[str, object] = {"__name__": "page"}
    for block in blocks(text):
        padded = "\n" * (block.line - 1) + block.code
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(padded, str(page), "exec"), scope)
        assert block.prints is None or agree(block.prints, printed.getvalue()), printed.getvalue()


def agree(shown: str, printed: str) -> bool:
    """Line by line the same, but for spaces at the ends; an ellipsis stands for anything."""
    shown, printed = (re.sub(r" +$", "", words.strip(), flags=re.M) for words in (shown, printed))
    return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), printed, re.S) is not None


def broken_links(page: Path, text: str) -> list[str]:
    """The relative links of a page that lead to no file, or to no heading of it."""
    prose = FENCE.sub("", text)
    return [link for link in LINK.findall(re.sub(r"`[^`\n]*`", "", prose)) if not _leads(page, link)]


def _leads(page: Path, link: str) -> bool:
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return True  # the network is not asked
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_file() or not target.is_relative_to(ROOT):
        return False
    return not anchor or anchor in anchors(target.read_text("utf-8"))


def anchors(text: str) -> set[str]:
    """The ids of a page's headings, as the site and GitHub make them of plain words."""
    return {_slug(heading) for heading in HEADING.findall(FENCE.sub("", text))}


def _slug(heading: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@contextlib.contextmanager
def demo_curator(folder: Path) -> Iterator[dict[str, str]]:
    """The curator of `inbounds curator serve --demo` at a free port, and the environment that its page speaks of."""
    import uvicorn

    from inbounds.curator.demo import open_demo
    from inbounds.curator.http import app

    curator, tokens = open_demo(folder)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app(curator), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        yield {"URL": url, "TOKEN": tokens["analyst"], "OWNER_TOKEN": tokens["owner"]}
        server.should_exit = True
        thread.join()


@pytest.mark.pages
@pytest.mark.parametrize("page", [page for page in RUN if list(blocks(page.read_text("utf-8")))], ids=name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "INBOUNDS_URL" in page.read_text("utf-8"):
        with demo_curator(tmp_path / "demo") as places:
            for word, value in places.items():
                monkeypatch.setenv(f"INBOUNDS_{word}", value)
            run(page, page.read_text("utf-8"))
        return
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run(page, page.read_text("utf-8"))


def test_every_relative_link_of_a_page_leads_to_a_file_and_a_heading():
    for page in (*FRONT, *PAGES):
        assert broken_links(page, page.read_text("utf-8")) == [], page


def test_few_blocks_are_left_out_and_each_says_why():
    for page in RUN:
        text = page.read_text("utf-8")
        assert text.count("<!-- not run") == len(re.findall(r"<!-- not run: \S.*-->\n+ *```py", text)) <= 3, page


def test_no_line_of_code_is_wider_than_the_page():
    for page in PAGES:
        bodies = [found["body"] for found in FENCE.finditer(page.read_text("utf-8"))]
        assert [line for body in bodies for line in body.splitlines() if len(line) > WIDEST] == [], page


NAME = re.compile(r"`(?:inbounds\.)?((?:{})(?:\.[A-Za-z_]+)+)`".format("|".join(ROOMS)))
FIELDS = {
    "curator.toml",
    "plan.toml",
    "mechanism.loss",
    "mechanism.matrix",
    "query.sensitivity",
    "plan.statistics",
    "query.cuts",
}
"""Names of files and of fields that begin like a room's."""


def missing_names(text: str) -> list[str]:
    """Return the dotted names in backquotes that begin with a room of the package and lead to nothing in it."""
    names = sorted(set(NAME.findall(text)) - FIELDS)
    return [name for name in names if not _resolves(f"inbounds.{name}")]


def _resolves(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_module_that_a_page_names_exists(page):
    assert missing_names(page.read_text("utf-8")) == []


def test_a_module_that_is_gone_is_found():
    assert missing_names("`design.gone.solve`, `trusted.certify.check_matrix` and `trusted.gone`") == [
        "design.gone.solve",
        "trusted.gone",
    ]


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in PAGES}


def test_every_tutorial_has_a_picture():
    listed = (ROOT / "mkdocs.yml").read_text("utf-8").partition("- Tutorials:")[2].partition("- Gallery:")[0]
    tutorials = re.findall(r"[\w-]+\.md", listed)
    assert len(tutorials) > 10
    for page in tutorials:
        assert re.search(r"!\[[^\]]{20,}\]\(images/", (ROOT / "docs" / page).read_text("utf-8")), page


def test_the_auditors_own_checker_agrees_with_the_package():
    """The page's lines and the package's checker share no code; both must know a truth from a lie."""
    text = (ROOT / "docs" / "auditor.md").read_text("utf-8")
    (lines,) = (block.code for block in blocks(text) if "def check" in block.code)
    scope: dict[str, Any] = {}
    exec(lines.partition("\npassport = ")[0], scope)
    queries = [ib.count(9), ib.mean(4, 0, 3), ib.extreme(0, 6), ib.ordinal(0, 9, unit="3/2"), ib.category(["a", "b"])]
    queries += [ib.interval(0, 24, 2, 24, holes=[(8, 16)]), ib.count(9, outputs=4)]
    for query, epsilon in product(queries, ["1/2", ib.epsilon_from_alpha("10/11"), 3]):
        made = ib.catalog.exponential(query, epsilon) if query.is_ordered else ib.catalog.randomized_response(query, 1)
        passport = passports.to_passport(made).to_json()
        assert scope["check"](passport).startswith("private")
        less = str(Fraction(made.tight_epsilon()) * Fraction(999, 1000))
        lie = seal({**passport, "content": {**passport["content"], "epsilon": less}})
        with rejects(ValueError, about="private"):
            scope["check"](lie)
        with rejects(ib.PassportError, about="private"):
            load.PASSPORT.read(files.parse_document(lie))


def test_the_pages_are_found():
    assert {"README.md", "docs/index.md", "docs/theory/outward-fill.md"} <= set(map(name, RUN))


def test_a_block_that_fails_is_reported_at_its_own_line():
    text = "# Title\n\n```python\nx = 1\n```\n\nwords\n\n```python\nassert x == 1\nx / 0\n```\n"
    with pytest.raises(ZeroDivisionError) as failure:
        run(Path("page.md"), text)
    last = failure.traceback[-1]
    assert (str(last.path).endswith("page.md"), last.lineno + 1) == (True, 11)


def test_what_a_page_shows_after_a_block_is_what_the_block_prints():
    shown = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    run(Path("page.md"), shown.format("2"))
    with pytest.raises(AssertionError):
        run(Path("page.md"), shown.format("3"))


def test_an_ellipsis_stands_for_anything_and_words_between_blocks_part_them():
    assert agree("a …\nlast", "a b\nmore\nlast\n")
    assert not agree("a …\nlast", "a b\nmore\n")
    run(Path("page.md"), "```python\nprint(2)\n```\n\nwords\n\n```text\n3\n```\n")


def test_only_python_that_is_meant_to_run_runs():
    text = "```sh\nls\n```\n\n<!-- not run: needs a peer -->\n```python\n1 / 0\n```\n\n```text\nx\n```\n\n"
    text += "- a\n\n  ```python\n  y = 2\n  ```\n"
    assert [block.code for block in blocks(text)] == ["y = 2\n"]


def test_links_to_missing_files_headings_and_places_outside_are_found():
    page = ROOT / "docs" / "index.md"
    text = "[a](proof.md) [b](gone.md) [c](proof.md#the-claim) [d](proof.md#gone) [e](https://x.org) [f](../../x.md)"
    assert broken_links(page, text + "\n\n`[g](code.md)`\n\n```\n[h](block.md)\n```\n") == [
        "gone.md",
        "proof.md#gone",
        "../../x.md",
    ]


def test_what_a_docstring_says_of_arguments_becomes_a_list_and_powers_are_set_as_such(monkeypatch):
    library = dict.fromkeys(("Class", "Extension", "Function", "Object"), object)
    monkeypatch.setitem(sys.modules, "griffe", SimpleNamespace(**library))  # of the site's own extra
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    docstrings = importlib.import_module("docstrings")
    listed = docstrings.listed
    said = "The best. query: what is asked. low, high: its\nends; not: a name. loss: how bad."
    assert listed(said, frozenset({"query", "low", "high", "loss"})).splitlines() == [
        "The best.",
        "",
        "- `query`: what is asked.",
        "- `low`, `high`: its ends; not: a name.",
        "- `loss`: how bad.",
    ]
    assert listed(said, frozenset()) == said
    assert (
        docstrings.raised("Over 2**62, not `2**62`, or 2**-9.")
        == "Over 2<sup>62</sup>, not `2**62`, or 2<sup>-9</sup>."
    )


def test_every_further_page_of_the_reference_is_about_something_that_exists():
    text = (ROOT / "docs" / "hooks" / "reference.py").read_text(encoding="utf-8")
    names = re.findall(r'"([\w.]+)"', text[text.index("MORE = (") : text.index("\n)\n")])
    assert len(names) > 40
    for name in names:
        assert resolve_name(f"inbounds.{name}") is not None

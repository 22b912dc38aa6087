"""Where the project lives is said once; a package says it on an index page, and links that lead nowhere are words."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import inbounds as ib

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REPOSITORY = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
HOSTED = re.compile(r"https?://[\w.-]*(git|codeberg|readthedocs|sr\.ht|pypi)[\w.-]*/[\w./-]*inbounds")
WRITTEN = (".md", ".toml", ".cff", ".yml", ".py", ".txt", ".ipynb", ".html", ".js", ".j2", "")
ELSEWHERE = "https://forge.invalid/people/project"
RELATIVE = re.compile(r"\]\((?!https?://|#)")


@pytest.fixture
def hook(monkeypatch):
    """hatch_build.py, where hatchling need not be installed."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written_files():
    for part in ("src", "docs", "tests", "bench", "examples", "coq"):
        yield from (path for path in (ROOT / part).rglob("*") if path.is_file() and path.suffix in WRITTEN)
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix in WRITTEN)


def test_the_address_of_the_repository_is_written_in_one_place():
    told = {ROOT / "pyproject.toml", ROOT / "CITATION.cff"}
    for path in written_files():
        text = path.read_text("utf-8", errors="replace")
        assert path in told or not HOSTED.search(text), path
        assert path in told or not REPOSITORY or REPOSITORY not in text, path


def test_the_citation_has_the_same_address_and_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^repository-code: (.+)$", text, re.M) == [REPOSITORY] * bool(REPOSITORY)
    assert f"\nversion: {ib.__version__}\n" in text


@pytest.mark.parametrize("repository", ["", ELSEWHERE])
def test_no_link_of_the_readme_is_relative_on_an_index_page(hook, repository):
    readme = (ROOT / "README.md").read_text("utf-8")
    assert RELATIVE.search(readme)
    shown = hook.described(readme, repository, "1.2")
    assert not RELATIVE.search(shown)
    assert shown.startswith("# inbounds\n\n`inbounds` publishes statistics")
    assert ("![" in shown) == bool(repository)
    assert (f"[The proof]({ELSEWHERE}/blob/v1.2/docs/proof.md)" in shown) == bool(repository)
    assert shown.count("```") == readme.count("```")


def test_every_link_of_the_readme_leads_to_a_file():
    readme = (ROOT / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", readme):
        assert (ROOT / target).is_file(), target


def test_all_addresses_follow_from_one(hook):
    assert hook.addresses("") == {}
    assert all(address.startswith(ELSEWHERE) for address in hook.addresses(ELSEWHERE).values())


def test_the_hook_fills_in_what_is_declared_dynamic(hook):
    metadata = {}
    hook.OwnWords.update(SimpleNamespace(root=str(ROOT), config={"repository": ELSEWHERE}), metadata)
    assert set(metadata) == set(SETTINGS["project"]["dynamic"]) - {"version"}
    assert f"/v{ib.__version__}/docs/" in metadata["readme"]["text"]

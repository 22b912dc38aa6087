"""The package as others see it: its names, and what importing it costs."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from pkgutil import resolve_name

import pytest

import inbounds as ib
from inbounds.optional import import_optional
from raising import rejects

HEAVY = (
    *("scipy", "highspy", "matplotlib", "typer", "rich", "flint", "hypothesis", "ibis", "duckdb", "sqlite3"),
    "jinja2",
)


def test_every_public_name_exists_once():
    assert len(set(ib.__all__)) == len(ib.__all__)
    for name in ib.__all__:
        assert getattr(ib, name) is not None
    for name in ib.catalog.__all__:
        assert callable(getattr(ib.catalog, name))


def test_the_names_that_others_rely_on_are_public():
    expected = {
        *("Mechanism", "RangeQuery", "Reach", "AllPairs", "Metric"),
        *("count", "total", "mean", "extreme", "interval", "category", "ordinal", "cells"),
        *("certify", "audit", "load", "epsilon_from_alpha", "threshold_loss", "power_loss", "catalog", "__version__"),
        *("InboundsError", "PrivacyViolation", "InvalidDistribution", "TooLarge", "PassportError", "UnknownVersion"),
    }
    assert expected <= set(ib.__all__)
    named = {
        *("truncated_geometric", "folded_geometric", "explicit_fair", "uniform", "randomized_response"),
        *("exponential", "snapped_laplace", "snapped_staircase", "normalized_laplace", "prerounded_geometric"),
        "refuted_half_line",
    }
    assert named <= set(ib.catalog.__all__)
    methods = "sample simulate weights matrix loss worst_loss exact_loss bayes_loss truth_probability"
    methods += " bias variance properties posterior best_guess remap save tight_epsilon"
    methods += " query epsilon origin optimality sha256"
    made = ib.catalog.uniform(ib.count(2), 1)
    for name in methods.split():
        assert hasattr(made, name)


def test_the_citation_names_this_version():
    cited = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ib.__version__}\n" in cited


def test_star_import_brings_exactly_the_public_names():
    scope: dict[str, object] = {}
    exec("from inbounds import *", scope)
    assert set(scope) - {"__builtins__"} == set(ib.__all__)


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, inbounds; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    source = str(Path(ib.__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not set(HEAVY) & set(found.stdout.split())


def test_the_checker_imports_nothing_that_builds_mechanisms():
    """What has to be trusted stands alone: integers, bounds on exp, and the errors."""
    code = "import sys, inbounds.trusted.certify; print(*sys.modules)"
    source = str(Path(ib.__file__).parents[1])
    stub = "import types; pkg = types.ModuleType('inbounds'); pkg.__path__ = [sys.path[0] + '/inbounds']; "
    stub += "sys.modules['inbounds'] = pkg; "
    found = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r}); {stub}{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    ours = {name for name in found.stdout.split() if name.startswith("inbounds")}
    assert ours == {
        "inbounds",
        "inbounds.trusted.certify",
        "inbounds.errors",
        "inbounds.exact",
        "inbounds.trusted",
        "inbounds.trusted.bounds",
    }


STILL_DOUBLE = {"Column", "Comparison"}
"""Names that tables share with another room."""


@pytest.mark.long
def test_no_two_classes_of_the_package_have_one_name():
    """Whoever searches for a class finds it."""
    places = defaultdict(set)
    for path in (Path(ib.__file__).parent).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(path)
    assert {name for name, paths in places.items() if len(paths) > 1} <= STILL_DOUBLE


def test_nobody_asks_which_kind_of_law_it_is():
    """Both laws answer to the same names; only the rooms that make, check and write them tell them apart."""
    package = Path(ib.__file__).parent
    kinds = re.compile(r"isinstance\([^()]*\b(Matrix|Noise)\b")
    asking = {p.relative_to(package) for p in package.rglob("*.py") if kinds.search(p.read_text(encoding="utf-8"))}
    assert {path.parts[0] for path in asking} <= {"mechanism", "trusted", "files"}


def test_the_map_names_every_room():
    """What stands at the top of the package is on the map of the architecture."""
    package = Path(ib.__file__).parent
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {p.name + "/" if p.is_dir() else p.name for p in package.iterdir() if not p.name.startswith("__")}
    assert {room for room in rooms - {"py.typed"} if f"`{room}`" not in page} == set()


def test_the_architecture_names_modules_that_exist():
    """Every dotted name on the map leads somewhere."""
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {p.name.removesuffix(".py") for p in Path(ib.__file__).parent.iterdir()}
    named = {name for name in re.findall(r"`([a-z_]+(?:\.[a-zA-Z_]+)+)`", page) if name.split(".")[0] in rooms}
    assert len(named) > 20
    for name in named:
        if not name.endswith(".py"):
            assert resolve_name(f"inbounds.{name}") is not None


def test_a_library_that_is_there_and_does_not_load_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise ImportError('wrong symbols')")
    monkeypatch.syspath_prepend(tmp_path)
    with rejects(ImportError, "broken_library", about="wrong symbols"):
        import_optional("broken_library", "tables")
    with rejects(ImportError, "no_such_library", about="inbounds[tables]"):
        import_optional("no_such_library", "tables")

"""The rules of the checker alone: they accept every honest release, refuse every forgery, and import nothing of it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import inbounds.checker
from checker import forgeries
from checker.forgeries import Forgery
from checker.plans import cases
from checker.released import sign
from inbounds.checker.cells import _round_to_sum
from inbounds.checker.plan import RULES

SHARED = {"inbounds.checker", "inbounds.errors", "inbounds.optional", "inbounds.files"}
"""Rooms that the checker may import."""


def test_an_honest_release_passes(original, passing_rules):
    honest = Forgery("honest", sign(original.record), original.table)
    assert passing_rules([honest]) == ["honest"]


def test_a_mechanism_that_promises_less_is_refused(original, passing_rules):
    made = list(forgeries.weaker(original, every=False))
    assert len(made) > 40
    assert passing_rules(made) == []


@pytest.mark.slow
def test_every_mechanism_that_promises_less_is_refused(original, passing_rules):
    assert passing_rules(forgeries.weaker(original, every=True)) == []


def test_every_changed_number_is_refused_that_is_no_estimate(original, passing_rules):
    made = forgeries.changed_cells(original, every=True)
    assert passing_rules(one for one in made if not one.estimate) == []


def test_cells_rows_and_columns_in_another_place_are_refused(original, passing_rules):
    assert passing_rules(one for one in forgeries.moved_cells(original) if not one.estimate) == []


def test_draws_that_do_not_give_the_table_are_refused(original, passing_rules):
    assert passing_rules(forgeries.other_draws(original)) == []


# --- the rules themselves -----------------------------------------------------------------------------------


def test_every_kind_with_a_rule_has_a_case():
    assert {word for case in cases() for statistic in case.plan["statistics"] for word in statistic} >= RULES.keys()


def test_the_checker_imports_nothing_of_what_makes_releases():
    """Neither a module of it, nor anything inside a function."""
    folder = Path(inbounds.checker.__file__).parent
    named = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                named.add(node.module)
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
    ours = {".".join(name.split(".")[:2]) for name in named if name.split(".")[0] == "inbounds"}
    assert ours <= SHARED


def test_no_module_of_the_release_is_loaded_with_the_checker():
    script = (
        "import sys, inbounds.checker; print(*sorted(name for name in sys.modules if name.startswith('inbounds.')))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in run.stdout.split()}
    assert "checker" in rooms
    assert not rooms & {"tables", "ledger", "accounting"}


@pytest.mark.parametrize("total", range(1, 12))
def test_cells_that_sum_to_a_size_are_the_nearest_ones(total):
    """By brute force over all whole cells with that sum: none is nearer in squares."""
    for cells in ([0, 0, 0], [5, 3, 0], [4, 4, 4], [9, 1, 1], [0, 7, 2], [1, 2, 3]):
        found = _round_to_sum(cells, total, public=True)
        assert sum(found) == total
        assert min(found) >= 0
        others = [(a, b, total - a - b) for a in range(total + 1) for b in range(total + 1 - a)]
        far = [sum((x - y) ** 2 for x, y in zip(cells, other, strict=True)) for other in [found, *others]]
        assert far[0] == min(far)

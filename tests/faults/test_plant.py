"""Planted faults are caught: each of them, by the tests that are named for it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from raising import rejects

SPEC = spec_from_file_location("plant", Path(__file__).with_name("plant.py"))
plant = sys.modules["plant"] = module_from_spec(SPEC)
SPEC.loader.exec_module(plant)

TABLES = "tests/releases/test_every_small_table.py"
FAULTS, EQUIVALENTS = plant.listed()


def test_every_fault_still_has_its_place_in_the_package():
    """A line that was moved takes its faults along; one that was rewritten needs them said anew in faults.toml."""
    texts = plant.texts_of(plant.ROOT)
    for fault in (*FAULTS, *EQUIVALENTS):
        assert plant.place_of(fault, texts)
        assert fault.new != fault.old
    names = [fault.name for fault in (*FAULTS, *EQUIVALENTS)]
    assert len(set(names)) == len(names)


def test_every_fault_names_tests_that_exist():
    for fault in FAULTS:
        for name in fault.caught_by.split():
            path, _, test = name.partition("::")
            assert (plant.ROOT / path).exists(), fault.name
            function = test.partition("[")[0]
            assert not function or f"def {function}(" in (plant.ROOT / path).read_text("utf-8"), fault.name


def test_a_fault_whose_expression_is_gone_is_an_error_that_names_it():
    texts = plant.texts_of(plant.ROOT)
    gone = plant.Fault("nowhere", "an expression that stands nowhere", "", "", "")
    with rejects(LookupError, "fault 'nowhere'", about=" 0 "):
        plant.place_of(gone, texts)
    often = plant.Fault("everywhere", "import", "", "", "")
    with rejects(LookupError, "fault 'everywhere'"):
        plant.place_of(often, texts)


@pytest.mark.slow
def test_every_planted_fault_is_caught_by_the_tests_named_for_it():
    left = [reason for _, reason in plant.planted() if reason]
    assert not left, "\n\n".join(left)


@pytest.mark.slow
def test_a_change_that_is_no_fault_survives():
    """A twin that must survive: the same expression with brackets around it fails no test."""
    harmless = plant.Fault("brackets", 'return spent, "all of it', 'return (spent), "all of it', TABLES, "nothing")
    with plant.copied() as root:
        assert "ended with 0" in plant.survives(harmless, root)

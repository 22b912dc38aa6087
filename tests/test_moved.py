"""Import paths of version 0.1: they lead to the same objects for ever, and take no public name away."""

import subprocess
import sys
from importlib import import_module

import pytest

import inbounds as ib
from inbounds._moved import MOVED, SPLIT

DOCUMENTED = {
    "inbounds.adapters": ["opendp_measurement"],
    "inbounds.audit": ["audit"],
    "inbounds.collect": ["Collector"],
    "inbounds.compare": ["compare"],
    "inbounds.distance": ["kantorovich"],
    "inbounds.estimate": ["reconstruct", "Reconstruction"],
    "inbounds.estimate.shapes": ["channel_of"],
    "inbounds.exact": ["exp_below", "exact", "alpha", "weights_near", "TOTAL"],
    "inbounds.release": ["preview", "release", "mechanism", "Plan", "read_plan"],
    "inbounds.release.account": ["account"],
    "inbounds.release.credible": ["intervals"],
    "inbounds.release.expression": ["Condition"],
    "inbounds.release.lines": ["lines_of"],
    "inbounds.release.record": ["read", "record"],
    "inbounds.release.report": ["page"],
    "inbounds.release.together": ["together"],
    "inbounds.release.wishes": ["Wishes"],
    "inbounds.release.words": ["statement"],
    "inbounds.sample": ["entropy", "report"],
    "inbounds.scale": ["Scale", "Cells", "cells"],
    "inbounds.sensitivity": ["median"],
    "inbounds.smooth": ["smooth_release"],
    "inbounds.spelling": ["query_json"],
}


@pytest.mark.parametrize("path", sorted({*DOCUMENTED, *MOVED, *SPLIT}))
def test_an_old_path_still_leads_somewhere(path):
    found = import_module(path)
    for name in DOCUMENTED.get(path, []):
        assert getattr(found, name) is not None


def test_what_a_moved_room_holds_is_not_loaded_twice():
    old, new = import_module("inbounds.release.errors"), import_module("inbounds.tables.errors")
    assert old is new
    assert old.PlanError is ib.tables.PlanError


@pytest.mark.parametrize("path", sorted(MOVED))
def test_an_old_path_and_the_new_one_are_the_same_module(path):
    assert import_module(path) is import_module(MOVED[path])


def test_importing_an_old_path_takes_no_public_name_away():
    """`import inbounds.compare` binds a module in its package; the function of that name must stay."""
    program = (
        "import inbounds as ib, inspect; before = {n: getattr(ib, n) for n in ib.__all__}\n"
        f"for path in {sorted(MOVED)!r}: __import__(path)\n"
        "print([n for n in ib.__all__ if getattr(ib, n) is not before[n]])\n"
        "print(list(inspect.signature(ib.release).parameters)[0])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["[]", "plan"]

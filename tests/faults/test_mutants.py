"""Every small fault in the ledger and the checkers is found by their fast tests; `tests/faults/mutants.py` says how.

Faults that change no verdict are listed there in EQUIVALENT, each with the reason.
"""

import json
import subprocess
import sys

import pytest

from faults.mutants import ROOT, TARGETS, unknown_equivalents

SEEN_BY_NOBODY = """
import json, sys
sys.path.insert(0, "tests")
from faults import mutants
print(json.dumps(mutants.survivors_of("inbounds.ledger.units", ["tests/test_priors.py"])))
"""


def said_by(*words: str) -> "subprocess.CompletedProcess[str]":
    """From a process that has not imported the package."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.parametrize("module", [module for group in TARGETS.values() for module in group])
def test_no_fault_that_changes_a_verdict_survives(module):
    done = said_by("tests/faults/mutants.py", module)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_fault_that_is_said_to_change_nothing_can_be_made():
    assert unknown_equivalents() == set()


@pytest.mark.slow
def test_faults_survive_where_no_test_looks():
    count, survivors = json.loads(said_by("-c", SEEN_BY_NOBODY).stdout)
    assert count == len(survivors) > 10

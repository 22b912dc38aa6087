"""A statistic is added in one file and one entry of the registry: then it is everywhere, and not verifiable yet."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inbounds

PACKAGE, HERE = Path(inbounds.__file__).parent, Path(__file__).parent
REGISTRY = "__init__.py"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each surface of a package shows that has one file and one entry more than this one."""
    place = tmp_path_factory.mktemp("added")
    copy = place / "inbounds"
    copy.mkdir()
    for part in PACKAGE.iterdir():
        if part.name != "statistics":
            (copy / part.name).symlink_to(part)
    shutil.copytree(PACKAGE / "statistics", copy / "statistics")
    shutil.copy(HERE / "added" / "range.py", copy / "statistics")
    registry = copy / "statistics" / REGISTRY
    before = registry.read_text("utf-8")
    after = before.replace("\n\n__all__", "\nfrom inbounds.statistics.range import Range\n\n__all__")
    after = re.sub(r"for statistic in \(", r"\g<0>Range, ", after)
    assert len(after.splitlines()) == len(before.splitlines()) + 1
    registry.write_text(after, "utf-8")
    places = {"PYTHONPATH": os.pathsep.join([str(place), str(HERE.parent)]), "XDG_CACHE_HOME": str(place / "cache")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "surfaces.py"), "range"],
        env={**os.environ, **places},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def ends(name: str) -> list[str]:
    """The columns beside a number: its expected error and its interval."""
    return [f"{name}_{end}" for end in ("error", "low", "high")]


NO_RULE = 'not verifiable yet: this checker has no rule for statistics of the kind "range"'


EXPECTED = {
    "plan_file": ["range", "school", "score_range", *ends("score_range"), NO_RULE],
    "passports": [True],
    "options": ["range", "0", "3"],
    "help_of_ask": True,
    "draft": True,
    "http": [True, 200, ["by", "epsilon", "range"], ["age_range", *ends("age_range")]],
    "studio": [True, True],
    "reference": True,
    "commands": [True, True],
}


@pytest.mark.long
def test_an_added_statistic_is_in_every_surface(shown, subtests):
    assert set(shown) == set(EXPECTED)
    for surface, expected in EXPECTED.items():
        with subtests.test(surface):
            assert shown[surface] == expected


def test_the_trial_was_removed():
    assert "range" not in inbounds.statistics.STATISTICS

"""A release goes through few hands."""

import os
import subprocess
import sys
from pathlib import Path

MOST_FILES = 62
"""Files that one release may walk through, ledger and designer among them, and the file with the words for wrong calls.
Who needs another one joins two others."""


def test_a_release_walks_through_few_files():
    script = Path(__file__).with_name("walk.py")
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert int(run.stdout.splitlines()[-1].removesuffix(" files")) <= MOST_FILES, run.stdout

"""The code of the page for R, where R is."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import inbounds as ib

PACKAGE = Path(ib.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "r.md"
BLOCKS = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_the_page_has_both_ways_and_missing_values():
    assert len(BLOCKS) == 3


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS, ids=["reticulate", "missing values", "command line"])
def test_the_code_runs_under_r(block, tmp_path):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed here: Rscript is not on the path")
    needs = "library(reticulate)" in block
    if needs and subprocess.run([rscript, "-e", "library(reticulate)"], capture_output=True, check=False).returncode:
        pytest.skip("reticulate is not installed in this R")
    (tmp_path / "page.R").write_text(block, encoding="utf-8")
    place = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = {**os.environ, "RETICULATE_PYTHON": sys.executable, "PATH": place, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([rscript, "page.R"], cwd=tmp_path, env=found, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_file_that_the_page_writes_has_empty_fields_for_missing_values():
    written = re.findall(r"write\.csv\(.*\)", PAGE.read_text(encoding="utf-8"))
    assert len(written) == 2
    assert all('na = ""' in one for one in written)

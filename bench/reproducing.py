"""The five papers from the command line: every study in its quick form, drawing included, and the longest in full."""

import json
import subprocess
import sys
import tempfile

from harness import Row, emit

QUICK, FULL = ["all", "--quick"], ["000-fig1", "000-fig2", "001-fig3", "004-fig3"]


def run(*words: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "inbounds", "studies", "run", *words, "--out", target, "--json"]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def rows() -> list[Row]:
    quick = run(*QUICK)
    found = [Row(f"{len(quick)} studies, quick", "inbounds", sum(s["seconds"] for s in quick), 1.0, "aim: 120 s")]
    for study in run(*FULL):
        found.append(Row(study["id"], "inbounds", study["seconds"], 1.0, "the paper's settings, all cores"))
    return found


emit(rows())

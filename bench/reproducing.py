"""The five papers from the command line: every study in its quick form, drawing included, and the longest in full."""

import json
import subprocess
import sys
import tempfile

from harness import OURS, Row, serve

QUICK, FULL = ["all", "--quick"], ["000-fig1", "000-fig2", "001-fig3", "004-fig3"]
REPEATS = 3


def run(*words: str) -> dict[str, float]:
    """Seconds of each study, as the command itself counts them."""
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "inbounds", "studies", "run", *words, "--out", target, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return {study["id"]: study["seconds"] for study in json.loads(done.stdout)}


def inbounds() -> list[Row]:
    quick = [run(*QUICK) for _ in range(REPEATS)]
    full = [run(*FULL) for _ in range(REPEATS)]
    sums = [sum(seconds.values()) for seconds in quick]
    return [
        Row(f"{len(quick[0])} studies, quick", OURS, sums, note="aim: 120 s"),
        *(Row(study, OURS, [one[study] for one in full], note="the paper's settings, all cores") for study in full[0]),
    ]


serve({"inbounds": inbounds})

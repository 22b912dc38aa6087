"""The checker that is extracted from the proof, and how to ask it."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("INBOUNDS_CHECK", ROOT / "coq" / "build" / "inbounds-check"))
AT_ONCE = 500
"""Files that one process is given."""


def verdicts(files: Sequence[Path]) -> list[str]:
    """What inbounds-check says of each file: the words of its line but the file's name."""
    said: list[str] = []
    for start in range(0, len(files), AT_ONCE):
        part = files[start : start + AT_ONCE]
        done = subprocess.run([PROGRAM, *part], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 3):
            raise RuntimeError(done.stderr)
        lines = done.stdout.splitlines()
        said += [line.replace(f" {file}", "", 1) for line, file in zip(lines, part, strict=True)]
    return said


def answers(questions: Iterable[dict[str, Any]]) -> list[str]:
    """What the extracted checkers say of bare numbers."""
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([PROGRAM, "--lines"], input=lines, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()

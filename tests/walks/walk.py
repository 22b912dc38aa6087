"""The walk of `inbounds release`: every file of the package in which a function is called during one release.

    python tests/walks/walk.py

One count by groups from a CSV file, its mechanism designed anew, charged to a new ledger. What modules do while they
are imported is not part of the walk: it depends on who imports them first.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

PLAN = """
[source]
path = "people.csv"

[groups]
by = ["town"]
keys = ["North", "South"]
size = 4

[columns]
age = { type = "number" }

[[statistics]]
count = "age < 30"

[privacy]
epsilon = 1

[output]
path = "out.csv"
"""
PEOPLE = "town,age\n" + "".join(f"{town},{20 + 5 * k}\n" for town in ("North", "South") for k in range(4))


def walk(folder: Path) -> dict[str, Counter[str]]:
    """For every file on the way of `inbounds release plan.toml`, how often each of its functions is called."""
    import inbounds
    from inbounds.cli import main

    root = f"{Path(inbounds.__file__).parent}/"
    (folder / "plan.toml").write_text(PLAN)
    (folder / "people.csv").write_text(PEOPLE)
    calls: dict[str, Counter[str]] = {}

    def note(frame: FrameType, _event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith(root) and not _imports(frame):
            calls.setdefault(code.co_filename.removeprefix(root), Counter())[code.co_qualname] += 1

    sys.argv = ["inbounds", "release", str(folder / "plan.toml"), "--cache", str(folder / "cache")]
    sys.settrace(note)  # called with every call, and, as it returns nothing, with nothing else
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.settrace(None)
    return calls


def _imports(frame: FrameType | None) -> bool:
    """Whether the frame runs because something is being imported."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = walk(Path(place))
    for name, functions in sorted(found.items()):
        sys.stdout.write(f"{name}: {', '.join(functions)}\n")
    sys.stdout.write(f"{len(found)} files\n")

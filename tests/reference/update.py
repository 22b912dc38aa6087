"""Store the reference digests anew: only after a change of numbers that is meant, and said in the commit.

    PYTHONPATH=src:tests OPENBLAS_NUM_THREADS=1 python tests/reference/update.py [NAME …]

NAME: mechanisms, quantiles, tables, answers or demo; without names all five files are written. What changed is printed
case by case. Nothing runs this script by itself. platform.json says which libraries and processor the digests are of;
on others store all five.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from reference import recompute
from reference.digest import Frozen, platform
from reference.mechanisms import MECHANISMS, QUANTILES
from reference.questions import CURATORS
from reference.tables import TABLES


def folder() -> Path:
    return Path(tempfile.mkdtemp())


def tables() -> dict[str, Frozen]:
    return {name: recompute.table(name, folder()) for name in TABLES}


def answers() -> dict[str, Frozen]:
    return {key: found for name in CURATORS for key, found in recompute.answers(name, folder()).items()}


FILES: dict[str, Callable[[], dict[str, Frozen]]] = {
    "mechanisms": lambda: {name: recompute.mechanism(name) for name in MECHANISMS},
    "quantiles": lambda: {name: recompute.mechanism(name) for name in QUANTILES},
    "tables": tables,
    "answers": answers,
    "demo": lambda: recompute.demo(folder()),
}


def main(names: list[str]) -> None:
    if names and recompute.stored("platform") != platform():
        raise SystemExit("the stored digests are of other libraries or another processor; store all five files")
    for name in names or FILES:
        target = recompute.HERE / f"{name}.json"
        before, found = recompute.stored(name) if target.exists() else {}, FILES[name]()
        for case in dict.fromkeys([*before, *found]):
            if before.get(case) != found.get(case):
                sys.stdout.write(f"{name}: {case}: {'new' if case not in before else 'changed'}\n")
        lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(found[case], ensure_ascii=False)}" for case in found)
        target.write_text(f"{{\n{lines}\n}}\n", "utf-8")
        sys.stdout.write(f"{target.name}: {len(found)} cases\n")
    (recompute.HERE / "platform.json").write_text(json.dumps(platform(), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

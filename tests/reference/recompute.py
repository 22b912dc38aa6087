"""Everything that is frozen, computed anew: for the tests, and for the script that stores it."""

import json
from pathlib import Path
from typing import Any

from reference import package
from reference.digest import Frozen
from reference.mechanisms import MECHANISMS, QUANTILES, VALUES_ONLY
from reference.questions import CURATORS, DATASET, LEVEL_EPSILONS, settings, write_pupils
from reference.tables import TABLES, write_registers

HERE = Path(__file__).parent
DEMO = HERE.parents[1] / "examples" / "demo.py"


def stored(name: str) -> dict[str, Any]:
    """Return what a file of this folder holds."""
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    return found


def mechanism(name: str) -> Frozen:
    made = {**MECHANISMS, **QUANTILES}[name]()
    return package.frozen_optimum(made) if name in VALUES_ONLY else package.frozen_mechanism(name, made)


def table(name: str, folder: Path) -> Frozen:
    plan, source = TABLES[name]
    data, groups = source(folder), dict(plan["groups"])
    write_registers(folder)
    if isinstance(groups.get("keys"), str):
        groups["keys"] = str(folder / groups["keys"])
    if isinstance(data, dict):
        return package.frozen_release(name, {**plan, "groups": groups, "source": data}, None, folder)
    return package.frozen_release(name, {**plan, "groups": groups}, data, folder)


def answers(name: str, folder: Path) -> dict[str, Frozen]:
    """Return the answers of one curator; every question has a stream of its own."""
    more, questions = CURATORS[name]
    write_pupils(folder / "pupils.parquet")
    found = {}
    with package.curator_of(settings(folder, **more), folder) as curator:
        readers = {
            who: package.add_reader(curator, who, "25", who if who in LEVEL_EPSILONS else None, DATASET)
            for who in dict.fromkeys(who for who, _ in questions)
        }
        for k, (who, question) in enumerate(questions):
            key = f"{name} {k + 1}"
            found[key] = package.frozen_answer(key, curator, readers[who], DATASET, {**question, "allow_useless": True})
    return found


def demo(folder: Path) -> dict[str, Frozen]:
    return package.frozen_demo(DEMO, folder)

"""A small curator: forty pupils of two schools, a few facts about each, and everything in one folder."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from inbounds.curator import Account, CapExceeded, Curator, parse_settings
from inbounds.errors import BudgetExceeded

SCHOOLS, YEARS = ["north", "south"], ["1", "2"]


def write_pupils(file: Path, likes: list[str] | None = None) -> None:
    people = range(40)
    columns = {
        "school": [SCHOOLS[k % 2] for k in people],
        "year": [YEARS[k // 2 % 2] for k in people],
        "likes": likes or [("yes", "no", "none")[k % 3] for k in people],
        "age": [10 + k % 8 for k in people],
    }
    pyarrow.parquet.write_table(pa.table(columns), file)


def declared(folder: Path, **more: Any) -> dict[str, Any]:
    """The settings of a curator of the pupils; more: of the dataset."""
    return {
        "limits": {"designs": 0, "tick": 0, "rate": 1e6, "burst": 1_000_000},
        "datasets": {
            "pupils": {
                "edition": "2026-11",
                "source": {"path": "pupils.parquet"},
                "people": {"name": "pupils"},
                "budget": {"epsilon": 6},
                "groups": {"by": ["school", "year"], "keys": {"school": SCHOOLS, "year": YEARS}, "max_size": 12},
                "columns": {
                    "likes": {"labels": ["yes", "no", "none"], "other": "none"},
                    "age": {"low": 10, "high": 20},
                    "year": {"labels": YEARS},
                },
                **more,
            }
        },
    }


def account(curator: Curator, name: str, cap: str | None = None, level: str | None = None, **more: Any) -> Account:
    """A new account that may ask the pupils."""
    levels = {"pupils": level} if level else None
    return curator.account(curator.add_account(name, {"pupils": cap}, levels=levels, **more))


def question(k: int, epsilon: str = "0.5") -> dict[str, Any]:
    """One of many different questions: how many are of some ages."""
    return {"count": f"age > {10 + k % 7} and age < {18 + k // 7}", "epsilon": epsilon, "allow_useless": True}


def ask_many(settings: dict[str, Any], folder: Path, token: str, queue: Any) -> None:
    """A process that asks forty questions; what it was given for each, nothing where it was refused."""
    with Curator(parse_settings(settings, folder)) as curator:
        own = curator.account(token)
        for k in range(40):
            try:
                queue.put((k, str(curator.ask(own, "pupils", question(k)).table)))
            except (BudgetExceeded, CapExceeded):
                queue.put((k, ""))

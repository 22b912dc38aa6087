"""The answers of curators that are frozen: 30 questions to three curators, in order."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

SCHOOLS, YEARS = ["north", "south"], ["1", "2"]
DATASET = "pupils"
YES: dict[str, Any] = {"count": "likes = 'yes'"}

Question = tuple[str, dict[str, Any]]
"""Who asks, and what."""


def write_pupils(file: Path) -> None:
    """Forty pupils of two schools."""
    k = range(40)
    columns = {
        "school": [SCHOOLS[i % 2] for i in k],
        "year": [YEARS[i // 2 % 2] for i in k],
        "likes": [("yes", "no", "none")[i % 3] for i in k],
        "age": [10 + i % 8 for i in k],
        "pupil": [f"pupil {i * 7 % 25}" for i in k],
    }
    pyarrow.parquet.write_table(pa.table(columns), file)


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """The settings of a curator of the pupils; more: of the dataset."""
    groups = {"by": ["school", "year"], "keys": {"school": SCHOOLS, "year": YEARS}, "max_size": 12}
    columns = {
        "likes": {"labels": ["yes", "no", "none"], "other": "none"},
        "age": {"low": 10, "high": 20},
        "year": {"labels": YEARS},
    }
    return {
        "limits": {"designs": 0, "tick": 0, "rate": 1e6, "burst": 1_000_000},
        "designs": str(folder / "designs"),
        "datasets": {
            DATASET: {
                "edition": "2026-11",
                "source": {"path": str(folder / "pupils.parquet")},
                "people": {"name": "pupils", "one_record_each": ["pupil"]},
                "budget": {"epsilon": 30},
                "groups": groups,
                "columns": columns,
                "answer_seconds": 20,
                **more,
            }
        },
    }


PLAIN: list[Question] = [
    ("ana", {**YES, "by": ["school"], "epsilon": "0.5"}),
    ("ana", {"count": "'yes' = likes", "by": ["school"], "epsilon": "0.5"}),  # the same
    ("bob", {**YES, "by": ["school"], "epsilon": "0.5"}),  # the same, for another account
    ("bob", {**YES, "by": ["school"], "epsilon": "0.25"}),  # a larger epsilon is there
    ("bob", {**YES, "by": ["school"], "epsilon": "0.25", "redraw": True}),
    ("ana", {**YES, "by": ["school", "year"], "epsilon": 1}),
    ("ana", {**YES, "by": ["year"], "epsilon": "0.5"}),  # a sum of cells
    ("bob", {**YES, "by": [], "epsilon": 1}),  # a sum of cells
    ("ana", {"count": "age > 12 and age <= 15", "by": ["year"], "epsilon": 1}),
    ("ana", {"histogram": "likes", "by": ["school"], "epsilon": 1}),
    ("ana", {"histogram": "likes", "epsilon": 2, "sum_to_size": True}),
    ("ana", {"mean": "age", "by": ["school"], "epsilon": 1}),
    ("ana", {"mean": "age", "where": "likes = 'no'", "epsilon": 2}),
    ("ana", {"sum": "age", "by": ["year"], "epsilon": 1}),
    ("ana", {"median": "age", "by": ["school"], "epsilon": 2}),
    ("ana", {"quantile": "age", "at": "0.9", "epsilon": 1}),
    ("ana", {"max": "age", "by": ["school"], "epsilon": 2}),
    ("ana", {"mode": "likes", "by": ["year"], "epsilon": 2}),
    ("ana", {"crosstab": ["likes", "year"], "by": ["school"], "epsilon": 3}),
    ("ana", {**YES, "where": "age < 14", "epsilon": 1, "loss": "squared", "properties": ["fair"]}),
]
LEVELS: list[Question] = [
    ("public", {**YES, "by": ["school"]}),
    ("partner", {**YES, "by": ["school"]}),
    ("inner", {**YES, "by": ["school"]}),
    ("partner", {**YES, "by": ["school", "year"]}),
    ("partner", {**YES, "by": []}),
    ("inner", {"histogram": "likes", "by": ["year"]}),
]
PERSONS: list[Question] = [
    ("ana", {**YES, "by": ["school"], "epsilon": 1}),
    ("ana", {"histogram": "likes", "by": ["school"], "epsilon": 1}),
    ("bob", {"mean": "age", "epsilon": 2}),
    ("ana", {"median": "age", "by": ["school"], "epsilon": 2}),
]

LEVEL_EPSILONS = {"public": "0.25", "partner": "0.5", "inner": 1}
SEVERAL = {"name": "pupils", "id": "pupil", "max_records": 2, "max_groups": 2}
CURATORS: dict[str, tuple[dict[str, Any], list[Question]]] = {
    "plain": ({}, PLAIN),
    "levels": ({"levels": LEVEL_EPSILONS}, LEVELS),
    "persons": ({"people": SEVERAL, "credible_level": 0.9}, PERSONS),
}

"""The five papers: every table and figure recomputed by the package itself, with the corrections.

One function for each table or figure, with the paper's settings as defaults. `find("003-fig10").run()` gives
its data and its picture; `inbounds studies run 003-fig10 --out figures/` writes both.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from inbounds_studies.crew import Crew
from inbounds_studies.study import Result, Study
from inbounds_studies.table import Table

_MODULES = (
    "paper_000",
    "paper_000_curves",
    "paper_000_data",
    "paper_000_order",
    "paper_001",
    "paper_001_map",
    "paper_002_drawn",
    "paper_002",
    "paper_002_scales",
    "paper_002_open",
    "paper_003",
    "paper_003_scores",
    "paper_003_data",
    "paper_003_ranges",
    "paper_003_norms",
    "paper_004",
    "paper_004_collusion",
    "paper_004_open",
    "paper_004_vectors",
    "paper_choices",
)


@cache
def listed() -> dict[str, Study]:
    """All studies by id, in the order of the papers."""
    modules = (import_module(f"inbounds_studies.{name}") for name in _MODULES)
    found = {study.id: study for module in modules for study in module.STUDIES}
    return {id_: found[id_] for id_ in sorted(found, key=lambda id_: id_[:3])}


def find(id: str) -> Study:  # noqa: A002 - what the command line calls it
    """The study with this id."""
    if id not in listed():
        raise ValueError(f"study must be one of {', '.join(listed())}, got {id!r}")
    return listed()[id]


def matching(names: Sequence[str]) -> list[Study]:
    """Studies by id, by paper ("003"), or "all"; each once, in the order of the papers.

    >>> [study.id for study in matching(["003-fig3", "000-table1"])]
    ['000-table1', '003-fig3']
    """

    def meant(name: str, study: Study) -> bool:
        return name == "all" or study.id == name or study.id.startswith(f"{name}-")

    for name in names:
        if not any(meant(name, study) for study in listed().values()):
            find(name)  # raises, and names what there is
    return [study for study in listed().values() if any(meant(name, study) for name in names)]


__all__ = ["Crew", "Result", "Study", "Table", "find", "listed", "matching"]

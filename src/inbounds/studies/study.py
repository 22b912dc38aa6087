"""A study: one table or figure of a paper, recomputed; and what comes of running it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.studies.crew import ALONE, Crew
from inbounds.studies.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Result:
    """The data of a study, and how to draw it (extra `figures`)."""

    table: Table
    draw: Callable[[], "Figure"]

    def save(self, directory: Path, name: str) -> list[Path]:
        """Write name.csv, name.svg and name.png; the directory is made when missing."""
        from inbounds.studies.style import save

        directory.mkdir(parents=True, exist_ok=True)
        data = directory / f"{name}.csv"
        data.write_text(self.table.csv(), encoding="utf-8")
        return [data, *save(self.draw, directory / name)]


@dataclass(frozen=True)
class Study:
    """id: paper, dash, table or figure. make: the function with the paper's settings as defaults.

    quick: settings for a short run of the same code. simulated: the result is drawn, and depends on a seed.
    """

    id: str
    title: str
    make: Callable[..., Result]
    quick: Mapping[str, Any] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return "seed" in inspect.signature(self.make).parameters

    def run(self, *, quick: bool = False, seed: int = 0, crew: Crew = ALONE, **settings: Any) -> Result:
        """Recompute the study, to the paper's settings unless told otherwise."""
        known = inspect.signature(self.make).parameters
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise ValueError(f"{self.id} must be given settings among {', '.join(known)}, got {unknown[0]!r}")
        shared = {"seed": seed, "crew": crew}
        given = {**(self.quick if quick else {}), **{k: v for k, v in shared.items() if k in known}, **settings}
        return self.make(**given)

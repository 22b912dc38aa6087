"""A study: one table or figure of a paper, recomputed; and what comes of running it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Result:
    """The data of a study, and how to draw it."""

    table: Table
    draw: Callable[[], "Figure"]

    def save(self, directory: str | Path, name: str) -> list[Path]:
        """Write name.csv, name.tex, name.svg and name.png; the directory is made when missing."""
        from inbounds_studies.style import save

        place = Path(directory)
        place.mkdir(parents=True, exist_ok=True)
        texts = {place / f"{name}.csv": self.table.csv(), place / f"{name}.tex": self.table.latex()}
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return [*texts, *save(self.draw, place / name)]


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

    @property
    def settings(self) -> dict[str, Any]:
        """What can be set, by name, and the paper's own setting; `run(**settings)` takes others."""
        parameters = inspect.signature(self.make).parameters
        return {name: each.default for name, each in parameters.items() if name not in ("crew", "seed")}

    def run(self, *, quick: bool = False, seed: int = 0, crew: Crew = ALONE, **settings: Any) -> Result:
        """Recompute the study, to the paper's settings unless told otherwise."""
        known = inspect.signature(self.make).parameters
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise ValueError(f"{self.id} must be given settings among {', '.join(known)}, got {unknown[0]!r}")
        shared = {"seed": seed, "crew": crew}
        given = {**(self.quick if quick else {}), **{k: v for k, v in shared.items() if k in known}, **settings}
        return self.make(**given)

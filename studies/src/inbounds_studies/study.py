"""A study: one table or figure of a paper, recomputed; and what comes of running it."""

import inspect
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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


@cache
def _marks() -> dict[str, dict[str, Any]]:
    """settings.toml: which settings of a study the paper prints, and which were inferred."""
    return tomllib.loads(files("inbounds_studies").joinpath("settings.toml").read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    """A setting as a JSON value: sequences as lists, losses by their names, infinite ends of spans as text."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value.name)


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

    @property
    def settings_json(self) -> dict[str, dict[str, Any]]:
        """Each setting as a plain JSON value, with where it comes from: printed, inferred or chosen."""
        marked = _marks().get(self.id, {})
        known: tuple[Literal["printed", "inferred"], ...] = ("printed", "inferred")
        return {
            name: {"value": _plain(value), "origin": next((o for o in known if name in marked.get(o, ())), "chosen")}
            for name, value in self.settings.items()
        }

    @property
    def note(self) -> str:
        """What else was set in code, or how a setting was inferred; may be empty."""
        return str(_marks().get(self.id, {}).get("note", ""))

    def run(self, *, quick: bool = False, seed: int = 0, crew: Crew = ALONE, **settings: Any) -> Result:
        """Recompute the study, to the paper's settings unless told otherwise."""
        known = inspect.signature(self.make).parameters
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise ValueError(f"{self.id} must be given settings among {', '.join(known)}, got {unknown[0]!r}")
        shared = {"seed": seed, "crew": crew}
        given = {**(self.quick if quick else {}), **{k: v for k, v in shared.items() if k in known}, **settings}
        return self.make(**given)

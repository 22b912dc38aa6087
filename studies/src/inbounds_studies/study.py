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


def _parse_like(own: Any, text: str, name: str) -> Any:
    """Parse a setting of the kind of the study's own value.

    >>> _parse_like(("0.5",), "2/3, 0.8", "--alphas"), _parse_like((2, 4), "8", "--sizes"), _parse_like(20, "5", "--n")
    (('2/3', '0.8'), (8,), 5)
    """
    if own is None or (isinstance(own, tuple) and not all(isinstance(one, int | float | str) for one in own)):
        raise ValueError(f"{name} can be set from Python only: it is no number, text or list of them")
    if isinstance(own, tuple):
        kind = str if any(isinstance(one, str) for one in own) else float if isinstance(own[0], float) else int
        return tuple(_parse_like(kind(), part, name) for part in _split(text, own))
    try:
        return type(own)(text)
    except ValueError:
        raise ValueError(
            f"{name} must be {'a whole number' if type(own) is int else 'a number'}, got {text!r}"
        ) from None


def _split(text: str, own: tuple[Any, ...]) -> list[str]:
    """Split a list at its commas, but not inside a name of the study that has one itself."""
    parts: list[str] = []
    for part in map(str.strip, text.split(",")):
        longer = [
            f"{last}{comma}{part}" for last in parts[-1:] for comma in (", ", ",") if f"{last}{comma}{part}" in own
        ]
        parts = [*parts[:-1], *longer] if longer else [*parts, part]
    return parts


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

    def parse_settings(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Parse settings that a person wrote: each of the kind of the study's own, lists as A,B,C."""
        for name in texts:
            if name not in self.settings:
                raise ValueError(f"{self.id} must be given settings among {', '.join(self.settings)}, got {name!r}")
        return {
            name: _parse_like(self.settings[name], text, f"--{name.replace('_', '-')}") for name, text in texts.items()
        }

    def run(self, *, quick: bool = False, seed: int = 0, crew: Crew = ALONE, **settings: Any) -> Result:
        """Recompute the study, to the paper's settings unless told otherwise."""
        known = inspect.signature(self.make).parameters
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise ValueError(f"{self.id} must be given settings among {', '.join(known)}, got {unknown[0]!r}")
        shared = {"seed": seed, "crew": crew}
        given = {**(self.quick if quick else {}), **{k: v for k, v in shared.items() if k in known}, **settings}
        return self.make(**given)

"""The folder that the studio works in: its files, and no path out of it.

A name from a browser is the name of a file in this folder, never a path: no separators, no "..", and no link that leads
elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from inbounds.errors import InboundsError
from inbounds.ledger.sqlite import is_ledger
from inbounds.sources.open import FILES

PLAN = ".toml"
RECORD = ".release.json"
KEYS = (".txt", ".csv", ".parquet")
LEDGERS = (".ledger", ".db")


class OutsideFolder(InboundsError):
    """A name that leads out of the studio's folder."""


@dataclass(frozen=True)
class Workspace:
    """A folder by its resolved path."""

    folder: Path

    @classmethod
    def from_path(cls, folder: str | Path) -> "Workspace":
        place = Path(folder).resolve()
        if not place.is_dir():
            raise ValueError(f"folder must be a folder that exists, got {folder}")
        return cls(place)

    def path(self, name: str) -> Path:
        """Return the path of this name in the folder, whether or not it exists."""
        plain = bool(name) and name == Path(name).name and name not in (".", "..") and "\\" not in name
        if not plain or not name.isprintable():
            raise OutsideFolder(f"file must be the name of a file in the studio's folder, got {name!r}")
        place = self.folder / name
        if place.is_symlink() or place.resolve().parent != self.folder:
            raise OutsideFolder(f"file must not be a link, got {name!r}; put the file itself into the folder")
        return place

    def existing(self, name: str) -> Path:
        """Return an existing file of the folder."""
        place = self.path(name)
        if not place.is_file():
            raise FileNotFoundError(2, "there is no such file in the folder", name)
        return place

    def inside(self, path: str) -> bool:
        """Return whether a path that a plan names lies in this folder, links followed."""
        return (self.folder / path).resolve().is_relative_to(self.folder)

    @property
    def data(self) -> list[str]:
        """Return files that may hold records; released tables are not among them."""
        released = {name.removesuffix(RECORD) for name in self._names([RECORD])}
        return [name for name in self._names(FILES) if name not in released and name not in self.ledgers]

    @property
    def plans(self) -> list[str]:
        return self._names([PLAN])

    @property
    def keys(self) -> list[str]:
        return self._names(KEYS)

    @property
    def ledgers(self) -> list[str]:
        return [name for name in self._names(LEDGERS) if is_ledger(self.folder / name)]

    @property
    def documents(self) -> list[str]:
        """Return the files that an auditor may check: passports, records, exported ledgers, ledgers."""
        return [*self._names([".json"]), *self.ledgers]

    def _names(self, endings: Iterable[str]) -> list[str]:
        suffixes = tuple(endings)
        files = (file for file in self.folder.iterdir() if not file.is_symlink() and file.is_file())
        return sorted(file.name for file in files if file.name.lower().endswith(suffixes) and file.name[0] != ".")

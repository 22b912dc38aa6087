"""Commands that other packages bring.

A package registers a `typer.Typer` under the name of its command:

    [project.entry-points."inbounds.commands"]
    studies = "inbounds_studies.commands:studies"

`inbounds --help` reads the names and summaries of such packages from their metadata. Their code is imported when their
command is called, so a package that is slow or does not load affects its own command only.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand
from typer.main import get_group

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "inbounds.commands"
HEADING = "Other packages"
"""The heading of commands of other packages in --help."""

STUDIES = "inbounds-studies"
STUDIES_SUMMARY = "The tables and figures of the papers, recomputed."


class PluginCommand(TyperCommand):
    """A command of another package as the first page shows it; `load` imports the package.

    entry: where the command is, or None for a known package that is not installed.
    """

    def __init__(self, name: str, package: str, summary: str, entry: "EntryPoint | None") -> None:
        super().__init__(name, help=summary, rich_help_panel=HEADING)
        self.package = package
        self.entry = entry

    def load(self) -> Any:
        """Import the package and build its command. Raises ImportError in one sentence."""
        if self.entry is None:
            raise ImportError(f"{self.package} is needed here: pip install {self.package}")
        try:
            commands = self.entry.load()
        except Exception as error:
            raise ImportError(f"{self.package} is installed but does not load here: {error}") from error
        if not isinstance(commands, typer.Typer):
            raise ImportError(f"{self.package} must register a typer.Typer as {self.name}, got {type(commands)}")
        group = get_group(commands)
        group.name = self.name
        return group


def find_plugins() -> dict[str, PluginCommand]:
    """Return the commands of other packages by name, without importing any.

    The studies of the papers are always listed: without their package the command says how to install it.
    """
    commands: dict[str, PluginCommand] = {}
    for package, summary, entry in _registered():
        commands.setdefault(entry.name, PluginCommand(entry.name, package, summary, entry))
    missing = PluginCommand("studies", STUDIES, f"{STUDIES_SUMMARY} Needs {STUDIES}.", None)
    return {"studies": missing, **commands}


def _registered() -> Iterator[tuple[str, str, "EntryPoint"]]:
    """Yield each entry point with its package's name and summary; packages with unreadable metadata are skipped."""
    from importlib.metadata import distributions  # only the first page and commands of others need it

    for package in distributions():
        try:
            for entry in package.entry_points.select(group=GROUP):
                yield package.metadata["Name"], package.metadata["Summary"] or "", entry
        except Exception:  # noqa: S112 - another package's metadata is no reason to fail
            continue

"""Where commands write: the option --out, and checks that no file is replaced by mistake."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from inbounds.files import MECHANISM, detect_format, is_same_file
from inbounds.files.open_files import read_start

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an existing file of the same kind, never one that is read.")
]


def out_option(meaning: str) -> Any:
    """Return the option that says where a command writes its result."""
    return typer.Option("--out", "-o", help=meaning)


PassportOut = Annotated[Path | None, out_option("Write the mechanism's passport here.")]


@dataclass(frozen=True)
class OutputKind:
    """A kind of output file. known: tells whether a file is of this kind. endings: allowed suffixes, any if empty; ""
    stands for no suffix.
    """

    name: str
    known: Callable[[Path], bool]
    endings: tuple[str, ...] = ()


def _begins(*starts: bytes) -> Callable[[Path], bool]:
    def known(path: Path) -> bool:
        return read_start(path, 100).lstrip().lower().startswith(starts)

    return known


def json_output(name: str, format_: str) -> OutputKind:
    """Return the kind of JSON files with this format."""
    return OutputKind(name, lambda path: detect_format(path) == format_)


PASSPORT = json_output("mechanism passport", MECHANISM)
PAGE = OutputKind("HTML page", _begins(b"<!doctype html>"), (".html", ".htm", ""))
PICTURE = OutputKind("picture", _begins(b"\x89png", b"%pdf", b"<?xml", b"<svg"), (".png", ".svg", ".pdf"))
COMPARISON_TABLE = OutputKind("comparison as CSV", _begins(b"mechanism,"))
LATEX = OutputKind("LaTeX table", _begins(b"\\begin{tabular}"))
DISTRIBUTION = OutputKind("distribution", _begins(b"answer,probability"))


def picture_or_page(target: Path) -> OutputKind:
    """Return the kind of a drawing: an HTML page if the name ends so, otherwise a picture."""
    return PAGE if target.suffix.lower() == ".html" else PICTURE


def check_target(
    target: Path, kind: OutputKind, *, overwrite: bool, reads: Iterable[Path | None] = (), option: str = "--out"
) -> None:
    """Refuse a target that cannot be written, or that would destroy a file, before any work is done.

    A file that is read is never replaced, nor a file of another kind; one of the same kind only with --overwrite.
    """
    if kind.endings and target.suffix.lower() not in kind.endings:
        endings = ", ".join(filter(None, kind.endings))
        raise ValueError(f"{option} must end in {endings}, got {target}; give another name")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise ValueError(f"{option} must be in a folder that can be written to, got {target.parent}")
    if any(file is not None and is_same_file(target, file) for file in reads):
        raise ValueError(f"{option} must not be a file that is read, got {target}; give another name")
    if not target.exists():
        return
    if not (target.is_file() and kind.known(target)):
        raise ValueError(f"{option} must not replace what is no {kind.name}, got {target}; give another name")
    if not overwrite:
        raise ValueError(f"{option} must not exist yet, got {target}; give another name, or --overwrite to replace it")

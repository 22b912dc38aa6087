"""Writing: a file appears whole or not at all, with the rights that the system gives to new files."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inbounds.files.open_files import find_open_database, read_start

SQLITE_MAGIC = b"SQLite format 3\x00"
"""How a file with an SQLite database, and so a ledger in a file, begins."""

BESIDE_A_DATABASE = ("-wal", "-shm", "-journal")
"""How the files end that SQLite keeps beside a database; the last charges may be in them."""


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """An empty file of ours beside the target, under a name that nobody else takes; gone afterwards unless it took
    another name."""
    refuse_database(target)
    name = _new_file(target)
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)


@contextmanager
def synced_file(target: Path, content: bytes) -> Iterator[Path]:
    """The content in such a file, on the disk before its name is used."""
    with temporary_file(target) as name:
        with with_file_name(target), name.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield name


def write_atomically(target: Path, content: bytes) -> None:
    """Write, then rename: whoever looks sees the old file or the new one."""
    with synced_file(target, content) as name:
        name.replace(target)
        sync_directory(target.parent)


@contextmanager
def atomic_writer(target: Path) -> Iterator[Path]:
    """A file to be written part by part; it takes the target's name at the end, unless something failed."""
    with temporary_file(target) as name:
        yield name
        name.replace(target)
        sync_directory(target.parent)


def write_text(target: Path, text: str) -> None:
    """Write a page as it is; never over a ledger."""
    refuse_database(target)
    with with_file_name(target):
        target.write_text(text, "utf-8")


def refuse_database(target: Path, what: str = "output") -> None:
    """A `ValueError` for a target that is a ledger, or any other SQLite database, or belongs to one.

    A ledger that is open may not yet have its own mark in its file, and no database is ever written here.
    """
    real = os.path.realpath(target)
    own = [*(real.removesuffix(end) for end in BESIDE_A_DATABASE if real.endswith(end)), real]
    if any(_is_database(Path(path)) for path in own):
        raise ValueError(f"{what} must not replace a ledger or another database, got {target}; give another name")


def _is_database(path: Path) -> bool:
    if find_open_database(path) is not None:
        return True
    return path.is_file() and read_start(path, len(SQLITE_MAGIC)) == SQLITE_MAGIC


@contextmanager
def with_file_name(target: Path) -> Iterator[None]:
    """A disk that is full does not say which file it was full for."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error


def sync_directory(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """The same file by any of its names, links included; or the same name of a file that is not there yet."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _new_file(target: Path) -> Path:
    """A file under a name that nobody has, nor will: once it was renamed its old name must not become another's."""
    while True:
        name = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666))
        except FileExistsError:
            continue
        return name

"""Atomic writing: a file appears whole or not at all, with the permissions that the system gives to new files.

No function here overwrites an SQLite database, because a ledger may be one.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inbounds.files.open_files import find_open_database, read_start

SQLITE_MAGIC = b"SQLite format 3\x00"
"""The first bytes of an SQLite database, and so of a ledger in a file."""

DATABASE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database; they may hold the latest charges."""


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Make an empty file with a unique name beside the target, and delete it at the end unless it was renamed.

    Raises `ValueError` if the target is a database.
    """
    refuse_database(target)
    path = _new_file(target)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def synced_file(target: Path, content: bytes) -> Iterator[Path]:
    """Write the content to a `temporary_file` and to the disk (fsync) before the caller uses its name."""
    with temporary_file(target) as path:
        with with_file_name(target), path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield path


def write_atomically(target: Path, content: bytes) -> None:
    """Write a file, then rename it to the target: a reader sees the old content or the new one, never a part."""
    with synced_file(target, content) as path:
        path.replace(target)
        sync_directory(target.parent)


@contextmanager
def atomic_writer(target: Path) -> Iterator[Path]:
    """Give the caller a temporary file to fill; rename it to the target at the end, unless an exception was raised."""
    with temporary_file(target) as path:
        yield path
        path.replace(target)
        sync_directory(target.parent)


def write_text(target: Path, text: str) -> None:
    """Write a text as UTF-8, not atomically. Raises `ValueError` if the target is a database."""
    refuse_database(target)
    with with_file_name(target):
        target.write_text(text, "utf-8")


def refuse_database(target: Path, what: str = "output") -> None:
    """Raise `ValueError` if the target is a ledger or another SQLite database, or one of the files beside it.

    what: the argument's name, for the message. A database that this process has open counts even if its file does not
    begin with SQLITE_MAGIC yet.
    """
    real = os.path.realpath(target)
    candidates = [*(real.removesuffix(end) for end in DATABASE_SUFFIXES if real.endswith(end)), real]
    if any(_is_database(Path(path)) for path in candidates):
        raise ValueError(f"{what} must not replace a ledger or another database, got {target}; give another name")


def _is_database(path: Path) -> bool:
    if find_open_database(path) is not None:
        return True
    return path.is_file() and read_start(path, len(SQLITE_MAGIC)) == SQLITE_MAGIC


@contextmanager
def with_file_name(target: Path) -> Iterator[None]:
    """Add the target's name to any `OSError`: the system does not name the file if, say, the disk is full."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error


def sync_directory(folder: Path) -> None:
    """Sync a folder, so that a new name in it survives a loss of power; do nothing where folders cannot be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths are the same file, links included; for missing files, whether the names agree."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _new_file(target: Path) -> Path:
    """Make a file with a random name beside the target.

    The name is never used again: after the file is renamed, cleaning up must not delete another writer's file.
    """
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666))
        except FileExistsError:
            continue
        return path

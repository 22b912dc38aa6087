"""Files that an SQLite of this process may have open: read, and never closed while it has.

POSIX drops all locks of a process on a file as soon as the process closes any descriptor of it; SQLite, which knows
of its own descriptors alone, goes on as if it held them, and other processes delete the log under it (SQLite's
documentation, "How To Corrupt An SQLite Database File", 2.2). So a file has one descriptor here, which all who read
it share, and which is closed when the last of them and of the databases has let go.
"""

import hashlib
import os
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

PathLike = str | os.PathLike[str]
Identity = tuple[int, int]
"""Device and inode: which file it is, by whatever name."""

CHUNK = 1 << 20
"""Bytes read at a time."""


@dataclass
class OpenFile:
    """One file, its descriptors (one, unless it took another's name in between), and how many use it.

    database: SQLite has it open. inherited: that of the process which this one was forked from has, with locks that
    a child does not have and takes itself to have.
    """

    identity: Identity
    descriptors: list[int] = field(default_factory=list)
    users: int = 0
    database: bool = False
    inherited: bool = False


_holds: dict[Identity, OpenFile] = {}
_forgotten: list[OpenFile] = []
_lock = threading.RLock()


def acquire(path: PathLike, *, database: bool = False) -> OpenFile:
    """Keep a file open until `release`; whoever opens it as a database holds it for as long."""
    with _lock:
        _tidy()
        found = _holds.get(file_identity(os.stat(path)))
        if found is None:
            descriptor = os.open(path, os.O_RDONLY)
            identity = file_identity(os.fstat(descriptor))
            found = _holds.setdefault(identity, OpenFile(identity))
            found.descriptors.append(descriptor)
        found.users, found.database = found.users + 1, found.database or database
        return found


def release(found: OpenFile) -> None:
    """End one `acquire`; with the last one the file is closed."""
    release_later(found)
    with _lock:
        _tidy()


def release_later(found: OpenFile) -> None:
    """As `release`, at the next occasion: memory may be tidied up, and call this, in the middle of anything here."""
    _forgotten.append(found)


def _tidy() -> None:
    while _forgotten:
        found = _forgotten.pop()
        found.users -= 1
        if not found.users:
            del _holds[found.identity]
            for descriptor in found.descriptors:
                os.close(descriptor)


def find_open_database(path: PathLike) -> OpenFile | None:
    """The hold of a file that is open as a database: to open it by other means would cost the database its locks."""
    try:
        identity = file_identity(os.stat(path))
    except OSError:
        return None
    with _lock:
        _tidy()
        found = _holds.get(identity)
    return found if found is not None and found.database else None


def refuse_open_database(path: PathLike) -> None:
    """A `ValueError` for data in a ledger that is open, before a library reads it that knows nothing of locks."""
    if find_open_database(path) is not None:
        raise ValueError(f"data must not be in a ledger that is open, got {path}; give another name")


def _in_child() -> None:
    for found in _holds.values():
        found.inherited = found.inherited or found.database
    _lock.release()


if hasattr(os, "register_at_fork"):  # no other thread may be in the middle of it when a child begins
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_child)


def file_identity(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def iter_chunks(path: PathLike, size: int = CHUNK) -> Generator[bytes, None, None]:
    """The content of a file, part by part."""
    path = os.fspath(path)  # errors name it
    if not stat.S_ISREG(os.stat(path).st_mode) or not hasattr(os, "pread"):
        with open(path, "rb") as file:  # a pipe has no places to read at, and no locks
            while part := file.read(size):
                yield part
        return
    with _holding(path) as descriptor:
        place = 0
        while part := os.pread(descriptor, size, place):
            yield part
            place += len(part)


def read_start(path: PathLike, size: int) -> bytes:
    """The first bytes of a file; fewer where it has fewer."""
    with closing(iter_chunks(path, size)) as parts:
        return next(parts, b"")


def hash_file(path: PathLike) -> str:
    """The SHA-256 of a file's content."""
    found = hashlib.sha256()
    for part in iter_chunks(path):
        found.update(part)
    return found.hexdigest()


@contextmanager
def _holding(path: PathLike) -> Iterator[int]:
    found = acquire(path)
    try:
        yield found.descriptors[0]
    finally:
        release(found)

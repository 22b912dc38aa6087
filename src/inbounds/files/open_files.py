"""Reading files without breaking the locks of an SQLite database that this process has open.

POSIX drops all locks of a process on a file as soon as the process closes any descriptor of it. SQLite knows only its
own descriptors and does not notice; another process may then delete the log of the database (SQLite's documentation,
"How To Corrupt An SQLite Database File", 2.2). So each file has one shared descriptor here. It is closed when the last
reader and the last database have released it.
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
"""Device and inode: they identify a file whatever its name."""

CHUNK = 1 << 20
"""Bytes read at a time."""


@dataclass
class OpenFile:
    """An open file, its descriptors and the number of its users.

    There is one descriptor, unless the file was renamed between two calls. database: SQLite has the file open in this
    process. inherited: SQLite had it open in the parent before a fork; the child has no locks, but SQLite in the child
    behaves as if it had.
    """

    identity: Identity
    descriptors: list[int] = field(default_factory=list)
    users: int = 0
    database: bool = False
    inherited: bool = False


_open_files: dict[Identity, OpenFile] = {}
_released: list[OpenFile] = []
_lock = threading.RLock()


def acquire(path: PathLike, *, database: bool = False) -> OpenFile:
    """Keep a file open until `release` is called. database: SQLite is about to open it."""
    with _lock:
        _close_unused()
        file = _open_files.get(file_identity(os.stat(path)))
        if file is None:
            descriptor = os.open(path, os.O_RDONLY)
            identity = file_identity(os.fstat(descriptor))
            file = _open_files.setdefault(identity, OpenFile(identity))
            file.descriptors.append(descriptor)
        file.users, file.database = file.users + 1, file.database or database
        return file


def release(file: OpenFile) -> None:
    """End one `acquire`; close the file after the last one."""
    release_later(file)
    with _lock:
        _close_unused()


def release_later(file: OpenFile) -> None:
    """Release at the next call of this module. Safe in finalizers, which may run while the lock is held."""
    _released.append(file)


def _close_unused() -> None:
    while _released:
        file = _released.pop()
        file.users -= 1
        if not file.users:
            del _open_files[file.identity]
            for descriptor in file.descriptors:
                os.close(descriptor)


def find_open_database(path: PathLike) -> OpenFile | None:
    """Return the open file if SQLite has this path open in this process, else None.

    Opening and closing such a file by other means would drop the locks of the database.
    """
    try:
        identity = file_identity(os.stat(path))
    except OSError:
        return None
    with _lock:
        _close_unused()
        file = _open_files.get(identity)
    return file if file is not None and file.database else None


def refuse_open_database(path: PathLike) -> None:
    """Raise `ValueError` if the data file is an open ledger: other libraries would read it and drop its locks."""
    if find_open_database(path) is not None:
        raise ValueError(f"data must not be an open ledger, got {path}; give another file")


def _mark_inherited() -> None:
    for file in _open_files.values():
        file.inherited = file.inherited or file.database
    _lock.release()


if hasattr(os, "register_at_fork"):  # hold the lock during a fork, so that the child starts in a consistent state
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_mark_inherited)


def file_identity(status: os.stat_result) -> Identity:
    """Return device and inode of a file from its status."""
    return status.st_dev, status.st_ino


def iter_chunks(path: PathLike, size: int = CHUNK) -> Generator[bytes, None, None]:
    """Yield the content of a file in chunks of at most `size` bytes."""
    path = os.fspath(path)  # errors then show it as text
    if not stat.S_ISREG(os.stat(path).st_mode) or not hasattr(os, "pread"):
        with open(path, "rb") as file:  # a pipe has no offsets, and no locks
            while chunk := file.read(size):
                yield chunk
        return
    with _open_descriptor(path) as descriptor:
        offset = 0
        while chunk := os.pread(descriptor, size, offset):
            yield chunk
            offset += len(chunk)


def read_start(path: PathLike, size: int) -> bytes:
    """Return the first `size` bytes of a file, or fewer if it is shorter."""
    with closing(iter_chunks(path, size)) as chunks:
        return next(chunks, b"")


def hash_file(path: PathLike) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    for chunk in iter_chunks(path):
        digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def _open_descriptor(path: PathLike) -> Iterator[int]:
    file = acquire(path)
    try:
        yield file.descriptors[0]
    finally:
        release(file)

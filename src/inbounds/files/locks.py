"""A lock for reading, changing and writing a file again, across threads and processes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def file_lock(target: Path) -> Iterator[None]:
    """Hold an exclusive lock for a target; wait until it is free.

    The lock is on a file beside the target, because writing replaces the target itself. The lock file is not deleted.
    Every call opens the lock file again, so threads exclude each other as processes do. The system frees the lock when
    a process dies.
    """
    real = Path(os.path.realpath(target))
    descriptor = os.open(real.with_name(f".{real.name}.lock"), os.O_CREAT | os.O_RDWR, 0o666)
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

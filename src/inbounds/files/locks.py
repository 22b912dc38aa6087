"""One at a time: whoever reads a file, changes it and writes it again, among all threads and processes."""

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
    """Alone with the target, by a lock on a file beside it, which stays: the target itself is replaced when written.

    Every call opens that file anew, so threads wait for each other as processes do; the system lets go for those
    that die.
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

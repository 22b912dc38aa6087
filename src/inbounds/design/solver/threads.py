"""One thread for linear algebra, so that a design has the same bits on every machine."""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Limit all loaded linear algebra libraries to one thread within a `with` block, so that sums have one order."""
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """Find the linear algebra libraries."""
    import scipy.linalg  # noqa: F401  # loads its own library, which must be found too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()

"""One thread for linear algebra, so that a design has the same bits however many a machine would use."""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Within it every library of linear algebra that is loaded works on one thread: sums have one order."""
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  # brings its own library, which must be there to be found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()

"""Libraries that only some need, imported when they are first used."""

from importlib import import_module
from typing import Any


def library(name: str, extra: str) -> Any:
    """The module `name`, or an `ImportError` that says which extra brings it."""
    try:
        return import_module(name)
    except ImportError as missing:
        raise ImportError(
            f"{name.partition('.')[0]} is needed here: pip install 'inbounds[{extra}]'", name=name
        ) from missing

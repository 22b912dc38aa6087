"""Import optional libraries when they are first used, and name the extra that installs them."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any


def import_optional(name: str, extra: str) -> Any:
    """Import the module `name`; the `ImportError` names the extra that installs it, or says why it does not load."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"{name.partition('.')[0]} is needed here: pip install 'inbounds[{extra}]'", name=name
        ) from missing
    except ImportError as broken:
        raise ImportError(f"{name} is installed but does not load here: {broken}", name=name) from broken


def to_pandas_frame(content: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Any:
    """Convert rows, or columns by name, to a pandas DataFrame."""
    return import_optional("pandas", "frames").DataFrame(content)


def to_polars_frame(content: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Any:
    """Convert rows, or columns by name, to a Polars DataFrame; column types are inferred from all rows."""
    return import_optional("polars", "frames").DataFrame(content, infer_schema_length=None)

"""The rows of a released table in the order for readers: each part after its whole."""

from typing import Any

import numpy as np

from inbounds.exact import Ints
from inbounds.schema.record_types import ReleaseRecord


def sort_rows(record: ReleaseRecord, table: Any) -> Ints:
    """Return the places of the rows, each part after its whole; of a table without levels as they are."""
    if "hierarchy" not in record["plan"]:
        return np.arange(table.num_rows)
    paths = row_paths(record, table)
    place = {path: row for row, path in enumerate(paths)}
    rows = sorted(place.values(), key=lambda row: [place[above] for above in _wholes(paths[row]) if above in place])
    return np.array(rows, dtype=np.int64)


def row_paths(record: ReleaseRecord, table: Any) -> list[tuple[str, ...]]:
    """Return for every row its keys from the top level down."""
    levels = [name for name in record["plan"]["hierarchy"]["levels"] if name in record["plan"]["by"]]
    columns = [table[name].to_pylist() for name in levels]
    return [tuple(key for key in row if key is not None) for row in zip(*columns, strict=True)]


def _wholes(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the paths of all groups together, of every whole that a path is part of, and its own."""
    return [path[:depth] for depth in range(len(path) + 1)]

"""Places whose coordinates are separate columns: the coordinates of a row are drawn together, once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.local.client import Randomizer
from inbounds.mechanism import Mechanism
from inbounds.trusted.samplers import BLOCK


def need_axes(mechanism: Mechanism, columns: Sequence[str]) -> None:
    """Refuse columns that are not one for each coordinate of the mechanism's places."""
    places = mechanism.query.places
    if places is None or len(columns) != len(places[0]) or len(set(columns)) < len(columns):
        raise ValueError(
            f"column must name one column, or for places one for each coordinate, got {len(columns)}; "
            "answers of this mechanism have "
            + ("no coordinates" if places is None else f"{len(places[0])} coordinates each")
        )


def kind(mechanism: Mechanism) -> str:
    """Return the numpy kind of reported coordinates: "i" if all are whole, otherwise "f"."""
    whole = all(number.denominator == 1 for place in mechanism.query.places or () for number in place)
    return "i" if whole else "f"


def draw_coordinates(client: Randomizer, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Draw the coordinates of reports, one row for each row of the columns; block by block, like `Randomizer.array`."""
    reports = np.empty((len(columns[0]), len(columns)), dtype=np.int64 if kind(client.mechanism) == "i" else np.float64)
    for start in range(0, len(reports), BLOCK):
        block = slice(start, start + BLOCK)
        reports[block] = client.array(np.stack([column[block] for column in columns], axis=1))
    return reports


def draw_names(client: Randomizer, columns: Sequence[NDArray[Any]]) -> list[str]:
    """Draw the names of reported places."""
    query, reports = client.mechanism.query, draw_coordinates(client, columns)
    labels = query.labels or ()
    return [labels[j] for j in query.encode(reports).tolist()] if len(reports) else []

"""Answers with coordinates: the cells of a map, pairs of counts, histograms."""

from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.exact import Floats, Ints

FARTHEST_COORDINATE = 1 << 52
"""An upper bound on coordinates: every integer below it is exact as a float."""

PlaceTuples = tuple[tuple[Fraction, ...], ...]


def format_place(place: tuple[Fraction, ...]) -> str:
    """Write the coordinates with commas: the label of the place.

    >>> format_place((Fraction(3), Fraction(1, 2)))
    '3,1/2'
    """
    return ",".join(map(str, place))


def check_places(places: PlaceTuples, labels: tuple[str, ...]) -> None:
    """Raise unless the places have plain types and one dimension, differ as floats, and match their labels."""
    if type(places) is not tuple or any(type(place) is not tuple for place in places):
        raise TypeError("places must be a tuple of tuples of Fractions")
    if any(type(number) is not Fraction for place in places for number in place):
        raise TypeError("places must be a tuple of tuples of Fractions")
    if len({len(place) for place in places}) != 1 or not places[0]:
        raise ValueError("places must all have the same number of coordinates, at least one")
    if any(abs(number) >= FARTHEST_COORDINATE for place in places for number in place):
        raise ValueError("coordinates must be below 2**52 in size; use a larger unit")
    if len({tuple(map(float, place)) for place in places}) < len(places):
        raise ValueError("places must differ by more than the rounding of floats")
    if tuple(map(format_place, places)) != labels:
        raise ValueError("places must be called by their coordinates")


def take_places(places: PlaceTuples, positions: Ints) -> Any:
    """Return the places at these positions: one as a tuple, several as an array with coordinates along the last axis.

    The numbers are ints if all coordinates are whole, else floats.
    """
    kind = np.int64 if all(number.denominator == 1 for place in places for number in place) else np.float64
    table = np.array([[kind(number) for number in place] for place in places])
    return tuple(table[positions].tolist()) if positions.ndim == 0 else table[positions]


def find_map_axes(coordinates: Floats | None) -> tuple[Floats, Floats] | None:
    """Return the coordinates of the rows and columns of a full map in reading order; None for other answers."""
    if coordinates is None or coordinates.shape[1] != 2:
        return None
    rows, columns = np.unique(coordinates[:, 0]), np.unique(coordinates[:, 1])
    full_map = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    return (rows, columns) if np.array_equal(coordinates, full_map) else None

"""Where true answers lie among the possible ones: positions in their shape, -1 for what is none of them.

No message here repeats an answer.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints, float_above
from inbounds.extent import MOST_STEPS
from inbounds.scale import Scale

ON_GRID = 1e-6
"""A numeric answer may miss its grid point by this share of a step: 1/3 arrives as 0.3333333333333333."""


def among(labels: Sequence[str], given: NDArray[Any]) -> Ints:
    """Positions of labels."""
    place = {label: j for j, label in enumerate(labels)}
    flat = [place.get(label, -1) if isinstance(label, str) else -1 for label in given.ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(given.shape)


def on_grid(scale: Scale, given: NDArray[Any]) -> Ints:
    """The nearest grid point, -1 when none is within ON_GRID of a step."""
    if given.dtype.kind in "iu" and scale.start.denominator == 1 and scale.unit == 1:
        inside = (given >= int(scale[0])) & (given <= int(scale[-1]))
        ticks = np.where(inside, given, 0).astype(np.int64) - int(scale.start)
        return _positions(scale, np.where(inside, ticks, -1))
    if 2 * np.spacing(max(abs(float(scale[0])), abs(float(scale[-1])))) > float(scale.unit):
        raise ValueError("these answers are closer together than floats can tell; shift the range towards zero")
    steps = (_floats(given) - float(scale.start)) / float(scale.unit)
    nearest = np.rint(steps)
    with np.errstate(invalid="ignore"):
        hit = (np.abs(steps - nearest) <= ON_GRID) & (np.abs(nearest) < 2**53)
    return _positions(scale, np.where(hit, nearest, -1).astype(np.int64))


def in_cells(scale: Scale, given: NDArray[Any]) -> Ints:
    """Exact floor onto the cells: float edges rounded up make `value >= edge` exact for float values.

    Neighbouring answers must never land further apart than the reach, so no tolerance here, and what is
    not a float is compared as the fraction it is.
    """
    values = _floats(given)
    far = np.abs(values).max(initial=0.0) > 2**53
    if given.dtype.kind not in "iuf" or given.dtype.itemsize > 8 or far or scale.ticks[-1] > MOST_STEPS:
        return _positions(scale, _exact_ticks(scale, given, values))
    edges = _edges(scale)
    ticks = np.searchsorted(edges, values, side="right").astype(np.int64) - 1
    last = len(edges) - 2
    closed = _float_below(scale[-1] + scale.unit / 2)
    ticks = np.where((ticks == last + 1) & (values <= closed), last, ticks)
    return _positions(scale, np.where(np.isfinite(values) & (ticks <= last), ticks, -1))


def _exact_ticks(scale: Scale, given: NDArray[Any], values: Floats) -> Ints:
    low, last = scale.start - scale.unit / 2, scale.ticks[-1]

    def tick(value: Any) -> int:
        steps = (_fraction(value) - low) / scale.unit
        return last if steps == last + 1 else math.floor(steps) if 0 <= steps < last + 1 else -1

    pairs = zip(given.ravel().tolist(), np.isfinite(values).ravel().tolist(), strict=True)
    return np.array([tick(v) if finite else -1 for v, finite in pairs], dtype=np.int64).reshape(given.shape)


@lru_cache(maxsize=16)
def _edges(scale: Scale) -> Floats:
    low = scale.start - scale.unit / 2
    return np.array([float_above(low + scale.unit * tick) for tick in range(scale.ticks[-1] + 2)])


def _positions(scale: Scale, ticks: Ints) -> Ints:
    """Positions of whole ticks among the answers, -1 for a tick that is none."""
    known = scale.ticks
    if isinstance(known, range) and known.step == 1:
        return np.where((ticks >= 0) & (ticks < len(known)), ticks, -1)
    table = np.asarray(known, dtype=np.int64)
    place = np.searchsorted(table, ticks).clip(max=len(table) - 1)
    return np.where(table[place] == ticks, place, -1)


def _floats(given: NDArray[Any]) -> Floats:
    try:
        if given.dtype.kind in "USmMVbc":
            raise TypeError
        with np.errstate(over="ignore"):
            return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise TypeError("true answers must be numbers")


def _fraction(value: Any) -> Fraction:
    """A number as the fraction it is; whatever only knows how to become a float counts as that float."""
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    return Fraction(*(value if hasattr(value, "as_integer_ratio") else float(value)).as_integer_ratio())


def _float_below(value: Fraction) -> float:
    return -float_above(-value)

"""What callers and engines hand over, as arrays of exact numbers.

An array that comes out has dtype int64, uint64 or float64, or holds Python objects that `fraction` reads one by one.
A float is the binary number it is; whole numbers never pass through floats. No message repeats a value.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.numbers import written

NO_NUMBERS = "true answers must be numbers"
FINEST = 10_000
"""Decimals whose last digit lies further from the point than this are no answers: their fractions fill the memory."""

_COLUMNS = {
    ("pyarrow", "Array"): "arrow",
    ("pyarrow", "ChunkedArray"): "arrow",
    ("polars", "Series"): "polars",
    ("pandas", "Series"): "pandas",
}


def kind_of(values: Any) -> str | None:
    """Which table engine a column belongs to, None for plain Python and NumPy; no engine is imported to find out."""
    for base in type(values).__mro__:
        found = _COLUMNS.get((base.__module__.partition(".")[0], base.__name__))
        if found:
            return found
    return None


def as_array(kind: str, column: Any) -> NDArray[Any]:
    """The values of a column, which must not have missing ones: engines turn columns with gaps into floats."""
    if _missing(kind, column):
        raise ValueError("values must not be missing; fill them, or declare a value or label for them")
    if kind == "arrow" and type(column).__name__ != "ChunkedArray":
        found = column.to_numpy(zero_copy_only=False)
    else:
        found = column.to_numpy()
    values = np.asarray(found)
    decimals = values.dtype.kind == "f" and "ecimal" in str(getattr(column, "dtype", ""))
    return np.array(column.to_list(), dtype=object) if decimals else values


def _missing(kind: str, column: Any) -> int:
    if kind == "pandas":
        return int(column.isna().sum())
    return int(column.null_count() if kind == "polars" else column.null_count)


def read(answers: Any) -> NDArray[Any]:
    """An array of numbers, in the shape of what was given; `float_type` says how coarse its floats were."""
    kind = kind_of(answers)
    if kind is not None:
        return as_array(kind, answers)
    if isinstance(answers, np.ndarray | np.generic) or hasattr(answers, "__array__"):
        return np.asarray(answers)
    given = _objects(answers)
    if given is None:
        raise TypeError(NO_NUMBERS)
    return _narrowed(given)


def _objects(answers: Any) -> NDArray[Any] | None:
    """As they are: in a list of ints and floats the ints must not become floats. None for a ragged list."""
    try:
        return np.array(answers, dtype=object)
    except ValueError:
        return None


def _narrowed(given: NDArray[Any]) -> NDArray[Any]:
    """Objects of one plain type as an array of that type, where nothing is lost."""
    types = set(map(type, given.ravel().tolist()))
    try:
        if types == {int}:
            return given.astype(np.int64)
        if types == {str}:
            return given.astype(np.str_)
    except OverflowError:
        pass
    return given.astype(np.float64) if types == {float} else given


def numbers(given: NDArray[Any]) -> NDArray[Any]:
    """The same as int64, uint64, float64, or objects; `TypeError` for what holds no numbers."""
    kind, size = given.dtype.kind, given.dtype.itemsize
    if kind == "i":
        return given.astype(np.int64, copy=False)
    if kind == "u":
        return given.astype(np.uint64, copy=False)
    if kind == "f" and size <= 8:
        return given.astype(np.float64, copy=False)
    if kind in "OfU":
        return given.astype(object)
    raise TypeError(NO_NUMBERS)


def float_type(given: NDArray[Any]) -> type[np.floating[Any]] | None:
    """The coarsest type of float in an array, None where there are none."""
    if given.dtype.kind == "f":
        return np.float64 if given.dtype.itemsize >= 8 else given.dtype.type
    if given.dtype.kind != "O":
        return None
    found = {type(value) for value in given.ravel().tolist()}
    floats = [kind for kind in found if issubclass(kind, float | np.floating)]
    return max((_rounded_type(kind) for kind in floats), key=lambda kind: np.finfo(kind).eps, default=None)


def _rounded_type(kind: type) -> type[np.floating[Any]]:
    return kind if issubclass(kind, np.float16 | np.float32) else np.float64


def fraction(value: Any) -> Fraction | None:
    """A number as the fraction it is, None for what is missing or infinite.

    What only knows how to become a float counts as that float.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_ | bytes | complex | np.complexfloating):
        raise TypeError(NO_NUMBERS)
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if value is None:
        return None
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio()) if np.isfinite(value) else None
    found = written(value) if isinstance(value, str) else _ratio(value)
    if found is None:
        raise TypeError(NO_NUMBERS)  # outside any handler: an error's context would repeat the value
    return found


def _ratio(value: Any) -> Fraction | None:
    try:
        plain = value if hasattr(value, "as_integer_ratio") else float(value)
        return Fraction(*plain.as_integer_ratio())
    except (OverflowError, TypeError, ValueError):
        return None


def _decimal(value: Decimal) -> Fraction | None:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > FINEST:
        return None
    return Fraction(value)


def sign_of_infinity(value: Any) -> int:
    """1 or -1 for a number beyond every range, 0 otherwise: what clipping needs to know."""
    if isinstance(value, Decimal) and value.is_finite():
        return (-1 if value.is_signed() else 1) if value.adjusted() > 0 else 0
    if isinstance(value, Decimal | float | np.floating) and math.isinf(value):
        return 1 if value > 0 else -1
    return 0

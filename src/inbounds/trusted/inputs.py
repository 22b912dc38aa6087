"""Conversion of what callers and table engines pass in to arrays of exact numbers.

The arrays have dtype int64, uint64 or float64, or hold objects that `exact_value` reads one by one. A float means its
exact binary value. Whole numbers never pass through floats. The precision of the floats is remembered
(`find_float_type`). No message repeats a value, and no error is chained to one that does. `positions` uses this module.
"""

import math
import operator
import re
from array import array
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import parse_exact

NO_NUMBERS = "true answers must be numbers"
ONE_COLUMN = "true answers must be one column, got a table; choose a column of it"
MISSING = "values must not be missing; fill them, or declare a value or label for them"

FINEST = 10_000
"""Digits after the point that are read; finer decimals are rounded down, which keeps their order."""

LONGEST = 2 * FINEST
"""The most characters of a number given as text."""

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?")

_COLUMNS = {
    ("pyarrow", "Array"): "arrow",
    ("pyarrow", "ChunkedArray"): "arrow",
    ("polars", "Series"): "polars",
    ("pandas", "Series"): "pandas",
}
_TABLES = {
    *(("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame")),
    *(("polars", "DataFrame"), ("polars", "LazyFrame")),
}
_PLAIN: dict[type, type[np.generic]] = {int: np.int64, float: np.float64}
"""The dtype of a list whose values all have the same one of these types."""

_ARROW_FLOATS: dict[str, type[np.floating[Any]]] = {"float": np.float32, "halffloat": np.float16}


def detect_kind(values: Any) -> str | None:
    """Return the table engine of a column, None for plain Python and NumPy. No engine is imported."""
    for base in type(values).__mro__:
        engine = _COLUMNS.get((base.__module__.partition(".")[0], base.__name__))
        if engine:
            return engine
    return None


def as_array(kind: str, column: Any) -> NDArray[Any]:
    """Return the values of a column as a NumPy array; refuse missing values, since engines turn them into floats."""
    if _missing(kind, column):
        raise ValueError(MISSING)
    values = _attempt(_as_numpy, column)
    if values is None:
        raise TypeError(NO_NUMBERS)
    return np.asarray(values)


def _as_numpy(column: Any) -> NDArray[Any]:
    plain = type(column).__module__.startswith("pyarrow") and type(column).__name__ != "ChunkedArray"
    values = np.asarray(column.to_numpy(zero_copy_only=False) if plain else column.to_numpy())
    decimals = values.dtype.kind == "f" and "ecimal" in str(getattr(column, "dtype", ""))
    return np.array(column.to_list(), dtype=object) if decimals else values


def _missing(kind: str, column: Any) -> int:
    if kind == "pandas":
        return int(column.isna().sum())
    return int(column.null_count() if kind == "polars" else column.null_count)


def _attempt(read_it: Callable[[Any], Any], value: Any) -> Any:
    """Apply `read_it` to a foreign object; return None if it fails, because its own error may repeat what it holds."""
    try:
        return read_it(value)
    except Exception:
        return None


def read_array(answers: Any) -> NDArray[Any]:
    """Return an array with the shape and types of the input."""
    if type(answers) is np.ndarray:
        return answers
    if type(answers) is int and -(1 << 63) <= answers < 1 << 63:  # one person's value: a shortcut
        return np.array(answers)
    kind = detect_kind(answers)
    if kind is not None:
        return as_array(kind, answers)
    if any((base.__module__.partition(".")[0], base.__name__) in _TABLES for base in type(answers).__mro__):
        raise TypeError(ONE_COLUMN)
    if isinstance(answers, np.ma.MaskedArray):
        raise ValueError(MISSING)
    if isinstance(answers, array | memoryview | np.ndarray | np.generic) or hasattr(answers, "__array__"):
        values = _attempt(np.asarray, answers)
    else:
        values = _attempt(_objects, answers)
    if values is None:
        raise TypeError(NO_NUMBERS)
    return np.asarray(values)


def _objects(answers: Any) -> NDArray[Any]:
    """Convert lists to an array of objects, so that ints among floats stay ints and short floats stay short.

    A plain list of ints or of floats becomes the array that `_narrow` makes of its objects, without them.
    """
    kind = type(answers[0]) if type(answers) in (list, tuple) and answers else object
    plain = _PLAIN.get(kind)
    if plain is not None and operator.countOf(map(type, answers), kind) < len(answers):
        plain = None
    fitting = None if plain is None else _attempt(partial(np.array, dtype=plain), answers)
    return _narrow(np.array(_to_lists(answers), dtype=object)) if fitting is None else fitting


def _narrow(objects: NDArray[Any]) -> NDArray[Any]:
    """Convert objects to int64 if all are ints that fit, to float64 if all are floats; otherwise leave them."""
    types = set(map(type, objects.ravel().tolist()))
    if types == {int}:
        fitting = _attempt(lambda values: values.astype(np.int64), objects)
        return objects if fitting is None else fitting
    return objects.astype(np.float64) if types == {float} else objects


def read_records(values: Any) -> NDArray[Any]:
    """Return the records of a group one by one: a number as it is, None for anything else.

    Only the container is refused, by its type: a table, a single value, an array that holds no numbers. Whether a group
    is answered never depends on one record.
    """
    kind = detect_kind(values)
    if kind is not None and getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "f"):
        return np.asarray(values.to_numpy())
    if kind is not None:
        items = values.to_pylist() if kind == "arrow" else values.to_list()
    elif isinstance(values, list | tuple):
        items = list(values)
    elif isinstance(values, np.ma.MaskedArray):
        items = values.ravel().tolist()
    else:
        numbers = read_numbers(read_array(values))
        if numbers.ndim == 0:
            raise TypeError("values must be a list, an array or a column of numbers")
        if numbers.dtype.kind != "O":
            return numbers
        items = numbers.ravel().tolist()
    narrowed = _narrow(np.fromiter(items, dtype=object, count=len(items)))
    return narrowed if narrowed.dtype.kind != "O" else np.fromiter(map(_number_or_none, items), object, len(items))


def _number_or_none(value: Any) -> Any:
    try:
        exact_value(value)
    except Exception:  # one record must not decide whether a group is answered
        return None
    return value


def _to_lists(answers: Any) -> Any:
    """Convert to nested lists; arrays and columns inside become lists of their scalars."""
    if isinstance(answers, list | tuple):
        return [_to_lists(value) for value in answers]
    if isinstance(answers, str | bytes | np.generic) or not (
        isinstance(answers, array | memoryview) or hasattr(answers, "__array__")
    ):
        return answers
    values = read_array(answers)
    return values[()] if values.ndim == 0 else [_to_lists(value) for value in values]


def read_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Convert to int64, uint64, float64, or objects; raise `TypeError` for an array that holds no numbers."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "i":
        return values.astype(np.int64, copy=False)
    if kind == "u":
        return values.astype(np.uint64, copy=False)
    if kind == "f" and size <= 8:
        return values.astype(np.float64, copy=False)
    if kind in "OfU":
        return values.astype(object)
    raise TypeError(NO_NUMBERS)


def find_float_type(values: NDArray[Any]) -> type[np.floating[Any]] | None:
    """Return the coarsest type of float in an array, None if there are no floats."""
    if values.dtype.kind == "f":
        return np.float64 if values.dtype.itemsize >= 8 else values.dtype.type
    if values.dtype.kind != "O":
        return None
    floats = [kind for kind in map(_value_float_type, values.ravel().tolist()) if kind is not None]
    return max(set(floats), key=lambda kind: np.finfo(kind).eps, default=None)


def _value_float_type(value: Any) -> type[np.floating[Any]] | None:
    """Return the float type that a number has, or that it is converted through; None if neither."""
    if isinstance(value, np.float16 | np.float32):
        return np.float16 if isinstance(value, np.float16) else np.float32
    if isinstance(value, float | np.floating):
        return np.float64
    if isinstance(value, int | np.integer | str | Rational | Decimal | None):
        return None
    if hasattr(value, "as_py"):
        return _ARROW_FLOATS.get(str(value.type), np.float64 if isinstance(value.as_py(), float) else None)
    return None if hasattr(value, "__index__") else np.float64


def exact_value(value: Any) -> Fraction | None:
    """Return a number as an exact fraction, None for a missing or infinite one.

    A value that can only be converted to a float counts as that float.
    """
    if isinstance(value, bool | np.bool_ | bytes | complex | np.complexfloating):
        raise TypeError(NO_NUMBERS)
    if value is None:
        return None
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return None
    if isinstance(value, Decimal):
        return _decimal(value)
    if hasattr(value, "as_py"):
        return exact_value(value.as_py())
    number = _text(value) if isinstance(value, str) else _attempt(_ratio, value)
    if number is None:
        raise TypeError(NO_NUMBERS)  # outside any handler: an error's context would repeat the value
    return number if isinstance(number, Fraction) else exact_value(number)


def _ratio(value: Any) -> Fraction:
    """Return the exact number, by the most exact conversion that its type offers."""
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if hasattr(value, "__index__"):
        return Fraction(operator.index(value))
    plain = value if hasattr(value, "as_integer_ratio") else float(value)
    return Fraction(*plain.as_integer_ratio())


def _text(value: str) -> Any:
    plain = value.strip()
    if len(plain) <= LONGEST and _DECIMAL.fullmatch(plain):
        return Decimal(plain)
    return parse_exact(plain)


def _decimal(value: Decimal) -> Fraction | None:
    if not value.is_finite() or (value and value.adjusted() > FINEST):
        return None
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if not value or exponent >= -FINEST:
        return Fraction(value) if value else Fraction(0)
    exactly = Context(prec=max(1, value.adjusted() + FINEST + 2), Emin=MIN_EMIN, Emax=MAX_EMAX, rounding=ROUND_FLOOR)
    return Fraction(value.quantize(Decimal(1).scaleb(-FINEST, exactly), context=exactly))


def infinity_sign(value: Any) -> int:
    """Return 1 or -1 for a number beyond every range, else 0; clipping needs the sign."""
    if isinstance(value, Decimal):
        is_infinite = value.is_infinite() or (value.is_finite() and value and value.adjusted() > FINEST)
        return (-1 if value.is_signed() else 1) if is_infinite else 0
    if isinstance(value, str):
        number = _text(value)
        return infinity_sign(number) if isinstance(number, Decimal) else 0
    if isinstance(value, float | np.floating) and math.isinf(value):
        return 1 if value > 0 else -1
    return infinity_sign(value.as_py()) if hasattr(value, "as_py") else 0

"""What callers and engines hand over, as arrays of exact numbers.

An array that comes out has dtype int64, uint64 or float64, or holds objects that `exact_value` reads one by one. A
float
is the binary number it is; whole numbers never pass through floats; how coarse the floats were is not forgotten. No
message repeats a value, and no error has one that does behind it.
"""

import math
import operator
import re
from array import array
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import format_exact

NO_NUMBERS = "true answers must be numbers"
ONE_COLUMN = "true answers must be one column, got a table; choose a column of it"
MISSING = "values must not be missing; fill them, or declare a value or label for them"

FINEST = 10_000
"""Digits behind the point that are read; finer decimals are rounded down, which keeps their order."""

LONGEST = 2 * FINEST
"""Characters of a number in text."""

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
_ARROW_FLOATS: dict[str, type[np.floating[Any]]] = {"float": np.float32, "halffloat": np.float16}


def detect_kind(values: Any) -> str | None:
    """Which table engine a column belongs to, None for plain Python and NumPy; no engine is imported to find out."""
    for base in type(values).__mro__:
        found = _COLUMNS.get((base.__module__.partition(".")[0], base.__name__))
        if found:
            return found
    return None


def as_array(kind: str, column: Any) -> NDArray[Any]:
    """The values of a column, which must not have missing ones: engines turn columns with gaps into floats."""
    if _missing(kind, column):
        raise ValueError(MISSING)
    found = _attempt(_as_numpy, column)
    if found is None:
        raise TypeError(NO_NUMBERS)
    return np.asarray(found)


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
    """What a foreign object gives, None where it fails: its own error may repeat what it holds."""
    try:
        return read_it(value)
    except Exception:
        return None


def read_array(answers: Any) -> NDArray[Any]:
    """An array in the shape of what was given, its types as they were."""
    if type(answers) is np.ndarray:
        return answers
    if type(answers) is int and -(1 << 63) <= answers < 1 << 63:  # one person's value: no need to ask what holds it
        return np.array(answers)
    kind = detect_kind(answers)
    if kind is not None:
        return as_array(kind, answers)
    if any((base.__module__.partition(".")[0], base.__name__) in _TABLES for base in type(answers).__mro__):
        raise TypeError(ONE_COLUMN)
    if isinstance(answers, np.ma.MaskedArray):
        raise ValueError(MISSING)
    if isinstance(answers, array | memoryview | np.ndarray | np.generic) or hasattr(answers, "__array__"):
        found = _attempt(np.asarray, answers)
    else:
        found = _attempt(_objects, answers)
    if found is None:
        raise TypeError(NO_NUMBERS)
    return np.asarray(found)


def _objects(answers: Any) -> NDArray[Any]:
    """As they are: in a list of ints and floats the ints must not become floats, nor short floats long ones."""
    return _narrow(np.array(_to_lists(answers), dtype=object))


def _narrow(given: NDArray[Any]) -> NDArray[Any]:
    """Objects as int64 where all are ints that fit, as float64 where all are floats, else as they are."""
    types = set(map(type, given.ravel().tolist()))
    if types == {int}:
        fitting = _attempt(lambda values: values.astype(np.int64), given)
        return given if fitting is None else fitting
    return given.astype(np.float64) if types == {float} else given


def read_records(values: Any) -> NDArray[Any]:
    """Records of a group, one by one: a number as it is, None for whatever is none.

    Only what holds them is refused, by its type: a table, a single value, an array of no numbers.
    """
    kind = detect_kind(values)
    if kind is not None and getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "f"):
        return np.asarray(values.to_numpy())
    if kind is not None:
        listed = values.to_pylist() if kind == "arrow" else values.to_list()
    elif isinstance(values, list | tuple):
        listed = list(values)
    elif isinstance(values, np.ma.MaskedArray):
        listed = values.ravel().tolist()
    else:
        given = read_numbers(read_array(values))
        if given.ndim == 0:
            raise TypeError("values must be a list, an array or a column of numbers")
        if given.dtype.kind != "O":
            return given
        listed = given.ravel().tolist()
    found = _narrow(np.fromiter(listed, dtype=object, count=len(listed)))
    return found if found.dtype.kind != "O" else np.fromiter(map(_number_or_none, listed), object, len(listed))


def _number_or_none(value: Any) -> Any:
    try:
        exact_value(value)
    except Exception:  # whatever it is, one record must not decide whether a group is answered
        return None
    return value


def _to_lists(answers: Any) -> Any:
    """Lists of lists; arrays and columns among them as lists of their own scalars."""
    if isinstance(answers, list | tuple):
        return [_to_lists(value) for value in answers]
    if isinstance(answers, str | bytes | np.generic) or not (
        isinstance(answers, array | memoryview) or hasattr(answers, "__array__")
    ):
        return answers
    values = read_array(answers)
    return values[()] if values.ndim == 0 else [_to_lists(value) for value in values]


def read_numbers(given: NDArray[Any]) -> NDArray[Any]:
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


def find_float_type(given: NDArray[Any]) -> type[np.floating[Any]] | None:
    """The coarsest type of float in an array, None where there are none."""
    if given.dtype.kind == "f":
        return np.float64 if given.dtype.itemsize >= 8 else given.dtype.type
    if given.dtype.kind != "O":
        return None
    floats = [kind for kind in map(_value_float_type, given.ravel().tolist()) if kind is not None]
    return max(set(floats), key=lambda kind: np.finfo(kind).eps, default=None)


def _value_float_type(value: Any) -> type[np.floating[Any]] | None:
    """The type of float that a number is, or passes through."""
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
    """A number as the fraction it is, None for what is missing or infinite.

    What only knows how to become a float counts as that float.
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
    found = _text(value) if isinstance(value, str) else _attempt(_ratio, value)
    if found is None:
        raise TypeError(NO_NUMBERS)  # outside any handler: an error's context would repeat the value
    return found if isinstance(found, Fraction) else exact_value(found)


def _ratio(value: Any) -> Fraction:
    """The exact number, by the most exact way that its type knows."""
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
    return format_exact(plain)


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
    """1 or -1 for a number beyond every range, 0 otherwise: what clipping needs to know."""
    if isinstance(value, Decimal):
        beyond = value.is_infinite() or (value.is_finite() and value and value.adjusted() > FINEST)
        return (-1 if value.is_signed() else 1) if beyond else 0
    if isinstance(value, str):
        found = _text(value)
        return infinity_sign(found) if isinstance(found, Decimal) else 0
    if isinstance(value, float | np.floating) and math.isinf(value):
        return 1 if value > 0 else -1
    return infinity_sign(value.as_py()) if hasattr(value, "as_py") else 0

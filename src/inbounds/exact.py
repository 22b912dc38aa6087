"""Exact numbers at the privacy boundary: rational bounds on exp, integer weights, and their repair.

Nothing here is trusted by the checker but `exp_below` and `TOTAL`; the repair only proposes.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Number = int | float | str | Fraction | Decimal | SupportsFloat
"""An exact number: a float means the decimal it prints as, a string a decimal or a fraction."""

TOTAL_BITS = 62
TOTAL = 1 << TOTAL_BITS
"""Every column of weights sums to this: the largest power of two whose sums fit an int64."""

EXP_BITS = 128
"""exp_below returns multiples of 2**-EXP_BITS."""

EXPONENT_CAP = Fraction(64)
"""exp(64) > 2**92: beyond it any two positive weights below 2**62 are within the ratio."""

EPSILON_RANGE = (Fraction(1, 10**9), EXPONENT_CAP)

_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?|[+-]?\d{1,400}/\d{1,400}")


class Clique(NamedTuple):
    """Answers start..stop-1 are neighbours of each other, `distance` apart: ratio at most exp(epsilon·distance)."""

    start: int
    stop: int
    distance: Fraction


def exact(value: Number, name: str) -> Fraction:
    """The exact rational meant by `value`; floats mean the decimal they print as (0.1 is 1/10)."""
    if isinstance(value, Fraction):  # a subclass could calculate differently later
        return value if type(value) is Fraction else Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | str | Decimal | SupportsFloat):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    number = written(str(value))
    if number is None:
        raise ValueError(f"{name} must be a finite number such as 0.5 or '1/2', got {str(value).strip()[:40]!r}")
    return number


def written(text: str) -> Fraction | None:
    """The number that a text spells, a decimal or a fraction; None when it spells none."""
    plain = text.strip()
    if not _NUMBER.fullmatch(plain):
        return None
    _, slash, denominator = plain.partition("/")
    return None if slash and int(denominator) == 0 else Fraction(plain)


DIGITS = 6
"""Digits after the point of an exact decimal; what needs more is written as a fraction."""


def decimal(number: Fraction) -> str:
    """An exact number as its decimal where at most six digits follow the point, else as the fraction.

    >>> decimal(Fraction(4, 5)), decimal(Fraction(2)), decimal(Fraction(1, 3))
    ('0.8', '2', '1/3')
    """
    if 10**DIGITS % number.denominator:
        return str(number)
    text = f"{Decimal(int(number * 10**DIGITS)).scaleb(-DIGITS):f}"
    return text.rstrip("0").rstrip(".")


def all_digits(number: Fraction) -> str:
    """An exact decimal with all its digits, however many; what has none is written as the fraction.

    >>> all_digits(Fraction(1, 10**15)), all_digits(Fraction(2)), all_digits(Fraction(1, 3))
    ('0.000000000000001', '2', '1/3')
    """
    places, rest = 0, number.denominator
    while rest % 2 == 0 or rest % 5 == 0:
        rest, places = Fraction(rest, 10).numerator, places + 1
    if rest != 1:
        return str(number)
    digits = f"{abs(int(number * 10**places)):0{places + 1}}"
    whole_part, after = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    return ("-" if number < 0 else "") + whole_part + (f".{after}" if after else "")


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """A copy that nobody can make writable again: it lives in immutable bytes."""
    return Sealed.of(values).array


@dataclass(frozen=True)
class Sealed:
    """The content of an array as immutable bytes.

    `array` is a new view each time: dtype, shape and strides of an array can be assigned to, even where its
    memory cannot be written.
    """

    content: bytes
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def of(cls, values: NDArray[Any]) -> "Sealed":
        array = np.ascontiguousarray(values)
        return cls(array.tobytes(), array.dtype.str, np.shape(values))

    @property
    def array(self) -> NDArray[Any]:
        return np.frombuffer(self.content, dtype=self.dtype).reshape(self.shape)


def float_above(value: Fraction) -> float:
    """The least float at or above an exact number; `inf` beyond the largest."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def whole(value: Number, name: str, at_least: int) -> int:
    """`value` as an int, or a `ValueError` when it is not a whole number of at least `at_least`."""
    number = exact(value, name)
    if number.denominator != 1 or number < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    return int(number)


def as_epsilon(value: Number) -> Fraction:
    """The privacy parameter as an exact number in 10^-9..64.

    Below, 62-bit weights cannot tell the answers apart; above, they promise nothing.
    """
    epsilon = exact(value, "epsilon")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {str(value)[:40]}")
    low, high = EPSILON_RANGE
    if not low <= epsilon <= high:
        raise ValueError(f"epsilon must be between 1e-9 and {high}, got {str(value)[:40]}")
    return epsilon


def alpha(value: Number) -> Fraction:
    """The epsilon of the papers' alpha = exp(-epsilon), rounded down by less than 10^-40.

    >>> float(alpha("10/11"))
    0.09531017980432487
    """
    a = exact(value, "alpha")
    if not 0 < a < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {str(value)[:40]}")
    with localcontext() as context:
        context.prec = 60
        log = (Decimal(a.denominator) / Decimal(a.numerator)).ln()
    return as_epsilon(Fraction(math.floor(Fraction(log) * 10**45) - 1, 10**45))


@lru_cache(maxsize=4096)
def exp_below(x: Fraction) -> int:
    """An integer p with p / 2**EXP_BITS <= exp(x), for 0 <= x <= 64; relative error below 2**-120.

    exp(x) = exp(x / 2**r)**(2**r). The Taylor sum and every squaring are floored, all terms are positive,
    so each step is below the true value.
    """
    if not 0 <= x <= EXPONENT_CAP:
        raise ValueError("exp_below takes exponents from 0 to 64")
    bits = EXP_BITS + 64
    r = 8
    y = Fraction(x, 1 << r)
    term = total = 1 << bits
    k = 0
    while term:
        k += 1
        term = term * y.numerator // (y.denominator * k)
        total += term
    for _ in range(r):
        total = total * total >> bits
    return total >> (bits - EXP_BITS)


def ratio_below(epsilon: Fraction, distance: Fraction) -> int:
    """exp_below of epsilon·distance, capped where a larger ratio would allow nothing more."""
    return exp_below(min(epsilon * distance, EXPONENT_CAP))


# --- from floats to weights -------------------------------------------------------------------------------


def least_neighbour(high: Ints, p: int) -> Ints:
    """The least weight that may stand beside `high`: ceil(high · 2**EXP_BITS / p)."""
    return np.asarray(-((-(high.astype(object) << EXP_BITS)) // p), dtype=np.int64)


def raise_rows(weights: Ints, ratios: list[tuple[slice, int]]) -> None:
    """Raise entries, in place, until every row keeps every ratio; raising only costs utility.

    On a line one sweep each way is enough (an entry is raised by its larger neighbour, never by a smaller
    one); sweeps repeat until nothing changes, so other neighbourhoods are covered as well.
    """
    changed = True
    while changed:
        changed = False
        for window, p in (*ratios, *reversed(ratios)):
            block = weights[:, window]
            least = least_neighbour(block.max(axis=1), p)
            short = block < least[:, None]
            if short.any():
                np.maximum(block, least[:, None], out=block)
                changed = True


def _leftover_shortage(leftover: list[int], ratios: list[tuple[slice, int]]) -> int:
    """How many more units in every column would make the leftovers themselves a private row; 0 if they are."""
    shortage = max(0, -min(leftover))
    for window, p in ratios:
        high, low = max(leftover[window]), min(leftover[window])
        if high << EXP_BITS > p * low:
            gain = max(1, p - (1 << EXP_BITS))  # (low + c)·p >= (high + c)·2^EXP_BITS  <=>  c >= …
            shortage = max(shortage, -((p * low - (high << EXP_BITS)) // gain))
    return shortage


def weights_near(
    matrix: Floats, cliques: Iterable[Clique], epsilon: Fraction, *, total: int = TOTAL, even: bool = False
) -> Ints:
    """Integer weights close to `matrix` (non-negative, columns with mass) that keep every ratio exactly.

    Round down to multiples of 1/total, raise rows, give each column's leftover to the one output that every
    answer reports most surely. The leftovers differ a little between columns; a reserve of units kept back
    in all of them makes the leftover itself a private row, and a sum of private rows is private.
    even: every output receives the reserve, which keeps fairness and monotonicity to the few units by which
    the leftovers differ.
    """
    ratios = [(slice(c.start, c.stop), ratio_below(epsilon, c.distance)) for c in cliques]
    share = matrix / matrix.sum(axis=0)
    others = len(matrix) - 1 if even else 0
    reserve = 0
    while reserve < total:
        weights = np.floor(share * float(total - reserve)).astype(np.int64)
        raise_rows(weights, ratios)
        leftover = [total - s for s in weights.sum(axis=0, dtype=object)]
        each = max(0, min(leftover)) // (others + 1) if even else 0
        rest = [units - others * each for units in leftover]
        shortage = _leftover_shortage(rest, ratios)
        if not shortage:
            break
        reserve += (others + 1) * (shortage + (shortage >> 3) + 2)
    else:
        weights, each, rest = np.zeros(matrix.shape, dtype=np.int64), 0, [total] * matrix.shape[1]
    surest = weights.min(axis=1).argmax()
    weights += each
    weights[surest] += np.array(rest, dtype=np.int64) - each
    return np.asarray(weights)


def mirrored_weights(matrix: Floats, cliques: Iterable[Clique], epsilon: Fraction, *, even: bool = False) -> Ints:
    """As `weights_near`, exactly symmetric: half the total for the matrix, half for its mirror image."""
    half = weights_near(matrix, cliques, epsilon, total=TOTAL // 2, even=even)
    return half + half[::-1, ::-1]

"""Every type that a source can declare for a column, with the values that are hardest on whatever computes with them.

A value is a Python one: int, Decimal, float, bool, text, UUID or None. In columns of text, `bytes` are the bytes of a
text and may be no UTF-8; in SQLite they are a blob. `Sql` is an expression of the engine itself. Dates and times of
Arrow are whole numbers of their unit.
"""

import math
import uuid
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa


class Sql(str):
    """An expression of the engine, for values that Python does not have."""


@dataclass(frozen=True)
class Type:
    """A type of a column: its name here, how its source declares it, and values.

    ordinary: what most records have. extremes: what few have. texts: public texts that name the ordinary ones. clear:
    whether Python's values mean what the source makes of them. gaps: whether a missing text differs from an empty one.
    """

    name: str
    declared: Any
    ordinary: tuple[Any, Any]
    extremes: tuple[Any, ...] = field(repr=False)
    texts: tuple[str, str] = ("a", "b")
    clear: bool = True
    gaps: bool = True

    def extreme(self, row: int) -> Any:
        """The value in an extreme record; where there are more records than values, they come again."""
        return self.extremes[row % len(self.extremes)]


# --- numbers ----------------------------------------------------------------------------------------------


def whole(low: int, high: int) -> tuple[Any, ...]:
    """The ends, zero, and what lies around powers of 2 and 10."""
    powers = [*(2**k for k in (7, 15, 24, 31, 53, 63, 64, 127)), *(10**k for k in (9, 15, 17, 18, 19, 20, 37, 38))]
    near = {sign * power + d for power in powers for sign in (1, -1) for d in (-1, 0, 1)}
    found = {low, low + 1, high - 1, high, 0, 1, -1, *near}
    return (*sorted(n for n in found if low <= n <= high), None)


def signed(bits: int) -> tuple[Any, ...]:
    return whole(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def unsigned(bits: int) -> tuple[Any, ...]:
    return whole(0, 2**bits - 1)


def decimals(digits: int, scale: int) -> tuple[Any, ...]:
    """The largest, the smallest that is not zero, and what lies where other decimals end."""
    with localcontext() as exactly:
        exactly.prec = 200
        unit, most = Decimal(1).scaleb(-scale), Decimal(10**digits - 1).scaleb(-scale)
        powers = [Decimal(10) ** k for k in (-9, -4, -1, 0, 8, 17, 18, 19, 37)]
        near = {Decimal(0), unit, most, most - unit, Decimal("0.5"), *powers, *(power - unit for power in powers)}
        fitting = {n.quantize(unit) for n in near if abs(n) <= most}
        return (*sorted({sign * n for n in fitting for sign in (1, -1)}), None)


FLOATS = (
    math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
    -1.7976931348623157e308, 1e300, math.nextafter(1e300, math.inf), 1e-300, 1e18, 1e19, 1e38, 2.0**53, 2.0**53 + 2,
    2.0**63, -(2.0**63), 2.0**64, math.nextafter(2.0**63, 0), 0.1, 0.5, 4.5, -4.5, 1e16, 2.0**127, None,
)  # fmt: skip
SINGLES = (
    math.nan, math.inf, -math.inf, -0.0, 0.0, 2.0**-149, 2.0**-126, 2.0**128 - 2.0**104, 2.0**104 - 2.0**128, 2.0**24,
     2.0**63, 2.0**64, 2.0**127, 0.5, 4.5, 13421773 * 2.0**-27, None,
)  # fmt: skip
HALVES = (math.nan, math.inf, -math.inf, -0.0, 65504.0, -65504.0, 2.0**-24, 0.5, 2048.0, None)

WIDTHS = [
    (4, 1), (9, 4), (10, 2), (18, 0), (18, 9), (19, 0), (20, 3), (28, 10), (38, 0), (38, 9), (38, 19), (38, 20),
    (38, 37),
]  # fmt: skip
"""Digits, and how many of them are decimals."""

# --- texts, and what else is no number --------------------------------------------------------------------

TEXTS = (
    " 1e5 ", "1e5", "1e999", "-1e999", "1e-999", "1e131071", "1e1000", "1e-1000", "1.8e308", "4.9e-324", "2e-324",
    "9" * 400, "9" * 401, "0" * 399 + "7", "0." + "0" * 390 + "1", "1" + "0" * 390 + "e999", "1_000", "0x10", "NaN",
    "nan", "inf", "-Infinity", "٣", "１２", "1e", "+", ".", "-.", "1.", ".5", "1,5", "1d", "9223372036854775808",
    "-0.0", "3.0", "170141183460469231731687303715884105728", "true", "TRUE", "yes", "t", "İ", "ẞ", "Ǆ", "2024-01-31",
    "0000-00-00", "2024-02-30", "9999-12-31", "10000-01-01", "2024-13-45T99:99", "2024-01-31 25:61", "-4713-01-01",
    "infinity", "", " ", "\t7\n", "\u202eabc", "e\u0301", "é", "\ufeff1", "\u200b", "\U0001f600", "'", '"',
    "'; drop table t; --", "\r\n", "a", "A", "a ", "\\", "%", "{}", "x" * 5000, "\x7f", "\ufffd", "null", None,
)  # fmt: skip
BYTES = (b"\xff", b"1\xff", b"\xed\xa0\x80", b"2024-01-31\xc3", b"a\xc3", b"\xf8\x88\x80\x80\x80")
"""Texts that are no UTF-8."""
NULS = ("\0", "1\0", "a\0b", "2024-01-31\0")
SURROGATES = ("\ud800", "1\udfff", "a\ud83d")
"""Letters that only Python's own texts have."""

BOOLEANS = (True, False, None)
UUIDS = (uuid.UUID(int=2**128 - 1), uuid.UUID(int=1 << 127), uuid.UUID(int=255), None)
TRUTHS, DATES, DIGITS = ("true", "false"), ("2024-01-31", "2024-02-01"), ("1", "0")
"""What public texts name in columns that hold no texts."""

# --- dates and times --------------------------------------------------------------------------------------

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86_400
TWO_DAYS = (19753, 19754)
DAYS = (-719163, -719162, 2932896, 2932897, -1, 0, -(2**31), 2**31 - 1, -(2**31) + 1, 2**31 - 2, -2440588, None)
"""Days since 1970: the ends of calendars with four digits, of 32 bits, of Julian days, and what means infinity."""

SECONDS = (-9223372037, 9223372036, -62135596800, 253402300799, 253402300800, 9223372036854, -210866803200, -1, 0, 1)
"""Seconds since 1970: the ends of calendars in nanoseconds, with four digits, in microseconds, of Julian days."""


def times(per_second: int) -> tuple[Any, ...]:
    """Parts of a second since 1970: those ends, those of 64 bits, and half a day inside."""
    near = {second * per_second + d for second in SECONDS for d in (-1, 0, 1)}
    half_a_day = DAY // 2 * per_second
    ends = {-(2**63) + 1, -(2**63) + 2, 2**63 - 2, 2**63 - 1, -(2**63) + half_a_day, 2**63 - half_a_day}
    return (*sorted(n for n in near | ends if abs(n) < 2**63), None)


# --- Arrow, and what is written from it ---------------------------------------------------------------------


def _number(name: str, declared: Any, extremes: tuple[Any, ...], make: Any = int) -> Type:
    return Type(name, declared, (make(1), make(0)), extremes, DIGITS)


def _time(name: str, declared: Any, per_second: int) -> Type:
    first, second = (day * DAY * per_second for day in TWO_DAYS)
    return Type(name, declared, (first, second), times(per_second), DATES, clear=False)


WHOLE = [
    *(_number(f"int{bits}", getattr(pa, f"int{bits}")(), signed(bits)) for bits in (8, 16, 32, 64)),
    *(_number(f"uint{bits}", getattr(pa, f"uint{bits}")(), unsigned(bits)) for bits in (8, 16, 32, 64)),
]
REAL = [_number("float32", pa.float32(), SINGLES, float), _number("float64", pa.float64(), FLOATS, float)]
EXACT = [
    *(_number(f"decimal({d},{s})", pa.decimal128(d, s), decimals(d, s), Decimal) for d, s in WIDTHS),
    Type("decimal(38,38)", pa.decimal128(38, 38), (Decimal("0.5"), Decimal(0)), decimals(38, 38), DIGITS),
]
TIMES = [
    Type("date32", pa.date32(), TWO_DAYS, DAYS, DATES, clear=False),
    *(_time(f"timestamp[{unit}]", pa.timestamp(unit), per_second) for unit, per_second in UNITS.items()),
    *(_time(f"timestamp[{u}, zone]", pa.timestamp(u, "Europe/Berlin"), UNITS[u]) for u in ("us", "ns")),
]
TRUTH = Type("bool", pa.bool_(), (True, False), BOOLEANS, TRUTHS)


def _texts(*more: Any) -> list[Type]:
    """Columns of text whose ordinary values say texts, numbers, dates and truths."""
    words = {"text": ("a", "b"), "digits": DIGITS, "days": DATES, "truths": TRUTHS}
    return [Type(name, pa.string(), own, (*TEXTS, *more), own) for name, own in words.items()]


PARQUET = [
    *WHOLE, *REAL, *EXACT, *TIMES[:1], *TIMES[2:], TRUTH, *_texts(*NULS, *BYTES),  # Parquet has no seconds
    _number("float16", pa.float16(), HALVES, float),
    Type("categories", pa.dictionary(pa.int32(), pa.string()), ("a", "b"), (*TEXTS, *NULS)),
    Type("null", pa.null(), (None, None), (None,)),
    Type("binary", pa.binary(), (b"a", b"b"), (*BYTES, None)),
]  # fmt: skip
ARROW = [
    *PARQUET,
    TIMES[1],
    replace(_number("decimal256(76,38)", pa.decimal256(76, 38), decimals(76, 38), Decimal), clear=False),
    Type(
        "date64",
        pa.date64(),
        (TWO_DAYS[0] * DAY * 1000, TWO_DAYS[1] * DAY * 1000),
        times(1000)[6:-6],
        DATES,
        clear=False,
    ),
    Type("string_view", pa.string_view(), ("a", "b"), (*TEXTS, *NULS)),
]
CSV = [replace(own, gaps=False) for own in _texts(*NULS, *BYTES)]

DUCKDB = [
    *WHOLE, *REAL, *EXACT, *TIMES, TRUTH, *_texts(*NULS),
    _number("hugeint", "hugeint", signed(128)),
    _number("uhugeint", "uhugeint", unsigned(128)),
    Type("nocase", "varchar collate nocase", ("a", "b"), TEXTS),
    Type("enum", "enum ('a', 'b', '', 'A', '1e999', '2024-01-31')", ("a", "b"), ("", "A", "1e999", "2024-01-31", None)),
    Type("uuid", "uuid", (uuid.UUID(int=1), uuid.UUID(int=2)), UUIDS),
    Type("json", "json", ('{"a": 1}', "2"), ("null", '"a"', "1e999", None)),
]  # fmt: skip

# --- frames -----------------------------------------------------------------------------------------------

OBJECTS = (10**400, Decimal("1e999"), 1.5, math.nan, math.inf, True, b"a", (1, 2), uuid.UUID(int=7), *SURROGATES)
"""What a column of Python's own objects may hold beside texts."""


def _filled(own: Type) -> tuple[Any, ...]:
    """Values of a column that has no gaps."""
    return tuple(value for value in own.extremes if value is not None)


PANDAS = [
    *(replace(own, declared=own.name, extremes=_filled(own)) for own in (*WHOLE, *REAL)),
    *(_number(f"{name} with gaps", name, own) for name, own in (("Int64", signed(64)), ("UInt64", unsigned(64)))),
    _number("Float64", "Float64", FLOATS, float),
    *(_time(f"datetime64[{unit}]", f"datetime64[{unit}]", per_second) for unit, per_second in UNITS.items()),
    _time("datetime64[ns, zone]", "datetime64[ns, Europe/Berlin]", UNITS["ns"]),
    Type("bool", "bool", (True, False), (True, False), TRUTHS),
    Type("boolean", "boolean", (True, False), BOOLEANS, TRUTHS),
    *(Type(f"{own.name} in objects", "object", own.texts, (*TEXTS, *NULS, *OBJECTS), own.texts) for own in _texts()),
    Type("str", "str", ("a", "b"), (*TEXTS, *NULS)),
    Type("category", "category", ("a", "b"), (*TEXTS, *NULS)),
    *(replace(own, name=f"{own.name} of Arrow") for own in (*EXACT, *TIMES)),
]
POLARS = [
    *(replace(own, declared=own.name.replace("i", "I").replace("u", "U")) for own in WHOLE),
    _number("int128", "Int128", signed(128)),
    _number("float32", "Float32", SINGLES, float),
    _number("float64", "Float64", FLOATS, float),
    *EXACT,
    *TIMES,
    Type("boolean", "Boolean", (True, False), BOOLEANS, TRUTHS),
    *(replace(own, declared="String") for own in _texts(*NULS)),
    Type("categorical", "Categorical", ("a", "b"), (*TEXTS, *NULS)),
    Type("null", "Null", (None, None), (None,)),
]

# --- SQLite: any cell may hold anything -------------------------------------------------------------------

CELLS = (
    *(2**63 - 1, -(2**63), 10**18, 10**18 + 1, -1, 2, 2**53 + 1, math.inf, -math.inf, 5e-324, 1.7976931348623157e308),
    *(1e300, 1e-300, -0.0, 0.1, 4.5, b"", b"\0", b"1", b"\xff\xfe", b"a", b"2024-01-31", b"9" * 5000),
    *(Sql(f"cast(x'{held.hex()}' as text)") for held in BYTES),
    *NULS,
    *TEXTS,
)  # fmt: skip
SQLITE = [
    *(_number(name, name, CELLS) for name in ("integer", "bigint", "tinyint")),
    *(_number(name, name, CELLS, float) for name in ("numeric", "numeric(38,0)", "decimal(10,2)")),
    *(_number(name, name, CELLS, float) for name in ("real", "double precision")),
    *(Type(name, name, ("a", "b"), CELLS) for name in ("text", "varchar(10)", "text collate nocase", "blob")),
    *(Type(name, "text", own, CELLS, own) for name, own in (("digits", DIGITS), ("days", DATES), ("truths", TRUTHS))),
    *(Type(name, name, DATES, CELLS, DATES, clear=False) for name in ("date", "timestamp", "datetime")),
    Type("boolean", "boolean", (1, 0), CELLS, TRUTHS, clear=False),
    Type("uuid", "uuid", (str(uuid.UUID(int=1)), str(uuid.UUID(int=2))), CELLS, clear=False),
]  # fmt: skip

# --- PostgreSQL -------------------------------------------------------------------------------------------

NUMERICS = tuple(
    Sql(f"'{text}'::numeric")
    for text in [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e131071",
        "-1e131071",
        "1e-16383",
        "1e308",
        "1e309",
        "1e-320",
        "1e300",
    ]
)
ENDS = ("infinity", "-infinity", "4713-01-01 BC", "0001-01-01", "0001-12-31 BC", "9999-12-31", "10000-01-01")
LAST_DAY, LAST_TIME = "5874897-12-31", "294276-12-31 23:59:59.999999"


def _dated(name: str, *more: str) -> Type:
    return Type(name, name, DATES, (*ENDS, *more, None), DATES, clear=False)


POSTGRES = [
    *(_number(name, name, signed(bits)) for name, bits in (("smallint", 16), ("integer", 32), ("bigint", 64))),
    _number("real", "real", SINGLES, float),
    _number("double precision", "double precision", FLOATS, float),
    _number("numeric", "numeric", (*signed(256), *decimals(60, 40), *NUMERICS)),
    *(_number(f"numeric({d},{s})", f"numeric({d},{s})", (*decimals(d, s), NUMERICS[0])) for d, s in WIDTHS),
    Type("numeric(38,38)", "numeric(38,38)", (Decimal("0.5"), Decimal(0)), decimals(38, 38), DIGITS),
    Type("numeric(5,-2)", "numeric(5,-2)", (100, 0), (9999900, -9999900, None), DIGITS),
    Type("boolean", "boolean", (True, False), BOOLEANS, TRUTHS),
    _dated("date", LAST_DAY),
    _dated("timestamp", LAST_TIME, "4714-11-24 00:00:00 BC"),
    _dated("timestamp(0)", "294276-12-31 23:59:59"),
    _dated("timestamptz", LAST_TIME),
    *(Type(name, kind, own, TEXTS, own) for name, kind, own in (
        ("text", "text", ("a", "b")), ("digits", "text", DIGITS), ("days", "text", DATES), ("truths", "text", TRUTHS),
        ("varchar", "varchar(6000)", ("a", "b")), ("collated", 'text collate "und-x-icu"', ("a", "b")),
    )),
    Type("char(5)", "char(5)", ("a", "b"), ("", " ", "é", "1e99", "true", "a\u0301", None), clear=False),
    Type("uuid", "uuid", (uuid.UUID(int=1), uuid.UUID(int=2)), UUIDS),
    Type("jsonb", "jsonb", ('{"a": 1}', "2"), ("null", '"a"', "1e400", None)),
]  # fmt: skip

# --- Spark ------------------------------------------------------------------------------------------------

SPARK = [
    *(own for own in (*WHOLE, *REAL, *EXACT) if not own.name.startswith("uint")),
    *TIMES[:1],
    TIMES[3],
    TRUTH,
    *_texts(*NULS),
]

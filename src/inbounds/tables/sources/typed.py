"""The columns of a source as expressions of their declared type, the same on every engine.

Nothing is guessed from the data: text is read by the declared type, record by record, and what cannot be read is
missing.
"""

from collections.abc import Iterable
from datetime import date
from typing import Any

from inbounds.tables.columns import Declared
from inbounds.tables.sources.source import Source
from inbounds.tables.texts import TRUTHS, is_date, is_truth, says_whole

LARGEST_NUMBER = 1e300
"""Numbers beyond, infinities and NaN count as missing: engines disagree about their order."""

MOST_DECIMALS = 38 - 19
"""Decimals of at most 38 digits leave room for the 19 digits of a whole number, when both are compared."""

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
"""How text says a declared boolean, in any case."""

NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
"""How text says a number. Engines by themselves also take 1_0, 1d or Infinity for one, each its own."""

LONGEST_NUMBER = 400
"""Letters of a text that says a number: of more, or of larger exponents, PostgreSQL would stop."""

WHOLE = r"^-?[0-9]+[.]0$"
"""How pandas writes a whole number whose column has gaps."""

DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""How text with a date begins."""

DAY = len("2024-01-31")

SPELLED = {
    NUMBER: r"^(2B|2D)?((3[0-9])+(2E(3[0-9])*)?|2E(3[0-9])+)((45|65)(2B|2D)?(3[0-9]){1,3})?$",
    WHOLE: r"^(2D)?(3[0-9])+2E30$",
    DATE: r"^(3[0-9]){4}2D(3[0-9]){2}2D(3[0-9]){2}$",
    DATED: r"^(3[0-9]){4}2D(3[0-9]){2}2D(3[0-9]){2}",
}
"""The same forms in the digits of `spelled`."""


def typed(column: Any, declared: Declared, source: Source, texts: Iterable[str]) -> Any:
    """A column as its declared type; texts: what it is compared with, in labels and conditions."""
    if declared.type == "number":
        return _finite(_number(plain(column), source.decimal) if column.type().is_string() else column, source)
    if declared.type == "boolean":
        return _boolean(plain(column)) if column.type().is_string() else column
    said = list(texts)
    dates = said and column.type().is_string() and all(map(is_date, said))
    column = plain(column) if source.spells else column
    return _compared(_dates(column) if dates else text(column, said), source)


def _compared(texts: Any, source: Source) -> Any:
    """Texts as they are compared: in any case byte by byte, so that no record is taken for two."""
    if not source.spells:
        return texts
    return texts.notnull().ifelse(in_digits(texts), None)  # SQLite has digits, though none, for what is missing


def _dates(column: Any) -> Any:
    """A column that is compared with dates only: texts of their form have their order, on every engine."""
    return ((column.length() == 10) & _has_form(column, DATE)).ifelse(column, None)


def _has_form(column: Any, form: str) -> Any:
    """Whether a text has this form. SQLite keeps any bytes as text and would stop at some, but not at their digits."""
    if column.get_backend().name == "sqlite":
        return in_digits(column).re_search(SPELLED[form])
    return column.re_search(form)


def key(column: Any, source: Source, texts: Iterable[str], period: str = "", not_stated: str = "") -> Any:
    """A column of keys: whole numbers stay numbers, everything else is compared as text.

    period: dates and times as their day, month, quarter or year. not_stated: the text of no value, or of an empty one.
    """
    kind = column.type()
    if kind.is_integer() and not not_stated:
        return whole_key(column)
    if kind.is_integer():
        found = whole_key(column).cast("string")
    else:
        held = plain(column) if source.spells else column
        found = dated(held, period) if period else text(held, texts)
    if not_stated:
        found = (found.isnull() | (found == "")).ifelse(not_stated, found)
    return _compared(found, source)


def whole_key(column: Any) -> Any:
    """A column of whole numbers in 64 bits; what is too large is no key."""
    return column.try_cast("int64") if column.type().is_unsigned_integer() else column.cast("int64")


def dated(column: Any, period: str) -> Any:
    """The day, month, quarter or year of a date, a time, or a text that begins with a date; else missing."""
    import ibis

    kind = column.type()
    if kind.is_string():
        ends = (column.length() == DAY) | column.substr(DAY, 1).isin((" ", "T"))
        days = (ends & _has_form(column, DATED)).ifelse(column.substr(0, DAY), None)
    else:
        days = (_near(column).date() if kind.is_timestamp() else _near(column)).strftime("%Y-%m-%d")
    if period != "quarter":
        return days.substr(0, {"day": DAY, "month": 7, "year": 4}[period])
    year, month = days.substr(0, 4), days.substr(5, 2)
    quarters = [(month.isin([f"{m:02}" for m in range(q, q + 3)]), year + f"-Q{q // 3 + 1}") for q in (1, 4, 7, 10)]
    return ibis.cases(*quarters)


def text(column: Any, texts: Iterable[str]) -> Any:
    """A column as text, in the form of `texts.fitted`; a time that is not midnight is no date, so it is missing."""
    import ibis

    kind = column.type()
    if kind.is_boolean():
        return ibis.cases((column, "true"), (~column, "false"))
    if kind.is_date():
        return _near(column).strftime("%Y-%m-%d")
    if kind.is_timestamp():
        column = _near(column)
        return (column.truncate("D") == column).ifelse(column.date().strftime("%Y-%m-%d"), None)
    if not kind.is_string():
        return column.cast("string")
    return _folded(column, list(texts))


def _near(times: Any) -> Any:
    """Dates and times without those that the engine has but cannot write; no public date is among them."""
    engine, kind = times.get_backend().name, times.type()
    if engine == "postgres" and kind.is_date():
        return times.between(date.min, date.max).ifelse(times, None)
    if engine == "duckdb" and kind.is_timestamp() and kind.scale in (0, 3):
        return times.try_cast("timestamp(6)")
    return times


def _folded(column: Any, texts: list[str]) -> Any:
    """Text in the form of `texts.folded`, where a public text could match it: one form only, so one cell or group."""
    if any(map(says_whole, texts)):
        ends = column.endswith(".0")  # engines disagree whether $ matches before a line break
        column = (ends & _has_form(column, WHOLE)).ifelse(column.replace(".0", ""), column)
    if any(map(is_truth, texts)):
        column = column.lower().isin(TRUTHS).ifelse(column.lower(), column)
    return column


def _number(column: Any, decimal: str) -> Any:
    """Text as a number. With a decimal comma, a point is no part of a number: 1.234 might be thousands."""
    import ibis

    if decimal == ",":
        column = column.contains(".").ifelse(None, column.replace(",", "."))
    plain = column.strip()
    return ibis.cases(((plain.length() <= LONGEST_NUMBER) & _has_form(plain, NUMBER), _parsed(plain)))


def _parsed(number: Any) -> Any:
    """A text of the form NUMBER as its number: PostgreSQL has no floats for all of them, SQLite no failing casts."""
    engine = number.get_backend().name
    if engine == "postgres":
        return number.cast("decimal")
    return number.cast("float64") if engine == "sqlite" else number.try_cast("float64")


def _boolean(column: Any) -> Any:
    word = column.strip().lower()
    return word.isin(TRUE).ifelse(True, word.isin(FALSE).ifelse(False, None))


def _finite(column: Any, source: Source) -> Any:
    """NaN and infinities are missing; so is text, which SQLite may keep in columns of numbers and orders last.

    NaN is asked for by name first: an engine that believes the statistics of a Parquet file, which leave NaN out, may
    find that every number lies within the bounds and not look.
    """
    column = _comparable(column)
    if column.type().is_floating() and source.kind != "sqlite":
        column = (column.isnan() | column.isinf()).ifelse(None, column)
    if column.type().is_floating() or source.kind == "sqlite":
        return column.between(-LARGEST_NUMBER, LARGEST_NUMBER).ifelse(column, None)
    return column


def _comparable(column: Any) -> Any:
    """Numbers that the engine can compare with any other: with negative ones, with large ones, as floats."""
    kind = column.type()
    if kind.is_unsigned_integer():
        return column.cast("decimal(20, 0)")
    if not kind.is_decimal():
        return column
    if column.get_backend().name == "postgres":
        return _within(column)
    return column.cast("float64") if (kind.scale or 0) > MOST_DECIMALS else column


def _within(column: Any) -> Any:
    """Numbers of any size without those that no float can hold: missing when too large, 0 when too small."""
    import ibis

    size = column.abs()
    return ibis.cases((size.between(1 / LARGEST_NUMBER, LARGEST_NUMBER), column), (size < 1 / LARGEST_NUMBER, 0))


# --- texts as the hexadecimal digits of their bytes -------------------------------------------------------
#
# Some engines may compare texts by a collation. That can take North-West and NorthWest for the same, or letters that
# nobody sees for none; then one record would be in two groups. No list of such texts is ever complete, but every
# collation tells digits apart, and keeps their order.


def spelled(text: str) -> str:
    """A public text in digits.

    >>> spelled("a-é")
    '612DC3A9'
    """
    return text.encode().hex().upper()


def in_digits(texts: Any) -> Any:
    """A column of texts in digits; what is missing stays so."""
    if _on_postgres(texts):
        return _call("encode", _encode)(_call("convert_to", _convert_to)(texts, "UTF8"), "hex").upper()
    return _call("hex", _hex)(texts)


def hashed(texts: Any) -> Any:
    """A column of texts of digits and letters as the digits of their SHA-256. SQLite must have been taught it."""
    engine = texts.get_backend().name
    if engine == "postgres":
        digest = _call("sha256", _digest)(_call("convert_to", _convert_to)(texts, "UTF8"))
        return _call("encode", _encode)(digest, "hex")
    return _call("inbounds_sha256", _hex)(texts) if engine == "sqlite" else texts.hexdigest("sha256")


def plain(texts: Any) -> Any:
    """A column of texts without its collation: by some of them PostgreSQL refuses to search."""
    if not _on_postgres(texts) or not texts.type().is_string():
        return texts
    return _call("convert_from", _convert_from)(_call("convert_to", _convert_to)(texts, "UTF8"), "UTF8")


def _on_postgres(texts: Any) -> bool:
    return bool(texts.get_backend().name == "postgres")


def _call(name: str, typed: Any) -> Any:
    """A function that the engine has."""
    import ibis

    return ibis.udf.scalar.builtin(typed, name=name)


def _hex(text: str) -> str: ...  # type: ignore[empty-body]


def _convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


def _convert_from(held: bytes, encoding: str) -> str: ...  # type: ignore[empty-body]


def _digest(held: bytes) -> bytes: ...  # type: ignore[empty-body]


def _encode(held: bytes, form: str) -> str: ...  # type: ignore[empty-body]

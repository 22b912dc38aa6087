"""The columns of a source as expressions of their declared type, the same on every engine.

Nothing is guessed from the data: text is read by the declared type, record by record, and what cannot be read is
missing.
"""

from collections.abc import Iterable
from typing import Any

from inbounds.release.facts import Column
from inbounds.release.source import Source
from inbounds.release.texts import TRUTHS, is_truth

LARGEST_NUMBER = 1e300
"""Numbers beyond, infinities and NaN count as missing: engines disagree about their order."""

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
"""How text says a declared boolean, in any case."""

NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""How text says a number. Engines by themselves also take 1_0, 1d or Infinity for one, each its own."""


def typed(column: Any, declared: Column, source: Source, texts: Iterable[str]) -> Any:
    """A column as its declared type; texts: what it is compared with, in labels and conditions."""
    if declared.type == "number":
        return _finite(_number(column, source.decimal) if column.type().is_string() else column, source)
    if declared.type == "boolean":
        return _boolean(column) if column.type().is_string() else column
    return text(column, texts)


def key(column: Any, texts: Iterable[str]) -> Any:
    """A column of keys: whole numbers stay numbers, everything else is compared as text."""
    return column.cast("int64") if column.type().is_integer() else text(column, texts)


def text(column: Any, texts: Iterable[str]) -> Any:
    """A column as text, in the form of `texts.fitted`; a time that is not midnight is no date, so it is missing."""
    import ibis

    kind = column.type()
    if kind.is_boolean():
        return ibis.cases((column, "true"), (~column, "false"))
    if kind.is_date():
        return column.strftime("%Y-%m-%d")
    if kind.is_timestamp():
        return (column.truncate("D") == column).ifelse(column.date().strftime("%Y-%m-%d"), None)
    if not kind.is_string():
        return column.cast("string")
    if any(map(is_truth, texts)):
        return column.lower().isin(TRUTHS).ifelse(column.lower(), column)
    return column


def _number(column: Any, decimal: str) -> Any:
    """Text as a number. With a decimal comma, a point is no part of a number: 1.234 might be thousands."""
    import ibis

    if decimal == ",":
        column = column.contains(".").ifelse(None, column.replace(",", "."))
    plain = column.strip()
    return ibis.cases((plain.re_search(NUMBER), plain.try_cast("float64")))


def _boolean(column: Any) -> Any:
    word = column.strip().lower()
    return word.isin(TRUE).ifelse(True, word.isin(FALSE).ifelse(False, None))


def _finite(column: Any, source: Source) -> Any:
    """NaN and infinities are missing; so is text, which SQLite may keep in columns of numbers and orders last."""
    if column.type().is_floating() or source.kind == "sqlite":
        return column.between(-LARGEST_NUMBER, LARGEST_NUMBER).ifelse(column, None)
    return column

"""Texts as the hexadecimal digits of their bytes, for engines that may compare texts by a collation.

A collation can take North-West and NorthWest for the same, or letters that nobody sees for none; then one record would
be in two groups. No list of such texts is ever complete, but every collation tells digits apart, and keeps their order.
"""

from typing import Any

ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
"""Engines, by their names in Ibis, that are known to write a text's bytes in UTF-8 as digits."""


def spelled(text: str) -> str:
    """A public text in digits.

    >>> spelled("a-é")
    '612DC3A9'
    """
    return text.encode().hex().upper()


def column(texts: Any) -> Any:
    """A column of texts in digits; what is missing stays so."""
    if _on_postgres(texts):
        return _call("encode", _encode)(_call("convert_to", _convert_to)(texts, "UTF8"), "hex").upper()
    return _call("hex", _hex)(texts)


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


# --- functions of the engines, as Ibis is told of their types -----------------------------------------------


def _hex(text: str) -> str: ...  # type: ignore[empty-body]


def _convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


def _convert_from(held: bytes, encoding: str) -> str: ...  # type: ignore[empty-body]


def _encode(held: bytes, form: str) -> str: ...  # type: ignore[empty-body]

"""Write plans as TOML text, which `plan.load` reads back to the same plain values."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

ORDER = (
    "edition",
    "about",
    "source",
    "groups",
    "hierarchy",
    "people",
    "columns",
    "privacy",
    "statistics",
    "design",
    "output",
)
"""The parts of a plan in their usual order."""


def dump_toml(content: Mapping[str, Any]) -> str:
    """Write the text of a plan with these plain values, its parts in their usual order.

    >>> print(dump_toml({"privacy": {"epsilon": Decimal("0.5")}, "statistics": [{"count": "true"}]}), end="")
    [privacy]
    epsilon = 0.5
    <BLANKLINE>
    [[statistics]]
    count = "true"
    """
    known = [name for name in ORDER if name in content]
    names = sorted([*known, *(name for name in content if name not in ORDER)], key=lambda n: _is_part(n, content[n]))
    return "\n".join(block for name in names for block in _blocks(name, content[name]))


def _is_part(name: str, value: Any) -> bool:
    """Return whether a value is a part of the plan; plain values must come before the first part."""
    return isinstance(value, Mapping) or name == "statistics"


def _blocks(name: str, value: Any) -> list[str]:
    if name == "columns":
        return [_block(f"[columns.{quote_key(column)}]", fields) for column, fields in value.items()]
    if name == "statistics":
        return [_block("[[statistics]]", fields) for fields in value]
    if isinstance(value, Mapping):
        return [_block(f"[{quote_key(name)}]", value)]
    return [f"{quote_key(name)} = {format_value(value)}\n"]


def _block(head: str, fields: Mapping[str, Any]) -> str:
    return "".join([f"{head}\n", *(f"{quote_key(name)} = {format_value(value)}\n" for name, value in fields.items())])


def format_value(value: Any) -> str:
    """Write a plain value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{quote_key(name)} = {format_value(item)}' for name, item in value.items())} }}"
    return quote(str(value))


def quote(text: str) -> str:
    """Quote a TOML string; literal if the text allows it, so that quotes inside need no escaping."""
    if '"' not in text and "\\" not in text and text.isprintable():
        return f'"{text}"'
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def quote_key(name: str) -> str:
    """Write a TOML key, without quotes if that is allowed."""
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else quote(name)

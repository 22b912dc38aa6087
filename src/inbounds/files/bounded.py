"""Readers of untrusted text, JSON and TOML. Length and nesting are checked before anything is parsed."""

import json
import re
import tomllib
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from os import PathLike
from typing import Any

from inbounds.files.open_files import iter_chunks
from inbounds.trusted.limits import DEEPEST, LONGEST

_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_TOML_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_DOTTED = re.compile(rf"(?:\.[^.=\[\]{{}},\n]*){{{DEEPEST}}}")

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_NUL = re.compile(r"\x00|\\u0{4}|\\U0{8}")

Pairs = Callable[[list[tuple[str, Any]]], Any]


def read_text(path: str | PathLike[str], encoding: str = "utf-8") -> str:
    """Read a text file. Raises `ValueError` if it is longer than LONGEST bytes or not in this encoding."""
    content = bytearray()
    with closing(iter_chunks(path)) as chunks:
        for chunk in chunks:  # count while reading: a pipe has no length, and a file may grow
            content += chunk
            if len(content) > LONGEST:
                raise ValueError(f"a file must have at most {LONGEST} bytes")
    return content.decode(encoding)


def parse_json(text: str, pairs: Pairs | None = None) -> Any:
    """Parse JSON text.

    pairs: as `object_pairs_hook` of `json.loads`. Raises `ValueError` if the text is not JSON, is nested deeper than
    DEEPEST, or has a lone surrogate (half of a character).
    """
    if _depth(_JSON_STRING.sub("", text)) > DEEPEST:
        raise ValueError(f"JSON text must be nested at most {DEEPEST} deep")
    values = json.loads(text, object_pairs_hook=pairs)
    if _HALF_CHARACTER.search(text):
        json.dumps(values, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded, so it raises here
    return values


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML text, floats as exact `Decimal`s. Raises `ValueError` if it is malformed, too deep or has a NUL."""
    if _NUL.search(text):
        raise ValueError("TOML text must not hold the character NUL, which no file name has")
    bare = _TOML_STRING.sub("_", text)
    if _depth(bare) > DEEPEST or _DOTTED.search(bare):
        raise ValueError(f"TOML text must be nested at most {DEEPEST} deep")
    return tomllib.loads(text, parse_float=Decimal)


def _depth(bare: str) -> int:
    """Return the deepest nesting of brackets in a text without strings; unclosed brackets count."""
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest

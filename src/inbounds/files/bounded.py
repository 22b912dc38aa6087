"""Reading text files that strangers wrote: their length, nesting and digits are bounded before they are parsed."""

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
    """The text of a file; a `ValueError` when it is longer than LONGEST, or not in this encoding."""
    content = bytearray()
    with closing(iter_chunks(path)) as parts:
        for part in parts:  # a pipe, or a file that grows, has no length to ask for
            content += part
            if len(content) > LONGEST:
                raise ValueError(f"a file must have at most {LONGEST} bytes")
    return content.decode(encoding)


def parse_json(text: str, pairs: Pairs | None = None) -> Any:
    """The values of JSON text; a `ValueError` when it is none, holds half a character, or is nested too deep."""
    if _depth(_JSON_STRING.sub("", text)) > DEEPEST:
        raise ValueError(f"JSON text must be nested at most {DEEPEST} deep")
    found = json.loads(text, object_pairs_hook=pairs)
    if _HALF_CHARACTER.search(text):
        json.dumps(found, ensure_ascii=False).encode()  # half a character has no bytes, so that nothing could print it
    return found


def parse_toml(text: str) -> dict[str, Any]:
    """The values of TOML text, decimals as they are written; a `ValueError` as for JSON."""
    if _NUL.search(text):
        raise ValueError("TOML text must not hold the character NUL, which no file name has")
    bare = _TOML_STRING.sub("_", text)
    if _depth(bare) > DEEPEST or _DOTTED.search(bare):
        raise ValueError(f"TOML text must be nested at most {DEEPEST} deep")
    return tomllib.loads(text, parse_float=Decimal)


def _depth(bare: str) -> int:
    """The deepest nesting of brackets in a text without strings; what is never closed counts too."""
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest

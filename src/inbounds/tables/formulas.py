"""Texts that a spreadsheet would take for formulas, in the tables that are written for people.

A key such as =1+1 would be calculated when the table is opened, and some formulas reach out to other places. An
apostrophe before it makes it text again, for every spreadsheet.
"""

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def neutral(value: Any) -> Any:
    """A text that begins like a formula, and is no number, behind an apostrophe; anything else as it is.

    >>> neutral("=1+1"), neutral("-3"), neutral(-3), neutral("North")
    ("'=1+1", '-3', -3, 'North')
    """
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def restored(text: str) -> str:
    """The text that `neutral` made this of.

    >>> restored(neutral("=1+1")), restored(neutral("'=1+1"))
    ('=1+1', "'=1+1")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None

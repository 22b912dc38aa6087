"""Find keys that match the same records. No two groups may have such keys, because a record is in one group only.

Two different texts can be the same value of their column. In a column of text, true and false in any case are the same,
and so is a whole number with or without .0; in a column of numbers, 01 is 1; in a column of dates, a midnight is its
day. The key of records without a value, and the names of days, months, quarters and years, are compared as texts.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date

from inbounds.checker.fields import insist

Key = tuple[str, ...]

TRUTHS = ("true", "false")
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([ T]00:00(:00([.]0+)?)?)?")
_PERIODS = {
    "day": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "month": re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])"),
    "quarter": re.compile(r"[0-9]{4}-Q[1-4]"),
    "year": re.compile(r"[0-9]{4}"),
}


def _normalize_text(key: str) -> str:
    if key.lower() in TRUTHS:
        return key.lower()
    return key[:-2] if re.fullmatch(r"-?[0-9]+[.]0", key) else key


def _normalize_number(key: str) -> str:
    insist(
        re.fullmatch(r"-?[0-9]{1,19}", key.strip()) is not None, "a key of a column of numbers must be a whole number"
    )
    insist(abs(int(key)) < 1 << 63, "a key of a column of numbers must have at most 64 bits")
    return str(int(key))


def _normalize_boolean(key: str) -> str:
    insist(key.strip().lower() in TRUTHS, "a key of a column of booleans must be true or false")
    return key.strip().lower()


def _parse_day(key: str) -> str:
    """Return the day of a text as 2024-01-31, or "" if it is not a day."""
    match = _DAY.fullmatch(key.strip())
    try:
        return "" if match is None else date.fromisoformat(match[1]).isoformat()
    except ValueError:
        return ""


def _normalize_date(key: str) -> str:
    day = _parse_day(key)
    insist(bool(day), "a key of a column of dates must be a date such as 2024-01-31")
    return day


TYPES: dict[str, Callable[[str], str]] = {
    "text": _normalize_text,
    "number": _normalize_number,
    "boolean": _normalize_boolean,
    "date": _normalize_date,
    "time": _normalize_date,
}
"""Functions from a key to the value it stands for, by the type of its column."""


@dataclass(frozen=True)
class SpellingRule:
    """How texts of a column are read: whether cases are ignored, whether spaces at the ends are, and whether records
    hold codes in place of its labels.
    """

    ignores_case: bool = False
    trims: bool = False
    coded: bool = False

    def normalize(self, text: str) -> str:
        """Return a text so that texts that are read as the same are the same; it may make more of them the same."""
        text = "".join(" " if letter.isspace() else letter for letter in text).strip(" ") if self.trims else text
        return text.casefold() if self.ignores_case else text


AS_WRITTEN = SpellingRule()


@dataclass(frozen=True)
class KeyMatching:
    """The columns that name a group, the key of records without a value, and the period by which dates name a group.

    spellings: how the texts of columns are read, if the plan says so.
    """

    by: tuple[str, ...]
    missing_key: str
    period: dict[str, str]
    spellings: dict[str, SpellingRule] = field(default_factory=dict)

    def normalize(self, keys: Iterable[Key], types: dict[str, str]) -> set[Key]:
        """Return the values that the keys stand for; keys that match the same records have the same values."""
        self.check_types(types)
        return {
            tuple(self._value(name, types[name], part) for name, part in zip(self.by, key, strict=True)) for key in keys
        }

    def check_types(self, types: dict[str, str]) -> None:
        """Refuse types of columns that no key has."""
        insist(set(types) == set(self.by), "the groups must state the type of each column of `by`")
        insist(set(types.values()) <= TYPES.keys(), "the column of a key must be text, number, boolean, date or time")
        insist(set(self.period) <= set(self.by), "a period must be of a column of `by`")
        for name, period in self.period.items():
            dated = period in _PERIODS and types[name] in ("text", "date", "time")
            insist(dated, "a period must be a day, month, quarter or year of dates, times or texts")

    def _value(self, name: str, kind: str, part: str) -> str:
        spelling = self.spellings.get(name, AS_WRITTEN)
        insist(name not in self.period or spelling == AS_WRITTEN, "texts that are dates are read as they are")
        part = spelling.normalize(part)
        if self.missing_key and part == spelling.normalize(self.missing_key):
            return part
        if name not in self.period:
            return TYPES["text" if spelling.coded else kind](part)
        period = self.period[name]
        is_period = _PERIODS[period].fullmatch(part) is not None and (period != "day" or _parse_day(part) == part)
        insist(is_period, f"a key must be a {period}")
        return part

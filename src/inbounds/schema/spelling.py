"""How texts of a column are spelled: declared options that make different spellings of a value the same.

The letters that have two cases and the characters that count as spaces are listed here, once. Engines and versions of
Unicode know different ones, so no function of an engine decides it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from inbounds.schema.errors import PlanError

_CASES = (
    (0x41, 0x5A, 1, 32), (0xC0, 0xD6, 1, 32), (0xD8, 0xDE, 1, 32), (0x100, 0x12E, 2, 1), (0x132, 0x136, 2, 1),
    (0x139, 0x147, 2, 1), (0x14A, 0x176, 2, 1), (0x178, 0x178, 1, -121), (0x179, 0x17D, 2, 1), (0x386, 0x386, 1, 38),
    (0x388, 0x38A, 1, 37), (0x38C, 0x38C, 1, 64), (0x38E, 0x38F, 1, 63), (0x391, 0x3A1, 1, 32), (0x3A3, 0x3AB, 1, 32),
    (0x3C2, 0x3C2, 1, 1), (0x400, 0x40F, 1, 80), (0x410, 0x42F, 1, 32), (0x460, 0x480, 2, 1), (0x48A, 0x4BE, 2, 1),
    (0x4D0, 0x52E, 2, 1), (0x1E00, 0x1E94, 2, 1), (0x1E9E, 0x1E9E, 1, -7615), (0x1EA0, 0x1EFE, 2, 1),
)  # fmt: skip
"""Letters of the Latin, Greek and Cyrillic alphabets: first, last, step, and the way to the small letter."""

LARGE = "".join(chr(code) for first, last, step, _ in _CASES for code in range(first, last + 1, step))
SMALL = "".join(chr(code + way) for first, last, step, way in _CASES for code in range(first, last + 1, step))
"""Letters, and the letter that each counts as if cases are ignored."""

SPACES = "\t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # fmt: skip # noqa: E501
"""Characters that count as a space if spaces are trimmed."""

_FOLD, _SPACE = str.maketrans(LARGE, SMALL), str.maketrans(SPACES, " " * len(SPACES))


@dataclass(frozen=True)
class Spelling:
    """Declared options of a column of text, as its groups, its labels and conditions see it.

    ignore_case: large letters count as small ones. trim: spaces of every kind are one character, and none count at the
    ends. codes: texts of records, each with the label that it stands for. missing_codes: texts of records that count
    as no value.

    Whatever a record holds, these options map it to one text or to none.
    """

    ignore_case: bool = False
    trim: bool = False
    codes: tuple[tuple[str, str], ...] = ()
    missing_codes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        codes = [self.strict(code) for code, _ in self.codes]
        absent = [self.strict(code) for code in self.missing_codes]
        check_different(codes, "labels", "codes")
        check_different(absent, "missing_codes", "codes")
        if set(codes) & set(absent):
            raise PlanError("must not hold a code that has a label", ("missing_codes",))

    def spell(self, text: str) -> str:
        """Return a public text with the options applied."""
        return self.fold(self.cut(text))

    def cut(self, text: str) -> str:
        """Return the text without spaces at its ends, if they are trimmed."""
        return text.translate(_SPACE).strip(" ") if self.trim else text

    def fold(self, text: str) -> str:
        """Return the text in small letters, if cases are ignored."""
        return text.translate(_FOLD) if self.ignore_case else text

    def strict(self, text: str) -> str:
        """Return what public texts must differ in: by the rules of Unicode, which make more of them the same."""
        text = "".join(" " if letter.isspace() else letter for letter in text).strip(" ") if self.trim else text
        return text.casefold() if self.ignore_case else text

    def summary(self) -> dict[str, object]:
        """Return the options that are set, as plain values for the record."""
        options = {"ignore_case": self.ignore_case, "trim": self.trim}
        return {
            **{name: True for name, is_set in options.items() if is_set},
            **({"codes": dict(self.codes)} if self.codes else {}),
            **({"missing_codes": list(self.missing_codes)} if self.missing_codes else {}),
        }


def check_different(texts: Iterable[str], field: str, what: str) -> None:
    """Raise PlanError if public texts become equal; it does not say which."""
    listed = list(texts)
    if len(set(listed)) < len(listed):
        raise PlanError(f"must be different {what}, but two of them become equal", (field,))


PLAIN = Spelling()
"""Texts as they are."""

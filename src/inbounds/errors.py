"""The exception classes of the package, and helpers for their messages.

    InboundsError
    ├── PrivacyViolation      a matrix breaks the promised ratio (carries output, answers, ratio, allowed)
    ├── ScoreRatioViolation   a score table breaks the promised ratio (carries ratio, allowed)
    ├── InvalidDistribution   weights are negative or a column does not sum to the total
    ├── TooLarge              a dense matrix was requested of a mechanism that is stored in compact form
    ├── InfeasibleDesign      no mechanism meets the request
    ├── ConvergenceError      an iteration stopped before its certificate held
    ├── BudgetExceeded        a charge exceeds the remaining budget (carries people, asked, left)
    ├── LedgerError           a ledger was modified, is not stored durably, or could not be written (carries entry)
    └── PassportError         a mechanism file cannot be trusted
        └── UnknownVersion    … because a later version wrote it

Misuse of an argument is a plain `ValueError` or `TypeError`.
No message ever contains a true answer.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction

from inbounds.exact import format_all_digits


def escape_unprintable(text: str) -> str:
    """Replace characters that are not printable, such as line breaks and terminal controls, by their escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def suggest_name(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean …?" for a message if a known name is close to `name`, else an empty text.

    >>> suggest_name("fiar", ["fair", "symmetric"]), suggest_name("blue", ["fair", "symmetric"])
    ("; did you mean 'fair'?", '')
    """
    close = get_close_matches(str(name).lower(), list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_kind(value: object, kind: type | tuple[type, ...], name: str, words: str) -> None:
    """Raise `TypeError` unless `value` is an instance of `kind`. The message does not repeat the value: it may be data.

    name: the argument's name. words: what the argument must be, for the message.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {words}, got {type(value).__name__}")


class InboundsError(Exception):
    """Base class of errors that state a fact about a mechanism, a file or a ledger, not a misuse of the interface."""


class PrivacyViolation(InboundsError):
    """An output is more likely under one answer than its neighbour allows."""

    def __init__(self, output: int, answers: tuple[int, int], ratio: float, allowed: float) -> None:
        self.output, self.answers, self.ratio, self.allowed = output, answers, ratio, allowed
        worse, better = answers
        super().__init__(
            f"output {output} is {ratio:.6g} times likelier under answer {worse} than under its neighbour "
            f"{better} (indices); epsilon allows {allowed:.6g}"
        )

    def __reduce__(self) -> tuple[type, tuple[int, tuple[int, int], float, float]]:
        return PrivacyViolation, (self.output, self.answers, self.ratio, self.allowed)


class DeltaViolation(InboundsError):
    """A matrix in which two neighbouring answers need a larger delta than allowed.

    answers: the indices of the pair, in order. needed, allowed: exact deltas at the stated epsilon.
    """

    def __init__(self, answers: tuple[int, int], needed: Fraction, allowed: Fraction) -> None:
        self.answers, self.needed, self.allowed = answers, needed, allowed
        super().__init__(
            f"answers {answers[0]} and {answers[1]} (indices) need delta {float(needed):.6g} at this epsilon; "
            f"{float(allowed):.6g} is allowed"
        )

    def __reduce__(self) -> tuple[type, tuple[tuple[int, int], Fraction, Fraction]]:
        return DeltaViolation, (self.answers, self.needed, self.allowed)


class ScoreRatioViolation(InboundsError):
    """A score table under which an output is more likely in one group than a neighbouring group allows."""

    def __init__(self, ratio: float, allowed: float) -> None:
        self.ratio, self.allowed = ratio, allowed
        super().__init__(
            f"a score table falls too steeply: an output may be {ratio:.6g} times likelier in one group than in its "
            f"neighbour; epsilon allows {allowed:.6g}"
        )

    def __reduce__(self) -> tuple[type, tuple[float, float]]:
        return ScoreRatioViolation, (self.ratio, self.allowed)


class InvalidDistribution(InboundsError):
    """Weights that are negative, or a column that does not sum to the total."""


class TooLarge(InboundsError, ValueError):
    """A dense matrix was requested of a mechanism that is stored in compact form."""


class InfeasibleDesign(InboundsError):
    """No mechanism meets the request."""


class ConvergenceError(InboundsError):
    """An iteration stopped before its certificate held."""


class BudgetExceeded(InboundsError):
    """A charge that would exceed the budget of the people in the data; nothing was charged.

    people: the name of their budget. asked, left, budget: exact, in `unit` (epsilon, rho for zCDP, or delta, of which
    people have none unless it was declared with their budget).
    """

    def __init__(self, people: str, asked: Fraction, left: Fraction, budget: Fraction, unit: str = "epsilon") -> None:
        self.people, self.asked, self.left, self.budget, self.unit = people, asked, left, budget, unit
        ask = "ask for less, or raise the budget"
        if unit == "delta" and not budget:
            ask = "declare a delta with the budget of the people (inbounds ledger init FILE --people NAME --delta …)"
        super().__init__(
            f"{unit} exceeds the budget of {people}: requested {format_all_digits(asked)}, remaining "
            f"{format_all_digits(left)} of {format_all_digits(budget)}; {ask}"
        )

    def __reduce__(self) -> tuple[type, tuple[str, Fraction, Fraction, Fraction, str]]:
        return BudgetExceeded, (self.people, self.asked, self.left, self.budget, self.unit)


class LedgerError(InboundsError):
    """A ledger that was modified, is not stored durably, or could not be written.

    entry: the number of the entry that is wrong; None if the error is about no single entry.
    """

    def __init__(self, message: str, entry: int | None = None) -> None:
        self.entry = entry
        super().__init__(message)


class PassportError(InboundsError):
    """A mechanism file that cannot be trusted. Quotations from the file are escaped for the terminal."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_unprintable(message))


class UnknownVersion(PassportError):
    """A mechanism file in a format that this version cannot read."""

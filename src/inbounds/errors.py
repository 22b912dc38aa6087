"""What can go wrong, as types.

    InboundsError
    ├── PrivacyViolation      a matrix breaks the promised ratio (carries output, answers, ratio, allowed)
    ├── TooSteep              a score table breaks the promised ratio (carries ratio, allowed)
    ├── NotADistribution      weights are negative or a column does not sum to the total
    ├── TooLarge              a dense matrix was asked of something that must stay compact
    ├── Infeasible            no mechanism meets the request
    ├── NotConverged          an iteration stopped before its certificate held
    ├── OverBudget            a charge is more than is left for the people (carries people, asked, left)
    ├── LedgerError           a ledger that was changed, may lose what it promises to keep, or could not be written
    └── PassportError         a mechanism file that cannot be trusted
        └── UnknownVersion    … because it was written by a later version

Misuse of an argument is a plain `ValueError` or `TypeError`.
No message ever contains a true answer.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction

from inbounds.exact import format_all_digits


def escape_unprintable(text: str) -> str:
    """The text with whatever is not printable, such as line breaks and terminal controls, written as its escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def suggest_name(name: object, known: Iterable[str]) -> str:
    """Return a question to end a message with where a known name is close to an unknown one, else an empty text.

    >>> suggest_name("fiar", ["fair", "symmetric"]), suggest_name("blue", ["fair", "symmetric"])
    ("; did you mean 'fair'?", '')
    """
    close = get_close_matches(str(name).lower(), list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_kind(value: object, kind: type | tuple[type, ...], name: str, words: str) -> None:
    """Raise a `TypeError` unless an argument is of a kind. The value, which may be data, is not repeated.

    name: of the argument. words: what it must be.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {words}, got {type(value).__name__}")


class InboundsError(Exception):
    """Base of the errors that state a fact about a mechanism rather than a misuse of the interface."""


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


class ScoreRatioViolation(InboundsError):
    """A score table whose outputs are more likely in one group than a neighbouring one allows."""

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
    """A dense matrix was asked of a mechanism that is kept compact."""


class InfeasibleDesign(InboundsError):
    """No mechanism meets the request."""


class ConvergenceError(InboundsError):
    """An iteration ended before its certificate held."""


class BudgetExceeded(InboundsError):
    """A charge that would spend more on people than their budget; nothing was charged.

    people: their name. asked, left, budget: exact, in the unit of their rule (`unit`: epsilon, or rho of zCDP).
    """

    def __init__(self, people: str, asked: Fraction, left: Fraction, budget: Fraction, unit: str = "epsilon") -> None:
        self.people, self.asked, self.left, self.budget, self.unit = people, asked, left, budget, unit
        super().__init__(
            f"{unit} must be at most what is left for {people}, {format_all_digits(left)} of "
            f"{format_all_digits(budget)}, got "
            f"{format_all_digits(asked)}; ask for less, or raise the budget"
        )

    def __reduce__(self) -> tuple[type, tuple[str, Fraction, Fraction, Fraction, str]]:
        return BudgetExceeded, (self.people, self.asked, self.left, self.budget, self.unit)


class LedgerError(InboundsError):
    """A ledger that was changed, may lose what it promises to keep, or could not be written."""


class PassportError(InboundsError):
    """A mechanism file that cannot be trusted; what is quoted from it cannot move a terminal's cursor."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_unprintable(message))


class UnknownVersion(PassportError):
    """A mechanism file written in a format this version does not know."""

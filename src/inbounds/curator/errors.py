"""Errors of a curator. None of them carries a value from the data.

InboundsError
└── CuratorError
    ├── UnknownToken         no such account, or its token was revoked
    ├── Forbidden            the account may not do that
    ├── UnknownResource      it does not exist, or this account may not know of it
    ├── KeyConflict          the account used this key for another question
    ├── CapExceeded          more than is left of the account's cap (carries account, asked, left)
    ├── RowLimitExceeded     more rows than one account may hold (carries account, asked, most)
    ├── CuratorBusy          another design of this account is running, too many wait, or none can be started
    ├── DesignTooExpensive   a request or a design that is larger or longer than this curator allows
    ├── DatasetClosed        an evaluation failed, and the owner has not reopened the dataset (carries dataset)
    ├── EvaluationFailed     the evaluation of this question failed; it is never evaluated again
    └── CuratorUnavailable   the one message for everything that may fail after a charge
"""

from fractions import Fraction

from inbounds.errors import InboundsError
from inbounds.exact import format_all_digits


class CuratorError(InboundsError):
    """Base class of the errors of a curator."""


class UnknownToken(CuratorError):
    """No such account, or its token was revoked."""


class Forbidden(CuratorError):
    """The account may not do that."""


class UnknownResource(CuratorError):
    """The resource does not exist, or this account may not know of it; the message is the same."""


class KeyConflict(CuratorError):
    """The account used this key for another question."""


class CapExceeded(CuratorError):
    """More than is left of the account's cap; nothing was charged. asked, left: exact, in epsilon.

    stored: whether asked is the epsilon of a stored answer, which is larger than that of the question.
    """

    def __init__(self, account: str, asked: Fraction, left: Fraction, *, stored: bool = False) -> None:
        self.account, self.asked, self.left, self.stored = account, asked, left, stored
        got = f"that of the stored answer, {format_all_digits(asked)}" if stored else format_all_digits(asked)
        way = "ask with redraw for a draw at the smaller epsilon" if stored else "ask for less"
        super().__init__(
            f"epsilon exceeds the cap of {account}: requested {got}, remaining {format_all_digits(left)}; {way}, or "
            "ask the owner for a larger cap"
        )


class RowLimitExceeded(CuratorError):
    """More rows of answers and keys than one account may hold; nothing was charged. asked: rows including this
    answer.
    """

    def __init__(self, account: str, asked: int, most: int) -> None:
        self.account, self.asked, self.most = account, asked, most
        super().__init__(
            f"rows of answers and keys that {account} holds must be at most {most} in all, got {asked} with this "
            "answer; ask about fewer groups, or ask the owner for another account"
        )


class CuratorBusy(CuratorError):
    """Another design of this account is running, or too many wait; nothing was charged."""


class DesignTooExpensive(CuratorError):
    """A request or design that is larger or longer than this curator allows; nothing was charged."""


class DatasetClosed(CuratorError):
    """An evaluation of the dataset failed, and its owner has not reopened it; nothing was charged."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        super().__init__(
            f"the dataset {dataset} is closed until its owner reopens it; stored answers are given, other "
            "questions are refused and not charged"
        )


class EvaluationFailed(CuratorError):
    """The question was charged and its evaluation failed. Data is never read twice under one charge."""

    def __init__(self) -> None:
        super().__init__(
            "the evaluation of this question failed, and it is never evaluated again; ask a different question, such "
            "as this one at another epsilon, which is charged again"
        )


class CuratorUnavailable(CuratorError):
    """The one message for everything that may fail after a charge, and for requests that take too long."""

    def __init__(self) -> None:
        super().__init__(
            "the answer is not available now; ask again with the same question and key, which is charged only once"
        )

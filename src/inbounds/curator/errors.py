"""What a curator refuses, as types. None of them ever carries a value from the data.

InboundsError
└── CuratorError
    ├── NotKnown          no such account, or its token was revoked
    ├── NotAllowed        the account may not do that
    ├── NotFound          there is no such thing, or this account may not know of it
    ├── KeyTaken          a key of this account that was used for another question
    ├── OverCap           more than is left of the account's own cap (carries account, asked, left)
    ├── OverRows          more rows than one account may hold (carries account, asked, most)
    ├── Busy              another design of this account is being made, too many wait, or none can be started
    ├── TooMuch           a request, or a design, larger or longer than this curator allows
    ├── Closed            an evaluation failed, and the owner has not reopened the dataset (carries dataset)
    ├── NotAnswered       the evaluation of this very question failed: it is never read for again
    └── Unavailable       after a charge: the one sentence that is said of everything that may go wrong then
"""

from fractions import Fraction

from inbounds.errors import InboundsError
from inbounds.exact import format_all_digits


class CuratorError(InboundsError):
    """Base of what a curator refuses."""


class UnknownToken(CuratorError):
    """No such account, or its token was revoked."""


class Forbidden(CuratorError):
    """The account may not do that."""


class UnknownResource(CuratorError):
    """There is no such thing, or this account may not know of it: both are said alike."""


class KeyConflict(CuratorError):
    """The account used this key for another question."""


class CapExceeded(CuratorError):
    """More than is left of the account's own cap; nothing was charged. asked, left: exact, in epsilon.

    stored: asked is the epsilon of the stored answer that would be given, which is larger than that of the question.
    """

    def __init__(self, account: str, asked: Fraction, left: Fraction, *, stored: bool = False) -> None:
        self.account, self.asked, self.left, self.stored = account, asked, left, stored
        got = f"that of the stored answer, {format_all_digits(asked)}" if stored else format_all_digits(asked)
        way = "ask with redraw for a draw at the smaller epsilon" if stored else "ask for less"
        super().__init__(
            f"epsilon must be at most what is left of the cap of {account}, {format_all_digits(left)}, got "
            f""
            f"{got}; {way}, or "
            "ask the owner for a larger cap"
        )


class RowLimitExceeded(CuratorError):
    """More rows of answers and keys than one account may hold; nothing was charged. asked: with this answer."""

    def __init__(self, account: str, asked: int, most: int) -> None:
        self.account, self.asked, self.most = account, asked, most
        super().__init__(
            f"rows of answers and keys that {account} holds must be at most {most} in all, got {asked} with this "
            "answer; ask about fewer groups, or ask the owner for another account"
        )


class CuratorBusy(CuratorError):
    """Another design of this account is being made, or too many wait; nothing was charged."""


class DesignTooExpensive(CuratorError):
    """Larger or longer than this curator allows; nothing was charged."""


class DatasetClosed(CuratorError):
    """An evaluation of the dataset failed, and its owner has not reopened it; nothing was charged."""

    def __init__(self, dataset: str) -> None:
        self.dataset = dataset
        super().__init__(
            f"the dataset {dataset} is closed until its owner reopens it; answers that are stored are given, other "
            "questions are not charged and not answered"
        )


class EvaluationFailed(CuratorError):
    """The question was charged and its evaluation failed. Data is never read twice under one charge."""

    def __init__(self) -> None:
        super().__init__(
            "this question was charged and could not be answered, and is never evaluated again; ask another one, such "
            "as the same at another epsilon, which is charged by itself"
        )


class CuratorUnavailable(CuratorError):
    """What is said of everything that may go wrong after a charge, and of whatever takes too long."""

    def __init__(self) -> None:
        super().__init__(
            "the answer is not available now; ask again with the same question and key, which is charged only once"
        )

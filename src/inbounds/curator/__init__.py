"""The curator: people ask about datasets over time, and are answered within the budget of those they ask about.

dataset (public facts) → question → answer          accounts with caps and levels, one budget for all
"""

from inbounds.curator.accounts import Account, Grant
from inbounds.curator.answers import AnswerCost, GivenAnswer
from inbounds.curator.curator import Curator
from inbounds.curator.dataset import Dataset
from inbounds.curator.errors import (
    Busy,
    Closed,
    CuratorError,
    KeyTaken,
    NotAllowed,
    NotAnswered,
    NotFound,
    NotKnown,
    OverCap,
    OverRows,
    TooMuch,
    Unavailable,
)
from inbounds.curator.evaluations import DatasetStatus
from inbounds.curator.previews import AskedPreview
from inbounds.curator.question import Question, question_from
from inbounds.curator.settings import ServiceLimits, Settings, read_settings, settings_from

__all__ = [
    "Account",
    "AnswerCost",
    "AskedPreview",
    "Busy",
    "Closed",
    "Curator",
    "CuratorError",
    "Dataset",
    "DatasetStatus",
    "GivenAnswer",
    "Grant",
    "KeyTaken",
    "NotAllowed",
    "NotAnswered",
    "NotFound",
    "NotKnown",
    "OverCap",
    "OverRows",
    "Question",
    "ServiceLimits",
    "Settings",
    "TooMuch",
    "Unavailable",
    "question_from",
    "read_settings",
    "settings_from",
]

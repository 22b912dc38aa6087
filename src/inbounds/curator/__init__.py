"""The curator: people ask about datasets over time, and are answered within the budget of those they ask about.

dataset (public facts) → question → answer          accounts with caps and levels, one budget for all
"""

from inbounds.curator.accounts import Account, Grant
from inbounds.curator.answer import Answer, AnswerCost
from inbounds.curator.curator import Curator
from inbounds.curator.dataset import Dataset
from inbounds.curator.errors import (
    CapExceeded,
    CuratorBusy,
    CuratorError,
    CuratorUnavailable,
    DatasetClosed,
    DesignTooExpensive,
    EvaluationFailed,
    Forbidden,
    KeyConflict,
    RowLimitExceeded,
    UnknownResource,
    UnknownToken,
)
from inbounds.curator.evaluations import DatasetStatus
from inbounds.curator.preview import QuestionPreview
from inbounds.curator.question import Question, parse_question
from inbounds.curator.settings import ServiceLimits, Settings, load_settings, parse_settings

__all__ = [
    "Account",
    "Answer",
    "AnswerCost",
    "CapExceeded",
    "Curator",
    "CuratorBusy",
    "CuratorError",
    "CuratorUnavailable",
    "Dataset",
    "DatasetClosed",
    "DatasetStatus",
    "DesignTooExpensive",
    "EvaluationFailed",
    "Forbidden",
    "Grant",
    "KeyConflict",
    "Question",
    "QuestionPreview",
    "RowLimitExceeded",
    "ServiceLimits",
    "Settings",
    "UnknownResource",
    "UnknownToken",
    "load_settings",
    "parse_question",
    "parse_settings",
]

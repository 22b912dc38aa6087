"""The curator: accounts ask questions about datasets over time, within one privacy budget for each population.

dataset (public facts) → question → answer          accounts have caps and levels, all share one budget
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

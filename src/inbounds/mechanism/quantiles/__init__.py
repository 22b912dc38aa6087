"""The mechanisms of quantiles: laws over a group's records that passed the checker."""

from inbounds.mechanism.quantiles.expected import ExpectedReports
from inbounds.mechanism.quantiles.laws import Central, CountedTable, Oblivious, QuantileLaw, ScoreTable, SidedTable
from inbounds.mechanism.quantiles.mechanism import QuantileMechanism

__all__ = [
    "Central",
    "CountedTable",
    "ExpectedReports",
    "Oblivious",
    "QuantileLaw",
    "QuantileMechanism",
    "ScoreTable",
    "SidedTable",
]

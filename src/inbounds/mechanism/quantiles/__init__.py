"""Quantile mechanisms: laws over a group's records that passed the privacy check, their channels and passports."""

from inbounds.mechanism.quantiles.channel import Channel
from inbounds.mechanism.quantiles.laws import (
    CentralRecords,
    PermuteAndFlip,
    QuantileLaw,
    SidedPermuteAndFlip,
)
from inbounds.mechanism.quantiles.mechanism import QuantileMechanism

__all__ = [
    "CentralRecords",
    "Channel",
    "PermuteAndFlip",
    "QuantileLaw",
    "QuantileMechanism",
    "SidedPermuteAndFlip",
]

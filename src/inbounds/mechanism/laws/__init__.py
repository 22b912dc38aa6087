"""The registry of laws: what mechanisms may be made of.

Each law has its certificate in `inbounds.trusted`, a sampler, JSON for passports, measures, and the list of the other
checkers that judge it. `inbounds.mechanism.laws.base` says what a new law needs.
"""

from types import MappingProxyType
from typing import Any, Final

from inbounds.mechanism.laws.approximate import ApproximateMatrix, ApproximateNoise
from inbounds.mechanism.laws.base import AnswerLaw, Law, RecordsLaw
from inbounds.mechanism.laws.blocks import BlockResponse
from inbounds.mechanism.laws.central import CentralRecords
from inbounds.mechanism.laws.counts import NoisyCounts
from inbounds.mechanism.laws.joint import JointLaw, JointPathLengths, JointPathLengthsOverSizes
from inbounds.mechanism.laws.matrix import Matrix
from inbounds.mechanism.laws.noise import Noise
from inbounds.mechanism.laws.plane import PlaneNoise
from inbounds.mechanism.laws.response import Response
from inbounds.mechanism.laws.scores import PermuteAndFlip
from inbounds.mechanism.laws.sides import SidedPermuteAndFlip
from inbounds.mechanism.laws.threshold import Threshold

LAWS: Final = MappingProxyType[str, type[Law[Any]]](
    {
        law.kind: law
        for law in (
            Matrix,
            ApproximateMatrix,
            ApproximateNoise,
            Threshold,
            Noise,
            Response,
            PlaneNoise,
            BlockResponse,
            PermuteAndFlip,
            SidedPermuteAndFlip,
            CentralRecords,
            JointPathLengths,
            JointPathLengthsOverSizes,
            NoisyCounts,
        )
    }
)
"""Every law by its key in passports; a mechanism of another law is refused."""

__all__ = [
    "LAWS",
    "AnswerLaw",
    "ApproximateMatrix",
    "ApproximateNoise",
    "BlockResponse",
    "CentralRecords",
    "JointLaw",
    "JointPathLengths",
    "JointPathLengthsOverSizes",
    "Law",
    "Matrix",
    "Noise",
    "NoisyCounts",
    "PermuteAndFlip",
    "PlaneNoise",
    "RecordsLaw",
    "Response",
    "SidedPermuteAndFlip",
    "Threshold",
]

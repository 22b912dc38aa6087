"""Reconstructing a distribution from many noisy reports."""

from inbounds.estimate.reconstruction import Reconstruction, reconstruct
from inbounds.estimate.uncertainty import Intervals

__all__ = ["Intervals", "Reconstruction", "reconstruct"]

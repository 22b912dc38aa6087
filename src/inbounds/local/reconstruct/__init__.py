"""Reconstructing a distribution from many noisy reports."""

from inbounds.local.reconstruct.reconstruction import Reconstruction, reconstruct
from inbounds.local.reconstruct.uncertainty import Intervals

__all__ = ["Intervals", "Reconstruction", "reconstruct"]

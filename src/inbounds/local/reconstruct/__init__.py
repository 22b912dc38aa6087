"""Reconstruct a distribution from many noisy reports."""

from inbounds.local.reconstruct.reconstruction import reconstruct
from inbounds.local.reconstruct.result import Reconstruction
from inbounds.local.reconstruct.uncertainty import Intervals

__all__ = ["Intervals", "Reconstruction", "reconstruct"]

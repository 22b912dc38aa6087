"""Laws whose reports name sets of labels, and the mechanisms that they make."""

from inbounds.mechanism.labels.law import Blocks
from inbounds.mechanism.labels.mechanism import LabelMechanism

__all__ = ["Blocks", "LabelMechanism"]

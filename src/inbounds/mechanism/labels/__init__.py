"""Laws whose reports name sets of labels, and the mechanisms that they make."""

from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.labels.mechanism import LabelMechanism

__all__ = ["BlockResponse", "LabelMechanism"]

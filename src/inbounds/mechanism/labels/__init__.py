"""Label mechanisms: local mechanisms whose reports name sets of labels, their laws and passports."""

from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.labels.mechanism import LabelMechanism

__all__ = ["BlockResponse", "LabelMechanism"]

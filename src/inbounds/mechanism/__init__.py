"""Mechanism: probabilities that passed the checker, and what is measured on them."""

from inbounds.mechanism.mechanism import (
    PROPERTY_UNITS,
    SYMMETRY_SLACK,
    TOLERANCE,
    Holding,
    Mechanism,
    certified,
    certify,
    check_mechanism,
    near,
)
from inbounds.mechanism.origin import Optimality, Origin

__all__ = [
    "PROPERTY_UNITS",
    "SYMMETRY_SLACK",
    "TOLERANCE",
    "Holding",
    "Mechanism",
    "Optimality",
    "Origin",
    "certified",
    "certify",
    "check_mechanism",
    "near",
]

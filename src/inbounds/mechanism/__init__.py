"""Mechanism: probabilities that passed the checker, and what is measured on them."""

from inbounds.mechanism.mechanism import (
    A_MECHANISM,
    MECHANISMS,
    PROPERTY_UNITS,
    SYMMETRY_SLACK,
    TOLERANCE,
    Holding,
    Mechanism,
    certified,
    certify,
    near,
)
from inbounds.mechanism.origin import Optimality, Origin

__all__ = [
    "A_MECHANISM",
    "MECHANISMS",
    "PROPERTY_UNITS",
    "SYMMETRY_SLACK",
    "TOLERANCE",
    "Holding",
    "Mechanism",
    "Optimality",
    "Origin",
    "certified",
    "certify",
    "near",
]

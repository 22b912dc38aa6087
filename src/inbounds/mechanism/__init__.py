"""Certified mechanisms: probabilities that passed the privacy check, their measures, and their passports."""

from inbounds.mechanism.channel import Channel
from inbounds.mechanism.mechanism import (
    PROPERTY_UNITS,
    SYMMETRY_SLACK,
    TOLERANCE,
    AnyMechanism,
    JointMechanism,
    Mechanism,
    PropertyCheck,
    QuantileMechanism,
    certify,
    certify_formula,
    check_mechanism,
    refuse_delta,
    round_to_weights,
)
from inbounds.mechanism.origin import Optimality, Origin

__all__ = [
    "PROPERTY_UNITS",
    "SYMMETRY_SLACK",
    "TOLERANCE",
    "AnyMechanism",
    "Channel",
    "JointMechanism",
    "Mechanism",
    "Optimality",
    "Origin",
    "PropertyCheck",
    "QuantileMechanism",
    "certify",
    "certify_formula",
    "check_mechanism",
    "refuse_delta",
    "round_to_weights",
]

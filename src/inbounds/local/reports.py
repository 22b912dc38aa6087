"""Mechanisms that report on one person's value."""

from inbounds.errors import check_kind
from inbounds.mechanism import Mechanism, refuse_delta
from inbounds.mechanism.laws import AnswerLaw


def check_local_mechanism(mechanism: object) -> None:
    """Raise `TypeError` unless this is a mechanism for single values, `ValueError` if it has a delta."""
    check_kind(mechanism, Mechanism, "mechanism", "a mechanism such as ib.catalog.uniform(ib.ordinal(0, 100), 1)")
    if not isinstance(mechanism.law, AnswerLaw):  # type: ignore[attr-defined]
        raise TypeError("mechanism must be for one person's value; this one is for a quantile of a group's records")
    refuse_delta(mechanism)  # type: ignore[arg-type]

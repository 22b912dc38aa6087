"""Mechanisms that report on one person's value.

A report is one of the query's outputs, or the number of a set of labels.
"""

from inbounds.errors import check_kind
from inbounds.files import FileLike
from inbounds.mechanism import Mechanism
from inbounds.mechanism.labels import LabelMechanism
from inbounds.mechanism.load import (
    PASSPORT,
    is_label_passport,
    label_mechanism_from_document,
    range_mechanism_from_document,
)
from inbounds.query import RangeQuery, category

LocalMechanism = Mechanism | LabelMechanism


def check_local_mechanism(mechanism: object) -> None:
    """Raise `TypeError` unless this is a mechanism for single values."""
    kinds = (Mechanism, LabelMechanism)
    check_kind(mechanism, kinds, "mechanism", "a mechanism such as ib.catalog.uniform(ib.ordinal(0, 100), 1)")


def output_count(mechanism: LocalMechanism) -> RangeQuery:
    """Return a query whose outputs are the possible reports, in their order."""
    return category(mechanism.outputs) if isinstance(mechanism, LabelMechanism) else mechanism.query


def as_local(mechanism: object, what: str) -> LocalMechanism:
    """Return the mechanism; raise `TypeError` for anything else. what: the beginning of the message."""
    if not isinstance(mechanism, Mechanism | LabelMechanism):
        raise TypeError(f"{what} a Mechanism, got {type(mechanism).__name__}")
    return mechanism


def load_local_mechanism(file: FileLike) -> LocalMechanism:
    """Read and certify a passport of either kind; raise `PassportError` if it is changed, malformed or not private."""
    passport = PASSPORT.load(file)
    return (label_mechanism_from_document if is_label_passport(passport) else range_mechanism_from_document)(passport)

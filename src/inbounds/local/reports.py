"""The reports of a mechanism on one person's value: one of the query's outputs, or the number of a set of labels."""

import os

from inbounds.errors import check_kind
from inbounds.files import detect_format
from inbounds.mechanism import Mechanism
from inbounds.mechanism.labels import LabelMechanism
from inbounds.mechanism.labels.load import load_label_mechanism
from inbounds.mechanism.load import load as load_mechanism
from inbounds.mechanism.passport import LABEL_PASSPORT
from inbounds.query import RangeQuery, category

LocalMechanism = Mechanism | LabelMechanism


def check_local_mechanism(mechanism: object) -> None:
    """Raise a `TypeError` unless this is a mechanism for single values."""
    kinds = (Mechanism, LabelMechanism)
    check_kind(mechanism, kinds, "mechanism", "a mechanism such as ib.catalog.uniform(ib.ordinal(0, 100), 1)")


def output_count(mechanism: LocalMechanism) -> RangeQuery:
    """Return a query whose outputs are the possible reports, in their order."""
    return category(mechanism.outputs) if isinstance(mechanism, LabelMechanism) else mechanism.query


def as_local(mechanism: object, what: str) -> LocalMechanism:
    """Return the mechanism itself; anything else is refused with a message that begins with its purpose."""
    if not isinstance(mechanism, Mechanism | LabelMechanism):
        raise TypeError(f"{what} a Mechanism, got {type(mechanism).__name__}")
    return mechanism


def load_local_mechanism(path: str | os.PathLike[str]) -> LocalMechanism:
    """Load and certify a passport of either kind. Raises `PassportError`."""
    return load_label_mechanism(path) if detect_format(path) == LABEL_PASSPORT.format else load_mechanism(path)

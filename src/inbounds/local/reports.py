"""What a mechanism on one person's value reports: one of the query's outputs, or the number of a set of labels."""

import os

from inbounds.errors import check_kind
from inbounds.files import format_of
from inbounds.mechanism import Mechanism
from inbounds.mechanism.labels import LabelMechanism
from inbounds.mechanism.labels.reading import load_labels
from inbounds.mechanism.passport import LABEL_PASSPORT
from inbounds.mechanism.reading import load as load_mechanism
from inbounds.query import Query, category

LocalMechanism = Mechanism | LabelMechanism


def check_local_mechanism(mechanism: object) -> None:
    """Raise a `TypeError` unless this is a mechanism for single values."""
    kinds = (Mechanism, LabelMechanism)
    check_kind(mechanism, kinds, "mechanism", "a mechanism such as ib.catalog.uniform(ib.ordinal(0, 100), 1)")


def reports_of(mechanism: LocalMechanism) -> Query:
    """A query whose outputs are the possible reports, in their order."""
    return category(mechanism.outputs) if isinstance(mechanism, LabelMechanism) else mechanism.query


def as_local(mechanism: object, what: str) -> LocalMechanism:
    """The mechanism itself; anything else is refused in words that begin with what it was for."""
    if not isinstance(mechanism, Mechanism | LabelMechanism):
        raise TypeError(f"{what} a Mechanism, got {type(mechanism).__name__}")
    return mechanism


def load(path: str | os.PathLike[str]) -> LocalMechanism:
    """Read and re-certify a passport of either kind; any doubt is a `PassportError` that says what is wrong."""
    return load_labels(path) if format_of(path) == LABEL_PASSPORT.format else load_mechanism(path)

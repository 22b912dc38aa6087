"""What a mechanism on one person's value reports: one of the query's outputs, or the number of a set of labels."""

import os

from inbounds.arguments import A_PATH, MustBe, used_like
from inbounds.files import format_of
from inbounds.mechanism import Mechanism
from inbounds.mechanism.labels import LabelMechanism
from inbounds.mechanism.labels.reading import load_labels
from inbounds.mechanism.passport import LABEL_PASSPORT
from inbounds.mechanism.reading import load as load_mechanism
from inbounds.query import Query, category

LocalMechanism = Mechanism | LabelMechanism

A_LOCAL_MECHANISM = MustBe(
    (Mechanism, LabelMechanism),
    "a mechanism such as ib.catalog.truncated_geometric(ib.ordinal(0, 100), '0.07')",
    {"str": "ib.local.load reads a passport"},
    beside_data=True,
)


def reports_of(mechanism: LocalMechanism) -> Query:
    """A query whose outputs are the possible reports, in their order."""
    return category(mechanism.outputs) if isinstance(mechanism, LabelMechanism) else mechanism.query


def as_local(mechanism: object, what: str) -> LocalMechanism:
    """The mechanism itself; anything else is refused in words that begin with what it was for."""
    if not isinstance(mechanism, Mechanism | LabelMechanism):
        raise TypeError(f"{what} a Mechanism, got {type(mechanism).__name__}")
    return mechanism


@used_like("ib.local.load('m.json')", path=A_PATH)
def load(path: str | os.PathLike[str]) -> LocalMechanism:
    """Read and re-certify a passport of either kind; any doubt is a `PassportError` that says what is wrong."""
    return load_labels(path) if format_of(path) == LABEL_PASSPORT.format else load_mechanism(path)

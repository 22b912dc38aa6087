"""Whom a plan is about, and how much of one person counts."""

from dataclasses import dataclass, field

from inbounds.ledger.people import as_name
from inbounds.numbers import whole
from inbounds.tables.columns import LARGEST
from inbounds.tables.errors import PlanError, at
from inbounds.tables.forms import PersonForm


@dataclass(frozen=True)
class Contribution:
    """How many records of one person count: in one group, and in how many groups."""

    records: int = 1
    groups: int = 1


@dataclass(frozen=True)
class Protected:
    """Whom a plan is about: their name in the ledger, and the ledger, a file or a postgresql:// URL.

    id: the column that says whose a record is; without it, one record is one person. max_records, max_groups: how many
    records of one person count in one group, and in how many groups; more are left out.
    """

    name: str = ""
    ledger: str = field(default="", repr=False)
    id: str = ""
    max_records: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        if self.name:
            with at("name"):
                as_name(self.name, "name")
        for name in ("max_records", "max_groups"):
            with at(name):
                object.__setattr__(self, name, whole(getattr(self, name), name, 1))
            if getattr(self, name) >= LARGEST:
                raise PlanError("must lie below 2^53", (name,))
            if not self.id and getattr(self, name) != 1:
                raise PlanError("needs id, the column that says whose a record is", (name,))

    def summary(self) -> PersonForm:
        """What a record says about persons."""
        return {"id": self.id, "max_records": self.max_records, "max_groups": self.max_groups}

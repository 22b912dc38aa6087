"""Several releases about the same people: what their records promise together, by adding up.

Each release was drawn by itself, so the factors multiply and the epsilons add up (sequential composition). A record
that is left out moves every answer no further than the relation of its release allows, whichever that is; so the sum
always covers a record in the data or not. It covers more when all releases promise the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.tables.plan import CHANGE, PERSON
from inbounds.tables.texts import number


@dataclass(frozen=True)
class Together:
    """Releases by name, what each spends, and what is covered by the sum."""

    names: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    covers: str

    @property
    def epsilon(self) -> Fraction:
        return sum(self.epsilons, Fraction(0))

    def __str__(self) -> str:
        parts = " + ".join(map(number, self.epsilons))
        total = f"{parts} = {number(self.epsilon)}" if len(self.epsilons) > 1 else parts
        factor = math.exp(float(self.epsilon))
        return (
            f"If they are about the same people, these releases are together epsilon {total}: {self.covers}, and all "
            f"tables together are at most {factor:.4g} times likelier than they would be otherwise"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; epsilons exactly, as text."""
        members = zip(self.names, self.epsilons, strict=True)
        releases = [{"file": name, "epsilon": str(epsilon)} for name, epsilon in members]
        return {"releases": releases, "epsilon": str(self.epsilon), "statement": str(self)}


def together(records: Mapping[str, Mapping[str, Any]]) -> Together:
    """The sum over records, by file name. One release written twice, under any names, counts once."""
    own = {_release(name, record): (name, record) for name, record in records.items()}
    names, contents = zip(*own.values(), strict=True)
    return Together(names, tuple(Fraction(record["epsilon"]["spent"]) for record in contents), _covered(contents))


def _release(name: str, record: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells one release from all others: its random id, and nothing that a careless copy could share."""
    return record.get("id", name), record["plan_sha256"], record["epsilon"]["spent"], record["time"]


def _covered(records: Sequence[Mapping[str, Any]]) -> str:
    promises = {(record["plan"]["sizes"], record["plan"]["neighbours"]) for record in records}
    if promises == {("public", CHANGE)}:
        return "one person's record may be changed within its groups, or left out"
    if promises == {("maximum", CHANGE)}:
        return "one person's record may be replaced by any other, also in another group"
    if promises == {("maximum", PERSON)}:
        return "one person may be added or removed, with all records (replaced: at twice the epsilon)"
    if ("maximum", PERSON) in promises:
        return (
            "one person may be added or removed, with one record where a release names no persons (replaced: at twice "
            "the epsilon)"
        )
    return "one person's record may be added or removed (replaced: at twice the epsilon)"

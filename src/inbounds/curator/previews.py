"""What a question would be answered with: free, from public facts alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbounds.curator.repeats import Asked, Found, How
from inbounds.ledger import People
from inbounds.numbers import decimal
from inbounds.tables import Settled
from inbounds.tables.record import composition, statement


@dataclass(frozen=True)
class AskedPreview:
    """A question before it is asked.

    how: whether it would be drawn, or is answered already. epsilon: what it would cost the account's cap. people: what
    it would cost the people's budget, and what is left of that. errors: the expected error for every group size,
    constants: what the best constant would err by. no_better: why it is not worth its epsilon, if it is not.
    """

    question: Mapping[str, Any]
    how: How
    epsilon: str
    people: str
    people_left: str | None
    unit: str
    errors: Mapping[str, float]
    constants: Mapping[str, float]
    no_better: tuple[str, ...]
    account: tuple[str, ...]
    statement: str

    def plain(self) -> dict[str, Any]:
        """Plain JSON values."""
        said = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**said, "no_better": list(self.no_better), "account": list(self.account)}


def previewed(asked: Asked, found: Found, settled: Settled, people: People, epsilon: str) -> AskedPreview:
    """epsilon: of the answer that the account would be given."""
    designed = settled.designed
    sizes = [str(size) for size in designed.asked.sizes]
    expected = designed.expected[0]
    return AskedPreview(
        asked.question.plain(),
        found.how,
        epsilon,
        decimal(asked.epsilon) if found.how == "new" else "0",
        people.plain()["left"],
        people.unit,
        dict(zip(sizes, (one.error for one in expected), strict=True)),
        dict(zip(sizes, (one.constant for one in expected), strict=True)),
        tuple(map(str, settled.idle)),
        tuple(composition(asked.plan, designed.asked.entries)),
        statement(asked.plan),
    )

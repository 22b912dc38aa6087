"""The state of Explore: a query, an epsilon and design options, as plain texts. Each state is a URL."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from inbounds import priors, query
from inbounds.errors import TooLarge
from inbounds.exact import Floats, to_epsilon, to_int
from inbounds.losses import Loss, LossLimit, parse_limit, parse_loss
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import RangeQuery

KINDS = {
    "count": ("how many of a group say yes", ("size",)),
    "total": ("the sum of everyone's value", ("size", "low", "high")),
    "mean": ("the mean of everyone's value", ("size", "low", "high")),
    "extreme": ("the largest, smallest or middle value", ("low", "high")),
    "ordinal": ("one person's value, before it leaves them", ("low", "high")),
    "interval": ("any number in a range that one person moves a little", ("low", "high", "sensitivity", "cells")),
    "category": ("one person's label", ("labels",)),
}
"""The kinds of questions: what each asks, and what must be known about it."""

PRIORS = {"uniform": "", "binomial": "p", "normal": "mean, deviation", "beta": "a, b"}
"""Priors by name, and the numbers that each needs."""

WITH_NUMBER = {"off-by-more-than": "threshold_loss", "power": "power_loss"}
"""Losses that take a number, and their functions in Python."""

LOSSES = ("absolute", "squared", "zero-one", *WITH_NUMBER)
AIMS = ("average", "worst")
OPTIMAL = "optimal"

LONGEST = 2000
"""Characters of a text in a question."""


@dataclass(frozen=True)
class ExploreState:
    """A question as its form and its URL hold it."""

    kind: str = "count"
    size: str = "20"
    low: str = "1"
    high: str = "5"
    sensitivity: str = "1"
    cells: str = "20"
    labels: str = "yes, no, unsure"
    epsilon: str = "0.5"
    loss: str = "absolute"
    beyond: str = "2"
    prior: str = "uniform"
    numbers: str = "0.3"
    aim: str = "average"
    require: tuple[str, ...] = ()
    limits: str = ""
    mechanism: str = OPTIMAL

    @classmethod
    def from_pairs(cls, form: Iterable[tuple[str, str]]) -> "ExploreState":
        """Build a state from the pairs of a URL; fields that are missing have their defaults."""
        pairs = [(name, value[:LONGEST].strip()) for name, value in form if name in NAMES]
        single = {name: value for name, value in pairs if value and name != "require"}
        if single.get("kind") == "category" and "loss" not in single:
            single["loss"] = "zero-one"
        return cls(**single, require=tuple(dict.fromkeys(value for name, value in pairs if name == "require")))

    @property
    def url(self) -> str:
        """Return the query string of this state, without defaults and unused fields."""
        usual, needed = ExploreState(), {"kind", "epsilon", *self.required_fields}
        pairs: list[tuple[str, str]] = []
        for name in NAMES:
            value = getattr(self, name)
            if name == "require":
                pairs += [(name, one) for one in value]
            elif name in needed or (name not in FACTS and value != getattr(usual, name)):
                pairs.append((name, value))
        return urlencode(pairs)

    @property
    def required_fields(self) -> tuple[str, ...]:
        """The fields that a question of this kind needs."""
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        return KINDS[self.kind][1]

    @property
    def facts(self) -> list[Any]:
        """The arguments of the function that builds the query."""
        return [_fact(name, getattr(self, name)) for name in self.required_fields]

    def query(self) -> RangeQuery:
        facts = self.facts  # refuses an unknown kind
        result: RangeQuery = getattr(query, self.kind)(*facts)
        return result

    @property
    def loss_name(self) -> str:
        return f"{self.loss}-{self.beyond}" if self.loss in WITH_NUMBER else self.loss

    def loss_object(self) -> Loss:
        return parse_loss(self.loss_name)

    @property
    def prior_numbers(self) -> tuple[str, ...]:
        """The numbers of the prior; none where every answer is equally likely."""
        if self.prior not in PRIORS:
            raise ValueError(f"prior must be one of {', '.join(PRIORS)}, got {self.prior!r}")
        names = [word for word in PRIORS[self.prior].split(", ") if word]
        numbers = [part.strip() for part in self.numbers.split(",")][: len(names)]
        if len(numbers) < len(names):
            raise ValueError(f"the prior {self.prior} needs {PRIORS[self.prior]}, got {self.numbers!r}")
        return tuple(numbers)

    def weights(self, range_query: RangeQuery) -> Floats | None:
        """Return the prior of the answers, None where all are equally likely."""
        numbers = self.prior_numbers
        prior: Floats | None = getattr(priors, self.prior)(range_query, *numbers) if numbers else None
        return prior

    def check(self) -> None:
        """Refuse a question that cannot be asked, before any work."""
        range_query = self.query()
        if range_query.shape[0] * range_query.shape[1] > MATRIX_LIMIT:
            raise TooLarge("this has too many answers to be shown cell by cell; choose a smaller size or coarser cells")
        self.weights(range_query)
        to_epsilon(self.epsilon)
        self.loss_object()
        self.restrictions()

    @property
    def limit_texts(self) -> list[str]:
        return [text.strip() for text in self.limits.split(";") if text.strip()]

    def restrictions(self) -> list[LossLimit]:
        return [parse_limit(text) for text in self.limit_texts]


NAMES = tuple(own.name for own in fields(ExploreState))
FACTS = ("size", "low", "high", "sensitivity", "cells", "labels")


def _fact(name: str, text: str) -> Any:
    if name == "labels":
        return [label.strip() for label in text.split(",") if label.strip()]
    return to_int(text, name, 1) if name in ("size", "cells") else text

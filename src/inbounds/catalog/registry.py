"""The named mechanisms, one row each: how they are made, and what has to be known before making them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from inbounds.catalog.designed import variant_1, variant_2, weakly_honest
from inbounds.catalog.fair import explicit_fair
from inbounds.catalog.geometric import folded_geometric, prerounded_geometric, truncated_geometric
from inbounds.catalog.graphs import metric_geometric, planar_laplace
from inbounds.catalog.laplace import normalized_laplace, snapped_laplace
from inbounds.catalog.response import exponential, randomized_response, uniform
from inbounds.catalog.staircase import snapped_staircase
from inbounds.errors import suggest_name
from inbounds.mechanism import Mechanism
from inbounds.numbers import Number
from inbounds.query import Query

Family = Callable[[Query, Number], Mechanism]
"""A way to make a mechanism: (query, epsilon) to Mechanism."""

UnboundedNoise = Literal["laplace", "staircase", "geometric"]


@dataclass(frozen=True)
class NamedMechanism:
    """A row of the registry.

    needs: what has to be chosen beyond query and epsilon, in words; "" for nothing. takes_loss: it minimizes a loss of
    one's choice. compact: it can be made without a matrix, whatever the size. in_plans: a plan for a table may wish
    for it. noise: the unbounded noise that it keeps in range, for approximations that know no bounds. on_graphs: it
    serves answers on a graph alone.
    """

    make: Callable[..., Mechanism]
    needs: str = ""
    takes_loss: bool = False
    compact: bool = False
    in_plans: bool = False
    noise: UnboundedNoise | None = None
    on_graphs: bool = False

    @property
    def name(self) -> str:
        return self.make.__name__


_ROWS = (
    NamedMechanism(truncated_geometric, compact=True, in_plans=True, noise="geometric"),
    NamedMechanism(folded_geometric, in_plans=True),
    NamedMechanism(prerounded_geometric, needs="cell edges of your choice"),
    NamedMechanism(explicit_fair, in_plans=True),
    NamedMechanism(exponential, in_plans=True),
    NamedMechanism(randomized_response),
    NamedMechanism(snapped_laplace, in_plans=True, noise="laplace"),
    NamedMechanism(snapped_staircase, in_plans=True, noise="staircase"),
    NamedMechanism(normalized_laplace, in_plans=True),
    NamedMechanism(uniform, in_plans=True),
    NamedMechanism(variant_1, takes_loss=True, compact=True),
    NamedMechanism(variant_2, takes_loss=True),
    NamedMechanism(weakly_honest),
    NamedMechanism(metric_geometric, compact=True, on_graphs=True),
    NamedMechanism(planar_laplace, compact=True, on_graphs=True),
)

REGISTRY = {row.name: row for row in _ROWS}
"""Every named mechanism by its name."""


def families() -> dict[str, Callable[..., Mechanism]]:
    """Every named mechanism that needs nothing but a query and epsilon; those for graphs are asked for by name."""
    return {name: row.make for name, row in REGISTRY.items() if not (row.needs or row.on_graphs)}


def made_by(name: str, family: Family, query: Query, epsilon: Number) -> Mechanism:
    """The mechanism that a family, perhaps the caller's own, makes."""
    made = family(query, epsilon)
    if not isinstance(made, Mechanism):
        raise TypeError(
            f"family {name!r} must make a mechanism of a query and epsilon, got {type(made).__name__}; "
            "ib.certify makes one of a matrix"
        )
    return made


def families_named(what: Mapping[str, Family | str] | Iterable[str]) -> dict[str, Family]:
    """Families by name: those of a dictionary, one's own or named, or names of the catalog."""
    asked = what if isinstance(what, Mapping) else {name: name for name in ([what] if isinstance(what, str) else what)}
    return {name: family_named(family) if isinstance(family, str) else family for name, family in asked.items()}


def family_named(name: str) -> Family:
    """A family of the catalog."""
    known = families()
    if name not in known:
        raise ValueError(f"family must be one of {', '.join(known)}, got {name!r}{suggest_name(name, known)}")
    return known[name]

"""The named mechanisms, one row each: how they are made, and what has to be known before making them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from inbounds.catalog.fair import explicit_fair
from inbounds.catalog.geometric import folded_geometric, prerounded_geometric, truncated_geometric
from inbounds.catalog.graphs import metric_geometric, planar_laplace
from inbounds.catalog.laplace import normalized_laplace, snapped_laplace
from inbounds.catalog.optimized import variant_1, variant_2, weakly_honest
from inbounds.catalog.response import exponential, randomized_response, uniform
from inbounds.catalog.staircase import snapped_staircase
from inbounds.errors import suggest_name
from inbounds.exact import Number
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery

Family = Callable[[RangeQuery, Number], Mechanism]
"""A way to make a mechanism: (query, epsilon) to Mechanism."""

UnboundedNoise = Literal["laplace", "staircase", "geometric"]


@dataclass(frozen=True)
class CatalogEntry:
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
    CatalogEntry(truncated_geometric, compact=True, in_plans=True, noise="geometric"),
    CatalogEntry(folded_geometric, in_plans=True),
    CatalogEntry(prerounded_geometric, needs="cell edges of your choice"),
    CatalogEntry(explicit_fair, in_plans=True),
    CatalogEntry(exponential, in_plans=True),
    CatalogEntry(randomized_response),
    CatalogEntry(snapped_laplace, in_plans=True, noise="laplace"),
    CatalogEntry(snapped_staircase, in_plans=True, noise="staircase"),
    CatalogEntry(normalized_laplace, in_plans=True),
    CatalogEntry(uniform, in_plans=True),
    CatalogEntry(variant_1, takes_loss=True, compact=True),
    CatalogEntry(variant_2, takes_loss=True),
    CatalogEntry(weakly_honest),
    CatalogEntry(metric_geometric, compact=True, on_graphs=True),
    CatalogEntry(planar_laplace, compact=True, on_graphs=True),
)

REGISTRY = {row.name: row for row in _ROWS}
"""Every named mechanism by its name."""


def families() -> dict[str, Callable[..., Mechanism]]:
    """Return every named mechanism that needs nothing but a query and epsilon; those for graphs are asked for by name."""
    return {name: row.make for name, row in REGISTRY.items() if not (row.needs or row.on_graphs)}


def build_entry(name: str, family: Family, query: RangeQuery, epsilon: Number) -> Mechanism:
    """Return the mechanism that a family, perhaps the caller's own, makes."""
    made = family(query, epsilon)
    if not isinstance(made, Mechanism):
        raise TypeError(
            f"family {name!r} must make a mechanism of a query and epsilon, got {type(made).__name__}; "
            "ib.certify makes one of a matrix"
        )
    return made


def find_families(what: Mapping[str, Family | str] | Iterable[str]) -> dict[str, Family]:
    """Families by name: those of a dictionary, one's own or named, or names of the catalog."""
    asked = what if isinstance(what, Mapping) else {name: name for name in ([what] if isinstance(what, str) else what)}
    return {name: find_family(family) if isinstance(family, str) else family for name, family in asked.items()}


def find_family(name: str) -> Family:
    """Return a family of the catalog."""
    known = families()
    if name not in known:
        raise ValueError(f"family must be one of {', '.join(known)}, got {name!r}{suggest_name(name, known)}")
    return known[name]

"""The registry of named mechanisms, one row each: the constructor, and what it needs and serves."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from inbounds.catalog.answer_scales import scaled_laplace
from inbounds.catalog.fair import explicit_fair
from inbounds.catalog.geometric import folded_geometric, prerounded_geometric, truncated_geometric
from inbounds.catalog.graphs import metric_geometric, planar_laplace
from inbounds.catalog.laplace import normalized_laplace, snapped_laplace
from inbounds.catalog.optimized import variant_1, variant_2, weakly_honest
from inbounds.catalog.response import exponential, randomized_response, uniform
from inbounds.catalog.snapped import snapped_noise
from inbounds.catalog.staircase import snapped_staircase
from inbounds.catalog.unknown_groups import threshold
from inbounds.errors import suggest_name
from inbounds.exact import Number
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery

Family = Callable[[RangeQuery, Number], Mechanism]
"""A function (query, epsilon) → Mechanism."""

UnboundedNoise = Literal["laplace", "staircase", "geometric"]


@dataclass(frozen=True)
class CatalogEntry:
    """A row of the registry.

    needs: what must be chosen beyond query and epsilon, in words; "" for nothing. takes_loss: it minimizes a loss that
    the caller chooses. compact: it can be made without a matrix, for any number of answers. in_plans: a plan may name
    it. noise: the unbounded noise that it keeps in range, for approximations without bounds. on_graphs: it serves
    answers on a graph only.
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
    CatalogEntry(snapped_staircase, compact=True, in_plans=True, noise="staircase"),
    CatalogEntry(normalized_laplace, in_plans=True),
    CatalogEntry(snapped_noise, needs="the distribution of the noise"),
    CatalogEntry(scaled_laplace, needs="time for a search over the scales of all answers"),
    CatalogEntry(uniform, in_plans=True),
    CatalogEntry(threshold, needs="a delta"),
    CatalogEntry(variant_1, takes_loss=True, compact=True),
    CatalogEntry(variant_2, takes_loss=True),
    CatalogEntry(weakly_honest),
    CatalogEntry(metric_geometric, compact=True, on_graphs=True),
    CatalogEntry(planar_laplace, compact=True, on_graphs=True),
)

REGISTRY = {row.name: row for row in _ROWS}
"""All named mechanisms by name."""


def families() -> dict[str, Callable[..., Mechanism]]:
    """Return the named mechanisms that need only a query and epsilon, without those for graphs."""
    return {name: row.make for name, row in REGISTRY.items() if not (row.needs or row.on_graphs)}


def build_entry(name: str, family: Family, query: RangeQuery, epsilon: Number) -> Mechanism:
    """Build a mechanism with a family of the catalog or of the caller; raise `TypeError` if it returns something
    else.
    """
    mechanism = family(query, epsilon)
    if not isinstance(mechanism, Mechanism):
        raise TypeError(
            f"family {name!r} must make a mechanism of a query and epsilon, got {type(mechanism).__name__}; "
            "ib.certify makes one of a matrix"
        )
    return mechanism


def find_families(choice: Mapping[str, Family | str] | Iterable[str]) -> dict[str, Family]:
    """Return families by name, from names of the catalog or a dictionary of names and functions."""
    names = [choice] if isinstance(choice, str) else choice
    by_name = choice if isinstance(choice, Mapping) else {name: name for name in names}
    return {name: find_family(family) if isinstance(family, str) else family for name, family in by_name.items()}


def find_family(name: str) -> Family:
    """Return a family of the catalog by name."""
    catalog = families()
    if name not in catalog:
        raise ValueError(f"family must be one of {', '.join(catalog)}, got {name!r}{suggest_name(name, catalog)}")
    return catalog[name]

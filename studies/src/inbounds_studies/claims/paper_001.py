"""001: what "Utility-preserving privacy mechanisms for counting queries" claims."""

from inbounds_studies.claims.claim import Beside, Numbers
from inbounds_studies.paper_001 import BINOMIAL, FOUR, GEOMETRIC, RESPONSE
from inbounds_studies.paper_001_map import ON_MAP
from inbounds_studies.style import OPTIMAL
from inbounds_studies.table import Table


def _distance(name: str, data: str, size: int = 100_000) -> "Beside":
    return Beside(
        f"Kantorovich distance, {name}, {data} data, {size:,} values",
        lambda t: t.number("value", mechanism=name, data=data, size=size),
        lambda t: t.number("value", mechanism=OPTIMAL, data=data, size=size),
    )


def _largest_gain(table: Table, data: str) -> float:
    sizes = table.distinct("size")
    distance = {(r["mechanism"], r["size"]): float(str(r["value"])) for r in table.where(data=data)}
    return max(distance[RESPONSE, size] / distance[GEOMETRIC, size] for size in sizes)


NUMBERS = {
    "001 Fig. 3 · 1": Numbers(
        printed=("5",), ours=lambda t: [_largest_gain(t, FOUR)], beside=_distance(GEOMETRIC, FOUR)
    ),
    "001 Fig. 3 · 2": Numbers(
        printed=("5",), ours=lambda t: [_largest_gain(t, BINOMIAL)], beside=_distance(GEOMETRIC, BINOMIAL)
    ),
    "001 (4), §5": Numbers(
        beside=Beside(
            "transport distance, two towns, 100,000 people: geometric on the map",
            lambda t: t.number("value", side=8, data="two towns", size=100_000, mechanism=ON_MAP),
            lambda t: t.number("value", side=8, data="two towns", size=100_000, mechanism=OPTIMAL),
        )
    ),
}

"""Passports of answers on a graph and of noise on a map: honest, at the boundary, one unit beyond it, and hostile."""

import copy
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import inbounds as ib
from envelopes import seal, wrap
from inbounds.exact import Floats, Ints
from inbounds.files import MECHANISM, Json
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism import passport as passports
from inbounds.mechanism.codec import law_to_json, scale_to_json
from inbounds.mechanism.laws.plane import PlaneNoise, make_plane_noise, require_map_metric
from inbounds.query import OutputCells, RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.plane_noise import map_moves, shift_table, tail_families
from proof.cases import EPSILONS, logarithm, matrix_json, nudged, sealed, share_rest

ROADS = [("home", "work", "3/2"), ("work", "gym", "1/3"), ("gym", "home", 2)]


def graph_queries() -> list[RangeQuery]:
    """Graphs of every constructor: even and uneven lengths, one-way edges, parts without a path between them."""
    return [
        ib.graph(["a", "b"], [("a", "b")]), ib.graph(["home", "work", "gym"], ROADS),
        ib.graph(["home", "work", "gym", "sea"], ROADS[:2], one_way=[("gym", "sea", 70), ("sea", "home", "1/9")]),
        ib.graph(["a", "b", "c", "d"], [("a", "b")], one_way=[("c", "d", "7/5")]),
        ib.tree({"Paris": "France", "Lyon": ("France", "1/2"), "France": ("Europe", 2)}),
        ib.grid(2, 2), ib.grid(2, 3, metric="manhattan"), ib.grid(3, 3, step="1/3"), ib.grid(1, 4),
        ib.pair_of_counts(1, 2), ib.pair_of_counts(1, 1, exclusive=True), ib.histogram_query(2, 3),
        ib.graph([(0,), (3,), ("7/2",)], [((0,), (3,), 3), ((3,), ("7/2",), "1/2")]),
        ib.ordinal(0, 5, neighbours=[(0, 1), (1, 2), (2, 3), (3, 5, "3/2"), (4, 5)]), ib.graph([0, 1, 20], [(0, 20)]),
        ib.count(6, outputs=3, neighbours=[(0, 6), (2, 3, 7)]),
    ]  # fmt: skip


def peaked_row(query: RangeQuery, epsilon: Fraction, rng: random.Random) -> list[int]:
    """Return one weight for every answer: all alike but one, which is as large as its edges allow."""
    low = rng.randrange(1, TOTAL >> rng.randrange(3, 40))
    peak = rng.choice(query.edges).tail
    most = min(ratio_lower_bound(epsilon, edge.length) * low >> EXP_BITS for edge in query.edges if edge.tail == peak)
    return [min(most, TOTAL // 4) if j == peak else low for j in range(len(query.answers))]


def graph_passports(number: int, seed: int) -> Iterator[Json]:
    """Matrices over graphs, with a weight at what an edge allows, one unit beside it, or an epsilon close to it."""
    rng, asked = random.Random(seed), graph_queries()
    for _ in range(number):
        query, epsilon = rng.choice(asked), Fraction(rng.choice(EPSILONS))
        row = peaked_row(query, epsilon, rng)
        weights = [row, *share_rest(row, len(query.outputs))]
        if rng.random() < 0.5:
            weights = nudged(weights, rng)
        edge = rng.choice(query.edges)
        high, low = weights[0][edge.tail], weights[0][edge.head]
        if rng.random() < 0.3 and high > low > 0:
            epsilon = logarithm(Fraction(high, low), rng, edge.length)
        passport = sealed(query, epsilon, matrix_json(weights))
        yield with_other_query(passport, rng) if rng.random() < 0.4 else passport


def numbers_on_graphs(number: int, seed: int) -> Iterator[tuple[Json, bool]]:
    """Yield passports of numbers that edges join, in cells of their own or shared ones, and whether they are private.

    The verdict is computed here, from the definition.
    """
    rng, ends = random.Random(seed), [(0, 1), (1, 0), (1, 2), (2, 1), (3, 1), (3, 5)]
    for _ in range(number):
        epsilon = Fraction(rng.choice(EPSILONS[:6]))
        groups = {"1": ends} if rng.random() < 0.5 else {"1/2": ends[:2], "1": ends[2:4], "3": ends[4:]}
        low = rng.randrange(1, 2**40)
        row = [low] * 6
        peak = rng.choice((1, 3))
        lengths = [Fraction(text) for text, pairs in groups.items() for tail, _ in pairs if tail == peak]
        row[peak] = (ratio_lower_bound(epsilon, min(lengths)) * low >> EXP_BITS) + rng.choice((0, 0, 1))
        outputs = rng.choice((2, 6))
        weights = [row, *share_rest(row, outputs)]
        allowed = {text: ratio_lower_bound(epsilon, Fraction(text)) for text in groups}
        compared = [(text, tail, head) for text, pairs in groups.items() for tail, head in pairs]
        kept = all(line[j] << EXP_BITS <= allowed[text] * line[k] for line in weights for text, j, k in compared)
        kind = rng.choice(("ordinal", "count", "graph", "interval", "map"))
        graph = {"lengths": [*groups], "edges": [" ".join(f"{j} {k}" for j, k in pairs) for pairs in groups.values()]}
        cells = ib.ordinal(0, 5, outputs=2).outputs if outputs == 2 else None
        query = {
            "kind": kind, "answers": {"start": "0", "unit": "1", "size": 6}, "rounds": False, "labels": None,
            "outputs": None if cells is None else _cells_json(cells), "neighbours": {"graph": graph},
        }  # fmt: skip
        content = {"query": query, "epsilon": str(epsilon), "law": matrix_json(weights), "origin": None, "claims": None}
        yield wrap(MECHANISM, content), kept and kind in ("ordinal", "count", "graph")


def _cells_json(cells: OutputCells) -> Json:
    return {name: scale_to_json(getattr(cells, name)) for name in ("lowers", "uppers", "values")}


# --- noise on a map ---------------------------------------------------------------------------------------


def map_queries() -> list[RangeQuery]:
    """Maps of every shape; the last two have one-way edges, and the first of these two uneven lengths."""
    cells = [(y, x) for y in range(3) for x in range(4)]
    down = [((y, x), (y + 1, x), 1 + y) for y, x in cells if y < 2]
    along = [((y, x), (y, x + 1), 1 + x) for y, x in cells if x < 3]
    jumps = [((0, 0), (2, 3), 5), ((2, 3), (0, 0), 6)]
    return [
        ib.grid(2, 2), ib.grid(1, 5), ib.grid(5, 1), ib.grid(1, 2), ib.grid(3, 4), ib.grid(4, 3, metric="manhattan"),
        ib.grid(5, 5, stretch="1.2"), ib.grid(2, 6, step="1/2"), ib.graph(cells, down, one_way=[*along, *jumps]),
        ib.graph(cells, one_way=[(head, tail) for tail, head, _ in (*down, *along)]),
    ]  # fmt: skip


@cache
def map_noise(place: int, epsilon: Fraction) -> PlaneNoise:
    """Return noise that the map at this place of `map_queries` allows: geometric in its metric, or in steps."""
    query = map_queries()[place]
    if place >= len(map_queries()) - 2:  # no edge is shorter than the steps that it takes
        fall = 5 if place == len(map_queries()) - 1 else 1  # against the direction of all edges
        return make_plane_noise(query, epsilon, lambda a, b: float(epsilon) * (_tent(a, fall) + _tent(b, fall)))
    metric = require_map_metric(query)
    return make_plane_noise(query, epsilon, lambda a, b: float(epsilon) * metric.norm(a, b))


def _tent(steps: Ints, fall: int) -> Floats:
    return np.maximum(steps, -fall * steps).astype(np.float64)


def largest_map_ratio(law: PlaneNoise, query: RangeQuery) -> tuple[Fraction, Fraction]:
    """Return the largest ratio of two sums of noise that some move compares, and the length of that move."""
    found = []
    for move, length in map_moves(query.edges, law.size[1]).items():
        for K in tail_families(law.table):
            highs, lows = (part.ravel().tolist() for part in shift_table(K + law.anywhere, move))
            found += [(Fraction(high, low), length) for high, low in zip(highs, lows, strict=True) if low]
    return max(found, key=lambda pair: float(pair[0]) ** float(1 / pair[1]))


def nudged_plane(law: PlaneNoise, rng: random.Random) -> PlaneNoise:
    """Return the law with a few units moved between steps, to or from `anywhere`, or taken from nowhere."""
    table, anywhere, cells = law.table.copy(), law.anywhere, law.size[0] * law.size[1]
    for _ in range(rng.choice((1, 1, 2))):
        spot, other = (tuple(rng.choice((0, size - 1, rng.randrange(size))) for size in table.shape) for _ in range(2))
        amount = rng.choice((1, 1, 2, int(table[spot]) // 10**6, int(table[spot]) // 50, int(table[spot])))
        what = rng.randrange(5)
        if what < 3:
            table[spot] -= amount
            table[other] += amount if what else 0
        elif what == 3:
            anywhere = rng.choice((0, 1, anywhere - 1, anywhere + 1, TOTAL // cells + 1))
        else:
            table[spot] += rng.choice((1, -1, TOTAL // 2))
    return law if (table < 0).any() or anywhere < 0 else PlaneNoise(table, anywhere, law.remap)


def plane_passports(number: int, seed: int) -> Iterator[Json]:
    """Noise on maps: as it is made, with units moved, for an epsilon at its largest ratio or a hair beside it."""
    rng, asked = random.Random(seed), map_queries()
    for _ in range(number):
        place, epsilon = rng.randrange(len(asked)), Fraction(rng.choice(("1/10", "1/3", "1", "7/5", "3")))
        query, law = asked[place], map_noise(place, epsilon)
        if rng.random() < 0.5:
            law = nudged_plane(law, rng)
        if rng.random() < 0.3:
            ratio, length = largest_map_ratio(law, query)
            epsilon = logarithm(ratio, rng, length) if ratio > 1 else epsilon
        else:
            epsilon *= rng.choice((1, 1, 1, 2, Fraction(10**15 - 1, 10**15), Fraction(10**6 - 1, 10**6)))
        if rng.random() < 0.3:
            cells = len(query.answers)
            most = cells + (rng.random() < 0.2)
            remap = [rng.randrange(most) for _ in range(cells + rng.choice((0, 0, 0, 0, 1, -1)))]
            law = PlaneNoise(law.table, law.anywhere, np.array(remap, dtype=np.int64))
        passport = sealed(query, epsilon, law_to_json(law))
        yield with_other_query(passport, rng) if rng.random() < 0.3 else passport


def honest_maps() -> Iterator[Json]:
    """Passports as they are written: designed and from the catalog, with and without a remap."""
    for query in graph_queries()[:3]:
        yield passports.to_passport(ib.catalog.exponential(query, "1/2")).to_json()
    for query in graph_queries()[4:9]:
        yield passports.to_passport(ib.catalog.metric_geometric(query, 1)).to_json()
    yield passports.to_passport(ib.optimal(ib.grid(2, 3), 1, loss="distance")).to_json()
    yield passports.to_passport(ib.optimal(ib.tree({"b": "a", "c": "a"}), 1, loss="zero-one")).to_json()
    for place, query in enumerate(map_queries()):
        for text in ("1/5", "2"):
            law = map_noise(place, Fraction(text))
            cells = np.arange(len(query.answers))
            for remap in (None, cells[::-1].copy(), np.minimum(cells + 1, len(cells) - 1)):
                made = PlaneNoise(law.table, law.anywhere, remap)
                yield passports.to_passport(Mechanism(query, Fraction(text), made, Origin("noise"))).to_json()


# --- queries that are changed -----------------------------------------------------------------------------


def with_other_query(passport: Json, rng: random.Random) -> Json:
    """Return the passport with its graph, its places or its answers changed, and its digest."""
    lie = copy.deepcopy(passport)
    query = lie["content"]["query"]
    rng.choice(CHANGES)(query, query["neighbours"]["graph"], rng)
    return seal(lie)


def _change_length(query: Json, graph: Json, rng: random.Random) -> None:
    texts = ("1", "2", "1/2", "0", "-1", "1/0", "0/3", "2/2", "01", " 1", "1e1", "1000", "999999999/1000000000", 1)
    graph["lengths"][rng.randrange(len(graph["lengths"]))] = rng.choice(texts)


def _change_ends(query: Json, graph: Json, rng: random.Random) -> None:
    k = rng.randrange(len(graph["edges"]))
    ends: list[Any] = graph["edges"][k].split(" ")
    change = rng.randrange(6)
    if change == 0:
        ends[rng.randrange(len(ends))] = rng.choice(("0", "1", "2", "4", "12", "-1", "01", "x", "9" * 19, "9" * 20))
    elif change == 1:
        ends += rng.choice((["0", "1"], ["1", "0"], ["0"], ends[:2], ["2", "2"]))
    elif change == 2 and len(ends) > 2:
        ends = ends[2:]
    elif change == 3:
        ends = ends[::-1]
    graph["edges"][k] = " ".join(ends) if change < 5 else rng.choice(("", None, ends, " ".join(ends) + " "))


def _change_lines(query: Json, graph: Json, rng: random.Random) -> None:
    change = rng.randrange(6)
    if change == 0:
        graph["lengths"].append("5")
    elif change == 1:
        graph["lengths"].append("9")
        graph["edges"].append(rng.choice(("0 1", "1 0", "0 2", "1 2")))
    elif change == 2:
        graph["lengths"].pop()
        graph["edges"].pop()
    elif change == 3:
        graph["lengths"].reverse()
    elif change == 4:
        graph["more"] = []
    else:
        query["neighbours"] = rng.choice(
            ({"everyone": True}, {"reach": 1}, {"metric": "1"}, {"graph": []}, {"graph": None}, {"graph": {}})
        )


def _change_names(query: Json, graph: Json, rng: random.Random) -> None:
    size = query["answers"].get("size", 0)
    names = [str(k) for k in range(size)]
    change = rng.randrange(7)
    if change == 0:
        query["labels"] = rng.choice((names, names[1:], ["same"] * size, None, [None], 3))
    elif change == 1 and "places" in query:
        query["places"][0] = rng.choice(
            ("0", "0 0 0", "1/0 0", "0 " + str(2**52), "0 " + str(2**52 - 1), "", "0  0", "-0 0/7", "x 0", 4)
        )
    elif change == 2 and "places" in query:
        x = query["places"][1].split(" ")
        near = [f"{10**k + 1}/{10**k}" for k in (9, 15, 16, 17, 400)]
        query["places"][0], query["places"][1] = " ".join(["1", *x[1:]]), " ".join([rng.choice(near), *x[1:]])
    elif change == 3 and "places" in query:
        query["places"] = rng.choice((query["places"][1:], None, "0 0", query["places"][::-1]))
    elif change == 4:
        query["places"] = [f"{k} 0" for k in names]
    else:
        query["labels"] = names
        query.pop("places", None)


def _change_answers(query: Json, graph: Json, rng: random.Random) -> None:
    size = query["answers"].get("size", 0)
    change = rng.randrange(6)
    if change == 0:
        query["rounds"] = rng.choice((True, 1, None))
    elif change == 1:
        query["allowance"] = rng.choice(("0", "1/100000", "-1"))
    elif change == 2:
        query["answers"]["start"] = rng.choice(("0", "0/5", "1", "1/2"))
    elif change == 3:
        query["answers"] = {"start": "0", "unit": "1", "ticks": " ".join(map(str, range(size)))}
    elif change == 4:
        query["answers"]["size"] = size + rng.choice((-1, 1))
    else:
        query["kind"] = rng.choice(("map", "graph", "count", "interval", "category", "something"))


CHANGES = (_change_length, _change_ends, _change_lines, _change_names, _change_answers)

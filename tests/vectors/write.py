"""The vectors: passports as files that every checker must accept, and others that every checker must refuse.

`python tests/vectors/write.py` writes the files anew, with `src` and `tests` on the path: one function for each law,
one file for each case, in <law>/accept and <law>/refuse. Weights come from formulas in floats, so another machine may
write files whose last digits differ; the verdicts must not.
"""

import copy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import inbounds as ib
from envelopes import seal
from inbounds.files import Json, canonical_json
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.codec import law_to_json
from inbounds.mechanism.laws import Matrix
from inbounds.mechanism.laws.plane import PlaneNoise, make_plane_noise, require_map_metric
from inbounds.mechanism.passport import to_passport
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound

FOLDER = Path(__file__).parent

Case = tuple[str, str, Json]
"""accept or refuse, the name of the file, the passport."""


def matrix() -> Iterator[Case]:
    """Yield matrices of weights: answers on a graph."""
    roads = ib.graph(["home", "work", "gym"], [("home", "work", "3/2"), ("work", "gym", "1/3")])
    one_way = ib.graph(["low", "middle", "high"], [("low", "middle")], one_way=[("middle", "high", "1/2")])
    honest = {
        "roads": ib.catalog.exponential(roads, "1/3"),
        "one-way": ib.catalog.exponential(one_way, 1),
        "tree": ib.catalog.metric_geometric(ib.tree({"Paris": "France", "Lyon": ("France", "1/2")}), 2),
        "map": ib.catalog.metric_geometric(ib.grid(2, 3), "1/10"),
        "map-manhattan": ib.catalog.metric_geometric(ib.grid(3, 3, metric="manhattan", step="1/2"), 1),
        "pair-of-counts": ib.catalog.exponential(ib.pair_of_counts(2, 1), 5),
        "histogram": ib.catalog.exponential(ib.histogram_query(2, 3), "64"),
        "numbers": ib.catalog.exponential(ib.ordinal(0, 5, neighbours=[(0, 1), (1, 2), (2, 3, 2), (3, 5), (4, 5)]), 1),
        "numbers-with-gaps": ib.catalog.exponential(ib.graph([0, 1, 20], [(0, 1), (1, 20, 3)]), "1/3"),
        "numbers-in-cells": ib.catalog.exponential(ib.count(6, outputs=3, neighbours=[(0, 6), (2, 3)]), 1),
    }
    for name, made in honest.items():
        yield "accept", f"graph-{name}", to_passport(made).to_json()
    tight, beyond = (_peak(roads, Fraction(1, 3), over) for over in (0, 1))
    yield "accept", "graph-at-its-bound", to_passport(tight).to_json()
    yield "refuse", "graph-one-unit-beyond", _with_law(to_passport(tight).to_json(), beyond)
    base = to_passport(honest["one-way"]).to_json()
    for name, change in GRAPH_CHANGES.items():
        yield "refuse", f"graph-{name}", _changed(base, change)
    for name, change in MATRIX_CHANGES.items():
        yield "refuse", f"graph-{name}", _changed(base, change)
    numbers = to_passport(honest["numbers"]).to_json()
    for name, change in NUMBER_CHANGES.items():
        yield "refuse", f"graph-{name}", _changed(numbers, change)
    places = to_passport(honest["map"]).to_json()
    for name, change in PLACE_CHANGES.items():
        yield "refuse", f"graph-{name}", _changed(places, change)


def plane() -> Iterator[Case]:
    """Yield noise on maps."""
    cells = [(y, x) for y in range(3) for x in range(2)]
    down = [((y, x), (y + 1, x)) for y, x in cells if y < 2]
    across = [((y, 1), (y, 0), 1 + y) for y in range(3)]
    queries = {
        "map": ib.grid(3, 4),
        "manhattan": ib.grid(2, 2, metric="manhattan", step="1/3"),
        "one-row": ib.grid(1, 5),
        "one-column": ib.grid(6, 1),
        "stretch": ib.grid(5, 5, stretch="1.2"),
        "one-way": ib.graph(cells, down, one_way=[*across, ((2, 1), (0, 0), 4)]),
    }
    for name, query in queries.items():
        for text in ("1/5", "1", "3"):
            law = _noise(query, Fraction(text))
            yield "accept", f"{name}-{text.replace('/', '-')}", _plane_passport(query, text, law)
            turned = PlaneNoise(law.table, law.anywhere, np.arange(len(query.answers))[::-1].copy())
            yield "accept", f"{name}-{text.replace('/', '-')}-remap", _plane_passport(query, text, turned)
    query = queries["map"]
    law = _noise(query, Fraction(1))
    base = _plane_passport(query, "1", PlaneNoise(law.table, law.anywhere, np.arange(12)))
    for name, change in PLANE_CHANGES.items():
        yield "refuse", name, _changed(base, change)
    for name, change in GRAPH_CHANGES.items():
        yield "refuse", name, _changed(base, change)
    bare = ib.grid(2, 2, metric="manhattan")
    tight = _plane_passport(bare, "1", _bare_noise(bare, Fraction(1), 0))
    yield "accept", "at-its-bound", tight
    yield "refuse", "one-unit-beyond", _with_law(tight, law_to_json(_bare_noise(bare, Fraction(1), 1)))
    for name, anywhere in (("one-unit-less", 10**9 + 6), ("none", 0)):
        yield "refuse", f"anywhere-{name}", _changed(tight, _set("law", "plane", "anywhere", str(anywhere)))


LAWS = {"matrix": matrix, "plane": plane}
"""How the vectors of each law are made."""


# --- passports at the boundary ----------------------------------------------------------------------------


def _peak(query: RangeQuery, epsilon: Fraction, over: int) -> Any:
    """Return weights with one as large as its edges allow, as a mechanism, or with units more, as a law in JSON."""
    low = 10**9 + 7
    most = min(ratio_lower_bound(epsilon, edge.length) * low >> EXP_BITS for edge in query.edges if edge.tail == 1)
    row = np.array([low, most + over, low], dtype=np.int64)
    weights = np.array([row, (TOTAL - row) // 2, TOTAL - row - (TOTAL - row) // 2])
    if over:
        return {"matrix": [" ".join(map(str, line)) for line in weights.tolist()]}
    return Mechanism(query, epsilon, Matrix(weights), Origin("by hand"))


def _noise(query: RangeQuery, epsilon: Fraction) -> PlaneNoise:
    if query.kind != "map":  # no edge is shorter than the steps that it takes
        return make_plane_noise(query, epsilon, lambda a, b: float(epsilon) * (np.abs(a) + np.abs(b)))
    metric = require_map_metric(query)
    return make_plane_noise(query, epsilon, lambda a, b: float(epsilon) * metric.norm(a, b))


def _bare_noise(query: RangeQuery, epsilon: Fraction, over: int) -> PlaneNoise:
    """Return noise that is 0 in the middle of the table and as likely there as its neighbours allow, or a unit more.

    On a map of two rows and columns every cell is a corner: with t in the middle and u anywhere else, the largest ratio
    is that of t + u to u.
    """
    anywhere = 10**9 + 7
    most = (ratio_lower_bound(epsilon, min(edge.length for edge in query.edges)) * anywhere >> EXP_BITS) - anywhere
    table = np.zeros((3, 3), dtype=np.int64)
    table[1, 1] = most + over
    return PlaneNoise(table, anywhere)


def _plane_passport(query: RangeQuery, epsilon: str, law: PlaneNoise) -> Json:
    return to_passport(Mechanism(query, Fraction(epsilon), law, Origin("noise on a map"))).to_json()


# --- changes ----------------------------------------------------------------------------------------------


def _changed(passport: Json, change: Any) -> Json:
    """Return the passport after a change to its content, with its digest."""
    lie = copy.deepcopy(passport)
    change(lie["content"])
    return seal(lie)


def _with_law(passport: Json, law: Json) -> Json:
    return seal({**passport, "content": {**passport["content"], "law": law}})


def _set(*path_and_value: Any) -> Any:
    """Return a change that puts a value at the end of a path."""
    *path, last, value = path_and_value

    def change(content: Json) -> None:
        spot = content
        for key in path:
            spot = spot[key]
        spot[last] = value

    return change


def _line(*path: Any, to: Any) -> Any:
    """Return a change of a line of whole numbers, given as a list."""

    def change(content: Json) -> None:
        spot = content
        for key in path[:-1]:
            spot = spot[key]
        numbers = [int(word) for word in spot[path[-1]].split(" ")]
        spot[path[-1]] = " ".join(map(str, to(numbers)))

    return change


def _remove(*path: Any) -> Any:
    def change(content: Json) -> None:
        spot = content
        for key in path[:-1]:
            spot = spot[key]
        del spot[path[-1]]

    return change


def _replaced(place: int, value: int) -> Any:
    return lambda numbers: [value if k == place % len(numbers) else number for k, number in enumerate(numbers)]


def _raised(place: int, by: int) -> Any:
    return lambda numbers: [number + by * (k == place % len(numbers)) for k, number in enumerate(numbers)]


def _new_edge(content: Json) -> None:
    """Join the two answers that are least alike by an edge that is too short for their weights."""
    graph, last = content["query"]["neighbours"]["graph"], content["query"]["answers"]["size"] - 1
    graph["lengths"].append("1/1000")
    graph["edges"].append(f"0 {last}" if last > 2 else f"{last} 0")


GRAPH = ("query", "neighbours", "graph")

GRAPH_CHANGES = {
    "smaller-epsilon": _set("epsilon", "1/10"),
    "length-too-short": _set(*GRAPH, "lengths", 0, "1/100"),
    "length-zero": _set(*GRAPH, "lengths", 0, "0"),
    "length-negative": _set(*GRAPH, "lengths", 0, "-1"),
    "length-without-denominator": _set(*GRAPH, "lengths", 0, "1/0"),
    "length-as-decimal": _set(*GRAPH, "lengths", 0, "1.0"),
    "length-as-number": _set(*GRAPH, "lengths", 0, 1),
    "length-too-many": lambda content: content["query"]["neighbours"]["graph"]["lengths"].append("2"),
    "edge-more-than-kept": _new_edge,
    "edge-to-no-answer": _line(*GRAPH, "edges", 0, to=_replaced(-1, 12)),
    "edge-to-itself": _line(*GRAPH, "edges", 0, to=lambda ends: [*ends, 0, 0]),
    "edge-twice": _line(*GRAPH, "edges", 0, to=lambda ends: [*ends, *ends[:2]]),
    "edge-with-one-end": _line(*GRAPH, "edges", 0, to=lambda ends: [*ends, 0]),
    "edge-with-two-spaces": _set(*GRAPH, "edges", 0, "0  1"),
    "edges-none": _set("query", "neighbours", {"graph": {"lengths": [], "edges": []}}),
    "edges-missing": _remove(*GRAPH, "edges"),
    "edges-as-text": _set(*GRAPH, "edges", "0 1"),
    "graph-as-list": _set("query", "neighbours", {"graph": [[0, 1, 1]]}),
    "graph-with-another-field": _set(*GRAPH, "more", []),
    "graph-and-everyone": _set("query", "neighbours", "everyone", True),
    "rounded": _set("query", "rounds", True),
    "allowance": _set("query", "allowance", "1/1000000"),
    "answers-from-one": _set("query", "answers", "start", "1"),
    "answers-too-many": _set("query", "answers", "size", 13),
}
"""Changes of a query on a graph after which no law may be accepted."""

MATRIX_CHANGES = {
    "column-off-by-one": _line("law", "matrix", 0, to=_raised(0, 1)),
    "weight-negative": _set("law", "matrix", 0, "-1 0 1"),
    "row-missing": lambda content: content["law"]["matrix"].pop(),
    "row-too-long": _line("law", "matrix", 0, to=lambda row: [*row, 0]),
    "matrix-as-text": _set("law", "matrix", "1 2 3"),
    "labels-alike": _set("query", "labels", ["low", "low", "high"]),
    "labels-too-few": _set("query", "labels", ["low", "high"]),
    "labels-and-places": _set("query", "places", ["0 0", "0 1", "0 2"]),
    "noise-table": _set(
        "law", {"noise": {"core": str(TOTAL - 2), "floor": "1", "end": "1", "size": "2", "remap": None}}
    ),
}
"""Changes of a matrix on a graph of three labels after which it must be refused."""

NUMBER_CHANGES = {
    "numbers-of-an-interval": _set("query", "kind", "interval"),
    "numbers-of-a-map": _set("query", "kind", "map"),
    "numbers-rounded": _set("query", "rounds", True),
    "numbers-unevenly-spaced": _set("query", "answers", {"start": "0", "unit": "1", "ticks": "0 1 2 3 4 9"}),
    "numbers-with-a-length-too-short": _set(*GRAPH, "lengths", 1, "1/100"),
}
"""Changes of numbers from 0 to 5 on a graph after which they must be refused."""

PLACE_CHANGES = {
    "places-alike": _set("query", "places", 0, "0 1"),
    "places-alike-as-floats": _set("query", "places", 0, f"{10**17 + 1}/{10**17 + 2} 0/1"),
    "places-too-few": _remove("query", "places", 0),
    "places-of-other-dimensions": _set("query", "places", 0, "0 0 0"),
    "places-empty": _set("query", "places", 0, ""),
    "places-too-far": _set("query", "places", 0, f"0 {2**52}"),
    "places-as-numbers": _set("query", "places", [0, 1, 2, 3, 4, 5]),
    "places-and-labels": _set("query", "labels", ["a", "b", "c", "d", "e", "f"]),
    "places-without-a-graph": _set("query", "neighbours", {"everyone": True}),
}
"""Changes of a map's places after which it must be refused."""

PLANE_CHANGES = {
    "step-too-likely": _line("law", "plane", "table", 2, to=_raised(3, 10**9)),
    "step-too-rare": _line("law", "plane", "table", 0, to=_replaced(0, 0)),
    "side-too-rare": _line("law", "plane", "table", 4, to=_replaced(3, 0)),
    "sum-one-too-large": lambda content: _overfill(content, 1),
    "table-negative": _set("law", "plane", "table", 0, "-1 1 1 1 1 1 1"),
    "table-beyond-int64": _line("law", "plane", "table", 0, to=_replaced(0, 2**63)),
    "table-row-missing": _remove("law", "plane", "table", 0),
    "table-row-too-long": _line("law", "plane", "table", 0, to=lambda row: [*row, 0]),
    "table-of-even-width": lambda content: _narrow(content),
    "table-of-another-map": lambda content: content["law"]["plane"]["table"].extend(["1 1 1 1 1 1 1"] * 2),
    "table-empty": _set("law", "plane", "table", []),
    "table-as-text": _set("law", "plane", "table", "1"),
    "anywhere-too-large": _set("law", "plane", "anywhere", str(TOTAL)),
    "anywhere-negative": _set("law", "plane", "anywhere", "-1"),
    "anywhere-two-numbers": _set("law", "plane", "anywhere", "1 1"),
    "anywhere-as-number": _set("law", "plane", "anywhere", 1),
    "remap-beyond-the-map": _line("law", "plane", "remap", to=_replaced(0, 12)),
    "remap-too-short": _line("law", "plane", "remap", to=lambda cells: cells[1:]),
    "remap-too-long": _line("law", "plane", "remap", to=lambda cells: [*cells, 0]),
    "remap-negative": _set("law", "plane", "remap", "-1" + " 0" * 11),
    "remap-missing": _remove("law", "plane", "remap"),
    "plane-with-another-field": _set("law", "plane", "more", None),
    "plane-and-matrix": _set("law", "matrix", ["1"]),
    "neighbours-everyone": _set("query", "neighbours", {"everyone": True}),
    "neighbours-within-a-reach": _set("query", "neighbours", {"reach": 1}),
}
"""Changes of noise on a map of three rows and four columns after which it must be refused."""


def _overfill(content: Json, units: int) -> None:
    """Raise the most likely step until the weights exceed 2**62 by some units."""
    law = content["law"]["plane"]
    rows = [[int(word) for word in row.split(" ")] for row in law["table"]]
    rows[2][3] += TOTAL - sum(map(sum, rows)) - 12 * int(law["anywhere"]) + units
    law["table"] = [" ".join(map(str, row)) for row in rows]


def _narrow(content: Json) -> None:
    law = content["law"]["plane"]
    law["table"] = [row.rpartition(" ")[0] for row in law["table"]]


# --- files ------------------------------------------------------------------------------------------------


def write(folder: Path = FOLDER) -> None:
    """Write all vectors, in place of those that are there."""
    for law, cases in LAWS.items():
        made = [*cases()]
        for old in (folder / law).glob("*/*.json"):
            old.unlink()
        for verdict, name, passport in made:
            file = folder / law / verdict / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(canonical_json(passport) + "\n", "utf-8")


def listed(verdict: str) -> list[Path]:
    """List the files that must be accepted, or refused, of every law that has a folder."""
    return sorted(FOLDER.glob(f"*/{verdict}/*.json"))


if __name__ == "__main__":
    write()

"""The vectors: passports as files that every checker must accept, and others that every checker must refuse.

`python tests/vectors/write.py` writes the files anew, with `src` and `tests` on the path: one function for each law,
one file for each case, in <law>/accept and <law>/refuse. Weights come from formulas in floats, so another machine may
write files whose last digits differ; the verdicts must not.
"""

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import inbounds as ib
from envelopes import seal
from inbounds.design.quantiles import design_counts
from inbounds.errors import PassportError
from inbounds.files import MECHANISM, Document, Json, canonical_json
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.codec import law_to_json
from inbounds.mechanism.laws import LAWS as REGISTRY
from inbounds.mechanism.laws import (
    ApproximateMatrix,
    ApproximateNoise,
    BlockResponse,
    CentralRecords,
    Matrix,
    Response,
    Threshold,
)
from inbounds.mechanism.laws.blocks import make_tight_blocks
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.mechanism.laws.plane import PlaneNoise, make_plane_noise, require_map_metric
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.mechanism.load import certify_document
from inbounds.mechanism.passport import to_passport
from inbounds.query import RangeQuery
from inbounds.trusted.block_designs import Affine, Planes, Subsets
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import sum_excess
from inbounds.trusted.multisets import all_multisets

FOLDER = Path(__file__).parent

Case = tuple[str, str, Json]
"""accept or refuse, the name of the file, the passport."""


def matrix() -> Iterator[Case]:
    """Yield matrices of weights: answers in a range, and on a graph."""
    yield from _plain_matrices()
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


def noise() -> Iterator[Case]:
    """Yield noise tables."""
    queries = [ib.count(3), ib.count(300), ib.total(3, 0, 4), ib.ordinal(0, 9, unit=3), ib.interval(0, 1, "1/4", 12)]
    for number, query in enumerate(queries):
        made = Mechanism(query, Fraction(1, 2), make_geometric_noise(query, Fraction(1, 2)), Origin("noise"))
        yield "accept", f"{number}-{query.kind}", to_passport(made).to_json()
    base = to_passport(
        Mechanism(queries[1], Fraction(1), make_geometric_noise(queries[1], Fraction(1)), Origin("noise"))
    )
    yield from _border("core-and-ends", base.to_json(), _fill_core, 0, 10**7)
    for name, change in {**NOISE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base.to_json(), change)


def response() -> Iterator[Case]:
    """Yield randomized response by two weights."""
    queries = {
        "two": ib.extreme(0, 1),
        "labels": ib.category(["yes", "no", "perhaps"]),
        "numbered-labels": ib.category(10),
        "reach": ib.count(4),
        "cells": ib.interval(0, 1, "1/4", 8),
        "gaps": ib.interval(0, 6, 2, 6, holes=[(1, 2)]),
        "billion": ib.extreme(1, 10**9),
    }
    for name, query in queries.items():
        for text in ("1/10", "2"):
            tight = make_tight_response(len(query.answers), Fraction(text))
            made = to_passport(Mechanism(query, Fraction(text), tight, Origin("two weights"))).to_json()
            yield "accept", f"{name}-{text.replace('/', '-')}", made
            less = _set("law", "response", "other", str(tight.other_weight - 1))
            yield "refuse", f"{name}-{text.replace('/', '-')}-one-unit-beyond", _changed(made, less)
    even = Mechanism(queries["labels"], Fraction(1), Response(3, TOTAL // 3), Origin("two weights"))
    yield "accept", "all-alike", to_passport(even).to_json()
    base = to_passport(Mechanism(queries["reach"], Fraction(1), make_tight_response(5, Fraction(1)), Origin("by hand")))
    for name, change in {**RESPONSE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base.to_json(), change)


def subsets() -> Iterator[Case]:
    """Yield reports that name one of all subsets of a size."""
    designs = [Subsets(3, 1), Subsets(6, 3), Subsets(20, 9), Subsets(61, 1), Subsets(61, 60)]
    yield from _label_cases(designs, Subsets(6, 3), SUBSET_CHANGES)


def affine() -> Iterator[Case]:
    """Yield reports that name an affine set."""
    designs = [Affine(2, 3, 1), Affine(5, 7, 3), Affine(7, 7, 6), Affine(4093, 4093, 2)]
    yield from _label_cases(designs, Affine(5, 7, 3), AFFINE_CHANGES)


def planes() -> Iterator[Case]:
    """Yield reports that name a hyperplane."""
    designs = [Planes(2, 2, 2), Planes(7, 2, 3), Planes(13, 3, 3), Planes(100, 2, 24), Planes(5, 4093, 2)]
    yield from _label_cases(designs, Planes(6, 2, 3), PLANE_FAMILY_CHANGES)


def central() -> Iterator[Case]:
    """Yield matrices over the central records of a group."""
    median, persons = ib.median(0, 2, size=5), ib.quantile("1/10", -1, 4, maximum=9, step="1/2", missing=1, records=3)
    for length in (1, 2, 3):
        yield "accept", f"designed-{length}", to_passport(ib.design_central(median, 1, length=length)).to_json()
    for name, query in (("median", median), ("persons", persons)):
        weights = ib.catalog.exponential(query.as_range_query, 1).weights
        made = Mechanism(query, Fraction(1), CentralRecords.from_answers(query, weights), Origin("by hand"))
        yield "accept", f"answer-{name}", to_passport(made).to_json()
    base = _central_passport(median, 2, 3, 0)
    yield "accept", "at-its-bound", base
    yield "refuse", "one-unit-beyond", _central_passport(median, 2, 3, 1)
    for name, change in {**CENTRAL_CHANGES, **QUANTILE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def scores() -> Iterator[Case]:
    """Yield score tables."""
    persons = ib.quantile("1/10", -1, 4, maximum=9, step="1/2", missing=1, records=3)
    queries = {"median": ib.median(1, 5, size=25), "persons": persons, "wide": ib.median(0, 5000, maximum=4)}
    for name, query in queries.items():
        made = to_passport(ib.design_permute_flip(query, 1)).to_json()
        yield "accept", name, made
        table = _line_of(made, "law", "scores", "table")
        yield from _border(f"{name}-second", made, _put_number("scores", 1), table[1], 1)
    base = to_passport(ib.design_permute_flip(queries["median"], 1)).to_json()
    for name, change in {**SCORE_CHANGES, **QUANTILE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def sides() -> Iterator[Case]:
    """Yield score tables with a pace for each side."""
    queries = {"maximum": ib.quantile(1, 0, 100, size=30), "third": ib.quantile("1/3", 0, 20, size=9)}
    for name, query in queries.items():
        made = to_passport(ib.design_sided(query, 1)).to_json()
        yield "accept", name, made
        table = _line_of(made, "law", "sides", "table")
        yield from _border(f"{name}-last", made, _put_number("sides", -1), table[-1], 1)
    base = to_passport(ib.design_sided(queries["maximum"], 1)).to_json()
    for name, change in {**SIDE_CHANGES, **QUANTILE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def joint() -> Iterator[Case]:
    """Yield laws of several quantiles in one draw."""
    queries = {
        "quartiles": ib.quantiles(["1/4", "1/2", "3/4"], 0, 100, size=30),
        "persons": ib.quantiles([0, "1/2", 1], -1, 4, size=9, step="1/2", missing=1, records=3),
        "one-record": ib.quantiles(["1/10", "1/5"], 0, 1, size=3),
        "many": ib.quantiles([Fraction(k, 20) for k in range(1, 20)], 0, 50, size=400),
    }
    for name, query in queries.items():
        made = to_passport(ib.design_joint(query, "3/2")).to_json()
        weight = int(made["content"]["law"]["joint"]["weight"])
        yield "accept", name, made
        change = lambda number: _set("law", "joint", "weight", str(number))  # noqa: E731
        yield from _border(f"{name}-weight", made, change, weight, 1)
    base = to_passport(ib.design_joint(queries["quartiles"], "3/2")).to_json()
    for name, change in {**JOINT_CHANGES, **JOINT_QUERY_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def joint_sizes() -> Iterator[Case]:
    """Yield laws of several quantiles in one draw where the size is secret."""
    queries = {
        "quartiles": ib.quantiles(["1/4", "1/2", "3/4"], 0, 20, maximum=30),
        "persons": ib.quantiles([0, "1/2", 1], -1, 4, maximum=9, step="1/2", missing=1, records=3),
        "one-record": ib.quantiles(["1/10", "1/5"], 0, 1, maximum=1),
    }
    for name, query in queries.items():
        made = to_passport(ib.design_joint(query, "3/2")).to_json()
        law = made["content"]["law"]["joint_sizes"]
        yield "accept", name, made
        change = lambda number: _set("law", "joint_sizes", "weight", str(number))  # noqa: E731
        yield from _border(f"{name}-weight", made, change, int(law["weight"]), 1)
        change = lambda number: _set("law", "joint_sizes", "floor", str(number))  # noqa: E731
        yield from _border(f"{name}-floor", made, change, int(law["floor"]), 901)
    base = to_passport(ib.design_joint(queries["quartiles"], "3/2")).to_json()
    for name, change in {**JOINT_SIZES_CHANGES, **JOINT_SIZES_QUERY_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def counts() -> Iterator[Case]:
    """Yield noisy counts from which several quantiles are read."""
    queries = {
        "quartiles": ib.quantiles(["1/4", "1/2", "3/4"], 0, 4, size=6),
        "persons": ib.quantiles([0, "1/2", 1], -1, 4, size=5, step="1/2", missing=1, records=3),
        "secret-size": ib.quantiles(["1/10", "1/5"], 0, 1, maximum=9),
        "secret-persons": ib.quantiles(["1/10", "1/5"], 0, 2, maximum=3, records=2),
    }
    for name, query in queries.items():
        passport = to_passport(design_counts(query, "3/2")).to_json()
        yield "accept", name, passport
        line = passport["content"]["law"]["counts"]["table"]
        change = lambda moved, line=line: _set("law", "counts", "table", _moved_up(line, moved))  # noqa: E731
        yield from _border(f"{name}-weight", passport, change, 0, int(line.split(" ")[1]) - 1)
    base = to_passport(design_counts(queries["quartiles"], "3/2")).to_json()
    for name, change in {**COUNTS_CHANGES, **COUNTS_QUERY_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def approximate() -> Iterator[Case]:
    """Yield matrices with a delta: with outputs that one answer of a pair cannot give, and at their bounds."""
    queries = [
        ib.count(4), ib.count(6, outputs=3), ib.total(2, -1, 3), ib.extreme(-2, 3), ib.category(["a", "b", "ü"]),
        ib.interval(0, 8, 1, 8, holes=[(1, 3), (5, 7)]),
    ]  # fmt: skip
    for number, query in enumerate(queries):
        for name, weights in (("cut", _cut_law(query, width=4)), ("narrow", _cut_law(query, width=1))):
            least = _least_delta(weights, query, Fraction(1, 3))
            if least == 1:  # two neighbours have no output in common
                continue
            law = ApproximateMatrix(weights, least)
            made = to_passport(Mechanism(query, Fraction(1, 3), law, Origin("by hand"))).to_json()
            yield "accept", f"{number}-{query.kind}-{name}", made
            less = _set("law", "approximate", "delta", str(least * (1 - Fraction(1, 1 << 60))))
            yield "refuse", f"{number}-{query.kind}-{name}-less", _changed(made, less)
    pure = ApproximateMatrix(ib.catalog.exponential(queries[0], "1/3").weights, Fraction(1, 10**30))
    yield "accept", "pure", to_passport(Mechanism(queries[0], Fraction(1, 3), pure, Origin("pure"))).to_json()
    steps = _cut_law(ib.count(2))
    one_step = _least_delta(steps, ib.count(2), Fraction(1))
    chain = Mechanism(ib.count(2), Fraction(1), ApproximateMatrix(steps, one_step), Origin("by hand"))
    yield "accept", "one-step", to_passport(chain).to_json()
    for name, change in {**APPROXIMATE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(to_passport(chain).to_json(), change)


def approximate_noise() -> Iterator[Case]:
    """Yield noise tables with a delta, at their bounds."""
    for number, query in enumerate((ib.count(6), ib.total(3, 0, 3), ib.interval(0, 1, "1/4", 8))):
        for half in (1, 3, len(query.answers) - 1):
            weights = [TOTAL // 9 // (abs(d) + 1) for d in range(-half, half + 1)]
            weights[half] += TOTAL - sum(weights)
            table = np.array(weights)
            written_out = ApproximateNoise(table, Fraction(1, 2)).matrix(query)
            least = _least_delta(written_out, query, Fraction(1, 3))
            if not 0 < least < 1:
                continue
            law = ApproximateNoise(table, least)
            made = to_passport(Mechanism(query, Fraction(1, 3), law, Origin("by hand"))).to_json()
            yield "accept", f"{number}-{query.kind}-{half}", made
            less = _set("law", "approximate_noise", "delta", str(least * (1 - Fraction(1, 1 << 60))))
            yield "refuse", f"{number}-{query.kind}-{half}-less", _changed(made, less)
    table = np.array([TOTAL // 4, TOTAL // 2, TOTAL // 4])
    law = ApproximateNoise(table, Fraction(1, 2))
    law = ApproximateNoise(table, _least_delta(law.matrix(ib.count(4)), ib.count(4), Fraction(1)))
    base = to_passport(Mechanism(ib.count(4), Fraction(1), law, Origin("by hand"))).to_json()
    for name, change in {**APPROXIMATE_NOISE_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def threshold() -> Iterator[Case]:
    """Yield counts above a threshold, at their bounds: the closed form, tables by hand, and few answers."""
    made = [ib.catalog.threshold(ib.count(n), *both) for n in (2, 40) for both in (("1", "1/50"), ("1/3", "1/9"))]
    closed = [(one.query, one.epsilon, one.law) for one in made if isinstance(one.law, Threshold)]
    by_hand = [
        ([1, 6, 1], [8]), ([0, 3, 0], [0]), ([1, 2, 3, 2, 1], []), ([1, 1, 1, 1, 1], [9, 0, 0]), ([0, 5, 1], [2]),
    ]  # fmt: skip
    laws = [(query, epsilon, law.wide, law.narrow) for query, epsilon, law in closed]
    laws += [(ib.count(9), Fraction(1), *_scale_to_total(*tables)) for tables in by_hand]
    for number, (query, epsilon, wide, narrow) in enumerate(laws):
        long = ib.count(3 * (len(wide) // 2) + 2)
        least = _least_delta(Threshold(wide, narrow, Fraction(1, 2)).matrix(long), long, epsilon)
        if not 0 < least < 1:
            continue
        content = to_passport(Mechanism(query, epsilon, Threshold(wide, narrow, least), Origin("by hand"))).to_json()
        yield "accept", f"{number}", content
        less = _set("law", "threshold", "delta", str(least * (1 - Fraction(1, 1 << 60))))
        yield "refuse", f"{number}-less", _changed(content, less)
    base = to_passport(made[0]).to_json()
    for name, change in {**THRESHOLD_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def _scale_to_total(wide: list[int], narrow: list[int]) -> tuple[Any, Any]:
    """Return weights in these proportions that sum to 2**62 together; the middle of the first gets what is left."""
    unit = TOTAL // (sum(wide) + sum(narrow))
    scaled = np.array([one * unit for one in wide]), np.array([one * unit for one in narrow], dtype=np.int64)
    scaled[0][len(wide) // 2] += TOTAL - scaled[0].sum() - scaled[1].sum()
    return scaled


def _cut_law(query: RangeQuery, width: int = 2) -> Any:
    """Return weights that fall with the distance of output and answer in positions, and are 0 beyond `width`."""
    outputs, answers = query.shape
    centre = np.round(np.arange(answers) * (outputs - 1) / (answers - 1)).astype(int)
    distance = np.abs(np.arange(outputs)[:, None] - centre)
    weights = np.where(distance <= width, TOTAL // 7 // (distance + 1), 0)
    weights[centre, np.arange(answers)] += TOTAL - weights.sum(axis=0)
    return weights


def _least_delta(weights: Any, query: RangeQuery, epsilon: Fraction) -> Fraction:
    """Return the least delta at which the checker accepts the weights."""
    p, columns = ratio_lower_bound(epsilon, Fraction(1)), weights.T.tolist()
    pairs = query.neighbours.pairs(query.answers)
    return Fraction(max(sum_excess(columns[j], columns[k], p) for j, k in pairs), TOTAL << EXP_BITS)


LAWS = {
    "matrix": matrix,
    "approximate": approximate,
    "approximate_noise": approximate_noise,
    "threshold": threshold,
    "plane": plane,
    "noise": noise,
    "response": response,
    "subsets": subsets,
    "affine": affine,
    "planes": planes,
    "central": central,
    "scores": scores,
    "sides": sides,
    "joint": joint,
    "joint_sizes": joint_sizes,
    "counts": counts,
}
"""How the vectors of each law are made."""


# --- passports at the boundary ----------------------------------------------------------------------------


def _plain_matrices() -> Iterator[Case]:
    """Yield matrices of answers in a range."""
    queries = [
        ib.count(4), ib.count(6, outputs=3), ib.total(2, -1, 3), ib.mean(3, 1, 3), ib.extreme(-2, 3), ib.category(4),
        ib.category(["a", "b", "ü"]), ib.ordinal(1, 6, unit="3/2"), ib.interval(0, 8, 1, 8, holes=[(1, 3), (5, 7)]),
    ]  # fmt: skip
    for number, query in enumerate(queries):
        yield "accept", f"{number}-{query.kind}", to_passport(ib.catalog.exponential(query, "1/3")).to_json()
    low = 10**9 + 7
    most = ratio_lower_bound(Fraction(1), Fraction(1)) * low >> EXP_BITS
    row = np.array([low, most, low], dtype=np.int64)
    weights = np.array([row, (TOTAL - row) // 2, TOTAL - row - (TOTAL - row) // 2])
    base = to_passport(Mechanism(ib.count(2), Fraction(1), Matrix(weights), Origin("by hand"))).to_json()
    yield "accept", "at-its-bound", base
    beyond = weights + np.array([[0, 1, 0], [0, -1, 0], [0, 0, 0]])
    yield "refuse", "one-unit-beyond", _with_law(base, law_to_json(Matrix(beyond)))
    for name, change in {**PLAIN_CHANGES, **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def _border(name: str, passport: Json, change: Any, good: int, bad: int) -> Iterator[Case]:
    """Yield the last passport that is accepted between two values of a number, and the first that is refused."""

    def is_private(value: int) -> bool:
        try:
            certify_document(Document.wrap(MECHANISM, _changed(passport, change(value))["content"]))
        except PassportError:
            return False
        return True

    if not is_private(good) or is_private(bad):
        raise ValueError(f"{name}: there must be a border between {good} and {bad}")
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if is_private(middle) else (good, middle)
    if not passport["content"].get("claims"):
        yield "accept", f"{name}-at-its-bound", _changed(passport, change(good))
    yield "refuse", f"{name}-one-unit-beyond", _changed(passport, change(bad))


def _line_of(passport: Json, *path: Any) -> list[int]:
    spot = passport["content"]
    for key in path:
        spot = spot[key]
    return [int(word) for word in spot.split(" ")]


def _put_number(law: str, place: int) -> Any:
    """Return the change that puts a number into a table, and lowers those after it where they would be larger."""

    def to(value: int) -> Any:
        def lowered(table: list[int]) -> list[int]:
            start = place % len(table)
            return [*table[:start], *(min(number, value) for number in [value, *table[start + 1 :]])]

        return _line("law", law, "table", to=lowered)

    return to


def _fill_core(units: int) -> Any:
    """Return the change that moves units from both ends of a noise table to its middle."""

    def change(content: Json) -> None:
        law = content["law"]["noise"]
        core = [int(word) for word in law["core"].split(" ")]
        core[len(core) // 2] += 2 * units
        law |= {"core": " ".join(map(str, core)), "end": str(int(law["end"]) - units)}

    return change


def _label_cases(designs: list[Any], design: Any, changes: dict[str, Any]) -> Iterator[Case]:
    for number, one in enumerate(designs):
        query = ib.category(one.labels) if number % 2 else ib.category([f"label {k}" for k in range(one.labels)])
        for text in ("1/10", "3"):
            epsilon = Fraction(text)
            most = make_tight_blocks(one, epsilon).inside
            p, u, v = (
                ratio_lower_bound(epsilon, Fraction(1)),
                -(-TOTAL // (one.blocks - one.holding)),
                TOTAL // one.holding,
            )
            least = -(-(TOTAL * u << EXP_BITS) // (p * v + (u << EXP_BITS)))
            for end, inside, beyond in (("most", most, most + 1), ("least", least, least - 1)):
                made = _label_passport(query, text, one, inside)
                name = f"{number}-{text.replace('/', '-')}-{end}"
                yield "accept", name, made
                (family,) = made["content"]["law"]["blocks"]
                far = _set("law", "blocks", family, "inside", str(beyond))
                yield "refuse", f"{name}-one-unit-beyond", _changed(made, far)
    labels = ib.category([f"label {k}" for k in range(design.labels)])
    base = _label_passport(labels, "1", design, make_tight_blocks(design, Fraction(1)).inside)
    (family,) = base["content"]["law"]["blocks"]
    for name, change in {**changes, **_label_changes(family), **EPSILON_CHANGES}.items():
        yield "refuse", name, _changed(base, change)


def _label_passport(query: RangeQuery, epsilon: str, design: Any, inside: int) -> Json:
    made = Mechanism(query, Fraction(epsilon), BlockResponse(design, inside), Origin("sets of labels"))
    return to_passport(made).to_json()


def _central_passport(query: Any, length: int, first: int, over: int) -> Json:
    """Return a law whose first output rises with every record at the largest value as much as epsilon allows."""
    p, steps = ratio_lower_bound(Fraction(1), Fraction(1)), [10**9 + 7]
    for _ in range(length):
        steps.append((p * steps[-1] >> EXP_BITS) + over)
    row = np.array([steps[int(records[-1])] for records in all_multisets(length, query.width)], dtype=np.int64)
    weights = np.array([row, (TOTAL - row) // 2, TOTAL - row - (TOTAL - row) // 2])
    honest = to_passport(ib.design_central(query, 1, length=length)).to_json()
    central = {
        "first": str(first),
        "length": str(length),
        "matrix": [" ".join(map(str, line)) for line in weights.tolist()],
    }
    return _with_law(honest, {"central": central})


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


def _respell(name: str) -> Any:
    """Return a change that writes the same exact number with a denominator twice as large."""

    def change(content: Json) -> None:
        number = Fraction(content[name])
        content[name] = f"{2 * number.numerator}/{2 * number.denominator}"

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


EPSILON_CHANGES = {
    "epsilon-smaller": _set("epsilon", "1/100000"),
    "epsilon-zero": _set("epsilon", "0"),
    "epsilon-negative": _set("epsilon", "-1"),
    "epsilon-too-large": _set("epsilon", "65"),
    "epsilon-as-number": _set("epsilon", 1),
    "epsilon-as-decimal": _set("epsilon", "1.5"),
    "epsilon-not-in-lowest-terms": _respell("epsilon"),
    "epsilon-missing": _remove("epsilon"),
    "origin-as-text": _set("origin", "optimal"),
    "law-missing": _remove("law"),
    "law-empty": _set("law", {}),
    "field-of-no-rule": _set("more", 1),
    "query-field-of-no-rule": _set("query", "more", 1),
}
"""Changes after which a passport of any law must be refused."""

PLAIN_CHANGES = {
    "matrix-column-off-by-one": _line("law", "matrix", 0, to=_raised(0, 1)),
    "matrix-row-missing": lambda content: content["law"]["matrix"].pop(),
    "matrix-row-too-long": _line("law", "matrix", 0, to=lambda row: [*row, 0]),
    "matrix-empty": _set("law", "matrix", []),
    "matrix-as-number": _set("law", "matrix", 0, 1),
    "matrix-leading-zero": _set("law", "matrix", 0, "01 2 3"),
    "matrix-and-noise": _set("law", "noise", {}),
    "reach-longer": _set("query", "neighbours", {"everyone": True, "reach": 1}),
    "reach-zero": _set("query", "neighbours", {"reach": 0}),
    "reach-as-text": _set("query", "neighbours", {"reach": "1"}),
    "metric-closer": _set("query", "neighbours", {"metric": "1000"}),
    "answers-too-few": _set("query", "answers", "size", 2),
    "answers-of-another-start": _set("query", "answers", "start", "1"),
    "answers-without-unit": _set("query", "answers", "unit", "0"),
    "labels-of-a-count": _set("query", "labels", ["a", "b", "c"]),
    "rounds-as-number": _set("query", "rounds", 0),
    "kind-missing": _remove("query", "kind"),
}
"""Changes of a matrix over a count of 0, 1, 2 after which it must be refused."""

NOISE = ("law", "noise")

NOISE_CHANGES = {
    "core-of-even-length": _line(*NOISE, "core", to=lambda core: core[1:]),
    "core-sum-off-by-one": _line(*NOISE, "core", to=_raised(0, 1)),
    "core-with-zero": _line(*NOISE, "core", to=lambda core: [0, *core[1:-1], core[0] + core[-1]]),
    "core-as-number": _set(*NOISE, "core", 1),
    "floor-zero": _set(*NOISE, "floor", "0"),
    "end-zero": _set(*NOISE, "end", "0"),
    "size-too-large": _set(*NOISE, "size", "301"),
    "size-as-number": _set(*NOISE, "size", 300),
    "remap-too-short": _set(*NOISE, "remap", "0 1 2"),
    "remap-beyond": _set(*NOISE, "remap", " ".join(["301"] * 301)),
    "remap-missing": _remove(*NOISE, "remap"),
    "noise-field-of-no-rule": _set(*NOISE, "more", "1"),
    "noise-of-labels": _set("query", "neighbours", {"everyone": True}),
    "reach-longer": _set("query", "neighbours", {"reach": 2}),
}
"""Changes of a noise table for a count of at most 300 after which it must be refused."""

RESPONSE = ("law", "response")

APPROXIMATE_CHANGES = {
    "no-delta": _remove("law", "approximate", "delta"),
    "delta-0": _set("law", "approximate", "delta", "0"),
    "delta-1": _set("law", "approximate", "delta", "1"),
    "delta-negative": _set("law", "approximate", "delta", "-1/2"),
    "delta-not-in-lowest-terms": _set("law", "approximate", "delta", "2/4"),
    "delta-number": _set("law", "approximate", "delta", 1),
    "delta-float": _set("law", "approximate", "delta", "0.5"),
    "another-field": _set("law", "approximate", "epsilon", "1"),
    "claims": _set("claims", {"losses": {}, "properties": {}, "effective_epsilon": "1"}),
    "all-two-steps": _set("query", "neighbours", {"everyone": True}),
    "two-steps": _set("query", "neighbours", {"reach": 2}),
    "metric": _set("query", "neighbours", {"metric": "1"}),
    "graph": _set("query", "neighbours", {"graph": {"lengths": ["1"], "edges": ["0 1 1 0 1 2 2 1"]}}),
    "rows-missing": _set("law", "approximate", "matrix", []),
    "a-column-more": _set("law", "approximate", "matrix", [f"{TOTAL} 0 0 0", f"0 {TOTAL} 0 0", f"0 0 {TOTAL} {TOTAL}"]),
    "a-column-of-less": _set("law", "approximate", "matrix", [f"{TOTAL - 1} 0 0", f"0 {TOTAL} 0", f"0 0 {TOTAL}"]),
    "negative": _set("law", "approximate", "matrix", [f"{TOTAL + 1} 0 0", f"-1 {TOTAL} 0", f"0 0 {TOTAL}"]),
    "the-truth": _set("law", "approximate", "matrix", [f"{TOTAL} 0 0", f"0 {TOTAL} 0", f"0 0 {TOTAL}"]),
}

APPROXIMATE_NOISE_CHANGES = {
    "no-delta": _remove("law", "approximate_noise", "delta"),
    "delta-0": _set("law", "approximate_noise", "delta", "0"),
    "delta-1": _set("law", "approximate_noise", "delta", "1"),
    "delta-negative": _set("law", "approximate_noise", "delta", "-1/2"),
    "delta-too-small": _set("law", "approximate_noise", "delta", "1/1000"),
    "another-field": _set("law", "approximate_noise", "size", "4"),
    "claims": _set("claims", {"losses": {}, "properties": {}, "effective_epsilon": "1"}),
    "everyone": _set("query", "neighbours", {"everyone": True}),
    "metric": _set("query", "neighbours", {"metric": "1"}),
    "even": _set("law", "approximate_noise", "table", f"{TOTAL // 2} {TOTAL // 2}"),
    "too-long": _set("law", "approximate_noise", "table", " ".join(["0"] * 5 + [str(TOTAL)] + ["0"] * 5)),
    "a-unit-less": _set("law", "approximate_noise", "table", f"{TOTAL // 4} {TOTAL // 2 - 1} {TOTAL // 4}"),
    "negative": _set("law", "approximate_noise", "table", f"-1 {TOTAL + 1} 0"),
    "nothing": _set("law", "approximate_noise", "table", ""),
}

THRESHOLD_CHANGES = {
    "no-delta": _remove("law", "threshold", "delta"),
    "delta-0": _set("law", "threshold", "delta", "0"),
    "delta-1": _set("law", "threshold", "delta", "1"),
    "delta-negative": _set("law", "threshold", "delta", "-1/50"),
    "another-field": _set("law", "threshold", "bound", "1"),
    "claims": _set("claims", {"losses": {}, "properties": {}, "effective_epsilon": "1"}),
    "no-narrow": _remove("law", "threshold", "narrow"),
    "even": _set("law", "threshold", "wide", f"{TOTAL // 2} {TOTAL // 2}"),
    "one-wide": _set("law", "threshold", "wide", f"{TOTAL}"),
    "too-narrow": _set("law", "threshold", "narrow", "0"),
    "nothing": _set("law", "threshold", "wide", ""),
    "a-unit-more": lambda content: content["law"]["threshold"].update(narrow=f"{TOTAL} 1 0"),
    "two-steps": _set("query", "neighbours", {"reach": 2}),
    "everyone": _set("query", "neighbours", {"everyone": True}),
    "metric": _set("query", "neighbours", {"metric": "1"}),
    "a-total": _set("query", "kind", "total"),
}

RESPONSE_CHANGES = {
    "other-zero": _set(*RESPONSE, "other", "0"),
    "other-above-the-truth": _set(*RESPONSE, "other", str(TOTAL // 5 + 1)),
    "other-all": _set(*RESPONSE, "other", str(TOTAL)),
    "other-negative": _set(*RESPONSE, "other", "-1"),
    "other-as-number": _set(*RESPONSE, "other", 10**18),
    "other-as-decimal": _set(*RESPONSE, "other", "1.0"),
    "other-with-leading-zero": _set(*RESPONSE, "other", "0" + str(10**17)),
    "other-two-numbers": _set(*RESPONSE, "other", "1 1"),
    "other-missing": _remove(*RESPONSE, "other"),
    "size-zero": _set(*RESPONSE, "size", "0"),
    "size-one": _set(*RESPONSE, "size", "1"),
    "size-too-small": _set(*RESPONSE, "size", "4"),
    "size-too-large": _set(*RESPONSE, "size", "6"),
    "size-as-number": _set(*RESPONSE, "size", 5),
    "response-field-of-no-rule": _set(*RESPONSE, "truth", "1"),
    "response-and-matrix": _set("law", "matrix", ["1"]),
    "response-as-list": _set("law", "response", ["5", "1"]),
    "metric": _set("query", "neighbours", {"metric": "1"}),
    "graph": _set("query", "neighbours", {"graph": {"lengths": ["1"], "edges": ["0 1"]}}),
    "answers-too-many": _set("query", "answers", "size", 6),
}
"""Changes of two weights for a count of at most 4 after which they must be refused."""


def _label_changes(family: str) -> dict[str, Any]:
    """Return changes of sets of labels, of any family, after which they must be refused."""
    place = ("law", "blocks", family)
    return {
        "inside-zero": _set(*place, "inside", "0"),
        "inside-all": _set(*place, "inside", str(TOTAL)),
        "inside-above-all": _set(*place, "inside", str(TOTAL + 1)),
        "inside-negative": _set(*place, "inside", "-1"),
        "inside-as-number": _set(*place, "inside", 2**61),
        "inside-as-fraction": _set(*place, "inside", "1/2"),
        "inside-missing": _remove(*place, "inside"),
        "sets-field-of-no-rule": _set(*place, "labels", "6"),
        "sets-of-two-families": _set("law", "blocks", "others", {}),
        "sets-of-no-family": _set("law", "blocks", {"others": {"size": "1", "inside": "1"}}),
        "sets-empty": _set("law", "blocks", {}),
        "sets-as-list": _set("law", "blocks", []),
        "sets-and-matrix": _set("law", "matrix", ["1"]),
        "claims": _set("claims", {}),
        "optimality": _set("optimality", None),
        "labels-alike": _set("query", "labels", 0, "label 1"),
        "labels-too-few": lambda content: content["query"]["labels"].pop(),
        "labels-as-numbers": _set("query", "labels", 0, 0),
        "reach": lambda content: content["query"].update(neighbours={"reach": 1}, labels=None),
        "metric": lambda content: content["query"].update(neighbours={"metric": "1"}, labels=None),
        "cells": _set("query", "outputs", {
            "lowers": {"start": "-1", "unit": "1", "size": 1}, "uppers": {"start": "100", "unit": "1", "size": 1},
            "values": {"start": "0", "unit": "1", "size": 1},
        }),
    }  # fmt: skip


def _with_labels(count: int) -> Any:
    def change(content: Json) -> None:
        content["query"]["answers"]["size"] = count
        content["query"]["labels"] = [f"label {k}" for k in range(count)]

    return change


SUBSET_CHANGES = {
    "size-zero": _set("law", "blocks", "subsets", "size", "0"),
    "size-of-all": _set("law", "blocks", "subsets", "size", "6"),
    "size-beyond": _set("law", "blocks", "subsets", "size", "7"),
    "size-two-numbers": _set("law", "blocks", "subsets", "size", "3 3"),
    "size-as-number": _set("law", "blocks", "subsets", "size", 3),
    "labels-sixty-two": _with_labels(62),
    "labels-many": _with_labels(1000),
    "subsets-too-many": lambda content: (
        _with_labels(22)(content),
        content["law"]["blocks"]["subsets"].update(size="11"),
    ),
}
"""Changes of the subsets of three of six labels after which they must be refused."""

AFFINE_CHANGES = {
    "modulus-composite": _set("law", "blocks", "affine", "modulus", "9"),
    "modulus-square-of-a-prime": _set("law", "blocks", "affine", "modulus", "49"),
    "modulus-below-the-labels": _set("law", "blocks", "affine", "modulus", "3"),
    "modulus-zero": _set("law", "blocks", "affine", "modulus", "0"),
    "modulus-too-large": _set("law", "blocks", "affine", "modulus", "4099"),
    "modulus-as-number": _set("law", "blocks", "affine", "modulus", 7),
    "modulus-missing": _remove("law", "blocks", "affine", "modulus"),
    "size-zero": _set("law", "blocks", "affine", "size", "0"),
    "size-of-all": _set("law", "blocks", "affine", "size", "7"),
    "size-more": _set("law", "blocks", "affine", "size", "1"),
    "labels-beyond-the-modulus": _with_labels(8),
}
"""Changes of affine sets of five labels modulo 7 after which they must be refused."""

PLANE_FAMILY_CHANGES = {
    "order-composite": _set("law", "blocks", "planes", "order", "4"),
    "order-one": _set("law", "blocks", "planes", "order", "1"),
    "order-zero": _set("law", "blocks", "planes", "order", "0"),
    "order-too-large": _set("law", "blocks", "planes", "order", "4099"),
    "order-as-number": _set("law", "blocks", "planes", "order", 2),
    "dimension-zero": _set("law", "blocks", "planes", "dimension", "0"),
    "dimension-one": _set("law", "blocks", "planes", "dimension", "1"),
    "dimension-too-small": _set("law", "blocks", "planes", "dimension", "2"),
    "dimension-too-large": _set("law", "blocks", "planes", "dimension", "25"),
    "dimension-beyond-sixty-two": _set("law", "blocks", "planes", "dimension", "63"),
    "dimension-missing": _remove("law", "blocks", "planes", "dimension"),
    "labels-beyond-the-points": _with_labels(8),
}
"""Changes of hyperplanes of the space of three digits 0, 1 for six labels after which they must be refused."""

QUANTILE_CHANGES = {
    "at-above-one": _set("query", "at", "5/4"),
    "at-negative": _set("query", "at", "-1/2"),
    "at-as-decimal": _set("query", "at", "0.5"),
    "at-too-fine": _set("query", "at", "1/1000001"),
    "size-zero": _set("query", "size", "0"),
    "size-too-large": _set("query", "size", str(2**40 + 1)),
    "size-as-number": _set("query", "size", 5),
    "public-as-text": _set("query", "public", "true"),
    "missing-beyond-the-values": _set("query", "missing", "10000"),
    "missing-negative": _set("query", "missing", "-1"),
    "records-zero": _set("query", "records", "0"),
    "values-too-many": _set("query", "values", "size", 8193),
    "values-one": _set("query", "values", "size", 1),
    "values-as-ticks": _set("query", "values", {"start": "0", "unit": "1", "ticks": "0 1 2"}),
    "values-without-unit": _set("query", "values", "unit", "0"),
}
"""Changes of a quantile after which no law may be accepted."""


JOINT_QUERY_CHANGES = {
    **{name: change for name, change in QUANTILE_CHANGES.items() if not name.startswith("at-")},
    "at-of-one": _set("query", "at", "1/2"),
    "at-falling": _set("query", "at", "3/4 1/2"),
    "at-twice": _set("query", "at", "1/2 1/2 3/4"),
    "at-above-one": _set("query", "at", "1/2 5/4"),
    "at-not-in-lowest-terms": _set("query", "at", "2/4 3/4"),
    "at-as-list": _set("query", "at", ["1/4", "1/2"]),
    "at-with-two-spaces": _set("query", "at", "1/4  1/2"),
    "at-too-many": _set("query", "at", " ".join(str(Fraction(k, 1000)) for k in range(101))),
    "kind-of-one": _set("query", "kind", "quantile"),
    "secret-size": _set("query", "public", False),
    "several-records": _set("query", "records", "2"),
    "more-values": _set("query", "values", "size", 102),
    "more-records-than-a-draw-holds": _set("query", "size", str(1 << 16)),
}
"""Changes of three quantiles of 30 records with 101 values after which no joint law may be accepted."""

JOINT_SIZES_QUERY_CHANGES = {
    name: change
    for name, change in JOINT_QUERY_CHANGES.items()
    if name not in ("secret-size", "more-records-than-a-draw-holds", "several-records")
} | {"public-size": _set("query", "public", True), "persons": _set("query", "records", "2")}
"""Changes of three quantiles of at most 30 records with 21 values after which no law over sizes may be accepted."""

JOINT = ("law", "joint")

JOINT_CHANGES = {
    "weight-zero": _set(*JOINT, "weight", "0"),
    "weight-of-no-fall": _set(*JOINT, "weight", str(TOTAL)),
    "weight-as-number": _set(*JOINT, "weight", 3 << 60),
    "weight-missing": _remove(*JOINT, "weight"),
    "spacing-zero": _line(*JOINT, "spacing", to=_replaced(3, 0)),
    "spacing-too-large": _line(*JOINT, "spacing", to=_replaced(0, 1 << 24)),
    "spacing-too-short": _set(*JOINT, "spacing", "3 2 1"),
    "spacing-as-list": _set(*JOINT, "spacing", [3, 2, 1]),
    "spacing-missing": _remove(*JOINT, "spacing"),
    "joint-field-of-no-rule": _set(*JOINT, "more", "1"),
    "joint-and-scores": _set("law", "scores", {}),
    "another-law": lambda content: content.update(law={"scores": {"table": f"{TOTAL} 1", "stride": "1", "deeper": ""}}),
}
"""Changes of a joint law after which it must be refused."""


SIZES = ("law", "joint_sizes")

JOINT_SIZES_CHANGES = {
    "weight-zero": _set(*SIZES, "weight", "0"),
    "weight-of-no-fall": _set(*SIZES, "weight", str(TOTAL)),
    "weight-as-number": _set(*SIZES, "weight", 3 << 60),
    "weight-missing": _remove(*SIZES, "weight"),
    "spacing-zero": _line(*SIZES, "spacing", to=_replaced(3, 0)),
    "spacing-too-large": _line(*SIZES, "spacing", to=_replaced(0, 1 << 24)),
    "spacing-too-short": _set(*SIZES, "spacing", "3 2 1"),
    "sizes-missing": _remove(*SIZES, "sizes"),
    "sizes-empty": _set(*SIZES, "sizes", ""),
    "sizes-equal": _set(*SIZES, "sizes", "0 3 3"),
    "sizes-falling": _set(*SIZES, "sizes", "3 2"),
    "sizes-negative": _set(*SIZES, "sizes", "-1 2"),
    "sizes-too-large": _set(*SIZES, "sizes", f"0 {1 << 17}"),
    "sizes-too-many": _set(*SIZES, "sizes", " ".join(map(str, range(257)))),
    "floor-negative": _set(*SIZES, "floor", "-1"),
    "floor-as-number": _set(*SIZES, "floor", 9),
    "floor-missing": _remove(*SIZES, "floor"),
    "sizes-field-of-no-rule": _set(*SIZES, "more", "1"),
    "joint-of-a-public-size": lambda content: content.update(
        law={"joint": {name: content["law"]["joint_sizes"][name] for name in ("weight", "spacing")}}
    ),
}
"""Changes of a joint law over sizes after which it must be refused."""


def _moved_up(line: str, moved: int) -> str:
    """Return a line of weights in which so much of the second is given to the first."""
    first, second, *others = map(int, line.split(" "))
    return " ".join(map(str, [first + moved, second - moved, *others]))


COUNTS_QUERY_CHANGES = {
    name: change
    for name, change in JOINT_QUERY_CHANGES.items()
    if name not in ("secret-size", "more-values", "more-records-than-a-draw-holds")
}
"""Changes of three quantiles of 6 records after which their noisy counts may not be accepted."""

COUNTS = ("law", "counts")

COUNTS_CHANGES = {
    "weight-zero": _line(*COUNTS, "table", to=_replaced(3, 0)),
    "sum-too-small": _line(*COUNTS, "table", to=_replaced(0, 1)),
    "weights-sorted": _line(*COUNTS, "table", to=sorted),
    "table-as-list": _set(*COUNTS, "table", [TOTAL // 2, TOTAL // 2]),
    "table-of-one": _set(*COUNTS, "table", str(TOTAL)),
    "table-too-long": _set(*COUNTS, "table", " ".join([str(TOTAL >> 14)] * (1 << 14))),
    "table-missing": _remove(*COUNTS, "table"),
    "table-empty": _set(*COUNTS, "table", ""),
    "counts-field-of-no-rule": _set(*COUNTS, "more", "1"),
    "counts-and-joint": _set("law", "joint", {}),
}
"""Changes of noisy counts after which they must be refused."""


def _with_ends_exchanged(line: str) -> str:
    first, *between, last = line.split(" ")
    return " ".join([last, *between, first])


CENTRAL = ("law", "central")

CENTRAL_CHANGES = {
    "first-zero": _set(*CENTRAL, "first", "0"),
    "first-beyond-the-group": _set(*CENTRAL, "first", "5"),
    "first-negative": _set(*CENTRAL, "first", "-1"),
    "first-as-number": _set(*CENTRAL, "first", 3),
    "first-missing": _remove(*CENTRAL, "first"),
    "length-zero": _set(*CENTRAL, "length", "0"),
    "length-one": _set(*CENTRAL, "length", "1"),
    "length-too-long": _set(*CENTRAL, "length", "3"),
    "length-beyond-all": _set(*CENTRAL, "length", str(2**40)),
    "length-two-numbers": _set(*CENTRAL, "length", "2 2"),
    "column-missing": lambda content: content["law"]["central"].update(
        matrix=[row.rpartition(" ")[0] for row in content["law"]["central"]["matrix"]]
    ),
    "column-off-by-one": _line(*CENTRAL, "matrix", 0, to=_raised(0, 1)),
    "columns-exchanged": lambda content: content["law"]["central"].update(
        matrix=[_with_ends_exchanged(row) for row in content["law"]["central"]["matrix"]]
    ),
    "row-missing": lambda content: content["law"]["central"]["matrix"].pop(),
    "row-too-long": _line(*CENTRAL, "matrix", 0, to=lambda row: [*row, 0]),
    "matrix-as-text": _set(*CENTRAL, "matrix", "1 2 3"),
    "matrix-empty": _set(*CENTRAL, "matrix", []),
    "central-field-of-no-rule": _set(*CENTRAL, "last", "4"),
    "central-and-scores": _set("law", "scores", {}),
    "secret-size": _set("query", "public", False),
    "several-records": _set("query", "records", "2"),
}
"""Changes of a matrix over the records of ranks 3 and 4 of five, of values 0, 1, 2, after which it must be refused."""

SCORES = ("law", "scores")

SCORE_CHANGES = {
    "table-rising": _line(*SCORES, "table", to=lambda table: [*table[:-1], table[-2] + 1]),
    "table-from-less": _line(*SCORES, "table", to=_raised(0, -1)),
    "table-from-two-alike": _line(*SCORES, "table", to=_replaced(1, TOTAL)),
    "table-to-zero": _line(*SCORES, "table", to=_replaced(-1, 0)),
    "table-of-one": _set(*SCORES, "table", str(TOTAL)),
    "table-as-list": _set(*SCORES, "table", [TOTAL, 1]),
    "stride-zero": _set(*SCORES, "stride", "0"),
    "stride-as-number": _set(*SCORES, "stride", 1),
    "stride-two-numbers": _set(*SCORES, "stride", "1 1"),
    "deeper-beyond-the-stride": _set(*SCORES, "deeper", str(2**24)),
    "deeper-null": _set(*SCORES, "deeper", None),
    "deeper-as-list": _set(*SCORES, "deeper", []),
    "deeper-missing": _remove(*SCORES, "deeper"),
    "scores-field-of-no-rule": _set(*SCORES, "more", "1"),
}
"""Changes of a score table after which it must be refused."""

SIDES = ("law", "sides")

SIDE_CHANGES = {
    "table-rising": _line(*SIDES, "table", to=lambda table: [*table[:-1], table[-2] + 1]),
    "table-from-less": _line(*SIDES, "table", to=_raised(0, -1)),
    "table-to-zero": _line(*SIDES, "table", to=_replaced(-1, 0)),
    "below-of-two": _set(*SIDES, "below", "1 1"),
    "below-of-five": _set(*SIDES, "below", "1 1 0 0 0"),
    "below-without-stride": _set(*SIDES, "below", "1 0 0"),
    "below-from-zero": _set(*SIDES, "below", "0 1 0"),
    "spread-above-a-record": _set(*SIDES, "above", "1 1 5 2"),
    "above-too-large": _set(*SIDES, "above", f"1 {2**24} 0"),
    "above-as-list": _set(*SIDES, "above", [1, 1, 0]),
    "deeper-beyond-the-stride": _set(*SIDES, "deeper", str(2**23)),
    "deeper-missing": _remove(*SIDES, "deeper"),
    "sides-field-of-no-rule": _set(*SIDES, "more", "1"),
    "secret-size": _set("query", "public", False),
    "several-records": _set("query", "records", "2"),
}
"""Changes of a score table with a pace for each side after which it must be refused."""


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


def listed(verdict: str, checker: str | None = None) -> list[Path]:
    """List the files that must be accepted, or refused: of every law, or of those that a checker has a rule for."""
    files = sorted(FOLDER.glob(f"*/{verdict}/*.json"))
    return files if checker is None else [file for file in files if checker in _checkers(file.parts[-3])]


@cache
def _checkers(folder: str) -> frozenset[str]:
    """Return the checkers beside Python's that judge every law in the passports of a folder."""
    contents = (json.loads(file.read_text("utf-8"))["content"] for file in (FOLDER / folder).glob("accept/*.json"))
    kinds = {kind for content in contents for kind in content["law"]}
    return frozenset.intersection(*(REGISTRY[kind].checkers for kind in kinds))


if __name__ == "__main__":
    write()

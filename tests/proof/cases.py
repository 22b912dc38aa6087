"""Passports to compare two checkers on: every kind of question and law, honest, at the boundary, one unit beyond it,
and hostile.
"""

import json
import math
import random
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import inbounds as ib
from envelopes import digest_of as digest_of
from envelopes import wrap
from hostile.files import honest_mechanisms, json_file
from inbounds.exact import Ints
from inbounds.files import MECHANISM, Json
from inbounds.mechanism import AnyMechanism, Mechanism, Origin
from inbounds.mechanism import passport as passports
from inbounds.mechanism.codec import law_to_json, query_to_json
from inbounds.mechanism.laws import CentralRecords, Noise, Threshold
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.query import RangeQuery, Scale, with_neighbours
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.permute_flip import ratio_bounds
from inbounds.trusted.sided_scores import sided_ratio_bounds

EPSILONS = ("1/10", "1/3", "1/2", "1", "7/5", "3", "8", "64", "1/1000000000")


def queries() -> list[RangeQuery]:
    """Every kind, every relation of neighbours, holes and allowances, cells other than one for each answer."""
    kept = [
        ib.count(1), ib.count(4), ib.count(7), ib.count(6, outputs=3), ib.count(5, outputs=ib.cells(-3, 8, 4)),
        ib.total(3, 0, 2), ib.total(2, -1, 3), ib.mean(3, 1, 3), ib.mean(2, 0, 4, outputs=2),
        ib.extreme(0, 1), ib.extreme(-2, 3), ib.category(["yes", "no"]), ib.category(["a", "b", "ü", "\ud83d\ude00"]),
        ib.ordinal(0, 4), ib.ordinal(1, 6, unit="3/2"), ib.ordinal(0, 3, unit="1/7"),
        ib.interval(0, 1, "1/4", 8), ib.interval(0, 6, 2, 6, holes=[(1, 2)]), ib.interval(0, 6, 2, 6, holes=[(1, 3)]),
        ib.interval(0, 10, 2, 10, holes=[(2, 6)], allowance=0), ib.interval("-1/3", 5, 1, 7, allowance="1/2000"),
        ib.interval(0, 8, 1, 8, holes=[(1, 3), (5, 7)]),
    ]  # fmt: skip
    others = [
        with_neighbours(ib.count(5), ib.Reach(3)), with_neighbours(ib.count(5), ib.Reach(9)),
        with_neighbours(ib.count(5), ib.Metric(Fraction(2, 3))), with_neighbours(ib.total(2, 0, 3), ib.AllPairs()),
        RangeQuery("interval", Scale(Fraction(0), Fraction(1, 2), (0, 1, 4, 5)), ib.count(3).outputs,
                   ib.Reach(3)),
    ]  # fmt: skip
    return kept + others


def sealed(query: RangeQuery, epsilon: Fraction, law: Json) -> Json:
    """A passport of these, whatever they are, with its digest."""
    content = {"query": query_to_json(query), "epsilon": str(epsilon), "law": law, "origin": None, "claims": None}
    return wrap(MECHANISM, content)


def matrix_json(weights: list[list[int]]) -> Json:
    return {"matrix": [" ".join(map(str, row)) for row in weights]}


# --- matrices ---------------------------------------------------------------------------------------------


def at_the_boundary(query: RangeQuery, epsilon: Fraction, rng: random.Random) -> list[list[int]]:
    """A first row that rises and falls by the largest ratio that is allowed, the other rows sharing what is left."""
    outputs, answers = query.shape
    row = [0] * answers
    row[0] = rng.randrange(1, TOTAL >> rng.randrange(3, 40))
    allowed: dict[int, int] = {}
    for clique in query.cliques():
        allowed |= dict.fromkeys(range(clique.start, clique.stop), ratio_lower_bound(epsilon, clique.distance))
    lowest = row[0]
    for j in range(1, answers):
        p = allowed.get(j, 1 << EXP_BITS)
        most = min(p * lowest >> EXP_BITS, TOTAL // 4)
        row[j] = rng.choice((most, most, lowest, rng.randint(min(lowest, most), most)))
        if not isinstance(query.neighbours, ib.AllPairs) and rng.random() < 0.5:
            lowest = row[j]
    return [row, *share_rest(row, outputs)]


def share_rest(row: list[int], outputs: int) -> list[list[int]]:
    """Rows that share what a first row leaves of 2**62; those that one output alone would need are not there."""
    if outputs == 1:
        return []
    shares = [[(TOTAL - weight) // (outputs - 1) for weight in row] for _ in range(outputs - 1)]
    shares[-1] = [TOTAL - row[j] - sum(share[j] for share in shares[:-1]) for j in range(len(row))]
    return shares


def nudged(weights: list[list[int]], rng: random.Random) -> list[list[int]]:
    """One unit moved within a column; sometimes lost, or given where there was none."""
    moved = [list(row) for row in weights]
    i, k, j = rng.randrange(len(moved)), rng.randrange(len(moved)), rng.randrange(len(moved[0]))
    amount = rng.choice((1, 1, 1, -1, 2, moved[i][j] // 10**9, moved[i][j]))
    moved[i][j] -= amount
    moved[k][j] += amount + rng.choice((0, 0, 0, 0, 0, 0, 1, -1))
    return moved if min(map(min, moved)) >= 0 else weights


def near_tight(weights: list[list[int]], query: RangeQuery, rng: random.Random) -> Fraction:
    """An epsilon within 10^-36 of the logarithm of some ratio between neighbours."""
    clique = rng.choice(list(query.cliques()))
    part = [weight for weight in rng.choice(weights)[clique.start : clique.stop] if weight]
    if len(part) < 2 or max(part) == min(part):
        return Fraction(1)
    return logarithm(Fraction(max(part), min(part)), rng, clique.distance)


def logarithm(ratio: Fraction, rng: random.Random, distance: Fraction = Fraction(1)) -> Fraction:
    """An epsilon whose bound over a distance is this ratio, or a hair beside it."""
    with localcontext() as context:
        context.prec = 80
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    found = (Fraction(log) + Fraction(rng.randint(-5, 5), 10 ** rng.choice((9, 30, 36, 37)))) / distance
    return min(max(found, Fraction(1, 10**9)), Fraction(64)).limit_denominator(10**60)


def matrix_passports(number: int, seed: int) -> Iterator[Json]:
    rng, asked = random.Random(seed), queries()
    for _ in range(number):
        query, epsilon = rng.choice(asked), Fraction(rng.choice(EPSILONS))
        weights = at_the_boundary(query, epsilon, rng)
        if rng.random() < 0.5:
            weights = nudged(weights, rng)
        if rng.random() < 0.3:
            epsilon = near_tight(weights, query, rng)
        yield sealed(query, epsilon, matrix_json(weights))


# --- noise tables -----------------------------------------------------------------------------------------


def noise_queries() -> list[RangeQuery]:
    return [
        ib.count(3), ib.count(9), ib.count(40), ib.total(3, 0, 4), ib.mean(4, 1, 5), ib.interval(0, 1, "1/4", 12),
        ib.ordinal(0, 9, unit=3), ib.ordinal(0, 30, unit="5/2"), ib.count(10**6), ib.total(1000, 0, 7),
        with_neighbours(ib.count(5), ib.Reach(9)), with_neighbours(ib.count(2**40), ib.Reach(3)),
        ib.mean(3, 0, 2, outputs=2), ib.count(6, outputs=3),
    ]  # fmt: skip


def noise_of(query: RangeQuery, epsilon: Fraction, rng: random.Random) -> Noise:
    law = make_geometric_noise(query, epsilon)
    size, outputs = law.size, len(query.outputs)
    if query.one_output_per_answer and (size > 1000 or rng.random() < 0.7):
        return law
    remap = np.array(sorted(rng.randrange(outputs) for _ in range(size + 1)))
    return Noise(law.core, law.floor, law.end, law.size, remap)


def nudged_noise(law: Noise, rng: random.Random) -> Noise:
    """A unit or a few moved between weights of the noise, its constant tails, its ends."""
    core, floor, end = law.core.tolist(), law.floor, law.end
    run = law.size - 1 - len(core) // 2
    for _ in range(rng.choice((1, 1, 2))):
        i, k = rng.randrange(len(core)), rng.randrange(len(core))
        what, amount = rng.randrange(6), rng.choice((1, 1, 1, 2, core[i] // 10**6))
        if what < 3:
            core[i], core[k] = core[i] - amount, core[k] + amount
        elif what == 3:
            end, core[k] = end - amount, core[k] + 2 * amount
        elif what == 4:
            floor, core[k] = floor + 1, core[k] - 2 * run
        else:
            core[k] += rng.choice((1, -1))
    if min(core) < 0 or floor < 0 or end < 0:
        return law
    return Noise(np.array(core), floor, end, law.size, law.remap)


def noise_passports(number: int, seed: int) -> Iterator[Json]:
    rng, asked = random.Random(seed), noise_queries()
    made: dict[tuple[int, str], Noise] = {}
    for _ in range(number):
        place, text = rng.randrange(len(asked)), rng.choice(EPSILONS[:6])
        query, epsilon = asked[place], Fraction(text)
        law = made.get((place, text)) or made.setdefault((place, text), noise_of(query, epsilon, rng))
        if rng.random() < 0.6:
            law = nudged_noise(law, rng)
        epsilon *= rng.choice((1, 1, 1, 1, 2, Fraction(10**12 - 1, 10**12), Fraction(10**12 + 1, 10**12)))
        yield sealed(query, epsilon, law_to_json(law))


# --- two weights ------------------------------------------------------------------------------------------


def response_passports(number: int, seed: int) -> Iterator[Json]:
    """Randomized response at its bound, one unit beside it, and for queries that it is not for."""
    rng = random.Random(seed)
    asked = [
        ib.extreme(0, 1), ib.extreme(0, 4), ib.category(["yes", "no", "perhaps"]), ib.extreme(1, 10**9),
        ib.extreme(0, 2**53 - 2), with_neighbours(ib.count(5), ib.Reach(3)), ib.count(4), ib.interval(0, 1, "1/4", 8),
    ]  # fmt: skip
    others = [ib.ordinal(0, 4), ib.count(6, outputs=3), ib.mean(3, 1, 3, outputs=2)]
    for _ in range(number):
        query = rng.choice(asked if rng.random() < 0.9 else others)
        size, epsilon = len(query.answers) + (rng.random() < 0.05), Fraction(rng.choice(EPSILONS))
        other = make_tight_response(size, epsilon).other_weight
        other += rng.choice((0, 0, 1, -1, 1 - other, -other, TOTAL // size - other, TOTAL // size - other + 1))
        if rng.random() < 0.3 and 0 < other < TOTAL // size:
            epsilon = logarithm(Fraction(TOTAL - (size - 1) * other, other), rng)
        yield sealed(query, epsilon, {"response": {"size": str(size), "other": str(other)}})


# --- counts above a threshold -----------------------------------------------------------------------------


def threshold_passports(number: int, seed: int) -> Iterator[Json]:
    """Counts above a threshold: at the least delta of the written matrix, one part in 2^70 below it, and damaged."""
    rng = random.Random(seed)
    for _ in range(number):
        k, epsilon = rng.randrange(1, 7), Fraction(rng.choice(EPSILONS))
        by_hand = rng.random() < 0.5
        wide = [rng.choice((0, 1, 3, 9, 40)) if by_hand else 2 ** min(v, 2 * k - v) for v in range(2 * k + 1)]
        narrow = [rng.choice((0, 1, 5)) for _ in wide[2:]] if rng.random() < 0.7 else []
        unit = TOTAL // max(1, sum(wide) + sum(narrow))
        wide, narrow = [one * unit for one in wide], [one * unit for one in narrow]
        wide[k] += TOTAL - sum(wide) - sum(narrow)
        delta = _least_delta(wide, narrow, epsilon) * rng.choice((1, 1, 1 - Fraction(1, 1 << 70)))
        if rng.random() < 0.1:
            wide[rng.randrange(len(wide))] += rng.choice((1, -1, TOTAL))
        query = ib.count(rng.randrange(1, 30)) if rng.random() < 0.9 else rng.choice(queries())
        content = {"query": query_to_json(query), "epsilon": str(epsilon), "origin": None}
        law = {"delta": str(delta), "wide": _line(wide), "narrow": _line(narrow)}
        yield wrap(MECHANISM, content | {"law": {"threshold": law}})


def _least_delta(wide: list[int], narrow: list[int], epsilon: Fraction) -> Fraction:
    """The least delta of reports of at most 2k + 2 persons, written out."""
    tables, most = [np.array(table, dtype=np.int64) for table in (wide, narrow)], len(wide) + 1
    law = Threshold(tables[0], tables[1], Fraction(1, 2)).matrix(ib.count(3 * len(wide))).astype(object).T
    p = ratio_lower_bound(epsilon, Fraction(1))
    pairs = [pair for n in range(most) for pair in ((n, n + 1), (n + 1, n))]
    excess = [sum(max(0, (a << EXP_BITS) - p * b) for a, b in zip(law[j], law[i], strict=True)) for j, i in pairs]
    return Fraction(max(excess), TOTAL << EXP_BITS)


# --- sets of labels ---------------------------------------------------------------------------------------

FAMILIES = {"subsets": ("size",), "affine": ("modulus", "size"), "planes": ("order", "dimension")}


def label_passports(number: int, seed: int) -> Iterator[Json]:
    """Sets of labels of every family, at the bound, one unit beside it, and families that cannot be."""
    rng = random.Random(seed)
    for _ in range(number):
        labels, family = rng.choice((2, 3, 5, 7, 13, 40, 61, 62)), rng.choice([*FAMILIES])
        numbers, blocks, holding = _family(family, labels, rng)
        epsilon, inside = Fraction(rng.choice(EPSILONS[:6])), rng.randrange(TOTAL)
        if 0 < holding < blocks <= TOTAL:
            p, u, v = ratio_lower_bound(epsilon, Fraction(1)), -(-TOTAL // holding), TOTAL // (blocks - holding)
            inside = p * v * TOTAL // ((u << EXP_BITS) + p * v) + rng.choice((0, 0, 0, 1, -1, 10**9))
        values = dict(zip(FAMILIES[family], map(str, numbers), strict=True))
        query = rng.choice((ib.category(labels), ib.category([f"label {k}" for k in range(labels)])))
        if rng.random() < 0.05:
            query = rng.choice((ib.count(labels - 1), ib.ordinal(0, labels - 1), ib.count(7, outputs=4)))
        content = sealed(query, epsilon, {"blocks": {family: {**values, "inside": str(inside)}}})["content"]
        yield wrap(MECHANISM, {**{key: content[key] for key in ("query", "epsilon", "law")}, **_ORIGIN})


def _family(name: str, labels: int, rng: random.Random) -> tuple[list[int], int, int]:
    """Numbers of a family, good or not, how many sets it has, and in how many of them each label lies."""
    if name == "subsets":
        size = rng.choice((1, 2, 3, labels // 2, labels - 1, *((0, labels, labels + 1) if rng.random() < 0.2 else ())))
        return [size], math.comb(labels, size), math.comb(labels - 1, size - 1) if size else 0
    if name == "affine":
        modulus = rng.choice((3, 5, 7, 13, 61, 67, 4093, *((1, 9, 15, 4087, 4099) if rng.random() < 0.2 else ())))
        size = rng.choice((1, 2, modulus // 2, modulus - 1, *((0, modulus) if rng.random() < 0.2 else ())))
        return [modulus, size], modulus * (modulus - 1), size * (modulus - 1)
    order = rng.choice((2, 2, 3, 5, 7, *((1, 4, 6, 9, 0) if rng.random() < 0.2 else ())))
    dimension = rng.choice((2, 3, 4, 5, 6, *((1, 0, 24, 25, 62, 63) if rng.random() < 0.2 else ())))
    points = [sum(order**place for place in range(digits)) for digits in (dimension, max(dimension - 1, 0))]
    return [order, dimension], points[0], points[1]


# --- score tables, and passports of quantiles ---------------------------------------------------------------


def score_table(rng: random.Random) -> tuple[list[int], int, list[int], int]:
    """A table of any slope, its stride, what the depth adds, and the width."""
    width, stride = rng.choice((1, 2, 3, 7, 40, 5000)), rng.randint(1, 4)
    table, slope = [TOTAL], rng.uniform(0.05, 0.999)
    while len(table) < rng.randint(2, 14):
        table.append(max(1, int(table[-1] * slope) - rng.randrange(3)))
    return table, stride, [rng.randint(0, stride) for _ in range(rng.choice((0, 0, 1, 2, 5)))], width


def at_its_bound(numbers: tuple[list[int], int, list[int], int], rng: random.Random) -> Fraction:
    """An epsilon at the largest bound of a score table, the sampler's index included, or a hair beside it."""
    outputs = numbers[-1] + 1
    worst = max(Fraction(high, low) for high, low in ratio_bounds(*numbers))
    return logarithm(worst * Fraction(TOTAL + outputs, TOTAL - outputs), rng)


def quantile_passports(number: int, seed: int) -> Iterator[Json]:
    """Score tables and matrices of quantiles at the boundary, and quantiles that are none."""
    rng = random.Random(seed)
    for _ in range(number):
        table, stride, deeper, width = numbers = score_table(rng)
        epsilon = at_its_bound(numbers, rng)
        table[-1] += rng.choice((0, 0, 0, 1, -1)) if table[-1] > 1 else 0
        law: Json = {"scores": {"table": _line(table), "stride": str(stride), "deeper": _line(deeper)}}
        if width < 40 and rng.random() < 0.3:
            query, epsilon = ib.extreme(0, width), Fraction(rng.choice(EPSILONS))
            law = matrix_json(nudged(at_the_boundary(query, epsilon, rng), rng))
        yield wrap(MECHANISM, {**_quantile(width, rng), "epsilon": str(epsilon), "law": law, **_ORIGIN})


def sided_passports(number: int, seed: int) -> Iterator[Json]:
    """Sided score tables at their bound or a hair beside it, levels that are none, and quantiles they are not for."""
    rng = random.Random(seed)
    for _ in range(number):
        table, *_, width = score_table(rng)
        below, above = ((rng.randint(1, 6), rng.randint(1, 5), rng.choice((0, 0, 1, 5)), 0) for _ in range(2))
        deeper = rng.randint(0, min(below[1], above[1]))
        worst = Fraction(max(sided_ratio_bounds(table, below, above, deeper)), TOTAL * TOTAL)
        epsilon = logarithm(worst * Fraction(TOTAL + width + 1, TOTAL - width - 1), rng)
        deeper += rng.random() < 0.1
        first = (rng.choice((0, 1)), *below[1:3]) if rng.random() < 0.1 else below[:3]
        near = rng.choice(([], [], [0], [above[0]], [rng.randint(-1, 7)], [0, 0]))
        sides = {"below": _line([*first]), "above": _line([*above[:3], *near]), "deeper": str(deeper)}
        asked = _quantile(width, rng)
        if rng.random() < 0.8:
            asked["query"].update(public=True, records="1")
        law = {"sides": {"table": _line(table), **sides}}
        yield wrap(MECHANISM, {**asked, "epsilon": str(epsilon), "law": law, **_ORIGIN})


def answer_passports(number: int, seed: int) -> Iterator[Json]:
    """Matrices over one record at the boundary and one unit beyond it, at the rank of the quantile or another."""
    rng = random.Random(seed)
    for _ in range(number):
        width, epsilon = rng.randint(1, 4), Fraction(rng.choice(EPSILONS[:6]))
        weights = at_the_boundary(ib.extreme(0, width), epsilon, rng)
        if rng.random() < 0.3:
            weights = nudged(weights, rng)
        asked = _quantile(width, rng)
        query = asked["query"]
        rank = max(1, math.ceil(Fraction(query["at"]) * int(query["size"])))
        first = rng.choice((rank, rank, rank, 1, int(query["size"]), int(query["size"]) + 1, 0))
        law = {"central": {"first": str(first), "length": "1", "matrix": [_line(row) for row in weights]}}
        yield wrap(MECHANISM, {**asked, "epsilon": str(epsilon), "law": law, **_ORIGIN})


def central_passports(number: int, seed: int) -> Iterator[Json]:
    """Matrices over several records, a row at the boundary or one unit beyond it, and windows that cannot be."""
    rng = random.Random(seed)
    for _ in range(number):
        width, length, epsilon = rng.randint(1, 3), rng.randint(2, 4), Fraction(rng.choice(EPSILONS[:6]))
        p, steps = ratio_lower_bound(epsilon, Fraction(1)), [rng.randrange(1, 2**20)]
        for _ in range(length):
            steps.append(min(p * steps[-1] >> EXP_BITS, TOTAL // 4))
        edge = rng.randint(0, width)
        row = [steps[sum(records[edge:])] for records in _histograms(length, width)]
        weights = [row, *share_rest(row, width + 1)]
        if rng.random() < 0.5:
            weights = nudged(weights, rng)
        if rng.random() < 0.05:
            weights = [line[:-1] for line in weights]
        asked = _quantile(width, rng)
        if rng.random() < 0.9:
            asked["query"].update(public=True, records="1")
        size = int(asked["query"]["size"])
        first = rng.choice((1, 1, 2, size - length + 1, size - length + (2 if rng.random() < 0.2 else 1), 0))
        central = {"first": str(first), "length": str(length), "matrix": [_line(row) for row in weights]}
        yield wrap(MECHANISM, {**asked, "epsilon": str(epsilon), "law": {"central": central}, **_ORIGIN})


def joint_passports(number: int, seed: int) -> Iterator[Json]:
    """Joint laws at the boundary and a hair beside it, at limits of what can be drawn, and quantiles that are none."""
    rng = random.Random(seed)
    for _ in range(number):
        width, epsilon = rng.choice((1, 2, 7, 100)), Fraction(rng.choice((*EPSILONS[:6], "1/100000000")))
        asked = _quantile(width, rng)
        query = asked["query"]
        size = int(query["size"])
        count = rng.choice((2, 3, 3, 5, 19, 24, 25, *((1, 101) if rng.random() < 0.1 else ())))
        shares = sorted(Fraction(rng.randint(0, 200), 200) for _ in range(count))
        if rng.random() < 0.95:
            shares = sorted({*shares})
        query |= {"kind": "quantiles", "at": " ".join(map(str, shares))}
        if rng.random() < 0.9:
            query["public"] = True
        if rng.random() < 0.3:  # beside the most records, or the most quantiles of so many records
            ranks = len({max(1, math.ceil(share * size)) for share in shares})
            query["size"] = str((1 << 20) // (ranks + 1) ** 2 - 65 - width + rng.choice((-1, 0, 1)))
        p = ratio_lower_bound(epsilon, Fraction(1, max(1, int(query["records"]))))
        power = -(-((TOTAL**4 * (2**28 + 1)) << EXP_BITS) // (p * (2**28 - 1)))
        weight = math.isqrt(math.isqrt(power - 1)) + 1 + rng.choice((0, 0, 0, -1, 1))
        spacing = [rng.choice((1, 9, (1 << 24) - 1)) for _ in range(width + 1)]
        if rng.random() < 0.1:
            spacing[0] = rng.choice((0, 1 << 24))
        law = {"joint": {"weight": str(weight), "spacing": _line(spacing)}}
        yield wrap(MECHANISM, {**asked, "epsilon": str(epsilon), "law": law, **_ORIGIN})


def joint_sizes_passports(number: int, seed: int) -> Iterator[Json]:
    """Joint laws over sizes at the boundary and a hair beside it, and at limits of what can be drawn."""
    rng = random.Random(seed)
    for _ in range(number):
        width, epsilon = rng.choice((1, 2, 7, 60)), Fraction(rng.choice(EPSILONS[:6]))
        asked = _quantile(width, rng)
        shares = sorted({Fraction(rng.randint(0, 200), 200) for _ in range(rng.choice((2, 3, 5, 9, 19)))})
        sizes = sorted({rng.randint(0, 60) for _ in range(rng.choice((1, 2, 9, 40)))})
        floor = rng.choice((0, 9, 40, 900 - len(shares) * (24 + 2 * (width + 1).bit_length()) + rng.choice((0, 1))))
        asked["query"] |= {"kind": "quantiles", "at": " ".join(map(str, shares))}
        asked["query"]["public"] = rng.random() < 0.1
        p = ratio_lower_bound(epsilon, Fraction(1, max(1, int(asked["query"]["records"]))))
        square = -(-((TOTAL**2 * (2**28 + 1)) << EXP_BITS) // (p * (2**28 - 1)))
        weight = math.isqrt(square - 1) + 1 + rng.choice((0, 0, 0, -1, 1))
        if 0 < weight < TOTAL and rng.random() < 0.4:  # beside the most records of the largest size
            beyond = -(-25 * (max(0, floor) + 40 + len(sizes).bit_length()) * TOTAL // (36 * (TOTAL - weight)))
            steps = (1 << 20) // (len(shares) + 1) ** 2 - len(sizes) - 64
            sizes[-1] = max(sizes[-1], min(steps, (1 << 24) // ((width + 1) * len(sizes))) - beyond - width - 1)
            sizes[-1] += rng.choice((0, 1))
        spacing = [rng.choice((1, 9, (1 << 24) - 1)) for _ in range(width + 1)]
        law = {"weight": str(weight), "spacing": _line(spacing), "sizes": _line(sizes), "floor": str(floor)}
        yield wrap(MECHANISM, {**asked, "epsilon": str(epsilon), "law": {"joint_sizes": law}, **_ORIGIN})


def counts_passports(number: int, seed: int) -> Iterator[Json]:
    """Noisy counts at the boundary and a hair beside it, and tables that are no noise."""
    rng = random.Random(seed)
    for _ in range(number):
        epsilon, asked = Fraction(rng.choice(EPSILONS[:6])), _quantile(rng.choice((1, 2, 7)), rng)
        shares = sorted({Fraction(rng.randint(0, 200), 200) for _ in range(rng.choice((3, 5, 9)))})
        asked["query"] |= {"kind": "quantiles", "at": " ".join(map(str, shares)), "public": rng.random() < 0.5}
        moves = max(1, int(asked["query"]["records"])) * (2 if asked["query"]["public"] else 1)
        p = ratio_lower_bound(epsilon, Fraction(1, moves))
        half = rng.choice((1, 2, 3, 9))
        table = [rng.choice((1, 10**6, 1 << 40))]
        while len(table) <= half and table[-1] << 4 < TOTAL >> 8:  # as steep as it may be, from the far end
            table.append(max(table[-1], p * table[-1] >> EXP_BITS))
        around = [*table[::-1], *table[1:-1]] if len(table) > 1 else [*table, *table]
        shift = (TOTAL - sum(around)) // len(around)
        around = [one + shift for one in around]
        around[0] += TOTAL - sum(around) + rng.choice((0, 0, 0, 0, 1))
        if rng.random() < 0.4:  # two weights whose ratio is the largest, or one unit more
            low = TOTAL * (1 << EXP_BITS) // (p + (1 << EXP_BITS)) + rng.choice((0, 1, 2))
            around = [TOTAL - low, low]
        asked["law"] = {"counts": {"table": _line(around)}}
        yield wrap(MECHANISM, {**asked, "epsilon": str(epsilon), **_ORIGIN})


def _histograms(length: int, width: int) -> list[tuple[int, ...]]:
    """All histograms of so many records on 0..width, in lexicographic order."""
    every = product(range(length + 1), repeat=width + 1)
    return [records for records in every if sum(records) == length]


_ORIGIN = {"origin": {"name": "by hand", "parameters": {}, "reference": ""}}


def _line(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def _quantile(width: int, rng: random.Random) -> Json:
    """A quantile's facts; now and then one that cannot be."""
    size = rng.choice((1, 5, 2**40, 2**40, 2**40 + 1, 0)) if rng.random() < 0.1 else 20
    facts = {"size": str(size), "missing": str(rng.choice((0, width, 0, width + (rng.random() < 0.1))))}
    shares = ("0", "1/2", "1", "3/4", "1/1000000", "2/2000000", "1/1000001", "5/4", "-1/2")
    at, records = rng.choice(shares[: rng.choice((4, 4, 9))]), rng.choice(("1", "1", "3", "0"))
    values = {"start": "0", "unit": "1", "size": width + 1}
    return {
        "query": {
            "kind": "quantile",
            "values": values,
            "at": at,
            "public": rng.random() < 0.5,
            "records": records,
            **facts,
        }
    }


# --- hostile files ----------------------------------------------------------------------------------------


def hostile_texts(number: int, seed: int) -> Iterator[bytes]:
    """Honest passports with lies in them, signed again or not, torn or nested; and passports of all kinds."""
    rng = random.Random(seed)
    plain = [sealed(query, Fraction(1), matrix_json(at_the_boundary(query, Fraction(1), rng))) for query in queries()]
    bases: list[tuple[str, Any, dict[str, Any]]]
    bases = [("passport", passports.to_passport(made).to_json(), {}) for made in _small_honest()]
    bases += [("passport", content, {}) for content in plain]
    for _ in range(number):
        yield json_file(rng.choice(bases), rng).content


def _small_honest() -> list[Mechanism]:
    return [made for made in honest_mechanisms() if made.query.shape[1] < 10**5]


@cache
def honest_passports() -> tuple[Json, ...]:
    """Passports as they are written, of every kind of question that all checkers judge; the first was designed."""
    optimal = ib.optimal(ib.count(6), "1/2", properties=["fair"])
    noise = [make_geometric_noise(query, Fraction(1)) for query in (ib.count(300), ib.mean(3, 0, 2))]
    coarse = Noise(noise[1].core, noise[1].floor, noise[1].end, noise[1].size, np.array([0, 0, 0, 0, 1, 1, 1]))
    laws = ((ib.count(300), noise[0]), (ib.mean(3, 0, 2), noise[1]), (ib.mean(3, 0, 2, outputs=2), coarse))
    made = [optimal, *(ib.catalog.exponential(query, "1/3") for query in queries())]
    made += [Mechanism(query, Fraction(1), law, Origin("noise")) for query, law in laws]
    return tuple(passports.to_passport(one).to_json() for one in made)


@cache
def honest_quantiles() -> tuple[Json, ...]:
    """Passports of quantiles as they are written: narrow, of persons, wide, at an extreme, and of every law."""
    persons = ib.quantile("1/10", -1, 4, maximum=9, step="1/2", missing=1, records=3)
    small = ib.median(0, 2, size=5)
    blind = CentralRecords.from_answers(small, ib.catalog.exponential(small.as_range_query, 1).weights)
    made: list[AnyMechanism] = [
        ib.design_permute_flip(ib.median(1, 5, size=25), 1), ib.design_permute_flip(persons, "1/2"),
        ib.design_permute_flip(ib.median(0, 5000, maximum=4), 2), ib.design_sided(ib.quantile(1, 0, 100, size=30), 1),
        ib.design_central(small, 1), ib.design_joint(ib.quantiles([0, "1/3", 1], 0, 8, size=25, records=2), 1),
        ib.design_joint(ib.quantiles([0, "1/3", 1], 0, 8, maximum=25, records=2), 1),
        Mechanism(small, Fraction(1), blind, Origin("oblivious")),
    ]  # fmt: skip
    return tuple(passports.to_passport(one).to_json() for one in made)


def beyond_other_checkers() -> Iterator[Json]:
    """A law that no checker but Python's may have a rule for, of an answer, of a quantile and of several."""
    one: AnyMechanism = ib.design_permute_flip(ib.median(0, 3, size=9), 1)
    several: AnyMechanism = ib.design_joint(ib.quantiles([0, 1], 0, 3, size=9), 1)
    for made in (ib.catalog.uniform(ib.count(3), 1), one, several):
        yield wrap(MECHANISM, {**passports.to_passport(made).content, "law": {"unheard of": {"weight": "1"}}})


def written(folder: Path, contents: Iterator[Any]) -> list[Path]:
    """The contents in files of their own."""
    made = []
    for number, content in enumerate(contents):
        file = folder / f"{number}.json"
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        made.append(file)
    return made


def weights_of(content: Json) -> Ints:
    return np.array(
        [[int(word) for word in row.split()] for row in content["content"]["law"]["matrix"]], dtype=np.int64
    )

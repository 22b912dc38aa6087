"""The mechanisms whose probabilities are frozen: 200 names, and how each is made."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference import package as p

Make = Callable[[], Any]

# --- the catalog ------------------------------------------------------------------------------------------

NUMERIC = {
    "count 7": lambda: p.count(7),
    "count 12 in 5 cells": lambda: p.count(12, outputs=5),
    "mean of 3 in 1..4": lambda: p.mean(3, 1, 4),
    "total of 4 in -1..1": lambda: p.total(4, -1, 1),
    "extreme 1..6": lambda: p.extreme(1, 6),
    "interval 0..10": lambda: p.interval(0, 10, 2, 10),
    "interval with a hole": lambda: p.interval(0, 6, 2, 6, holes=[(1, 3)]),
    "ordinal 0..8 by 2": lambda: p.ordinal(0, 8, unit=2),
}
GRAPHS = {
    "map 4 x 5": lambda: p.grid(4, 5),
    "map 5 x 4 by streets": lambda: p.grid(5, 4, metric="manhattan", step="1/2"),
    "tree": lambda: p.tree({"Paris": "France", "Lyon": "France", "France": ("Europe", 2), "Rome": "Europe"}),
    "pair of counts": lambda: p.pair_of_counts(3, 4),
    "exclusive counts": lambda: p.pair_of_counts(3, 3, exclusive=True),
    "histogram of 4 in 3": lambda: p.histogram_of(4, 3),
    "graph": lambda: p.graph(["home", "work", "gym"], [("home", "work", 2), ("work", "gym")]),
    "one-way graph": lambda: p.graph(["a", "b", "c"], [("a", "b")], one_way=[("b", "c", "1/2"), ("c", "a")]),
    "places": lambda: p.graph([(0, 0), (0, 3), (4, 0)], [((0, 0), (0, 3), 3), ((0, 0), (4, 0), 4)]),
}
EVERYWHERE = ("exponential", "randomized_response", "uniform")
ON_CELLS = ("truncated_geometric", "snapped_laplace", "normalized_laplace", "exponential")
ONE_BY_ONE = ("folded_geometric", "explicit_fair", "snapped_staircase", "randomized_response", "uniform")
DESIGNED = ("variant_1", "variant_2", "weakly_honest")
EPSILONS = ("1/2", "1", "2", "0.3", "5")


def _catalog() -> dict[str, Make]:
    found: dict[str, Make] = {}

    def add(name: str, query: str, make: Callable[[], Any], epsilon: str = "", **more: Any) -> None:
        at = epsilon or EPSILONS[len(found) % len(EPSILONS)]
        words = "".join(f", {key} {value}" for key, value in more.items())
        found[f"{name}, {query}, {at}{words}"] = lambda: p.catalog(name, make(), at, **more)

    for query, make in NUMERIC.items():
        for name in ON_CELLS:
            add(name, query, make)
    for query in ("count 7", "mean of 3 in 1..4", "extreme 1..6", "total of 4 in -1..1"):
        for name in ONE_BY_ONE:
            add(name, query, NUMERIC[query])
    for query in ("count 7", "mean of 3 in 1..4", "extreme 1..6"):
        for name in DESIGNED:
            add(name, query, NUMERIC[query])
    for query, make in GRAPHS.items():
        add("metric_geometric", query, make)
    for query in ("map 4 x 5", "tree", "one-way graph"):
        for name in EVERYWHERE:
            add(name, query, GRAPHS[query])
    add("planar_laplace", "map 4 x 5", GRAPHS["map 4 x 5"], "1")
    add("planar_laplace", "map 3 x 6 by 1/2", lambda: p.grid(3, 6, step="1/2"), "2")
    for name in EVERYWHERE:
        add(name, "labels", lambda: p.category(["a", "b", "c", "d"]))
    add("prerounded_geometric", "count 12", lambda: p.count(12), "1", edges=[0, 4, 8, 12])
    add("prerounded_geometric", "total", NUMERIC["total of 4 in -1..1"], "1/2", edges=[-4, 0, 4], values=[-2, 1])
    add("normalized_laplace", "count 7", NUMERIC["count 7"], "1", notion="metric")
    for side in ("above", "below", "both"):
        add("normalized_laplace", "interval with a hole", NUMERIC["interval with a hole"], "1", unbounded=side)
    add("snapped_staircase", "interval 0..10", NUMERIC["interval 0..10"], "1", gamma="1/3")
    add("weakly_honest", "count 7", NUMERIC["count 7"], "1", column_monotone=False)
    add("scaled_laplace", "count 7", NUMERIC["count 7"], "1", scales=[2.0] * 8)
    add("threshold", "count 7", NUMERIC["count 7"], "1", delta="1/1000")
    found["snapped_noise, extreme 1..6, 1, Cauchy"] = lambda: p.catalog(
        "snapped_noise", p.extreme(1, 6), "1", cdf=lambda x: 0.5 + np.arctan(x / 10) / np.pi
    )
    return found


def _wide() -> dict[str, Make]:
    """Laws that are kept without a matrix: noise tables, randomized response, noise on maps."""
    return {
        "wide count": lambda: p.catalog("truncated_geometric", p.count(10**6), "1/10"),
        "wide mean": lambda: p.catalog("truncated_geometric", p.mean(1000, 0, 20), "1/2"),
        "wide total": lambda: p.catalog("truncated_geometric", p.total(5000, -3, 4), 1),
        "wide ordinal": lambda: p.catalog("truncated_geometric", p.ordinal(0, 50_000, unit=10), 1),
        "wide optimal count": lambda: p.optimal(p.count(9000), "1/2", "squared"),
        "wide optimal count, prior": lambda: p.optimal(
            p.count(6000), "1/2", prior=p.priors.normal(p.count(6000), 900, 40)
        ),
        "wide labels": lambda: p.catalog("randomized_response", p.category(10**6), 3),
        "wide labels, optimal": lambda: p.optimal(p.category(10_000), 2, "zero-one"),
        "wide map": lambda: p.catalog("metric_geometric", p.grid(70, 70, metric="manhattan"), 1),
        "wide map, optimal": lambda: p.optimal(p.grid(65, 65, metric="manhattan"), 1, "distance"),
        "wide map, planar": lambda: p.catalog("planar_laplace", p.grid(66, 66, stretch="1.1"), 1),
    }


# --- optimal designs --------------------------------------------------------------------------------------

LEANING = [1, 2, 4, 5, 4, 2, 1, 1]
ODD_TABLE = [[abs(i - j) + (0.5 if i > j else 0.0) for j in range(6)] for i in range(6)]


def _optimal() -> dict[str, Make]:
    count, mean, extreme = (NUMERIC[name] for name in ("count 7", "mean of 3 in 1..4", "extreme 1..6"))
    losses = {
        "absolute": "absolute",
        "squared": "squared",
        "zero-one": "zero-one",
        "off by more than 1": p.off_by_more_than(1),
        "power 1.5": p.power("1.5"),
    }
    found: dict[str, Make] = {}

    def add(name: str, make: Callable[[], Any], epsilon: Any, *words: Any, **more: Any) -> None:
        found[f"optimal, {name}"] = lambda: p.optimal(make(), epsilon, *words, **more)

    for name, loss in losses.items():
        add(f"count 7, {name}", count, "1/2", loss)
        add(f"count 7, {name}, worst", count, 1, loss, aim="worst")
        add(f"mean, {name}", mean, 1, loss)
        add(f"extreme, {name}", extreme, 2, loss)
    for epsilon in ("1/20", "4", "12"):
        add(f"count 30 at {epsilon}", lambda: p.count(30), epsilon)
    add("alpha 1/3", count, p.alpha("1/3"))
    add("count 7, prior", count, "1/2", "absolute", LEANING)
    add("count 7, prior, squared", count, "1/2", "squared", LEANING)
    add("count 7, binomial prior", count, 1, "zero-one", p.priors.binomial(p.count(7), "0.3"))
    add("mean, beta prior", mean, 1, "absolute", p.priors.beta(p.mean(3, 1, 4), 2, 3))
    add("extreme, normal prior", extreme, 1, "squared", p.priors.normal(p.extreme(1, 6), 2, 1))
    add("extreme, empirical prior", extreme, 1, "absolute", p.priors.empirical(p.extreme(1, 6), [1, 2, 2, 6], 1))
    for each in (
        "row_honest",
        "row_monotone",
        "column_honest",
        "column_monotone",
        "fair",
        "weakly_honest",
        "symmetric",
    ):
        add(f"count 6, {each}", lambda: p.count(6), "1/2", "zero-one", properties=[each])
    add("count 7, fair, absolute", count, 1, properties=["fair"])
    add("count 6, all monotone", lambda: p.count(6), 1, properties=["row_monotone", "column_monotone"])
    add("count 5, ratio of columns", lambda: p.count(5), 1, properties=[p.ratio_of_columns(2)])
    add("extreme, fair, worst", extreme, 1, "absolute", None, ["fair"], "worst")
    add("mean, weakly honest", mean, 1, "squared", None, ["weakly_honest"])
    add("count 6, within a limit", lambda: p.count(6), 1, subject_to=p.at_most(p.off_by_more_than(2), "0.2"))
    add("count 6, limit on average", lambda: p.count(6), 1, subject_to=p.at_most("squared", 4, aim="average"))
    add("count 6, fixed point", lambda: p.count(6), 1, subject_to=p.fixed_point([1, 2, 3, 4, 3, 2, 1]))
    add("count 6, then squared", lambda: p.count(6), 1, "zero-one", then=["squared"])
    add("extreme, table", extreme, 1, np.array(ODD_TABLE))
    add("extreme, function", extreme, 1, lambda reported, true: abs(reported - true) ** 2 / true)
    add("count in 5 cells", NUMERIC["count 12 in 5 cells"], 1)
    add("interval with a hole", NUMERIC["interval with a hole"], 1)
    add("ordinal", NUMERIC["ordinal 0..8 by 2"], 1)
    add("count under metric privacy", lambda: p.metric(p.count(7), 1), "1/2", "squared")
    add("count of everyone", lambda: p.everyone(p.count(7)), 1)
    add("labels", lambda: p.category(["a", "b", "c", "d"]), 1, "zero-one")
    add("labels, prior", lambda: p.category(["a", "b", "c", "d"]), "1/2", "zero-one", [1, 2, 3, 6])
    for name in ("map 4 x 5", "map 5 x 4 by streets", "tree", "pair of counts", "histogram of 4 in 3", "graph"):
        add(f"{name}, distance", GRAPHS[name], 1, "distance")
        add(f"{name}, zero-one", GRAPHS[name], "1/2", "zero-one")
    add("map 4 x 5, euclidean", GRAPHS["map 4 x 5"], 1, "euclidean")
    add("tree, prior", GRAPHS["tree"], 1, "distance", [1, 2, 3, 4, 5])
    add("map 3 x 3, fair", lambda: p.grid(3, 3), 1, "zero-one", properties=["fair"])
    add("map 8 x 8", lambda: p.grid(8, 8, metric="manhattan"), 1, "distance")
    add("mean of 8 in 1..5", lambda: p.mean(8, 1, 5), 1)
    add("mean of 5, row monotone", lambda: p.mean(5, 1, 4), 1, properties=["row_monotone"])
    add("total, fair and symmetric", lambda: p.total(6, 0, 3), "1/2", properties=["fair", "symmetric"])
    add("count 40, weakly honest", lambda: p.count(40), "1/2", properties=["weakly_honest", "column_monotone"])
    add("one-way graph", GRAPHS["one-way graph"], 1, "zero-one")
    return found


def _others() -> dict[str, Make]:
    """Matrices of one's own, remapped reports, levels, smooth sensitivity."""
    geometric = lambda: p.catalog("truncated_geometric", p.count(6), 1)  # noqa: E731
    near = np.full((5, 5), 0.15) + np.eye(5) * 0.25
    return {
        "certified matrix": lambda: p.certify(near, p.count(4), 1),
        "certified matrix, everyone": lambda: p.certify(near, p.everyone(p.count(4)), 1),
        "best guesses": lambda: p.followed_by_best_guess(geometric()),
        "best guesses, prior": lambda: p.followed_by_best_guess(geometric(), [5, 4, 3, 2, 1, 1, 1]),
        "levels of a count": lambda: p.multilevel(p.count(8), [1, "1/2", "1/4"]),
        "levels of an extreme": lambda: p.multilevel(p.extreme(1, 4), [2, 1]),
        "smooth median": lambda: p.smooth(0, 3, 1, "0.3"),
    }


def _local() -> dict[str, Make]:
    """Laws that people randomize their own labels by."""
    few, some, many = (lambda: p.category(6)), (lambda: p.category(30)), (lambda: p.category(1000))
    found: dict[str, Make] = {}
    for law in (p.subset_selection, p.hadamard_response, p.projective_response):
        for size, make in (("6", few), ("30", some), ("1000", many)):
            epsilon = {"6": "1/2", "30": 1, "1000": 3}[size]
            found[f"{law.__name__}, {size} labels"] = lambda law=law, make=make, epsilon=epsilon: law(make(), epsilon)
    for epsilon in ("1/4", 1, 4):
        found[f"best for 20 labels at {epsilon}"] = lambda at=epsilon: p.label_mechanism(p.category(20), at)
    return found


MECHANISMS: dict[str, Make] = {**_catalog(), **_wide(), **_optimal(), **_others(), **_local()}

VALUES_ONLY: frozenset[str] = frozenset()
"""Designs whose integers are not reproducible; their value is."""


# --- quantiles: in a file of their own, since their design will change --------------------------------------


def _quantiles() -> dict[str, Make]:
    median, top = (lambda: p.median(1, 5, size=25)), (lambda: p.quantile("9/10", 0, 40, size=30))
    persons = lambda: p.quantile("1/10", -1, 4, maximum=9, step="1/2", missing=1, records=3)  # noqa: E731
    wide = lambda: p.median(0, 2000, size=50)  # noqa: E731
    small = lambda: p.median(0, 2, size=5)  # noqa: E731
    leaning = [5, 4, 3, 2, 1]
    return {
        "score table, median": lambda: p.score_table(median(), 1),
        "score table, persons": lambda: p.score_table(persons(), "1/2"),
        "score table, wide": lambda: p.score_table(wide(), 2),
        "sided, median": lambda: p.sided_table(median(), 1),
        "sided, upper tenth": lambda: p.sided_table(top(), 1),
        "sided, maximum": lambda: p.sided_table(p.quantile(1, 0, 40, size=30), "1/2"),
        "sided, minimum of 12": lambda: p.sided_table(p.quantile(0, 0, 9, size=12), 2),
        "central, median": lambda: p.central_records(small(), 1, length=3),
        "central, prior": lambda: p.central_records(p.median(1, 5, size=9), 1, prior=leaning, length=3),
        "oblivious, median": lambda: p.oblivious(small(), 1),
        "chosen, median": lambda: p.chosen_quantile(median(), 1),
        "chosen, median, prior": lambda: p.chosen_quantile(median(), 1, leaning),
        "chosen, small": lambda: p.chosen_quantile(small(), "1/2"),
        "chosen, upper tenth": lambda: p.chosen_quantile(top(), 1),
        "chosen, upper tenth at 4": lambda: p.chosen_quantile(top(), 4),
        "chosen, wide": lambda: p.chosen_quantile(wide(), 1),
        "chosen, persons": lambda: p.chosen_quantile(persons(), 1),
        "chosen, large": lambda: p.chosen_quantile(p.median(17, 90, size=740), "1/2"),
        "chosen, at most 20": lambda: p.chosen_quantile(p.median(0, 20, maximum=20), 2),
    }


QUANTILES: dict[str, Make] = _quantiles()

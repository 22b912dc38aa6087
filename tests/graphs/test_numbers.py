"""Numbers whose neighbours are declared as pairs: designs against an independent program, the catalog, files and words.

The program here is the textbook's, over all cells, written from the definitions of privacy and of the properties (003,
section IV-A), and solved by scipy; it shares nothing with the designer.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

import inbounds as ib
from graphs.cases import keeps_all_pairs
from inbounds.catalog.registry import families
from inbounds.evaluate.compare import applicable_entries
from inbounds.mechanism.adapters import privacy_map
from inbounds.report.wording import format_guarantee
from inbounds.trusted.bounds import EXP_BITS, ratio_lower_bound
from inbounds.trusted.certify import check_edges
from raising import rejects

LINE = [(j, j + 1) for j in range(5)]
SHORTCUT = [*LINE, (3, 5)]
QUERIES = {
    "a line and 3–5": ib.ordinal(0, 5, neighbours=SHORTCUT),
    "a circle": ib.ordinal(0, 5, neighbours=[*LINE, (0, 5)]),
    "a star": ib.count(4, neighbours=[(2, j) for j in (0, 1, 3, 4)]),
    "two parts": ib.extreme(1, 6, neighbours=[(1, 2), (2, 3), (4, 5), (5, 6)]),
    "lengths": ib.ordinal(0, 4, neighbours=[(0, 1, "1/2"), (1, 2), (2, 3, 2), (3, 4, "3/4"), (0, 4, 3)]),
    "a mean that moves by one or two": ib.mean(5, 0, 1, neighbours=[
        *((f"{j}/5", f"{j + 1}/5") for j in range(5)), *((f"{j}/5", f"{j + 2}/5", "3/2") for j in range(4)),
    ]),
    "one way": ib.graph([0, 1, 2, 3], [(0, 1), (1, 2), (2, 3)], one_way=[(0, 3, 2)]),
    "gaps": ib.graph([0, 1, 4, 10], [(0, 1), (1, 4), (4, 10), (0, 10, 2)]),
}  # fmt: skip
PROPERTY_SETS = [
    (),
    ("row_monotone", "column_monotone"),
    ("row_honest", "column_honest"),
    ("fair",),
    ("symmetric",),
    ("fair", "row_monotone", "column_monotone", "symmetric"),
    ("weakly_honest", "row_monotone"),
]
LOSSES = {
    "absolute": lambda r, t: abs(r - t),
    "squared": lambda r, t: (r - t) ** 2,
    "zero-one": lambda r, t: float(r != t),
    ib.threshold_loss(1): lambda r, t: float(abs(r - t) > 1),
}


def textbook_program(query, epsilon, loss, properties=(), prior=None, worst=False, limit=None):
    """The least loss of a private matrix with these properties; limit: (loss, most) for every answer."""
    values = [float(v) for v in query.answers]
    n = len(values)
    cost = np.array([[loss(r, t) for t in values] for r in values])
    prior = np.full(n, 1 / n) if prior is None else np.asarray(prior) / np.sum(prior)
    rows, floor = [], np.zeros((n, n))

    def less(lesser, greater, factor=1.0):
        """P[lesser] <= factor · P[greater]"""
        rows.append({lesser: 1.0, greater: -factor})

    for tail, head, length in query.edges:
        for i in range(n):
            less((i, tail), (i, head), math.exp(epsilon * float(length)))
    for i, j in itertools.product(range(n), repeat=2):
        if "row_monotone" in properties and j != i:
            less((i, j), (i, j + (1 if j < i else -1)))
        if "column_monotone" in properties and j != i:
            less((i, j), (i + (1 if i < j else -1), j))
        if "row_honest" in properties and j != i:
            less((i, j), (i, i))
        if "column_honest" in properties and j != i:
            less((i, j), (j, j))
        if "fair" in properties and j != i:
            less((i, i), (j, j))
        if "symmetric" in properties and (i, j) != (n - 1 - i, n - 1 - j):
            less((i, j), (n - 1 - i, n - 1 - j))
    if "weakly_honest" in properties:
        floor[np.diag_indices(n)] = 1 / n
    top = n * n  # the variable of the worst loss
    most = np.zeros(len(rows))
    entries = [(k, i * n + j, v) for k, row in enumerate(rows) for (i, j), v in row.items()]
    extra = [] if limit is None else [(limit[0], limit[1], False)]
    for bounded, bound, is_top in [*extra, *([(loss, 0.0, True)] if worst else [])]:
        for j, t in enumerate(values):
            entries += [(len(most), i * n + j, bounded(r, t)) for i, r in enumerate(values)]
            entries += [(len(most), top, -1.0)] if is_top else []
            most = np.append(most, bound)
    k, c, v = zip(*entries, strict=True)
    left = coo_array((v, (k, c)), shape=(len(most), top + 1)).tocsr()
    sums = coo_array((np.ones(top), (np.tile(np.arange(n), n), np.arange(top))), shape=(n, top + 1)).tocsr()
    objective = np.append(np.zeros(top) if worst else (cost * prior).ravel(), float(worst))
    bounds = [*((low, None) for low in floor.ravel()), (0, None)]
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solution = linprog(objective, left, most, sums, np.ones(n), bounds, method="highs-ds", options=tight)
    assert solution.status == 0
    return solution.fun


def assert_is_optimum(mechanism, least):
    """The value is that of the program, no bound is above it, and every pair of answers is protected."""
    best = mechanism.optimality
    assert best.value == pytest.approx(least, rel=1e-7, abs=1e-9)
    assert best.bound <= least * (1 + 1e-9) + 1e-12
    assert best.value - best.bound <= 1e-6 * best.value + 1e-9
    assert keeps_all_pairs(mechanism)


def test_monotone_rows_and_columns_on_a_line_with_a_shortcut_lose_what_an_independent_program_says():
    query = ib.ordinal(0, 5, neighbours=SHORTCUT)
    mechanism = ib.optimal(query, 1, properties=["column_monotone", "row_monotone"])
    assert round(mechanism.optimality.value, 4) == 0.7327
    least = textbook_program(query, 1.0, LOSSES["absolute"], ("column_monotone", "row_monotone"))
    assert_is_optimum(mechanism, least)


@pytest.mark.long
@pytest.mark.parametrize("properties", PROPERTY_SETS, ids=" ".join)
@pytest.mark.parametrize("name", QUERIES)
def test_designs_with_any_properties_are_the_optimum_and_have_them(name, properties):
    query, turn = QUERIES[name], [*QUERIES].index(name) + PROPERTY_SETS.index(properties)
    for (loss, cost), epsilon in [*zip(LOSSES.items(), ("0.3", 1, 1, 3), strict=True)][turn % 2 :: 2]:
        mechanism = ib.optimal(query, epsilon, loss, properties=properties)
        assert_is_optimum(mechanism, textbook_program(query, float(epsilon), cost, properties))
        held = mechanism.properties()
        assert all(held[name] for name in properties)


@pytest.mark.parametrize("name", QUERIES)
def test_priors_the_worst_answer_and_limits_are_designed_for(name):
    query, n = QUERIES[name], len(QUERIES[name].answers)
    prior = np.arange(1.0, n + 1)
    properties = ("row_monotone", "fair")
    absolute = LOSSES["absolute"]
    assert_is_optimum(
        ib.optimal(query, 1, prior=prior, properties=properties),
        textbook_program(query, 1.0, absolute, properties, prior),
    )
    for wanted in ((), properties):
        assert_is_optimum(
            ib.optimal(query, 1, aim="worst", properties=wanted),
            textbook_program(query, 1.0, absolute, wanted, worst=True),
        )
    free = ib.optimal(query, 1)
    most = (float(free.worst_loss("zero-one")) + textbook_program(query, 1.0, LOSSES["zero-one"], worst=True)) / 2
    assert_is_optimum(
        ib.optimal(query, 1, subject_to=ib.limit_loss("zero-one", repr(most))),
        textbook_program(query, 1.0, absolute, limit=(LOSSES["zero-one"], most)),
    )


@pytest.mark.parametrize("epsilon", ["1/4", 1, 3])
def test_a_line_declared_as_pairs_has_the_optimum_of_the_line(epsilon):
    """A count and a total, for which other routes are proved."""
    for query in (ib.count(9), ib.total(3, 0, 3)):
        reach = query.neighbours.steps
        pairs = [(j, k) for j in query.answers for k in query.answers if 0 < k - j <= reach]
        declared = ib.with_neighbours(query, pairs)
        for properties in ((), ("row_monotone", "column_monotone"), ("fair", "symmetric")):
            first = ib.optimal(query, epsilon, properties=properties).optimality
            second = ib.optimal(declared, epsilon, properties=properties).optimality
            assert second.value == pytest.approx(first.value, rel=1e-7)


def test_coarser_outputs_are_designed_and_never_lose_less():
    for query in QUERIES.values():
        fine, coarse = ib.optimal(query, 1), ib.optimal(ib.query.with_outputs(query, 3), 1)
        assert coarse.optimality.value >= fine.optimality.bound - 1e-12 or not query.one_output_per_answer
        assert keeps_all_pairs(coarse)
        held = ib.optimal(ib.query.with_outputs(query, 3), 1, properties=["column_monotone", "row_monotone"])
        assert held.properties()["row_monotone"]
        assert held.optimality.value >= coarse.optimality.bound - 1e-12
        assert keeps_all_pairs(held)


# --- the certifier ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("properties", [(), ("row_monotone", "column_monotone")], ids=" ".join)
def test_one_unit_more_is_refused(properties):
    """Somewhere a design is tight to the last unit: one more unit for that report is refused by the certifier."""
    query, epsilon = ib.ordinal(0, 5, neighbours=SHORTCUT), Fraction(1)
    weights = np.array(ib.optimal(query, epsilon, properties=properties).weights)
    p = ratio_lower_bound(epsilon, Fraction(1))
    tight = [
        (i, tail, head)
        for tail, head, _ in query.edges
        for i in range(6)
        if (int(weights[i, tail]) + 1) << EXP_BITS > p * int(weights[i, head])
    ]
    assert {(tail, head) for _, tail, head in tight} & {(3, 5), (5, 3)}
    i, tail, _ = tight[0]
    check_edges(weights, query.edges, epsilon)
    with pytest.raises(ib.PrivacyViolation):
        check_edges(weights, query.edges, epsilon * (1 - Fraction(1, 10**12)))
    other = (i + 1) % 6
    weights[[i, other], tail] += np.array([1, -1])
    with pytest.raises(ib.PrivacyViolation):
        check_edges(weights, query.edges, epsilon)


def test_without_the_declared_pair_the_same_matrix_is_private_and_with_it_refused():
    line, declared = ib.count(5), ib.count(5, neighbours=SHORTCUT)
    mechanism = ib.catalog.truncated_geometric(line, 1)
    with pytest.raises(ib.PrivacyViolation):
        ib.certify(mechanism.matrix, declared, 1)
    assert ib.audit(mechanism.matrix, declared).answers in ((3, 5), (5, 3))


# --- the catalog ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUERIES)
def test_the_catalog_serves_numbers_with_declared_neighbours(name):
    query = QUERIES[name]
    mechanisms, left_out = applicable_entries(query, Fraction(1))
    for mechanism in mechanisms.values():
        assert keeps_all_pairs(mechanism)
        assert mechanism.tight_epsilon() <= 1
    expected = set(families()) | {"metric_geometric"}
    if not query.answers.is_regular:
        expected -= {"folded_geometric", "explicit_fair"}  # answers without gaps
    if not query.answers.is_symmetric:
        expected -= {"variant_2"}
    assert expected <= set(mechanisms), left_out


@pytest.mark.parametrize("name", ["a line and 3–5", "a circle", "a star", "lengths"])
def test_noise_is_as_strong_as_the_pairs_allow(name):
    """The tight epsilon of geometric noise is the epsilon asked for; cells average other noise, but not by much."""
    query = QUERIES[name]
    assert ib.catalog.truncated_geometric(query, 1).tight_epsilon() == pytest.approx(1, rel=1e-12)
    assert ib.catalog.snapped_laplace(query, 1).tight_epsilon() > 0.9
    assert ib.catalog.normalized_laplace(query, 1).tight_epsilon() == pytest.approx(1, rel=1e-6)


def test_a_staircase_pays_for_whole_steps_along_an_edge():
    plain = ib.ordinal(0, 8, neighbours=[(j, j + 1) for j in range(8)])
    longer = ib.ordinal(0, 8, neighbours=[(j, j + 1, "3/2") for j in range(8)])
    shorter = ib.ordinal(0, 8, neighbours=[(j, j + 1, "1/2") for j in range(8)])
    make = ib.catalog.snapped_staircase
    assert make(plain, 1).tight_epsilon() == pytest.approx(1)
    assert np.allclose(make(longer, 1).matrix, make(plain, 1).matrix)
    assert np.allclose(make(shorter, 1).matrix, make(plain, "1/2").matrix)


def test_pre_rounded_noise_needs_cells_that_no_pair_skips():
    query = ib.ordinal(0, 5, neighbours=SHORTCUT)
    assert keeps_all_pairs(ib.catalog.prerounded_geometric(query, 1, [-1, 2, 6]))
    with rejects(ValueError, "cells", about="apart"):
        ib.catalog.prerounded_geometric(query, 1, [-1, 4, 5, 6])
    longer = ib.ordinal(0, 5, neighbours=[*LINE, (3, 5, 2)])
    assert keeps_all_pairs(ib.catalog.prerounded_geometric(longer, 1, [-1, 4, 5, 6]))


def test_numbers_too_many_for_a_matrix_are_refused_in_words():
    query = ib.ordinal(0, 9999, neighbours=[(j, j + 1) for j in range(9999)])
    with pytest.raises(ib.TooLarge):
        ib.optimal(query, 1)
    with rejects(ValueError, about="noise"):
        ib.catalog.truncated_geometric(query, 1)


# --- what else is said of them ----------------------------------------------------------------------------

MECHANISM = ib.optimal(ib.ordinal(0, 5, neighbours=SHORTCUT), 1, properties=["row_monotone", "column_monotone"])


def test_a_passport_holds_the_pairs_and_no_labels(tmp_path):
    MECHANISM.save(tmp_path / "m.json")
    loaded = ib.load(tmp_path / "m.json")
    assert loaded == MECHANISM
    assert loaded.query == MECHANISM.query
    assert ib.verify(tmp_path / "m.json")


def test_the_promise_names_the_pairs():
    for text in (format_guarantee(MECHANISM), MECHANISM.query.describe_neighbours()):
        assert "3 and 5" in text
    assert "0 to 5" in MECHANISM.query.describe()
    assert "3 and 5" in MECHANISM._repr_html_()
    many = ib.count(30, neighbours=[(j, j + 1) for j in range(30)])
    assert "24 more" in many.describe_neighbours()
    lengths = ib.optimal(QUERIES["lengths"], 1)
    assert "1 long" in format_guarantee(lengths)


def test_comparisons_and_attacks_measure_them_as_numbers():
    table = ib.compare(MECHANISM.query, 1)
    assert {"absolute", "squared", "zero-one"} <= set(table.columns)
    least = textbook_program(MECHANISM.query, 1.0, LOSSES["absolute"])
    assert table.sort_by("absolute").rows[0].values["absolute"] == pytest.approx(least, rel=1e-9)
    few, many = ib.attack.simulate_collusion(MECHANISM, [1, 9], runs=50)
    assert few.loss["guess"] == pytest.approx(MECHANISM.bayes_loss())
    assert many.loss["guess"] < few.loss["guess"]


def test_composition_looks_at_the_declared_pairs_only():
    line = ib.certify(MECHANISM.matrix, ib.count(5, neighbours=SHORTCUT), 1)
    pairs = MECHANISM.query.neighbours.pairs(MECHANISM.query.answers)
    assert sorted({tuple(sorted(pair)) for pair in pairs}) == sorted(SHORTCUT)
    together = ib.compose([MECHANISM, MECHANISM], same_question=True)
    assert together.basic == 2
    both = np.stack([np.outer(column, column).ravel() for column in MECHANISM.matrix.T])
    deltas = [np.maximum(both[j] - math.exp(1.5) * both[k], 0).sum() for j, k in pairs]
    assert together.delta("1.5") == pytest.approx(max(deltas), rel=1e-6)
    other = ib.catalog.truncated_geometric(ib.count(7), 1)
    assert ib.compose([line, other]).basic == 2
    with rejects(ValueError, "mechanisms", about="privacy"):
        ib.compose([ib.optimal(ib.count(2, neighbours=[(0, 1), (1, 2, "1/2")]), 1), other])


def test_local_privacy_counts_the_distance_along_pairs():
    guarantee = ib.local.local_guarantee(MECHANISM)
    assert guarantee.notion == "epsilon·d"
    assert guarantee.ratio(1) == pytest.approx(math.e)
    assert guarantee.ratio(1) <= guarantee.ratio(2) <= math.exp(2) * (1 + 1e-12)
    plan = ib.local.plan_collection(MECHANISM.query, 4, reports=500, runs=2)
    for option in plan.options:
        mechanism = plan.mechanism(option.mechanism)
        assert list(mechanism.query.answers) == [*range(6)]
        assert mechanism.query.is_ordered
        assert ib.local.local_guarantee(mechanism).worst_ratio() <= math.exp(4) * (1 + 1e-9)
    with rejects(ValueError, "query", about="part"):
        ib.local.plan_collection(QUERIES["two parts"], 1, reports=500, runs=2)


def test_clipping_and_noise_that_need_a_line_are_refused():
    with rejects(ValueError, about="clipped"):
        MECHANISM.sample(9, clip=True)
    with rejects(ValueError, about="line"):
        privacy_map(MECHANISM, 1)

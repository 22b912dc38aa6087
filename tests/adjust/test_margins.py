"""Margins by reports alone, leaves and parents by branches with a prior."""

from functools import reduce

import numpy as np
import pytest

from adjust.enumerated import geometric
from inbounds.adjust.likelihoods import GeometricReports, KnownTotals
from inbounds.adjust.margins import BranchReports, NormalApproximation, adjust_by_branch, remaining_reports
from inbounds.adjust.posterior import posterior
from inbounds.adjust.prior_fit import fit_local_rates
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_adjust import adjust_tree, is_feasible, round_least_squares

UNEVEN = Tree.from_leaves(
    np.array([5, 9, 4, 7, 8, 6, 5]), np.array([0, 0, 1, 1, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 0])
)


def branching(depth, children, size):
    """A tree of so many levels above groups of a size."""
    parents = [np.repeat(np.arange(children**k), children) for k in range(depth - 1, -1, -1)]
    return Tree.from_leaves(np.full(children**depth, size), *parents)


def reported(rng, tree, truth, rates):
    levels = zip(tree.sums(truth), tree.sizes, rates, strict=True)
    return [geometric(rng, x, size, rate) for x, size, rate in levels]


def leaves_below(tree):
    """For every level, nodes × leaves: who is below whom."""
    first = np.eye(len(tree.sizes[0]))
    return [
        reduce(lambda rows, parent: np.array([rows[parent == v].sum(axis=0) for v in np.unique(parent)]), own, first)
        for own in (tree.parents[:level] for level in range(tree.depth))
    ]


def test_what_the_rest_says_is_what_all_other_reports_say_as_a_linear_model():
    rng = np.random.default_rng(1)
    reports = reported(rng, UNEVEN, np.array([2, 4, 1, 7, 0, 3, 5]), [0.5, 0.7, 0.3, 0.9])
    below, above = remaining_reports(UNEVEN, reports)
    rows = leaves_below(UNEVEN)
    for level, nodes in enumerate(rows):
        for node, members in enumerate(nodes):
            inside = [[k < level and bool((members >= other).all()) for other in own] for k, own in enumerate(rows)]
            for found, wanted in ((below[level], True), (above[level], False)):
                kept = [
                    (row, own.unbiased_estimate(sizes)[v], own.variance)
                    for k, (own, sizes) in enumerate(zip(reports, UNEVEN.sizes, strict=True))
                    for v, row in enumerate(rows[k])
                    if inside[k][v] == wanted and (k, v) != (level, node)
                ]
                design = np.array([row for row, _, _ in kept]).reshape(-1, rows[0].shape[1])
                if np.linalg.matrix_rank(np.vstack([design, members])) != np.linalg.matrix_rank(design):
                    assert found.variance[node] > 1e14  # nothing is said
                    continue
                weights = 1 / np.array([variance for _, _, variance in kept])
                inverse = np.linalg.pinv(design.T @ (weights[:, None] * design))
                estimate = inverse @ design.T @ (weights * np.array([y for _, y, _ in kept]))
                assert found.mean[node] == pytest.approx(members @ estimate, abs=1e-6)
                assert found.variance[node] == pytest.approx(members @ inverse @ members, rel=1e-6)


def test_what_is_said_twice_is_as_sure_as_both():
    both = NormalApproximation(np.array([1.0]), np.array([2.0])).combine(
        NormalApproximation(np.array([4.0]), np.array([1.0]))
    )
    assert (both.mean[0], both.variance[0]) == (pytest.approx(3.0), pytest.approx(2 / 3))


def test_readings_at_the_ends_are_right_in_the_mean():
    size, rate = 6, 0.4
    x, y = np.meshgrid(np.arange(size + 1), np.arange(-400, 401), indexing="ij")
    chances = np.exp(-rate * np.abs(y - x)) * np.tanh(rate / 2)
    readings = GeometricReports(np.clip(np.arange(-400, 401), 0, size), rate).unbiased_estimate(np.full(801, size))
    assert chances @ readings == pytest.approx(np.arange(size + 1), abs=1e-9)


def test_a_node_that_can_only_be_empty_is_read_as_empty():
    assert GeometricReports(np.array([0, 0]), 0.4).unbiased_estimate(np.array([0, 3])).tolist()[0] == 0


def test_a_tree_of_one_branch_has_its_exact_leaves_and_parents():
    rng = np.random.default_rng(2)
    tree = branching(2, 4, 9)
    reports = reported(rng, tree, rng.integers(0, 10, 16), [0.6, 0.4, 0.5])
    prior = fit_local_rates(tree, reports)
    for own, exact in zip(adjust_by_branch(tree, reports, prior)[:2], posterior(tree, reports, prior)[:2], strict=True):
        assert (own.low == exact.low).all()
        np.testing.assert_allclose(own.mass, exact.mass, atol=1e-12)


def test_a_margin_is_its_own_report_and_what_the_others_say():
    rng = np.random.default_rng(3)
    reports = reported(rng, UNEVEN, np.array([2, 4, 1, 7, 0, 3, 5]), [0.5, 0.7, 0.3, 0.9])
    below, _ = remaining_reports(UNEVEN, reports)
    top = adjust_by_branch(UNEVEN, reports, fit_local_rates(UNEVEN, reports))[-1]
    x = top.low[0] + np.arange(top.mass.shape[1])
    by_hand = np.exp(-0.9 * np.abs(x - reports[-1].y[0]) - (x - below[-1].mean[0]) ** 2 / (2 * below[-1].variance[0]))
    assert top.mass[0] == pytest.approx(by_hand / by_hand.sum(), abs=1e-12)


def test_a_public_total_stays_what_it_is():
    rng = np.random.default_rng(4)
    tree, truth = branching(3, 3, 8), rng.integers(0, 9, 27)
    reports = [*reported(rng, tree, truth, [0.5] * 4)[:-1], KnownTotals(np.array([truth.sum()]))]
    found = adjust_tree(tree, reports, [1.0] * 4, 0.9)
    assert found.levels[-1].values.tolist() == [truth.sum()] == found.levels[-1].low.tolist()


def test_a_report_with_its_rest_is_their_product():
    own, others = (
        GeometricReports(np.array([3, 5]), 0.5),
        NormalApproximation(np.array([4.0, 1.0]), np.array([2.0, 3.0])),
    )
    low = np.array([0, 2])
    found = BranchReports(own, others).log_likelihood(slice(None), low, 4)
    x = low[:, None] + np.arange(4)
    by_hand = -0.5 * np.abs(x - own.y[:, None]) - (x - others.mean[:, None]) ** 2 / (2 * others.variance[:, None])
    np.testing.assert_allclose(found, by_hand)


@pytest.mark.long
def test_deep_trees_whose_branches_differ_keep_margins_as_good_as_their_reports():
    """A prior of independent parents would be sure of large sums, and wrong: the total was off by 100, not by 15."""
    rng = np.random.default_rng(5)
    tree, ours, squares = branching(6, 3, 12), [], []
    for _ in range(4):
        odds = np.array([-1.5])
        for _ in range(6):
            odds = np.repeat(odds, 3) + rng.normal(0, 0.5, 3 * len(odds))
        truth = rng.binomial(12, 1 / (1 + np.exp(-odds)))
        reports, levels = reported(rng, tree, truth, [0.5 / 7] * 7), tree.sums(truth)
        for errors, found in (
            (ours, adjust_tree(tree, reports, [1.0] * 7, 0.9)),
            (squares, round_least_squares(tree, reports, 0.9)),
        ):
            errors.append([np.abs(own.values - x).mean() for own, x in zip(found.levels, levels, strict=True)])
    ratio = np.mean(ours, axis=0) / np.mean(squares, axis=0)
    assert (ratio[:3] < 0.9).all()
    assert (ratio[3:] < 1.15).all()


def test_margins_that_would_take_too_much_memory_are_found_out_beforehand():
    """Thousands of small nodes beside a large one: a window as wide as the largest, for every one of them."""
    many = [1000] * 10 + [1] * 3000
    parent, above = np.repeat(np.arange(3010), many), np.array([0] * 10 + list(range(1, 3001)))
    tree = Tree.from_leaves(np.full(sum(many), 100), parent, above, np.zeros(3001, np.int64))
    for rate, fits in ((0.5, True), (0.00025, False)):
        reports = [GeometricReports(np.zeros(len(own), np.int64), rate) for own in tree.sizes]
        assert is_feasible(tree, reports) == fits


def test_a_public_total_holds_beside_reports_that_contradict_it():
    rng = np.random.default_rng(6)
    tree, truth = branching(3, 3, 80), rng.integers(0, 81, 27)
    reports = reported(rng, tree, truth, [18.0] * 4)
    wrong = [*reports[:2], GeometricReports(np.zeros(3, np.int64), 18.6), KnownTotals(np.array([truth.sum()]))]
    found = adjust_by_branch(tree, wrong, fit_local_rates(tree, wrong))
    assert found[-1].means().tolist() == [truth.sum()]
    found = adjust_tree(tree, wrong, [1.0] * 4, 0.9)
    assert found.levels[-1].values.tolist() == [truth.sum()]
    assert all(np.isfinite(level.errors).all() for level in found.levels)


def test_a_branch_hears_what_is_said_above_it():
    """One grandparent whose own report says nothing, under a total that is known: its parents sum to that."""
    rng = np.random.default_rng(7)
    tree = Tree.from_leaves(np.full(9, 20), np.repeat(np.arange(3), 3), np.zeros(3, np.int64), np.zeros(1, np.int64))
    reports = reported(rng, tree, np.full(9, 4), [0.2, 0.2, 0.01, 5.0])
    reports[-1] = GeometricReports(np.array([90]), 5.0)
    parents = adjust_by_branch(tree, reports, fit_local_rates(tree, reports))[1].means()
    assert parents.sum() == pytest.approx(90, abs=1)

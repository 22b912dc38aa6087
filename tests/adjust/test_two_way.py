"""Two-way tables and histograms on trees: cells that add up both ways, and how near they come to enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjust.enumerated import all_tables, geometric, likelihood
from inbounds.adjust import label_trees as labelling
from inbounds.adjust import tree_adjust as adjusting
from inbounds.adjust import two_way as tabling
from inbounds.adjust.costs import AbsoluteCost, PosteriorCost
from inbounds.adjust.crossed_posterior import Side, crossed_posterior
from inbounds.adjust.label_trees import LabelTree, adjust_label_tree
from inbounds.adjust.likelihoods import GeometricReports, NoReports
from inbounds.adjust.network import TableBatch, best_table
from inbounds.adjust.posterior import Marginals, posterior
from inbounds.adjust.tree import Tree
from inbounds.adjust.two_way import TwoWay, adjust_two_way, both_margins_posterior
from inbounds.schema.report_types import KNOWN, LEAST_SQUARES, MOST, POSTERIOR


def two_way(rng, rows, columns, size, known, tables=1, rate=0.5):
    """Simulated tables, and reports about cells and both margins."""
    sizes = np.full(tables, size)
    kept = sizes if known else rng.binomial(sizes, 0.8)
    x = np.array([rng.multinomial(n, rng.dirichlet(np.ones(rows * columns))) for n in kept])
    x = x.reshape(tables, rows, columns)
    reports = [geometric(rng, own.ravel(), size, rate) for own in (x, x.sum(axis=2), x.sum(axis=1))]
    return x, TwoWay(rows, columns, sizes, known, *reports)


def enumerated(asked):
    """(cells, rows, columns) of every table within its size, and the logarithm of its posterior."""
    cells = all_tables(
        Tree(
            (np.full(asked.rows * asked.columns, asked.sizes[0]), asked.sizes),
            (np.zeros(asked.rows * asked.columns, int),),
        )
    )[0]
    if asked.known_totals:
        cells = cells[cells.sum(axis=1) == asked.sizes[0]]
    square = cells.reshape(-1, asked.rows, asked.columns)
    levels = [cells, square.sum(axis=2), square.sum(axis=1)]
    log = likelihood(levels, [asked.cells, asked.row_sums, asked.column_sums])
    prior = asked.prior(asked.side.tree).log_mass(slice(None), np.zeros(cells.shape[1], int), asked.sizes[0] + 1)[:, 0]
    return levels, log + sum(prior[k][cells[:, k]] for k in range(cells.shape[1]))


def furthest(found, levels, mass):
    """The largest total variation distance of a node's marginal from the exact one."""
    distances = []
    for own, values in zip(found, levels, strict=True):
        for node, low in enumerate(own.low):
            exact = np.bincount(values[:, node], mass, minlength=low + own.mass.shape[1])
            distances.append(np.abs(own.mass[node] - exact[low : low + own.mass.shape[1]]).sum() / 2)
    return max(distances)


def test_a_tree_that_says_nothing_leaves_the_other_as_it_is():
    _, asked = two_way(np.random.default_rng(1), 2, 3, 6, True)
    side, prior = asked.side, asked.prior(asked.side.tree)
    tree = Tree((side.tree.sizes[0], np.full(3, 12)), (np.repeat(np.arange(3), 2),))
    silent = Side(tree, [NoReports(asked.cells.y), NoReports(np.zeros(3, int))])
    alone = posterior(side.tree, side.reports, prior)
    for one, other in zip(crossed_posterior(side, silent, asked.transposed_order, prior)[0], alone, strict=True):
        np.testing.assert_allclose(one.means(), other.means(), atol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(("rows", "columns", "size", "known"), [(2, 2, 6, False), (2, 3, 5, True)])
def test_the_posterior_of_two_way_tables_equals_enumeration_and_two_trees_come_near(rows, columns, size, known):
    rng, distances = np.random.default_rng(2), []
    for _ in range(5):
        _, asked = two_way(rng, rows, columns, size, known)
        levels, log = enumerated(asked)
        mass = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
        assert furthest(both_margins_posterior(asked), levels, mass) < 1e-7
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tabling, "MOST_POINTS", 0)
            distances.append(furthest(both_margins_posterior(asked), levels, mass))
    assert max(distances) < 0.12


@pytest.mark.parametrize("known", [False, True])
def test_the_best_two_way_table_costs_no_more_than_any_other(known):
    rng = np.random.default_rng(3)
    for _ in range(5):
        _, asked = two_way(rng, 2, 3, 4, known)
        levels, _ = enumerated(asked)
        found = [Marginals(np.zeros(n, int), rng.dirichlet(np.ones(5), n)) for n in (6, 2, 3)]
        costs = [PosteriorCost(own, 1.0) for own in found]
        values = best_table(TableBatch(2, 3, np.full(6, 4), np.full(2, 4), np.full(3, 4), np.array([4]), known), *costs)
        risks = sum(
            own.mass[node] @ np.abs(np.arange(5)[:, None] - values[:, node])
            for own, values in zip(found, levels, strict=True)
            for node in range(values.shape[1])
        )
        mine = sum(
            own.mass[node] @ np.abs(np.arange(5) - value)
            for own, values in zip(found, values, strict=True)
            for node, value in enumerate(values.ravel())
        )
        assert mine == pytest.approx(risks.min(), abs=1e-5)


def test_many_tables_are_solved_in_portions_as_one(monkeypatch):
    rng = np.random.default_rng(4)
    _, asked = two_way(rng, 2, 3, 9, True, tables=7)
    one = adjust_two_way(asked, [1, 1, 1], 0.9)
    monkeypatch.setattr("inbounds.adjust.network.ARCS", 1)
    other = adjust_two_way(asked, [1, 1, 1], 0.9)
    assert np.array_equal(one.row_sums.values, other.row_sums.values)
    assert one.method == POSTERIOR


@pytest.mark.long
@given(st.data())
@settings(max_examples=50, deadline=None)
def test_every_adjusted_two_way_table_adds_up(data):
    rows, columns, tables = (data.draw(st.integers(1, 3)) for _ in range(3))
    sizes = np.array(data.draw(st.lists(st.integers(1, 8), min_size=tables, max_size=tables)))
    rate = data.draw(st.floats(0.02, 4))

    def reports(many):
        own = np.repeat(sizes, many)
        return GeometricReports(np.array([data.draw(st.integers(0, int(size))) for size in own]), rate)

    margins = [reports(many) if data.draw(st.booleans()) else None for many in (rows, columns)]
    asked = TwoWay(rows, columns, sizes, data.draw(st.booleans()), reports(rows * columns), *margins)
    for most in (10**8, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adjusting, "LARGEST", most)
            found = adjust_two_way(asked, [1, 1, 1], 0.9)
        check_two_way(asked, found)
        if all(margins) and not most:
            assert found.method == LEAST_SQUARES


def check_two_way(asked, found):
    cells = found.cells.values.reshape(len(asked.sizes), asked.rows, asked.columns)
    totals = cells.sum(axis=(1, 2))
    assert (cells >= 0).all()
    assert (totals <= asked.sizes).all()
    assert not asked.known_totals or np.array_equal(totals, asked.sizes)
    for level, reports, axis in ((found.row_sums, asked.row_sums, 2), (found.column_sums, asked.column_sums, 1)):
        assert (level is None) == (reports is None)
        assert level is None or np.array_equal(level.values, cells.sum(axis=axis).ravel())
    for level in (found.cells, found.row_sums, found.column_sums):
        if level is not None:
            most = np.repeat(asked.sizes, len(level.values) // len(asked.sizes))
            assert ((level.low >= 0) & (level.low <= level.values)).all()
            assert ((level.values <= level.high) & (level.high <= most)).all()


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_every_adjusted_histogram_on_a_tree_adds_up_both_ways(data):
    parent = np.array([0, 0, 0, 1, 1])
    tree = Tree.from_leaves(
        np.array(data.draw(st.lists(st.integers(1, 7), min_size=5, max_size=5))), parent, np.array([0, 0])
    )
    labels, sums = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(["", KNOWN, MOST]))
    rate = data.draw(st.floats(0.02, 4))
    reports = tuple(
        GeometricReports(np.array([data.draw(st.integers(0, int(size))) for size in np.tile(sizes, labels)]), rate)
        for sizes in tree.sizes
    )
    for most, cells in ((10**8, 10**5), (10**8, 0), (0, 10**5)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adjusting, "LARGEST", most)
            patch.setattr(labelling, "MOST_CELLS", cells)
            found = adjust_label_tree(LabelTree(tree, labels, reports, sums), [1, 1, 1], 0.9)
        values = [level.values.reshape(labels, -1) for level in found.levels]
        for level, (own, size) in enumerate(zip(values, tree.sizes, strict=True)):
            assert ((own >= 0) & (own <= size)).all()
            assert sums != KNOWN or np.array_equal(own.sum(axis=0), size)
            assert sums != MOST or (own.sum(axis=0) <= size).all()
            assert all(np.array_equal(tree.sums(values[0][k])[level], own[k]) for k in range(labels))


@pytest.mark.long
def test_known_sizes_make_histograms_on_a_tree_better():
    rng = np.random.default_rng(5)
    tree = Tree.from_leaves(np.full(60, 12), np.repeat(np.arange(6), 10))
    shares = rng.dirichlet(np.ones(3), 6)
    cells = np.array([rng.multinomial(12, shares[p]) for p in tree.parents[0]]).T
    levels = [np.concatenate(own) for own in zip(*(tree.sums(own) for own in cells), strict=True)]
    errors = []
    for sums in (KNOWN, MOST, ""):
        reports = tuple(
            geometric(np.random.default_rng(6), own, np.tile(s, 3), 0.3)
            for own, s in zip(levels, tree.sizes, strict=True)
        )
        found = adjust_label_tree(LabelTree(tree, 3, reports, sums), [1, 1], 0.9)
        errors.append(np.abs(found.levels[0].values - levels[0]).mean())
    assert errors[0] < min(errors[1:])


@pytest.mark.long
def test_the_table_that_is_most_likely_is_further_from_the_truth():
    """Why the published table is not the most likely one."""
    rng = np.random.default_rng(7)
    x, asked = two_way(rng, 3, 4, 25, True, tables=20, rate=0.25)
    found = adjust_two_way(asked, [1, 1, 1], 0.9)
    sizes = [np.repeat(asked.sizes, many) for many in (12, 3, 4)]
    costs = [AbsoluteCost(own.y, own.rate) for own in (asked.cells, asked.row_sums, asked.column_sums)]
    likely = best_table(TableBatch(3, 4, *sizes, asked.sizes, known_totals=True), *costs)[0]
    assert np.abs(found.cells.values - x.ravel()).mean() < np.abs(likely - x).mean()


def test_a_seeded_run_of_two_way_tables_covers():
    rng = np.random.default_rng(8)
    shares = np.outer([0.5, 0.5], [0.1, 0.3, 0.6]).ravel()
    x = rng.multinomial(20, shares, 150)
    square = x.reshape(150, 2, 3)
    reports = [geometric(rng, own.ravel(), 20, 0.4) for own in (x, square.sum(axis=2), square.sum(axis=1))]
    found = adjust_two_way(TwoWay(2, 3, np.full(150, 20), True, *reports), [1, 1, 1], 0.9)
    held = (found.cells.low <= x.ravel()) & (x.ravel() <= found.cells.high)
    assert 0.87 < held.mean() < 0.98

"""Errors that are stated before there is data: simulated from the prior, and what releases then have."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from inbounds.adjust import simulated
from inbounds.adjust.likelihoods import GeometricReports
from inbounds.adjust.margins import adjust_by_branch
from inbounds.adjust.prior_fit import fit_local_rates
from inbounds.adjust.shares import LevelFacts
from inbounds.adjust.simulated import (
    CrossedTable,
    SurveyPrior,
    TreeTable,
    add_noise,
    draw_priors,
    draw_public_sizes,
    draw_uniform_sizes,
    kept_nodes,
    pick_places,
    scatter_rates,
    select_nodes,
    simulate_errors,
    simulate_tree,
    thin_groups,
)
from inbounds.adjust.spreads import LEAF_ROOTS, PARENT_ROOTS
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_adjust import adjust_tree, expected_errors
from inbounds.adjust.tree_optimum import best_sums

SCHOOLS = Tree.from_leaves(np.full(12, 20), np.repeat(np.arange(3), 4))
FEW_SCHOOLS = Tree.from_leaves(np.full(4, 20), np.repeat(np.arange(2), 2))


def facts_of(tree):
    counts = [len(sizes) for sizes in tree.sizes]
    children = [0.0, *(below / above for below, above in itertools.pairwise(counts))]
    rows = zip((4.0, 30.0, 100.0)[: tree.depth], children, (float(sizes.mean()) for sizes in tree.sizes), strict=True)
    return [LevelFacts(1.0, Fraction(1), deviation, *row) for deviation, *row in rows]


def tree_table(tree, rates, labels=1, sums=""):
    return TreeTable(tree, 1, labels, sums, rates, (1.0,) * len(rates))


def test_the_same_seed_simulates_the_same_errors():
    table = tree_table(SCHOOLS, (0.3, 0.5))
    one, same, other = (simulate_errors(table, draw_public_sizes, seed)[0].error for seed in (1, 1, 2))
    assert one == same != other


def test_simulated_truths_add_up_and_stay_in_range():
    for sums, draw_sizes in (("", draw_public_sizes), ("known", draw_public_sizes), ("most", draw_uniform_sizes)):
        table = tree_table(SCHOOLS, (0.3, 0.5), labels=3, sums=sums)
        low, high = table.simulate(SurveyPrior(0.4, (0.2, 0.3)), draw_sizes, np.random.default_rng(0))
        for values in (low.truth, low.published):
            assert (values >= 0).all()
            assert (values.sum(axis=0) <= SCHOOLS.sizes[0]).all() or (not sums and values is low.published)
        full = (low.truth.sum(axis=0) == SCHOOLS.sizes[0]).all()
        assert full == (draw_sizes is draw_public_sizes)
        for level in ("truth", "published"):
            summed = [np.bincount(SCHOOLS.parents[0], row) for row in getattr(low, level)]
            assert (np.array(summed) == getattr(high, level)).all()
        assert low.parent == pytest.approx(high.published[:, SCHOOLS.parents[0]] / 4)
        assert high.parent is None


def test_margins_of_a_simulated_two_way_table_are_sums_of_its_cells():
    table = CrossedTable((2, 3), np.array([10, 12]), True, 0.5, 0.4, 0.4)
    cells, rows, columns = table.simulate(SurveyPrior(0.5, (0.2,)), draw_public_sizes, np.random.default_rng(0))
    for level in ("truth", "published"):
        values = getattr(cells, level).reshape(2, 3, 2)
        assert (values.sum(axis=1) == getattr(rows, level)).all()
        assert (values.sum(axis=0) == getattr(columns, level)).all()
        assert values.sum(axis=(0, 1)).tolist() == [10, 12]


def test_rates_scatter_with_the_mean_and_deviation_that_they_should_have():
    """Fixed seed; five standard errors. With a root of 0 nothing scatters."""
    rates, root = np.tile([0.1, 0.3, 0.6], (100_000, 1)), 0.4
    drawn = scatter_rates(rates, root, np.random.default_rng(1))
    assert drawn.sum(axis=1) == pytest.approx(1)
    spread = root * np.sqrt(rates[0] * (1 - rates[0]))
    assert (np.abs(drawn.mean(axis=0) - rates[0]) < 5 * spread / len(rates) ** 0.5).all()
    assert drawn.std(axis=0) == pytest.approx(spread, rel=0.02)
    assert (scatter_rates(rates, 0.0, np.random.default_rng(1)) == rates).all()


def test_surveys_are_a_latin_hypercube_in_the_order_of_the_spread_of_leaves():
    priors = draw_priors(9, 3, np.random.default_rng(0))
    leaves = [prior.roots[0] for prior in priors]
    assert leaves == sorted(leaves)
    assert max(leaves) < LEAF_ROOTS[-1]
    for level in (1, 2):
        assert sorted(prior.roots[level] for prior in priors) == sorted(PARENT_ROOTS)
    assert sorted(prior.rate for prior in priors) == pytest.approx([(k + 0.5) / 9 for k in range(9)])


def test_noise_has_the_law_of_truncated_geometric_noise():
    """By the exact law: falls to both sides by exp(-rate), and the ends collect the rest. 5 standard errors."""
    size, value, rate, draws = 4, 1, 0.7, 200_000
    noisy = add_noise(np.full(draws, value), np.full(draws, size), rate, np.random.default_rng(3))
    falls = np.exp(-rate)
    law = np.array([(1 - falls) / (1 + falls) * falls ** abs(y - value) for y in range(size + 1)])
    law[0], law[-1] = falls**value / (1 + falls), falls ** (size - value) / (1 + falls)
    assert law.sum() == pytest.approx(1)
    found = np.bincount(noisy, minlength=size + 1) / draws
    assert (np.abs(found - law) < 5 * np.sqrt(law * (1 - law) / draws)).all()


def test_the_simulated_decision_is_the_one_of_a_release():
    """A second construction of one survey's published values: posterior, then the best whole numbers that add up."""
    table, prior = tree_table(SCHOOLS, (0.3, 0.5)), SurveyPrior(0.4, (0.2, 0.3))
    found = table.simulate(prior, draw_public_sizes, np.random.default_rng(5))
    again = np.random.default_rng(5)
    truth = table._draw_leaves(prior, draw_public_sizes, again)[0]
    levels = zip(SCHOOLS.sums(truth), SCHOOLS.sizes, (0.3, 0.5), strict=True)
    reports = [
        GeometricReports(add_noise(values[None, :], sizes, rate, again).ravel(), rate) for values, sizes, rate in levels
    ]
    marginals = adjust_by_branch(SCHOOLS, reports, fit_local_rates(SCHOOLS, reports))
    values = best_sums(SCHOOLS, expected_errors(marginals, (1.0, 1.0)))
    for level, published in zip(found, values, strict=True):
        assert (level.published[0] == published).all()


def test_the_stated_error_is_that_of_all_reports_of_a_tiny_tree():
    """The mean over all reports of two leaves and their sum, weighted by the law, against simulated noise.

    The truth is fixed, so that the noise alone is compared; fixed seed, five standard errors.
    """
    tree, truth, rates, size = Tree.from_leaves(np.array([2, 2]), np.zeros(2, int)), np.array([1, 2]), (0.8, 1.1), 2

    def law(value, largest, rate):
        falls = np.exp(-rate)
        mass = [(1 - falls) / (1 + falls) * falls ** abs(y - value) for y in range(largest + 1)]
        return [falls**value / (1 + falls), *mass[1:-1], falls ** (largest - value) / (1 + falls)]

    def error(reports):
        made = [GeometricReports(np.array(row), rate) for row, rate in zip(reports, rates, strict=True)]
        published = adjust_tree(tree, made, (1.0, 1.0), 0.9).levels[0].values
        return float(np.abs(published - truth).mean())

    errors = {(a, b, c): error([[a, b], [c]]) for a, b, c in itertools.product(range(3), range(3), range(5))}
    laws = law(1, size, rates[0]), law(2, size, rates[0]), law(3, 2 * size, rates[1])
    exact = sum(value * laws[0][a] * laws[1][b] * laws[2][c] for (a, b, c), value in errors.items())
    generator, draws = np.random.default_rng(0), 20_000
    leaves = add_noise(np.tile(truth, (draws, 1)), np.array([size, size]), rates[0], generator)
    sums = add_noise(np.full(draws, 3), np.array(2 * size), rates[1], generator)
    sampled = np.array([errors[a, b, c] for (a, b), c in zip(leaves.tolist(), sums.tolist(), strict=True)])
    assert abs(sampled.mean() - exact) < 5 * sampled.std() / draws**0.5


@pytest.mark.long
@pytest.mark.parametrize(
    ("labels", "sums", "rates"), [(1, "", (0.1, 0.2)), (4, "", (0.5, 0.3)), (3, "known", (0.4, 0.4))]
)
def test_realised_errors_of_fresh_surveys_are_as_stated(labels, sums, rates):
    """Surveys of the prior that the statement did not see: within four standard errors of both together."""
    table = tree_table(FEW_SCHOOLS, rates, labels, sums)
    stated = simulate_errors(table, draw_public_sizes, 11)
    priors = draw_priors(12, table.spreads, np.random.default_rng(99))
    surveys = [
        table.simulate(prior, draw_public_sizes, np.random.default_rng([99, k])) for k, prior in enumerate(priors)
    ]
    for level, said in enumerate(stated):
        realised = np.array([np.abs(one[level].published - one[level].truth).mean() for one in surveys])
        together = np.hypot(said.deviation, realised.std() / len(realised) ** 0.5)
        assert abs(realised.mean() - said.error) < 4 * together
        assert 0.6 < realised.mean() / said.error < 1.6


def test_large_trees_are_thinned_to_whole_families():
    tree = Tree.from_leaves(np.full(600, 10), np.repeat(np.arange(60), 10), np.repeat(np.arange(6), 10))
    kept = kept_nodes(tree, 100)
    assert len(kept[0]) <= 100
    small = select_nodes(tree, kept)
    assert (small.children[0] == 10).all()
    assert (np.diff(kept[1]) == np.diff(kept[1])[0]).all()
    whole = kept_nodes(tree, 600)
    assert [len(nodes) for nodes in whole] == [600, 60, 6]


def test_parents_with_too_many_leaves_keep_some_of_each():
    tree = Tree.from_leaves(np.full(1000, 10), np.repeat(np.arange(2), 500))
    kept = kept_nodes(tree, 100)
    assert len(kept[1]) == 2
    assert len(kept[0]) == 2 * (100 // simulated.PARENTS)


def test_places_are_evenly_spaced():
    assert pick_places(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert pick_places(9, 3).tolist() == [1, 4, 7]
    for count, most in itertools.product(range(1, 40), range(1, 12)):
        places = pick_places(count, most)
        assert len(set(places.tolist())) == min(count, most)
        assert places.min() >= 0
        assert places.max() < count


@pytest.mark.long
def test_thinning_hardly_changes_what_is_stated(monkeypatch):
    """A tree whole and thinned to a fourth: the errors of leaves and parents are within a third of each other."""
    tree = Tree.from_leaves(np.full(200, 20), np.repeat(np.arange(20), 10), np.repeat(np.arange(4), 5))
    table, facts = tree_table(tree, (0.2, 0.3, 0.4)), facts_of(tree)
    whole = simulate_tree(table, facts, draw_public_sizes, 3)
    monkeypatch.setattr(simulated, "MOST_CELLS", 50)
    thinned = simulate_tree(table, facts, draw_public_sizes, 3)
    for one, other in zip(whole[:2], thinned[:2], strict=True):
        assert 2 / 3 < one.error / other.error < 3 / 2
    assert thinned[2].deviation == 0  # from the variances of the whole tree


def test_work_is_bounded_for_large_trees_and_many_groups(monkeypatch):
    tree = Tree.from_leaves(np.full(100_000, 25), np.arange(100_000) // 100, np.arange(1000) // 100)
    seen = []

    def note(self, *given):
        seen.append(self.cells)
        surveys.append(surveys[0] if surveys else original(self, *given))
        return surveys[0]

    original, surveys = TreeTable.simulate, []
    monkeypatch.setattr(TreeTable, "simulate", note)
    simulate_tree(tree_table(tree, (0.1, 0.1, 0.1)), facts_of(tree), draw_public_sizes, 0)
    assert max(seen) <= simulated.MOST_CELLS
    assert len(seen) <= simulated.MOST_SURVEYS
    crossed = thin_groups(CrossedTable((3, 4), np.full(10_000, 50), True, 0.1, 0.1, 0.1))
    assert crossed.cells <= simulated.MOST_CELLS / simulated.CROSSED

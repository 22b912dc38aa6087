"""Posterior, decision and prior on trees: equal to enumeration where that is possible."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjust.enumerated import all_tables, drawn, geometric, likelihood, posterior_of, prior_mass
from inbounds import catalog, count
from inbounds.adjust import posterior as messages
from inbounds.adjust import prior_fit
from inbounds.adjust import tree_adjust as adjusting
from inbounds.adjust.costs import AbsoluteCost, FixedCost, PosteriorCost, SquaredCost
from inbounds.adjust.likelihoods import GeometricReports, KnownTotals, ReportColumns
from inbounds.adjust.posterior import Marginals, posterior
from inbounds.adjust.prior import Rates, TablePrior
from inbounds.adjust.prior_fit import (
    SPREADS,
    _DistinctReports,
    _populations,
    _select_shapes,
    _shares,
    fit_local_rates,
    fitting_cost,
)
from inbounds.adjust.prior_shapes import BetaBinomialShape, MixtureShape, log_beta_binomial
from inbounds.adjust.squares import least_squares, nearest_whole
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_adjust import adjust_tree
from inbounds.adjust.tree_optimum import best_sums
from inbounds.schema.report_types import LEAST_SQUARES, POSTERIOR
from raising import rejects

SMALL = Tree.from_leaves(np.array([3, 2, 4, 3, 1]), np.array([0, 0, 0, 1, 1]), np.array([0, 0]))
CAPPED = Tree((np.array([3, 3, 2, 2]), np.array([4, 3]), np.array([5])), (np.array([0, 0, 1, 1]), np.array([0, 0])))


TWO_KINDS = MixtureShape(np.array([0.1, 0.7]), np.array([0.6, 0.4]))


def random_prior(rng, tree, *shapes):
    parents = len(tree.sizes[1])
    classes = 3 * len(shapes)
    rates, weights = rng.uniform(0.05, 0.95, (parents, classes)), rng.dirichlet(np.ones(classes), parents)
    return Rates(tree.sizes[0], tree.parents[0], rates, weights, shapes)


def random_leaves(rng, tree):
    return all_tables(tree)[0][rng.integers(len(all_tables(tree)[0]))]


def check_marginals(found: list[Marginals], levels, mass):
    for own, values in zip(found, levels, strict=True):
        for node, low in enumerate(own.low):
            exact = np.bincount(values[:, node], mass, minlength=low + own.mass.shape[1])
            np.testing.assert_allclose(own.mass[node], exact[low : low + own.mass.shape[1]], atol=1e-9)
            assert exact[:low].sum() < 1e-9


@pytest.mark.parametrize("tree", [SMALL, CAPPED])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("shapes", [(BetaBinomialShape(0.0),), (BetaBinomialShape(0.1), TWO_KINDS)])
def test_the_posterior_of_every_node_equals_enumeration(tree, known, shapes):
    rng, levels = np.random.default_rng(1), all_tables(tree)
    for _ in range(4):
        reports = drawn(rng, tree, random_leaves(rng, tree), rng.uniform(0.2, 2, 3), known=known)
        prior = random_prior(rng, tree, *shapes)
        check_marginals(
            posterior(tree, reports, prior), levels, posterior_of(levels, reports, prior_mass(levels, prior))
        )


def test_the_posterior_takes_the_columns_of_any_mechanisms():
    rng, levels = np.random.default_rng(2), all_tables(SMALL)
    sizes = np.unique(SMALL.sizes[0])
    made = [catalog.explicit_fair(count(int(size)), 1).matrix for size in sizes]
    which = np.searchsorted(sizes, SMALL.sizes[0])
    reports = drawn(rng, SMALL, random_leaves(rng, SMALL), [1, 1, 1])
    reports[0] = ReportColumns(rng.integers(0, SMALL.sizes[0] + 1), which, tuple(made))
    prior = random_prior(rng, SMALL, BetaBinomialShape(0.1))
    check_marginals(posterior(SMALL, reports, prior), levels, posterior_of(levels, reports, prior_mass(levels, prior)))


def test_a_margin_far_from_the_leaves_is_followed_by_tilting(monkeypatch):
    """40 leaves that all say 0 under a parent that says 200 of 400: without the tilt their windows miss it."""
    tree = Tree.from_leaves(np.full(40, 10), np.zeros(40, int))
    reports = [GeometricReports(np.zeros(40, int), 1.0), GeometricReports(np.array([200]), 2.0)]
    binomial = np.exp(log_beta_binomial(np.arange(11), 10, 0.02, 0.0))
    prior = TablePrior(np.tile(binomial, (40, 1, 1)), np.ones((1, 1)))
    found = posterior(tree, reports, prior)
    leaf, exact = np.exp(-np.arange(11.0)) * binomial, np.array([1.0])
    for _ in range(40):
        exact = np.convolve(exact, leaf / leaf.sum())
        exact /= exact.max()
    with np.errstate(divide="ignore"):
        log = np.log(exact) - 2.0 * np.abs(np.arange(401) - 200)
    exact = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    assert found[1].means()[0] == pytest.approx(exact @ np.arange(401), abs=1e-6)
    assert found[0].means().sum() == pytest.approx(found[1].means()[0], abs=1e-6)
    monkeypatch.setattr(messages, "FAR", np.inf)
    try:
        missed = posterior(tree, reports, prior)[1].means()[0]
    except messages.OutOfWindow:
        return
    assert missed != pytest.approx(exact @ np.arange(401), abs=1)


def test_portions_of_parents_give_what_the_whole_gives(monkeypatch):
    rng = np.random.default_rng(3)
    tree = Tree.from_leaves(rng.integers(1, 9, 30), np.repeat(np.arange(6), 5), np.repeat(np.arange(2), 3))
    reports = drawn(rng, tree, rng.integers(0, tree.sizes[0] + 1), [0.5, 0.5, 0.5])
    whole = posterior(tree, reports, fit_local_rates(tree, reports))
    monkeypatch.setattr(messages, "PORTION", 1)
    parts = posterior(tree, reports, fit_local_rates(tree, reports))
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.means(), other.means(), atol=1e-9)


@pytest.mark.parametrize("portion", [1, messages.PORTION])
def test_the_posterior_of_two_levels_equals_enumeration_in_portions_of_any_length(monkeypatch, portion):
    monkeypatch.setattr(messages, "PORTION", portion)
    rng, tree = np.random.default_rng(5), Tree.from_leaves([2, 3, 1, 2, 1], [0, 0, 1, 1, 1])
    levels = all_tables(tree)
    reports = drawn(rng, tree, random_leaves(rng, tree), rng.uniform(0.2, 2, 2))
    prior = random_prior(rng, tree, BetaBinomialShape(0.0), TWO_KINDS)
    check_marginals(posterior(tree, reports, prior), levels, posterior_of(levels, reports, prior_mass(levels, prior)))


def test_wide_leaves_are_looked_at_through_windows():
    rng = np.random.default_rng(4)
    tree = Tree.from_leaves(np.full(4, 2000), np.array([0, 0, 1, 1]))
    reports = drawn(rng, tree, np.array([10, 1000, 1990, 700]), [1.0, 1.0])
    prior = Rates(tree.sizes[0], tree.parents[0], np.full((2, 1), 0.5), np.ones((2, 1)), (BetaBinomialShape(0.6),))
    found = posterior(tree, reports, prior)
    assert found[0].mass.shape[1] < 2001
    for parent in (0, 1):
        one, other = (
            np.exp(
                reports[0].log_likelihood(np.array([v]), np.zeros(1, int), 2001)[0]
                + log_beta_binomial(np.arange(2001), 2000, 0.5, 0.6)
            )
            for v in (2 * parent, 2 * parent + 1)
        )
        total = np.convolve(one, other) * np.exp(-np.abs(np.arange(4001) - reports[1].y[parent]))
        assert found[1].means()[parent] == pytest.approx(total @ np.arange(4001) / total.sum(), abs=1e-6)


@pytest.mark.parametrize("tree", [SMALL, CAPPED])
@pytest.mark.parametrize("known", [False, True])
def test_the_best_sums_cost_no_more_than_any_other_table(tree, known):
    rng, levels = np.random.default_rng(5), all_tables(tree)
    for kind in (AbsoluteCost, SquaredCost, PosteriorCost):
        leaves = random_leaves(rng, tree)
        reports = drawn(rng, tree, leaves, rng.uniform(0.2, 2, 3), known=known)
        found = posterior(tree, reports, random_prior(rng, tree, BetaBinomialShape(0.1)))
        of = found if kind is PosteriorCost else [own.y for own in reports]
        costs = [kind(own, weight) for own, weight in zip(of, (1.0, 0.7, 0.3), strict=True)]
        top = tree.sums(leaves)[-1] if known else None
        best = best_sums(tree, costs, top)
        assert all(np.array_equal(own, sums) for own, sums in zip(best, tree.sums(best[0]), strict=True))
        allowed = np.ones(len(levels[0]), bool) if top is None else (levels[-1] == top).all(axis=1)
        least = min(total_cost(costs, [own[t] for own in levels]) for t in np.flatnonzero(allowed))
        assert total_cost(costs, best) == pytest.approx(least, abs=1e-6)


def total_cost(costs, table):
    """Costs of a table beside those of zero, from the slopes below its values."""
    return sum(
        float(cost.slopes(np.full(value, node), np.arange(value)).sum())
        for cost, values in zip(costs, table, strict=True)
        for node, value in enumerate(values)
    )


def test_the_slope_of_the_expected_error_is_its_difference():
    mass = np.random.default_rng(6).dirichlet(np.ones(6), 3)
    cost = PosteriorCost(Marginals(np.array([0, 2, 5]), mass), 1.0)
    for node in range(3):
        x = cost.marginals.low[node] + np.arange(6)
        risk = [mass[node] @ np.abs(x - d) for d in range(15)]
        np.testing.assert_allclose(cost.slopes(np.full(14, node), np.arange(14)), np.diff(risk), atol=1e-7)


def test_intervals_are_the_shortest_runs_that_hold_enough():
    mass = np.random.default_rng(7).dirichlet(np.ones(9), 20)
    low, high = Marginals(np.full(20, 4), mass).intervals(0.8)
    for own, a, b in zip(mass, low - 4, high - 4, strict=True):
        lengths = [j - i + 1 for i in range(9) for j in range(i, 9) if own[i : j + 1].sum() >= 0.8]
        assert b - a + 1 == min(lengths)
        assert own[a : b + 1].sum() >= 0.8 - 1e-9


def test_the_likeliest_spread_and_rates_follow_the_reports():
    rng = np.random.default_rng(8)
    tree = Tree.from_leaves(np.full(4000, 20), np.repeat(np.arange(40), 100))
    true = np.repeat(rng.uniform(0.1, 0.6, 40), 100)
    strength = 1 / 0.1 - 1
    for spread, p in ((0.0, true), (0.1, rng.beta(true * strength, (1 - true) * strength))):
        reports = drawn(rng, tree, rng.binomial(20, p), [1.0, 1.0])
        found = fit_local_rates(tree, reports)
        weights = np.split(found.weights, len(found.shapes), axis=1)
        mean = sum(shape.spread * own.sum(axis=1) for shape, own in zip(found.shapes, weights, strict=True))
        np.testing.assert_allclose(mean, spread, atol=0.02)
        inside = (found.rates.min(axis=1) < true[::100]) & (true[::100] < found.rates.max(axis=1))
        assert inside.mean() > 0.9


def test_the_grid_of_rates_is_as_fine_as_leaves_and_parent_together():
    """A sure parent above vague leaves: the rates must stand closer than what the parent knows, or they are a comb."""
    tree = Tree.from_leaves(np.full(25, 20), np.zeros(25, int))
    reports = drawn(np.random.default_rng(9), tree, np.full(25, 5), [0.05, 2.0])
    found = fit_local_rates(tree, reports)
    for shape, rates in zip(found.shapes, np.split(found.rates, len(found.shapes), axis=1), strict=True):
        spread = shape.correlation(np.array(0.25))
        deviation = np.sqrt((500 + spread * 25 * 20 * 19) * 0.25 * 0.75)  # of the sum, if the rate is known
        assert np.diff(rates).max() * 500 < deviation


def test_leaves_of_two_kinds_are_recognised_and_leaves_alike_are_not_taken_for_some():
    rng = np.random.default_rng(12)
    tree = Tree.from_leaves(np.full(1000, 20), np.repeat(np.arange(100), 10))
    kinds = fit_local_rates(
        tree, drawn(rng, tree, rng.binomial(20, np.where(rng.random(1000) < 0.3, 0.9, 0.1)), [1.0, 1.0])
    )
    alike = fit_local_rates(tree, drawn(rng, tree, rng.binomial(20, np.repeat(rng.beta(2, 5, 100), 10)), [1.0, 1.0]))
    (own,) = kinds.shapes
    assert own.shares[own.rates > 0.5].sum() == pytest.approx(0.3, abs=0.05)
    assert all(isinstance(shape, BetaBinomialShape) for shape in alike.shapes)


def test_a_parents_own_reports_do_not_make_its_prior():
    """Counted in the prior as well they would count twice."""
    log = np.random.default_rng(13).normal(size=(4, 50))
    changed = log.copy()
    changed[2] = 0.0
    steps = (np.arange(50) + 0.5) / 50
    shapes = {BetaBinomialShape(0.0): log, BetaBinomialShape(0.1): log / 2}
    moved = {BetaBinomialShape(0.0): changed, BetaBinomialShape(0.1): log / 2}
    before, after = (_select_shapes(own, steps) for own in (shapes, moved))
    assert list(before) == list(after) == list(shapes)
    for shape in shapes:
        np.testing.assert_allclose(before[shape][2], after[shape][2], rtol=1e-9)
        assert not np.allclose(before[shape][1], after[shape][1], rtol=1e-3)
    np.testing.assert_allclose(sum(own.sum(axis=1) for own in before.values()), 1.0)


def test_populations_of_parents_have_the_means_and_deviations_that_are_said():
    steps = (np.arange(600) + 0.5) / 600
    rows, beforehand = _populations(steps)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert np.exp(beforehand).sum() == pytest.approx(1.0)
    assert len(beforehand) == len(rows)
    rate = np.sin(steps * np.pi / 2) ** 2
    means = rows @ rate
    narrow = int(np.ceil(np.pi * 16))
    np.testing.assert_allclose(means[:narrow], np.sin((np.arange(narrow) + 0.5) / narrow * np.pi / 2) ** 2, atol=2e-3)
    variance = rows[:narrow] @ rate**2 - means[:narrow] ** 2
    middle = slice(5, -5)
    np.testing.assert_allclose(variance[middle], (means * (1 - means))[:narrow][middle] / 16**2, rtol=0.01)


def test_the_spread_of_leaves_is_learned_without_bias_where_parents_are_alike_too():
    """60 tables, spreads drawn as the prior has them, a fixed seed. The twin takes all rates of parents for equally
    likely, which makes leaves look more alike than they are."""
    rng = np.random.default_rng(77)
    tree = Tree.from_leaves(np.full(1000, 20), np.repeat(np.arange(100), 10))
    rates, roots = np.sin((np.arange(100) + 0.5) / 100 * np.pi / 2) ** 2, np.sqrt(SPREADS)
    errors = []
    for _ in range(60):
        true, mean = rng.choice(SPREADS), np.repeat(rng.beta(2, 5, 100), 10)
        among = 1 / max(true, 1e-9) - 1
        leaves = rng.binomial(20, rng.beta(mean * among, (1 - mean) * among))
        reports = drawn(rng, tree, leaves, [0.125, 0.125])
        told = _DistinctReports.from_reports(tree.sizes[0], tree.parents[0], reports[0])
        evidence = {shape: told.log_evidence(rates, shape, reports[1]) for shape in map(BetaBinomialShape, SPREADS)}
        likely = _select_shapes(evidence, (np.arange(100) + 0.5) / 100)
        learned = sum(own.sum(axis=1).mean() * np.sqrt(shape.spread) for shape, own in likely.items())
        errors.append((learned - np.sqrt(true), np.array(list(_shares(evidence).values())) @ roots - np.sqrt(true)))
    ours, flat = np.mean(errors, axis=0)
    assert abs(ours) < 0.01 < -flat


def test_kinds_keep_their_mean_wherever_they_are_shifted():
    x = np.arange(13)
    for mean in (0.01, 0.3, 0.9):
        mass = np.exp(TWO_KINDS.log_mass(x, np.array(12), np.array([mean])))
        assert mass.sum() == pytest.approx(1)
        assert mass @ x == pytest.approx(12 * mean, rel=1e-3)
        spread = TWO_KINDS.correlation(np.array([mean]))[0]
        assert mass @ x**2 - (mass @ x) ** 2 == pytest.approx(12 * mean * (1 - mean) * (1 + 11 * spread), rel=1e-2)


def test_the_beta_binomial_is_a_distribution_with_its_mean():
    x = np.arange(13)
    for spread in (0.0, 0.05, 0.5):
        mass = np.exp(log_beta_binomial(x, 12, 0.3, spread))
        assert mass.sum() == pytest.approx(1)
        assert mass @ x == pytest.approx(3.6)
        assert mass @ x**2 - 3.6**2 == pytest.approx(12 * 0.3 * 0.7 * (1 + 11 * spread))


def test_least_squares_solves_the_normal_equations():
    rng = np.random.default_rng(10)
    reports = drawn(rng, SMALL, random_leaves(rng, SMALL), [0.3, 0.7, 1.1])
    incidence = [np.eye(5)]
    for parent in SMALL.parents:
        incidence.append(np.stack([incidence[-1][parent == p].sum(axis=0) for p in range(parent.max() + 1)]))
    rows = np.concatenate([own / np.sqrt(r.variance) for own, r in zip(incidence, reports, strict=True)])
    wanted = np.concatenate([r.y / np.sqrt(r.variance) for r in reports])
    leaves = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    for own, found in zip(incidence, least_squares(SMALL, reports), strict=True):
        np.testing.assert_allclose(found, own @ leaves, atol=1e-9)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_nearest_whole_numbers_are_in_range_and_add_up(data):
    sizes = np.array(data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=6)))
    values = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=len(sizes), max_size=len(sizes))))
    total = np.array([data.draw(st.integers(0, int(sizes.sum())))])
    found = nearest_whole(values, np.zeros(len(sizes), int), sizes, total)
    assert found.sum() == total[0]
    assert (found >= 0).all()
    assert (found <= sizes).all()


@st.composite
def trees(draw):
    """Trees of two to four levels, a handful of leaves of different sizes."""
    counts = [draw(st.integers(1, 3))]
    while len(counts) < draw(st.integers(2, 4)):
        counts.append(draw(st.integers(counts[-1], counts[-1] + 4)))
    parents = []
    for below, above in zip(counts[:0:-1], counts[-2::-1], strict=True):
        extra = draw(st.lists(st.integers(0, above - 1), min_size=below - above, max_size=below - above))
        parents.append(np.array(sorted([*range(above), *extra])))
    return Tree.from_leaves(
        np.array(draw(st.lists(st.integers(1, 9), min_size=counts[-1], max_size=counts[-1]))), *parents
    )


@pytest.mark.long
@given(st.data())
@settings(max_examples=80, deadline=None)
def test_every_adjusted_tree_adds_up_in_whole_numbers_within_range(data):
    """Whatever was reported, however strange, by the posterior and by least squares."""
    tree = data.draw(trees())
    rates = data.draw(st.lists(st.floats(0.01, 5), min_size=tree.depth, max_size=tree.depth))
    reports = [
        GeometricReports(np.array([data.draw(st.integers(0, int(size))) for size in sizes]), rate)
        for sizes, rate in zip(tree.sizes, rates, strict=True)
    ]
    if data.draw(st.booleans()):
        reports[-1] = KnownTotals(reports[-1].y)
    for most in (adjusting.LARGEST, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adjusting, "LARGEST", most)
            found = adjust_tree(tree, reports, [1.0] * tree.depth, 0.9)
        # least squares where reports contradict each other beyond floats
        assert found.method in ((POSTERIOR, LEAST_SQUARES) if most else (LEAST_SQUARES,))
        check_adjusted(tree, found)
        if isinstance(reports[-1], KnownTotals):
            assert np.array_equal(found.levels[-1].values, reports[-1].y)


def check_adjusted(tree, found):
    values = [level.values for level in found.levels]
    for level, size, sums in zip(found.levels, tree.sizes, tree.sums(values[0]), strict=True):
        assert np.array_equal(level.values, sums)
        assert (level.values <= size).all()
        assert (level.low >= 0).all()
        assert (level.low <= level.values).all()
        assert (level.values <= level.high).all()
        assert (level.high <= size).all()


def test_a_seeded_run_covers_and_beats_least_squares_at_the_leaves():
    """100 parents of 10 leaves, beta-binomial: 90 % intervals hold the truth about as often as they say."""
    rng = np.random.default_rng(11)
    tree = Tree.from_leaves(np.full(1000, 20), np.repeat(np.arange(100), 10), np.repeat(np.arange(5), 20))
    truth = tree.sums(rng.binomial(20, rng.uniform(0.1, 0.5, 100)[tree.parents[0]]))
    reports = drawn(rng, tree, truth[0], [0.4, 0.4, 0.4])
    found = adjust_tree(tree, reports, [1, 1, 1], 0.9)
    held = [((own.low <= x) & (x <= own.high)).mean() for own, x in zip(found.levels, truth, strict=True)]
    assert 0.88 < held[0] < 0.97
    assert 0.82 < held[1] < 0.98
    other = adjusting.round_least_squares(tree, reports, 0.9)
    error = [np.abs(each.levels[0].values - truth[0]).mean() for each in (found, other)]
    assert error[0] < 0.75 * error[1]


def test_the_same_reports_give_the_same_table_every_time():
    rng = np.random.default_rng(12)
    reports = drawn(rng, SMALL, random_leaves(rng, SMALL), [0.5, 0.5, 0.5])
    one, other = (adjust_tree(SMALL, reports, [1, 1, 1], 0.9) for _ in range(2))
    for a, b in zip(one.levels, other.levels, strict=True):
        assert np.array_equal(a.values, b.values)
        assert np.array_equal(a.low, b.low)


def test_a_tree_refuses_sizes_and_parents_that_are_none():
    with rejects(ValueError, "parents", about="siblings"):
        Tree.from_leaves(np.array([1, 1, 1]), np.array([0, 1, 0]))
    with rejects(ValueError, "sizes"):
        Tree((np.array([1, 1]), np.array([3])), (np.array([0, 0]),))
    with rejects(ValueError, "parents", about="fewer"):
        Tree((np.array([1]),), (np.array([0]),))


def test_reports_at_the_ends_have_the_shape_of_the_mechanism():
    """The likelihood used for truncated geometric reports is the certified mechanism's own, at the ends too."""
    made = catalog.truncated_geometric(count(7), "1/2")
    for y in range(8):
        log = GeometricReports(np.array([y]), 0.5).log_likelihood(np.array([0]), np.zeros(1, int), 8)[0]
        np.testing.assert_allclose(np.exp(log - log.max()), made.matrix[y] / made.matrix[y].max(), atol=1e-9)
    assert geometric(np.random.default_rng(1), np.array([3]), np.array([7]), 0.5).variance == pytest.approx(
        catalog.truncated_geometric(count(10**4), "1/2").law.variance(count(10**4))[5000], rel=1e-6
    )


def test_enumeration_itself_agrees_with_the_mechanism():
    tree = Tree.from_leaves(np.array([2, 1]), np.array([0, 0]))
    levels = all_tables(tree)
    assert len(levels[0]) == 6
    reports = [GeometricReports(np.array([1, 1]), 1.0), GeometricReports(np.array([2]), 1.0)]
    away = np.abs(levels[0] - [1, 1]).sum(axis=1) + np.abs(levels[1] - [2]).sum(axis=1)
    np.testing.assert_allclose(likelihood(levels, reports), -away)


def test_a_parent_that_cannot_hold_all_its_children_is_never_exceeded():
    """Leaves that would like to be full give way where together they cannot be so many."""
    tree = Tree((np.array([4, 4, 2]), np.array([5, 2])), (np.array([0, 0, 1]),))
    full = [AbsoluteCost(np.array(sizes), 1.0) for sizes in ([4, 4, 2], [8, 2])]
    leaves, above = best_sums(tree, full)
    assert above.tolist() == [5, 2]
    assert leaves[:2].sum() == 5


class Shapes:
    """A count of the values of shapes that learning computes, in place of computing them."""

    def __init__(self):
        self.values = self.most = 0

    def __call__(self, x, size, rate, spread):
        shape = np.broadcast_shapes(np.shape(x), np.shape(size), np.shape(rate))
        self.values += int(np.prod(shape))
        self.most = max(self.most, int(np.prod(shape)))
        return np.zeros(shape)


@pytest.mark.parametrize("sizes", [[5000] * 6, list(range(5000, 5006)), [2_000_000] * 4, [300, 40_000], [3, 7, 200]])
@pytest.mark.parametrize("rate", [0.05, 0.5, 5.0])
def test_learning_computes_no_more_values_than_the_plan_foretells(sizes, rate, monkeypatch):
    counted, sizes = Shapes(), np.array(sizes)
    monkeypatch.setattr("inbounds.adjust.prior_shapes.log_beta_binomial", counted)
    tree = Tree.from_leaves(sizes, np.repeat([0, 1], len(sizes) // 2 + 1)[: len(sizes)])
    y = sizes * np.arange(len(sizes)) // len(sizes)
    reports = [GeometricReports(y, rate), GeometricReports(tree.sums(y)[1], rate)]
    fit_local_rates(tree, reports)
    assert counted.values <= fitting_cost(tree.sizes[0], reports[0])
    assert counted.most <= 1 << 22


def test_ordinary_plans_are_feasible_and_endless_ones_are_not():
    def found(sizes, rate, parents=1):
        tree = Tree.from_leaves(np.array(sizes), np.arange(len(sizes)) * parents // len(sizes))
        return adjusting.is_feasible(tree, [GeometricReports(tree.sizes[0], rate)] * 2)

    assert found(range(5000, 5020), 0.5, 4)
    assert found([5000] * 100, 0.1, 4)
    assert found([2_000_000] * 4, 0.5, 2)
    assert not found(range(5000, 6500), 0.05, 30)
    assert not found([5000] * 2000, 0.01)


def test_windows_of_the_reports_teach_what_whole_ranges_do(monkeypatch):
    rng, tree = np.random.default_rng(5), Tree.from_leaves(np.array([900, 900, 905, 700]), np.array([0, 0, 1, 1]))
    reports = drawn(rng, tree, rng.binomial(tree.sizes[0], 0.3), [0.7, 0.7])
    near = fit_local_rates(tree, reports)
    monkeypatch.setattr(prior_fit, "window_size", lambda size, far, rates: size + 1)
    whole = fit_local_rates(tree, reports)
    np.testing.assert_allclose(near.rates, whole.rates, atol=1e-9)
    np.testing.assert_allclose(near.weights, whole.weights, atol=1e-9)


def test_intervals_are_the_shortest_runs_by_enumeration():
    mass = np.random.default_rng(6).dirichlet(np.full(9, 0.5), 40)
    low, high = Marginals(np.arange(40), mass).intervals(0.8)
    for node, own in enumerate(mass):
        runs = [(b - a, a) for a in range(9) for b in range(a + 1, 10) if own[a:b].sum() >= 0.8 - 1e-12]
        length, first = min(runs)
        assert (low[node] - node, high[node] - node) == (first, first + length - 1)


@pytest.mark.filterwarnings("error")
def test_a_variance_that_rounds_below_zero_is_zero():
    y, flat = np.array([4, 1, 0]), np.full(5, 0.2)
    tree, prior = (
        Tree.from_leaves(np.full(3, 4), np.zeros(3, int)),
        TablePrior(np.tile(flat, (3, 1, 1)), np.ones((1, 1))),
    )
    found = posterior(tree, [GeometricReports(y, 36.0), GeometricReports(np.array([5]), 36.0)], prior)
    np.testing.assert_allclose(found[0].means(), y, atol=1e-9)


def test_a_tie_is_broken_in_the_same_way_whatever_the_last_bits_are():
    """Four equal siblings share 10 records, two of them one more than the others: the first two."""
    tree, rng = Tree((np.full(4, 9), np.array([36])), (np.zeros(4, np.int64),)), np.random.default_rng(7)
    mass = np.tile(np.bincount([1, 2, 2, 3, 3, 4], minlength=10) / 6, (4, 1))
    for _ in range(20):
        noisy = Marginals(np.zeros(4, np.int64), mass * (1 + rng.uniform(-1e-14, 1e-14, mass.shape)))
        values = best_sums(tree, [PosteriorCost(noisy, 1.0), FixedCost(np.array([10]), 1e6)])
        assert values[0].tolist() == [3, 3, 2, 2]

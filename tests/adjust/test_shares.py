"""Shares of the levels are designed from the plan alone."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from inbounds.adjust.likelihoods import geometric_rate, geometric_variance
from inbounds.adjust.shares import (
    STEPS,
    LevelFacts,
    margin_deviations,
    optimize_shares,
    subtree_variances,
    tree_deviations,
)
from inbounds.adjust.spreads import LEAF_ROOTS, PARENT_ROOTS, mean_square, node_deviation, root_deviation

ONE = Fraction(1)


def levels(epsilon=1.0, weights=(ONE, ONE, ONE), children=(5.0, 4.0), size=20.0):
    """Facts about classes, schools and regions of equal size."""
    sizes = [size, size * children[0], size * children[0] * children[1]]
    deviations = [
        node_deviation(sizes[0], 2, mean_square(LEAF_ROOTS)),
        node_deviation(sizes[1], 2, mean_square(PARENT_ROOTS)),
        root_deviation(sizes[2], 2),
    ]
    rows = zip(weights, deviations, (0.0, *children), sizes, strict=True)
    return [LevelFacts(epsilon, *row) for row in rows]


def objective(facts, shares):
    variances = [geometric_variance(level.epsilon * float(share)) for level, share in zip(facts, shares, strict=True)]
    errors = tree_deviations(facts, variances)
    return sum(float(one.weight) * error / one.deviation for one, error in zip(facts, errors, strict=True))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("children", [(5.0, 4.0), (100.0, 2.0), (2.0, 30.0)])
def test_designed_shares_are_the_best_of_all_on_the_grid(epsilon, children):
    facts = levels(epsilon, (ONE, ONE, Fraction(1, 2)), children)
    found = optimize_shares(facts, tree_deviations)
    assert sum(found) == 1
    least = [int(STEPS * one.weight / 5) for one in facts]
    grid = (
        [Fraction(n, STEPS) for n in (a, b, STEPS - a - b)]
        for a, b in itertools.product(range(least[0], STEPS, 4), range(least[1], STEPS, 4))
        if STEPS - a - b >= least[2]
    )
    assert objective(facts, found) <= min(objective(facts, own) for own in grid) + 1e-9


def test_no_level_gets_less_than_half_of_a_division_by_weight():
    for epsilon, weights in itertools.product((0.01, 0.3, 5.0), ((1, 1, 1), (1, 5, 2), (4, 0, 1))):
        shares = optimize_shares(levels(epsilon, tuple(map(Fraction, weights))), tree_deviations)
        assert all(
            share >= Fraction(weight, 2 * sum(weights)) - Fraction(1, STEPS)
            for share, weight in zip(shares, weights, strict=True)
        )
        assert min(shares) > 0


def test_a_level_of_more_weight_gets_no_less():
    one = optimize_shares(levels(), tree_deviations)
    other = optimize_shares(levels(weights=(ONE, Fraction(5), ONE)), tree_deviations)
    assert other[1] >= one[1]


def test_a_level_without_weight_gets_the_least_step():
    found = optimize_shares(levels(weights=(ONE, Fraction(0), Fraction(0))), tree_deviations)
    assert found == (1 - Fraction(2, STEPS), Fraction(1, STEPS), Fraction(1, STEPS))


def test_the_yardstick_does_not_reward_starving_the_parent():
    """Moving all of a parent's share to its children cannot pass for a gain: the yardsticks stay as they are."""
    facts = levels(0.3)
    starved = [Fraction(198, STEPS), Fraction(1, STEPS), Fraction(1, STEPS)]
    assert objective(facts, optimize_shares(facts, tree_deviations)) < objective(facts, starved)


def test_margins_of_a_two_way_table_both_build_on_its_cells():
    cells = LevelFacts(1.0, ONE, 4.0)
    margin = LevelFacts(1.0, ONE, 6.0, 2.0)
    found = optimize_shares([cells, margin, margin], margin_deviations)
    assert found[1] == found[2]


def test_variances_of_a_balanced_tree_are_those_of_the_joint_normal_distribution():
    """By linear algebra: leaves are a parent's average and differences, everything is normal."""
    children, apart, top, variances = 4, 3.0, 50.0, [2.0, 5.0]
    prior = np.full((children, children), top**2 / children**2) + apart**2 * (np.eye(children) - 1 / children)
    to_reports = np.vstack([np.eye(children), np.ones(children)])
    noise = np.diag([variances[0]] * children + [variances[1]])
    gain = prior @ to_reports.T @ np.linalg.inv(to_reports @ prior @ to_reports.T + noise)
    posterior = prior - gain @ to_reports @ prior
    facts = [
        LevelFacts(1.0, ONE, apart * (1 - 1 / children) ** 0.5),
        LevelFacts(1.0, ONE, top, children),
    ]
    found = tree_deviations(facts, variances)
    assert found[0] ** 2 == pytest.approx(posterior[0, 0])
    assert found[1] ** 2 == pytest.approx(np.ones(children) @ posterior @ np.ones(children))


def test_without_a_prior_the_variances_are_those_of_least_squares():
    from inbounds.adjust.likelihoods import GeometricReports
    from inbounds.adjust.squares import variances_up
    from inbounds.adjust.tree import Tree

    tree = Tree.from_leaves(np.full(20, 10), np.repeat(np.arange(5), 4), np.zeros(5, int))
    rates, facts = [0.4, 0.6, 1.0], levels(children=(4.0, 5.0))
    variances = [geometric_variance(rate) for rate in rates]
    reports = [GeometricReports(np.zeros(len(sizes), int), rate) for sizes, rate in zip(tree.sizes, rates, strict=True)]
    up = [float(level[0]) for level in variances_up(tree, reports)]
    assert subtree_variances(facts, variances) == pytest.approx(up)
    flat = [replace(one, deviation=1e9) for one in facts]
    assert tree_deviations(flat, variances)[-1] ** 2 == pytest.approx(up[-1])


def test_a_rate_has_its_variance():
    for rate in (0.001, 0.3, 5.0):
        assert geometric_rate(geometric_variance(rate)) == pytest.approx(rate)


def test_prior_deviations_are_those_of_drawn_rates():
    """Moments of simulated nodes; seed fixed, five standard errors."""
    generator = np.random.default_rng(5)
    size, labels, spread = 30, 4, 0.1
    rates = generator.dirichlet(np.ones(labels), 200_000)
    mean = rates[:, 0]
    own = generator.beta(mean * (1 / spread - 1), (1 - mean) * (1 / spread - 1))
    apart = (generator.binomial(size, own) - size * mean) ** 2
    assert abs(apart.mean() - node_deviation(size, labels, spread) ** 2) < 5 * apart.std() / len(apart) ** 0.5
    alone = (generator.binomial(size, mean) - size / labels) ** 2
    assert abs(alone.mean() - root_deviation(size, labels) ** 2) < 5 * alone.std() / len(alone) ** 0.5

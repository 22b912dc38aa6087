"""Large counts: the same promises and answers from a noise table, without writing a matrix out."""

import math
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Matrix, Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import with_neighbours
from inbounds.trusted.bounds import TOTAL
from raising import rejects

HAND = Origin("by hand")


@pytest.fixture(scope="module")
def million():
    return ib.catalog.truncated_geometric(ib.count(10**6), 0.5)


def test_a_count_of_a_million_is_certified_as_a_noise_table(million):
    assert isinstance(million.law, Noise)
    assert million.query.shape == (10**6 + 1, 10**6 + 1)
    run = million.law.size - 1 - million.law.half_width
    assert int(million.law.core.sum()) + 2 * run * million.law.floor + 2 * million.law.end == TOTAL
    assert million.tight_epsilon() <= 0.5


def test_a_tampered_table_of_a_million_is_refused(million):
    law = million.law
    core = law.core.copy()
    core[law.half_width] += 2 * (law.end - 1)
    with pytest.raises(ib.PrivacyViolation):
        Mechanism(million.query, Fraction(1, 2), Noise(core, law.floor, 1, law.size), HAND)
    with pytest.raises(ib.InvalidDistribution):
        Mechanism(million.query, Fraction(1, 2), Noise(law.core, law.floor + 1, law.end, law.size), HAND)


@pytest.mark.parametrize("name", ["matrix", "weights"])
def test_a_matrix_of_a_million_is_refused_with_a_way_out(million, name):
    with rejects(ib.TooLarge, "a matrix", about=str(MATRIX_LIMIT)):
        getattr(million, name)


def test_losses_of_a_million_agree_with_the_closed_forms(million):
    """Far from the ends, two-sided geometric noise: E|d| = 2a/(1-a²), Pr[d=0] = (1-a)/(1+a), E d² = 2a/(1-a)².

    The equal weights outside the core hold some 1e-12 of the mass, as far as half a million steps away, which
    the squared error sees: its closed form is met after their share is added.
    """
    a = math.exp(-0.5)
    assert million.loss("absolute") == pytest.approx(2 * a / (1 - a**2), rel=1e-5)
    assert million.loss_per_answer("absolute")[500_000] == pytest.approx(2 * a / (1 - a**2), rel=1e-6)
    law, far = million.law, np.arange(1.0, 500_001)
    outside = far[law.half_width :]
    beyond = (law.size - 1 - 500_000) * law.floor + law.end  # clamped at half a million steps
    share = 2 * ((outside**2).sum() * law.floor + beyond * 500_000.0**2) / TOTAL
    squared = million.loss_per_answer("squared")[500_000]
    assert squared == pytest.approx(2 * a / (1 - a) ** 2 + share, rel=1e-6)
    assert share < 0.02 * squared
    assert million.loss_per_answer("zero-one")[500_000] == pytest.approx(2 * a / (1 + a), rel=1e-9)
    assert million.loss_per_answer("absolute")[0] == pytest.approx(a / (1 - a**2), rel=1e-5)


def test_reports_of_a_million_stay_in_range_and_near_the_truth(million):
    answers = np.array([0, 1, 500_000, 999_999, 10**6] * 20_000)
    reported = million.sample(answers)
    assert reported.min() >= 0
    assert reported.max() <= 10**6
    assert np.abs(reported - answers).max() < 200  # Pr[|d| >= 200] is below 1e-43 a report, the floor's 1e-12
    assert isinstance(million.sample(7), int | np.integer)


@pytest.mark.parametrize(
    "query",
    [
        ib.total(10**5, 0, 3),
        ib.mean(10**4, 1, 5),
        ib.interval(0, 1, "1/100", 10**4),
        ib.ordinal(0, 10**5),
        ib.ordinal(0, 10**4, unit=7),
    ],
)
@pytest.mark.parametrize("epsilon", ["1/10", "3"])
def test_other_large_queries_are_served_too(query, epsilon):
    made = ib.catalog.truncated_geometric(query, epsilon)
    assert isinstance(made.law, Noise)
    low, high = query.answers[0], query.answers[-1]
    middle = query.answers[len(query.answers) // 2]
    reported = made.sample([float(low), float(middle), float(high)] * 100)
    assert reported.min() >= float(low)
    assert reported.max() <= float(high)


@pytest.mark.parametrize(
    "name",
    [
        *("explicit_fair", "folded_geometric", "uniform", "exponential"),
        *("snapped_laplace", "normalized_laplace"),
    ],
)
def test_other_constructions_say_that_a_million_is_too_large(name):
    with rejects(ib.TooLarge, "a matrix", about=str(MATRIX_LIMIT)):
        getattr(ib.catalog, name)(ib.count(10**6), 1)


def test_a_large_extreme_or_coarse_query_is_refused_with_a_reason():
    with rejects(ValueError, "a noise table"):
        ib.catalog.truncated_geometric(ib.extreme(0, 10**5), 1)
    with rejects(ib.TooLarge, "a matrix", about=str(MATRIX_LIMIT)):
        ib.catalog.truncated_geometric(ib.count(2 * 10**4, outputs=1000), 1)


@pytest.mark.long
@pytest.mark.parametrize("rule", [ib.Reach(1), ib.Reach(2), ib.Reach(5), ib.Metric(1), ib.Metric("5/2")])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 20, 100])
def test_the_noise_table_is_the_matrix_on_small_sizes(size, rule):
    """Total variation below 1e-12 between the table written out and the matrix of the same construction."""
    query = with_neighbours(ib.count(size), rule)
    for epsilon in map(Fraction, ("0.01", "0.1", "0.5", "1", "3", "20")):
        table = Mechanism(query, epsilon, make_geometric_noise(query, epsilon), HAND)
        matrix = ib.catalog.truncated_geometric(query, epsilon)
        assert isinstance(matrix.law, Matrix)
        assert np.abs(table.matrix - matrix.matrix).sum(axis=0).max() / 2 < 1e-12, epsilon
        assert table.loss() == pytest.approx(matrix.loss(), rel=1e-9, abs=1e-12), epsilon


@pytest.mark.parametrize("size", [2, 9])
@pytest.mark.parametrize("epsilon", ["1e-9", "1e-6", "64"])
def test_noise_tables_exist_at_the_ends_of_the_epsilon_range(judge, size, epsilon):
    query, bound = ib.count(size), Fraction(epsilon)
    made = Mechanism(query, bound, make_geometric_noise(query, bound), HAND)
    assert judge.certifies(made)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1e-6", "1e-4", "1e-3", "0.01", "1", "64"])
@pytest.mark.parametrize("size", [10**4, 10**5, 10**6])
def test_noise_tables_are_certified_over_sizes_and_epsilons(size, epsilon):
    made = ib.catalog.truncated_geometric(ib.count(size), epsilon)
    reported = made.sample([0, size // 2, size] * 100)
    assert 0 <= reported.min() <= reported.max() <= size


def test_a_range_too_wide_to_design_for_is_refused_before_it_takes_memory():
    with rejects(ib.TooLarge, "a range", about="16777216"):
        ib.optimal(ib.count(10**8 - 1), 1)
    assert 0 <= ib.catalog.truncated_geometric(ib.count(10**8 - 1), 1).sample(5) < 10**8

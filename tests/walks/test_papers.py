"""The papers' numbers, from the integer matrices; and what one of them got wrong, exposed."""

import math
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.trusted.bounds import TOTAL

# --- 000: range constraints -------------------------------------------------------------------------------


def test_000_table_1_laplace_snapped_to_one_to_five():
    """Epsilon 1, sensitivity 4: the printed first row, and its mirror image as the last."""
    made = ib.catalog.snapped_laplace(ib.extreme(1, 5), 1)
    assert made.matrix[0].round(3).tolist() == [0.559, 0.441, 0.344, 0.268, 0.208]
    assert made.matrix[4].round(3).tolist() == [0.208, 0.268, 0.344, 0.441, 0.559]
    assert made.matrix[0, 4] == pytest.approx(math.exp(-3.5 / 4) / 2, abs=1e-12)
    assert made.matrix[1, 4] == pytest.approx((math.exp(-2.5 / 4) - math.exp(-3.5 / 4)) / 2, abs=1e-12)


# --- 003: constrained mechanisms for counts ---------------------------------------------------------------


def test_003_mean_probability_of_the_truth_for_four_people():
    epsilon = ib.epsilon_from_alpha("10/11")
    geometric = ib.catalog.truncated_geometric(ib.count(4), epsilon)
    fair = ib.catalog.explicit_fair(ib.count(4), epsilon)
    assert geometric.truth_probability().mean() == pytest.approx(0.2381, abs=5e-5)
    assert fair.truth_probability().mean() == pytest.approx(0.2237, abs=5e-5)
    a = 10 / 11
    assert geometric.truth_probability().mean() == pytest.approx((2 / (1 + a) + 3 * (1 - a) / (1 + a)) / 5, abs=1e-12)
    assert fair.truth_probability() == pytest.approx([(1 - a) / (1 + a - 2 * a**3)] * 5, abs=1e-12)


@pytest.mark.parametrize("a", ["1/3", "1/2", "2/3", "10/11"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 19, 20, 21, 30])
def test_003_gm_is_weakly_honest_from_two_a_over_one_minus_a_people_on(n, a):
    """At equality Pr[truth] is 1/(n+1) exactly, which the integers meet to a few units."""
    alpha = Fraction(a)
    made = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(a))
    if n == 1:  # both outputs are ends: the truth always has probability 1/(1+a) > 1/2
        assert made.properties()["weakly_honest"]
        return
    threshold = 2 * alpha / (1 - alpha)
    assert bool(made.properties()["weakly_honest"]) == (n >= threshold)


@pytest.mark.parametrize(("a", "monotone"), [("1/3", True), ("0.499", True), ("0.501", False), ("2/3", False)])
@pytest.mark.parametrize("n", [2, 3, 8, 20])
def test_003_gm_is_column_monotone_exactly_up_to_alpha_one_half(n, a, monotone):
    made = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(a))
    assert bool(made.properties()["column_monotone"]) == monotone
    assert made.properties()["row_monotone"]


@pytest.mark.parametrize("a", ["1/3", "2/3", "10/11"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_003_em_has_all_seven_properties(n, a):
    held = ib.catalog.explicit_fair(ib.count(n), ib.epsilon_from_alpha(a)).properties()
    assert len(held) == 7
    assert all(held.values()), {name: str(how) for name, how in held.items()}


@pytest.mark.parametrize("a", ["1/2", "10/11"])
def test_003_gm_tells_the_truth_most_often_and_um_least(a):
    query, epsilon = ib.count(8), ib.epsilon_from_alpha(a)
    scores = [
        getattr(ib.catalog, name)(query, epsilon).exact_loss("zero-one")
        for name in ("truncated_geometric", "explicit_fair", "uniform")
    ]
    assert scores == sorted(scores)
    assert abs(scores[2] - Fraction(8, 9)) < Fraction(1, 10**15)


# --- 004: closed-form losses ------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_004_losses_of_noise_far_from_the_ends_have_closed_forms(epsilon):
    """(11)-(15) with unit sensitivity, at the centre of a range so wide that its ends do not matter."""
    e = float(Fraction(epsilon))
    a, root = math.exp(-e), math.exp(-e / 2)
    query = ib.count(240)
    centre = 120
    geometric = ib.catalog.truncated_geometric(query, epsilon).loss_per_answer()[centre]
    assert geometric == pytest.approx(2 * a / (1 - a**2), rel=1e-9)
    rounded_laplace = ib.catalog.snapped_laplace(query, epsilon).loss_per_answer()[centre]
    assert rounded_laplace == pytest.approx(root / (1 - a), rel=1e-9)
    rounded_staircase = ib.catalog.snapped_staircase(query, epsilon).loss_per_answer()[centre]
    assert rounded_staircase == pytest.approx((1 - (1 - root) ** 2 / 2) * root / (1 - a), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["2", "4"])
def test_004_losses_of_continuous_noise_are_met_by_fine_cells(epsilon):
    """Laplace 1/epsilon and staircase sqrt(a)/(1-a): cells of 1/21 miss them by the square of the cell width."""
    e = float(Fraction(epsilon))
    a, root = math.exp(-e), math.exp(-e / 2)
    query = ib.interval(0, 11, 1, 11 * 21)
    centre = len(query.answers) // 2
    laplace = ib.catalog.snapped_laplace(query, epsilon).loss_per_answer()[centre]
    staircase = ib.catalog.snapped_staircase(query, epsilon).loss_per_answer()[centre]
    assert laplace == pytest.approx(1 / e, rel=5e-3)
    assert staircase == pytest.approx(root / (1 - a), rel=2e-2)
    assert staircase < laplace


# --- 002: truncated and normalized Laplace ----------------------------------------------------------------


def scale_of(made) -> float:
    return float(made.origin.parameters["scale"])


@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_002_plain_scale_tends_to_sensitivity_over_epsilon_when_it_equals_the_range(epsilon):
    """Cells only average the density, so the scale rises towards that of real-valued outputs as they shrink."""
    e = float(Fraction(epsilon))
    scales = [scale_of(ib.catalog.normalized_laplace(ib.interval(0, 1, 1, k), epsilon)) for k in (10, 20, 40, 80)]
    assert scales == sorted(scales)
    errors = [1 / e - scale for scale in scales]
    assert all(error > 0 for error in errors)
    assert errors[-1] < 0.03 / e
    assert errors[-1] / errors[-2] == pytest.approx(1 / 2, rel=0.1)  # first order in the cell width


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1/2", "1"])
def test_002_plain_scale_tends_to_the_half_line_form(epsilon):
    """s = sens / ln((1 + e^epsilon)/2) on a half-line: a long range whose last cell stands for the rest."""
    e = float(Fraction(epsilon))
    limit = 1 / math.log((1 + math.exp(e)) / 2)
    scales = []
    for per_unit in (4, 8, 16):
        query = ib.interval(0, 12, 1, 12 * per_unit)
        scales.append(scale_of(ib.catalog.normalized_laplace(query, epsilon, unbounded="above")))
    errors = [abs(limit - scale) / limit for scale in scales]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.06


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1/2", "1", "3"])
@pytest.mark.parametrize("unbounded", [None, "above"])
def test_002_metric_scale_is_twice_sensitivity_over_epsilon_on_an_interval(epsilon, unbounded):
    query = ib.interval(0, 8, 2, 16)
    made = ib.catalog.normalized_laplace(query, epsilon, notion="metric", unbounded=unbounded)
    assert scale_of(made) <= 2 * 2 / float(Fraction(epsilon)) * (1 + 1e-9)
    plain = ib.catalog.normalized_laplace(query, epsilon, unbounded=unbounded)
    assert scale_of(plain) < scale_of(made)
    if unbounded is None:
        long = ib.catalog.normalized_laplace(ib.interval(0, 800, 2, 400), epsilon, notion="metric")
        assert scale_of(long) == pytest.approx(4 / float(Fraction(epsilon)), rel=1e-6)


@pytest.mark.parametrize("holes", [[], [(2, 4)], [(1, 2), (4, 6)]])
def test_002_metric_scale_keeps_metric_privacy_between_all_cells(holes):
    """The paper's stronger promise, checked pair by pair: epsilon for every sensitivity of distance."""
    query = ib.interval(0, 8, 2, 16, holes=holes)
    matrix = ib.catalog.normalized_laplace(query, 1, notion="metric").matrix
    answers = query.answers.floats()
    for j in range(len(answers)):
        for k in range(j):
            loss = np.abs(np.log(matrix[:, j] / matrix[:, k])).max()
            assert loss <= abs(answers[j] - answers[k]) / 2 + 1e-9


def half_line_loss(steps: int, epsilon=1) -> float:
    """The audited loss between the two answers next to the constraint, on a range of `steps` sensitivities."""
    query = ib.count(steps)
    return ib.audit(ib.catalog.refuted_half_line(query, epsilon), query).epsilon


def test_002_theorem_1_is_refuted_its_loss_grows_linearly_with_the_range():
    losses = {steps: half_line_loss(steps) for steps in (25, 50, 100, 200)}
    assert losses[100] > 13
    assert losses[50] - losses[25] == pytest.approx((losses[100] - losses[50]) / 2, rel=0.02)
    assert losses[100] - losses[50] == pytest.approx((losses[200] - losses[100]) / 2, rel=0.02)


@pytest.mark.parametrize("epsilon", ["1/2", "1"])
def test_002_theorem_1_is_refused_by_certify(epsilon):
    query = ib.count(100)
    matrix = ib.catalog.refuted_half_line(query, epsilon)
    assert ib.audit(matrix, query).epsilon > 5 * float(Fraction(epsilon))
    assert np.abs(matrix.sum(axis=0) - 1).max() < 1e-9
    with pytest.raises(ib.PrivacyViolation):
        ib.certify(matrix, query, epsilon)


def test_002_theorem_1_breaks_its_promise_between_the_first_two_answers():
    query = ib.count(100)
    matrix = ib.catalog.refuted_half_line(query, 1)
    assert abs(math.log(matrix[100, 0] / matrix[100, 1])) > 13


# --- identities between the papers ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_geometric_and_binary_response_coincide_for_one_person(epsilon):
    names = ("truncated_geometric", "randomized_response", "explicit_fair")
    matrices = [getattr(ib.catalog, name)(ib.count(1), epsilon).weights for name in names]
    assert np.abs(matrices[0] - matrices[1]).max() <= 2**62 * 1e-14
    assert np.abs(matrices[0] - matrices[2]).max() <= 2**62 * 1e-14


def test_prerounding_into_single_answers_is_the_truncated_geometric():
    query = ib.count(5)
    coarse = ib.catalog.prerounded_geometric(query, 1, [Fraction(2 * k - 1, 2) for k in range(7)])
    assert np.abs(coarse.weights - ib.catalog.truncated_geometric(query, 1).weights).max() <= TOTAL * 1e-14


def test_001_geometric_under_metric_privacy_is_the_geometric_of_counts():
    assert np.array_equal(
        ib.catalog.truncated_geometric(ib.ordinal(0, 9), 1).weights,
        ib.catalog.truncated_geometric(ib.count(9), 1).weights,
    )

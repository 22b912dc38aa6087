"""Noise of the caller's choice kept in range, scales for every answer, and the scale of real answers."""

import math

import numpy as np
import pytest
from scipy.stats import cauchy, laplace

import inbounds as ib
from inbounds.catalog.scales import cut_masses, find_plain_loss, kept_mass, smallest_scale
from raising import rejects

INF = math.inf


def losses(spans, answers, scale):
    """|f - g|/s + |ln N(f)/N(g)| of all pairs, with N from SciPy's Laplace distribution."""
    mass = sum(laplace.cdf(high, answers, scale) - laplace.cdf(low, answers, scale) for low, high in spans)
    apart, log = np.abs(np.subtract.outer(answers, answers)), np.log(mass)
    return apart, apart / scale + np.abs(np.subtract.outer(log, log))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_the_scale_of_a_half_line_has_a_closed_form(epsilon):
    """002: 2·sensitivity/epsilon for metric privacy; sensitivity/ln((1 + e^epsilon)/2) for plain privacy."""
    e = float(epsilon)
    for spans in ([(0, INF)], [(-INF, 7)]):
        assert ib.find_scale(spans, 3, epsilon, "metric") == pytest.approx(6 / e, rel=1e-10)
        assert ib.find_scale(spans, 3, epsilon) == pytest.approx(3 / math.log((1 + math.exp(e)) / 2), rel=1e-10)
    assert ib.find_scale([(-INF, INF)], 3, epsilon) == pytest.approx(3 / e, rel=1e-10)
    assert ib.find_scale([(2, 5)], 3, epsilon) == pytest.approx(3 / e, rel=1e-10)  # one answer to the other end


SPANS = [
    [(0.0, 4.0)],
    [(0.0, 3.37), (5.0, 10.1)],
    [(-INF, 0.0), (0.3, 0.55), (2.0, INF)],
    [(0.0, 0.1), (0.15, 0.4), (1.9, 2.2)],
]


@pytest.mark.parametrize("spans", SPANS)
@pytest.mark.parametrize("scale", [0.4, 1.1, 2.5])
def test_the_largest_loss_is_that_of_the_worst_pair_of_real_answers(spans, scale):
    """Against all pairs of a grid, which come near it from below; the grid holds pairs a sensitivity apart."""
    ends = np.array(spans).ravel()
    ends = ends[np.isfinite(ends)]
    grids = [np.arange(max(low, -6), min(high, 8) + 1e-9, 0.01) for low, high in spans]
    at = np.unique(np.concatenate([*grids, ends, ends - 1, ends + 1]))
    at = at[np.any([(low <= at) & (at <= high) for low, high in spans], axis=0)]
    apart, loss = losses(spans, at, scale)
    found = find_plain_loss(np.array(spans), scale, 1.0)
    assert loss[apart <= 1 + 1e-9].max() <= found + 1e-9
    assert loss[apart <= 1 + 1e-9].max() > found - 0.01 / scale


@pytest.mark.parametrize("spans", SPANS)
def test_a_scale_is_least_and_the_grids_tends_to_it(spans):
    scale = ib.find_scale(spans, 1, 1)
    assert find_plain_loss(np.array(spans), scale, 1.0) == pytest.approx(1, abs=1e-9)
    metric = ib.find_scale(spans, 1, 1, "metric")
    assert scale <= metric <= 2 + 1e-9
    at = np.concatenate([np.linspace(max(low, -6), min(high, 8), 301) for low, high in spans])
    apart, loss = losses(spans, at, metric)
    assert (loss <= apart + 1e-9).all()


def test_the_scale_on_a_grid_rises_to_that_of_real_answers():
    found = [
        float(ib.catalog.normalized_laplace(ib.interval(0, 4, 1, cells), 1).origin.parameters["scale"])
        for cells in (8, 32, 128)
    ]
    limit = ib.find_scale([(0, 4)], 1, 1)
    assert found[0] < found[1] < found[2] < limit
    assert limit - found[2] < 0.3 * (limit - found[1])


def test_masses_cut_off_on_either_side_and_kept_make_one():
    spans, at = np.array(SPANS[1]), np.array([0.0, 1.2, 5.0, 10.1])
    left, right = cut_masses(spans, at, 1.3)
    assert left + right + kept_mass(spans, at, 1.3) == pytest.approx(1)
    assert left[0] == pytest.approx(0.5)
    assert right[-1] == pytest.approx(0.5)


def test_bisection_returns_a_scale_that_passes():
    assert smallest_scale(lambda scale: scale >= 1.25, 1.0) == pytest.approx(1.25, rel=1e-13)
    assert smallest_scale(lambda scale: scale >= 1.25, 1.0) >= 1.25


@pytest.mark.parametrize("spans", [[], [(1, 0)], [(0, INF), (3, 4)], [(0, math.nan)], [(0, 2), (1, 3)]])
def test_spans_out_of_order_are_refused(spans):
    with rejects(ValueError, "spans"):
        ib.find_scale(spans, 1, 1)


def test_other_notions_and_sensitivities_are_refused():
    with rejects(ValueError, "notion"):
        ib.find_scale([(0, 1)], 1, 1, "both")
    with rejects(ValueError, "sensitivity"):
        ib.find_scale([(0, 1)], 0, 1)


# --- a scale for every answer -----------------------------------------------------------------------------


def test_scales_of_their_own_are_certified_and_err_less_than_one():
    query = ib.interval(0, 4, 1, cells=12)
    one, each = ib.catalog.normalized_laplace(query, 1), ib.catalog.scaled_laplace(query, 1)
    scales = [float(scale) for scale in each.origin.parameters["scales"].split()]
    assert each.tight_epsilon() <= 1
    assert each.loss() < one.loss()
    assert ib.catalog.scaled_laplace(query, 1, scales) == each
    assert max(scales) <= float(one.origin.parameters["scale"])


def test_equal_scales_are_the_normalized_mechanism_and_theorem_1s_are_refused():
    query = ib.interval(0, 4, 1, cells=12)
    one = ib.catalog.normalized_laplace(query, 1)
    same = ib.catalog.scaled_laplace(query, 1, [float(one.origin.parameters["scale"])] * 12)
    assert np.abs(same.matrix - one.matrix).max() < 1e-12
    with pytest.raises(ib.PrivacyViolation):
        ib.catalog.scaled_laplace(query, 1, [1.6, *[1.1] * 11])
    with rejects(ValueError, "scales"):
        ib.catalog.scaled_laplace(query, 1, [1.0])


# --- snapping ---------------------------------------------------------------------------------------------


def test_snapping_serves_any_distribution_and_agrees_with_the_named_ones():
    query = ib.mean(5, 0, 4)
    snapped = ib.catalog.snapped_noise(query, 1, laplace(scale=float(query.sensitivity)).cdf, "laplace")
    assert np.abs(snapped.matrix - ib.catalog.snapped_laplace(query, 1).matrix).max() < 1e-12
    assert snapped.origin.parameters == {"noise": "laplace"}
    heavy = ib.catalog.snapped_noise(query, 1, cauchy(scale=2 * float(query.sensitivity)).cdf)
    assert heavy.tight_epsilon() < 1


def test_noise_that_is_not_private_or_no_distribution_is_refused():
    query = ib.extreme(1, 5)
    with pytest.raises(ib.PrivacyViolation):
        ib.catalog.snapped_noise(query, 1, laplace(scale=3.9).cdf)
    with rejects(ValueError, "cdf"):
        ib.catalog.snapped_noise(query, 1, lambda x: laplace.cdf(-x))
    with rejects(TypeError, "cdf"):
        ib.catalog.snapped_noise(query, 1, 0.5)


def test_staircase_noise_serves_means_of_thousands():
    """Beyond the limit of matrices: private, tight, and within two percent of the loss on an endless range."""
    query = ib.mean(2000, 0, 4)
    made = ib.catalog.snapped_staircase(query, 1)
    assert made.tight_epsilon() == pytest.approx(1, abs=1e-9)
    error = ib.catalog.unbounded.expected_error("staircase", 1) * float(query.sensitivity)
    assert 0.98 * error < made.loss() < error
    assert made.loss() < ib.catalog.truncated_geometric(query, 1).loss()

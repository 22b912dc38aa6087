"""What "Differential privacy via a truncated and normalized Laplace mechanism" claims, and where it is wrong."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds_studies import find
from inbounds_studies.paper_002 import INF, SHOWN, density, feasible, kept
from inbounds_studies.paper_002_scales import BY_RANGE, BY_REPORT, ONE, REFUTED, half_line_scales
from inbounds_studies.style import OPTIMAL

HALF_LINE = ((0.0, INF),)


def integral(values, step):
    return float((values[1:] + values[:-1]).sum() / 2 * step)


# --- Figure 2 ---------------------------------------------------------------------------------------------


def test_the_normalized_density_integrates_to_one_and_vanishes_where_constrained():
    x = np.linspace(-4, 4, 800_001)
    y = density(SHOWN, x, 0.0, 1.0)
    assert integral(y, x[1] - x[0]) == pytest.approx(1, abs=1e-4)
    inside = np.any([(low <= x) & (x <= high) for low, high in SHOWN], axis=0)
    assert (y[~inside] == 0).all()


@pytest.mark.parametrize(("low", "high", "at", "scale"), [(0.0, 4.0, 1.0, 2.0), (-1.0, 3.0, -1.0, 0.5)])
def test_the_mass_of_an_interval_has_a_minus_in_both_exponents(low, high, at, scale):
    """000 (22) prints the second without it; then the "mass" would exceed one or be negative."""
    found = float(kept([(low, high)], np.array([at]), scale)[0])
    assert found == pytest.approx((2 - math.exp(-(at - low) / scale) - math.exp(-(high - at) / scale)) / 2)
    printed = (2 - math.exp(-(at - low) / scale) - math.exp((high - at) / scale)) / 2
    assert not 0 < printed < 1


def test_normalizing_at_the_laplace_scale_is_not_private():
    """Section 3.6: 2·e^epsilon - 1 > e^epsilon for every epsilon."""
    for epsilon in (0.1, 1.0, 3.0):
        x, log_mass = np.linspace(0, 1, 101), math.log(2 * math.exp(epsilon) - 1) - epsilon  # N(1)/N(0) at 1/epsilon
        assert epsilon + log_mass > epsilon + 0.04
        here, there = (density(HALF_LINE, x, at, 1 / epsilon) for at in (0.0, 1.0))
        assert np.abs(np.log(here / there)).max() == pytest.approx(math.log(2 * math.exp(epsilon) - 1))
        assert ib.find_scale(HALF_LINE, 1, str(epsilon)) > 1.05 / epsilon
    pictured = ib.find_scale(SHOWN, 1, 1)
    assert pictured == pytest.approx(1.479, abs=5e-4)


# --- Table 2 ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scales():
    return find("002-table2").run(quick=True).table


def test_the_papers_scale_at_the_constraint_is_1_586(scales):
    assert scales.number("paper", configuration="half-line") == pytest.approx(1.586, abs=5e-4)


def test_one_scale_for_the_half_line_must_be_larger_than_the_papers(scales):
    """Metric privacy needs 2, plain privacy 1/ln((1+e)/2) = 1.613, in units of sensitivity/epsilon at epsilon 1."""
    assert scales.number("metric", configuration="half-line") == pytest.approx(2, abs=1e-4)
    assert scales.number("plain", configuration="half-line") == pytest.approx(1 / math.log((1 + math.e) / 2), abs=1e-4)


def test_scales_keep_the_bounds_of_each_class(scales):
    """Lemma 10 and Corollary 1: below 2 for finite constraints, at most 2 for all."""
    assert (scales.where(**{"class": "finite"}).numbers("metric") < 2).all()
    assert (scales.where(**{"class": "arbitrary"}).numbers("metric") <= 2 + 1e-5).all()
    assert (scales.numbers("plain") <= scales.numbers("metric") + 1e-6).all()


def test_plain_privacy_needs_no_more_than_laplace_when_the_sensitivity_is_the_range(scales):
    assert scales.number("plain", configuration="interval, width 1") == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("spans", [((0.0, 4.0),), ((0.0, 3.0), (5.0, 10.0)), ((0.0, 1.0),)])
def test_the_catalog_finds_the_same_metric_scale_from_the_papers_inequalities(spans):
    """Sections 4.2 and 4.3 are right for metric privacy: 3n + 2 bounds against every pair of answers on a grid."""
    query = feasible(spans, 1.0, 20)
    made = ib.catalog.normalized_laplace(query, 1, notion="metric")
    scale = float(made.origin.parameters["scale"]) / float(query.sensitivity)
    assert scale == pytest.approx(ib.find_scale(spans, 1, 1, "metric"), rel=1e-9)
    assert not _metric_on_a_grid(spans, scale * (1 - 1e-3))
    assert _metric_on_a_grid(spans, scale)


def _metric_on_a_grid(spans, scale):
    """Every pair of a grid of answers, at epsilon 1 and sensitivity 1: |f-g|/s + |ln N(f)/N(g)| <= |f-g|."""
    near = [end + way * 1e-5 for low, high in spans for end, way in ((low, 1), (high, -1))]
    at = np.unique([*near, *(x for low, high in spans for x in np.linspace(low, high, 81))])
    log, apart = np.log(kept(spans, at, scale)), np.abs(at[:, None] - at[None, :])
    return bool((apart / scale + np.abs(log[:, None] - log[None, :]) <= apart + 1e-12).all())


def test_the_optimum_has_less_error_than_either_scale_allows(scales):
    for row in scales:
        if row["error_optimal"] is not None:
            assert row["error_optimal"] < row["error_plain"] < row["error_metric"]


# --- Theorem 1 --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refuted():
    return find("002-theorem1").run().table


def test_the_log_ratio_of_theorem_1_passes_13_at_100_sensitivities(refuted):
    assert refuted.number("value", panel=BY_REPORT, mechanism=REFUTED, x=100.0) > 13


def test_the_log_ratio_grows_without_bound_at_the_difference_of_the_inverse_scales(refuted):
    first, second = half_line_scales(1.0, 1.0, 1.0)
    rows = refuted.where(panel=BY_REPORT, mechanism=REFUTED)
    growth = np.diff(rows.numbers("value")[-20:]) / np.diff(rows.numbers("x")[-20:])
    assert second < first
    assert np.allclose(growth, 1 / second - 1 / first)


def test_one_scale_for_all_answers_keeps_the_promise_everywhere(refuted):
    assert refuted.where(panel=BY_REPORT, mechanism=ONE).numbers("value").max() <= 1 + 1e-6
    assert refuted.where(panel=BY_RANGE, mechanism=ONE).numbers("value").max() <= 1 + 1e-12


def test_the_audit_finds_more_loss_the_longer_the_range(refuted):
    audited = refuted.where(panel=BY_RANGE, mechanism=REFUTED).numbers("value")
    assert (np.diff(audited[3:]) > 1).all()
    assert audited[-1] > 7


def test_the_checker_refuses_the_matrix_of_theorem_1():
    query = ib.count(60)
    with pytest.raises(ib.PrivacyViolation):
        ib.certify(ib.catalog.refuted_half_line(query, 1), query, 1)


# --- plain against metric ---------------------------------------------------------------------------------


def test_snapping_beats_normalizing_on_wide_ranges_unless_privacy_is_strong():
    table = find("002-scales").run(epsilons=("0.1", "1"), ratios=(10.0,), fineness=4).table
    found = {(row["epsilon"], row["mechanism"]): row["value"] for row in table}
    assert found[1.0, "snapped Laplace"] < found[1.0, "normalized, plain privacy"]
    assert found[0.1, "snapped Laplace"] > found[0.1, "normalized, plain privacy"]


def test_plain_scales_grow_from_the_laplace_scale_to_that_of_the_half_line():
    table = find("002-scales").run(epsilons=("1", "3"), ratios=(1.0, 2.0, 10.0), fineness=2).table
    for epsilon in (1.0, 3.0):
        plain = table.where(epsilon=epsilon, mechanism="normalized, plain privacy").numbers("scale")
        limit = epsilon / math.log((1 + math.exp(epsilon)) / 2)
        assert plain[0] == pytest.approx(1, abs=1e-5)
        assert plain[0] < plain[1] < plain[2] <= limit + 1e-5
        assert plain[2] == pytest.approx(limit, rel=5e-3)
        metric = table.where(epsilon=epsilon, mechanism="normalized, metric privacy (paper)").numbers("scale")
        assert np.allclose(metric, 2, atol=1e-4)


def test_at_one_cell_width_the_optimums_error_grows_with_the_range():
    """With as many cells at every range it seemed to fall from 0.215 to 0.185: the cells had grown wider."""
    table = find("002-scales").run(epsilons=("3",), ratios=(6.0, 10.0), fineness=20).table
    assert set(table.column("effective_sensitivity")) == {1.0}
    best = table.where(mechanism=OPTIMAL).numbers("value")
    assert (np.diff(best) > 0).all()
    assert best[-1] == pytest.approx(0.2206, abs=5e-5)


# --- reports as fine as one likes -------------------------------------------------------------------------


def test_fine_reports_have_the_papers_density_and_reveal_what_their_nodes_do():
    query = ib.interval(0, 4, 1, cells=8, holes=[(1, 2)])
    made = ib.catalog.fine_laplace(query, 1, step="1/64")
    laws = [made.probabilities(answer) for answer in query.answers]
    for answer, law in zip(query.answers, laws, strict=True):
        density = np.array([math.exp(-abs(float(x - answer)) / made.scale) / (1 + (x in (0, 1, 2, 4))) for x in law])
        assert np.array([*map(float, law.values())]) == pytest.approx(density / density.sum(), rel=1e-12)
    worst = max(math.log(laws[j][x] / laws[k][x]) for j, k in query.neighbours.pairs(query.answers) for x in laws[0])
    assert worst == pytest.approx(made.nodes.tight_epsilon(), rel=1e-9)

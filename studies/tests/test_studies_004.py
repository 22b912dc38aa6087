"""What "Oblivious mechanisms in differential privacy" claims, and what its side information really buys."""

import math
from itertools import pairwise

import numpy as np
import pytest

from inbounds_studies import find, noise
from inbounds_studies.noise import GEOMETRIC, LAPLACE, STAIRCASE
from inbounds_studies.paper_004 import (
    BLIND,
    BOUNDED,
    COUNT,
    KNOWN,
    MAX,
    MEAN,
    PREROUNDED,
    blind_error,
    floor,
    heuristic_error,
    rounded,
)
from inbounds_studies.paper_004_collusion import APPROXIMATION, COMPOSED, EXACT
from inbounds_studies.style import OPTIMAL

LEVELS = (0.05, 0.3, 0.5, 0.9)


def by_integration(name, a, of, reach=400, step=1e-3):
    """Expected value of `of(noise)`, by summing the density in the middle of small cells."""
    x = (np.arange(-reach / step, reach / step) + 0.5) * step
    p = noise.density(name, a, x) * step
    return float(of(x) @ p), float(p.sum())


# --- the three kinds of noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("a", LEVELS)
@pytest.mark.parametrize("name", [LAPLACE, STAIRCASE])
def test_densities_integrate_to_one_and_to_the_closed_forms(name, a):
    """(6) with its epsilon in the exponent, (8), and the losses (11), (12), (14), (15)."""
    for whole in (False, True):
        error, mass = by_integration(name, a, lambda x, whole=whole: np.abs(np.rint(x) if whole else x))
        assert mass == pytest.approx(1, abs=2e-3)
        assert error == pytest.approx(noise.expected_error(name, a, whole), rel=3e-3)


@pytest.mark.parametrize("a", LEVELS)
def test_the_geometric_masses_sum_to_one_only_with_the_normalizer_turned_over(a):
    """(7) and (10) print (1+a)/(1-a)."""
    x = np.arange(-4000, 4001) * 0.5
    mass = noise.grid_mass(a, 0.5, x)
    assert mass.sum() == pytest.approx(1)
    b = a**0.5
    assert (mass * ((1 + b) / (1 - b)) ** 2).sum() > 1.5
    whole = noise.grid_mass(a, 1.0, np.arange(-4000.0, 4001))
    assert np.abs(np.arange(-4000, 4001)) @ whole == pytest.approx(noise.expected_error(GEOMETRIC, a, True))


@pytest.mark.parametrize("name", [LAPLACE, STAIRCASE, GEOMETRIC])
def test_draws_follow_their_law(name):
    """Shares of twelve ranges, a million draws, six standard deviations each (fixed seed)."""
    a, edges = 0.4, np.linspace(-3, 3, 13) + 0.25
    drawn = noise.draw(name, a, (1_000_000,), np.random.default_rng(5))
    for low, high in pairwise(edges):
        if name == GEOMETRIC:
            inside = np.arange(math.ceil(low), math.floor(high) + 1)
            p = float(noise.grid_mass(a, 1.0, inside.astype(float)).sum())
        else:
            x = np.linspace(low, high, 4001)
            p = float(noise.density(name, a, (x[1:] + x[:-1]) / 2).sum() * (x[1] - x[0]))
        share = float(((drawn >= low) & (drawn <= high)).mean())
        assert abs(share - p) < 6 * math.sqrt(p * (1 - p) / 1e6) + 1e-4, low


# --- Figure 3 ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tradeoff():
    return find("004-fig3").run(quick=True, runs=200_000).table


def test_simulated_losses_agree_with_the_closed_forms(tradeoff):
    """Six standard errors over 200,000 runs; exact lines have none."""
    for row in tradeoff:
        assert abs(row["value"] - row["theory"]) <= 6 * row["standard_error"] + 1e-12, row


def test_staircase_beats_laplace_and_the_difference_vanishes_from_alpha_one_half_on():
    """Section 5.1.1, from the closed forms at every alpha."""
    for a in np.linspace(0.01, 0.99, 99):
        laplace, staircase = (noise.expected_error(name, a, False) for name in (LAPLACE, STAIRCASE))
        assert staircase < laplace
        if a >= 0.5:
            assert laplace < 1.021 * staircase


def test_geometric_is_best_for_counts():
    for a in np.linspace(0.01, 0.99, 99):
        found = [noise.expected_error(name, a, True) for name in (GEOMETRIC, STAIRCASE, LAPLACE)]
        assert found == sorted(found)


def test_for_counts_in_range_there_is_hardly_anything_left_beyond_geometric(tradeoff):
    for a in (0.1, 0.3, 0.5):
        found = {row["mechanism"]: row["theory"] for row in tradeoff.where(query=COUNT, alpha=a)}
        assert 0.97 * found[GEOMETRIC] < found[OPTIMAL] < found[GEOMETRIC]


@pytest.mark.parametrize("query", [MEAN, MAX])
def test_the_heuristic_beats_staircase_from_alpha_0_01_to_one_half(query):
    """Section 5.2.3: both priors, closed form of the heuristic against (12)."""
    for a in np.linspace(0.01, 0.5, 50):
        assert heuristic_error(query, a, 100) < noise.expected_error(STAIRCASE, a, False)


@pytest.mark.parametrize(("query", "crossing"), [(MEAN, 0.00918), (MAX, 0.000425)])
def test_below_a_small_alpha_staircase_wins_again(query, crossing):
    """The rounding error stays when the noise goes; the paper's range of alpha does not show it."""

    def ahead(a):
        return heuristic_error(query, a, 100) < noise.expected_error(STAIRCASE, a, False)

    assert ahead(1.01 * crossing)
    assert not ahead(0.99 * crossing)


@pytest.mark.parametrize("query", [MEAN, MAX])
def test_a_constant_that_ignores_the_data_beats_the_heuristic_at_every_alpha(query):
    """The priors are so narrow against the sensitivity that their median alone errs less than any noisy answer."""
    for a in np.linspace(0.0001, 0.5, 50):
        assert blind_error(query, 100) <= heuristic_error(query, a, 100) + 1e-7


def test_the_optimum_for_the_prior_is_below_everything(tradeoff):
    for query in (MEAN, MAX):
        for a in tradeoff.distinct("alpha"):
            found = {row["mechanism"]: row["theory"] for row in tradeoff.where(query=query, alpha=a)}
            assert found[KNOWN] <= found[BLIND] + 1e-9
            assert found[BOUNDED] < found[PREROUNDED]


# --- Figure 4 ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collusion():
    return find("004-fig4").run(colluders=(1, 5, 20, 50, 200), runs=2000).table


def loss(table, query, name, k, kind):
    return table.number("value", query=query, mechanism=name, colluders=k, kind=kind)


def test_the_median_of_many_follows_the_large_k_approximation(collusion):
    """(16) and (17): within a tenth from 50 colluders on."""
    for name in (LAPLACE, STAIRCASE):
        for k in (50, 200):
            seen, theory = (loss(collusion, MEAN, name, k, kind) for kind in ("simulated", APPROXIMATION))
            assert seen == pytest.approx(theory, rel=0.1)


@pytest.mark.parametrize("k", [1, 2, 3, 10, 50])
def test_on_whole_numbers_the_median_of_an_even_number_of_reports_is_the_lower_one(k):
    """Halves rounded to even would be the truth, and the curve too low at every even k: 0.184 for 0.308 at 10."""
    table = find("004-fig4").run(colluders=(k,), runs=4000).table
    for query, name in ((COUNT, GEOMETRIC), (COUNT, LAPLACE), (COUNT, STAIRCASE), (MEAN, PREROUNDED)):
        exact = loss(table, query, name, k, EXACT)
        row = next(iter(table.where(query=query, mechanism=name, colluders=k, kind="simulated")))
        assert abs(row["value"] - exact) <= 6 * row["standard_error"] + 1e-9, (query, name)
    if k == 10:
        assert loss(table, COUNT, GEOMETRIC, k, EXACT) == pytest.approx(0.308, abs=5e-4)


@pytest.mark.parametrize("name", [LAPLACE, STAIRCASE, GEOMETRIC])
def test_rounded_noise_has_the_closed_forms_mean(name):
    masses = noise.whole_masses(name, 0.5, 80)
    assert np.abs(np.arange(-80, 81)) @ masses == pytest.approx(noise.expected_error(name, 0.5, True))
    assert np.allclose(noise.lower_median(masses, 1), masses)


def test_equation_18_holds_on_fine_grids_and_not_on_whole_numbers(collusion):
    """(18) treats the grid as a continuum: right within 3 percent for steps of a hundredth and 501 colluders, ten times
    too high for 50 who ask for a count, whose loss falls exponentially."""
    fine = 0.5**0.01  # alpha of one step
    masses = noise.lower_median(noise.whole_masses(GEOMETRIC, fine, 4000), 501)
    exact = np.abs(np.arange(-4000, 4001)) @ masses
    assert exact == pytest.approx((1 + fine) / (1 - fine) / math.sqrt(2 * math.pi * 501), rel=0.03)
    said = loss(collusion, COUNT, GEOMETRIC, 50, APPROXIMATION)
    assert said == pytest.approx(3 / math.sqrt(100 * math.pi))
    assert said > 10 * loss(collusion, COUNT, GEOMETRIC, 50, EXACT)


def test_composition_bounds_the_loss_from_far_below(collusion):
    for name in (LAPLACE, STAIRCASE):
        for k in (5, 20, 50, 200):
            assert loss(collusion, MEAN, name, k, COMPOSED) < 0.7 * loss(collusion, MEAN, name, k, "simulated")


def test_counts_are_found_out_much_faster_than_means(collusion):
    """Ten times as many colluders: the loss of a mean falls by about sqrt(10), that of a count by more than ten."""
    for name in (LAPLACE, STAIRCASE):
        mean = [loss(collusion, MEAN, name, k, "simulated") for k in (20, 200)]
        assert mean[0] / mean[1] == pytest.approx(math.sqrt(10), rel=0.2)
        counted = [loss(collusion, COUNT, name, k, "simulated") for k in (5, 50)]
        assert counted[0] / counted[1] > 10


@pytest.mark.parametrize("query", [MEAN, MAX])
def test_pre_rounding_keeps_a_floor(collusion, query):
    """Remark 4 of section 5.2.3: the loss stops at the expected rounding error."""
    assert loss(collusion, query, PREROUNDED, 200, "simulated") == pytest.approx(floor(query, 100), rel=0.1)
    assert loss(collusion, query, PREROUNDED, 200, "floor") == pytest.approx(floor(query, 100))


def test_floors_have_closed_forms():
    """E|N(0,1)|/10 for the mean; (10 - E[max])/10 = 2/(size+1) for the max, all but never rounded to 0 or -10."""
    assert floor(MEAN, 100) == pytest.approx(math.sqrt(2 / math.pi) / 10, rel=1e-4)
    assert floor(MAX, 100) == pytest.approx(2 / 101, rel=1e-4)
    assert floor(MEAN, 100) == pytest.approx(0.0798, abs=5e-5)


def test_rounding_goes_to_the_nearest_of_three_values():
    assert rounded(np.array([-10, -5.01, -5, 0, 4.99, 5, 10])).tolist() == [-10, -10, 0, 0, 0, 10, 10]


def test_the_median_is_not_always_the_likeliest_answer_under_staircase_noise():
    """Lemma 1 holds for Laplace and geometric noise. Its proof for the staircase moves a minimum through a ceiling of
    sums: with alpha 1/2 and reports 0, 0.5 and 1, the answer 0.4 is twice as likely as the median 0.5."""
    reports, a = np.array([0.0, 0.5, 1.0]), 0.5

    def likelihood(name, answer):
        return float(noise.density(name, a, reports - answer).prod())

    assert likelihood(STAIRCASE, 0.4) == pytest.approx(2 * likelihood(STAIRCASE, 0.5))
    answers = np.linspace(-2, 3, 501)
    assert max(answers, key=lambda t: likelihood(LAPLACE, t)) == pytest.approx(0.5)


def test_every_entry_of_the_legend_of_figure_4_has_the_marker_of_its_line():
    from inbounds_studies.style import LOOKS

    figure = find("004-fig4").run(colluders=(1, 3), runs=50).draw()
    (legend,) = (axis.get_legend() for axis in figure.axes if axis.get_legend())
    shown = {
        text.get_text(): handle.get_marker()
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
    }
    for name in ("Laplace", "geometric", "pre-rounded geometric"):
        assert shown[name] == LOOKS[name]["marker"]

"""Noise on the whole line: densities, masses and expected errors."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

import inbounds as ib
from inbounds.catalog import unbounded
from raising import rejects

EPSILONS = ("0.2", "1", "3")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_densities_have_mass_one_and_the_closed_forms_of_their_errors(epsilon):
    e, width = float(epsilon), 2.5
    x = np.array([-3.0, 0.0, 0.4, 9.0])
    assert unbounded.laplace_density(x, epsilon, "2.5") == pytest.approx(laplace.pdf(x, scale=width / e))
    gamma = unbounded.upper_step(epsilon)
    edges = [width * v for k in range(math.ceil(60 / e)) for v in (k, k + gamma)]
    middles, lengths = (np.array(edges[1:]) + edges[:-1]) / 2, np.diff(edges)
    mass = 2 * unbounded.staircase_density(middles, epsilon, "2.5") * lengths  # constant between two edges
    assert mass.sum() == pytest.approx(1)
    assert mass @ middles == pytest.approx(width * unbounded.expected_error("staircase", epsilon))
    rounded = np.arange(-math.ceil(60 / e), math.ceil(60 / e) + 1)
    masses = unbounded.geometric_mass(rounded, epsilon)
    assert masses.sum() == pytest.approx(1)
    assert masses @ np.abs(rounded) == pytest.approx(unbounded.expected_error("geometric", epsilon))


def test_every_noise_keeps_its_epsilon_between_answers_a_sensitivity_apart():
    x = np.arange(-40, 41) * 0.25
    for density in (unbounded.laplace_density, unbounded.staircase_density):
        ratio = np.log(density(x, 1, 2) / density(x + 2, 1, 2))
        assert np.abs(ratio).max() == pytest.approx(1)
    ratio = np.log(unbounded.geometric_mass(x, 1, 2, "0.25") / unbounded.geometric_mass(x + 2, 1, 2, "0.25"))
    assert np.abs(ratio).max() == pytest.approx(1)


@pytest.mark.parametrize("family", ["laplace", "staircase"])
def test_rounded_noise_errs_as_the_closed_form_says(family):
    v = np.arange(1, 200)
    tail = unbounded.upper_tail(family, 1, v - 0.5)
    assert 2 * tail.sum() == pytest.approx(unbounded.expected_error(family, 1, whole=True))


@pytest.mark.parametrize("family", unbounded.FAMILIES)
def test_the_median_of_one_answer_is_the_answer_and_that_of_three_is_between_two_of_them(family):
    assert unbounded.median_error(family, 1, 1) == pytest.approx(unbounded.expected_error(family, 1), rel=1e-9)
    three = unbounded.median_error(family, 1, 3)  # Pr[|median| > x] = 2·(3q² - 2q³) for a tail q
    q = unbounded.upper_tail(family, 1, np.arange(60.0))
    if family == "geometric":
        assert three == pytest.approx(float((2 * (3 * q**2 - 2 * q**3)).sum()))
    else:

        def beyond(x):
            q = float(unbounded.upper_tail(family, 1, x))
            return 2 * (3 * q**2 - 2 * q**3)

        steps = [edge for k in range(30) for edge in (k, k + unbounded.upper_step(1))]
        assert three == pytest.approx(sum(quad(beyond, *ends)[0] for ends in itertools.pairwise(steps)))


def test_refusals():
    with rejects(ValueError, "x"):
        unbounded.geometric_mass([0.3], 1)
    with rejects(ValueError, "family"):
        unbounded.expected_error("cauchy", 1)
    with rejects(ValueError, "gamma"):
        unbounded.staircase_density([0.0], 1, gamma=2)
    with rejects(ValueError, "sensitivity"):
        unbounded.laplace_density([0.0], 1, 0)


# --- the epsilon of each of k answers ---------------------------------------------------------------------


@pytest.mark.parametrize("family", unbounded.FAMILIES)
def test_k_answers_at_their_epsilon_err_as_one_did(family):
    for k in (1, 3, 10):
        each = ib.attack.epsilon_for("0.5", k, keeps="error", family=family)
        before = unbounded.expected_error(family, "0.5")
        assert unbounded.median_error(family, each, k) >= before * (1 - 1e-8)
        assert each == 0.5 or unbounded.median_error(family, float(each) * 1.0001, k) < before
        assert each >= ib.attack.epsilon_for("0.5", k)  # an error that stays costs less accuracy than a promise


def test_the_guarantee_of_k_answers_is_divided():
    assert ib.attack.epsilon_for("1/2", 10) * 10 == ib.exact.to_epsilon("1/2")
    with rejects(ValueError, "keeps"):
        ib.attack.epsilon_for(1, 2, keeps="both")

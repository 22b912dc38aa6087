"""Sums of published reports that are right on average, whatever the truth."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism.unbiased import RESIDUAL, unbiased_reading, unbiased_sum
from raising import rejects

GEOMETRIC = [
    ib.catalog.truncated_geometric(ib.count(25), "1/2"),
    ib.catalog.truncated_geometric(ib.count(1), 2),
    ib.catalog.truncated_geometric(ib.count(5), "1/100"),
    ib.catalog.truncated_geometric(ib.total(10, 1, 5), "1/2"),
]
OTHERS = [ib.catalog.explicit_fair(ib.count(8), 1), ib.certify(GEOMETRIC[0].matrix, ib.count(25), "1/2")]


@pytest.mark.parametrize("mechanism", [*GEOMETRIC, *OTHERS], ids=str)
def test_every_answer_is_right_on_average_and_so_is_the_variance(mechanism):
    """By enumeration: over all reports of every answer, the readings average to it, and their variance as stated."""
    reading, answers = unbiased_reading(mechanism), mechanism.query.answers.floats()
    law = mechanism.matrix.T
    np.testing.assert_allclose(law @ reading.values, answers, atol=RESIDUAL * np.ptp(answers))
    np.testing.assert_allclose(law @ reading.variances, law @ reading.values**2 - answers**2, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mechanism", GEOMETRIC[:3], ids=str)
def test_truncated_geometric_reports_are_read_in_closed_form(mechanism):
    falls = math.exp(-mechanism.epsilon)
    reading = unbiased_reading(mechanism)
    assert reading.values[0] == pytest.approx(-falls / (1 - falls))
    assert reading.values[-1] == pytest.approx(len(reading.values) - 1 + falls / (1 - falls))
    assert reading.variances[0] == pytest.approx(falls / (1 - falls) ** 2)


def test_a_range_too_wide_for_a_matrix_is_read_too():
    mechanism = ib.catalog.truncated_geometric(ib.count(10**6), "1/20")
    falls = math.exp(-1 / 20)
    assert unbiased_reading(mechanism).values[0] == pytest.approx(-falls / (1 - falls), rel=1e-6)


def test_sums_of_cells_are_biased_and_unbiased_sums_are_not():
    """2,000 groups of 25 with one person each: the published cells sum to far more."""
    mechanism, rng = GEOMETRIC[0], np.random.default_rng(1)
    published = mechanism.simulate(np.ones(2000, int), rng)
    found = unbiased_sum(published, mechanism)
    assert published.sum() > 2900
    assert abs(found.estimate - 2000) < 6.5 * found.standard_error  # 1e-10, were it not seeded
    assert found.standard_error == pytest.approx(107, abs=8)
    assert found.groups == 2000


def test_groups_of_different_sizes_have_a_mechanism_each():
    small, large = GEOMETRIC[0], ib.catalog.truncated_geometric(ib.count(30), "1/2")
    found = unbiased_sum([25, 25], [small, large])
    assert found.estimate == pytest.approx(unbiased_reading(small).values[-1] + 25)
    with rejects(ValueError, "mechanism", about="3 outputs, got 2"):
        unbiased_sum([1, 2, 3], [small, large])


def test_reports_that_avoid_some_values_cannot_be_read_without_bias():
    with rejects(ValueError, "mechanism", about="without"):
        unbiased_sum([1, 2], ib.optimal(ib.count(25), "1/2"))


def test_what_is_no_report_is_refused():
    with rejects(ValueError, "published", about="26"):
        unbiased_sum([1, 26], GEOMETRIC[0])

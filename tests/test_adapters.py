"""Mechanisms plugged into other libraries keep their law and their epsilon."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.adapters import opendp_measurement, privacy_map


@pytest.mark.parametrize(
    ("query", "distance", "times"),
    [
        (ib.count(9), 1, 1),
        (ib.count(9), 3, 3),
        (ib.total(5, 0, 4), 4, 1),
        (ib.total(5, 0, 4), 5, 2),
        (ib.extreme(0, 9), 7, 1),
        (ib.ordinal(0, 9, unit=2), 3, Fraction(3, 2)),
        (ib.count(9), 0, 0),
    ],
)
def test_the_privacy_map_charges_epsilon_for_every_sensitivity(query, distance, times):
    mechanism = ib.catalog.uniform(query, "0.1")
    mapped = privacy_map(mechanism, distance)
    assert Fraction(mapped) >= Fraction(1, 10) * times
    assert mapped == pytest.approx(0.1 * float(times), rel=1e-15)


def test_an_opendp_measurement_reports_with_the_mechanisms_law():
    pytest.importorskip("opendp")
    mechanism = ib.optimal(ib.count(4), 1)
    measurement = opendp_measurement(mechanism)
    assert measurement.map(1) == 1.0
    assert measurement.check(d_in=1, d_out=1.0)
    draws = 4000
    seen = Counter(measurement(3) for _ in range(draws))
    expected = mechanism.matrix[:, 3]
    # each count is binomial; 8 standard deviations leave an error rate below 1e-13 over five outputs
    for output in range(5):
        slack = 8 * np.sqrt(draws * expected[output]) + 1
        assert abs(seen[output] - draws * expected[output]) <= slack


def test_diffprivlib_users_find_randomise():
    assert ib.catalog.explicit_fair(ib.count(4), 1).randomise(2) in range(5)


def test_means_are_not_whole_numbers_and_refused():
    with pytest.raises(ValueError, match="whole-number"):
        opendp_measurement(ib.catalog.uniform(ib.mean(3, 0, 1), 1))

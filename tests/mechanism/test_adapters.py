"""Mechanisms plugged into other libraries keep their law and their epsilon."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism.adapters import opendp_measurement, privacy_map
from raising import rejects


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
        (ib.count(9), 2**31 - 1, 9),
        (ib.total(1, 0, 4), 5, 1),
    ],
)
def test_the_privacy_map_charges_epsilon_for_every_sensitivity(query, distance, times):
    mechanism = ib.catalog.uniform(query, "0.1")
    mapped = privacy_map(mechanism, distance)
    assert Fraction(mapped) >= Fraction(1, 10) * times
    assert mapped == pytest.approx(0.1 * float(times), rel=1e-15)


@pytest.fixture
def dp():
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


def test_a_negative_distance_has_no_privacy_loss():
    with rejects(ValueError, "a distance"):
        privacy_map(ib.catalog.uniform(ib.count(3), 1), -1)


def test_answers_with_gaps_have_no_privacy_map():
    """Across a hole wider than the sensitivity the loss is unbounded, so no multiple of epsilon would be true."""
    gapped = ib.optimal(ib.interval("-0.5", "9.5", 1, 10, holes=[("1.5", "7.5")]), 1)
    assert ib.audit(gapped.matrix, ib.extreme(0, 3)).epsilon > 8
    with rejects(ValueError, about="gaps"):
        privacy_map(gapped, 8)


def test_a_measurement_moves_numbers_into_the_range_instead_of_failing(dp):
    measurement = opendp_measurement(ib.catalog.uniform(ib.count(20), 1))
    assert measurement(27) in range(21)
    assert measurement(-3) in range(21)


def test_a_measurement_ends_an_opendp_pipeline(dp):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    pipeline = space >> dp.t.then_count() >> opendp_measurement(ib.optimal(ib.count(20), "0.5"))
    assert pipeline(["a"] * 7) in range(21)
    assert pipeline.map(1) == 0.5


@pytest.mark.long
def test_an_opendp_measurement_reports_with_the_mechanisms_law(dp):
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
    assert ib.catalog.explicit_fair(ib.count(4), 1).sample(2, clip=True) in range(5)


def test_means_are_not_whole_numbers_and_refused():
    with rejects(ValueError, about="whole"):
        opendp_measurement(ib.catalog.uniform(ib.mean(3, 0, 1), 1))


def test_a_measurement_over_another_integer_type_joins_its_pipeline(dp):
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    measurement = opendp_measurement(ib.optimal(ib.count(20), "0.5"), T="i64")
    pipeline = space >> dp.t.then_count(TO="i64") >> measurement
    assert pipeline(["a"] * 7) in range(21)


@pytest.mark.parametrize("kind", [float, "f64", str, bool])
def test_a_measurement_is_over_whole_numbers_only(dp, kind):
    """It must answer everything in its domain: an error for 7.5 would tell that it was 7.5."""
    with rejects(ValueError, "T"):
        opendp_measurement(ib.catalog.uniform(ib.count(20), 1), T=kind)


@pytest.mark.parametrize("kind", ["i32", "i64", "u32", "u64", "usize"])
def test_a_measurement_answers_the_least_and_the_largest_of_its_type(dp, kind):
    measurement = opendp_measurement(ib.catalog.uniform(ib.count(20), 1), T=kind)
    bits = 32 if "32" in kind else 64
    least, largest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "i" else (0, 2**bits - 1)
    assert {measurement(least), measurement(largest)} <= set(range(21))


def test_a_mean_names_the_way_out(dp):
    with rejects(ValueError, about="divide"):
        opendp_measurement(ib.catalog.uniform(ib.mean(10, 1, 5), 1))


def test_a_passports_name_is_no_mechanism(dp):
    with rejects(TypeError, "mechanism"):
        opendp_measurement("m.json")

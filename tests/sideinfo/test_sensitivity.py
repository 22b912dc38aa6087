"""Sensitivities against brute force over all databases, and the Cauchy mechanism's privacy on all neighbours."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.errors import TooLarge
from inbounds.sideinfo import cauchy, sensitivity
from inbounds.sideinfo.cauchy import best_split, expected_loss, papers_split, snapped_cauchy, split
from raising import rejects

STATISTICS = {
    "min": (min, sensitivity.minimum),
    "max": (max, sensitivity.maximum),
    "median": (lambda x: sorted(x)[(len(x) + 1) // 2 - 1], sensitivity.median),
    "mean": (lambda x: sum(x) / len(x), sensitivity.mean),
    "total": (sum, sensitivity.total),
    "second": (lambda x: sorted(x)[min(1, len(x) - 1)], None),
}


def at(name: str, data, low: int, high: int) -> sensitivity.Sensitivity:
    if name == "second":
        return sensitivity.order_statistic(data, min(2, len(data)), low, high)
    return STATISTICS[name][1](data, low, high)


def databases(n: int, high: int) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All databases of n values in 0..high, and the number of records in which any two differ."""
    every = list(product(range(high + 1), repeat=n))
    table = np.array(every)
    return every, (table[:, None, :] != table[None, :, :]).sum(axis=2)


@pytest.mark.long
@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(
    ("n", "high"), [(1, 3), (2, 3), (3, 3), (4, 3), (5, 2), pytest.param(5, 3, marks=pytest.mark.slow)]
)
def test_sensitivities_equal_brute_force_over_all_databases(name, n, high):
    """Global, local, within k changes, and smooth for several beta, from the definitions 004 (1)-(3)."""
    every, apart = databases(n, high)
    answers = np.array([STATISTICS[name][0](x) for x in every], dtype=float)
    moved = np.abs(answers[:, None] - answers[None, :])
    local = np.where(apart == 1, moved, 0).max(axis=1)
    found = [at(name, x, 0, high) for x in every]
    assert [float(s.locally) for s in found] == pytest.approx(local)
    assert [float(s.globally) for s in found] == pytest.approx([local.max()] * len(every))
    for k in range(n + 1):
        within = np.where(apart <= k, local[None, :], 0).max(axis=1)
        assert [float(s.within(k)) for s in found] == pytest.approx(within)
    for beta in ("0.05", "0.4", "1.5"):
        smooth = (np.exp(-float(beta) * apart) * local[None, :]).max(axis=1)
        assert [s.smooth(beta) for s in found] == pytest.approx(smooth, rel=1e-12)


@given(st.lists(st.integers(-5, 12), min_size=1, max_size=40), st.integers(1, 40), st.floats(0.01, 3))
def test_smooth_sensitivity_lies_between_local_and_global_and_is_smooth(data, rank, beta):
    rank, text = min(rank, len(data)), repr(beta)
    here = sensitivity.order_statistic(data, rank, -5, 12)
    value = here.smooth(text)
    assert float(here.locally) <= value <= float(here.globally)
    other = sensitivity.order_statistic([12, *data[1:]], rank, -5, 12).smooth(text)
    assert math.exp(-beta) * (1 - 1e-12) <= other / value <= math.exp(beta) * (1 + 1e-12)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=25), st.integers(1, 25), st.floats(0.01, 2))
def test_the_early_stop_gives_what_all_distances_give(data, rank, beta):
    here = sensitivity.order_statistic(data, min(rank, len(data)), 0, 30)
    full = max(math.exp(-beta * k) * float(here.within(k)) for k in range(len(data) + 1))
    assert here.smooth(repr(beta)) == pytest.approx(full, rel=1e-12)


def test_the_answer_is_the_statistic():
    data = [4, 1, 7, 1]
    assert sensitivity.minimum(data, 0, 9).answer == 1
    assert sensitivity.maximum(data, 0, 9).answer == 7
    assert sensitivity.median(data, 0, 9).answer == 1
    assert sensitivity.mean(data, 0, 9).answer == Fraction(13, 4)


def test_nothing_printed_holds_the_data():
    shown = repr(sensitivity.median([421, 421, 421], 0, 1000))
    assert "421" not in shown
    with rejects(ValueError, "data", about="value") as caught:
        sensitivity.median([421, 5000], 0, 1000)
    assert "5000" not in str(caught.value)


def test_odd_input_is_refused(golden):
    golden.errors(
        "wrong_sensitivities",
        [
            lambda: sensitivity.median([], 0, 3),
            lambda: sensitivity.median([1], 3, 3),
            lambda: sensitivity.median([1], "1/2", 3),
            lambda: sensitivity.order_statistic([1, 2], 3, 0, 3),
            lambda: sensitivity.order_statistic([1, 2], 0, 0, 3),
            lambda: sensitivity.mean([1], 0, 3).smooth(0),
            lambda: sensitivity.mean([1], 0, 3).within(-1),
            lambda: split(1, 1),
            lambda: split(1, 0),
            lambda: best_split(1, []),
            lambda: snapped_cauchy(sensitivity.mean([1], 0, 3), split(1, "0.5"), np.array([1.0])),
            lambda: expected_loss(sensitivity.mean([1], 0, 3), split(1, "0.5"), np.eye(4)),
        ],
    )


def test_data_must_be_whole_numbers():
    with rejects(TypeError, "data", about="whole"):
        sensitivity.median([0.5], 0, 3)


# --- the Cauchy mechanism ---------------------------------------------------------------------------------


@given(st.floats(0.001, 5))
def test_a_shift_costs_twice_the_inverse_hyperbolic_sine_of_half_of_it(a):
    z = np.concatenate(
        [np.linspace(-50, 50, 20001), [(-a + math.sqrt(a * a + 4)) / 2, (-a - math.sqrt(a * a + 4)) / 2]]
    )
    worst = np.log((1 + (z + a) ** 2) / (1 + z**2)).max()
    assert worst == pytest.approx(2 * math.asinh(a / 2), rel=1e-9)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(
    ("beta", "n"), [("0.1", 1), ("0.9", 2), ("0.5", 3), ("0.1", 4), pytest.param("0.5", 5, marks=pytest.mark.slow)]
)
def test_the_privacy_loss_stays_within_epsilon_on_all_neighbours(name, beta, n):
    """Density ratios on a grid of outputs for all neighbouring databases of n values in 0..3; and snapped."""
    every, apart = databases(n, 3)
    chosen = split(1, beta)
    found = [at(name, x, 0, 3) for x in every]
    centre = np.array([float(s.answer) for s in found])
    scale = np.array([chosen.scale(s) for s in found])
    y = np.concatenate([np.linspace(-20, 20, 401), [-1e4, 1e4]])
    log_density = -np.log(scale[:, None]) - np.log1p(((y - centre[:, None]) / scale[:, None]) ** 2)
    j, k = np.nonzero(apart == 1)
    assert np.abs(log_density[j] - log_density[k]).max() <= 1 + 1e-9
    snapped = np.log(np.array([snapped_cauchy(s, chosen) for s in found]))
    assert np.abs(snapped[j] - snapped[k]).max() <= 1 + 1e-9


def test_local_sensitivity_as_a_scale_is_not_private():
    """The twin that must fail: noise scaled by local sensitivity betrays more than epsilon."""
    every, apart = databases(3, 3)
    found = [sensitivity.median(x, 0, 3) for x in every]
    chosen = split(1, "0.5")
    scale = np.array([max(float(s.locally), 1e-6) / chosen.a for s in found])
    centre = np.array([float(s.answer) for s in found])
    y = np.linspace(-10, 10, 401)
    log_density = -np.log(scale[:, None]) - np.log1p(((y - centre[:, None]) / scale[:, None]) ** 2)
    j, k = np.nonzero(apart == 1)
    assert np.abs(log_density[j] - log_density[k]).max() > 5


@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
def test_every_split_spends_exactly_epsilon(epsilon):
    for beta in np.linspace(0.05, 0.95, 7) * float(epsilon):
        assert split(epsilon, repr(float(beta))).epsilon == pytest.approx(float(epsilon), rel=1e-12)
    assert papers_split(epsilon).epsilon == pytest.approx(float(epsilon), rel=1e-12)


@pytest.mark.long
def test_the_best_split_loses_less_than_the_papers_scale():
    rng = np.random.default_rng(5)
    small = [sensitivity.maximum(rng.integers(1, 8, 10), 1, 7) for _ in range(20)]
    dense = [sensitivity.median(rng.normal(50, 5, 201).round().astype(int), 0, 100) for _ in range(3)]
    for examples in (small, dense):
        best = best_split(1, examples)
        losses = {s: sum(expected_loss(x, s) for x in examples) for s in (best, papers_split(1))}
        assert losses[best] < losses[papers_split(1)]
        nearby = [split(1, repr(best.beta * f)) for f in (0.9, 1.1) if best.beta * f < 1]
        assert all(losses[best] <= sum(expected_loss(x, s) for x in examples) for s in nearby)


def test_the_snapped_law_is_a_distribution_with_the_ends_collecting_the_tails():
    here, chosen = sensitivity.maximum([3, 5, 2], 1, 7), split(1, "0.3")
    law = snapped_cauchy(here, chosen)
    z = (np.array([1.5, 6.5]) - 5) / chosen.scale(here)
    assert law.sum() == pytest.approx(1, abs=1e-15)
    assert law[0] == pytest.approx(0.5 + math.atan(z[0]) / math.pi, rel=1e-9)
    assert law[-1] == pytest.approx(0.5 - math.atan(z[1]) / math.pi, rel=1e-9)


def test_it_is_for_studies_and_cannot_be_released():
    """No function of the module makes a Mechanism or draws at random."""
    assert not hasattr(cauchy, "Mechanism")
    assert not any("sample" in name or "simulate" in name for name in dir(cauchy))
    assert isinstance(snapped_cauchy(sensitivity.mean([1], 0, 3), split(1, "0.5")), np.ndarray)


@pytest.mark.parametrize("statistic", [lambda x: max(x) - min(x), lambda x: len(set(x))])
def test_the_sensitivities_of_any_statistic_equal_brute_force(statistic):
    every, apart = databases(3, 3)
    answers = np.array([statistic(x) for x in every], dtype=float)
    local = np.where(apart == 1, np.abs(answers[:, None] - answers[None, :]), 0).max(axis=1)
    for j in range(0, len(every), 7):
        found = sensitivity.any_statistic(every[j], statistic, 0, 3)
        assert found.answer == answers[j]
        assert float(found.globally) == local.max()
        assert [float(found.within(k)) for k in range(4)] == [local[apart[j] <= k].max() for k in range(4)]
        assert found.smooth("0.4") == pytest.approx((np.exp(-0.4 * apart[j]) * local).max(), rel=1e-12)


@pytest.mark.parametrize("name", ["median", "total"])
def test_listing_every_database_gives_what_the_formula_gives(name):
    for data in ([0, 1, 1, 3], [2, 2, 2, 2]):
        listed, known = sensitivity.any_statistic(data, STATISTICS[name][0], 0, 3), at(name, data, 0, 3)
        assert (listed.answer, listed.globally) == (known.answer, known.globally)
        assert [listed.within(k) for k in range(6)] == [known.within(k) for k in range(6)]
        assert listed.smooth("0.4") == known.smooth("0.4")


def test_too_many_databases_are_refused_before_any_is_looked_at():
    def never(_):
        raise AssertionError

    with pytest.raises(TooLarge):
        sensitivity.any_statistic([0] * 30, never, 0, 30)


def test_an_enumerated_sensitivity_does_not_show_its_database():
    assert repr(sensitivity.any_statistic([1, 3], max, 0, 3)) == "EnumeratedSensitivity()"

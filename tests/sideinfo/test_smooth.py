"""The certified release by smooth sensitivity, judged on every pair of neighbouring databases there is."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.errors import InvalidDistribution, PrivacyViolation, TooLarge
from inbounds.sideinfo.cauchy import best_split, expected_loss, split
from inbounds.sideinfo.sensitivity import maximum, mean, median, minimum, order_statistic
from inbounds.sideinfo.smooth import GROWTH_BITS, smooth_release, windows
from raising import rejects

RELEASE = smooth_release(0, 3, 1, "0.3")


@cache
def hundred():
    return smooth_release(0, 60, 1, "0.3")


@pytest.mark.parametrize("n", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("beta", ["0.3", "0.8"])
def test_every_pair_of_neighbouring_databases_keeps_epsilon_exactly(n, beta, judge):
    """All databases of n values in 0..3, all their neighbours, every rank; whole numbers and ball arithmetic."""
    release = RELEASE if beta == "0.3" else smooth_release(0, 3, 1, beta)
    allowed, _ = judge.exp(release.epsilon)
    every = list(product(range(4), repeat=n))
    for rank in range(1, n + 1):
        states = {}
        for x in every:
            here = order_statistic(x, rank, 0, 3)
            states[x] = (release.level(here), int(here.answer))
        related = {
            (states[x], states[(*x[:i], y, *x[i + 1 :])])
            for x in every
            for i in range(n)
            for y in range(4)
            if y != x[i]
        }
        for (t, f), (s, g) in related:
            assert abs(t - s) <= 1
            for p, q in zip(release.weights[:, t, f].tolist(), release.weights[:, s, g].tolist(), strict=True):
                assert p * allowed.denominator <= allowed.numerator * q


@pytest.mark.long
@settings(max_examples=60)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=60), st.integers(0, 60), st.data())
def test_levels_and_answers_of_neighbours_are_related_as_the_proof_says(data, value, draw):
    rank = draw.draw(st.integers(1, len(data)))
    place = draw.draw(st.integers(0, len(data) - 1))
    here = order_statistic(data, rank, 0, 60)
    there = order_statistic([*data[:place], value, *data[place + 1 :]], rank, 0, 60)
    t, s = hundred().level(here), hundred().level(there)
    assert abs(t - s) <= 1
    assert abs(here.answer - there.answer) * hundred().growth[max(t, s)] <= 60 << GROWTH_BITS


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.data())
def test_the_level_is_the_largest_that_its_definition_allows(data, draw):
    here = order_statistic(data, draw.draw(st.integers(1, len(data))), 0, 60)
    growth, span = hundred().growth, 60 << GROWTH_BITS
    valid = [t for t in range(len(growth)) if all(here.within(k) * growth[t - k] <= span for k in range(t))]
    assert hundred().level(here) == max(valid)


def test_windows_hold_exactly_the_related_states():
    growth = RELEASE.growth
    held = set()
    for start, stop, first, last in windows(3, growth):
        block = [(t, f) for t in range(first, last + 1) for f in range(start, stop)]
        held |= {(a, b) for a in block for b in block if a != b}
    related = set()
    for (t, f), (s, g) in product(product(range(len(growth)), range(4)), repeat=2):
        if (t, f) != (s, g) and abs(t - s) <= 1 and abs(f - g) * growth[max(t, s)] <= 3 << GROWTH_BITS:
            related.add(((t, f), (s, g)))
    assert held == related


def test_the_release_is_close_to_the_cauchy_mechanism_it_discretizes():
    """Levels round the scale up by at most e^beta, so the loss lies between those of the two scales."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        here = median(rng.normal(30, 6, 101).round().clip(0, 60).astype(int), 0, 60)
        lost = hundred().loss(here)
        assert expected_loss(here, split(1, "0.3")) - 1e-6 <= lost <= 1.4 * expected_loss(here, split(1, "0.3")) + 0.01


@pytest.mark.long
def test_on_dense_data_it_beats_what_knows_only_the_range():
    """The point of smooth sensitivity: the best mechanism for any median of 0..60 loses more than ten times as much."""
    rng = np.random.default_rng(3)
    data = [median(rng.normal(30, 4, 2001).round().clip(0, 60).astype(int), 0, 60) for _ in range(3)]
    release = smooth_release(0, 60, 1, repr(best_split(1, data).beta))
    best = ib.optimal(ib.extreme(0, 60), 1)
    for here in data:
        assert 10 * release.loss(here) < best.loss_per_answer("absolute")[int(here.answer)]


def test_min_max_and_median_are_served_by_one_release():
    for build in (minimum, maximum, median):
        here = build([1, 2, 2, 3], 0, 3)
        assert RELEASE.law(here).sum() == pytest.approx(1)
        assert RELEASE.sample(here) in range(4)


def test_reports_follow_the_law():
    """4,000 simulated reports at a fixed seed, within 6.5 deviations."""
    here, rng, runs = median([1, 2, 2, 3], 0, 3), np.random.default_rng(9), 4_000
    seen = np.bincount([RELEASE.simulate(here, rng) for _ in range(runs)], minlength=4)
    p = RELEASE.law(here)
    assert (np.abs(seen - runs * p) < 6.5 * np.sqrt(runs * p * (1 - p))).all()
    assert (np.abs(seen - runs * RELEASE.law(median([0, 0, 3, 3], 0, 3))) > 20).any()


def test_changed_weights_are_refused():
    sharper = RELEASE.weights.copy()
    sharper[0, 0, 0] += sharper[1, 0, 0]
    sharper[1, 0, 0] = 0
    with pytest.raises(PrivacyViolation):
        replace(RELEASE, weights=sharper)
    short = RELEASE.weights.copy()
    short[0, 0, 0] -= 1
    with rejects(InvalidDistribution, "column 0", about="2**62"):
        replace(RELEASE, weights=short)
    with rejects(ValueError, "growth"):
        replace(RELEASE, growth=tuple(float(u) for u in RELEASE.growth))


def test_slower_growth_is_refused_for_the_same_weights():
    """Slower growth relates more states: the certificate depends on it."""
    with pytest.raises(PrivacyViolation):
        replace(RELEASE, growth=(RELEASE.growth[0],) * len(RELEASE.growth))


def test_odd_requests_are_refused():
    with rejects(ValueError, "beta"):
        smooth_release(0, 3, 1, 1)
    with rejects(ValueError, "high"):
        smooth_release(3, 3, 1, "0.5")
    with rejects(TooLarge, about="coarser"):
        smooth_release(0, 5000, 1, "0.5")
    with rejects(ValueError, "the statistic", about="0..3"):
        RELEASE.level(mean([1], 0, 3))
    with rejects(ValueError, "the statistic", about="0..3"):
        RELEASE.level(median([1], 0, 4))


def test_the_repr_says_what_is_promised():
    assert "order statistic in 0..3, epsilon=1" in repr(RELEASE)

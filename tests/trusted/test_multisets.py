"""The central records of a group, as the histograms of what sorting finds."""

import numpy as np
import pytest

from inbounds.trusted.multisets import central_window


@pytest.mark.parametrize("first", range(1, 8))
@pytest.mark.parametrize("length", range(1, 8))
def test_the_window_holds_the_records_of_its_ranks(first, length):
    rng = np.random.default_rng(first * 10 + length)
    groups = rng.integers(0, 5, (20, first + length - 1 + int(rng.integers(0, 4))))
    histograms = np.array([np.bincount(group, minlength=5) for group in groups])
    inside = np.sort(groups, axis=1)[:, first - 1 : first - 1 + length]
    expected = [np.bincount(window, minlength=5).tolist() for window in inside]
    assert central_window(histograms, first, length).tolist() == expected

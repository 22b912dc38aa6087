"""The family of groups that tables are judged on: what it promises of its groups."""

import numpy as np
import pytest

import inbounds as ib


@pytest.mark.parametrize("values", [2, 3, 7, 100])
def test_groups_have_the_size_and_come_with_their_mirror_images(values):
    groups = ib.RecordFamily()(ib.median(0, values - 1, size=30))
    assert groups.shape[1] == values
    assert (groups.sum(axis=1) == 30).all()
    assert np.array_equal(groups[0::2], groups[1::2, ::-1])


def test_windows_have_every_scale():
    """Records lie within every power of two of the values, and for each width some groups at an end."""
    groups = ib.RecordFamily()(ib.median(0, 63, size=1000))
    present = groups > 0
    lows, highs = present.argmax(axis=1), 63 - present[:, ::-1].argmax(axis=1)
    widths = highs - lows + 1
    for width in (1, 2, 4, 8, 16, 32, 64):
        assert ((widths > width / 2) & (widths <= width)).sum() >= 12
    assert ((lows == 0) & (widths <= 4)).any()
    assert ((lows > 0) & (highs < 63) & (widths <= 4)).any()


def test_groups_depend_on_values_and_size_alone_and_on_the_seed():
    family = ib.RecordFamily()
    first = family(ib.median(0, 20, size=30))
    assert np.array_equal(first, family(ib.quantile(1, 5, 15, size=30, step="1/2")))
    assert not np.array_equal(first, ib.RecordFamily(seed=1)(ib.median(0, 20, size=30)))


def test_secret_sizes_have_any_number_of_records_up_to_the_maximum():
    sizes = ib.RecordFamily()(ib.median(0, 63, maximum=40)).sum(axis=1)
    assert sizes.min() >= 1
    assert sizes.max() <= 40
    assert len(set(sizes.tolist())) > 20


def test_wide_ranges_have_fewer_groups():
    wide, narrow = (ib.RecordFamily()(ib.median(0, values - 1, size=9)) for values in (2048, 64))
    assert len(narrow) == 2 * 12 * (2 * 6 + 1)
    assert len(wide) == 2 * 4 * (2 * 11 + 1)

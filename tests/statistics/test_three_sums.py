"""Variances in groups of secret size: three sums that share the cost of a record, and what follows from them."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import inbounds as ib
from inbounds.query import Metric
from inbounds.releases.pipeline import release
from inbounds.schema.columns import number_column
from inbounds.statistics import GroupAggregates
from inbounds.statistics._three_sums import SpreadScale, share_of, step_of, sums_positions, sums_query, three_sums
from inbounds.statistics.base import ValueCounts
from inbounds.statistics.designs import DesignOptions, design_request
from inbounds.statistics.sizes import size_prior
from inbounds.trusted.samplers import seeded_entropy

WIDTHS = [1, 3, 11, 12, 17, 20, 101, 1000]


def aggregates_of(histograms, most):
    return GroupAggregates(
        histograms.sum(axis=1), np.full(len(histograms), most), {}, ValueCounts(csr_array(histograms))
    )


def drawn_histograms(rng, width, sizes):
    """Groups of every shape: beta distributions, flat, falling, bell-shaped or heaped at both ends."""
    shapes = rng.choice([0.3, 1, 2, 8], (len(sizes), 2))
    values = [np.rint(rng.beta(a, b, n) * width).astype(int) for (a, b), n in zip(shapes, sizes, strict=True)]
    return np.stack([np.bincount(one, minlength=width + 1) for one in values])


@pytest.mark.parametrize("width", WIDTHS)
def test_a_record_moves_the_three_sums_together_by_no_more_steps_than_cost_epsilon(width):
    """Every value added to each of many groups, of which some are larger than their maximum. The bound is reached."""
    column, rng = number_column(0, width), np.random.default_rng(width)
    unit, reach = step_of(column)
    before = drawn_histograms(rng, width, rng.integers(0, 9, 100 if width < 200 else 8))
    after = (before[:, None] + np.eye(width + 1, dtype=np.int64)).reshape(-1, width + 1)
    sums = np.array(sums_positions(column, aggregates_of(before, 6)))
    moved = np.abs(np.array(sums_positions(column, aggregates_of(after, 6))) - np.repeat(sums, width + 1, axis=1))
    assert moved.sum(axis=0).max() <= reach
    assert moved.sum(axis=0).max() >= reach - (0 if unit == 1 else 2)
    query = sums_query(column, 6)
    assert isinstance(query.neighbours, Metric)
    assert query.neighbours.unit == reach * query.answers.unit


@pytest.mark.parametrize("width", WIDTHS)
def test_the_sums_of_a_group_give_its_variance(width):
    column, rng = number_column(0, width), np.random.default_rng(width)
    histograms = drawn_histograms(rng, width, np.full(40, 500))
    shares = share_of(*sums_positions(column, aggregates_of(histograms, 500)))
    values, sizes = np.arange(width + 1), histograms.sum(axis=1)
    variances = histograms @ values**2 / sizes - (histograms @ values / sizes) ** 2
    np.testing.assert_allclose(shares * width**2, variances, atol=width**2 / 500 / 128)


def test_an_empty_group_has_no_spread():
    assert share_of(0, 0, 0) == share_of(5, 0, 0) == share_of(0, 0, 5) == share_of(0, 9, 0) == 0
    assert share_of(7, 0, 7) == 1 / 4


@pytest.mark.parametrize(("most", "epsilon", "width"), [(400, 1, 100), (400, Fraction(1, 10), 10), (30, 4, 4)])
@pytest.mark.parametrize("is_root", [False, True])
def test_stated_errors_and_intervals_hold_for_groups_of_other_shapes(most, epsilon, width, is_root):
    """Groups of beta distributions, of any size: not the groups that the posterior supposes."""
    column, rng = number_column(0, width), np.random.default_rng(5)
    mechanism = design_request(sums_query(column, most), Fraction(epsilon), DesignOptions())
    histograms = drawn_histograms(rng, width, rng.integers(2, most + 1, 300))
    draws, derived = seeded_entropy(rng), three_sums(SpreadScale(column, is_root))
    drawn = [mechanism.draw(sums, draws) for sums in sums_positions(column, aggregates_of(histograms, most))]
    values, sizes = np.arange(width + 1), histograms.sum(axis=1)
    truths = histograms @ values**2 / sizes - (histograms @ values / sizes) ** 2
    truths = np.sqrt(truths) if is_root else truths
    published, beliefs = derived.value(drawn, drawn), size_prior((), most)
    stated = derived.errors(mechanism, drawn, None, beliefs).mean()
    assert 0.7 < np.abs(published - truths).mean() / stated < 1.4
    low, high = derived.interval(mechanism, drawn, Fraction(9, 10), None, beliefs)
    assert 0.8 < ((low <= truths) & (truths <= high)).mean() < 0.97
    assert ((low <= published) & (published <= high)).all()
    own = derived.coverage(mechanism, most // 2, Fraction(9, 10), None, beliefs)
    assert 0.85 < own < 0.96


@pytest.mark.long
def test_groups_together_are_computed_from_the_sums_of_their_groups(tmp_path):
    rng = np.random.default_rng(3)
    rows = [(r, s, x) for r in "NS" for s in "ab" for x in rng.normal(5, 2 if s == "a" else 1, 400).clip(0, 10)]
    frame = pa.table({name: [row[k] for row in rows] for k, name in enumerate("rsx")})
    content = {
        "groups": {"by": ["r", "s"], "keys": {"r": ["N", "S"], "s": ["a", "b"]}, "max_size": 600},
        "hierarchy": {"levels": ["all", "r", "s"]},
        "columns": {"x": {"low": 0, "high": 10, "step": "1/10", "missing": 5}},
        "statistics": [{"standard_deviation": "x", "name": "d"}],
        "privacy": {"epsilon": 3},
        "output": {"credible_level": 0.9},
    }
    done = release(content, frame, cache=tmp_path, output=tmp_path / "t.csv")
    found = done.to_pandas()
    truths = [np.std([x for r, s, x in rows if key in ((), (r,), (r, s))]) for key in [(), ("N",), ("S",)]]
    assert np.abs(found["d"][:3] - truths).max() < 8 * found["d_error"][:3].max()
    assert (found["d_error"][0] < found["d_error"][1:3]).all()
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid
    (line,) = done.record["account"]
    assert "layers" not in line
    assert math.isclose(float(Fraction(line["draw_epsilon"])), 3)

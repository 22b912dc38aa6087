"""Counted score tables: neighbours are within epsilon, what is not private is refused, and when they are used."""

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inbounds as ib
from envelopes import seal
from inbounds.errors import InvalidDistribution, PassportError, ScoreRatioViolation
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import CountedTable, QuantileMechanism
from inbounds.mechanism.quantiles.passport import to_quantile_passport
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.counted import MOST_COUNTED, check_counted, counted_levels

from .small import changed, exact_law, histograms
from .test_sides import geometric, of_rank


def laws_of(query, law, groups):
    levels = counted_levels(query.pad(np.array(groups)), query.rank, law.low, law.most, law.every)
    last = len(law.table) - 1
    chances = [[Fraction(law.table[min(level, last)], TOTAL) for level in row] for row in levels.tolist()]
    return dict(zip(groups, map(exact_law, chances), strict=True))


def largest_ratio(laws, pairs):
    return max(high / low for own, other in pairs for high, low in zip(laws[own], laws[other], strict=True))


@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
@pytest.mark.parametrize(("low", "most", "every"), [(0, 0, 1), (0, 9, 1), (1, 2, 1), (2, 1, 1), (0, 9, 2), (1, 1, 3)])
def test_neighbours_are_within_epsilon_at_every_rank(epsilon, low, most, every):
    size, width, p = 4, 3, exp_lower_bound(Fraction(epsilon))
    law, groups = CountedTable(geometric(epsilon, 2), low, most, every), histograms(4, 3)
    for rank in range(size + 1):
        query = of_rank(width, rank, size)
        QuantileMechanism(query, Fraction(epsilon), law, Origin("by hand"))
        pairs = ((group, near) for group in groups for near in changed(group))
        assert largest_ratio(laws_of(query, law, groups), pairs) * 2**EXP_BITS <= p


def test_a_surplus_record_is_covered_too():
    query, law = of_rank(2, 3, 4), CountedTable(geometric(1, 2), 0, 2, 2)
    groups = [group for size in range(7) for group in histograms(size, 2)]
    laws, p = laws_of(query, law, groups), exp_lower_bound(Fraction(1))
    for group, t in product(histograms(4, 2) + histograms(5, 2), range(3)):
        more = tuple(count + (t == place) for place, count in enumerate(group))
        assert largest_ratio(laws, [(group, more), (more, group)]) * 2**EXP_BITS <= p


def test_epsilon_is_attained_where_many_values_move_together():
    """The others are many, all one record away, and go to two when the maximum rises."""
    width, law = 400, CountedTable(geometric(1, 2), 2, 3)
    mechanism = QuantileMechanism(of_rank(width, 3, 3), Fraction(1), law, Origin("by hand"))
    group, near = np.zeros((2, width + 1), dtype=np.int64)
    group[[0, width - 1]], near[[0, width - 1, width]] = [2, 1], [1, 1, 1]
    own, other = mechanism.probabilities(np.array([group, near]))
    assert 0.98 < math.log(other[width] / own[width]) <= 1


COUNTS = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))


@given(st.lists(st.integers(1, 100), min_size=2, max_size=12), COUNTS, st.integers(0, 3))
def test_the_square_of_the_largest_step_bounds_every_ratio(falls, counts, rank):
    table = [TOTAL]
    for fall in falls:
        table.append(max(1, table[-1] - table[-1] * fall // 101 - (len(table) == 1)))
    query, groups = of_rank(2, rank, 3), histograms(3, 2)
    laws = laws_of(query, CountedTable(tuple(table), *counts), groups)
    step = max(Fraction(a, b) for a, b in pairwise(table))
    assert largest_ratio(laws, ((group, near) for group in groups for near in changed(group))) <= step**2


def test_a_table_that_is_too_steep_is_refused():
    table = geometric(1, 2)
    check_counted(table, 3, 5, 4, Fraction(1))
    with pytest.raises(ScoreRatioViolation):
        check_counted(table, 3, 5, 4, Fraction(99, 100))
    steeper_at_once = (TOTAL, table[1] - table[1] // 50, *table[2:])
    with pytest.raises(ScoreRatioViolation):
        check_counted(steeper_at_once, 3, 5, 4, Fraction(1))


@pytest.mark.parametrize(
    "counts",
    [
        *((-1, 2), (2, -1), (MOST_COUNTED + 1, 2), (2, MOST_COUNTED + 1), (1.0, 2), (1, True)),
        *((1, 2, 0), (1, 2, -1), (1, 2, 2.0), (1, 2, MOST_COUNTED + 1)),
    ],
)
def test_what_counts_no_records_is_refused(counts):
    law = CountedTable(geometric(1, 2), 1, 2)
    for part, number in zip(("low", "most", "every"), counts, strict=False):
        object.__setattr__(law, part, number)
    with pytest.raises(InvalidDistribution, match="must count"):
        law.check(ib.median(0, 4, size=5), Fraction(1))


@pytest.mark.parametrize("query", [ib.median(0, 4, maximum=5), ib.median(0, 4, size=5, records=2)])
def test_secret_sizes_and_persons_with_several_records_are_refused(query):
    with pytest.raises(ValueError, match="public size"):
        QuantileMechanism(query, Fraction(1), CountedTable(geometric(1, 2), 3, 5), Origin("by hand"))
    with pytest.raises(ValueError, match="public size"):
        ib.counted_scores(query, 1)


def test_reports_have_the_probabilities_that_are_told():
    mechanism = ib.counted_scores(ib.median(0, 3, size=9), 1)
    group = np.array([[1, 5, 2, 1]])
    exact = laws_of(mechanism.query, mechanism.law, [(1, 5, 2, 1)])[1, 5, 2, 1]
    told = mechanism.probabilities(group)[0]
    assert np.allclose(told, [float(p) for p in exact], atol=1e-12)
    drawn = mechanism.simulate_groups(np.repeat(group, 40_000, axis=0), np.random.default_rng(1))
    assert np.allclose(np.bincount(drawn, minlength=4) / 40_000, told, atol=0.02)  # 8 sigma


CHANGES = [
    {"low": "-1"},
    {"most": "x"},
    {"table": "4611686018427387904 1"},
    {"low": str(2**41)},
    {"every": "0"},
    {"every": "1 1"},
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_passport_is_read_as_it_was_written_or_refused(change, tmp_path):
    path, mechanism = tmp_path / "q.json", ib.counted_scores(ib.median(0, 4, size=100), "1/5")
    mechanism.save(path)
    assert ib.load_quantile(path) == mechanism
    assert ib.verify(path)
    content = json.loads(path.read_text("utf-8"))
    content["content"]["law"]["counted"].update(change)
    path.write_text(json.dumps(seal(content)), "utf-8")
    with pytest.raises(PassportError):
        ib.load_quantile(path)


def test_a_passport_that_counts_every_record_does_not_say_so():
    """As before there was anything else to say."""
    every = ib.counted_scores(ib.quantile("9/10", 0, 4, size=300), "1/5")
    fifth = ib.counted_scores(ib.median(0, 100, size=1000), "1/5")
    assert (every.law.every, fifth.law.every) == (1, 5)
    assert set(to_quantile_passport(every).content["law"]["counted"]) == {"table", "low", "most"}
    assert to_quantile_passport(fifth).content["law"]["counted"]["every"] == "5"


def test_medians_of_values_with_some_records_each_are_answered_by_counting_them():
    for query in (ib.median(0, 4, size=300), ib.median(0, 100, size=1000)):
        assert isinstance(ib.design_quantile(query, "1/5").mechanism.law, CountedTable)
    few, largest, two = ib.median(0, 4, size=30), ib.quantile(1, 0, 4, size=300), ib.median(0, 1, size=300)
    for query in (few, largest, two, ib.median(0, 4, maximum=300)):
        assert not isinstance(ib.design_quantile(query, "1/5").mechanism.law, CountedTable)


def test_counting_is_better_than_lengths_where_records_lie_evenly():
    query, epsilon = ib.median(0, 4, size=300), "1/5"
    counted, lengths = ib.counted_scores(query, epsilon), ib.design_permute_flip(query, epsilon)
    even = np.random.default_rng(3).multinomial(300, np.full(5, 0.2), size=400)
    distances = np.abs(np.arange(5) - query.true_positions(even)[:, None])
    errors = [(one.probabilities(even) * distances).sum(axis=1).mean() for one in (counted, lengths)]
    assert errors[0] < 0.8 * errors[1]


def test_counting_costs_no_more_than_the_exponential_mechanism_where_nothing_lies_beside_the_quantile():
    """All records at two values far from each other: the edge between them at every place."""
    query, epsilon, n = ib.median(0, 30, size=1000), Fraction(1, 5), 1000
    mechanism, groups = ib.counted_scores(query, epsilon), np.zeros((n - 1, 31), dtype=np.int64)
    groups[:, 10], groups[:, 20] = np.arange(1, n), n - np.arange(1, n)
    distances = np.abs(np.arange(31) - query.true_positions(groups)[:, None])
    weights = np.exp(-float(epsilon) / 2 * query.path_lengths(groups))
    exponential = weights / weights.sum(axis=1, keepdims=True)
    own, peer = ((law * distances).sum() for law in (mechanism.probabilities(groups), exponential))
    assert own <= peer

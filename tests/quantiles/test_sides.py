"""Sided score tables: the bound is right and attained, and what is not private is refused."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inbounds as ib
from inbounds.errors import PassportError, ScoreRatioViolation
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import SidedPermuteAndFlip
from inbounds.mechanism.origin import Origin
from inbounds.query import QuantileQuery, Scale
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.permute_flip import MOST_OUTPUTS
from inbounds.trusted.sided_scores import check_sides, sided_ratio_bounds, sided_score_levels
from raising import rejects

from .small import changed, exact_law, histograms


def geometric(epsilon, parts):
    """A table that falls by exp(epsilon / parts) a level, to 2**-62 at most."""
    fall = Fraction(math.exp(float(Fraction(epsilon)) / parts * (1 - 2**-30)))
    table = [TOTAL]
    while len(table) < 200 and table[-1] > 1:
        table.append(-(-table[-1] * fall.denominator // fall.numerator))
    return tuple(table)


def of_rank(width, rank, size):
    return QuantileQuery(Scale(Fraction(0), Fraction(1), range(width + 1)), Fraction(rank, size), size, True)


def laws_of(query, law, groups):
    levels = sided_score_levels(query.path_lengths(np.array(groups)), law.below, law.above, law.deeper, len(law.table))
    last = len(law.table) - 1
    chances = [[Fraction(law.table[min(level, last)], TOTAL) for level in row] for row in levels.tolist()]
    return dict(zip(groups, map(exact_law, chances), strict=True))


def largest_ratio(query, law, groups):
    laws = laws_of(query, law, groups)
    pairs = ((laws[group], laws[near]) for group in groups for near in changed(group))
    return max(high / low for own, other in pairs for high, low in zip(own, other, strict=True))


PACES = [((4, 4, 0), (6, 6, 0), 4), ((1, 7, 0), (3, 3, 0), 3), ((5, 5, 1), (5, 5, 1), 5), ((2, 8, 0), (2, 2, 2), 0)]
PACES += [((6, 6, 1, 3), (4, 4, 2, 4), 4), ((5, 5, 0), (5, 5, 1, 2), 0)]


@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
@pytest.mark.parametrize(("below", "above", "deeper"), PACES)
def test_neighbours_are_within_epsilon_at_every_rank(epsilon, below, above, deeper):
    size, width, p = 4, 3, exp_lower_bound(Fraction(epsilon))
    law = SidedPermuteAndFlip(geometric(epsilon, 10), below, above, deeper)
    for rank in range(size + 1):
        query = of_rank(width, rank, size)
        Mechanism(query, Fraction(epsilon), law, Origin("by hand"))
        assert largest_ratio(query, law, histograms(size, width)) * 2**EXP_BITS <= p


def test_a_surplus_record_is_covered_too():
    query, law = of_rank(2, 3, 4), SidedPermuteAndFlip(geometric(1, 10), (1, 6, 0), (4, 4, 1), 4)
    groups = [group for size in range(7) for group in histograms(size, 2)]
    laws, p = laws_of(query, law, groups), exp_lower_bound(Fraction(1))
    for group, t in product(histograms(4, 2) + histograms(5, 2), range(3)):
        more = tuple(count + (t == place) for place, count in enumerate(group))
        for high, low in zip(laws[group], laws[more], strict=True):
            assert max(high / low, low / high) * 2**EXP_BITS <= p


def test_epsilon_is_attained_where_many_values_move_together():
    """The others are many, all one record away, and go to two when the maximum rises."""
    width, law = 400, SidedPermuteAndFlip(geometric(1, 10), (6, 6, 0), (4, 4, 0), 0)
    mechanism = Mechanism(of_rank(width, 3, 3), Fraction(1), law, Origin("by hand"))
    group, near = np.zeros((2, width + 1), dtype=np.int64)
    group[[0, width - 1]], near[[0, width - 1, width]] = [2, 1], [1, 1, 1]
    own, other = mechanism.probabilities(np.array([group, near]))
    assert 0.98 < math.log(other[width] / own[width]) <= 1


levels = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(0, 4)).map(
    lambda side: (*side[:3], min(side[0], side[3]))
)


@given(st.lists(st.integers(1, 100), min_size=2, max_size=12), levels, levels, st.integers(0, 4), st.integers(0, 3))
def test_the_bound_holds_for_any_table(falls, below, above, deeper, rank):
    table = [TOTAL]
    for fall in falls:
        table.append(max(1, table[-1] * 100 // (100 + fall)))
    law = SidedPermuteAndFlip(table, below, above, min(deeper, below[1], above[1]))
    bound = Fraction(max(sided_ratio_bounds(law.table, law.below, law.above, law.deeper)), TOTAL * TOTAL)
    assert largest_ratio(of_rank(2, rank, 3), law, histograms(3, 2)) <= bound


def test_the_whole_number_bounds_are_the_theorems():
    table, below, above, d = (TOTAL, *(TOTAL // k for k in (3, 4, 9, 10, 31, 90, 400))), (1, 2, 0, 0), (3, 4, 1, 2), 1

    def step(by):
        return max(Fraction(table[i], table[min(i + by, 7)]) for i in range(1, 8))

    paces = [max(step(stride), Fraction(TOTAL, table[first])) for first, stride, *_ in (below, above)]
    expected = [paces[0] * paces[1], step(2 + d) * step(4 - d), step(2 - d) * step(4 + d)]
    found = [Fraction(bound, TOTAL * TOTAL) for bound in sided_ratio_bounds(table, below, above, d)]
    # steps are rounded up to multiples of 2**-62
    assert all(0 <= own / exact - 1 < Fraction(1, 10**15) for own, exact in zip(found, expected, strict=True))


def test_levels_are_the_definition():
    below, above, deeper = (2, 5, 1, 1), (3, 4, 2, 3), 1
    lengths = np.array([[6, 5, 3, 2, 0, 4, 4, 7, 9]])
    depth = 1  # two records away from the nearest other answer
    expected = [
        2 + 5 * 4 + depth,
        2 + 5 * 2 + depth,
        2 + 5 * 1 + depth,
        1,
        0,
        3,
        3,
        3 + 4 * 3 + depth,
        3 + 4 * 3 + depth,
    ]
    assert sided_score_levels(lengths, below, above, deeper, 100).tolist() == [expected]


def test_no_product_overflows_however_many_records_there_are():
    mechanism = ib.design_sided(ib.quantile(1, 0, 3, size=1 << 40), 1)
    many = mechanism.probabilities(np.array([[1 << 61, 0, 0, 0]]))[0]
    assert many.argmax() == 0
    assert many[1:].max() < 1e-17


@pytest.mark.parametrize("width", [3, 5000])
def test_a_table_that_falls_a_little_faster_is_refused(width):
    law = ib.design_sided(ib.quantile(1, 0, width, size=20), 1).law
    check_sides(law.table, law.below, law.above, law.deeper, width, Fraction(1))
    with rejects(ScoreRatioViolation, about="steeply"):
        check_sides(law.table, law.below, law.above, law.deeper, width, Fraction(98, 100))


def test_other_levels_are_refused(golden):
    def check(below, above, deeper):
        check_sides((TOTAL, TOTAL - 1), below, above, deeper, 3, Fraction(64))

    golden.errors(
        "wrong_sides",
        [
            lambda: check((0, 1, 0, 0), (1, 1, 0, 0), 0),
            lambda: check((1, 0, 0, 0), (1, 1, 0, 0), 0),
            lambda: check((1, 1, 0, 0), (1, MOST_OUTPUTS, 0, 0), 0),
            lambda: check((1, 1, -1, 0), (1, 1, 0, 0), 0),
            lambda: check((1, 1, 1, 2), (1, 1, 0, 0), 0),
            lambda: check((1, 1, 1, 0), (1, 1, 1, -1), 0),
            lambda: check((1, 2, 0, 0), (1, 1, 0, 0), 2),
            lambda: check((1, 1, 0, 0), (1, 1, 0, 0), -1),
            lambda: check((1, 1, 0), (1, 1, 0, 0), 0),
            lambda: check((1, 1, 0, 0), (1, 1.0, 0, 0), 0),
        ],
    )


@pytest.mark.parametrize("query", [ib.median(0, 9, maximum=9), ib.median(0, 9, size=9, records=2)])
def test_secret_sizes_and_several_records_of_one_person_are_refused(query):
    law = SidedPermuteAndFlip(geometric(1, 10), (5, 5, 0), (5, 5, 0), 5)
    with rejects(ValueError, about="public"):
        Mechanism(query, Fraction(1), law, Origin("by hand"))
    with rejects(ValueError, about="permute_and_flip"):
        ib.design_sided(query, 1)


def test_reports_follow_the_probabilities():
    """20,000 draws from a seed: every frequency within five standard errors."""
    mechanism = ib.design_sided(ib.quantile(1, 0, 12, size=6), 2)
    group = mechanism.query.encode([1, 2, 2, 5, 7, 8])
    found = mechanism.simulate_groups(np.tile(group, (20_000, 1)), np.random.default_rng(3))
    expected = mechanism.probabilities(group[None, :])[0]
    shares = np.bincount(found, minlength=13) / 20_000
    assert (np.abs(shares - expected) < 5 * np.sqrt(expected / 20_000)).all()


def test_a_passport_comes_back_as_it_was_and_a_steeper_one_is_refused(tmp_path):
    mechanism = ib.design_sided(ib.quantile(0, 0, 200, size=30), 1)
    mechanism.save(tmp_path / "m.json")
    assert ib.load(tmp_path / "m.json") == mechanism
    pace = mechanism.law.below[0]
    steeper = SidedPermuteAndFlip(
        mechanism.law.table, (pace + 1, pace + 1, 0), mechanism.law.above, mechanism.law.deeper
    )
    with pytest.raises(ScoreRatioViolation):
        Mechanism(mechanism.query, mechanism.epsilon, steeper, mechanism.origin)
    written = (tmp_path / "m.json").read_text("utf-8")
    spread = mechanism.law.below[2]
    text = written.replace(f'"below": "{pace} {pace} {spread}"', f'"below": "{pace} {pace}"')
    assert text != written
    (tmp_path / "m.json").write_text(text, "utf-8")
    with pytest.raises(PassportError):
        ib.load(tmp_path / "m.json")


def test_the_level_of_a_spread_is_written_where_it_is_not_0(tmp_path):
    table, query = geometric(1, 10), of_rank(9, 5, 5)
    for above, text in (((5, 5, 2), "5 5 2"), ((5, 5, 2, 3), "5 5 2 3")):
        own = Mechanism(query, Fraction(1), SidedPermuteAndFlip(table, (5, 5, 0), above), Origin("by hand"))
        own.save(tmp_path / "m.json")
        assert f'"above": "{text}"' in (tmp_path / "m.json").read_text("utf-8")
        assert ib.load(tmp_path / "m.json") == own

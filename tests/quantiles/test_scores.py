"""Score tables: the bound is right and attained, the checker refuses what is not private, the sampler draws the law."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inbounds as ib
from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.mechanism.laws import PermuteAndFlip
from inbounds.mechanism.laws.scores import permute_flip_probabilities
from inbounds.query import QuantileQuery, Scale
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.permute_flip import (
    MOST_OUTPUTS,
    ScoreSampler,
    check_scores,
    draw_permute_flip,
    ratio_bounds,
    score_levels,
    table_step,
)
from raising import rejects

from .small import QUANTILES, added_or_removed, changed, exact_law, histograms, law_of


def bound_of(law, width):
    return max(Fraction(*ratio) for ratio in ratio_bounds(law.table, law.stride, law.deeper, width))


def largest_loss(query, epsilon, groups, neighbours):
    """The largest ratio between neighbours, each compared with exp_below(epsilon) in integers."""
    law = ib.design_permute_flip(query, epsilon).law
    laws = {group: law_of(query, law, group) for group in groups}
    p, worst = exp_lower_bound(Fraction(epsilon)), Fraction(0)
    for group in groups:
        assert sum(laws[group]) == 1
        for near in neighbours(group):
            for high, low in zip(laws[group], laws[near], strict=True):
                assert high * 2**EXP_BITS <= p * low
                worst = max(worst, high / low)
    return math.log(worst)


def of_values(width, at, size, *, public, records=1):
    return QuantileQuery(Scale(Fraction(0), Fraction(1), range(width + 1)), at, size, public, 0, records)


@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
def test_neighbours_in_which_a_record_changed_are_within_epsilon_and_it_is_attained(epsilon):
    size, width, worst = 4, 2, 0.0
    groups = histograms(size, width)
    for k in range(size + 1):  # every rank: minimum, quantiles, maximum
        query = of_values(width, Fraction(k, size), size, public=True)
        worst = max(worst, largest_loss(query, epsilon, groups, changed))
    assert worst >= 0.99 * float(Fraction(epsilon))


@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
def test_neighbours_with_a_record_more_or_less_are_within_epsilon_and_it_is_attained(epsilon):
    width, worst = 2, 0.0
    groups = [group for size in range(6) for group in histograms(size, width)]
    for at in QUANTILES:
        query = of_values(width, at, 5, public=False)
        worst = max(worst, largest_loss(query, epsilon, groups, added_or_removed(5)))
    assert worst >= 0.99 * float(Fraction(epsilon))


def test_persons_with_two_records_are_within_epsilon_and_it_is_attained():
    groups = [group for size in range(7) for group in histograms(size, 2)]

    def person(group):
        one = list(added_or_removed(6)(group))
        two = [far for near in one for far in added_or_removed(6)(near)]
        return {*one, *two}

    worst = [largest_loss(of_values(2, at, 6, public=False, records=2), 1, groups, person) for at in QUANTILES[::3]]
    assert max(worst) >= 0.99


def drawn_lengths(data, width):
    """Two vectors of lengths with one zero each, at most one apart everywhere."""
    own = data.draw(st.lists(st.integers(1, 5), min_size=width + 1, max_size=width + 1))
    zero = data.draw(st.integers(0, width))
    own[zero] = 0
    near = [max(1, length + data.draw(st.integers(-1, 1))) for length in own]
    other = data.draw(st.integers(0, width))
    near[other if own[other] <= 1 else zero] = 0
    return own, near


@given(st.integers(1, 5), st.lists(st.integers(1, 100), min_size=2, max_size=12), st.integers(1, 3), st.data())
def test_the_bound_holds_for_any_table_and_any_lengths_with_one_zero(width, falls, stride, data):
    table = [TOTAL]
    for fall in falls:
        table.append(max(1, table[-1] * 100 // (100 + fall)))
    law = PermuteAndFlip(table, stride, data.draw(st.lists(st.integers(0, stride), max_size=3)))
    laws = []
    for lengths in drawn_lengths(data, width):
        own = score_levels(np.array([lengths]), law.stride, law.deeper, len(law.table))[0].tolist()
        laws.append(exact_law([Fraction(table[min(level, len(table) - 1)], TOTAL) for level in own]))
    bound = bound_of(law, width)
    assert max(max(a / b, b / a) for a, b in zip(*laws, strict=True)) <= bound


def integral(width, y, linear):
    """∫ (1 - linear·u)(1 - y·u)^(width - 1) du in Fractions, term by term."""
    powers = [Fraction(1), -linear]
    for _ in range(width - 1):
        powers = [a - y * b for a, b in zip([*powers, 0], [0, *powers], strict=True)]
    return sum(power / (degree + 1) for degree, power in enumerate(powers))


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_the_whole_number_bounds_are_the_theorems(width):
    law = ib.design_permute_flip(ib.median(0, width, size=9), 1).law
    table, stride = law.table, law.stride
    x = Fraction(table[1], TOTAL)
    R = max(Fraction(table_step(table, stride), TOTAL), 1 / x)

    def stays(own, others, largest):
        return own * integral(width, largest / others, Fraction(1)) / integral(width, largest, Fraction(1))

    moves = integral(width, x / R, x) / x / integral(width, x, Fraction(1))
    expected, level = [stays(R, R, x), moves], 1
    for more in law.deeper:
        Q, S = (Fraction(table_step(table, by), TOTAL) for by in (stride + more, stride - more))
        before, beyond = (Fraction(table[at], TOTAL) for at in (level, level + more))
        expected += [stays(Q, S, beyond), stays(S, Q, before)]
        level += more
    found = [Fraction(*ratio) for ratio in ratio_bounds(table, stride, law.deeper, width)]
    # R is rounded up to a multiple of 2**-62 in whole numbers
    assert all(0 <= own / exact - 1 < Fraction(1, 10**15) for own, exact in zip(found, expected, strict=True))


@pytest.mark.parametrize("width", [1, 2, 4, 20, 500, 5000])
@pytest.mark.parametrize("epsilon", ["0.001", "0.2", "1", "4"])
def test_designed_tables_spend_all_of_epsilon(width, epsilon):
    law = ib.design_permute_flip(ib.median(0, width, size=100), epsilon).law
    assert 0.985 < math.log(bound_of(law, width)) / float(epsilon) <= 1


@pytest.mark.parametrize("width", [3, 5000])
def test_a_table_that_falls_a_little_faster_is_refused(width):
    law = ib.design_permute_flip(ib.median(0, width, size=100), 1).law
    check_scores(law.table, law.stride, law.deeper, width, Fraction(1))
    with rejects(ScoreRatioViolation, about="steeply"):
        check_scores(law.table, law.stride, law.deeper, width, Fraction(98, 100))


@pytest.mark.parametrize("at", QUANTILES)
def test_the_depth_is_how_many_records_may_change_before_the_answer_does(at):
    size, width = 4, 2
    query = of_values(width, at, size, public=True)
    groups = histograms(size, width)
    truth = dict(zip(groups, query.true_positions(np.array(groups)).tolist(), strict=True))
    found = score_levels(query.path_lengths(np.array(groups)), 1, (1,), 100)
    plain = query.path_lengths(np.array(groups))
    for group, level, length in zip(groups, found, plain, strict=True):
        depth, reached = -1, {group}
        while {truth[near] for near in reached} == {truth[group]}:
            depth, reached = depth + 1, reached | {near for own in reached for near in changed(own)}
        assert (level == np.where(length == 0, 0, length + depth)).all()


@pytest.mark.parametrize("stride", [1, 3, MOST_OUTPUTS - 1])
def test_cutting_lengths_off_at_the_end_of_the_table_moves_no_output_and_never_overflows(stride):
    size, deeper = 4, (0, stride)
    lengths = np.array([[0, 1, 5, 1 << 41], [3, 7, 0, 4], [1 << 41, 0, 1 << 45, 1 << 61]])
    found = np.minimum(score_levels(lengths, stride, deeper, size), size - 1)
    for row, own in zip(found.tolist(), lengths.tolist(), strict=True):
        depth = min(length for length in own if length) - 1
        below = sum(deeper[:depth]) + max(0, depth - 2) * deeper[-1]
        exact = [0 if length == 0 else 1 + stride * (length - 1) + below for length in own]
        assert row == [min(level, size - 1) for level in exact]


def test_depths_beyond_those_listed_add_the_last_one():
    lengths = np.array([[0, 6, 9]])
    assert score_levels(lengths, 4, (1, 3), 100).tolist() == [[0, 1 + 20 + 13, 1 + 32 + 13]]
    assert score_levels(lengths, 4, (), 100).tolist() == [[0, 21, 33]]


@pytest.mark.parametrize(
    "table",
    [(TOTAL,), (TOTAL, TOTAL), (TOTAL - 1, 5), (TOTAL, 5, 6), (TOTAL, 5, 0), (TOTAL, 5.0), (TOTAL, True), ()],
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(InvalidDistribution):
        check_scores(table, 1, (), 3, Fraction(64))


LEVELS = [(0, ()), (2, (3,)), (2, (-1,)), (True, ()), (1, (1,) * (1 << 13)), (99, tuple(range(33)))]


@pytest.mark.parametrize(("stride", "deeper"), LEVELS)
def test_what_are_no_levels_is_refused(stride, deeper):
    with pytest.raises(InvalidDistribution):
        check_scores((TOTAL, TOTAL - 1), stride, deeper, 3, Fraction(64))


def test_the_sampler_draws_the_law_up_to_the_rounding_that_the_checker_allows():
    bits, table = 3, (8, 5, 1)
    sampler, lengths = ScoreSampler.from_table(table, bits), np.array([[1, 0, 2]])
    words = np.array(list(product(range(1 << bits), repeat=4)), dtype=np.uint64)
    found = sampler.outputs(np.repeat(lengths, len(words), axis=0), np.concatenate([words[:, :3].ravel(), words[:, 3]]))
    drawn = [Fraction(int(count), len(words)) for count in np.bincount(found, minlength=3)]
    exact = exact_law([Fraction(table[length], 1 << bits) for length in (1, 0, 2)])
    assert sum(drawn) == 1
    for own, wanted in zip(drawn, exact, strict=True):
        assert abs(own / wanted - 1) <= Fraction(3, 1 << bits)


def test_an_index_is_exact_where_the_hands_divide_the_words():
    sampler, words = ScoreSampler.from_table((1 << 10, 1), 10), np.arange(1 << 10, dtype=np.uint64)
    for hands in (1, 2, 4, 8):
        found = sampler._index(words, np.full(len(words), hands, dtype=np.uint64))
        assert np.bincount(found.astype(int)).tolist() == [(1 << 10) // hands] * hands


@given(st.integers(0, TOTAL - 1), st.integers(1, (1 << 24) - 1))
def test_an_index_is_the_floor_of_the_product(word, hands):
    found = ScoreSampler.from_table((TOTAL, 1))._index(
        np.array([word], dtype=np.uint64), np.array([hands], dtype=np.uint64)
    )
    assert int(found[0]) == word * hands >> 62


def test_every_group_takes_the_same_number_of_words():
    asked = []

    def draws(count):
        asked.append(count)
        return np.zeros(count, dtype=np.uint64)

    for lengths in (np.array([[0, 1, 1]] * 9), np.array([[0, 50, 70]] * 9)):
        draw_permute_flip(ScoreSampler.from_table((TOTAL, 1 << 40, 1)), lengths, draws)
    assert asked == [36, 36]


def test_float_probabilities_are_the_exact_law():
    rng = np.random.default_rng(1)
    for m in (2, 5, 9):
        numerators = rng.integers(1, 1000, m)
        numerators[0] = 1000
        exact = exact_law([Fraction(int(n), 1000) for n in numerators])
        assert np.allclose(
            permute_flip_probabilities(numerators[None, :] / 1000)[0], np.array(exact, dtype=float), atol=1e-14
        )


def test_few_nodes_are_enough_for_many_values():
    chances = np.array([[1.0, *np.full(1500, 0.9)], [1.0, *np.full(1500, 1e-3)]])
    found = permute_flip_probabilities(chances)
    for row, p in zip(found, chances, strict=True):
        own, c = p[1], len(p) - 1
        first = (1 - (1 - own) ** (c + 1)) / (own * (c + 1))  # ∫ (1 - own·u)^c du
        assert abs(row[0] - first) <= 1e-12

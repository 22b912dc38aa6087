"""Several quantiles of a group of secret size: the law by brute force, the sampler branch by branch, the check."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import isqrt, prod

import numpy as np
import pytest

import inbounds as ib
from inbounds.errors import InfeasibleDesign, InvalidDistribution, ScoreRatioViolation
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import JointPathLengthsOverSizes
from inbounds.mechanism.origin import Origin
from inbounds.query import JointQuantileQuery, Scale
from inbounds.trusted import joint_sizes
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.joint_quantiles import SLACK_BITS
from inbounds.trusted.joint_sizes import JointSizesSampler, capacity, check_joint_sizes
from inbounds.trusted.path_lengths import quantile_rank
from inbounds.trusted.samplers import seeded_entropy

from .small import added_or_removed, histograms
from .test_joint import drawn_law, shares, steps_to, truth_of

CASES = [
    (1, ("0", "1"), (0, 1, 2)),
    (2, ("1/4", "1/2", "3/4"), (0, 1, 3)),
    (2, ("0", "1/2"), (2, 3)),
    (3, ("1/3", "9/10"), (0, 2)),
]
"""The largest value, the quantiles, the sizes that are tried."""

MOST = 4
"""The most records of the groups below."""


def groups_up_to(most, width):
    return [group for n in range(most + 1) for group in histograms(n, width)]


def quantiles_of(group, at, missing):
    size = sum(group)
    return truth_of(group, [quantile_rank(share, size) for share in at]) if size else (missing,) * len(at)


def weights_by_definition(width, at, sizes, x, spacing, floor, missing=0):
    """W(o) of every group in Fractions: how many records to add or remove, from searches among groups."""
    groups, everyone = groups_up_to(MOST, width), groups_up_to(MOST + sizes[-1], width)
    weights = {group: {} for group in groups}
    for o in combinations_with_replacement(range(width + 1), len(at)):
        base = prod((Fraction(spacing[b - a]) for a, b in pairwise(o)), start=Fraction(1))
        levels = {group: Fraction(1, 1 << floor) for group in groups}
        for size in sizes:
            sources = [one for one in everyone if sum(one) == size and quantiles_of(one, at, missing) == o]
            if sources:
                steps = steps_to(groups, sources, added_or_removed(MOST + sizes[-1]))
                levels = {group: levels[group] + x ** steps[group] for group in groups}
        for group in groups:
            weights[group][o] = base * levels[group]
    return weights


def tight_weight(epsilon, records=1):
    """The least weight that is private: x^-2, with the slack, is at most exp(epsilon / records)."""
    p, slack = exp_lower_bound(Fraction(epsilon) / records), 1 << SLACK_BITS
    return isqrt(((TOTAL**2 * (slack + 1)) << EXP_BITS) // (p * (slack - 1))) + 1


def make_query(width, at, maximum, missing=0, records=1):
    shares_at = tuple(map(Fraction, at))
    return JointQuantileQuery(
        Scale(Fraction(0), Fraction(1), range(width + 1)), shares_at, maximum, False, missing, records
    )


@pytest.mark.parametrize(("width", "at", "sizes"), CASES)
def test_no_output_is_likelier_with_a_record_more_or_less_than_epsilon_allows(width, at, sizes):
    shares_at, x = tuple(map(Fraction, at)), Fraction(tight_weight("3/2"), TOTAL)
    for spacing in ([1] * (width + 1), [12, 6, 4, 3][: width + 1], [1, 1000, 1, 1000][: width + 1]):
        weights = weights_by_definition(width, shares_at, sizes, x, spacing, 5)
        laws = {group: shares(of) for group, of in weights.items()}
        pairs = [(g, h) for g in laws for h in added_or_removed(MOST)(g)]
        worst = max(laws[g][o] / laws[h][o] for g, h in pairs for o in laws[g])
        assert 1 < worst <= x**-2
        assert worst * (2**SLACK_BITS + 1) * 2**EXP_BITS <= exp_lower_bound(Fraction("3/2")) * (2**SLACK_BITS - 1)


@pytest.mark.parametrize(("width", "at", "sizes"), [CASES[0], (1, ("1/4", "3/4"), (0, 2, 3))])
def test_the_sampler_draws_the_law_of_the_definition(width, at, sizes, monkeypatch):
    shares_at, weight, spacing = tuple(map(Fraction, at)), tight_weight(1), [60, 30, 20, 7][: width + 1]
    sampler = JointSizesSampler.from_weights(weight, spacing, sizes, 9, shares_at, 1)
    by_definition = weights_by_definition(width, shares_at, sizes, Fraction(weight, TOTAL), spacing, 9, 1)
    simulator = replace(sampler, capacity=MOST)  # of groups that are given, with less work
    for group, drawing in product([(0, 0), (2, 1), (1, 3)], [sampler, simulator]):
        drawn, expected = drawn_law(drawing, group, monkeypatch), shares(by_definition[group])
        assert set(drawn) == set(expected)
        assert all(abs(drawn[o] / expected[o] - 1) < Fraction(1, 1 << (SLACK_BITS + 10)) for o in expected)


@pytest.mark.parametrize(("width", "at", "sizes"), CASES)
def test_probabilities_are_those_of_the_definition(width, at, sizes):
    query = make_query(width, at, sizes[-1], missing=1)
    law = JointPathLengthsOverSizes(tight_weight(2), tuple([60, 30, 20, 7][: width + 1]), sizes, 6)
    by_definition = weights_by_definition(width, query.at, sizes, Fraction(law.weight, TOTAL), law.spacing, 6, 1)
    found = law.probabilities(query, np.array([*by_definition]))
    for row, weights in zip(found, by_definition.values(), strict=True):
        for j in range(len(at)):
            for t in range(width + 1):
                share = sum(p for o, p in shares(weights).items() if o[j] == t)
                assert row[j, t] == pytest.approx(float(share), rel=1e-10)


def test_beyond_the_capacity_levels_are_lost_in_the_floor():
    weight, sizes, floor = tight_weight(2), (0, 3, 6), 12
    most, x = capacity(weight, sizes, floor), Fraction(weight, TOTAL)
    assert len(sizes) * x ** (most - sizes[-1]) <= Fraction(1, 1 << (floor + joint_sizes.CAPACITY_BITS))
    query = make_query(2, ("0", "1/2", "1"), 6)
    law = JointPathLengthsOverSizes(weight, (3, 2, 1), sizes, floor)
    groups = np.array([[most, 0, 0], [0, 0, most], [0, 0, most + 1], [10**9, 3, 10**9]])
    laws = law.probabilities(query, groups)
    assert np.allclose(laws, laws[0], rtol=2.0**-30)  # none knows the records any more


@pytest.mark.parametrize("epsilon", ["1/2", "64"])
def test_every_draw_rises_and_takes_the_same_words_whatever_the_records(epsilon):
    query = ib.quantiles(["1/4", "1/2", "9/10"], 0, 10, maximum=20, missing=3)
    law, used = ib.design_joint(query, epsilon).law, set()
    rng = np.random.default_rng(1)
    for group in (rng.multinomial(n, np.full(11, 1 / 11)) for n in (0, 1, 19, 20, 21, 500, 10**12)):
        words, draws = [], seeded_entropy(rng)
        sample = law.make_sampler(query)(group, lambda count: words.append(count) or draws(count))  # noqa: B023
        assert sample.shape == (3,)
        assert (np.diff(sample) >= 0).all()
        assert ((sample >= 0) & (sample <= 10)).all()
        used.add(tuple(words))
    assert len(used) == 1


@pytest.mark.parametrize("records", [1, 4])
def test_the_weight_of_a_level_is_as_small_as_the_check_allows(records):
    query = make_query(3, ("0", "1/2"), 6, records=records)
    made = ib.design_joint(query, 2)
    assert made.law.weight == tight_weight(2, records)
    assert made.law.sizes[-1] == 6
    wrong = JointPathLengthsOverSizes(made.law.weight - 1, made.law.spacing, made.law.sizes, made.law.floor)
    with pytest.raises(ScoreRatioViolation):
        Mechanism(query, Fraction(2), wrong, Origin("by hand"))


WRONG = {
    "no weight": (0, (1, 1), (0, 3), 9, 2),
    "no fall": (TOTAL, (1, 1), (0, 3), 9, 2),
    "a weight in floats": (float(TOTAL // 2), (1, 1), (0, 3), 9, 2),
    "an impossible spacing": (TOTAL // 2, (1, 0), (0, 3), 9, 2),
    "one value": (TOTAL // 2, (1,), (0, 3), 9, 2),
    "no sizes": (TOTAL // 2, (1, 1), (), 9, 2),
    "a size below 0": (TOTAL // 2, (1, 1), (-1, 3), 9, 2),
    "equal sizes": (TOTAL // 2, (1, 1), (3, 3), 9, 2),
    "too many sizes": (TOTAL // 2, (1, 1), range(257), 9, 2),
    "a negative floor": (TOTAL // 2, (1, 1), (0, 3), -1, 2),
    "a floor that floats cannot hold": (TOTAL // 2, (1, 1), (0, 3), 850, 2),
    "too many records": (TOTAL // 2, (1, 1), (0, 1 << 18), 9, 2),
    "an epsilon that needs too many records": (TOTAL - 1, (1, 1), (0, 3), 9, 2),
    "too many pairs": (TOTAL // 2, (1,) * 4000, (0, 3), 9, 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_numbers_that_the_sampler_cannot_draw_are_refused(name):
    weight, spacing, sizes, floor, quantiles = WRONG[name]
    with pytest.raises(InvalidDistribution):
        check_joint_sizes(weight, spacing, tuple(sizes), floor, quantiles, 1, Fraction(64))


def test_a_public_size_and_other_spacings_are_refused():
    made = ib.design_joint(ib.quantiles([0, 1], 0, 4, maximum=9), 1)
    for query in (ib.quantiles([0, 1], 0, 4, size=9), ib.quantiles([0, 1], 0, 5, maximum=9)):
        with pytest.raises(ValueError, match=r"not public|each spacing"):
            Mechanism(query, Fraction(1), made.law, Origin("by hand"))


def test_an_epsilon_that_needs_too_many_records_is_refused():
    with pytest.raises(InfeasibleDesign):
        ib.design_joint(ib.quantiles([0, 1], 0, 4, maximum=9), "1/1000000")


def test_a_joint_draw_errs_less_than_single_draws_with_parts_of_epsilon():
    query = ib.quantiles([0.25, 0.5, 0.75], 0, 24, maximum=20)
    groups = np.random.default_rng(0).multinomial(15, np.full(25, 1 / 25), size=40)

    def error(laws):
        truths = [single.true_positions(groups) for single in query.singles]
        return sum(
            (law * np.abs(np.arange(25) - truth[:, None])).sum() for law, truth in zip(laws, truths, strict=True)
        )

    joint = ib.design_joint(query, 1, closeness="1/2").probabilities(groups)
    single = [ib.optimal(one, "1/3").probabilities(groups) for one in query.singles]
    assert error(joint.transpose(1, 0, 2)) < 0.8 * error(single)

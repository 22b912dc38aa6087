"""Several quantiles in one draw: the law by brute force, the sampler branch by branch, and what is refused."""

from collections import deque
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import prod

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles import design_counts
from inbounds.design.quantiles.joint import declared_groups
from inbounds.errors import InfeasibleDesign, InvalidDistribution, ScoreRatioViolation
from inbounds.mechanism import Mechanism
from inbounds.mechanism.expected_channel import QuantileOfJoint, channel_of_unknown_records
from inbounds.mechanism.laws import JointPathLengths
from inbounds.mechanism.origin import Origin
from inbounds.query import JointQuantileQuery, Scale
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.joint_quantiles import (
    MOST_RANK_STEPS,
    SLACK_BITS,
    JointSampler,
    Staircases,
    check_joint,
    truths_and_depths,
)
from inbounds.trusted.samplers import seeded_entropy
from raising import rejects

from .small import added_or_removed, changed, histograms

CASES = [(2, (1, 2), 3), (2, (1, 3), 4), (3, (2, 3), 4), (2, (1, 2, 4), 4), (3, (1, 3, 5), 5), (1, (2, 4, 5), 6)]
"""The largest value, the ranks, the number of records."""


def truth_of(group, ranks):
    records = [t for t, count in enumerate(group) for _ in range(count)]
    return tuple(records[rank - 1] for rank in ranks)


def steps_to(groups, sources, neighbours):
    """The least number of steps between neighbours from every group to one of the sources: breadth-first."""
    seen = dict.fromkeys(sources, 0)
    queue = deque(sources)
    while queue:
        here = queue.popleft()
        for there in neighbours(here):
            if there not in seen:
                seen[there] = seen[here] + 1
                queue.append(there)
    return {group: seen[group] for group in groups}


def weights_by_definition(width, ranks, size, x, spacing):
    """W(o) of every group in Fractions, from searches among groups: no formula for levels or depths."""
    groups = histograms(size, width)
    truth = {group: truth_of(group, ranks) for group in groups}
    outputs = [*combinations_with_replacement(range(width + 1), len(ranks))]
    base = {o: prod((Fraction(spacing[b - a]) for a, b in pairwise(o)), start=Fraction(1)) for o in outputs}
    weights = {group: {} for group in groups}
    for o in outputs:
        with_it = [group for group in groups if truth[group] == o]
        others = [group for group in groups if truth[group] != o]
        far, out = steps_to(groups, with_it, changed), steps_to(groups, others, changed)
        for group in groups:
            is_true = truth[group] == o
            weights[group][o] = base[o] * (x ** (-2 * (out[group] - 1)) if is_true else x ** (2 * far[group]))
    return weights


def shares(weights):
    total = sum(weights.values())
    return {o: weight / total for o, weight in weights.items()}


def make_query(width, ranks, size, records=1):
    at = tuple(Fraction(rank, size) for rank in ranks)
    return JointQuantileQuery(Scale(Fraction(0), Fraction(1), range(width + 1)), at, size, True, 0, records)


def tight_weight(epsilon, records=1):
    """The least weight that is private, by bisection of the definition."""
    p, slack = exp_lower_bound(Fraction(epsilon) / records), 1 << SLACK_BITS
    low, high = 1, TOTAL
    while low < high:
        middle = (low + high) // 2
        private = (TOTAL**4 * (slack + 1)) << EXP_BITS <= p * middle**4 * (slack - 1)
        low, high = (low, middle) if private else (middle + 1, high)
    return low


@pytest.mark.parametrize(("width", "ranks", "size"), CASES)
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_no_output_is_likelier_in_a_neighbouring_group_than_epsilon_allows(width, ranks, size, epsilon):
    weight = tight_weight(epsilon)
    x = Fraction(weight, TOTAL)
    for spacing in ([1] * (width + 1), [12, 6, 4, 3][: width + 1], [1, 1000, 1, 1000][: width + 1]):
        laws = {g: shares(w) for g, w in weights_by_definition(width, ranks, size, x, spacing).items()}
        worst = max(laws[g][o] / laws[h][o] for g in laws for h in changed(g) for o in laws[g])
        assert worst <= x**-4
        assert worst * (2**SLACK_BITS + 1) * 2**EXP_BITS <= exp_lower_bound(Fraction(epsilon)) * (2**SLACK_BITS - 1)


@pytest.mark.parametrize(("width", "ranks", "size"), CASES)
def test_probabilities_are_those_of_the_definition(width, ranks, size):
    query, spacing = make_query(width, ranks, size), [60, 30, 20, 7][: width + 1]
    law = JointPathLengths(tight_weight(2), tuple(spacing))
    by_definition = weights_by_definition(width, ranks, size, Fraction(law.weight, TOTAL), spacing)
    found = law.probabilities(query, np.array([*by_definition]))
    assert np.allclose(found.sum(axis=2), 1, rtol=1e-13)
    for row, weights in zip(found, by_definition.values(), strict=True):
        for j in range(len(ranks)):
            for t in range(width + 1):
                share = sum(p for o, p in shares(weights).items() if o[j] == t)
                assert row[j, t] == pytest.approx(float(share), rel=1e-12)


def no_lot(count):
    """Words with which no vector is drawn by lot."""
    return np.full(count, TOTAL - 1, dtype=np.uint64)


def drawn_law(sampler, group, monkeypatch):
    """The law of one draw: every coin is followed to both sides."""
    found, paths = {}, [[]]
    while paths:
        path, taken, chance = paths.pop(), [], Fraction(1)

        def follow(self, yes, no, draws, path=path, taken=taken):
            nonlocal chance
            sides = Fraction(float(no[0])), Fraction(float(yes[0]))
            if len(taken) < len(path):
                side = path[len(taken)]
            else:
                side = not sides[0]
                if all(sides):
                    paths.append([*taken, True])
            taken.append(side)
            chance *= sides[side] / sum(sides)
            return np.array([side])

        with monkeypatch.context() as patch:
            patch.setattr(JointSampler, "flip", follow)
            output = tuple(sampler.draw(np.array([group]), no_lot)[0].tolist())
        found[output] = found.get(output, 0) + chance
    return found


@pytest.mark.parametrize(("width", "ranks", "size"), CASES)
def test_the_sampler_draws_the_law_of_the_definition(width, ranks, size, monkeypatch):
    weight, spacing = tight_weight(1), [60, 30, 20, 7][: width + 1]
    sampler = JointSampler.from_weights(weight, spacing, ranks, size)
    by_definition = weights_by_definition(width, ranks, size, Fraction(weight, TOTAL), spacing)
    for group in [*by_definition][:: max(1, len(by_definition) // 5)]:
        drawn, expected = drawn_law(sampler, group, monkeypatch), shares(by_definition[group])
        assert set(drawn) == set(expected)
        assert all(abs(drawn[o] / expected[o] - 1) < Fraction(1, 1 << (SLACK_BITS + 10)) for o in expected)


def test_sums_have_at_most_seven_parts_and_picks_at_most_24_coins():
    """What the count of roundings supposes (`sums_counted` and `picks_counted` in Rounding.v)."""
    assert max(-(-values // max(1, values // 4)) for values in range(1, 5000)) == 7
    most_states = MOST_RANK_STEPS // 2**2
    assert (most_states - 1).bit_length() <= 24


def test_coins_keep_the_precision_of_rare_sides():
    sampler = JointSampler.from_weights(tight_weight(1), [1, 1, 1], (1, 2), 4)
    assert sampler.words_per_coin == 2
    word = lambda *digits: lambda count: np.array(digits, dtype=np.uint64)  # noqa: E731
    rare, common = np.array([2.0**-100]), np.array([1.0])
    limit = 2**24 - 1  # 2^-100 of 2^124 words, less a little for the sum 1 + 2^-100
    for yes, no, is_rare in ((rare, common, True), (common, rare, False)):
        assert sampler.flip(yes, no, word(0, limit))[0] == is_rare
        assert sampler.flip(yes, no, word(0, limit + 1))[0] != is_rare
        assert sampler.flip(yes, no, word(1, 0))[0] != is_rare


@pytest.mark.parametrize("epsilon", ["1/1000000", "1", "64"])
def test_every_draw_rises_and_takes_the_same_words_whatever_the_records(epsilon):
    query = ib.quantiles([0, "1/4", "1/2", "9/10", 1], 0, 30, size=40, missing=3)
    law, used = ib.optimal(query, epsilon).law, set()
    rng = np.random.default_rng(1)
    spread = [rng.multinomial(n, np.full(31, 1 / 31)) for n in (0, 1, 39, 40, 41, 500)]
    for group in [*spread, *(40 * np.eye(31, dtype=np.int64))[[0, 3, 30]]]:
        words, draws = [], seeded_entropy(rng)
        sample = law.make_sampler(query)(group, lambda count: words.append(count) or draws(count))  # noqa: B023
        assert sample.shape == (5,)
        assert (np.diff(sample) >= 0).all()
        assert ((sample >= 0) & (sample <= 30)).all()
        used.add(tuple(words))
    assert len(used) == 1


def test_a_vector_drawn_by_lot_does_not_depend_on_the_records():
    sampler = JointSampler.from_weights(tight_weight(1), [3, 2, 1, 1], (2, 3), 4)
    groups = np.array(histograms(4, 3))
    count_of_lots = []

    def words(count):
        rng = np.random.default_rng(count)
        is_lot = count == len(groups)
        count_of_lots.append(is_lot)
        return np.zeros(count, dtype=np.uint64) if is_lot else rng.integers(0, TOTAL, count, dtype=np.uint64)

    drawn = sampler.draw(groups, words)
    assert count_of_lots.count(True) == 1
    numbers = np.random.default_rng(2 * len(groups)).integers(0, TOTAL, 2 * len(groups), dtype=np.uint64)
    anyone = (numbers.astype(object) * 4 >> 62).reshape(2, -1).astype(np.int64)
    assert np.array_equal(drawn, np.sort(anyone, axis=0).T)


def test_records_short_of_a_public_size_or_beyond_it_cost_no_more_than_changed_ones():
    query = make_query(2, (1, 3), 3)
    law = JointPathLengths(tight_weight(1), (5, 3, 1))
    groups = [group for n in range(6) for group in histograms(n, 2)]
    by_definition = weights_by_definition(2, (1, 3), 3, Fraction(law.weight, TOTAL), law.spacing)

    def records_that_count(group):
        records = [t for t, count in enumerate(group) for _ in range(count)]
        first = sorted([*records, *[query.missing] * (3 - len(records))])[:3]
        return tuple(first.count(t) for t in range(3))

    found = law.probabilities(query, np.array(groups))
    assert np.array_equal(found, law.probabilities(query, np.array([*map(records_that_count, groups)])))
    laws = {group: shares(by_definition[records_that_count(group)]) for group in groups}
    pairs = [(g, h) for g in groups for h in added_or_removed(5)(g)]
    assert max(laws[g][o] / laws[h][o] for g, h in pairs for o in laws[g]) <= Fraction(TOTAL, law.weight) ** 4


def test_truths_and_depths_are_those_of_the_definition():
    for width, ranks, size in CASES:
        groups = histograms(size, width)
        truths, depths = truths_and_depths(Staircases.from_histograms(np.array(groups), size), np.array(ranks))
        for group, truth, depth in zip(groups, truths.T.tolist(), depths.tolist(), strict=True):
            assert tuple(truth) == truth_of(group, ranks)
            others = [other for other in groups if truth_of(other, ranks) != truth_of(group, ranks)]
            assert depth == steps_to([group], others, changed)[group] - 1


def test_quantiles_of_the_same_record_are_the_same_number():
    query = ib.quantiles(["0.1", "0.2", "0.9"], 0, 9, size=3)
    assert query.ranks == (1, 1, 3)
    mechanism = ib.optimal(query, 1)
    reports = mechanism.simulate_groups(np.tile([1, 0, 0, 1, 0, 0, 0, 0, 0, 1], (50, 1)), np.random.default_rng(0))
    assert np.array_equal(reports[:, 0], reports[:, 1])
    assert (reports[:, 1] < reports[:, 2]).any()


@pytest.mark.parametrize("records", [1, 3])
def test_the_weight_of_a_level_is_as_small_as_the_check_allows(records):
    query = make_query(3, (2, 3), 4, records)
    made = ib.optimal(query, 2)
    weight = tight_weight(2, records)
    assert made.law.weight == weight
    with pytest.raises(ScoreRatioViolation):
        Mechanism(query, Fraction(2), JointPathLengths(weight - 1, made.law.spacing), Origin("by hand"))


WRONG = {
    "no weight": (0, (1, 1), (1, 2), 3),
    "no fall": (TOTAL, (1, 1), (1, 2), 3),
    "a weight in floats": (float(TOTAL // 2), (1, 1), (1, 2), 3),
    "an impossible spacing": (TOTAL // 2, (1, 0), (1, 2), 3),
    "a large spacing": (TOTAL // 2, (1, 1 << 24), (1, 2), 3),
    "one value": (TOTAL // 2, (1,), (1, 2), 3),
    "no ranks": (TOTAL // 2, (1, 1), (), 3),
    "a rank of zero": (TOTAL // 2, (1, 1), (0, 2), 3),
    "equal ranks": (TOTAL // 2, (1, 1), (2, 2), 3),
    "ranks beyond the records": (TOTAL // 2, (1, 1), (2, 4), 3),
    "too many quantiles": (TOTAL // 2, (1, 1), range(1, 50), 400),
    "too many quantiles for floats": (TOTAL // 2, (1,) * 300, range(1, 26), 30),
    "too many records": (TOTAL // 2, (1, 1), (1, 2), 1 << 18),
    "too many pairs": (TOTAL // 2, (1,) * 4100, (1, 2), 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_numbers_that_the_sampler_cannot_draw_are_refused(name):
    weight, spacing, ranks, size = WRONG[name]
    with pytest.raises(InvalidDistribution):
        check_joint(weight, spacing, tuple(ranks), size, 1, Fraction(64))


def test_a_secret_size_and_other_spacings_are_refused():
    made = ib.optimal(ib.quantiles([0, 1], 0, 4, size=9), 1)
    for query, about in (
        (ib.quantiles([0, 1], 0, 4, maximum=9), "public"),
        (ib.quantiles([0, 1], 0, 5, size=9), "spacing"),
    ):
        with rejects(ValueError, about=about):
            Mechanism(query, Fraction(1), made.law, Origin("by hand"))


def test_an_epsilon_that_the_rounding_uses_up_is_refused():
    with pytest.raises(InfeasibleDesign):
        ib.design_joint(ib.quantiles([0, 1], 0, 4, size=9), "1/1000000000")


def test_a_joint_draw_errs_less_than_single_draws_with_parts_of_epsilon():
    query = ib.quantiles([0.25, 0.5, 0.75], 0, 24, size=40)
    joint = ib.optimal(query, 1)
    for single in query.singles:
        assert joint.channel(at=single.at).loss() < 0.7 * ib.optimal(single, "1/3").loss()


def single_errors(query, epsilon, groups):
    """The mean error of single draws with equal parts of epsilon, for every group."""
    errors = []
    for single in query.singles:
        law = ib.optimal(single, Fraction(epsilon) / len(query.at)).probabilities(groups)
        truths = single.true_positions(groups)
        errors.append((law * np.abs(np.arange(query.width + 1) - truths[:, None])).sum(axis=1))
    return np.mean(errors, axis=0)


def test_the_design_is_the_best_that_at_no_scale_is_noticeably_worse_than_single_draws():
    query = ib.quantiles([0, 0.5, 1], 0, 20, size=30)
    groups, scales = declared_groups(query)
    design = ib.design_quantiles(query, 1, search=ib.JointSearch(guard=0.7))
    single = single_errors(query, 1, groups)
    truths = np.stack([one.true_positions(groups) for one in query.singles], axis=1)
    made = {f"closeness {k / 2:g}": ib.design_joint(query, 1, closeness=Fraction(k, 2)) for k in range(7)}
    made["noisy counts"] = design_counts(query, 1)
    found = {}
    for name, mechanism in made.items():
        errors = (mechanism.probabilities(groups) * np.abs(np.arange(21) - truths[:, :, None])).sum(axis=2).mean(axis=1)
        ratios = [(errors[scales == k].mean() + 1e-3) / (single[scales == k].mean() + 1e-3) for k in np.unique(scales)]
        found[name] = float(errors.mean()), float(max(ratios))
    assert set(design.errors) == set(found)
    assert all(design.errors[name] == pytest.approx(found[name]) for name in found)
    kept = {name: mean for name, (mean, worst) in found.items() if worst <= 0.7}
    assert 0 < len(kept) < len(found)
    best = min(kept, key=lambda one: kept[one])
    assert design.mechanism == made[best]
    assert design.reason.startswith(f"{best}: ")


def test_a_search_in_which_no_design_keeps_the_guard_takes_the_least_worst():
    query = ib.quantiles([0, 0.5, 1], 0, 20, size=30)
    design = ib.design_quantiles(query, 1, search=ib.JointSearch(guard=1e-9))
    worst = min(worst for _, worst in design.errors.values())
    (chosen,) = (name for name, (_, one) in design.errors.items() if one == worst)
    assert design.reason.startswith(f"{chosen}: ")


@pytest.mark.parametrize(
    ("wrong", "subject"),
    [
        ({"closeness": ()}, "closeness"),
        ({"closeness": (-1,)}, "closeness"),
        ({"guard": 0}, "guard and negligible"),
        ({"negligible": 0}, "guard and negligible"),
    ],
)
def test_a_search_that_cannot_be_is_refused(wrong, subject):
    with rejects(ValueError, subject):
        ib.JointSearch(**wrong)


def test_a_negative_closeness_is_refused():
    with rejects(ValueError, "closeness"):
        ib.design_joint(ib.quantiles([0, 1], 0, 4, size=9), 1, closeness=-1)


def test_a_channel_belongs_to_one_of_the_quantiles():
    joint = ib.optimal(ib.quantiles([0, 1], 0, 4, size=9), 1)
    assert joint.channel(at=1).loss() == pytest.approx(joint.channel(at=0).loss())  # mirror images
    for at in (None, "1/2"):
        with rejects(ValueError, "at"):
            joint.channel(at=at)
    with rejects(ValueError, "at"):
        ib.optimal(ib.count(4), 1).channel(at=0)


def test_one_group_is_one_report():
    mechanism = ib.optimal(ib.quantiles([0, 0.5, 1], 1, 5, size=4, step="1/2"), 50)
    assert mechanism.simulate([2, None, 4.5, 3], np.random.default_rng(0)) == [1, 2, 4.5]
    assert len(mechanism.sample([1, 2, 3, 4])) == 3


def test_quantiles_are_a_question_that_says_what_is_wrong():
    for arguments, place in (
        (([0.5], 0, 4), "at"),
        (([0.5, 0.5], 0, 4), "at"),
        (([0.5, 2], 0, 4), "at"),
        (([0, 1], 4, 0), "low"),
    ):
        with rejects(ValueError, place):
            ib.quantiles(*arguments, size=9)
    with rejects(ValueError, about="size"):
        ib.quantiles([0, 1], 0, 4)
    assert ib.quantiles([1, 0], 0, 4, size=9).at == (0, 1)


def test_where_groups_are_costly_a_law_is_moved_to_the_values_around_it():
    query = ib.quantiles(["1/4", "3/4"], 0, 29, size=40)
    law = ib.design_joint(query, 2).law
    one = QuantileOfJoint(query, law, 1)
    full, some = (channel_of_unknown_records(query.singles[1], one, 40, 4, every) for every in (1, 3))
    assert np.allclose(some.matrix.sum(axis=0), 1)
    assert some.loss("absolute") == pytest.approx(full.loss("absolute"), rel=0.1)
    away = [np.abs(np.arange(30)[:, None] - np.arange(30)) * channel.matrix for channel in (full, some)]
    errors = [one.sum(axis=0)[6:24].mean() for one in away]  # also of values in the middle, where nothing is clipped
    assert errors[1] == pytest.approx(errors[0], rel=0.15)

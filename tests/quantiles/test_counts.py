"""Several quantiles read off noisy counts: the law by brute force, the reading, the check, and when it is chosen."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles import design_counts, design_quantiles
from inbounds.errors import InfeasibleDesign, InvalidDistribution, ScoreRatioViolation
from inbounds.mechanism import Mechanism
from inbounds.mechanism.origin import Origin
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.noisy_counts import MOST_TABLE, CountsSampler, check_counts
from inbounds.trusted.samplers import seeded_entropy
from raising import rejects

from .small import added_or_removed, changed, histograms

SMALL = [
    (ib.quantiles([0, "1/2"], 0, 1, size=2), 1),
    (ib.quantiles(["1/4", "1/2", "3/4"], 0, 2, size=2), 2),
    (ib.quantiles([0, 1], 0, 1, size=3, records=2), "3/2"),
    (ib.quantiles([0, "1/2", 1], 0, 1, maximum=3, missing=1), 1),
    (ib.quantiles(["1/2", 1], 0, 1, maximum=2, records=2), 3),
]


def released_laws(query, epsilon, most):
    """Pr[vector] of every group in Fractions, from all noise of the table and what is read off it."""
    law = design_counts(query, epsilon).law
    sampler = CountsSampler.from_table(law.table, query.size, query.public_size, query.at, query.missing)
    circle, values = len(law.table), query.width + 1
    noise = np.array([*product(range(circle), repeat=values)])
    chances = [prod((Fraction(law.table[z], TOTAL) for z in row), start=Fraction(1)) for row in noise.tolist()]
    sizes = [query.size] if query.public_size else range(most + 1)
    found = {}
    for group in (group for size in sizes for group in histograms(size, query.width)):
        vectors = sampler.read((np.minimum(group, query.size) + noise) % circle)
        shares = found[group] = {}
        for vector, chance in zip(map(tuple, vectors.tolist()), chances, strict=True):
            shares[vector] = shares.get(vector, 0) + chance
    return found


@pytest.mark.parametrize(("query", "epsilon"), SMALL)
def test_no_vector_is_likelier_without_one_person_than_epsilon_allows(query, epsilon):
    most = query.size + 1  # also beyond the maximum
    laws = released_laws(query, epsilon, most)
    steps = changed if query.public_size else added_or_removed(most)
    allowed, tight = Fraction(exp_lower_bound(Fraction(epsilon)), 1 << EXP_BITS), Fraction(0)
    for group, law in laws.items():
        assert sum(law.values()) == 1
        near = {group}
        for _ in range(query.records):
            near |= {other for one in near for other in steps(one)}
        for other in near:
            worst = max(law.get(vector, 0) / chance for vector, chance in laws[other].items())
            assert worst <= allowed
            tight = max(tight, worst)
    assert tight > 1 + (allowed - 1) / 4  # the promise is used


@pytest.mark.parametrize(("query", "epsilon"), SMALL[:1] + SMALL[3:4])
def test_draws_follow_the_law(query, epsilon):
    laws, mechanism = released_laws(query, epsilon, 2), design_counts(query, epsilon)
    for group in [*laws][:: max(1, len(laws) // 3)]:
        drawn = mechanism.draw(np.tile(group, (4000, 1)), seeded_entropy(np.random.default_rng(5)))
        found = {vector: np.mean((drawn == vector).all(axis=1)) for vector in laws[group]}
        assert sum(found.values()) == pytest.approx(1)
        assert all(abs(share - float(laws[group][vector])) < 0.035 for vector, share in found.items())  # 4.4 sigma
        marginal = mechanism.law.probabilities(query, np.array([group]))[0, 0]
        exact = [float(sum(p for v, p in laws[group].items() if v[0] == t)) for t in range(query.width + 1)]
        assert np.abs(marginal - exact).max() < 0.03


def test_without_noise_the_true_quantiles_are_read():
    for query in (
        ib.quantiles(["1/10", "1/2", 1], 0, 3, size=5),
        ib.quantiles([0, "1/3", "3/4"], 0, 3, maximum=5, missing=2),
    ):
        sampler = CountsSampler.from_table(
            design_counts(query, 1).law.table, query.size, query.public_size, query.at, query.missing
        )
        sizes = [5] if query.public_size else range(6)
        groups = np.array([group for size in sizes for group in histograms(size, 3)])
        truths = np.stack([single.true_positions(groups) for single in query.singles], axis=1)
        assert np.array_equal(sampler.read(groups), truths)


def test_what_is_read_rises_whatever_the_noise():
    query = ib.quantiles([0, "1/4", "1/2", "9/10"], 0, 4, maximum=7)
    sampler = CountsSampler.from_table(design_counts(query, 1).law.table, 7, False, query.at, 0)
    read = sampler.read(np.random.default_rng(0).integers(0, 16, (2000, 5)))
    assert (np.diff(read, axis=1) >= 0).all()
    assert read.min() >= 0
    assert read.max() <= 4


@pytest.mark.parametrize("epsilon", ["1/1000", "1/2", "64"])
@pytest.mark.parametrize("sizes", [{"size": 20}, {"maximum": 20}, {"size": 20, "records": 3}])
def test_every_draw_takes_the_same_words_whatever_the_records(epsilon, sizes):
    query, used, rng = ib.quantiles(["1/4", "1/2"], 0, 10, missing=3, **sizes), set(), np.random.default_rng(1)
    draw = design_counts(query, epsilon).law.make_sampler(query)
    for group in (rng.multinomial(n, np.full(11, 1 / 11)) for n in (0, 1, 20, 21, 10**12)):
        words, draws = [], seeded_entropy(rng)
        assert draw(group, lambda count: words.append(count) or draws(count)).shape == (2,)  # noqa: B023
        used.add(tuple(words))
    assert used == {(11,)}


@pytest.mark.parametrize("epsilon", ["1/10000", "1/10", "3", "64"])
def test_noise_falls_as_steeply_as_the_check_allows(epsilon):
    for query, moves in (
        (ib.quantiles([0, 1], 0, 4, size=9), 2),
        (ib.quantiles([0, 1], 0, 4, maximum=9, records=3), 3),
    ):
        table = design_counts(query, epsilon).law.table
        assert sum(table) == TOTAL
        ratio = Fraction(table[0], table[1])
        allowed = Fraction(exp_lower_bound(Fraction(epsilon) / moves), 1 << EXP_BITS)
        assert 1 < ratio <= allowed
        assert min(ratio - 1, 1e5) > float(min(allowed - 1, 1e5)) * 0.99
        assert list(table[1:]) == list(table[:0:-1])  # alike to both sides


GOOD = [TOTAL // 4, TOTAL // 8, TOTAL // 8, TOTAL // 4, TOTAL // 8, TOTAL // 8]
WRONG = {
    "a table in floats": [float(one) for one in GOOD],
    "one weight": [TOTAL],
    "a weight of nothing": [*GOOD[:5], 0, TOTAL // 8],
    "a sum too small": [*GOOD[:5], TOTAL // 8 - 1],
    "too many weights": [TOTAL >> 14] * (2 * MOST_TABLE),
}


@pytest.mark.parametrize("name", WRONG)
def test_tables_that_are_no_noise_are_refused(name):
    check_counts(GOOD, 1, Fraction(3, 4))
    with pytest.raises(InvalidDistribution):
        check_counts(WRONG[name], 1, Fraction(3, 4))


@pytest.mark.parametrize("sizes", [{"size": 9}, {"size": 9, "records": 2}, {"maximum": 9, "records": 3}])
def test_each_count_that_one_person_moves_is_paid_for(sizes):
    query = ib.quantiles([0, 1], 0, 4, **sizes)
    moves = (2 if query.public_size else 1) * query.records
    law = design_counts(query, 1).law
    check_counts(law.table, moves, Fraction(1))
    with pytest.raises(ScoreRatioViolation):
        check_counts(law.table, moves + 1, Fraction(1))
    more = ib.quantiles([0, 1], 0, 4, **sizes | {"records": query.records + 1})
    with pytest.raises(ScoreRatioViolation):
        Mechanism(more, Fraction(1), law, Origin("by hand"))


def test_both_ends_of_the_circle_are_neighbours():
    steep = [TOTAL // 2, TOTAL // 4, TOTAL // 8, TOTAL // 8]
    with pytest.raises(ScoreRatioViolation):
        check_counts(steep, 1, Fraction(1))


def test_groups_beyond_the_longest_table_are_refused():
    with pytest.raises(InfeasibleDesign):
        design_counts(ib.quantiles([0, 1], 0, 4, size=MOST_TABLE // 2), 1)


def test_noisy_counts_are_chosen_for_few_values_and_path_lengths_for_many():
    few, many = (ib.quantiles([0.25, 0.5, 0.75], 0, last, maximum=10) for last in (3, 40))
    for query, kind in ((few, "counts"), (many, "joint_sizes")):
        design = design_quantiles(query, 2)
        assert design.mechanism.law.kind == kind
        least = min(design.errors, key=lambda name: design.errors[name][0])
        assert design.reason.startswith(least)
        assert (least == "noisy counts") == (kind == "counts")
    without = design_quantiles(few, 2, search=ib.JointSearch(counts=False))
    assert without.mechanism.law.kind == "joint_sizes"


def test_rounding_does_not_decide_between_designs_that_are_alike():
    """At a large epsilon every design reports the truth, up to errors of 10^-13 steps: the first is taken."""
    design = design_quantiles(ib.quantiles([0, 0.5, 1], 0, 10, size=3), 64)
    assert 0 <= max(mean for mean, _ in design.errors.values()) < 1e-9
    assert design.reason.startswith("closeness 0: ")


def test_where_path_lengths_cannot_be_drawn_noisy_counts_are():
    query, epsilon = ib.quantiles([0, 1], 0, 4, maximum=9), "1/1000000"
    assert design_quantiles(query, epsilon).mechanism == design_counts(query, epsilon)
    with rejects(InfeasibleDesign, about="epsilon"):
        design_quantiles(query, epsilon, search=ib.JointSearch(counts=False))

"""Mechanisms with a delta: the check against brute force, its traps, their passports, and who refuses them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import inbounds as ib
from inbounds.accounting import max_answers
from inbounds.accounting.groups import group_privacy
from inbounds.attack.collusion import check_reports
from inbounds.errors import DeltaViolation, InvalidDistribution
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import ApproximateMatrix, ApproximateNoise
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import check_approximate, sum_excess
from raising import rejects


def random_weights(rng, outputs, answers, zeros=0.3):
    weights = rng.integers(1, 1 << 40, (outputs, answers)).astype(object)
    weights[rng.random((outputs, answers)) < zeros] = 0
    weights[0] += 1
    weights = weights * TOTAL // weights.sum(axis=0)
    weights[0] += TOTAL - weights.sum(axis=0)
    return weights.astype(np.int64)


def largest_over_sets(weights, pairs, epsilon):
    """The largest Pr[S | j] - e^epsilon · Pr[S | k] over pairs and all sets S of outputs, times 2**62."""
    sets = np.array([*product((0, 1), repeat=len(weights))], dtype=object) @ weights.astype(object)
    ratio = Fraction(ratio_lower_bound(epsilon, Fraction(1)), 1 << EXP_BITS)
    return max(Fraction(int(S[j])) - ratio * int(S[k]) for S in sets for j, k in pairs)


@pytest.mark.parametrize("seed", range(8))
def test_the_check_accepts_exactly_what_holds_for_every_set_of_outputs(seed):
    rng = np.random.default_rng(seed)
    weights, epsilon = random_weights(rng, 6, 4), Fraction(int(rng.integers(1, 300)), 100)
    pairs = [(j, k) for j in range(4) for k in range(4) if 0 < abs(j - k) <= 2]
    least = largest_over_sets(weights, pairs, epsilon) / TOTAL
    assert 0 < least < 1
    check_approximate(weights, pairs, epsilon, least)
    with pytest.raises(DeltaViolation) as refused:
        check_approximate(weights, pairs, epsilon, least - Fraction(1, TOTAL << EXP_BITS + 20))
    assert refused.value.needed == least


def test_an_output_that_a_neighbour_cannot_give_counts_in_full_at_every_epsilon():
    weights = np.array([[TOTAL - 5, TOTAL], [5, 0]])
    for epsilon in (Fraction(1), Fraction(64)):
        check_approximate(weights, [(0, 1), (1, 0)], epsilon, Fraction(5, TOTAL))
        with pytest.raises(DeltaViolation):
            check_approximate(weights, [(0, 1), (1, 0)], epsilon, Fraction(4, TOTAL))


def test_deltas_do_not_telescope_so_all_pairs_within_reach_are_compared():
    epsilon, half = Fraction(1), TOTAL // 2
    weights = np.array([[half, half // 2, 0], [half, half, half], [0, half // 2, half]])
    p, columns = ratio_lower_bound(epsilon, Fraction(1)), weights.T.tolist()
    near, far = (sum_excess(columns[j], columns[k], p) for j, k in ((0, 1), (0, 2)))
    near = max(near, sum_excess(columns[1], columns[0], p))
    assert far > near > 0
    delta = Fraction(near, TOTAL << EXP_BITS)
    assert abs(float(delta) - ib.audit(weights / TOTAL, ib.count(2)).delta(1)) < 1e-12
    made = Mechanism(ib.count(2), epsilon, ApproximateMatrix(weights, delta), Origin("by hand"))
    for query in (ib.with_neighbours(ib.count(2), ib.Reach(2)), ib.extreme(0, 2)):
        with pytest.raises(DeltaViolation):
            Mechanism(query, epsilon, made.law, Origin("by hand"))
    both, more = group_privacy(1, delta, 2)
    twice = ib.audit(weights / TOTAL, ib.extreme(0, 2)).delta(both)
    assert twice <= float(more) * (1 + 1e-12)


@pytest.mark.parametrize(("half", "size", "reach"), [(1, 3, 1), (4, 4, 2), (3, 9, 3), (6, 20, 4), (2, 2, 2)])
def test_a_noise_table_passes_exactly_when_its_written_out_matrix_does(half, size, reach):
    rng, epsilon = np.random.default_rng(size), Fraction(1, 3)
    weights = rng.integers(0, 1 << 40, 2 * half + 1)
    weights[rng.random(2 * half + 1) < 0.2] = 0
    weights[half] = TOTAL - (weights.sum() - weights[half])
    query = ib.with_neighbours(ib.count(size), ib.Reach(reach))
    columns = np.zeros((size + 1, size + 1), dtype=object)  # of every answer, the weights of its clamped reports
    for answer, (noise, weight) in product(range(size + 1), enumerate(weights.tolist(), start=-half)):
        columns[answer, min(max(answer + noise, 0), size)] += weight
    p, pairs = ratio_lower_bound(epsilon, Fraction(1)), query.neighbours.pairs(query.answers)
    least = Fraction(max(sum_excess(columns[j], columns[k], p) for j, k in pairs), TOTAL << EXP_BITS)
    if least < 1:
        ApproximateNoise(weights, least).check(query, epsilon)
    with pytest.raises(DeltaViolation) as refused:
        ApproximateNoise(weights, least - Fraction(1, TOTAL << EXP_BITS + 20)).check(query, epsilon)
    assert refused.value.needed == least


def test_noise_with_a_delta_is_drawn_measured_and_kept(tmp_path):
    query = ib.count(20)
    made = Mechanism(
        query, Fraction(64), ApproximateNoise(np.array([0, TOTAL // 2, TOTAL // 2]), Fraction(3, 4)), Origin("x")
    )
    assert set(made.simulate([10] * 40, np.random.default_rng(0)).tolist()) == {10, 11}
    assert made.loss() == pytest.approx(0.5 * 20 / 21)
    made.save(tmp_path / "noise.json")
    assert ib.load(tmp_path / "noise.json") == made


@pytest.mark.parametrize(
    "query", [ib.ordinal(0, 3), ib.graph(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "d")])]
)
def test_a_delta_is_refused_where_epsilon_is_paid_by_distance(query):
    weights = np.full((4, 4), TOTAL // 4)
    with pytest.raises(InvalidDistribution):
        Mechanism(query, Fraction(1), ApproximateMatrix(weights, Fraction(1, 2)), Origin("by hand"))


def cut(answers, width):
    """A law of noise that is cut off."""
    at = np.arange(answers)
    matrix = np.maximum(0.0, np.exp(-np.abs(at[:, None] - at) / 2) - np.exp(-width / 2))
    return matrix / matrix.sum(axis=0)


def test_a_float_matrix_is_certified_at_the_delta_that_its_audit_tells(tmp_path):
    query, matrix = ib.count(9), cut(10, 4)
    delta = ib.audit(matrix, query).delta("0.7")
    made = ib.certify(matrix, query, "0.7", delta=delta)
    assert np.abs(made.matrix - matrix).max() < 1e-9
    assert (made.delta, made.epsilon) == (Fraction(repr(delta)), Fraction(7, 10))
    assert made.tight_epsilon() <= 0.7
    made.save(tmp_path / "made.json")
    assert ib.load(tmp_path / "made.json") == made
    assert ib.verify(tmp_path / "made.json").is_valid
    with pytest.raises(DeltaViolation):
        ib.certify(matrix, query, "0.7", delta=Fraction(repr(delta)) * Fraction(99, 100))
    remapped = made.postprocess([0, 0, 0, 0, 0, 9, 9, 9, 9, 9])
    assert remapped.delta == made.delta
    assert set(made.simulate([0] * 50, np.random.default_rng(0)).tolist()) <= set(range(5))


def test_whoever_counts_epsilons_alone_refuses_a_delta(subtests):
    made = ib.certify(cut(5, 3), ib.count(4), 1, delta="1/4")
    local = ib.certify(cut(5, 3), ib.extreme(0, 4), 2, delta="9/10")
    counts_epsilon_alone = {
        "max_answers": lambda: max_answers(made, 2),
        "symmetrize": made.symmetrize,
        "local": lambda: ib.local.make_randomizer(local),
        "attack": lambda: check_reports(made),
    }
    for name, call in counts_epsilon_alone.items():
        with subtests.test(name), rejects(ValueError, "mechanism", about="delta"):
            call()

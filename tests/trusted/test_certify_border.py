"""The checkers at their border: refused a hair below the least epsilon of a law, passed a hair above it.

The least epsilon of a law is the logarithm of the largest ratio of two weights of one output under neighbours, here
found by looking at every pair. A checker that looks at fewer pairs passes a law below it; one that looks at others,
refuses one above it.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import inbounds as ib
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Clique, Edge, exp_lower_bound
from inbounds.trusted.certify import (
    are_within_ratio,
    check_blocks,
    check_edges,
    check_groups,
    check_matrix,
    check_noise,
    check_product,
    check_response,
    check_states,
)
from raising import rejects

HAIR = Fraction(1, 10**30)


def log(ratio: Fraction) -> Fraction:
    """ln(ratio) to 60 digits."""
    with localcontext() as digits:
        digits.prec = 60
        return Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


def refused(check, *what) -> bool:
    try:
        check(*what)
    except ib.PrivacyViolation:
        return True
    return False


def assert_border(check, least: Fraction) -> None:
    assert refused(check, least - HAIR)
    assert not refused(check, least + HAIR)


def worst(rows, pairs) -> Fraction:
    """The largest ratio between two columns that are neighbours."""
    return max(max(Fraction(row[j], row[k]), Fraction(row[k], row[j])) for row in rows for j, k in pairs)


def random_weights(rng, outputs: int, answers: int) -> np.ndarray:
    """Positive weights of any steepness, each column whole."""
    weights = [[1 + int(x * 2**55) for x in np.exp(-rng.uniform(0, 9, outputs))] for _ in range(answers)]
    for column in weights:
        column[rng.integers(outputs)] += TOTAL - sum(column)
    return np.array(weights, dtype=np.int64).T


@pytest.mark.parametrize("seed", range(40))
def test_a_matrix_is_judged_by_the_worst_pair_of_every_clique(seed):
    rng = np.random.default_rng(seed)
    outputs, answers = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    weights = random_weights(rng, outputs, answers)
    cliques = []
    for distance in (Fraction(1, 2), Fraction(1), Fraction(3)):
        for _ in range(int(rng.integers(1, 3))):
            start = int(rng.integers(0, answers - 1))
            cliques.append(Clique(start, int(rng.integers(start + 2, answers + 1)), distance))
    rows = weights.tolist()
    inside = [(c, worst(rows, [*combinations(range(c.start, c.stop), 2)])) for c in cliques]
    least = max(log(ratio) / clique.distance for clique, ratio in inside)
    assert_border(lambda epsilon: check_matrix(weights, cliques, epsilon), least)
    assert_border(lambda epsilon: check_product(weights.astype(object) * 3**200, cliques, epsilon), least)


@pytest.mark.parametrize("seed", range(20))
def test_groups_and_windows_are_judged_by_their_worst_pair(seed):
    rng = np.random.default_rng(seed)
    outputs, answers = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    weights = random_weights(rng, outputs, answers)
    groups = np.array([rng.choice(answers, 3, replace=False) for _ in range(3)])
    near = {pair for group in groups.tolist() for pair in combinations(group, 2)}
    assert_border(lambda epsilon: check_groups(weights, groups, epsilon), log(worst(weights.tolist(), near)))

    levels = np.stack([random_weights(rng, outputs, answers) for _ in range(3)], axis=1)
    windows = [(0, 2, 0, 1), (1, answers, 1, 1), (0, 1, 0, 2)]
    flat = levels.reshape(outputs, -1).tolist()
    places = [[level * answers + j for level in range(f, n + 1) for j in range(a, b)] for a, b, f, n in windows]
    near = {pair for place in places for pair in combinations(place, 2)}
    assert_border(lambda epsilon: check_states(levels, windows, epsilon), log(worst(flat, near)))


def noise_matrix(core: list[int], floor: int, end: int, size: int) -> list[list[int]]:
    """clamp(answer + noise, 0, size), every output under every answer."""
    half = len(core) // 2
    noise = {d: core[d + half] if abs(d) <= half else floor for d in range(-size + 1, size)} | {-size: end, size: end}
    rows = [[0] * (size + 1) for _ in range(size + 1)]
    for answer in range(size + 1):
        for d, weight in noise.items():
            rows[min(max(answer + d, 0), size)][answer] += weight
    return rows


def noise_table(rng, size: int, half: int, reach: int) -> tuple[list[int], int, int]:
    """Weights that fall from the middle, each heavier or lighter at random; the middle takes what is missing."""
    fall = rng.uniform(0.1, 1.5) / reach
    around = [math.exp(-fall * abs(d) + rng.normal(0, 0.2)) for d in range(-half, half + 1)]
    floor, end = math.exp(-fall * (half + 1) + rng.normal(0, 0.3)), math.exp(-fall * size) * rng.uniform(0.2, 5)
    unit = TOTAL / (sum(around) + 2 * (size - 1 - half) * floor + 2 * end)
    core, floor, end = [int(unit * x) for x in around], int(unit * floor), int(unit * end)
    core[half] += TOTAL - sum(core) - 2 * (size - 1 - half) * floor - 2 * end
    return core, floor, end


@pytest.mark.parametrize("size", range(1, 10))
def test_a_noise_table_is_judged_by_the_worst_pair_of_its_matrix(size):
    rng = np.random.default_rng(size)
    for reach in range(1, size + 1):
        near = [(j, k) for j, k in combinations(range(size + 1), 2) if k - j <= reach]
        for half in range(size):
            core, floor, end = noise_table(rng, size, half, reach)
            distance = Fraction(int(rng.integers(1, 4)), 2)
            least = log(worst(noise_matrix(core, floor, end, size), near)) / distance
            table = np.array(core), floor, end, size, reach, distance
            assert_border(lambda epsilon, table=table: check_noise(*table, epsilon), least)


def test_pairs_in_an_array_are_judged_as_one_by_one():
    rng = np.random.default_rng(7)
    for epsilon in [Fraction(1, 10**9), *(Fraction(k, 7) for k in range(1, 64 * 7, 9)), Fraction(64)]:
        p = exp_lower_bound(epsilon)
        lows = [0, 1, 2**31, 2**32 - 1, 2**32, 2**33 - 1, TOTAL - 1, TOTAL]
        lows += [int(low) for low in rng.integers(0, TOTAL, 20)] + [1 << int(k) for k in rng.integers(0, 62, 10)]
        for beyond in (-1, 0, 1):
            for low in lows:
                high = min(TOTAL, max(0, (p * low >> EXP_BITS) + beyond))
                expected = high << EXP_BITS <= p * low
                assert are_within_ratio(np.array([[high]]), np.array([[low]]), p) == expected


def test_an_output_that_never_occurs_tells_nothing_in_any_kind_of_law():
    weights = np.array([[0, 0, 0], [TOTAL, TOTAL, TOTAL]])
    cliques = [Clique(0, 3, Fraction(1))]
    check_matrix(weights, cliques, Fraction(1))
    check_product(weights.astype(object), cliques, Fraction(1))
    check_groups(weights, np.array([[0, 2]]), Fraction(1))
    check_states(weights[:, None, :], [(0, 3, 0, 0)], Fraction(1))


@pytest.mark.parametrize(
    "weights",
    [
        np.array([[TOTAL, TOTAL]], dtype=np.uint64),
        np.array([[float(TOTAL)] * 2]),
        np.array([TOTAL, TOTAL]),
        np.array([[[TOTAL, TOTAL]]]),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros((2, 0), dtype=np.int64),
    ],
)
def test_groups_are_judged_on_a_matrix_of_int64_only(weights):
    with rejects(ib.InvalidDistribution, "weights", about="int64"):
        check_groups(weights, np.zeros((0, 2), dtype=np.int64), Fraction(1))


def test_groups_are_judged_on_a_matrix_of_a_single_row_too():
    check_groups(np.array([[TOTAL, TOTAL]]), np.array([[0, 1]]), Fraction(1))
    check_groups(np.array([[TOTAL]]), np.array([[0]]), Fraction(1))


def test_a_product_must_be_one_law_for_every_answer():
    for law in ([[-1, -1], [3, 3]], [[1, 1], [2, 3]], [[-1, 1], [3, 2]]):
        with rejects(ib.InvalidDistribution, about="answer"):
            check_product(np.array(law, dtype=object), [], Fraction(1))
    check_product(np.array([[0, 1], [3, 2]], dtype=object), [], Fraction(1))


def test_a_noise_table_may_hold_weights_of_one_unit():
    core = np.array([1, TOTAL - 4 - 2, 1])
    check_noise(core, 1, 1, 3, 1, Fraction(1), Fraction(64))


def test_a_refusal_names_the_place_and_what_epsilon_allows():
    weights = np.array([[TOTAL // 2, TOTAL // 2, TOTAL // 8], [TOTAL // 2, TOTAL // 2, TOTAL // 8 * 7]])
    for check in (
        lambda: check_matrix(weights, [Clique(1, 3, Fraction(1))], Fraction(1)),
        lambda: check_product(weights.astype(object), [Clique(1, 3, Fraction(1))], Fraction(1)),
        lambda: check_groups(weights, np.array([[1, 2]]), Fraction(1)),
        lambda: check_states(weights[:, None, :], [(1, 3, 0, 0)], Fraction(1)),
    ):
        with pytest.raises(ib.PrivacyViolation) as caught:
            check()
        assert (caught.value.output, caught.value.answers, caught.value.ratio) == (0, (1, 2), 4)
        assert caught.value.allowed == pytest.approx(math.e)

    core, end = [TOTAL // 8, TOTAL // 4, TOTAL // 4], 3 * TOTAL // 16
    with pytest.raises(ib.PrivacyViolation) as caught:
        check_noise(np.array(core), 1, end, 2, 1, Fraction(1), Fraction(1, 2))
    assert caught.value.answers == (0, 1)
    assert caught.value.allowed == pytest.approx(math.exp(0.5))


def test_a_refusal_between_levels_names_the_answers_whatever_the_level():
    half, quarter = TOTAL // 2, TOTAL // 4
    levels = np.array(
        [[[half, half], [half, half], [half, quarter]], [[half, half], [half, half], [half, 3 * quarter]]]
    )
    with pytest.raises(ib.PrivacyViolation) as caught:
        check_states(levels, [(0, 2, 0, 2)], Fraction(1, 2))
    assert (caught.value.output, caught.value.answers) == (0, (0, 1))


@pytest.mark.parametrize("missing", [-5, 5])
def test_a_column_that_misses_its_total_says_by_how_much(missing):
    weights = np.array([[TOTAL // 2, TOTAL // 2], [TOTAL // 2, TOTAL // 2 - missing]])
    with rejects(ib.InvalidDistribution, "column 1", about=f"by {missing}"):
        check_matrix(weights, [], Fraction(1))


@pytest.mark.parametrize("seed", range(20))
def test_edges_are_judged_by_the_worst_of_them_in_its_own_direction(seed):
    rng = np.random.default_rng(seed)
    outputs, answers = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    weights = random_weights(rng, outputs, answers)
    pairs = [tuple(map(int, rng.choice(answers, 2, replace=False))) for _ in range(5)]
    edges = [Edge(tail, head, Fraction(int(rng.integers(1, 5)), 2)) for tail, head in pairs]
    rows = weights.tolist()
    least = max(log(max(Fraction(row[e.tail], row[e.head]) for row in rows)) / e.length for e in edges)
    assert_border(lambda epsilon: check_edges(weights, edges, epsilon), least)


def test_an_edge_that_breaks_is_named_with_its_output():
    weights = np.array([[TOTAL // 4, TOTAL // 4], [TOTAL // 2, TOTAL // 8], [TOTAL // 4, TOTAL // 8 * 5]])
    with pytest.raises(ib.PrivacyViolation) as caught:
        check_edges(weights, [Edge(0, 1, Fraction(1))], Fraction(1))
    assert (caught.value.output, caught.value.answers, caught.value.ratio) == (1, (0, 1), 4)
    assert caught.value.allowed == pytest.approx(math.e)
    check_edges(np.array([[TOTAL]]), [], Fraction(1))


def test_a_response_may_be_even_or_have_other_answers_of_one_unit():
    check_response(2, TOTAL // 2, Fraction(1, 10**9))
    check_response(2, 1, Fraction(64))
    with pytest.raises(ib.PrivacyViolation) as caught:
        check_response(2, TOTAL // 8, Fraction(1))
    assert (caught.value.output, caught.value.answers, caught.value.ratio) == (0, (0, 1), 7)


def test_sets_may_be_as_many_as_the_units_of_a_draw():
    check_blocks(TOTAL, TOTAL // 2, TOTAL // 2, Fraction(1, 10**9))
    with pytest.raises(ib.PrivacyViolation) as caught:
        check_blocks(4, 2, TOTAL // 8 * 7, Fraction(1))
    assert (caught.value.output, caught.value.answers, caught.value.ratio) == (0, (0, 1), 7)


def test_edges_that_end_beyond_the_last_answer_are_refused():
    weights = np.full((2, 2), TOTAL // 2, dtype=np.int64)
    for ends in ((2, 0), (0, 2), (-1, 0)):
        with rejects(ib.InvalidDistribution, "edges"):
            check_edges(weights, [Edge(*ends, Fraction(1))], Fraction(1))


def test_the_lightest_set_is_possible_and_a_refusal_names_the_ratio_that_is_allowed():
    check_blocks(2, 1, 1, Fraction(64))
    for refused in (
        lambda: check_response(2, TOTAL // 8, Fraction(1)),
        lambda: check_blocks(4, 2, TOTAL // 8 * 7, Fraction(1)),
    ):
        with pytest.raises(ib.PrivacyViolation) as found:
            refused()
        assert math.isclose(float(found.value.allowed), math.e, rel_tol=1e-12)

"""The checker and its front door: nothing that is not exactly private passes, and nothing private is refused."""

import math
import os
import random
from fractions import Fraction
from itertools import combinations

import flint
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.exact import round_up_to_float
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Matrix, Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.query import OutputCells, RangeQuery, Scale, with_neighbours
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Clique, exp_lower_bound
from inbounds.trusted.certify import (
    CLIQUES_AT_A_TIME,
    block_weights,
    check_matrix,
    check_product,
    check_states,
    sliding_extremes,
)
from raising import rejects

HAND = Origin("by hand")
MORE = int(os.environ.get("MORE", "1"))
"""How many times as many examples are tried: ten times in `make slow`."""


def scale(ticks, start=0, unit=1):
    return Scale(Fraction(start), Fraction(unit), tuple(ticks))


def line(ticks, neighbours, start=0, unit=1):
    answers = scale(ticks, start, unit)
    return RangeQuery("line", answers, OutputCells.one_per_answer(answers), neighbours)


def outcome(make):
    """What `make` returns, or the refusal it raises; anything but a refusal with a reason escapes."""
    try:
        return make()
    except (ValueError, TypeError, ib.InboundsError) as refusal:
        return refusal


gaps = st.lists(st.integers(1, 5), min_size=1, max_size=7)
neighbourhoods = st.one_of(
    st.integers(1, 9).map(ib.Reach),
    st.just(ib.AllPairs()),
    st.fractions(Fraction(1, 3), 5, max_denominator=6).map(ib.Metric),
)


@st.composite
def queries(draw):
    """Answers with gaps and any neighbourhood; outputs as they fall, coarser, or wider."""
    ticks = [0]
    for gap in draw(gaps):
        ticks.append(ticks[-1] + gap)
    answers = scale(ticks, draw(st.integers(-3, 3)), draw(st.sampled_from(["1", "1/3", "5"])))
    low, high = answers[0] - answers.unit, answers[-1] + answers.unit
    coarser, wider = ib.cells(low, high, 2), ib.cells(low - 7, high + 7, len(answers) + 2)
    outputs = draw(st.sampled_from([OutputCells.one_per_answer(answers), coarser, wider]))
    neighbours = draw(neighbourhoods)
    assume(len(neighbours.cuts(answers)) < len(answers) - 1)
    return RangeQuery("line", answers, outputs, neighbours)


epsilons = st.sampled_from(["1/1000000", "1/100", "1/2", "1", "7/3", "40"]).map(Fraction)


# --- neighbours -------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(queries())
def test_cliques_cover_exactly_the_neighbouring_pairs(judge, query):
    """Reach and Everyone: the pairs inside cliques are the neighbours, no more and no fewer, gaps or not."""
    if isinstance(query.neighbours, ib.Metric):
        return
    covered = {(j, k, c.distance) for c in query.cliques() for j, k in combinations(range(c.start, c.stop), 2)}
    assert covered == set(judge.pairs(query))


@settings(deadline=None)
@given(queries())
def test_metric_cliques_chain_to_the_distance_of_every_pair(judge, query):
    query = with_neighbours(query, ib.Metric(Fraction(2, 3)))
    steps = {c.start: c.distance for c in query.cliques()}
    assert all(c.stop == c.start + 2 for c in query.cliques())
    for j, k, distance in judge.pairs(query):
        assert sum(steps[i] for i in range(j, k)) == distance


# --- the checker on matrices ------------------------------------------------------------------------------


def two_answers(a: int, b: int):
    """A matrix for count(1) whose first row is (a, b)."""
    return np.array([[a, b], [TOTAL - a, TOTAL - b]], dtype=np.int64)


def convergents(x: Fraction, largest: int):
    """Continued-fraction convergents of exp(x), which are alternately below and above it."""
    flint.ctx.prec = 700
    rest = flint.arb(flint.fmpq(x.numerator, x.denominator)).exp()
    p0, q0, p1, q1 = 0, 1, 1, 0
    while True:
        digit = int(rest.floor().unique_fmpz())
        p0, q0, p1, q1 = p1, q1, digit * p1 + p0, digit * q1 + q0
        if p1 > largest:
            return
        yield p1, q1
        rest = 1 / (rest - digit)


@pytest.mark.parametrize("epsilon", ["1", "1/2", "3/10", "3", "1/100"])
def test_the_checker_tells_the_best_rational_approximations_of_exp_apart(epsilon):
    """Convergents miss exp(epsilon) by as little as 2**-120; those above must be refused, those below pass."""
    x, tried = Fraction(epsilon), 0
    query = ib.count(1)
    above = True
    for a, b in convergents(x, 2**58):
        above = not above  # the first convergent is the whole part, below
        weights = two_answers(a, b) if b else None
        if weights is None:
            continue
        tried += 1
        if above:
            with pytest.raises(ib.PrivacyViolation):
                Mechanism(query, x, Matrix(weights), HAND)
        else:
            assert Mechanism(query, x, Matrix(weights), HAND).weights[0].tolist() == [a, b]
    assert tried > 15


def test_a_zero_beside_a_positive_is_refused_and_named():
    weights = two_answers(1, 0)
    with pytest.raises(ib.PrivacyViolation) as caught:
        check_matrix(weights, ib.count(1).cliques(), Fraction(40))
    assert caught.value.output == 0
    assert caught.value.answers == (0, 1)
    assert caught.value.ratio == math.inf


def test_a_row_of_zeros_reveals_nothing():
    check_matrix(np.array([[0, 0], [TOTAL, TOTAL]]), ib.count(1).cliques(), Fraction(1, 10**9))


@pytest.mark.parametrize(
    "weights",
    [
        two_answers(-1, -1),
        two_answers(1, 1) + 1,
        two_answers(1, 1) - np.array([[0, 0], [1, 0]]),
        np.array([[TOTAL, TOTAL]]).T.reshape(2, 1) // 2,
        np.zeros((2, 2), dtype=np.int64),
        np.zeros((0, 0), dtype=np.int64),
        np.zeros((2, 2)),
        two_answers(1, 1).astype(np.uint64),
        two_answers(1, 1).astype(">i8"),
        two_answers(1, 1).astype(object),
        np.array([TOTAL, TOTAL]),
        np.array([[2**63 - 1] * 2, [2**63 - 1] * 2, [2**62 + 2] * 2]),  # overflows to 2**62 modulo 2**64
    ],
)
def test_what_is_no_distribution_is_refused(weights):
    with pytest.raises(ib.InvalidDistribution):
        Mechanism(ib.count(1), Fraction(1), Matrix(weights), HAND)


@pytest.mark.parametrize(
    "weights",
    [
        two_answers(1, 1).astype(float),
        two_answers(1, 1).astype(object),
        np.full((1, 1, 2), TOTAL),
        np.zeros((2, 0), dtype=np.int64),
        np.zeros((0, 2), dtype=np.int64),
    ],
)
def test_the_checker_itself_refuses_what_is_no_matrix_of_int64(weights):
    with rejects(ib.InvalidDistribution, "weights", about="int64"):
        check_matrix(weights, [], Fraction(1))


@pytest.mark.parametrize(
    "weights",
    [
        np.full((1, 1, 2), TOTAL).astype(float),
        np.full((1, 2), TOTAL),
        np.zeros((2, 2, 0), dtype=np.int64),
    ],
)
def test_the_checker_itself_refuses_what_is_no_law_over_states(weights):
    with rejects(ib.InvalidDistribution, "weights", about="int64"):
        check_states(weights, [], Fraction(1))


@pytest.mark.parametrize("outputs", [1, 2, 4, 5])
def test_weights_with_rows_for_other_outputs_are_refused(outputs):
    """Private as they are, but nobody could say which row reports what."""
    weights = np.full((outputs, 3), TOTAL // outputs)
    weights[0] += TOTAL - weights.sum(axis=0)
    check_matrix(weights, ib.count(2).cliques(), Fraction(1))
    with rejects(ib.InvalidDistribution, "weights"):
        Mechanism(ib.count(2), Fraction(1), Matrix(weights), HAND)


def test_column_sums_that_wrap_around_to_the_total_are_refused():
    """Six weights of 2**62 - 1 and fill sum to 2**62 modulo 2**64, not to 2**62."""
    column = [2**62, 2**62, 2**62, 2**62, 2**62]
    assert sum(column) % 2**64 == 2**62
    query = line(range(5), ib.AllPairs())
    with rejects(ib.InvalidDistribution, "column 0", about=str(-(2**64))):
        Mechanism(query, Fraction(1), Matrix(np.array([column] * 5).T), HAND)


@settings(max_examples=200 * MORE, deadline=None)
@given(queries(), epsilons, st.integers(0, 2**32 - 1))
def test_the_checker_agrees_with_the_definition_on_weights_near_the_border(judge, query, epsilon, seed):
    """Random private rows with single units moved: accepted exactly when the definition holds."""
    rng = random.Random(seed)
    outputs, answers = query.shape
    base = rng.choice([10, 1000, 2**40, TOTAL // (3 * outputs)])
    rows = []
    for _ in range(outputs - 1):
        p, row = exp_lower_bound(min(epsilon, Fraction(40))), [rng.randint(1, base)]
        for _ in range(answers - 1):
            grown = min(row[-1] * p >> EXP_BITS, base)
            shrunk = -((-row[-1] << EXP_BITS) // p)
            row.append(rng.choice([row[-1], grown, shrunk, grown + rng.choice([0, 0, 1]), max(0, shrunk - 1)]))
        rows.append(row)
    rows.append([TOTAL - sum(column) for column in zip(*rows, strict=True)] if rows else [TOTAL] * answers)
    if min(rows[-1]) < 0:
        return
    expected = judge.distribution(rows, query) and judge.private(rows, query, epsilon)
    refusal = outcome(lambda: Mechanism(query, epsilon, Matrix(np.array(rows, dtype=np.int64)), HAND))
    if expected:
        assert isinstance(refusal, Mechanism)
    else:
        assert isinstance(refusal, ib.PrivacyViolation)
        i, (j, k) = refusal.output, refusal.answers
        assert rows[i][j] > rows[i][k]
        assert refusal.ratio > refusal.allowed * (1 - 1e-9)


# --- the checker on noise tables --------------------------------------------------------------------------


def written_out(core, floor, end, size):
    """clamp(answer + noise) as a matrix, from the words of the definition."""
    k = len(core) // 2
    table = {d: end if abs(d) == size else floor for d in range(-size, size + 1)}
    table.update({d: core[d + k] for d in range(-k, k + 1)})
    matrix = [[0] * (size + 1) for _ in range(size + 1)]
    for j in range(size + 1):
        for d, weight in table.items():
            matrix[min(max(j + d, 0), size)][j] += weight
    return matrix


@st.composite
def noise_tables(draw):
    """Tables near private ones: a certified geometric table with a few units moved, or one made up."""
    size = draw(st.integers(1, 9))
    reach = draw(st.integers(1, size))
    epsilon = draw(epsilons)
    if draw(st.booleans()):
        rule = ib.Reach(reach)
    else:
        rule = ib.Metric(draw(st.fractions(Fraction(1, 2), 4, max_denominator=3)))
    query = with_neighbours(ib.count(size), rule)
    style = draw(st.sampled_from(["geometric", "flat", "border"]))
    if style == "geometric":
        law = make_geometric_noise(query, epsilon)
        core, floor, end = law.core.tolist(), law.floor, law.end
    else:
        k = draw(st.integers(0, size - 1))
        p = exp_lower_bound(min(epsilon, Fraction(10)))
        value, right = draw(st.integers(1, 50)), []
        for _ in range(k + 1):
            right.append(value)
            if style == "border":
                value = min(value * p >> EXP_BITS, 10**15) + draw(st.sampled_from([0, 0, 0, 1]))
        right = right[::-1]
        core = right[:0:-1] + right
        floor, end = draw(st.integers(1, right[-1] + 1)), 1
    # an asymmetric nudge, then the ends or the centre take what is missing
    spot = draw(st.integers(0, len(core) - 1))
    core[spot] += draw(st.sampled_from([0, 0, -1, 1, 2]))
    run = size - 1 - len(core) // 2
    missing = TOTAL - sum(core) - 2 * run * floor - 2 * end
    if draw(st.booleans()) and missing % 2 == 0:
        end += missing // 2
    else:
        core[len(core) // 2] += missing
    return query, epsilon, core, floor, end, size


@settings(max_examples=400 * MORE, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(noise_tables())
def test_a_noise_table_passes_exactly_when_its_written_out_matrix_is_private(judge, table):
    query, epsilon, core, floor, end, size = table
    matrix = written_out(core, floor, end, size)
    expected = (
        min(core) >= 1
        and floor >= 1
        and end >= 1
        and judge.distribution(matrix, query)
        and judge.private(matrix, query, epsilon)
    )
    law = Noise(np.array(core, dtype=np.int64), floor, end, size)
    result = outcome(lambda: Mechanism(query, epsilon, law, HAND))
    if expected:
        assert result.weights.tolist() == matrix
    else:
        assert isinstance(result, ib.PrivacyViolation | ib.InvalidDistribution)


@pytest.mark.parametrize("heavy", [0, 2], ids=["below", "above"])
def test_a_table_that_is_too_heavy_on_one_side_only_is_refused(judge, heavy):
    """Weights beside each other keep the ratio; the outermost sum of the heavy side grows by more than it."""
    query, epsilon, unit = ib.count(2), Fraction(1), TOTAL // 99
    for weight, passes in ((17, True), (18, False)):  # beside an end of 10: 27/10 < e < 28/10
        core = [17 * unit, 0, 17 * unit]
        core[heavy] = weight * unit
        core[1] = TOTAL - 20 * unit - sum(core)
        assert judge.private(written_out(core, 1, 10 * unit, 2), query, epsilon) == passes
        made = outcome(lambda core=core: Mechanism(query, epsilon, Noise(np.array(core), 1, 10 * unit, 2), HAND))
        assert isinstance(made, Mechanism if passes else ib.PrivacyViolation)


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_ends_too_light_for_an_even_table_are_refused(judge, reach):
    """Only the outermost sums break the ratio here: end + reach·floor against end, far from the core."""
    size, floor = 9, TOTAL // 18
    query = with_neighbours(ib.count(size), ib.Reach(reach))
    for end, passes in ((floor // 10, False), (floor * reach // 2, True)):
        core = [TOTAL - 2 * (size - 1) * floor - 2 * end]
        if core[0] < floor // 2:
            continue
        matrix = written_out(core, floor, end, size)
        assert judge.private(matrix, query, Fraction(3, 2)) == passes
        law = Noise(np.array(core), floor, end, size)
        assert isinstance(outcome(lambda law=law: Mechanism(query, Fraction(3, 2), law, HAND)), Mechanism) == passes


QUARTER, EIGHTH = TOTAL // 4, TOTAL // 8
WHOLE_TABLES = {
    1: {"core": [TOTAL - 2 * QUARTER], "floor": 1, "end": QUARTER},
    2: {"core": [EIGHTH, TOTAL - 2 * EIGHTH - 2 * QUARTER, EIGHTH], "floor": 1, "end": QUARTER},
    3: {"core": [TOTAL - 4 * EIGHTH - 2 * EIGHTH], "floor": EIGHTH, "end": EIGHTH},
}
"""Noise tables that pass, by their size: without a floor, with a core up to the ends, and with a run of floors."""


@pytest.mark.parametrize("size", WHOLE_TABLES)
def test_the_noise_tables_that_are_broken_below_are_whole(judge, size):
    table = WHOLE_TABLES[size]
    law = Noise(np.array(table["core"]), table["floor"], table["end"], size)
    assert judge.certifies(Mechanism(ib.count(size), Fraction(40), law, HAND))


def test_a_noise_table_that_is_no_distribution_is_refused(golden):
    def make(size, bad):
        table = {"size": size, **WHOLE_TABLES[size]} | bad
        core = np.asarray(table["core"])
        core = core.astype(np.int64) if core.size == 0 else core
        rest = table["floor"], table["end"], table["size"]
        Mechanism(ib.count(size), Fraction(40), Noise(core, *rest), HAND)

    golden.errors(
        "wrong_noise_tables",
        [
            lambda: make(1, {"core": [1, 2]}),
            lambda: make(1, {"core": []}),
            lambda: make(1, {"core": [[TOTAL - 2 * QUARTER]]}),
            lambda: make(1, {"core": [1, TOTAL - 2 * QUARTER - 2, 1]}),
            lambda: make(2, {"core": [1, 1, TOTAL - 2 * QUARTER - 4, 1, 1]}),
            lambda: make(1, {"core": np.array([TOTAL - 2.0 * QUARTER])}),
            lambda: make(1, {"core": [TOTAL], "end": 0}),
            lambda: make(1, {"core": [TOTAL + 2], "end": -1}),
            lambda: make(2, {"core": [0, TOTAL - 2 * QUARTER, 0]}),
            lambda: make(2, {"core": [-1, TOTAL - 2 * QUARTER + 2, -1]}),
            lambda: make(3, {"core": [TOTAL - 2 * EIGHTH], "floor": 0}),
            lambda: make(1, {"core": [TOTAL - 2 * QUARTER - 1]}),
            lambda: make(1, {"core": [TOTAL - 2 * QUARTER + 1]}),
            lambda: make(2, {"end": QUARTER - 1}),
            lambda: make(3, {"floor": EIGHTH + 1}),
            lambda: make(2, {"size": 1}),
            lambda: make(2, {"size": 3}),
        ],
    )


def test_a_noise_table_whose_sum_wraps_around_to_the_total_is_refused():
    """The core sums to 2**64 too much, which an int64 does not see; the epsilon is the largest there is."""
    core = [2**62, 2**62, 2**62 - 2, 2**62, 2**62]
    assert (sum(core) + 2) % 2**64 == TOTAL
    with rejects(ib.InvalidDistribution, "noise weights", about=str(-(2**64))):
        Mechanism(ib.count(3), Fraction(64), Noise(np.array(core), 1, 1, 3), HAND)


@pytest.mark.parametrize("convert", [np.int64, np.int32, np.uint8])
def test_numpy_whole_numbers_in_a_noise_table_are_checked_without_wrapping(convert):
    """Fixed-width integers must neither overflow inside the checker nor slip past it."""
    hostile = Noise(np.array([TOTAL - 2]), convert(1), convert(1), 1)
    with pytest.raises(ib.PrivacyViolation):
        Mechanism(ib.count(1), Fraction(1), hostile, HAND)
    honest = Noise(np.array([TOTAL // 2]), convert(1), np.int64(TOTAL // 4), convert(1))
    mechanism = Mechanism(ib.count(1), Fraction(2), honest, HAND)
    assert mechanism.weights.tolist() == written_out([TOTAL // 2], 1, TOTAL // 4, 1)


def test_a_noise_table_for_labels_gaps_or_everyone_is_refused():
    law = Noise(np.array([TOTAL - 2 * (TOTAL // 4)]), 1, TOTAL // 4, 1)
    for query in (ib.category(["a", "b"]), ib.extreme(0, 1), line([0, 2], ib.Reach(2))):
        with pytest.raises((ValueError, ib.InboundsError)):
            Mechanism(query, Fraction(3), law, HAND)


def test_a_remap_must_name_an_output_for_every_step():
    law = make_geometric_noise(ib.count(3), Fraction(1))
    for remap in ([0, 1, 2], [0, 1, 2, 4], [0, 1, 2, -1]):
        hostile = Noise(law.core, law.floor, law.end, law.size, np.array(remap))
        with rejects(ib.InvalidDistribution, "remap"):
            Mechanism(ib.count(3), Fraction(1), hostile, HAND)
    coarse = ib.count(3, outputs=[(-1, 1), (1, 4)])
    with rejects(ib.InvalidDistribution, about="without"):
        Mechanism(coarse, Fraction(1), law, HAND)


def test_a_remapped_noise_table_is_the_sum_of_the_rows_it_merges(judge):
    law = make_geometric_noise(ib.count(3), Fraction(1))
    coarse = ib.count(3, outputs=[(-1, 1), (1, 4)])
    merged = Mechanism(coarse, Fraction(1), Noise(law.core, law.floor, law.end, law.size, np.array([0, 0, 1, 1])), HAND)
    plain = Mechanism(ib.count(3), Fraction(1), law, HAND).weights
    assert merged.weights.tolist() == [(plain[0] + plain[1]).tolist(), (plain[2] + plain[3]).tolist()]
    assert judge.certifies(merged)


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(0, 29))
def test_sliding_windows_by_doubling_equal_windows_one_by_one(values, reach):
    if reach >= len(values):
        return
    table = np.array(values)
    windows = [values[i : i + reach + 1] for i in range(len(values) - reach)]
    assert sliding_extremes(np.maximum, table, reach).tolist() == [max(w) for w in windows]
    assert sliding_extremes(np.minimum, table, reach).tolist() == [min(w) for w in windows]


# --- garbage in -------------------------------------------------------------------------------------------

ODD = [0.0, -0.0, 5e-324, 2.2e-308, 1e-300, 1e-17, -1e-9, -1e-7, -1.0, 1e308, math.inf, -math.inf, math.nan]


@st.composite
def garbage(draw):
    """A matrix from nowhere: mostly of the right shape and normalized, with odd values strewn in."""
    query = draw(queries())
    shape = query.shape if draw(st.integers(0, 9)) else draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.random(shape) ** draw(st.sampled_from([0, 1, 5, 200]))
    kind = draw(st.sampled_from(["keep", "sparse", "nearly private", "odd"]))
    if kind == "sparse" and matrix.size:
        matrix[rng.random(shape) < 0.5] = 0.0
    if kind == "nearly private" and shape == query.shape:
        matrix = ib.catalog.exponential(query, "1/1000").matrix + rng.normal(0, 10.0 ** -rng.integers(4, 18), shape)
    with np.errstate(all="ignore"):
        sums = matrix.sum(axis=0)
        if draw(st.integers(0, 9)):
            matrix = np.where(sums > 0, matrix / np.where(sums > 0, sums, 1), matrix)
    if kind == "odd" and matrix.size:
        for _ in range(draw(st.integers(1, 3))):
            matrix.flat[draw(st.integers(0, matrix.size - 1))] = draw(st.sampled_from(ODD))
    return matrix, query, draw(epsilons)


@settings(max_examples=100 * MORE, deadline=None)
@given(garbage(), st.sampled_from([1e-5, 1e-5, 1.0]))
def test_garbage_is_certified_exactly_or_refused_with_a_reason(judge, proposal, tolerance):
    matrix, query, epsilon = proposal
    mechanism = outcome(lambda: ib.certify(matrix, query, epsilon, tolerance=tolerance))
    if isinstance(mechanism, Exception):
        assert str(mechanism)
        assert "\n" not in str(mechanism)
        return
    assert mechanism.epsilon == epsilon
    assert judge.certifies(mechanism)
    moved = np.abs(mechanism.weights / TOTAL - np.maximum(matrix, 0)).sum(axis=0).max() / 2
    assert moved <= tolerance + 1e-12


@settings(max_examples=100 * MORE, deadline=None)
@given(queries(), epsilons, st.integers(0, 2**32 - 1))
def test_what_is_private_with_room_to_spare_is_never_refused(judge, query, epsilon, seed):
    """Certification must not refuse everything: matrices with half the allowed loss go through almost unmoved."""
    rng = np.random.default_rng(seed)
    room = float(epsilon) * min([1.0, *(float(d) for _, _, d in judge.pairs(query))]) / 4
    matrix = np.exp(rng.uniform(-room, room, query.shape) / 2)
    matrix /= matrix.sum(axis=0)
    mechanism = ib.certify(matrix, query, epsilon)
    assert judge.certifies(mechanism)
    assert np.abs(mechanism.matrix - matrix).sum(axis=0).max() / 2 < 1e-7


def test_certify_says_what_is_wrong_with_a_matrix(golden):
    def certify(matrix):
        ib.certify(matrix, ib.count(3), 1)

    golden.errors(
        "wrong_certifications",
        [
            lambda: certify(np.eye(3)),
            lambda: certify(np.full((4, 4), math.nan)),
            lambda: certify(np.full((4, 4), math.inf)),
            lambda: certify(np.full((4, 4), 0.25) - np.eye(4) * 0.5),
            lambda: certify(np.full((4, 4), 0.2)),
            lambda: certify(np.diag([1.0, 1.0, 1.0, 0.0])),
            lambda: certify(np.full((4, 4), 1e308)),
        ],
    )


def test_certify_refuses_a_matrix_that_promises_too_much_and_names_the_worst_cell():
    loud = ib.catalog.truncated_geometric(ib.count(3), 2).matrix
    with pytest.raises(ib.PrivacyViolation) as caught:
        ib.certify(loud, ib.count(3), 1)
    assert (caught.value.output, caught.value.answers) == (0, (0, 1))
    assert caught.value.ratio == pytest.approx(math.e**2)
    assert caught.value.allowed == pytest.approx(math.e)


def test_certify_repairs_a_solver_zero_beside_a_positive_neighbour(judge):
    matrix = ib.catalog.truncated_geometric(ib.count(20), 3).matrix.copy()
    matrix[matrix < 1e-9] = 0.0
    assert ib.audit(matrix, ib.count(20)).epsilon == math.inf
    mechanism = ib.certify(matrix, ib.count(20), 3)
    assert judge.certifies(mechanism)
    assert (mechanism.weights > 0).all()
    assert np.abs(mechanism.matrix - matrix).sum(axis=0).max() < 1e-7


def test_a_refusal_for_a_private_matrix_does_not_claim_that_it_breaks_its_ratio():
    """With no tolerance at all even rounding is too much; the reason given must still be true."""
    private = ib.catalog.randomized_response(ib.count(2), "1/2").matrix
    with pytest.raises((ValueError, ib.InboundsError)) as caught:
        ib.certify(private / 3 + private * 2 / 3 + 1e-10 * np.eye(3), ib.count(2), 1, tolerance=0)
    if isinstance(caught.value, ib.PrivacyViolation):
        assert caught.value.ratio > caught.value.allowed


# --- audit ------------------------------------------------------------------------------------------------


@settings(max_examples=80 * MORE, deadline=None)
@given(queries(), st.integers(0, 2**32 - 1))
def test_audit_equals_the_largest_log_ratio_over_all_pairs(judge, query, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random(query.shape) ** rng.integers(1, 8)
    matrix /= matrix.sum(axis=0)
    found = ib.audit(matrix, query)
    worst = 0.0
    for j, k, distance in judge.pairs(query):
        for row in matrix:
            worst = max(worst, abs(math.log(row[j] / row[k])) / float(distance))
    assert found.epsilon == pytest.approx(worst, rel=1e-12, abs=1e-12)
    if worst > 0:
        likelier, rarer = found.answers
        high, low = (Fraction(matrix[found.output, j]) for j in (likelier, rarer))
        assert found.ratio == round_up_to_float(high / low)
        assert math.log(found.ratio) / found.distance == pytest.approx(found.epsilon)


def test_audit_calls_a_zero_beside_a_positive_infinite_and_a_zero_row_nothing():
    assert ib.audit([[0.5, 0.0], [0.5, 1.0]], ib.count(1)).epsilon == math.inf
    assert ib.audit([[0.0, 0.0], [1.0, 1.0]], ib.count(1)).epsilon == 0.0


def test_audit_sees_zeros_only_between_neighbours():
    """A zero two steps from a positive is fine when a smaller positive lies between."""
    matrix = np.array([[0.9, 0.1, 0.1], [0.1, 0.9, 0.9]])
    query = ib.count(2, outputs=2)
    assert ib.audit(matrix, query).epsilon == pytest.approx(math.log(9))


def test_audit_keeps_subnormal_ratios_finite():
    found = ib.audit([[5e-324, 1.0], [1.0, 1e-300]], ib.count(1))
    assert found.epsilon == pytest.approx(-math.log(5e-324))


def test_audit_refuses_what_is_no_matrix_of_probabilities(golden):
    def audit(matrix):
        ib.audit(matrix, ib.count(1))

    golden.errors(
        "wrong_audits",
        [
            lambda: audit(np.eye(3)),
            lambda: audit([[math.nan, 1], [1, 1]]),
            lambda: audit([[math.inf, 1], [1, 1]]),
            lambda: audit([[-1, 1], [1, 1]]),
            lambda: audit([[0, 1], [0, 1]]),
            lambda: audit([[3, 9], [1, 3]]),
        ],
    )


def test_audit_takes_counts_instead_of_probabilities():
    assert ib.audit([[3, 1], [1, 3]], ib.count(1)) == ib.audit([[0.75, 0.25], [0.25, 0.75]], ib.count(1))


def test_a_matrix_with_a_row_for_each_true_answer_is_refused_with_the_reason():
    """Its largest ratio would be that of another mechanism, and can be smaller than the truth."""
    turned = ib.catalog.truncated_geometric(ib.count(2), 2).matrix.T
    with rejects(ValueError, "columns", about="transpose"):
        ib.audit(turned, ib.count(2))
    with rejects(ValueError, "columns", about="transpose"):
        ib.certify(turned, ib.count(2), 2)


def test_audit_reads_as_a_sentence():
    text = str(ib.audit([[0.75, 0.25], [0.25, 0.75]], ib.count(1)))
    assert text == "epsilon 1.09861229: output 0 is 3 times likelier under answer 0 than under answer 1 (indices)"


# --- the other kinds of law -------------------------------------------------------------------------------


def verdict(check, *what):
    """None, or why the checker refuses."""
    try:
        return check(*what)
    except (ib.InvalidDistribution, ib.PrivacyViolation) as reason:
        return type(reason), getattr(reason, "output", None)


@given(st.sampled_from([ib.count(3), ib.extreme(1, 4), ib.total(3, 0, 2)]), st.integers(0, 2**32), st.booleans())
def test_one_inequality_judges_a_matrix_a_product_and_a_law_of_states(query, seed, touched):
    """The same weights, written as a matrix, over a larger total, and at two equal levels, get the same verdict."""
    rng = np.random.default_rng(seed)
    weights = ib.catalog.truncated_geometric(query, 1).weights.copy()
    for _ in range(int(touched) * int(rng.integers(1, 4))):
        column, units = rng.integers(weights.shape[1]), 1 << int(rng.integers(0, 56))
        i, j = rng.choice(len(weights), 2, replace=False)
        weights[i, column] += units
        weights[j, column] -= units
    epsilon = Fraction(1) + Fraction(int(rng.integers(-2, 3)), 10 ** int(rng.integers(1, 40)))
    found = verdict(check_matrix, weights, query.cliques(), epsilon)
    assert verdict(check_product, weights.astype(object) * 2**200, query.cliques(), epsilon) == found
    levels = np.stack([weights, weights], axis=1)
    windows = [(c.start, c.stop, first, last) for c in query.cliques() for first, last in ((0, 0), (0, 1), (1, 1))]
    assert verdict(check_states, levels, windows, epsilon) == found


@given(
    st.lists(st.integers(0, TOTAL) | st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**32, TOTAL]), min_size=1, max_size=4),
    st.fractions(Fraction(1, 10**9), 64) | epsilons,
    st.integers(-1, 1),
    st.integers(0, 2 * CLIQUES_AT_A_TIME),
)
def test_many_pairs_at_once_are_compared_to_the_last_unit(lows, epsilon, beyond, place):
    """The most that may stand beside a weight passes, one more does not, wherever the pair stands."""
    p = exp_lower_bound(epsilon)
    for low in lows:
        high = min(TOTAL, max(0, (p * low >> EXP_BITS) + beyond))
        even = [TOTAL // 2] * place
        weights = np.array([[*even, low, high], [*even, TOTAL - low, TOTAL - high]])
        pairs = [Clique(j, j + 1, Fraction(1)) for j in range(place)] + [Clique(place, place + 2, Fraction(1))]
        private = all(max(a, b) << EXP_BITS <= p * min(a, b) for a, b in weights[:, place:].tolist())
        assert (verdict(check_matrix, weights, pairs, epsilon) is None) == private


def test_a_law_of_states_is_compared_between_levels_too():
    """Neither level tells the answers apart; a report tells the levels apart, twice as likely at one."""
    half, quarter = TOTAL // 2, TOTAL // 4
    levels = np.array([[[half, half], [TOTAL - quarter] * 2], [[half, half], [quarter, quarter]]])
    check_states(levels, [(0, 2, 0, 0), (0, 2, 1, 1)], Fraction(1, 10**9))
    for window in ((0, 1, 0, 1), (1, 2, 0, 1), (0, 2, 0, 1)):
        assert verdict(check_states, levels, [window], Fraction("0.7")) is None
        assert verdict(check_states, levels, [window], Fraction("0.69")) == (ib.PrivacyViolation, 1)
    levels[0, 1, 1] += 1
    assert verdict(check_states, levels, [], Fraction(1)) == (ib.InvalidDistribution, None)


def test_a_ratio_beyond_any_float_is_refused_in_words():
    """Numbers of any size: a refusal, not an overflow."""
    law = np.array([[1 << 3000, 1], [1, 1 << 3000]], dtype=object)
    with rejects(ib.PrivacyViolation, about="likelier"):
        check_product(law, ib.count(1).cliques(), Fraction(1))


@pytest.mark.parametrize(("blocks", "holding"), [(7, 3), (5, 4), (12, 1), (3, 2)])
def test_the_weights_of_sets_are_those_of_the_worst_remainders(blocks, holding):
    """A draw modulo the number of sets has the quotient of 2**62 or one more for each."""
    inside = TOTAL // 3
    sides = ((inside, holding), (TOTAL - inside, blocks - holding))
    counts = [weight * len(range(k, TOTAL, sets)) for weight, sets in sides for k in range(sets)]
    assert block_weights(blocks, holding, inside) == (min(counts), max(counts))

"""Sampling: every draw counted, the law of the reports is the weights; fresh entropy, no seed, same shape out."""

import os
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import inbounds as ib
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.mechanism.laws.plane import make_plane_noise
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.query import with_neighbours
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS
from inbounds.trusted.samplers import (
    AliasTable,
    MatrixSampler,
    NoiseSampler,
    draw_output,
    draw_outputs,
    draw_steps,
    seeded_entropy,
    system_entropy,
)
from raising import rejects

HAND = Origin("by hand")

# --- all draws enumerated ---------------------------------------------------------------------------------


@st.composite
def compositions(draw, parts, total):
    """`parts` non-negative whole numbers that sum to `total`."""
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=parts - 1, max_size=parts - 1)))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 9), st.integers(1, 3), st.integers(4, 9), st.data())
def test_all_draws_of_a_small_alias_table_give_exactly_the_weights(outputs, laws, bits, data):
    weights = np.array([data.draw(compositions(outputs, 1 << bits)) for _ in range(laws)]).T
    table = AliasTable.from_weights(weights, bits)
    draws = np.arange(1 << bits, dtype=np.uint64)
    for law in range(laws):
        chosen, _ = table.pick(np.full(1 << bits, law), draws)
        assert np.bincount(chosen, minlength=outputs).tolist() == weights[:, law].tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.data())
def test_all_draws_of_a_matrix_sampler_give_exactly_the_weights(outputs, answers, data):
    """Weights in multiples of 2**52: a draw's low 52 bits cannot matter, so 1024 draws are all draws."""
    shares = np.array([data.draw(compositions(outputs, 1 << 10)) for _ in range(answers)]).T
    sampler = MatrixSampler.from_weights(shares << 52)
    for low_bits in (0, 2**52 - 1):
        draws = (np.arange(1 << 10, dtype=np.uint64) << np.uint64(52)) + np.uint64(low_bits)
        for answer in range(answers):
            reported = sampler.outputs(np.full(1 << 10, answer), draws)
            assert np.bincount(reported, minlength=outputs).tolist() == shares[:, answer].tolist()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 3), st.integers(0, 12), st.data())
def test_all_draws_of_a_noise_sampler_give_exactly_the_written_out_weights(half, run, data):
    """As above for clamp(answer + noise): core, equal weights outside it, ends, and the remap."""
    floor = data.draw(st.integers(1, 3))
    unit = 1 << 12
    capacity = unit >> (2 * half + 1 + 3).bit_length()
    if run * floor >= capacity:
        return
    end = data.draw(st.integers(1, 300))
    size = half + run + 1
    side = [data.draw(st.integers(1, 90)) for _ in range(2 * half)]
    core = [*side[:half], unit - sum(side) - 2 * run * floor - 2 * end, *side[half:]]
    remap = data.draw(st.sampled_from([None, np.arange(size + 1)[::-1].copy(), np.arange(size + 1) // 2]))
    sampler = NoiseSampler.from_weights(np.array(core) << 50, floor << 50, end << 50, size, remap)
    table = {d: end if abs(d) == size else floor for d in range(-size, size + 1)}
    table.update({d: core[d + half] for d in range(-half, half + 1)})
    for low_bits in (0, 2**50 - 1):
        draws = (np.arange(unit, dtype=np.uint64) << np.uint64(50)) + np.uint64(low_bits)
        for answer in range(size + 1):
            expected = np.zeros(size + 1, dtype=np.int64)
            for d, weight in table.items():
                step = min(max(answer + d, 0), size)
                expected[step if remap is None else remap[step]] += weight
            reported = sampler.outputs(np.full(unit, answer), draws)
            assert np.bincount(reported, minlength=size + 1).tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 9), st.integers(1, 3), st.integers(4, 9), st.data())
def test_one_draw_is_picked_like_many(outputs, laws, bits, data):
    weights = np.array([data.draw(compositions(outputs, 1 << bits)) for _ in range(laws)]).T
    table = AliasTable.from_weights(weights, bits)
    for law in range(laws):
        chosen, places = table.pick(np.full(1 << bits, law), np.arange(1 << bits, dtype=np.uint64))
        one_by_one = [table.pick_one(law, draw) for draw in range(1 << bits)]
        assert one_by_one == list(zip(chosen.tolist(), places.tolist(), strict=True))


MAP = ib.grid(6, 7)
ONE_BY_ONE = [
    ib.optimal(ib.count(9), "1/2"),
    ib.catalog.truncated_geometric(ib.count(10**6), "1/100"),
    ib.optimal(ib.count(5000), "1/50"),
    ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1),
    Mechanism(MAP, Fraction(1), make_plane_noise(MAP, Fraction(1), lambda a, b: np.hypot(a, b) / 4), HAND),
    ib.local.subset_selection(ib.category(9), 1),
]
"""A mechanism for each kind of sampler, and noise with a remap."""


@pytest.mark.parametrize("made", ONE_BY_ONE, ids=lambda made: type(made.law.sampler(made.query)).__name__)
def test_one_report_is_drawn_like_many_from_the_same_entropy(made):
    """Every position or many of them, each with its own draws: two for a report that names a set."""
    sampler, rng = made.law.sampler(made.query), np.random.default_rng(5)
    for position in np.unique(np.linspace(0, sampler.answers - 1, 400).astype(int)).tolist():
        seed = int(rng.integers(1 << 60))
        entropy, same = (seeded_entropy(np.random.default_rng(seed)) for _ in range(2))
        assert draw_output(sampler, position, entropy) == draw_outputs(sampler, np.array([position]), same)[0]


@pytest.mark.parametrize("made", ONE_BY_ONE, ids=lambda made: type(made.law.sampler(made.query)).__name__)
def test_one_report_is_drawn_for_positions_of_the_law_only(made):
    sampler = made.law.sampler(made.query)
    for position in (-1, sampler.answers, 1 << 64):
        with rejects(IndexError, about="position"):
            draw_output(sampler, position, system_entropy)


def owned(table: AliasTable, law: int) -> list[int]:
    """How many of all 2**62 draws select each bin's output: the threshold for itself, the rest for its alias."""
    capacity = 1 << (table.total_bits - table.bits)
    counts = [0] * (1 << table.bits)
    for k, cell in enumerate(table.packed.array[law].tolist()):
        threshold, alias = cell >> table.bits, cell & ((1 << table.bits) - 1)
        assert 0 <= threshold <= capacity
        counts[k] += threshold
        counts[alias] += capacity - threshold
    return counts


@pytest.mark.parametrize("n", [1, 2, 5, 64, 100])
@pytest.mark.parametrize("name", ["truncated_geometric", "explicit_fair", "randomized_response", "uniform"])
def test_every_output_owns_exactly_its_weight_among_the_draws(name, n):
    made = getattr(ib.catalog, name)(ib.count(n), 1)
    table = made.law.sampler(made.query).table
    for j in range(n + 1):
        counts = owned(table, j)
        assert counts[: n + 1] == made.weights[:, j].tolist()
        assert not any(counts[n + 1 :])


def test_a_large_noise_table_owns_exactly_its_weights():
    made = ib.catalog.truncated_geometric(ib.count(10**6), "1/2")
    law, table = made.law, made.law.sampler(made.query).table
    counts, run = owned(table, 0), law.size - 1 - law.half_width
    core = len(law.core)
    assert counts[:core] == law.core.tolist()
    assert counts[core : core + 4] == [run * law.floor] * 2 + [law.end] * 2
    assert not any(counts[core + 4 :])
    for k in (core, core + 1):  # the equal weights sit at the start of their own bin and are nobody's alias
        cells = table.packed.array[0].tolist()
        assert cells[k] >> table.bits == run * law.floor
        assert all(cell & ((1 << table.bits) - 1) != k for i, cell in enumerate(cells) if i != k)


# --- statistics -------------------------------------------------------------------------------------------


def chi_square_p(made, answer: int, reported: np.ndarray) -> float:
    """p-value of the counts against the weights; outputs expected fewer than 25 times are pooled."""
    expected = made.matrix[:, answer] * len(reported)
    counts = np.bincount(reported, minlength=len(expected)).astype(float)
    common = expected >= 25
    expected = np.append(expected[common], expected[~common].sum())
    counts = np.append(counts[common], counts[~common].sum())
    kept = expected > 0
    return float(chi2.sf((((counts - expected) ** 2)[kept] / expected[kept]).sum(), kept.sum() - 1))


def perturbed(made, share: float):
    """The same mechanism with one per cent of the commonest output's mass moved to the next commonest."""
    matrix = made.matrix.copy()
    for j in range(matrix.shape[1]):
        first, second = np.argsort(matrix[:, j])[-2:]
        moved = share * matrix[second, j]
        matrix[second, j] -= moved
        matrix[first, j] += moved
    return ib.certify(matrix, made.query, made.epsilon + 1)


@pytest.mark.long
def test_ten_million_reports_follow_the_weights_and_a_one_per_cent_change_is_seen():
    """Error rate of the first half 1e-9 (a p-value); the twin's statistic is hundreds of deviations out."""
    made = ib.catalog.truncated_geometric(ib.count(20), "1/2")
    reported = made.sample(np.full(10**7, 7))
    assert chi_square_p(made, 7, reported) > 1e-9
    assert chi_square_p(perturbed(made, 0.01), 7, reported) < 1e-9


def test_reports_of_a_noise_table_follow_the_weights_and_a_one_per_cent_change_is_seen():
    """Error rate 1e-9, as above, for clamp(answer + noise) near an end of the range."""
    query = ib.count(40)
    made = Mechanism(query, Fraction(1, 2), make_geometric_noise(query, Fraction(1, 2)), HAND)
    reported = made.sample(np.full(3 * 10**6, 3))
    assert chi_square_p(made, 3, reported) > 1e-9
    assert chi_square_p(perturbed(made, 0.01), 3, reported) < 1e-9


def test_entropy_is_uniform_in_every_bit():
    """Each of 62 bits is set half the time: |z| < 7 for all of them fails by chance with rate below 1e-9."""
    draws = system_entropy(10**6)
    assert int(draws.max()) < 1 << TOTAL_BITS
    for bit in range(TOTAL_BITS):
        ones = int((draws >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - 5 * 10**5) < 7 * 500


# --- no seed on the release path --------------------------------------------------------------------------


def test_numpy_and_python_seeds_do_not_reach_a_release():
    """200 reports of 101 values agree by chance with probability below 1e-100."""
    import random

    made = ib.catalog.uniform(ib.count(100), 1)
    runs = []
    for _ in range(2):
        np.random.seed(7)  # noqa: NPY002 - the legacy seed is what must not matter
        random.seed(7)
        runs.append(made.sample([50] * 200).tolist())
    assert runs[0] != runs[1]


def test_simulate_is_reproducible_and_follows_the_generator():
    made = ib.catalog.truncated_geometric(ib.count(100), "1/10")
    first = made.simulate([50] * 200, np.random.default_rng(3)).tolist()
    assert first == made.simulate([50] * 200, np.random.default_rng(3)).tolist()
    assert first != made.simulate([50] * 200, np.random.default_rng(4)).tolist()


def test_sampling_asks_the_operating_system_once_per_value(monkeypatch):
    asked = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or real(n))
    ib.catalog.uniform(ib.count(3), 1).sample(np.zeros(100_000, dtype=int))
    assert sum(asked) == 8 * 100_000


def test_one_value_asks_the_operating_system_anew_for_each_report(monkeypatch):
    """No buffer across calls: eight bytes for each, also after many at once."""
    made = ib.catalog.uniform(ib.count(3), 1)
    made.sample([0] * 100)
    asked = []
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or real(n))
    for _ in range(3):
        made.sample(1)
    assert asked == [8, 8, 8]


def test_forked_processes_draw_no_common_block():
    """16 children of one parent that has already drawn: all 16 × 64 draws differ (chance of a tie < 1e-11)."""
    system_entropy(1000)
    seen: set[int] = set()
    children = []
    for _ in range(16):
        receive, send = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking with idle library threads is meant
            child = os.fork()
        if child == 0:
            os.write(send, system_entropy(64).tobytes())
            os._exit(0)
        os.close(send)
        children.append((child, receive))
    for child, receive in children:
        with os.fdopen(receive, "rb") as pipe:
            draws = np.frombuffer(pipe.read(), dtype=np.uint64)
        os.waitpid(child, 0)
        assert len(draws) == 64
        seen.update(draws.tolist())
    assert len(seen) == 16 * 64


# --- shapes and types -------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [ib.catalog.uniform(ib.count(4), 1), ib.catalog.uniform(ib.mean(4, 0, 1), 1)])
@pytest.mark.parametrize("scalar", [int, float, np.int64, np.float64, Fraction])
def test_a_scalar_gives_a_scalar(made, scalar):
    report_of = made.sample(scalar(1))
    assert np.ndim(report_of) == 0
    assert not isinstance(report_of, np.ndarray)
    assert report_of in made.query.output_values


@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (2, 3), (2, 1, 4), (0, 3)])
def test_arrays_and_lists_give_arrays_of_the_same_shape(shape):
    made = ib.catalog.uniform(ib.count(4), 1)
    answers = np.ones(shape, dtype=int)
    for given_answers in (answers, answers.tolist(), answers.astype(float), np.asfortranarray(answers)):
        if np.shape(given_answers) != shape:
            continue  # an empty nested list has lost its shape
        reported = made.sample(given_answers)
        assert isinstance(reported, np.ndarray)
        assert reported.shape == shape
        assert reported.dtype == np.int64


def test_each_report_answers_its_own_answer():
    """With epsilon 64 the truth is all but certain: the reports are the answers, in their places."""
    made = ib.catalog.truncated_geometric(ib.count(9), 64)
    answers = np.arange(10).repeat(7)[::-1].reshape(7, 10)
    assert np.array_equal(made.sample(answers), answers)
    assert np.array_equal(made.sample(answers.T), answers.T)
    query = ib.count(9)
    table = Mechanism(query, Fraction(64), make_geometric_noise(query, Fraction(64)), HAND)
    assert np.array_equal(table.sample(answers), answers)


def test_blocks_do_not_shift_reports():
    made = ib.catalog.truncated_geometric(ib.count(9), 64)
    answers = np.arange(100_003) % 10
    assert np.array_equal(made.sample(answers), answers)


def test_labels_in_labels_out():
    made = ib.catalog.randomized_response(ib.category(["left", "right"]), 64)
    assert made.sample("left") == "left"
    assert isinstance(made.sample("left"), str)
    assert made.sample(["right", "left"]).tolist() == ["right", "left"]
    assert made.sample([["right"], ["left"]]).shape == (2, 1)


def test_outputs_are_reported_as_the_values_of_their_cells():
    made = ib.catalog.uniform(ib.count(5, outputs=[(0, 2, 1), (2, 6, "9/2")]), 1)
    assert set(made.sample([3] * 200).tolist()) == {1.0, 4.5}


@pytest.mark.parametrize(
    ("query", "low", "high"),
    [(ib.count(5), 0, 5), (ib.mean(3, 1, 5), 1.0, 5.0), (ib.interval(0, 1, "1/3", 3), 1 / 6, 5 / 6)],
    ids=["count", "mean", "interval"],
)
def test_randomise_takes_what_is_out_of_range_as_the_nearer_end(query, low, high):
    """At epsilon 64 a report tells the truth but for 2**-62 or so."""
    made = ib.catalog.randomized_response(with_neighbours(query, ib.AllPairs()), 64)
    assert made.sample(-1e9, clip=True) == pytest.approx(low)
    assert made.sample(10**30, clip=True) == pytest.approx(high)
    assert made.sample([-3, 77], clip=True).tolist() == pytest.approx([low, high])
    with rejects(ValueError, "true answers"):
        made.sample(float("nan"), clip=True)


def test_randomise_of_a_label_is_sample():
    made = ib.catalog.randomized_response(ib.category(["bus", "bike"]), 64)
    assert made.sample("bike", clip=True) == "bike"
    with rejects(ValueError, about="declared"):
        made.sample("car", clip=True)


@pytest.mark.parametrize(
    ("made", "answer", "kind"),
    [
        (ib.catalog.uniform(ib.count(3), 1), 0, int),
        (ib.catalog.uniform(ib.mean(2, 0, 1), 1), 0, float),
        (ib.catalog.truncated_geometric(ib.count(4100), 1), 0, int),
        (ib.catalog.uniform(ib.category(["0", "3"]), 1), "3", str),
    ],
    ids=["count", "mean", "large", "labels"],
)
def test_one_report_is_a_plain_python_value(made, answer, kind):
    assert type(made.sample(answer)) is kind


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (ib.count(9), range(10)),
        (ib.mean(4, 0, 1), (0, 1)),
        (ib.total(3, -2, 5), range(-6, 16)),
        (ib.interval(-3, 4, 1, 20), range(-3, 5)),
        (ib.count(5, outputs=[(0, 2, 1), (2, 6, "9/2")]), range(6)),
        (ib.ordinal(1, 5, neighbours=[(1, 2), (2, 3), (3, 4), (4, 5)]), range(1, 6)),
    ],
    ids=["count", "mean", "total", "interval", "cells", "graph"],
)
def test_an_int_gets_the_report_that_a_list_of_it_gets(query, values, monkeypatch):
    made = ib.catalog.randomized_response(with_neighbours(query, ib.AllPairs()), 1) if query.edges == () else None
    made = made or ib.optimal(query, 1)
    for value in values:
        draws = os.urandom(8)
        monkeypatch.setattr("inbounds.trusted.samplers._system_bytes", lambda count, draws=draws: draws)
        report_of = made.sample(value)
        assert [report_of] == made.sample([value]).tolist()
        assert type(report_of) is type(made.sample([value]).tolist()[0])


def test_report_reads_the_draws_in_order():
    weights = np.array([[TOTAL // 2, 0], [TOTAL // 2, TOTAL]])
    draws = np.array([0, TOTAL - 1, 0, TOTAL - 1], dtype=np.uint64)
    picked = draw_outputs(MatrixSampler.from_weights(weights), np.array([[0, 0], [1, 1]]), lambda count: draws[:count])
    assert picked.tolist() == [[0, 1], [1, 1]]


def test_a_noise_table_too_wide_for_its_bins_is_refused_before_it_is_used():
    law = Noise(np.array([TOTAL - 2 * 10**6 * 2**40 - 2]), 2**40, 1, 10**6 + 1)
    with rejects(ib.TooLarge, about="epsilon"):
        law.sampler(ib.count(10**6 + 1))


@pytest.mark.parametrize("position", [-1, 3])
@pytest.mark.parametrize(
    "mechanism",
    [
        ib.catalog.truncated_geometric(ib.count(2), 1),
        ib.catalog.exponential(ib.count(2), 1),
        Mechanism(ib.count(2), Fraction(1), make_tight_response(3, Fraction(1)), Origin("two weights")),
        ib.local.subset_selection(ib.category(3), 1),
    ],
    ids=lambda mechanism: mechanism.law.kind if isinstance(mechanism, Mechanism) else str(mechanism),
)
def test_no_law_reports_a_position_that_it_has_no_answer_for(mechanism, position):
    assert mechanism.draw(np.arange(3), system_entropy).shape == (3,)
    with rejects(IndexError, "positions"):
        mechanism.draw(np.array([0, position]), system_entropy)


# --- steps that no answer enters --------------------------------------------------------------------------


def test_every_step_has_exactly_its_weight_of_the_draws():
    """The draws at both edges of a weight decide: below it a step up, as many at the top a step down."""
    for weight in (1, TOTAL // 5, TOTAL // 4, TOTAL // 2):
        words = np.array([0, weight - 1, weight, TOTAL - weight - 1, TOTAL - weight, TOTAL - 1], dtype=np.uint64)
        expected = [(word < weight) - (word >= TOTAL - weight) for word in words.tolist()]
        assert draw_steps([weight], 6, lambda count, words=words: words[:count]).tolist() == [expected]
    with rejects(ValueError, "weights"):
        draw_steps([TOTAL // 2 + 1], 1, system_entropy)


def test_each_step_of_each_report_takes_a_draw_of_its_own():
    asked = []

    def draws(count):
        asked.append(count)
        return np.zeros(count, dtype=np.uint64)

    assert (draw_steps([1, 1, 1], 40_000, draws) == 1).all()
    assert sum(asked) == 3 * 40_000

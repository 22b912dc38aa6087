"""Mechanism: made only through the checker, never altered, and useful exactly as its weights say."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.losses import to_loss
from inbounds.mechanism import Mechanism, Optimality, Origin, PropertyCheck
from inbounds.mechanism.laws import Matrix, Noise
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.query import RangeQuery, with_neighbours
from inbounds.trusted.bounds import TOTAL
from raising import rejects

HAND = Origin("by hand")
LEAK = np.array([[TOTAL, 0], [0, TOTAL]])


def private():
    return ib.catalog.truncated_geometric(ib.count(3), 1)


def noisy():
    query = ib.count(3)
    return Mechanism(query, Fraction(1), make_geometric_noise(query, Fraction(1)), HAND)


EACH_LAW = pytest.mark.parametrize("make", [private, noisy], ids=["matrix", "noise"])

# --- no way around the checker ----------------------------------------------------------------------------


def test_a_leaking_matrix_cannot_become_a_mechanism():
    with pytest.raises(ib.PrivacyViolation):
        Mechanism(ib.count(1), Fraction(1), Matrix(LEAK), HAND)


@EACH_LAW
def test_replacing_a_field_runs_the_check_again(make):
    made = make()
    assert dataclasses.replace(made, epsilon=Fraction(2)).epsilon == 2
    with pytest.raises(ib.PrivacyViolation):
        dataclasses.replace(made, epsilon=Fraction(1, 2))
    with pytest.raises((ib.PrivacyViolation, ValueError)):
        dataclasses.replace(made, query=with_neighbours(made.query, ib.AllPairs()))
    with pytest.raises(ib.InvalidDistribution):
        dataclasses.replace(made, query=ib.count(4))


@EACH_LAW
@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles_are_equal_and_as_immutable_as_the_original(make, clone):
    made = make()
    made.sample([0, 1, 2])
    twin = clone(made)
    assert twin == made
    assert hash(twin) == hash(made)
    array = twin.law.weights if isinstance(twin.law, Matrix) else twin.law.core
    for held in (array, twin.weights):
        with rejects(ValueError, about="read-only"):
            held[...] = 0
        with rejects(ValueError, about="WRITEABLE"):
            held.setflags(write=True)
    assert twin.sample(2) in (0, 1, 2, 3)


@EACH_LAW
def test_unpickling_a_law_that_was_altered_on_the_way_runs_the_check(make):
    """A pickle whose weights were edited is refused, because loading goes through the constructor."""
    made = make()
    if isinstance(made.law, Matrix):
        array, field = made.law.weights, bytearray(made.law.weights.tobytes())
    else:
        array, field = made.law.core, bytearray(made.law.core.tobytes())
    data = pickle.dumps(made)
    assert data.count(bytes(field)) == 1
    altered = array.copy()
    altered.flat[0] += 1
    with pytest.raises(ib.InvalidDistribution):
        pickle.loads(data.replace(bytes(field), altered.tobytes()))


@EACH_LAW
def test_fields_cannot_be_assigned_or_deleted(make):
    made = make()
    for name in ("query", "epsilon", "law", "origin", "optimality"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, name, None)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(made, name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.law.weights = LEAK


@EACH_LAW
def test_weights_and_matrix_cannot_be_written_to(make):
    made = make()
    for array in (made.weights, made.matrix):
        with rejects(ValueError, about="read-only"):
            array[0, 0] = 0


@EACH_LAW
def test_reshaping_the_array_that_was_handed_out_does_not_reach_the_mechanism(make):
    made = make()
    before = made.simulate([0, 1, 2, 3], np.random.default_rng(1)).tolist()
    handed = made.law.matrix(made.query)
    handed.shape = (2, 8)
    assert made.weights.shape == (4, 4)
    assert made.simulate([0, 1, 2, 3], np.random.default_rng(1)).tolist() == before


def test_changing_the_array_a_law_was_made_from_changes_nothing():
    source = private().weights.copy()
    law = Matrix(source)
    made = Mechanism(ib.count(3), Fraction(1), law, HAND)
    source[:] = 0
    assert made.weights.sum(axis=0).tolist() == [TOTAL] * 4


def test_a_view_of_a_base_that_changes_later_changes_nothing():
    base = np.zeros((8, 4), dtype=np.int64)
    base[::2] = private().weights
    made = Mechanism(ib.count(3), Fraction(1), Matrix(base[::2]), HAND)
    base[:] = 0
    assert made.weights.sum(axis=0).tolist() == [TOTAL] * 4


def test_an_array_type_that_answers_differently_each_time_is_read_once():
    class Shifty(np.ndarray):
        def tobytes(self, *args):
            return LEAK.tobytes()

        def sum(self, *args, **kwargs):
            return np.array([TOTAL, TOTAL], dtype=object)

        def max(self, *args, **kwargs):
            return np.zeros(2, dtype=np.int64)

    with pytest.raises(ib.PrivacyViolation):
        Mechanism(ib.count(1), Fraction(1), Matrix(LEAK.view(Shifty)), HAND)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64, np.longdouble, object, "m8[s]", ">i8"])
def test_only_native_int64_weights_are_taken(dtype):
    weights = np.zeros((2, 2), dtype=np.int64).astype(dtype)
    with rejects(ib.InvalidDistribution, "weights"):
        Matrix(weights)


def test_laws_queries_and_mechanisms_that_could_skip_the_check_are_refused():
    class Friendly(Matrix):
        def check(self, query, epsilon):
            pass

    class Lonely(RangeQuery):
        def cliques(self):
            return iter(())

    pair = ib.count(1)
    with rejects(TypeError, about="mechanism"):
        Mechanism(pair, Fraction(1), Friendly(LEAK), HAND)
    lonely = Lonely(pair.kind, pair.answers, pair.outputs, pair.neighbours)
    with rejects(TypeError, about="mechanism"):
        Mechanism(lonely, Fraction(1), Matrix(LEAK), HAND)
    with rejects(TypeError, about="subclassed"):
        type("Loose", (Mechanism,), {"__post_init__": lambda self: None})


@pytest.mark.parametrize(("query", "law"), [(None, None), (ib.count(1), LEAK), ("query", Matrix(LEAK))])
def test_a_mechanism_is_made_of_a_query_and_a_law(query, law):
    with rejects(TypeError, about="mechanism"):
        Mechanism(query, Fraction(1), law, HAND)


def test_epsilon_is_kept_exactly():
    assert ib.catalog.uniform(ib.count(1), 0.1).epsilon == Fraction(1, 10)
    assert ib.catalog.uniform(ib.count(1), "1/3").epsilon == Fraction(1, 3)


# --- equality, hash, repr ---------------------------------------------------------------------------------


def test_equality_looks_at_query_epsilon_law_and_origin():
    assert private() == private()
    assert len({private(), private(), noisy(), noisy()}) == 2
    assert private() != noisy()
    assert private() != dataclasses.replace(private(), epsilon=Fraction(2))
    assert private() != dataclasses.replace(private(), origin=HAND)
    assert private() != ib.catalog.truncated_geometric(ib.extreme(0, 3), 3)
    assert private() != "mechanism"


def test_noise_laws_are_equal_only_with_the_same_remap():
    law = make_geometric_noise(ib.count(3), Fraction(1))
    identity = Noise(law.core, law.floor, law.end, law.size, np.arange(4))
    assert law != identity
    assert identity == Noise(law.core, law.floor, law.end, law.size, np.arange(4))
    assert identity != Noise(law.core, law.floor, law.end, law.size, np.array([0, 1, 2, 2]))


def test_repr_tells_what_it_is_in_one_line():
    text = repr(ib.catalog.truncated_geometric(ib.count(20), "1/2"))
    assert text == (
        "<Mechanism truncated_geometric for <count: 0..20 (21 values); neighbours: one step apart>, "
        "epsilon=0.5, 21 × 21>"
    )


def test_an_origin_shows_its_parameters_and_an_optimality_its_gap():
    assert str(Origin("made", {"a": "1", "b": "x"})) == "made(a=1, b=x)"
    assert Optimality("absolute", 2.0, 1.5).gap == 0.5
    assert Optimality("absolute", 1.5, 1.5 + 1e-16).gap == 0.0


def test_a_property_holds_exactly_within_units_or_not():
    assert (str(PropertyCheck(0)), bool(PropertyCheck(0))) == ("exactly", True)
    assert (str(PropertyCheck(5)), bool(PropertyCheck(5))) == ("within 5 units of 2^-62", True)
    assert (str(PropertyCheck(2**60)), bool(PropertyCheck(2**60))) == ("no", False)


def test_properties_of_the_geometric_mechanism_are_those_of_the_paper():
    """003: GM is row monotone and symmetric for every alpha, fair for none, column monotone iff alpha <= 1/2."""
    held = ib.catalog.truncated_geometric(ib.count(6), 2).properties()
    assert all(held[name] for name in ("row_honest", "row_monotone", "symmetric", "column_monotone"))
    assert not held["fair"]
    assert held["symmetric"].exact


# --- usefulness, against double sums in fractions ---------------------------------------------------------

LOSSES = {
    "absolute": lambda r, a: abs(r - a),
    "squared": lambda r, a: (r - a) ** 2,
    "zero-one": lambda r, a: Fraction(int(r != a)),
}


@st.composite
def small_mechanisms(draw):
    """A random certified mechanism with at most seven answers, and a random prior."""
    query = draw(
        st.sampled_from(
            [
                ib.count(4),
                ib.mean(2, -1, 2),
                ib.extreme(1, 4),
                ib.ordinal(-1, 2),
                ib.interval(0, 6, 2, 6, holes=[(1, 3)]),
                ib.count(4, outputs=[("-1/2", "3/2", 1), ("3/2", "9/2", 3)]),
                ib.count(2, outputs=ib.cells(-3, 5, 7)),
            ]
        )
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.random(query.shape) + 0.3
    mechanism = ib.certify(matrix / matrix.sum(axis=0), query, 8)
    prior = [draw(st.integers(0, 9)) for _ in query.answers]
    return mechanism, prior if any(prior) else None


def parts(mechanism, prior):
    """Everything as fractions: P[i][j], prior, answers, reported values."""
    rows = [[Fraction(int(w), TOTAL) for w in row] for row in mechanism.weights.tolist()]
    size = len(mechanism.query.answers)
    shares = [Fraction(p, sum(prior)) for p in prior] if prior else [Fraction(1, size)] * size
    return rows, shares, list(mechanism.query.answers), list(mechanism.query.outputs.values)


@settings(max_examples=60, deadline=None)
@given(small_mechanisms(), st.sampled_from(sorted(LOSSES)))
def test_losses_equal_direct_double_sums(made, name):
    mechanism, prior = made
    rows, shares, answers, reported = parts(mechanism, prior)
    of = LOSSES[name]
    hit = mechanism.query.home_cell.tolist()
    table = [
        [Fraction(int(i != hit[j])) if name == "zero-one" else of(r, a) for j, a in enumerate(answers)]
        for i, r in enumerate(reported)
    ]
    each = [sum(rows[i][j] * table[i][j] for i in range(len(rows))) for j in range(len(answers))]
    average = sum(s * e for s, e in zip(shares, each, strict=True))
    assert mechanism.loss(name, prior) == pytest.approx(float(average), rel=1e-12, abs=1e-14)
    assert mechanism.loss_per_answer(name) == pytest.approx([float(e) for e in each], rel=1e-12)
    assert mechanism.worst_loss(name) == pytest.approx(float(max(each)), rel=1e-12)
    assert mechanism.exact_loss(name) == sum(each) / len(each)
    assert mechanism.loss(name) == pytest.approx(float(mechanism.exact_loss(name)), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(small_mechanisms(), st.sampled_from(sorted(LOSSES)))
def test_a_bayesian_reader_loses_what_the_best_guesses_lose(made, name):
    mechanism, prior = made
    rows, shares, answers, _ = parts(mechanism, prior)
    of = LOSSES[name]

    def cost(row, guess):
        return sum(s * p * of(guess, a) for s, p, a in zip(shares, row, answers, strict=True))

    costs = [[cost(row, guess) for guess in answers] for row in rows]
    assert mechanism.bayes_loss(name, prior) == pytest.approx(float(sum(map(min, costs))), rel=1e-12, abs=1e-14)
    guesses = mechanism.remap(name, prior)
    for i, (guess, row_costs) in enumerate(zip(guesses, costs, strict=True)):
        chosen = row_costs[answers.index(Fraction(guess).limit_denominator(10**6))]
        assert float(chosen) == pytest.approx(float(min(row_costs)), rel=1e-9, abs=1e-15)
        assert mechanism.best_guess(mechanism.query.output_values[i], name, prior) == guess
    if mechanism.query.one_output_per_answer:
        assert mechanism.bayes_loss(name, prior) <= mechanism.loss(name, prior) + 1e-12


@settings(max_examples=60, deadline=None)
@given(small_mechanisms())
def test_bias_variance_posterior_and_truth_equal_direct_sums(made):
    mechanism, prior = made
    rows, shares, answers, reported = parts(mechanism, prior)
    for j, answer in enumerate(answers):
        mean = sum(rows[i][j] * r for i, r in enumerate(reported))
        second = sum(rows[i][j] * r * r for i, r in enumerate(reported))
        assert mechanism.bias()[j] == pytest.approx(float(mean - answer), rel=1e-9, abs=1e-12)
        assert mechanism.variance()[j] == pytest.approx(float(second - mean**2), rel=1e-9, abs=1e-12)
        assert mechanism.truth_probability()[j] == pytest.approx(
            float(rows[mechanism.query.home_cell[j]][j]), rel=1e-12
        )
    for i, value in enumerate(mechanism.query.output_values):
        joint = [s * p for s, p in zip(shares, rows[i], strict=True)]
        assert mechanism.posterior(value, prior) == pytest.approx([float(p / sum(joint)) for p in joint], rel=1e-12)


def test_effective_epsilon_is_the_largest_log_ratio_between_neighbours():
    mechanism = ib.certify([[0.6, 0.4], [0.4, 0.6]], ib.count(1), 3)
    assert mechanism.tight_epsilon() == pytest.approx(math.log(1.5), abs=1e-12)


def test_a_posterior_needs_an_output_that_can_happen():
    mechanism = Mechanism(ib.count(1), Fraction(1), Matrix(np.array([[TOTAL, TOTAL], [0, 0]])), HAND)
    with rejects(ValueError, "output"):
        mechanism.posterior(1)
    with rejects(ValueError, "output"):
        mechanism.posterior(2)


@pytest.mark.parametrize("scale", [1, "1e-8", "1e12"])
def test_an_output_is_found_whatever_the_scale_of_the_values(scale):
    query = ib.interval(0, Fraction(scale) * 4, Fraction(scale), 4)
    mechanism = ib.catalog.truncated_geometric(query, 1)
    for i, value in enumerate(query.output_values):
        assert mechanism.posterior(value).argmax() == i


def test_labels_have_a_zero_one_loss_and_nothing_numeric():
    mechanism = ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1)
    assert mechanism.loss("zero-one") == pytest.approx(2 / (2 + math.e))
    assert mechanism.exact_loss("zero-one") == 1 - Fraction(sum(np.diag(mechanism.weights).tolist()), 3 * TOTAL)
    assert mechanism.best_guess("b", "zero-one") == "b"
    assert mechanism.remap("zero-one").tolist() == ["a", "b", "c"]
    after = np.array([1, 1, math.e]) / (2 + math.e)
    assert mechanism.posterior("c") == pytest.approx(after)
    for numeric in (mechanism.bias, mechanism.variance):
        with rejects(ValueError, about="numeric"):
            numeric()
    for loss in ("absolute", "squared"):
        with rejects(ValueError, f"loss '{loss}'", about="numeric"):
            mechanism.loss(loss)
        with rejects(ValueError, about="numeric"):
            mechanism.exact_loss(loss)


def test_hits_are_counted_the_same_way_in_floats_and_in_fractions():
    """A cell may be reported as its upper edge, where the next cell begins: the two losses must agree."""
    mechanism = ib.catalog.randomized_response(ib.count(4, outputs=[(0, 2, 2), (2, 4, 3)]), 1)
    assert mechanism.loss("zero-one") == pytest.approx(float(mechanism.exact_loss("zero-one")))


# --- noise tables behave like their matrices --------------------------------------------------------------


@st.composite
def noise_mechanisms(draw):
    """A private noise table that need not be symmetric, and the same law as a matrix."""
    size = draw(st.integers(2, 8))
    core = [draw(st.integers(50, 100)) << 50 for _ in range(3)]
    end = draw(st.integers(1, 3)) << 58
    floor = draw(st.integers(40, 60)) << 50
    core[1] = TOTAL - core[0] - core[2] - 2 * (size - 2) * floor - 2 * end
    query = ib.count(size)
    law = Noise(np.array(core), floor, end, size)
    return tuple(Mechanism(query, Fraction(40), held, HAND) for held in (law, Matrix(law.matrix(query))))


@settings(max_examples=60, deadline=None)
@given(noise_mechanisms(), st.sampled_from(["absolute", "squared", "zero-one", ib.threshold_loss(2)]))
def test_a_noise_table_loses_what_its_matrix_loses(pair, loss):
    table, matrix = pair
    assert table.loss_per_answer(loss) == pytest.approx(matrix.loss_per_answer(loss), rel=1e-12)
    assert table.worst_loss(loss) == pytest.approx(matrix.worst_loss(loss), rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(noise_mechanisms())
def test_a_noise_table_means_what_its_matrix_means(pair):
    table, matrix = pair
    assert table.weights.tolist() == matrix.weights.tolist()
    assert table.bias() == pytest.approx(matrix.bias())
    assert table.bayes_loss() == pytest.approx(matrix.bayes_loss())
    assert table.exact_loss() == matrix.exact_loss()


@pytest.mark.parametrize("remap", [None, np.array([0, 0, 2, 3, 3, 5, 6, 6])])
@pytest.mark.parametrize("query", [ib.count(7), ib.total(7, 0, 1), ib.mean(7, 0, 1)])
def test_both_laws_say_the_same_of_the_same_probabilities(query, remap):
    """A noise table and the matrix it stands for answer to the same names, with the same numbers."""
    noise = make_geometric_noise(query, Fraction(1, 2), remap)
    matrix = Matrix(noise.matrix(query))
    for measure in ("truth_probability", "ends", "bias", "variance", "probabilities"):
        assert np.allclose(getattr(noise, measure)(query), getattr(matrix, measure)(query), rtol=1e-12, atol=1e-12)
    for loss in ("absolute", "squared", "zero-one", "off-by-more-than-2"):
        assert np.allclose(noise.losses(query, to_loss(loss)), matrix.losses(query, to_loss(loss)), atol=1e-12)
    for output in range(len(query.outputs)):
        assert np.allclose(noise.likelihood(query, output), matrix.likelihood(query, output), atol=1e-15)
    if remap is None:  # renaming outputs lowers ratios; a noise table bounds them before it
        for k in range(9):
            assert noise.ratio_within(query, k) == pytest.approx(matrix.ratio_within(query, k), rel=1e-15)
        assert noise.neighbour_ratios(query) == [noise.ratio_within(query, 1)] * 7
        assert max(matrix.neighbour_ratios(query)) == pytest.approx(max(noise.neighbour_ratios(query)), rel=1e-15)
    assert matrix.noise_table is None
    assert noise.noise_table is noise

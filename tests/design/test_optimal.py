"""optimal() as a user calls it: certified, as good as independent solvers, with a bound that is true."""

import contextlib
import io
import itertools
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import z3

import inbounds as ib
from design.definition import GIVEN, LOSSES, ExactRatio, Program, random_request
from inbounds.mechanism import Mechanism, Optimality
from inbounds.properties import NAMES
from raising import rejects

VARIANT_2 = ("row_monotone", "column_monotone", "symmetric", "fair")


@pytest.mark.long
@pytest.mark.parametrize("block", [*range(5), *(pytest.param(k, marks=pytest.mark.slow) for k in range(5, 12))])
def test_optimal_equals_two_independent_solvers_on_random_requests(block, judge):
    """180 requests: all neighbourhoods, losses, priors, property sets, cells and both aims."""
    rng = np.random.default_rng(block)
    for _ in range(15):
        query, epsilon, loss, prior, names, worst = random_request(rng)
        found = ib.optimal(query, epsilon, GIVEN[loss], prior, names, "worst" if worst else "average")
        program = Program(query, epsilon, LOSSES[loss], prior, names, worst)
        best, other = program.highs(), program.clarabel()
        scale = max(best, 1e-3)
        request = (query, epsilon, loss, names, worst)
        assert other == pytest.approx(best, abs=1e-6 * max(best, 0.1)), request
        assert found.optimality.value == pytest.approx(best, abs=1e-7 * scale), request
        assert found.optimality.bound <= best + 1e-8 * scale, request
        assert found.optimality.gap <= 1e-7 * scale, request
        assert judge.certifies(found), request
        held = found.properties()
        assert all(held[name] for name in names), (request, held)


def exact_optimum(program, ratio):
    """The least loss in rational arithmetic, as a fraction."""
    solver = z3.Optimize()
    P = [z3.Real(f"p{k}") for k in range(program.size)]
    solver.add([p >= 0 for p in P])
    value = lambda v: z3.RealVal(str(Fraction(v)))  # noqa: E731
    for rows, is_equal in ((program.less, False), (program.equal, True)):
        for row, right in rows:
            total = z3.Sum([value(c) * P[k] for k, c in row.items()])
            solver.add(total == value(right) if is_equal else total <= value(right))
    objective = solver.minimize(z3.Sum([value(c) * p for c, p in zip(program.cost(), P, strict=True) if c]))
    assert solver.check() == z3.sat
    return Fraction(str(solver.lower(objective)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "names", "worst"),
    [
        (ib.count(3), (), False),
        (ib.count(3), VARIANT_2, False),
        (ib.count(4), ("weakly_honest", "column_monotone"), False),
        (ib.extreme(0, 2), ("fair",), False),
        (ib.extreme(0, 2), (), True),
        (ib.total(2, 0, 2), (), False),
    ],
)
def test_bound_and_value_enclose_the_exact_rational_optimum(query, names, worst, judge):
    """With e^epsilon replaced by a fraction below (above), the exact optimum is above (below) the true one."""
    epsilon = Fraction(1, 2)
    found = ib.optimal(query, epsilon, "absolute", properties=names, aim="worst" if worst else "average")
    low, high = (Fraction(x).limit_denominator(10**12) for x in judge.exp(epsilon))
    low, high = low - Fraction(1, 10**12), high + Fraction(1, 10**12)
    tight = exact_optimum(Program(query, ExactRatio(low), LOSSES["absolute"], None, names, worst), low)
    loose = exact_optimum(Program(query, ExactRatio(high), LOSSES["absolute"], None, names, worst), high)
    assert loose <= tight
    assert found.optimality.bound <= float(tight) + 1e-12
    assert found.optimality.value >= float(loose) - 1e-12
    assert float(tight - loose) < 1e-9


REFERENCE = {  # average absolute, squared, zero-one loss under the uniform prior, epsilon 0.5
    ("count", "variant 1"): (0.940780308, 1.528777291, 0.604065070),
    ("count", "variant 2"): (1.016907118, 1.960174205, 0.660881325),
    ("count", "worst"): (1.008977142, 2.348642862, 0.660881325),
    ("extreme", "variant 1"): (1.167392133, 2.0, 0.708124867),
    ("extreme", "variant 2"): (1.373370414, 3.178143888, 0.708124867),
    ("extreme", "worst"): (1.579319550, 4.0, 0.708124867),
}


@pytest.mark.parametrize(("kind", "variant"), REFERENCE)
def test_reference_values_for_five_answers(kind, variant):
    query = ib.count(4) if kind == "count" else ib.extreme(0, 4)
    names = VARIANT_2 if variant == "variant 2" else ()
    aim = "worst" if variant == "worst" else "average"
    for loss, value in zip(("absolute", "squared", "zero-one"), REFERENCE[kind, variant], strict=True):
        assert ib.optimal(query, 0.5, loss, properties=names, aim=aim).optimality.value == pytest.approx(
            value, abs=1e-9
        )


def test_tables_2_to_4_of_the_range_constraints_paper():
    """Total L1 losses over all answers; Table 2's optimum is not unique, so losses and properties are compared."""
    assert 6 * ib.catalog.variant_1(ib.count(5), 0.5).loss() == pytest.approx(6.363223, abs=1e-6)
    assert 6 * ib.catalog.variant_2(ib.count(5), 0.5).loss() == pytest.approx(6.828620, abs=1e-6)
    likert = ib.catalog.variant_2(ib.extreme(1, 5), 1)
    assert 5 * likert.loss() == pytest.approx(5.759621, abs=1e-6)
    assert likert.matrix.max() == pytest.approx(0.322, abs=5e-4)
    assert all(likert.properties()[name] for name in VARIANT_2)


QUICK = [(ib.count(3), "zero-one"), (ib.extreme(0, 3), "absolute")]
MORE = [*itertools.product((ib.count(3), ib.extreme(0, 3), ib.mean(2, 0, 2)), ("absolute", "squared", "zero-one"))]


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "loss"), [*QUICK, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE if each not in QUICK)]
)
def test_every_property_set_is_met_on_the_integers_and_asking_more_never_costs_less(query, loss):
    values = {}
    for asked in itertools.chain.from_iterable(itertools.combinations(NAMES, k) for k in range(8)):
        found = ib.optimal(query, "0.7", loss, properties=asked)
        assert all(found.properties()[name] for name in asked), asked
        values[frozenset(asked)] = found.optimality.value
    assert len(values) == 128
    for asked, value in values.items():
        for name in asked:
            assert values[asked - {name}] <= value + 1e-9


@pytest.mark.long
def test_the_same_request_gives_the_same_integers_in_another_process():
    code = (
        "import inbounds as ib\n"
        "for m in (ib.optimal(ib.mean(3, 0, 3), 0.4),"
        " ib.optimal(ib.extreme(0, 6), 1, 'squared', properties=['fair']),"
        " ib.optimal(ib.count(9), 0.4, aim='worst'), ib.catalog.weakly_honest(ib.count(6), 0.3)):\n"
        "    print(m.weights.tolist())\n"
    )
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(code, {})
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert there == here.getvalue()
    assert len(there.splitlines()) == 4


@pytest.mark.parametrize("names", [(), ("fair",), ("weakly_honest", "column_honest"), ("row_monotone",)])
@pytest.mark.parametrize("query", [ib.count(6), ib.extreme(0, 5), ib.mean(3, 0, 2)], ids=["count", "extreme", "mean"])
@pytest.mark.parametrize("aim", ["average", "worst"])
def test_symmetric_requests_get_exactly_symmetric_mechanisms(query, names, aim):
    weights = ib.optimal(query, 0.6, properties=names, aim=aim).weights
    assert np.array_equal(weights, weights[::-1, ::-1])


def test_rounding_to_integers_gives_up_less_than_a_billionth():
    for query in (ib.count(100), ib.mean(20, 0, 4), ib.extreme(1, 40)):
        found = ib.optimal(query, 0.5)
        assert found.optimality.gap <= 1e-9 * found.optimality.value
        assert found.tight_epsilon() <= 0.5


def test_a_large_count_is_designed_without_a_matrix():
    """Far from the ends the best remap under a uniform prior is the identity, so the loss is the closed form."""
    found = ib.optimal(ib.count(100_000), 0.5)
    a = float(np.exp(-0.5))
    assert found.optimality.value == pytest.approx(2 * a / (1 - a * a), rel=1e-4)
    assert found.optimality.gap <= 1e-7 * found.optimality.value
    reports = found.simulate(np.array([0, 50_000, 100_000]), np.random.default_rng(1))
    assert ((reports >= 0) & (reports <= 100_000)).all()


def test_a_large_count_agrees_with_the_matrix_design_at_a_size_that_has_both():
    from inbounds.design.goal import DesignGoal
    from inbounds.design.large import design_noise
    from inbounds.losses import absolute

    query, goal = ib.count(60), DesignGoal(absolute, None, frozenset(), "average", ())
    table, matrix = design_noise(query, Fraction(1, 2), goal), ib.optimal(query, 0.5)
    assert np.abs(table.matrix - matrix.matrix).max() < 1e-12
    assert table.loss() == pytest.approx(matrix.loss(), rel=1e-12)
    assert table.optimality.bound <= matrix.optimality.value
    assert table.optimality.gap < 1e-9


def test_time_limits_return_a_certified_mechanism_with_an_honest_gap(judge):
    found = ib.optimal(ib.extreme(0, 30), 0.5, properties=("column_monotone", "weakly_honest"), max_seconds=1e-3)
    best = ib.optimal(ib.extreme(0, 30), 0.5, properties=("column_monotone", "weakly_honest"))
    assert judge.certifies(found)
    assert found.optimality.bound <= best.optimality.value <= found.optimality.value + 1e-9
    assert all(found.properties()[name] for name in ("column_monotone", "weakly_honest"))


def test_bad_requests_are_refused_in_one_sentence(golden):
    def design(arguments):
        ib.optimal(**{"query": ib.count(4), "epsilon": 1, **arguments})

    golden.errors(
        "wrong_designs",
        [
            lambda: design({"loss": "cubed"}),
            lambda: design({"loss": np.zeros((3, 3))}),
            lambda: design({"loss": np.full((5, 5), np.nan)}),
            lambda: design({"loss": lambda v, a: float("inf")}),
            lambda: design({"prior": [1, 2]}),
            lambda: design({"prior": [-1, 1, 1, 1, 1]}),
            lambda: design({"prior": [0, 0, 0, 0, 0]}),
            lambda: design({"prior": [np.nan, 1, 1, 1, 1]}),
            lambda: design({"properties": ["nice"]}),
            lambda: design({"properties": ["column_ratio(0.5)"]}),
            lambda: design({"aim": "median"}),
            lambda: design({"max_seconds": 0}),
            lambda: design({"epsilon": 0}),
        ],
    )


def test_properties_that_need_an_order_are_refused_for_labels():
    with rejects(ValueError, "property", about="order"):
        ib.optimal(ib.category(["a", "b", "c"]), 1, "zero-one", properties=["row_monotone"])


def test_symmetry_is_refused_where_the_cells_have_no_mirror():
    lopsided = ib.count(4, outputs=[("-0.5", "0.5"), ("0.5", "4.5")])
    with rejects(ValueError, "symmetric", about="mirror"):
        ib.optimal(lopsided, 1, properties=["symmetric"])


def test_designs_too_large_for_their_route_are_refused_with_a_way_out():
    with rejects(ib.TooLarge, about="coarser"):
        ib.optimal(ib.count(100_000), 1, properties=["fair"])


def test_labels_get_randomized_response():
    found = ib.optimal(ib.category(["a", "b", "c"]), 1, "zero-one")
    assert np.abs(found.matrix - ib.catalog.randomized_response(found.query, 1).matrix).max() < 1e-12


def test_column_ratio_keeps_neighbouring_outputs_within_the_ratio():
    found = ib.optimal(ib.count(6), 0.5, properties=["column_ratio(1.5)"])
    ratio = found.matrix[:-1] / found.matrix[1:]
    assert max(ratio.max(), (1 / ratio).max()) <= 1.5 + 1e-9
    assert found.optimality.value > ib.optimal(ib.count(6), 0.5).optimality.value


def test_what_the_free_optimum_has_costs_nothing():
    query = ib.category([f"label {i}" for i in range(60)])
    free, honest = (
        ib.optimal(query, 1, "zero-one", properties=names) for names in ((), ("row_honest", "column_honest"))
    )
    assert honest.loss("zero-one") == pytest.approx(free.loss("zero-one"), rel=1e-11)
    assert honest.properties()["row_honest"]
    assert honest.properties()["column_honest"]
    monotone, count = ib.optimal(ib.count(120), 1, properties=["row_monotone"]), ib.optimal(ib.count(120), 1)
    assert monotone.loss() == pytest.approx(count.loss(), rel=1e-12)
    assert monotone.properties()["row_monotone"]


@pytest.mark.parametrize("names", [("row_monotone",), ("fair", "row_monotone"), ("column_monotone", "weakly_honest")])
def test_rounding_with_properties_costs_next_to_nothing(names):
    for query in (ib.count(60), ib.mean(10, 0, 3), ib.extreme(0, 20)):
        found = ib.optimal(query, "0.3", properties=names)
        assert found.optimality.gap <= 1e-8 * found.optimality.value
        assert all(found.properties()[name] for name in names)


def test_a_large_program_is_solved_by_an_interior_point_and_proved():
    found = ib.optimal(ib.mean(23, 0, 4), "0.5", properties=["row_monotone"])
    assert found.origin.parameters["route"] == "full linear program, interior point"
    assert found.optimality.gap <= 1e-8 * found.optimality.value
    assert found.properties()["row_monotone"]


def test_a_gap_is_told_in_words_and_no_gap_is_not():
    done = ib.optimal(ib.count(12), "0.3")
    early = Optimality(done.optimality.objective, done.optimality.value, 0.9 * done.optimality.bound)
    stopped = Mechanism(done.query, done.epsilon, done.law, done.origin, early)
    share = 100 * stopped.optimality.gap / stopped.optimality.value
    assert stopped.optimality.remaining == f"up to {share:.2g} % may remain"
    assert stopped.optimality.remaining in str(stopped.optimality)
    assert any(stopped.optimality.remaining in claim for claim in stopped.unchecked_claims)
    assert stopped.optimality.remaining in stopped._repr_html_() or "optimality" not in stopped._repr_html_()
    assert done.optimality.remaining == ""


def test_a_design_has_the_same_bits_on_one_thread_and_on_two():
    from threadpoolctl import threadpool_limits

    def bits():
        loss = np.random.default_rng(5).random((40, 40))
        everyone = ib.optimal(ib.category([f"label {i}" for i in range(40)]), 1, loss)
        return everyone.sha256, ib.optimal(ib.mean(15, 0, 4), "0.5").sha256

    with threadpool_limits(1):
        alone = bits()
    with threadpool_limits(2):
        assert bits() == alone

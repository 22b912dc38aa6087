"""optimal() as a user calls it: certified, as good as independent solvers, with a bound that is true."""

import itertools
import subprocess
import sys
from fractions import Fraction

import clarabel
import numpy as np
import pytest
import z3
from scipy.optimize import linprog
from scipy.sparse import csc_array, eye_array, vstack

import inbounds as ib
from inbounds.mechanism import Mechanism, Optimality
from inbounds.properties import NAMES

VARIANT_2 = ("row_monotone", "column_monotone", "symmetric", "fair")


class Program:
    """The design problem from the definitions: values of answers, edges of cells, nothing of the designer's."""

    def __init__(self, query, epsilon, loss, prior=None, properties=(), worst=False):
        self.m, self.n = query.shape
        self.answers, self.cells = list(query.answers), list(query.outputs)
        self.home = [next(i for i in range(self.m) if self.holds(i, a)) for a in self.answers]
        self.loss = np.array([[loss(v, a) for a in self.answers] for _, _, v in self.cells], dtype=float)
        self.prior = np.full(self.n, 1 / self.n) if prior is None else np.asarray(prior) / np.sum(prior)
        self.worst, self.size = worst, self.m * self.n + worst
        self.less, self.equal = [], []  # rows {variable: coefficient} with right-hand sides: sum <= b, sum = b
        self._private(query, epsilon)
        for name in properties:
            getattr(self, "_" + name)()
        for j in range(self.n):
            self.equal.append(({self.at(i, j): 1.0 for i in range(self.m)}, 1.0))
            if worst:
                costs = {self.at(i, j): self.loss[i, j] for i in range(self.m)}
                self.less.append(({**costs, self.m * self.n: -1.0}, 0.0))

    def holds(self, i, answer):
        low, high, _ = self.cells[i]
        last = i + 1 == self.m or self.cells[i + 1][0] > high
        return low <= answer < high or (last and answer == high)

    def at(self, i, j):
        return i * self.n + j

    def _private(self, query, epsilon):
        rule, unit = type(query.neighbours).__name__, query.answers.unit
        for j, k in itertools.permutations(range(self.n), 2):
            apart = abs(self.answers[j] - self.answers[k])
            if rule == "Reach" and apart > query.neighbours.steps * unit:
                continue
            distance = apart / query.neighbours.unit if rule == "Metric" else 1
            self.ratio = np.exp(float(epsilon * distance)) if not isinstance(epsilon, _Exact) else epsilon.ratio
            for i in range(self.m):
                self.less.append(({self.at(i, j): 1.0, self.at(i, k): -self.ratio}, 0.0))

    def more(self, greater, lesser):
        if greater != lesser:
            self.less.append(({lesser: 1.0, greater: -1.0}, 0.0))

    def _row_honest(self):
        for j, k in itertools.product(range(self.n), repeat=2):
            self.more(self.at(self.home[j], j), self.at(self.home[j], k))

    def _column_honest(self):
        for i, j in itertools.product(range(self.m), range(self.n)):
            self.more(self.at(self.home[j], j), self.at(i, j))

    def _row_monotone(self):
        for i, (low, high, _) in enumerate(self.cells):
            for j in range(self.n - 1):
                if self.answers[j + 1] <= high:
                    self.more(self.at(i, j + 1), self.at(i, j))
                if self.answers[j] >= low:
                    self.more(self.at(i, j), self.at(i, j + 1))

    def _column_monotone(self):
        for i, j in itertools.product(range(self.m - 1), range(self.n)):
            near, far = (i + 1, i) if i < self.home[j] else (i, i + 1)
            self.more(self.at(near, j), self.at(far, j))

    def _fair(self):
        for j in range(1, self.n):
            self.equal.append(({self.at(self.home[j], j): 1.0, self.at(self.home[0], 0): -1.0}, 0.0))

    def _weakly_honest(self):
        for j in range(self.n):
            self.less.append(({self.at(self.home[j], j): -1.0}, -1 / self.m))

    def _symmetric(self):
        for i, j in itertools.product(range(self.m), range(self.n)):
            here, there = self.at(i, j), self.at(self.m - 1 - i, self.n - 1 - j)
            if here < there:
                self.equal.append(({here: 1.0, there: -1.0}, 0.0))

    def cost(self):
        return np.eye(1, self.size, self.size - 1)[0] if self.worst else (self.loss * self.prior).ravel()

    def _sparse(self, rows):
        entries = [(r, c, v) for r, (row, _) in enumerate(rows) for c, v in row.items()]
        r, c, v = (np.array(part) for part in zip(*entries, strict=True))
        return csc_array((v.astype(float), (r, c)), shape=(len(rows), self.size)), np.array([b for _, b in rows])

    def highs(self):
        (A, b), (C, d) = self._sparse(self.less), self._sparse(self.equal)
        return linprog(self.cost(), A_ub=A, b_ub=b, A_eq=C, b_eq=d, method="highs").fun

    def clarabel(self):
        (A, b), (C, d) = self._sparse(self.less), self._sparse(self.equal)
        rows = vstack([C, A, -eye_array(self.size)]).tocsc()
        right = np.concatenate([d, b, np.zeros(self.size)])
        cones = [clarabel.ZeroConeT(len(d)), clarabel.NonnegativeConeT(len(b) + self.size)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        quadratic = csc_array((self.size, self.size))
        return clarabel.DefaultSolver(quadratic, self.cost(), rows, right, cones, settings).solve().obj_val


class _Exact:
    """Stands for epsilon where the ratio itself is given as a fraction."""

    def __init__(self, ratio):
        self.ratio = ratio

    def __mul__(self, distance):
        return self


LOSSES = {
    "absolute": lambda v, a: abs(v - a),
    "squared": lambda v, a: (v - a) ** 2,
    "far": lambda v, a: abs(v - a) > 1,
    "power": lambda v, a: abs(float(v - a)) ** 1.5,
    "lopsided": lambda v, a: 3 * max(v - a, 0) + max(a - v, 0),
}
GIVEN = {
    "absolute": "absolute",
    "squared": "squared",
    "far": ib.threshold_loss(1),
    "power": ib.power_loss("1.5"),
    "lopsided": lambda v, a: 3 * max(v - a, 0) + max(a - v, 0),
}


def random_request(rng):
    n = int(rng.integers(2, 8))
    query = [
        lambda: ib.count(n),
        lambda: ib.total(3, 0, int(rng.integers(2, 4))),
        lambda: ib.mean(2, 1, 4),
        lambda: ib.extreme(1, n),
        lambda: ib.ordinal(0, n, unit=2),
        lambda: ib.interval(0, 6, "1.5", 6, holes=[(2, 3)]),
        lambda: ib.count(n, outputs=max(1, n // 2)),
        lambda: ib.count(n, outputs=ib.cells(-2, n + 2, n + 4)),
    ][rng.integers(8)]()
    prior = (
        None
        if rng.random() < 0.5
        else np.where(rng.random(len(query.answers)) < 0.2, 0, rng.random(len(query.answers)))
    )
    prior = None if prior is not None and not prior.sum() else prior
    names = [name for name in NAMES if rng.random() < 0.25 and (name != "symmetric" or query.is_symmetric)]
    epsilon = Fraction(str(rng.choice(["0.05", "0.3", "1", "2.5"])))
    return query, epsilon, str(rng.choice(list(LOSSES))), prior, tuple(names), rng.random() < 0.35


@pytest.mark.parametrize("block", range(12))
def test_optimal_equals_two_independent_solvers_on_random_requests(block, judge):
    """300 requests: all neighbourhoods, losses, priors, property sets, cells and both aims."""
    rng = np.random.default_rng(block)
    for _ in range(25):
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
    tight = exact_optimum(Program(query, _Exact(low), LOSSES["absolute"], None, names, worst), low)
    loose = exact_optimum(Program(query, _Exact(high), LOSSES["absolute"], None, names, worst), high)
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


@pytest.mark.parametrize("loss", ["absolute", pytest.param("squared", marks=pytest.mark.slow), "zero-one"])
@pytest.mark.parametrize("query", [ib.count(3), ib.extreme(0, 3), ib.mean(2, 0, 2)], ids=["count", "extreme", "mean"])
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


def test_the_same_request_gives_the_same_integers_in_another_process():
    code = (
        "import inbounds as ib, hashlib\n"
        "for m in (ib.optimal(ib.mean(3, 0, 3), 0.4),"
        " ib.optimal(ib.extreme(0, 6), 1, 'squared', properties=['fair']),"
        " ib.optimal(ib.count(9), 0.4, aim='worst'), ib.catalog.weakly_honest(ib.count(6), 0.3)):\n"
        "    print(hashlib.sha256(m.weights.tobytes()).hexdigest())\n"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1
    assert len(runs.pop().split()) == 4


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
    from inbounds.design.designer import design_noise
    from inbounds.losses import absolute

    query = ib.count(60)
    table, matrix = (
        design_noise(query, Fraction(1, 2), absolute),
        ib.optimal(query, 0.5),
    )
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


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"loss": "cubed"}, "loss must be one of"),
        ({"loss": np.zeros((3, 3))}, "shape"),
        ({"loss": np.full((5, 5), np.nan)}, "finite"),
        ({"loss": lambda v, a: float("inf")}, "finite"),
        ({"prior": [1, 2]}, "one weight for each"),
        ({"prior": [-1, 1, 1, 1, 1]}, "non-negative"),
        ({"prior": [0, 0, 0, 0, 0]}, "not all zero"),
        ({"prior": [np.nan, 1, 1, 1, 1]}, "finite"),
        ({"properties": ["nice"]}, "property must be one of"),
        ({"properties": ["column_ratio(0.5)"]}, "ratio must be at least 1"),
        ({"aim": "median"}, "aim must be"),
        ({"max_seconds": 0}, "max_seconds must be positive"),
        ({"epsilon": 0}, "epsilon must be positive"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        ib.optimal(**{"query": ib.count(4), "epsilon": 1, **arguments})


def test_properties_that_need_an_order_are_refused_for_labels():
    with pytest.raises(ValueError, match="no order"):
        ib.optimal(ib.category(["a", "b", "c"]), 1, "zero-one", properties=["row_monotone"])


def test_symmetry_is_refused_where_the_cells_have_no_mirror():
    lopsided = ib.count(4, outputs=[("-0.5", "0.5"), ("0.5", "4.5")])
    with pytest.raises(ValueError, match="mirror"):
        ib.optimal(lopsided, 1, properties=["symmetric"])


def test_designs_too_large_for_their_route_are_refused_with_a_way_out():
    with pytest.raises(ib.TooLarge, match="coarser"):
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

"""Reconstruction: the maximum against an independent solver, identities of 001, shapes, bad input."""

import math
from fractions import Fraction
from itertools import islice

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import inbounds as ib
from inbounds.local.collector import Collector
from inbounds.local.distance import kantorovich
from inbounds.local.reconstruct import reconstruct
from inbounds.local.reconstruct.channel import DenseChannel, GeometricChannel, MergedChannel, ResponseChannel
from inbounds.local.reconstruct.ibu import Update, iterate, run_updates, squarem
from inbounds.local.reconstruct.likelihood_interior import LikelihoodObjective, SimplexPoint, SimplexProgram, minimize
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.structure import channel_for_law, detect_structure
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Noise
from raising import rejects

LN2 = ib.epsilon_from_alpha("1/2")


def geometric(size: int, epsilon=Fraction(1, 5)) -> ib.Mechanism:
    return ib.catalog.truncated_geometric(ib.ordinal(0, size), epsilon)


def random_channel(rng: np.random.Generator, outputs: int, answers: int) -> np.ndarray:
    matrix = rng.random((outputs, answers)) ** rng.integers(1, 6) + 1e-3
    return matrix / matrix.sum(axis=0)


def likelihood(matrix: np.ndarray, q: np.ndarray, p: np.ndarray) -> float:
    return float(sum(w * math.log(row @ p) for w, row in zip(q, matrix, strict=True) if w > 0))


def by_clarabel(matrix: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The maximum of sum q_i t_i over (t_i, 1, (P p)_i) in the exponential cone, p on the simplex."""
    seen = np.flatnonzero(q > 0)
    m, n = len(seen), matrix.shape[1]
    rows, limits = (
        [np.hstack([np.ones((1, n)), np.zeros((1, m))]), np.hstack([-np.eye(n), np.zeros((n, m))])],
        [1.0],
    )
    limits += [0.0] * n
    for k, i in enumerate(seen):
        block = np.zeros((3, n + m))
        block[0, n + k] = -1
        block[2, :n] = -matrix[i]
        rows.append(block)
        limits += [0.0, 1.0, 0.0]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n), *[clarabel.ExponentialConeT()] * m]
    options = clarabel.DefaultSettings()
    options.verbose, options.tol_gap_abs, options.tol_gap_rel, options.tol_feas = False, 1e-11, 1e-11, 1e-11
    cost = np.concatenate([np.zeros(n), -q[seen]])
    size = n + m
    problem = sparse.csc_matrix((size, size)), cost, sparse.csc_matrix(np.vstack(rows)), np.array(limits)
    return np.array(clarabel.DefaultSolver(*problem, cones, options).solve().x[:n])


# --- the maximum ------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_reconstruction_is_the_maximum_that_a_convex_solver_finds_on_random_channels(seed):
    """Rectangular and asymmetric channels included; counts with zeros included."""
    rng = np.random.default_rng(seed)
    matrix = random_channel(rng, *rng.integers(2, 9, size=2))
    counts = rng.multinomial(rng.integers(1, 500), rng.dirichlet(np.full(len(matrix), 0.5)))
    result = reconstruct(counts, matrix)
    q = counts / counts.sum()
    independent = np.maximum(by_clarabel(matrix, q), 0)
    independent /= independent.sum()
    reached = likelihood(matrix, q, result.distribution)
    assert reached >= likelihood(matrix, q, independent) - 1e-9
    assert result.residual <= 1e-9
    assert math.isclose(result.distribution.sum(), 1, abs_tol=1e-12)
    assert (result.distribution >= 0).all()
    assert math.isclose(result.log_likelihood, reached, rel_tol=1e-12, abs_tol=1e-12)


def test_the_solver_this_is_compared_with_would_notice_another_distribution():
    rng = np.random.default_rng(5)
    matrix = random_channel(rng, 5, 5)
    counts = rng.multinomial(300, rng.dirichlet(np.ones(5)))
    q = counts / counts.sum()
    best = by_clarabel(matrix, q)
    transposed = reconstruct(counts, (matrix.T / matrix.T.sum(axis=0))).distribution
    assert likelihood(matrix, q, transposed) < likelihood(matrix, q, np.maximum(best, 1e-15)) - 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_plain_extrapolated_and_newton_steps_agree_on_an_asymmetric_channel(seed):
    rng = np.random.default_rng(seed)
    matrix = random_channel(rng, 6, 4)
    counts = rng.multinomial(1000, matrix @ rng.dirichlet(np.ones(4)))
    newton = reconstruct(counts, matrix, acceleration="newton")
    squarem = reconstruct(counts, matrix, acceleration="squarem", tolerance=1e-8)
    plain = reconstruct(counts, matrix, acceleration="none", tolerance=1e-5, start=rng.dirichlet(np.ones(4)) + 0.01)
    assert abs(newton.log_likelihood - squarem.log_likelihood) <= 1e-8
    assert abs(newton.log_likelihood - plain.log_likelihood) <= 1e-5
    assert np.abs(newton.distribution - squarem.distribution).max() < 1e-3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "squarem"]))
def test_the_likelihood_never_falls_along_kept_points_and_never_exceeds_the_certified_gap(seed, acceleration):
    rng = np.random.default_rng(seed)
    matrix = random_channel(rng, 5, 6)
    counts = rng.multinomial(200, np.full(5, 0.2))
    best = reconstruct(counts, matrix)
    early = reconstruct(
        counts, matrix, acceleration=acceleration, iterations=12, start=rng.dirichlet(np.ones(6)) + 1e-3
    )
    if acceleration == "none":
        assert (np.diff(early.path) >= -1e-13).all()
    assert early.log_likelihood >= early.path[0] - 1e-13
    missing = best.log_likelihood - early.log_likelihood
    assert -1e-9 <= missing <= early.residual + 1e-12
    assert early.gap == 200 * early.residual


@pytest.mark.parametrize("acceleration", ["none", "squarem"])
def test_what_is_called_converged_has_the_residual_it_was_asked_for(acceleration):
    """The certificate is computed anew: a bound on the gain in any direction, not on an average one."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        matrix = random_channel(rng, 7, 4)
        counts = rng.multinomial(500, matrix @ rng.dirichlet(np.ones(4)))
        found = reconstruct(counts, matrix, acceleration=acceleration, tolerance=1e-4)
        assert found.converged
        assert found.residual <= 1e-4 * (1 + 1e-9)
        corners = np.eye(4) * 0.01 + found.distribution * 0.99
        gains = [found.problem.log_likelihood(p) - found.log_likelihood for p in corners]
        assert max(gains) <= 0.01 * 1e-4


def test_extrapolation_keeps_no_point_that_is_less_likely_than_the_plain_update_before_it():
    """squarem yields a kept point and the plain update from it in turn; some extrapolations overshoot here."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        answers = int(rng.integers(3, 9))
        matrix = rng.dirichlet(np.full(6, 0.3), answers).T
        channel, q = detect_structure(matrix), rng.multinomial(50, matrix @ rng.dirichlet(np.ones(answers))) / 50
        start = rng.dirichlet(np.ones(answers)) + 1e-3
        path = [update.log_likelihood for update in islice(squarem(channel, q, start / start.sum()), 121)]
        assert (np.diff(path) >= -1e-12).all()


def test_the_best_update_seen_is_returned_and_not_the_last():
    """Updates by hand, the third less likely than the second; a certificate counts more than a likelihood."""

    def update(likelihood, residual):
        return Update(np.array([0.5, 0.5]) + residual / 8, np.array([1 + residual, 0.5]), likelihood)

    path = [update(-3.0, 0.4), update(-1.0, 0.2), update(-2.0, 0.3)]
    found = run_updates(iter(path), 1e-3, 2, lambda *_: None)
    assert found.residual == path[1].residual
    assert found.path == (-3.0, -1.0, -2.0)
    sure = [*path[:2], update(-1.0 - 1e-16, 1e-4)]
    assert run_updates(iter(sure), 1e-3, 2, lambda *_: None).residual == sure[2].residual


def test_newton_steps_return_the_best_point_seen_and_not_the_last(monkeypatch):
    """A step that makes the residual worse is taken, and not believed."""
    matrix = random_channel(np.random.default_rng(1), 5, 4)
    channel, objective, move = detect_structure(matrix), LikelihoodObjective(np.full(5, 0.2)), SimplexPoint.move
    worse = SimplexProgram(channel, objective, np.array([0.97, 0.01, 0.01, 0.01])).start()
    residuals = []

    def stray(point, *words):
        step = move(point, *words)
        residuals.append(step.to_solution().residual)
        return worse if len(residuals) > 3 else step

    monkeypatch.setattr(SimplexPoint, "move", stray)
    found = minimize(channel, objective, np.full(4, 0.25), 1e-14, lambda *_: None)
    assert len(residuals) > 3
    assert found.residual == min(residuals[:3])


def test_a_newton_step_lands_on_the_simplex_even_from_beside_it():
    """What rounding takes from the sum is given back at every step, however short the step is."""
    matrix = random_channel(np.random.default_rng(1), 5, 4)
    channel, objective = detect_structure(matrix), LikelihoodObjective(np.array([0.6, 0.1, 0.1, 0.1, 0.1]))
    program = SimplexProgram(channel, objective, np.array([0.97, 0.01, 0.01, 0.01]))
    on = program.start()
    for scale in (1.0, 1.01, 0.99):
        beside = SimplexPoint(program, on.p * scale, on.s, on.multiplier)
        direction = program.factor(beside)([0.0])
        assert math.fsum(beside.p + direction.p) == pytest.approx(1, abs=1e-12)
        assert abs(math.fsum(beside.move(direction, 0.5, 0.5).p) - 1) <= 2.0**-52


def test_squarem_needs_far_fewer_steps_than_plain_updates_to_the_same_residual():
    mechanism = ib.catalog.randomized_response(ib.ordinal(0, 50), 1)
    counts = np.random.default_rng(3).multinomial(10_000, mechanism.matrix @ np.full(51, 1 / 51))
    plain = reconstruct(counts, mechanism, acceleration="none", tolerance=1e-5)
    fast = reconstruct(counts, mechanism, acceleration="squarem", tolerance=1e-5)
    newton = reconstruct(counts, mechanism, tolerance=1e-5)
    assert 20 * fast.iterations < plain.iterations
    assert 20 * newton.iterations < plain.iterations


# --- identities of 001 ------------------------------------------------------------------------------------


def test_the_truncated_channel_gives_the_iterates_of_the_untruncated_kernel():
    """001 Definition 1: p_i <- sum_j q_j p_i a^|i-j| / sum_h p_h a^|h-j|."""
    epsilon, size = Fraction(1, 5), 12
    rng = np.random.default_rng(7)
    q = rng.dirichlet(np.ones(size + 1))
    p = rng.dirichlet(np.ones(size + 1)) + 0.01
    p /= p.sum()
    kernel = [[math.exp(-float(epsilon)) ** abs(i - j) for j in range(size + 1)] for i in range(size + 1)]
    expected = p
    for steps, update in zip(range(30), iterate(channel_for_law(geometric(size, epsilon)), q, p), strict=False):
        assert np.allclose(update.p, expected, rtol=1e-12, atol=0), steps
        mix = [sum(expected[h] * kernel[h][j] for h in range(size + 1)) for j in range(size + 1)]
        expected = np.array(
            [sum(q[j] * expected[i] * kernel[i][j] / mix[j] for j in range(size + 1)) for i in range(size + 1)]
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["geometric", "response", "dense"]))
def test_where_the_inverse_is_a_distribution_it_is_the_maximum(seed, kind):
    """001 Proposition 3, for any invertible channel: q = P p with p inside the simplex gives p back."""
    rng = np.random.default_rng(seed)
    mechanism = {
        "geometric": lambda: geometric(9),
        "response": lambda: ib.catalog.randomized_response(ib.category(list("abcdefghij")), 1),
        "dense": lambda: random_channel(rng, 10, 10),
    }[kind]()
    matrix = mechanism.matrix if isinstance(mechanism, Mechanism) else mechanism
    p = rng.dirichlet(np.full(10, 2.0))
    q = matrix @ p
    inverse = reconstruct(q, mechanism, method="inverse")
    assert inverse.residual <= 1e-9
    assert np.allclose(inverse.distribution, p, atol=1e-7)
    assert np.allclose(inverse.raw, inverse.distribution, atol=1e-12)
    best = reconstruct(q, mechanism, tolerance=1e-12)
    assert abs(best.log_likelihood - inverse.log_likelihood) <= 1e-11


def test_001_the_geometric_is_several_times_closer_at_every_number_of_reports():
    """Domain 0..100, ratio 2 within radius 10 against ratio 2 everywhere; fixed seeds."""
    fine = ib.catalog.truncated_geometric(ib.ordinal(0, 100), LN2 / 10)
    flat = ib.catalog.randomized_response(ib.ordinal(0, 100), LN2)
    binomial = np.array([math.comb(100, k) for k in range(101)], dtype=float) / 2.0**100
    points = np.zeros(101)
    points[[12, 35, 60, 88]] = [0.1, 0.4, 0.3, 0.2]
    rng = np.random.default_rng(1)
    for truth in (binomial, points):
        for reports in (1000, 10_000, 100_000):
            errors = {fine: [], flat: []}
            for mechanism, found in errors.items():
                for _ in range(5):
                    counts = rng.multinomial(reports, mechanism.matrix @ truth / (mechanism.matrix @ truth).sum())
                    found.append(
                        kantorovich(reconstruct(counts, mechanism, given="counts", method="ibu").distribution, truth)
                    )
            assert 3 * np.mean(errors[fine]) < np.mean(errors[flat]), (reports, errors)


# --- shapes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "shape"),
    [
        (geometric(30), GeometricChannel),
        (geometric(30, 8), GeometricChannel),
        (ib.catalog.truncated_geometric(ib.count(17), 2), GeometricChannel),
        (ib.catalog.exponential(ib.interval(0, 12, 1, 12, holes=[(3, 7)]), 1), GeometricChannel),
        (ib.catalog.exponential(ib.ordinal(0, 12), 1), GeometricChannel),
        (ib.catalog.randomized_response(ib.ordinal(0, 30), 1), ResponseChannel),
        (ib.catalog.randomized_response(ib.category(list("abcd")), 1), ResponseChannel),
        (ib.catalog.uniform(ib.count(6), 1), ResponseChannel),
        (ib.catalog.explicit_fair(ib.count(9), 1), DenseChannel),
        (ib.catalog.folded_geometric(ib.count(9), 1), GeometricChannel),
        (ib.catalog.snapped_staircase(ib.count(9), 1), DenseChannel),
        (ib.catalog.truncated_geometric(ib.ordinal(0, 30, outputs=5), 1), DenseChannel),
    ],
)
def test_the_shape_of_a_matrix_is_read_off_its_integers(mechanism, shape):
    channel = channel_for_law(mechanism)
    assert type(channel) is shape
    assert type(channel_for_law(ib.certify(mechanism.matrix, mechanism.query, mechanism.epsilon))) is shape
    rng = np.random.default_rng(0)
    p, x = rng.random(channel.shape[1]), rng.normal(size=channel.shape[0])
    assert np.allclose(channel.forward(p), mechanism.matrix @ p, rtol=1e-11, atol=0)
    assert np.allclose(channel.backward(x), mechanism.matrix.T @ x, rtol=1e-9, atol=1e-13)
    assert (channel.slack.above <= 1e-12 * mechanism.matrix.max(axis=1)).all()


def test_one_entry_off_by_a_billionth_makes_a_matrix_dense():
    matrix = geometric(20).matrix.copy()
    matrix[3, 9] += 1e-9
    matrix[4, 9] -= 1e-9
    assert type(detect_structure(matrix)) is DenseChannel
    flat = ib.catalog.randomized_response(ib.ordinal(0, 20), 1).matrix.copy()
    flat[3, 9] += 1e-9
    assert type(detect_structure(flat)) is DenseChannel


def noise_twin(size: int, epsilon: Fraction, remap=None, outputs=None) -> tuple[Mechanism, Mechanism]:
    """The same law as a noise table and written out as a matrix."""
    from inbounds.mechanism.laws import Matrix
    from inbounds.mechanism.laws.noise import make_geometric_noise

    query = ib.ordinal(0, size, outputs=outputs)
    law = make_geometric_noise(query, epsilon, remap)
    compact = Mechanism(query, epsilon, law, Origin("noise"))
    return compact, Mechanism(query, epsilon, Matrix(law.matrix(query)), Origin("matrix"))


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(5)])
def test_a_noise_table_is_recognized_without_writing_it_out(epsilon):
    compact, written = noise_twin(60, epsilon)
    channel = channel_for_law(compact)
    assert isinstance(compact.law, Noise)
    assert type(channel) is GeometricChannel
    p = np.random.default_rng(0).dirichlet(np.ones(61))
    assert np.allclose(channel.forward(p), written.matrix @ p, rtol=1e-9)
    shape = np.stack([channel.forward(unit) for unit in np.eye(61)], axis=1)
    assert (written.matrix <= shape * (1 + 2e-11) + channel.slack.above[:, None]).all()
    assert (written.matrix >= shape * (1 - 2e-11) - channel.slack.below[:, None]).all()


def test_a_noise_table_and_its_matrix_give_the_same_reconstruction():
    compact, written = noise_twin(40, Fraction(1, 4))
    counts = np.random.default_rng(2).integers(0, 50, 41)
    one, other = reconstruct(counts, compact), reconstruct(counts, DenseChannel(written.matrix).matrix)
    assert abs(one.log_likelihood - other.log_likelihood) < 1e-9
    assert kantorovich(one.distribution, other.distribution) < 1e-3


def test_a_remapped_noise_table_is_applied_without_writing_it_out():
    remap = np.arange(61, dtype=np.int64) // 7
    compact, written = noise_twin(60, Fraction(1, 3), remap, outputs=9)
    channel = channel_for_law(compact)
    assert type(channel) is MergedChannel
    rng = np.random.default_rng(0)
    p, x = rng.dirichlet(np.ones(61)), rng.random(9)
    assert np.allclose(channel.forward(p), written.matrix @ p, rtol=1e-9)
    assert np.allclose(channel.backward(x), written.matrix.T @ x, rtol=1e-9)
    w, theta, b = rng.random(9), rng.random(61) + 0.1, rng.normal(size=61)
    full = written.matrix.T @ np.diag(w) @ written.matrix + np.diag(theta)
    assert np.allclose(full @ channel.system(w, theta).solve(b), b, atol=1e-9)
    counts = rng.multinomial(5000, written.matrix @ p / (written.matrix @ p).sum())
    fast, slow = (reconstruct(counts, each, method="ibu") for each in (compact, written))
    assert fast.method == "ibu, newton"
    assert abs(fast.log_likelihood - slow.log_likelihood) < 1e-9


def test_a_remap_that_breaks_the_order_is_still_reconstructed():
    remap = np.arange(21, dtype=np.int64)[::-1].copy()
    compact, written = noise_twin(20, Fraction(1), remap)
    counts = np.random.default_rng(1).integers(1, 40, 21)
    found = reconstruct(counts, compact, tolerance=1e-6, method="ibu")
    assert found.method == "ibu, squarem"
    assert abs(found.log_likelihood - reconstruct(counts, written, method="ibu").log_likelihood) < 1e-6
    with rejects(ValueError, "method"):
        reconstruct(counts, compact, method="least-squares")


def test_the_residual_bounds_that_of_every_matrix_within_the_slack():
    """The certificate is for the mechanism's integers, not for the shape that stands for them."""
    compact, written = noise_twin(30, Fraction(3))
    counts = np.random.default_rng(4).multinomial(500, np.full(31, 1 / 31))
    result = reconstruct(counts, compact, given="counts")
    q = counts / counts.sum()
    r = written.matrix.T @ (q / (written.matrix @ result.distribution))
    assert r.max() - 1 <= result.residual + 1e-13


@pytest.mark.parametrize("shape", ["geometric", "response", "dense"])
def test_every_newton_system_solves_its_equations(shape):
    mechanism = {
        "geometric": ib.catalog.exponential(ib.interval(0, 12, 1, 12, holes=[(3, 7)]), 1),
        "response": ib.catalog.randomized_response(ib.ordinal(0, 7), 1),
        "dense": ib.catalog.explicit_fair(ib.count(7), 1),
    }[shape]
    rng = np.random.default_rng(0)
    w, theta, b = rng.random(8), rng.random(8) + 0.1, rng.normal(size=8)
    w[2] = 0.0  # an output that nobody reported
    full = mechanism.matrix.T @ np.diag(w) @ mechanism.matrix + np.diag(theta)
    x = channel_for_law(mechanism).system(w, theta).solve(b)
    assert np.allclose(full @ x, b, atol=1e-10)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), pytest.param(Fraction(1, 1000), marks=pytest.mark.slow)])
def test_a_hundred_thousand_answers_are_certified_in_linear_steps(epsilon):
    size = 100_000
    mechanism = geometric(size, epsilon)
    truth = np.exp(-0.5 * ((np.arange(size + 1) - 40_000) / 6000) ** 2)
    likely = channel_for_law(mechanism).forward(truth / truth.sum())
    counts = np.random.default_rng(8).multinomial(1_000_000, likely / likely.sum())
    result = reconstruct(counts, mechanism, given="counts", method="ibu")
    assert type(result.problem.channel) is GeometricChannel
    assert result.residual <= 1e-9
    assert kantorovich(result.distribution, truth) < 300  # of a range of 100,000; the reports' own noise is wider


# --- inverse and least squares ----------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20))
def test_the_projection_is_on_the_simplex_and_nothing_on_it_is_nearer(values):
    """p is nearest to x exactly when x - p makes no acute angle with any vertex: (x - p)·(e_k - p) <= 0."""
    x = np.array(values)
    p = onto_simplex(x)
    assert (p >= 0).all()
    assert math.isclose(p.sum(), 1, abs_tol=1e-9)
    assert ((x - p) - (x - p) @ p <= 1e-9).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_least_squares_meets_its_optimality_conditions(seed):
    """p minimizes |P p - q|² on the simplex exactly when the gradient is least wherever p is positive."""
    rng = np.random.default_rng(seed)
    matrix = random_channel(rng, *rng.integers(2, 9, size=2))
    q = rng.dirichlet(np.ones(len(matrix)))
    p = reconstruct(q, matrix, method="least-squares").distribution
    g = matrix.T @ (matrix @ p - q)
    assert p @ g - g.min() <= 1e-8


def test_least_squares_and_inverse_agree_where_the_inverse_is_a_distribution():
    mechanism = geometric(15)
    q = mechanism.matrix @ np.random.default_rng(0).dirichlet(np.full(16, 3.0))
    squares = reconstruct(q, mechanism, method="least-squares", tolerance=1e-14).distribution
    inverse = reconstruct(q, mechanism, method="inverse").distribution
    assert np.allclose(squares, inverse, atol=1e-5)


# --- what it starts from ----------------------------------------------------------------------------------


def test_reports_counts_frequencies_and_collectors_give_the_same_distribution():
    mechanism = geometric(10)
    reports = mechanism.simulate(np.full(500, 4), np.random.default_rng(0))
    counts = np.bincount(reports, minlength=11)
    from_reports = reconstruct(reports, mechanism, method="ibu")
    collected = reconstruct(Collector(mechanism).add(reports), method="ibu")
    counted = [reconstruct(given, mechanism, method="ibu") for given in (counts, counts / 500)]
    for other in (*counted, collected):
        assert np.allclose(other.distribution, from_reports.distribution, atol=1e-12)
    assert from_reports.reports == collected.reports == 500


def test_as_many_numbers_as_outputs_are_counts_or_refused_where_they_could_be_reports():
    mechanism = geometric(2)
    for counts in ([2, 2, 3], [0.5, 0.25, 0.25], [2, -1, 1]):
        if min(counts) >= 0:
            assert reconstruct(counts, mechanism).reports == sum(counts)
        with rejects(ValueError, "reports"):
            reconstruct(counts, mechanism, given="reports")
    with rejects(ValueError, "given"):
        reconstruct([2, 2, 1], mechanism)
    assert reconstruct([2, 2, 1], mechanism, given="counts").reports == 5
    assert reconstruct([2, 2, 1], mechanism, given="reports").reports == 3
    labels = ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1)
    assert reconstruct(["a", "b", "a"], labels).reports == 3


def test_a_collector_brings_its_own_mechanism_and_refuses_another():
    collector = Collector(geometric(3)).add([0, 1, 3])
    assert np.array_equal(reconstruct(collector, geometric(3)).distribution, reconstruct(collector).distribution)
    with rejects(ValueError, "mechanism"):
        reconstruct(collector, geometric(3, 1))
    with rejects(TypeError, "reconstruct"):
        reconstruct([1, 2, 3])


def test_a_start_changes_the_path_and_not_the_maximum():
    mechanism = geometric(8)
    counts = np.random.default_rng(1).integers(1, 100, 9)
    skewed = np.arange(1.0, 10) ** 4
    one, other = reconstruct(counts, mechanism), reconstruct(counts, mechanism, start=skewed)
    assert one.path[0] != other.path[0]
    assert abs(one.log_likelihood - other.log_likelihood) <= 1e-9


def test_a_fixed_number_of_iterations_is_kept_and_marked_as_not_converged():
    result = reconstruct([5, 1, 1, 9], geometric(3), acceleration="none", iterations=7)
    assert result.iterations == 7
    assert len(result.path) == 8
    assert not result.converged
    assert "not converged" in repr(result)


def test_progress_is_told_the_steps_and_the_residual():
    seen = []
    told = lambda step, residual: seen.append((step, residual))  # noqa: E731
    result = reconstruct([5, 1, 1, 9], geometric(3), method="ibu", progress=told)
    steps = [step for step, _ in seen]
    assert steps == sorted(steps)
    assert seen[-1][1] <= 1e-9
    assert result.iterations <= steps[-1]


def test_bad_input_is_refused_with_the_rule_it_breaks(golden):
    def reconstruct_with(reports, options):
        reconstruct(reports, geometric(3), **options)

    golden.errors(
        "wrong_reconstructions",
        [
            lambda: reconstruct_with([0, 1, 9], {}),
            lambda: reconstruct_with([-1, 2, 3, 4], {}),
            lambda: reconstruct_with([0, 0, 0, 0], {"given": "counts"}),
            lambda: reconstruct_with([], {}),
            lambda: reconstruct_with([1, 2, math.nan, 4], {}),
            lambda: reconstruct_with(["x"], {}),
            lambda: reconstruct_with([1, 2, 3, 4], {"start": [0.5, 0.5, 0, 0]}),
            lambda: reconstruct_with([1, 2, 3, 4], {"start": [0.5, 0.5]}),
            lambda: reconstruct_with([1, 2, 3], {"given": "counts"}),
            lambda: reconstruct_with([1, 2, 3, 4], {"given": "rows"}),
            lambda: reconstruct_with([1, 2, 3, 4], {"method": "magic"}),
            lambda: reconstruct_with([1, 2, 3, 4], {"acceleration": "warp"}),
            lambda: reconstruct_with([1, 2, 3, 4], {"tolerance": 0.0}),
            lambda: reconstruct_with([1, 2, 3, 4], {"tolerance": math.nan}),
            lambda: reconstruct_with([1, 2, 3, 4], {"iterations": 0}),
            lambda: reconstruct_with([1, 2, 3, 4], {"iterations": 9, "acceleration": "newton"}),
            lambda: reconstruct_with([1, 2, 3, 4], {"iterations": 9, "method": "inverse"}),
            lambda: reconstruct_with([1, 2, 3, 4], {"acceleration": "none", "method": "inverse"}),
        ],
    )


@pytest.mark.parametrize("counts", [[3, 3, 4], [1, 0, 0]])
def test_a_singular_matrix_is_not_inverted(counts):
    same_columns = np.array([[0.5, 0.5, 0.2], [0.3, 0.3, 0.3], [0.2, 0.2, 0.5]])
    for matrix in (same_columns, ib.catalog.uniform(ib.count(2), 1)):
        with rejects(ValueError, "matrix"):
            reconstruct(counts, matrix, method="inverse", given="counts")
    with rejects(ValueError, "matrix", about="3 × 2"):
        reconstruct(counts, same_columns[:, 1:], method="inverse")


def test_a_plain_matrix_must_be_stochastic(golden):
    def reconstruct_by(matrix):
        reconstruct([1, 2], matrix)

    golden.errors(
        "wrong_matrices",
        [
            lambda: reconstruct_by([[0.5, 0.5], [0.4, 0.5]]),
            lambda: reconstruct_by([[1.5, 0.5], [-0.5, 0.5]]),
            lambda: reconstruct_by([[math.nan, 0.5], [0.5, 0.5]]),
            lambda: reconstruct_by([0.5, 0.5]),
        ],
    )


def test_reports_that_no_answer_explains_are_refused():
    matrix = [[1.0, 0.5], [0.0, 0.5], [0.0, 0.0]]
    assert reconstruct([1, 2, 0], matrix).converged
    with rejects(ValueError, "reports"):
        reconstruct([1, 2, 1], matrix)


def test_reports_of_a_plain_matrix_are_positions():
    matrix = random_channel(np.random.default_rng(0), 4, 3)
    by_position = reconstruct([0, 3, 3, 1, 3], matrix)
    assert np.allclose(by_position.distribution, reconstruct([1, 1, 0, 3], matrix).distribution)
    with rejects(ValueError, "reports", about="0..3"):
        reconstruct([0, 4, 1, 1, 1], matrix)


def test_an_iteration_that_cannot_reach_its_tolerance_says_so(monkeypatch):
    from inbounds.local.reconstruct import methods

    monkeypatch.setattr(methods, "LIMIT", 10)
    with rejects(ib.ConvergenceError, "the residual", about="11 steps"):
        reconstruct([50, 1, 30, 2, 80], geometric(4), acceleration="none", tolerance=1e-12)


# --- how sure ---------------------------------------------------------------------------------------------


def test_standard_errors_of_randomized_response_are_those_of_the_closed_form():
    """Two labels: p = (q - b) / (a - b), so the standard error is sqrt(q(1-q)/N) / (a - b)."""
    mechanism = ib.catalog.randomized_response(ib.category(["no", "yes"]), 1)
    a, b = mechanism.matrix[0]
    counts = [5200, 4800]
    expected = math.sqrt(0.52 * 0.48 / 10_000) / (a - b)
    for method in ("ibu", "inverse"):
        errors = reconstruct(counts, mechanism, method=method).standard_errors()
        assert np.allclose(errors, expected, rtol=1e-6)


def test_standard_errors_match_the_spread_of_repeated_reconstructions():
    """400 repetitions estimate a standard deviation to 3.5 %; within 20 % fails by chance below 1e-7."""
    mechanism = geometric(4, 2)
    truth = np.array([0.1, 0.3, 0.25, 0.2, 0.15])
    rng = np.random.default_rng(11)
    draws = rng.multinomial(20_000, mechanism.matrix @ truth / (mechanism.matrix @ truth).sum(), size=400)
    estimates = np.stack([reconstruct(counts, mechanism, method="ibu").distribution for counts in draws])
    stated = reconstruct(draws[0], mechanism, method="ibu").standard_errors()
    assert np.allclose(estimates.std(axis=0), stated, rtol=0.2)


def test_bootstrap_intervals_agree_with_standard_errors_inside_and_stay_on_the_simplex():
    mechanism = geometric(4, 2)
    counts = np.round(20_000 * (mechanism.matrix @ [0.1, 0.3, 0.25, 0.2, 0.15])).astype(int)
    result = reconstruct(counts, mechanism)
    intervals = result.bootstrap(np.random.default_rng(0), runs=300)
    assert np.allclose(intervals.standard_errors, result.standard_errors(), rtol=0.25)
    assert (intervals.lower <= result.distribution).all()
    assert (result.distribution <= intervals.upper).all()
    for method in ("inverse", "least-squares"):
        other = reconstruct(counts, mechanism, method=method).bootstrap(np.random.default_rng(0), runs=5)
        assert (other.lower >= 0).all()
        assert (other.upper <= 1).all()


def test_uncertainty_refuses_what_it_cannot_know():
    result = reconstruct([0.25, 0.25, 0.5], geometric(2))
    with rejects(ValueError, "bootstrap", about="frequencies"):
        result.bootstrap(np.random.default_rng(0))
    counted = reconstruct([25, 25, 50], geometric(2))
    with rejects(ValueError, "runs"):
        counted.bootstrap(np.random.default_rng(0), runs=1)
    with rejects(ValueError, "level"):
        counted.bootstrap(np.random.default_rng(0), level=1.0)
    with rejects(ValueError, about="least-squares"):
        reconstruct([25, 25, 50], geometric(2), method="least-squares").standard_errors()

"""The numbered statements of "Constrained private mechanisms for count data", proved or computed one by one."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog

import inbounds as ib
from inbounds.properties import NAMES
from inbounds_studies.paper_003 import EM, GM, UM, WH, WM, l0, named

RH, RM, CH, CM, F, WEAK, S = (
    "row_honest", "row_monotone", "column_honest", "column_monotone", "fair", "weakly_honest", "symmetric",
)  # fmt: skip


def has(mechanism, name):
    return bool(mechanism.properties()[name])


def random_designs(n, seed, names=()):
    """Mechanisms for n people that are optimal for random losses and priors, so each lies on another face."""
    rng = np.random.default_rng(seed)
    query, shape = ib.count(n), (n + 1, n + 1)
    for a in ("0.3", "0.62", "0.9"):
        loss, prior = rng.random(shape), rng.dirichlet(np.ones(n + 1))
        yield ib.optimal(query, ib.epsilon_from_alpha(a), loss, prior=prior, properties=names)


def edges_of_the_program(n, a):
    """Rows A·p <= 0 of differential privacy for p[i, j], flattened by rows."""
    rows = []
    for i, j in product(range(n + 1), range(n)):
        for low, high in ((j, j + 1), (j + 1, j)):
            row = np.zeros((n + 1, n + 1))
            row[i, low], row[i, high] = a, -1
            rows.append(row.ravel())
    return np.array(rows)


def columns_sum(n):
    return np.array([np.tile(np.eye(n + 1)[j], n + 1) for j in range(n + 1)])


# --- Definitions and Example 1 ----------------------------------------------------------------------------


def test_definition_4_and_figure_3_describe_one_mechanism():
    """Clamped noise, summed tail by tail, is x = 1/(1+a) in the first and last row and y = (1-a)/(1+a) inside."""
    for n, a in product((1, 2, 5), (Fraction(1, 3), Fraction(9, 10))):
        x, y = 1 / (1 + a), (1 - a) / (1 + a)
        noise = {d: y * a ** abs(d) for d in range(-n, n + 1)}
        for j in range(n + 1):
            inside = [noise[i - j] for i in range(1, n)]
            low = a**j * y / (1 - a)  # the sum of the noise at -j and below
            high = a ** (n - j) * y / (1 - a)
            assert low == x * a**j
            assert low + sum(inside) + high == 1
        drawn = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(a)).matrix
        assert drawn[0, n] == pytest.approx(float(x * a**n), rel=1e-12)
        assert drawn[0, 0] == pytest.approx(float(x), rel=1e-12)


def test_two_people_see_a_wrong_count_eighteen_times_as_often_as_the_truth():
    """Example 1, n = 2 and a = 9/10: input 1 is told with 1/19, 0 and 2 with 9/19 each; input 0 is told with 10/19."""
    P = ib.catalog.truncated_geometric(ib.count(2), ib.epsilon_from_alpha("0.9")).matrix
    assert P[:, 1] == pytest.approx([9 / 19, 1 / 19, 9 / 19])
    assert (P[0, 1] + P[2, 1]) / P[1, 1] == pytest.approx(18)
    assert P[0, 0] == pytest.approx(10 / 19)


def test_guessing_at_random_scores_one_under_the_scaled_objective():
    """Definition 5: UM has all seven properties for every alpha, chance of a wrong report n/(n+1), scaled L0 of 1."""
    for n, a in product((1, 2, 7, 30), ("0.1", "0.62", "0.99")):
        guess = ib.catalog.uniform(ib.count(n), ib.epsilon_from_alpha(a))
        assert guess.loss("zero-one") == pytest.approx(n / (n + 1), rel=1e-12)
        assert l0(guess) == pytest.approx(1, rel=1e-12)
        assert all(has(guess, name) for name in NAMES)
        assert guess.tight_epsilon() == 0


# --- What implies what (IV-A) -----------------------------------------------------------------------------

IMPLICATIONS = (
    ((RM,), RH, True),
    ((CM,), CH, True),
    ((CH,), WEAK, True),
    ((F, RH), CH, True),
    ((F, CH), RH, True),
    ((RH,), RM, False),
    ((CH,), CM, False),
    ((WEAK,), CH, False),
    ((F,), RH, False),
    ((F,), CH, False),
    ((RH,), CH, False),
    ((CH,), RH, False),
)


@pytest.mark.parametrize(("given", "name", "holds"), IMPLICATIONS)
def test_properties_imply_each_other_as_the_text_says_and_no_further(given, name, holds):
    """An implication is the optimum of a program: how far `name` can be broken by a matrix with the given properties.

    The matrices are all column-stochastic ones of five answers (privacy would only shrink the set; the matrices that
    refute the converses are private for alpha = 0.05).
    """
    n = 4
    inside, sums = rows_of(given, n), columns_sum(n)
    private = np.zeros((0, (n + 1) ** 2)) if holds else edges_of_the_program(n, 0.05)
    A, b = np.vstack([*(r for r, _ in inside), private]), np.array([c for _, c in inside] + [0.0] * len(private))
    worst = max(
        -linprog(-row, A, b, sums, np.ones(n + 1), bounds=(0, 1), method="highs").fun - bound
        for row, bound in rows_of((name,), n)
    )
    assert (worst < 1e-9) is holds
    assert holds or worst > 0.01


def rows_of(names, n):
    """Rows r and bounds c, r·p <= c, of properties written out from (7) to (14)."""

    def cell(*terms):
        row = np.zeros((n + 1, n + 1))
        for sign, i, j in terms:
            row[i, j] += sign
        return row.ravel()

    every, found = range(n + 1), []
    for name in names:
        if name == RH:
            found += [(cell((1, i, j), (-1, i, i)), 0) for i, j in product(every, every)]
        if name == CH:
            found += [(cell((1, i, j), (-1, j, j)), 0) for i, j in product(every, every)]
        if name == RM:
            found += [(cell((1, i, j - 1), (-1, i, j)), 0) for i in every for j in range(1, i + 1)]
            found += [(cell((1, i, j + 1), (-1, i, j)), 0) for i in every for j in range(i, n)]
        if name == CM:
            found += [(cell((1, i - 1, j), (-1, i, j)), 0) for j in every for i in range(1, j + 1)]
            found += [(cell((1, i + 1, j), (-1, i, j)), 0) for j in every for i in range(j, n)]
        if name == F:
            found += [(cell((1, i, i), (-1, j, j)), 0) for i, j in product(every, every) if i != j]
        if name == WEAK:
            found += [(cell((-1, i, i)), -1 / (n + 1)) for i in every]
    return found


# --- Lemma 1, Theorems 1 and 2, one person ----------------------------------------------------------------


def test_a_fair_optimum_is_optimal_for_every_prior_and_for_the_worst_answer():
    """Lemma 1: under zero-one loss all fair mechanisms are ranked alike by every prior, and by the maximum."""
    n, rng = 6, np.random.default_rng(1)
    for a in (0.4, 0.9):
        fair = ib.catalog.explicit_fair(ib.count(n), ib.epsilon_from_alpha(str(a)))
        assert fair.worst_loss("zero-one") == pytest.approx(fair.loss("zero-one"), abs=1e-15)
        rows = np.vstack([edges_of_the_program(n, a), *(row for row, _ in rows_of((F,), n))])
        for prior in (np.full(n + 1, 1 / (n + 1)), *rng.dirichlet(np.ones(n + 1), 3)):
            loss = ((1 - np.eye(n + 1)) * prior).ravel()
            least = linprog(loss, rows, np.zeros(len(rows)), columns_sum(n), np.ones(n + 1), method="highs").fun
            assert fair.loss("zero-one", prior) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("names", [(), (RM,), (CM, WEAK), (F,), (RH, CH), (RM, CM, F)])
def test_the_mirrored_average_keeps_properties_and_the_loss_of_every_symmetric_objective(names):
    """Theorem 1, for weights that equal their mirror image: any p, and the maximum can only fall."""
    even = np.array([1, 2, 3, 3, 2, 1]) / 12
    for made in random_designs(5, 5, names):
        mirrored = made.symmetrize()
        assert has(mirrored, S)
        assert all(has(mirrored, name) for name in NAMES if has(made, name))
        for loss, prior in product(("zero-one", "absolute", "squared"), (None, even)):
            assert mirrored.loss(loss, prior) == pytest.approx(made.loss(loss, prior), abs=1e-12)
            assert mirrored.worst_loss(loss) <= made.worst_loss(loss) + 1e-12


def test_for_uneven_weights_symmetry_costs_something():
    """Theorem 1 says "the same objective value" for all weights: with skewed ones every symmetric matrix loses more."""
    query, skewed = ib.count(4), np.array([90, 4, 3, 2, 1]) / 100
    free = ib.optimal(query, 1, "zero-one", prior=skewed)
    symmetric = ib.optimal(query, 1, "zero-one", prior=skewed, properties=["symmetric"])
    assert symmetric.optimality.bound > free.loss("zero-one", skewed) + 0.01
    assert free.symmetrize().loss("zero-one", skewed) > free.loss("zero-one", skewed) + 0.01


def test_every_set_of_properties_can_be_had_and_is_a_small_program():
    """Theorem 2: guessing has all seven, so no set is empty; rows and columns grow like the square of n."""
    guess = ib.catalog.uniform(ib.count(5), 1)
    assert all(has(guess, name) for name in NAMES)
    sizes = {n: len(rows_of((RH, RM, CH, CM, F, WEAK), n)) + len(edges_of_the_program(n, 0.5)) for n in (8, 16, 32)}
    assert sizes[16] / sizes[8] < 4.5
    assert sizes[32] / sizes[16] < 4.25


def test_for_one_person_randomized_response_is_the_only_optimum_of_even_weights():
    """IV-A says "under any objective": with weights beyond 1/a : 1 a constant is better than randomized response."""
    query, a = ib.count(1), 0.5
    epsilon = ib.epsilon_from_alpha("0.5")
    response = ib.catalog.truncated_geometric(query, epsilon)
    assert np.allclose(response.matrix, np.array([[1, a], [a, 1]]) / (1 + a))
    A, sums = edges_of_the_program(1, a), columns_sum(1)
    for loss in (np.array([0, 1, 1, 0]), np.array([0, 4, 4, 0])):
        best = linprog(loss, A, np.zeros(len(A)), sums, np.ones(2), method="highs").fun
        A_best, b_best = np.vstack([A, loss]), np.append(np.zeros(len(A)), best)
        for cell in np.eye(4):  # each entry alone among the optima: the least and the largest value agree
            ends = [linprog(s * cell, A_best, b_best, sums, np.ones(2), method="highs").fun for s in (1, -1)]
            assert ends[0] + ends[1] == pytest.approx(0, abs=1e-7)
    skewed = np.array([0.9, 0.1])
    assert response.loss("zero-one", skewed) == pytest.approx(1 / 3)
    assert ib.optimal(query, epsilon, "zero-one", prior=skewed).loss("zero-one", skewed) == pytest.approx(0.1)


# --- Theorem 3, Lemmas 2 to 4 -----------------------------------------------------------------------------


def test_the_geometric_mechanism_is_the_only_optimum_for_wrong_reports():
    """Theorem 3. The optima reach equally far in random directions: the sum of the diagonal has one maximizer."""
    for n, a in product((1, 2, 4), (0.2, 0.62, 0.9)):
        A, sums, shape = edges_of_the_program(n, a), columns_sum(n), (n + 1, n + 1)
        diagonal = -np.eye(n + 1).ravel()
        best = linprog(diagonal, A, np.zeros(len(A)), sums, np.ones(n + 1), method="highs").fun
        made = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(str(a)))
        assert np.trace(made.matrix) == pytest.approx(-best, abs=1e-9)
        assert l0(made) == pytest.approx(2 * a / (1 + a), abs=1e-12)
        face, bound = np.vstack([A, diagonal]), np.append(np.zeros(len(A)), best + 1e-11)
        for direction in np.random.default_rng(n).standard_normal((6, (n + 1) ** 2)):
            far = linprog(direction, face, bound, sums, np.ones(n + 1), method="highs").x.reshape(shape)
            assert np.abs(far - made.matrix).max() < 1e-6


def test_the_geometric_mechanism_is_weakly_honest_from_2a_over_1_minus_a_people_on():
    """Lemma 2 asks every n; for one person y does not occur and GM is always weakly honest."""
    for a in (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10), Fraction(10, 11)):
        threshold = 2 * a / (1 - a)
        for n in range(1, 26):
            made = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(a))
            assert has(made, WEAK) is (n >= threshold or n == 1), (n, a)


def test_no_fair_mechanism_tells_the_truth_more_often_than_lemma_4_allows():
    """Lemma 4 from the middle column; a program over all fair matrices reaches the bound, for odd n too."""
    for n, a in product(range(1, 8), (0.3, 0.62, 0.9)):
        middle = n // 2
        bound = 1 / sum(a ** abs(i - middle) for i in range(n + 1))
        A = edges_of_the_program(n, a)
        fair = np.array([row for row, _ in rows_of((F,), n)])
        rows, corner = np.vstack([A, fair]), np.zeros((n + 1) ** 2)
        corner[0] = -1
        y = -linprog(corner, rows, np.zeros(len(rows)), columns_sum(n), np.ones(n + 1), method="highs").fun
        assert y == pytest.approx(bound, rel=1e-9)
        if n % 2 == 0:
            assert bound == pytest.approx((1 - a) / (1 + a - 2 * a ** (n / 2 + 1)), rel=1e-12)


def test_tight_everywhere_and_fair_is_impossible_from_two_people_on():
    """IV-C: y·a^|i-j| has columns of one sum only for n = 1, where it is randomized response."""
    for n, a in product(range(1, 9), (Fraction(1, 3), Fraction(9, 10))):
        sums = {sum(a ** abs(i - j) for i in range(n + 1)) for j in range(n + 1)}
        assert (len(sums) == 1) is (n == 1)


# --- Between the mechanisms (IV-C, IV-D) ------------------------------------------------------------------


def test_the_price_of_fairness_is_at_most_one_plus_1_over_n_and_tends_to_it():
    """IV-D's "factor of about 1 + 1/n" over GM, in fractions: n·(factor - 1) grows to 1, and is 0.20 at n = 10."""

    def factor(n, a):
        gm = 2 * a / (1 + a)
        y = 1 / sum(a ** abs(i - n // 2) for i in range(n + 1))
        return Fraction(n + 1, n) * (1 - y) / gm

    for a in (Fraction(1, 2), Fraction(2, 3), Fraction(10, 11)):
        excess = [n * (factor(n, a) - 1) for n in range(2, 61, 2)]
        assert all(0 < e < 1 for e in excess)
        assert all(e < f for e, f in pairwise(excess))
    assert float(10 * (factor(10, Fraction(10, 11)) - 1)) == pytest.approx(0.20, abs=5e-3)
    made = ib.catalog.explicit_fair(ib.count(10), ib.epsilon_from_alpha("10/11"))
    gm = ib.catalog.truncated_geometric(ib.count(10), ib.epsilon_from_alpha("10/11"))
    assert l0(made) / l0(gm) == pytest.approx(float(factor(10, Fraction(10, 11))), rel=1e-12)


def test_at_alpha_0_99_the_weakly_honest_mechanism_costs_almost_what_fairness_costs():
    """Fig. 9(c), "WM stays equal to EM": it is below by less than 0.001, and not equal from three people on."""
    for n in (3, 8, 24):
        made = named(n, ib.epsilon_from_alpha("0.99"))
        assert 1e-7 < l0(made[EM]) - l0(made[WM]) < 1e-3
    assert l0(made[WM]) == pytest.approx(0.997274, abs=1e-6)
    assert l0(made[EM]) == pytest.approx(0.997332, abs=1e-6)


def test_the_weakly_honest_mechanism_costs_between_geometric_and_fair():
    """IV-D: GM has fewer properties and EM more, so WM lies between, with and without column monotonicity."""
    for n, a in product((2, 5, 9), ("0.4", "0.62", "0.9")):
        made = named(n, ib.epsilon_from_alpha(a))
        ladder = [l0(made[name]) for name in (GM, WH, WM, EM, UM)]
        assert all(low <= high + 1e-9 for low, high in pairwise(ladder))


def test_the_exponential_mechanism_of_distances_is_the_fair_one_at_half_of_epsilon_or_worse():
    """IV-C: scores -|i-j| at epsilon/2 lose more than EM, for every n and alpha tried."""
    for n, a in product((2, 5, 7, 20), ("0.3", "0.62", "0.9")):
        epsilon = ib.epsilon_from_alpha(a)
        weaker = ib.catalog.exponential(ib.count(n), epsilon)
        assert weaker.loss("zero-one") > ib.catalog.explicit_fair(ib.count(n), epsilon).loss("zero-one") + 1e-6


@pytest.mark.parametrize("n", range(2, 9))
def test_the_fair_mechanism_fails_the_test_of_derivability_for_every_alpha(n):
    """IV-D: three adjacent entries y·a, y·a, y break the condition, whatever alpha; for n = 1 EM is GM."""
    for a in (Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)):
        before, middle, after = a, a, Fraction(1)
        assert (middle - a * before) < a * (after - a * middle)
        fair = ib.catalog.explicit_fair(ib.count(n), ib.epsilon_from_alpha(a))
        assert not ib.is_derivable(fair)


# --- statements beside the numbered ones ------------------------------------------------------------------


def test_the_fair_mechanism_has_all_seven_properties_and_the_least_cost():
    """Theorem 4: properties in whole weights, cost (n+1)/n·(1 - y) with y the bound of Lemma 4, which none exceeds."""
    for n, a in product((1, 2, 3, 6, 9, 14), ("0.2", "0.5", "0.62", "10/11", "0.99")):
        made = ib.catalog.explicit_fair(ib.count(n), ib.epsilon_from_alpha(a))
        assert all(has(made, name) for name in NAMES)
        level = float(Fraction(a))
        y = 1 / sum(level ** abs(i - n // 2) for i in range(n + 1))
        assert l0(made) == pytest.approx((n + 1) / n * (1 - y), rel=1e-12)


def test_the_scaled_objective_is_what_the_trace_lacks():
    """(1) and Definition 3: L0 = (n+1)/n - trace/n; with the maximum instead of the sum weights still count."""
    made = next(iter(random_designs(4, 2)))
    assert l0(made) == pytest.approx(5 / 4 - np.trace(made.matrix) / 4)
    query, weights = ib.count(4), np.array([0.9, 0.04, 0.03, 0.02, 0.01])
    found = ib.optimal(query, 1, "zero-one", prior=weights, aim="worst")
    wrong = 1 - np.diag(found.matrix)
    assert (weights * wrong).max() == pytest.approx(found.optimality.bound, abs=1e-7)
    assert (weights * wrong).max() < 0.9 * (weights * (1 - np.diag(ib.optimal(query, 1, "zero-one").matrix))).max()


def test_the_exponential_mechanism_keeps_its_promise_with_a_factor_of_two():
    """(2): exp(epsilon·Q/(2s)) promises epsilon; for scores -|i-j| it uses up less."""
    for n in (2, 7, 20):
        assert ib.catalog.exponential(ib.count(n), 1).tight_epsilon() < 1


def test_the_fair_diagonal_is_above_that_of_the_geometric_mechanism_but_for_the_corners():
    """IV-C: y(GM) = (1-a)/(1+a) < y(EM) < 1/(1+a) for n >= 2, in fractions."""
    for n, a in product(range(2, 12), (Fraction(1, 5), Fraction(1, 2), Fraction(10, 11))):
        fair = 1 / sum(a ** abs(i - n // 2) for i in range(n + 1))
        assert (1 - a) / (1 + a) < fair < 1 / (1 + a)


def test_the_geometric_mechanism_is_symmetric_row_monotone_and_tight():
    """IV-B: always; and each inequality between neighbouring answers is an equality."""
    for n, a in product((1, 2, 5, 9), ("0.3", "0.62", "10/11")):
        made = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(a))
        assert has(made, S)
        assert has(made, RM)
        ratio = made.matrix[:, 1:] / made.matrix[:, :-1]
        assert np.minimum(ratio, 1 / ratio) == pytest.approx(np.full(ratio.shape, float(Fraction(a))))


def test_more_people_raise_the_root_mean_square_error_of_the_named_mechanisms():
    """Figure 13, in expectation for even bits at alpha 10/11."""
    rmse = {}
    for n in (2, 4, 8, 12):
        prior = ib.priors.binomial(ib.count(n), "1/2")
        for name, made in named(n, ib.epsilon_from_alpha("10/11")).items():
            rmse.setdefault(name, []).append(made.loss("squared", prior))
    for name, found in rmse.items():
        assert found == sorted(found), name


def test_the_ratio_of_neighbouring_outputs_can_be_bounded_at_a_price():
    """Section VI: for 20 people at epsilon 1/2 ratios of 4 and 1.25 cost 1.6630 and 3.2047, without it 1.6547."""
    from inbounds.properties import column_ratio

    query = ib.count(20)
    for ratio, cost in ((4, 1.6630), ("1.25", 3.2047)):
        made = ib.optimal(query, "0.5", properties=[column_ratio(ratio)])
        assert made.loss() == pytest.approx(cost, abs=5e-5)
        neighbours = made.matrix[1:] / made.matrix[:-1]
        assert np.maximum(neighbours, 1 / neighbours).max() <= float(Fraction(ratio)) * (1 + 1e-9)
    assert ib.optimal(query, "0.5").loss() == pytest.approx(1.6547, abs=5e-5)


def test_other_norms_need_more_than_four_mechanisms():
    """Section VI: 18 closures of the 128 sets; under L0 at most four costs, under squared error eleven at n = 8."""
    from inbounds_studies.paper_003_norms import norms, sets_by_closure

    groups = sets_by_closure()
    assert len(groups) == 18
    assert sum(map(len, groups.values())) == 128
    table = norms(losses=("zero-one", "absolute", "squared"), sizes=(8,), alphas=("10/11",)).table
    behaviours = {loss: max(table.where(loss=loss).column("behaviour")) for loss in table.distinct("loss")}
    assert behaviours == {"zero-one": 4, "absolute": 10, "squared": 11}
    for loss in table.distinct("loss"):
        cost = {row["properties"]: row["cost"] for row in table.where(loss=loss)}
        assert cost["CH"] == pytest.approx(cost["CM"], rel=1e-7)


# --- what the proofs rest on ------------------------------------------------------------------------------


def least_cost(n, a, names, loss=None):
    """The least expected loss, uniform weights, of a program written out: wrong reports unless a table is given."""
    given = rows_of(names, n)
    A = np.vstack([edges_of_the_program(n, a), *(row for row, _ in given)])
    b = np.concatenate([np.zeros(len(A) - len(given)), [bound for _, bound in given]])
    cost = (1 - np.eye(n + 1)) / (n + 1) if loss is None else loss
    found = linprog(cost.ravel(), A, b, columns_sum(n), np.ones(n + 1), bounds=(0, 1), method="highs")
    return found.fun, found.x.reshape(n + 1, n + 1)


def weakly_honest_diagonal(n, a):
    """t at both ends and c inside: the diagonal of the optimum for weak honesty alone, where GM is none."""
    c, m = 1 / (n + 1), n // 2 if n % 2 == 0 else (n - 1) // 2
    middle = (1 + c) / 2 if n % 2 == 0 else 1 / (1 + a)
    t = c / (1 - a) - (c / (1 - a) - middle) * a**-m
    return np.array([t, *[c] * (n - 1), t])


def fill_outwards(diagonal, a):
    """The construction of the proof: from the middle to the left, one factor for all rows past their diagonal."""
    n = len(diagonal) - 1
    m = n // 2
    P = np.zeros((n + 1, n + 1))
    P[:, m] = diagonal * a ** abs(np.arange(n + 1) - m)
    for j in range(m - 1, -1, -1):
        P[: j + 1, j] = diagonal[: j + 1] * a ** (j - np.arange(j + 1))
        P[j + 1 :, j] = P[j + 1 :, j + 1] * (1 - P[: j + 1, j].sum()) / P[j + 1 :, j + 1].sum()
    return np.where(np.arange(n + 1) <= n / 2, P, P[::-1, ::-1])


def test_weak_honesty_alone_costs_what_its_closed_form_says():
    """The cost of the program, of the package, and of a mechanism built by the proof: private, row monotone, symmetric,
    and never fair.
    """
    for n, a in product((2, 3, 4, 5, 7, 8), (0.52, 0.7, 0.9, 0.99)):
        if n >= 2 * a / (1 - a):
            continue
        d = weakly_honest_diagonal(n, a)
        built = fill_outwards(d, a)
        assert built.sum(axis=0) == pytest.approx(np.ones(n + 1))
        assert np.diag(built) == pytest.approx(d)
        assert (a * built[:, 1:] <= built[:, :-1] + 1e-12).all()
        assert (a * built[:, :-1] <= built[:, 1:] + 1e-12).all()
        assert all((row * built.ravel() <= 1).all() and row @ built.ravel() <= 1e-12 for row, _ in rows_of((RM,), n))
        assert np.abs(built - built[::-1, ::-1]).max() < 1e-12
        assert d[0] > 1 / (n + 1) + 1e-9
        for names in ((WEAK,), (WEAK, RM)):
            assert (1 - d.sum() / (n + 1)) == pytest.approx(least_cost(n, a, names)[0], abs=1e-9)
    assert l0(named(7, ib.epsilon_from_alpha("0.9"))[WH]) == pytest.approx(
        (8 - weakly_honest_diagonal(7, 0.9).sum()) / 7, abs=1e-9
    )


def test_column_honesty_costs_what_column_and_row_monotonicity_cost_together():
    """Tried, not proved."""
    for n, a in product(range(2, 7), (0.52, 0.6, 0.7, 0.76, 0.8, 0.9, 0.99)):
        assert least_cost(n, a, (CH,))[0] == pytest.approx(least_cost(n, a, (CM, RM))[0], abs=1e-9)


def test_up_to_alpha_one_half_two_mechanisms_serve_all_sets():
    """GM has every property but fairness up to 1/2, and not beyond; EM has all."""
    for n, a in product((2, 3, 6), (Fraction(1, 10), Fraction(1, 2))):
        made = ib.catalog.truncated_geometric(ib.count(n), ib.epsilon_from_alpha(a))
        assert {name for name in NAMES if not has(made, name)} == {F}
    assert not has(ib.catalog.truncated_geometric(ib.count(3), ib.epsilon_from_alpha("0.51")), CM)


def test_for_one_person_gm_is_always_column_monotone():
    for a in ("0.1", "0.6", "0.99"):
        assert has(ib.catalog.truncated_geometric(ib.count(1), ib.epsilon_from_alpha(a)), CM)


def test_under_the_absolute_error_a_fair_optimum_depends_on_the_weights():
    """Lemma 1 is about wrong reports: for n = 4, alpha 0.62 the optimum of even weights loses 0.0278 more than another
    if most have the answer 0.
    """
    errors = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5)))
    even = least_cost(4, 0.62, (F,), errors / 5)[1]
    skewed = errors * np.array([0.9, 0.025, 0.025, 0.025, 0.025])
    assert (even * skewed).sum() - least_cost(4, 0.62, (F,), skewed)[0] == pytest.approx(0.0278, abs=5e-5)


def test_the_dual_solution_of_theorem_3_adds_up():
    """K·lambda = 1 with 1/(1+a) at the ends and (1-a)/(1+a) inside, all positive; L0 is 2a/(1+a)."""
    for n, a in product((1, 2, 3, 8), (Fraction(1, 5), Fraction(1, 2), Fraction(99, 100))):
        inner = (1 - a) / (1 + a)
        dual = [1 / (1 + a), *[inner] * (n - 1), 1 / (1 + a)]
        assert all(sum(dual[j] * a ** abs(i - j) for j in range(n + 1)) == 1 for i in range(n + 1))
        assert Fraction(n + 1 - sum(dual), n) == 2 * a / (1 + a)
        assert n == 1 or inner <= 1 - a


def test_for_odd_n_the_fair_mechanism_exceeds_the_printed_bound():
    """Lemma 4 prints (1-a)/(1+a-2a^(n/2+1)) for all n. At n = 1 and a = 1/2 it is 0.6306, and EM has 2/3; with it the
    columns of Figure 4 do not sum to one.
    """
    for n, a in product((1, 3, 7), (0.3, 0.5, 0.62, 0.9)):
        printed = (1 - a) / (1 + a - 2 * a ** (n / 2 + 1))
        fair = ib.catalog.explicit_fair(ib.count(n), ib.epsilon_from_alpha(str(a))).matrix[0, 0]
        assert fair > printed * 1.0001
        powers = [abs(i - n // 2) for i in range(n + 1)]
        assert printed * sum(a**power for power in powers) < 1 - 1e-4
        if (n, a) == (1, 0.5):
            assert printed == pytest.approx(0.6306, abs=5e-5)
            assert fair == pytest.approx(2 / 3)


def test_exponents_of_the_fair_mechanism_are_those_of_the_proof():
    """|i-j| up to i = 2j and ceil(i/2) beyond, for j <= n/2, is the paper's (16); columns hold the same powers; rows
    and columns rise from the diagonal, rows by at most one.
    """
    for n in range(1, 13):
        paper = [[abs(i - j) if abs(i - j) <= min(j, n - j) else -(-(abs(i - j) + min(j, n - j)) // 2)
                  for j in range(n + 1)] for i in range(n + 1)]  # fmt: skip

        def proof(i, j, n=n):
            i, j = (i, j) if 2 * j <= n else (n - i, n - j)
            return abs(i - j) if i <= 2 * j else -(-i // 2)

        assert paper == [[proof(i, j) for j in range(n + 1)] for i in range(n + 1)]
        powers = [*range((n + 1) // 2 + 1), *range(1, n // 2 + 1)]
        assert all(sorted(column) == sorted(powers) for column in zip(*paper, strict=True))
        for i, j in product(range(n + 1), range(n)):
            step = paper[i][j + 1] - paper[i][j]
            assert step in ((0, 1) if j >= i else (0, -1))
            down = paper[j + 1][i] - paper[j][i]
            assert down >= 0 if j >= i else down <= 0


def test_fair_and_honest_mechanisms_have_no_gaps():
    """The least entry that each property allows is above 0; without any it is 0."""
    n, a = 3, 0.5
    for names, gap in (((F,), False), ((CH,), False), ((WEAK,), False), ((RM,), True), ((), True)):
        least = []
        for i, j in product(range(n + 1), repeat=2):
            entry = np.zeros((n + 1, n + 1))
            entry[i, j] = 1
            least.append(least_cost(n, a, names, entry)[0])
        assert (min(least) < 1e-9) is gap


def test_row_monotonicity_and_privacy_are_independent():
    made = ib.catalog.truncated_geometric(ib.count(3), 1).matrix[[3, 1, 2, 0]]
    exchanged = ib.certify(made, ib.count(3), 1)
    assert not has(exchanged, RM)
    identity = np.eye(4)
    assert all(row @ identity.ravel() <= 0 for row, _ in rows_of((RM,), 3))
    assert ib.audit(identity, ib.count(3)).epsilon == np.inf


def test_nine_combinations_of_row_and_column_properties_differ():
    implied = {RM: {RM, RH}, CM: {CM, CH}, RH: {RH}, CH: {CH}}
    closures = set()
    for chosen in product((False, True), repeat=4):
        names = [name for name, wanted in zip((RH, RM, CH, CM), chosen, strict=True) if wanted]
        closures.add(frozenset().union(*(implied[name] for name in names)))
    assert len(closures) == 9


def test_forbidding_zeros_lifts_unused_rows_above_the_least_value_near_their_diagonal():
    """Section III: n = 5, absolute error, alpha 0.62, all entries at least 0.01: row 0 falls from 0.068 to 0.01."""
    errors = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6)))
    A = edges_of_the_program(5, 0.62)
    found = linprog(errors.ravel(), A, np.zeros(len(A)), columns_sum(5), np.ones(6), bounds=(0.01, 1), method="highs")
    row = found.x.reshape(6, 6)[0]
    assert row[0] == pytest.approx(0.068, abs=5e-4)
    assert row[-2:] == pytest.approx([0.01, 0.01])
    assert least_cost(5, 0.62, (), errors)[1][0].max() < 1e-9  # without the bound it is never reported


def test_a_coin_above_one_half_is_private_and_has_all_properties():
    for p in (Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)):
        flip = np.array([[p, 1 - p], [1 - p, p]], dtype=float)
        made = ib.certify(flip, ib.count(1), ib.epsilon_from_alpha((1 - p) / p) if p > Fraction(1, 2) else "0.001")
        assert all(has(made, name) for name in NAMES)
        assert made.tight_epsilon() == pytest.approx(float(-np.log(float((1 - p) / p))), abs=1e-9)

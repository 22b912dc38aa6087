"""003's flowchart against the linear program, on all 128 property sets."""

from itertools import combinations

import numpy as np
import pytest

import inbounds as ib
from inbounds.catalog.fair import fair_matrix
from inbounds.design.problem import Problem
from inbounds.design.routes import linear_program
from inbounds.design.routes.flowchart import choose_closed_form
from inbounds.properties import NAMES, measure_violation, square_layout
from raising import rejects

SUBSETS = [frozenset(c) for size in range(8) for c in combinations(NAMES, size)]
TOTAL = 2**62
UNITS = 2**22  # 2^-40 of the total


def geometric(size, alpha):
    """GM from 003, Figure 3."""
    i = np.arange(size)
    P = alpha ** np.abs(i[:, None] - i) * ((1 - alpha) / (1 + alpha))
    P[[0, -1]] /= 1 - alpha
    return P if size > 1 else np.ones((1, 1))


def explicit_fair(size, alpha):
    return fair_matrix(size, -np.log(alpha))


def square(n, epsilon, loss, reach=1, **more):
    """One output per answer 0..n-1, answers at most `reach` apart neighbours, uniform prior unless given."""
    i, j = np.indices((n, n))
    table = {"absolute": abs(i - j), "squared": (i - j) ** 2, "zero-one": i != j}[loss].astype(float)
    cliques = tuple((k, k + reach + 1, 1.0) for k in range(n - reach))
    k = np.arange(n)
    return Problem(epsilon, cliques, table, home=k, below=k + 1, above=k, **{"prior": np.full(n, 1 / n)} | more)


def loss_of(problem, P):
    return float((problem.loss * P).sum(axis=0) @ problem.prior)


def chosen_matrix(n, alpha, choice, solved):
    if choice.mechanism == "GM":
        return geometric(n + 1, alpha)
    if choice.mechanism == "EM":
        return explicit_fair(n + 1, alpha)
    if choice not in solved:
        problem = square(n + 1, -np.log(alpha), "zero-one", properties=choice.constraints)
        solved[choice] = linear_program.solve(problem).matrix
    return solved[choice]


QUICK = [(0.62, 1), (0.62, 4), (10 / 11, 2)]
"""0.62 lies on both sides of the threshold between n = 3 and 4, 10/11 below it."""
MORE = {(alpha, n) for alpha in (0.3, 0.5, 0.62, 0.76, 10 / 11, 0.98) for n in (1, 2, 3, 4, 7)} - set(QUICK)


@pytest.mark.long
@pytest.mark.parametrize(
    ("alpha", "n"), [*QUICK, *(pytest.param(*each, marks=pytest.mark.slow) for each in sorted(MORE))]
)
def test_the_flowchart_is_optimal_and_has_what_was_asked_for_all_property_sets(n, alpha):
    solved, behaviours = {}, set()
    for asked in SUBSETS:
        choice = choose_closed_form(n, alpha, asked)
        behaviours.add(choice)
        P = chosen_matrix(n, alpha, choice, solved)
        weights = np.round(P * TOTAL).astype(np.int64)
        for name in asked:
            assert measure_violation(name, weights, square_layout(n + 1), TOTAL) <= UNITS, (choice, name)
        problem = square(n + 1, -np.log(alpha), "zero-one", properties=asked)
        assert loss_of(problem, P) == pytest.approx(loss_of(problem, linear_program.solve(problem).matrix), rel=1e-9)
    assert len(behaviours) <= 4


def test_geometric_is_weakly_honest_and_column_monotone_exactly_above_the_thresholds():
    for alpha in (0.3, 0.45, 0.5, 0.55, 0.7, 0.8, 0.9):
        for n in range(2, 25):
            weights = np.round(geometric(n + 1, alpha) * 2**40).astype(np.int64)
            honest = measure_violation("weakly_honest", weights, square_layout(n + 1), 2**40) <= 1
            falling = measure_violation("column_monotone", weights, square_layout(n + 1), 2**40) <= 1
            assert honest == (n >= 2 * alpha / (1 - alpha) - 1e-9)
            assert falling == (alpha <= 0.5)


def test_mean_truth_of_figure_7():
    assert np.trace(geometric(5, 10 / 11)) / 5 == pytest.approx(0.2381, abs=5e-5)
    assert np.trace(explicit_fair(5, 10 / 11)) / 5 == pytest.approx(0.2237, abs=5e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 9, 40])
@pytest.mark.parametrize("alpha", [0.2, 0.7, 0.99])
def test_explicit_fair_and_geometric_are_private_mechanisms(size, alpha):
    for P in (explicit_fair(size, alpha), geometric(size, alpha)):
        assert np.allclose(P.sum(axis=0), 1, rtol=0, atol=1e-13)
        assert (P[:, 1:] >= alpha * P[:, :-1] * (1 - 1e-13)).all()
        assert (P[:, :-1] >= alpha * P[:, 1:] * (1 - 1e-13)).all()


def test_alpha_outside_its_range_and_unknown_properties_are_refused():
    for alpha in (0.0, 1.0, float("nan")):
        with rejects(ValueError, "alpha"):
            choose_closed_form(4, alpha)
    with rejects(ValueError, "property"):
        choose_closed_form(4, 0.5, ["honest"])


@pytest.mark.parametrize("aim", ["average", "worst"])
def test_fair_mechanisms_come_from_the_formula_for_every_prior_and_aim(aim):
    """Lemma 1: all fair mechanisms lose 1 - y, under any prior and for the worst answer."""
    prior = [8, 4, 2, 1, 1] if aim == "average" else None
    made = ib.optimal(ib.count(4), 1, "zero-one", prior=prior, properties=["fair"], aim=aim)
    assert "flowchart, explicit fair" in str(made.origin)
    priors = {} if prior is None else {"prior": np.array(prior) / 16}
    problem = square(5, 1.0, "zero-one", properties=frozenset({"fair"}), worst=aim == "worst", **priors)
    assert 1 - made.matrix[0, 0] == pytest.approx(linear_program.solve(problem).bound, abs=1e-7)


def test_properties_without_fairness_under_a_prior_are_no_case_for_the_formula():
    prior = [96, 1, 1, 1, 1]
    made = ib.optimal(ib.count(4), 1, "zero-one", prior=prior, properties=["row_monotone"])
    even = ib.optimal(ib.count(4), 1, "zero-one", properties=["row_monotone"])
    assert "flowchart" in str(even.origin)
    assert made.loss("zero-one", prior) < 0.9 * even.loss("zero-one", prior)

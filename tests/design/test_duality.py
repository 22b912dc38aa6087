"""The lower bound is true for every dual vector: against the optimum, and against exact fractions to the last bit."""

from fractions import Fraction

import numpy as np
import pytest

from inbounds.design.bounds.duality import Duals, EqualityGroup, lower_bound
from inbounds.design.comparisons import privacy
from inbounds.design.problem import Problem
from inbounds.design.routes import linear_program

LINE, EVERYONE = "line", "everyone"


def problem_of(loss, neighbours=LINE, epsilon=0.5, prior=None, worst=False):
    n = len(loss)
    cliques = ((0, n, 1.0),) if neighbours == EVERYONE else tuple((j, j + 2, 1.0) for j in range(n - 1))
    prior = np.full(n, 1 / n) if prior is None else prior
    return Problem(epsilon, cliques, loss, prior, np.arange(n), np.arange(n) + 1, np.arange(n), worst)


def absolute(n):
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)


def apart(problem):
    """No two cells are known to be equal."""
    return np.arange(problem.loss.size)


def exact_bound(problem, duals):
    """sum_j min_i R[i, j] in fractions: the best bound that these multipliers can prove."""
    m, n = problem.shape
    weights = [max(Fraction(q), Fraction(0)) for q in (duals.answers if problem.worst else problem.prior).tolist()]
    R = [[Fraction(problem.loss[i, j]) * weights[j] / sum(weights) for j in range(n)] for i in range(m)]
    c = duals.comparisons
    for g, x, factor, y in zip(c.greater, c.lesser, c.factor, duals.values, strict=True):
        R[g // n][g % n] -= Fraction(factor) * max(Fraction(y), Fraction(0))
        R[x // n][x % n] += max(Fraction(y), Fraction(0))
    for hold in duals.holds:
        for i in range(m):
            rise, fall = ([max(Fraction(y), Fraction(0)) for y in part[i].tolist()] for part in (hold.rise, hold.fall))
            need = Fraction(hold.factor) * sum(rise)
            share = min(Fraction(1), sum(fall) / need) if need else Fraction(1)
            for k, j in enumerate(range(hold.start, hold.stop)):
                R[i][j] += share * rise[k] - fall[k]
    return sum(min(row[j] for row in R) for j in range(n))


def test_a_multiplier_of_the_wrong_sign_proves_nothing():
    """Kept as it is, -1 on P[i, j] against P[i, k] in every row would raise the bound beyond any loss."""
    problem = problem_of(absolute(4))
    best = problem.value(linear_program.solve(problem).matrix)
    compared = privacy(problem)
    j, k = compared.greater % 4, compared.lesser % 4
    values = np.where((j == 1) & (k == 2), -5.0, 0.0)
    assert (values < 0).sum() == 4
    assert lower_bound(problem, Duals(compared, values), apart(problem)) <= best
    cut = Duals(compared, np.maximum(values, 0.0))
    assert lower_bound(problem, Duals(compared, values), apart(problem)) == lower_bound(problem, cut, apart(problem))


@pytest.mark.parametrize(("rise", "fall"), [(5.0, 0.0), (5.0, 1.0), (-1.0, -5.0), (1e9, 1e-9)])
def test_a_clique_whose_multipliers_are_out_of_balance_proves_no_more_than_is_true(rise, fall):
    """rise without fall would pay for a least cell that nobody bounds."""
    problem = problem_of(absolute(4), EVERYONE)
    best = problem.value(linear_program.solve(problem).matrix)
    hold = EqualityGroup(0, 4, float(np.exp(0.5)), np.full((4, 4), rise), np.full((4, 4), fall))
    assert lower_bound(problem, Duals(holds=(hold,)), apart(problem)) <= best


@pytest.mark.parametrize("neighbours", [LINE, EVERYONE])
@pytest.mark.parametrize("worst", [False, True])
def test_the_bound_is_never_above_the_exact_value_of_its_multipliers(neighbours, worst):
    """Random multipliers of every size, wrong signs among them; and no further below than rounding explains."""
    rng = np.random.default_rng(5)
    for size in [0.0, 1e-3, 0.1, 1.0, 1e6, 1e15] * 12:
        n = int(rng.integers(2, 5))
        prior = rng.random(n)
        problem = problem_of(rng.random((n, n)), neighbours, float(rng.random()), prior / prior.sum(), worst)
        compared = privacy(problem)
        hold = EqualityGroup(0, n, float(np.exp(problem.epsilon)), *rng.normal(0.1, 0.1, (2, n, n)))
        holds = (hold,) if neighbours == EVERYONE else ()
        duals = Duals(compared, rng.normal(0.5, 1, len(compared)) * size, holds, answers=rng.random(n))
        found, true = Fraction(lower_bound(problem, duals, apart(problem))), exact_bound(problem, duals)
        assert found <= true
        assert true - found <= Fraction(1, 10**12) * (1 + Fraction(size) + abs(true))


def test_weights_whose_sum_was_rounded_down_do_not_lift_the_bound():
    """120 weights below half a unit in the last place vanish in a float sum, so what is divided by it is too large.

    Every report loses exactly 1 here, whatever the mechanism: no bound may be above it.
    """
    weights = np.full(128, 0.99 * 2.0**-53)
    weights[:8] = 1.0
    assert sum(map(Fraction, (weights / weights.sum()).tolist())) > 1 + 7 * Fraction(1, 2**52)
    problem = problem_of(np.ones((128, 128)), worst=True)
    assert 1 - 1e-12 <= lower_bound(problem, Duals(answers=weights), apart(problem)) <= 1

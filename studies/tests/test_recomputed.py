"""Two numbers of every paper, computed a second time by code that shares nothing with the package: sums, quadrature,
enumeration, and SciPy's linear programs written out here."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, linprog
from scipy.stats import laplace, wasserstein_distance

from inbounds.local.distance import kantorovich
from inbounds_studies import find
from inbounds_studies.paper_000 import LAPLACE, VARIANT_1, VARIANT_2
from inbounds_studies.paper_001 import GEOMETRIC, mechanism
from inbounds_studies.paper_003 import EM, GM, WH
from inbounds_studies.paper_004 import COUNT, MAX, MEAN, PREROUNDED


def entries(table, name):
    part = table.where(mechanism=name)
    return part.numbers("probability").reshape(len(part.distinct("output")), -1)


def program(loss, alpha, fair=False, honest=False):
    """min sum P·loss over P[output, answer] with a·P[i, j] <= P[i, j±1]; fair: one diagonal; honest: P[j, j] >= 1/n."""
    n = len(loss)
    rows, sums = [], np.zeros((n, n, n))
    for i, j in product(range(n), range(n)):
        sums[j, i, j] = 1
        for k in (j - 1, j + 1):
            if 0 <= k < n:
                row = np.zeros((n, n))
                row[i, j], row[i, k] = alpha, -1
                rows.append(row.ravel())
    equal, right = [sums[j].ravel() for j in range(n)], [1.0] * n
    for j in range(1, n) if fair else ():
        row = np.zeros((n, n))
        row[j, j], row[0, 0] = 1, -1
        equal.append(row.ravel())
        right.append(0.0)
    low = np.eye(n) / n if honest else np.zeros((n, n))
    bounds = [(b, 1) for b in low.ravel()]
    found = linprog(loss.ravel(), A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=equal, b_eq=right, bounds=bounds)
    return found.fun


def errors(n):
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)


# --- 000 --------------------------------------------------------------------------------------------------


def test_000_table_1_from_the_laplace_distribution():
    edges = np.array([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf])
    mine = np.array([np.diff(laplace.cdf(edges, loc=f, scale=4)) for f in range(1, 6)]).T
    assert np.abs(mine - entries(find("000-table1").run().table, LAPLACE)).max() < 1e-12


def test_000_table_3_from_a_program_written_out_here():
    best = program(errors(6), math.exp(-0.5))
    found = (entries(find("000-table3").run().table, VARIANT_1) * errors(6)).sum()
    assert best == pytest.approx(6.363223, abs=5e-7)
    assert found == pytest.approx(best, abs=1e-8)
    four = entries(find("000-table4").run().table, VARIANT_2)
    assert (four * errors(6)).sum() == pytest.approx(6.828620, abs=5e-7)
    assert (four * errors(6)).sum() >= program(errors(6), math.exp(-0.5), fair=True) - 1e-9


# --- 001 --------------------------------------------------------------------------------------------------


def test_001_the_update_of_definition_1_by_plain_sums():
    """Three iterations of p_i = sum_j q_j p_i G_ij / sum_h p_h G_hj, and (6) for G; distances by another library."""
    from inbounds import reconstruct

    top, a = 100, 2 ** (-1 / 10)
    G = [[_six(i, j, top, a) for j in range(top + 1)] for i in range(top + 1)]
    assert np.abs(mechanism(GEOMETRIC).matrix - np.array(G).T).max() < 1e-12
    counts = np.random.default_rng(1).multinomial(500, np.full(101, 1 / 101))
    p = [1 / 101] * 101
    for _ in range(3):
        said = [sum(p[h] * G[h][j] for h in range(101)) for j in range(101)]
        p = [sum(counts[j] / 500 * p[i] * G[i][j] / said[j] for j in range(101)) for i in range(101)]
    mine = reconstruct(counts, mechanism(GEOMETRIC), acceleration="none", iterations=3, given="counts").distribution
    assert np.abs(mine - p).max() < 1e-12
    values = np.arange(101)
    assert kantorovich(mine, counts) == pytest.approx(wasserstein_distance(values, values, p, counts / 500))


def _six(i, j, n, a):
    if j in (0, n):
        return a ** abs(i - j) / (1 + a)
    return (1 - a) / (1 + a) * a ** abs(i - j)


def test_001_ratios_of_the_two_mechanisms_by_division():
    table = find("001-fig1").run().table
    response = table.where(mechanism="randomized response").numbers("probability")
    assert response[50] / response[0] == pytest.approx(2)
    assert response[50] == pytest.approx(2 / 102)
    geometric = table.where(mechanism="geometric").numbers("probability")
    assert geometric[50] / geometric[40] == pytest.approx(2)
    assert geometric[50] == pytest.approx((1 - 2**-0.1) / (1 + 2**-0.1))


# --- 002 --------------------------------------------------------------------------------------------------


def test_002_least_scales_by_quadrature_and_closed_form():
    """ln N(f)/N(g) + |f - g|/s for the worst pair: on a half-line 0 and 1 away; (1 + e^e)/2 = e^(1/s)."""
    table = find("002-table2").run(cells=10).table
    own = brentq(lambda s: 1 / s + math.log(_kept(1, s) / _kept(0, s)) - 1, 0.5, 4)
    assert own == pytest.approx(1 / math.log((1 + math.e) / 2), rel=1e-6)
    assert table.number("plain", configuration="half-line") == pytest.approx(own, rel=1e-5)
    assert table.number("paper", configuration="half-line") == pytest.approx(1.586, abs=5e-4)


def _kept(at, scale):
    """Laplace mass above 0 of noise around `at`, by quadrature."""
    tail = quad(lambda x: math.exp(-abs(x - at) / scale) / (2 * scale), at, at + 60 * scale)[0]
    return tail + quad(lambda x: math.exp(-abs(x - at) / scale) / (2 * scale), 0, at)[0]


def test_002_theorem_1_at_a_hundred_sensitivities_from_its_equations():
    """W(-1/(2e)) solved from its equation, that of (33) at its branch point; the log-ratio from two exponentials."""
    w = brentq(lambda x: x * math.exp(x) + 1 / (2 * math.e), -1, 0)
    first = -1 / (w * math.e)
    inner = math.exp(-1) / first
    assert 2 * inner * math.exp(-inner) == pytest.approx(1 / math.e)  # the branch point of (33): W is -1 there
    second = -first / (-first + math.exp(-1))
    n1, n2 = 1 / (1 - 0.5), 1 / (1 - math.exp(-1 / second) / 2)
    loss = math.log(n1 / (2 * first)) - 100 / first - math.log(n2 / (2 * second)) + 99 / second
    table = find("002-theorem1").run(sizes=(2,), points=3).table
    found = table.number("value", panel="log-ratio by report", mechanism="paper's Theorem 1", x=100.0)
    assert found == pytest.approx(loss, rel=1e-6)
    assert loss > 13


# --- 003 --------------------------------------------------------------------------------------------------


def test_003_fair_and_free_optima_from_programs_written_out_here():
    """Figure 7: L0 is one minus the mean of the diagonal."""
    table = find("003-fig7").run().table
    wrong = 1 - np.eye(5)
    for name, fair in ((GM, False), (EM, True)):
        truth = 1 - program(wrong / 5, 10 / 11, fair=fair)
        assert np.diag(entries(table, name)).mean() == pytest.approx(truth, abs=1e-9)
        assert round(truth, 3) == {GM: 0.238, EM: 0.224}[name]


def test_003_weak_honesty_from_a_program_written_out_here():
    """Figure 9 at alpha 2/3: L0 = (n+1)/n · (1 - mean diagonal); meets 2a/(1+a) at n = 4, not at n = 3."""
    table = find("003-fig9").run(alphas=("2/3",), sizes=(3, 4)).table
    for n in (3, 4):
        mine = program((1 - np.eye(n + 1)) / n, 2 / 3, honest=True)
        assert table.number("value", n=n, mechanism=WH) == pytest.approx(mine, abs=1e-9)
        assert (abs(mine - 2 * (2 / 3) / (5 / 3)) < 1e-9) is (n == 4)


# --- 004 --------------------------------------------------------------------------------------------------


def test_004_closed_forms_by_quadrature_of_the_densities():
    table = find("004-fig3").run(alphas=("0.3",), runs=1000, cells=4).table
    e = -math.log(0.3)
    lap = 2 * quad(lambda x: x * e / 2 * math.exp(-e * x), 0, 60)[0]
    assert table.number("theory", query=MEAN, mechanism="Laplace") == pytest.approx(lap, rel=1e-8)
    gamma = 1 / (1 + math.exp(e / 2))
    height = (1 - 0.3) / (2 * (gamma + 0.3 * (1 - gamma)))
    heights = [(k, k + gamma, height * 0.3**k) for k in range(60)]
    heights += [(k + gamma, k + 1, height * 0.3 ** (k + 1)) for k in range(60)]
    stairs = sum(up * (right**2 - left**2) for left, right, up in heights)  # twice the integral of x over each step
    assert table.number("theory", query=MEAN, mechanism="staircase") == pytest.approx(stairs, rel=1e-8)
    geometric = sum(abs(v) * 0.7 / 1.3 * 0.3 ** abs(v) for v in range(-90, 91))
    assert table.number("theory", query=COUNT, mechanism="geometric") == pytest.approx(geometric, rel=1e-10)
    floor = quad(lambda x: (10 - x) / 10 * 5 * ((x + 10) / 20) ** 99, 5, 10)[0]
    assert floor == pytest.approx(2 / 101, rel=1e-6)
    heuristic = 2 * 0.3 / (1 - 0.09) + 0.7 / 1.3 * floor
    assert table.number("theory", query=MAX, mechanism=PREROUNDED) == pytest.approx(heuristic, rel=1e-4)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_004_the_median_of_k_geometric_reports_by_enumeration(k):
    mass = {v: 1 / 3 * 0.5 ** abs(v) for v in range(-9, 10)}
    loss = 0.0
    for reports in product(mass, repeat=k):
        loss += abs(sorted(reports)[(k - 1) // 2]) * math.prod(mass[r] for r in reports)
    table = find("004-fig4").run(colluders=(k,), runs=10, top=2).table
    found = table.number("value", query=COUNT, mechanism="geometric", colluders=k, kind="exact")
    assert found == pytest.approx(loss, abs=0.03)

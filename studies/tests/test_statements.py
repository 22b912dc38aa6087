"""Numbered statements of 000, 001, 002 and 004, proved or computed; those of 003 are in test_statements_003."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import lambertw
from scipy.stats import cauchy, laplace, logistic

import inbounds as ib
from inbounds.catalog import unbounded
from inbounds.catalog.scales import cut_masses, find_plain_loss, kept_mass
from inbounds.sideinfo import cauchy as smooth
from inbounds_studies.paper_002_scales import half_line_scales

INF = math.inf

# --- 000: properties of snapping (section 3) --------------------------------------------------------------


def test_sixty_percent_of_laplace_noise_leave_the_likert_scale():
    """Section 1.1: answer 3, epsilon 1, sensitivity 4: exp(-2/4) = 0.6065 of the mass is below 1 or above 5."""
    outside = 2 * laplace.cdf(1, loc=3, scale=4)
    assert outside == pytest.approx(0.6065, abs=5e-5)


@pytest.mark.parametrize("noise", [laplace(scale=4), cauchy(scale=8), logistic(scale=4)])
def test_snapping_private_noise_keeps_all_requirements(noise):
    """Theorem 1 (R.1 to R.3): certified, columns sum to one, finitely many reports that hold all answers."""
    query = ib.extreme(1, 5)
    made = ib.catalog.snapped_noise(query, 1, noise.cdf)
    assert made.matrix.sum(axis=0) == pytest.approx(np.ones(5))
    assert set(query.answers.numbers()) <= set(query.output_values)


def test_snapping_keeps_row_monotonicity_only_where_an_end_cell_holds_one_answer():
    """Theorem 2. Ten answers, five cells: 0 and 1 share the first, and M[0,0] = .764 > M[0,1] = .611, against (12)."""
    shared = ib.catalog.snapped_laplace(ib.count(9, outputs=5), "0.5")
    assert shared.matrix[0, :2] == pytest.approx([0.764, 0.611], abs=5e-4)
    assert np.abs(shared.matrix - shared.matrix[::-1, ::-1]).max() < 1e-12  # symmetric all the same
    for query, epsilon in product((ib.count(9), ib.extreme(1, 5), ib.mean(5, 0, 4)), ("0.1", "0.5", "2")):
        for family in (ib.catalog.snapped_laplace, ib.catalog.snapped_staircase):
            found = family(query, epsilon).properties()
            assert found["row_monotone"]
            assert found["symmetric"]


def test_the_mass_of_a_cell_falls_with_its_distance_from_the_answer():
    """Theorem 2 with one answer for each cell, whatever the symmetric density that falls: cells by their centres."""
    for tail in (laplace(scale=1.3).sf, cauchy(scale=0.7).sf, logistic(scale=2).sf):
        at = np.arange(0.0, 9.0)
        inner, end = tail(np.abs(at) - 0.5) - tail(at + 0.5), tail(at - 0.5)
        assert (np.diff(inner) <= 0).all()
        assert (np.diff(end) <= 0).all()


def test_snapping_may_lose_column_monotonicity_and_fairness():
    """Section 3.3, on Table 1."""
    found = ib.catalog.snapped_laplace(ib.extreme(1, 5), 1).properties()
    assert not found["column_monotone"]
    assert not found["fair"]


def test_the_printed_staircase_recursion_runs_away_below_the_answer():
    """(20) shifts by -k·dF on both sides: 1.5 below the answer it asks for 2.5 below, and so on for ever."""
    x, visited = -1.5, []
    for _ in range(4):
        visited.append(abs(x))
        x -= math.floor(abs(x))
    assert visited == sorted(visited)
    assert visited[-1] > 8
    shape = unbounded.staircase_density(np.array([-1.5, 1.5]), 1)
    assert shape[0] == shape[1] == pytest.approx(math.exp(-1) * unbounded.staircase_density([0.5], 1)[0])


def test_smallest_largest_and_median_have_one_sensitivity_and_one_set_of_answers():
    """Section 4.3: each can take every value of 0..9, and one of five records can move it from end to end."""
    for statistic, records in ((min, [9] * 4), (max, [0] * 4), (lambda r: sorted(r)[2], [0, 0, 9, 9])):
        assert {statistic([*records, v]) for v in range(10)} == set(range(10))


def test_cauchy_noise_at_eight_times_the_smooth_sensitivity_is_private_and_loose():
    """Section 4.3.5: scale 8S/epsilon costs 2·asinh(epsilon/16) + beta; at beta = epsilon/4, 0.375 of epsilon."""
    for e in (0.2, 1.0, 2.0):
        spent = 2 * math.asinh(e / 16) + e / 4
        assert spent < 0.376 * e
        assert spent == pytest.approx(0.375 * e, rel=2e-3)


def test_clipped_laplace_and_geometric_noise_tell_as_much_as_the_noise_and_staircase_noise_does_not():
    """Section 3.1 says the noise tells more. Chances of a report beyond the range, against those of the end."""
    a, answers = Fraction(1, 2), range(5)
    end = [a**f / (1 + a) for f in answers]
    for beyond in (-1, -7):
        report = [(1 - a) / (1 + a) * a ** (f - beyond) for f in answers]
        assert {x / y for x, y in zip(report, end, strict=True)} == {report[0] / end[0]}
    at = np.arange(5.0)
    for low, high in ((-3.0, -2.5), (-40.0, -39.0)):
        mass = laplace.cdf(high, at, 2) - laplace.cdf(low, at, 2)
        assert mass / laplace.cdf(0, at, 2) == pytest.approx(np.full(5, mass[0] / laplace.cdf(0, 0, 2)))
    shape = unbounded.staircase_density(-0.2 - at, 1, 4) / unbounded.staircase_density(-2.2 - at, 1, 4)
    assert np.ptp(shape) > 0.5


def test_variant_1_never_reports_the_ends_of_table_3():
    made = ib.catalog.variant_1(ib.count(5), "0.5")
    assert made.matrix[[0, 5]].max() < 1e-12


def test_the_largest_value_has_the_same_answers_and_neighbours_for_every_size():
    """Section 4.3.1: all records of 0..2, of one to four records; neighbours differ in one of them."""
    seen = set()
    for size in (1, 2, 3, 4):
        databases = [*product(range(3), repeat=size)]
        pairs = {(max(d), max((*d[:k], v, *d[k + 1 :]))) for d in databases for k in range(size) for v in range(3)}
        seen.add(frozenset(pairs))
    assert seen == {frozenset(product(range(3), repeat=2))}


# --- 001 --------------------------------------------------------------------------------------------------


def geometric_rows(n, a):
    """001 (6) in fractions: row i is the answer, column j the report."""
    ends, inside = 1 / (1 + a), (1 - a) / (1 + a)
    return [[(ends if j in (0, n) else inside) * a ** abs(i - j) for j in range(n + 1)] for i in range(n + 1)]


def determinant(rows):
    rows, found = [list(row) for row in rows], Fraction(1)
    for k in range(len(rows)):
        found *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return found


@pytest.mark.parametrize("a", [Fraction(1, 3), Fraction(9, 10)])
def test_the_truncated_geometric_mechanism_is_d_private_and_invertible(a):
    """Propositions 1 and 2: det G = (1-a²)^n·(1-a)^(n-1)/(1+a)^(n+1), which is zero at a = 1 only."""
    for n in range(1, 7):
        G = geometric_rows(n, a)
        assert all(sum(row) == 1 for row in G)
        for i, k, j in product(range(n + 1), repeat=3):
            assert G[i][j] <= a ** -abs(i - k) * G[k][j]
        assert determinant(G) == (1 - a * a) ** n * (1 - a) ** (n - 1) / (1 + a) ** (n + 1)


def test_unbounded_geometric_masses_sum_to_one_and_clamp_to_the_truncated_ones():
    """(5) and (6)."""
    a = 0.7
    mass = unbounded.geometric_mass(np.arange(-400, 401), ib.epsilon_from_alpha("0.7"))
    assert mass.sum() == pytest.approx(1)
    assert mass[:401].sum() == pytest.approx(1 / (1 + a))  # all at 0 and below, from answer 0
    assert mass[:398].sum() == pytest.approx(a**3 / (1 + a))


def update(p, q, channel):
    return p * (channel @ (q / (p @ channel)))


def test_the_update_needs_powers_of_alpha_only_and_climbs_to_the_maximum():
    """Definition 1 and Theorem 1: factors of a column cancel; the limit meets the conditions of a concave maximum."""
    n, a = 6, 0.6
    G = np.array(geometric_rows(n, a), dtype=float)
    powers = a ** np.abs(np.subtract.outer(np.arange(n + 1.0), np.arange(n + 1)))
    q = np.random.default_rng(4).dirichlet(np.ones(n + 1))
    for start in (np.full(n + 1, 1 / (n + 1)), np.arange(1.0, n + 2) / 28):
        p = start
        assert update(p, q, G) == pytest.approx(update(p, q, powers))
        seen = [float(q @ np.log(p @ G))]
        for k in range(8_000):
            p = update(p, q, G)
            if k % 500 == 0:
                seen.append(float(q @ np.log(p @ G)))
        assert (np.diff(seen) >= -1e-14).all()
        gradient = G @ (q / (p @ G))  # at most 1 everywhere, and 1 where p > 0: no distribution is likelier
        assert gradient.max() < 1 + 1e-3
        assert p @ gradient == pytest.approx(1)


def test_where_the_inverse_is_a_distribution_it_is_the_maximum():
    """Proposition 3: then p·G = q, and no distribution of reports is likelier than q."""
    G = np.array(geometric_rows(5, 0.5), dtype=float)
    true = np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    q = true @ G
    assert q @ np.linalg.inv(G) == pytest.approx(true)
    for other in np.random.default_rng(0).dirichlet(np.ones(6), 20):
        assert q @ np.log(other @ G) < q @ np.log(q)
    assert (G @ (q / (true @ G))) == pytest.approx(np.ones(6))


def test_the_bound_of_the_geometric_mechanism_is_larger_for_values_further_away():
    """Section 4 says smaller: at epsilon = ln 2 the ratio is 2 for neighbours, 4 at a distance of two, 1024 at ten."""
    G = geometric_rows(20, Fraction(1, 2))
    assert [G[10][10] / G[10 + d][10] for d in (1, 2, 10)] == [2, 4, 1024]
    for reach in (10, 100):  # epsilon = ln 2/reach
        wide = geometric_rows(100, 0.5 ** (1 / reach))
        assert wide[0][0] / wide[reach][0] == pytest.approx(2)


def test_the_inverse_of_g_is_local_and_that_of_randomized_response_is_not():
    """Three diagonals against a full matrix."""
    G = np.array(geometric_rows(20, 2**-0.1), dtype=float)
    apart = np.abs(np.subtract.outer(np.arange(21), np.arange(21)))
    assert np.abs(np.linalg.inv(G)[apart > 1]).max() < 1e-9
    response = np.linalg.inv((np.ones((21, 21)) + np.eye(21)) / 22)
    assert np.abs(response[apart > 1]).min() > 0.9


# --- 002: section 3 ---------------------------------------------------------------------------------------

HALF_LINE = np.array([(0.0, INF)])


@pytest.mark.parametrize(("f", "g", "s", "t"), [(0.0, 1.0, 1.5, 1.1), (3.0, 0.5, 0.7, 0.7)])
def test_the_generalized_guarantee_is_the_ratio_of_two_densities(f, g, s, t):
    """(8), (9) and (13): sigma and n of two answers on a half-line, against densities written out."""
    x = 2.25
    mass = [float(kept_mass(HALF_LINE, np.array([at]), scale)[0]) for at, scale in ((f, s), (g, t))]
    here, there = (laplace.pdf(x, at, scale) / m for at, scale, m in zip((f, g), (s, t), mass, strict=True))
    printed = t / s * (mass[1] / mass[0]) * math.exp(abs(x - g) / t - abs(x - f) / s)
    assert here / there == pytest.approx(printed)


def test_the_worst_case_of_section_3_5_forgets_far_reports_on_the_other_side():
    """(15) calls the third case the largest. With (32) and (33) at 0 and 1, constraint above, the first is larger from
    7 sensitivities below on, and has no bound; in (19) the first has none either where the scales are exchanged.
    """
    first, second = half_line_scales(1.0, 1.0, 1.0)
    third = 1 / second  # at the constraint: Delta x1 = 0, Delta x2 = 1

    def below(distance):  # x left of f(D2): Delta x1 = distance, Delta x2 = distance - 1
        return (distance - 1) / second - distance / first

    assert below(100) > 12
    assert below(1000) > 120
    assert below(1000) > 100 * third


def test_the_laplace_scale_fails_at_the_constraint_for_every_distance():
    """(24): 2·exp(i·epsilon) - 1 <= exp(i·epsilon) asks that i·epsilon <= 0; the excess grows from 0."""
    for v in (1e-6, 0.1, 1.0, 5.0):
        assert 2 * math.exp(v) - 1 > math.exp(v)
        f, g = 0.0, v  # epsilon 1 and sensitivity 1: v sensitivities apart at scale 1
        mass = kept_mass(HALF_LINE, np.array([f, g]), 1.0)
        assert v + math.log(mass[1] / mass[0]) == pytest.approx(math.log(2 * math.exp(v) - 1), rel=1e-6)


# --- 002: Lemmas 1 to 6 (one infinite constraint) ---------------------------------------------------------

BRANCH = float(lambertw(-1 / (2 * math.e)).real)
"""W(-1/(2e)) = -0.2320."""


def w(x, branch):
    return float(lambertw(max(x, -1 / math.e), branch).real)


def papers_second_scale(v, first, branch):
    """(33) in units of sensitivity/epsilon at distance v = i·epsilon: it depends on v and on sigma_1 alone."""
    inner = v * math.exp(-v) / first
    return -v * first / (w(-2 * inner * math.exp(-inner), branch) * first + v * math.exp(-v))


def bound_30(v, branch):
    inner = BRANCH * v * math.exp(1 - v)
    return v / (inner - w(2 * inner * math.exp(inner), branch))


FIRST = -1 / (BRANCH * math.e)
"""(32) in units of sensitivity/epsilon: 1.5860."""


def loss_at_constraint(first, second, v):
    """Log-ratio at the constraint of the densities of answers 0 and v away from it, less what v allows: (25), (26)."""
    return math.log(second * (2 * math.exp(v / second) - 1) / first) - v


@pytest.mark.parametrize("v", [0.05, 0.4, 0.9, 1.3, 2.5, 6.0])
def test_scales_outside_28_and_29_are_not_private_at_the_constraint(v):
    """Lemma 1, its first two bounds: (28), (29) are the ends of what (26) allows, for (32) and above."""
    for first in (FIRST, 1.8, 2.5):
        low, high = papers_second_scale(v, first, -1), papers_second_scale(v, first, 0)
        assert low <= high
        assert loss_at_constraint(first, low, v) == pytest.approx(0, abs=1e-6)
        assert loss_at_constraint(first, high, v) == pytest.approx(0, abs=1e-6)
        assert loss_at_constraint(first, 0.99 * low, v) > 0
        assert loss_at_constraint(first, 1.01 * high, v) > 0


def has_partner(scale, v, beyond):
    """Whether an answer `beyond` further away has any scale that (25) allows beside `scale` at v."""
    u = 1 + BRANCH  # where (2·exp(u) - 1)/u is least
    least = 2 * math.exp(u) * (v + beyond)
    return least <= math.exp(beyond) * scale * (2 * math.exp(v / scale) - 1) * (1 + 1e-12)


def test_30_and_31_are_necessary_up_to_a_distance_of_1_over_epsilon_only():
    """Lemma 1, its other bounds: a scale between (31) and (30) leaves some answer further away without a scale, if
    v = i·epsilon < 1. The worst answer lies at 1; for v = 2 it would lie behind, and every scale has partners.
    """
    further = np.linspace(0, 8, 4001)
    for v in (0.2, 0.5, 0.8):
        between = math.sqrt(bound_30(v, 0) * bound_30(v, -1))
        assert bound_30(v, -1) < between < bound_30(v, 0)
        assert not all(has_partner(between, v, d) for d in further)
        for kept in (1.001 * bound_30(v, 0), 0.999 * bound_30(v, -1)):
            assert all(has_partner(kept, v, d) for d in further)
    low, high = sorted(bound_30(2.0, branch) for branch in (0, -1))
    assert all(has_partner(scale, 2.0, d) for d in further for scale in np.linspace(low, high, 9))


DISTANCES = np.concatenate([np.linspace(0.01, 0.99, 99), np.linspace(1.01, 30, 500)])


def test_with_the_first_scale_of_32_all_four_bounds_meet():
    """Lemma 2: (28) is (30) and (29) is (31), so (33) has exactly two values."""
    for v in DISTANCES:
        for branch in (0, -1):
            assert papers_second_scale(v, FIRST, branch) == pytest.approx(bound_30(v, branch), rel=1e-6)
    for e, d in ((0.3, 2.0), (3.0, 0.5)):  # and only v counts
        found = half_line_scales(e, d, 0.7 * d / e)[1]
        assert found * e / d == pytest.approx(papers_second_scale(0.7, FIRST, 0), rel=1e-9)


def test_the_derivatives_denominator_changes_sign_with_the_branch():
    """Lemma 3: negative for W, positive for W_-1, and zero for both at i = 1/epsilon, where W is -1."""
    for v in DISTANCES:
        inner = v * math.exp(-v) / FIRST
        for branch, sign in ((0, -1), (-1, 1)):
            root = w(-2 * inner * math.exp(-inner), branch)
            assert sign * (root * math.exp(v) * FIRST + v) * (root + 1) > 0
    inner = math.exp(-1) / FIRST
    assert -2 * inner * math.exp(-inner) == pytest.approx(-1 / math.e)


def test_the_scales_are_unimodal_with_their_mode_at_1_over_epsilon():
    """Lemmas 4 and 6: the principal branch falls to 1.302 and rises, the other rises to it and falls."""
    for branch, sign in ((0, -1), (-1, 1)):
        change = sign * np.diff([papers_second_scale(v, FIRST, branch) for v in DISTANCES])
        assert (change[:97] > 0).all()
        assert (change[99:] < 0).all()
        assert papers_second_scale(1 - 1e-6, FIRST, branch) == pytest.approx(1.302, abs=1e-3)


def test_the_argument_of_w_falls_to_its_only_minimum_at_1_over_epsilon():
    """Lemma 5: -2y·exp(-y) with y = v·exp(-v)/sigma_1 at most 0.232 < 1: it moves with v·exp(-v) alone."""
    y = DISTANCES * np.exp(-DISTANCES) / FIRST
    values = -2 * y * np.exp(-y)
    assert y.max() <= 0.2320
    assert (np.diff(values[:99]) < 0).all()
    assert (np.diff(values[99:]) > 0).all()


# --- 002: Lemmas 7 to 10, Theorems 2 and 3 (several constraints) ------------------------------------------


def span_bounds(spans, scale, rate):
    """For each end of a span, epsilon allowed minus (35) in both directions: the larger of (1-2L), (1-2R) over kept."""
    ends = spans[np.isfinite(spans)]
    left, right = cut_masses(spans, ends, scale)
    return rate - (1 + np.abs(left - right) / (1 - left - right)) / scale


def pairs_lose_no_more(spans, scale, rate, points=121):
    at = np.concatenate([np.linspace(max(low, -8), min(high, 12), points) for low, high in spans])
    log, apart = np.log(kept_mass(spans, at, scale)), np.abs(np.subtract.outer(at, at))
    loss = apart / scale + np.abs(np.subtract.outer(log, log))
    return bool((loss <= rate * apart + 1e-9).all())


def random_spans(rng):
    spans = np.cumsum(np.exp(rng.normal(-0.5, 1.2, 2 * rng.integers(1, 5)))).reshape(-1, 2)
    spans[0, 0], spans[-1, 1] = rng.choice([-INF, spans[0, 0]]), rng.choice([INF, spans[-1, 1]])
    return spans


def test_a_span_is_private_at_a_scale_that_meets_35_at_its_ends():
    """Lemma 7: inside a span (1-2L)/(1-L-R) rises to the right end and (1-2R)/(1-L-R) to the left one."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        spans = random_spans(rng)
        scale = ib.find_scale(spans.tolist(), 1, 1, "metric")
        assert span_bounds(spans, scale, 1.0).min() >= -1e-9
        for low, high in spans:
            inside = np.linspace(max(low, -8), min(high, 12), 50)
            left, right = cut_masses(spans, inside, scale)
            kept = 1 - left - right
            assert (np.diff((1 - 2 * left) / kept) >= -1e-12).all()
            assert (np.diff((1 - 2 * right) / kept) <= 1e-12).all()
        assert pairs_lose_no_more(spans, scale, 1.0, 81)


NARROW = np.array([(-INF, -5.0), (-1e-6, 0.0), (0.01, 0.01 + math.exp(-5)), (60.0, INF)])
"""Two narrow spans, 0.01 apart, between holes of 5 and of 60 sensitivities."""


def test_a_larger_scale_may_violate_what_a_smaller_one_keeps_within_a_span():
    """Lemma 8: its proof forgets that L and R change with the scale. For epsilon 1.05, sensitivity 1, the second span
    keeps (35) at scale 1 and breaks it at 1.2: what lies across the hole of 5 comes to outweigh what lies right of it.
    """

    def largest(scale):
        left, right = cut_masses(NARROW, NARROW[1], scale)
        return float(((1 + np.abs(left - right) / (1 - left - right)) / scale).max())

    assert largest(1.0) < 1.05
    assert largest(1.2) > 1.22
    assert largest(1.9) < 1.05


def test_a_larger_scale_may_violate_37_across_a_hole_too():
    """Lemma 9: a scale exists, 2·sensitivity/epsilon at most, but larger ones may fail: across the hole of 0.01 answers
    keep epsilon 1.05 at scale 1 and break it at 1.2.
    """

    def rate(scale):
        ends = np.array([NARROW[1, 1], NARROW[2, 0]])
        log = np.log(kept_mass(NARROW, ends, scale))
        return float((abs(log[1] - log[0]) / 0.01) + 1 / scale)

    assert rate(1.0) < 1.05
    assert rate(1.2) > 1.22
    assert rate(2 / 1.05) < 1.05


def test_every_bound_on_the_scale_is_below_twice_the_laplace_scale():
    """Lemma 10, whose proof the appendix leaves out: with A, B the mass kept on either side, (35) is
    2·max(A, B)/(A + B)/sigma < 2/sigma, because finite constraints leave both above 0; across holes it is its mean.
    """
    rng = np.random.default_rng(10)
    for _ in range(12):
        spans = random_spans(rng)
        spans[0, 0], spans[-1, 1] = -INF, INF
        assert 1 - 1e-9 <= ib.find_scale(spans.tolist(), 1, 1, "metric") < 2


def test_the_3n_plus_2_bounds_decide_and_those_across_holes_never_bind():
    """Theorem 2, for metric privacy: at the scale of the 2n bounds at ends of spans all pairs pass, and just below it
    some pair fails. Across a hole the loss per distance is a mean of values that are largest at an end.
    """
    rng = np.random.default_rng(2)
    for _ in range(12):
        spans = random_spans(rng)
        scale = ib.find_scale(spans.tolist(), 1, 1, "metric")
        assert pairs_lose_no_more(spans, scale, 1.0)
        near = np.concatenate([spans, spans + 1e-6, spans - 1e-6]).ravel()
        near = np.unique(near[np.isfinite(near)])
        near = near[((near[:, None] >= spans[:, 0]) & (near[:, None] <= spans[:, 1])).any(axis=1)]
        log, apart = np.log(kept_mass(spans, near, 0.99 * scale)), np.abs(np.subtract.outer(near, near))
        loss = apart / (0.99 * scale) + np.abs(np.subtract.outer(log, log))
        assert scale <= 1 + 1e-9 or (loss > apart * (1 + 1e-4) + 1e-12).any()


def test_the_largest_bound_falls_with_the_scale_so_bisection_finds_the_least():
    """Theorem 3 rests on Lemma 8, which is false; what it needs is true. At the worst end f, A <= B the mass kept left
    and right of it, optimality of f over all ends gives E_r <= (A + B)/(2A), E_r the mean distance to the right in
    scales, so d ln(2B/(A + B)/s)/d ln s = A(E_r - E_l)/(A + B) - 1 <= -1/2: the largest bound falls at least like
    1/sqrt(s). The narrow spans of Lemmas 8 and 9 are in the sample.
    """
    rng = np.random.default_rng(3)
    sample = [spans for spans in (random_spans(rng) for _ in range(60)) if np.isfinite(spans).any()]
    for spans in (NARROW, *sample):
        scales = np.exp(np.linspace(-2.5, 2.5, 41))
        worst = np.array([1 - span_bounds(spans, s, 1.0).min() for s in scales])
        assert (np.diff(np.log(worst)) <= -0.5 * np.diff(np.log(scales)) + 1e-9).all()


def test_bisection_takes_as_many_steps_as_theorem_3_counts():
    """d + log(sensitivity/epsilon) digits of the scale: bisection of (0, 2·sensitivity/epsilon) halves once for each
    bit, and each step takes L and R of 2n ends with n + 1 spans: n² exponentials.
    """
    spans = NARROW.tolist()
    exact = ib.find_scale(spans, 8, "0.5", "metric")
    for digits in (3, 6):
        low, high, steps = 0.0, 2 * 8 / 0.5, 0
        while high - low > 10**-digits:
            middle, steps = (low + high) / 2, steps + 1
            low, high = (low, middle) if span_bounds(NARROW, middle, 0.5 / 8).min() >= 0 else (middle, high)
        assert steps == math.ceil(math.log2(2 * 8 / 0.5 * 10**digits))
        assert high == pytest.approx(exact, abs=10**-digits)


def test_with_an_infinite_constraint_the_least_metric_scale_is_exactly_twice_the_laplace_scale():
    """Corollary 1: "at most 2·sensitivity/epsilon" is equality as soon as one constraint is infinite, since L = 1/2 at
    its edge makes (35) 2/sigma. No search is needed.
    """
    rng = np.random.default_rng(1)
    for _ in range(8):
        spans = random_spans(rng)
        spans[0, 0] = 0.0 if not math.isfinite(spans[0, 0]) else spans[0, 0]
        for e in (0.2, 3.0):
            assert ib.find_scale(spans.tolist(), 1, str(e), "metric") * e == pytest.approx(2, rel=1e-9)
        assert find_plain_loss(spans, 2.0, 1.0) <= 1 + 1e-12


# --- 004 --------------------------------------------------------------------------------------------------


def test_smooth_sensitivity_that_decays_with_all_of_epsilon_leaves_nothing_for_the_noise():
    """(3) decays with epsilon. Cauchy noise of scale S/a costs 2·asinh(a/2) + beta: at beta = epsilon no a > 0 fits."""
    for e in ("0.2", "1", "2"):
        with pytest.raises(ValueError, match="beta"):
            smooth.split(e, e)
        parts = smooth.split(e, float(e) / 2)
        assert parts.beta == pytest.approx(float(e) / 2)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.5"])
def test_the_two_forms_of_the_staircase_are_one_density_at_the_best_gamma(epsilon):
    """(8) with (9), and (22): (1-a)/(2·sqrt(a))·a^ceil(|x| - gamma) is the density of 000 (20), (21) if gamma is the
    best; with another gamma its mass is not 1.
    """
    a, gamma = math.exp(-float(epsilon)), unbounded.upper_step(epsilon)
    x = np.array([0.0, 0.2, gamma - 1e-9, gamma + 1e-9, 0.99, 1.0, 1.7, 2.0 + gamma + 1e-9])
    printed = (1 - a) / (2 * math.sqrt(a)) * a ** np.ceil(x - gamma)
    assert printed == pytest.approx(unbounded.staircase_density(x, epsilon))

    def mass(width):
        return (1 - a) / math.sqrt(a) * (width + a * (1 - width)) / (1 - a)

    assert mass(gamma) == pytest.approx(1)
    assert abs(mass(0.9) - 1) > 0.05


def test_sensitivities_of_the_three_queries():
    """(1): one record moves a count by 1, the mean of n values 0..k by k/n and the largest by k."""
    assert ib.count(9).sensitivity == 1
    assert ib.mean(10, 0, 4).sensitivity == Fraction(4, 10)
    assert ib.extreme(0, 9).sensitivity == 9


def test_the_two_programs_are_the_designers_two_aims():
    """OPT1 and OPT2, for counts: each optimum is no worse than the other by its own measure."""
    query, prior = ib.count(6), np.arange(1.0, 8) / 28
    bayes, averse = ib.optimal(query, 1, prior=prior), ib.optimal(query, 1, aim="worst")
    assert bayes.loss("absolute", prior) <= averse.loss("absolute", prior)
    assert averse.worst_loss("absolute") <= bayes.worst_loss("absolute")
    for made in (bayes, averse):
        assert made.tight_epsilon() <= 1


def test_a_count_is_found_out_exponentially_fast():
    """Section 5.3.2: the error of the median falls by a constant factor for ten more colluders, not like 1/sqrt(k)."""
    found = [unbounded.median_error("geometric", ib.epsilon_from_alpha("0.5"), k) for k in (21, 41, 61, 81, 101)]
    ratios = [later / earlier for earlier, later in pairwise(found)]
    assert max(ratios) < 0.3
    mean = [unbounded.median_error("laplace", ib.epsilon_from_alpha("0.5"), k) for k in (21, 81)]
    assert mean[0] / mean[1] == pytest.approx(2, rel=0.05)


def test_k_reports_of_one_question_reach_k_epsilon():
    """Section 5.3: (1-a)/(1+a)·a^|r-f| for answers 0 and 1 and three reports of 1 or more: the ratio is a^-3."""
    a = Fraction(1, 3)

    def chance(answer, reports):
        return math.prod((1 - a) / (1 + a) * a ** abs(r - answer) for r in reports)

    for reports in ((1, 1, 1), (1, 2, 5)):
        assert chance(1, reports) / chance(0, reports) == a**-3
    assert max(chance(1, r) / chance(0, r) for r in product(range(-3, 5), repeat=3)) == a**-3


def test_on_a_bounded_range_the_best_guess_is_not_the_report():
    """Section 4.2.3 calls rounding the best remap; for counts 0..4 at alpha 0.9 report 0 is best read as another."""
    made = ib.catalog.truncated_geometric(ib.count(4), ib.epsilon_from_alpha("0.9"))
    guesses = [made.best_guess(report) for report in range(5)]
    assert guesses[0] > 0
    assert guesses[4] < 4

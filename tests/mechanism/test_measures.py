"""Measures of a mechanism: every number against a second way to get it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.mechanism import Mechanism, Origin, round_to_weights
from inbounds.mechanism.bayes import format_percent
from inbounds.mechanism.laws import Matrix, Noise, clamped
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.trusted.bounds import TOTAL
from raising import rejects

QUERIES = (
    ib.count(1),
    ib.count(4),
    ib.mean(3, 0, 2),
    ib.extreme(1, 5),
    ib.count(7, outputs=3),
    ib.interval(0, 6, 1, 6, holes=[(2, 3)]),
    ib.count(3, outputs=ib.cells(Fraction(-9, 2), Fraction(15, 2), 12)),
)
LABELS = ib.category(["red", "green", "blue"])


@st.composite
def mechanisms(draw, queries=(*QUERIES, LABELS)):
    """Random matrices, repaired until they are private: from nearly deterministic to nearly uniform."""
    query = draw(st.sampled_from(queries))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    matrix = rng.dirichlet(np.full(query.shape[0], draw(st.sampled_from([0.05, 1.0, 20.0]))), query.shape[1]).T
    epsilon = Fraction(draw(st.sampled_from(["0.1", "1", "5"])))
    return Mechanism(query, epsilon, Matrix(round_to_weights(matrix, query, epsilon)), Origin("random"))


@st.composite
def priors(draw, size):
    """Whole weights, zeros included, not all zero."""
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    return [Fraction(w, sum(weights)) for w in weights]


def fractions(m):
    return [[Fraction(int(w), TOTAL) for w in row] for row in m.weights]


def values(query):
    return [cell[2] for cell in query.outputs], list(query.answers)


LOSSES = {
    "absolute": lambda r, a: abs(r - a),
    "squared": lambda r, a: (r - a) ** 2,
    "off by one": lambda r, a: Fraction(abs(r - a) > 1),
}


def loss_named(name):
    return ib.threshold_loss(1) if name == "off by one" else name


def close(computed, exact):
    return computed == pytest.approx(float(exact), rel=1e-11, abs=1e-13)


# --- at face value ----------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(mechanisms(QUERIES), st.sampled_from(sorted(LOSSES)), st.data())
def test_losses_equal_a_direct_double_sum_in_fractions(m, name, data):
    """Average under any prior, per answer and worst case, as floats and as exact Fractions."""
    P, (reported, answers) = fractions(m), values(m.query)
    prior = data.draw(priors(len(answers)))
    per_answer = [sum(P[i][j] * LOSSES[name](r, a) for i, r in enumerate(reported)) for j, a in enumerate(answers)]
    average = sum(q * x for q, x in zip(prior, per_answer, strict=True))
    loss = loss_named(name)
    for computed, exact in zip(m.loss_per_answer(loss), per_answer, strict=True):
        assert close(computed, exact)
    assert close(m.loss(loss, [float(q) for q in prior]), average)
    assert close(m.worst_loss(loss), max(per_answer))
    assert m.exact_measures.loss_per_answer(loss) == per_answer
    assert m.exact_measures.loss(loss, prior) == average
    assert m.exact_measures.worst_loss(loss) == max(per_answer)


@settings(max_examples=60, deadline=None)
@given(mechanisms())
def test_zero_one_loss_and_truth_count_the_cell_that_holds_the_answer(m):
    """Also where cells are coarse and report a value that is no answer."""
    P, home = fractions(m), m.query.home_cell
    truth = [P[home[j]][j] for j in range(len(m.query.answers))]
    assert m.exact_measures.truth_probability() == truth
    assert m.exact_measures.loss("zero-one") == 1 - sum(truth) / len(truth)
    for computed, exact in zip(m.truth_probability(), truth, strict=True):
        assert close(computed, exact)
    assert close(m.loss("zero-one"), 1 - sum(truth) / len(truth))


@settings(max_examples=60, deadline=None)
@given(mechanisms(QUERIES))
def test_bias_variance_rmse_and_ends_equal_their_definitions_in_fractions(m):
    """Moments of the report, column by column."""
    P, (reported, answers) = fractions(m), values(m.query)
    for j, a in enumerate(answers):
        mean = sum(P[i][j] * r for i, r in enumerate(reported))
        variance = sum(P[i][j] * (r - mean) ** 2 for i, r in enumerate(reported))
        square = sum(P[i][j] * (r - a) ** 2 for i, r in enumerate(reported))
        assert m.exact_measures.bias()[j] == mean - a
        assert m.exact_measures.variance()[j] == variance
        assert close(m.bias()[j], mean - a)
        assert close(m.variance()[j], variance)
        assert close(m.rmse()[j] ** 2, square)
        assert close(m.end_probability()[j], P[0][j] + P[-1][j])
        assert m.exact_measures.end_probability()[j] == P[0][j] + P[-1][j]


def test_a_single_output_is_both_ends_and_counts_once():
    """With one cell everything is reported as it."""
    m = ib.catalog.uniform(ib.count(3, outputs=1), 1)
    assert m.end_probability().tolist() == [1, 1, 1, 1]
    assert m.exact_measures.end_probability() == [1, 1, 1, 1]


def test_any_table_or_function_is_a_loss():
    """The same loss said three ways gives the same numbers."""
    m = ib.catalog.truncated_geometric(ib.count(6), "0.7")
    table = [[abs(i - j) ** 3 for j in range(7)] for i in range(7)]
    said = [m.loss(table), m.loss(lambda r, a: abs(r - a) ** 3), m.loss(ib.power_loss(3))]
    assert said == pytest.approx([float(m.exact_measures.loss(table))] * 3, rel=1e-13)


def test_measures_of_numbers_are_refused_for_labels():
    """Labels have no distance and no ends."""
    m = ib.catalog.randomized_response(LABELS, 1)
    for measure in (m.bias, m.variance, m.rmse, m.end_probability, m.exact_measures.bias, m.loss):
        with rejects(ValueError, about="numeric"):
            measure()


@pytest.mark.parametrize("n", [2, 3, 4, 9, 20])
@pytest.mark.parametrize("a", ["0.3", "0.62", "10/11"])
def test_zero_one_scores_meet_the_closed_forms_of_the_count_paper(n, a):
    """003: (n+1)/n times the mean chance of an untruth is 2a/(1+a) for GM, (n+1)/n·(1-y) for EM, 1 for UM."""
    query, epsilon, alpha = ib.count(n), ib.epsilon_from_alpha(a), float(Fraction(a))
    score = {
        make.__name__: (n + 1) / n * make(query, epsilon).loss("zero-one")
        for make in (ib.catalog.truncated_geometric, ib.catalog.explicit_fair, ib.catalog.uniform)
    }
    half = n // 2
    tail = 0 if n % 2 == 0 else alpha ** (half + 1)
    y = 1 / (1 + 2 * sum(alpha**k for k in range(1, half + 1)) + tail)
    if n % 2 == 0:
        assert y == pytest.approx((1 - alpha) / (1 + alpha - 2 * alpha ** (n / 2 + 1)), rel=1e-12)
    assert score["truncated_geometric"] == pytest.approx(2 * alpha / (1 + alpha), rel=1e-12)
    assert score["explicit_fair"] == pytest.approx((n + 1) / n * (1 - y), rel=1e-12)
    assert score["uniform"] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 2.5])
def test_losses_far_from_the_ends_meet_the_closed_forms_of_the_oblivious_paper(epsilon):
    """004 (13)-(15) for counts: geometric, rounded Laplace, rounded staircase."""
    query, a = ib.count(120), math.exp(-epsilon)
    middle = {
        make.__name__: make(query, epsilon).loss_per_answer()[60]
        for make in (ib.catalog.truncated_geometric, ib.catalog.snapped_laplace, ib.catalog.snapped_staircase)
    }
    root = math.sqrt(a)
    assert middle["truncated_geometric"] == pytest.approx(2 * a / (1 - a * a), rel=1e-9)
    assert middle["snapped_laplace"] == pytest.approx(root / (1 - a), rel=1e-9)
    assert middle["snapped_staircase"] == pytest.approx((1 - (1 - root) ** 2 / 2) * root / (1 - a), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_fine_cells_approach_the_continuous_losses_of_the_oblivious_paper(epsilon):
    """004 (11), (12): 1/epsilon for Laplace, sqrt(a)/(1-a) for the staircase, at unit sensitivity."""
    query, a = ib.interval(0, 24, 1, 24, outputs=2_400), math.exp(-epsilon)
    laplace = ib.catalog.snapped_laplace(query, epsilon).loss_per_answer()[12]
    staircase = ib.catalog.snapped_staircase(query, epsilon).loss_per_answer()[12]
    assert laplace == pytest.approx(1 / epsilon, rel=1e-4)
    assert staircase == pytest.approx(math.sqrt(a) / (1 - a), rel=1e-4)


# --- noise tables -----------------------------------------------------------------------------------------

REMAPS = {
    "none": lambda n, rng: None,
    "ends moved in": lambda n, rng: np.clip(np.arange(n + 1), 2, n - 2),
    "monotone": lambda n, rng: np.sort(rng.integers(0, n + 1, n + 1)),
    "any": lambda n, rng: rng.integers(0, n + 1, n + 1),
    "constant": lambda n, rng: np.full(n + 1, n // 2),
}


@pytest.mark.parametrize("remap", REMAPS)
@pytest.mark.parametrize(("n", "epsilon"), [(6, "1"), (40, "0.5"), (200, "2"), (200, "0.1")])
def test_closed_forms_of_noise_tables_equal_the_written_out_matrix(n, epsilon, remap):
    """Same law, two representations, every measure; the range is longer than the noise in one case."""
    query, bound = ib.count(n), Fraction(epsilon)
    law = make_geometric_noise(query, bound, REMAPS[remap](n, np.random.default_rng(n)))
    compact = Mechanism(query, bound, law, Origin("compact"))
    dense = Mechanism(query, bound, Matrix(law.matrix(query)), Origin("dense"))
    for measure in ("truth_probability", "end_probability"):
        assert np.allclose(getattr(compact, measure)(), getattr(dense, measure)(), rtol=1e-15, atol=1e-16)
    for measure in ("bias", "variance"):
        assert np.allclose(getattr(compact, measure)(), getattr(dense, measure)(), rtol=1e-11, atol=1e-14 * n * n)
    assert np.allclose(compact.rmse() ** 2, dense.rmse() ** 2, rtol=1e-11, atol=1e-14 * n * n)
    for loss in ("absolute", "squared", "zero-one", ib.threshold_loss(3), ib.power_loss("1/2")):
        assert np.allclose(compact.loss_per_answer(loss), dense.loss_per_answer(loss), rtol=1e-11, atol=1e-14 * n * n)


@pytest.mark.parametrize("remap", ["ends moved in", "monotone", "any"])
@pytest.mark.parametrize("block", [1, 7, 41])
def test_closed_forms_do_not_depend_on_the_size_of_their_blocks(monkeypatch, block, remap):
    """Steps are taken in blocks; the sums are the same wherever they are cut."""
    query, bound = ib.count(40), Fraction(1, 2)
    law = make_geometric_noise(query, bound, REMAPS[remap](40, np.random.default_rng(3)))
    m = Mechanism(query, bound, law, Origin("compact"))
    dense = Mechanism(query, bound, Matrix(law.matrix(query)), Origin("dense"))
    monkeypatch.setattr(clamped, "BLOCK", block)
    assert np.allclose(m.bias(), dense.bias(), rtol=1e-11, atol=1e-11)
    assert np.allclose(m.loss_per_answer(), dense.loss_per_answer(), rtol=1e-11, atol=1e-11)


def test_closed_forms_serve_noise_tables_that_report_in_coarse_cells():
    """A remap into cells is judged by the cells' values and by which cell holds the answer."""
    query, bound = ib.count(30, outputs=4), Fraction(1)
    law = make_geometric_noise(ib.count(30), bound, query.home_cell)
    law = Noise(law.core, law.floor, law.end, law.size, query.home_cell)
    compact = Mechanism(query, bound, law, Origin("compact"))
    dense = Mechanism(query, bound, Matrix(law.matrix(query)), Origin("dense"))
    for measure in ("truth_probability", "end_probability", "bias", "variance", "loss_per_answer"):
        assert np.allclose(getattr(compact, measure)(), getattr(dense, measure)(), rtol=1e-11, atol=1e-12)


def test_a_large_count_has_all_face_value_measures():
    """Each equals the plain sum over 200,000 noise values, in extended precision, at chosen answers."""
    n = 10**5
    m = ib.catalog.truncated_geometric(ib.count(n), "0.5")
    t = m.law.all_weights().astype(np.longdouble) / TOTAL
    absolute, truth, ends, bias, variance = (
        m.loss_per_answer(),
        m.truth_probability(),
        m.end_probability(),
        m.bias(),
        m.variance(),
    )
    for j in (0, 1, 37, n // 2, n - 2, n):
        reported = np.clip(j + np.arange(-n, n + 1), 0, n)
        error = (reported - j).astype(np.longdouble)
        mean = (t * error).sum()
        assert absolute[j] == pytest.approx(float((t * abs(error)).sum()), rel=1e-11)
        assert bias[j] == pytest.approx(float(mean), rel=1e-9, abs=1e-11)
        assert variance[j] == pytest.approx(float((t * (error - mean) ** 2).sum()), rel=1e-9)
        assert truth[j] == pytest.approx(float(t[reported == j].sum()), rel=1e-14)
        assert ends[j] == pytest.approx(float(t[(reported == 0) | (reported == n)].sum()), rel=1e-14)
    a = math.exp(-0.5)
    assert absolute[n // 2] == pytest.approx(
        2 * a / (1 - a * a), rel=1e-6
    )  # the tails' floor shows in the seventh digit


def test_measures_that_need_the_matrix_say_so_at_a_million():
    """Bayesian users and losses that are no function of the error."""
    m = ib.catalog.truncated_geometric(ib.count(10**6), "0.5")
    for measure in (m.bayes_loss, m.interpretations, m.mutual_information, m.remap, m.exact_measures.loss):
        with pytest.raises(ib.TooLarge):
            measure()
    with pytest.raises(ib.TooLarge):
        m.loss(lambda r, a: abs(r - a))


# --- Bayesian users ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(mechanisms(QUERIES), st.sampled_from(sorted(LOSSES)), st.data())
def test_bayes_loss_equals_the_corrected_formula_in_fractions(m, name, data):
    """sum over outputs of the least joint loss over guesses: 000 (25), (26) without the second Pr(r)."""
    P, (_, answers) = fractions(m), values(m.query)
    prior = data.draw(priors(len(answers)))
    exact = sum(
        min(
            sum(q * row[j] * LOSSES[name](guess, a) for j, (q, a) in enumerate(zip(prior, answers, strict=True)))
            for guess in answers
        )
        for row in P
    )
    loss = loss_named(name)
    assert m.exact_measures.bayes_loss(loss, prior) == exact
    assert close(m.bayes_loss(loss, [float(q) for q in prior]), exact)


@settings(max_examples=60, deadline=None)
@given(mechanisms((*QUERIES[:4], LABELS)), st.sampled_from(["absolute", "squared", "zero-one"]), st.data())
def test_bayes_loss_never_exceeds_the_face_value_loss(m, loss, data):
    """Where every output is an answer, a user may keep it; exactly, in Fractions."""
    if not m.query.is_ordered:
        loss = "zero-one"
    prior = data.draw(priors(len(m.query.answers)))
    assert m.exact_measures.bayes_loss(loss, prior) <= m.exact_measures.loss(loss, prior)


@settings(max_examples=60, deadline=None)
@given(mechanisms(), st.data())
def test_posteriors_are_bayes_rule_and_average_back_to_the_prior(m, data):
    """prior = sum over outputs of Pr[output]·posterior."""
    prior = data.draw(priors(len(m.query.answers)))
    weights = np.array([float(q) for q in prior])
    total = np.zeros(len(prior))
    for i, value in enumerate(m.query.output_values):
        chance = float(m.matrix[i] @ weights)
        if chance > 0:
            after = m.posterior(value, weights)
            assert after == pytest.approx(m.matrix[i] * weights / chance, rel=1e-12)
            total += chance * after
        else:
            with rejects(ValueError, "output", about="possible"):
                m.posterior(value, weights)
    assert total == pytest.approx(weights, rel=1e-11, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(mechanisms(), st.data())
def test_information_is_what_entropy_falls_by_and_no_remap_raises_it(m, data):
    """Entropies from the definition; then random remaps, deterministic and randomized, lose information."""
    prior = np.array([float(q) for q in data.draw(priors(len(m.query.answers)))])

    def entropy(p):
        return -sum(x * math.log2(x) for x in p.ravel() if x > 0)

    joint = m.matrix * prior
    information = entropy(prior) + entropy(joint.sum(axis=1)) - entropy(joint)
    assert m.mutual_information(prior) == pytest.approx(information, abs=1e-11)
    assert m.posterior_entropy(prior) == pytest.approx(entropy(prior) - information, abs=1e-11)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    outputs = m.query.shape[0]
    table = m.query.output_values[rng.integers(0, outputs, outputs)]
    mixed = rng.dirichlet(np.full(outputs, 0.3), outputs).T
    for remap in (table, mixed):
        after = m.postprocess(remap)
        assert after.mutual_information(prior) <= m.mutual_information(prior) + 1e-11
        loss = "absolute" if m.query.is_ordered else "zero-one"
        assert after.bayes_loss(loss, prior) >= m.bayes_loss(loss, prior) - 1e-11


@settings(max_examples=60, deadline=None)
@given(mechanisms(), st.sampled_from([0.5, 0.9, 1.0]), st.data())
def test_a_credible_set_is_the_smallest_that_holds_its_level(m, level, data):
    """Brute force over all runs of answers, or all subsets of labels."""
    from itertools import combinations

    prior = [float(q) for q in data.draw(priors(len(m.query.answers)))]
    size = len(prior)
    for reading in m.interpretations(level, prior, "zero-one"):
        if not reading.answers:
            continue
        after = m.posterior(reading.output, prior)
        sets = (
            [range(a, b) for a in range(size) for b in range(a + 1, size + 1)]
            if m.query.is_ordered
            else [c for k in range(1, size + 1) for c in combinations(range(size), k)]
        )
        enough = [s for s in sets if after[list(s)].sum() >= level - 1e-9]
        least = min(len(s) for s in enough)
        assert len(reading.answers) <= least
        assert reading.probability >= level - 1e-9
        assert reading.probability >= max(after[list(s)].sum() for s in enough if len(s) == least) - 1e-9
        found = m.credible_set(reading.output, level, prior)
        assert found.answers == reading.answers
        likeliest = (reading.best_guess, m.best_guess(reading.output, "zero-one", prior))  # either one of a tie
        assert all(after[m.query.encode([guess])[0]] == pytest.approx(after.max()) for guess in likeliest)


@settings(max_examples=40, deadline=None)
@given(mechanisms(QUERIES), st.data())
def test_a_doubted_reading_holds_under_every_contaminated_prior(m, data):
    """at_least is met by random contaminations of the prior and reached by the worst one."""
    prior = np.array([float(q) for q in data.draw(priors(len(m.query.answers)))])
    names = m.query.answers.numbers().tolist()
    for i, reading in enumerate(m.interpretations(0.8, prior, doubt=0.2)):
        if not reading.answers:
            continue
        inside = np.isin(names, reading.answers)
        worlds = [*np.eye(len(prior)), *np.random.default_rng(i).dirichlet(np.ones(len(prior)), 5)]
        held = []
        for other in worlds:
            joint = m.matrix[i] * (0.8 * prior + 0.2 * other)
            held.append(joint[inside].sum() / joint.sum())
        assert min(held) >= reading.at_least - 1e-12
        assert min(held) == pytest.approx(min(reading.at_least, 1.0), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(mechanisms(QUERIES), st.data())
def test_coverage_averages_to_the_level_and_regret_is_never_negative(m, data):
    """Under the prior the sets hold at least the level; guesses of a wrong prior lose at least as much."""
    prior = np.array([float(q) for q in data.draw(priors(len(m.query.answers)))])
    other = np.array([float(q) for q in data.draw(priors(len(m.query.answers)))])
    covered = m.coverage(0.8, prior)
    direct = sum(r.chance * r.probability for r in m.interpretations(0.8, prior))
    assert covered @ prior == pytest.approx(direct, rel=1e-11)
    assert covered @ prior >= 0.8 - 1e-9
    assert m.regret(prior, prior) == 0
    guesses = np.array([m.query.encode(g) for g in m.remap("absolute", other)])
    answers = m.query.answers.floats()
    loss = sum(m.matrix[i] @ (prior * abs(answers[guesses[i]] - answers)) for i in range(len(guesses)))
    assert m.regret(other, prior) == pytest.approx(loss - m.bayes_loss("absolute", prior), abs=1e-11)
    assert m.regret(other, prior) >= 0


def test_the_remap_for_worst_case_users_meets_the_worst_prior():
    """Minimax: its worst loss equals the largest Bayes loss over priors, found by scanning them all."""
    m = ib.certify([[0.7, 0.4], [0.3, 0.6]], ib.count(1), 1)
    R = m.worst_remap("absolute")
    mixed = R @ m.matrix
    worst = max(mixed[1, 0], mixed[0, 1])
    largest = max(m.bayes_loss("absolute", [p, 1 - p]) for p in np.linspace(0, 1, 4_001))
    assert worst == pytest.approx(largest, abs=2e-4)
    assert worst < m.worst_loss() - 1e-3


@settings(max_examples=20, deadline=None)
@given(mechanisms(QUERIES[:4]))
def test_the_remap_for_worst_case_users_beats_keeping_the_report(m):
    """It is a stochastic matrix, never worse than identity or the best guesses, never below any Bayes loss."""
    R = m.worst_remap("absolute")
    assert R.min() >= 0
    assert R.sum(axis=0) == pytest.approx(np.ones(R.shape[1]), rel=1e-12)
    loss = np.abs(np.subtract.outer(m.query.answers.floats(), m.query.answers.floats()))
    worst = (loss * (R @ m.matrix)).sum(axis=0).max()
    assert worst <= m.worst_loss("absolute") + 1e-7
    assert worst >= m.bayes_loss("absolute") - 1e-7
    after = m.postprocess(R)
    assert after.worst_loss() == pytest.approx(worst, abs=1e-7)


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_the_geometric_mechanism_and_its_worst_case_remap_meet_the_worst_case_optimum(loss):
    """On counts two programs agree: noise first and remap after, or the whole mechanism at once."""
    query = ib.count(9)
    m = ib.catalog.truncated_geometric(query, "0.6")
    after = m.postprocess(m.worst_remap(loss)).worst_loss(loss)
    assert after == pytest.approx(ib.optimal(query, "0.6", loss, aim="worst").worst_loss(loss), rel=1e-6)


def test_a_deterministic_remap_is_exact_and_its_loss_is_the_bayes_loss():
    """Integers are moved, not rounded."""
    m = ib.catalog.snapped_laplace(ib.count(8), "0.3")
    after = m.postprocess(m.remap("absolute"))
    assert after.exact_measures.loss("absolute") == m.exact_measures.bayes_loss("absolute")
    assert after.epsilon == m.epsilon


@pytest.mark.parametrize("query", [ib.count(5), ib.mean(5, 1, 5), ib.extreme(1, 5), ib.count(9, outputs=5)])
def test_the_average_with_the_mirror_image_is_symmetric_and_private(query, judge):
    """003 Theorem 1, for designs that were far from symmetric."""
    made = ib.optimal(query, 1, prior=np.arange(1.0, len(query.answers) + 1))
    mirrored = made.symmetrize()
    assert not made.properties()["symmetric"]
    assert mirrored.properties()["symmetric"]
    assert mirrored.loss("squared") == pytest.approx(made.loss("squared"), rel=1e-12)
    assert judge.certifies(mirrored)


def test_only_a_query_that_is_its_own_mirror_image_has_a_symmetric_average():
    """Not one whose declared neighbours differ at the two ends."""
    lopsided = ib.with_neighbours(ib.count(4), [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)])
    for query in (lopsided, ib.category(["a", "b", "c"])):
        with rejects(ValueError, "symmetrize"):
            ib.optimal(query, 1, "zero-one").symmetrize()
    balanced = ib.with_neighbours(ib.count(4), [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (2, 4)])
    assert ib.optimal(balanced, 1).symmetrize().properties()["symmetric"]


def test_bad_input_is_refused_with_the_rule(golden):
    """One sentence that says what is allowed."""

    m = ib.catalog.truncated_geometric(ib.count(5), 1)
    golden.errors(
        "wrong_measures",
        [
            lambda: m.loss("absolute", [1, 2]),
            lambda: m.exact_measures.loss("absolute", [1, 2]),
            lambda: m.exact_measures.loss("absolute", [0] * 6),
            lambda: m.bayes_loss("absolute", [-1, 1, 1, 1, 1, 1]),
            lambda: m.posterior(2.5),
            lambda: m.credible_set(2, 0),
            lambda: m.interpretations(1.5),
            lambda: m.interpretations(doubt=1),
            lambda: m.postprocess([1, 2, 3]),
            lambda: m.postprocess(np.full((6, 6), 0.5)),
            lambda: m.loss("cubic"),
        ],
    )


def test_percentages_are_rounded_down():
    """A sentence that claims 90 % must not stand on 89.96 %."""
    assert [format_percent(p) for p in (0.9, 0.8996, 0.95999, 0.9995, 1.0)] == [
        "90 %",
        "89 %",
        "95 %",
        "99.9 %",
        "100 %",
    ]


# --- what the range paper claims --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "epsilon"), [(ib.mean(10, 0, 4), "0.5"), (ib.extreme(0, 9), "0.1"), (ib.count(12), "2")]
)
def test_variant_1_has_the_least_average_loss_at_face_value(query, epsilon):
    """000 §4.3.3: against everything of the catalog that fits, absolute error, uniform prior."""
    from inbounds.evaluate.compare import compare

    assert "variant_1" in compare(query, epsilon, losses=["absolute"]).best("absolute")


def test_boundary_snapping_at_high_privacy_is_worse_than_uniform_for_fine_cells():
    """000 §4.3.2: mass pools at the ends; coarser cells lose less."""
    fine, coarse = ib.mean(10, 0, 4), ib.mean(10, 0, 4, outputs=5)
    c = ib.catalog
    assert c.snapped_laplace(fine, "0.05").loss() > 1.1 * c.uniform(fine, "0.05").loss()
    assert c.snapped_staircase(fine, "0.05").loss() > 1.1 * c.uniform(fine, "0.05").loss()
    assert c.snapped_laplace(coarse, "0.05").loss() < c.snapped_laplace(fine, "0.05").loss()


@pytest.mark.parametrize("query", [ib.mean(4, 0, 4), ib.extreme(0, 9)], ids=["mean", "max"])
def test_widening_the_range_to_300_percent_leaves_the_optimum_and_hurts_the_snapped(query):
    """000 §4.3.4: at high privacy; the Bayes loss of the snapped mechanisms does not suffer."""
    low, high = query.outputs[0][0], query.outputs[-1][1]
    outputs = ib.cells(low - (high - low), high + (high - low), 3 * len(query.outputs))
    wide = ib.RangeQuery(query.kind, query.answers, outputs, query.neighbours)
    c = ib.catalog
    assert c.variant_1(wide, "0.2").loss() == pytest.approx(c.variant_1(query, "0.2").loss(), rel=1e-9)
    for make in (c.snapped_laplace, c.snapped_staircase):
        assert make(wide, "0.2").loss() > 1.3 * make(query, "0.2").loss()
        assert make(wide, "0.2").bayes_loss() <= make(query, "0.2").bayes_loss() * (1 + 1e-9)

"""Which mechanisms are the geometric one in disguise, and which refine which."""

import numpy as np
import pytest

import inbounds as ib
from raising import rejects

QUERY, EPSILON = ib.count(6), "0.5"
DERIVABLE = [
    ib.catalog.truncated_geometric,
    ib.catalog.folded_geometric,
    ib.catalog.uniform,
    ib.catalog.snapped_laplace,
    ib.catalog.variant_1,
]
NOT_DERIVABLE = [ib.catalog.explicit_fair, ib.catalog.randomized_response]


@pytest.mark.parametrize("make", DERIVABLE)
def test_post_processed_geometric_mechanisms_are_derivable_and_the_remap_rebuilds_them(make):
    mechanism = make(QUERY, EPSILON)
    found = ib.is_derivable(mechanism)
    geometric = ib.catalog.truncated_geometric(QUERY, EPSILON)
    assert found
    assert np.allclose(found.remap.sum(axis=0), 1)
    assert np.abs(found.remap @ geometric.matrix - mechanism.matrix).max() < 1e-9


@pytest.mark.parametrize("make", NOT_DERIVABLE)
def test_fair_mechanisms_are_not_derivable(make):
    """003: the test fails for EM at every n > 1."""
    assert not ib.is_derivable(make(QUERY, EPSILON))


@pytest.mark.parametrize("n", [3, 4, 8])
def test_the_weakly_honest_mechanism_is_not_derivable_at_strong_privacy(n):
    assert not ib.is_derivable(ib.catalog.weakly_honest(ib.count(n), ib.epsilon_from_alpha("10/11")))


@pytest.mark.parametrize("make", DERIVABLE + NOT_DERIVABLE)
def test_the_three_term_test_agrees_with_the_linear_program(make):
    """Two independent answers to the same question: P·G^-1 has no negative entry; some remap gets all the way."""
    geometric, mechanism = ib.catalog.truncated_geometric(QUERY, EPSILON), make(QUERY, EPSILON)
    assert bool(ib.is_derivable(mechanism)) == bool(ib.check_refinement(geometric, mechanism))


def test_the_three_adjacent_entries_condition_is_what_is_tested():
    """(1 + a²)·P[i, j] >= a·(P[i, j-1] + P[i, j+1]) everywhere, or not derivable (003, section IV-D)."""
    a = np.exp(-0.5)
    for make in DERIVABLE + NOT_DERIVABLE:
        P = make(QUERY, EPSILON).matrix
        holds = ((1 + a * a) * P[:, 1:-1] - a * (P[:, :-2] + P[:, 2:]) >= -1e-12).all()
        assert holds == bool(ib.is_derivable(make(QUERY, EPSILON)))


def test_a_random_remap_is_refined_by_its_source_and_never_refines_it():
    rng = np.random.default_rng(5)
    source = ib.catalog.explicit_fair(ib.count(4), 1)
    for _ in range(20):
        remap = rng.dirichlet(np.ones(5) * 0.4, size=5).T
        made = ib.certify(remap @ source.matrix, source.query, 1)
        assert ib.check_refinement(source, made)
        assert not ib.check_refinement(made, source)


def test_derivable_is_a_question_about_counts():
    with rejects(ValueError, "derivable", about="count"):
        ib.is_derivable(ib.catalog.uniform(ib.extreme(0, 3), 1))


def test_refines_needs_the_same_answers():
    with rejects(ValueError, "refines", about="answers"):
        ib.check_refinement(ib.catalog.uniform(ib.count(3), 1), ib.catalog.uniform(ib.count(4), 1))


def random_mechanism(rng: np.random.Generator, n: int) -> ib.Mechanism:
    """A private matrix of no special form, epsilon 1."""
    query = ib.extreme(0, n - 1)
    rows = 1 + (np.e - 1) * rng.random((n, n))
    mixed = rows * rng.dirichlet(np.ones(n))[:, None]
    return ib.certify(0.3 * mixed / mixed.sum(axis=0) + 0.7 / n, query, 1)


def test_refinement_is_being_better_for_every_loss_and_prior():
    """Where it holds no user ever prefers the coarser one; where it does not, the refutation names one who does."""
    rng, refuted = np.random.default_rng(11), 0
    for k in range(60):
        n = int(rng.integers(2, 6))
        finer = random_mechanism(rng, n)
        coarser = finer.postprocess(rng.dirichlet(np.ones(n), n).T) if k % 2 else random_mechanism(rng, n)
        found = ib.check_refinement(finer, coarser)
        if found:
            for _ in range(40):
                loss, prior = rng.random((n, n)), rng.dirichlet(np.ones(n))
                assert finer.bayes_loss(loss, prior) <= coarser.bayes_loss(loss, prior) + 1e-8
            assert found.refutation is None
        elif found.refutation is not None:
            refuted += 1
            loss, prior = found.refutation.loss, found.refutation.prior
            assert finer.bayes_loss(loss, prior) == pytest.approx(found.refutation.finer, rel=1e-9)
            assert coarser.loss(loss, prior) == pytest.approx(found.refutation.coarser, rel=1e-9)
            assert coarser.bayes_loss(loss, prior) < finer.bayes_loss(loss, prior)
    assert refuted >= 20


def test_closer_is_losing_less_for_every_loss_that_grows_with_the_error():
    """000, Theorem 3, and the other way round: what is not closer loses more for a threshold and a sure prior."""
    rng, kinds = np.random.default_rng(12), []
    for k in range(60):
        n = int(rng.integers(2, 6))
        second = random_mechanism(rng, n)
        first = second
        if k % 2:  # a little of every column moved to the truth, and the same from a private matrix of its own
            P = 0.98 * second.matrix + 0.02 * np.eye(n)
            first = ib.certify(P, second.query, 3)
        elif k % 4:
            first = random_mechanism(rng, n)
        found = ib.compare_closeness(first, second)
        kinds.append(bool(found))
        if found:
            for _ in range(30):
                steps = np.append(0.0, np.cumsum(rng.random(n) * (rng.random(n) < 0.5)))
                table = steps[np.abs(np.arange(n)[:, None] - np.arange(n))]
                prior = rng.dirichlet(np.ones(n))
                assert first.loss(table, prior) <= second.loss(table, prior) + 1e-11
        else:
            sure = np.eye(n)[int(found.answer)]
            loss = ib.threshold_loss(found.distance)
            assert first.loss(loss, sure) == pytest.approx(float(found.first), abs=1e-12)
            assert first.loss(loss, sure) > second.loss(loss, sure) == pytest.approx(float(found.second), abs=1e-12)
    assert {True, False} == set(kinds)


def test_an_optimum_is_minimal_in_the_order():
    """000, Corollary 1: nothing private is closer than the optimum unless the optimum is as close."""
    best = ib.optimal(QUERY, EPSILON)
    for make in DERIVABLE + NOT_DERIVABLE:
        other = make(QUERY, EPSILON)
        assert (
            not ib.compare_closeness(other, best)
            or ib.compare_closeness(best, other)
            or other.loss() <= best.loss() + 1e-9
        )


def test_closer_needs_distances():
    label = ib.catalog.randomized_response(ib.category(["a", "b"]), 1)
    with rejects(ValueError, "closer", about="distances"):
        ib.compare_closeness(label, label)

"""Which mechanisms are the geometric one in disguise, and which refine which."""

import numpy as np
import pytest

import inbounds as ib

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
    found = ib.derivable(mechanism)
    geometric = ib.catalog.truncated_geometric(QUERY, EPSILON)
    assert found
    assert np.allclose(found.remap.sum(axis=0), 1)
    assert np.abs(found.remap @ geometric.matrix - mechanism.matrix).max() < 1e-9


@pytest.mark.parametrize("make", NOT_DERIVABLE)
def test_fair_mechanisms_are_not_derivable(make):
    """003: the test fails for EM at every n > 1."""
    assert not ib.derivable(make(QUERY, EPSILON))


@pytest.mark.parametrize("n", [3, 4, 8])
def test_the_weakly_honest_mechanism_is_not_derivable_at_strong_privacy(n):
    assert not ib.derivable(ib.catalog.weakly_honest(ib.count(n), ib.alpha("10/11")))


@pytest.mark.parametrize("make", DERIVABLE + NOT_DERIVABLE)
def test_the_three_term_test_agrees_with_the_linear_program(make):
    """Two independent answers to the same question: P·G^-1 has no negative entry; some remap gets all the way."""
    geometric, mechanism = ib.catalog.truncated_geometric(QUERY, EPSILON), make(QUERY, EPSILON)
    assert bool(ib.derivable(mechanism)) == bool(ib.refines(geometric, mechanism))


def test_the_three_adjacent_entries_condition_is_what_is_tested():
    """(1 + a²)·P[i, j] >= a·(P[i, j-1] + P[i, j+1]) everywhere, or not derivable (003, section IV-D)."""
    a = np.exp(-0.5)
    for make in DERIVABLE + NOT_DERIVABLE:
        P = make(QUERY, EPSILON).matrix
        holds = ((1 + a * a) * P[:, 1:-1] - a * (P[:, :-2] + P[:, 2:]) >= -1e-12).all()
        assert holds == bool(ib.derivable(make(QUERY, EPSILON)))


def test_a_random_remap_is_refined_by_its_source_and_never_refines_it():
    rng = np.random.default_rng(5)
    source = ib.catalog.explicit_fair(ib.count(4), 1)
    for _ in range(20):
        remap = rng.dirichlet(np.ones(5) * 0.4, size=5).T
        made = ib.certify(remap @ source.matrix, source.query, 1)
        assert ib.refines(source, made)
        assert not ib.refines(made, source)


def test_derivable_is_a_question_about_counts():
    with pytest.raises(ValueError, match="count"):
        ib.derivable(ib.catalog.uniform(ib.extreme(0, 3), 1))


def test_refines_needs_the_same_answers():
    with pytest.raises(ValueError, match="same true answers"):
        ib.refines(ib.catalog.uniform(ib.count(3), 1), ib.catalog.uniform(ib.count(4), 1))

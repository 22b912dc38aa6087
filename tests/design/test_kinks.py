"""The master's equations combined: the same equations, fewer entries, the same optimum."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.goal import build_problem
from inbounds.design.problem import fold_mirror
from inbounds.design.routes import column_generation
from inbounds.design.routes.column_generation import Component
from inbounds.design.routes.staircases import stairs
from inbounds.design.solver import pricing
from inbounds.design.solver.kink_basis import Kinks
from inbounds.design.solver.master import MasterProgram
from inbounds.design.solver.pricing import Cone
from inbounds.losses import to_loss

QUERIES = {
    "count": ib.count(30),
    "mean": ib.mean(12, 0, 4),
    "wide": ib.mean(5, 0, 10),
    "hole": ib.interval(0, 40, 3, 40, holes=[(13, 15)]),
    "ordinal": ib.ordinal(1, 9),
}


def part_of(query: ib.RangeQuery, epsilon: str) -> Component:
    problem = build_problem(query, Fraction(epsilon), to_loss("absolute"), None, frozenset(), "average")
    return max((part for part, _ in column_generation._parts(problem)), key=lambda part: part.cone.size)


def some_rays(part: Component) -> np.ndarray:
    """Staircases, and rays that random costs like best; logs, the largest zero."""
    n, generator = part.cone.size, np.random.default_rng(0)
    first = np.arange(n)
    log_x = stairs(part.cone).log_rays(first, np.minimum(first + 5, n - 1))
    log_x = np.hstack([log_x, pricing.best_rays(generator.normal(size=(n, 20)), part.cone)])
    return log_x - log_x.max(axis=0)


@pytest.mark.parametrize("epsilon", ["0.0001", "0.3", "3"])
@pytest.mark.parametrize("name", QUERIES)
def test_combined_equations_say_the_same(name: str, epsilon: str) -> None:
    part = part_of(QUERIES[name], epsilon)
    log_x = some_rays(part)
    for mirrored in {False, part.cone.is_mirrored}:
        kinks = Kinks(part.cone, mirrored)
        x = fold_mirror(np.exp(log_x), kinks.size) if mirrored else np.exp(log_x)
        np.testing.assert_allclose(kinks.inverse @ kinks.combine(log_x), x, rtol=0, atol=1e-10)
        np.testing.assert_allclose(kinks.inverse @ (kinks.matrix @ x), x, rtol=0, atol=1e-10)
        assert np.abs(kinks.inverse).max() <= 1 + 1e-12


def test_steps_of_a_chain_may_differ() -> None:
    cone = Cone(np.maximum(np.arange(9) - 1, 0), np.linspace(0.1, 0.9, 8))
    log_x = pricing.best_rays(np.random.default_rng(0).normal(size=(9, 20)), cone)
    kinks = Kinks(cone, False)
    np.testing.assert_allclose(kinks.inverse @ kinks.combine(log_x), np.exp(log_x), rtol=1e-10)
    tails = kinks.combine(stairs(cone).log_rays(np.arange(9), np.arange(9)))
    assert np.count_nonzero(tails) <= 3 * 9  # zero but beside the peak


def test_tails_of_staircases_vanish() -> None:
    part = part_of(ib.mean(50, 0, 4), "0.5")
    n = part.cone.size
    entries = Kinks(part.cone, False).combine(stairs(part.cone).log_rays(np.arange(n), np.arange(n)))
    assert (np.count_nonzero(entries, axis=0) <= 2 * 4 + 2).all()  # a window on each side of the peak


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("worst", [False, True])
def test_the_master_has_the_same_optimum_with_and_without_kinks(name: str, worst: bool) -> None:
    part = part_of(QUERIES[name], "0.3")
    log_x = np.hstack([np.zeros((part.cone.size, 1)), some_rays(part)])
    outputs = column_generation._cheapest(part, part.prior, log_x)
    found = []
    for kinks in (None, Kinks(part.cone, part.is_mirrored)):
        master = MasterProgram(part.loss, part.prior, worst, part.is_mirrored, kinks=kinks)
        master.add(log_x, outputs)
        master.begin()
        master.refine()
        mix = master.solve(10.0, pivots=0)
        assert mix is not None
        np.testing.assert_allclose(master.matrix(mix.weights).sum(axis=0), 1, atol=1e-12)
        weights = float(mix.mu.sum()) if worst else 1.0
        assert mix.v.sum() / weights == pytest.approx(mix.value, rel=1e-9)  # its duals are the sums', too
        found.append(mix.value)
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_a_program_that_cannot_be_solved_in_kinks_is_solved_in_plain_sums() -> None:
    """At this epsilon combinations of sums are beyond a float's digits."""
    query = ib.interval(0, 230, 3, 230, holes=[(113, 115)])
    found = ib.optimal(query, "1e-6", prior=0.97 ** np.arange(229)).optimality
    assert found.gap <= 1e-6 * found.value

"""Long grids: what is designed without a matrix, against the designs that a matrix allows."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.routes import count_remap, grid_noise
from inbounds.errors import TooLarge
from raising import rejects


def priors(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [np.full(n, 1 / n), np.exp(-np.arange(n) / 5), rng.random(n) ** 4, np.eye(n)[3] + np.eye(n)[n - 2]]


@pytest.mark.long
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("people", "high", "epsilon"), [(12, 3, "0.3"), (9, 4, "1"), (20, 2, "2")])
def test_the_bound_of_the_chains_is_below_every_private_mechanism(
    power: int, people: int, high: int, epsilon: str
) -> None:
    query, loss = ib.total(people, 0, high), "absolute" if power == 1 else "squared"
    n = len(query.answers)
    for k, prior in enumerate(priors(n)):
        best = ib.optimal(query, epsilon, loss, prior).optimality
        assert best is not None
        found = grid_noise.guesses(high, float(epsilon), np.arange(n) ** float(power), power, prior / prior.sum())
        assert found.bound <= best.value * (1 + 1e-12)
        assert found.bound >= 0.3 * best.value or k == 3  # it says something, unless no chain holds both answers


def test_the_least_variance_is_that_of_real_reports() -> None:
    for n, epsilon in ((7, 0.5), (30, 0.1), (12, 2.0)):
        for prior in priors(n):
            weights = prior / prior.sum()
            alpha = np.exp(-epsilon * np.abs(np.arange(n)[:, None] - np.arange(n)))
            joint = np.linalg.solve(alpha, np.ones(n))[:, None] * alpha * weights  # geometric value s, answer j
            mean = joint @ np.arange(n) / joint.sum(axis=1)
            true = float((joint * (mean[:, None] - np.arange(n)) ** 2).sum())
            found = count_remap.least_variance(epsilon, weights)
            assert found <= true * (1 + 1e-12)
            assert found == pytest.approx(true, rel=1e-9)


def test_a_long_ordinal_grid_is_a_count_at_the_epsilon_of_a_step() -> None:
    ordinal = ib.optimal(ib.ordinal(0, 5000), "0.5").optimality
    count = ib.optimal(ib.count(5000), "0.5").optimality
    assert ordinal is not None
    assert count is not None
    assert ordinal.value == pytest.approx(count.value, rel=1e-12)
    assert ordinal.gap < 1e-8 * ordinal.value


def test_what_no_noise_table_serves_is_refused_in_words() -> None:
    wide = ib.mean(1000, 1, 6)
    for ask in (
        lambda: ib.optimal(wide, 1, "zero-one", properties=["fair"]),
        lambda: ib.optimal(wide, 1, properties=["symmetric", "column_monotone"]),
        lambda: ib.optimal(wide, 1, subject_to=[ib.limit_loss("zero-one", "9/10")]),
        lambda: ib.optimal(wide, 1, then=["zero-one"]),
        lambda: ib.optimal(wide, 1, lambda r, t: abs(r - t)),
        lambda: ib.optimal(ib.extreme(0, 5000), 1),
    ):
        with rejects(TooLarge, about="weakly_honest"):
            ask()
    with rejects(TooLarge, about="leave"):
        ib.optimal(wide, 1, aim="worst", prior=np.ones(len(wide.answers)))

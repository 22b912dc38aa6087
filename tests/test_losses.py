"""Losses and priors: what they are worth and what is refused."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds.losses import NAMED, parse_loss, to_loss
from raising import rejects


def mechanism():
    return ib.catalog.truncated_geometric(ib.count(3), 1)


def test_losses_by_name_function_and_table_agree():
    made = mechanism()
    values = np.arange(4)
    table = np.abs(values[:, None] - values[None, :])
    assert made.loss("absolute") == made.loss(ib.power_loss(1)) == pytest.approx(made.loss(table))
    assert made.loss("absolute") == pytest.approx(made.loss(lambda reported, true: abs(reported - true)))
    assert made.loss("squared") == pytest.approx(made.loss(ib.power_loss(2)))
    assert made.loss("zero-one") == pytest.approx(made.loss(ib.threshold_loss(0)))
    assert made.bayes_loss(table) == pytest.approx(made.bayes_loss("absolute"))


def test_off_by_more_than_counts_the_far_misses():
    made = mechanism()
    far = sum(made.matrix[i, j] for i in range(4) for j in range(4) if abs(i - j) > 1) / 4
    assert made.loss(ib.threshold_loss(1)) == pytest.approx(far)


def test_a_distance_on_a_decimal_grid_is_not_off_by_rounding():
    """On tenths, 3/10 - 1/10 is 2/10: not more than 2/10."""
    made = ib.catalog.uniform(ib.mean(10, 0, 1), 1)
    near = sum(abs(i - j) <= 2 for i in range(11) for j in range(11)) / 121
    assert made.loss(ib.threshold_loss("0.2")) == pytest.approx(1 - near)


def test_labels_can_be_judged_by_a_function():
    made = ib.catalog.randomized_response(ib.category(["low", "high"]), 1)
    cost = made.loss(lambda reported, true: 5.0 if (reported, true) == ("low", "high") else 0.0)
    assert cost == pytest.approx(2.5 / (1 + math.e))


@pytest.mark.parametrize(
    ("loss", "subject", "about"),
    [
        ("mean", "loss", "'mean'"),
        ("", "loss", "''"),
        (np.ones(4), "a loss table", "two"),
        (np.ones((3, 3)), "a loss table", "(4, 4), got (3, 3)"),
        (np.full((4, 4), math.nan), "every loss", "finite"),
        (lambda r, a: math.inf, "every loss", "finite"),
    ],
)
def test_an_unknown_or_odd_loss_is_refused(loss, subject, about):
    for use in (mechanism().loss, mechanism().worst_loss, mechanism().bayes_loss, mechanism().remap):
        with rejects(ValueError, subject, about=about):
            use(loss)


@pytest.mark.parametrize(
    ("make", "value", "subject"),
    [(ib.threshold_loss, -1, "distance"), (ib.power_loss, 0, "p"), (ib.power_loss, -2, "p")],
)
def test_a_loss_parameter_out_of_range_is_refused(make, value, subject):
    with rejects(ValueError, subject, about=str(value)):
        make(value)


@pytest.mark.parametrize(
    ("prior", "about"),
    [
        ([1, 1, 1], "(3,)"),
        ([1, 1, 1, 1, 1], "(5,)"),
        ([[1, 1, 1, 1]], "(1, 4)"),
        ([1, 1, 1, -1], "negative"),
        ([0, 0, 0, 0], "negative"),
        ([1, 1, 1, math.nan], "negative"),
        ([1, 1, 1, math.inf], "negative"),
    ],
)
def test_a_bad_prior_is_refused(prior, about):
    made = mechanism()
    uses = [
        lambda: made.loss(prior=prior),
        lambda: made.bayes_loss(prior=prior),
        lambda: made.posterior(1, prior),
        lambda: made.remap(prior=prior),
        lambda: made.best_guess(1, prior=prior),
    ]
    for use in uses:
        with rejects(ValueError, "prior", about=about):
            use()


def test_a_prior_is_scaled_to_sum_to_one():
    made = mechanism()
    assert made.loss(prior=[1, 2, 3, 4]) == pytest.approx(made.loss(prior=[0.1, 0.2, 0.3, 0.4]))
    assert made.loss(prior=[0, 0, 1e-300, 0]) == pytest.approx(made.loss_per_answer()[2])


@pytest.mark.parametrize(
    "loss", [*NAMED.values(), ib.threshold_loss("0.5"), ib.threshold_loss(3), ib.power_loss("1e-5"), ib.power_loss(2)]
)
def test_a_loss_is_found_by_the_name_it_has(loss):
    """What a passport or an origin calls a loss leads back to it."""
    found = parse_loss(loss.name)
    distances = np.linspace(0, 4, 33)
    assert found.name == loss.name
    assert np.array_equal(found.of(distances), loss.of(distances))
    assert to_loss(loss.name.replace(" ", "-")).name == loss.name

"""Named priors are distributions of the shape they say."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds import priors


@pytest.mark.parametrize(
    "prior",
    [
        priors.uniform(ib.count(9)),
        priors.normal(ib.count(9), 4.5, 2),
        priors.beta(ib.count(9), 3, 3),
        priors.binomial(ib.count(9), "1/2"),
    ],
)
def test_symmetric_shapes_are_symmetric_distributions(prior):
    assert prior.sum() == pytest.approx(1, abs=1e-15)
    assert np.allclose(prior, prior[::-1], atol=1e-15)
    assert prior.argmax() in (0, 4, 5)


def test_binomial_is_the_binomial_law():
    expected = [math.comb(12, k) * 0.3**k * 0.7 ** (12 - k) for k in range(13)]
    assert np.allclose(priors.binomial(ib.count(12), 0.3), expected, rtol=1e-12)


def test_normal_weights_fall_as_the_density_does():
    prior = priors.normal(ib.mean(4, 0, 2), 1, "0.5")
    assert prior[4] / prior[6] == pytest.approx(math.exp(0.5))


def test_beta_of_n_and_one_favours_the_maximum():
    prior = priors.beta(ib.extreme(1, 10), 100, 1)
    assert prior.argmax() == 9
    assert (np.diff(prior) > 0).all()


def test_empirical_counts_earlier_values():
    assert priors.empirical(ib.count(3), [0, 1, 1, 3]).tolist() == [0.25, 0.5, 0, 0.25]
    assert priors.empirical(ib.category(["a", "b"]), ["b"], pseudocount=1).tolist() == pytest.approx([1 / 3, 2 / 3])


def test_bad_shapes_are_refused_with_a_reason(golden):
    golden.errors(
        "wrong_priors",
        [
            lambda: priors.normal(ib.count(3), 1, 0),
            lambda: priors.beta(ib.count(3), 0, 1),
            lambda: priors.binomial(ib.count(3), 1),
            lambda: priors.empirical(ib.count(3), []),
            lambda: priors.empirical(ib.count(3), [1], -1),
            lambda: priors.normal(ib.category(["a", "b"]), 0, 1),
        ],
    )

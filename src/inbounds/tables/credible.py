"""Credible intervals: where the true answer lies, given the released one and a prior over the answers."""

from fractions import Fraction

import numpy as np

from inbounds.loss import as_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import shortest_run
from inbounds.numbers import Floats, Ints


def intervals(mechanism: Mechanism, outputs: Ints, level: Fraction, prior: Floats | None) -> tuple[Floats, Floats]:
    """The shortest run of answers that holds at least `level` of the posterior, as `credible_set`, for every output.

    Post-processing of the draw: it needs the mechanism and the prior, not the data. A run is found once per
    distinct output, in O(answers).
    """
    weights = as_prior(prior, mechanism.query)
    answers = mechanism.query.answers.floats()
    distinct, place = np.unique(outputs, return_inverse=True)
    ends = np.array([_ends(mechanism.law.likelihood(mechanism.query, int(i)) * weights, level) for i in distinct])
    return answers[ends[place, 0]], answers[ends[place, 1]]


def _ends(mass: Floats, level: Fraction) -> tuple[int, int]:
    first, stop = shortest_run(mass / mass.sum(), float(level))
    return first, stop - 1

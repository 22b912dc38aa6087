"""Credible intervals: where the true answer lies, given the released one and a prior over the answers."""

from fractions import Fraction

import numpy as np

from inbounds.loss import as_prior
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import shortest_run
from inbounds.mechanism.law import Matrix, Noise
from inbounds.numbers import Floats, Ints
from inbounds.query import Query


def intervals(mechanism: Mechanism, outputs: Ints, level: Fraction, prior: Floats | None) -> tuple[Floats, Floats]:
    """The shortest run of answers that holds at least `level` of the posterior, as `credible_set`, for every output.

    Post-processing of the draw: it needs the mechanism and the prior, not the data. A run is found once per
    distinct output, in O(answers).
    """
    weights = as_prior(prior, mechanism.query)
    answers = mechanism.query.answers.floats()
    distinct, place = np.unique(outputs, return_inverse=True)
    ends = np.array([_ends(likelihood(mechanism, int(i)) * weights, level) for i in distinct])
    return answers[ends[place, 0]], answers[ends[place, 1]]


def _ends(mass: Floats, level: Fraction) -> tuple[int, int]:
    first, stop = shortest_run(mass / mass.sum(), float(level))
    return first, stop - 1


def likelihood(mechanism: Mechanism, output: int) -> Floats:
    """Pr[output | answer] for every answer, without writing out the matrix of a noise table."""
    law, query = mechanism.law, mechanism.query
    if isinstance(law, Matrix):
        return np.asarray(mechanism.matrix[output])
    steps = [output] if law.remap is None else np.flatnonzero(law.remap == output).tolist()
    table = law.weights_of_noise().astype(np.float64)
    return np.sum([_noise_row(law, query, table, step) for step in steps], axis=0)  # type: ignore[no-any-return]


def _noise_row(law: Noise, query: Query, table: Floats, step: int) -> Floats:
    """Weights of the clamped value `step` under every answer; the ends gather the tails."""
    answers = np.arange(len(query.answers))
    if step == 0:
        return np.cumsum(table)[law.size - answers]
    if step == law.size:
        return np.cumsum(table[::-1])[answers]
    return table[law.size + step - answers]

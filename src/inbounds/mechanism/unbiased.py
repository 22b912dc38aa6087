"""Unbiased sums over released values, without a prior or a model.

An output r of the answer a is read as u[r], where u solves Σ_r P[r, a]·u[r] = a for every a. For truncated geometric
noise, α = exp(-epsilon per unit), the noise beyond an end of the range is geometric too, so

    u[0] = -α/(1 - α),     u[n] = n + α/(1 - α),     u[r] = r in between,

with variance 2α/(1 - α)², and half of it if the output is an end. Single readings may lie outside the range; only their
sums are meaningful.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.mechanism.mechanism import Mechanism, check_mechanism

RESIDUAL = 1e-9
"""The bias that a reading may have, as a share of the range, because of floats and of weights rounded to 2^-62."""


@dataclass(frozen=True)
class UnbiasedSum:
    """An unbiased estimate of the sum over groups, with its standard error."""

    estimate: float
    standard_error: float
    groups: int

    def __str__(self) -> str:
        return f"{self.estimate:.6g} ± {self.standard_error:.3g} (standard error, {self.groups} groups)"


@dataclass(frozen=True, eq=False)
class UnbiasedReading:
    """For every output of a mechanism, the unbiased value and its contribution to the variance of a sum."""

    values: Floats
    variances: Floats


def unbiased_sum(published: Iterable[Any], mechanism: Mechanism | Sequence[Mechanism]) -> UnbiasedSum:
    """Estimate the sum of the true answers behind released values without bias, and its standard error.

    published: outputs as they were drawn, not values that were adjusted to add up. mechanism: the one that drew them,
    or one for each output. Raises `ValueError` if a mechanism has no unbiased reading. Optimal mechanisms often have
    none, because they avoid unlikely outputs: ask the publisher for `mechanism = "truncated_geometric"`.

    >>> from inbounds import catalog, count
    >>> geometric = catalog.truncated_geometric(count(25), "1/2")
    >>> print(unbiased_sum([0, 0, 3, 1, 0], geometric))
    -0.624482 ± 5.24 (standard error, 5 groups)
    """
    released = np.asarray(list(published), dtype=np.float64)
    mechanisms = [mechanism] * len(released) if isinstance(mechanism, Mechanism) else list(mechanism)
    if len(mechanisms) != len(released):
        raise ValueError(f"mechanism must be one, or one for each of {len(released)} outputs, got {len(mechanisms)}")
    estimate = variance = 0.0
    for drawn_by in {id(m): m for m in mechanisms}.values():
        reading = unbiased_reading(drawn_by)
        positions = _output_positions(drawn_by, released[[m is drawn_by for m in mechanisms]])
        estimate += float(reading.values[positions].sum())
        variance += float(reading.variances[positions].sum())
    return UnbiasedSum(estimate, float(np.sqrt(max(variance, 0.0))), len(released))


def unbiased_reading(mechanism: Mechanism) -> UnbiasedReading:
    """Return the unbiased reading of a mechanism's outputs. Raises `ValueError` if there is none.

    Truncated geometric noise has a closed form, in time linear in the range; for any other invertible matrix the
    linear equations are solved. Variances are unbiased as well: Σ_r P[r, a]·v[r] = Var(u | a).
    """
    check_mechanism(mechanism)
    query = mechanism.query
    if query.is_ordered and query.one_output_per_answer:
        for method in (_read_geometric, _solve_unbiased):
            reading = method(mechanism)
            if reading is not None:
                return reading
    raise ValueError(
        "mechanism must be one whose outputs can be read without bias, got one that cannot be inverted; "
        'ask the publisher for mechanism = "truncated_geometric"'
    )


def _read_geometric(mechanism: Mechanism) -> UnbiasedReading | None:
    """Return the closed form if it holds for this law up to RESIDUAL, else None."""
    check_mechanism(mechanism)
    query, law = mechanism.query, mechanism.law
    answers = query.answers.floats()
    if len(answers) < 2 or not query.answers.is_regular:
        return None
    first, last = law.likelihood(query, 0), law.likelihood(query, len(answers) - 1)
    if not 0 < first[1] < first[0]:
        return None
    step, alpha = answers[1] - answers[0], first[1] / first[0]
    excess = step * alpha / (1 - alpha)
    if np.abs(law.bias(query) + excess * (last - first)).max() > RESIDUAL * (answers[-1] - answers[0]):
        return None
    values, variances = answers.copy(), np.full(len(answers), 2 * step**2 * alpha / (1 - alpha) ** 2)
    values[[0, -1]] += -excess, excess
    variances[[0, -1]] /= 2
    return UnbiasedReading(values, variances)


def _solve_unbiased(mechanism: Mechanism) -> UnbiasedReading | None:
    try:
        law, answers = mechanism.matrix.T, mechanism.query.answers.floats()
        values = np.asarray(np.linalg.solve(law, answers), dtype=np.float64)
        variances = np.asarray(np.linalg.solve(law, law @ values**2 - answers**2), dtype=np.float64)
    except (TooLarge, np.linalg.LinAlgError):
        return None
    near = np.abs(law @ values - answers).max() <= RESIDUAL * (answers[-1] - answers[0])
    return UnbiasedReading(values, variances) if near and np.abs(values).max() < 1 / RESIDUAL else None


def _output_positions(mechanism: Mechanism, released: Floats) -> Ints:
    """Return the positions of released values among a mechanism's outputs; raise `ValueError` for another value."""
    outputs = np.asarray(mechanism.query.output_values, dtype=np.float64)
    positions = np.minimum(np.searchsorted(outputs, released), len(outputs) - 1)
    unknown = outputs[positions] != released
    if unknown.any():
        raise ValueError(f"published must hold outputs of the mechanism, got {released[unknown][0]:g}")
    return np.asarray(positions)

"""Sums over published reports that are right on average, whatever the truth: no prior, no model.

A report r of the answer a is read as u[r], where u solves Σ_r P[r, a]·u[r] = a for every a. For truncated geometric
noise, α = exp(-epsilon per unit), noise that leaves the range goes on beyond its end as it began, so

    u[0] = -α/(1 - α),     u[n] = n + α/(1 - α),     u[r] = r in between,

with variance 2α/(1 - α)² less α/(1 - α)² where the report is an end. Single readings leave the range on purpose; it is
their sums that mean something.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.mechanism.mechanism import Mechanism

RESIDUAL = 1e-9
"""Bias that a reading may have, as a part of the range: floats, and a law's weights over 2^62."""


@dataclass(frozen=True)
class UnbiasedSum:
    """The sum over groups, read from their reports: right on average, with its standard error."""

    estimate: float
    standard_error: float
    groups: int

    def __str__(self) -> str:
        return f"{self.estimate:.6g} ± {self.standard_error:.3g} (standard error, {self.groups} groups)"


@dataclass(frozen=True, eq=False)
class UnbiasedReading:
    """For every output of a mechanism the value it is read as, and what it adds to the variance of a sum."""

    values: Floats
    variances: Floats


def unbiased_sum(published: Iterable[Any], mechanism: Mechanism | Sequence[Mechanism]) -> UnbiasedSum:
    """The sum of the true answers behind published reports, unbiased whatever they are, and its standard error.

    published: reports, as they were drawn (values that were made to add up afterwards are no reports). mechanism: the
    one that drew them, or one for each report. A `ValueError` if a mechanism's reports cannot be read without bias,
    as those of optimal mechanisms, which avoid unlikely reports: ask the publisher for `mechanism = "geometric"`.

    >>> from inbounds import catalog, count
    >>> geometric = catalog.truncated_geometric(count(25), "1/2")
    >>> print(unbiased_sum([0, 0, 3, 1, 0], geometric))
    -0.624482 ± 5.24 (standard error, 5 groups)
    """
    reports = np.asarray(list(published), dtype=np.float64)
    own = [mechanism] * len(reports) if isinstance(mechanism, Mechanism) else list(mechanism)
    if len(own) != len(reports):
        raise ValueError(f"mechanism must be one, or one for each of {len(reports)} reports, got {len(own)}")
    estimate = variance = 0.0
    for made in {id(each): each for each in own}.values():
        reading = unbiased_reading(made)
        at = _outputs(made, reports[[each is made for each in own]])
        estimate += float(reading.values[at].sum())
        variance += float(reading.variances[at].sum())
    return UnbiasedSum(estimate, float(np.sqrt(max(variance, 0.0))), len(reports))


def unbiased_reading(mechanism: Mechanism) -> UnbiasedReading:
    """The reading of a mechanism's outputs under which every answer is right on average; a `ValueError` if none is.

    Truncated geometric noise is read in closed form, in time linear in the range; any other matrix that can be
    inverted by solving its equations. Variances are read without bias as well: Σ_r P[r, a]·v[r] = Var(u | a).
    """
    query = mechanism.query
    if query.is_ordered and query.one_output_per_answer:
        for found in (_geometric, _solve_unbiased):
            reading = found(mechanism)
            if reading is not None:
                return reading
    raise ValueError(
        "mechanism must be one whose reports can be read without bias, got one that cannot be inverted; "
        'ask for reports by mechanism = "geometric"'
    )


def _geometric(mechanism: Mechanism) -> UnbiasedReading | None:
    """The closed form, where it holds for this law to RESIDUAL."""
    query, law = mechanism.query, mechanism.law
    answers = query.answers.floats()
    if len(answers) < 2 or not query.answers.is_regular:
        return None
    first, last = law.likelihood(query, 0), law.likelihood(query, len(answers) - 1)
    if not 0 < first[1] < first[0]:
        return None
    step, falls = answers[1] - answers[0], first[1] / first[0]
    beyond = step * falls / (1 - falls)
    if np.abs(law.bias(query) + beyond * (last - first)).max() > RESIDUAL * (answers[-1] - answers[0]):
        return None
    values, variances = answers.copy(), np.full(len(answers), 2 * step**2 * falls / (1 - falls) ** 2)
    values[[0, -1]] += -beyond, beyond
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


def _outputs(mechanism: Mechanism, reports: Floats) -> Ints:
    """The places of reports among a mechanism's outputs."""
    known = np.asarray(mechanism.query.output_values, dtype=np.float64)
    at = np.minimum(np.searchsorted(known, reports), len(known) - 1)
    if (known[at] != reports).any():
        raise ValueError(f"published must hold reports of the mechanism, got {reports[known[at] != reports][0]:g}")
    return np.asarray(at)

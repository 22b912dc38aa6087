"""How useful a mechanism is: losses, bias, variance, and what a Bayesian reader makes of a report."""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import TOTAL, Floats
from inbounds.law import Noise
from inbounds.loss import ErrorLoss, Loss
from inbounds.query import Query, Scale

if TYPE_CHECKING:
    from inbounds.mechanism import Mechanism


def loss_per_answer(mechanism: "Mechanism", loss: Loss) -> Floats:
    """sum_i P[i, j] · loss[i, j] for every answer j."""
    if isinstance(mechanism.law, Noise):
        return _noise_loss(mechanism, loss)
    return np.asarray(np.einsum("ij,ij->j", mechanism.matrix, loss.table(mechanism.query)))


def exact_loss(mechanism: "Mechanism", loss: Loss) -> Fraction:
    """The average loss over uniform answers in exact arithmetic, for losses of whole powers of the error."""
    exact_table = _exact_table(mechanism.query, loss)
    weighted = sum(int(w) * v for w, v in zip(mechanism.weights.ravel().tolist(), exact_table, strict=True))
    return Fraction(weighted) / (TOTAL * len(mechanism.query.answers))


def _exact_table(query: Query, loss: Loss) -> list[Fraction]:
    powers: dict[str, Callable[[Fraction], Fraction]] = {"absolute": abs, "squared": lambda e: e * e}
    if loss.name == "zero-one":
        return [Fraction(int(i != h)) for i in range(len(query.outputs)) for h in query.home.tolist()]
    if loss.name not in powers or not query.ordered:
        raise ValueError("exact losses are known for 'absolute', 'squared' and 'zero-one'")
    of = powers[loss.name]
    return [of(value - answer) for value in query.outputs.values for answer in query.answers]


def _noise_loss(mechanism: "Mechanism", loss: Loss) -> Floats:
    """Loss of remap(clamp(answer + noise)) for every answer, in O(size · core).

    Where the noise is in the core, every answer and noise value is looked up in the remap. The constant
    tails hold some 10^-12 of the mass; there the remap, which moves a value by little, is left out.
    """
    law = mechanism.law
    assert isinstance(law, Noise)
    if not isinstance(loss, ErrorLoss):
        raise TooLarge("a loss table or function needs a matrix of this size; use a loss of the error")
    if law.remap is None:
        return _clamped_loss(mechanism.query, loss, law.weights_of_noise() / TOTAL)
    tails = law.weights_of_noise() / TOTAL
    k = law.half_width
    tails[law.size - k : law.size + k + 1] = 0.0
    return _clamped_loss(mechanism.query, loss, tails) + _remapped_core_loss(mechanism.query, loss, law)


def _clamped_loss(query: Query, loss: ErrorLoss, table: Floats) -> Floats:
    """sum_d table[d] · loss(clamp(j + d) - j): cumulative sums over the noise inside, and the ends."""
    n = len(query.answers) - 1
    of_distance = np.asarray(loss.of(np.arange(n + 1) * float(query.answers.unit)), dtype=np.float64)
    inside = np.zeros(n + 1)  # inside[k]: noise 1..k
    np.cumsum(table[n + 1 :] * of_distance[1:], out=inside[1:])
    beyond = np.cumsum(table[::-1])[:-n][::-1]  # beyond[k]: noise of at least k, k = 0..n
    j = np.arange(n + 1)
    one_side = np.where(j > 0, inside[np.maximum(j - 1, 0)] + beyond[j] * of_distance[j], 0.0)
    return np.asarray(one_side + one_side[::-1])


def _remapped_core_loss(query: Query, loss: ErrorLoss, law: Noise) -> Floats:
    answers = query.answers.floats()
    assert law.remap is not None
    spoken = query.outputs.values.floats()[law.remap]
    result, positions = np.zeros(law.size + 1), np.arange(law.size + 1)
    for d, weight in zip(range(-law.half_width, law.half_width + 1), law.core.tolist(), strict=True):
        reached = np.clip(positions + d, 0, law.size)
        distance = np.abs(spoken[reached] - answers)
        if loss.name == "zero-one":
            distance[law.remap[reached] == query.home] = 0.0
        result += weight / TOTAL * np.asarray(loss.of(distance), dtype=np.float64)
    return result


def bayes_loss(mechanism: "Mechanism", loss: Loss, prior: Floats) -> float:
    """sum_i min_g sum_j prior[j] · P[i, j] · loss(g, j)."""
    return float(_guess_costs(mechanism, loss, prior).min(axis=1).sum())


def remap(mechanism: "Mechanism", loss: Loss, prior: Floats) -> Any:
    """For every output the answer with the least posterior loss; the lowest such answer when several tie."""
    guesses = _guess_costs(mechanism, loss, prior).argmin(axis=1)
    query = mechanism.query
    return np.array(query.labels, dtype=object)[guesses] if query.labels else _as_numbers(query.answers)[guesses]


def _guess_costs(mechanism: "Mechanism", loss: Loss, prior: Floats) -> Floats:
    """costs[i, g]: joint loss of answering output i with guess g."""
    return np.asarray((mechanism.matrix * prior) @ loss.guesses(mechanism.query).T)


def posterior(mechanism: "Mechanism", output: Any, prior: Floats) -> Floats:
    """prior[j]·P[i, j] / sum_j, or a `ValueError` for an output that the prior makes impossible."""
    joint = mechanism.matrix[output_index(mechanism.query, output)] * prior
    if not joint.sum() > 0:
        raise ValueError("output must be possible under the prior")
    return np.asarray(joint / joint.sum())


def truth_probability(mechanism: "Mechanism") -> Floats:
    query = mechanism.query
    return mechanism.matrix[query.home, np.arange(len(query.answers))]


def bias(mechanism: "Mechanism") -> Floats:
    query = _numeric(mechanism.query)
    return mechanism.matrix.T @ query.outputs.values.floats() - query.answers.floats()


def variance(mechanism: "Mechanism") -> Floats:
    """E[(report - mean)²] per answer, around each column's own mean so that nothing cancels."""
    values = _numeric(mechanism.query).outputs.values.floats()
    means = mechanism.matrix.T @ values
    return np.asarray(np.einsum("ij,ij->j", mechanism.matrix, (values[:, None] - means[None, :]) ** 2))


def output_index(query: Query, output: Any) -> int:
    """The position of a reported value among the outputs."""
    reported = query.reported
    near = reported == output if query.labels else np.isclose(reported.astype(float), float(output), rtol=1e-9)
    found = np.flatnonzero(near)
    if len(found) != 1:
        raise ValueError("output must be one of the values the mechanism reports")
    return int(found[0])


def _numeric(query: Query) -> Query:
    if not query.ordered:
        raise ValueError("bias and variance need numeric answers; labels have none")
    return query


def _as_numbers(scale: Scale) -> Any:
    whole = scale.start.denominator == scale.unit.denominator == 1
    return scale.floats().astype(np.int64) if whole else scale.floats()

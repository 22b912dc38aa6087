"""The true privacy loss of any matrix, its worst cell named: what somebody else's mechanism really promises."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inbounds.query import Query

COLUMN_SLACK = 1e-6
"""How far the sums of two columns may be apart, as a share: what solvers leave."""

COLUMNS = "one for each true answer: P[output, answer]"


@dataclass(frozen=True)
class Audit:
    """epsilon: the least value for which the matrix is private, `inf` if there is none.

    output, answers, ratio: the output index that reveals most, the answer indices under which it is most and
    least likely, and the ratio of the two probabilities; distance: what the query lets that pair differ by.
    """

    epsilon: float
    output: int
    answers: tuple[int, int]
    ratio: float
    distance: float

    def __str__(self) -> str:
        likelier, rarer = self.answers
        return (
            f"epsilon {self.epsilon:.9g}: output {self.output} is {self.ratio:.6g} times likelier under "
            f"answer {likelier} than under answer {rarer} (indices)"
        )


def audit(matrix: ArrayLike, query: Query) -> Audit:
    """The least epsilon for which P[output, answer] is private under the query's neighbourhood.

    A zero beside a positive neighbour is an infinite loss; a row of zeros is none. O(outputs · answers · reach).

    >>> from inbounds.query import count
    >>> audit([[0.75, 0.25], [0.25, 0.75]], count(1)).ratio
    3.0
    """
    values = np.asarray(matrix)
    if values.dtype.kind not in "iu":
        values = values.astype(np.float64)
    if values.shape != query.shape:
        raise ValueError(f"matrix must have the shape {query.shape} (outputs, answers), got {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("matrix entries must be finite and not negative")
    sums = values.sum(axis=0, dtype=np.float64)
    if sums.min() == 0:
        raise ValueError("every column must have some mass")
    if not _alike(sums):
        raise ValueError(f"columns must all have the same sum, {COLUMNS}{transposed(values)}")
    return worst_ratio(values, query)


def transposed(values: NDArray[np.float64] | NDArray[np.int64]) -> str:
    """The likely reason why columns do not sum as they should, for the end of a message."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns, rows = (_alike(values.sum(axis=axis, dtype=np.float64)) for axis in (0, 1))
    return "; the rows do: pass the transpose of the matrix" if rows and not columns else ""


def _alike(sums: NDArray[np.float64]) -> bool:
    return bool(np.ptp(sums) <= COLUMN_SLACK * sums.max())


def worst_ratio(values: NDArray[np.float64] | NDArray[np.int64], query: Query) -> Audit:
    """The largest log-ratio per unit of distance over all outputs and neighbouring answers."""
    worst = Audit(0.0, 0, (0, 0), 1.0, 1.0)
    for start, stop, distance in query.cliques():
        block = values[:, start:stop]
        highs, lows = block.max(axis=1), block.min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.log(highs.astype(np.float64)) - np.log(lows.astype(np.float64))
        losses[highs == 0] = 0.0
        i = int(losses.argmax())
        if losses[i] / float(distance) > worst.epsilon:
            ratio = _ratio(highs[i].item(), lows[i].item())
            log = math.log(ratio) if 0 < ratio < math.inf else float(losses[i])
            pair = (start + int(block[i].argmax()), start + int(block[i].argmin()))
            worst = Audit(log / float(distance), i, pair, ratio, float(distance))
    return worst


def _ratio(high: float, low: float) -> float:
    try:
        return high / low
    except (ZeroDivisionError, OverflowError):
        return math.inf

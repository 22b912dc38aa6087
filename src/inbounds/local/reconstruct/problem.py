"""The input of a reconstruction, validated once: frequencies, channel and start."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inbounds.exact import Floats
from inbounds.local.collector import Collector, same_law, tally
from inbounds.local.reconstruct.channel import RELATIVE, DenseChannel, LinearChannel
from inbounds.local.reconstruct.structure import channel_for_law, detect_structure
from inbounds.local.reconstruct.systems import dot
from inbounds.local.reports import check_local_mechanism
from inbounds.mechanism import Mechanism
from inbounds.mechanism.audit import COLUMN_SLACK
from inbounds.query import RangeQuery

Given = Literal["counts", "reports"]


@dataclass(frozen=True, eq=False)
class ReconstructionProblem:
    """Frequencies q of the outputs among so many reports, the channel, and a start with full support."""

    channel: LinearChannel
    q: Floats
    reports: float
    start: Floats
    query: RangeQuery | None

    @classmethod
    def from_counts(
        cls, reports: Any, mechanism: Any, start: ArrayLike | None, given: Given | None
    ) -> "ReconstructionProblem":
        collected = reports.mechanism if isinstance(reports, Collector) else None
        mechanism = collected if mechanism is None else mechanism
        if mechanism is None:
            raise TypeError("reconstruct needs the mechanism that made the reports, or a Collector")
        known = isinstance(mechanism, Mechanism)
        if known:
            check_local_mechanism(mechanism)
        if known and collected is not None and not same_law(collected, mechanism):
            raise ValueError("mechanism must be the collector's own; its reports follow another law")
        channel = channel_for_law(mechanism) if known else detect_structure(_stochastic(mechanism))
        query = mechanism.query if known else None
        counts = _counts(reports, channel.shape[0], mechanism.report_query if known else None, given)
        return cls.from_channel(channel, counts, _full_support(start, channel.shape[1]), query)

    @classmethod
    def from_channel(
        cls, channel: LinearChannel, counts: Floats, start: Floats, query: RangeQuery | None
    ) -> "ReconstructionProblem":
        total = float(counts.sum())
        if not total > 0:
            raise ValueError("reports must be at least one; the collection is empty")
        if (channel.forward(start)[counts > 0] == 0).any():
            raise ValueError("reports must be possible; one has probability 0 under every answer")
        return cls(channel, counts / total, total, start, query)

    @property
    def about_labels(self) -> bool:
        """Whether the answers are known to have no order."""
        return self.query is not None and not self.query.is_ordered

    @property
    def about_distances(self) -> bool:
        """Whether the answers are known to lie at distances from each other: numbers, places, vertices of a graph."""
        query = self.query
        return query is not None and (query.is_ordered or not query.neighbours.is_line)

    def residual(self, p: Floats) -> float:
        """Return an upper bound on max_j r_j - 1 for any matrix within the channel's slack. Costs one step.

        r_j = sum_i q_i P[i, j] / (P p)_i grows with the numerator and falls with the denominator, so slack is added
        to the one and taken from the other.
        """
        seen, slack = self.q > 0, self.channel.slack
        rounding = 0.0 if isinstance(self.channel, DenseChannel) else RELATIVE
        likely = (1 - rounding) * self.channel.forward(p) - slack.below
        if not (likely[seen] > 0).all():
            return float("inf")
        x = np.divide(self.q, likely, out=np.zeros_like(likely), where=seen)
        r = (1 + rounding) * self.channel.backward(x).max() + (slack.above * x).sum()
        return max(0.0, float(r - 1))

    def log_likelihood(self, p: Floats) -> float:
        """Return the log-likelihood per report, sum_i q_i log (P p)_i; minus infinity if p excludes a report."""
        seen = self.q > 0
        with np.errstate(divide="ignore"):
            return dot(self.q[seen], np.log(self.channel.forward(p)[seen]))


def _stochastic(matrix: ArrayLike) -> Floats:
    floats = np.array(matrix, dtype=np.float64)
    if floats.ndim != 2 or 0 in floats.shape:
        raise ValueError(f"matrix must be outputs × answers, got the shape {floats.shape}")
    if not (np.isfinite(floats).all() and (floats >= 0).all()):
        raise ValueError("matrix entries must be finite and not negative")
    if not (np.abs(floats.sum(axis=0) - 1) <= COLUMN_SLACK).all():
        raise ValueError("columns must sum to one: P[output, answer] is the probability of the output given the answer")
    return floats


def _counts(reports: Any, outputs: int, query: RangeQuery | None, given: Given | None) -> Floats:
    if given not in (None, "counts", "reports"):
        raise ValueError(f"given must be 'counts' or 'reports', got {given!r}")
    if isinstance(reports, Collector):
        return _as_counts(reports.counts, outputs)
    values = np.asarray(reports)
    counted = values.shape == (outputs,) and values.dtype.kind in "iuf"
    if given is None and counted and query is not None and _could_be_reports(values, query):
        raise ValueError(
            f"given must say whether these {outputs} numbers, as many as there are outputs, are 'counts' or 'reports'; "
            "they could be either"
        )
    if given == "counts" or (given is None and counted):
        return _as_counts(values, outputs)
    if query is not None:
        return tally(values, query).astype(np.float64)
    return _count_positions(values.ravel(), outputs)


def _could_be_reports(values: NDArray[Any], query: RangeQuery) -> bool:
    try:
        tally(values, query)
    except (TypeError, ValueError):
        return False
    return True


def _count_positions(values: NDArray[Any], outputs: int) -> Floats:
    """Count output positions; reports of a plain matrix are positions, because it has no values."""
    if values.size == 0:
        return np.zeros(outputs)
    if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= outputs:
        raise ValueError(
            f"reports of a plain matrix must be output positions 0..{outputs - 1}, or one count for each output"
        )
    return np.bincount(values, minlength=outputs).astype(np.float64)


def _as_counts(values: Any, outputs: int) -> Floats:
    if np.asarray(values).dtype.kind not in "iuf":
        raise TypeError("counts must be numbers")
    counts = np.asarray(values, dtype=np.float64)
    if counts.shape != (outputs,):
        raise ValueError(f"counts must be one for each of the {outputs} outputs, got the shape {counts.shape}")
    if not np.isfinite(counts).all():
        raise ValueError("counts must be finite")
    if (counts < 0).any():
        raise ValueError("counts must not be negative")
    return counts


def _full_support(start: ArrayLike | None, answers: int) -> Floats:
    if start is None:
        return np.full(answers, 1 / answers)
    p = np.asarray(start, dtype=np.float64)
    if p.shape != (answers,):
        raise ValueError(f"start must be one weight for each of the {answers} answers, got the shape {p.shape}")
    if not (np.isfinite(p).all() and (p > 0).all()):
        raise ValueError("start must have full support: an answer that starts at zero stays there")
    return np.asarray(p / p.sum())

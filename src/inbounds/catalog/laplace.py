"""Laplace noise kept in range: snapped to the ends, or truncated and normalized."""

import math
from typing import Literal

import numpy as np

from inbounds.catalog._grid import boundaries, catchments, dense, numeric
from inbounds.catalog.scales import NOTIONS, Notion, keeps_metric, smallest_scale
from inbounds.design.closed.noise import laplace_tail, probability_between, snap_to_cells
from inbounds.exact import Floats, Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.mechanism.audit import find_worst_ratio
from inbounds.query import RangeQuery, check_query

RANGE = "Croft, Sack, Shi, The impact of range constraints on utility, 2020"
NORMALIZED = "Croft, Sack, Shi, Differential privacy via a truncated and normalized Laplace mechanism, 2022"


def snapped_laplace(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Add Laplace noise of scale sensitivity/epsilon and return the nearest output (000 (16), (19)).

    Mass beyond the range is added to its ends.

    >>> from inbounds.query import extreme
    >>> snapped_laplace(extreme(1, 5), 1).matrix[0].round(3).tolist()
    [0.559, 0.441, 0.344, 0.268, 0.208]
    """
    check_query(query)
    dense(numeric(query, "snapped_laplace"))
    bound = to_epsilon(epsilon)
    edges = catchments(query, np.array([float(edge) for edge in boundaries(query)]))
    matrix = snap_to_cells(laplace_tail(float(query.sensitivity / bound)), edges)
    return certify_formula(matrix, query, bound, Origin("snapped_laplace", {}, RANGE))


def normalized_laplace(
    query: RangeQuery,
    epsilon: Number,
    *,
    notion: Notion = "plain",
    unbounded: Literal["above", "below", "both"] | None = None,
) -> Mechanism:
    """Cut the Laplace density to the output cells and normalize it, at the smallest private scale (002).

    notion="plain" promises epsilon-differential privacy between neighbours and is tight: the scale is searched on
    the matrix itself; `ib.find_scale` has the one that real answers and outputs need. notion="metric" is the
    paper's stronger promise, epsilon·|f - g|/sensitivity for all real answers in the cells. Cells with holes
    between them are a union of intervals. unbounded: the first or last cell, or both, stand for a half-line.
    With "both", only holes are constraints (002 §4.2): true answers lie in the declared range, and the tails beyond it
    fall into the end cells, at most exp(-d/s)/2 on either side of an answer d inside.
    """
    check_query(query)
    dense(numeric(query, "normalized_laplace"))
    if notion not in NOTIONS:
        raise ValueError(f"notion must be 'plain' or 'metric', got {notion!r}")
    if unbounded not in (None, "above", "below", "both"):
        raise ValueError(f"unbounded must be 'above', 'below', 'both' or None, got {unbounded!r}")
    bound = to_epsilon(epsilon)

    def is_private(scale: float) -> bool:
        if notion == "plain":
            return find_worst_ratio(_normalize(query, scale, unbounded), query).epsilon <= float(bound)
        return keeps_metric(_spans(query, unbounded), scale, float(bound / query.sensitivity))

    scale = smallest_scale(is_private, float(query.sensitivity / bound))
    open_ends = {"unbounded": unbounded} if unbounded == "both" else {}
    origin = Origin("normalized_laplace", {"notion": notion, "scale": repr(scale)} | open_ends, NORMALIZED)
    return certify_formula(_normalize(query, scale, unbounded), query, bound, origin)


def _spans(query: RangeQuery, unbounded: str | None) -> Floats:
    """Return the feasible intervals as rows (lower, upper): adjacent cells are merged."""
    spans: list[list[float]] = []
    for low, high, _ in query.outputs:
        if spans and spans[-1][1] == float(low):
            spans[-1][1] = float(high)
        else:
            spans.append([float(low), float(high)])
    if unbounded in ("below", "both"):
        spans[0][0] = -math.inf
    if unbounded in ("above", "both"):
        spans[-1][1] = math.inf
    return np.array(spans)


def _normalize(query: RangeQuery, scale: float, unbounded: str | None) -> Floats:
    low = catchments(query, query.outputs.lowers.floats())
    high = catchments(query, query.outputs.uppers.floats())
    if unbounded in ("below", "both"):
        low[0] = -np.inf
    if unbounded in ("above", "both"):
        high[-1] = np.inf
    mass = probability_between(laplace_tail(scale), low, high)
    with np.errstate(invalid="ignore"):
        return np.asarray(mass / mass.sum(axis=0))


def refuted_half_line(query: RangeQuery, epsilon: Number) -> Floats:
    """Return the matrix of 002 Theorem 1, which is not private, because every answer has its own scale.

    On the half-line above the first answer, (32) gives the scale at the constraint and (33) the scale at
    distance i·sensitivity from it. Two Laplace tails of different scales have an unbounded ratio, so
    `audit` shows a loss that grows with the range, whatever epsilon is. The result is an array of floats, because it
    cannot become a mechanism.
    """
    check_query(query)
    from scipy.special import lambertw

    dense(numeric(query, "refuted_half_line"))
    e, sensitivity = float(to_epsilon(epsilon)), float(query.sensitivity)
    first_scale = -sensitivity / (lambertw(-1 / (2 * math.e)).real * math.e * e)
    distances = query.answers.floats() - float(query.answers[0])
    i = distances[1:] / sensitivity
    inner = distances[1:] * np.exp(-i * e) / first_scale
    argument = np.maximum(-2 * inner * np.exp(-inner), 1e-15 - 1 / math.e)  # touches the branch point
    w = np.where(i * e <= 1, lambertw(argument).real, lambertw(argument, -1).real)
    scales = [first_scale, *(-distances[1:] * first_scale / (w * first_scale + distances[1:] * np.exp(-i * e)))]
    edges = catchments(query, query.outputs.lowers.floats())
    low, high = (
        np.vstack([-distances[None, :], edges[1:]]),
        np.vstack([edges[1:], np.full((1, len(distances)), np.inf)]),
    )
    columns = [probability_between(laplace_tail(s), low[:, [j]], high[:, [j]])[:, 0] for j, s in enumerate(scales)]
    mass = np.stack(columns, axis=1)
    return np.asarray(mass / mass.sum(axis=0))

"""Truncated and normalized Laplace noise with a scale for every answer (002 §4.3)."""

from collections.abc import Sequence

import numpy as np

from inbounds.catalog._grid import catchments, dense, numeric
from inbounds.catalog.laplace import NORMALIZED, normalized_laplace
from inbounds.design.closed.noise import laplace_tail, probability_between
from inbounds.exact import Floats, Ints, Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.query import RangeQuery, check_query

SWEEPS = 30
"""Rounds over all answers in which each scale is made as small as its neighbours allow."""


def scaled_laplace(query: RangeQuery, epsilon: Number, scales: Sequence[float] | None = None) -> Mechanism:
    """Cut the Laplace density of each answer's scale to the output cells and normalize it.

    scales: one for each answer, in units of the answers; the certificate refuses those that are not private together
    (`PrivacyViolation`), as it does the scales of 002 Theorem 1 on long ranges. By default they are searched: from the
    one scale of `normalized_laplace`, each is lowered in turn as far as the others allow, until none can be. That is a
    point where no single scale can be lowered, which need not be the best of all. Cost: answers² · outputs for a sweep,
    of which there are at most 30. Neighbours within a reach only.

    >>> import inbounds as ib
    >>> query = ib.interval(0, 4, 1, cells=16)
    >>> one, each = ib.catalog.normalized_laplace(query, 1), ib.catalog.scaled_laplace(query, 1)
    >>> each.loss("absolute") < one.loss("absolute")
    True
    """
    check_query(query)
    dense(numeric(query, "scaled_laplace"))
    bound = to_epsilon(epsilon)
    if scales is None:
        found = _lower_scales(query, float(bound), float(normalized_laplace(query, bound).origin.parameters["scale"]))
    else:
        found = np.asarray(scales, dtype=np.float64)
        if found.shape != (query.shape[1],) or not (np.isfinite(found) & (found > 0)).all():
            raise ValueError(f"scales must be {query.shape[1]} numbers above 0, one for each answer")
    text = " ".join(repr(scale) for scale in found.tolist())
    return certify_formula(
        _normalize_columns(query, found), query, bound, Origin("scaled_laplace", {"scales": text}, NORMALIZED)
    )


def _normalize_columns(query: RangeQuery, scales: Floats) -> Floats:
    low, high = (catchments(query, edges.floats()) for edges in (query.outputs.lowers, query.outputs.uppers))
    columns = [_column(low[:, j], high[:, j], scale) for j, scale in enumerate(scales)]
    return np.stack(columns, axis=1)


def _column(low: Floats, high: Floats, scale: float) -> Floats:
    mass = probability_between(laplace_tail(scale), low, high)
    return np.asarray(mass / mass.sum())


def _lower_scales(query: RangeQuery, epsilon: float, start: float) -> Floats:
    """Lower the scales one after the other until none moves; the matrix is private after every step."""
    scales = np.full(query.shape[1], start)
    columns = _normalize_columns(query, scales)
    low, high = (catchments(query, edges.floats()) for edges in (query.outputs.lowers, query.outputs.uppers))
    near = [_find_neighbours(query, j) for j in range(query.shape[1])]
    for sweep in range(SWEEPS):
        before = scales.copy()
        for j in range(len(scales)) if sweep % 2 else reversed(range(len(scales))):
            logs, least, most = np.log(columns[:, near[j]]), scales[j] / 8, float(scales[j])
            for _ in range(40):
                middle = (least + most) / 2
                loss = np.abs(logs - np.log(_column(low[:, j], high[:, j], middle))[:, None]).max(initial=0.0)
                least, most = (least, middle) if loss <= epsilon * (1 - 1e-12) else (middle, most)
            scales[j] = most
            columns[:, j] = _column(low[:, j], high[:, j], most)
        if np.abs(scales - before).max() < 1e-9:
            break
    return scales


def _find_neighbours(query: RangeQuery, j: int) -> Ints:
    """Return the other answers within the sensitivity of answer j."""
    places = np.array(query.answers.ticks)
    near = np.flatnonzero(np.abs(places - places[j]) <= query.steps)
    return np.asarray(near[near != j])

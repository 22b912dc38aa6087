"""The least scale of truncated and normalized Laplace noise for real answers and outputs (002), without a grid.

A span is an interval (lower, upper) of possible answers; what lies between spans is constrained. With one scale s, two
answers f, g lose |f - g|/s + |ln N(f)/N(g)|, N the Laplace mass around an answer that the spans keep.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from inbounds.design.closed.noise import laplace_tail, probability_between
from inbounds.exact import Floats, Number, to_epsilon, to_fraction

Notion = Literal["plain", "metric"]
NOTIONS: tuple[Notion, ...] = ("plain", "metric")


def find_scale(
    spans: Sequence[tuple[float, float]], sensitivity: Number, epsilon: Number, notion: Notion = "plain"
) -> float:
    """Return the least private scale of Laplace noise that is cut to the spans and normalized.

    spans: the possible answers, as (lower, upper) in order; the outermost ends may be infinite. sensitivity: how far
    one person moves the answer. notion: "plain" promises epsilon between answers within the sensitivity; "metric",
    the promise of 002, epsilon·|f - g|/sensitivity between any two. The scale is that of real numbers. On a grid
    `catalog.normalized_laplace` finds its own: for "plain" no larger if the sensitivity is a whole number of cells, and
    near this one if cells are small. Bisection to 12 digits, O(spans²) a step. A float: a mechanism is certified from
    its matrix.

    >>> import math
    >>> round(find_scale([(0, math.inf)], 1, 1), 3), round(find_scale([(0, math.inf)], 1, 1, "metric"), 3)
    (1.613, 2.0)
    """
    if notion not in NOTIONS:
        raise ValueError(f"notion must be 'plain' or 'metric', got {notion!r}")
    ends = _check_spans(spans)
    reach, bound = float(to_fraction(sensitivity, "sensitivity")), float(to_epsilon(epsilon))
    if reach <= 0:
        raise ValueError(f"sensitivity must be above 0, got {sensitivity}")
    if notion == "metric":
        return smallest_scale(lambda scale: keeps_metric(ends, scale, bound / reach), reach / bound)
    return smallest_scale(lambda scale: find_plain_loss(ends, scale, reach) <= bound * (1 + 1e-12), reach / bound)


def smallest_scale(is_private: Callable[[float], bool], natural: float) -> float:
    """Return the least scale for which `is_private` holds, by bisection between natural/1024 and 4·natural.

    The privacy loss falls as the scale grows; 2·sensitivity/epsilon always suffices (002 Lemma 10).
    """
    low, high = natural / 1024, 4 * natural
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_private(middle) else (middle, high)
    return high


def _check_spans(spans: Sequence[tuple[float, float]]) -> Floats:
    ends = np.array([(float(low), float(high)) for low, high in spans], dtype=np.float64)
    flat = ends.ravel()
    if not len(flat) or np.isnan(flat).any() or not np.isfinite(flat[1:-1]).all() or (np.diff(flat) < 0).any():
        raise ValueError("spans must be (lower, upper) pairs in order, with infinite ends outermost only")
    return ends


def kept_mass(spans: Floats, answers: Floats, scale: float) -> Floats:
    """Compute N(f): the Laplace mass around each answer that lies in the spans."""
    low, high = spans[:, :1] - answers[None, :], spans[:, 1:] - answers[None, :]
    return np.asarray(probability_between(laplace_tail(scale), low, high).sum(axis=0))


def keeps_metric(spans: Floats, scale: float, rate: float) -> bool:
    """Test whether all pairs of real answers in the spans lose at most `rate` for each unit that they are apart.

    Inside a span the loss per distance is (1 + |L - R| / (1 - L - R)) / s, largest at an end, with L and R the
    mass cut off to the left and to the right: 002 (35). Across a hole it rises to the end where it is larger, which
    belongs to a span too, so (37) never asks for more.
    """
    ends = spans[np.isfinite(spans)]
    left, right = cut_masses(spans, ends, scale)
    losses = (1 + np.abs(left - right) / (1 - left - right)) / scale
    return bool((losses <= rate).all()) and 1 / scale <= rate


def find_plain_loss(spans: Floats, scale: float, sensitivity: float) -> float:
    """Compute the largest loss between two real answers in the spans at most a sensitivity apart.

    Moving an answer away from another never lowers their loss, because ln N changes by at most 1/s per unit. So a pair
    counts only if it is a whole sensitivity apart, or if the lower answer starts a span and the upper one is as far
    away as it can be. Between breaks N(f) = 1 - l·exp(-f/s) - r·exp(f/s) at both answers, and the ratio of two such is
    stationary at the roots of a quadratic.
    """
    ends = spans[np.isfinite(spans)]
    breaks = np.unique(np.concatenate([ends, ends - sensitivity]))
    inner = [_stationary(spans, low, high, scale, sensitivity) for low, high in pairwise(breaks)]
    lower = np.concatenate([breaks, *inner])
    low, high = spans[:, 0], spans[:, 1]
    f = lower[((lower[:, None] >= low) & (lower[:, None] <= high)).any(axis=1)]
    reached = f[:, None] + sensitivity
    g = np.where(reached >= low, np.minimum(reached, high), -np.inf).max(axis=1)
    losses = (g - f) / scale + np.abs(np.log(kept_mass(spans, g, scale) / kept_mass(spans, f, scale)))
    far_out = 0.0 if np.isfinite(spans).all() else sensitivity / scale  # where nothing is cut off any more
    return max(float(losses.max(initial=0.0)), far_out)


def _stationary(spans: Floats, low: float, high: float, scale: float, sensitivity: float) -> Floats:
    """Find where N(f + sensitivity)/N(f) is stationary for f between two breaks.

    With L1, R1 the masses cut off left and right of the middle m, L2, R2 those a sensitivity further, and
    u = exp((f - m)/s): (R1 - R2)·u² + 2(L1·R2 - L2·R1)·u + (L2 - L1) = 0.
    """
    middle = np.array([(low + high) / 2, (low + high) / 2 + sensitivity])
    feasible = ((spans[:, :1] <= middle) & (middle <= spans[:, 1:])).any(axis=0)
    if not feasible.all():
        return np.array([])
    left, right = cut_masses(spans, middle, scale)
    roots = np.roots([right[0] - right[1], 2 * (left[0] * right[1] - left[1] * right[0]), left[1] - left[0]])
    places = middle[0] + scale * np.log(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0)])
    return np.asarray(places[(places > low) & (places < high)])


def cut_masses(spans: Floats, answers: Floats, scale: float) -> tuple[Floats, Floats]:
    """Compute L and R of 002 (4), (5): the Laplace mass of the constraints left and right of answers in the spans."""
    tail = laplace_tail(scale)
    above = np.maximum(spans[:, :1] - answers, 0), np.maximum(spans[:, 1:] - answers, 1e-300)
    kept_right = np.asarray(probability_between(tail, *above).sum(axis=0))
    return 0.5 - (kept_mass(spans, answers, scale) - kept_right), 0.5 - kept_right

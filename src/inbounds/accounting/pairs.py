"""Neighbouring answers of a mechanism and their curves, for composition.

The curve of two neighbours is the weights of every output under the one and under the other; delta(epsilon) of the pair
follows from it.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inbounds.accounting.dominating_pairs import AnswerGroup, Curve, response_pair, unique_curves
from inbounds.accounting.merged_losses import MERGED_BITS, Losses, merge_losses, merged_curve
from inbounds.directed_rounding import log_above
from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import RangeQuery
from inbounds.query.neighbours import Pair
from inbounds.trusted.bounds import TOTAL

ENTRIES = 4_000_000
"""The most pairs times outputs that are examined; above, randomized response of the same epsilon is used."""

CUT = Fraction(1, 1000)
"""The share of a delta that may be counted as infinite loss though it is finite, so that the grid of others is fine."""

ALIKE, NOISE = 1e-9, 1e-14
"""A pair of neighbours joins another's group if its curves exceed the other's by at most this share or amount."""


def neighbouring_pairs(query: RangeQuery) -> list[Pair]:
    """Return all ordered pairs of neighbouring answers; under metric privacy and on graphs those at most one unit
    apart.
    """
    return query.neighbours.pairs(query.answers)


def merged_losses(mechanism: Mechanism) -> Losses | None:
    """Return the losses of one pair that dominates all pairs of a mechanism's columns; None if it is too large, or has
    a delta.
    """
    weights = None if mechanism.delta else weights_if_small(mechanism)
    return None if weights is None else merge_losses(weights, neighbouring_pairs(mechanism.query))


def curves_for_any_question(mechanism: Mechanism, times: int, losses: Losses | None) -> AnswerGroup:
    """Return the curves of a mechanism for any pair of neighbours. losses: as `merged_losses` returns them."""
    merged = None if losses is None else merged_curve(losses)
    if merged is not None:
        return AnswerGroup((merged,), 1 << MERGED_BITS, max(mechanism.epsilon, log_above(merged.largest)), times)
    weights = weights_if_small(mechanism)
    if weights is None:
        return response_pair(mechanism.epsilon, times, mechanism.delta)
    curves = unique_curves(pair_curve(weights, pair) for pair in neighbouring_pairs(mechanism.query))
    return _answer_group(curves, mechanism, times)


def curves_for_same_question(mechanisms: Sequence[Mechanism], times: Sequence[int]) -> list[tuple[AnswerGroup, ...]]:
    """Return, for each group of similar neighbour pairs, the curves of all mechanisms about one true value."""
    weights = [weights_if_small(m) for m in mechanisms]
    if any(w is None for w in weights):
        return [tuple(curves_for_any_question(m, t, merged_losses(m)) for m, t in zip(mechanisms, times, strict=True))]
    pair_curves = curves_per_pair([w for w in weights if w is not None], mechanisms[0].query)
    return [
        tuple(
            _answer_group(unique_curves(curves), m, t) for m, t, *curves in zip(mechanisms, times, *group, strict=True)
        )
        for group in _groups(pair_curves, mechanisms)
    ]


def _answer_group(curves: Sequence[Curve], mechanism: Mechanism, times: int) -> AnswerGroup:
    """Return the group of a mechanism with these curves.

    With a delta its grid ends where the losses beyond weigh at most a share of delta; these count as infinite.
    """
    if not mechanism.delta:
        return AnswerGroup(tuple(curves), TOTAL, mechanism.epsilon, times)
    allowed = mechanism.delta * TOTAL * CUT
    cap = log_above(max([*(curve.ratio_at_excess(allowed) for curve in curves), Fraction(1)]))
    return AnswerGroup(tuple(curves), TOTAL, max(cap, mechanism.epsilon), times, has_delta=True)


def curves_per_pair(weights: Sequence[Ints], query: RangeQuery) -> list[tuple[Curve, ...]]:
    """Return the curves of all mechanisms for every pair of neighbours, without repetitions."""
    return list(dict.fromkeys(tuple(pair_curve(w, pair) for w in weights) for pair in neighbouring_pairs(query)))


def weights_if_small(mechanism: Mechanism) -> Ints | None:
    """Return the weights, or None if the mechanism has no matrix or a too large one."""
    outputs, answers = mechanism.query.shape
    if outputs * answers > MATRIX_LIMIT or outputs * len(neighbouring_pairs(mechanism.query)) > ENTRIES:
        return None
    try:
        return mechanism.weights
    except TooLarge:
        return None


def pair_curve(weights: Ints, pair: Pair) -> Curve:
    """Return the positive weights of one answer's column with those of its neighbour's, sorted: all that
    delta(epsilon) of the pair depends on.
    """
    upper, lower = (weights[:, at] for at in pair)
    leak = int(upper[lower == 0].sum(dtype=object))
    possible = (upper > 0) & (lower > 0)
    order = np.lexsort((lower[possible], upper[possible]))
    return Curve(tuple(upper[possible][order].tolist()), tuple(lower[possible][order].tolist()), leak)


def _groups(all_choices: list[tuple[Curve, ...]], mechanisms: Sequence[Mechanism]) -> list[list[tuple[Curve, ...]]]:
    """Group the choices with those that they nearly dominate. A group bounds all its members, so any grouping is
    valid.
    """
    rough = [_rough(choice, mechanisms) for choice in all_choices]
    groups: list[list[int]] = []
    for i in sorted(range(len(all_choices)), key=lambda i: -float(rough[i].sum())):
        for group in groups:
            if (rough[i] <= rough[group[0]] * (1 + ALIKE) + NOISE).all():
                group.append(i)
                break
        else:
            groups.append([i])
    return [[all_choices[i] for i in group] for group in groups]


def _rough(choice: tuple[Curve, ...], mechanisms: Sequence[Mechanism]) -> Floats:
    scales = [np.exp(np.linspace(-1, 1, 129) * float(m.epsilon)) for m in mechanisms]
    return np.concatenate([curve.rough(x, TOTAL) for curve, x in zip(choice, scales, strict=True)])

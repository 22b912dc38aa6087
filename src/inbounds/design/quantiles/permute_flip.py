"""Design of `permute_and_flip`: the steepest score table that the exact check accepts."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from inbounds.errors import InboundsError, InfeasibleDesign
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism import Mechanism, QuantileMechanism
from inbounds.mechanism.laws import PermuteAndFlip
from inbounds.mechanism.laws.scores import gauss_legendre
from inbounds.mechanism.origin import Origin
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS
from inbounds.trusted.limits import MOST_DEEPER, MOST_SCORED

MOST_WEIGHTS = 1 << 16
"""Largest number of weights of a table; longer lengths get the last weight."""

STRIDE = 8
"""Levels from one length to the next: the resolution at which the depth of a group counts."""

MOST_DEPTHS = 32
"""Largest number of entries for the depth of a group; the last is repeated."""

SLACKS = tuple(2.0**-bits for bits in (34, 30, 26, 22, 18, 12))
"""Shares of epsilon reserved for the rounding of floats; the first that suffices is used."""

REFERENCE = "McKenna and Sheldon 2020, with the bound of docs/theory/quantiles.md"


def design_permute_flip(query: QuantileQuery, epsilon: Number, *, steepness: float = 0.5) -> QuantileMechanism:
    """Design permute-and-flip over path lengths.

    Each value is a candidate with a probability that falls with the number of records that would have to change for it
    to be the quantile. One of the candidates is the output. The probability also falls with the depth of the group, the
    number of records that may change before its quantile does. Table and depths are as steep as the exact bound allows.

    steepness: where the step of the table lies between that of the exponential mechanism, exp(epsilon/2), which is 0,
    and the steepest one that is private, which is 1. The steeper the step, the less the depth of a group may count: a
    steep table is good where few records must change, a flat one where many are equal. Half-way is between the two, and
    `design_quantile` searches for a better one.

    >>> from inbounds import median
    >>> design_permute_flip(median(1, 5, size=25), 1)
    <Mechanism permute_and_flip for <median of 25 records in 1..5 (5 values)>, epsilon=1>
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if not 0 <= steepness <= 1:
        raise ValueError(f"steepness must be between 0 and 1, got {steepness}")
    for slack in SLACKS:
        first, level, deeper = _propose_steps(float(bound) * (1 - slack), query, steepness)
        table = round_table_up(first, level, STRIDE * query.max_length * 2)
        try:
            law = PermuteAndFlip(table, STRIDE, deeper)
            return Mechanism(query, bound, law, Origin("permute_and_flip", {}, REFERENCE))
        except InboundsError:
            continue
    raise InfeasibleDesign("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def round_table_up(first: float, level: float, most: int) -> tuple[int, ...]:
    """Build integer weights that fall by exp(first), then by at most exp(level) at a time, until they stop falling."""
    step = max(TOTAL + 1, int(Fraction(math.exp(level)) * TOTAL))
    table = [TOTAL, min(TOTAL - 1, math.ceil(TOTAL / Fraction(math.exp(first))))]
    while len(table) <= min(most, MOST_WEIGHTS):
        table.append(-(-(table[-1] << TOTAL_BITS) // step))
        if table[-1] == table[-2]:
            break
    return tuple(table)


# --- the steps, as logarithms in floats: a proposal -------------------------------------------------------


def _propose_steps(epsilon: float, query: QuantileQuery, steepness: float) -> tuple[float, float, tuple[int, ...]]:
    """Propose the first step, the step of a level, and the levels of each further depth; all of epsilon is used."""
    if query.width > MOST_SCORED:
        return epsilon / 2, epsilon / 2 / STRIDE, (STRIDE,)
    cases = _Cases(query.width)
    steepest = _steepest_step(cases, epsilon)
    share = 0.5 + steepness * (steepest / epsilon - 0.5)
    # A step of stride + most levels is then epsilon, or one percent less for the competition between outputs.
    most = min(STRIDE, math.ceil(STRIDE * (1 / share - 1) - 1e-9))
    level = epsilon / (STRIDE + most) * (1.0 if most == STRIDE else 0.99)
    R = STRIDE * level
    first = _last_within(lambda s: cases.move(s, R) - epsilon, 1e-3 * epsilon, R)
    depths = min(MOST_DEPTHS, query.max_length, max(1, MOST_DEEPER // query.width))
    return (
        first,
        level,
        _depth_levels(lambda more, x: _at_depth(cases, R, more, x) <= epsilon, level, first, most, depths),
    )


def _steepest_step(cases: "_Cases", epsilon: float) -> float:
    """Return the largest step for which some first step keeps both cases without depth within epsilon."""

    def step(s: float) -> float:
        return max(s, _last_within(lambda r: cases.stays(r, r, s) - epsilon, 0.0, epsilon))

    return step(_last_within(lambda s: cases.move(s, step(s)) - epsilon, 1e-3 * epsilon, epsilon))


def _depth_levels(
    within: Callable[[float, float], bool], level: float, x: float, most: int, depths: int
) -> tuple[int, ...]:
    """Find for one depth after the other the most levels that stay within epsilon, until the maximum is reached."""
    levels: list[int] = []
    while len(levels) < depths and (not levels or levels[-1] < most):
        levels.append(next(d for d in range(most, -1, -1) if d == 0 or within(d * level, x)))
        x += levels[-1] * level
    return tuple(levels)


def _at_depth(cases: "_Cases", R: float, more: float, x: float) -> float:
    """Return the larger of the two cases in which the depth of a group rises or falls by one."""
    return max(cases.stays(R + more, R - more, x + more), cases.stays(R - more, R + more, x))


class _Cases:
    """The logarithms of the two cases of the bound, for logarithms of steps and of 1/x, by quadrature."""

    def __init__(self, width: int) -> None:
        nodes, weights = gauss_legendre(256)
        self.u, self.weights, self.c = nodes**2, 2 * weights * nodes, width - 1

    def _integral(self, linear: float, z: float) -> float:
        """Compute ∫ (1 - linear·u)(1 - z·u)^c du, with u = v² so that nodes are dense where the mass is."""
        return float((self.weights * (1 - linear * self.u) * np.exp(self.c * np.log1p(-z * self.u))).sum())

    def stays(self, step: float, others: float, x: float) -> float:
        """Return the log ratio if the quantile stays the same."""
        return step + math.log(self._integral(1.0, math.exp(-x - others)) / self._integral(1.0, math.exp(-x)))

    def move(self, x: float, R: float) -> float:
        """Return the log ratio if the quantile moves."""
        first = math.exp(-x)
        return x + math.log(self._integral(first, math.exp(-x - R)) / self._integral(1.0, first))


def _last_within(excess: Callable[[float], float], low: float, high: float) -> float:
    """Return the end of the interval from `low` on which a rising function is not positive, at most `high`."""
    from scipy.optimize import brentq

    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=1e-15 * high, rtol=1e-14)) if excess(low) < 0 else low

"""permute_and_flip: the steepest score table that the checker lets pass."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from inbounds.errors import InboundsError, Infeasible
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import QuantileMechanism, ScoreTable
from inbounds.mechanism.quantiles.laws import quadrature
from inbounds.numbers import Number, as_epsilon
from inbounds.query import Quantile
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS
from inbounds.trusted.extent import MOST_SCORED

MOST_WEIGHTS = 1 << 16
"""Weights of a table; longer lengths count as the last of them."""

SLACKS = tuple(2.0**-bits for bits in (34, 30, 26, 22, 18, 12))
"""Shares of epsilon that are given up for the rounding of floats, the first that suffices."""

REFERENCE = "McKenna and Sheldon 2020, with the bound of docs/theory/quantiles.md"


def permute_and_flip(query: Quantile, epsilon: Number) -> QuantileMechanism:
    """The quantile by permute-and-flip over path lengths: each value raises its hand with a probability that falls with
    the number of records that would have to change, and one of the raised hands is reported.

    The table is geometric after its first step; both cases of the exact bound meet epsilon.

    >>> from inbounds import median
    >>> permute_and_flip(median(1, 5, size=25), 1)
    <QuantileMechanism permute_and_flip for <median of 25 records in 1..5 (5 values)>, epsilon=1>
    """
    bound = as_epsilon(epsilon)
    for slack in SLACKS:
        first, later = _steps(float(bound) * (1 - slack), query.width)
        table = ScoreTable(_rounded_up(first, later, query.longest))
        try:
            return QuantileMechanism(query, bound, table, Origin("permute_and_flip", {}, REFERENCE))
        except InboundsError:
            continue
    raise Infeasible("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def _rounded_up(first: float, later: float, longest: int) -> tuple[int, ...]:
    """Whole weights that fall by at most these ratios, until they fall no more."""
    step = max(TOTAL + 1, int(Fraction(later) * TOTAL))
    table = [TOTAL, min(TOTAL - 1, math.ceil(TOTAL / Fraction(first)))]
    while len(table) <= min(longest, MOST_WEIGHTS):
        table.append(-(-(table[-1] << TOTAL_BITS) // step))
        if table[-1] == table[-2]:
            break
    return tuple(table)


# --- the first and the later steps, in floats: a proposal -------------------------------------------------


def _steps(epsilon: float, width: int) -> tuple[float, float]:
    """(s, r): ratios of the first and of every later step that spend all of epsilon, in both cases of the bound."""
    if width > MOST_SCORED:
        return math.exp(epsilon / 2), math.exp(epsilon / 2)
    cases = _Cases(width)

    def later(s: float) -> float:
        """The largest r whose unchanged case stays within epsilon."""
        return _last_within(lambda r: cases.unchanged(s, r) - epsilon, 0.0, epsilon)

    s = _last_within(lambda s: cases.moved(s, max(s, later(s))) - epsilon, 1e-3 * epsilon, epsilon)
    return math.exp(s), math.exp(max(s, later(s)))


class _Cases:
    """The logarithms of the two cases of the bound, for steps exp(s) and exp(r), by quadrature."""

    def __init__(self, width: int) -> None:
        nodes, weights = quadrature(256)
        self.u, self.weights, self.c = nodes**2, 2 * weights * nodes, width - 1

    def _integral(self, linear: float, z: float) -> float:
        """∫ (1 - linear·u)(1 - z·u)^c du, with u = v² so that nodes are close together where the mass is."""
        return float((self.weights * (1 - linear * self.u) * np.exp(self.c * np.log1p(-z * self.u))).sum())

    def unchanged(self, s: float, r: float) -> float:
        x = math.exp(-s)
        return r + math.log(self._integral(1.0, x * math.exp(-r)) / self._integral(1.0, x))

    def moved(self, s: float, r: float) -> float:
        x = math.exp(-s)
        return s + math.log(self._integral(x, x * math.exp(-r)) / self._integral(1.0, x))


def _last_within(excess: Callable[[float], float], low: float, high: float) -> float:
    """The end of the interval from `low` on which a rising function is not positive."""
    from scipy.optimize import brentq

    if excess(high) <= 0:
        return high
    return float(brentq(excess, low, high, xtol=1e-15 * high, rtol=1e-14)) if excess(low) < 0 else low

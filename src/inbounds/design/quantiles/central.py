"""Design of `central_records`: the best law over the central order statistics of a group, for few values."""

import math
from itertools import takewhile

import numpy as np

from inbounds.errors import ConvergenceError, InboundsError, InfeasibleDesign
from inbounds.exact import Floats, Ints, Number, to_epsilon, to_int
from inbounds.losses import Prior, to_prior
from inbounds.mechanism import Mechanism, QuantileMechanism
from inbounds.mechanism.laws import CentralRecords
from inbounds.mechanism.laws.central import central_columns
from inbounds.mechanism.origin import Origin
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.multisets import all_multisets, neighbour_groups

MOST_MULTISETS = 1500
"""Largest number of multisets of the default window of central records: a linear program of some seconds."""

SLACKS = tuple(10.0**-digits for digits in (9, 8, 7, 6, 5, 4, 3))
"""Shares of epsilon reserved for the tolerance of the solver; the first that suffices is used."""

REFERENCE = "the non-oblivious optimum of 004 §6, on trimmed data"


def design_central(
    query: QuantileQuery, epsilon: Number, *, length: int | None = None, prior: Prior = None
) -> QuantileMechanism:
    """Design the law of least expected absolute error that sees only the `length` records around the quantile, in
    order.

    min sum_s prior(s) sum_i P[i, s] |i - quantile(s)| over all private P[output, multiset]: a linear program over the
    multisets of `length` values. length: odd for a median; by default the most with at most 1,500 multisets. prior: of
    the values of independent records; without one their shares are unknown, as in `Mechanism.channel`.

    >>> from inbounds import median
    >>> design_central(median(0, 2, size=25), 1, length=3)
    <Mechanism central_records(length=3) for <median of 25 records in 0..2 (3 values)>, epsilon=1>
    """
    check_quantile(query)
    if not (query.public_size and query.records == 1):
        raise ValueError("central records need a public size and one record a person; use permute_and_flip otherwise")
    bound = to_epsilon(epsilon)
    count = max_window(query, MOST_MULTISETS) if length is None else to_int(length, "length", 1)
    if not count:
        raise InfeasibleDesign(
            "there are too many values for a law over records; use permute_and_flip, or a larger step"
        )
    if count > query.size:
        raise ValueError(f"length must be at most the size {query.size}, got {length}")
    first = min(max(1, query.rank - count // 2), query.size - count + 1)
    central_columns(query, count)
    multisets, groups = all_multisets(count, query.width), neighbour_groups(count, query.width)
    truths = (np.cumsum(multisets, axis=1) <= query.rank - first).sum(axis=1)
    if prior is None:
        chances = unknown_chances(multisets, truths, first, query.size)
    else:
        chances = window_chances(multisets, to_prior(prior, query.as_range_query), first, query.size)
    costs = np.abs(np.arange(query.width + 1)[:, None] - truths) * chances
    proposal = _solve(costs, groups, math.exp(float(bound)))
    origin = Origin("central_records", {"length": str(count)}, REFERENCE)
    for slack in SLACKS:
        weights = _round_to_weights(proposal, groups, float(bound), slack)
        try:
            return Mechanism(query, bound, CentralRecords(first, count, weights), origin)
        except InboundsError:
            continue
    raise ConvergenceError("no whole numbers near the solution keep every ratio; use fewer central records")


def max_window(query: QuantileQuery, most: int) -> int:
    """Return the largest odd number of central records with at most `most` multisets; 0 if one record has more."""
    odd = range(1, query.size + 1, 2)
    return max(takewhile(lambda k: math.comb(k + query.width, query.width) <= most, odd), default=0)


# --- how likely the central records are -------------------------------------------------------------------


def unknown_chances(multisets: Ints, truths: Ints, first: int, size: int) -> Floats:
    """Compute Pr[multiset] if every value is equally likely to be the quantile, and given it every histogram.

    Of a window from lo to hi, the records before it are any multiset of 0..lo and those after it any of hi..w:
    C(first-1+lo, lo) · C(after+w-hi, w-hi) histograms have it.
    """
    from scipy.special import gammaln

    def log_multisets(records: int, values: Ints) -> Floats:
        """Return the log number of multisets of `records` records from values + 1 values."""
        return np.asarray(gammaln(records + values + 1.0) - gammaln(values + 1.0) - gammaln(records + 1.0))

    width, after = multisets.shape[1] - 1, size - first - int(multisets[0].sum()) + 1
    lows, highs = _ends(multisets)
    logs = log_multisets(first - 1, lows) + log_multisets(after, width - highs)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / np.bincount(truths, weights, width + 1)[truths] / (width + 1))


def _ends(multisets: Ints) -> tuple[Ints, Ints]:
    """Return the least and the largest value of each multiset."""
    present = multisets > 0
    return present.argmax(axis=1), multisets.shape[1] - 1 - present[:, ::-1].argmax(axis=1)


def window_chances(multisets: Ints, values: Floats, first: int, size: int) -> Floats:
    """Compute Pr[the records of rank first, … form each multiset], for `size` independent records.

    Between the least value lo and the largest hi of the window, all records are in it. Of the first - 1 before it some
    are lo, the others less; of those after it some are hi, the others more: n! times a sum over how many, each of
    products of value^count / count!.
    """
    length = int(multisets[0].sum())
    before, after = first - 1, size - first - length + 1
    lows, highs = _ends(multisets)
    with np.errstate(divide="ignore"):
        logs = np.log(values)
        less, more = np.log(np.cumsum(values) - values), np.log(np.cumsum(values[::-1])[::-1] - values)
    log_chances = np.empty(len(multisets))
    for s, (group, lo, hi) in enumerate(zip(multisets, lows.tolist(), highs.tolist(), strict=True)):
        if lo == hi:
            outer = _outer_terms(before, less[lo])[:, None] + _outer_terms(after, more[hi])[None, :]
            counts = length + np.arange(before + 1)[:, None] + np.arange(after + 1)[None, :]
            log_chances[s] = _log_sum(outer + _log_term(counts, logs[lo]))
        else:
            inner = sum(_log_term(group[t], logs[t]) for t in range(lo + 1, hi))
            left = _log_sum(_outer_terms(before, less[lo]) + _log_term(group[lo] + np.arange(before + 1), logs[lo]))
            right = _log_sum(_outer_terms(after, more[hi]) + _log_term(group[hi] + np.arange(after + 1), logs[hi]))
            log_chances[s] = inner + left + right
    return np.asarray(np.exp(log_chances + math.lgamma(size + 1)))


def _log_term(count: Ints, log: float) -> Floats:
    """Compute log(value^count / count!), with 0^0 = 1."""
    from scipy.special import gammaln

    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(count > 0, count * log, 0.0) - gammaln(np.asarray(count) + 1.0))


def _outer_terms(records: int, log: float) -> Floats:
    """Compute `_log_term` for records - e records beyond the window, for e = 0, 1, …"""
    return _log_term(records - np.arange(records + 1), log)


def _log_sum(terms: Floats) -> float:
    """Compute log(sum(exp(terms))) without overflow."""
    largest = float(terms.max())
    return largest + math.log(float(np.exp(terms - largest).sum())) if largest > -math.inf else -math.inf


# --- the linear program and its whole numbers -------------------------------------------------------------


def _solve(costs: Floats, groups: Ints, ratio: float) -> Floats:
    """Minimize costs·P with columns that sum to one and least[i, group] <= P[i, s] <= ratio · least[i, group]."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    outputs, columns = costs.shape
    cells, floors = outputs * columns, outputs * len(groups)
    cell = (np.arange(outputs)[:, None, None] * columns + groups[None, :, :]).ravel()
    least = cells + np.repeat(np.arange(floors), groups.shape[1])
    rows, ones = np.arange(len(cell)), np.ones(len(cell))
    above = coo_array(
        (np.concatenate([ones, -ones, ones, -ratio * ones]), _places(rows, (least, cell), (cell, least))),
        shape=(2 * len(cell), cells + floors),
    )
    sums = coo_array(
        (np.ones(cells), (np.tile(np.arange(columns), outputs), np.arange(cells))), shape=(columns, cells + floors)
    )
    cost = np.concatenate([costs.ravel(), np.zeros(floors)])
    solution = linprog(cost, above.tocsr(), np.zeros(2 * len(cell)), sums.tocsr(), np.ones(columns), method="highs-ipm")
    if solution.x is None:
        raise ConvergenceError("the linear program of the central records was not solved; use fewer of them")
    return np.asarray(solution.x[:cells].reshape(outputs, columns))


def _places(rows: Ints, first: tuple[Ints, Ints], second: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return the places of +1, -1, +1, -ratio: two rows of inequalities for each cell of a group."""
    shifted = rows + len(rows)
    return np.concatenate([rows, rows, shifted, shifted]), np.concatenate([*first, *second])


def _round_to_weights(proposal: Floats, groups: Ints, epsilon: float, slack: float) -> Ints:
    """Raise the proposal until neighbours are within a little less than epsilon, then round it to weights."""
    P = np.maximum(proposal, 2.0**-50)
    least = math.exp(-epsilon * (1 - slack))
    for _ in range(len(groups)):
        raised = P.copy()
        floors = P[:, groups].max(axis=2) * least
        for place in groups.T:
            np.maximum.at(raised.T, place, floors.T)
        if (raised <= P * (1 + 1e-15)).all():
            break
        P = raised
    weights: Ints = np.floor(P / P.sum(axis=0) * float(TOTAL - (1 << 12))).astype(np.int64)
    weights[weights.argmax(axis=0), np.arange(weights.shape[1])] += TOTAL - weights.sum(axis=0)
    return weights

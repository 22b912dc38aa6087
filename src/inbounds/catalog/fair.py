"""The explicit fair mechanism."""

import numpy as np

from inbounds.catalog.grid import decay, square
from inbounds.mechanism import Mechanism, Origin, certified
from inbounds.numbers import Floats, Number, as_epsilon
from inbounds.query import Query


def explicit_fair(query: Query, epsilon: Number) -> Mechanism:
    """The same probability of the truth for every answer, as large as fairness allows (EM, 003 (16)).

    Column j holds y·b^e, with d = |i - j|, m = min(j, n - j), e = d if d <= m, else ceil((d + m) / 2), and
    b = exp(-epsilon · step / sensitivity): every column has the same entries in another order, so one y
    normalizes them all. Has all seven properties; for counts no fair mechanism tells the truth more often
    (003 Theorem 4). Tight for n >= 2.

    >>> from inbounds.numbers import alpha
    >>> from inbounds.query import count
    >>> round(float(explicit_fair(count(4), alpha("10/11")).truth_probability()[0]), 4)
    0.2237
    """
    square(query, "explicit_fair")
    matrix = fair_matrix(len(query.answers), decay(query, as_epsilon(epsilon)))
    reference = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, (16)"
    return certified(matrix, query, epsilon, Origin("explicit_fair", {}, reference), even=True)


def fair_matrix(size: int, rate: float) -> Floats:
    """EM as floats, for answers 0..size-1 and a privacy loss of `rate` per step."""
    i, j = np.arange(size)[:, None], np.arange(size)[None, :]
    d, m = np.abs(i - j), np.minimum(j, size - 1 - j)
    powers = np.exp(-rate * np.where(d <= m, d, (d + m + 1) // 2))
    return np.asarray(powers / powers[:, (size - 1) // 2].sum())

"""The explicit fair mechanism."""

from inbounds.catalog._grid import decay, square
from inbounds.design.closed.fair import fair_matrix
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.query import RangeQuery, check_query


def explicit_fair(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Return the fair mechanism: the same probability of the truth for every answer, as large as fairness allows (EM,
    003 (16)).

    Column j holds y·b^e, with d = |i - j|, m = min(j, n - j), e = d if d <= m, else ceil((d + m) / 2), and
    b = exp(-epsilon · step / sensitivity): every column has the same entries in another order, so one y
    normalizes them all. Has all seven properties; for counts no fair mechanism tells the truth more often
    (003 Theorem 4). Tight for n >= 2.

    >>> from inbounds.exact import epsilon_from_alpha
    >>> from inbounds.query import count
    >>> round(float(explicit_fair(count(4), epsilon_from_alpha("10/11")).truth_probability()[0]), 4)
    0.2237
    """
    check_query(query)
    square(query, "explicit_fair")
    matrix = fair_matrix(len(query.answers), decay(query, to_epsilon(epsilon)))
    reference = "Cormode, Kulkarni, Srivastava, Constrained private mechanisms for count data, (16)"
    return certify_formula(matrix, query, epsilon, Origin("explicit_fair", {}, reference), even=True)

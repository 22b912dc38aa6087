"""Named mechanisms that are designed by optimization: the papers' Variants 1 and 2, and the weakly honest mechanism."""

from inbounds.exact import Number
from inbounds.losses import LossLike
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery, check_query

VARIANT_2 = ("row_monotone", "column_monotone", "symmetric", "fair")


def variant_1(query: RangeQuery, epsilon: Number, loss: LossLike = "absolute") -> Mechanism:
    """Design the mechanism with the least average loss over uniform answers, without further properties (000 §3.4)."""
    check_query(query)
    from inbounds.design.designer import optimal

    return optimal(query, epsilon, loss)


def variant_2(query: RangeQuery, epsilon: Number, loss: LossLike = "absolute") -> Mechanism:
    """Design as `variant_1`, with the properties row and column monotone, symmetric and fair (000 §3.4)."""
    check_query(query)
    from inbounds.design.designer import optimal

    return optimal(query, epsilon, loss, properties=VARIANT_2)


def weakly_honest(query: RangeQuery, epsilon: Number, *, column_monotone: bool = True) -> Mechanism:
    """Design the most truthful mechanism that beats guessing for every answer (WM, 003 §IV-D).

    It is weakly honest, row and column monotone, and has the least zero-one loss. `column_monotone=False` gives
    003's Figure 9: only then does it equal the geometric mechanism from n = 2a/(1-a) on, a = exp(-epsilon).
    """
    check_query(query)
    from inbounds.design.designer import optimal

    columns = ("column_monotone",) if column_monotone else ()
    return optimal(query, epsilon, "zero-one", properties=("weakly_honest", "row_monotone", *columns))

"""What a promise about one person says about several of them together."""

from fractions import Fraction

from inbounds.directed_rounding import exp_above
from inbounds.exact import Number, to_fraction, to_int


def group_privacy(epsilon: Number, delta: Number, persons: int) -> tuple[Fraction, Fraction]:
    """Return (epsilon, delta) for so many persons at once: k·epsilon and delta·(1 + e^epsilon + … + e^((k-1)·epsilon)).

    It holds for every mechanism that is (epsilon, delta)-private for one person; delta is rounded up, and 1 at most.
    The audit of a matrix with `ib.with_neighbours(query, ib.Reach(k))` is exact for that matrix.

    >>> together, delta = group_privacy(1, "1e-6", 3)
    >>> together, round(float(delta), 9)
    (Fraction(3, 1), 1.1107e-05)
    """
    e, d, count = to_fraction(epsilon, "epsilon"), to_fraction(delta, "delta"), to_int(persons, "persons", 1)
    if not e >= 0 or not 0 <= d <= 1:
        raise ValueError(f"epsilon must not be negative and delta between 0 and 1, got {epsilon} and {delta}")
    total = Fraction(0)
    for changes in range(count):
        total += d * exp_above(changes * e) if changes else d
        if not 0 < total < 1:
            break
    return count * e, min(total, Fraction(1))

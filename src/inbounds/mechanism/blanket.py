"""What outputs of others hide: how likely an output is under two answers, beside its least chance under any answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np

from inbounds.directed_rounding import ROUNDOFF
from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints, round_up_to_float
from inbounds.trusted.bounds import TOTAL

MOST_WORK = 1 << 28
"""The most pairs of answers times outputs that are compared: about a minute."""


@dataclass(frozen=True, eq=False)
class BlanketPair:
    """The outputs of a law under two answers, as someone sees them who knows how all answers are drawn.

    blanket: upper bounds of each output's least probability under any answer, where it is not 0. upper, lower: an upper
    bound of the ratio of its probability under the one answer to that, and a lower bound of the ratio under the other
    one. rest: an upper bound of the probability beyond the blanket. exposed: the probabilities under both answers of
    outputs that some answer never gives. Outputs with equal ratios may be one.
    """

    blanket: Floats
    upper: Floats
    lower: Floats
    rest: float
    exposed: tuple[tuple[Fraction, Fraction], ...] = ()


def pairs_of_matrix(weights: Ints) -> Iterator[BlanketPair]:
    """Yield each ordered pair of answers once that differs from the ones before by more than the order of outputs.

    weights: outputs × answers over 2^62. Raises `TooLarge` for more pairs than can be compared one by one.
    """
    outputs, answers = weights.shape
    if answers * answers * outputs > MOST_WORK:
        raise TooLarge(f"{answers} answers with {outputs} outputs have more pairs than can be compared one by one")
    blanket, seen = weights.min(axis=1), set()
    rest = round_up_to_float(1 - Fraction(int(blanket.sum(dtype=object)), TOTAL))
    for first, second in permutations(range(answers), 2):
        rows = np.stack([blanket, weights[:, first], weights[:, second]])
        rows = rows[:, np.lexsort(rows)]
        if rows.tobytes() not in seen:
            seen.add(rows.tobytes())
            yield _pair_of_rows(rows, rest)


def _pair_of_rows(rows: Ints, rest: float) -> BlanketPair:
    hidden = rows[0] > 0
    w, p, q = rows[:, hidden].astype(np.float64)  # each with one rounding, and each quotient with one more
    exposed = tuple((Fraction(p, TOTAL), Fraction(q, TOTAL)) for _, p, q in rows[:, ~hidden].T.tolist())
    up, down = 1 + 4 * ROUNDOFF, 1 - 4 * ROUNDOFF
    return BlanketPair(w / TOTAL * up, p / w * up, q / w * down, rest, exposed)


def pair_of_kinds(kinds: list[tuple[Fraction, Fraction, Fraction]], slack: Fraction = Fraction(0)) -> BlanketPair:
    """Return the pair of a law that treats all answers alike.

    kinds: for each kind of output the probability of all of them together: the least under any answer, and those under
    two. slack: the share by which any of these may be off.
    """
    kinds = [(w, p, q) for w, p, q in kinds if w]
    rest = 1 - sum(w for w, _, _ in kinds) * (1 - slack)
    up, down = 1 + 3 * slack, 1 - 3 * slack
    blanket, upper, low = (
        np.array([round_up_to_float(value) for value in part])
        for part in (
            [w * up for w, _, _ in kinds],
            [p / w * up for w, p, _ in kinds],
            [-q / w * down for w, _, q in kinds],
        )
    )
    return BlanketPair(blanket, upper, -low, round_up_to_float(rest))

"""A delta for answers of declared epsilons and deltas, in whole numbers: the same on every machine.

An (e, d)-private answer reveals about one pair of neighbours at most what this does: with probability d it gives them
away, otherwise it is randomized response, with the loss +e with probability p = exp(e) / (1 + exp(e)) and -e with
probability 1 - p (Kairouz, Oh and Viswanath, 2015, theorem 3.4). So answers with declared (e_i, d_i), whatever they
ask, are together (epsilon, delta)-private with

    1 - delta = (1 - sum over losses L > epsilon of Pr[L] · (1 - exp(epsilon - L))) · product of (1 - d_i).

Losses stand on a grid: that of the epsilons, if it has at most so many points; otherwise each loss is rounded up to a
coarser one. Probabilities are rounded up, exp(epsilon - L) down, so a delta is never too small.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from inbounds.directed_rounding import exp_above, exp_below

BITS = 192
"""Probabilities are whole numbers over 2**BITS."""

ONE = 1 << BITS

FINE, ROUGH = 1 << 12, 1 << 9
"""Most points of the grid of losses; with few of them a factor is found roughly, to begin the search there."""

MOST_ANSWERS = 1 << 10
"""Most answers of a plan for which a factor is computed: the time grows with their square, and with few points for each
of them rounding takes back what is gained."""

FACTOR_STEP = Fraction(1, 10**4)
"""Factors are whole multiples of it, so that epsilons keep few digits."""


class DeclaredAnswer(NamedTuple):
    """So many answers of one epsilon and one delta each."""

    epsilon: Fraction
    times: int = 1
    delta: Fraction = Fraction(0)


def declared_delta(answers: Sequence[DeclaredAnswer], epsilon: Fraction, points: int = FINE) -> Fraction:
    """Return a delta for which all answers together are (epsilon, delta)-private.

    >>> round(float(declared_delta([DeclaredAnswer(Fraction(1, 10), 20)], Fraction(1))), 6)
    0.002397
    """
    kept = ONE
    for answer in answers:
        kept = kept * _power_below(1 - answer.delta, answer.times) >> BITS
    unit, masses = _distribution(answers, points)
    finite = min(_hockey_stick(unit, masses, epsilon), ONE)
    return Fraction(ONE - (kept * (ONE - finite) >> BITS), ONE)


def largest_factor(answers: Sequence[DeclaredAnswer], epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """Return the largest factor of the epsilons for which the answers are together (epsilon, delta)-private.

    It is a multiple of `FACTOR_STEP`, and the same on every machine: a larger factor has a larger delta. None if no
    factor has this delta.
    """
    found = _last_multiple(answers, epsilon, delta, ROUGH, 0)
    if sum(answer.times for answer in answers) > 1:
        found = _last_multiple(answers, epsilon, delta, FINE, found)
    return found * FACTOR_STEP if found else None


def _last_multiple(
    answers: Sequence[DeclaredAnswer], epsilon: Fraction, delta: Fraction, points: int, start: int
) -> int:
    """Return the last multiple of the step that fits: gallop from `start` in its direction, then bisect."""

    def fits(multiple: int) -> bool:
        if multiple == 0:
            return True
        scaled = [answer._replace(epsilon=answer.epsilon * multiple * FACTOR_STEP) for answer in answers]
        return declared_delta(scaled, epsilon, points) <= delta

    step, low = 1, start
    if not fits(start):
        while not fits(low):
            low, step = max(low - step, 0), 2 * step
        high = start
    else:
        high = start + step
        while fits(high):
            low, step = high, 2 * step
            high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _power_below(base: Fraction, times: int) -> int:
    """Return base**times over 2**BITS, rounded down."""
    square, power = math.floor(base * ONE), ONE
    while times:
        power = power * square >> BITS if times & 1 else power
        square, times = square * square >> BITS, times >> 1
    return power


def _distribution(answers: Sequence[DeclaredAnswer], points: int) -> tuple[Fraction, dict[int, int]]:
    """Return the unit of the losses, and the probability of every sum of losses in it, rounded up."""
    total = sum((answer.times * answer.epsilon for answer in answers), Fraction(0))
    unit = _common_unit([answer.epsilon for answer in answers])
    unit = max(unit, total / points)
    masses = {0: ONE}
    for epsilon, times in _merged(answers).items():
        up, down = math.ceil(epsilon / unit), math.floor(epsilon / unit)
        above, below = exp_above(epsilon), exp_below(epsilon)
        p, q = math.ceil(above * ONE / (1 + above)), math.ceil(ONE / (1 + below))
        losses = {j * up - (times - j) * down: mass for j, mass in enumerate(_binomial(p, q, times))}
        sums: dict[int, int] = {}
        for loss, mass in masses.items():
            for more, factor in losses.items():
                sums[loss + more] = sums.get(loss + more, 0) + mass * factor
        masses = {loss: -(-mass >> BITS) for loss, mass in sums.items()}
    return unit, masses


def _merged(answers: Sequence[DeclaredAnswer]) -> dict[Fraction, int]:
    times: dict[Fraction, int] = {}
    for answer in answers:
        times[answer.epsilon] = times.get(answer.epsilon, 0) + answer.times
    return times


def _common_unit(values: Sequence[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples."""
    denominator = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * denominator) for value in values)), denominator)


def _binomial(p: int, q: int, times: int) -> list[int]:
    """Return C(times, j)·p^j·q^(times - j) for j = 0..times, over 2**BITS, rounded up.

    Powers have `times` digits more, because C(times, j) is up to 2**times and multiplies what they are rounded by.
    """
    digits = BITS + times
    powers = [[1 << digits], [1 << digits]]
    for chain, base in zip(powers, (p, q), strict=True):
        for _ in range(times):
            chain.append(-(-chain[-1] * base >> BITS))
    shift, products = (
        2 * digits - BITS,
        (above * below for above, below in zip(powers[0], powers[1][::-1], strict=True)),
    )
    return [-(-math.comb(times, j) * product >> shift) for j, product in enumerate(products)]


def _hockey_stick(unit: Fraction, masses: dict[int, int], epsilon: Fraction) -> int:
    """Return the sum of Pr[L]·(1 - exp(epsilon - L)) over losses L above epsilon, over 2**BITS, rounded up."""
    losses = sorted(loss for loss in masses if loss * unit > epsilon)
    if not losses:
        return 0
    last, step = losses[0], math.floor(exp_below(-unit) * ONE)
    factor, total = math.floor(exp_below(epsilon - last * unit) * ONE), 0
    for loss in losses:
        for _ in range(loss - last):
            factor = factor * step >> BITS
        last = loss
        total += masses[loss] * (ONE - factor)
    return -(-total >> BITS)

"""Noise on the whole line: densities, masses and expected errors, to compare with what is kept in range.

Nothing here draws: floating-point noise is never released. a = exp(-epsilon) is the privacy level, and answers of
neighbours are at most `sensitivity` apart.
"""

import math
from typing import Any

import numpy as np

from inbounds.catalog.registry import UnboundedNoise
from inbounds.exact import Floats, Number, to_epsilon, to_fraction, to_int

FAMILIES: tuple[UnboundedNoise, ...] = ("laplace", "staircase", "geometric")


def laplace_density(x: Any, epsilon: Number, sensitivity: Number = 1) -> Floats:
    """Compute the Laplace density epsilon/(2·D)·exp(-epsilon·|x|/D), D the sensitivity: 004 (6) with its epsilon."""
    rate = float(to_epsilon(epsilon) / _positive(sensitivity, "sensitivity"))
    return np.asarray(rate / 2 * np.exp(-rate * np.abs(np.asarray(x, dtype=np.float64))))


def staircase_density(x: Any, epsilon: Number, sensitivity: Number = 1, gamma: Number | None = None) -> Floats:
    """Compute the staircase density: y·a^k for |x|/D in [k, k + gamma), y·a^(k+1) up to k + 1 (004 (8), 000 (20)).

    gamma: the share of a step that is high, 0..1; by default sqrt(a)/(1 + sqrt(a)), with the least expected error.
    """
    e, width = float(to_epsilon(epsilon)), float(_positive(sensitivity, "sensitivity"))
    high = upper_step(epsilon) if gamma is None else float(to_fraction(gamma, "gamma"))
    if not 0 <= high <= 1:
        raise ValueError(f"gamma must be between 0 and 1, got {gamma}")
    a = math.exp(-e)
    level = -math.expm1(-e) / (2 * width * (high + a * (1 - high)))
    steps = np.abs(np.asarray(x, dtype=np.float64)) / width
    whole = np.floor(steps)
    return np.asarray(level * a ** (whole + (steps - whole >= high)))


def geometric_mass(x: Any, epsilon: Number, sensitivity: Number = 1, step: Number = 1) -> Floats:
    """Compute (1-b)/(1+b)·b^|x/step| with b = a^(step/D) for multiples x of a step: 001 (5), 004 (7) and (10).

    004 prints the normalizer upside down, and a factor `step` that belongs to a density and not to masses.
    """
    grid = _positive(step, "step")
    rate = float(to_epsilon(epsilon) * grid / _positive(sensitivity, "sensitivity"))
    places = np.asarray(x, dtype=np.float64) / float(grid)
    if (np.abs(places - np.rint(places)) > 1e-9 * np.maximum(1, np.abs(places))).any():
        raise ValueError(f"x must be multiples of the step, {step}")
    return np.asarray(-math.expm1(-rate) / (1 + math.exp(-rate)) * np.exp(-rate * np.abs(np.rint(places))))


def upper_step(epsilon: Number) -> float:
    """Compute gamma = sqrt(a)/(1 + sqrt(a)), the share of a step that is high when the expected error is least."""
    return 1 / (1 + math.exp(float(to_epsilon(epsilon)) / 2))


def expected_error(family: UnboundedNoise, epsilon: Number, *, whole: bool = False) -> float:
    """Compute the expected |noise| at sensitivity 1: 004 (11)-(13), and rounded to whole numbers (14), (15).

    whole: the answer is a whole number, and so is the output. Geometric noise is whole in any case. epsilon: any above
    0, such as that of many answers together.
    """
    e = float(_positive(epsilon, "epsilon"))
    root = math.exp(-e / 2)
    staircase = root / -math.expm1(-e)
    match _known(family):
        case "geometric":
            return 2 * root**2 / -math.expm1(-2 * e)
        case "laplace":
            return staircase if whole else 1 / e
        case _:
            return (1 - (1 - root) ** 2 / 2) * staircase if whole else staircase


def upper_tail(family: UnboundedNoise, epsilon: Number, x: Any) -> Floats:
    """Compute Pr[noise > x] at sensitivity 1 for x >= 0; geometric noise takes whole values."""
    e, x = float(to_epsilon(epsilon)), np.asarray(x, dtype=np.float64)
    match _known(family):
        case "laplace":
            return np.asarray(np.exp(-e * x) / 2)
        case "geometric":
            return np.asarray(np.exp(-e * (np.floor(x) + 1)) / (1 + math.exp(-e)))
        case _:
            from inbounds.design.closed.noise import staircase_tail

            return np.asarray(np.exp(staircase_tail(e, upper_step(epsilon))(x)))


def median_error(family: UnboundedNoise, epsilon: Number, answers: int) -> float:
    """Compute the expected |error| of the median of k independent answers at sensitivity 1, for any k.

    For an even k the lower of the two middle answers is taken. 004 (16)-(18), `attack.approximate_loss`, are its limits
    for large k on real answers. Integrated numerically to about nine digits.
    """
    from scipy.special import betainc

    k = to_int(answers, "answers", 1)
    need = (k + 1) // 2

    def beyond(x: Floats) -> Floats:
        """Pr[median > x] + Pr[median < -x] from the tail q: k - need + 1 answers above x, or `need` below -x."""
        q = upper_tail(family, epsilon, x)
        return np.asarray(betainc(k - need + 1, need, q) + betainc(need, k - need + 1, q))

    e = float(to_epsilon(epsilon))
    reach = math.ceil(45 / e)  # beyond it all tails are below 1e-19
    if family == "geometric":
        return float(beyond(np.arange(reach, dtype=np.float64)).sum())
    breaks = np.concatenate([[0.0], np.geomspace(1e-4 / e, reach, 80)])
    if family == "staircase":
        steps = np.arange(reach, dtype=np.float64)
        breaks = np.unique(np.concatenate([breaks, steps, steps + upper_step(epsilon)]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(breaks)[:, None] / 2
    return float((beyond(breaks[:-1, None] + half * (1 + nodes)) * weights * half).sum())


def _known(family: str) -> UnboundedNoise:
    for name in FAMILIES:
        if name == family:
            return name
    raise ValueError(f"family must be 'laplace', 'staircase' or 'geometric', got {family!r}")


def _positive(value: Number, name: str) -> Any:
    number = to_fraction(value, name)
    if number <= 0:
        raise ValueError(f"{name} must be above 0, got {value}")
    return number

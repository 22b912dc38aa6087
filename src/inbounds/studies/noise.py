"""Unbounded noise of 004, in units of the sensitivity: draws, densities, and closed forms of the expected error.

a = alpha = exp(-epsilon). For studies only: a release never adds floating-point noise.
"""

import math

import numpy as np

from inbounds.numbers import Floats

LAPLACE, STAIRCASE, GEOMETRIC = "Laplace", "staircase", "geometric"


def upper_step(a: float) -> float:
    """gamma: the share of a step that is high, sqrt(a)/(1 + sqrt(a)), for which the expected error is least."""
    return math.sqrt(a) / (1 + math.sqrt(a))


def draw(name: str, a: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Noise of that name; the geometric one takes whole values."""
    if name == LAPLACE:
        return rng.laplace(scale=-1 / math.log(a), size=shape)
    if name == GEOMETRIC:
        return (rng.geometric(1 - a, size=shape) - rng.geometric(1 - a, size=shape)).astype(np.float64)
    gamma = upper_step(a)
    high = rng.random(shape) < gamma / (gamma + a * (1 - gamma))
    within = np.where(high, gamma * rng.random(shape), gamma + (1 - gamma) * rng.random(shape))
    size = rng.geometric(1 - a, size=shape) - 1 + within
    return np.where(rng.random(shape) < 0.5, size, -size)


def density(name: str, a: float, x: Floats) -> Floats:
    """004 (6) with its epsilon, and (8); the geometric mass is `grid_mass`."""
    if name == LAPLACE:
        return np.asarray(-math.log(a) / 2 * a ** np.abs(x))
    steps = np.ceil(np.abs(x) - upper_step(a)).clip(min=0)
    return np.asarray((1 - a) / (2 * math.sqrt(a)) * a**steps)


def grid_mass(a: float, step: float, x: Floats) -> Floats:
    """(10) with its normalizer the right way up: geometric noise on multiples of `step` sensitivities."""
    b = a**step
    return np.asarray((1 - b) / (1 + b) * b ** np.abs(np.rint(x / step)))


def expected_error(name: str, a: float, whole: bool) -> float:
    """(11)-(15): expected |noise|, and of noise rounded to whole numbers when the answer is a count."""
    if name == GEOMETRIC:
        return 2 * a / (1 - a * a)
    staircase = math.sqrt(a) / (1 - a)
    if name == LAPLACE:
        return staircase if whole else -1 / math.log(a)
    return (1 - (1 - math.sqrt(a)) ** 2 / 2) * staircase if whole else staircase

"""Unbounded noise of 004, in units of the sensitivity: draws, densities, and closed forms of the expected error.

a = alpha = exp(-epsilon). For studies only: a release never adds floating-point noise.
"""

import math

import numpy as np

from inbounds.catalog import unbounded
from inbounds.catalog.registry import UnboundedNoise
from inbounds.exact import Floats

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
    drawn = unbounded.laplace_density if name == LAPLACE else unbounded.staircase_density
    return drawn(x, -math.log(a))


def grid_mass(a: float, step: float, x: Floats) -> Floats:
    """(10) with its normalizer the right way up: geometric noise on multiples of `step` sensitivities."""
    return unbounded.geometric_mass(x, -math.log(a), 1, step)


def whole_masses(name: str, a: float, reach: int) -> Floats:
    """Masses of the noise rounded to whole numbers -reach..reach.

    Laplace: a^(v-1/2) - a^(v+1/2) over 2; staircase: its two levels over v-1/2..v+1/2, which hold 1/2 + gamma and
    1/2 - gamma of it; 0 takes what the others leave.
    """
    v = np.arange(1, reach + 1, dtype=np.float64)
    if name == LAPLACE:
        side = (a ** (v - 0.5) - a ** (v + 0.5)) / 2
    elif name == GEOMETRIC:
        side = (1 - a) / (1 + a) * a**v
    else:
        gamma = upper_step(a)
        side = (1 - a) / (2 * math.sqrt(a)) * (a**v * (0.5 + gamma) + a ** (v + 1) * (0.5 - gamma))
    return np.concatenate([side[::-1], [1 - 2 * side.sum()], side])


def lower_median(masses: Floats, k: int) -> Floats:
    """Masses of the lower median of k draws: Pr[median <= v] = Pr[at least ceil(k/2) of k draws are <= v].

    A lattice has no middle between two values: for even k the lower of the two middle draws is taken.
    """
    from scipy.special import betainc

    need = (k + 1) // 2
    below = np.clip(np.cumsum(masses), 0.0, 1.0)
    below[-1] = 1.0
    return np.diff(betainc(need, k - need + 1, below), prepend=0.0)


def expected_error(name: str, a: float, whole: bool) -> float:
    """(11)-(15): expected |noise|, and of noise rounded to whole numbers when the answer is a count."""
    families: dict[str, UnboundedNoise] = {LAPLACE: "laplace", STAIRCASE: "staircase", GEOMETRIC: "geometric"}
    return unbounded.expected_error(families[name], -math.log(a), whole=whole)

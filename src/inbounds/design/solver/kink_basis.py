"""Linear combinations of the equations of the master program in which rays are sparse.

A ray rises or falls as fast as privacy allows almost everywhere, or is level. With f = exp(-step) the two operators

    y_j = (x_j - f x_a) / (1 - f²),   z_j = y_j - f y_b,

a and b the last and the first answer that share a window with j, turn rising and falling stretches into zeros. Of
hundreds of entries only those on plateaus and at bends remain. The operators are invertible, so z is equivalent to x.
The simplex method is much faster on sparse columns and stalls less.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array, eye_array

from inbounds.design.problem import Floats, Ints
from inbounds.design.solver.pricing import Cone

NOISE = 2.0**-44
"""A difference below this share of its terms is rounding."""


@dataclass(frozen=True, eq=False)
class Kinks:
    """The combinations for rays of a cone.

    mirrored: rays are averaged with their mirror images, and only the first half is used.
    """

    cone: Cone
    mirrored: bool

    @property
    def size(self) -> int:
        return (self.cone.size + 1) // 2 if self.mirrored else self.cone.size

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        """The steps after and before each answer; at the ends, where there is none, the nearest."""
        step = self.cone.step
        return np.append(step, step[-1]), np.append(step[0], step)

    @cached_property
    def _inside(self) -> NDArray[np.bool_]:
        """Answers with further answers beyond their window. For the others y is x, so that a ray that falls to the
        end is zero there."""
        return self.cone.ahead < self.cone.size - 1

    def combine(self, log_x: Floats) -> Floats:
        """Compute z of rays, given as logs, one per column."""
        both = (log_x, log_x[::-1]) if self.mirrored else (log_x,)
        bends: Floats = np.mean([self._bends(log_ray)[: self.size] for log_ray in both], axis=0)
        return self._scale[:, None] * bends

    def _bends(self, log_x: Floats) -> Floats:
        """Compute z before scaling. The logs of a and j differ by a whole number of steps, so zeros of y are exact."""
        after, before = (step[:, None] for step in self._steps)
        turns = np.rint((log_x[self.cone.ahead] - log_x) / after) - 1
        factor = np.where(self._inside[:, None], np.expm1(turns * after) / np.expm1(-2 * after), 1.0)
        y: Floats = np.exp(log_x) * factor
        previous = np.exp(-before) * y[self.cone.reach]
        return np.where(np.abs(y - previous) > NOISE * (y + previous), y - previous, 0.0)

    @cached_property
    def matrix(self) -> csr_array:
        """z = matrix @ x."""
        return csr_array(diags_array(self._scale) @ self._operators)

    @cached_property
    def inverse(self) -> Floats:
        """x = inverse @ z."""
        return self._inverse / self._scale

    @cached_property
    def _operators(self) -> csr_array:
        """Both operators as one matrix. A mirrored ray has the same values beyond its middle as before it."""
        n, size = self.cone.size, self.size
        after, before = (step[:size] for step in self._steps)
        ahead, inside = self.cone.ahead[:size], self._inside[:size]
        ahead = np.minimum(ahead, n - 1 - ahead) if self.mirrored else ahead
        size_of_y = np.where(inside, -1 / np.expm1(-2 * after), 1.0)
        rising = diags_array(size_of_y) @ _difference_operator(ahead, np.where(inside, np.exp(-after), 0.0))
        return csr_array(_difference_operator(self.cone.reach[:size], np.exp(-before)) @ rising)

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(np.linalg.inv(self._operators.toarray()))

    @cached_property
    def _scale(self) -> Floats:
        """Factors of the equations, so that an error of one in an equation changes no x by more than one."""
        return np.asarray(np.abs(self._inverse).max(axis=0))


def _difference_operator(places: Ints, factor: Floats) -> csr_array:
    """Return the operator x_j - factor_j x_place for every j."""
    j = np.arange(len(places))
    return csr_array(eye_array(len(j)) - coo_array((factor, (j, places)), shape=(len(j), len(j))))

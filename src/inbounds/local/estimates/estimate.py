"""An estimate: a number read from private reports, with its interval."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from inbounds.local.estimates.bounded_interval import two_sided


@dataclass(frozen=True)
class Estimate:
    """A quantity, its estimated value, and an interval that covers the truth with probability `level`.

    The truth is that of the population from which the reporting people are drawn: the interval counts both the noise of
    the reports and the sampling of people. reading: the value before it was moved into its possible range; differences
    are taken of readings.
    """

    name: str
    value: float
    lower: float
    upper: float
    standard_error: float
    level: float
    reading: float

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Return the difference of two estimates from different people's reports, with its interval."""
        if not isinstance(other, Estimate):
            return NotImplemented
        if self.level != other.level:
            raise ValueError(f"level must be the same for both, got {self.level} and {other.level}")
        difference = self.reading - other.reading
        spread = math.hypot(self.standard_error, other.standard_error)
        reach = two_sided(self.level) * spread
        name = self.name if self.name == other.name else f"{self.name} less {other.name}"
        lower, upper = difference - reach, difference + reach
        return Estimate(f"difference of {name}", difference, lower, upper, spread, self.level, difference)

    @property
    def p_value(self) -> float:
        """The probability of a reading at least this far from 0 if the truth were 0; for differences."""
        if self.standard_error == 0:
            return float(self.reading == 0)
        return 2 * NormalDist().cdf(-abs(self.reading) / self.standard_error)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "quantity": self.name,
            "estimate": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "standard_error": self.standard_error,
            "level": self.level,
        }

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.4g} ({100 * self.level:.3g} % interval {self.lower:.4g} to {self.upper:.4g})"

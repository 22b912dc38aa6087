"""Where a mechanism comes from, and what is proved about its usefulness."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inbounds.exact import Floats


@dataclass(frozen=True)
class Origin:
    """Where a mechanism comes from: the construction, its parameters, and where it is written up."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({inside})" if inside else self.name


NO_GAP = 1e-6
"""A gap of at most this share of the value is not worth a word."""


@dataclass(frozen=True)
class Optimality:
    """What its designer proved about a mechanism: its value of the objective and a bound no other can beat.

    loss_table: outputs × answers, where the loss has no name that says how to compute it. prior: of the answers, where
    the objective is an average under one. In a mechanism that was read from a file the bound is claimed, and so is a
    value that `Mechanism.claimed` names.
    """

    objective: str
    value: float
    bound: float
    loss_table: Floats | None = field(default=None, repr=False, compare=False)
    prior: Floats | None = field(default=None, repr=False, compare=False)

    @property
    def gap(self) -> float:
        """The most that any other mechanism could still gain."""
        return max(0.0, self.value - self.bound)

    @property
    def remaining(self) -> str:
        """What may be left to gain, in words; nothing where that is at most NO_GAP of the value.

        >>> Optimality("average absolute loss", 0.5, 0.49).remaining
        'up to 2 % may remain'
        """
        if self.gap <= NO_GAP * abs(self.value):
            return ""
        return f"up to {100 * self.gap / abs(self.value):.2g} % may remain" if self.value else "a gain may remain"

    def __str__(self) -> str:
        left = f"; {self.remaining}" if self.remaining else ""
        return (
            f"{self.objective} {self.value:.9g}; claimed, not checked: no private mechanism with what was asked for is "
            f"below {self.bound:.9g}{left}"
        )

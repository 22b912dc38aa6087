"""`Origin` and `Optimality`: the construction of a mechanism, and what its designer proved about its utility."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inbounds.exact import Floats


@dataclass(frozen=True)
class Origin:
    """The construction of a mechanism: its name, its parameters and a reference to the literature."""

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""

    def __str__(self) -> str:
        arguments = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({arguments})" if arguments else self.name


NO_GAP = 1e-6
"""A gap of at most this share of the value is not mentioned."""


@dataclass(frozen=True)
class Optimality:
    """What the designer proved: the mechanism's value of the objective, and a lower bound for every mechanism.

    loss_table: outputs × answers, if the loss has no name that says how to compute it. prior: of the answers, if the
    objective is an average under a prior. In a mechanism from a file the bound was not checked;
    `Mechanism.unchecked_claims` says whether the value was checked.
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
        """The gap in words; an empty text if it is at most NO_GAP of the value.

        >>> Optimality("average absolute loss", 0.5, 0.49).remaining
        'up to 2 % may remain'
        """
        if self.gap <= NO_GAP * abs(self.value):
            return ""
        return f"up to {100 * self.gap / abs(self.value):.2g} % may remain" if self.value else "a gain may remain"

    def __str__(self) -> str:
        gap = f"; {self.remaining}" if self.remaining else ""
        return (
            f"{self.objective} {self.value:.9g}; claimed, not checked: no private mechanism with what was asked for is "
            f"below {self.bound:.9g}{gap}"
        )

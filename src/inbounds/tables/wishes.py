"""Wishes: how mechanisms are chosen, as in `ib.optimal`, or by a name of the catalog."""

from dataclasses import dataclass
from typing import Any

from inbounds.loss import loss_named
from inbounds.properties import canonical
from inbounds.tables.errors import PlanError, at

PRIORS = {"uniform": 0, "normal": 2, "beta": 2, "binomial": 1}
"""The named priors a plan may wish for, and how many numbers each takes."""


@dataclass(frozen=True)
class Wishes:
    """How mechanisms are chosen: as in `ib.optimal`, or a mechanism of the catalog by name."""

    loss: str = "absolute"
    properties: tuple[str, ...] = ()
    prior: tuple[Any, ...] | None = None
    aim: str = "average"
    mechanism: str = "optimal"

    def __post_init__(self) -> None:
        with at("loss"):
            loss_named(self.loss)
        with at("properties"):
            object.__setattr__(self, "properties", tuple(canonical(p, ordered=True) for p in self.properties))
        if self.aim not in ("average", "worst"):
            raise PlanError(f"must be average or worst, got {self.aim!r}", ("aim",))
        if self.prior is not None and (self.prior[0] not in PRIORS or len(self.prior) != 1 + PRIORS[self.prior[0]]):
            forms = "uniform, {binomial = p}, {normal = [mean, deviation]} or {beta = [a, b]}"
            raise PlanError(f"must be {forms}", ("prior",))

"""The class `LabelMechanism`: a law over sets of labels that passed the privacy check."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.exact import Number, format_decimal, round_up_to_float, to_epsilon, to_fraction, to_int
from inbounds.mechanism.audit import log_upper_bound
from inbounds.mechanism.labels import passport
from inbounds.mechanism.labels.law import BlockResponse
from inbounds.mechanism.origin import Origin
from inbounds.query import RangeQuery
from inbounds.trusted.samplers import Draws, draw_outputs, seeded_entropy, system_entropy

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True)
class LabelMechanism:
    """A private mechanism for one person's label whose reports are numbers of sets of labels.

    Formal guarantee: for any two labels j, k and every report i, Pr[i | j] <= exp(epsilon) · Pr[i | k], checked in
    integers when the object is made.
    """

    query: RangeQuery
    epsilon: Fraction
    law: BlockResponse
    origin: Origin

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", to_epsilon(self.epsilon))
        if (
            type(self.query) is not RangeQuery or type(self.law) is not BlockResponse
        ):  # a subclass could replace the check
            raise TypeError("a label mechanism is made of a Query and a law of Blocks")
        self.law.check(self.query, self.epsilon)

    def __init_subclass__(cls) -> None:
        raise TypeError("a LabelMechanism cannot be subclassed: a subclass could leave out the check")

    def __reduce__(self) -> tuple[type["LabelMechanism"], tuple[Any, ...]]:
        return LabelMechanism, (self.query, self.epsilon, self.law, self.origin)

    def __hash__(self) -> int:
        return hash((self.query, self.epsilon, self.law))

    def __repr__(self) -> str:
        return (
            f"<LabelMechanism {self.origin} for {self.query!r}, epsilon={format_decimal(self.epsilon)}, "
            f"{self.outputs} × {len(self.query.answers)}>"
        )

    @property
    def outputs(self) -> int:
        """The number of possible reports, which are 0..outputs-1."""
        return self.law.design.blocks

    def tight_epsilon(self) -> float:
        """Return the tight privacy loss of this mechanism, at most `epsilon`, rounded up to a float."""
        return min(log_upper_bound(self.law.worst_ratio, Fraction(1)), round_up_to_float(self.epsilon))

    def share_variance(self, share: Number = 0, reports: int = 1) -> float:
        """Return the variance of the unbiased estimate of a label's share.

        share: the true share, 0..1; by default of a rare label. reports: their number, at least 1.
        """
        return float(self.law.variance(to_fraction(share, "share")) / to_int(reports, "reports", 1))

    def labels_in(self, output: int) -> list[Any]:
        """Return the labels in the set that a report names. Raises `ValueError` if there is no such report."""
        number = to_int(output, "output", 0)
        if number >= self.outputs:
            raise ValueError(f"output must be a report below {self.outputs}, got {output!r}")
        positions = np.arange(len(self.query.answers))
        is_inside = self.law.design.holds(np.full(len(positions), number), positions)
        return list(self.query.output_values[is_inside].tolist())

    def sample(self, answers: Any) -> Any:
        """Draw private reports for true labels, with operating-system entropy. A scalar gives a scalar."""
        return self._report(answers, system_entropy)

    def simulate(self, answers: Any, rng: np.random.Generator) -> Any:
        """Draw reports as `sample`, from a seeded generator: for studies and tests, never for a release."""
        return self._report(answers, seeded_entropy(rng))

    def _report(self, answers: Any, draws: Draws) -> Any:
        positions = self.query.encode(answers)
        reports = draw_outputs(self.law.sampler, positions, draws)
        return reports.tolist() if positions.ndim == 0 else reports

    def save(self, path: "str | PathLike[str]") -> None:
        """Write the passport: everything needed to check and use the mechanism, with its digest."""
        passport.to_label_passport(self).save(path)

    @cached_property
    def sha256(self) -> str:
        """The digest of the passport."""
        return passport.to_label_passport(self).sha256

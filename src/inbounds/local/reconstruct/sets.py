"""The channel of reports that name sets of labels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import Slack
from inbounds.local.reconstruct.incidence import blocks_holding, labels_held
from inbounds.local.reconstruct.systems import System
from inbounds.mechanism.laws.blocks import BlockResponse
from inbounds.trusted.block_designs import Planes


@dataclass(frozen=True, eq=False)
class SetReports:
    """P[i, j] = high where block i holds label j, else low; applied by the fast transforms of the design.

    The weights of blocks of one kind differ by one part in 2^38 at most, less than the rounding that is allowed for.
    """

    law: BlockResponse
    solvable = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.law.design.blocks, self.law.design.labels

    @property
    def slack(self) -> Slack:
        return Slack.none(self.law.design.blocks)

    @cached_property
    def _weights(self) -> tuple[float, float]:
        """The weights low, and high - low."""
        design, hit = self.law.design, self.law.hit
        low = (1 - hit) / (design.blocks - design.holding)
        return float(low), float(hit / design.holding - low)

    def forward(self, p: Floats) -> Floats:
        low, lift = self._weights
        return np.asarray(low * p.sum() + lift * blocks_holding(self.law.design, p))

    def backward(self, x: Floats) -> Floats:
        low, lift = self._weights
        return np.asarray(low * x.sum() + lift * labels_held(self.law.design, x))

    @property
    def hit(self) -> float:
        return float(self.law.hit)

    @property
    def chance(self) -> float:
        return float(self.law.chance)

    @property
    def together(self) -> int:
        """How many neighbouring labels one block may hold: of a projective space, all that differ in their last digits
        alone."""
        design = self.law.design
        if not isinstance(design, Planes):
            return design.size
        power = 1
        while power * design.order <= min(design.labels, design.holding):
            power *= design.order
        return power

    def count_holding(self, counts: Floats) -> Floats:
        """Count how many of the reports hold each label."""
        return labels_held(self.law.design, counts)

    def invert(self, q: Floats) -> Floats:
        """Return the unbiased estimate (c - chance) / (hit - chance), c the share of reports whose set holds
        the label.
        """
        return np.asarray((self.count_holding(q) - self.chance * q.sum()) / (self.hit - self.chance))

    def system(self, curvature: Floats, theta: Floats) -> System:
        raise TooLarge("reports of sets have no fast Newton step; use acceleration='squarem'")

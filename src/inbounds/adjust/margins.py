"""Margins rest on reports alone; the prior speaks of leaves and of their parents.

A prior takes the parents of leaves for independent, and what it was learned from says less about their common mean than
the sum of many would make of it: the more parents a node has below it, the surer the prior would be of its sum, and
the wronger where whole branches differ. So a branch is a grandparent with its parents and leaves. Its posterior is
exact, by the prior, its reports and what all other reports say of its sum; and nodes above parents have no prior.

What other reports say of a node is taken as normal, without ranges: least squares, from below and from above. Reports
at the ends of a range are read without bias, or every small node would pull its margin towards the middle.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inbounds.adjust.likelihoods import STEEPEST, LevelReports
from inbounds.adjust.posterior import Marginals, OutOfWindow, posterior
from inbounds.adjust.prior import Prior
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints

BRANCH = 3
"""Levels of a branch: leaves, parents, grandparents."""

NO_VARIANCE, NO_WORD = 1e-9, 1e15
"""Variances of what is public, and where nothing is said."""

DEVIATIONS = 12
"""Half a window of a margin, in standard deviations."""


@dataclass(frozen=True, eq=False)
class NormalApproximation:
    """What some reports say of the nodes of a level, as if normal."""

    mean: Floats
    variance: Floats

    def and_(self, other: "NormalApproximation") -> "NormalApproximation":
        """What independent reports say together."""
        precision = 1 / self.variance + 1 / other.variance
        mean = (self.mean / self.variance + other.mean / other.variance) / precision
        return NormalApproximation(mean, 1 / precision)

    def log_density(self, nodes: Ints | slice, x: Ints) -> Floats:
        away = x - self.mean[nodes][:, None]
        return np.asarray(-(away**2) / (2 * self.variance[nodes][:, None]))


@dataclass(frozen=True, eq=False)
class BranchReports:
    """Reports of a level together with what the rest says of its nodes; y and variance say about where they are."""

    own: LevelReports
    rest: NormalApproximation

    @property
    def _together(self) -> NormalApproximation:
        return _normal(self.own, self.own.y.astype(np.float64)).and_(self.rest)

    @property
    def y(self) -> Ints:
        return np.asarray(np.rint(self._together.mean).astype(np.int64))

    @property
    def variance(self) -> float:
        return float(self._together.variance.mean())

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self._together.mean

    @property
    def steepness(self) -> float:
        """The slope of a normal density eight deviations away counts as its steepest."""
        return min(self.own.steepness + 8 / float(np.sqrt(self.rest.variance.min())), STEEPEST)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        x = np.asarray(low)[:, None] + np.arange(width)
        return np.asarray(self.own.log_likelihood(nodes, low, width) + self.rest.log_density(nodes, x))


def adjust_by_branch(tree: Tree, reports: Sequence[LevelReports], prior: Prior) -> list[Marginals]:
    """The marginal distribution of every node, level by level from the leaves."""
    if tree.depth < BRANCH:
        return posterior(tree, reports, prior)
    below, above = remaining_reports(tree, reports)
    top = BRANCH - 1
    branches = Tree(tree.sizes[:BRANCH], tree.parents[:top])
    found = posterior(branches, [*reports[:top], BranchReports(reports[top], above[top])], prior)[:top]
    both = [below[level].and_(above[level]) for level in range(top, tree.depth)]
    return [*found, *(_margin(*own) for own in zip(tree.sizes[top:], reports[top:], both, strict=True))]


def margin_values(tree: Tree, reports: Sequence[LevelReports]) -> int:
    """The most values that the margins of a level take, whatever was reported: nodes × window."""
    levels = zip(tree.sizes[BRANCH - 1 :], reports[BRANCH - 1 :], strict=True)
    return max((len(sizes) * min(_window(own.variance), int(sizes.max()) + 1) for sizes, own in levels), default=0)


def _window(variance: float) -> int:
    return 2 * (int(np.ceil(DEVIATIONS * np.sqrt(max(variance, NO_VARIANCE)))) + 2) + 1


def remaining_reports(
    tree: Tree, reports: Sequence[LevelReports]
) -> tuple[list[NormalApproximation], list[NormalApproximation]]:
    """Of every node, what the reports below it say, and what all those say that are neither below it nor its own."""
    told = [_normal(own, own.unbiased_estimate(sizes)) for own, sizes in zip(reports, tree.sizes, strict=True)]
    below, up = [_silent(len(tree.sizes[0]))], [told[0]]
    for parent, reported in zip(tree.parents, told[1:], strict=True):
        below.append(
            NormalApproximation(
                *(np.bincount(parent, own).astype(np.float64) for own in (up[-1].mean, up[-1].variance))
            )
        )
        up.append(below[-1].and_(reported))
    above = [_silent(len(tree.sizes[-1]))]
    for level in range(tree.depth - 2, -1, -1):
        parent, known = tree.parents[level], above[0].and_(told[level + 1])
        siblings = below[level + 1].mean[parent] - up[level].mean
        spread = np.maximum(below[level + 1].variance[parent] - up[level].variance, 0.0)
        above.insert(0, NormalApproximation(known.mean[parent] - siblings, known.variance[parent] + spread))
    return below, above


def _normal(reports: LevelReports, mean: Floats) -> NormalApproximation:
    return NormalApproximation(mean, np.broadcast_to(np.maximum(reports.variance, NO_VARIANCE), mean.shape))


def _silent(nodes: int) -> NormalApproximation:
    return NormalApproximation(np.zeros(nodes), np.full(nodes, NO_WORD))


def _margin(sizes: Ints, reports: LevelReports, others: NormalApproximation) -> Marginals:
    """Nodes by their own reports, as they were drawn, and by what the others say."""
    own = _normal(reports, reports.y.astype(np.float64))
    whole = own.and_(others) if reports.variance > 0 else own
    width = min(_window(float(whole.variance.max())), int(sizes.max()) + 1)
    low = np.clip(np.rint(whole.mean).astype(np.int64) - width // 2, 0, np.maximum(sizes + 1 - width, 0))
    x = low[:, None] + np.arange(width)
    log = reports.log_likelihood(slice(None), low, width) + others.log_density(slice(None), x)
    log = np.where(x <= sizes[:, None], log, -np.inf)
    if not np.isfinite(log.max(axis=1)).all():
        raise OutOfWindow
    mass = np.exp(log - log.max(axis=1, keepdims=True))
    return Marginals(low, mass / mass.sum(axis=1, keepdims=True))

"""The posterior of trees with three levels or more: the prior is used for leaves and their parents only.

The prior treats the parents of leaves as independent. For a node with many parents below it, that would make the prior
too certain of the sum, and wrong where whole branches differ. So nodes above the parents are estimated from outputs
alone. A branch is a grandparent with its parents and leaves. Its posterior is exact given the prior, its own outputs,
and a normal approximation of what all other outputs say about its sum.

The approximation is least squares without ranges, from below and from above. Outputs at the ends of a range are
corrected for bias; otherwise every small node would pull its margin towards the middle.
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
"""Variance of a public value, and the variance that stands for no information."""

DEVIATIONS = 12
"""Half width of the window of a margin, in standard deviations."""


@dataclass(frozen=True, eq=False)
class NormalApproximation:
    """A normal approximation of what some outputs say about the nodes of a level."""

    mean: Floats
    variance: Floats

    def combine(self, other: "NormalApproximation") -> "NormalApproximation":
        """Combine with independent outputs about the same nodes."""
        precision = 1 / self.variance + 1 / other.variance
        mean = (self.mean / self.variance + other.mean / other.variance) / precision
        return NormalApproximation(mean, 1 / precision)

    def log_density(self, nodes: Ints | slice, x: Ints) -> Floats:
        """Return the log density at x, up to a constant, for each of the nodes."""
        distance = x - self.mean[nodes][:, None]
        return np.asarray(-(distance**2) / (2 * self.variance[nodes][:, None]))


@dataclass(frozen=True, eq=False)
class BranchReports:
    """Outputs of a level combined with what all other outputs say about its nodes; y and variance only place
    windows.
    """

    reports: LevelReports
    rest: NormalApproximation

    @property
    def _combined(self) -> NormalApproximation:
        return _normal(self.reports, self.reports.y.astype(np.float64)).combine(self.rest)

    @property
    def y(self) -> Ints:
        return np.asarray(np.rint(self._combined.mean).astype(np.int64))

    @property
    def variance(self) -> float:
        return float(self._combined.variance.mean())

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self._combined.mean

    @property
    def steepness(self) -> float:
        """Fall of the log likelihood per unit; of the normal part, its slope eight deviations from the mean."""
        return min(self.reports.steepness + 8 / float(np.sqrt(self.rest.variance.min())), STEEPEST)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        x = np.asarray(low)[:, None] + np.arange(width)
        return np.asarray(self.reports.log_likelihood(nodes, low, width) + self.rest.log_density(nodes, x))


def adjust_by_branch(tree: Tree, reports: Sequence[LevelReports], prior: Prior) -> list[Marginals]:
    """Compute the marginal distribution of every node, level by level from the leaves."""
    if tree.depth < BRANCH:
        return posterior(tree, reports, prior)
    below, above = remaining_reports(tree, reports)
    top = BRANCH - 1
    branches = Tree(tree.sizes[:BRANCH], tree.parents[:top])
    marginals = posterior(branches, [*reports[:top], BranchReports(reports[top], above[top])], prior)[:top]
    both = [below[level].combine(above[level]) for level in range(top, tree.depth)]
    return [
        *marginals,
        *(_margin_posterior(*level) for level in zip(tree.sizes[top:], reports[top:], both, strict=True)),
    ]


def margin_values(tree: Tree, reports: Sequence[LevelReports]) -> int:
    """Bound the size of the margins of one level, nodes × window, for any outputs."""
    levels = zip(tree.sizes[BRANCH - 1 :], reports[BRANCH - 1 :], strict=True)
    return max(
        (len(sizes) * min(_window(level_reports.variance), int(sizes.max()) + 1) for sizes, level_reports in levels),
        default=0,
    )


def _window(variance: float) -> int:
    """Return the width of the window of a margin with this variance."""
    return 2 * (int(np.ceil(DEVIATIONS * np.sqrt(max(variance, NO_VARIANCE)))) + 2) + 1


def remaining_reports(
    tree: Tree, reports: Sequence[LevelReports]
) -> tuple[list[NormalApproximation], list[NormalApproximation]]:
    """Approximate, for every node, the outputs below it, and all outputs that are neither below it nor its own."""
    estimates = [
        _normal(level, level.unbiased_estimate(sizes)) for level, sizes in zip(reports, tree.sizes, strict=True)
    ]
    below, up = [_no_information(len(tree.sizes[0]))], [estimates[0]]
    for parent, estimate in zip(tree.parents, estimates[1:], strict=True):
        below.append(
            NormalApproximation(
                *(np.bincount(parent, terms).astype(np.float64) for terms in (up[-1].mean, up[-1].variance))
            )
        )
        up.append(below[-1].combine(estimate))
    above = [_no_information(len(tree.sizes[-1]))]
    for level in range(tree.depth - 2, -1, -1):
        parent, outside = tree.parents[level], above[0].combine(estimates[level + 1])
        siblings = below[level + 1].mean[parent] - up[level].mean
        spread = np.maximum(below[level + 1].variance[parent] - up[level].variance, 0.0)
        above.insert(0, NormalApproximation(outside.mean[parent] - siblings, outside.variance[parent] + spread))
    return below, above


def _normal(reports: LevelReports, mean: Floats) -> NormalApproximation:
    """Approximate the outputs of a level by normal distributions with this mean."""
    return NormalApproximation(mean, np.broadcast_to(np.maximum(reports.variance, NO_VARIANCE), mean.shape))


def _no_information(nodes: int) -> NormalApproximation:
    """Return an approximation that says nothing about the nodes."""
    return NormalApproximation(np.zeros(nodes), np.full(nodes, NO_WORD))


def _margin_posterior(sizes: Ints, reports: LevelReports, others: NormalApproximation) -> Marginals:
    """Compute the marginals of nodes from their own outputs and the approximation of all other outputs."""
    approximation = _normal(reports, reports.y.astype(np.float64))
    combined = approximation.combine(others) if reports.variance > 0 else approximation
    width = min(_window(float(combined.variance.max())), int(sizes.max()) + 1)
    low = np.clip(np.rint(combined.mean).astype(np.int64) - width // 2, 0, np.maximum(sizes + 1 - width, 0))
    x = low[:, None] + np.arange(width)
    log = reports.log_likelihood(slice(None), low, width) + others.log_density(slice(None), x)
    log = np.where(x <= sizes[:, None], log, -np.inf)
    if not np.isfinite(log.max(axis=1)).all():
        raise OutOfWindow
    mass = np.exp(log - log.max(axis=1, keepdims=True))
    return Marginals(low, mass / mass.sum(axis=1, keepdims=True))

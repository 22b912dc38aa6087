"""The posterior of every node of a tree of counts, by sum-product.

Each parent of leaves has classes z with weights. Given z its leaves are independent, and every node has an output.
Messages go up (how likely each sum is) and down (how likely the rest of the tree makes it). They are stored in windows
that hold all but 1e-12 of their mass.

Where leaves and margins disagree by many standard deviations, those windows would miss the posterior. Then the leaves
of a parent are tilted by exp(t·x), with t such that they sum to the least-squares value. The tilt is undone exactly at
the parent: its likelihood is multiplied by exp(-t·x).

Cost: O(leaves · classes · width · log), in portions of parents, so that memory stays bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inbounds.adjust.likelihoods import LevelReports, reach
from inbounds.adjust.prior import Prior
from inbounds.adjust.squares import least_squares
from inbounds.adjust.tree import Tree
from inbounds.adjust.windows import (
    TOLERANCE,
    Flags,
    Fold,
    Message,
    crop_window,
    fold_children,
    normalize_mass,
    place_windows,
    unfold_children,
)
from inbounds.exact import Floats, Ints

PORTION = 1 << 19
"""Largest number of entries of the leaves' messages in memory at a time: what a processor's cache holds."""

FULL_RANGE = 256
"""Largest number of values of a leaf that is stored in full; wider leaves get a window around their output."""

FAR = 3.0
"""A parent is tilted if leaves and margin differ by more standard deviations than this."""


class OutOfWindow(ArithmeticError):
    """Outputs and prior contradict each other by more than floats can represent."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """The posterior of the nodes of one level: mass[v, j] of the value low[v] + j."""

    low: Ints
    mass: Floats

    def means(self) -> Floats:
        """Return E[X] of every node."""
        return np.asarray(self.low + self.mass @ np.arange(self.mass.shape[1]))

    def errors(self, values: Ints) -> Floats:
        """Return E|X - value| of every node."""
        x = self.low[:, None] + np.arange(self.mass.shape[1])
        return np.asarray((self.mass * np.abs(x - values[:, None])).sum(axis=1))

    def intervals(self, level: float) -> tuple[Ints, Ints]:
        """Find for every node the shortest run of values that holds `level` of its mass; the first one if tied."""
        cumulative = np.concatenate([np.zeros((len(self.mass), 1)), np.cumsum(self.mass, axis=1)], axis=1)
        stop = _first_at_least(cumulative, cumulative[:, :-1] + (level - 1e-12))
        lengths = np.where(stop < cumulative.shape[1], stop, 2 * cumulative.shape[1]) - np.arange(self.mass.shape[1])
        first = lengths.argmin(axis=1)
        last = np.minimum(first + lengths[np.arange(len(first)), first], self.mass.shape[1]) - 1
        return self.low + first, self.low + last


def _first_at_least(rows: Floats, bounds: Floats) -> Ints:
    """Find for every bound the first place of its rising row that is not below it, by bisection of all at once."""
    low, high = np.zeros(bounds.shape, np.int64), np.full(bounds.shape, rows.shape[1])
    for _ in range(rows.shape[1].bit_length()):
        middle = (low + high) // 2
        below = (low < high) & (np.take_along_axis(rows, np.minimum(middle, rows.shape[1] - 1), axis=1) < bounds)
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
    return low


def posterior(tree: Tree, reports: Sequence[LevelReports], prior: Prior) -> list[Marginals]:
    """Compute the marginal distribution of every node, level by level from the leaves.

    Raises `OutOfWindow` if outputs and prior contradict each other beyond float range.
    """
    leaves = _Leaves.from_tree(tree, reports, prior)
    if tree.depth == 2:
        return _two_levels(leaves, reports[1])
    sums = [replace(leaves.sum_portion(portion), work=None) for portion in leaves.portions()]
    message, tilt = _join_messages([one.mixed for one in sums]), np.concatenate([one.tilt for one in sums])
    up, tapes = [], []
    for level in range(1, tree.depth):
        likelihood = _likelihood(reports[level], slice(None), tree.sizes[level], message, tilt if level == 1 else 0.0)
        product = message.mass * likelihood
        if not (product.sum(axis=-1) > 0).all():
            raise OutOfWindow
        up.append((message, likelihood))
        if level < tree.depth - 1:
            inner = crop_window(product, message.low)
            message, tape = fold_children(inner, tree.children[level])
            tapes.append((inner, tape))
    marginals = []
    down = np.ones_like(up[-1][0].mass)
    for level in range(tree.depth - 1, 0, -1):
        message, likelihood = up[level - 1]
        down, mass = _cut_message(down, message.mass * likelihood)
        marginals.append(Marginals(message.low[:, 0], mass[:, 0]))
        outgoing = down * likelihood
        if level > 1:
            inner, tape = tapes[level - 2]
            down = place_windows(
                unfold_children(outgoing, tape), inner.low - up[level - 2][0].low, up[level - 2][0].width
            )
    mass = np.empty((len(leaves.low), leaves.width))
    for leaf_sums, (parents, own) in zip(sums, leaves.portions(), strict=True):
        mass[own] = leaves.marginals((parents, own), leaf_sums, message.low[parents], outgoing[parents])
    return [Marginals(leaves.low, mass), *reversed(marginals)]


def _two_levels(leaves: "_Leaves", reports: LevelReports) -> list[Marginals]:
    """Compute the marginals of leaves and their parents where nothing is above: up and down one portion at a time."""
    mass, roots = np.empty((len(leaves.low), leaves.width)), list[Message]()
    for parents, own in leaves.portions():
        leaf_sums = leaves.sum_portion((parents, own))
        message = leaf_sums.mixed
        likelihood = _likelihood(reports, parents, leaves.tree.sizes[1][parents], message, leaf_sums.tilt)
        product = message.mass * likelihood
        if not (product.sum(axis=-1) > 0).all():
            raise OutOfWindow
        down, root = _cut_message(np.ones_like(message.mass), product)
        roots.append(replace(message, mass=root))
        mass[own] = leaves.marginals((parents, own), leaf_sums, message.low, down * likelihood)
    joined = _join_messages(roots)
    return [Marginals(leaves.low, mass), Marginals(joined.low[:, 0], joined.mass[:, 0])]


def _likelihood(reports: LevelReports, nodes: slice, sizes: Ints, message: Message, tilt: Floats | float) -> Floats:
    """Compute exp(log Pr[y | x] - tilt·x) on the windows, scaled so that the largest of each node is one."""
    low, width = message.low[:, 0], message.width
    x = low[:, None] + np.arange(width)
    log = reports.log_likelihood(nodes, low, width) - np.reshape(tilt, (-1, 1)) * (x - low[:, None])
    log = np.where(x <= sizes[:, None], log, -np.inf)
    top = log.max(axis=1, keepdims=True)
    return np.asarray(np.exp(log - np.where(np.isfinite(top), top, 0.0)))[:, None, :]


def _cut_message(down: Floats, up: Floats) -> tuple[Floats, Floats]:
    """Set a message to zero where the marginal has no mass, so that transforms do not mix scales; return both."""
    mass = normalize_mass(up * down)
    return normalize_mass(np.where(mass > TOLERANCE / mass.shape[-1], down, 0.0)), mass


def leaf_window(values: int, leaves: LevelReports) -> int:
    """Return how many values of a leaf are considered, of `values` possible ones."""
    return values if values <= FULL_RANGE else min(values, max(2 * reach(leaves) + 1, FULL_RANGE))


@dataclass(frozen=True, eq=False)
class _LeafSums:
    """The distribution of the sum over the leaves of each parent of a portion, and the weights of its classes.

    work: what it was computed from, which takes much memory: the leaves, the sums by class, and how they were folded.
    """

    mixed: Message
    weights: Floats
    tilt: Floats
    work: tuple[Floats, Message, list[Fold]] | None


@dataclass(frozen=True, eq=False)
class _Leaves:
    """The leaves with their windows. They are processed for a portion of parents at a time."""

    tree: Tree
    reports: LevelReports
    prior: Prior
    steepness: float
    near: Floats
    low: Ints
    width: int

    @classmethod
    def from_tree(cls, tree: Tree, reports: Sequence[LevelReports], prior: Prior) -> "_Leaves":
        """Choose the windows of the leaves, and find the least-squares values of their parents."""
        width = leaf_window(int(tree.sizes[0].max()) + 1, reports[0])
        low = np.zeros(len(tree.sizes[0]), np.int64)
        near = least_squares(tree, reports)
        if width >= FULL_RANGE:
            low = np.clip(reports[0].y - width // 2, 0, np.maximum(tree.sizes[0] + 1 - width, 0))
        return cls(tree, reports[0], prior, reports[1].steepness, near[1], low, width)

    def portions(self) -> Iterator[tuple[slice, Ints]]:
        """Yield ranges of parents, and their leaves: a small one, then a large one, so that pairs have short sums."""
        classes = self.prior.weights.shape[1]
        order, ends = _pair_leaves(self.tree), np.cumsum(self.tree.children[0])
        most = max(PORTION // (classes * self.width), 1)
        start = 0
        while start < len(ends):
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
            yield slice(start, stop), order[int(before) : int(ends[stop - 1])]
            start = stop

    def _tilted_leaves(self, parents: slice, leaves: Ints, tilt: Floats) -> tuple[Floats, Floats]:
        """Compute the distributions of the tilted leaves, leaves × classes × window, and the weights of the classes."""
        low, parent = self.low[leaves], self.tree.parents[0][leaves] - parents.start
        x = low[:, None] + np.arange(self.width)
        given = self.reports.log_likelihood(leaves, low, self.width)
        given += np.where(x <= self.tree.sizes[0][leaves][:, None], tilt[parent][:, None] * (x - low[:, None]), -np.inf)
        mass = self.prior.log_mass(leaves, low, self.width)
        mass += given[:, None, :]
        mass -= mass.max(axis=(1, 2), keepdims=True)
        np.exp(mass, out=mass)
        evidence = mass.sum(axis=-1)
        if not (evidence > 0).any(axis=1).all():
            raise OutOfWindow
        mass /= np.maximum(evidence, 1e-300)[..., None]
        with np.errstate(divide="ignore"):
            weights = np.log(self.prior.weights[parents])
            weights += np.add.reduceat(np.log(evidence), np.flatnonzero(np.diff(parent, prepend=-1)))
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        return mass, weights / weights.sum(axis=1, keepdims=True)

    def _tilts(self, parents: slice, leaves: Ints, by_class: Floats, weights: Floats) -> Floats:
        """Compute for each parent the tilt t for which its leaves sum to the least-squares value; 0 where they nearly
        do. by_class, weights: of the leaves without a tilt.
        """
        parent = self.tree.parents[0][leaves] - parents.start
        no_tilt = np.zeros(parents.stop - parents.start)
        leaf = np.einsum("nk,nkx->nx", weights[parent], by_class)
        x = np.arange(self.width)
        base = np.bincount(parent, self.low[leaves])
        target = np.clip(self.near[parents], 0.5, np.maximum(self.tree.sizes[1][parents] - 0.5, 0.5)) - base
        mean = leaf @ x
        deviation = np.sqrt(np.bincount(parent, np.maximum(leaf @ x**2 - mean**2, 0.0)))
        far_off = np.abs(target - np.bincount(parent, mean)) > FAR * deviation
        if not far_off.any():
            return no_tilt
        return np.where(far_off, _solve_tilts(leaf, parent, target, far_off, self.steepness), 0.0)

    def sum_portion(self, portion: tuple[slice, Ints]) -> _LeafSums:
        """Compute the distribution of the sum over the leaves of each parent."""
        parents, _ = portion
        leaf_masses, weights = self._tilted_leaves(*portion, np.zeros(parents.stop - parents.start))
        tilt = self._tilts(*portion, leaf_masses, weights)
        if tilt.any():
            leaf_masses, weights = self._tilted_leaves(*portion, tilt)
        by_class, tape = self._fold(portion, leaf_masses)
        begin = by_class.low.min(axis=1)
        width = int((by_class.low.max(axis=1) - begin).max()) + by_class.width
        wide = place_windows(by_class.mass, by_class.low - begin[:, None], width)
        mixture = np.einsum("gk,gks->gs", weights, wide)[:, None, :]
        mixed = Message(begin[:, None], mixture, np.full(len(mixture), width - 1))
        return _LeafSums(mixed, weights, tilt, (leaf_masses, by_class, tape))

    def _fold(self, portion: tuple[slice, Ints], leaf_masses: Floats) -> tuple[Message, list[Fold]]:
        """Compute the distribution of the sum over the leaves of each parent, by class."""
        parents, leaves = portion
        low = np.repeat(self.low[leaves][:, None], leaf_masses.shape[1], axis=1)
        last = np.minimum(self.tree.sizes[0][leaves] - self.low[leaves], self.width - 1)
        return fold_children(Message(low, leaf_masses, last), self.tree.children[0][parents])

    def marginals(self, portion: tuple[slice, Ints], leaf_sums: _LeafSums, low: Ints, outgoing: Floats) -> Floats:
        """Compute the marginals of the portion's leaves from the message `outgoing` at their parents, from `low` on."""
        parents, leaves = portion
        if leaf_sums.work is None:
            leaf_masses, _ = self._tilted_leaves(parents, leaves, leaf_sums.tilt)
            by_class, tape = self._fold(portion, leaf_masses)
        else:
            leaf_masses, by_class, tape = leaf_sums.work
        begin = by_class.low - low
        place = begin[..., None] + np.arange(by_class.width)
        inside = (place >= 0) & (place < outgoing.shape[-1])
        incoming = np.take_along_axis(
            np.broadcast_to(outgoing, (*begin.shape, outgoing.shape[-1])),
            np.clip(place, 0, outgoing.shape[-1] - 1),
            axis=-1,
        )
        incoming = np.where(inside, incoming, 0.0)
        classes = leaf_sums.weights * np.einsum("gks,gks->gk", by_class.mass, incoming)
        classes /= classes.sum(axis=1, keepdims=True)
        parent = self.tree.parents[0][leaves] - parents.start
        leaf_masses = leaf_masses * unfold_children(incoming, tape)
        chances = classes[parent] / np.maximum(leaf_masses.sum(axis=-1), 1e-300)
        return normalize_mass(np.einsum("nk,nkx->nx", chances, leaf_masses))


def _pair_leaves(tree: Tree) -> Ints:
    """Order the leaves of each parent: the smallest, the largest, the second smallest, the second largest, …"""
    children = tree.children[0]
    rising, parent = np.lexsort((tree.sizes[0], tree.parents[0])), tree.parents[0]
    count, rank = children[parent], np.arange(len(parent)) - (np.cumsum(children) - children)[parent]
    place = np.where(2 * rank < count, 2 * rank, 2 * (count - rank) - 1)
    return np.asarray(rising[np.lexsort((place, parent))])


def _solve_tilts(leaf: Floats, parent: Ints, target: Floats, far_off: Flags, steepest: float) -> Floats:
    """Find the tilts of the parents marked in `far_off` by bisection in -steepest..steepest."""
    leaves = np.flatnonzero(far_off[parent])
    with np.errstate(divide="ignore"):
        log = np.log(leaf[leaves])
    group, x = parent[leaves], np.arange(leaf.shape[1])
    low, high = np.full(len(target), -steepest), np.full(len(target), steepest)
    for _ in range(30):
        middle = (low + high) / 2
        tilted = log + middle[group][:, None] * x
        tilted = np.exp(tilted - tilted.max(axis=1, keepdims=True))
        mean = np.bincount(group, (tilted @ x) / tilted.sum(axis=1), minlength=len(target))
        low, high = np.where(mean < target, middle, low), np.where(mean < target, high, middle)
    return np.asarray((low + high) / 2)


def _join_messages(parts: list[Message]) -> Message:
    """Join the messages of all portions on windows of one width."""
    width = max(part.width for part in parts)
    mass = [np.pad(part.mass, ((0, 0), (0, 0), (0, width - part.width))) for part in parts]
    low, last = (np.concatenate([getattr(part, name) for part in parts]) for name in ("low", "last"))
    return Message(low, np.concatenate(mass), last)

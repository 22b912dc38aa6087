"""The posterior of every node of a tree of counts, by sum-product.

Each parent of leaves has classes z with weights; given z its leaves are independent; every node has a report. Messages
go up (how likely each sum is) and down (how likely the rest makes it) in windows that hold all but 1e-12 of their mass.

Where leaves and margins disagree by many standard deviations those windows would miss the posterior. So the leaves of a
parent are tilted by exp(t·x), with the t for which they sum to what least squares says, and the tilt is undone exactly
at the parent, whose likelihood is multiplied by exp(-t·x).

NodeCost: O(leaves · classes · width · log), in portions of parents, so that memory stays bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    scale_to_max,
    unfold_children,
)
from inbounds.exact import Floats, Ints

PORTION = 1 << 22
"""Entries of the leaves' messages that are held at a time."""

FULL_RANGE = 256
"""Leaves of a wider range get a window around their report."""

FAR = 3.0
"""Standard deviations between leaves and margin from which a parent is tilted."""


class OutOfWindow(ArithmeticError):
    """Reports and prior contradict each other beyond what floats can hold."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """The posterior of the nodes of one level: mass[v, j] of the value low[v] + j."""

    low: Ints
    mass: Floats

    def means(self) -> Floats:
        return np.asarray(self.low + self.mass @ np.arange(self.mass.shape[1]))

    def errors(self, values: Ints) -> Floats:
        """E|X - value| of every node."""
        x = self.low[:, None] + np.arange(self.mass.shape[1])
        return np.asarray((self.mass * np.abs(x - values[:, None])).sum(axis=1))

    def intervals(self, level: float) -> tuple[Ints, Ints]:
        """For every node the shortest run of values that holds `level` of its mass, the first of equals."""
        cumulative = np.concatenate([np.zeros((len(self.mass), 1)), np.cumsum(self.mass, axis=1)], axis=1)
        stop = _first_at_least(cumulative, cumulative[:, :-1] + (level - 1e-12))
        lengths = np.where(stop < cumulative.shape[1], stop, 2 * cumulative.shape[1]) - np.arange(self.mass.shape[1])
        first = lengths.argmin(axis=1)
        last = np.minimum(first + lengths[np.arange(len(first)), first], self.mass.shape[1]) - 1
        return self.low + first, self.low + last


def _first_at_least(rows: Floats, bounds: Floats) -> Ints:
    """For every bound the first place of its rising row that is not below it, by bisection of all at once."""
    low, high = np.zeros(bounds.shape, np.int64), np.full(bounds.shape, rows.shape[1])
    for _ in range(rows.shape[1].bit_length()):
        middle = (low + high) // 2
        below = (low < high) & (np.take_along_axis(rows, np.minimum(middle, rows.shape[1] - 1), axis=1) < bounds)
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
    return low


def posterior(tree: Tree, reports: Sequence[LevelReports], prior: Prior) -> list[Marginals]:
    """The marginal distribution of every node, level by level from the leaves."""
    leaves = _Leaves.from_tree(tree, reports, prior)
    sums = [leaves.sum_portion(portion) for portion in leaves.portions()]
    message, tilt = _join_messages(sums), np.concatenate([portion.tilt for portion in sums])
    up, tapes = [], []
    for level in range(1, tree.depth):
        likelihood = _likelihood(reports[level], tree.sizes[level], message, tilt if level == 1 else 0.0)
        own = message.mass * likelihood
        if not (own.sum(axis=-1) > 0).all():
            raise OutOfWindow
        up.append((message, likelihood))
        if level < tree.depth - 1:
            inner = crop_window(own, message.low)
            message, tape = fold_children(inner, tree.children[level])
            tapes.append((inner, tape))
    marginals = []
    down = np.ones_like(up[-1][0].mass)
    for level in range(tree.depth - 1, 0, -1):
        message, likelihood = up[level - 1]
        down, mass = _cut_message(down, message.mass * likelihood)
        marginals.append(Marginals(message.low[:, 0], mass[:, 0]))
        sent = down * likelihood
        if level > 1:
            inner, tape = tapes[level - 2]
            down = _place_message(unfold_children(sent, tape), inner.low - up[level - 2][0].low, up[level - 2][0].width)
    low, width = leaves.low, leaves.width
    mass = np.empty((len(low), width))
    for part, portion in zip(sums, leaves.portions(), strict=True):
        leaves.fill_marginals(portion, part, message, sent, mass)
    return [Marginals(low, mass), *reversed(marginals)]


def _likelihood(reports: LevelReports, sizes: Ints, message: Message, tilt: Floats | float) -> Floats:
    """exp(log Pr[y | x] - tilt·x) on the windows, the largest of each node one."""
    low, width = message.low[:, 0], message.width
    x = low[:, None] + np.arange(width)
    log = reports.log_likelihood(slice(None), low, width) - np.reshape(tilt, (-1, 1)) * (x - low[:, None])
    log = np.where(x <= sizes[:, None], log, -np.inf)
    top = log.max(axis=1, keepdims=True)
    return np.asarray(np.exp(log - np.where(np.isfinite(top), top, 0.0)))[:, None, :]


def _cut_message(down: Floats, up: Floats) -> tuple[Floats, Floats]:
    """The message without places where the marginal has no mass, so that no transform mixes scales; the marginal."""
    mass = normalize_mass(up * down)
    return scale_to_max(np.where(mass > TOLERANCE / mass.shape[-1], down, 0.0)), mass


def _place_message(message: Floats, begin: Ints, width: int) -> Floats:
    """A message on windows that begin later within wider ones."""
    out = np.zeros((*message.shape[:-1], width))
    np.put_along_axis(out, begin[..., None] + np.arange(message.shape[-1]), message, axis=-1)
    return out


def leaf_window(values: int, leaves: LevelReports) -> int:
    """How many values of a leaf are looked at."""
    return values if values <= FULL_RANGE else min(values, max(2 * reach(leaves) + 1, FULL_RANGE))


@dataclass(frozen=True, eq=False)
class _LeafSums:
    """The sums over the leaves of a portion of parents, by class and mixed."""

    mixed: Message
    weights: Floats
    tilt: Floats


@dataclass(frozen=True, eq=False)
class _Leaves:
    """The leaves with their windows, and what they say of their parents, a portion of parents at a time."""

    tree: Tree
    reports: LevelReports
    prior: Prior
    steepness: float
    near: Floats
    low: Ints
    width: int

    @classmethod
    def from_tree(cls, tree: Tree, reports: Sequence[LevelReports], prior: Prior) -> "_Leaves":
        width = leaf_window(int(tree.sizes[0].max()) + 1, reports[0])
        low = np.zeros(len(tree.sizes[0]), np.int64)
        near = least_squares(tree, reports)
        if width >= FULL_RANGE:
            low = np.clip(reports[0].y - width // 2, 0, np.maximum(tree.sizes[0] + 1 - width, 0))
        return cls(tree, reports[0], prior, reports[1].steepness, near[1], low, width)

    def portions(self) -> Iterator[tuple[slice, slice]]:
        """Ranges of parents and of their leaves."""
        classes = self.prior.weights.shape[1]
        ends = np.cumsum(self.tree.children[0])
        most = max(PORTION // (classes * self.width), 1)
        start = 0
        while start < len(ends):
            before = ends[start - 1] if start else 0
            stop = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
            yield slice(start, stop), slice(int(before), int(ends[stop - 1]))
            start = stop

    def _tilted_leaves(self, parents: slice, leaves: slice, tilt: Floats) -> tuple[Floats, Floats]:
        """Leaves × classes × window: distributions of the tilted leaves given the class; and the classes' weights."""
        low, parent = self.low[leaves], self.tree.parents[0][leaves] - parents.start
        x = low[:, None] + np.arange(self.width)
        log = self.prior.log_mass(leaves, low, self.width)
        log += self.reports.log_likelihood(leaves, low, self.width)[:, None, :]
        log += np.where(x <= self.tree.sizes[0][leaves][:, None], tilt[parent][:, None] * (x - low[:, None]), -np.inf)[
            :, None, :
        ]
        top = log.max(axis=(1, 2), keepdims=True)
        mass = np.exp(log - top)
        evidence = mass.sum(axis=-1)
        if not (evidence > 0).any(axis=1).all():
            raise OutOfWindow
        with np.errstate(divide="ignore"):
            weights = np.log(self.prior.weights[parents])
            np.add.at(weights, parent, np.log(evidence))
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        return mass / np.maximum(evidence, 1e-300)[..., None], weights / weights.sum(axis=1, keepdims=True)

    def _tilts(self, parents: slice, leaves: slice) -> Floats:
        """Per parent the t for which the leaves sum to what least squares says; 0 where they nearly do."""
        parent = self.tree.parents[0][leaves] - parents.start
        none = np.zeros(parents.stop - parents.start)
        given, weights = self._tilted_leaves(parents, leaves, none)
        leaf = np.einsum("nk,nkx->nx", weights[parent], given)
        x = np.arange(self.width)
        base = np.bincount(parent, self.low[leaves])
        target = np.clip(self.near[parents], 0.5, np.maximum(self.tree.sizes[1][parents] - 0.5, 0.5)) - base
        mean = leaf @ x
        deviation = np.sqrt(np.bincount(parent, np.maximum(leaf @ x**2 - mean**2, 0.0)))
        wanted = np.abs(target - np.bincount(parent, mean)) > FAR * deviation
        if not wanted.any():
            return none
        return np.where(wanted, _solved_tilts(leaf, parent, target, wanted, self.steepness), 0.0)

    def sum_portion(self, portion: tuple[slice, slice]) -> _LeafSums:
        tilt = self._tilts(*portion)
        given, weights = self._tilted_leaves(*portion, tilt)
        by_class, _ = self._fold(portion, given)
        begin = by_class.low.min(axis=1)
        width = int((by_class.low.max(axis=1) - begin).max()) + by_class.width
        full = _place_message(by_class.mass, by_class.low - begin[:, None], width)
        mixed = Message(begin[:, None], np.einsum("gk,gks->gs", weights, full)[:, None, :])
        return _LeafSums(mixed, weights, tilt)

    def _fold(self, portion: tuple[slice, slice], given: Floats) -> tuple[Message, list[Fold]]:
        parents, leaves = portion
        low = np.repeat(self.low[leaves][:, None], given.shape[1], axis=1)
        return fold_children(Message(low, given), self.tree.children[0][parents])

    def fill_marginals(
        self, portion: tuple[slice, slice], part: _LeafSums, message: Message, sent: Floats, mass: Floats
    ) -> None:
        """The marginals of the portion's leaves, from the message that was sent to their parents."""
        parents, leaves = portion
        given, _ = self._tilted_leaves(parents, leaves, part.tilt)
        by_class, tape = self._fold(portion, given)
        begin = by_class.low - message.low[parents]
        at = begin[..., None] + np.arange(by_class.width)
        inside = (at >= 0) & (at < message.width)
        own = np.take_along_axis(
            np.broadcast_to(sent[parents], (*begin.shape, message.width)), np.clip(at, 0, message.width - 1), axis=-1
        )
        own = np.where(inside, own, 0.0)
        classes = part.weights * np.einsum("gks,gks->gk", by_class.mass, own)
        classes /= classes.sum(axis=1, keepdims=True)
        parent = self.tree.parents[0][leaves] - parents.start
        below = normalize_mass(unfold_children(own, tape) * given)
        mass[leaves] = normalize_mass(np.einsum("nk,nkx->nx", classes[parent], below))


def _solved_tilts(leaf: Floats, parent: Ints, target: Floats, wanted: Flags, most: float) -> Floats:
    """By bisection, for the wanted parents alone."""
    own = np.flatnonzero(wanted[parent])
    with np.errstate(divide="ignore"):
        log = np.log(leaf[own])
    group, x = parent[own], np.arange(leaf.shape[1])
    low, high = np.full(len(target), -most), np.full(len(target), most)
    for _ in range(30):
        middle = (low + high) / 2
        tilted = log + middle[group][:, None] * x
        tilted = np.exp(tilted - tilted.max(axis=1, keepdims=True))
        mean = np.bincount(group, (tilted @ x) / tilted.sum(axis=1), minlength=len(target))
        low, high = np.where(mean < target, middle, low), np.where(mean < target, high, middle)
    return np.asarray((low + high) / 2)


def _join_messages(parts: list[_LeafSums]) -> Message:
    """The mixed messages of all portions on windows of one width."""
    width = max(part.mixed.width for part in parts)
    mass = [np.pad(part.mixed.mass, ((0, 0), (0, 0), (0, width - part.mixed.width))) for part in parts]
    return Message(np.concatenate([part.mixed.low for part in parts]), np.concatenate(mass))

"""Priors of the true values of leaves: the protocol that `posterior` needs, and its implementations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inbounds.adjust.prior_shapes import Shape
from inbounds.exact import Floats, Ints


class Prior(Protocol):
    """A mixture over classes of every parent of leaves; given its class, the leaves are independent."""

    @property
    def weights(self) -> Floats:
        """Weights of the classes, parents × classes."""
        ...

    def log_mass(self, leaves: Ints | slice, low: Ints, width: int) -> Floats:
        """Return log Pr[x | class] for x = low .. low + width - 1, leaves × classes × window."""
        ...


@dataclass(frozen=True, eq=False)
class Rates:
    """A prior whose leaves have mean rate rates[parent, class].

    A class is a mean rate with a shape, so the posterior is over both. The classes are ordered by shape, the same
    number for each.
    """

    sizes: Ints
    parent: Ints
    rates: Floats
    weights: Floats
    shapes: tuple[Shape, ...]

    def log_mass(self, leaves: Ints | slice, low: Ints, width: int) -> Floats:
        by_kind, kind = _log_conditional(self.sizes[leaves], self.parent[leaves], self.rates, self.shapes, low, width)
        return np.asarray(by_kind[kind])


def _log_conditional(
    sizes: Ints, owner: Ints, rates: Floats, shapes: Sequence[Shape], low: Ints, width: int
) -> tuple[Floats, Ints]:
    """Compute log Pr[x | class] once for each distinct kind of leaf, kinds × classes × window, and the kind of each
    leaf.
    """
    kinds = np.stack([owner, sizes, low])
    _, first, kind = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    x, size = low[first][:, None, None] + np.arange(width), sizes[first][:, None, None]
    by_shape = np.split(rates[owner[first]][..., None], len(shapes), axis=1)
    by_class = [shape.log_mass(x, size, shape_rates) for shape, shape_rates in zip(shapes, by_shape, strict=True)]
    return np.concatenate(by_class, axis=1), kind


@dataclass(frozen=True, eq=False)
class LabelRates:
    """A prior whose leaves have the rate of their label, averaged over its classes: one class for each parent.

    chances: probabilities of the classes of every label.
    """

    sizes: Ints
    label: Ints
    rates: Floats
    chances: Floats
    shapes: tuple[Shape, ...]
    weights: Floats

    def log_mass(self, leaves: Ints | slice, low: Ints, width: int) -> Floats:
        label = self.label[leaves]
        by_kind, kind = _log_conditional(self.sizes[leaves], label, self.rates, self.shapes, low, width)
        with np.errstate(divide="ignore"):
            mixed = np.einsum("lkx,lk->lx", np.exp(by_kind)[kind], self.chances[label])
            return np.asarray(np.log(mixed)[:, None, :])


@dataclass(frozen=True, eq=False)
class TablePrior:
    """A prior given as a table mass[leaf, class, x]."""

    mass: Floats
    weights: Floats

    def log_mass(self, leaves: Ints | slice, low: Ints, width: int) -> Floats:
        mass = self.mass[leaves]
        x = low[:, None, None] + np.arange(width)
        clipped = np.clip(x, 0, mass.shape[-1] - 1)
        with np.errstate(divide="ignore"):
            log = np.log(np.take_along_axis(mass, np.broadcast_to(clipped, (*mass.shape[:2], width)), axis=-1))
        return np.where(clipped == x, log, -np.inf)

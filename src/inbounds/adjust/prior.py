"""How likely the true values of leaves are: what a posterior needs of a prior, and the priors there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inbounds.adjust.prior_shapes import Shape
from inbounds.exact import Floats, Ints


class Prior(Protocol):
    """Classes of every parent of leaves, and what its leaves are given each."""

    @property
    def weights(self) -> Floats:
        """parents × classes."""
        ...

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        """leaves × classes × window."""
        ...


@dataclass(frozen=True, eq=False)
class Rates:
    """Leaves of the mean rate rates[parent, class]; the classes of one shape after those of another, as many of each.

    A class is a mean rate with a shape, so that the posterior is over both.
    """

    sizes: Ints
    parent: Ints
    rates: Floats
    weights: Floats
    shapes: tuple[Shape, ...]

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        given, again = _log_conditional(self.sizes[leaves], self.parent[leaves], self.rates, self.shapes, low, width)
        return np.asarray(given[again])


def _log_conditional(
    sizes: Ints, owner: Ints, rates: Floats, shapes: Sequence[Shape], low: Ints, width: int
) -> tuple[Floats, Ints]:
    """log Pr[x] by class for each kind of leaf there is, kinds × classes × window, and which kind every leaf is."""
    kinds = np.stack([owner, sizes, low])
    _, first, again = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    x, size = low[first][:, None, None] + np.arange(width), sizes[first][:, None, None]
    by_shape = np.split(rates[owner[first]][..., None], len(shapes), axis=1)
    found = [shape.log_mass(x, size, own) for shape, own in zip(shapes, by_shape, strict=True)]
    return np.concatenate(found, axis=1), again


@dataclass(frozen=True, eq=False)
class LabelRates:
    """Leaves whose rates belong to their label, averaged over its classes: one class for each parent.

    chances: of the classes of every label.
    """

    sizes: Ints
    label: Ints
    rates: Floats
    chances: Floats
    shapes: tuple[Shape, ...]
    weights: Floats

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        label = self.label[leaves]
        given, again = _log_conditional(self.sizes[leaves], label, self.rates, self.shapes, low, width)
        with np.errstate(divide="ignore"):
            mixed = np.einsum("lkx,lk->lx", np.exp(given)[again], self.chances[label])
            return np.asarray(np.log(mixed)[:, None, :])


@dataclass(frozen=True, eq=False)
class TablePrior:
    """Any prior: mass[leaf, class, x]."""

    mass: Floats
    weights: Floats

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        own = self.mass[leaves]
        x = low[:, None, None] + np.arange(width)
        at = np.clip(x, 0, own.shape[-1] - 1)
        with np.errstate(divide="ignore"):
            taken = np.log(np.take_along_axis(own, np.broadcast_to(at, (*own.shape[:2], width)), axis=-1))
        return np.where(at == x, taken, -np.inf)

"""The family of record groups that score tables are judged on before any record is read.

A family is a model of what groups may look like. It is public and an argument of the design: with more knowledge
about the records, give another one. Any function from a query to histograms of groups is a family.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.query import QuantileQuery

Family = Callable[[QuantileQuery], Ints]
"""Returns histograms, groups × values, for a query. Equal queries must get equal groups."""


@dataclass(frozen=True)
class RecordFamily:
    """Groups whose records lie in a window of the range, at every scale alike.

    The windows have all, half, a quarter, … of the values, down to one. For each width some lie at the low end of the
    range and as many anywhere. Within its window a group's records are independent, with a Beta(a, b) density: flat,
    falling, rising, bell-shaped or heaped at both ends. Every other group is lumpy: the probability of each value is
    multiplied by an exponential random number. Each group is followed by its mirror image, so that the design for a
    minimum is the mirror image of that for a maximum.

    shapes: a and b are drawn from these. each: the number of groups for each width and place. counts: the most counts
    in all histograms; for wide ranges `each` is reduced to keep it, but not below 4. A group whose size is secret has
    any number of records from 1 to the maximum, all equally likely.

    >>> from inbounds import median
    >>> RecordFamily(each=2)(median(0, 3, size=5)).sum(axis=1).tolist()
    [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]
    """

    shapes: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    each: int = 12
    counts: int = 1 << 18
    seed: int = 0

    def __call__(self, query: QuantileQuery) -> Ints:
        """Draw the groups of the family: the same groups for the same number of values and records."""
        rng = np.random.default_rng([self.seed, len(query.values), query.size])
        shares = np.concatenate(list(self._shares(len(query.values), rng)))
        sizes = query.size if query.public_size else rng.integers(1, query.size + 1, len(shares))
        groups = rng.multinomial(sizes, shares)
        return np.stack([groups, groups[:, ::-1]], axis=1).reshape(-1, shares.shape[1])

    def _shares(self, values: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Draw the probabilities of the values, `each` rows for every width and place of the window."""
        from scipy.special import betainc

        widths = [values >> k for k in range(values.bit_length())]
        places = [(width, anywhere) for width in widths for anywhere in (False, True) if width < values or anywhere]
        each = min(self.each, max(4, self.counts // (2 * len(places) * values)))
        for width, anywhere in places:
            a, b = rng.choice(self.shapes, (2, each, 1))
            inside = np.diff(betainc(a, b, np.linspace(0.0, 1.0, width + 1)), axis=1)
            inside[1::2] *= rng.standard_exponential(inside[1::2].shape)
            first = rng.integers(0, values - width + 1, each) if anywhere else np.zeros(each, dtype=np.int64)
            shares = np.zeros((each, values))
            shares[np.arange(each)[:, None], first[:, None] + np.arange(width)] = inside
            yield shares / shares.sum(axis=1, keepdims=True)

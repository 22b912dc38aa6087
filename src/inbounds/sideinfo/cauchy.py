"""Boundary-snapped Cauchy noise scaled by smooth sensitivity: for studies and comparisons, never for a release.

The scale of this noise depends on the data, through the smooth sensitivity. Two databases with the same answer have
different laws, so there is no matrix outputs × answers for the checker, and the floating-point density below is proved
on paper only. It is therefore not a `Mechanism` and cannot be sampled for a release. Its discretization in
`inbounds.sideinfo.smooth` can be released: it is certified in integers.

Proof of privacy (000 §4.3.5 with a better constant; after Nissim, Raskhodnikova, Smith 2007). For the density
h(z) = 1/(pi(1 + z²)), noise at x is h((y - f(x))·a/S(x)) · a/S(x). Between neighbours x, x':

  shift     |f(x) - f(x')| <= S(x) moves z by at most a, and max_z (1 + (z+a)²)/(1 + z²) = e^(2·asinh(a/2));
  dilation  the scale changes by a factor e^b, |b| <= beta, and e^b(1 + z²)/(1 + e^(2b) z²) lies in e^(-|b|)..e^|b|.

So every a, beta with 2·asinh(a/2) + beta <= epsilon give epsilon-privacy. Snapping is post-processing. The paper's
scale 8·S/epsilon is one such choice, and far from the best.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Number, to_epsilon, to_fraction
from inbounds.losses import ErrorLoss, LossLike, to_loss
from inbounds.sideinfo.sensitivity import Sensitivity


@dataclass(frozen=True)
class Split:
    """A division of epsilon: 2·asinh(a/2) for the shift of the answer, beta for the change of scale."""

    a: float
    beta: float

    @property
    def epsilon(self) -> float:
        """The privacy loss of the split."""
        return 2 * math.asinh(self.a / 2) + self.beta

    def scale(self, at: Sensitivity) -> float:
        """Return the scale of the noise at a database: S_beta / a."""
        return at.smooth(self.beta) / self.a


def split(epsilon: Number, beta: Number) -> Split:
    """Return the split that spends `beta` on the change of scale and the rest on the shift: a =
    2·sinh((epsilon-beta)/2).

    >>> round(split(1, "0.2").epsilon, 12)
    1.0
    """
    e, b = float(to_epsilon(epsilon)), float(to_fraction(beta, "beta"))
    if not 0 < b < e:
        raise ValueError(f"beta must be above 0 and below epsilon, got {beta}")
    return Split(2 * math.sinh((e - b) / 2), b)


def papers_split(epsilon: Number) -> Split:
    """Return the scale 8·S/epsilon of 000 §4.3.5, which is valid but loose.

    The paper does not state beta. a = epsilon/8 costs 2·asinh(epsilon/16) < epsilon/8, and all the rest goes to beta,
    which is the best choice for this scale.
    """
    e = float(to_epsilon(epsilon))
    return Split(e / 8, e - 2 * math.asinh(e / 16))


def best_split(
    epsilon: Number, public: Sequence[Sensitivity], loss: LossLike = "absolute", *, candidates: int = 200
) -> Split:
    """Return the split with the least average loss over example databases, on a grid of `candidates` values of beta.

    public: example databases that are not the protected data; a split chosen with the protected data would leak them.
    A small beta means less noise per unit of sensitivity, a large beta a smaller smooth sensitivity. Which matters more
    depends on how dense the data are, so no split is best for all.
    """
    if not public:
        raise ValueError("public must be at least one example database")
    e = float(to_epsilon(epsilon))
    splits = [split(epsilon, repr(e * (i + 1) / (candidates + 1))) for i in range(candidates)]
    return min(splits, key=lambda s: sum(expected_loss(example, s, loss) for example in public))


def snapped_cauchy(at: Sensitivity, parts: Split, outputs: Floats | None = None) -> Floats:
    """Return Pr[output | database] of Cauchy noise around the true value, moved to the nearest output.

    outputs: increasing values; by default the integers low..high. Mass beyond the range is added
    to its ends. For study only: the law depends on the data beyond the answer.
    """
    values = np.arange(at.low, at.high + 1, dtype=np.float64) if outputs is None else np.asarray(outputs, float)
    if values.ndim != 1 or len(values) < 2 or not (np.diff(values) > 0).all():
        raise ValueError("outputs must be at least two increasing numbers")
    return snap_cauchy(values, float(at.answer), parts.scale(at))


def snap_cauchy(values: Floats, centre: float, scale: float) -> Floats:
    """Return the masses of Cauchy noise around `centre`, each part of the line assigned to the nearest of the
    values.
    """
    edges = ((values[1:] + values[:-1]) / 2 - centre) / scale
    below = np.concatenate([[0.0], _cdf(edges), [1.0]])
    above = np.concatenate([[1.0], _cdf(-edges), [0.0]])
    return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))  # differences of the smaller tail


def expected_loss(at: Sensitivity, parts: Split, loss: LossLike = "absolute") -> float:
    """Return the expected loss of the snapped Cauchy output at one database."""
    loss_object = to_loss(loss)
    if not isinstance(loss_object, ErrorLoss):
        raise ValueError("a loss of the error is needed: the answers of a database are not declared in a table")
    values = np.arange(at.low, at.high + 1, dtype=np.float64)
    return float(snapped_cauchy(at, parts) @ loss_object.of(np.abs(values - float(at.answer))))


def _cdf(z: Floats) -> Floats:
    """Return Pr[noise <= z]; for z < 0 as atan(-1/z)/pi, which keeps the relative accuracy of the tail."""
    with np.errstate(divide="ignore"):
        return np.where(z < 0, np.arctan(-1 / np.minimum(z, -1e-300)) / math.pi, 0.5 + np.arctan(z) / math.pi)

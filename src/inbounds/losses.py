"""Losses and priors: what a wrong output costs, and how likely each true answer is.

Designers minimize a loss under a prior; evaluation measures it. Privacy does not depend on either.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inbounds.errors import suggest_name
from inbounds.exact import Floats, Number, format_decimal, to_fraction
from inbounds.query import RangeQuery, Scale
from inbounds.trusted.scale import check_list_size

Errors = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class ErrorLoss:
    """A loss that depends on the distance |output - true| only; `of` maps distances to losses.

    needs_order: the loss has no meaning for labels, which have no distance.
    """

    name: str
    of: Errors
    needs_order: bool = True

    def table(self, query: RangeQuery) -> Floats:
        """Return loss[i, j], the loss of output i when the true answer is j."""
        return self._between(query, query.outputs.values, home=query.home_cell)

    def guesses(self, query: RangeQuery) -> Floats:
        """Return loss[g, j], the loss of guessing answer g when the true answer is j."""
        return self._between(query, query.answers, home=np.arange(len(query.answers)))

    def _between(self, query: RangeQuery, reports: Scale, home: NDArray[Any]) -> Floats:
        if self.needs_order and not query.is_ordered:
            alternative = "'zero-one'" if query.neighbours.is_line else "'distance'"
            raise ValueError(f"loss {self.name!r} needs numeric answers; use {alternative} for labels")
        distance = np.abs(reports.floats()[:, None] - query.answers.floats()[None, :])
        distance[home, np.arange(len(home))] *= 0.0 if self.name == "zero-one" else 1.0
        return np.asarray(self.of(distance), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TableLoss:
    """A loss given as a table, loss[output, answer]."""

    values: Floats
    name: str = "table"

    def table(self, query: RangeQuery) -> Floats:
        if self.values.shape != query.shape:
            raise ValueError(f"a loss table must have the shape {query.shape}, got {self.values.shape}")
        return self.values

    def guesses(self, query: RangeQuery) -> Floats:
        if query.shape[0] != query.shape[1]:
            raise ValueError("a loss table needs one output per answer to judge guesses")
        return self.table(query)


def weigh_loss(loss: "Loss", prior: "Prior", query: RangeQuery) -> TableLoss:
    """Return w[answer]·loss[output, answer] for weights w that sum to one, as a table.

    Its largest expected value over the answers is the weighted worst case of 003, Definition 3 with the maximum.
    """
    return TableLoss(loss.table(query) * to_prior(prior, query), f"prior-weighted {loss.name}")


@dataclass(frozen=True)
class FunctionLoss:
    """A loss given as function(released value, true value), of numbers or labels."""

    function: Callable[[Any, Any], float]
    name: str = "function"

    def table(self, query: RangeQuery) -> Floats:
        reports = query.output_values.tolist() if query.places is None else _answer_values(query)
        return self._rows(reports, query)

    def guesses(self, query: RangeQuery) -> Floats:
        return self._rows(_answer_values(query), query)

    def _rows(self, reports: list[Any], query: RangeQuery) -> Floats:
        rows = [[float(self.function(r, a)) for a in _answer_values(query)] for r in reports]
        return _finite(np.array(rows, dtype=np.float64))


@dataclass(frozen=True)
class GraphLoss:
    """A loss between two answers on a graph; `of` maps the query to a table loss[output, true]."""

    name: str
    of: Callable[[RangeQuery], Floats]

    def table(self, query: RangeQuery) -> Floats:
        return self.of(query)

    def guesses(self, query: RangeQuery) -> Floats:
        return self.of(query)


Loss = ErrorLoss | TableLoss | FunctionLoss | GraphLoss
LossLike = str | Loss | Callable[[Any, Any], float] | ArrayLike

absolute = ErrorLoss("absolute", lambda distance: distance)
squared = ErrorLoss("squared", lambda distance: distance * distance)
zero_one = ErrorLoss("zero-one", lambda distance: (distance > 0).astype(np.float64), needs_order=False)
NAMED = {loss.name: loss for loss in (absolute, squared, zero_one)}


def _distances(query: RangeQuery) -> Floats:
    """Return the length of the shortest path from each true answer to each output."""
    if query.neighbours.is_line:
        raise ValueError(
            "loss 'distance' needs answers on a graph; use 'absolute' for numbers and 'zero-one' for labels"
        )
    lengths = query.distances().T
    if not np.isfinite(lengths).all():
        raise ValueError("loss 'distance' needs a path between any two answers; give a table, or use 'zero-one'")
    return np.asarray(lengths)


def _straight(query: RangeQuery) -> Floats:
    """Return the straight-line distance of any two places."""
    points = query.coordinates
    if points is None:
        raise ValueError(
            "loss 'euclidean' needs answers with coordinates; use 'distance', the length of a shortest path"
        )
    return np.asarray(np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)))


distance = GraphLoss("distance", _distances)
euclidean = GraphLoss("euclidean", _straight)
ON_GRAPHS = {loss.name: loss for loss in (distance, euclidean)}
"""Losses between two answers on a graph."""


def threshold_loss(distance: Number) -> ErrorLoss:
    """Return the loss that is 1 when the output misses by more than `distance`, else 0 (003's L0,d)."""
    d = to_fraction(distance, "distance")
    if not d >= 0:
        raise ValueError(f"distance must not be negative, got {distance}")
    slack = 1e-9 * max(1.0, float(d))  # distances arrive as floats: 3/10 - 1/10 must count as 2/10
    return ErrorLoss(f"off by more than {d}", lambda e: (e > float(d) + slack).astype(np.float64))


def power_loss(p: Number) -> ErrorLoss:
    """Return the loss |error|**p; p = 1 is absolute, p = 2 squared."""
    exponent = to_fraction(p, "p")
    if not exponent > 0:
        raise ValueError(f"p must be positive, got {p}")
    return ErrorLoss(f"power {exponent}", lambda distance: distance ** float(exponent))


PARAMETRIC = {"off-by-more-than-": threshold_loss, "power-": power_loss}
LOSS_NAMES = (*NAMED, "off-by-more-than-D", "power-P")
"""How losses are named on the command line, in plans and in Python; D and P are numbers."""


def parse_loss(name: str) -> Loss:
    """Find a loss by name: absolute, squared, zero-one, off-by-more-than-2, power-1.5. Spaces may replace hyphens.

    >>> parse_loss("off-by-more-than-1/2").name, parse_loss("off by more than 1/2").name
    ('off by more than 1/2', 'off by more than 1/2')
    """
    if not isinstance(name, str):
        raise ValueError("must be the name of a loss in quotes")
    spelled = name.replace(" ", "-")
    for prefix, make in PARAMETRIC.items():
        if spelled.startswith(prefix):
            return make(spelled.removeprefix(prefix))
    if name in ON_GRAPHS:
        return ON_GRAPHS[name]
    if name not in NAMED:
        choices = f"{', '.join(map(repr, NAMED))}, ib.threshold_loss(d), ib.power_loss(p)"
        raise ValueError(
            f"loss must be one of {choices}, in words 'off-by-more-than-D' and 'power-P', a table or a function, "
            f"on a graph {' or '.join(map(repr, ON_GRAPHS))}, got {name!r}{suggest_name(name, LOSS_NAMES)}"
        )
    return NAMED[name]


def to_loss(loss: LossLike) -> Loss:
    """Return a loss from its name, a function (output, true) -> float, or a table outputs × answers."""
    if isinstance(loss, ErrorLoss | TableLoss | FunctionLoss | GraphLoss):
        return loss
    if isinstance(loss, str):
        return parse_loss(loss)
    if callable(loss):
        return FunctionLoss(loss)
    table = np.asarray(loss, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError("a loss table must be two-dimensional: outputs × answers")
    return TableLoss(_finite(table))


@dataclass(frozen=True)
class LossLimit:
    """A design constraint: the expected loss is at most `bound` for every true answer ("worst") or on average."""

    loss: Loss
    bound: Fraction
    aim: Literal["worst", "average"] = "worst"

    def __post_init__(self) -> None:
        if self.aim not in ("worst", "average"):
            raise ValueError(f"aim must be 'worst' (every answer) or 'average', got {self.aim!r}")
        if not self.bound >= 0:
            raise ValueError(f"bound must not be negative, got {self.bound}")

    def __str__(self) -> str:
        whom = "for every answer" if self.aim == "worst" else "on average"
        return f"{self.loss.name} at most {format_decimal(self.bound)} {whom}"


@dataclass(frozen=True, eq=False)
class FixedPointConstraint:
    """A design constraint: if the answers are distributed like `weights`, so are the outputs."""

    weights: Floats

    def __str__(self) -> str:
        return "outputs distributed as the answers, under the given distribution"


def keep_fixed_point(prior: "Prior") -> FixedPointConstraint:
    """Return a constraint for `ib.optimal(…, subject_to=[…])`: if the answers are distributed like `prior`, so are the
    outputs.

    sum_j P[i, j] prior[j] = prior[i] for every output i, up to 10^-9. Someone who knows the distribution of the answers
    sees nothing unusual in that of the outputs. Needs one output per answer. It can always be met: an output drawn from
    the prior, whatever the answer is, meets it. (Kohli and Laskowski 2026.)
    """
    weights = np.asarray(prior, dtype=np.float64)
    if weights.ndim != 1 or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError("prior must be one finite weight per answer, not negative and not all zero")
    return FixedPointConstraint(weights / weights.sum())


Restriction = LossLimit | FixedPointConstraint


def limit_loss(loss: LossLike, bound: Number, aim: Literal["worst", "average"] = "worst") -> LossLimit:
    """Return a constraint for `ib.optimal(…, subject_to=[…])`: this loss is at most `bound` for every true answer.

    aim="average": on average under the prior instead.

    >>> print(limit_loss(threshold_loss(2), 0.05))
    off by more than 2 at most 0.05 for every answer
    """
    return LossLimit(to_loss(loss), to_fraction(bound, "bound"), aim)


def parse_limit(text: str) -> LossLimit:
    """Parse a loss limit of a plan or the command line: "off-by-more-than-2=0.05", "average squared=4".

    >>> print(parse_limit("average squared=4"))
    squared at most 4 on average
    """
    if not isinstance(text, str) or "=" not in text:
        raise ValueError(f"a limit must be a loss and a bound as in 'off-by-more-than-2=0.05', got {text!r}")
    name, _, bound = text.rpartition("=")
    on_average = name.strip().startswith("average ")
    loss = name.strip().removeprefix("average ").removeprefix("worst ").strip()
    return limit_loss(parse_loss(loss), bound.strip(), "average" if on_average else "worst")


Prior = Sequence[float] | NDArray[Any] | None


def to_prior(prior: Prior, query: RangeQuery) -> Floats:
    """Return the probabilities of the answers. None means uniform; non-negative weights are scaled to sum to one."""
    size = len(query.answers)
    check_list_size(size)
    if prior is None:
        return np.full(size, 1.0 / size)
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (size,):
        raise ValueError(f"prior must have one weight for each of the {size} answers, got shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights > 0).any()):
        raise ValueError("prior must be finite, non-negative and not all zero")
    weights = weights / weights.max()  # their sum may be beyond any float
    return np.asarray(weights / weights.sum())


def best_constant_loss(query: RangeQuery, loss: LossLike, prior: Prior = None) -> float:
    """Return the expected loss of the best fixed answer: a mechanism that reads the data should not do worse.

    For absolute loss that answer is the median of the prior, at cost O(answers); otherwise the cost is O(answers²).

    >>> from inbounds.query import count
    >>> best_constant_loss(count(3), "absolute")
    1.0
    """
    weights, loss_object = to_prior(prior, query), to_loss(loss)
    if loss_object is absolute and query.is_ordered:
        answers = query.answers.floats()
        median = answers[min(int(np.searchsorted(np.cumsum(weights), 0.5)), len(answers) - 1)]
        return float(weights @ np.abs(answers - median))
    if loss_object is zero_one:
        return float(1 - weights.max())
    return float((loss_object.guesses(query) @ weights).min())


def _finite(table: Floats) -> Floats:
    if not np.isfinite(table).all():
        raise ValueError("every loss must be finite")
    return table


def _answer_values(query: RangeQuery) -> list[Any]:
    """Return the true answers as people write them: numbers, labels, or tuples of coordinates."""
    if query.coordinates is not None:
        return [*map(tuple, query.coordinates.tolist())]
    return list(query.labels) if query.labels is not None else query.answers.floats().tolist()

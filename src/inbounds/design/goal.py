"""The goal of a design, and the problem that it poses in numbers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from inbounds.design.problem import EdgeArrays, Problem
from inbounds.exact import Floats
from inbounds.losses import (
    ON_GRAPHS,
    FunctionLoss,
    Loss,
    Prior,
    Restriction,
    TableLoss,
    to_prior,
)
from inbounds.mechanism import Optimality, Origin
from inbounds.mechanism.laws import AnswerLaw
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import RangeQuery
from inbounds.trusted.limits import MOST_RECOMPUTED

Aim = Literal["average", "worst"]

ROUNDING = 1e-14
"""Relative error of float sums: tolerated when losses are compared, subtracted from lower bounds."""

FARTHEST = Fraction(600)
"""Log of the largest finite ratio between two answers; larger ones count as this one. exp(-600) is below 1e-260."""

LARGEST = 1e150
"""Largest allowed loss: such losses can be multiplied and summed without overflow."""


@dataclass(frozen=True, eq=False)
class DesignGoal:
    """The goal of a design: loss, prior, properties, aim and limits.

    The last `len(before)` limits keep the values of the losses `before`, which were minimized first.
    """

    loss: Loss
    prior: Prior
    properties: frozenset[str]
    aim: Aim
    limits: tuple[Restriction, ...]
    before: tuple[Loss, ...] = ()

    @property
    def objective(self) -> str:
        """The goal in words. The words of an unconstrained goal tell how to compute its value."""
        under = "" if self.prior is None or self.aim == "worst" else " under the given prior"
        limits = self.limits[: len(self.limits) - len(self.before)]
        within = f" subject to {'; '.join(map(str, limits))}" if limits else ""
        after = f" after the least {', '.join(loss.name for loss in self.before)} loss" if self.before else ""
        return f"{self.aim} {self.loss.name} loss{under}{within}{after}"

    @property
    def is_unconstrained(self) -> bool:
        """Whether the goal has only a loss: averaged over equally likely answers, or of the worst answer."""
        return not (self.properties or self.limits or (self.prior is not None and self.aim == "average"))

    def origin(self, route: str) -> Origin:
        """Record how the mechanism was designed."""
        parameters = {"loss": self.loss.name, "aim": self.aim}
        if self.properties:
            parameters["properties"] = " ".join(sorted(self.properties))
        limits = self.limits[: len(self.limits) - len(self.before)]
        if limits:
            parameters["subject to"] = "; ".join(map(str, limits))
        if self.before:
            parameters["after"] = ", ".join(loss.name for loss in self.before)
        return Origin("optimal", {**parameters, "route": route})

    def optimality(self, law: AnswerLaw, query: RangeQuery, bound: float) -> Optimality:
        """Record the value that a law reaches and the proved bound."""
        losses = law.losses(query, self.loss)
        value = float(losses.max() if self.aim == "worst" else losses @ to_prior(self.prior, query))
        has_prior = self.prior is not None and self.aim == "average" and len(query.answers) <= MOST_RECOMPUTED
        custom_loss = isinstance(self.loss, FunctionLoss | TableLoss) and self.loss.name not in ON_GRAPHS
        small = query.shape[0] * query.shape[1] <= MATRIX_LIMIT
        return Optimality(
            self.objective,
            value,
            min(bound - ROUNDING * abs(bound), value),
            np.array(self.loss.table(query)) if custom_loss and small else None,
            to_prior(self.prior, query) if has_prior else None,
        )


def build_problem(
    query: RangeQuery, epsilon: Fraction, loss: Loss, prior: Prior, properties: frozenset[str], aim: Aim
) -> Problem:
    """State the constraints of a query and the loss as plain arrays."""
    is_line = query.neighbours.is_line
    cliques = query.cliques() if is_line else ()
    edges = None if is_line else _build_edges(query, epsilon)
    if edges is not None and "symmetric" in properties:
        edges = edges.with_mirror(len(query.answers))
    return Problem(
        epsilon=float(epsilon),
        cliques=tuple((c.start, c.stop, float(min(c.distance, FARTHEST / epsilon))) for c in cliques),
        edges=edges,
        loss=average_mirror(_check_magnitude(loss.table(query))),
        prior=average_mirror(to_prior(prior, query)),
        home=query.home_cell,
        below=query.below,
        above=query.above,
        worst=aim == "worst",
        properties=properties,
    )


def _build_edges(query: RangeQuery, epsilon: Fraction) -> EdgeArrays:
    """Return the edges of a graph query as arrays."""
    tails, heads, lengths = zip(*query.edges, strict=True)
    distinct = {id(length): length for length in lengths}  # edges of a map share the objects of their lengths
    floats = {key: float(min(length, FARTHEST / epsilon)) for key, length in distinct.items()}
    return EdgeArrays(np.array(tails), np.array(heads), np.array([floats[id(length)] for length in lengths]))


def _check_magnitude(table: Floats) -> Floats:
    """Raise `ValueError` if a loss is too large for float sums; return the table otherwise."""
    if not np.abs(table).max() <= LARGEST:
        raise ValueError(f"every loss must be at most {LARGEST:g} in size; use a larger unit")
    return np.ascontiguousarray(table)


def average_mirror(table: Floats) -> Floats:
    """Average a table with its mirror image if they differ only by rounding; return it unchanged otherwise.

    Positions such as thirds of a step are rounded floats, but a symmetric request must stay symmetric to the last bit.
    """
    mirror = np.flip(table)
    return (table + mirror) / 2 if np.allclose(table, mirror, rtol=0, atol=ROUNDING * table.max()) else table


def symmetrizing_error(problem: Problem, loss: Floats, prior: Floats) -> float:
    """Bound by how much `average_mirror` of loss and prior can have raised the least loss."""
    loss_change = float(np.abs(problem.loss - loss).max())
    prior_change = float(np.abs(problem.loss).max(axis=0) @ np.abs(problem.prior - prior))
    return loss_change if problem.worst else loss_change + prior_change

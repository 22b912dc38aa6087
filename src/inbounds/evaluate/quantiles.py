"""Comparison of mechanisms for one quantile, for records with unknown shares or with a prior."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inbounds.errors import check_kind, suggest_name
from inbounds.evaluate.compare import TIE, format_measure
from inbounds.evaluate.export import csv_table, latex_table
from inbounds.exact import format_decimal
from inbounds.losses import Loss, LossLike, Prior, to_loss
from inbounds.mechanism import bayes
from inbounds.mechanism.quantiles import Channel, QuantileMechanism
from inbounds.mechanism.quantiles.channel import UNLIKELY
from inbounds.query import QuantileQuery

USUAL = ("absolute", "squared", "zero-one")
"""The losses that quantiles are judged by if the caller names none."""


@dataclass(frozen=True)
class QuantileRow:
    """One mechanism of a comparison: its expected channel and its measures."""

    name: str
    mechanism: QuantileMechanism
    expected: Channel
    values: Mapping[str, float]


@dataclass(frozen=True)
class QuantileComparison:
    """Mechanisms for the same quantile with the same measures, for records with unknown shares or with a prior.

    columns: for each loss its average, "worst …" (over the true quantiles that can occur) and "bayes …" (after the best
    guess for every report); "truth", the probability that the truth is reported. constant: the loss of the best
    constant, by loss.
    """

    query: QuantileQuery
    rows: tuple[QuantileRow, ...]
    columns: tuple[str, ...]
    losses: tuple[str, ...]
    constant: Mapping[str, float]

    def sort_by(self, column: str | None = None) -> "QuantileComparison":
        """Return the comparison with rows ordered by a column, the best first."""
        name = self._check_column(column or self.losses[0])
        return replace(self, rows=tuple(sorted(self.rows, key=lambda row: _cost(row, name))))

    def best(self, column: str | None = None) -> tuple[str, ...]:
        """Return the names of the mechanisms that are best in a column, ties included."""
        name = self._check_column(column or self.losses[0])
        return tuple(row.name for row in self.rows if self.marks(row, name))

    def marks(self, row: QuantileRow, column: str) -> bool:
        """Return whether the row is among the best in the column."""
        lowest = min(_cost(other, column) for other in self.rows)
        return _cost(row, column) <= lowest + TIE * abs(lowest)

    def records(self) -> list[dict[str, Any]]:
        """Return one plain dictionary per row."""
        return [
            {
                "mechanism": row.name,
                "law": row.mechanism.law.name,
                "epsilon": float(row.mechanism.epsilon),
                **row.values,
            }
            for row in self.rows
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the rows, the best of each column, and the loss of the best constant."""
        best = {column: list(self.best(column)) for column in self.columns}
        return {"mechanisms": self.records(), "best": best, "constant": dict(self.constant)}

    def to_csv(self) -> str:
        """Return CSV with a header line; floats keep every digit."""
        return csv_table(self.records())

    def to_latex(self) -> str:
        """Return the printed table as a LaTeX tabular; a star marks the best of each column."""
        return latex_table(list(self.head), [[cell.strip() for cell in line] for line in self.cells()])

    @property
    def format(self) -> tuple[str, ...]:
        """The columns that fit a terminal: the averages; the worst case and the Bayes loss of the first loss."""
        first = self.losses[0]
        return (*self.losses, f"worst {first}", f"bayes {first}", "truth")

    @property
    def head(self) -> tuple[str, ...]:
        """Names of the columns of `cells`."""
        return ("mechanism", *self.format, "law", "epsilon")

    def cells(self) -> list[list[str]]:
        """Return the table as text; a star marks the best of each column."""
        return [
            [
                row.name,
                *(format_measure(row.values[c]) + ("*" if self.marks(row, c) else " ") for c in self.format),
                *(row.mechanism.law.name, format_decimal(row.mechanism.epsilon)),
            ]
            for row in self.rows
        ]

    def __repr__(self) -> str:
        best = ", ".join(self.best())
        return f"<QuantileComparison of {len(self.rows)} for {self.query!r}; least {self.losses[0]} loss: {best}>"

    def _check_column(self, column: str) -> str:
        if column not in self.columns:
            choices = ", ".join(self.columns)
            raise ValueError(f"column must be one of {choices}, got {column!r}{suggest_name(column, self.columns)}")
        return column


def compare_quantiles(
    mechanisms: Mapping[str, QuantileMechanism], *, losses: Sequence[LossLike] | None = None, prior: Prior = None
) -> QuantileComparison:
    """Compare mechanisms for one quantile, by name.

    prior: the distribution of the values of independent records; without a prior their shares are unknown, as in
    `QuantileMechanism.channel`.

    >>> from inbounds import median, design_permute_flip
    >>> query = median(1, 5, size=25)
    >>> compare_quantiles({"half": design_permute_flip(query, "0.5"), "one": design_permute_flip(query, 1)}).best()
    ('one',)
    """
    check_kind(mechanisms, Mapping, "mechanisms", "a dictionary from names to mechanisms of quantiles")
    query = _one_quantile(mechanisms)
    loss_objects = [to_loss(loss) for loss in losses or USUAL]
    rows = [_row(name, mechanism, loss_objects, prior) for name, mechanism in mechanisms.items()]
    constant = {loss.name: rows[0].expected.constant_loss(loss) for loss in loss_objects}
    names = tuple(loss.name for loss in loss_objects)
    return QuantileComparison(query, tuple(rows), tuple(rows[0].values), names, constant)


def _row(name: str, mechanism: QuantileMechanism, losses: list[Loss], prior: Prior) -> QuantileRow:
    expected = mechanism.channel(prior)
    values = {}
    for loss in losses:
        per_answer = (expected.matrix * loss.table(expected.query)).sum(axis=0)
        values[loss.name] = float(per_answer @ expected.prior)
        values[f"worst {loss.name}"] = float(per_answer[expected.prior > UNLIKELY].max())
        values[f"bayes {loss.name}"] = bayes.bayes_loss(expected, loss, expected.prior)
    values["truth"] = float(np.diag(expected.matrix) @ expected.prior)
    return QuantileRow(name, mechanism, expected, values)


def _one_quantile(mechanisms: Mapping[str, QuantileMechanism]) -> QuantileQuery:
    for name, mechanism in mechanisms.items():
        if not isinstance(mechanism, QuantileMechanism):
            raise TypeError(f"mechanisms must be for one quantile, got {type(mechanism).__name__} for {name!r}")
    queries = {mechanism.query: name for name, mechanism in mechanisms.items()}
    if len(queries) != 1:
        raise ValueError(
            f"mechanisms must answer the same quantile to be compared, got {', '.join(map(repr, queries))}"
        )
    return next(iter(queries))


def _cost(row: QuantileRow, column: str) -> float:
    """Return a value for which less is better: the measure, or minus the probability of the truth."""
    return -row.values[column] if column == "truth" else row.values[column]

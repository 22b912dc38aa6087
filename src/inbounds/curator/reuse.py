"""Find stored answers that a question can be answered from: the same question, or cells that add up to it.

The decision depends on which questions were charged and evaluated, never on the data or on whether an answer was drawn
yet. A question counts from its charge on, and a request for its answer waits until that leaves. A question whose
evaluation failed no longer counts after that moment: accounts could see the failure, and that is counted
(`evaluations`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypedDict

from inbounds.curator.dataset import Dataset
from inbounds.curator.question import Question, QuestionIdentity, parse_question
from inbounds.ledger import Ledger
from inbounds.ledger.store import Run
from inbounds.plan.plan import Plan
from inbounds.releases.workload import Workload
from inbounds.schema.columns import LabelColumn
from inbounds.schema.condition.canonical import format_condition
from inbounds.schema.condition.tree import And, ColumnRef, Compare, Condition, In
from inbounds.schema.condition.tree import Literal as Value
from inbounds.statistics.conditions import EVERYTHING

How = Literal["new", "same", "stronger", "sum"]
"""new: drawn for this question. same: the stored answer. stronger: the same question at a larger epsilon. sum: a sum of
cells of a stored answer."""


@dataclass(frozen=True)
class PricedQuestion:
    """A question as it would be drawn: its plan, its epsilon (the largest of all levels) and its identity."""

    dataset: Dataset
    question: Question
    epsilon: Fraction
    plan: Plan
    identity: QuestionIdentity

    @staticmethod
    def from_question(dataset: Dataset, question: Question) -> "PricedQuestion":
        epsilon = dataset.top if dataset.levels else question.epsilon
        assert epsilon is not None
        plan = question.to_plan(dataset, epsilon)
        return PricedQuestion(dataset, question, epsilon, plan, QuestionIdentity.from_plan(dataset, plan))

    @cached_property
    def key(self) -> str:
        return self.identity.key(self.epsilon)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The question as plain values, in canonical form."""
        return self.question.to_json()

    @cached_property
    def workload(self) -> Workload:
        """The numbers that the question asks for, and the designs that they need."""
        return Workload.from_plan(self.plan)

    @cached_property
    def sum_sources(self) -> "tuple[SumSource, ...]":
        """The questions whose cells add up to this one; none if it must be drawn anew."""
        return () if self.question.redraw else tuple(_find_sources(self))

    def with_epsilon(self, epsilon: Fraction) -> "PricedQuestion":
        """Return the same question at another epsilon."""
        if epsilon == self.epsilon:
            return self
        return replace(self, epsilon=epsilon, plan=self.question.to_plan(self.dataset, epsilon))

    def parse_stored(self, text: str) -> "PricedQuestion | None":
        """Parse a stored question about the same dataset; None if it is about groups that are no longer declared."""
        if text not in self._stored:
            try:
                stored = parse_question(json.loads(text), self.dataset, stored=True)
                self._stored[text] = PricedQuestion.from_question(self.dataset, stored)
            except ValueError:
                self._stored[text] = None
        return self._stored[text]

    @cached_property
    def _stored(self) -> "dict[str, PricedQuestion | None]":
        """Stored questions parsed so far: one question is compared with them in several transactions."""
        return {}


@dataclass(frozen=True)
class SumSource:
    """Questions whose cells add up to another. family: their digest. cells: those that one cell is the sum of."""

    family: str
    cells: list[str]


class SumRecipe(TypedDict):
    """How a sum is computed from a stored table.

    by: the group columns of the sum. cells: for each cell of the sum the stored cells. errors: the error columns of the
    sum and of the stored table.
    """

    by: list[str]
    cells: dict[str, list[str]]
    errors: tuple[str, str]


@dataclass(frozen=True)
class ReusableAnswer:
    """The stored question whose answer is used, and how the new question follows from it."""

    source: PricedQuestion
    how: How
    recipe: "SumRecipe | None" = None

    @property
    def key(self) -> str:
        return self.source.key


def find_reusable(run: Run, ledger: Ledger, request: PricedQuestion, now: int) -> ReusableAnswer:
    """Find the stored answer that a question gets, or return the question itself, to be drawn. now: milliseconds since
    1970.

    It looks up an index, so its time does not depend on how many questions are stored.
    """
    most = request.epsilon if request.question.redraw else None
    for stored in _find_stored(run, ledger, request.identity.base, request.epsilon, now, most):
        how: How = "same" if stored.epsilon == request.epsilon else "stronger"
        return ReusableAnswer(request.with_epsilon(stored.epsilon), how)
    sums = [
        (rows, stored, source)
        for source in request.sum_sources
        for base, rows in _find_finer(run, source.family, request.question.by)
        for stored in _find_stored(run, ledger, base, request.epsilon, now)
    ]
    for _, stored, source in sorted(sums, key=lambda one: (one[0], one[1].epsilon, one[1].key)):
        question = request.parse_stored(stored.question)
        if question is not None and question.key == stored.key:
            return ReusableAnswer(question, "sum", _build_recipe(request, question, source.cells))
    return ReusableAnswer(request, "new")


class StoredQuestion(NamedTuple):
    """A question that was charged: its key, its epsilon and its plain values as JSON."""

    key: str
    epsilon: Fraction
    question: str


MOST_ALIKE = 100
"""Epsilons that are looked at one by one because they agree in all `DIGITS`; of more, an answer may not be found."""

DIGITS = 30
"""Decimal places of an epsilon by which stored questions are ordered."""


def format_digits(epsilon: Fraction) -> str:
    """Write an epsilon, rounded down, so that texts are ordered as numbers."""
    return f"{epsilon.numerator * 10**DIGITS // epsilon.denominator:0{2 * DIGITS}d}"


def _find_stored(
    run: Run, ledger: Ledger, base: str, least: Fraction, now: int, most: Fraction | None = None
) -> Iterator[StoredQuestion]:
    """Find the stored question of a base with the least epsilon that is at least this one; none or one."""
    rows = run(
        "SELECT questions.key, epsilon, question FROM questions JOIN evaluations ON evaluations.key = questions.key "
        "WHERE base = ? AND digits >= ? AND (finished = 1 OR until > ?) ORDER BY digits LIMIT ?",
        *(base, format_digits(least), now, MOST_ALIKE),
    )
    several = [StoredQuestion(key, Fraction(epsilon), question) for key, epsilon, question in rows]
    for one in sorted(several, key=lambda one: one.epsilon):
        if least <= one.epsilon and (most is None or one.epsilon <= most) and ledger.has(one.key):
            yield one
            return


def _find_finer(run: Run, family: str, by: tuple[str, ...]) -> list[tuple[str, int]]:
    """Find the bases of a family with these group columns or more, and how many rows their tables have."""
    rows = run("SELECT base, columns, rows FROM bases WHERE family = ?", family)
    return [(base, count) for base, columns, count in rows if set(json.loads(columns)) >= set(by)]


def _build_recipe(request: PricedQuestion, source: PricedQuestion, stored: list[str]) -> SumRecipe:
    """Build the recipe: cells of the same names, or all stored cells for a single cell."""
    statistic, stored_statistic = request.question.statistic, source.question.statistic
    cells = request.plan.cells(statistic)
    parts = {cells[0]: stored} if len(cells) == 1 else {cell: [cell] for cell in cells}
    return {
        "by": list(request.question.by),
        "cells": parts,
        "errors": (f"{statistic.name}_error", f"{stored_statistic.name}_error"),
    }


def _find_sources(request: PricedQuestion) -> Iterator[SumSource]:
    """Find questions whose cells add up to this one, and which cells those are."""
    statistic = request.question.statistic
    if statistic.over_groups and not statistic.sums_to_size:
        yield SumSource(request.identity.family, request.plan.cells(statistic))
    if statistic.kind == "count":
        yield from _find_histograms(request)


def _find_histograms(request: PricedQuestion) -> Iterator[SumSource]:
    """Find histograms: a count of records with some labels is a sum of cells of the histogram under the other
    conditions.
    """
    where = request.question.statistic.where
    parts = where.parts if isinstance(where, And) else (where,)
    for part in parts:
        name, labels = _match_labels(part)
        column = request.dataset.columns.get(name)
        if isinstance(column, LabelColumn) and set(labels) <= set(column.labels) - {column.other}:
            rest = [format_condition(other) for other in parts if other is not None and other is not part]
            also = " and ".join(f"({text})" for text in rest) or EVERYTHING
            values = {**request.values, "histogram": name, "where": also}
            del values["count"]
            question = parse_question(values, request.dataset, stored=True)
            source = PricedQuestion.from_question(request.dataset, question)
            columns = source.plan.cells(question.statistic)
            yield SumSource(source.identity.family, [columns[column.labels.index(label)] for label in labels])


def _match_labels(part: Condition | None) -> tuple[str, tuple[str, ...]]:
    """Return the column that a condition is about, and the labels that meet it."""
    match part:
        case Compare("=", ColumnRef(name), Value(str(text))):
            return name, (text,)
        case In(ColumnRef(name), values):
            return name, tuple(str(value.value) for value in values)
    return "", ()


def sum_cells(recipe: SumRecipe, table: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Compute the table of a question from a stored one: sums over its groups and cells.

    The error is at most the sum of the errors. An interval of a sum is not the sum of intervals, so there is none.
    """
    own_error, stored_error = recipe["errors"]
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for k, error in enumerate(table[stored_error]):
        row = rows.setdefault(tuple(table[name][k] for name in recipe["by"]), {})
        for cell, several in recipe["cells"].items():
            row[cell] = row.get(cell, 0) + sum(table[name][k] for name in several)
        row[own_error] = row.get(own_error, 0.0) + error * max(map(len, recipe["cells"].values()))
    columns: dict[str, list[Any]] = {name: [key[k] for key in rows] for k, name in enumerate(recipe["by"])}
    return columns | {name: [row[name] for row in rows.values()] for name in (*recipe["cells"], own_error)}

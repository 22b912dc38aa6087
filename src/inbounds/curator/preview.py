"""The preview of a question: where its answer would come from, its cost and expected errors. Uses public facts only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbounds.curator.reuse import How, PricedQuestion, ReusableAnswer
from inbounds.exact import format_all_digits
from inbounds.ledger import Population
from inbounds.ledger.units import charge_units, units_to_amount
from inbounds.releases.record import describe_accuracy, describe_composition, plan_statement
from inbounds.releases.usefulness import CheckedDesign
from inbounds.releases.workload import ReleaseDesign
from inbounds.schema.text import split_statement


@dataclass(frozen=True)
class QuestionPreview:
    """A question before it is asked.

    how: whether it would be drawn or is answered already. epsilon: its cost to the account's cap. people, people_left:
    its cost to the people's budget, and what is left of it. errors: the expected error for every group size. constants:
    the error of the best constant. no_better: why the answer would be useless, if it would. accuracy: what errors and
    intervals suppose, and where intervals are right too seldom.
    """

    question: Mapping[str, Any]
    how: How
    epsilon: str
    people: str
    people_left: str | None
    unit: str
    errors: Mapping[str, float]
    constants: Mapping[str, float]
    no_better: tuple[str, ...]
    accuracy: tuple[str, ...]
    account: tuple[str, ...]
    statement: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def __str__(self) -> str:
        """Return the cost and the expected errors, for a terminal."""
        left = "" if self.people_left is None else f" of {self.people_left} left"
        lines = [f"{self.unit} {self.people}{left}, epsilon {self.epsilon} of this account's cap ({HOW[self.how]})"]
        for size, error in self.errors.items():
            lines.append(
                f"groups of {size}: expected error {error:.4g}, of the best constant {self.constants[size]:.4g}"
            )
        return "\n".join([*lines, *self.no_better, *self.accuracy, split_statement(self.statement)[0]])


HOW: Mapping[How, str] = {
    "new": "to be drawn",
    "same": "answered before",
    "stronger": "answered before at a larger epsilon",
    "sum": "added up from cells that were answered",
}
"""Where an answer would come from, in words."""


def build_preview(
    request: PricedQuestion,
    source: ReusableAnswer,
    design: CheckedDesign,
    account_design: ReleaseDesign,
    people: Population,
    epsilon: str,
) -> QuestionPreview:
    """Build the preview of a question.

    epsilon: of the answer that the account would get. account_design: what draws the answer, at the account's level.
    """
    designed = design.designed
    sizes = [str(size) for size in designed.workload.sizes]
    expected = account_design.expected[0]
    return QuestionPreview(
        request.values,
        source.how,
        epsilon,
        format_all_digits(units_to_amount(people.rule, charge_units(people.rule, request.plan.epsilons)))
        if source.how == "new"
        else "0",
        people.to_json()["left"],
        people.unit,
        dict(zip(sizes, (one.error for one in expected), strict=True)),
        dict(zip(sizes, (one.constant for one in expected), strict=True)),
        tuple(map(str, design.useless)),
        tuple(describe_accuracy(designed)),
        tuple(describe_composition(request.plan, designed.workload.entries)),
        plan_statement(request.plan),
    )

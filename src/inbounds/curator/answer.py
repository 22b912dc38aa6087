"""An answer as an account sees it: the table, its expected errors, its cost and the mechanisms that drew it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inbounds.curator.accounts import Grant
from inbounds.curator.answer_tables import MOST_PANELS, JoinedAnswers, join_answers, number_panels, save_answer
from inbounds.curator.dataset import Dataset
from inbounds.curator.issued import IssuedAnswer
from inbounds.curator.reuse import How, sum_cells
from inbounds.exact import format_all_digits, format_decimal
from inbounds.ledger import Population
from inbounds.optional import to_pandas_frame, to_polars_frame
from inbounds.releases.charge_session import StoredTable
from inbounds.releases.levels import LEVEL
from inbounds.report.notebook import cell_text, render_notebook, text_table
from inbounds.schema.record_types import ReleaseRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AnswerCost:
    """What an answer cost the people's budget and the account's cap, and what is left of both, in exact decimals.

    unit: of the people's amounts, epsilon or rho. people_left, account_left: None if nothing is capped.
    """

    people: str
    people_left: str | None
    unit: str
    account: str
    account_left: str | None

    @staticmethod
    def from_charge(
        spent: Fraction, answer: IssuedAnswer, grant: Grant, people: Population, *, charged: bool
    ) -> "AnswerCost":
        """Build the cost of an answer. spent: the charge in the unit of the people's ledger. charged: whether this call
        charged the people.
        """
        return AnswerCost(
            format_all_digits(spent) if charged else "0",
            None if people.remaining is None else format_all_digits(people.remaining),
            people.unit,
            format_all_digits(answer.epsilon) if answer.charged else "0",
            None if grant.remaining is None else format_all_digits(grant.remaining),
        )

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Answer:
    """An answer that was issued to an account.

    table: columns of equal length. epsilon: of the answer, which the account's cap is charged. mechanisms: for each
    number the digest of the passport that drew it. how: where the answer came from, see `reuse`.
    """

    id: str
    dataset: str
    edition: str
    question: Mapping[str, Any]
    epsilon: str
    level: str | None
    how: How
    table: Mapping[str, list[Any]]
    mechanisms: tuple[Mapping[str, Any], ...]
    statement: str
    values: tuple[str, ...]
    time: str
    cost: AnswerCost

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            **values,
            "table": dict(self.table),
            "mechanisms": list(self.mechanisms),
            "values": list(self.values),
            "cost": self.cost.to_json(),
        }

    @property
    def remaining(self) -> str | None:
        """What is left of the people's budget after this answer; None if it is not capped."""
        return self.cost.people_left

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return to_pandas_frame(dict(self.table))

    def to_polars(self) -> Any:
        """Return the table as a Polars frame."""
        return to_polars_frame(dict(self.table))

    def plot(self) -> "Figure":
        """Draw the first columns of numbers as dots with their intervals or expected errors (extra `figures`)."""
        from inbounds.report.figures import dots

        return dots(list(islice(number_panels(self.table, self.question.get("by") or ()), MOST_PANELS)))

    def join(self, *others: "Answer") -> JoinedAnswers:
        """Return this answer and others about the same groups as one table, joined by the keys of the groups."""
        return join_answers([self, *others])

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the answer to a .csv, .xlsx (extra `sheets`) or .json file and return its path."""
        return save_answer(self, Path(path), overwrite=overwrite)

    def __str__(self) -> str:
        """Return the table, and what it cost, for a terminal."""
        return f"{text_table(list(self.table), zip(*self.table.values(), strict=True))}\n\n{self.price}"

    def __repr__(self) -> str:
        rows = len(next(iter(self.table.values()), ()))
        return f"<Answer {self.id} about {self.dataset}: {rows} rows, epsilon {self.epsilon}; {self.price}>"

    @property
    def price(self) -> str:
        """What it cost and what is left, in one sentence."""
        cost = self.cost
        left = "" if cost.people_left is None else f", {cost.people_left} left"
        account = "" if cost.account_left is None else f"; {cost.account_left} left of this account's cap"
        return f"{cost.unit} {cost.people} of the people's budget{left}{account} ({HOW[self.how]})"

    def _repr_html_(self) -> str:
        """Return the table and what it cost, for a notebook."""
        rows = [[cell_text(value) for value in row] for row in zip(*self.table.values(), strict=True)]
        title = f"{self.dataset}, epsilon {self.epsilon}"
        return render_notebook(title, head=list(self.table), rows=rows, notes=[*self.values, self.price])


HOW: Mapping[How, str] = {
    "new": "drawn now",
    "same": "answered before, and given out again",
    "stronger": "an answer at a larger epsilon was there",
    "sum": "added up from cells that were there",
}
"""Where an answer comes from, in words."""


SUMMED = (
    "a sum of stored cells, which cost nothing now: its error is at most the sum of theirs, and near the ends of their "
    "ranges they are biased, which adds up; ask with redraw for a draw of its own"
)


def view_for_account(answer: IssuedAnswer, stored: StoredTable, dataset: Dataset, cost: AnswerCost) -> Answer:
    """Return a stored table as an account may see it: only its level, and for a sum only the sums."""
    record, table = stored.record, stored.table.to_pydict()
    if answer.level is not None:
        table = _table_rows(table, answer.level)
    if answer.recipe is not None:
        table = sum_cells(answer.recipe, table)
    epsilon = Fraction(record["epsilon"]["spent"] if answer.level is None else answer.level)
    return Answer(
        answer.id,
        answer.dataset,
        record["plan"].get("edition", ""),
        answer.question,
        format_decimal(epsilon),
        next(
            (name for name, level_epsilon in dataset.levels.items() if str(level_epsilon) == answer.level), answer.level
        ),
        "same" if answer.how == "new" and not stored.drawn else answer.how,
        table,
        tuple(_mechanisms(record, answer.level)),
        record["statement"],
        (*record.get("values", ()), *([SUMMED] if answer.recipe is not None else [])),
        record["time"],
        cost,
    )


def _table_rows(table: Mapping[str, list[Any]], level: str) -> dict[str, list[Any]]:
    rows = [k for k, row_level in enumerate(table[LEVEL]) if row_level == level]
    return {name: [column[k] for k in rows] for name, column in table.items() if name != LEVEL}


TOLD: Sequence[str] = ("sha256", "epsilon", "size", "groups", "origin", "expected_error", "constant_error")
"""The fields of a mechanism that an account sees: its digest, its guarantee and its expected errors."""


def _mechanisms(record: ReleaseRecord, level: str | None) -> list[dict[str, Any]]:
    """Return the mechanisms that drew the numbers; with levels, the chain and its promise at the account's level."""
    if level is None:
        return [{name: line[name] for name in TOLD if name in line} for line in record["mechanisms"]]  # type: ignore[literal-required]
    return [{**line} for line in record.get("levels", ()) if line["level"] == level]

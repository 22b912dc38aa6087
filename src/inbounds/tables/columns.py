"""What is declared of the data: columns (a number with bounds, one of several labels, or a plain value for conditions),
and whom it is about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from inbounds import numbers
from inbounds.ledger.people import as_name
from inbounds.tables import condition
from inbounds.tables.errors import PlanError, at
from inbounds.tables.forms import ColumnForm, PersonForm
from inbounds.tables.texts import folded, listed, near, written

LARGEST = 1 << 53
"""Bounds and group sizes lie below this, where floats are still exact."""

WIDEST = 1 << 31
"""Steps of a column's range: sums of up to 2**32 records then fit 64 bits in every engine."""


@dataclass(frozen=True)
class Number:
    """A number in low..high.

    Values outside are moved to the nearer bound, and rounded to low, low + step, …, high. missing: what a record
    without a usable value counts as.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    missing: Fraction

    type: ClassVar[condition.Type] = "number"

    def __post_init__(self) -> None:
        low, high, step, missing = self.low, self.high, self.step, self.missing
        if not low < high:
            raise PlanError(f"must be greater than low ({low}), got {high}", ("high",))
        if max(abs(low), abs(high)) >= LARGEST:
            raise PlanError("must lie below 2^53 in size, as low must", ("high",))
        if not step > 0 or (high - low) % step:
            raise PlanError(f"must be positive and divide high - low ({high - low}), got {step}", ("step",))
        if (high - low) / step > WIDEST:
            raise PlanError(f"must make at most {WIDEST} steps between low and high", ("step",))
        if not low <= missing <= high or (missing - low) % step:
            raise PlanError(f"must be one of the values {low}, {low + step}, … {high}, got {missing}", ("missing",))

    @property
    def width(self) -> int:
        """high - low in steps."""
        return int((self.high - self.low) / self.step)

    @property
    def default(self) -> int:
        """The position, in steps from low, that a record without a value counts as."""
        return int((self.missing - self.low) / self.step)

    def summary(self) -> ColumnForm:
        return {
            "type": self.type,
            "low": str(self.low),
            "high": str(self.high),
            "step": str(self.step),
            "missing": str(self.missing),
        }


@dataclass(frozen=True)
class Category:
    """One of several labels. other: the label that every other value, and no value, counts as.

    Without it such records are in no category.
    """

    labels: tuple[str, ...]
    other: str | None = None

    type: ClassVar[condition.Type] = "text"

    def __post_init__(self) -> None:
        if len(self.labels) < 2 or len(set(map(folded, self.labels))) < len(self.labels):
            raise PlanError("must be at least two different texts", ("labels",))
        if self.other is not None and self.other not in self.labels:
            raise PlanError(f"must be one of the labels, got {self.other!r}", ("other",))

    @property
    def rest(self) -> int:
        """The position of `other`; -1 for no category at all."""
        return -1 if self.other is None else self.labels.index(self.other)

    def summary(self) -> ColumnForm:
        found: ColumnForm = {"type": self.type, "labels": list(self.labels)}
        return found if self.other is None else {**found, "other": self.other}


@dataclass(frozen=True)
class Plain:
    """A number, text or boolean that only occurs in conditions."""

    type: condition.Type

    def __post_init__(self) -> None:
        if self.type not in ("number", "text", "boolean"):
            raise PlanError(f"must be number, text or boolean, got {self.type!r}", ("type",))

    def summary(self) -> ColumnForm:
        return {"type": self.type}


Declared = Number | Category | Plain


def number(
    low: numbers.Number, high: numbers.Number, *, step: numbers.Number = 1, missing: numbers.Number | None = None
) -> Number:
    """A number in low..high in steps of `step`; a record without a value counts as low unless said otherwise."""
    values = {"low": low, "high": high, "step": step, "missing": low if missing is None else missing}
    return Number(**{name: exact_at(value, name) for name, value in values.items()})


def category(labels: Sequence[Any], *, other: Any = None) -> Category:
    """One of several labels: texts, or whole numbers, booleans and dates as their text."""
    given = listed(labels)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise PlanError("must be a list of texts", ("labels",))
    with at("labels"):
        texts = tuple(written(label) for label in given)
    with at("other"):
        rest = None if other is None else written(other)
    return Category(texts, rest)


class Column:
    """A declared column by any of its forms: `Column.number(0, 10)`, `Column.category(labels)`, `Column("text")`."""

    number = staticmethod(number)
    category = staticmethod(category)

    def __new__(  # type: ignore[misc]
        cls,
        type: condition.Type,  # noqa: A002 - its name in plans
        low: Any = None,
        high: Any = None,
        step: Any = 1,
        missing: Any = None,
        labels: Sequence[Any] = (),
        other: Any = None,
    ) -> Declared:
        """The column that these facts declare: with bounds a number, with labels a category."""
        if low is not None:
            return number(low, high, step=step, missing=missing)
        return category(labels, other=other) if labels else Plain(type)


def labels_of(column: Declared) -> tuple[str, ...]:
    """The labels of a category; none for any other column."""
    return column.labels if isinstance(column, Category) else ()


def check_labels(texts: Iterable[tuple[str, str]], columns: Mapping[str, Declared]) -> None:
    """A condition names labels of its column; where `other` is declared, the column may hold more than its labels.

    Then only what is a label but for capitals and spaces is refused: that is a slip, not another value.
    """
    for name, text in texts:
        column = columns[name]
        if not isinstance(column, Category) or folded(text) in map(folded, column.labels):
            continue
        close = near(text, column.labels)
        if close or column.other is None:
            way = f"did you mean {close[0]!r}?" if close else f"its labels are {', '.join(column.labels)}"
            raise ValueError(f"must compare {name} with one of its labels, got {text!r}; {way}")


def exact_at(value: numbers.Number, name: str) -> Fraction:
    with at(name):
        return numbers.exact(value, name)


def positive_at(value: numbers.Number, name: str) -> Fraction:
    number = exact_at(value, name)
    if not number > 0:
        raise PlanError(f"must be positive, got {value}", (name,))
    return number


@dataclass(frozen=True)
class Contribution:
    """How many records of one person count: in one group, and in how many groups."""

    records: int = 1
    groups: int = 1


@dataclass(frozen=True)
class Protected:
    """Whom a plan is about: their name in the ledger, and the ledger, a file or a postgresql:// URL.

    id: the column that says whose a record is; without it, one record is one person. max_records, max_groups: how many
    records of one person count in one group, and in how many groups; more are left out.
    """

    name: str = ""
    ledger: str = field(default="", repr=False)
    id: str = ""
    max_records: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        if self.name:
            with at("name"):
                as_name(self.name, "name")
        for name in ("max_records", "max_groups"):
            with at(name):
                object.__setattr__(self, name, numbers.whole(getattr(self, name), name, 1))
            if getattr(self, name) >= LARGEST:
                raise PlanError("must lie below 2^53", (name,))
            if not self.id and getattr(self, name) != 1:
                raise PlanError("needs id, the column that says whose a record is", (name,))

    def summary(self) -> PersonForm:
        """What a record says about persons."""
        return {"id": self.id, "max_records": self.max_records, "max_groups": self.max_groups}

"""Public facts: what is known about columns and groups before the data is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.numbers import Ints, Number, exact
from inbounds.tables import condition
from inbounds.tables.errors import PlanError, at
from inbounds.tables.texts import folded, listed, written

LARGEST = 1 << 53
"""Bounds and group sizes lie below this, where floats are still exact."""

WIDEST = 1 << 31
"""Steps of a column's range: sums of up to 2**32 records then fit 64 bits in every engine."""


@dataclass(frozen=True)
class Column:
    """A declared column: a number with bounds, one of several labels, or a plain value for conditions.

    low, high: bounds of a number; values outside are moved to the nearer bound. step: numbers are rounded to
    low, low + step, …, high. missing: what a record without a usable value counts as (low by default).
    labels: the categories of a text column. other: the label that every other value, and no value, counts as;
    without it such records are in no category. type: number, text or boolean, for columns that only occur
    in conditions.
    """

    type: condition.Type
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction = Fraction(1)
    missing: Fraction | None = None
    labels: tuple[str, ...] = ()
    other: str | None = None

    @classmethod
    def number(cls, low: Number, high: Number, *, step: Number = 1, missing: Number | None = None) -> "Column":
        """A number in low..high in steps of `step`."""
        values = {"low": low, "high": high, "step": step, "missing": low if missing is None else missing}
        bounds = [exact_at(value, name) for name, value in values.items()]
        return cls("number", bounds[0], bounds[1], bounds[2], bounds[3])

    @classmethod
    def category(cls, labels: Sequence[Any], *, other: Any = None) -> "Column":
        """One of several labels: texts, or whole numbers, booleans and dates as their text."""
        given = listed(labels)
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise PlanError("must be a list of texts", ("labels",))
        with at("labels"):
            texts = tuple(written(label) for label in given)
        with at("other"):
            rest = None if other is None else written(other)
        return cls("text", labels=texts, other=rest)

    def __post_init__(self) -> None:
        if self.type not in ("number", "text", "boolean"):
            raise PlanError(f"must be number, text or boolean, got {self.type!r}", ("type",))
        if self.low is not None:
            self._check_bounds()
        if self.labels:
            self._check_labels()

    def _check_bounds(self) -> None:
        low, high, step, missing = self.low, self.high, self.step, self.missing
        assert low is not None
        if high is None or not low < high:
            raise PlanError(f"must be greater than low ({low}), got {high}", ("high",))
        if max(abs(low), abs(high)) >= LARGEST:
            raise PlanError("must lie below 2^53 in size, as low must", ("high",))
        if not step > 0 or (high - low) % step:
            raise PlanError(f"must be positive and divide high - low ({high - low}), got {step}", ("step",))
        if (high - low) / step > WIDEST:
            raise PlanError(f"must make at most {WIDEST} steps between low and high", ("step",))
        if missing is None or not low <= missing <= high or (missing - low) % step:
            raise PlanError(f"must be one of the values {low}, {low + step}, … {high}, got {missing}", ("missing",))

    def _check_labels(self) -> None:
        if len(self.labels) < 2 or len(set(map(folded, self.labels))) < len(self.labels):
            raise PlanError("must be at least two different texts", ("labels",))
        if self.other is not None and self.other not in self.labels:
            raise PlanError(f"must be one of the labels, got {self.other!r}", ("other",))

    @property
    def bounded(self) -> bool:
        return self.low is not None

    @property
    def width(self) -> int:
        """high - low in steps."""
        assert self.low is not None
        assert self.high is not None
        return int((self.high - self.low) / self.step)

    @property
    def default(self) -> int:
        """The position, in steps from low, that a record without a value counts as."""
        assert self.low is not None
        assert self.missing is not None
        return int((self.missing - self.low) / self.step)


@dataclass(frozen=True, eq=False)
class Groups:
    """The declared groups, in the order in which they are answered.

    by: the columns whose values name a group; none means that the whole table is one group. keys: one row per
    group. sizes: how many records each group has (public) or can have at most. public: which of the two. register: the
    file or frame that the keys were read from, if any.
    """

    by: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...] = field(repr=False)
    sizes: Ints = field(repr=False)
    public: bool
    register: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.by)) < len(self.by):
            raise PlanError("must name different columns", ("by",))
        if any(len(key) != len(self.by) for key in self.keys):
            raise PlanError(f"must give one value for each of: {', '.join(self.by)}", ("keys",))
        if len(set(self.keys)) < len(self.keys):
            raise PlanError("must be different, but one is listed twice", ("keys",))  # it may be data, so not which
        sizes = np.asarray(self.sizes, dtype=np.int64)
        if sizes.shape != (len(self.keys),) or not len(sizes) or sizes.min() < 1:
            name = "size" if self.public else "maximum"
            raise PlanError(f"must be a whole number of at least 1 for each of {len(self.keys)} groups", (name,))
        object.__setattr__(self, "sizes", np.frombuffer(sizes.tobytes(), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def file(self) -> str:
        """The file of the register, or nothing."""
        return self.register if isinstance(self.register, str) else ""


def exact_at(value: Number, name: str) -> Fraction:
    with at(name):
        return exact(value, name)


def positive_at(value: Number, name: str) -> Fraction:
    number = exact_at(value, name)
    if not number > 0:
        raise PlanError(f"must be positive, got {value}", (name,))
    return number

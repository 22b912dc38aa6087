"""Declared columns and the privacy unit of a plan.

A column is a number with bounds, one of several labels, or a plain value that only conditions use. `plan.load` builds
these values from a plan; `statistics` and `sources` read them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, cast

from inbounds import exact
from inbounds.ledger.population import validate_name
from inbounds.schema.condition import tree
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.record_types import ColumnRecord, PersonRecord
from inbounds.schema.spelling import PLAIN, Spelling, check_different
from inbounds.schema.text import LONGEST_TEXT, find_close, fold_text, to_list, to_text

LARGEST = 1 << 53
"""Bounds and group sizes lie below this, where floats are still exact."""

WIDEST = 1 << 31
"""Most steps in a column's range: sums of up to 2**32 records then fit in 64 bits in every engine."""


CodeRange = tuple[Fraction, Fraction]
"""The ends of a range of numbers that stand for no value."""


@dataclass(frozen=True)
class NumberColumn:
    """A number in low..high.

    Values outside are moved to the nearer bound, then rounded to one of low, low + step, …, high. `missing` is the
    value that a record without a usable value counts as. missing_codes: numbers that stand for no value, each as the
    ends of a range.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    missing: Fraction
    missing_codes: tuple[CodeRange, ...] = ()

    type: ClassVar[tree.Type] = "number"
    spelling: ClassVar[Spelling] = PLAIN

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
        """Return high - low in steps."""
        return int((self.high - self.low) / self.step)

    @property
    def default(self) -> int:
        """Return the position, in steps from low, of a record without a value."""
        return int((self.missing - self.low) / self.step)

    def summary(self) -> ColumnRecord:
        """Return the column as plain values for the record."""
        record: ColumnRecord = {
            "type": self.type,
            "low": str(self.low),
            "high": str(self.high),
            "step": str(self.step),
            "missing": str(self.missing),
        }
        return cast(ColumnRecord, {**record, **_code_record(self.missing_codes)})


@dataclass(frozen=True)
class LabelColumn:
    """One of several labels.

    `other` is the label of records with any other value or without a value. Without `other`, such records are in no
    category. spelling: what makes texts of records the same.
    """

    labels: tuple[str, ...]
    other: str | None = None
    spelling: Spelling = PLAIN

    missing_codes: ClassVar[tuple[CodeRange, ...]] = ()

    type: ClassVar[tree.Type] = "text"

    def __post_init__(self) -> None:
        if len(self.labels) < 2 or len(set(map(fold_text, self.labels))) < len(self.labels):
            raise PlanError("must be at least two different texts", ("labels",))
        check_different(map(self.spelling.strict, self.labels), "labels", "texts")
        if self.other is not None and self.other not in self.labels:
            raise PlanError(f"must be one of the labels, got {self.other!r}", ("other",))

    @property
    def rest(self) -> int:
        """Return the position of `other`, or -1 if there is none."""
        return -1 if self.other is None else self.labels.index(self.other)

    def summary(self) -> ColumnRecord:
        """Return the column as plain values for the record."""
        record = cast(ColumnRecord, {"type": self.type, "labels": list(self.labels), **self.spelling.summary()})
        return record if self.other is None else {**record, "other": self.other}


@dataclass(frozen=True)
class PlainColumn:
    """A number, text or boolean that only conditions and groups use.

    max_length: the most bytes of a value as UTF-8 text, where the column names groups that the data holds; records with
    a longer value are in no group. 0 if it names no such groups.
    """

    type: tree.Type
    spelling: Spelling = PLAIN
    missing_codes: tuple[CodeRange, ...] = ()
    max_length: int = 0

    def __post_init__(self) -> None:
        if self.type not in ("number", "text", "boolean"):
            raise PlanError(f"must be number, text or boolean, got {self.type!r}", ("type",))
        if type(self.max_length) is not int or not 0 <= self.max_length <= LONGEST_TEXT:
            message = f"must be a whole number in 1..{LONGEST_TEXT}, the most bytes of a value, got {self.max_length!r}"
            raise PlanError(message, ("max_length",))

    def summary(self) -> ColumnRecord:
        """Return the column as plain values for the record."""
        options = {**self.spelling.summary(), **_code_record(self.missing_codes)}
        length = {"max_length": self.max_length} if self.max_length else {}
        return cast(ColumnRecord, {"type": self.type, **options, **length})


Declared = NumberColumn | LabelColumn | PlainColumn


def number_column(
    low: exact.Number,
    high: exact.Number,
    *,
    step: exact.Number = 1,
    missing: exact.Number | None = None,
    missing_codes: Sequence[Any] = (),
) -> NumberColumn:
    """Declare a number in low..high in steps of `step`.

    A record without a value counts as `missing`, by default as low. missing_codes: numbers that stand for no value, or
    texts such as "-99 to -90". Raises PlanError if the numbers do not fit together.
    """
    values = {"low": low, "high": high, "step": step, "missing": low if missing is None else missing}
    numbers = {name: to_fraction_at(value, name) for name, value in values.items()}
    return NumberColumn(**numbers, missing_codes=number_codes(missing_codes))


def number_codes(codes: Any) -> tuple[CodeRange, ...]:
    """Parse numbers that stand for no value, each a number or a text such as "-99 to -90"."""
    with error_path("missing_codes"):
        if isinstance(codes, str) or not isinstance(codes, Sequence):
            raise PlanError('must be a list of numbers, such as [-9, "-99 to -90"]')
        ranges = []
        for code in codes:
            if isinstance(code, str) and not any(letter.isdigit() for letter in code):
                raise PlanError(f"must be numbers: a text such as {code!r} is no number, and missing without a code")
            ends = code.split(" to ") if isinstance(code, str) else [code]
            low, high = exact.to_fraction(ends[0], "each"), exact.to_fraction(ends[-1], "each")
            if len(ends) > 2 or not low <= high:
                raise PlanError(f"must be numbers, or ranges such as '-99 to -90', got {code!r}")
            ranges.append((low, high))
        return tuple(ranges)


def _code_record(codes: Sequence[CodeRange]) -> dict[str, list[str]]:
    texts = [str(low) if low == high else f"{low} to {high}" for low, high in codes]
    return {"missing_codes": texts} if texts else {}


def text_spelling(
    *, codes: Mapping[str, str] | None = None, ignore_case: bool = False, trim: bool = False, missing_codes: Any = ()
) -> Spelling:
    """Declare how texts of records are read; see `Spelling`."""
    for name, flag in (("ignore_case", ignore_case), ("trim", trim)):
        if not isinstance(flag, bool):
            raise PlanError("must be true or false", (name,))
    with error_path("missing_codes"):
        if isinstance(missing_codes, str) or not isinstance(missing_codes, Sequence):
            raise PlanError('must be a list of texts, such as ["-9", "n/a"]')
        absent = tuple(to_text(code) for code in missing_codes)
    return Spelling(ignore_case, trim, tuple((codes or {}).items()), absent)


def label_column(labels: Any, *, other: Any = None, **options: Any) -> LabelColumn:
    """Declare one of several labels.

    labels: texts; whole numbers, booleans and dates are converted to text. A mapping gives every code in the records
    the label that it stands for: {"1": "female", "2": "male"}. options: of `text_spelling`. Raises PlanError if there
    are fewer than two different labels.
    """
    values, codes = to_list(labels), dict(options.pop("codes", {}))
    if isinstance(values, Mapping):
        with error_path("labels"):
            codes = {to_text(code): to_text(label) for code, label in values.items()}
        values = list(dict.fromkeys(codes.values()))
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise PlanError("must be a list of texts", ("labels",))
    with error_path("labels"):
        texts = tuple(to_text(label) for label in values)
    with error_path("other"):
        other_text = None if other is None else to_text(other)
    if not set(codes.values()) <= set(texts):
        raise PlanError("must be the labels of all codes", ("labels",))
    return LabelColumn(texts, other_text, text_spelling(codes=codes, **options))


class Column:
    """Constructors of declared columns: `Column.number(0, 10)`, `Column.category(labels)`, `Column("text")`."""

    number = staticmethod(number_column)
    category = staticmethod(label_column)

    def __new__(  # type: ignore[misc]
        cls,
        type: tree.Type,  # noqa: A002 - its name in plans
        low: Any = None,
        high: Any = None,
        step: Any = 1,
        missing: Any = None,
        labels: Any = (),
        other: Any = None,
        missing_codes: Sequence[Any] = (),
        max_length: int = 0,
        **spelled: Any,
    ) -> Declared:
        """Build the column that these facts declare: a number if `low` is given, a category if `labels` are."""
        if low is not None:
            return number_column(low, high, step=step, missing=missing, missing_codes=missing_codes)
        if labels:
            return label_column(labels, other=other, missing_codes=missing_codes, **spelled)
        if type == "number":
            return PlainColumn(type, missing_codes=number_codes(missing_codes), max_length=max_length)
        return PlainColumn(type, text_spelling(missing_codes=missing_codes, **spelled), max_length=max_length)


def column_labels(column: Declared) -> tuple[str, ...]:
    """Return the labels of a category; an empty tuple for any other column."""
    return column.labels if isinstance(column, LabelColumn) else ()


def check_condition(condition: tree.Condition, columns: Mapping[str, Declared]) -> None:
    """Check a condition against the declared columns: their types, and labels that they are compared with."""
    tree.check_condition(condition, {name: column.type for name, column in columns.items()})
    check_labels(tree.find_text_comparisons(condition), columns)


def check_labels(texts: Iterable[tuple[str, str]], columns: Mapping[str, Declared]) -> None:
    """Check that conditions compare categories with declared labels only.

    Raises ValueError for a text that is no label of its column. A column with `other` may hold further values, so only
    a text that differs from a label in capitals or spaces is refused there: it is probably a mistake.
    """
    for name, text in texts:
        column = columns[name]
        if not isinstance(column, LabelColumn) or fold_text(text) in map(fold_text, column.labels):
            continue
        close = find_close(text, column.labels)
        if close or column.other is None:
            way = f"did you mean {close[0]!r}?" if close else f"its labels are {', '.join(column.labels)}"
            raise ValueError(f"must compare {name} with one of its labels, got {text!r}; {way}")


def to_fraction_at(value: exact.Number, name: str) -> Fraction:
    """Convert to an exact number; errors name the key `name` of the plan."""
    with error_path(name):
        return exact.to_fraction(value, name)


def to_positive_at(value: exact.Number, name: str) -> Fraction:
    """Convert to a positive exact number; errors name the key `name` of the plan."""
    number = to_fraction_at(value, name)
    if not number > 0:
        raise PlanError(f"must be positive, got {value}", (name,))
    return number


@dataclass(frozen=True)
class ContributionBound:
    """The number of records of one person that count in one group, and the number of groups they count in."""

    records: int = 1
    groups: int = 1


@dataclass(frozen=True)
class PrivacyUnit:
    """The people a plan is about: their name in the ledger, and the ledger, a file or a postgresql:// URL.

    id: the column that identifies the person of a record; without it, each record counts as one person.
    max_records, max_groups: how many records of one person count in one group, and in how many groups; further records
    are left out. one_record_each: columns that look as if they told persons apart, of which the owner says that no
    person has two records.
    """

    name: str = ""
    ledger: str = field(default="", repr=False)
    id: str = ""
    max_records: int = 1
    max_groups: int = 1
    one_record_each: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.id and self.one_record_each:
            raise PlanError("must not be given beside id, which says whose a record is", ("one_record_each",))
        if self.name:
            with error_path("name"):
                validate_name(self.name, "name")
        for name in ("max_records", "max_groups"):
            with error_path(name):
                object.__setattr__(self, name, exact.to_int(getattr(self, name), name, 1))
            if getattr(self, name) >= LARGEST:
                raise PlanError("must lie below 2^53", (name,))
            if not self.id and getattr(self, name) != 1:
                raise PlanError("needs id, the column that says whose a record is", (name,))

    def summary(self) -> PersonRecord:
        """Return the plain values that a record states about persons."""
        return {"id": self.id, "max_records": self.max_records, "max_groups": self.max_groups}

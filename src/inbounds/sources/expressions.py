"""SQL over canonical records: conditions as whole numbers that every engine computes for every record.

All operations are comparisons of values of one type, CASE, LEAST and GREATEST, sums of small whole numbers, and hashes
of digits. None of them can fail. No record is left out before the end, so the work does not depend on what a condition
selects: a record that does not count is in the group `NOWHERE`, which is not returned.

A condition is a whole number: 2 if it is true for a record, 0 if it is false, 1 if a value is missing and it is
neither. In this form Kleene's three-valued logic is arithmetic,

    a and b = LEAST(a, b)        a or b = GREATEST(a, b)        not a = 2 - a

so every engine evaluates every part for every record. A constant is rounded exactly, in Python, to a value of its
column's type before it is written: n < 18.5 for whole numbers is n < 19. Only digits are written.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from inbounds.schema.condition.canonical import MIRRORED
from inbounds.schema.condition.tree import (
    ORDERS,
    And,
    ColumnRef,
    Compare,
    Condition,
    In,
    IsNull,
    IsTrue,
    Literal,
    Not,
    Or,
)
from inbounds.sources.records import NumberForm, RecordLayout, TextForm, text_to_digits

TRUE, UNKNOWN, FALSE = 2, 1, 0


@dataclass(frozen=True)
class RecordWriter:
    """Writer of SQL over the columns of one record. real: the engine's name of 64-bit floats."""

    layout: RecordLayout
    real: str

    def one_if(self, condition: Condition) -> str:
        """Write 1 if the condition is true for the record, else 0."""
        return f"CASE WHEN {self.truth(condition)} = {TRUE} THEN 1 ELSE 0 END"

    def truth(self, condition: Condition) -> str:
        """Write the condition as a whole number in 0..2, never missing."""
        match condition:
            case Compare(sign, ColumnRef(left), ColumnRef(right)):
                return self._compare_columns(sign, left, right)
            case Compare(sign, ColumnRef(name), Literal(value)):
                return self._compare(sign, name, value)
            case Compare(sign, Literal(value), ColumnRef(name)):
                return self._compare(MIRRORED[sign], name, value)
            case Compare(sign, Literal(left), Literal(right)):
                return _constant(_compare(sign, left, right))
            case In(ColumnRef(name), values):
                return self._among(name, values)
            case In(Literal(value), values):
                return _constant(any(value == other.value for other in values))
            case IsNull(ColumnRef(name)):
                return f"CASE WHEN {self.layout.value(name)} IS NULL THEN {TRUE} ELSE {FALSE} END"
            case IsNull(Literal()):
                return _constant(False)
            case IsTrue(ColumnRef(name)):
                return self._compare("=", name, True)
            case IsTrue(Literal(value)):
                return _constant(bool(value))
            case Not(inner):
                return f"({TRUE} - {self.truth(inner)})"
            case And(parts):
                return f"LEAST({', '.join(map(self.truth, parts))})"
            case Or(parts):
                return f"GREATEST({', '.join(map(self.truth, parts))})"
        raise TypeError(f"{type(condition).__name__} is no condition")

    def _compare(self, sign: str, name: str, value: Any) -> str:
        column, form = self.layout.value(name), self.layout.forms[name]
        if form is None:
            return _test_expression(column, f"{column} {_sign(sign)} {int(value)}")
        if isinstance(form, TextForm):
            if sign in ORDERS:
                day = self.layout.day(name)
                return _test_expression(day, f"{day} {sign} {int(value.replace('-', ''))}")
            return _test_expression(column, f"{column} {_sign(sign)} '{text_to_digits(form.fit(value))}'")
        test = form.bound(sign, value)
        if isinstance(test, bool):
            return _test_expression(column, "", holds=test)
        return _test_expression(column, f"{column} {_sign(test[0])} {self._typed_constant(test[1], form)}")

    def _among(self, name: str, values: tuple[Literal, ...]) -> str:
        """Write a test against a list of values of the column's type; values it cannot hold are left out."""
        column, form = self.layout.value(name), self.layout.forms[name]
        if form is None:
            written = [str(int(bool(one.value))) for one in values]
        elif isinstance(form, TextForm):
            written = [f"'{text_to_digits(form.fit(str(one.value)))}'" for one in values]
        else:
            tests = (form.bound("=", Fraction(one.value)) for one in values)
            written = [self._typed_constant(test[1], form) for test in tests if not isinstance(test, bool)]
        return _test_expression(column, f"{column} IN ({', '.join(dict.fromkeys(written))})" if written else "")

    def _compare_columns(self, sign: str, left: str, right: str) -> str:
        names = a, b = self.layout.value(left), self.layout.value(right)
        one, other = self.layout.forms[left], self.layout.forms[right]
        if isinstance(one, NumberForm) and isinstance(other, NumberForm) and one != other:
            kind = one.common(other) or self.real
            a, b = f"CAST({a} AS {kind})", f"CAST({b} AS {kind})"
        missing = " OR ".join(f"{name} IS NULL" for name in names)
        return f"CASE WHEN {missing} THEN {UNKNOWN} WHEN {a} {_sign(sign)} {b} THEN {TRUE} ELSE {FALSE} END"

    def _typed_constant(self, digits: str, form: NumberForm) -> str:
        return f"CAST('{digits}' AS {form.sql or self.real})"


def _sign(sign: str) -> str:
    return "<>" if sign == "!=" else sign


def _test_expression(column: str, test: str, *, holds: bool = False) -> str:
    """Write 2 or 0 by a test, or the constant `holds` without a test; 1 if the column is missing."""
    outcome = f"CASE WHEN {test} THEN {TRUE} ELSE {FALSE} END" if test else _constant(holds)
    return f"CASE WHEN {column} IS NULL THEN {UNKNOWN} ELSE {outcome} END"


def _constant(holds: bool) -> str:
    return str(TRUE if holds else FALSE)


def _compare(sign: str, left: Any, right: Any) -> bool:
    if sign in ("=", "!="):
        return bool((left == right) is (sign == "="))
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])

"""Canonical records: the one place that converts what a source holds.

Conditions, groups and sums see only the columns that are made here:

    number     value: a whole number, a decimal or a float, or missing;     steps: its position in low..high
    boolean    value: 1, 0 or missing
    text       value: the digits of its bytes, or missing;    label: its position, or -1;    day: 20240131, or missing
    key        its position among the declared keys of its column, or -1
    person     the digits of the id's bytes, or missing

Formal guarantee: every conversion is *total*. It gives a value or a missing one whatever a cell holds, on every
engine and in any order of evaluation. To this end, a function that may fail gets an argument that was brought into its
range before (`CASE` inside the call, never around it), casts that may fail are `TRY_CAST`, and texts are cut off at
`LONGEST_TEXT` characters. Nothing is guessed from the data: the conversion of a column follows from its declared type
and the type in the source's schema. docs/totality.md has the argument for each engine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from inbounds.exact import format_all_digits
from inbounds.schema.columns import Declared, LabelColumn, NumberColumn
from inbounds.schema.spelling import LARGE, PLAIN, SMALL, SPACES, Spelling
from inbounds.schema.text import LONGEST_TEXT, TRUTHS, are_folded, fold_text, match_spelling
from inbounds.sources.open import Source

LARGEST_NUMBER = 1e300
"""Floats beyond, infinities and NaN count as missing."""

TRUE_WORDS, FALSE_WORDS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
"""Texts of a declared boolean, in any case."""

NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
"""Texts of a number. Engines by themselves also accept others, such as 1_0, 1d or Infinity."""

NARROW_SPACES = "\u00a0\u2009\u202f"
"""Characters that are written as a space between thousands."""

LONGEST_NUMBER = 400
"""Most characters of a text that is a number."""

WHOLE = r"^-?[0-9]+[.]0$"
"""A whole number as pandas writes it in a column with gaps."""

DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
"""The only texts that are ordered by date."""

DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""The beginning of a text with a date."""

DAY = len("2024-01-31")

FIRST_DAY, LAST_DAY = date(1, 1, 1), date(9999, 12, 31)
"""The first and last date that have a text; other dates of some engines become missing."""

PERSON = "person"


# --- which columns there are ------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberForm:
    """The canonical type of a column of numbers, to which constants are converted.

    whole: 64 bits. decimal: `digits` digits, `scale` of them after the point. numeric: decimals of any length, in
    PostgreSQL. real: 64-bit floats. single: 32-bit floats, held in 64 bits.
    """

    kind: Literal["whole", "decimal", "numeric", "real", "single"]
    digits: int = 19
    scale: int = 0

    @property
    def sql(self) -> str:
        """Return the SQL name of the type, the same in all engines; empty for floats, whose names differ."""
        names = {"whole": "BIGINT", "decimal": f"DECIMAL({self.digits}, {self.scale})", "numeric": "NUMERIC"}
        return names.get(self.kind, "")

    def bound(self, sign: str, value: Fraction) -> bool | tuple[str, str]:
        """Convert a comparison with an exact constant to one with a value of this type, or to its fixed outcome.

        Exact for whole numbers and decimals. A float is compared with the float nearest to the constant, so x = 0.1 is
        true for the float that prints as 0.1.

        >>> NumberForm("whole").bound("<", Fraction(37, 2)), NumberForm("whole").bound("=", Fraction(37, 2))
        (('<', '19'), False)
        """
        if self.kind == "numeric":
            return sign, format_all_digits(value)
        if self.kind in ("real", "single"):
            return self._nearest(sign, value)
        scaled = value * 10**self.scale
        if sign in ("=", "!=") and scaled.denominator != 1:
            return sign == "!="
        place = math.ceil(scaled) if sign in ("<", ">=") else math.floor(scaled)
        lowest, highest = (
            (-(1 << 63), (1 << 63) - 1) if self.kind == "whole" else (1 - 10**self.digits, 10**self.digits - 1)
        )
        if not lowest <= place <= highest:
            return _beyond(sign, above=place > highest)
        return sign, format_all_digits(Fraction(place, 10**self.scale))

    def _nearest(self, sign: str, value: Fraction) -> bool | tuple[str, str]:
        if abs(value) > LARGEST_NUMBER:
            return _beyond(sign, above=value > 0)
        with np.errstate(over="ignore"):
            nearest = float(np.float32(float(value))) if self.kind == "single" else float(value)
        return (sign, repr(nearest)) if math.isfinite(nearest) else _beyond(sign, above=value > 0)

    def common(self, other: "NumberForm") -> str:
        """Return the SQL type in which both types are exact; empty if floats must do."""
        if {self.kind, other.kind} & {"real", "single"}:
            return ""
        if "numeric" in (self.kind, other.kind):
            return "NUMERIC"
        scale, ahead = max(self.scale, other.scale), max(self.digits - self.scale, other.digits - other.scale)
        return f"DECIMAL({ahead + scale}, {scale})" if ahead + scale <= 38 else ""


def _beyond(sign: str, *, above: bool) -> bool:
    """Return the outcome of a comparison with a constant beyond all values of the type."""
    return sign == "!=" or sign in (("<", "<=") if above else (">", ">="))


@dataclass(frozen=True)
class TextForm:
    """A column of text. type: the Ibis type of the source's column. spelling: the options that the plan declares."""

    type: Any
    spelling: Spelling = PLAIN

    def fit(self, text: str) -> str:
        """Return a public text as records of the column spell it. Raises ValueError if none can have it."""
        return fit_text(text, self.type, self.spelling)


def fit_text(text: str, kind: Any, spelling: Spelling) -> str:
    """Return a public text as records of a column of this Ibis type spell it; with codes, it is one of their labels."""
    return fit_code(text, spelling) if spelling.codes else spelling.fold(match_spelling(spelling.cut(text), kind))


def are_as_spelled(texts: Sequence[str], kind: Any, spelling: Spelling) -> bool:
    """Return whether all texts are seen to be spelled as `fit_text` returns them; many are looked at together."""
    return bool(spelling == PLAIN and kind.is_string()) and are_folded(texts)


def fit_code(code: str, spelling: Spelling) -> str:
    """Return a code as texts of records are spelled."""
    return spelling.fold(fold_text(spelling.cut(code)))


Form = NumberForm | TextForm | None
"""How a column is compared; None for a boolean."""


@dataclass(frozen=True)
class RecordLayout:
    """The names of the canonical columns, and what they hold.

    forms: how each declared column is compared. keys: the declared texts of each key column, in digits; None if groups
    are those that the data holds. key_types: the Ibis types of those columns.
    """

    forms: Mapping[str, Form]
    keys: Mapping[str, tuple[str, ...]] | None = field(repr=False)
    key_types: Mapping[str, Any] = field(repr=False)

    def value(self, name: str) -> str:
        return f"c{list(self.forms).index(name)}"

    def steps(self, name: str) -> str:
        return f"s{list(self.forms).index(name)}"

    def label(self, name: str) -> str:
        return f"l{list(self.forms).index(name)}"

    def day(self, name: str) -> str:
        return f"d{list(self.forms).index(name)}"

    def key(self, name: str) -> str:
        return f"k{list(self.key_types).index(name)}"


def choose_form(declared: Declared, kind: Any, engine: str) -> Form:
    """Choose how a column of this Ibis type is compared. engine: its name in Ibis."""
    if declared.type == "text":
        return TextForm(kind, declared.spelling)
    if declared.type == "boolean":
        return None
    if kind.is_unsigned_integer() and kind.nbytes == 8:
        return NumberForm("decimal", 20)
    if kind.is_integer():
        return NumberForm("whole")
    if kind.is_decimal():
        return NumberForm("numeric") if engine == "postgres" else NumberForm("decimal", kind.precision, kind.scale)
    return NumberForm("single" if kind.is_floating() and kind.nbytes < 8 else "real")


# --- columns as Ibis expressions ----------------------------------------------------------------------------


# In two steps, each its own statement: an expression that is used several times would be written out each time.


def first_columns(column: Any, declared: Declared, source: Source, *, days: bool) -> dict[str, Any]:
    """Convert a declared column to its canonical type; keys are the first letters of names. days: add its date."""
    column = strip_collation(column)
    if declared.type == "number":
        return {"c": read_number(column, source)}
    if declared.type == "boolean":
        return {"c": _one_or_zero(_boolean(column) if column.type().is_string() else column)}
    column = trim_text(column, declared.spelling)
    text = fold_case(column_to_text(column), declared.spelling)
    return {"c": column_to_digits(text)} | ({"d": day_number(column)} if days else {})


def second_columns(value: Any, declared: Declared, kind: Any, engine: str) -> dict[str, Any]:
    """Compute the columns that follow from the value of the first step.

    kind: the type of the source's column. engine: its name in Ibis.
    """
    if declared.type == "number":
        value = drop_codes(bound_number(value, engine), declared, choose_form(declared, kind, engine))
        return {"c": value} | ({"s": step_expression(value, declared)} if isinstance(declared, NumberColumn) else {})
    if declared.type == "boolean":
        return {}
    labels = {"l": label_number(value, declared, kind)} if isinstance(declared, LabelColumn) else {}
    return {"c": replace_codes(value, declared.spelling, kind)} | labels


def _one_or_zero(truth: Any) -> Any:
    import ibis

    return ibis.cases((truth, ibis.literal(1, "int64")), (~truth, ibis.literal(0, "int64")))


# --- numbers ------------------------------------------------------------------------------------------------


def read_number(column: Any, source: Source) -> Any:
    """Convert a column of numbers to its canonical type; see `choose_form`."""
    kind, engine = column.type(), column.get_backend().name
    if kind.is_string():
        return _parse_number(column, source.decimal, source.thousands)
    if kind.is_unsigned_integer() and kind.nbytes == 8:
        return column.cast("decimal(20, 0)")
    if kind.is_integer():
        return column.cast("int64")
    if kind.is_decimal() and engine == "duckdb" and (kind.precision, kind.scale) == (38, 0):  # or HUGEINT, of 39 digits
        return column.cast("string").try_cast("decimal(38, 0)")
    return column if kind.is_decimal() else column.cast("float64")


def bound_number(column: Any, engine: str) -> Any:
    """Remove numbers that no float can hold, and NaN."""
    if column.type().is_floating():
        return _finite(column)
    return _within_floats(column) if column.type().is_decimal() and engine == "postgres" else column


def drop_codes(column: Any, declared: Declared, form: Form) -> Any:
    """Remove numbers that stand for no value. Constants have the column's type, rounded as in conditions."""
    import ibis

    assert isinstance(form, NumberForm)
    for low, high in declared.missing_codes:
        tests = [form.bound("=", low)] if low == high else [form.bound(">=", low), form.bound("<=", high)]
        kept = ibis.literal(True)
        for test in tests:
            if isinstance(test, bool):
                kept &= test
            else:
                constant = ibis.literal(test[1]).cast(column.type())
                kept &= {"=": column == constant, ">=": column >= constant, "<=": column <= constant}[test[0]]
        column = kept.ifelse(None, column)
    return column


def _finite(column: Any) -> Any:
    """Remove NaN and infinities from floats.

    NaN is tested by name first: statistics in a file leave NaN out, and an engine that trusts them may skip the test of
    the bounds.
    """
    column = (column.isnan() | column.isinf()).ifelse(None, column)
    return column.between(-LARGEST_NUMBER, LARGEST_NUMBER).ifelse(column, None)


def _within_floats(column: Any) -> Any:
    """Remove numbers of PostgreSQL that no float can hold; the smallest become 0.

    NaN and the infinities lie beyond the bounds in PostgreSQL's order of numbers.
    """
    import ibis

    size = column.abs()
    return ibis.cases((size.between(1 / LARGEST_NUMBER, LARGEST_NUMBER), column), (size < 1 / LARGEST_NUMBER, 0))


def _parse_number(column: Any, decimal: str, thousands: str) -> Any:
    """Parse text as a float. With a decimal comma, a point is not allowed unless declared: 1.234 might be thousands."""
    text = cut_text(column)
    if thousands:
        text = _drop_thousands(text, decimal or ".", thousands)
    if decimal == ",":
        text = text.contains(".").ifelse(None, text.replace(",", "."))
    text = text.strip()
    text = ((text.length() <= LONGEST_NUMBER) & text.re_search(NUMBER)).ifelse(text, None)
    if column.get_backend().name == "postgres":  # its floats refuse what is too large or too small for them
        return _within_floats(text.cast("decimal")).cast("float64")
    return text.try_cast("float64")


def _drop_thousands(text: Any, decimal: str, mark: str) -> Any:
    """Remove the marks between thousands; a text with the mark at any other place is missing."""
    if mark == " ":
        for space in NARROW_SPACES:
            text = text.replace(space, " ")
    text = text.strip()
    grouped = rf"^[+-]?[0-9]{{1,3}}([{mark}][0-9]{{3}})+([{decimal}][0-9]*)?$"
    return text.contains(mark).ifelse(text.re_search(grouped).ifelse(text.replace(mark, ""), None), text)


def step_expression(values: Any, declared: NumberColumn) -> Any:
    """Round to the nearest step of the range, a whole number in 0..width; missing values get the default.

        clamp(floor((clamp(v, low, high) - low + step/2) / step), 0, width)

    It clamps before the division, so that no engine overflows, and after the floor, because the floats nearest to the
    bounds may lie beside them. Half a step is added before the division, because PostgreSQL stops if a quotient
    underflows.
    """
    import ibis

    low, high, step = float(declared.low), float(declared.high), float(declared.step)
    inside = _clamp(values.cast("float64"), low, high)
    nearest = _clamp(((inside - low + step / 2) / step).floor(), 0.0, float(declared.width))
    return ibis.cases((values.notnull(), nearest.cast("int64")), else_=ibis.literal(declared.default, "int64"))


def _clamp(values: Any, low: float, high: float) -> Any:
    import ibis

    return ibis.least(ibis.greatest(values, ibis.literal(low, "float64")), ibis.literal(high, "float64"))


# --- texts --------------------------------------------------------------------------------------------------


def strip_collation(column: Any) -> Any:
    """Remove the collation of a column of texts; with some collations PostgreSQL refuses to search."""
    if not column.type().is_string() or column.get_backend().name != "postgres":
        return column
    return _call("convert_from", _convert_from)(_call("convert_to", _convert_to)(column, "UTF8"), "UTF8")


def cut_text(texts: Any) -> Any:
    """Cut texts one character after the longest public text, so that a longer text matches nothing."""
    return texts.substr(0, LONGEST_TEXT + 1)


def trim_text(column: Any, spelling: Spelling) -> Any:
    """Remove spaces at the ends of texts, if the plan says so; every kind of space becomes the plain one first."""
    if not spelling.trim or not column.type().is_string():
        return column
    return _call("translate", _translate)(cut_text(column), SPACES, " " * len(SPACES)).strip()


def fold_case(text: Any, spelling: Spelling) -> Any:
    """Replace large letters by small ones, if the plan says so."""
    return _call("translate", _translate)(text, LARGE, SMALL) if spelling.ignore_case else text


def replace_codes(digits: Any, spelling: Spelling, kind: Any) -> Any:
    """Replace codes by the labels that they stand for, and codes of no value by none; all in digits."""
    import ibis

    if not spelling.codes and not spelling.missing_codes:
        return digits
    absent = [text_to_digits(fit_code(code, spelling)) for code in spelling.missing_codes]
    branches = [(digits == code, ibis.null("string")) for code in absent]
    branches += [
        (digits == code, ibis.literal(text_to_digits(fit_text(label, kind, spelling))))
        for code, label in code_digits(spelling)
    ]
    return ibis.cases(*branches, else_=digits)


def code_digits(spelling: Spelling) -> list[tuple[str, str]]:
    """Return the codes of records in digits, each with the label that it stands for."""
    return [(text_to_digits(fit_code(code, spelling)), label) for code, label in spelling.codes]


def column_to_text(column: Any) -> Any:
    """Convert a column to text in the form of `schema.text.match_spelling`, so a record has one label or key."""
    import ibis

    kind = column.type()
    if kind.is_boolean():
        return ibis.cases((column, "true"), (~column, "false"))
    if kind.is_date() or kind.is_timestamp():
        return _day_text(column)
    if not kind.is_string():
        return column.cast("string")
    text = cut_text(column)
    ends = text.endswith(".0")  # engines disagree whether $ matches before a line break
    text = (ends & text.re_search(WHOLE)).ifelse(text.replace(".0", ""), text)
    return text.lower().isin(TRUTHS).ifelse(text.lower(), text)


def _day_text(times: Any) -> Any:
    """Format dates, and times at midnight, as 2024-01-31; any other time becomes missing."""
    if times.type().is_date():
        return _clamp_time(times).strftime("%Y-%m-%d")
    near = _clamp_time(times)
    return (near.truncate("D") == near).ifelse(near.strftime("%Y-%m-%d"), None)


def _clamp_time(times: Any) -> Any:
    """Keep dates and times of the years 1 to 9999, in microseconds; others become missing."""
    kind = times.type()
    if kind.is_date():
        return times.between(FIRST_DAY, LAST_DAY).ifelse(times, None)
    if times.get_backend().name == "duckdb":
        times = times.try_cast("timestamp(6)")
    return times.between(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).ifelse(times, None)


def day_number(column: Any) -> Any:
    """Convert a date, or a text that is one, to the whole number 20240131; anything else becomes missing."""
    text = _day_text(column) if not column.type().is_string() else cut_text(column)
    digits = ((text.length() == DAY) & text.re_search(DATE)).ifelse(text, None).replace("-", "")
    return digits.cast("int64") if column.get_backend().name == "postgres" else digits.try_cast("int64")


def label_number(digits: Any, declared: LabelColumn, kind: Any) -> Any:
    """Return the position of the label; any other value has that of `other`, or -1 without `other`."""
    import ibis

    spelling, labels = declared.spelling, declared.labels
    absent = [text_to_digits(fit_code(code, spelling)) for code in spelling.missing_codes]
    places = [(code, declared.rest) for code in absent]
    places += [(code, labels.index(label)) for code, label in code_digits(spelling)]
    places += [(text_to_digits(fit_text(label, kind, spelling)), k) for k, label in enumerate(labels)]
    branches = [(digits == text, ibis.literal(k, "int64")) for text, k in places]
    return ibis.cases(*branches, else_=ibis.literal(declared.rest, "int64"))


def key_text(column: Any, period: str = "", spelling: Spelling = PLAIN) -> Any:
    """Convert a column of keys to digits.

    period: use the day, month, quarter or year of dates and times. spelling: the options of the column.
    """
    column = trim_text(strip_collation(column), spelling)
    return column_to_digits(period_text(column, period) if period else fold_case(column_to_text(column), spelling))


def key_value(digits: Any, spelling: Spelling, kind: Any, missing_key: str = "") -> Any:
    """Replace codes in a column of keys, and give records without a value, or with an empty one, the missing key."""
    value = replace_codes(digits, spelling, kind)
    return (
        (value.isnull() | (value == "")).ifelse(text_to_digits(spelling.spell(missing_key)), value)
        if missing_key
        else value
    )


def period_text(column: Any, period: str) -> Any:
    """Return the day, month, quarter or year of a date, a time, or a text that begins with a date."""
    import ibis

    if column.type().is_string():
        text = cut_text(column)
        ends = (text.length() == DAY) | text.substr(DAY, 1).isin((" ", "T"))
        days = (ends & text.re_search(DATED)).ifelse(text.substr(0, DAY), None)
    else:
        days = _clamp_time(column).strftime("%Y-%m-%d")
    if period != "quarter":
        return days.substr(0, {"day": DAY, "month": 7, "year": 4}[period])
    year, month = days.substr(0, 4), days.substr(5, 2)
    quarters = [(month.isin([f"{m:02}" for m in range(q, q + 3)]), year + f"-Q{q // 3 + 1}") for q in (1, 4, 7, 10)]
    return ibis.cases(*quarters)


def person_text(column: Any) -> Any:
    """Convert an id to the digits of its bytes; missing if it is empty or too long."""
    texts = strip_collation(column) if column.type().is_string() else column.cast("string")
    named = texts.notnull() & (texts != "") & (texts.length() <= LONGEST_TEXT)
    return column_to_digits(named.ifelse(texts, None))


def _boolean(column: Any) -> Any:
    word = cut_text(column).strip().lower()
    return word.isin(TRUE_WORDS).ifelse(True, word.isin(FALSE_WORDS).ifelse(False, None))


# --- texts as the hexadecimal digits of their bytes -------------------------------------------------------
#
# An engine may compare texts by a collation, which may treat North-West and NorthWest, or texts with invisible
# characters, as equal; then one record would be in two groups. Every collation distinguishes digits. Texts in digits
# also keep user texts out of SQL.


def text_to_digits(text: str) -> str:
    """Convert a public text to hexadecimal digits.

    >>> text_to_digits("a-é")
    '612DC3A9'
    """
    return text.encode().hex().upper()


def column_to_digits(texts: Any) -> Any:
    """Convert a column of texts to digits; missing values stay missing."""
    if texts.get_backend().name == "postgres":
        return _call("encode", _encode)(_call("convert_to", _convert_to)(texts, "UTF8"), "hex").upper()
    return _call("hex", _hex)(texts)


def _call(name: str, typed: Any) -> Any:
    """Declare a function that the engine has."""
    import ibis

    return ibis.udf.scalar.builtin(typed, name=name)


def _translate(text: str, letters: str, others: str) -> str: ...  # type: ignore[empty-body]


def _hex(text: str) -> str: ...  # type: ignore[empty-body]


def _convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


def _convert_from(held: bytes, encoding: str) -> str: ...  # type: ignore[empty-body]


def _encode(held: bytes, form: str) -> str: ...  # type: ignore[empty-body]

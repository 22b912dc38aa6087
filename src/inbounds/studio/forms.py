"""The inputs of a form for statistics, derived from the fields of their models, and the texts that people enter there.

A form has one input for every different field of the registry. Kinds that share a field share its input, so the column
of a mean stays when the mean becomes a median. Values are those that plans and questions write.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

from inbounds.plan.write import dump_toml
from inbounds.schema.columns import Declared, LabelColumn, NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.types import find_subject
from inbounds.statistics import STATISTICS, Statistic
from inbounds.statistics.entries import entry_fields, find_kind, flatten_entry

COLUMN_TYPES = {"number": NumberColumn, "labels": LabelColumn}
"""The declared columns that a statistic may name, by the kind of its subject."""

FORMS = {"flag": {"boolean"}, "list": {"array"}, "number": {"number", "integer"}}
"""What is entered, by the types of JSON values; anything else is text. Several numbers are separated by commas."""

_PLAIN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


@dataclass(frozen=True)
class FormField:
    """One input of a form.

    kinds: the kinds of statistics that have it; none: all of them. columns: the kind of columns to choose from, if any.
    parts: how many texts are entered, each in an input of its own. options: the texts to choose from, if any.
    """

    name: str
    form: str = "text"
    hint: str = ""
    example: str = ""
    columns: str = ""
    parts: int = 1
    options: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return the name as words."""
        return self.name.replace("_", " ").capitalize()

    @property
    def has_choices(self) -> bool:
        """Return whether its texts are chosen; a list of any length is entered."""
        return bool(self.options or self.columns) and (self.form != "list" or self.parts > 1)

    @property
    def inputs(self) -> list[str]:
        """Return the names of its inputs in the form; two fields of the same name differ in their first kind."""
        name = f"{self.kinds[0]}.{self.name}" if self.kinds else self.name
        return [f"{name}.{k}" for k in range(self.parts)] if self.parts > 1 else [name]

    def format(self, value: Any) -> str:
        """Return a value as text, with a line for each part."""
        if self.form == "flag":
            return "yes" if value else ""
        separator = "\n" if self.parts > 1 else ", "
        return separator.join(map(str, value)) if isinstance(value, list) else str(value)

    def parse(self, text: str) -> Any:
        """Return the value that a text means, as a plan writes it."""
        if self.form == "flag":
            return bool(text)
        if self.parts > 1:
            return text.split("\n")
        if self.form == "text":
            return text
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if self.form == "list":
            return parts
        numbers = [parse_number(part) for part in parts]
        return numbers[0] if len(numbers) == 1 else numbers

    def can_mean(self, text: str, value: Any) -> bool:
        """Return whether a text means a value; a number may also be written in quotes."""
        parsed = self.parse(text)
        return bool(parsed == value) or (isinstance(value, str) and str(parsed) == value)


def parse_number(text: str) -> Any:
    """Return a number if the text is a TOML number, otherwise the text: an exact 1/3, or a column's name."""
    if not _PLAIN.fullmatch(text):
        return text
    return Decimal(text) if "." in text else int(text)


# --- from models to fields --------------------------------------------------------------------------------


@cache
def describe_kinds() -> dict[str, str]:
    """Return every kind with what it is in one line."""
    return {kind: model.summary().rstrip(".") for kind, model in STATISTICS.items()}


@cache
def kind_fields() -> tuple[FormField, ...]:
    """Return the fields that only some kinds have, each with its kinds, in the order of the registry."""
    kinds: dict[FormField, list[str]] = {}
    for kind, model in STATISTICS.items():
        for name in (model.subject, *entry_fields(model)):
            if name not in Statistic.model_fields:
                kinds.setdefault(make_form_field(model, name), []).append(kind)
    return tuple(replace(one, kinds=tuple(names)) for one, names in kinds.items())


@cache
def common_fields() -> dict[str, FormField]:
    """Return the fields that every kind has, by name."""
    return {name: make_form_field(Statistic, name) for name in entry_fields(Statistic)}


def make_form_field(model: type[Statistic], name: str) -> FormField:
    """Describe the input for one field of a model."""
    schema = _json_schema(model)[name]
    value = next((part for part in schema.get("anyOf", ()) if part.get("type") != "null"), schema)
    types = {value["type"]} if isinstance(value.get("type"), str) else set(value.get("type", ()))
    example, subject, most = (schema.get("examples") or [""])[0], find_subject(model, name), value.get("maxItems")
    return FormField(
        name,
        form=next((form for form, of in FORMS.items() if of & types), "text"),
        hint=schema.get("description", ""),
        example=", ".join(map(str, example)) if isinstance(example, list) else str(example),
        columns=subject.kind if subject and subject.kind in COLUMN_TYPES else "",
        parts=most if most and most == value.get("minItems") else 1,
        options=tuple(map(str, value.get("enum", ()))),
    )


@cache
def _json_schema(model: type[Statistic]) -> dict[str, Any]:
    properties: dict[str, Any] = model.model_json_schema()["properties"]
    return properties


@cache
def write_stylesheet() -> str:
    """Write the rules that hide the fields of all kinds but the chosen one; no script is needed."""
    return "".join(
        f".statistic:not(:has({', '.join(f'.kind option[value={kind}]:checked' for kind in one.kinds)})) "
        f"[data-kinds='{' '.join(one.kinds)}'] {{ display: none; }}\n"
        for one in {one.kinds: one for one in kind_fields()}.values()
    )


def columns_by_subject(columns: Mapping[str, Declared]) -> dict[str, list[str]]:
    """Return the names of the columns that each kind of subject may name."""
    return {
        subject: [name for name, column in columns.items() if isinstance(column, type_)]
        for subject, type_ in COLUMN_TYPES.items()
    }


# --- what is entered --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StatisticChoice:
    """A statistic as texts, by the name of their field. more: lines of TOML."""

    kind: str = next(iter(STATISTICS))
    texts: Mapping[str, str] = field(default_factory=dict)
    more: str = ""

    @property
    def fields(self) -> list[FormField]:
        """Return the fields of its kind; raise PlanError for an unknown kind."""
        kind = find_kind({self.kind: ""})
        return [*(one for one in kind_fields() if kind in one.kinds), *common_fields().values()]

    def text(self, one: FormField, part: int = 0) -> str:
        """Return what an input shows: nothing if the field is that of another kind."""
        if one.kinds and self.kind not in one.kinds:
            return ""
        lines = self.texts.get(one.name, "")
        return (lines.split("\n") + [""] * one.parts)[part] if one.parts > 1 else lines

    def to_values(self) -> dict[str, Any]:
        """Return the statistic as a plan or a question writes it, without its lines of TOML."""
        subject = STATISTICS[find_kind({self.kind: ""})].subject
        values = {}
        for one in self.fields:
            text = self.texts.get(one.name, "")
            if text or one.name == subject:
                values[self.kind if one.name == subject else one.name] = one.parse(text)
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "StatisticChoice":
        """Build from the statistic of a plan; a value that no text of the form means becomes a line of TOML."""
        left, texts = flatten_entry(values), {}
        choice = cls(find_kind(values))
        subject = STATISTICS[choice.kind].subject
        for one in choice.fields:
            key = choice.kind if one.name == subject else one.name
            text = one.format(left[key]) if key in left else ""
            if text and one.can_mean(text, left[key]):
                texts[one.name] = text
                del left[key]
        if choice.kind in left:
            raise PlanError("has a form that cannot be shown here; correct it in an editor", (choice.kind,))
        return replace(choice, texts=texts, more=dump_toml(left))

    @classmethod
    def from_form(cls, form: Mapping[str, str], prefix: str) -> "StatisticChoice":
        """Build from the inputs of a form whose names begin with a prefix; those of other kinds are left out."""
        choice = cls(form.get(f"{prefix}kind", ""), more=form.get(f"{prefix}more", ""))
        if choice.kind not in STATISTICS:
            return choice
        entered = {one.name: [form.get(prefix + name, "") for name in one.inputs] for one in choice.fields}
        return replace(choice, texts={name: "\n".join(parts) for name, parts in entered.items() if any(parts)})

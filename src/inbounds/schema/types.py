"""The types that declarations are made of, and the base class of declared models.

A model is read from a plan, a request, an option or a form, and written to a record. All of them use these types, so a
number is exact and a text is a text everywhere.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictStr,
    ValidationError,
    WithJsonSchema,
)

from inbounds.exact import to_fraction
from inbounds.schema.errors import PlanError


@dataclass(frozen=True)
class Subject:
    """A mark on a field: what a person chooses there. Forms show the choices, and options name them."""

    kind: Literal["condition", "number", "labels"]


def to_exact(value: Any) -> Fraction:
    """Convert to an exact number; an error does not repeat the value.

    Pydantic's own Fraction would read the float 0.1 as its binary value.
    """
    try:
        return to_fraction(value, "it")
    except TypeError as error:  # about its type; Pydantic collects ValueErrors only
        message = str(error)
    except ValueError:
        message = "it must be a finite number such as 0.5 or '1/2', with a decimal point and not a comma"
    raise ValueError(message)


def to_positive(value: Any) -> Fraction:
    """Convert to an exact number above 0."""
    number = to_exact(value)
    if not number > 0:
        raise ValueError("it must be positive")
    return number


_EXACT_JSON = WithJsonSchema({"type": ["string", "number"], "description": "A decimal or a fraction: 0.5 or '1/3'."})

Exact = Annotated[Fraction, BeforeValidator(to_exact), PlainSerializer(str, return_type=str), _EXACT_JSON]
"""An exact number: an int, a decimal, or a text such as "1/3". Its JSON form is a text."""

PositiveExact = Annotated[Fraction, BeforeValidator(to_positive), PlainSerializer(str, return_type=str), _EXACT_JSON]
"""An exact number above 0."""

Flag = StrictBool
Text = StrictStr
Condition = Annotated[StrictStr, Field(min_length=1), Subject("condition")]
NumberColumnName = Annotated[StrictStr, Subject("number")]
LabelColumnName = Annotated[StrictStr, Subject("labels")]


class Schema(BaseModel):
    """A frozen model that refuses unknown fields. Everything that is wrong with it is a `PlanError` with its place.

    An error never repeats what was given, nor does its context: a frame given where a name belongs is data.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_default=False, hide_input_in_errors=True
    )

    def __init__(self, **fields: Any) -> None:
        wrong = None
        try:
            super().__init__(**fields)
        except ValidationError as error:
            wrong = to_plan_error(error, type(self))
        if wrong is not None:  # raised here, so that Pydantic's error, which holds the input, is not its context
            raise wrong

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values of some fields; it is validated again."""
        return type(self)(**{**{name: getattr(self, name) for name in type(self).model_fields}, **changes})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, without the fields that have their default."""
        return self.model_dump(mode="json", exclude_defaults=True)


def to_plan_error(error: ValidationError, model: type[BaseModel]) -> PlanError:
    """Translate the first error of a model to a sentence with its place; the input is not repeated."""
    first = error.errors(include_url=False, include_input=False)[0]
    path, cause = tuple(first["loc"]), first.get("ctx", {}).get("error")
    if isinstance(cause, PlanError):
        return cause.under(*path)
    if first["type"] == "value_error":
        name, _, rest = str(cause).partition(" ")  # messages about arguments begin with their name
        return PlanError(rest if name in ("it", *path) else str(cause), path)
    if first["type"] == "extra_forbidden":
        known = tuple(model.model_fields)
        return PlanError(f"is not a field here{suggest_field(str(path[-1]), known)}", path)
    template = MESSAGES.get(first["type"])
    return PlanError(template.format(**first.get("ctx", {})) if template else f"is not valid: {first['msg']}", path)


MESSAGES = {
    "missing": "must be given",
    "string_type": "must be text in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "too_short": "must be a list of at least {min_length}",
    "too_long": "must be a list of at most {max_length}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "literal_error": "must be one of {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}
"""What a field must be, for each type of Pydantic's errors; its own messages are about Python's types."""


def suggest_field(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown field: a similar known one, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(names)}"


def check_known_fields(what: str, values: Any, names: Iterable[str]) -> None:
    """Raise PlanError for an unknown key, with a similar known key if there is one."""
    known = tuple(names)
    if not isinstance(values, Mapping):
        raise PlanError(f"must be a table with some of: {', '.join(known)}")
    for name in values:
        if name not in known:
            raise PlanError(f"is not a field of a {what}{suggest_field(str(name), known)}", (name,))


def find_subject(model: type[Schema], field: str) -> Subject | None:
    """Return what a person chooses in a field, or None for a plain value; also inside a tuple."""
    info = model.model_fields[field]
    marks = [mark for mark in info.metadata if isinstance(mark, Subject)]
    for part in getattr(info.annotation, "__args__", ()):
        marks += [mark for mark in getattr(part, "__metadata__", ()) if isinstance(mark, Subject)]
    return marks[0] if marks else None

"""Plain JSON values against the form that a `TypedDict` declares: what a stranger's file holds gets its type here."""

from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

Form = TypeVar("Form")


def as_form(content: Any, form: type[Form]) -> Form:
    """The content, if it has the form; a `TypeError` otherwise. Fields that the form does not name may be there.

    >>> from typing import TypedDict
    >>> Point = TypedDict("Point", {"x": int, "names": list[str]})
    >>> as_form({"x": 1, "names": ["a"], "more": None}, Point)["x"]
    1
    """
    if not has_form(content, form):
        raise TypeError(f"the content must have the form {form.__name__}")
    return cast(Form, content)


def has_form(value: Any, form: Any) -> bool:
    """Whether a JSON value is of this type; no number is a bool, and a whole number is a float too."""
    if form is Any:
        return True
    if is_typeddict(form):
        return isinstance(value, dict) and _has_fields(value, form)
    parts = get_args(form)
    if get_origin(form) in (UnionType, Union):
        return any(has_form(value, part) for part in parts)
    if get_origin(form) is list:
        return isinstance(value, list) and all(has_form(item, parts[0]) for item in value)
    if get_origin(form) is dict:
        return isinstance(value, dict) and all(has_form(item, parts[1]) for item in value.values())
    plain = {float: (float, int), None: (NoneType,)}.get(form, (form,))
    return type(value) in plain


def _has_fields(value: dict[str, Any], form: Any) -> bool:
    fields = get_type_hints(form)
    return form.__required_keys__ <= value.keys() and all(
        has_form(value[name], kind) for name, kind in fields.items() if name in value
    )

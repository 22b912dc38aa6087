"""Every declared model: its numbers are exact, and an error about it repeats nothing that was given."""

import importlib
import pickle
import pkgutil
import traceback
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, get_args

import numpy as np
import pandas
import pytest
from pydantic import BaseModel, TypeAdapter

import inbounds
from inbounds.schema.errors import PlanError
from inbounds.schema.types import Exact, Schema

EXPECTATIONS = {"errors", "constants", "now", "drawn_for_each"}
"""Fields of answers to requests that state an expected error or its like, which no privacy depends on."""

NAMES = {"loss", "properties", "limits"}
"""Fields that hold names of the package's own losses and properties; a misspelt one is repeated."""

CANARY = 4711
MISTAKES = [
    CANARY,
    -CANARY,
    CANARY + 0.5,
    str(CANARY),
    f"person {CANARY}",
    f"{CANARY},5",
    bytes(str(CANARY), "ascii"),
    [CANARY, 1],
    [f"person {CANARY}"],
    (CANARY, object()),
    {CANARY},
    {"answer": CANARY},
    Fraction(CANARY, 7),
    Decimal(CANARY),
    complex(CANARY, 1),
    10**400 + CANARY,
    np.array([CANARY]),
    pandas.Series([CANARY], name="age"),
    pandas.DataFrame({"age": [CANARY]}),
]


def subclasses(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith("inbounds."):
            yield model
        yield from subclasses(model)


for module in pkgutil.walk_packages(inbounds.__path__, "inbounds."):
    if module.name.split(".")[1] in ("schema", "statistics", "plan", "curator", "studio", "releases"):
        importlib.import_module(module.name)
MODELS = sorted(set(subclasses(BaseModel)), key=lambda model: f"{model.__module__}.{model.__name__}")
DECLARED = [model for model in MODELS if issubclass(model, Schema) and model is not Schema]
ABSTRACT = {model for model in DECLARED if "kind" in model.model_fields and model.model_fields["kind"].is_required()}


def field_type(model: type[BaseModel], name: str) -> Any:
    """The type of a field with everything that its annotation says beside it."""
    info = model.model_fields[name]
    return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation


def numbers_in(declared: Any, marks: tuple[Any, ...] = ()) -> Iterator[tuple[type, tuple[Any, ...]]]:
    """Every number in a type that is not whole, with the marks of its annotation."""
    parts = get_args(declared)
    if hasattr(declared, "__metadata__"):
        yield from numbers_in(parts[0], (*marks, *declared.__metadata__))
    elif isinstance(declared, type) and issubclass(declared, float | Decimal | complex | Fraction):
        yield declared, marks
    for part in () if hasattr(declared, "__metadata__") else parts:
        yield from numbers_in(part)


def inexact_fields(model: type[BaseModel]) -> list[str]:
    """The fields with a float, or with a Fraction that Pydantic would read from a float's binary value."""
    return [
        name
        for name in model.model_fields
        for number, marks in numbers_in(field_type(model, name))
        if number is not Fraction
        or TypeAdapter(Annotated[number, *marks, "exact"]).validate_python(0.1) != Fraction("0.1")
    ]


def test_the_models_are_found():
    assert {"Count", "DesignOptions", "QuestionOptions", "AnswerModel"} <= {model.__name__ for model in MODELS}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_privacy_depends_on_a_number_that_is_not_exact(model):
    allowed = set() if model in DECLARED else EXPECTATIONS
    assert set(inexact_fields(model)) <= allowed


def test_an_inexact_number_would_be_found():
    class Loose(BaseModel):
        bare: Fraction
        maybe: Fraction | None = None
        nested: dict[str, list[float]] = {}
        exact: Exact
        several: tuple[Exact, ...] = ()
        whole: int = 0

    assert inexact_fields(Loose) == ["bare", "maybe", "nested"]


def everything_said(error: BaseException | None) -> str:
    """All that an error carries along: message, arguments, attributes, causes and contexts."""
    said = [pickle.dumps(str(error)).decode("latin1")]
    while error is not None:
        said += [repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception_only(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@pytest.mark.parametrize(
    "model", [model for model in DECLARED if model not in ABSTRACT], ids=lambda model: model.__name__
)
def test_an_error_about_a_field_never_repeats_what_was_given(model):
    fields = model.model_fields
    needed = {name: info.examples[0] for name, info in fields.items() if info.is_required() and info.examples}
    refusals = [
        (name, type(mistake), error)
        for name in fields.keys() - NAMES
        for mistake in MISTAKES
        if (error := refusal(model, {**needed, name: mistake})) is not None
    ]
    assert len(refusals) > len(MISTAKES)
    assert [(name, kind) for name, kind, error in refusals if str(CANARY) in everything_said(error)] == []


def refusal(model: type[Schema], fields: dict[str, Any]) -> PlanError | None:
    try:
        model(**fields)
    except PlanError as error:
        return error
    return None


def test_a_repeated_input_would_be_found():
    quiet, loud = PlanError("is not valid"), PlanError("is not valid")
    loud.__context__ = ValueError(CANARY)
    assert str(CANARY) not in everything_said(quiet)
    assert str(CANARY) in everything_said(loud)

"""The helpers of tests/raising.py see an error of another kind, about something else or about another place."""

from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any

import pytest

import inbounds as ib
from inbounds.schema.errors import PlanError, SourceError
from raising import exceeds, raises_at, rejects

NEGATIVE = ValueError("epsilon must not be negative")
SPENT = ib.BudgetExceeded("pupils", Fraction(1), Fraction(0), Fraction(2))
UNKNOWN = PlanError("is not declared", ("columns", "score"), "plan.toml, line 12")


@pytest.mark.parametrize(
    ("expected", "raised"),
    [
        (rejects(ValueError), NEGATIVE),
        (rejects(ValueError, "epsilon"), NEGATIVE),
        (rejects(ValueError, "epsilon", about="negative"), NEGATIVE),
        (rejects(ValueError, about="negative"), NEGATIVE),
        (raises_at(PlanError, ("columns", "score")), UNKNOWN),
        (raises_at(PlanError, ("columns", "score"), line=12, about="declared"), UNKNOWN),
        (exceeds("pupils", left=0), SPENT),
    ],
)
def test_an_error_that_is_expected_is_handed_over(
    expected: AbstractContextManager[pytest.ExceptionInfo[Exception]], raised: Exception
) -> None:
    with expected as caught:
        raise raised
    assert caught.value is raised


@pytest.mark.parametrize(
    ("expected", "raised"),
    [
        (rejects(ValueError, "epsilon"), ValueError("epsilons must not be negative")),
        (rejects(ValueError, "epsilon"), ValueError("delta must be above epsilon")),
        (rejects(ValueError, "epsilon", about="above"), NEGATIVE),
        (rejects(ValueError, "epsilon"), ib.TooLarge("epsilon must be smaller")),
        (rejects(ib.InboundsError), ib.PassportError("the file is malformed")),
        (raises_at(PlanError, ("columns",)), UNKNOWN),
        (exceeds("pupils", left=1), SPENT),
        (exceeds("teachers", left=0), SPENT),
        (raises_at(PlanError, ("columns", "score"), line=2), UNKNOWN),
        (raises_at(PlanError, ("columns", "score"), about="plan"), UNKNOWN),
        (raises_at(PlanError, ("columns", "score")), SourceError("is not declared", ("columns", "score"))),
    ],
)
def test_another_error_fails(expected: AbstractContextManager[Any], raised: Exception) -> None:
    with pytest.raises(AssertionError), expected:
        raise raised


def test_no_error_fails() -> None:
    with pytest.raises(pytest.fail.Exception), rejects(ValueError, "epsilon"):
        pass


def test_an_error_of_another_family_passes_through() -> None:
    with pytest.raises(TypeError), rejects(ValueError, "epsilon"):
        raise TypeError("epsilon must be a number")

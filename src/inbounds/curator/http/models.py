"""Typed models of requests and responses. Unknown fields are refused."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

Exact = Annotated[
    StrictStr | StrictFloat | StrictInt,
    Field(description="An exact number: a decimal or fraction in text, e.g. '0.5'."),
]
Text = Annotated[str, Field(max_length=4000)]
Name = Annotated[str, Field(max_length=200)]
Names = Annotated[list[Name], Field(max_length=20)]


class StrictForm(BaseModel):
    """A model that refuses unknown fields, so that a misspelt field is not silently ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class QuantileForm(StrictForm):
    """A quantile of a column."""

    of: Name
    at: Exact


class QuestionForm(StrictForm):
    """A question: exactly one statistic (count … mode), with where, by, epsilon and design options."""

    count: Text | None = Field(None, description="The number of records that meet a condition.", examples=["age > 50"])
    histogram: Name | None = Field(None, description="The number of records with each label of a column.")
    crosstab: Annotated[list[Name], Field(min_length=2, max_length=2)] | None = None
    sum: Name | None = None
    mean: Name | None = None
    min: Name | None = None
    max: Name | None = None
    median: Name | None = None
    quantile: QuantileForm | None = None
    mode: Name | None = None
    where: Text | None = Field(None, description="Only records that meet it count.")
    by: Names = Field([], description="Columns of groups; none: all people as one group.")
    epsilon: Exact | None = Field(None, description="Left out where the dataset has levels.", examples=["0.5"])
    sum_to_size: bool = False
    margins: Names | None = None
    loss: Name | None = None
    properties: Names | None = None
    prior: Name | dict[Name, Exact | list[Exact]] | None = None
    aim: Literal["average", "worst"] | None = None
    mechanism: Name | None = None
    limits: Names | None = None
    redraw: bool = Field(
        False, description="Draw it although a stored sum, or an answer at a larger epsilon, would do."
    )
    allow_useless: bool = Field(False, description="Ask although it is no better than a constant.")

    def values(self) -> dict[str, Any]:
        """Return the fields that were sent, as plain values."""
        return self.model_dump(exclude_none=True, exclude_unset=True)


FORMS = {
    "string_type": "a text",
    "list_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "finite_number": "a finite number",
    "model_attributes_type": "a table such as {{'of': 'age', 'at': '0.5'}}",
    "string_too_long": "a text of at most {max_length} characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
    "literal_error": "one of {expected}",
    "missing": "given",
}
"""What a field must be, for each kind of Pydantic's errors, whose messages are about types."""

EXACT = {"epsilon": "one number such as '0.5'", "at": "one share such as '0.5'; ask for several quantiles one by one"}


def explain_validation_error(error: Mapping[str, Any]) -> str:
    """Explain in one sentence what is wrong with a request; its input is not repeated."""
    place = [str(part) for part in error["loc"][1:]]
    if error["type"] == "extra_forbidden":
        names = QuantileForm.model_fields if place[:-1] == ["quantile"] else QuestionForm.model_fields
        close = difflib.get_close_matches(place[-1], names, 1)
        way = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}"
        return f"{'.'.join(place)} is not a field of a question; {way}"
    fields = [part for part in place if part in (*QuestionForm.model_fields, *QuantileForm.model_fields)]
    if error["type"] == "json_invalid" or not place:
        return "the request must be JSON, an object with the fields of a question"
    if fields and fields[-1] in EXACT and error["type"] != "missing":
        return f"{'.'.join(fields)} must be {EXACT[fields[-1]]}"
    form = FORMS.get(error["type"], "of the form that /openapi.json describes")
    return f"{'.'.join(fields or place)} must be {form.format(**error.get('ctx', {}))}"


class ProblemModel(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str


class GroupForm(BaseModel):
    """A declared group and its number of records, or the most it may have."""

    key: list[str]
    records: int


class DatasetModel(BaseModel):
    """The public facts about a dataset."""

    name: str
    title: str
    edition: str
    people: str
    neighbours: str
    by: list[str]
    groups: list[GroupForm]
    records: Literal["public", "at most"]
    columns: dict[str, dict[str, Any]]
    credible_level: str | None
    levels: dict[str, str]
    unit: dict[str, Any] | None
    answer_seconds: str


class DatasetsForm(BaseModel):
    """The datasets that this account may ask."""

    datasets: list[DatasetModel]


class PreviewModel(BaseModel):
    """The preview of a question."""

    question: dict[str, Any]
    how: str
    epsilon: str
    people: str
    people_left: str | None
    unit: str
    errors: dict[str, float]
    constants: dict[str, float]
    no_better: list[str]
    account: list[str]
    statement: str


class CostForm(BaseModel):
    """What an answer cost, and what is left."""

    people: str
    people_left: str | None
    unit: str
    account: str
    account_left: str | None


class AnswerModel(BaseModel):
    """A table of private answers."""

    id: str
    dataset: str
    edition: str
    question: dict[str, Any]
    epsilon: str
    level: str | None
    how: Literal["new", "same", "stronger", "sum"]
    table: dict[str, list[Any]]
    mechanisms: list[dict[str, Any]]
    statement: str
    values: list[str]
    time: str
    cost: CostForm


class IssuedAnswerModel(BaseModel):
    """An answer that was issued to an account, by its id."""

    id: str
    dataset: str
    question: dict[str, Any]
    how: str
    epsilon: str
    time: str


class GrantForm(BaseModel):
    """What an account may ask of a dataset."""

    dataset: str
    cap: str | None
    spent: str
    left: str | None
    level: str | None


class AccountBody(BaseModel):
    """An account and the answers issued to it."""

    name: str
    role: Literal["analyst", "owner"]
    made: str
    revoked: str | None
    rows: int
    datasets: list[GrantForm]
    answers: list[IssuedAnswerModel]


class PopulationModel(BaseModel):
    """A population of the ledger."""

    name: str
    budget: str | None
    spent: str
    left: str | None
    rule: str
    unit: str
    epsilon: str | None
    delta: str | None


class FailureForm(BaseModel):
    """A failed evaluation: when, its question's key, and when the owner reopened the dataset."""

    time: str
    key: str
    reopened: str | None


class StatusForm(BaseModel):
    """Whether a dataset is closed. observations: how often accounts may have seen one bit that no epsilon covers."""

    name: str
    closed: bool
    observations: int
    failures: list[FailureForm]


class LedgerBody(BaseModel):
    """What was spent on each population, and the ledger's head, to be stored elsewhere."""

    head: dict[str, Any]
    people: list[PopulationModel]
    datasets: list[StatusForm]


class CoalitionForm(BaseModel):
    """The largest epsilon that so many accounts hold together."""

    accounts: int
    epsilon: str
    exact: bool


class ExposedAnswerModel(BaseModel):
    """What the holders of one answer know together, and what they would know from separate draws."""

    question: dict[str, Any]
    epsilon: str
    accounts: int
    answers: int | None
    now: dict[str, float]
    drawn_for_each: dict[str, float]


class ExposureForm(BaseModel):
    """What accounts that share their answers could know by now."""

    dataset: str
    observations: int
    people: PopulationModel
    accounts: dict[str, str]
    coalitions: list[CoalitionForm]
    questions: list[ExposedAnswerModel]


class HealthForm(BaseModel):
    """Whether the curator can answer."""

    status: Literal["ok"]

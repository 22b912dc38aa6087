"""Typed models of requests and responses.

The body of a question is checked once, by `parse_question`. Its schema here is derived from the declarations of the
statistics, so that /openapi.json lists every statistic and option.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema, create_model
from pydantic.fields import FieldInfo

from inbounds.curator.question import OF_STATISTICS, QuestionOptions
from inbounds.curator.reuse import How
from inbounds.statistics import STATISTICS
from inbounds.statistics.designs import DesignOptions


def _optional(info: FieldInfo, description: str | None = None) -> tuple[Any, Any]:
    """Return a field that may be left out, with the type, limits and examples of a declared field."""
    limited: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    return limited | None, Field(None, description=description or info.description, examples=info.examples)


def _question_schema() -> dict[str, Any]:
    """Return the JSON schema of a question: one field for each statistic, and those that may stand beside it."""
    fields = {
        kind: _optional(statistic.model_fields[statistic.subject], statistic.summary())
        for kind, statistic in STATISTICS.items()
    }
    for name in OF_STATISTICS:
        owners = [kind for kind, statistic in STATISTICS.items() if name in statistic.model_fields]
        info = STATISTICS[owners[0]].model_fields[name]
        fields[name] = _optional(info, f"For {' and '.join(owners)}: {info.description}")
    for model in (QuestionOptions, DesignOptions):
        fields |= {name: _optional(info) for name, info in model.model_fields.items()}
    make: Any = create_model  # its fields are known only here
    kinds = [{"required": [kind]} for kind in STATISTICS]
    return {
        **make("Question", **fields).model_json_schema(),
        "description": QUESTION,
        "additionalProperties": False,
        "oneOf": kinds,
    }


QUESTION = "A question: exactly one statistic, with where, by, epsilon and design options."
Question = Annotated[dict[str, Any], WithJsonSchema(_question_schema())]
"""The body of a question, as plain values."""


def explain_validation_error(error: Mapping[str, Any]) -> str:
    """Explain what is wrong with a request that is no JSON object; its input is not repeated."""
    place = ".".join(str(part) for part in error["loc"][1:])
    if not place or error["type"] == "json_invalid":
        return "the request must be JSON, an object with the fields of a question"
    return f"{place} must be of the form that /openapi.json describes"


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
    typical: list[int] | None = Field(None, description="A typical group size, or the ends of a range of sizes.")
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
    accuracy: list[str]
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
    how: How
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
    next: str | None = Field(description="Where the next page of answers begins: ask with ?before=…; null at the end.")


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

"""The forms of statistics: every kind of the registry is in both forms, and what is entered there is what is asked."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Literal

import httpx
import pytest
from pydantic import Field

from inbounds.curator.curator import Curator
from inbounds.curator.question import parse_question
from inbounds.files.bounded import parse_toml
from inbounds.plan.load import parse_plan
from inbounds.plan.write import dump_toml
from inbounds.schema.errors import PlanError
from inbounds.schema.types import Flag, NumberColumnName
from inbounds.statistics import STATISTICS, Statistic
from inbounds.statistics.designs import DEFAULT_OPTIONS
from inbounds.statistics.entries import entry_fields, parse_statistic
from inbounds.studio import ask, forms
from inbounds.studio.forms import FormField, StatisticChoice
from inbounds.studio.jobs import JobQueue
from inbounds.studio.pages import environment
from inbounds.studio.plan import values
from inbounds.studio.plan.draft import Draft, from_form
from raising import raises_at
from studio.conftest import Served, curator_in
from studio.test_planning import SCHEMA, changed, form_of

every_kind = pytest.mark.parametrize("kind", STATISTICS)


def write_example(kind: str) -> dict[str, Any]:
    """A statistic as a plan writes it, with the examples of its model, and every flag set."""
    model, further = STATISTICS[kind], {}
    for name in entry_fields(model):
        info = model.model_fields[name]
        if name not in Statistic.model_fields and (info.examples or info.annotation is bool):
            further[name] = info.examples[0] if info.examples else True
    subject = model.model_fields[model.subject].examples
    assert subject, f"{kind}.{model.subject} needs an example"
    return {kind: subject[0], **further}


def enter_example(kind: str, columns: dict[str, list[str]], prefix: str) -> dict[str, str]:
    """The inputs of a form for a statistic of declared columns, with the examples of its other fields."""
    inputs = {f"{prefix}kind": kind}
    for field in StatisticChoice(kind).fields:
        chosen = columns[field.columns] if field.has_choices and field.columns else [field.example]
        if field.kinds:
            inputs |= {prefix + name: text for name, text in zip(field.inputs, chosen, strict=False)}
    return inputs


# --- texts and values -------------------------------------------------------------------------------------


@every_kind
def test_a_statistic_comes_back_from_its_form_unchanged(kind: str) -> None:
    written = write_example(kind)
    choice = StatisticChoice.from_values(written)
    assert (choice.kind, choice.more) == (kind, "")
    assert parse_statistic(choice.to_values(), DEFAULT_OPTIONS) == parse_statistic(written, DEFAULT_OPTIONS)
    form = {f"s.{name}": choice.text(field, k) for field in choice.fields for k, name in enumerate(field.inputs)}
    assert StatisticChoice.from_form({**form, "s.kind": kind}, "s.") == choice


def test_a_plan_with_every_kind_comes_back_from_its_form_unchanged() -> None:
    facts = {"budget_share": Decimal("0.1"), "properties": ["fair"]}
    statistics = [{**write_example(kind), "name": kind, **facts} for kind in STATISTICS]
    content = parse_toml(dump_toml({"privacy": {"epsilon": 1}, "statistics": statistics}))
    draft = values.from_content(content, {}, "plan.toml")
    assert {choice.texts["budget_share"] for choice in draft.statistics} == {"0.1"}
    again = parse_toml(values.text(draft))["statistics"]
    assert [parse_statistic(entry, DEFAULT_OPTIONS) for entry in again] == [
        parse_statistic(entry, DEFAULT_OPTIONS) for entry in statistics
    ]


@pytest.mark.parametrize(
    "line",
    [
        "quantile = 'score'\nat = [0.5]",
        "histogram = 'answer'\nsum_to_size = false",
        "crosstab = ['a', 'b']\nmargins = []",
        "crosstab = ['a', 'b']\nmargins = ['a, b']",
        "mean = 'age'\nepsilon = true\nloss = 'squared'",
    ],
)
def test_what_no_input_means_stays_a_line_of_toml(line: str) -> None:
    content = {"privacy": {"epsilon": 1}, "statistics": [parse_toml(line)]}
    draft = values.from_content(content, {}, "plan.toml")
    assert draft.statistics[0].more
    assert values.content(draft)["statistics"] == content["statistics"]


@pytest.mark.parametrize("line", ["mean = ['age']", "crosstab = 'a'", "quantile = { at = 1 }", "range_ = 'a'"])
def test_a_statistic_that_has_no_form_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(PlanError) as refused:
        values.from_content({"statistics": [{"count": "true"}, parse_toml(line)]}, {}, "plan.toml")
    assert refused.value.place == "plan.toml"
    assert refused.value.path[:2] == ("statistics", 1)


def test_several_numbers_are_separated_by_commas() -> None:
    choice = StatisticChoice("quantile", {"column": "age", "at": "0.25, 1/3"})
    assert choice.to_values() == {"quantile": "age", "at": [Decimal("0.25"), "1/3"]}


def test_an_unknown_kind_is_refused() -> None:
    draft = Draft(statistics=(StatisticChoice.from_form({"s.kind": "<b>"}, "s."),))
    with raises_at(PlanError, ("statistics", 0), about="exactly one of"):
        values.content(draft)


# --- fields -----------------------------------------------------------------------------------------------


class Made(Statistic):
    """A made-up statistic.

    With fields of every form.
    """

    kind: Literal["made"] = "made"
    column: NumberColumnName = Field(description="Any.")
    side: Literal["left", "right"] | None = Field(None, description="Which side?")
    strict: Flag = False


def test_inputs_follow_from_the_fields_of_a_model() -> None:
    fields = [forms.make_form_field(Made, name) for name in ("column", "side", "strict", "budget_share")]
    assert [(field.form, field.columns, field.options) for field in fields] == [
        ("text", "number", ()),
        ("text", "", ("left", "right")),
        ("flag", "", ()),
        ("number", "", ()),
    ]
    draw = environment().get_template("macros.html").module.statistic_field
    assert 'value="right" selected>' in draw(fields[1], "s.", StatisticChoice("count", {"side": "right"}))


def test_no_two_inputs_of_a_form_have_the_same_name() -> None:
    names = [name for field in forms.kind_fields() for name in field.inputs]
    assert len(set(names)) == len(names)


def test_the_stylesheet_hides_every_field_of_some_kinds() -> None:
    rules = forms.write_stylesheet()
    for field in forms.kind_fields():
        assert f"[data-kinds='{' '.join(field.kinds)}']" in rules


# --- the plan form ----------------------------------------------------------------------------------------

PLANNED = {
    "column.3.use": "plain",  # age
    "column.4.use": "labels",  # pupil
    "column.4.labels": "p1, p2",
    "column.4.other": "p2",
    "column.1.other": "no",
}


PERSONS = {
    "column.3.use": "plain",  # age
    "column.4.use": "person",  # pupil
    "column.1.other": "no",
    "sizes": "max_size",
}
"""A plan in which a person may have several records."""


def assert_inputs(page: str, kind: str, prefix: str) -> None:
    assert f'<option value="{kind}"' in page
    assert forms.describe_kinds()[kind] in page
    for field in StatisticChoice(kind).fields:
        assert not field.kinds or all(f'name="{prefix}{name}"' in page for name in field.inputs)


@pytest.mark.long
def test_every_kind_can_be_planned_in_the_form(client: httpx.Client) -> None:
    page = client.get("/plan/edit?plan=plan.toml").text
    assert client.get("/statistics.css").text == forms.write_stylesheet()
    for kind in STATISTICS:
        assert_inputs(page, kind, "statistic.0.")
        columns = {"number": ["score"], "labels": ["answer", "pupil"]}
        planned = PERSONS if STATISTICS[kind].once else PLANNED
        entered = {**planned, **enter_example(kind, columns, "statistic.0.")}
        plan = parse_plan(values.content(from_form(changed(form_of(page), **entered), SCHEMA)))
        assert plan.statistics[0].kind == kind
        assert plan.statistics[0].name == "yes"


def test_a_choice_of_columns_has_the_declared_ones_first(client: httpx.Client) -> None:
    page = client.get("/plan/edit?plan=plan.toml").text
    first = page.partition('name="statistic.0.sum.column"')[2].partition("</optgroup>")[0]
    assert ">score</option>" in first
    assert "answer" not in first


# --- the ask form -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    with curator_in(tmp_path_factory.mktemp("curator")) as found:
        yield found


def test_every_kind_can_be_asked_in_the_form(curator: Curator, work: JobQueue, tmp_path_factory: Any) -> None:
    served = Served(tmp_path_factory.mktemp("folder"), work, curator=curator, account="owner")
    with httpx.Client(base_url=served.address, timeout=60) as client:
        client.get(f"/enter?token={served.guard.token}")
        page = client.get("/ask").text
    served.close()
    for kind in STATISTICS:
        assert_inputs(page, kind, ask.PREFIX)
        columns = {"number": ["age"], "labels": ["answer", "score"]}
        entered = {**enter_example(kind, columns, ask.PREFIX), "epsilon": "0.5"}
        question = parse_question(ask.question_from_form(list(entered.items())), curator.settings.datasets["survey"])
        assert question.statistic.kind == kind
        assert ask.format_question(question.to_json()).startswith(f"{kind} of ")


def test_a_question_is_formatted_with_the_fields_of_its_kind() -> None:
    question = {"quantile": "age", "at": "0.9", "by": ["school"], "where": "score > 1", "epsilon": "1"}
    assert ask.format_question(question) == "quantile of age, at 0.9 where score > 1 by school"
    assert ask.format_question({"crosstab": ["a", "b"], "margins": [], "by": []}) == "crosstab of a and b"


def test_an_ask_form_offers_only_columns_that_fit() -> None:
    field = FormField("column", columns="number", kinds=("mean",))
    draw = environment().get_template("macros.html").module.statistic_field
    drawn = draw(field, "", StatisticChoice("mean", {"column": "<b>"}), {"number": ["age"], "labels": ["answer"]})
    assert ">age</option>" in drawn
    assert "answer" not in drawn
    assert 'value="&lt;b&gt;" selected>' in drawn

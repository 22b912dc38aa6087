"""The draft of a plan tells a newcomer what can be asked."""

import tomllib

import pytest

from inbounds.plan.draft import draft_plan
from inbounds.plan.load import parse_plan
from inbounds.sources.open import Source
from inbounds.statistics import STATISTICS
from inbounds.statistics.entries import entry_fields


@pytest.fixture
def draft(tmp_path):
    (tmp_path / "survey.csv").write_text("school,answer\nNorth,a\n")
    return draft_plan(Source(path=str(tmp_path / "survey.csv")), tmp_path / "plan.toml")


@pytest.mark.parametrize("kind", STATISTICS)
def test_a_draft_names_every_statistic_and_what_it_is(draft, kind):
    (line,) = [line for line in draft.splitlines() if line.startswith(f"#   {kind} = ")]
    assert STATISTICS[kind].summary() in line
    assert set(STATISTICS[kind].needed_options) <= set(line.replace(".", "").split())


def test_a_draft_names_every_field_of_a_statistic(draft):
    assert all(f"{name} = " in draft for statistic in STATISTICS.values() for name in entry_fields(statistic))


@pytest.mark.parametrize("kind", STATISTICS)
def test_an_example_in_a_draft_is_a_statistic(draft, kind):
    (line,) = [line for line in draft.splitlines() if line.startswith(f"#   {kind} = ")]
    example = tomllib.loads(line.removeprefix("#   ").partition("   ")[0].replace(" and ", "\n"))
    columns = {"age": {"low": 0, "high": 9}} | {name: {"labels": ["a", "b"]} for name in ("answer", "gender")}
    people = {"groups": {"max_size": 5}, "people": {"id": "who"}} if STATISTICS[kind].once else {"groups": {"size": 5}}
    plan = {**people, "privacy": {"epsilon": 1}, "columns": columns, "statistics": [example]}
    assert {statistic.kind for statistic in parse_plan(plan, frame=object()).statistics} == {kind}

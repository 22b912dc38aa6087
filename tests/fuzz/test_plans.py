"""A plan that a dry run accepts is released: nothing in plan and schema makes it fail after its charge.

One plan again: its number stands in the message, `PlanFuzzer(…).try_plan(number, …)` with the generator seeded by it.
"""

from typing import Any

import pytest

from fuzz.plans import PlanFuzzer

FEW = ["sqlite", "duckdb", "arrow"]
EVERY = ["arrow", "pandas", "polars", "parquet", "csv", "duckdb", "sqlite", "postgres"]


@pytest.mark.long
@pytest.mark.parametrize("name", FEW)
def test_a_plan_that_a_dry_run_accepts_is_released(source: Any, tmp_path: Any, name: str) -> None:
    assert_released(source, tmp_path, name, 3)


@pytest.mark.long
def test_a_plan_of_more_statistics_than_an_expression_may_be_deep_is_released(source: Any, tmp_path: Any) -> None:
    """DuckDB refuses expressions that are nested 1,000 deep."""
    fuzzer = PlanFuzzer("arrow", *source("arrow"), tmp_path)
    fuzzer.try_plan(0, fuzzer.wide_plan(600, 600))
    assert fuzzer.failed == []
    assert fuzzer.released == 1


@pytest.mark.slow
@pytest.mark.parametrize(("statistics", "terms"), [(1_700, 3), (3, 3_000)])
@pytest.mark.parametrize("name", EVERY)
def test_a_plan_that_is_too_wide_for_an_engine_is_refused_before_its_charge(
    source: Any, tmp_path: Any, name: str, statistics: int, terms: int
) -> None:
    fuzzer = PlanFuzzer(name, *source(name), tmp_path)
    fuzzer.try_plan(0, fuzzer.wide_plan(statistics, terms))
    assert fuzzer.failed == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_none_of_thousands_of_plans_fails_after_its_charge(source: Any, tmp_path: Any, name: str) -> None:
    assert_released(source, tmp_path, name, 400)


def assert_released(source: Any, folder: Any, name: str, plans: int) -> None:
    types, keep = source(name)
    fuzzer = PlanFuzzer(name, types, keep, folder)
    fuzzer.run(plans)
    assert fuzzer.failed[:5] == []
    assert fuzzer.released >= plans

"""Everything that is drawn together keeps epsilon: exact joint laws of databases that differ in one record or person.

Reports name the source and the number of a pair; `NeighbourFuzzer(source, folder).try_pair(number)` repeats one.
"""

from pathlib import Path
from typing import Any

import pytest

from fuzz.neighbours import NeighbourFuzzer

KINDS = {"count", "count_distinct", "sum", "mean", "variance", "standard_deviation", "percentage"}
KINDS |= {"min", "max", "median", "quantile", "histogram", "crosstab", "mode"}
FOLDERS = ["arrow", "csv", "parquet", "duckdb", "sqlite", "pandas", "polars"]


def fuzz(name: str, folder: Path, pairs: int, request: Any) -> NeighbourFuzzer:
    url = request.getfixturevalue("postgres_server").url if name == "postgres" else ""
    fuzzer = NeighbourFuzzer(name, folder, url)
    fuzzer.run(pairs)
    assert fuzzer.wrong[:5] == []
    assert fuzzer.pairs == pairs
    return fuzzer


@pytest.mark.long
@pytest.mark.parametrize("name", ["arrow", "sqlite", "csv"])
def test_one_record_or_person_changes_no_joint_probability_by_more_than_epsilon(name, tmp_path, request):
    fuzz(name, tmp_path, 6, request)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*FOLDERS, "postgres"])
def test_nor_does_any_of_thousands_of_pairs_in_any_source(name, tmp_path, request):
    """5,200 pairs in all; every kind of statistic is drawn, and some pair comes as close as is allowed."""
    found = fuzz(name, tmp_path, 650, request)
    assert set(found.compared) == KINDS
    assert found.closest > 0.999

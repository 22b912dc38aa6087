"""Evaluation is total: no value of any type on any engine stops an accepted plan, or counts for more than a record.

Every type that a source can declare (`values`) is used in every way that a plan can use it (`operations`), beside
values at the ends of the type. What one record may move is said in `total.may_move`, what it means in `exact`.

These holes were found so; each would be found again (tests/faults/faults.toml):

| hole                                                                       | found by                                |
|----------------------------------------------------------------------------|-----------------------------------------|
| a column is cast to the decimals of a constant, and overflows              | compare number: int64, decimal(38,0)    |
| the same behind an `and` that stops early: an error if somebody exists     | nested: int64                           |
| the first half day of nanoseconds cannot be truncated                      | key: timestamp[ns]                      |
| a text of a Parquet file that is no UTF-8 stops the reader                 | compare text: text, in parquet          |
| milliseconds that are no microseconds stop the reader, in any column       | a record alone, in parquet              |
| an unsigned number, or HUGEINT, is cast to another column's decimals       | compare number columns: uint64, hugeint |
| decimals of other widths cannot be compared                                | compare number columns: decimal(10,2)   |
| numbers in texts of persons are too deep for SQLite's parser               | sum: text, in sqlite, with persons      |
| constants of a list are cast to the column's type                          | compare number: real, in postgres, slow |

One source again: `pytest tests/fuzz/test_total.py -k sqlite`. With -s the number of evaluations of every operation on
every type is printed; FUZZ_REPORT=file writes it down.
"""

from collections import Counter
from typing import Any

import pytest

from fuzz.sources import FOLDERS, SPARK
from fuzz.total import Fuzzed

TOLD = 12
"""Findings that are told."""

FEW = {
    "duckdb": ("keys", "columns", "conditions", "alone"),
    "postgres": ("keys", "columns", "conditions"),
    "sqlite": ("keys",),
    "parquet": ("alone",),
}
"""What is asked beside the roles of each type: records of files that were read are evaluated as those of DuckDB are."""

EVERY = [*FOLDERS, "postgres", *SPARK]
ALIKE = {
    "int8", "int16", "uint8", "uint16", "uint32", "float16", "decimal(4,1)", "decimal(9,4)", "decimal(18,0)",
    "decimal(20,3)", "decimal(28,10)", "decimal(38,37)", "timestamp[s]", "timestamp[us, zone]", "nocase", "json",
    "bigint", "tinyint", "numeric(38,0)", "double precision", "varchar(10)", "datetime", "smallint", "integer",
    "numeric(4,1)", "numeric(9,4)", "numeric(18,0)", "numeric(20,3)", "numeric(28,10)", "timestamp(0)", "varchar",
    "categories", "binary",
}  # fmt: skip
"""Types that are left to the slow tests: others have larger values and are read in the same way."""


def judge(fuzzed: Fuzzed, asked: Counter[tuple[str, str, str]]) -> None:
    """Fail with what was found wrong, and note what was asked."""
    asked.update({(fuzzed.name, of, operation): number for (of, operation), number in fuzzed.asked.items()})
    if fuzzed.wrong:
        pytest.fail("\n".join([*fuzzed.wrong[:TOLD], f"{len(fuzzed.wrong)} in all"]), pytrace=False)


@pytest.mark.parametrize("name", FEW)
def test_no_value_stops_an_accepted_plan_or_counts_for_more_than_one_record(source: Any, asked: Any, name: str) -> None:
    types, keep = source(name)
    fuzzed = Fuzzed(name, [own for own in types if own.name.removesuffix(" of Arrow") not in ALIKE], keep)
    asks = {
        "keys": lambda: fuzzed.ask_keys_and_persons(1),
        "columns": lambda: fuzzed.ask_columns(1),
        "conditions": lambda: fuzzed.ask_conditions(2),
        "alone": lambda: fuzzed.ask_alone(1),
    }
    fuzzed.ask_roles(0)
    for beside in FEW[name]:
        asks[beside]()
    judge(fuzzed, asked)
    assert fuzzed.clear > 1000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_no_value_of_any_type_stops_any_operation_that_is_accepted(source: Any, asked: Any, name: str) -> None:
    """At least 20,000 evaluations for each source; what is accepted is asked by the plainest plan of each operation."""
    fuzzed, few = Fuzzed(name, *source(name)), name.startswith("spark")
    fuzzed.ask_roles(3 if few else 99, every_bound=not few)
    fuzzed.ask_keys_and_persons(10)
    fuzzed.ask_columns(3 if few else 99)
    fuzzed.ask_conditions(5 if few else 60)
    for row in fuzzed.all.rows[:: 40 if few else 3]:
        fuzzed.ask_alone(row)
    judge(fuzzed, asked)
    assert fuzzed.asked.total() > 20_000
    plans = {(own, name): content for own in fuzzed.types for name, content in fuzzed.probes(own).items()}
    accepted = {(own.name, name) for (own, name), content in plans.items() if fuzzed.all.accepts(content)}
    assert accepted <= set(fuzzed.asked)
    assert {operation for _, operation in accepted} >= {"sum", "compare text", "key", "person"}

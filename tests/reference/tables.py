"""The released tables that are frozen: 40 plans about the same small table of records."""

import sqlite3
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

RECORDS = 90
GROUPS = ["a", "b", "c"]
COLUMNS = {
    "c": {"labels": ["p", "q", "r"], "other": "r"},
    "d": {"labels": ["u", "v"], "other": "v"},
    "x": {"low": 0, "high": 3, "missing": 1},
    "y": {"low": -1, "high": 1, "step": "0.25", "missing": 0},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
}

Source = Callable[[Path], Any]
"""Writes the records into a folder, where that is needed; a frame, or what the plan says of its source."""


def records() -> pa.Table:
    """Records with gaps, values beyond their ranges and unknown labels; the same ones always."""
    k = range(RECORDS)
    return pa.table(
        {
            "g": [("a", "b", "c", "b", None, "elsewhere", "a")[i % 7] for i in k],
            "h": [i * 5 % 3 for i in k],
            "c": [("p", "q", "p", "r", "s", None)[i * 7 % 6] for i in k],
            "d": [("u", "v", "v", "w")[i * 3 % 4] for i in k],
            "x": pa.array([None if i % 11 == 0 else (i * 37 % 50) / 10 - 0.5 for i in k], pa.float64()),
            "y": pa.array([(i * 29 % 23) / 10 - 1.1 for i in k], pa.float64()),
            "n": pa.array([i * 13 % 17 for i in k], pa.int64()),
            "b": [None if i % 13 == 0 else i % 3 == 0 for i in k],
            "person": [f"p{i * 7 % 31}" for i in k],
            "day": [date(2024, 1, 1) + timedelta(days=i * 11 % 400) for i in k],
        }
    )


# --- sources ----------------------------------------------------------------------------------------------


def in_memory(folder: Path) -> Any:
    return records()


def as_csv(folder: Path) -> Any:
    pyarrow.csv.write_csv(records(), folder / "records.csv")
    return {"path": str(folder / "records.csv")}


def as_semicolons(folder: Path) -> Any:
    options = pyarrow.csv.WriteOptions(delimiter=";")
    pyarrow.csv.write_csv(records(), folder / "semicolons.csv", options)
    return {"path": str(folder / "semicolons.csv"), "delimiter": ";", "decimal": "."}


def as_parquet(folder: Path) -> Any:
    pyarrow.parquet.write_table(records(), folder / "records.parquet")
    return {"path": str(folder / "records.parquet")}


def as_duckdb(folder: Path) -> Any:
    import duckdb

    with duckdb.connect(str(folder / "records.duckdb")) as connection:
        connection.register("frame", records())
        connection.execute("create table records as select * from frame")
    return {"path": str(folder / "records.duckdb"), "table": "records"}


def as_sqlite(folder: Path) -> Any:
    kinds = "g text, h integer, c text, d text, x real, y real, n integer, b boolean, person text, day text"
    rows = [tuple(str(v) if isinstance(v, date) else v for v in row.values()) for row in records().to_pylist()]
    with sqlite3.connect(folder / "records.sqlite") as connection:
        connection.execute(f"create table records ({kinds})")
        connection.executemany(f"insert into records values ({', '.join('?' * 10)})", rows)
    connection.close()
    return {"path": str(folder / "records.sqlite"), "table": "records"}


def as_pandas(folder: Path) -> Any:
    return records().to_pandas()


def as_polars(folder: Path) -> Any:
    import polars

    return polars.from_arrow(records())


# --- plans ------------------------------------------------------------------------------------------------

REGISTER, KEY_LIST = "register.csv", "keys.txt"
"""Public files that keys are read from."""


def write_registers(folder: Path) -> None:
    (folder / REGISTER).write_text("g,people\na,20\nc,13\nb,26\n", "utf-8")
    (folder / KEY_LIST).write_text("b\na\nnobody\n", "utf-8")


BY_G: dict[str, Any] = {"by": ["g"], "keys": GROUPS, "size": [20, 26, 13]}
AT_MOST: dict[str, Any] = {"by": ["g"], "keys": GROUPS, "max_size": [24, 30, 24]}
NESTED: dict[str, Any] = {"by": ["g", "h"], "keys": {"g": GROUPS, "h": ["0", "1", "2"]}, "size": 8}
LEVELS = {"levels": ["g", "h"]}
ONE_RECORD_EACH: dict[str, Any] = {"people": {"one_record_each": ["person"]}}
COUNT, HISTOGRAM, MEAN, SUM = {"count": "x >= 2 or c = 'p'"}, {"histogram": "c"}, {"mean": "x"}, {"sum": "x"}
EVERY_KIND: list[dict[str, Any]] = [
    *(COUNT, HISTOGRAM, MEAN, SUM, {"median": "x"}, {"min": "x"}, {"max": "y"}, {"mode": "c"}),
    *({"quantile": "y", "at": "0.1"}, {"quantile": "y", "at": "0.75"}, {"crosstab": ["c", "d"]}),
]


def plan(*statistics: dict[str, Any], groups: dict[str, Any] = BY_G, epsilon: Any = 2, **more: Any) -> dict[str, Any]:
    """A plan about the records; only the columns that statistics may use are declared."""
    return {
        "groups": groups,
        "columns": COLUMNS,
        "statistics": list(statistics),
        "privacy": {"epsilon": epsilon, **more.pop("privacy", {})},
        **more,
    }


def _tables() -> dict[str, tuple[dict[str, Any], Source]]:
    whole, interval = {"by": [], "max_size": 100}, {"output": {"credible_level": 0.9}}
    persons = {"people": {"id": "person", "max_records": 2, "max_groups": 2}}
    found: dict[str, tuple[dict[str, Any], Source]] = {}
    for kind in dict.fromkeys(next(iter(one)) for one in EVERY_KIND):
        found[f"{kind}, public sizes"] = plan(*(one for one in EVERY_KIND if kind in one)), in_memory
    for one in (COUNT, HISTOGRAM, MEAN, SUM, {"median": "x"}, {"mode": "c"}):
        kind = next(iter(one))
        found[f"{kind}, sizes at most, interval"] = plan(one, groups=AT_MOST, **interval), in_memory
    found |= {
        "every kind, public sizes, interval": (plan(*EVERY_KIND, epsilon=12, **interval), in_memory),
        "every kind, sizes at most": (plan(*EVERY_KIND, epsilon=12, groups=AT_MOST), in_memory),
        "one record changed": (
            plan(COUNT, MEAN, groups=AT_MOST, privacy={"neighbours": "change one record"}),
            in_memory,
        ),
        "all people as one group": (plan(COUNT, HISTOGRAM, groups=whole), in_memory),
        "pairs of keys": (plan(COUNT, MEAN, groups={**NESTED, "keys": [["a", "0"], ["b", "2"]]}), in_memory),
        "products of keys": (plan(COUNT, {"median": "x"}, groups=NESTED), in_memory),
        "keys and sizes of a file": (plan(COUNT, MEAN, groups={**BY_G, "keys": REGISTER, "size": "people"}), in_memory),
        "keys of a list": (plan(COUNT, groups={**AT_MOST, "keys": KEY_LIST, "max_size": 30}), in_memory),
        "not stated": (plan(COUNT, groups={**AT_MOST, "keys": ["a", "b", "none"], "missing_key": "none"}), in_memory),
        "quarters": (
            plan(
                COUNT,
                groups={"by": ["day"], "keys": ["2024-Q1", "2024-Q2"], "max_size": 30, "period": {"day": "quarter"}},
            ),
            in_memory,
        ),
        "shares": (plan({**COUNT, "budget_share": "0.6"}, HISTOGRAM, MEAN), in_memory),
        "epsilons of their own": (plan({**COUNT, "epsilon": "0.5"}, {**MEAN, "epsilon": 1}, HISTOGRAM), in_memory),
        "consistent histogram": (plan({**HISTOGRAM, "sum_to_size": True}, **interval), in_memory),
        "wishes": (
            plan({**COUNT, "properties": ["fair"]}, MEAN, design={"loss": "squared", "prior": {"binomial": 0.3}}),
            in_memory,
        ),
        "named mechanism": (plan(COUNT, MEAN, design={"mechanism": "snapped_laplace"}), in_memory),
        "persons": (plan(COUNT, HISTOGRAM, SUM, groups=AT_MOST, **persons, **interval), in_memory),
        "persons, mean and quantiles": (
            plan(MEAN, {"median": "x"}, {"mode": "c"}, groups=AT_MOST, epsilon=6, **persons),
            in_memory,
        ),
        "percentage": (plan({"percentage": "x >= 2"}, **interval), in_memory),
        "percentage, sizes at most": (plan({"percentage": "x >= 2"}, groups=AT_MOST, **interval), in_memory),
        "levels": (plan(COUNT, groups=NESTED, hierarchy=LEVELS, **interval), in_memory),
        "levels, weights": (plan(COUNT, SUM, groups=NESTED, hierarchy={**LEVELS, "weights": [1, 8]}), in_memory),
        "levels, shares, sizes at most": (
            plan(
                {**HISTOGRAM, "sum_to_size": True},
                MEAN,
                groups={**NESTED, "size": 0, "max_size": 14},
                hierarchy={**LEVELS, "shares": ["0.4", "0.6"]},
            ),
            in_memory,
        ),
        "levels, persons": (plan(COUNT, groups={**NESTED, "max_size": 14}, hierarchy=LEVELS, **persons), in_memory),
        "crosstab, one margin": (plan({"crosstab": ["c", "d"], "margins": ["d"]}, groups=AT_MOST), in_memory),
        "crosstab, no margin": (plan({"crosstab": ["d", "c"], "margins": []}, **interval), in_memory),
    }
    for source in (as_csv, as_semicolons, as_parquet, as_duckdb, as_sqlite, as_pandas, as_polars):
        name = source.__name__.removeprefix("as_")
        odd = {"count": "b and n > 4", "name": "odd"}
        found[f"from {name}"] = plan(COUNT, {"mode": "c"}, MEAN, odd, **ONE_RECORD_EACH), source
    for content, _ in found.values():
        if "max_size" in content["groups"]:
            content["groups"] = {name: value for name, value in content["groups"].items() if name != "size"}
    return found


TABLES = _tables()

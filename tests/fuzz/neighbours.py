"""Pairs of databases that differ in one record, or one person, in every source; and plans that ask anything of them."""

import csv
import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from fuzz.joint import exp_below, joint_law, largest_ratio
from inbounds.plan.load import to_plan
from inbounds.releases.aggregate import open_plan_source
from inbounds.schema.errors import PlanError

Content = dict[str, Any]
Rows = list[dict[str, Any]]

TYPES = {
    "g": pa.string(),
    "h": pa.string(),
    "c": pa.string(),
    "x": pa.float64(),
    "n": pa.int64(),
    "b": pa.bool_(),
    "who": pa.string(),
    "day": pa.string(),
}
VALUES: dict[str, list[Any]] = {
    "g": ["A", "A", "A", "B", "elsewhere", "", None],
    "h": ["p", "p", "q", None],
    "c": ["p", "q", "r", "unknown", "P", "x" * 20_000, "", None],
    "x": [0.0, 0.5, 0.74, 1.0, 2.0, -0.0, 5e-324, -1e300, 1.8e308, float("inf"), float("nan"), None],
    "n": [0, 1, 2, 3, -1, 99, 10**18, -(2**63), 2**63 - 1, None],
    "b": [True, False, None],
    "who": ["a", "a", "b", "c", "A", "", None],
    "day": ["2024-01-31", "2024-02-01", "0001-01-01", "9999-12-31", "2024-13-45", "10000-01-01", "no day", None],
}
CONDITIONS = [
    "true", "c = 'p'", "not c = 'p'", "n > 0.00010000000000000002", "x is null or n >= 2", "day >= '2024-02-01'",
    "c in ('p', 'q') and not b", "n = 9223372036854775807", "x < n", "x != 0.5 or day = '2024-01-31'",
]  # fmt: skip
COLUMNS: Content = {
    "c": {"labels": ["p", "q", "r"]}, "h": {"labels": ["p", "q"], "other": "q"},
    "x": {"low": 0, "high": 2, "step": "1/2"}, "n": {"low": 0, "high": 3, "missing": 1},
    "b": {"type": "boolean"}, "day": {"type": "text"},
}  # fmt: skip
STATISTICS: list[Content] = [
    {"sum": "n"}, {"sum": "x"}, {"mean": "n"}, {"percentage": "c = 'p'"}, {"percentage": "x is null or n >= 2"},
    {"min": "n"}, {"max": "x"}, {"median": "n"},
    {"quantile": "n", "at": 0.75}, {"histogram": "c"}, {"histogram": "h", "sum_to_size": True}, {"mode": "c"},
    {"crosstab": ["c", "h"]}, {"crosstab": ["c", "h"], "margins": ["c"]},
]  # fmt: skip


def random_record(rng: random.Random) -> dict[str, Any]:
    return {name: rng.choice(values) for name, values in VALUES.items()}


def random_plan(rng: random.Random) -> Content:
    asked = [rng.choice([{"count": rng.choice(CONDITIONS)}, *STATISTICS]) for _ in range(rng.randint(1, 3))]
    two = rng.random() < 0.5
    keys: Content = (
        {"by": ["g", "h"], "keys": {"g": ["A", "B"], "h": ["p", "q"]}} if two else {"by": ["g"], "keys": ["A", "B"]}
    )
    name, most = rng.choice([("size", 2), ("max_size", 2), ("max_size", 3)])
    keys[name] = most
    if rng.random() < 0.2:
        keys = {"by": ["g"], "keys": ["A", "not stated"], "missing_key": "not stated", "max_size": 2}
    if rng.random() < 0.15:
        keys = {"by": ["day"], "keys": ["2024-01", "2024-02"], "period": {"day": "month"}, "max_size": 2}
    found: Content = {
        "groups": keys,
        "columns": COLUMNS,
        "statistics": [{**one, "name": f"s{k}"} for k, one in enumerate(asked)],
        "privacy": {"epsilon": rng.choice(["1", "1/3", "2.5"])},
    }
    if "max_size" in keys and rng.random() < 0.5:
        found["people"] = {"id": "who", "max_records": rng.choice([1, 2]), "max_groups": rng.choice([1, 2])}
    if "max_size" in keys and rng.random() < 0.3:
        found["where"] = rng.choice(CONDITIONS)
    if rng.random() < 0.3:
        kind = rng.choice(["variance", "standard_deviation"])
        found["statistics"].append({kind: rng.choice(["n", "x"]), "name": "spread"})
    if "people" in found and rng.random() < 0.3:
        found["statistics"].append({"count_distinct": rng.choice(CONDITIONS), "name": "persons"})
    if two and rng.random() < 0.4:
        found["hierarchy"] = {"levels": rng.choice([["g", "h"], ["all", "g", "h"]])}
    return found


def random_pair(rng: random.Random, content: Content) -> tuple[Rows, Rows]:
    """Two tables that the plan calls neighbours."""
    rows = [random_record(rng) for _ in range(rng.randint(1, 7))]
    if "people" in content:
        person = rng.choice([row["who"] for row in rows])
        own = [{**random_record(rng), "who": person} for _ in range(rng.randint(0, 4))]
        others = [row for row in rows if row["who"] != person]
        return others, others + own if person else others
    place, other = rng.randrange(len(rows)), random_record(rng)
    if "size" in content["groups"]:
        same = {name: rows[place][name] for name in content["groups"]["by"]}
        return rows, [*rows[:place], *rng.choice([[], [other | same]]), *rows[place + 1 :]]
    return rows, rows[:place] + rows[place + 1 :]


# --- where they are kept ------------------------------------------------------------------------------------------


def arrow(rows: Rows) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})


def keep(source: str, folder: Path, rows: Rows, postgres: str = "") -> tuple[Content, Any]:
    """A table in a source: what the plan says of it, and the frame or None."""
    if source == "arrow":
        return {}, arrow(rows)
    if source in ("pandas", "polars"):
        table = arrow(rows)
        return {}, table.to_pandas() if source == "pandas" else __import__("polars").from_arrow(table)
    path = folder / f"t.{source}"
    path.unlink(missing_ok=True)
    if source == "parquet":
        pa.parquet.write_table(arrow(rows), path)
    if source == "csv":
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(TYPES)
            writer.writerows(["" if value is None else value for value in row.values()] for row in rows)
    if source == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as database:
            database.register("rows", arrow(rows))
            database.execute("create table t as select * from rows")
    if source == "sqlite":
        with closing(sqlite3.connect(path)) as file_connection, file_connection:
            file_connection.execute(
                "create table t (g text, h text, c text, x real, n integer, b boolean, who text, day text)"
            )
            file_connection.executemany(
                "insert into t values (?, ?, ?, ?, ?, ?, ?, ?)", [tuple(row.values()) for row in rows]
            )
    if source == "postgres":
        import psycopg

        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("drop table if exists t")
            connection.execute(
                "create table t (g text, h text, c text, x float8, n bigint, b boolean, who text, day text)"
            )
            with connection.cursor() as cursor:
                cursor.executemany(
                    "insert into t values (%s, %s, %s, %s, %s, %s, %s, %s)", [tuple(row.values()) for row in rows]
                )
        return {"source": {"url": postgres, "table": "t"}}, None
    return {"source": {"path": str(path), **({"table": "t"} if source in ("duckdb", "sqlite") else {})}}, None


# --- the search ---------------------------------------------------------------------------------------------------


@dataclass
class NeighbourFuzzer:
    """Pairs of neighbours in one source, until enough were compared."""

    source: str
    folder: Path
    postgres: str = ""
    compared: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    wrong: list[str] = field(default_factory=list)
    closest: float = 0.0

    def run(self, pairs: int) -> None:
        for number in range(4 * pairs):
            if self.pairs < pairs:
                self.try_pair(number)

    def try_pair(self, number: int) -> None:
        """Compare the joint laws of one pair; a plan that is refused for either is refused for both."""
        rng = random.Random(f"{self.source} {number}")
        content = random_plan(rng)
        laws: list[Any] = []
        epsilon = Fraction(0)
        for rows in random_pair(rng, content):
            where, frame = keep(self.source, self.folder, rows, self.postgres)
            try:
                plan = to_plan(content | where, frame)
                opened = open_plan_source(plan)
            except PlanError as refusal:
                laws.append(str(refusal))
                continue
            epsilon = plan.total_epsilon
            with closing(opened):
                laws.append(joint_law(plan, opened.aggregate(), self.folder / "designs"))
        if any(isinstance(law, str) for law in laws):
            self._tell(number, laws[0] == laws[1], "refused by data", content)
            return
        ratio = largest_ratio(*laws), largest_ratio(*reversed(laws))
        self.pairs += 1
        self.compared.update(next(iter(statistic)) for statistic in content["statistics"])
        self.closest = max(self.closest, float(max(ratio) / exp_below(epsilon)))
        self._tell(number, max(ratio) <= exp_below(epsilon), f"ratio {float(max(ratio))}", content)

    def _tell(self, number: int, right: bool, found: str, content: Content) -> None:
        if not right:
            self.wrong.append(f"{self.source} {number}: {found}: {content}")

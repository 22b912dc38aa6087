"""10^7 records in 10^5 groups of 200 sizes: a count for each, by us, by OpenDP's Polars path, and without privacy.

All times are processor time of the whole process, threads included; each side writes its table to a file.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from harness import OURS, POLARS, Row, peak_memory, repeated, serve

RECORDS, GROUPS, SIZES = 10_000_000, 100_000, 200
EPSILON = 1
TASK = "10^7 records in 10^5 groups"
FIRST, KEPT = f"{TASK}, first time", f"{TASK}, designs kept"


def written(folder: Path) -> None:
    """Parquet data, and a public table of groups whose sizes go from 11 to 210; no group has more records than that."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    names = np.array([f"group {k:06d}" for k in range(GROUPS)])
    sizes = 11 + np.arange(GROUPS) % SIZES
    pq.write_table(pa.table({"group": names, "size": sizes}), folder / "groups.parquet")
    shares = rng.beta(1, 4, GROUPS)  # most groups have few, as in most tables of small groups
    schema = pa.schema({"group": pa.string(), "answer": pa.string()})
    members = rng.permutation(np.repeat(np.arange(GROUPS), sizes))[:RECORDS]
    with pq.ParquetWriter(folder / "data.parquet", schema) as file:
        for part in np.array_split(members, 10):
            answers = np.where(rng.random(len(part)) < shares[part], "yes", "no")
            file.write_table(pa.table({"group": names[part], "answer": answers}))


def quality(found: Any, sizes: Any, truth: Any) -> str:
    """How far a side's counts are from the true ones on average, and how many cannot be."""
    outside = int(((found < 0) | (found > sizes)).sum())
    return f"mean error {np.abs(found - truth).mean():.2f}, {outside:,} of {len(found):,} counts outside their range"


def timed(run: Callable[[], Any], who: str, **settings: Any) -> tuple[list[float], Any]:
    return repeated(run, who, clock=time.process_time, **settings)


# --- ours, and the floor ----------------------------------------------------------------------------------


def plan(folder: Path) -> dict[str, Any]:
    return {
        "source": {"path": str(folder / "data.parquet")},
        "groups": {"by": ["group"], "keys": str(folder / "groups.parquet"), "size": "size"},
        "columns": {"answer": {"labels": ["yes", "no"]}},
        "statistics": [{"count": "answer = 'yes'"}],
        "privacy": {"epsilon": EPSILON},
    }


def ours(folder: Path) -> list[Row]:
    import duckdb

    from inbounds.releases.pipeline import release

    asked, cache, keys = plan(folder), folder / "cache", count()
    private, true, data, groups = (
        f"'{folder / name}'" for name in ("out.csv", "true.csv", "data.parquet", "groups.parquet")
    )

    def own() -> None:
        counts = f"""select "group", count(*) filter (answer = 'yes') as yes from {data} group by 1"""
        duckdb.execute(f"copy ({counts}) to {true}")

    def whole() -> Any:  # a key for each run, or the second would return the first one's table
        return release(asked, cache=cache, output=folder / "out.csv", overwrite=True, key=f"run {next(keys)}")

    designed, _ = timed(whole, OURS, before=lambda: shutil.rmtree(cache, ignore_errors=True))
    kept, _ = timed(whole, OURS)
    peak = peak_memory()
    alone, _ = timed(own, "DuckDB")
    columns = duckdb.execute(
        f"""select p.count as found, g.size, coalesce(t.yes, 0) as truth
        from {private} p join {groups} g using ("group") left join {true} t using ("group")"""
    ).fetchnumpy()
    promised = f"ε {EPSILON}, certified: a record is changed or left out; every listed group, sizes are public"
    says = quality(columns["found"], columns["size"], columns["truth"])
    engine = ("DuckDB alone", alone, "none: the true counts", False, "aggregation only")
    return [
        Row(FIRST, OURS, designed, promised, True, f"{SIZES} designs made, {says}, peak memory {peak:.2g} GB"),
        Row(FIRST, *engine),
        Row(KEPT, OURS, kept, promised, True, f"{SIZES} designs from the cache, {says}"),
        Row(KEPT, *engine),
    ]


# --- OpenDP ------------------------------------------------------------------------------------------------


def opendp(folder: Path) -> list[Row]:
    """Three ways to ask OpenDP 0.16 for the same counts, by what they take for public knowledge."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    data, groups = (pl.scan_parquet(folder / name) for name in ("data.parquet", "groups.parquet"))
    yes = pl.col("answer") == "yes"
    known = {"by": ["group"], "max_length": 10 + SIZES, "max_groups": GROUPS}

    def question(records: int, *margins: Any) -> Any:
        unit, loss = dp.unit_of(contributions=records), dp.loss_of(epsilon=float(EPSILON))
        return dp.Context.compositor(
            data=data, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1, margins=list(margins)
        ).query()

    def listed() -> Any:
        return (
            question(1)
            .filter(yes)
            .group_by("group")
            .agg(dp.len(signed=True).alias("count"))
            .with_keys(groups.select("group"))
        )

    def added(records: int, invariant: str) -> Any:
        bits = yes.cast(pl.Int64).fill_null(0)
        margin = dp.polars.Margin(invariant=invariant, **known)
        return question(records, margin).group_by("group").agg(bits.dp.sum((0, 1)).alias("count"))

    ways = {
        f"{POLARS}, keys listed": (listed, "a record is added or removed; every listed group"),
        f"{POLARS}, keys public": (
            lambda: added(1, "keys"),
            "a record is added or removed; groups of the data are public",
        ),
        f"{POLARS}, sizes public": (
            lambda: added(2, "lengths"),
            "a record is changed; groups of the data and their sizes are public",
        ),
    }
    truth = (
        groups.join(data.filter(yes).group_by("group").agg(true=pl.len()), on="group", how="left")
        .fill_null(0)
        .collect()
    )
    found = f"OpenDP {version('opendp')}, Polars {version('polars')}"
    rows = []
    for who, (ask, promised) in ways.items():

        def whole(ask: Callable[[], Any] = ask) -> Any:
            table = ask().release().collect()
            table.write_csv(folder / "out.csv")
            return table

        times, table = timed(whole, who)
        beside = table.join(truth, on="group")
        says = quality(*(beside[name].cast(pl.Int64).to_numpy() for name in ("count", "size", "true")))
        note = f"{says}, peak memory {peak_memory():.2g} GB ({found})"
        rows += [
            Row(task, who, times, f"ε {EPSILON}, exact samplers: {promised}", True, note) for task in (FIRST, KEPT)
        ]
    return rows


def measured(side: Callable[[Path], list[Row]]) -> Callable[[], list[Row]]:
    def rows() -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            written(Path(folder))
            return side(Path(folder))

    return rows


if __name__ == "__main__":
    serve({OURS: measured(ours), POLARS: measured(opendp)})

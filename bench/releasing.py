"""10^7 records in 10^5 groups of 200 sizes: the engine's own aggregation, and the whole release around it."""

import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import OURS, Row, repeated, serve

RECORDS, GROUPS, SIZES = 10_000_000, 100_000, 200
TASK = "10^7 records in 10^5 groups"


def written(folder: Path) -> None:
    """Parquet data, and a public table of groups whose sizes go from 11 to 210."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    names = np.array([f"group {k:06d}" for k in range(GROUPS)])
    sizes = 11 + np.arange(GROUPS) % SIZES
    pq.write_table(pa.table({"group": names, "size": sizes}), folder / "groups.parquet")
    schema = pa.schema({"group": pa.string(), "answer": pa.string()})
    with pq.ParquetWriter(folder / "data.parquet", schema) as file:
        for _ in range(10):
            members = rng.choice(GROUPS, RECORDS // 10, p=sizes / sizes.sum())
            answers = np.array(["yes", "no"])[rng.integers(0, 2, len(members))]
            file.write_table(pa.table({"group": names[members], "answer": answers}))


def plan(folder: Path) -> dict[str, Any]:
    return {
        "source": {"path": str(folder / "data.parquet")},
        "groups": {"by": ["group"], "keys": str(folder / "groups.parquet"), "size": "size"},
        "columns": {"answer": {"labels": ["yes", "no"]}},
        "statistics": [{"count": "answer = 'yes'"}],
        "privacy": {"epsilon": 1},
    }


def measure(folder: Path) -> list[Row]:
    import duckdb

    from inbounds.tables import release

    written(folder)
    asked, cache = plan(folder), folder / "cache"

    def own() -> None:
        data = str(folder / "data.parquet")
        duckdb.execute(f"select \"group\", count(*) filter (answer = 'yes') from '{data}' group by 1").fetchnumpy()

    def whole() -> None:
        done = release(asked, cache=cache, output=folder / "out.csv", overwrite=True)
        assert done.table.num_rows == GROUPS

    start = time.process_time()
    designed, _ = repeated(whole, OURS, before=lambda: shutil.rmtree(cache, ignore_errors=True))
    spent = (time.process_time() - start) / len(designed)
    kept, _ = repeated(whole, OURS)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    first, again = f"{TASK}, first time", f"{TASK}, designs kept"
    promised = f"ε {asked['privacy']['epsilon']}, certified"
    note = f"{SIZES} designs made, {spent:.3g} s of processor time, peak memory {peak:.2g} GB"
    alone, _ = repeated(own, "DuckDB")
    engine = ("DuckDB alone", alone, "none: the true counts", False, "aggregation only")
    return [
        Row(first, OURS, designed, promised, True, note),
        Row(first, *engine),
        Row(again, OURS, kept, promised, True, f"{SIZES} designs from the cache"),
        Row(again, *engine),
    ]


def inbounds() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder))


serve({"inbounds": inbounds})

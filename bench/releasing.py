"""10^7 records in 10^5 groups of 200 sizes: the engine's own aggregation, and the whole release around it."""

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import emit, timed

RECORDS, GROUPS, SIZES = 10_000_000, 100_000, 200
TASK = "10^7 records, 10^5 groups, 200 sizes: count"


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


def plan(folder: Path) -> dict:
    return {
        "source": {"path": str(folder / "data.parquet")},
        "groups": {"by": ["group"], "keys": str(folder / "groups.parquet"), "size": "size"},
        "columns": {"answer": {"labels": ["yes", "no"]}},
        "statistics": [{"count": "answer = 'yes'"}],
        "privacy": {"epsilon": 1},
    }


def main(folder: Path) -> list:
    import duckdb

    from inbounds.release import release

    written(folder)

    def own() -> None:
        data = str(folder / "data.parquet")
        duckdb.sql(f"select \"group\", count(*) filter (answer = 'yes') from '{data}' group by 1").fetchnumpy()

    def whole() -> None:
        done = release(plan(folder), cache=folder / "cache", output=folder / "out.csv", overwrite=True)
        assert done.table.num_rows == GROUPS

    before = time.process_time()
    first = timed(TASK + ", first", "inbounds", whole, repeats=1, note=f"{SIZES} designs made")
    first.note += f", {time.process_time() - before:.3g} s of processor time"
    kept = timed(TASK + ", again", "inbounds", whole, note=f"{SIZES} designs kept")
    engine = [timed(task, "DuckDB alone", own, note="aggregation only") for task in (first.task, kept.task)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    for row in (first, kept):
        row.note += f"; {row.seconds / engine[0].seconds:.3g} times the aggregation; peak memory {peak:.2g} GB"
    return [first, engine[0], kept, engine[1]]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    scratch = Path(tempfile.mkdtemp())
    try:
        emit(main(scratch))
    finally:
        shutil.rmtree(scratch)

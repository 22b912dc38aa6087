"""What part of the time of a release is ours: 10^6 records in 10^5 groups of 20 sizes, statistic by statistic.

All times are processor time of the whole process, threads included.
"""

import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from harness import OURS, Row, peak_memory, repeated, serve

RECORDS, GROUPS, MANY = 1_000_000, 100_000, 245

STATISTICS: dict[str, dict[str, Any]] = {
    "count": {"statistics": [{"count": "answer = 'yes'"}]},
    "sum": {"statistics": [{"sum": "score"}]},
    "mean": {"statistics": [{"mean": "score"}]},
    "median": {"statistics": [{"median": "score"}]},
    "histogram": {"statistics": [{"histogram": "answer"}]},
    "count that adds up over regions": {
        "statistics": [{"count": "answer = 'yes'"}],
        "hierarchy": {"levels": ["region", "group"]},
    },
}


def written(folder: Path, kinds: int = 20, groups: int = GROUPS, records: int = RECORDS) -> None:
    """A region above every hundred groups, a score from 0 to 10; groups have so many different sizes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    names = np.array([f"group {k:06d}" for k in range(groups)])
    regions = np.array([f"region {k // 100:04d}" for k in range(groups)])
    sizes = records // groups // 2 + np.arange(groups) % kinds * max(1, records // groups // kinds)
    pq.write_table(pa.table({"region": regions, "group": names, "size": sizes}), folder / "groups.parquet")
    members = rng.permutation(np.repeat(np.arange(groups), sizes))[:records]
    answers = np.where(rng.random(len(members)) < 0.3, "yes", "no")
    columns = {"region": regions[members], "group": names[members], "answer": answers}
    pq.write_table(pa.table({**columns, "score": rng.integers(0, 11, len(members))}), folder / "data.parquet")


def taken_apart(folder: Path) -> list[Row]:
    """Each statistic with its designs kept: how much of the time the engine, the designs and the adding up take."""
    from inbounds.adjust import tree_adjust
    from inbounds.releases import workload
    from inbounds.releases.pipeline import release
    from inbounds.sources.engines import DuckDB

    spent = {"engine": 0.0, "designs": 0.0, "adding up": 0.0}
    for owner, name, part in (
        *((DuckDB, name, "engine") for name in ("keep", "load", "fetch")),
        (workload, "_make", "designs"),
        (tree_adjust, "adjust_by_branch", "adding up"),
        (tree_adjust, "fit_local_rates", "adding up"),
    ):
        setattr(owner, name, clocked(getattr(owner, name), spent, part))
    rows, keys = [], count()
    for name, fields in STATISTICS.items():
        asked = {
            "source": {"path": str(folder / "data.parquet")},
            "groups": {"by": ["region", "group"], "keys": str(folder / "groups.parquet"), "size": "size"},
            "columns": {"answer": {"labels": ["yes", "no"]}, "score": {"low": 0, "high": 10}},
            "privacy": {"epsilon": 1},
            **fields,
        }

        def whole(asked: dict[str, Any] = asked) -> Any:
            spent.update(dict.fromkeys(spent, 0.0))
            key = f"run {next(keys)}"
            return release(asked, cache=folder / "cache", output=folder / "out.csv", overwrite=True, key=key)

        first = time.process_time()
        whole()  # designs the mechanisms
        first = time.process_time() - first
        times, _ = repeated(whole, OURS, clock=time.process_time)
        shares = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in spent.items() if seconds > 0.005)
        rest = times[-1] - sum(spent.values())
        note = f"first time {first:.2g} s; of the last {times[-1]:.2f} s: {shares}, the rest {rest:.2f} s"
        ours = 1 - spent["engine"] / times[-1]
        task = f"10^6 records in 10^5 groups: {name}"
        rows.append(Row(task, OURS, times, "ε 1, certified", True, f"{ours:.0%} is ours; {note}"))
    return rows


def beside_the_engine() -> list[Row]:
    """Counts for many and few groups, and DuckDB alone with the statements that the release sends it after its charge.

    Alone it reads the file by itself, and writes the true counts to a CSV file.
    """
    return [row for records in (10**6, 10**7) for groups in (GROUPS, 100) for row in _beside(records, groups)]


def _beside(records: int, groups: int) -> list[Row]:
    import duckdb

    from inbounds.releases.pipeline import release
    from inbounds.sources.engines import DuckDB

    sent: list[tuple[str, tuple[Any, ...]]] = []

    def noted(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        return lambda engine, *words: (sent.append((name, words)), run(engine, *words))[1]

    names, keys = ("load", "keep", "fetch"), count()
    plain = {name: getattr(DuckDB, name) for name in names}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, groups=groups, records=records)
        asked = {
            "source": {"path": str(folder / "data.parquet")},
            "groups": {"by": ["region", "group"], "keys": str(folder / "groups.parquet"), "size": "size"},
            "columns": {"answer": {"labels": ["yes", "no"]}},
            "privacy": {"epsilon": 1},
            **STATISTICS["count"],
        }

        def whole() -> Any:
            key, cache = f"run {next(keys)}", folder / "cache"
            return release(asked, cache=cache, output=folder / "out.csv", overwrite=True, key=key)

        for name in names:
            setattr(DuckDB, name, noted(name, plain[name]))
        whole()  # designs the mechanisms
        for name in names:
            setattr(DuckDB, name, plain[name])
        loads = [call for call in sent if call[0] == "load"]
        kept = [call for call in sent if call[0] == "keep" and "_loaded" not in call[1][1]]
        (query,) = [call for call in sent if call[0] == "fetch"][-1][1]

        def alone() -> None:
            engine = DuckDB(duckdb.connect())
            engine.connection.execute("SET disabled_optimizers = 'statistics_propagation'")
            engine.connection.execute(f"CREATE VIEW inbounds_read_records AS FROM '{folder / 'data.parquet'}'")
            for name, words in (*loads, *kept[-2:]):  # those before it are the rehearsal on no records
                plain[name](engine, *words)
            engine.connection.execute(f"COPY ({query}) TO '{folder / 'true.csv'}'")

        ours, _ = repeated(whole, OURS, clock=time.process_time)
        theirs, _ = repeated(alone, "DuckDB", clock=time.process_time)
    task = f"a count, 10^{len(str(records)) - 1} records in {groups:,} groups"
    note = f"{min(ours) / min(theirs):.2f} times the engine alone"
    engine_note = "the same canonical records and joins, the true counts in a CSV file"
    return [
        Row(task, OURS, ours, "ε 1, certified", True, note),
        Row(task, "DuckDB alone", theirs, "none: the true counts", False, engine_note),
    ]


def clocked(run: Callable[..., Any], spent: dict[str, float], part: str) -> Callable[..., Any]:
    """The same function; its processor time is added to a part."""

    def call(*words: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return run(*words, **named)
        finally:
            spent[part] += time.process_time() - start

    return call


def ours() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder))
        return taken_apart(Path(folder))


def many_sizes() -> list[Row]:
    """The first release of means in groups of many sizes, in a process of its own: its time, and its peak of memory."""
    from inbounds.releases.pipeline import release

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, MANY)
        asked = {
            "source": {"path": str(folder / "data.parquet")},
            "groups": {"by": ["group"], "keys": str(folder / "groups.parquet"), "size": "size"},
            "columns": {"score": {"low": 0, "high": 10}},
            "privacy": {"epsilon": 1},
            "statistics": [{"mean": "score"}],
        }
        start = time.process_time()
        release(asked, cache=folder / "cache", output=folder / "out.csv")
        spent = time.process_time() - start
    task = f"10^6 records in 10^5 groups of {MANY} sizes: mean, first time"
    return [Row(task, OURS, [spent], "ε 1, certified", True, f"peak memory {peak_memory():.2f} GB")]


serve({OURS: ours, f"{OURS}, many sizes": many_sizes, f"{OURS}, the engine alone": beside_the_engine})

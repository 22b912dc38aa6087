"""For bench/local.py: variances beside theory, what reports cost, table engines, and the libraries themselves."""

import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from label_cases import Floats, errors, mechanism_of, shares

import inbounds as ib

EPSILONS = ("0.5", "1", "2", "4")
MILLION, MANY = 1_000_000, 100_000


# --- variances --------------------------------------------------------------------------------------------


def variances() -> list[dict[str, Any]]:
    """n times the variance of a rare label's share, beside the least that any law has."""
    rows = []
    for labels in (5, 30, 1000, MANY, MILLION):
        for epsilon in EPSILONS:
            best = ib.local.compare_labels(ib.category(labels), epsilon).best
            theory = subset_theory(labels, math.exp(float(epsilon)))
            named = {"labels": labels, "epsilon": epsilon, "law": best.name}
            rows.append({**named, "variance": best.variance_at_share(Fraction(0)), "theory": theory})
    return rows


def subset_theory(labels: int, e: float) -> float:
    """Subset selection of the best size by its closed form, for a rare label."""

    def variance(d: int) -> float:
        hit = d * e / (d * e + labels - d)
        chance = (d - hit) / (labels - 1)  # the d members of a set, the truth left out, fall on the others alike
        return chance * (1 - chance) / (hit - chance) ** 2

    near = labels / (e + 1)
    return min(variance(d) for d in range(max(1, int(near) - 2), min(labels - 1, int(near) + 3) + 1))


# --- costs ------------------------------------------------------------------------------------------------


def costs() -> list[list[str]]:
    """Processor seconds for 10^6 reports of 10^5 labels."""
    rng, rows = np.random.default_rng(0), []
    for epsilon in ("1", "4"):
        mechanism = ib.local.best_label_mechanism(ib.category(MANY), epsilon)
        client, values = ib.local.make_randomizer(mechanism), rng.integers(0, MANY, MILLION)
        start = time.process_time()
        reports = client(values)
        middle = time.process_time()
        ib.reconstruct(ib.Collector(mechanism).add(reports))
        rows.append([epsilon, f"{middle - start:.2f} s", f"{time.process_time() - middle:.2f} s"])
    return rows


def clients() -> list[list[str]]:
    """Microseconds of processor time of a client's report: by itself (the median of 9 rounds), and among 10^5."""
    rows = []
    for labels in (18, 1000, MILLION):
        for law in ib.local.compare_labels(ib.category(labels), 1).laws:
            client = ib.local.make_randomizer(law.mechanism)
            values = np.random.default_rng(0).integers(0, labels, 100_000)
            client(1)
            alone = float(np.median([timed(lambda c=client: [c(1) for _ in range(200)]) / 200 for _ in range(9)]))
            together = timed(lambda c=client, v=values: c(v)) / len(values)
            rows.append([str(labels), law.name.replace("_", " "), f"{alone * 1e6:.0f} µs", f"{together * 1e6:.2f} µs"])
    return rows


def timed(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


# --- engines ----------------------------------------------------------------------------------------------


def engines() -> list[list[str]]:
    """Processor seconds for 10^6 reports of 10^5 labels in each table engine: randomized, and counted and estimated.

    Those of Spark's Java process and of its workers are counted too.
    """
    mechanism = ib.local.best_label_mechanism(ib.category(MANY), 1)
    values, rows = np.random.default_rng(1).integers(0, MANY, MILLION), []
    for name, (made, written) in ENGINES.items():
        try:
            table = made(values)
        except Exception as reason:
            rows.append([name, f"not run: {type(reason).__name__}: {str(reason).splitlines()[0]}", ""])
            continue
        start = family_time()
        reported = written(ib.local.randomize(table, "town", mechanism))
        middle = family_time()
        ib.reconstruct(ib.local.collect(reported, "town", mechanism))
        rows.append([name, f"{middle - start:.1f} s", f"{family_time() - middle:.1f} s"])
    return rows


def family_time() -> float:
    """Processor seconds of this process and of all that it started, by Linux's own count."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        found[int(file.parent.name)] = (int(words[1]), sum(map(int, words[11:15])))
    family = {os.getpid()}
    while new := {pid for pid, (parent, _) in found.items() if parent in family} - family:
        family |= new
    return sum(found[pid][1] for pid in family) / os.sysconf("SC_CLK_TCK")


def of_pandas(values: Floats) -> Any:
    import pandas

    return pandas.DataFrame({"town": values})


def of_polars(values: Floats) -> Any:
    import polars

    return polars.DataFrame({"town": values})


def of_arrow(values: Floats) -> Any:
    import pyarrow

    return pyarrow.table({"town": values})


def of_duckdb(values: Floats) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.register("given", of_arrow(values))
    return connection.sql("select * from given")


def of_spark(values: Floats) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers have the same libraries
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    session.sparkContext.setLogLevel("ERROR")
    frame = session.createDataFrame(of_pandas(values)).cache()
    frame.count()
    return frame


def cached(frame: Any) -> Any:
    """Evaluated once and kept: a lazy table would draw anew when it is counted."""
    frame = frame.cache()
    frame.count()
    return frame


def same(table: Any) -> Any:
    return table


def read_whole(reader: Any) -> Any:
    return reader.read_all() if hasattr(reader, "read_all") else reader


ENGINES: dict[str, tuple[Callable[[Floats], Any], Callable[[Any], Any]]] = {
    "pandas": (of_pandas, same),
    "Polars": (of_polars, same),
    "Arrow": (of_arrow, same),
    "DuckDB": (of_duckdb, read_whole),
    "Spark": (of_spark, cached),
}


# --- the libraries themselves -------------------------------------------------------------------------------

LIBRARY_CELLS = ((30, "1", 10_000), (1000, "1", 10_000))
LIBRARY_RUNS = {30: 5, 1000: 1}


def libraries() -> list[list[str]]:
    """Means of L1 and Kantorovich errors, and what a report costs with its part of the estimate, by their own code."""
    rows = []
    for labels, epsilon, reports in LIBRARY_CELLS:
        for data in ("Zipf", "uniform", "bimodal", "atoms"):
            for name, run in {"inbounds": _ours, **LIBRARIES}.items():
                rows.append(
                    [str(labels), epsilon, str(reports), data, name, *_judged(run, labels, epsilon, reports, data)]
                )
    return rows


def _judged(run: Callable[..., Floats], labels: int, epsilon: str, reports: int, data: str) -> list[str]:
    rng, found, spent = np.random.default_rng(labels), [], 0.0
    for _ in range(LIBRARY_RUNS[labels]):
        truth = shares(data, labels, rng)
        values = rng.choice(labels, reports, p=truth)
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimate = run(values, labels, float(epsilon))
        except Exception as reason:
            return [f"not run: {type(reason).__name__}: {str(reason).splitlines()[0][:80]}", "", ""]
        spent += time.process_time() - start
        found.append(errors(np.asarray(estimate, dtype=float), truth))
    l1, kantorovich = np.mean(found, axis=0)
    return [f"{l1:.4g}", f"{kantorovich:.4g}", f"{spent / LIBRARY_RUNS[labels] / reports * 1e6:.1f} µs"]


def _ours(values: Floats, labels: int, epsilon: float) -> Floats:
    mechanism = mechanism_of(labels, f"{epsilon:g}")
    return ib.reconstruct(ib.Collector(mechanism).add(ib.local.make_randomizer(mechanism)(values))).distribution


def _pure(client: Any, server: Any, values: Floats, labels: int) -> Floats:
    for value in values.tolist():
        server.aggregate(client.privatise(value + 1))
    return np.array(server.estimate_all(range(1, labels + 1), normalization=2)) / len(values)


def _pure_hashing(values: Floats, labels: int, epsilon: float) -> Floats:
    from pure_ldp.frequency_oracles import LHClient, LHServer

    return _pure(LHClient(epsilon, labels, use_olh=True), LHServer(epsilon, labels, use_olh=True), values, labels)


def _pure_unary(values: Floats, labels: int, epsilon: float) -> Floats:
    from pure_ldp.frequency_oracles import UEClient, UEServer

    return _pure(UEClient(epsilon, labels, use_oue=True), UEServer(epsilon, labels, use_oue=True), values, labels)


def _pure_hadamard(values: Floats, labels: int, epsilon: float) -> Floats:
    from pure_ldp.frequency_oracles import HadamardResponseClient, HadamardResponseServer

    server = HadamardResponseServer(epsilon, labels)
    return _pure(HadamardResponseClient(epsilon, labels, server.get_hash_funcs()), server, values, labels)


def _multi_subsets(values: Floats, labels: int, epsilon: float) -> Floats:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    return np.asarray(SS_Aggregator_MI([SS_Client(v, labels, epsilon) for v in values.tolist()], labels, epsilon))


def _multi_unary(values: Floats, labels: int, epsilon: float) -> Floats:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return np.asarray(UE_Aggregator_MI([UE_Client(v, labels, epsilon, True) for v in values.tolist()], epsilon, True))


LIBRARIES: dict[str, Callable[[Floats, int, float], Floats]] = {
    "pure-ldp, local hashing": _pure_hashing,
    "pure-ldp, unary encoding": _pure_unary,
    "pure-ldp, Hadamard response": _pure_hadamard,
    "multi-freq-ldpy, subset selection": _multi_subsets,
    "multi-freq-ldpy, unary encoding": _multi_unary,
}

PARTS: dict[str, Callable[[], Any]] = {
    "variances": variances,
    "costs": costs,
    "clients": clients,
    "engines": engines,
    "libraries": libraries,
}


# --- the page ---------------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


def sections(results: dict[str, Any]) -> list[str]:
    shown = [
        [
            *(str(row["labels"]), row["epsilon"], row["law"].replace("_", " "), f"{row['variance']:.5g}"),
            *(f"{row['theory']:.5g}", f"{row['variance'] / row['theory']:.3f}"),
        ]
        for row in results["variances"]
    ]
    engine_head = ["engine", "randomized", "counted and estimated"]
    library_head = ["labels", "epsilon", "reports", "data", "who", "L1", "Kantorovich", "a report, with its estimate"]
    libraries = table(library_head, results["libraries"]) if "libraries" in results else ["Not measured yet."]
    engines_ = table(engine_head, results["engines"]) if "engines" in results else ["Not measured yet."]
    return [
        *("## The libraries themselves", "", LIBRARIES_TOLD, "", *libraries, ""),
        *("## Variance of a rare label's share, times the number of reports", ""),
        *table(["labels", "epsilon", "law", "ours", "theory's best", "ratio"], shown),
        *("", "## 10^6 reports of 10^5 labels, in processor time", ""),
        *table(["epsilon", "randomized", "reconstructed"], results["costs"]),
        *("", "The same inside table engines at epsilon 1, engine and workers included:", ""),
        *engines_,
        *("", "## A client's report, in processor time, at epsilon 1", ""),
        *table(["labels", "law", "by itself", "among 10^5"], results["clients"]),
    ]


LIBRARIES_TOLD = f"""The libraries' own clients and servers (pure-ldp 1.2 with its projection, multi-freq-ldpy 0.2.5
with its cut), means of {LIBRARY_RUNS[30]} collections about 30 labels, one about 1,000: a tenth more or less is
chance, in Kantorovich distance far more than that. The costs include the estimate. They take reports one by one in
Python, and all but Hadamard response keep or hash every report for every label. At 10^5 labels and 10^6 reports
that is 10^11 hashes or bits, so they are run with 10,000 reports here; above they stand with their exact laws.
pure-ldp's local hashing needs xxhash before version 4."""

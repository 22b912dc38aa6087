"""Labels under local privacy: errors beside peers on the same data, variances beside theory, and what it costs.

    python bench/local.py [--peers FOLDER]      writes docs/benchmarks/local.json and local.md; goes on where it stopped

Peers are multi-freq-ldpy (estimates cut at zero and scaled) and pure-ldp (projected onto the simplex), with randomized
response, optimized unary encoding and, where the libraries themselves are at hand (FOLDER, in a process of their own),
their own clients. Unary encoding flips every bit by itself, so its counts are drawn from their own law, exactly, at any
size. One thread; a few minutes.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks"
LABELS, EPSILONS, REPORTS = (5, 30, 1000, 100_000), ("0.5", "1", "2", "4"), (10_000, 1_000_000)
DATA = ("Zipf", "uniform", "bimodal", "atoms")
RUNS = {5: 300, 30: 300, 1000: 3, 100_000: 1}
"""Collections that a mean is over."""
FEW = 30
BESIDE = "ours on the collections of the libraries"
LIBRARY_CELL = (30, "1", 10_000)
Floats = np.ndarray[Any, Any]


def shares(data: str, labels: int, rng: np.random.Generator) -> Floats:
    """The true distribution of a kind."""
    x = np.arange(labels)
    match data:
        case "Zipf":
            p = 1.0 / (x + 1)
        case "uniform":
            p = np.ones(labels)
        case "bimodal":
            p = np.exp(-(((x / labels - 0.3) / 0.07) ** 2) / 2) + 0.7 * np.exp(-(((x / labels - 0.7) / 0.1) ** 2) / 2)
        case _:
            p = np.zeros(labels)
            p[rng.choice(labels, min(6, labels), replace=False)] = rng.dirichlet(np.ones(min(6, labels)))
    return p / p.sum()


# --- peers ------------------------------------------------------------------------------------------------


def cut(raw: Floats) -> Floats:
    """As multi-freq-ldpy: no estimate below zero, then all scaled to one."""
    above = np.maximum(raw, 0)
    return above / above.sum() if above.sum() > 0 else np.full(len(raw), 1 / len(raw))


def unary(people: Floats, e: float, rng: np.random.Generator) -> Floats:
    """Unbiased shares by optimized unary encoding: a one stays with 1/2, a zero turns with 1 / (e^epsilon + 1)."""
    n, turned = people.sum(), 1 / (e + 1)
    seen = rng.binomial(people, 0.5) + rng.binomial(n - people, turned)
    return (seen / n - turned) / (0.5 - turned)


def response(people: Floats, e: float, rng: np.random.Generator, seen: Floats | None) -> Floats:
    """Unbiased shares by randomized response; from the same reports where ours are of that law too."""
    labels, n = len(people), people.sum()
    lift = (e - 1) / (e - 1 + labels)
    if seen is None:
        kept = rng.binomial(people, lift)
        seen = kept + rng.multinomial(n - kept.sum(), np.full(labels, 1 / labels))
    return (seen / n - (1 - lift) / labels) / lift


def peers(people: Floats, e: float, rng: np.random.Generator, seen: Floats | None) -> dict[str, Floats]:
    from inbounds.local.reconstruct.linear import onto_simplex

    found = {}
    for name, raw in (("OUE", unary(people, e, rng)), ("GRR", response(people, e, rng, seen))):
        found[f"{name}, cut and scaled"], found[f"{name}, projected"] = cut(raw), onto_simplex(raw)
    return found


LIBRARIES = """
import json, sys
import numpy as np
values, labels, epsilon = json.load(sys.stdin)
found = {}
try:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client, SS_Aggregator_MI
    reports = [SS_Client(v, labels, epsilon) for v in values]
    found["multi-freq-ldpy SS"] = SS_Aggregator_MI(reports, labels, epsilon).tolist()
except Exception as reason:
    found["multi-freq-ldpy SS"] = type(reason).__name__
try:
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    client, server = LHClient(epsilon=epsilon, use_olh=True), LHServer(epsilon=epsilon, d=labels, use_olh=True)
    for v in values:
        server.aggregate(client.privatise(v + 1))
    counts = np.array(server.estimate_all(range(1, labels + 1), normalization=2))
    found["pure-ldp OLH"] = (counts / len(values)).tolist()
except Exception as reason:
    found["pure-ldp OLH"] = type(reason).__name__
print(json.dumps(found))
"""


def libraries(values: list[int], labels: int, epsilon: float, folder: str | None) -> dict[str, Any]:
    """Estimates by the libraries' own clients and servers; a name with a text where one is missing."""
    if folder is None:
        return {}
    given = json.dumps([values, labels, epsilon])
    environment = {**os.environ, "PYTHONPATH": folder}
    done = subprocess.run(
        [sys.executable, "-c", LIBRARIES], input=given, capture_output=True, text=True, env=environment, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else {"peers": "failed"}


# --- measuring --------------------------------------------------------------------------------------------


def errors(estimate: Floats, truth: Floats) -> list[float]:
    """L1, and the Kantorovich distance as a share of the range."""
    off = estimate - truth
    return [float(np.abs(off).sum()), float(np.abs(np.cumsum(off)).sum()) / (len(truth) - 1)]


def counted(mechanism: Any, people: Floats, rng: np.random.Generator) -> Floats:
    """Counts of the reports of so many people with each label: of few labels from the law, of many one by one."""
    from inbounds.local.reconstruct.shapes import channel_of

    if len(people) > FEW:
        reports = mechanism.simulate(np.repeat(np.arange(len(people)), people), rng)
        return np.bincount(reports, minlength=channel_of(mechanism).shape[0])
    law = columns(mechanism)
    return sum(rng.multinomial(n, column) for n, column in zip(people, law, strict=True))


@cache
def columns(mechanism: Any) -> list[Floats]:
    """Pr[report | label], a row for each label."""
    from inbounds.local.reconstruct.shapes import channel_of

    channel = channel_of(mechanism)
    return [column / column.sum() for column in map(channel.forward, np.eye(channel.shape[1]))]


def cell(labels: int, epsilon: str, reports: int, data: str, folder: str | None) -> dict[str, Any]:
    """Mean errors over the runs, ours and every peer's, and which law was ours."""
    import inbounds as ib

    rng, e = np.random.default_rng([labels, reports, DATA.index(data)]), math.exp(float(epsilon))
    mechanism = ib.local.label_mechanism(ib.category(labels), epsilon)
    found: dict[str, list[list[float]]] = {}
    for run in range(RUNS[labels]):
        truth = shares(data, labels, rng)
        people = rng.multinomial(reports, truth)
        counts = counted(mechanism, people, rng)
        ours = ib.reconstruct(counts, mechanism, given="counts").distribution
        same = counts if mechanism.origin.name == "randomized_response" else None
        named = {"ours": ours, **peers(people, e, rng, same)}
        if (labels, epsilon, reports) == LIBRARY_CELL and run == 0:
            named[BESIDE] = ours
            named |= libraries(np.repeat(np.arange(labels), people).tolist(), labels, float(epsilon), folder)
        for name, estimate in named.items():
            if not isinstance(estimate, str):
                found.setdefault(name, []).append(errors(np.asarray(estimate), truth))
    return {"law": mechanism.origin.name, **{name: np.mean(all_, axis=0).tolist() for name, all_ in found.items()}}


def variances() -> list[dict[str, Any]]:
    """n times the variance of a rare label's share, beside the least that any law has where labels are many."""
    import inbounds as ib

    rows = []
    for labels in (*LABELS, 1_000_000):
        for epsilon in EPSILONS:
            best = ib.local.compare_labels(ib.category(labels), epsilon).best
            e = math.exp(float(epsilon))
            rows.append(
                {
                    "labels": labels,
                    "epsilon": epsilon,
                    "law": best.name,
                    "variance": best.of_share(Fraction(0)),
                    "theory": min(subset_theory(labels, e), 4 * e / (e - 1) ** 2),
                }
            )
    return rows


def subset_theory(labels: int, e: float) -> float:
    """Subset selection of the best size by its closed form, for a rare label."""

    def variance(d: int) -> float:
        hit = d * e / (d * e + labels - d)
        chance = (d - hit) / (labels - 1)  # the d members of a set, the truth left out, fall on the others alike
        return chance * (1 - chance) / (hit - chance) ** 2

    near = labels / (e + 1)
    return min(variance(d) for d in range(max(1, int(near) - 2), min(labels - 1, int(near) + 3) + 1))


def costs() -> dict[str, float]:
    """Processor seconds for 10^6 reports of 10^5 labels, and microseconds of one report by itself."""
    import inbounds as ib

    rng, found = np.random.default_rng(0), {}
    for epsilon in ("1", "4"):
        mechanism = ib.local.label_mechanism(ib.category(100_000), epsilon)
        client, values = ib.local.randomizer(mechanism), rng.integers(0, 100_000, 1_000_000)
        start = time.process_time()
        reports = client(values)
        found[f"randomize, epsilon {epsilon}"] = time.process_time() - start
        start = time.process_time()
        ib.reconstruct(ib.Collector(mechanism).add(reports))
        found[f"reconstruct, epsilon {epsilon}"] = time.process_time() - start
    for labels in (18, 1000, 1_000_000):
        mechanism = ib.local.label_mechanism(ib.category(labels), "1")
        mechanism.sample(1)
        start = time.process_time()
        for _ in range(500):
            mechanism.sample(1)
        found[f"one report, {labels} labels"] = (time.process_time() - start) / 500 * 1e6
    return found


# --- the page ---------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    cells = results["cells"]
    lines = ["# Labels under local privacy", "", INTRODUCTION, ""]
    for k, measure in enumerate(("L1 error", "Kantorovich distance, as a share of the range")):
        lines += [
            f"## {measure}",
            "",
            "| labels | epsilon | reports | data | our law | ours | best peer | ours / best |",
        ]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for name, found in cells.items():
            labels, epsilon, reports, data = name.split("|")
            rest = {who: value[k] for who, value in found.items() if who.startswith(("OUE", "GRR"))}
            best = min(rest, key=lambda who: rest[who])
            ours = found["ours"][k]
            row = [labels, epsilon, reports, data, found["law"].replace("_", " "), f"{ours:.4g}"]
            lines.append(f"| {' | '.join([*row, f'{rest[best]:.4g} ({best})', f'{ours / rest[best]:.2f}'])} |")
        lines += ["", summary(list(cells.values()), k), ""]
    lines += libraries_table(cells)
    lines += ["## Variance of a rare label's share, times the number of reports", ""]
    lines += ["| labels | epsilon | law | ours | theory's best | ratio |", "|---|---|---|---|---|---|"]
    for row in results["variances"]:
        ratio = row["variance"] / row["theory"]
        name, ours, theory = row["law"].replace("_", " "), f"{row['variance']:.5g}", f"{row['theory']:.5g}"
        lines.append(f"| {row['labels']} | {row['epsilon']} | {name} | {ours} | {theory} | {ratio:.3f} |")
    lines += ["", "## Cost, in processor time", "", "| what | |", "|---|---|"]
    for name, value in results["costs"].items():
        shown = f"{value:.0f} µs" if name.startswith("one") else f"{value:.2f} s"
        lines.append(f"| {name}{'' if name.startswith('one') else ', 10^6 reports of 10^5 labels'} | {shown} |")
    return "\n".join([*lines, ""])


def libraries_table(cells: dict[str, Any]) -> list[str]:
    """The libraries' own clients and servers beside ours, on the same collections."""
    lines = ["## The libraries themselves", "", "L1 errors on the same collection.", ""]
    lines += ["| labels | epsilon | reports | data | who | L1 |", "|---|---|---|---|---|---|"]
    for name, found in cells.items():
        for who in (each for each in found if each == BESIDE or "ldp" in each):
            shown = "inbounds" if who == BESIDE else who
            lines.append(f"| {' | '.join(name.split('|'))} | {shown} | {found[who][0]:.4g} |")
    return [*lines, ""]


def summary(cells: list[dict[str, Any]], k: int) -> str:
    ratios = [c["ours"][k] / min(v[k] for who, v in c.items() if who.startswith(("OUE", "GRR"))) for c in cells]
    above = sum(ratio > 1.03 for ratio in ratios)
    return (
        f"Median ratio {np.median(ratios):.2f}; {above} of {len(ratios)} above 1.03, the largest {max(ratios):.2f}. "
        "Errors are means of 300 collections about 5 and 30 labels, of three about 1,000, of one about 100,000."
    )


INTRODUCTION = """Written by `bench/local.py`. The law is the one that `ib.local.label_mechanism` picks, the estimate
the one that `ib.reconstruct` picks. Peers on the same data: randomized response (GRR) and optimized unary encoding
(OUE), their counts drawn from their exact laws, made distributions as multi-freq-ldpy does (cut at zero and scaled)
and as pure-ldp does (projected onto the simplex); at 30
labels, epsilon 1 and 10,000 reports also subset selection by multi-freq-ldpy and local hashing by pure-ldp
themselves, where they are installed."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", default=None, help="a folder with multi-freq-ldpy and pure-ldp")
    folder = parser.parse_args().peers
    path = DOCS / "local.json"
    results = json.loads(path.read_text()) if path.exists() else {"cells": {}}
    for labels in LABELS:
        for epsilon in EPSILONS:
            for reports in REPORTS:
                for data in DATA:
                    name = f"{labels}|{epsilon}|{reports}|{data}"
                    if name not in results["cells"]:
                        results["cells"][name] = cell(labels, epsilon, reports, data, folder)
                        path.write_text(json.dumps(results))
    results.setdefault("variances", variances())
    results.setdefault("costs", costs())
    path.write_text(json.dumps(results, indent=1) + "\n")
    (DOCS / "local.md").write_text(page(results))


if __name__ == "__main__":
    main()

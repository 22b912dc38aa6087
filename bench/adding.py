"""Tables that add up: errors at every level, bias of totals and coverage, beside what others do. Writes its own page.

`python bench/adding.py` measures and writes docs/benchmarks/adding.md.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread

one_thread()

import inbounds as ib  # noqa: E402
from inbounds.data import adult  # noqa: E402
from inbounds.tables.adding.adjusted import expected_errors, nearest_squares  # noqa: E402
from inbounds.tables.adding.best import best_sums  # noqa: E402
from inbounds.tables.adding.learned import local_rates  # noqa: E402
from inbounds.tables.adding.posterior import posterior  # noqa: E402
from inbounds.tables.adding.reports import GeometricReports  # noqa: E402
from inbounds.tables.adding.shares import designed_shares  # noqa: E402
from inbounds.tables.adding.tree import Tree  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "adding.md"
EPSILONS, SIZE, DRAWS, LEVEL = (0.5, 1.0, 2.0, 4.0), 20, 14, 0.9
OURS, SQUARES = "inbounds", "least squares, non-negative, rounded"
Levels = list[np.ndarray]


def adult_groups(rng: np.random.Generator) -> tuple[Tree, np.ndarray]:
    """Groups of 20 people within age bands of ten years, within sexes: who earns more than 50,000 dollars."""
    data = adult()
    key = data.male * 10 + np.clip(data.age // 10, 1, 8)
    order = np.lexsort((rng.permutation(len(data)), key))
    leaves, bands = [], []
    for band in np.unique(key):
        members = order[key[order] == band]
        full = len(members) // SIZE
        leaves.append(data.high_income[members[: full * SIZE]].reshape(full, SIZE).sum(axis=1))
        bands += [band] * full
    names, parent = np.unique(bands, return_inverse=True)
    tree = Tree.over(np.full(len(parent), SIZE), parent, names // 10, np.zeros(2, np.int64))
    return tree, np.concatenate(leaves)


def balanced(rates: Callable[[np.random.Generator], np.ndarray]) -> Callable[..., tuple[Tree, np.ndarray]]:
    """1,000 groups of 20 in 100 parents of ten, ten above them, and all: what a tree of one branching factor can do."""

    def make(rng: np.random.Generator) -> tuple[Tree, np.ndarray]:
        parents = [np.repeat(np.arange(n), 10) for n in (100, 10, 1)]
        return Tree.over(np.full(1000, SIZE), *parents), rng.binomial(SIZE, rates(rng))

    return make


SOURCES = {
    "Adult: groups in age bands in sexes": adult_groups,
    "Simulated, the prior holds": balanced(lambda rng: np.repeat(rng.beta(2, 5, 100), 10)),
    "Simulated, the prior is broken: groups of one parent are of two kinds": balanced(
        lambda rng: np.where(rng.random(1000) < 0.3, 0.9, 0.1)
    ),
    "Simulated, the prior is broken: one group in thirty has everybody": balanced(
        lambda rng: np.where(rng.random(1000) < 1 / 30, 1.0, 0.002)
    ),
}


def drawn(rng: np.random.Generator, tree: Tree, truth: Levels, rates: list[float]) -> list[GeometricReports]:
    reports = []
    for x, size, rate in zip(truth, tree.sizes, rates, strict=True):
        noise = rng.geometric(1 - np.exp(-rate), len(x)) - rng.geometric(1 - np.exp(-rate), len(x))
        reports.append(GeometricReports(np.clip(x + noise, 0, size), rate))
    return reports


def ours(tree: Tree, reports: list[GeometricReports], truth: Levels) -> tuple[Levels, np.ndarray, np.ndarray]:
    """Published values; how often intervals hold the truth; and the posterior mass that they contain."""
    found = posterior(tree, reports, local_rates(tree, reports))
    held, mass = [], []
    for own, x in zip(found, truth, strict=True):
        low, high = own.intervals(LEVEL)
        held.append(((low <= x) & (x <= high)).mean())
        upto = np.concatenate([np.zeros((len(x), 1)), np.cumsum(own.mass, axis=1)], axis=1)
        rows = np.arange(len(x))
        mass.append((upto[rows, high - own.low + 1] - upto[rows, low - own.low]).mean())
    return best_sums(tree, expected_errors(found, [1.0] * tree.depth)), np.array(held), np.array(mass)


def by_opendp(tree: Tree, truth: Levels, epsilon: float) -> Levels | None:
    """OpenDP's own tree of sums with its consistency, for one branching factor; None where it does not apply."""
    if any(set(children.tolist()) != {10} for children in tree.children):
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    sums = dp.t.make_b_ary_tree(domain, dp.l1_distance(T=int), leaf_count=len(truth[0]), branching_factor=10)
    noisy = (sums >> dp.m.then_laplace(scale=tree.depth / epsilon))(truth[0].tolist())
    levels = [np.array(dp.t.make_consistent_b_ary_tree(branching_factor=10)(noisy))]
    for parent in tree.parents:
        levels.append(np.bincount(parent, levels[-1]))
    return levels


def measured(name: str, epsilon: float, draws: int) -> dict[str, dict[str, list[float]]]:
    """For every method: errors by level, bias of the total, and its paired difference to least squares."""
    errors: dict[str, list[list[float]]] = {}
    bias: dict[str, list[float]] = {}
    cover: list[np.ndarray] = []
    whole = ib.optimal(ib.count(SIZE), str(epsilon))
    for draw in range(draws):
        rng = np.random.default_rng([draw, int(1000 * epsilon)])
        tree, leaves = SOURCES[name](rng)
        truth = tree.sums(leaves)
        reports = drawn(rng, tree, truth, [epsilon / tree.depth] * tree.depth)
        counts = [len(x) for x in truth]
        branches = [below / above for below, above in pairwise(counts)]
        shares = designed_shares([epsilon] * tree.depth, [1] * tree.depth, branches, SIZE)
        designed = drawn(rng, tree, truth, [epsilon * float(share) for share in shares])
        values, held, mass = ours(tree, reports, truth)
        cover.append(np.stack([held, mass]))
        tables: dict[str, Levels | None] = {
            OURS: values,
            "inbounds, shares designed": ours(tree, designed, truth)[0],
            SQUARES: [level.values for level in nearest_squares(tree, reports, LEVEL).levels],
            "independent and clamped": [own.y for own in reports],
            "groups only, optimal mechanism": tree.sums(whole.simulate(leaves, rng)),
            "OpenDP, consistent tree": by_opendp(tree, truth, epsilon),
        }
        for who, table in tables.items():
            if table is not None:
                errors.setdefault(who, []).append(
                    [float(np.abs(a - x).mean()) for a, x in zip(table, truth, strict=True)]
                )
                bias.setdefault(who, []).append(float(table[-1][0] - truth[-1][0]))
    found = {
        who: {"errors": np.mean(own, axis=0).tolist(), "bias": [float(np.mean(bias[who]))]}
        for who, own in errors.items()
    }
    difference = np.array(errors[OURS]) - np.array(errors[SQUARES])
    found[OURS]["t"] = (difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(draws) + 1e-12)).tolist()
    found[OURS]["coverage"], found[OURS]["mass"] = (np.mean(cover, axis=0)[k].tolist() for k in (0, 1))
    return found


def table(name: str, results: dict[float, dict[str, dict[str, list[float]]]]) -> str:
    depth = len(next(iter(results.values()))[OURS]["errors"])
    heads = ["groups", *(f"level {k}" for k in range(1, depth - 1)), "total"]
    lines = [["ε", "who", *heads, "bias of the total"], ["---:", "---", *["---:"] * (depth + 1)]]
    for epsilon, found in results.items():
        for k, (who, own) in enumerate(found.items()):
            lines.append(
                [f"{epsilon:g}" if not k else "", who, *(f"{e:.3g}" for e in own["errors"]), f"{own['bias'][0]:+.3g}"]
            )
    cover = [["ε", *heads, *(f"{head}: t" for head in heads)], ["---:", *["---:"] * (2 * depth)]]
    for epsilon, found in results.items():
        own = found[OURS]
        pairs = [f"{c:.3f} ({m:.3f})" for c, m in zip(own["coverage"], own["mass"], strict=True)]
        cover.append([f"{epsilon:g}", *pairs, *(f"{t:+.1f}" for t in own["t"])])
    written = ["\n".join(f"| {' | '.join(line)} |" for line in each) for each in (lines, cover)]
    return f"## {name}\n\nMean absolute error by level, groups first.\n\n{written[0]}\n\n{SAID}\n\n{written[1]}"


def large() -> dict[str, float]:
    """10^5 groups in three levels, 2·10^6 records: the whole release, and the decision alone, in processor seconds."""
    import pyarrow as pa

    rng, groups = np.random.default_rng(1), 100_000
    names = [
        np.array([f"{letter}{k // many:06d}" for k in range(groups)])
        for letter, many in (("r", 5000), ("s", 50), ("c", 1))
    ]
    high = rng.random((groups, SIZE)) < np.repeat(rng.beta(2, 6, 2000), 50)[:, None]
    columns = dict(zip(("region", "school", "class"), names, strict=True))
    data = pa.table({**{name: np.repeat(own, SIZE) for name, own in columns.items()}, "high": high.ravel()})
    plan = {
        "groups": {"by": list(columns), "keys": pa.table(columns), "size": SIZE},
        "columns": {"high": {"type": "boolean"}},
        "statistics": [{"count": "high"}],
        "privacy": {"epsilon": 1},
        "hierarchy": {"levels": list(columns)},
        "output": {"interval": LEVEL},
    }
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        ib.release(plan, data, output=f"{folder}/out.csv", cache=f"{folder}/cache")
        spent = time.process_time() - start
    tree = Tree.over(np.full(groups, SIZE), np.repeat(np.arange(2000), 50), np.repeat(np.arange(20), 100))
    reports = drawn(rng, tree, tree.sums(high.sum(axis=1)), [1 / 3] * 3)
    found = posterior(tree, reports, local_rates(tree, reports))
    costs = expected_errors(found, [1.0] * 3)
    start = time.process_time()
    best_sums(tree, costs)
    decided = time.process_time() - start
    return {"release": spent, "decision": decided, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


ABOUT = """---
hide: [toc]
---

# Tables that add up

Counts in groups of 20, in four levels that add up, each level at a quarter of epsilon. *inbounds* is what a release
publishes. *Least squares* is the usual practice of statistical offices: levels weighed by their variances, cut at the
range and rounded from the top down. *Independent* publishes the reports as they are; they do not add up. These three
read the same reports, of truncated geometric noise, drawn {draws} times. *Shares designed* gives each level its
[designed share](../theory/adding-up.md) instead. *Groups only* spends all of epsilon on the groups and adds up what is
published. *OpenDP* is its tree of sums with its own consistency: real numbers, also below zero, and one branching
factor for all nodes."""

LIMITS = """**What this does not say.** The prior learns from the reports: groups of one parent are taken as alike, up
to a correlation that is estimated. Where they are of two kinds the groups gain less, and at large epsilon lose a little
to least squares; their intervals hold the truth more or less often than they say. Margins rest on their own reports and
stay as good. Other shares would move errors between levels for every method."""

SAID = (
    "How often 90 % intervals hold the truth (and the posterior mass that they contain), and *t*: the paired "
    "difference of our error to that of least squares in standard errors; below -2 we are better, above 2 worse."
)


def part(name: str, draws: int) -> dict[float, Any]:
    return {epsilon: measured(name, epsilon, draws) for epsilon in EPSILONS}


def page(parts: dict[str, dict[float, Any]], big: dict[str, float]) -> str:
    where = ", ".join(f"{name}: {value}" for name, value in machine().items())
    size = (
        "## 10^5 groups in three levels\n\n"
        f"A whole release of 2·10^6 records: {big['release']:.1f} s of processor time, {big['memory']:.2g} GB at most; "
        f"the tree's decision alone {big['decision']:.2f} s."
    )
    tables = [table(name, found) for name, found in parts.items()]
    repeat = "**Repeat it:** `python bench/adding.py`."
    return "\n\n".join([ABOUT.format(draws=DRAWS), *tables, size, LIMITS, repeat, f"{where}."]) + "\n"


def in_a_process(*words: str) -> Any:
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(words: list[str]) -> None:
    """Everything, or one part of it as JSON: a source by its number, or `large`."""
    if words == ["large"]:
        print(json.dumps(large()))
    elif words:
        print(json.dumps(part(list(SOURCES)[int(words[0])], DRAWS)))
    else:
        parts = {name: numbered(in_a_process(str(k))) for k, name in enumerate(SOURCES)}
        PAGE.write_text(page(parts, in_a_process("large")), "utf-8")


def numbered(found: dict[str, Any]) -> dict[float, Any]:
    """JSON has texts for keys."""
    return {float(epsilon): own for epsilon, own in found.items()}


if __name__ == "__main__":
    main(sys.argv[1:])

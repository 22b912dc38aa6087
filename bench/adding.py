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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import APART, PGM, one_thread

one_thread()

import adding_blue  # noqa: E402
from adding_page import (  # noqa: E402
    BESIDE_DRAWS,
    BLUE,
    DESIGNED,
    OURS,
    SQUARES,
    Found,
    Result,
    page,
    standard_errors,
)
from adding_sources import HELD_OUT, OTHER_SHAPES, SIZE, SOURCES, Source  # noqa: E402
from pages import publish  # noqa: E402

import inbounds as ib  # noqa: E402
from inbounds.adjust.likelihoods import GeometricReports, geometric_variance  # noqa: E402
from inbounds.adjust.margins import adjust_by_branch  # noqa: E402
from inbounds.adjust.posterior import Marginals  # noqa: E402
from inbounds.adjust.prior_fit import fit_local_rates  # noqa: E402
from inbounds.adjust.shares import optimize_shares, tree_deviations  # noqa: E402
from inbounds.adjust.tree import Tree  # noqa: E402
from inbounds.adjust.tree_adjust import expected_errors, round_least_squares  # noqa: E402
from inbounds.adjust.tree_optimum import best_sums  # noqa: E402
from inbounds.releases.layers import level_facts  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "adding.md"
EPSILONS, LEVEL = (0.5, 1.0, 2.0, 4.0), 0.9
OTHER_DRAWS, HELD_DRAWS = 8, 8

Levels = list[np.ndarray]


def draw_noisy(rng: np.random.Generator, truth: Levels, rates: list[float]) -> Levels:
    """Counts of every level with geometric noise, which may leave the range."""
    return [
        x + (rng.geometric(1 - np.exp(-rate), len(x)) - rng.geometric(1 - np.exp(-rate), len(x)))
        for x, rate in zip(truth, rates, strict=True)
    ]


def clamp(tree: Tree, noisy: Levels, rates: list[float]) -> list[GeometricReports]:
    """The reports that a release draws: noise is truncated."""
    parts = zip(noisy, tree.sizes, rates, strict=True)
    return [GeometricReports(np.clip(own, 0, size), rate) for own, size, rate in parts]


@dataclass(frozen=True)
class Published:
    """What a method publishes, and the ends of its intervals if it has any; seconds that it took; mass of intervals."""

    levels: Levels
    seconds: float = float("nan")
    intervals: list[tuple[np.ndarray, np.ndarray]] | None = None
    mass: list[float] | None = None


def clocked(method: Callable[..., Published], *words: Any) -> Published:
    start = time.process_time()
    found = method(*words)
    return replace(found, seconds=time.process_time() - start)


def ours(tree: Tree, reports: list[GeometricReports]) -> Published:
    found = adjust_by_branch(tree, reports, fit_local_rates(tree, reports))
    levels = best_sums(tree, expected_errors(found, [1.0] * tree.depth))
    return Published(
        levels, intervals=[own.intervals(LEVEL) for own in found], mass=[interval_mass(own) for own in found]
    )


def interval_mass(own: Marginals) -> float:
    """The posterior mass that intervals contain, on average."""
    low, high = own.intervals(LEVEL)
    upto = np.concatenate([np.zeros((len(low), 1)), np.cumsum(own.mass, axis=1)], axis=1)
    rows = np.arange(len(low))
    return float((upto[rows, high - own.low + 1] - upto[rows, low - own.low]).mean())


def best_unbiased(tree: Tree, noisy: Levels, rates: list[float]) -> Published:
    found = adding_blue.estimate(tree, noisy, [geometric_variance(rate) for rate in rates])
    return Published(adding_blue.publish(tree, found), intervals=found.intervals(tree, LEVEL))


def clamped_squares(tree: Tree, reports: list[GeometricReports]) -> Published:
    return Published([level.values for level in round_least_squares(tree, reports, LEVEL).levels])


def by_opendp(tree: Tree, truth: Levels, per_unit: float) -> Levels | None:
    """OpenDP's own tree of sums with its consistency, for one branching factor; None where it does not apply."""
    if any(set(children.tolist()) != {10} for children in tree.children):
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    sums = dp.t.make_b_ary_tree(domain, dp.l1_distance(T=int), leaf_count=len(truth[0]), branching_factor=10)
    noisy = (sums >> dp.m.then_laplace(scale=tree.depth / per_unit))(truth[0].tolist())
    levels = [np.array(dp.t.make_consistent_b_ary_tree(branching_factor=10)(noisy))]
    for parent in tree.parents:
        levels.append(np.bincount(parent, levels[-1]))
    return levels


@dataclass(frozen=True)
class Drawn:
    """A table with noise, for peers that run elsewhere."""

    tree: Tree
    truth: Levels
    noisy: Levels
    rates: list[float]


def one_table(source: Source, epsilon: float, draw: int, beside: bool) -> tuple[dict[str, Any], Drawn]:
    """What every method published of one draw beside the truth, and the noisy counts.

    beside: by all methods that run here, not only ours and the best linear unbiased one.
    """
    rng, per_unit = np.random.default_rng([draw, int(1000 * epsilon)]), epsilon / source.reach
    tree, leaves = source.make(rng)
    truth, rates = tree.sums(leaves), [per_unit / tree.depth] * tree.depth
    noisy = draw_noisy(rng, truth, rates)
    reports = clamp(tree, noisy, rates)
    found = {OURS: clocked(ours, tree, reports), BLUE: clocked(best_unbiased, tree, noisy, rates)}
    if beside:
        found[SQUARES] = clocked(clamped_squares, tree, reports)
        found |= others(rng, source, tree, reports, truth, epsilon)
    return {who: judge(own, truth) for who, own in found.items()}, Drawn(tree, truth, noisy, rates)


def judge(own: Published, truth: Levels) -> dict[str, Any]:
    """Errors by level, the error of the total, seconds; and of intervals how often they hold, and their widths."""
    pairs = list(zip(own.levels, truth, strict=True))
    judged: dict[str, Any] = {
        "errors": [float(np.abs(a - x).mean()) for a, x in pairs],
        "total": float(own.levels[-1][0] - truth[-1][0]),
        "seconds": own.seconds,
    }
    if own.intervals is not None:
        ends = list(zip(own.intervals, truth, strict=True))
        judged["coverage"] = [float(((low <= x) & (x <= high)).mean()) for (low, high), x in ends]
        judged["width"] = [float((high - low).mean()) for low, high in own.intervals]
    return judged | ({} if own.mass is None else {"mass": own.mass})


def by_pgm(drawn: list[Drawn]) -> tuple[list[dict[str, Any]], str]:
    """What Private-PGM publishes of each table, in each of its ways, judged; and versions, or why there is nothing.

    All tables have one tree. The package needs an environment of its own (Makefile).
    """
    tree = drawn[0].tree
    if not APART[PGM].exists():
        return [{} for _ in drawn], f"Skipped here: its environment {APART[PGM].parents[1].name} is not there."
    tables = [
        {
            "noisy": [own.tolist() for own in each.noisy],
            "deviations": [geometric_variance(r) ** 0.5 for r in each.rates],
        }
        for each in drawn
    ]
    case = {"parents": [own.tolist() for own in tree.parents], "sizes": tree.sizes[0].tolist(), "tables": tables}
    command = [str(APART[PGM]), str(Path(__file__).with_name("adding_pgm.py"))]
    done = subprocess.run(command, input=json.dumps(case), capture_output=True, text=True, check=True)
    answer, judged = json.loads(done.stdout.splitlines()[-1]), list[dict[str, Any]]()
    for k, each in enumerate(drawn):
        ways = {who: way["tables"][k] for who, way in answer["ways"].items()}
        judged.append(
            {
                who: judge(Published([np.array(level) for level in own["values"]], own["seconds"]), each.truth)
                for who, own in ways.items()
            }
        )
    compiling = max(way["compiling"] for way in answer["ways"].values())
    first = f"the first table of a shape takes up to {compiling:.0f} s more, to compile"
    return judged, f"Measured with {answer['versions']}; {first}."


def measured(source: Source, epsilon: float, draws: int) -> dict[str, dict[str, list[float]]]:
    """As `summed_up`, of our method and the best linear unbiased one."""
    return summed_up([one_table(source, epsilon, draw, beside=False)[0] for draw in range(draws)])


def summed_up(tables: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """For every method errors by level, bias of the total, seconds, coverage; and how ours compares with it.

    t: the paired difference of our error to its error, in standard errors.
    """
    found = {}
    for who in tables[0]:
        seen = [table for table in tables if who in table]
        rows = [table[who] for table in seen]
        errors, own_errors = (np.array([table[name]["errors"] for table in seen]) for name in (who, OURS))
        found[who] = {
            "errors": np.mean(errors, axis=0).tolist(),
            "ours": np.mean(own_errors, axis=0).tolist(),
            "t": (np.mean(own_errors - errors, axis=0) / (standard_errors(own_errors - errors) + 1e-12)).tolist(),
            "bias": [float(np.mean([row["total"] for row in rows]))],
            "seconds": [float(np.mean([row["seconds"] for row in rows]))],
            "draws": [len(rows)],
        }
        for name in ("coverage", "width", "mass"):
            if name in rows[0]:
                found[who][name] = np.mean([row[name] for row in rows], axis=0).tolist()
    own, unbiased = (np.array([table[who]["errors"] for table in tables]) for who in (OURS, BLUE))
    scale = unbiased[:, 1:].mean(axis=0)
    relative = ((own - unbiased)[:, 1:] / np.where(scale > 0, scale, 1.0)).mean(axis=1)
    apart = np.array([np.subtract(table[OURS]["coverage"], table[OURS]["mass"]) for table in tables])
    found[OURS] |= {"deviation": standard_errors(apart).tolist(), "relative": relative.tolist()}
    return found


def others(
    rng: np.random.Generator,
    source: Source,
    tree: Tree,
    reports: list[GeometricReports],
    truth: Levels,
    epsilon: float,
) -> dict[str, Published]:
    """What else could be published."""
    per_unit = epsilon / source.reach
    facts = level_facts(tree.sizes, 2, per_unit, [Fraction(1)] * tree.depth)
    rates = [per_unit * float(share) for share in optimize_shares(facts, tree_deviations)]
    designed = clamp(tree, draw_noisy(rng, truth, rates), rates)
    query = ib.count(SIZE) if source.reach == 1 else ib.total(SIZE, 0, source.reach)
    whole = optimal(query, str(epsilon))
    found = {DESIGNED: clocked(ours, tree, designed)} if source.reach == 1 else {}
    found["independent and clamped"] = Published([own.y for own in reports])
    found["groups only, optimal mechanism"] = Published(tree.sums(whole.simulate(truth[0], rng)))
    opendp = by_opendp(tree, truth, per_unit)
    return found if opendp is None else {**found, "OpenDP, consistent tree": Published(opendp)}


optimal = cache(ib.optimal)


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
        "output": {"credible_level": LEVEL},
    }
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        ib.release(plan, data, output=f"{folder}/out.csv", cache=f"{folder}/cache")
        spent = time.process_time() - start
    tree = Tree.from_leaves(np.full(groups, SIZE), np.repeat(np.arange(2000), 50), np.repeat(np.arange(20), 100))
    rates = [1 / 3] * 3
    reports = clamp(tree, draw_noisy(rng, tree.sums(high.sum(axis=1)), rates), rates)
    found = adjust_by_branch(tree, reports, fit_local_rates(tree, reports))
    costs = expected_errors(found, [1.0] * 3)
    start = time.process_time()
    best_sums(tree, costs)
    decided = time.process_time() - start
    return {"release": spent, "decision": decided, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def part(source: Source) -> dict[str, Any]:
    """Results of one source by epsilon, and what is to be said of Private-PGM."""
    rows = [
        (epsilon, *one_table(source, epsilon, draw, draw < BESIDE_DRAWS))
        for epsilon in EPSILONS
        for draw in range(source.draws)
    ]
    beside = [k for k, row in enumerate(rows) if SQUARES in row[1]]
    judged, said = by_pgm([rows[k][2] for k in beside])
    for k, found in zip(beside, judged, strict=True):
        rows[k][1].update(found)
    results = {}
    for epsilon in EPSILONS:
        tables = [found for own, found, _ in rows if own == epsilon]
        pair = [{who: found[who] for who in (OURS, BLUE)} for found in tables]
        results[epsilon] = [summed_up([found for found in tables if SQUARES in found]), summed_up(pair)]
    return {"results": results, "said": said}


def without_others(sources: list[Source], draws: int) -> Found:
    """Ours beside the best linear unbiased one alone: source, epsilon, and what was measured."""
    return [
        (source.name, epsilon, measured(source, epsilon, source.draws if source.reach > 1 else draws))
        for source in sources
        for epsilon in EPSILONS
    ]


def in_a_process(*words: str) -> Any:
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


PARTS = {
    "large": large,
    "other": lambda: without_others(OTHER_SHAPES, OTHER_DRAWS),
    "held": lambda: without_others(HELD_OUT, HELD_DRAWS),
}


def main(words: list[str]) -> None:
    """Everything, or one part of it as JSON: a source by its number, or one of PARTS."""
    if words:
        print(json.dumps(PARTS[words[0]]() if words[0] in PARTS else part(SOURCES[int(words[0])])))
        return
    found = {source.name: in_a_process(str(k)) for k, source in enumerate(SOURCES)}
    said = next(iter(found.values()))["said"]
    parts = {name: by_epsilon(each["results"]) for name, each in found.items()}
    publish(PAGE, page(parts, said, *(in_a_process(name) for name in ("other", "held", "large"))))


def by_epsilon(found: dict[str, Any]) -> dict[float, Result]:
    """JSON has texts for keys."""
    return {float(epsilon): Result(*own) for epsilon, own in found.items()}


if __name__ == "__main__":
    main(sys.argv[1:])

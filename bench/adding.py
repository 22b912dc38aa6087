"""Tables that add up: errors at every level, bias of totals and coverage, beside what others do. Writes its own page.

`python bench/adding.py` measures and writes docs/benchmarks/adding.md.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread

one_thread()

from adding_sources import HELD_OUT, OTHER_SHAPES, SIZE, SOURCES, Source  # noqa: E402
from scipy.stats import t as student  # noqa: E402

import inbounds as ib  # noqa: E402
from inbounds.adjust.likelihoods import GeometricReports  # noqa: E402
from inbounds.adjust.margins import adjust_by_branch  # noqa: E402
from inbounds.adjust.prior_fit import fit_local_rates  # noqa: E402
from inbounds.adjust.shares import optimize_shares, tree_deviations  # noqa: E402
from inbounds.adjust.tree import Tree  # noqa: E402
from inbounds.adjust.tree_adjust import expected_errors, round_least_squares  # noqa: E402
from inbounds.adjust.tree_optimum import best_sums  # noqa: E402
from inbounds.releases.layers import level_facts  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "adding.md"
EPSILONS, LEVEL = (0.5, 1.0, 2.0, 4.0), 0.9
OTHER_DRAWS, HELD_DRAWS, BESIDE_DRAWS = 16, 10, 12
OURS, SQUARES = "inbounds", "least squares, non-negative, rounded"
FEWEST = 8
"""Tables from which on paired differences are read: errors of totals are whole, and a few are often equal."""

Levels = list[np.ndarray]


def drawn(rng: np.random.Generator, tree: Tree, truth: Levels, rates: list[float]) -> list[GeometricReports]:
    reports = []
    for x, size, rate in zip(truth, tree.sizes, rates, strict=True):
        noise = rng.geometric(1 - np.exp(-rate), len(x)) - rng.geometric(1 - np.exp(-rate), len(x))
        reports.append(GeometricReports(np.clip(x + noise, 0, size), rate))
    return reports


def ours(tree: Tree, reports: list[GeometricReports], truth: Levels) -> tuple[Levels, np.ndarray, np.ndarray]:
    """Published values; how often intervals hold the truth; and the posterior mass that they contain."""
    found = adjust_by_branch(tree, reports, fit_local_rates(tree, reports))
    held, mass = [], []
    for own, x in zip(found, truth, strict=True):
        low, high = own.intervals(LEVEL)
        held.append(((low <= x) & (x <= high)).mean())
        upto = np.concatenate([np.zeros((len(x), 1)), np.cumsum(own.mass, axis=1)], axis=1)
        rows = np.arange(len(x))
        mass.append((upto[rows, high - own.low + 1] - upto[rows, low - own.low]).mean())
    return best_sums(tree, expected_errors(found, [1.0] * tree.depth)), np.array(held), np.array(mass)


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


def one_table(source: Source, epsilon: float, draw: int, beside: bool) -> dict[str, Any]:
    """Of one draw: errors by level and the error of the total for every method; coverage and mass of our intervals.

    beside: measure all methods, not only ours and least squares.
    """
    rng, per_unit = np.random.default_rng([draw, int(1000 * epsilon)]), epsilon / source.reach
    tree, leaves = source.make(rng)
    truth = tree.sums(leaves)
    reports = drawn(rng, tree, truth, [per_unit / tree.depth] * tree.depth)
    values, held, mass = ours(tree, reports, truth)
    tables: dict[str, Levels | None] = {
        OURS: values,
        SQUARES: [level.values for level in round_least_squares(tree, reports, LEVEL).levels],
    }
    if beside:
        tables |= others(rng, source, tree, reports, truth, epsilon)
    published = {who: levels for who, levels in tables.items() if levels is not None}
    return {
        "errors": {
            who: [float(np.abs(a - x).mean()) for a, x in zip(levels, truth, strict=True)]
            for who, levels in published.items()
        },
        "total": {who: float(levels[-1][0] - truth[-1][0]) for who, levels in published.items()},
        "cover": [held.tolist(), mass.tolist()],
    }


def measured(source: Source, epsilon: float, draws: int, beside: bool = True) -> dict[str, dict[str, list[float]]]:
    """As `summed_up`; other methods than ours and least squares on the first BESIDE_DRAWS, if at all."""
    return summed_up([one_table(source, epsilon, draw, beside and draw < BESIDE_DRAWS) for draw in range(draws)])


def summed_up(tables: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """For every method errors by level and bias of the total; of ours also coverage, and how it compares."""
    found = {}
    for who in tables[0]["errors"]:
        seen = [table for table in tables if who in table["errors"]]
        errors, total = [table["errors"][who] for table in seen], [table["total"][who] for table in seen]
        found[who] = {"errors": np.mean(errors, axis=0).tolist(), "bias": [float(np.mean(total))]}
    own, squares = (np.array([table["errors"][who] for table in tables]) for who in (OURS, SQUARES))
    cover = np.array([table["cover"] for table in tables])
    scale = squares[:, 1:].mean(axis=0)
    relative = ((own - squares)[:, 1:] / np.where(scale > 0, scale, 1.0)).mean(axis=1)
    found[OURS] |= {
        "t": (np.mean(own - squares, axis=0) / (standard_errors(own - squares) + 1e-12)).tolist(),
        "coverage": cover[:, 0].mean(axis=0).tolist(),
        "mass": cover[:, 1].mean(axis=0).tolist(),
        "deviation": standard_errors(cover[:, 0] - cover[:, 1]).tolist(),
        "draws": [len(tables)],
        "relative": relative.tolist(),
    }
    return found


def standard_errors(rows: np.ndarray) -> np.ndarray:
    """Of the means over the rows."""
    return np.asarray(rows.std(axis=0, ddof=1) / np.sqrt(len(rows)))


def others(
    rng: np.random.Generator,
    source: Source,
    tree: Tree,
    reports: list[GeometricReports],
    truth: Levels,
    epsilon: float,
) -> dict[str, Levels | None]:
    """What else could be published."""
    per_unit = epsilon / source.reach
    facts = level_facts(tree.sizes, 2, per_unit, [Fraction(1)] * tree.depth)
    shares = optimize_shares(facts, tree_deviations)
    designed = drawn(rng, tree, truth, [per_unit * float(share) for share in shares])
    query = ib.count(SIZE) if source.reach == 1 else ib.total(SIZE, 0, source.reach)
    whole = optimal(query, str(epsilon))
    return {
        "inbounds, shares designed": ours(tree, designed, truth)[0] if source.reach == 1 else None,
        "independent and clamped": [own.y for own in reports],
        "groups only, optimal mechanism": tree.sums(whole.simulate(truth[0], rng)),
        "OpenDP, consistent tree": by_opendp(tree, truth, per_unit),
    }


optimal = cache(ib.optimal)


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
        pairs = [covered(own, level) for level in range(depth)]
        cover.append([f"{epsilon:g}", *pairs, *(compared(own, t) for t in own["t"])])
    written = ["\n".join(f"| {' | '.join(line)} |" for line in each) for each in (lines, cover)]
    draws = int(next(iter(results.values()))[OURS]["draws"][0])
    all_methods = min(draws, BESIDE_DRAWS)
    what = f"Mean absolute error by level, groups first; {draws} tables, of which {all_methods} by all methods."
    return f"## {name}\n\n{what}\n\n{written[0]}\n\n{SAID}\n\n{written[1]}"


def compared(own: dict[str, list[float]], t: float) -> str:
    return f"{t:+.1f}" if own["draws"][0] >= FEWEST else "–"


def covered(own: dict[str, list[float]], level: int) -> str:
    return f"{own['coverage'][level]:.3f} ({own['mass'][level]:.3f} ± {own['deviation'][level]:.3f})"


def margins_together(all_found: list[tuple[str, float, dict[str, list[float]]]]) -> str:
    """What the comparisons of all levels above the groups say as a whole. Of each: source, epsilon, our results."""
    all_found = [each for each in all_found if each[2]["draws"][0] >= FEWEST]
    t = np.array([t for *_, own in all_found for t in own["t"][1:]])
    freedom = np.array([own["draws"][0] - 1 for *_, own in all_found for _ in own["t"][1:]])
    chance = student.sf(t, freedom)
    worst = int(chance.argmin())
    where = [f"{name}, ε {epsilon:g}, level {k}" for name, epsilon, own in all_found for k in range(1, len(own["t"]))]
    relative = np.concatenate([own["relative"] for *_, own in all_found])
    by_chance = float(student.sf(2, freedom).sum())
    above, below, any_of_them = int((t > 2).sum()), int((t < -2).sum()), min(1.0, len(t) * float(chance[worst]))
    return (
        f"{len(t)} margins were compared on this page, those of at least {FEWEST} tables. "
        f"If none differed, about {by_chance:.1f} would be above 2 and as "
        f"many below -2 by chance; {above} are above, {below} below. The one where we do worst ({where[worst]}) has "
        f"t = {t[worst]:+.1f}. The chance of that or more is {chance[worst]:.2g} for a margin by itself, and at most "
        f"{any_of_them:.2g} for any of {len(t)} (Bonferroni); a margin counts as worse where that is below 0.05. Over "
        f"all {len(relative)} tables the error of margins differs from that of least squares by "
        f"{100 * relative.mean():+.1f} ± {100 * float(standard_errors(relative)):.1f} % in the mean."
    )


def where_it_holds(parts: dict[str, dict[float, Any]]) -> str:
    """How far the coverage of groups is from the mass, for the sources that are drawn as the prior has them."""
    rows = []
    for source in (source for source in SOURCES if source.holds):
        for epsilon, found in parts[source.name].items():
            own = found[OURS]
            if own["draws"][0] < FEWEST:
                continue
            rows.append((own["coverage"][0] - own["mass"][0], own["deviation"][0], source, epsilon))
    furthest = max(rows, key=lambda row: abs(row[0]))
    return (
        f"Where tables are drawn as the prior has them, coverage of groups is furthest from the mass by "
        f"{furthest[0]:+.3f} ± {furthest[1]:.3f} ({furthest[2].name}, ε {furthest[3]:g}; "
        f"of sources of at least {FEWEST} tables)."
    )


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
    reports = drawn(rng, tree, tree.sums(high.sum(axis=1)), [1 / 3] * 3)
    found = adjust_by_branch(tree, reports, fit_local_rates(tree, reports))
    costs = expected_errors(found, [1.0] * 3)
    start = time.process_time()
    best_sums(tree, costs)
    decided = time.process_time() - start
    return {"release": spent, "decision": decided, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


ABOUT = """---
hide: [toc]
---

# Tables that add up

Counts in groups of 20, and sums of their values, in four levels that add up, each level at a quarter of epsilon.
*inbounds* is what a release publishes. *Least squares* is the usual practice of statistical offices: levels weighed
by their variances, cut at the range and rounded from the top down. *Independent* publishes the reports as they are;
they do not add up. These three read the same reports, of truncated geometric noise. *Shares
designed* gives each level its [designed share](../theory/adding-up.md) instead. *Groups only* spends all of epsilon
on the groups and adds up what is published. *OpenDP* is its tree of sums with its own consistency: real numbers, also
below zero, and one branching factor for all nodes."""

OTHER = """## Tables of other shapes

Groups in the same tree; the second column says how many tables. Most of these shapes were looked at while the prior
was built, with other draws: they tell how far it reaches, and are no test on tables never seen. *t* is about the
groups, as above; *largest t above* is that of the level above the groups, or of one higher up, where we do worst."""

HELD = """## Held-out tables

Data, shapes, depths and sizes that nothing was chosen on. A tree of seven levels was one of them; it showed that
margins of deep trees were wrong, which is mended, and stands above now. The trees of five and six levels here were
measured after that, once. Columns as above."""

TOGETHER = "## All margins together"

LIMITS = """**What this does not say.** The prior learns from the reports how groups of one parent differ. At epsilon
0.5 a quarter of it tells little of that: intervals of groups that scatter much hold the truth less often than they
say, and of groups that are all alike more often; over all that the prior has they are right. Intervals of parents of a
few small groups in deep trees are too short as well, where epsilon is shared by many levels. Higher margins rest on
reports alone. Other shares would move errors between levels for every method."""

SAID = (
    "How often 90 % intervals hold the truth (and the posterior mass that they contain ± the standard error of the "
    "difference, over tables), and *t*: the paired difference of our error to that of least squares in standard "
    "errors, negative where we are better (–: too few tables). "
    "How so many are read: [all margins together](#all-margins-together)."
)


def part(source: Source) -> dict[float, Any]:
    return {epsilon: measured(source, epsilon, source.draws) for epsilon in EPSILONS}


Found = list[tuple[str, float, dict[str, Any]]]


def without_others(sources: list[Source], draws: int) -> Found:
    """Ours beside least squares alone: source, epsilon, and what was measured."""
    return [
        (source.name, epsilon, measured(source, epsilon, source.draws if source.reach > 1 else draws, beside=False))
        for source in sources
        for epsilon in EPSILONS
    ]


def rows_of(found: Found) -> str:
    """A table of errors of groups, the worst margin, and coverage."""
    heads = ["groups", "tables", "ε", "our error", "least squares'", "t", "largest t above", "coverage (mass)"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, epsilon, each in found:
        own, t = each[OURS], each[OURS]["t"]
        shown = [f"{own['errors'][0]:.3g}", f"{each[SQUARES]['errors'][0]:.3g}"]
        shown += [compared(own, worst) for worst in (t[0], max(t[1:]))]
        lines.append([name, f"{own['draws'][0]:g}", f"{epsilon:g}", *shown, covered(own, 0)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(parts: dict[str, dict[float, Any]], other: Found, held: Found, big: dict[str, float]) -> str:
    where = ", ".join(f"{name}: {value}" for name, value in machine().items())
    size = (
        "## 10^5 groups in three levels\n\n"
        f"A whole release of 2·10^6 records: {big['release']:.1f} s of processor time, {big['memory']:.2g} GB at most; "
        f"the tree's decision alone {big['decision']:.2f} s."
    )
    every = [(name, epsilon, each[OURS]) for name, found in parts.items() for epsilon, each in found.items()]
    every += [(name, epsilon, each[OURS]) for name, epsilon, each in (*other, *held)]
    sections = [
        ABOUT,
        *(table(name, found) for name, found in parts.items()),
        where_it_holds(parts),
        OTHER,
        rows_of(other),
        HELD,
        rows_of(held),
        TOGETHER,
        margins_together(every),
        size,
        LIMITS,
        "**Repeat it:** `make bench ONLY=adding`.",
        f"{where}.",
    ]
    return "\n\n".join(sections) + "\n"


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
    else:
        parts = {source.name: numbered(in_a_process(str(k))) for k, source in enumerate(SOURCES)}
        PAGE.write_text(page(parts, *(in_a_process(name) for name in ("other", "held", "large"))), "utf-8")


def numbered(found: dict[str, Any]) -> dict[float, Any]:
    """JSON has texts for keys."""
    return {float(epsilon): own for epsilon, own in found.items()}


if __name__ == "__main__":
    main(sys.argv[1:])

"""How often 90 % intervals hold the truth, and how wide they are, by the size of the group; sizes are not public.

    python bench/size_intervals.py            writes docs/benchmarks/sizes.md
    python bench/size_intervals.py --quick    prints it, from fewer groups

The shapes of the records were drawn once, after the prior of sizes was fixed, and nothing is tuned to them.
"""

import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine
from pages import WIDE, machine_line, publish

from inbounds.mechanism.laws.base import RecordsLaw
from inbounds.plan.load import parse_plan
from inbounds.releases.accuracy import StatisticModel, sizes_given_counts
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.statistics.designs import default_cache_folder
from inbounds.statistics.sizes import SizeBeliefs

MOST, HIGH, LEVEL = 400, 100, Fraction(9, 10)
SHAPES_SEED, SHAPES, GROUPS = 20261118, 10, 20
STATISTICS = ("mean", "sum", "median", "max")
DECLARED: dict[str, Any] = {"nothing": None, "typical = 235": 235, "typical = [100, 300]": [100, 300]}
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "sizes.md"
Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]


def shapes() -> list[Floats]:
    """Shares of the values 0..100: mixtures of one to four bumps of any place and width over a little of everything."""
    rng, found = np.random.default_rng(SHAPES_SEED), []
    places = np.arange(HIGH + 1) / HIGH
    for _ in range(SHAPES):
        parts = rng.integers(1, 5)
        centres, widths, weights = rng.random(parts), rng.uniform(0.03, 0.4, parts), rng.dirichlet(np.ones(parts))
        bumps = np.exp(-0.5 * ((places[:, None] - centres) / widths) ** 2)
        shape = (bumps / bumps.sum(axis=0)) @ weights + rng.uniform(0, 0.2) / (HIGH + 1)
        found.append(shape / shape.sum())
    return found


def design(typical: Any, epsilon: str, counted: bool) -> ReleaseDesign:
    statistics = [*({kind: "x", "epsilon": epsilon} for kind in STATISTICS)]
    statistics += [{"count": "true", "epsilon": epsilon}] if counted else []
    plan = {
        "source": {"path": "x.csv"},
        "groups": {"max_size": MOST, **({} if typical is None else {"typical": typical})},
        "columns": {"x": {"low": 0, "high": HIGH}},
        "privacy": {"epsilon": str(Fraction(epsilon) * len(statistics))},
        "statistics": statistics,
        "output": {"credible_level": "0.9"},
    }
    workload = Workload.from_plan(parse_plan(plan))
    return ReleaseDesign.from_workload(workload, default_cache_folder()).with_coverage()


def geometric(mechanism: Any, truth: Ints, rng: np.random.Generator) -> Ints:
    """Draws of a noise table, from seeded floats: for a benchmark only."""
    table = mechanism.law.noise_table
    noise, mass = np.arange(-table.half_width, table.half_width + 1), np.asarray(table.core, dtype=float)
    outputs = np.clip(truth + rng.choice(noise, len(truth), p=mass / mass.sum()), 0, table.size)
    return outputs if table.remap is None else table.remap[outputs]


def measured(
    model: StatisticModel, groups: Ints, beliefs: SizeBeliefs, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Whether, and how far, the interval of a draw holds the truth of every group; groups: histograms."""
    values = np.arange(HIGH + 1)
    totals, sizes = groups @ values, groups.sum(axis=1)
    if isinstance(model.mechanism.law, RecordsLaw):
        reports = model.mechanism.law.probabilities(model.mechanism.query, groups)
        drawn = [(reports.cumsum(axis=1) < rng.random((len(groups), 1))).sum(axis=1)]
        truth = model.mechanism.query.true_positions(groups).astype(float)
    elif model.derived is not None:
        drawn = [geometric(model.mechanism, part, rng) for part in (totals, HIGH * sizes - totals)]
        truth = totals / sizes
    else:
        drawn, truth = [geometric(model.mechanism, totals, rng)], totals.astype(float)
    low, high = model.intervals(drawn, LEVEL, beliefs)
    return (low <= truth) & (truth <= high), high - low


def rows(epsilon: str, count: int) -> Iterator[tuple[str, list[str], list[float]]]:
    """A name, ten cells with coverage and width, and the coverages, for each declaration and statistic."""
    drawn_shapes = shapes()
    for name, typical in DECLARED.items():
        for counted in (False, True):
            made = design(typical, epsilon, counted)
            for k, kind in enumerate(STATISTICS):
                model, stated, cells, covers = made.model(k, 0), dict(made.coverage[k][0]), list[str](), list[float]()
                for size in range(MOST // 10, MOST + 1, MOST // 10):
                    held, wide = [], []
                    for number, shape in enumerate(drawn_shapes):
                        rng = np.random.default_rng([size, number, k])
                        groups = rng.multinomial(size, shape, count)
                        assert model.beliefs is not None
                        beliefs = model.beliefs
                        if counted:
                            counter = made.designs[-1][0].mechanism
                            chances = counter.matrix[:, size]
                            counts = rng.choice(len(chances), count, p=chances / chances.sum())
                            beliefs = sizes_given_counts(beliefs, counter, counts)
                        inside, width = measured(model, groups, beliefs, rng)
                        held.append(inside.mean())
                        wide.append(width.mean())
                    covers.append(float(np.mean(held)))
                    flag = "*" if stated[size] < 0.85 else ""
                    cells.append(f"{100 * np.mean(held):.0f}{flag} ({np.mean(wide):.3g})")
                yield f"{name}{', count published' if counted else ''} | {kind}", cells, covers


def overview(means: dict[str, list[str]]) -> str:
    """The averages at both epsilons, by what is declared and statistic."""
    lines = ["| declared | statistic | epsilon 0.2 | epsilon 1 |", "| --- | --- | ---: | ---: |"]
    shown = {name: values for name, values in means.items() if "count published" not in name}
    return "\n".join([*lines, *(f"| {name} | {' | '.join(values)} |" for name, values in shown.items())])


def page(count: int) -> str:
    tables, everything, unflagged = [], list[float](), list[tuple[str, float]]()
    means: dict[str, list[str]] = {}
    for epsilon in ("0.2", "1"):
        head = f"| declared | statistic | {' | '.join(f'{10 * k} %' for k in range(1, 11))} |"
        lines = [head, "| --- | --- |" + " ---: |" * 10]
        for name, cells, covers in rows(epsilon, count):
            lines.append(f"| {name} | {' | '.join(cells)} |")
            everything += covers
            means.setdefault(name, []).append(f"{100 * np.mean(covers):.0f}")
            low = [c for c, cell in zip(covers, cells, strict=True) if c < 0.85 and "*" not in cell]
            unflagged += [(name.rpartition("| ")[2], c) for c in low]
        tables.append(f"## Epsilon {epsilon} for each statistic\n\n" + "\n".join(lines))
    kinds = ", ".join(f"{kind} {sum(own == kind for own, _ in unflagged)}" for kind in STATISTICS)
    least = f"; the lowest is {100 * min(c for _, c in unflagged):.0f} %" if unflagged else ""
    bare = f"{len(unflagged)} of {len(everything)} cells are below 85 % and have no star ({kinds}){least}"
    return "\n\n".join(
        [
            WIDE,
            "# Intervals by the size of a group",
            f"How often 90 % intervals hold the truth in groups of 10 % to 100 % of `max_size = {MOST}`, in percent, "
            f"and in brackets how wide they are. Records are numbers 0..{HIGH} of {SHAPES} shapes, which were drawn "
            f"once, after the prior of sizes was fixed; {count} groups of each shape and size. A star: a dry run names "
            "this size beside the statistic, because under the model intervals cover less than 85 % there.",
            f"On average intervals hold the truth in {100 * np.mean(everything):.1f} % of the groups. {bare}. A cell "
            f"has a standard error of about {100 * np.sqrt(0.09 / SHAPES / count):.0f} points.",
            "## Averages over all sizes",
            "How often intervals hold the truth, in percent.",
            overview(means),
            *tables,
            "Medians of these shapes are held more often than 90 %: records lie closer together near a median than the "
            "model supposes, which takes all histograms for equally likely. A median at the edge of a gap is held far "
            "less often, see [quantiles](quantiles.md#how-often-intervals-hold-the-truth). So is a largest value far "
            "from the next one, which many of these shapes have; the record says so beside every such statistic.",
            "**Repeat it:** `python bench/size_intervals.py`.",
            machine_line(machine()),
        ]
    )


if __name__ == "__main__":
    started = time.process_time()
    quick = "--quick" in sys.argv
    text = page(5 if quick else GROUPS) + "\n"
    if quick:
        print(text)
    else:
        publish(PAGE, text)
    print(f"{time.process_time() - started:.0f} s of processor time", file=sys.stderr)

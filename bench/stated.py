"""Realised against stated errors of tables that add up, on surveys that are drawn at random.

    python bench/stated.py          writes docs/benchmarks/stated.md

The family is declared below and is not the prior. SEED was drawn from once, after the code was frozen; all cases are
published. A ratio is the mean error of a released level, over DRAWS releases of one survey, divided by the error that
was stated before. One thread.
"""

from dataclasses import dataclass
from pathlib import Path

from harness import machine, one_thread

one_thread()

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from pages import machine_line, publish  # noqa: E402

from inbounds.adjust.simulated import add_noise  # noqa: E402
from inbounds.plan.load import to_plan  # noqa: E402
from inbounds.plan.plan import Plan  # noqa: E402
from inbounds.releases.adjust_reports import adjust_reports  # noqa: E402
from inbounds.releases.budget import plan_budget  # noqa: E402
from inbounds.releases.expected import expect_levels  # noqa: E402
from inbounds.releases.layout import build_reports_record  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "stated.md"
SEED, CASES, DRAWS = 20_261_119, 40, 3
EPSILONS = (0.2, 4.0)
"""Range of epsilon, drawn evenly on a logarithmic scale."""

Generator = np.random.Generator
Groups = list[tuple[str, str]]


@dataclass(frozen=True)
class Case:
    """A plan and the true cells of its groups, labels × groups."""

    kind: str
    groups: str
    plan: Plan
    cells: np.ndarray


def sizes_of(kind: str, most: int, groups: int, rng: Generator) -> np.ndarray:
    """How many records groups have: all full, half full, skewed, or a third of them empty."""
    if kind == "full":
        return np.full(groups, most)
    if kind == "half full":
        return rng.binomial(most, 0.5, groups)
    if kind == "skewed":
        return np.minimum((most * rng.beta(0.5, 1.5, groups)).astype(int), most)
    return np.where(rng.random(groups) < 1 / 3, 0, rng.binomial(most, 0.8, groups))


def shares_of(labels: int, rng: Generator) -> np.ndarray:
    """Shares of labels: even, or falling like a power of the rank."""
    raw = np.arange(1.0, labels + 1) ** -rng.uniform(0, 2)
    return rng.permutation(raw / raw.sum())


def draw_case(rng: Generator) -> Case:
    """Draw a hierarchy or a crosstab, with groups of any of the kinds above."""
    kind = ("count", "histogram", "histogram to size", "crosstab")[int(rng.integers(4))]
    filled = ("full", "half full", "skewed", "some empty")[int(rng.integers(4))]
    regions, schools, most = int(rng.integers(2, 7)), int(rng.integers(2, 13)), int(rng.integers(10, 41))
    labels = 2 if kind == "count" else int(rng.integers(2, 6))
    shape = (2, labels) if kind == "crosstab" else (1, labels)
    keys = [[f"r{r}", f"s{r}_{s}"] for r in range(regions) for s in range(schools)]
    region_spread, school_spread = rng.uniform(0.001, 0.1), rng.uniform(0.001, 0.1)
    whole = shares_of(shape[0] * shape[1], rng)
    by_region = rng.dirichlet(whole * (1 / region_spread - 1) + 1e-9, regions)
    by_school = [rng.dirichlet(row * (1 / school_spread - 1) + 1e-9) for row in by_region for _ in range(schools)]
    sizes = sizes_of(filled, most, len(keys), rng)
    cells = np.array([rng.multinomial(n, row) for n, row in zip(sizes, by_school, strict=True)]).T
    names = [f"l{k}" for k in range(labels)]
    statistic = {
        "count": {"count": "c = 'l0'"},
        "histogram": {"histogram": "c"},
        "histogram to size": {"histogram": "c", "sum_to_size": True},
        "crosstab": {"crosstab": ["d", "c"]},
    }[kind]
    content = {
        "groups": {"by": ["r", "s"], "keys": keys, "size" if filled == "full" else "max_size": most},
        "columns": {"c": {"labels": names, "other": names[-1]}, "d": {"labels": ["x", "y"], "other": "y"}},
        "statistics": [{**statistic, "name": "n"}],
        "privacy": {"epsilon": f"{np.exp(rng.uniform(*np.log(EPSILONS))):.2g}"},
        **({} if kind == "crosstab" else {"hierarchy": {"levels": ["r", "s"]}}),
    }
    frame = pa.table({name: ["x"] for name in "rscd"})
    return Case(kind, filled, to_plan(content, frame), cells[:1] if kind == "count" else cells)


def released_errors(case: Case, rng: Generator) -> list[float]:
    """Draw and adjust one release; the mean error of every level, the groups first. Noise of the drawn law, seeded."""
    (entry,) = plan_budget(case.plan)
    assert entry.layered is not None
    truths, rates = [np.array(case.cells)], [float(entry.drawn_at * share) for _, share in entry.layered.shares]
    ranges = [case.plan.groups.sizes, *(layer.ranges for layer in entry.layered.layers)]
    truths += [np.array(layer.sums(list(case.cells))) for layer in entry.layered.layers]
    rows = [list(add_noise(truth, sizes, rate, rng)) for truth, sizes, rate in zip(truths, ranges, rates, strict=True)]
    (adjusted,) = adjust_reports(build_reports_record(case.plan, [entry], {0: rows}))
    return [float(np.abs(layer.values - truth).mean()) for layer, truth in zip(adjusted.layers, truths, strict=True)]


def main() -> None:
    rng = np.random.default_rng(SEED)
    lines, ratios = [], {"lowest": [], "above": []}
    for number in range(CASES):
        case = draw_case(rng)
        (entry,) = plan_budget(case.plan)
        assert entry.layered is not None
        _, stated = expect_levels(case.plan, 0, entry, sorted(set(case.plan.groups.sizes.tolist())))
        realised = np.mean([released_errors(case, rng) for _ in range(DRAWS)], axis=0)
        for position, ((level, share), said, found) in enumerate(
            zip(entry.layered.shares, stated, realised, strict=True)
        ):
            ratio = float(found) / said.error if said.error else float("nan")
            ratios["above" if position else "lowest"].append(ratio)
            flag = "flagged" if said.no_better else ""
            row = (
                *(number + 1, case.kind, case.groups, len(case.plan.groups), case.plan.epsilon, level),
                *(
                    f"{float(share):.3g}",
                    f"{said.error:.3g} ± {said.deviation:.2g}",
                    f"{found:.3g}",
                    f"{ratio:.2f}",
                    flag,
                ),
            )
            lines.append(f"| {' | '.join(map(str, row))} |")
        print(number + 1, case.kind, case.groups, flush=True)
    summary = []
    for name, values in ratios.items():
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        within = float(np.mean((np.array(values) > 0.5) & (np.array(values) < 2)))
        summary.append(f"| {name} | {len(values)} | {low:.2f} | {middle:.2f} | {high:.2f} | {within:.0%} |")
    publish(
        PAGE,
        "# Stated errors of tables that add up\n\n"
        "What a dry run states for a level, and what releases of a survey then had: realised divided by stated error. "
        f"{CASES} surveys are drawn from a family that is not the prior (`bench/stated.py`): counts, histograms and "
        "crosstabs; full, half-full, skewed and empty groups; labels of even or falling shares; siblings that differ "
        "little or more. All cases are published. Where groups are more alike than the prior expects and noise is "
        "large, the realised error is smaller than stated.\n\n"
        "| level | cases | tenth | median | nine tenths | between 1/2 and 2 |\n|---|---|---|---|---|---|\n"
        + "\n".join(summary)
        + "\n\n## Cases\n\n"
        "| case | statistic | groups are | groups | epsilon | level | share | stated | realised | ratio | |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n" + "\n".join(lines) + f"\n\n{machine_line(machine())}\n",
    )


if __name__ == "__main__":
    main()

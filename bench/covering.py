"""How often intervals from private reports cover, and how often equal people are called different.

    python bench/covering.py            writes docs/benchmarks/coverage.md
    python bench/covering.py --quick    prints it, from a fifth of the collections

Collections are simulated as counts of the reports, from a distribution that is known; all draws are seeded.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine
from label_cases import DATA, shares
from pages import WIDE, machine_line, publish

import inbounds as ib
from inbounds.local import estimates as local_estimates
from inbounds.local import label_mechanisms
from inbounds.local.estimates.estimates import _quantile
from inbounds.local.reconstruct.structure import channel_for_law

LEVEL = 0.9
LABEL_COLLECTIONS, NUMBER_COLLECTIONS, RUNS, TESTS = 200, 40, 60, 400
READINGS = 5
"""So many times as many collections where nothing is resampled."""
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "coverage.md"
Floats = np.ndarray[Any, np.dtype[np.float64]]


def bell(size: int, centre: float, width: float) -> Floats:
    return np.exp(-(((np.arange(size) - centre) / width) ** 2) / 2)


def truths(size: int) -> dict[str, Floats]:
    """Distributions of numbers: one wide bell, two, none, and a few values alone."""
    shapes = {
        "bell": bell(size, 0.4 * size, 0.18 * size),
        "two bells": bell(size, 0.25 * size, 0.07 * size) + bell(size, 0.7 * size, 0.09 * size),
        "uniform": np.ones(size),
        "atoms": np.isin(np.arange(size), [10, 20, 35, 50, 75, 90]).astype(float),
    }
    return {name: shape / shape.sum() for name, shape in shapes.items()}


def ranked(size: int) -> Floats:
    shape = 1 / np.arange(1.0, size + 1)
    return shape / shape.sum()


def drawn(mechanism: Any, p: Floats, reports: int, rng: np.random.Generator) -> ib.Collector:
    likely = np.maximum(channel_for_law(mechanism).forward(p), 0)
    counts = rng.multinomial(reports, likely / likely.sum())
    seen = np.flatnonzero(counts)
    names = mechanism.report_query.output_values[seen]
    return ib.Collector(mechanism).add_counts(names, counts[seen])


def label_cases() -> Iterator[tuple[int, int, str, Any]]:
    """The law that is picked at every size and epsilon, and at epsilon 1 all others too."""
    for size in (5, 30, 1000):
        for reports, epsilon in [(n, e) for n in (10**4, 10**6) for e in ("0.5", "1", "4")]:
            yield size, reports, epsilon, label_mechanisms.best_label_mechanism(ib.category(size), epsilon)
        for law in label_mechanisms.compare_labels(ib.category(size), "1").laws[1:]:
            yield size, 10**5, "1", law.mechanism


def of_labels(collections: int) -> Iterator[list[str]]:
    """Shares above 10 / reports, by kind of data."""
    for size, reports, epsilon, mechanism in label_cases():
        covered, inside = [], True
        for data in DATA:
            rng, hits = np.random.default_rng([size, reports]), []
            many = 1 if size < 1000 else 4 if data == "atoms" else 16  # atoms have six shares, the others hundreds
            for _ in range(max(1, collections // many)):
                p = shares(data, size, rng)
                found = ib.reconstruct(drawn(mechanism, p, reports, rng), method="inverse")
                each = local_estimates.Estimates(found, mechanism.query, LEVEL).shares()
                hits += [e.lower <= t <= e.upper for e, t in zip(each, p, strict=True) if t > 10 / reports]
                inside &= all(e.lower <= e.value <= e.upper for e in each)
            covered.append(f"{np.mean(hits):.3f}" if hits else "–")
        name = mechanism.origin.name.replace("_", " ")
        yield [f"{size}", f"{reports:.0e}", epsilon, name, *covered, "yes" if inside else "no"]


def of_numbers(collections: int) -> Iterator[list[str]]:
    """Numbers 0..100, geometric reports, ratio 2 within radius 10; shares above 10 / reports."""
    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, 100), ib.local.epsilon_for_ratio(2, radius=10))
    for name, p in truths(101).items():
        for reports in (10**4, 10**5):
            rng = np.random.default_rng([reports, len(name)])
            read = [
                local_estimates.Estimates(ib.reconstruct(each, method="inverse"), mechanism.query, LEVEL)
                for each in (drawn(mechanism, p, reports, rng) for _ in range(READINGS * collections))
            ]
            runs, fewer = (RUNS, collections) if name != "atoms" else (RUNS // 3, max(1, collections // 4))
            smooth = [
                ib.local.estimate(drawn(mechanism, p, reports, rng), level=LEVEL, runs=runs, smooth=True)
                for _ in range(fewer)
            ]
            plain, assumed = (asked(found, p, reports) for found in (read, smooth))
            told = [covered(plain, what) for what in ("shares", "ranges", "mean")]
            told += [covered(assumed, what) for what in ("shares", "ranges", "quantiles")]
            widths = [f"{np.median([e.upper - e.lower for e, _ in each['shares']]):.2g}" for each in (plain, assumed)]
            yield [name, f"{reports:.0e}", *told, *widths]


def asked(found: list[Any], p: Floats, reports: int) -> dict[str, list[tuple[Any, float]]]:
    """Estimates and truths, by what they are of; quantiles where they are resampled."""
    values, quantities = np.arange(101.0), {}
    for each in found:
        quantities.setdefault("shares", []).extend(
            (e, t) for e, t in zip(each.shares(), p, strict=True) if t > 10 / reports
        )
        ranges = [(each.share(at_most=k), p[: k + 1].sum()) for k in (20, 35, 50, 65, 80)]
        quantities.setdefault("ranges", []).extend(ranges)
        quantities.setdefault("mean", []).append((each.mean(), p @ values))
        if each.smooth:
            parts = (0.1, 0.25, 0.5, 0.75, 0.9)
            quantities.setdefault("quantiles", []).extend((each.quantile(a), _quantile(p, values, a)) for a in parts)
    return quantities


def covered(quantities: dict[str, list[tuple[Any, float]]], what: str) -> str:
    return f"{np.mean([e.lower <= t <= e.upper for e, t in quantities[what]]):.3f}"


def of_tests(tests: int) -> Iterator[list[str]]:
    """The share of pairs of equal collections that are called different, at levels 0.05 and 0.1."""
    ages = ib.catalog.truncated_geometric(ib.ordinal(0, 100), ib.local.epsilon_for_ratio(2, radius=10))
    cases = {
        "numbers 0..100": (ages, truths(101)["bell"]),
        "5 labels": (label_mechanisms.best_label_mechanism(ib.category(5), 1), ranked(5)),
        "30 labels": (label_mechanisms.best_label_mechanism(ib.category(30), 1), ranked(30)),
    }
    for name, (mechanism, p) in cases.items():
        rng = np.random.default_rng(3)
        found = [
            ib.local.two_sample_test(
                *(drawn(mechanism, p, size, rng) for size in (3000, 2000)), runs=99, seed=k
            ).p_value
            for k in range(tests)
        ]
        yield [name, *(f"{np.mean(np.array(found) <= level):.3f}" for level in (0.05, 0.1))]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(part: float) -> str:
    sizes = [max(4, int(n * part)) for n in (LABEL_COLLECTIONS, NUMBER_COLLECTIONS, TESTS)]
    label_rows, number_rows, test_rows = (
        list(rows(size)) for rows, size in zip((of_labels, of_numbers, of_tests), sizes, strict=True)
    )
    return "\n\n".join(
        [
            WIDE,
            "# Intervals under local privacy",
            "How often 90 % intervals of `ib.local.estimate` cover what they should. Collections are simulated from a "
            f"known distribution: {sizes[0]} for each row of labels (fewer for 1,000 labels), {READINGS * sizes[1]} "
            f"for a row of numbers, {sizes[1]} where it is resampled (a quarter for atoms). Quantities of one "
            "collection hang together, so a resampled rate has a standard error of about 0.03.",
            "## Labels",
            "Shares above 10 / reports, by kind of data; the law that `ib.local.plan_collection` picks, and "
            ""
            "with 10^5 reports at "
            "epsilon 1 all others. A dash where no share is above it. *Own value*: whether every interval holds its "
            "estimate.",
            table(["labels", "reports", "epsilon", "law", *DATA, "own value"], label_rows),
            "## Numbers",
            "Numbers 0..100 under geometric reports with ratio 2 within radius 10: single values above 10 / reports, "
            "ranges, the mean, and quantiles. Atoms are six numbers alone, on which some of the ranges end. Shares, "
            "ranges and means are read without bias and assume nothing; intervals of shares keep within 0..1 and cover "
            "as they say even where the noise is wider than that. With `smooth=True`, and for quantiles, it is taken "
            "as known that numbers are not heaped: intervals are far narrower, and wrong for single numbers if they "
            "are heaped, since reports cannot tell which of two neighbours a heap is on.",
            table(
                [
                    *("values", "reports", "shares", "ranges", "mean"),
                    *("shares, smooth", "ranges, smooth", "quantiles", "width of a share", "smooth"),
                ],
                number_rows,
            ),
            "## Two samples",
            f"How often `ib.local.two_sample_test` calls two collections from equal people different: {sizes[2]} pairs "
            "of 3,000 and 2,000 reports.",
            table(["reports about", "at level 0.05", "at level 0.1"], test_rows),
            "**Repeat it:** `python bench/covering.py`.",
            machine_line(machine()),
        ]
    )


if __name__ == "__main__":
    started = time.process_time()
    quick = "--quick" in sys.argv
    text = page(0.2 if quick else 1.0) + "\n"
    if quick:
        print(text)
    else:
        publish(PAGE, text)
    print(f"{time.process_time() - started:.0f} s of processor time", file=sys.stderr)

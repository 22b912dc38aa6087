"""How often intervals from private reports cover, and how often equal people are called different.

    python bench/coverage.py            writes docs/benchmarks/coverage.md
    python bench/coverage.py --quick    prints it, from a fifth of the collections

Collections are simulated as counts of the reports, from a distribution that is known; all draws are seeded.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine
from pages import WIDE, machine_line

import inbounds as ib
from inbounds.local import labels
from inbounds.local.estimates.estimates import _quantile
from inbounds.local.reconstruct.shapes import channel_of
from inbounds.mechanism.labels import LabelMechanism

LEVEL = 0.9
LABEL_COLLECTIONS, NUMBER_COLLECTIONS, RUNS, TESTS = 200, 40, 60, 400
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
    likely = np.maximum(channel_of(mechanism).forward(p), 0)
    counts = rng.multinomial(reports, likely / likely.sum())
    seen = np.flatnonzero(counts)
    names = seen if isinstance(mechanism, LabelMechanism) else mechanism.query.reported[seen]
    return ib.Collector(mechanism).add_counts(names, counts[seen])


def of_labels(collections: int) -> Iterator[list[str]]:
    """Shares above 10 / reports, of labels whose shares fall like 1 / rank."""
    for size, reports, epsilon in [(k, n, e) for k in (5, 30, 1000) for n in (10**4, 10**5) for e in ("0.5", 1, 4)]:
        mechanism, p = labels.label_mechanism(ib.category(size), epsilon), ranked(size)
        rng, hits, inside = np.random.default_rng([size, reports]), [], True
        counted = p > 10 / reports
        for _ in range(collections if size < 1000 else max(1, collections // 20)):
            shares = ib.local.estimate(drawn(mechanism, p, reports, rng), level=LEVEL).shares()
            hits.append([each.lower <= true <= each.upper for each, true in zip(shares, p, strict=True)])
            inside &= all(each.lower <= each.value <= each.upper for each in shares)
        covered = np.array(hits)[:, counted].mean()
        name = mechanism.origin.name.replace("_", " ")
        yield [f"{size}", f"{reports:.0e}", str(epsilon), name, f"{covered:.3f}", "yes" if inside else "no"]


def of_numbers(collections: int) -> Iterator[list[str]]:
    """Numbers 0..100, geometric reports, ratio 2 within radius 10; shares above 10 / reports."""
    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, 100), ib.local.epsilon(2, radius=10))
    values = np.arange(101.0)
    for name, p in truths(101).items():
        for reports in (10**4, 10**5):
            rng = np.random.default_rng([reports, len(name)])
            hits: dict[str, list[bool]] = {"shares": [], "ranges": [], "quantiles": [], "mean": []}
            for _ in range(collections if name != "atoms" else max(1, collections // 4)):
                found = ib.local.estimate(
                    drawn(mechanism, p, reports, rng), level=LEVEL, runs=RUNS if name != "atoms" else RUNS // 3
                )
                asked = {
                    "shares": [(e, t) for e, t in zip(found.shares(), p, strict=True) if t > 10 / reports],
                    "ranges": [(found.share(at_most=k), p[: k + 1].sum()) for k in (20, 35, 50, 65, 80)],
                    "quantiles": [(found.quantile(a), _quantile(p, values, a)) for a in (0.1, 0.25, 0.5, 0.75, 0.9)],
                    "mean": [(found.mean(), p @ values)],
                }
                for what, pairs in asked.items():
                    hits[what] += [e.lower <= t <= e.upper for e, t in pairs]
            yield [name, f"{reports:.0e}", *(f"{np.mean(hit):.3f}" for hit in hits.values())]


def of_tests(tests: int) -> Iterator[list[str]]:
    """The share of pairs of equal collections that are called different, at levels 0.05 and 0.1."""
    ages = ib.catalog.truncated_geometric(ib.ordinal(0, 100), ib.local.epsilon(2, radius=10))
    cases = {
        "numbers 0..100": (ages, truths(101)["bell"]),
        "5 labels": (labels.label_mechanism(ib.category(5), 1), ranked(5)),
        "30 labels": (labels.label_mechanism(ib.category(30), 1), ranked(30)),
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
            "# Intervals of private reports",
            "How often 90 % intervals of `ib.local.estimate` cover what they should. Collections are simulated from a "
            f"known distribution: {sizes[0]} for each row of labels (a twentieth for 1,000 labels), {sizes[1]} for a "
            "row of numbers (a quarter for atoms). Quantities of one collection hang together, so a rate of a row of "
            "numbers has a standard error of about 0.03, the mean's of 0.05.",
            "## Labels",
            "Shares above 10 / reports, where shares fall like 1 / rank; the law is the one that "
            "`ib.local.plan` picks. *Own value*: whether every interval holds its estimate.",
            table(["labels", "reports", "epsilon", "law", "covered", "own value"], label_rows),
            "## Numbers",
            "Numbers 0..100 under geometric reports with ratio 2 within radius 10: single values above 10 / reports, "
            "ranges, quantiles, and the mean. Atoms are six numbers alone, on which some of the ranges end: reports "
            "cannot tell which of two neighbours such a heap is on, and intervals of single numbers do not know it.",
            table(["values", "reports", "shares", "ranges", "quantiles", "mean"], number_rows),
            "## Two samples",
            f"How often `ib.local.two_sample_test` calls two collections from equal people different: {sizes[2]} pairs "
            "of 3,000 and 2,000 reports.",
            table(["reports about", "at level 0.05", "at level 0.1"], test_rows),
            "**Repeat it:** `python bench/coverage.py`.",
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
        PAGE.write_text(text, encoding="utf-8")
    print(f"{time.process_time() - started:.0f} s of processor time", file=sys.stderr)

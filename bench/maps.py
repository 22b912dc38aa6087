"""Designs on maps of all sizes within a few seconds: value, gap and time, for both aims. Writes its own page.

`python bench/maps.py` measures and writes docs/benchmarks/maps.md.
"""

import time
from itertools import product
from pathlib import Path

from harness import machine, one_thread

one_thread()

from pages import machine_line, publish  # noqa: E402

import inbounds as ib  # noqa: E402
from graphs import skewed, timed  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "maps.md"
SIDES, METRICS = (5, 10, 20, 30, 40, 64), ("manhattan", "euclidean")
EPSILONS = {10: ("0.3", "1", "3"), 20: ("0.3", "1", "3")}
"""Values of epsilon for each side; 1 for the others."""
LIMIT = 3.0
"""Processor seconds that a search may take."""

HEAD = (
    "| map, privacy | epsilon | goal | processor seconds | loss | gap | route |",
    "|---|---:|---|---:|---:|---:|---|",
)
AIMS = {"average, all cells alike": "average", "average, hot spots": "average", "worst cell": "worst"}


def measure(side: int, metric: str, epsilon: str, goal: str) -> str:
    """Design for one map and return the row of the table."""
    query = ib.grid(side, side, metric=metric)
    prior = skewed(query) if "hot" in goal else None
    made, seconds = timed(lambda: ib.optimal(query, epsilon, "distance", prior, aim=AIMS[goal], max_seconds=LIMIT))
    best, route = made.optimality, made.origin.parameters["route"]
    moves = "neighbours" if metric == "manhattan" else "straight line"
    row = f"| {side} × {side}, {moves} | {epsilon} | {goal} | {seconds:.2f} | {best.value:.5f} |"
    return f"{row} {best.gap / best.value:.0e} | {route} |"


def main() -> None:
    setattr(time, "monotonic", time.process_time)  # noqa: B010 - limits in processor time: they mean the same on a busy machine
    ib.optimal(ib.grid(2, 2), 1, "euclidean")  # libraries are loaded on first use
    rows = []
    for side, metric in product(SIDES, METRICS):
        for epsilon, goal in product(EPSILONS.get(side, ("1",)), AIMS):
            rows.append(measure(side, metric, epsilon, goal))
            print(rows[-1], flush=True)
    text = [
        "# Maps",
        "",
        "Designs for the distance of the map, average under equal weights or three hot",
        f"spots, and for the worst cell, each with `max_seconds={LIMIT:g}` of processor time; one thread. The gap is",
        "what may be left to gain, as a share of the loss, proved; 1e+00: no bound was proved in that time. Times are",
        "the whole of `ib.optimal`. Rounding and the exact check at its end are never interrupted: for 20 × 20 cells",
        f"that are all protected in a straight line it compares {len(ib.grid(20, 20).edges)} edges for each report.",
        "",
        machine_line(machine()),
        "",
        "## The average, all cells alike, at epsilon 1",
        "",
        *HEAD,
        *(row for row in rows if "| 1 | average, all cells alike |" in row),
        "",
        "## Every map, epsilon and goal",
        "",
        *HEAD,
        *rows,
        "",
    ]
    publish(PAGE, "\n".join(text))


if __name__ == "__main__":
    main()

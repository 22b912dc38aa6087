"""Answers on a graph: how long the optimum takes beside other solvers, and what it is worth. Writes its own page.

`python bench/graphs.py` measures and writes docs/benchmarks/graphs.md.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import machine, one_thread

one_thread()

import clarabel  # noqa: E402
import highspy  # noqa: E402
from pages import machine_line, publish  # noqa: E402
from scipy.sparse import coo_array, csc_array, eye, kron, vstack  # noqa: E402

import inbounds as ib  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "graphs.md"
PATIENCE = 150.0
"""Seconds of the clock that a solver may take."""


def skewed(query: ib.RangeQuery, seed: int = 0) -> np.ndarray:
    """Three hot spots of people on a thin background, and half of it again at random."""
    rng, at = np.random.default_rng(seed), query.coordinates
    far = at.max(axis=0)
    weight = np.full(len(at), 0.5 / len(at))
    for _ in range(3):
        centre, spread = rng.uniform(0, 1, 2) * far, rng.uniform(0.06, 0.2) * far.max()
        weight += rng.uniform(0.5, 2) * np.exp(-((at - centre) ** 2).sum(axis=1) / 2 / spread**2)
    weight *= rng.uniform(0.5, 1.5, len(at))
    return weight / weight.sum()


def program(query: ib.RangeQuery, epsilon: float, loss: np.ndarray, prior: np.ndarray) -> tuple[Any, Any, np.ndarray]:
    """The textbook program: private rows >= 0, sums = 1, costs."""
    n = len(query.answers)
    tails, heads, lengths = zip(*query.edges, strict=True)
    ratios, k = np.exp(epsilon * np.array([*map(float, lengths)])), np.arange(len(tails))
    private = coo_array((np.r_[ratios, -np.ones(len(k))], (np.r_[k, k], np.r_[heads, tails])), shape=(len(k), n))
    return kron(eye(n), private).tocsr(), kron(np.ones((1, n)), eye(n)).tocsr(), (prior * loss).ravel()


def by_highs(query: ib.RangeQuery, epsilon: float, loss: np.ndarray, prior: np.ndarray) -> float:
    rows, sums, cost = program(query, epsilon, loss, prior)
    matrix, model = vstack([rows, sums]).tocsr(), highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_, model.col_lower_ = cost, np.zeros(len(cost))
    model.col_upper_ = np.full(len(cost), np.inf)
    model.row_lower_ = np.r_[np.zeros(rows.shape[0]), np.ones(sums.shape[0])]
    model.row_upper_ = np.r_[np.full(rows.shape[0], np.inf), np.ones(sums.shape[0])]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    highs = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "solver": "ipm", "time_limit": PATIENCE, "run_crossover": "off"}
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.passModel(model)
    highs.run()
    done = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value if done else np.nan


def by_clarabel(query: ib.RangeQuery, epsilon: float, loss: np.ndarray, prior: np.ndarray) -> float:
    rows, sums, cost = program(query, epsilon, loss, prior)
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit, settings.max_threads = False, PATIENCE, 1
    matrix, right = vstack([sums, -rows]).tocsc(), np.r_[np.ones(sums.shape[0]), np.zeros(rows.shape[0])]
    cones = [clarabel.ZeroConeT(sums.shape[0]), clarabel.NonnegativeConeT(rows.shape[0])]
    found = clarabel.DefaultSolver(csc_array((len(cost), len(cost))), cost, matrix, right, cones, settings).solve()
    return found.obj_val if "Solved" in str(found.status) else np.nan


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and the processor seconds that it took."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def beside_solvers(epsilon: float) -> list[str]:
    query = ib.grid(10, 10, metric="manhattan")
    prior, loss = skewed(query), ib.losses.euclidean.table(query)
    ours, seconds = timed(lambda: ib.optimal(query, epsilon, "euclidean", prior, max_seconds=PATIENCE))
    rows = [_row(f"inbounds ({ours.origin.parameters['route']}), certified", ours.optimality, seconds, PATIENCE)]
    for name, solve in (
        ("HiGHS, interior point", lambda: by_highs(query, epsilon, loss, prior)),
        ("Clarabel", lambda: by_clarabel(query, epsilon, loss, prior)),
    ):
        value, spent = timed(solve)
        reached = "not in time" if np.isnan(value) else f"{value:.8f}"
        rows.append(f"| {name} | {PATIENCE:g} | {spent:.2f} | {reached} | |")
    return rows


def _row(name: str, best: Any, seconds: float, limit: float) -> str:
    return f"| {name} | {limit:g} | {seconds:.2f} | {best.value:.8f} | {best.gap / best.value:.0e} |"


def large() -> list[str]:
    rng = np.random.default_rng(1)
    tree = ib.tree({f"n{j}": f"n{rng.integers(0, j)}" for j in range(1, 400)})
    weights = rng.exponential(1, 400) ** 2
    side, straight = ib.grid(20, 20, metric="manhattan"), ib.grid(20, 20)
    cases: list[tuple[str, ib.RangeQuery, float, str, Any, float]] = [
        ("20 × 20, epsilon 1", side, 1.0, "euclidean", "skewed", 60),
        ("20 × 20, epsilon 1, all cells alike", side, 1.0, "euclidean", None, 60),
        ("20 × 20, epsilon 0.3", side, 0.3, "euclidean", "skewed", 60),
        ("20 × 20, epsilon 0.3, all cells alike", side, 0.3, "euclidean", None, 60),
        ("20 × 20, straight-line privacy, epsilon 1, all cells alike", straight, 1.0, "distance", None, 60),
        ("20 × 20, straight-line privacy, epsilon 0.3, all cells alike", straight, 0.3, "distance", None, 150),
        ("20 × 20, straight-line privacy, epsilon 1", straight, 1.0, "distance", "skewed", 150),
        ("a tree of 400 nodes, epsilon 1", tree, 1.0, "distance", weights, 60),
        ("50 × 50, epsilon 1", ib.grid(50, 50, metric="manhattan"), 1.0, "euclidean", "skewed", 60),
        ("100 × 100, epsilon 1", ib.grid(100, 100, metric="manhattan"), 1.0, "euclidean", "skewed", 100),
        ("100 × 100, epsilon 1, all cells alike", ib.grid(100, 100, metric="manhattan"), 1.0, "euclidean", None, 60),
        ("100 × 100, straight-line privacy, epsilon 1, all cells alike", ib.grid(100, 100), 1.0, "distance", None, 150),
    ]
    rows = []
    for name, query, epsilon, loss, prior, limit in cases:
        weighted = skewed(query) if isinstance(prior, str) else prior
        made, seconds = timed(lambda: ib.optimal(query, epsilon, loss, weighted, max_seconds=limit))  # noqa: B023
        rows.append(_row(f"{name}: {made.origin.parameters['route']}", made.optimality, seconds, limit))
        print(rows[-1], flush=True)
    return rows


def worth() -> list[str]:
    """What each mechanism loses on a map of 10 × 10 cells under straight-line privacy, read as it is and by the best
    guess."""
    query = ib.grid(10, 10)
    prior = skewed(query)
    made = {
        "planar Laplace, continuous, rounded to cells": ib.certify(_continuous(10), query, 1),
        "planar Laplace on cells": ib.catalog.planar_laplace(query, 1),
        "metric geometric": ib.catalog.metric_geometric(query, 1),
        "exponential": ib.catalog.exponential(query, 1),
        "randomized response": ib.catalog.randomized_response(query, 1),
    }
    rows = [
        f"| {name} | {m.loss('euclidean', prior):.3f} | {m.bayes_loss('euclidean', prior):.3f} |"
        for name, m in made.items()
    ]
    best, seconds = timed(lambda: ib.optimal(query, 1, "euclidean", prior, max_seconds=PATIENCE))
    print(best.optimality, seconds, flush=True)
    low = f"(nothing private is below {best.optimality.bound:.3f}; {seconds:.0f} s, limit {PATIENCE:g} s)"
    return [
        *rows,
        f"| optimal {low} | {best.loss('euclidean', prior):.3f} | {best.bayes_loss('euclidean', prior):.3f} |",
    ]


def _continuous(size: int, fine: int = 21, reach: int = 60) -> np.ndarray:
    """Laplace noise on the plane, epsilon 1, from the middle of a cell: its mass in every cell by the midpoint rule."""
    a = (np.arange(-reach * fine - fine // 2, reach * fine + fine // 2 + 1)) / fine
    noise = np.exp(-np.hypot(a[:, None], a)).reshape(2 * reach + 1, fine, 2 * reach + 1, fine).sum(axis=(1, 3))
    noise /= noise.sum()
    P, d = np.zeros((size * size, size * size)), np.arange(-reach, reach + 1)
    for r in range(size):
        for c in range(size):
            at = np.clip(r + d, 0, size - 1)[:, None] * size + np.clip(c + d, 0, size - 1)
            np.add.at(P[:, r * size + c], at.ravel(), noise.ravel())
    return P


def reconstructed(size: int = 60, reports: int = 10**6) -> list[str]:
    """The distribution on a large map from many reports: the default estimate, and the maximum of the likelihood."""
    town = ib.grid(size, size, metric="manhattan")
    mechanism = ib.catalog.planar_laplace(town, 1)
    truth, rng = skewed(town), np.random.default_rng(0)
    counts = rng.multinomial(reports, mechanism.matrix @ truth)
    rows = []
    ways: list[tuple[str, dict[str, Any]]] = [
        ("stopped by held-out reports (default)", {}),
        ("maximum of the likelihood, to 10^-4", {"method": "ibu", "tolerance": 1e-4}),
        ("maximum of the likelihood, to 10^-6", {"method": "ibu", "tolerance": 1e-6}),
    ]
    for name, asked in ways:
        found, seconds = timed(lambda asked=asked: ib.reconstruct(counts, mechanism, given="counts", **asked))
        off = ib.distance.kantorovich(found.distribution, truth, town)
        rows.append(f"| {name} | {seconds:.1f} | {off:.3f} | {found.residual:.1e} |")
        print(rows[-1], flush=True)
    raw = ib.distance.kantorovich(counts, truth, town)
    return [*rows, f"| the reports as they are | | {raw:.3f} | |"]


def main() -> None:
    ib.optimal(ib.grid(2, 2), 1, "euclidean")  # libraries are loaded on first use
    head = "| | limit | processor seconds | average loss | gap |\n|---|---:|---:|---:|---:|"
    tables = {epsilon: beside_solvers(epsilon) for epsilon in (1.0, 0.3)}
    for rows in tables.values():
        print(*rows, sep="\n", flush=True)
    largest, lost, mapped = large(), worth(), reconstructed()
    text = [
        "# Graphs",
        "",
        "Written by `bench/graphs.py`. Straight-line loss (on the tree: the length of the path), average under a prior",
        "of three hot spots; one thread. The gap is what may be left to gain, as a share of the loss, proved. The",
        "limit is what a search was given, in seconds of the clock, on a machine that may be busy.",
        "",
        machine_line(machine()),
        "",
        "## A map of 10 × 10 cells, neighbours side by side",
        "",
        *[line for epsilon, rows in tables.items() for line in (f"Epsilon {epsilon:g}:", "", head, *rows, "")],
        "## Larger",
        "",
        "Rounding to whole weights and the check included. A search ends at a gap of 10^-9 or when its time is up;",
        "where any two of 20 × 20 cells that see each other are joined (straight-line privacy), at 2·10^-3.",
        "",
        head,
        *largest,
        "",
        "A map of 100 × 100 cells has no matrix: its noise is one table for all cells, and the bound is that of tiles.",
        "",
        "## What the optimum is worth",
        "",
        "A map of 10 × 10 cells at epsilon 1 for every cell of straight-line distance, all pairs of cells.",
        "",
        "| | loss | loss with the best guess |",
        "|---|---:|---:|",
        *lost,
        "",
        "## Reconstructing a map",
        "",
        "10^6 reports by planar Laplace noise at epsilon 1 on a map of 60 × 60 cells, by Fourier transforms. The",
        "distance is Kantorovich's from the distribution that was drawn from, in cells; the residual bounds what the",
        "log-likelihood per report can still gain.",
        "",
        "| | processor seconds | distance | residual |",
        "|---|---:|---:|---:|",
        *mapped,
        "",
    ]
    publish(PAGE, "\n".join(text))


if __name__ == "__main__":
    main()

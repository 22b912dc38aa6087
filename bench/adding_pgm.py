"""Private-PGM, the package mbi, on trees of counts: a peer of bench/adding.py, in an environment of its own (Makefile).

    .venv-mbi/bin/python bench/adding_pgm.py < case.json

A case: the parents of the nodes of every level, leaves first, the largest value of every leaf, and tables of noisy
counts of every level with the standard deviations of their noise. A person has one attribute for each level, the place
of its node among its siblings; every level is a noisy marginal. With public sizes, a person has one more attribute:
whether it is counted; and how many people every leaf has is a marginal that is nearly without noise.

The model's marginals add up and are not negative. They are real numbers, and have no intervals.
"""

import json
import os
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)  # as the package advises
jax.config.update("jax_enable_compilation_cache", False)

from mbi import Constraint, Domain, LinearMeasurement, estimation  # noqa: E402

COUNTED = "counted"
SURE = 0.1
"""The deviation of public sizes, as a share of that of counts of leaves. With less, mirror descent hardly moves."""

WAYS = {
    "Private-PGM": (False, 1000),
    "Private-PGM, public sizes": (True, 1000),
    "Private-PGM, public sizes, 10,000 steps": (True, 10_000),
}
"""Whether public sizes are used, and the steps of mirror descent, of which 1000 are the default."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Query: the cells of a marginal that are nodes; of a marginal with COUNTED last, the people who are."""

    cells: np.ndarray
    counted: bool

    def __call__(self, factor: Any) -> Any:
        values = factor.values[..., 1] if self.counted else factor.values
        return values.ravel()[self.cells]

    def op_norm_sq(self) -> float:
        return 1.0


class Tree:
    """A tree as a domain. sized: with public sizes."""

    def __init__(self, parents: list[np.ndarray], sizes: np.ndarray, sized: bool) -> None:
        top = int(parents[-1].max()) + 1
        places, self.cells = [np.arange(top)], [np.arange(top)]
        for parent in parents[::-1]:
            places.insert(0, np.arange(len(parent)) - np.searchsorted(parent, parent))
            self.cells.insert(0, self.cells[0][parent] * (int(places[0].max()) + 1) + places[0])
        self.sizes, self.sized, depth = sizes, sized, len(places)
        self.names = [f"level {level}" for level in reversed(range(depth))]
        shape = [int(own.max()) + 1 for own in places[::-1]]
        self.domain = Domain([*self.names, *([COUNTED] if sized else [])], [*shape, *([2] if sized else [])])

    def clique(self, level: int) -> tuple[str, ...]:
        """The attributes that say in which node of a level somebody is, and whether counted."""
        return (*self.names[: len(self.names) - level], *([COUNTED] if self.sized else []))

    @cached_property
    def queries(self) -> list[Nodes]:
        return [Nodes(cells, self.sized) for cells in self.cells]

    @cached_property
    def of_sizes(self) -> Nodes:
        return Nodes(self.cells[0], counted=False)

    @cached_property
    def constraints(self) -> list[Constraint]:
        """Places that are no leaf, where parents differ in their numbers of children."""
        domain = self.domain.project(self.names)
        if len(self.cells[0]) == domain.size():
            return []
        return [Constraint(domain, valid=np.stack(np.unravel_index(self.cells[0], domain.shape), axis=1))]

    def measurements(self, noisy: list[list[float]], deviations: list[float]) -> list[LinearMeasurement]:
        found = [
            LinearMeasurement(np.array(values, float), self.clique(level), deviation, self.queries[level])
            for level, (values, deviation) in enumerate(zip(noisy, deviations, strict=True))
        ]
        if self.sized:
            sizes = LinearMeasurement(self.sizes, tuple(self.names), SURE * deviations[0], self.of_sizes)
            return [*found, sizes]
        return found

    def total(self, measured: list[LinearMeasurement], deviations: list[float]) -> float:
        """Public, or the unbiased one of least variance, as the package finds it where every cell is a node."""
        if self.sized:
            return float(self.sizes.sum())
        variances = [deviation**2 * len(cells) for deviation, cells in zip(deviations, self.cells, strict=True)]
        sums = [float(np.sum(own.noisy_measurement)) for own in measured]
        return max(1.0, float(np.average(sums, weights=1 / np.array(variances))))


def estimated(tree: Tree, steps: int, noisy: list[list[float]], deviations: list[float]) -> dict[str, Any]:
    """The model's counts of every level, and its seconds."""
    measured = tree.measurements(noisy, deviations)
    start = time.process_time()
    model = estimation.MirrorDescent().estimate(
        tree.domain, measured, tree.total(measured, deviations), tree.constraints, iters=steps
    )
    values = [np.asarray(query(model.project(tree.clique(level)))).tolist() for level, query in enumerate(tree.queries)]
    return {"values": values, "seconds": time.process_time() - start}


def main() -> None:
    """Every table in every way; the first table once before, so that none has the time of compiling."""
    case, answer = json.load(sys.stdin), dict[str, Any]()
    for name, (sized, steps) in WAYS.items():
        tree = Tree([np.array(parent) for parent in case["parents"]], np.array(case["sizes"], float), sized)
        start = time.process_time()
        estimated(tree, 1, **case["tables"][0])
        compiling = time.process_time() - start
        answer[name] = {"tables": [estimated(tree, steps, **table) for table in case["tables"]], "compiling": compiling}
    versions = ", ".join(f"{name} {version(name)}" for name in ("mbi", "jax"))
    print(json.dumps({"ways": answer, "versions": versions}))


if __name__ == "__main__":
    main()

"""004 section 6: answers of several dimensions. Two counts about the same people, reported together."""

from collections.abc import Sequence

import numpy as np

from inbounds import catalog
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Number, epsilon_from_alpha
from inbounds.query import count, pair_of_counts
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.study import Result, Study
from inbounds_studies.style import OPTIMAL, curves
from inbounds_studies.table import Table, decimal

APART, GUESSED, BLIND = "each by geometric, half of ε", "the same, best guess", "no data: best constant"


def pair_errors(top: int) -> Floats:
    """loss[report, pair]: errors of both counts, added."""
    at = np.array([(x, y) for x in range(top + 1) for y in range(top + 1)])
    return np.asarray(np.abs(at[:, None] - at[None, :]).sum(axis=2), dtype=np.float64)


def vectors(
    top: int = 4, alphas: Sequence[Number] = ("0.1", "0.3", "0.5", "0.7", "0.85"), crew: Crew = ALONE
) -> Result:
    """Expected error of two counts 0..top of the same people: one by one against the optimum for the pair."""
    parts = crew.map(_at, [(top, a) for a in alphas])
    table = Table.of(("alpha", "mechanism", "value"), [row for part in parts for row in part])
    return Result(table, lambda: curves(table, "alpha", x_label="α = exp(−epsilon)", legend_across=2,
                                        y_label="expected error of both counts"))  # fmt: skip


def _at(job: tuple[int, Number]) -> list[tuple[float, str, float]]:
    top, a = job
    loss = pair_errors(top)
    one = catalog.truncated_geometric(count(top), epsilon_from_alpha(a) / 2).matrix
    both = np.kron(one, one)
    best = optimal(pair_of_counts(top, top), epsilon_from_alpha(a), loss).loss(loss)
    found = {
        APART: float((both * loss).sum() / len(loss)),
        GUESSED: float((both @ loss.T).min(axis=1).sum() / len(loss)),
        OPTIMAL: best,
        BLIND: float(loss.mean(axis=1).min()),
    }
    return [(decimal(a), name, value) for name, value in found.items()]


STUDIES = (
    Study("004-vectors", "Section 6: two counts reported together", vectors, {"top": 2, "alphas": ("0.5",)}),
)  # fmt: skip

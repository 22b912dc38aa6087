"""The papers' linear program as written there: one variable per entry, one row per neighbouring pair and output.

Used by the benchmark as the alternative that a reader of the papers would build; 000 §3.4, 003 (3)-(6).
`strong_program` is the form that suits solvers best: where all answers are neighbours, with one variable more for each
output, its least probability, so that 2n rows say what n² pairs would.
"""

from typing import Any

import numpy as np
from scipy.sparse import coo_array

import inbounds as ib
from inbounds.losses import to_loss, to_prior
from inbounds.properties import MatrixLayout, compile_property


def program(
    query: ib.RangeQuery, epsilon: float, loss: str, properties: tuple[str, ...] = (), *, private: bool = True
) -> tuple[Any, ...]:
    """(cost, upper-bound rows A, right-hand sides b, equality rows): minimize cost·p, A p <= b, columns sum to one.

    private: False leaves the rows of neighbours out.
    """
    outputs, answers = query.shape
    cells = np.arange(outputs * answers).reshape(outputs, answers)
    greater, lesser, scale, floor = [], [], [], []
    done = set()
    for start, stop, distance in query.cliques() if private else ():
        for j in range(start, stop):
            for k in range(start, stop):
                if j != k and (j, k) not in done:
                    done.add((j, k))
                    greater.append(cells[:, k])
                    lesser.append(cells[:, j])
                    scale.append(np.full(outputs, np.exp(epsilon * float(distance))))
    layout = MatrixLayout(outputs, query.home_cell, query.below, query.above)
    for name in properties:
        asked = compile_property(name, layout)
        greater.append(asked.greater)
        lesser.append(asked.lesser)
        scale.append(np.full(len(asked.greater), float(asked.ratio)))
        floor.append(asked.floored)
    g, x, s = (np.concatenate(part) if part else np.empty(0, int) for part in (greater, lesser, scale))
    rows = np.arange(len(g))
    floored = np.concatenate(floor) if floor else np.empty(0, dtype=int)
    entries = np.concatenate([np.ones(len(g)), -s, -np.ones(len(floored))])
    where = np.concatenate([rows, rows, len(g) + np.arange(len(floored))])
    which = np.concatenate([x, g, floored])
    matrix = coo_array((entries, (where, which)), shape=(len(g) + len(floored), cells.size)).tocsr()
    right = np.concatenate([np.zeros(len(g)), np.full(len(floored), -1 / outputs)])
    sums = coo_array((np.ones(cells.size), (np.tile(np.arange(answers), outputs), cells.ravel()))).tocsr()
    cost = to_loss(loss).table(query) * to_prior(None, query)
    return cost.ravel(), matrix, right, sums


def strong_program(
    query: ib.RangeQuery, epsilon: float, loss: str, properties: tuple[str, ...] = ()
) -> tuple[Any, ...]:
    """The same as `program`, with the least probabilities of outputs where all answers are neighbours."""
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    outputs, answers = query.shape
    if len(list(query.cliques())) != 1 or answers <= 2:
        return program(query, epsilon, loss, properties)
    cost, rows, right, sums = program(query, epsilon, loss, properties, private=False)
    cells, ratio = len(cost), float(np.exp(epsilon))
    minimum = kron(eye_array(outputs), np.ones((answers, 1)))
    rows, sums = (hstack([part, csr_array((part.shape[0], outputs))]) for part in (rows, sums))
    pairs = [hstack([-eye_array(cells), minimum]), hstack([eye_array(cells), -ratio * minimum])]
    cost, right = np.append(cost, np.zeros(outputs)), np.append(right, np.zeros(2 * cells))
    return cost, csr_array(vstack([rows, *pairs])), right, csr_array(sums)


def clarabel(query: ib.RangeQuery, epsilon: float, loss: str, properties: tuple[str, ...] = ()) -> float:
    """The least loss that Clarabel finds with its own settings; not a number if it gives up."""
    import clarabel as library
    from scipy.sparse import csc_array, eye_array, vstack

    cost, rows, right, sums = strong_program(query, epsilon, loss, properties)
    matrix = csc_array(vstack([sums, rows, -eye_array(len(cost))]))
    sides = np.concatenate([np.ones(sums.shape[0]), right, np.zeros(len(cost))])
    cones = [library.ZeroConeT(sums.shape[0]), library.NonnegativeConeT(len(sides) - sums.shape[0])]
    settings = library.DefaultSettings()
    settings.verbose = False
    found = library.DefaultSolver(csc_array((len(cost), len(cost))), cost, matrix, sides, cones, settings).solve()
    return float(found.obj_val) if str(found.status) == "Solved" else float("nan")

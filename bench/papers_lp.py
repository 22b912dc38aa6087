"""The papers' linear program as written there: one variable per entry, one row per neighbouring pair and output.

Used by the benchmark as the alternative that a reader of the papers would build; 000 §3.4, 003 (3)-(6).
"""

from typing import Any

import numpy as np
from scipy.sparse import coo_array

import inbounds as ib
from inbounds.losses import to_loss, to_prior
from inbounds.properties import MatrixLayout, compile_property


def program(query: ib.RangeQuery, epsilon: float, loss: str, properties: tuple[str, ...] = ()) -> tuple[Any, ...]:
    """(cost, upper-bound rows A, right-hand sides b, equality rows): minimize cost·p, A p <= b, columns sum to one."""
    outputs, answers = query.shape
    cells = np.arange(outputs * answers).reshape(outputs, answers)
    greater, lesser, scale, floor = [], [], [], []
    done = set()
    for start, stop, distance in query.cliques():
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
    g, x, s = (np.concatenate(part) for part in (greater, lesser, scale))
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

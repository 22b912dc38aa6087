"""The work of solvers of programs with properties, in multiplications, and which of them solves a program.

**The simplex method** solves programs of up to VERTEX_UP_TO variables: it ends in a vertex, which is exact up to
rounding. How many pivots it takes cannot be told from the sizes; for so few variables it is some hundredths of a second
at most.

**Clarabel** solves larger programs. Their variables are cells on a grid, linked along rows and columns. Nested
dissection of a grid of N cells takes about 10 N^1.5 multiplications and leaves 8 N log2(N) entries (George 1973). A
step factors once and solves 3 systems (the constant right-hand side of the homogeneous embedding, predictor,
corrector), each by two passes over the entries. STEPS steps usually suffice, whatever the size.

**The row program** is tried first. It closes in a few rounds or slowly. Before Clarabel it stops when it has taken as
much work as Clarabel would take, so that both together take at most about twice the work of the better of them. A pivot
of its simplex method passes once over the entries of the master program, to price its columns, and a round prices every
cell of the mechanism.
"""

import numpy as np

VERTEX_UP_TO = 300
"""Variables up to which a vertex is found."""

STEPS = 30
"""Steps that an interior point usually takes."""

PRICING = 400
"""Multiplications that take as long as pricing one cell."""


def interior_point_work(variables: int) -> float:
    """Return the expected work of Clarabel."""
    entries = 8 * variables * np.log2(variables)
    return float(STEPS * (10 * variables**1.5 + 3 * 2 * entries))


def row_work_limit(variables: int) -> float:
    """Return the work after which the row program stops; before the simplex method, only its rounds are limited."""
    return interior_point_work(variables) if variables > VERTEX_UP_TO else np.inf


def round_work(pivots: int, entries: int, cells: int) -> float:
    """Return the work of a round of the row program."""
    return pivots * entries + PRICING * cells

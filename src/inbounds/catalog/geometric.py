"""The geometric mechanisms: two-sided geometric noise on the grid, then back into the range."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from inbounds.catalog._grid import boundary_ticks, decay, dense, numeric, square
from inbounds.design.closed.geometric import folded_matrix, snapped_geometric
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.mechanism.laws.noise import make_geometric_noise
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import RangeQuery, check_query, with_outputs

GHOSH = "Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, 2009"


def truncated_geometric(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Add two-sided geometric noise on the grid and snap to the nearest output (GM).

    With b = exp(-epsilon · step / sensitivity), noise d has probability (1-b)/(1+b) · b^|d|; a value outside the range
    is published as the nearer end: Pr[0 | j] = b^j / (1+b). (003 Definition 4; on a grid finer than the sensitivity,
    004 (10) with its normalizer inverted.) Tight. Counts, totals, means and metric queries too large for a matrix are
    stored as a noise table, in O(reach / epsilon).

    >>> from inbounds.query import count
    >>> truncated_geometric(count(4), 1).truth_probability().round(3).tolist()
    [0.731, 0.462, 0.462, 0.462, 0.731]
    """
    check_query(query)
    numeric(query, "truncated_geometric")
    bound = to_epsilon(epsilon)
    origin = Origin("truncated_geometric", {}, GHOSH)
    if query.one_output_per_answer and len(query.answers) ** 2 > MATRIX_LIMIT:
        return Mechanism(query, bound, make_geometric_noise(query, bound), origin)
    ticks = np.asarray(dense(query).answers.ticks, dtype=np.int64)
    edges = np.subtract.outer(boundary_ticks(query), ticks).astype(np.float64) - 0.5
    return certify_formula(snapped_geometric(edges, decay(query, bound)), query, bound, origin)


def folded_geometric(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Add two-sided geometric noise and reflect it at the ends of the range.

    With N outputs a value is reflected at -1/2 and N - 1/2, with period 2N; summing the geometric series
    over all images x of the output at distance |x|: (b^x + b^(2N-x)) / (1 - b^(2N)). Reflection is
    post-processing, so privacy is that of the noise.
    """
    check_query(query)
    square(query, "folded_geometric")
    rate = decay(query, to_epsilon(epsilon))
    return certify_formula(
        folded_matrix(len(query.answers), rate), query, epsilon, Origin("folded_geometric", {}, GHOSH)
    )


def prerounded_geometric(
    query: RangeQuery, epsilon: Number, edges: Sequence[Number], values: Sequence[Number] | None = None
) -> Mechanism:
    """Round the true answer into wide cells, then add truncated geometric noise between the cells.

    edges: increasing cell edges that cover the answers; values: the output for each cell (by default its middle).
    When inner cells are at least as wide as the sensitivity, neighbours fall into the same cell or the
    next, so the noise moves by whole cells with b = exp(-epsilon) (004 §5.2.2). On a graph the ends of an edge must not
    fall more cells apart than the edge is long. The outputs are these cells.
    """
    check_query(query)
    numeric(query, "prerounded_geometric")
    if query.neighbours.has_distances and query.neighbours.is_line:
        raise ValueError("prerounded_geometric cannot keep metric privacy: close answers may fall into two cells")
    output_cells = _cells(edges, values)
    coarse = with_outputs(query, output_cells)
    ends = (
        [(start, stop - 1, distance) for start, stop, distance in query.cliques()]
        if query.neighbours.is_line
        else query.edges
    )
    for first, last, distance in ends:
        if abs(int(coarse.home_cell[last] - coarse.home_cell[first])) > distance:
            raise ValueError("cells must be at least as wide as the sensitivity: neighbours fall two cells apart")
    bound = to_epsilon(epsilon)
    cells = np.arange(len(output_cells), dtype=np.int64)
    between = np.subtract.outer(cells[1:], coarse.home_cell).astype(np.float64) - 0.5
    origin = Origin(
        "prerounded_geometric",
        {"edges": " ".join(map(str, edges))},
        "Chen, Pal, Golubchik, Oblivious mechanisms in differential privacy, 5.2.2",
    )
    return certify_formula(snapped_geometric(between, float(bound)), coarse, bound, origin)


def _cells(edges: Sequence[Number], values: Sequence[Number] | None) -> list[tuple[Number, ...]]:
    if len(edges) < 3:
        raise ValueError("edges must make at least two cells")
    if values is not None and len(values) != len(edges) - 1:
        raise ValueError(f"values must be one for each of the {len(edges) - 1} cells, got {len(values)}")
    pairs = list(pairwise(edges))
    return [(*pair, value) for pair, value in zip(pairs, values, strict=True)] if values else [*pairs]

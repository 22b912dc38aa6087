"""Privacy and properties as one list of comparisons between cells of the matrix.

Every constraint of a request besides "columns sum to one" is either homogeneous, `factor * P[greater] >= P[lesser]`,
or a floor `P[cell] >= 1/outputs`. The linear program, its polish and its lower bound all use this list.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra

from inbounds.design.problem import Floats, Ints, Problem
from inbounds.errors import TooLarge
from inbounds.properties import MatrixLayout, canonical_property, compile_property

MOST_COMPARED = 1 << 17  # outputs times edges of the largest program over a graph
VIOLATED = 6e-13  # a comparison that fails by more is added; above the solver's own tolerance


@dataclass(frozen=True, eq=False)
class CellInequalities:
    """The inequalities factor[k] * P.flat[greater[k]] >= P.flat[lesser[k]]."""

    greater: Ints
    lesser: Ints
    factor: Floats

    def __len__(self) -> int:
        return len(self.greater)

    def __getitem__(self, index: Ints) -> "CellInequalities":
        return CellInequalities(self.greater[index], self.lesser[index], self.factor[index])

    def __add__(self, other: "CellInequalities") -> "CellInequalities":
        return CellInequalities(
            np.concatenate((self.greater, other.greater)),
            np.concatenate((self.lesser, other.lesser)),
            np.concatenate((self.factor, other.factor)),
        )

    def shortfall(self, P: Floats) -> Floats:
        """Return by how much each comparison fails (negative: holds with room)."""
        flat = P.ravel()
        return flat[self.lesser] - self.factor * flat[self.greater]

    def strongest(self) -> "CellInequalities":
        """Drop duplicates (the smallest factor of equal pairs stays) and cells compared to themselves."""
        order = np.lexsort((self.factor, self.lesser, self.greater))
        g, x = self.greater[order], self.lesser[order]
        first = np.ones(len(g), dtype=bool)
        first[1:] = (g[1:] != g[:-1]) | (x[1:] != x[:-1])
        return self[order[first & (g != x)]]


NOTHING = CellInequalities(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def layout(problem: Problem) -> MatrixLayout:
    """Return the layout that `inbounds.properties` needs."""
    return MatrixLayout(problem.shape[0], problem.home, problem.below, problem.above)


def requested_properties(problem: Problem) -> frozenset[str]:
    """Return the requested properties in canonical spelling, without those that another one implies."""
    properties = {canonical_property(name) for name in problem.properties}
    if "row_monotone" in properties:
        properties.discard("row_honest")
    if "column_monotone" in properties:
        properties.discard("column_honest")
    if {"fair", "column_honest"} <= properties or {"fair", "column_monotone"} <= properties:
        properties.discard("row_honest")  # no cell is above the common truth
    if properties & {"column_honest", "column_monotone"}:
        properties.discard("weakly_honest")  # the largest of `outputs` cells is at least their mean
    return frozenset(properties)


def is_mirrored_problem(problem: Problem) -> bool:
    """Return whether the neighbourhoods and cells equal their mirror image."""
    n = problem.shape[1]
    cliques = set(problem.cliques)
    if problem.edges is not None:
        return layout(problem).mirrors and problem.edges.is_mirrored(n)
    return layout(problem).mirrors and all((n - b, n - a, d) in cliques for a, b, d in cliques)


def is_foldable(problem: Problem) -> bool:
    """Return whether a symmetric optimum exists: it is requested, or loss and prior are symmetric too (003, Theorem
    1).
    """
    if not is_mirrored_problem(problem):
        if "symmetric" in requested_properties(problem):
            raise ValueError(
                "symmetric needs a query that equals its mirror image, and here the cells or the "
                "neighbourhoods are not; leave it out"
            )
        return False
    if problem.edges is not None and "symmetric" not in requested_properties(problem):
        return False  # labels on a graph are numbered at will
    same_prior = problem.worst or np.array_equal(problem.prior, problem.prior[::-1])
    tables = [problem.loss, *(limit.table for limit in problem.limits)]
    same_loss = all(np.array_equal(table, table[::-1, ::-1]) for table in tables)
    if not all(limit.per_answer for limit in problem.limits):
        same_prior = np.array_equal(problem.prior, problem.prior[::-1])
    return "symmetric" in requested_properties(problem) or (same_prior and same_loss)


# --- privacy --------------------------------------------------------------------------------------------


def privacy(problem: Problem) -> CellInequalities:
    """List comparisons that imply P[i, j] <= exp(epsilon d) P[i, k] for all j, k in every clique.

    In a monotone row the least cell of a clique is at one of its ends and the largest beside the peak, so
    two to four comparisons suffice; otherwise every pair is compared.
    """
    if problem.edges is None and "row_monotone" in requested_properties(problem):
        return _join([_peak_pairs(problem, clique) for clique in problem.cliques]).strongest()
    m, n = problem.shape
    if problem.edges is not None and m * len(problem.edges.tails) > MOST_COMPARED:
        raise TooLarge(
            f"properties and limits on a graph are only known for outputs times edges up to {MOST_COMPARED}; use fewer "
            "answers, or fewer edges (a larger stretch)"
        )
    limit = _limits(problem)
    j, k = np.nonzero(np.isfinite(limit))
    rows = n * np.arange(m)[:, None]
    return CellInequalities((rows + j).ravel(), (rows + k).ravel(), np.tile(np.exp(problem.epsilon * limit[j, k]), m))


def hubs(problem: Problem) -> tuple[tuple[int, int, float], ...]:
    """Return the cliques that are cheaper to express by their least cell: mu <= P[i, j] <= exp(epsilon d) mu.

    All or none: one clique over n answers takes 2n comparisons instead of n(n-1), but sliding windows share
    most of their pairs.
    """
    if "row_monotone" in requested_properties(problem):
        return ()
    pairs = {(j, k) for a, b, _ in problem.cliques for j in range(a, b) for k in range(j + 1, b)}
    return problem.cliques if sum(b - a for a, b, _ in problem.cliques) < len(pairs) else ()


def _join(parts: list[CellInequalities]) -> CellInequalities:
    """Concatenate lists of comparisons."""
    if not parts:
        return NOTHING
    return CellInequalities(
        np.concatenate([p.greater for p in parts]),
        np.concatenate([p.lesser for p in parts]),
        np.concatenate([p.factor for p in parts]),
    )


def _limits(problem: Problem) -> Floats:
    """Compute limits[j, k]: the least distance of a clique that holds both answers, or the length of the edge from k to
    j; infinite if there is none, or j = k."""
    n = problem.shape[1]
    limits = np.full((n, n), np.inf)
    if problem.edges is not None:
        limits[problem.edges.heads, problem.edges.tails] = problem.edges.lengths
    for a, b, d in problem.cliques:
        limits[a:b, a:b] = np.minimum(limits[a:b, a:b], d)
    np.fill_diagonal(limits, np.inf)
    return limits


def _peak_pairs(problem: Problem, clique: tuple[int, int, float]) -> CellInequalities:
    """Compare both ends of a clique with the cells beside the peak of each row."""
    (m, n), (a, b, d) = problem.shape, clique
    rows = n * np.arange(m)
    peaks = [np.clip(p, a, b - 1) for p in (problem.above, problem.below - 1)]
    greater = np.concatenate([rows + end for end in (a, b - 1) for _ in peaks])
    lesser = np.concatenate([rows + peak for _ in (a, b - 1) for peak in peaks])
    return CellInequalities(greater, lesser, np.full(greater.size, np.exp(problem.epsilon * d)))


def steps(problem: Problem) -> Floats:
    """Compute steps[i, j]: the log-ratio / epsilon allowed between answer j and the answers nearest to output i."""
    n, reach = problem.shape[1], _limits(problem)
    reach[~np.isfinite(reach)] = 0.0  # dijkstra: 0 means no edge
    distances = dijkstra(coo_array(reach).tocsr(), directed=False)
    distances[~np.isfinite(distances)] = 0.0
    near = np.clip(np.stack((problem.above, problem.below - 1)), 0, n - 1)
    result: Floats = np.minimum(distances[near[0]], distances[near[1]])
    return result


# --- properties -----------------------------------------------------------------------------------------


def property_comparisons(problem: Problem, only: frozenset[str]) -> CellInequalities:
    """List the comparisons of the named properties."""
    parts = []
    for name in sorted(only):
        comparison = compile_property(name, layout(problem))
        parts.append(
            CellInequalities(
                comparison.greater, comparison.lesser, np.full(comparison.greater.size, float(comparison.ratio))
            )
        )
    return _join(parts)


def floors(problem: Problem) -> Floats:
    """Return the least value allowed in each cell."""
    least = np.zeros(problem.shape)
    if "weakly_honest" in requested_properties(problem):
        least.flat[layout(problem).homes] = 1.0 / problem.shape[0]
    return least


def classes(problem: Problem, compared: CellInequalities, *, folded: bool) -> Ints:
    """Assign numbers to the cells so that cells that must be equal share one.

    Two cells must be equal when they are compared both ways with factor one, or when they are mirror images
    and the problem is folded.
    """
    m, n = problem.shape
    size = m * n
    plain = compared.factor == 1.0
    key = compared.greater[plain] * size + compared.lesser[plain]
    back = compared.lesser[plain] * size + compared.greater[plain]
    both = np.isin(key, back)
    a, b = compared.greater[plain][both], compared.lesser[plain][both]
    if folded:
        cell = np.arange(size)
        a, b = np.concatenate((a, cell)), np.concatenate((b, cell[::-1]))
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(size, size))
    labels: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return labels


def drop_duplicates(compared: CellInequalities, cells: Ints) -> CellInequalities:
    """Keep one of the comparisons that are the same after merging cells; indices are still cells, not classes."""
    g, x = cells[compared.greater], cells[compared.lesser]
    first = np.full(int(cells.max()) + 1, -1, dtype=np.int64)
    first[cells[::-1]] = np.arange(len(cells))[::-1]
    return CellInequalities(first[g], first[x], compared.factor).strongest()


# --- comparisons across rows, which join a program only when violated -----------------------------------


def property_stages(properties: frozenset[str]) -> tuple[frozenset[str], ...]:
    """Split column properties into stages: honesty first, because monotonicity implies it and it often suffices."""
    honest = frozenset({"column_honest"} if properties & {"column_honest", "column_monotone"} else ())
    ratios = frozenset(name for name in properties if name.startswith("column_ratio"))
    return honest, (properties & {"column_monotone"}) | ratios


def first_violated(stages: tuple[CellInequalities, ...], P: Floats) -> CellInequalities:
    """Return the violated comparisons of the first stage that has any."""
    for stage in stages:
        short = np.flatnonzero(stage.shortfall(P) > VIOLATED)
        if short.size:
            return stage[short]
    return NOTHING

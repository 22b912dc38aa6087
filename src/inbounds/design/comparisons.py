"""Privacy and properties as one list of comparisons between cells of the matrix.

Everything a request demands besides "columns sum to one" is homogeneous, `factor * P[greater] >= P[lesser]`,
or a floor `P[cell] >= 1/outputs`. The program, its polish and its lower bound all read this list.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra

from inbounds.design.problem import Floats, Ints, Problem
from inbounds.errors import TooLarge
from inbounds.properties import MatrixLayout, canonical_property, compile_property

MOST_COMPARED = 1 << 17  # outputs times edges of the largest program over a graph
VIOLATED = 6e-13  # a comparison that fails by more joins; above the solver's own tolerance


@dataclass(frozen=True, eq=False)
class CellInequalities:
    """factor[k] * P.flat[greater[k]] >= P.flat[lesser[k]]."""

    greater: Ints
    lesser: Ints
    factor: Floats

    def __len__(self) -> int:
        return len(self.greater)

    def __getitem__(self, chosen: Ints) -> "CellInequalities":
        return CellInequalities(self.greater[chosen], self.lesser[chosen], self.factor[chosen])

    def __add__(self, other: "CellInequalities") -> "CellInequalities":
        return CellInequalities(
            np.concatenate((self.greater, other.greater)),
            np.concatenate((self.lesser, other.lesser)),
            np.concatenate((self.factor, other.factor)),
        )

    def shortfall(self, P: Floats) -> Floats:
        """By how much each comparison fails (negative: holds with room)."""
        flat = P.ravel()
        return flat[self.lesser] - self.factor * flat[self.greater]

    def strongest(self) -> "CellInequalities":
        """Without repetitions (the smallest factor of equal pairs) and without a cell compared to itself."""
        order = np.lexsort((self.factor, self.lesser, self.greater))
        g, x = self.greater[order], self.lesser[order]
        first = np.ones(len(g), dtype=bool)
        first[1:] = (g[1:] != g[:-1]) | (x[1:] != x[:-1])
        return self[order[first & (g != x)]]


NOTHING = CellInequalities(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def layout(problem: Problem) -> MatrixLayout:
    return MatrixLayout(problem.shape[0], problem.home, problem.below, problem.above)


def names(problem: Problem) -> frozenset[str]:
    """The properties asked for, in canonical spelling, without those that another one implies."""
    asked = {canonical_property(name) for name in problem.properties}
    if "row_monotone" in asked:
        asked.discard("row_honest")
    if "column_monotone" in asked:
        asked.discard("column_honest")
    if {"fair", "column_honest"} <= asked or {"fair", "column_monotone"} <= asked:
        asked.discard("row_honest")  # no cell is above the common truth
    if asked & {"column_honest", "column_monotone"}:
        asked.discard("weakly_honest")  # the largest of `outputs` cells is at least their mean
    return frozenset(asked)


def is_mirrored_problem(problem: Problem) -> bool:
    """Whether the neighbourhoods and cells are their own mirror image."""
    n = problem.shape[1]
    cliques = set(problem.cliques)
    if problem.edges is not None:
        return False  # the numbers of answers on a graph mean nothing
    return layout(problem).mirrors and all((n - b, n - a, d) in cliques for a, b, d in cliques)


def is_foldable(problem: Problem) -> bool:
    """Whether a symmetric optimum exists: it is demanded, or loss and prior are symmetric too (003, Theorem 1)."""
    if not is_mirrored_problem(problem):
        if "symmetric" in names(problem):
            raise ValueError(
                "symmetric must be asked of a query that is its own mirror image, and here the cells or the "
                "neighbourhoods are not; leave it out"
            )
        return False
    same_prior = problem.worst or np.array_equal(problem.prior, problem.prior[::-1])
    tables = [problem.loss, *(limit.table for limit in problem.limits)]
    same_loss = all(np.array_equal(table, table[::-1, ::-1]) for table in tables)
    if not all(limit.each for limit in problem.limits):
        same_prior = np.array_equal(problem.prior, problem.prior[::-1])
    return "symmetric" in names(problem) or (same_prior and same_loss)


# --- privacy --------------------------------------------------------------------------------------------


def privacy(problem: Problem) -> CellInequalities:
    """Comparisons that imply P[i, j] <= exp(epsilon d) P[i, k] for all j, k in every clique.

    In a monotone row the least cell of a clique is at one of its ends and the largest beside the peak, so
    two to four comparisons say it; otherwise every pair is compared.
    """
    if "row_monotone" in names(problem):
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
    """The cliques that are cheaper said through their least cell: mu <= P[i, j] <= exp(epsilon d) mu.

    All or none: one clique over n answers takes 2n comparisons instead of n(n-1), but sliding windows share
    most of their pairs.
    """
    if "row_monotone" in names(problem):
        return ()
    pairs = {(j, k) for a, b, _ in problem.cliques for j in range(a, b) for k in range(j + 1, b)}
    return problem.cliques if sum(b - a for a, b, _ in problem.cliques) < len(pairs) else ()


def _join(parts: list[CellInequalities]) -> CellInequalities:
    if not parts:
        return NOTHING
    return CellInequalities(
        np.concatenate([p.greater for p in parts]),
        np.concatenate([p.lesser for p in parts]),
        np.concatenate([p.factor for p in parts]),
    )


def _limits(problem: Problem) -> Floats:
    """limits[j, k]: the least distance of a clique that holds both answers, or the length of the edge from k to j;
    infinite if there is none, or j = k."""
    n = problem.shape[1]
    limits = np.full((n, n), np.inf)
    if problem.edges is not None:
        limits[problem.edges.heads, problem.edges.tails] = problem.edges.lengths
    for a, b, d in problem.cliques:
        limits[a:b, a:b] = np.minimum(limits[a:b, a:b], d)
    np.fill_diagonal(limits, np.inf)
    return limits


def _peak_pairs(problem: Problem, clique: tuple[int, int, float]) -> CellInequalities:
    (m, n), (a, b, d) = problem.shape, clique
    rows = n * np.arange(m)
    peaks = [np.clip(p, a, b - 1) for p in (problem.above, problem.below - 1)]
    greater = np.concatenate([rows + end for end in (a, b - 1) for _ in peaks])
    lesser = np.concatenate([rows + peak for _ in (a, b - 1) for peak in peaks])
    return CellInequalities(greater, lesser, np.full(greater.size, np.exp(problem.epsilon * d)))


def steps(problem: Problem) -> Floats:
    """steps[i, j]: log-ratio / epsilon allowed between answer j and the answers nearest to output i."""
    n, reach = problem.shape[1], _limits(problem)
    reach[~np.isfinite(reach)] = 0.0  # dijkstra: 0 means no edge
    apart = dijkstra(coo_array(reach).tocsr(), directed=False)
    apart[~np.isfinite(apart)] = 0.0
    near = np.clip(np.stack((problem.above, problem.below - 1)), 0, n - 1)
    result: Floats = np.minimum(apart[near[0]], apart[near[1]])
    return result


# --- properties -----------------------------------------------------------------------------------------


def property_comparisons(problem: Problem, only: frozenset[str]) -> CellInequalities:
    """What the named properties compare."""
    parts = []
    for name in sorted(only):
        asked = compile_property(name, layout(problem))
        parts.append(CellInequalities(asked.greater, asked.lesser, np.full(asked.greater.size, float(asked.ratio))))
    return _join(parts)


def floors(problem: Problem) -> Floats:
    """The least value allowed in each cell."""
    least = np.zeros(problem.shape)
    if "weakly_honest" in names(problem):
        least.flat[layout(problem).homes] = 1.0 / problem.shape[0]
    return least


def classes(problem: Problem, compared: CellInequalities, *, folded: bool) -> Ints:
    """Number the cells so that cells that must be equal share a number.

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
    """One comparison for all that are the same after merging cells; still named by cells, not classes."""
    g, x = cells[compared.greater], cells[compared.lesser]
    first = np.full(int(cells.max()) + 1, -1, dtype=np.int64)
    first[cells[::-1]] = np.arange(len(cells))[::-1]
    return CellInequalities(first[g], first[x], compared.factor).strongest()


# --- comparisons across rows, which join a program only when violated -----------------------------------


def property_stages(asked: frozenset[str]) -> tuple[frozenset[str], ...]:
    """Honesty of columns first: monotonicity implies it, it says more per comparison, and often it suffices."""
    honest = frozenset({"column_honest"} if asked & {"column_honest", "column_monotone"} else ())
    ratios = frozenset(name for name in asked if name.startswith("column_ratio"))
    return honest, (asked & {"column_monotone"}) | ratios


def first_violated(stages: tuple[CellInequalities, ...], P: Floats) -> CellInequalities:
    """What fails in the first stage where anything fails."""
    for stage in stages:
        short = np.flatnonzero(stage.shortfall(P) > VIOLATED)
        if short.size:
            return stage[short]
    return NOTHING

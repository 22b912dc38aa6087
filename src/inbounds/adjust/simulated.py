"""The expected error of every level of a table that adds up, by simulation, before there is any data.

Surveys are drawn from the prior of `spreads`, noise is added, and each is adjusted by the code that adjusts a release.
The results are the mean error of the published numbers, and on the same surveys that of two numbers which need less:
the average of the published parent, and the best constant. Only sizes, rates and weights are needed; the plan has them.

The caller seeds the generator. Nothing that reads or draws a release may import this module (`.importlinter`).

Surveys are a Latin hypercube: each parameter of the prior takes each of D equal parts of its range once. Surveys are in
the order of the spread of leaves, and the standard error comes from successive differences, so it leaves out the trend
along this spread.

Cost: at most MOST_SURVEYS adjustments of about MOST_CELLS cells, or a quarter of them where cells belong to two trees,
whose posterior takes many rounds. A larger tree is thinned to some of its parents. The
output about a node that lost children gets the variance that these would have added, and its own error comes from the
variances of the whole tree (`shares`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from inbounds.adjust.label_trees import LabelTree, adjust_label_tree
from inbounds.adjust.likelihoods import GeometricReports, geometric_rate, geometric_variance
from inbounds.adjust.shares import LevelFacts, combine_variances, subtree_variances, tree_deviations
from inbounds.adjust.spreads import LEAF_ROOTS, PARENT_ROOTS
from inbounds.adjust.tree import Tree
from inbounds.adjust.two_way import TwoWay, adjust_two_way
from inbounds.exact import Floats, Ints
from inbounds.progress import Progress, ignore_progress

FEWEST_SURVEYS, MOST_SURVEYS = 8, 16
"""Surveys that are simulated: the most for small tables, whose surveys differ most."""

CROSSED = 4
"""How many times fewer cells are simulated where cells belong to two trees."""

MOST_CELLS = 400
"""Most cells of the lowest level of a simulated survey, labels × groups."""

PARENTS = 4
"""Fewest parents of leaves that a thinned tree keeps, if it has as many: their rates come from one population."""

INTERVAL = 0.9
"""A probability for the intervals, which are not used here."""

NORMAL = float(np.sqrt(2 / np.pi))
"""Mean absolute value of a normal variable of standard deviation 1."""

SizesDraw = Callable[[Ints, np.random.Generator], Ints]
"""From the largest sizes of groups, in people, to sizes drawn from a prior."""


@dataclass(frozen=True, eq=False)
class LevelError:
    """Mean absolute errors of the numbers of one level, averaged over nodes, labels and surveys.

    error: of published numbers; deviation: its standard error. constant: of the best constant share of the size.
    parent: of the average of the published parent; None without a parent. sizes, by_node, parent_by_node,
    constant_by_node: the largest values of the simulated nodes, and the errors of each.
    """

    error: float
    deviation: float
    constant: float
    parent: float | None
    sizes: Ints
    by_node: Floats
    constant_by_node: Floats
    parent_by_node: Floats | None


@dataclass(frozen=True, eq=False)
class SurveyLevel:
    """One level of one simulated survey: truth, published values and parents' averages, labels × nodes."""

    truth: Ints
    published: Ints
    parent: Floats | None


@dataclass(frozen=True)
class SurveyPrior:
    """The parameters of one survey: the rate of a count, and the roots of the spreads of each level, leaves first."""

    rate: float
    roots: tuple[float, ...]


class SimulatedTable(Protocol):
    """A statistic that adds up, before its outputs."""

    @property
    def cells(self) -> int:
        """Number of cells of the lowest level."""
        ...

    @property
    def spreads(self) -> int:
        """Number of spreads of its prior."""
        ...

    @property
    def sizes(self) -> Sequence[Ints]:
        """The largest value of every node of each level."""
        ...

    @property
    def is_crossed(self) -> bool:
        """Whether cells belong to two trees."""
        ...

    def simulate(self, prior: SurveyPrior, draw_sizes: SizesDraw, generator: np.random.Generator) -> list[SurveyLevel]:
        """Simulate one survey."""
        ...


def simulate_errors(
    table: SimulatedTable, draw_sizes: SizesDraw, seed: int, progress: Progress = ignore_progress
) -> list[LevelError]:
    """Simulate the errors of every level, lowest first."""
    many = 0 if table.is_crossed else FEWEST_SURVEYS * MOST_CELLS // (2 * table.cells)
    surveys = int(np.clip(many, FEWEST_SURVEYS, MOST_SURVEYS))
    simulated = []
    for survey, prior in enumerate(draw_priors(surveys, table.spreads, np.random.default_rng([seed]))):
        progress("simulating", survey, surveys)
        simulated.append(table.simulate(prior, draw_sizes, np.random.default_rng([seed, survey])))
    progress("simulating", surveys, surveys)
    return [_summarize(levels, sizes) for levels, sizes in zip(zip(*simulated, strict=True), table.sizes, strict=True)]


def _summarize(surveys: Sequence[SurveyLevel], sizes: Ints) -> LevelError:
    """Average the errors of one level over its surveys."""
    truth = np.stack([survey.truth for survey in surveys])
    errors = np.abs(np.stack([survey.published for survey in surveys]) - truth)
    means = errors.mean(axis=(1, 2))
    deviation = float(np.sqrt((np.diff(means) ** 2).mean() / 2 / len(means)))
    share = np.median(truth / np.maximum(sizes, 1))
    constants = np.abs(truth - share * sizes)
    parents = None
    if surveys[0].parent is not None:
        parents = np.abs(np.stack([np.asarray(survey.parent) for survey in surveys]) - truth)
    return LevelError(
        float(means.mean()),
        deviation,
        float(constants.mean()),
        None if parents is None else float(parents.mean()),
        sizes,
        errors.mean(axis=(0, 1)),
        constants.mean(axis=(0, 1)),
        None if parents is None else parents.mean(axis=(0, 1)),
    )


def draw_priors(surveys: int, spreads: int, generator: np.random.Generator) -> list[SurveyPrior]:
    """Draw the parameters of surveys, in the order of the spread of leaves."""
    middles = (np.arange(surveys) + 0.5) / surveys
    rates = generator.permutation(middles)
    leaves = LEAF_ROOTS[-1] * middles
    candidates = np.array(PARENT_ROOTS)[(middles * len(PARENT_ROOTS)).astype(np.int64)]
    parents = [generator.permutation(candidates) for _ in range(spreads - 1)]
    rows = np.stack([leaves, *parents], axis=1)
    return [SurveyPrior(float(rate), tuple(row.tolist())) for rate, row in zip(rates, rows, strict=True)]


# --- what is drawn ------------------------------------------------------------------------------------------


def draw_public_sizes(sizes: Ints, generator: np.random.Generator) -> Ints:
    """Return public sizes as they are."""
    return sizes


def draw_uniform_sizes(sizes: Ints, generator: np.random.Generator) -> Ints:
    """Draw sizes that are only known to be at most `sizes`; all are equally likely."""
    return np.asarray(generator.integers(0, sizes, endpoint=True))


def draw_rates(labels: int, rate: float, generator: np.random.Generator) -> Floats:
    """Draw the rates of all labels, uniform on the simplex; one label has the given rate, the others share the
    rest.
    """
    return np.array([[rate, 1 - rate]]) if labels <= 2 else generator.dirichlet(np.ones(labels), 1)


def scatter_rates(rates: Floats, root: float, generator: np.random.Generator) -> Floats:
    """Draw Dirichlet rates around `rates`, nodes × labels; of label p the standard deviation is root·√(p(1 - p))."""
    if root == 0:
        return rates
    drawn = generator.standard_gamma(rates * (1 / root**2 - 1))
    total = drawn.sum(axis=1, keepdims=True)
    one_label = generator.multinomial(1, rates / rates.sum(axis=1, keepdims=True))  # all gammas rounded to 0
    return np.asarray(np.where(total > 0, drawn / np.where(total > 0, total, 1.0), one_label))


def add_noise(values: Ints, sizes: Ints, rate: float, generator: np.random.Generator) -> Ints:
    """Add two-sided geometric noise, truncated to 0..size."""
    falls = -np.expm1(-rate)
    noise = generator.geometric(falls, values.shape) - generator.geometric(falls, values.shape)
    return np.asarray(np.clip(values + noise, 0, sizes))


# --- trees and two-way tables -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TreeTable:
    """A statistic over the levels of a hierarchy.

    tree: the largest value of every node; one person has the values 0..positions. labels, sums: as in `LabelTree`.
    rates: epsilon per unit, by level. weights: of the errors of the levels.
    """

    tree: Tree
    positions: int
    labels: int
    sums: str
    rates: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def cells(self) -> int:
        return self.labels * len(self.tree.sizes[0])

    @property
    def sizes(self) -> Sequence[Ints]:
        return self.tree.sizes

    @property
    def is_crossed(self) -> bool:
        return bool(self.sums)

    @property
    def spreads(self) -> int:
        return self.tree.depth

    def simulate(self, prior: SurveyPrior, draw_sizes: SizesDraw, generator: np.random.Generator) -> list[SurveyLevel]:
        leaves = self._draw_leaves(prior, draw_sizes, generator)
        truth = [np.stack(level) for level in zip(*map(self.tree.sums, leaves), strict=True)]
        reports = tuple(
            GeometricReports(add_noise(values, sizes, rate, generator).ravel(), rate)
            for values, sizes, rate in zip(truth, self.tree.sizes, self.rates, strict=True)
        )
        adjusted = adjust_label_tree(LabelTree(self.tree, self.labels, reports, self.sums), self.weights, INTERVAL)
        published = [level.values.reshape(self.labels, -1) for level in adjusted.levels]
        averages = [
            above[:, parent] * (sizes / np.maximum(sizes_above[parent], 1))
            for above, parent, sizes, sizes_above in zip(
                published[1:], self.tree.parents, self.tree.sizes[:-1], self.tree.sizes[1:], strict=True
            )
        ]
        return [SurveyLevel(*level) for level in zip(truth, published, (*averages, None), strict=True)]

    def _draw_leaves(self, prior: SurveyPrior, draw_sizes: SizesDraw, generator: np.random.Generator) -> Ints:
        """Draw the true values of the leaves, labels × leaves."""
        rates = draw_rates(self.labels, prior.rate, generator)
        top = np.zeros(len(self.tree.sizes[-1]), np.int64)
        for parent, root in zip((top, *self.tree.parents[::-1]), prior.roots[::-1], strict=True):
            rates = scatter_rates(rates[parent], root, generator)
        sizes = self.positions * draw_sizes(self.tree.sizes[0] // self.positions, generator)
        return np.asarray(generator.multinomial(sizes, rates).T[: self.labels])


@dataclass(frozen=True, eq=False)
class CrossedTable:
    """Two-way tables of groups. row_rate, column_rate: epsilon per unit of the margins; None without that margin."""

    shape: tuple[int, int]
    groups: Ints
    known_totals: bool
    cell_rate: float
    row_rate: float | None
    column_rate: float | None

    @property
    def cells(self) -> int:
        return self.shape[0] * self.shape[1] * len(self.groups)

    @property
    def sizes(self) -> Sequence[Ints]:
        return [self.groups] * (1 + (self.row_rate is not None) + (self.column_rate is not None))

    @property
    def is_crossed(self) -> bool:
        return self.row_rate is not None and self.column_rate is not None

    @property
    def spreads(self) -> int:
        return 1

    def simulate(self, prior: SurveyPrior, draw_sizes: SizesDraw, generator: np.random.Generator) -> list[SurveyLevel]:
        (rows, columns), groups = self.shape, len(self.groups)
        rates = np.repeat(draw_rates(rows * columns, prior.rate, generator), groups, axis=0)
        rates = scatter_rates(rates, prior.roots[0], generator)
        drawn = generator.multinomial(draw_sizes(self.groups, generator), rates)
        cells = drawn[:, : rows * columns].reshape(groups, rows, columns)
        row_sums, column_sums = cells.sum(axis=2), cells.sum(axis=1)

        def report(values: Ints, rate: float | None) -> GeometricReports | None:
            if rate is None:
                return None
            sizes = self.groups.reshape(-1, *[1] * (values.ndim - 1))
            return GeometricReports(add_noise(values, sizes, rate, generator).ravel(), rate)

        reports = report(cells, self.cell_rate)
        assert reports is not None
        margins = report(row_sums, self.row_rate), report(column_sums, self.column_rate)
        tables = TwoWay(rows, columns, self.groups, self.known_totals, reports, *margins)
        adjusted = adjust_two_way(tables, [1.0, *(float(margin is not None) for margin in margins)], INTERVAL)
        levels, averages = [], []
        for truth, level, others in (
            (row_sums, adjusted.row_sums if margins[0] else None, columns),
            (column_sums, adjusted.column_sums if margins[1] else None, rows),
        ):
            if level is not None:
                published = level.values.reshape(truth.shape)
                levels.append(SurveyLevel(truth.T, published.T, None))
                averages.append(np.expand_dims(published / others, 2 if truth is row_sums else 1))
        flat = rows * columns, groups
        parent = None
        if averages:  # the margin whose average is nearer
            wide = [np.broadcast_to(average, cells.shape) for average in averages]
            nearest = min(wide, key=lambda average: float(np.abs(average - cells).mean()))
            parent = nearest.reshape(groups, -1).T
        values = adjusted.cells.values.reshape(groups, -1).T
        return [SurveyLevel(cells.reshape(groups, -1).T.reshape(flat), values, parent), *levels]


def thin_groups(table: CrossedTable) -> CrossedTable:
    """Keep evenly spaced groups, so that a simulated survey has at most about MOST_CELLS cells."""
    most = max(MOST_CELLS // ((CROSSED if table.is_crossed else 1) * table.shape[0] * table.shape[1]), 1)
    return replace(table, groups=np.sort(table.groups)[pick_places(len(table.groups), most)])


# --- thinning of large trees --------------------------------------------------------------------------------


def simulate_tree(
    table: TreeTable,
    facts: Sequence[LevelFacts],
    draw_sizes: SizesDraw,
    seed: int,
    progress: Progress = ignore_progress,
) -> list[LevelError]:
    """Simulate the errors of every level of a tree, of which large ones are thinned. facts: about the whole tree."""
    kept = kept_nodes(table.tree, max(MOST_CELLS // ((CROSSED if table.is_crossed else 1) * table.labels), 1))
    tree = select_nodes(table.tree, kept)
    variances = [geometric_variance(rate) for rate in table.rates]
    below = subtree_variances(facts, variances)
    lost = [
        float((table.tree.children[level][kept[level + 1]] - tree.children[level]).mean())
        for level in range(tree.depth - 1)
    ]
    rates = [table.rates[0]]
    for level, missing in enumerate(lost):
        child = combine_variances(facts[level].deviation ** 2, below[level])
        variance = variances[level + 1] + missing * child
        rates.append(geometric_rate(variance) if missing else table.rates[level + 1])
    errors = simulate_errors(replace(table, tree=tree, rates=tuple(rates)), draw_sizes, seed, progress)
    whole = tree_deviations(facts, variances)
    for level in range(1, tree.depth):
        if any(lost[:level]):
            errors[level] = _from_variances(table.tree.sizes[level], level, facts, whole)
    return errors


def _from_variances(sizes: Ints, level: int, facts: Sequence[LevelFacts], deviations: Sequence[float]) -> LevelError:
    """State the errors of a level whose nodes lost children, from the variances of the whole tree."""
    error, constant, parent = NORMAL * deviations[level], NORMAL * facts[-1].deviation, None
    if level < len(facts) - 1:
        children = max(facts[level + 1].children, 1.0)
        constant = NORMAL * facts[-1].deviation * float(sizes.mean()) / max(facts[-1].size, 1.0)
        parent = NORMAL * float(np.hypot(facts[level].deviation, deviations[level + 1] / children))
    by_node = [None if value is None else np.full(len(sizes), value) for value in (error, constant, parent)]
    assert by_node[0] is not None
    assert by_node[1] is not None
    return LevelError(error, 0.0, constant, parent, sizes, by_node[0], by_node[1], by_node[2])


def kept_nodes(tree: Tree, most: int) -> list[Ints]:
    """Choose evenly spaced parents with evenly spaced leaves, at most about `most` leaves, and the nodes above them."""
    siblings = max(most // PARENTS, 1)
    ends = np.cumsum(tree.children[0])
    fewer = np.minimum(tree.children[0], siblings) if len(tree.sizes[0]) > most else tree.children[0]
    parents = np.arange(len(fewer))
    while len(parents) > 1 and fewer[parents].sum() > most:
        fitting = max(int(len(parents) * most / fewer[parents].sum()), 1)
        parents = parents[pick_places(len(parents), min(fitting, len(parents) - 1))]
    leaves = [ends[p] - tree.children[0][p] + pick_places(int(tree.children[0][p]), int(fewer[p])) for p in parents]
    kept = [np.concatenate(leaves), parents]
    for parent in tree.parents[1:]:
        kept.append(np.unique(parent[kept[-1]]))
    return kept


def select_nodes(tree: Tree, kept: Sequence[Ints]) -> Tree:
    """Build the tree of the kept nodes."""
    parents = [
        np.searchsorted(above, parent[nodes])
        for nodes, above, parent in zip(kept[:-1], kept[1:], tree.parents, strict=True)
    ]
    return Tree.from_leaves(tree.sizes[0][kept[0]], *parents)


def pick_places(count: int, most: int) -> Ints:
    """Pick `most` evenly spaced places of `count`, or all if there are no more."""
    if count <= most:
        return np.arange(count)
    return np.asarray((np.arange(most) * 2 + 1) * count // (2 * most))

"""Layers: what is drawn beside a statistic's own numbers, so that its table adds up or has every level.

A layer is a level of the hierarchy, or a margin of a crosstab. A record is in one node of each layer, as it is in one
number of the statistic itself, so the shares of the layers add up to what the statistic spends. Layers of what adds up
are sums of the statistic's own numbers; a quantile, a variance or a mode is drawn of the records of every node.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from inbounds.adjust.shares import (
    FEWEST,
    LevelFacts,
    margin_deviations,
    optimize_shares,
    separate_deviations,
    tree_deviations,
)
from inbounds.adjust.spreads import LEAF_ROOTS, PARENT_ROOTS, mean_square, node_deviation, root_deviation
from inbounds.exact import Ints
from inbounds.plan.plan import Plan
from inbounds.query import RangeQuery
from inbounds.schema.report_types import CELLS, COLUMNS, ROWS
from inbounds.statistics import Crosstab, Statistic, StatisticContext
from inbounds.statistics.designs import ADDING, DesignRequest


@dataclass(frozen=True, eq=False)
class Layer:
    """A level or margin that is drawn beside a statistic's own numbers. share: of what the statistic spends."""

    name: str
    share: Fraction
    nodes: int


@dataclass(frozen=True, eq=False)
class SumLayer(Layer):
    """Sums that are drawn beside a statistic's own numbers.

    size: the largest node, in people. ranges: the largest position of each node. columns: names of its rows of sums.
    sums: from positions of the statistic's own numbers, one row for each cell, to rows of positions of its nodes.
    """

    size: int
    ranges: Ints = field(repr=False)
    columns: tuple[str, ...]
    sums: Callable[[Sequence[Ints]], list[Ints]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class LayeredStatistic:
    """A statistic in layers: the name and share of its own numbers, its layers, and the weight of each."""

    name: str
    share: Fraction
    layers: tuple[Layer, ...]
    weights: tuple[Fraction, ...]

    @property
    def shares(self) -> list[tuple[str, Fraction]]:
        """Return the name and share of each layer, the statistic's own numbers first."""
        return [(self.name, self.share), *((layer.name, layer.share) for layer in self.layers)]

    @property
    def sums(self) -> tuple[SumLayer, ...]:
        """Return the layers that are sums of its own numbers."""
        return tuple(layer for layer in self.layers if isinstance(layer, SumLayer))


def plan_layers(plan: Plan, statistic: Statistic, drawn_at: Fraction) -> LayeredStatistic:
    """Plan the layers of a statistic, from the plan alone. drawn_at: its epsilon before it is shared."""
    if plan.is_drawn_of_levels(statistic):
        return _draws_of_levels(plan, statistic, float(drawn_at))
    query = layer_query(statistic, plan.context, int(plan.groups.sizes.max()))
    if isinstance(statistic, Crosstab):
        return _margins(plan, statistic, float(drawn_at))
    return _levels(plan, statistic, float(drawn_at) / float(query.steps))


def layer_query(statistic: Statistic, context: StatisticContext, size: int) -> RangeQuery:
    """Build the query of a number that adds up, about so many people."""
    query = statistic.query(context, size)
    assert isinstance(query, RangeQuery)
    return query


def node_ranges(statistic: Statistic, context: StatisticContext, sizes: Ints) -> Ints:
    """Return the largest position of groups of these sizes."""
    distinct, place = np.unique(sizes, return_inverse=True)
    largest = [len(layer_query(statistic, context, int(size)).answers) - 1 for size in distinct]
    return np.array(largest, dtype=np.int64)[place]


def _levels(plan: Plan, statistic: Statistic, per_unit: float) -> LayeredStatistic:
    """Plan the levels of the hierarchy above the groups."""
    assert plan.hierarchy is not None
    nest, hierarchy = plan.group_tree, plan.hierarchy
    leaves = node_ranges(statistic, plan.context, nest.tree.sizes[0])
    ranges, names = nest.tree.sums(leaves), hierarchy.levels[::-1]
    columns, counts = tuple(plan.cells(statistic)), [len(sizes) for sizes in ranges]
    facts = level_facts(ranges, max(len(columns), 2), per_unit, hierarchy.weights[::-1])
    shares = hierarchy.shares[::-1] or optimize_shares(facts, tree_deviations)

    def sums_at(level: int) -> Callable[[Sequence[Ints]], list[Ints]]:
        return lambda rows: [nest.tree.sums(row[nest.order])[level] for row in rows]

    layers = [
        SumLayer(
            names[level],
            shares[level],
            counts[level],
            int(nest.tree.sizes[level].max()),
            ranges[level],
            columns,
            sums_at(level),
        )
        for level in range(1, len(counts))
    ]
    return LayeredStatistic(names[0], shares[0], tuple(layers), hierarchy.weights[::-1])


def level_facts(ranges: Sequence[Ints], labels: int, per_unit: float, weights: Sequence[Fraction]) -> list[LevelFacts]:
    """Return what the plan says about the levels of a tree, leaves first. ranges: the largest value of every node."""
    counts, facts = [len(nodes) for nodes in ranges], []
    children = [0.0, *(below / above for below, above in pairwise(counts))]
    for level, (nodes, weight) in enumerate(zip(ranges, weights, strict=True)):
        size = float(nodes.mean())
        if level == len(counts) - 1:
            deviation = root_deviation(size, labels)
        else:
            spread = mean_square(PARENT_ROOTS if level else LEAF_ROOTS)
            siblings = max(children[level + 1], FEWEST)
            deviation = node_deviation(size, labels, spread) * (1 - 1 / siblings) ** 0.5
        facts.append(LevelFacts(per_unit, weight, deviation, children[level], size))
    return facts


def _margins(plan: Plan, statistic: Crosstab, per_unit: float) -> LayeredStatistic:
    """Plan the margins of a crosstab, which are sums of the cells."""
    shape, sizes = statistic.label_pair(plan.context).shape, plan.groups.sizes
    axes = [statistic.columns.index(margin) for margin in statistic.margins]
    levels, size, cells = 1 + len(axes), float(sizes.mean()), int(np.prod(shape))
    facts = [LevelFacts(per_unit, Fraction(1), root_deviation(size, max(cells, 2)))]
    for axis in axes:
        labels, children = shape[axis], cells / shape[axis]
        share = (labels - 1) / (labels**2 * (cells + 1))  # of the margin, the variance of its part of the whole
        facts.append(LevelFacts(per_unit, Fraction(1), size * share**0.5 if labels > 1 else size / 4, children))
    shares = optimize_shares(facts, margin_deviations)

    def sums_over(axis: int) -> Callable[[Sequence[Ints]], list[Ints]]:
        def sums(rows: Sequence[Ints]) -> list[Ints]:
            cells = np.array(rows).reshape(*shape, len(sizes))
            return list(np.minimum(cells.sum(axis=1 - axis), sizes))

        return sums

    layers = [
        SumLayer(
            (ROWS, COLUMNS)[axis],
            share,
            len(sizes),
            int(sizes.max()),
            sizes,
            tuple(statistic.sum_names(plan.context, margin)),
            sums_over(axis),
        )
        for margin, axis, share in zip(statistic.margins, axes, shares[1:], strict=True)
    ]
    return LayeredStatistic(CELLS, shares[0], tuple(layers), (Fraction(1),) * levels)


def _draws_of_levels(plan: Plan, statistic: Statistic, epsilon: float) -> LayeredStatistic:
    """Plan the levels of a statistic that is drawn of each by itself.

    The shares make the sum of weight · error as small as possible. An output errs as if geometric noise at epsilon/2
    were added to the number of records, and so, as a part of its range, as that noise divided by the size.
    """
    assert plan.hierarchy is not None
    hierarchy, sizes = plan.hierarchy, plan.group_tree.tree.sizes
    names, weights = hierarchy.levels[::-1], hierarchy.weights[::-1]
    facts = [
        LevelFacts(epsilon / 2, weight, float(nodes.mean()) if statistic.sees_size else 1.0)
        for nodes, weight in zip(sizes, weights, strict=True)
    ]
    shares = hierarchy.shares[::-1] or optimize_shares(facts, separate_deviations)
    layers = [
        Layer(name, share, len(nodes)) for name, share, nodes in zip(names[1:], shares[1:], sizes[1:], strict=True)
    ]
    return LayeredStatistic(names[0], shares[0], tuple(layers), weights)


def layer_design_request(
    statistic: Statistic, context: StatisticContext, layer: SumLayer, drawn_at: Fraction
) -> DesignRequest:
    """Request one mechanism for all nodes of a layer, of the largest range.

    Draws beyond a smaller node's range are cut to it afterwards. Cutting twice is cutting once, so they are truncated
    geometric draws in its own range.
    """
    return DesignRequest(layer_query(statistic, context, layer.size), drawn_at * layer.share, ADDING)

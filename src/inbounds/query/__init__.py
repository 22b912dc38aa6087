"""Queries: the possible true answers, the possible outputs, and which answers are neighbours.

A query is the first step of every design; it does not read data.
"""

from inbounds.query.constructors import (
    Outputs,
    category,
    count,
    extreme,
    interval,
    mean,
    ordinal,
    total,
    with_neighbours,
    with_outputs,
)
from inbounds.query.graphs import graph, grid, histogram_query, pair_of_counts, snap_to_map, tree
from inbounds.query.joint_quantile import JointQuantileQuery, check_joint_quantile, quantiles
from inbounds.query.neighbours import AllPairs, Graph, Metric, Neighbours, Reach
from inbounds.query.outputs import OutputCells, cells, parse_bounds
from inbounds.query.pairs import NeighboursLike, Pairs
from inbounds.query.quantile import QuantileQuery, check_quantile, median, quantile
from inbounds.query.query import RangeQuery, check_query
from inbounds.trusted.scale import Scale

Query = RangeQuery | QuantileQuery | JointQuantileQuery
"""A query with one answer in a range, or one or several quantiles of a group's records."""

__all__ = [
    "AllPairs",
    "Graph",
    "JointQuantileQuery",
    "Metric",
    "Neighbours",
    "NeighboursLike",
    "OutputCells",
    "Outputs",
    "Pairs",
    "QuantileQuery",
    "Query",
    "RangeQuery",
    "Reach",
    "Scale",
    "category",
    "cells",
    "check_joint_quantile",
    "check_quantile",
    "check_query",
    "count",
    "extreme",
    "graph",
    "grid",
    "histogram_query",
    "interval",
    "mean",
    "median",
    "ordinal",
    "pair_of_counts",
    "parse_bounds",
    "quantile",
    "quantiles",
    "snap_to_map",
    "total",
    "tree",
    "with_neighbours",
    "with_outputs",
]

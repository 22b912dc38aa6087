"""What is asked: the possible true answers, the outputs that may be reported, and who is whose neighbour."""

from inbounds.query.cells import Cells, bounds, cells
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
from inbounds.query.graphs import graph, grid, histogram_of, on_map, pair_of_counts, tree
from inbounds.query.neighbours import Everyone, Graph, Metric, Neighbours, Reach
from inbounds.query.quantile import Quantile, check_quantile, median, quantile
from inbounds.query.query import Query, check_query
from inbounds.trusted.scale import Scale

__all__ = [
    "Cells",
    "Everyone",
    "Graph",
    "Metric",
    "Neighbours",
    "Outputs",
    "Quantile",
    "Query",
    "Reach",
    "Scale",
    "bounds",
    "category",
    "cells",
    "check_quantile",
    "check_query",
    "count",
    "extreme",
    "graph",
    "grid",
    "histogram_of",
    "interval",
    "mean",
    "median",
    "on_map",
    "ordinal",
    "pair_of_counts",
    "quantile",
    "total",
    "tree",
    "with_neighbours",
    "with_outputs",
]

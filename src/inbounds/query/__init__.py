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
from inbounds.query.neighbours import Everyone, Metric, Neighbours, Reach
from inbounds.query.quantile import Quantile, median, quantile
from inbounds.query.query import Query, as_query
from inbounds.trusted.scale import Scale

__all__ = [
    "Cells",
    "Everyone",
    "Metric",
    "Neighbours",
    "Outputs",
    "Quantile",
    "Query",
    "Reach",
    "Scale",
    "as_query",
    "bounds",
    "category",
    "cells",
    "count",
    "extreme",
    "interval",
    "mean",
    "median",
    "ordinal",
    "quantile",
    "total",
    "with_neighbours",
    "with_outputs",
]

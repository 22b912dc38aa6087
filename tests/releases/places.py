"""True answers as positions, whatever the engine hands over."""

from typing import Any

import numpy as np

from inbounds.query import QuantileQuery
from inbounds.releases.workload import Workload


def places(opened: Any) -> list[list[int]]:
    """The positions of the true answers of an opened source: one list per cell that is drawn."""
    return [[own.index(0) if isinstance(own, list) else own for own in cell] for cell in handed(opened)]


def handed(opened: Any) -> list[list[Any]]:
    """What each group hands to its mechanism, per cell that is drawn: a position, or of a quantile all lengths."""
    plan, found = opened.plan, list[list[Any]]()
    cells = iter(opened.aggregate().positions)
    asked = Workload.from_plan(plan)
    for statistic, requests in zip(plan.statistics, asked.requests, strict=True):
        for _ in plan.drawn_columns(statistic):
            own = next(cells)
            if isinstance(requests[0].query, QuantileQuery):
                lengths = np.empty((len(plan.groups), requests[0].query.width + 1), dtype=np.int64)
                for request, members in zip(requests, asked.members, strict=True):
                    assert isinstance(request.query, QuantileQuery)
                    lengths[members] = request.query.path_lengths(own.histograms(members))
                own = lengths
            found.append(own.tolist())
    return found

"""True answers as positions, whatever the engine hands over."""

from typing import Any

import numpy as np

from inbounds.query import Quantile
from inbounds.tables.answer import Asked


def places(opened: Any) -> list[list[int]]:
    """The positions of the true answers of an opened source: one list per cell that is drawn."""
    plan, found = opened.plan, list[list[int]]()
    cells = iter(opened.aggregate().positions)
    asked = Asked.of(plan)
    for statistic, requests in zip(plan.statistics, asked.requests, strict=True):
        for _ in plan.draws(statistic):
            own = next(cells)
            if isinstance(requests[0].query, Quantile):
                truths = np.empty(len(plan.groups), dtype=np.int64)
                for request, members in zip(requests, asked.members, strict=True):
                    truths[members] = request.query.truths(own.histograms(members))
                own = truths
            found.append(own.tolist())
    return found
